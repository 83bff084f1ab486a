"""TemperatureLab's numbers are torch's, at its hottest, its coldest, and with scores of ±1000."""

import math
import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect
from traitlets import TraitError

from qkv.widgets import TemperatureLab

from .conftest import drag, frame, open_phone
from .node import node
from .test_access import draw
from .test_swipes import opened, swipe


def measured(scores: list[float], temperature: float, d_k: int) -> dict:
    """What the widget shows for a state."""
    state = {"scores": scores, "temperature": temperature, "d_k": d_k}
    return node("maths.temperedRow", state)


@pytest.mark.parametrize("temperature", [0.05, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("d_k", [1, 8, 64])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_numbers_are_those_of_torch(temperature: float, d_k: int, scale: float):
    scores = torch.randn(9, dtype=torch.float64).clamp(-1, 1) * scale
    p = torch.softmax(scores * math.sqrt(d_k) / temperature, dim=-1)
    seen = measured(scores.tolist(), temperature, d_k)
    torch.testing.assert_close(torch.tensor(seen["weights"], dtype=torch.float64), p, rtol=1e-9, atol=1e-300)
    expected = torch.special.entr(p).sum().item()
    assert seen["spread"] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_the_root_of_d_k_is_a_temperature():
    scores = list(TemperatureLab().scores)
    for d_k in (2, 8, 64):
        at_root = measured(scores, math.sqrt(d_k), d_k)["weights"]
        assert at_root == pytest.approx(measured(scores, 1.0, 1)["weights"], rel=1e-14)


def test_tokens_are_numbered_when_only_scores_are_given():
    assert TemperatureLab(scores=[1000, -1000]).tokens == ("key 1", "key 2")


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ({"temperature": 0}, "temperature must be a number from 0.05 to 10; got 0"),
        ({"d_k": 3}, "d_k must be one of 1, 2, 4, …, 64; got 3"),
        ({"scores": [1.0, math.nan]}, "scores must be a list of entries, each a number from -1000 to 1000"),
        ({"scores": [1.0, 2.0], "tokens": ["one"]}, "got 2 scores and 1 tokens"),
        ({"scores": [1.0]}, "at least 2; got 1 scores"),
    ],
)
def test_wrong_values_are_answered_with_a_sentence(values: dict, seen: str):
    with pytest.raises(TraitError) as error:
        TemperatureLab(**values)
    assert seen in str(error.value)


@pytest.mark.parametrize("weight", [0.001, 0.3, 0.999])
@pytest.mark.parametrize(("temperature", "d_k"), [(1.0, 1), (0.25, 8), (10.0, 64)])
def test_a_weight_that_is_dragged_finds_its_score(weight: float, temperature: float, d_k: int):
    state = {"scores": list(TemperatureLab().scores), "temperature": temperature, "d_k": d_k}
    score = node(f"(row) => maths.scoreForWeight(row, 4, {weight})", state)
    scores = torch.tensor(state["scores"], dtype=torch.float64)
    scores[4] = score
    assert torch.softmax(scores * math.sqrt(d_k) / temperature, dim=-1)[4].item() == pytest.approx(weight, rel=1e-9)


def test_tokens_are_drawn_as_often_as_their_weights_say():
    weights = [0.125, 0.5, 0.0, 0.375]
    evenly = [i / 800 for i in range(800)]
    counts = node(
        "([weights, evenly]) => weights.map((_, i) => evenly.filter((u) => maths.picked(weights, u) === i).length)",
        [weights, evenly],
    )
    assert counts == [100, 400, 0, 300]
    rounded_down = [0.7, 0.2, 0.1 - 2e-16]
    assert node("(weights) => maths.picked(weights, 1 - 2 ** -53)", rounded_down) in (0, 2)


WHOLE = {"handles": ["scores", "width", "draws"]}
PLAIN = {"handles": ["draws"]}
BARS = pytest.mark.parametrize(("bar", "state"), [(".qkv-score", WHOLE), (".qkv-weight-bar", PLAIN)])


@pytest.fixture
def lab(open_page: Callable[..., Page]) -> Page:
    page = open_page(width=390, reduced_motion="reduce")
    draw(page, [("TemperatureLab", WHOLE)])
    return page


@pytest.fixture
def plain(open_page: Callable[..., Page]) -> Page:
    page = open_page(width=390, reduced_motion="reduce")
    draw(page, [("TemperatureLab", PLAIN)])
    return page


def put_temperature(page: Page, share: float) -> None:
    """Drag the thermometer to a share of its length, from cold (0) to hot (1): below scores, it lies."""
    lies = page.get_by_role("slider", name="temperature").get_attribute("aria-orientation") == "horizontal"
    drag(page, page.locator(".qkv-thermometer .qkv-drag"), *((share, 0.5) if lies else (0.5, 1 - share)))


def trait(page: Page, name: str):
    frame(page)
    return page.evaluate("(name) => shown[0].model.get(name)", name)


@pytest.mark.browser
def test_a_score_is_dragged_and_the_weights_beside_it_are_what_comes_out(lab: Page):
    drag(lab, lab.locator(".qkv-score").nth(1), 0.5 + 1 / 16)
    assert trait(lab, "scores")[1] == 2.4, "a sixteenth of the axis from −4 to 4 is added to 1.9"
    lab.get_by_role("button", name="reset scores").click()
    drag(lab, lab.locator(".qkv-weight-bar").nth(4), 0.8)
    assert trait(lab, "scores") == list(TemperatureLab().scores)


@pytest.mark.browser
def test_without_scores_a_weight_is_dragged(plain: Page):
    mouse = plain.locator(".qkv-key-row", has_text="mouse")
    drag(plain, mouse.locator(".qkv-weight-bar"), 0.8)
    assert float(mouse.locator("b").inner_text()) == pytest.approx(0.24 + 0.3, abs=0.02)
    plain.get_by_role("button", name="reset scores").click()
    assert trait(plain, "scores") == list(TemperatureLab().scores)


@pytest.mark.browser
@BARS
@pytest.mark.parametrize("press", ["click", "tap"])
def test_a_press_without_a_drag_changes_no_score(open_page: Callable[..., Page], bar: str, state: dict, press: str):
    page = open_page(width=390, has_touch=True)
    draw(page, [("TemperatureLab", state)])
    getattr(page.locator(bar).first, press)(position={"x": 40, "y": 12})
    assert trait(page, "scores") == list(TemperatureLab().scores)


@pytest.mark.browser
def test_without_scaling_the_scores_are_larger_and_one_temperature_undoes_it(lab: Page):
    cat = lab.locator(".qkv-key-row", has_text="cat")
    score, weight = cat.locator(".qkv-score span"), cat.locator("b")
    knob = lab.locator(".qkv-key-row", has_text="hungry").locator(".qkv-score i")
    length = knob.evaluate("e => e.offsetWidth")
    assert [score.inner_text(), weight.inner_text()] == ["1.9", "0.36"]
    lab.get_by_role("switch", name="width 64, unscaled: scores × 8").check()
    assert trait(lab, "d_k") == 64
    expect(lab.locator(".qkv-of-axis i")).to_have_text(["−16", "16"])
    assert score.inner_text() == "15.2"
    assert knob.evaluate("e => e.offsetWidth") == pytest.approx(2 * length, rel=0.15), "the axis is four times as long"
    assert float(weight.inner_text()) > 0.95
    assert not meets_the_line(lab)
    expect(lab.locator(".qkv-lead")).to_have_text(re.compile(r"^cat gets 0\.9\d of the weight, mouse\s0\.0\d\.$"))
    lab.evaluate("shown[0].model.set('temperature', 8)")
    frame(lab)
    assert weight.inner_text() == "0.36"
    assert meets_the_line(lab)
    expect(lab.locator(".qkv-lead")).to_have_text("T = 8 undoes × 8: every weight is as before.")
    lab.get_by_role("switch").uncheck()
    assert trait(lab, "d_k") == 1


@pytest.mark.browser
def test_weights_are_compared_with_the_old_ones_only_where_they_can_differ(lab: Page):
    old = lab.locator(".qkv-of-before, .qkv-weight-bar s")
    expect(old).to_have_count(0)
    put_temperature(lab, 0.2)
    expect(old).to_have_count(10)
    lab.evaluate("shown[0].model.set('temperature', 1)")
    expect(old).to_have_count(0)
    lab.get_by_role("switch").check()
    expect(old).to_have_count(10)


@pytest.mark.browser
def test_no_bar_and_no_line_meets_a_weight_as_a_number(lab: Page):
    lab.get_by_role("switch").check()
    beside = lab.evaluate("""() => [...document.querySelectorAll('.qkv-weight-bar')].every((bar) => {
      const parts = [bar, bar.querySelector('b'), bar.parentElement];
      const [outer, number, row] = parts.map((e) => e.getBoundingClientRect());
      return outer.right <= number.left && number.right <= row.right;
    })""")
    assert beside


def meets_the_line(lab: Page) -> bool:
    """Whether the bar of each weight ends at the line where it ended before."""
    seen: bool = lab.evaluate("""() => [...document.querySelectorAll('.qkv-weight-bar')].every((bar) => {
      const [end, line] = [...bar.querySelectorAll('i, s')].map((e) => e.getBoundingClientRect());
      return Math.abs(end.right - (line.left + 1)) < 2.5;
    })""")
    return seen


@pytest.mark.browser
def test_a_score_that_is_eight_times_as_large_is_dragged_as_far_as_the_pointer(lab: Page):
    lab.get_by_role("switch").check()
    drag(lab, lab.locator(".qkv-score").nth(0), 0.75)
    assert trait(lab, "scores")[0] == pytest.approx(-0.8 + 8 / 8, abs=0.11), "a quarter of the axis is 8: 8 × 1"


@pytest.mark.browser
def test_a_score_beyond_the_axis_makes_it_longer_and_the_pointer_keeps_its_pace(lab: Page):
    score, places = lab.locator(".qkv-score"), "all => all.map((e) => Number(e.style.getPropertyValue('--qkv-s')))"
    lab.get_by_role("switch").check()
    drag(lab, score.nth(4), 0.75)
    assert trait(lab, "scores")[4] == pytest.approx(1.5 + 8 / 8, abs=0.11), "it passed the axis' end on the way"
    expect(lab.locator(".qkv-of-axis i")).to_have_text(["−32", "32"])
    lab.evaluate("shown[0].model.set('scores', [-0.8, 1.9, 0.1, -0.9, 4, -0.4, 0.6, -0.6, 0.9])")
    frame(lab)
    found = score.evaluate_all(places)
    assert [round(32 * found[i], 1) for i in (1, 4)] == [15.2, 32], "two scores stand at two places"


@pytest.mark.browser
def test_a_width_that_python_sets_is_named(open_page: Callable[..., Page]):
    page = open_page(width=390)
    draw(page, [("TemperatureLab", WHOLE | {"d_k": 2})])
    expect(page.get_by_role("switch", name="width 2, unscaled: scores × 1.41")).to_be_checked()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"scores": [1, 3, 2], "temperature": 0.1}, "key 2 gets 1.00 of the weight, key 3\u00a00.00."),
        ({"scores": [3, 1, 3], "temperature": 0.1}, "key 1 and key 3 get 0.50 of the weight each."),
        ({"scores": [3, 1, 3], "temperature": 10}, "Each of 3 words gets 0.29–0.35 of the weight."),
        ({"temperature": 4}, "cat gets 0.16 of the weight, mouse\u00a00.15."),  # 0.16 and 0.08 are not the same
        ({"scores": [1, 3, 2]}, "key 2 gets 0.67 of the weight, key 3\u00a00.24."),
    ],
)
def test_a_sentence_says_who_has_the_weight(open_page: Callable[..., Page], state: dict, says: str):
    page = open_page(width=390)
    draw(page, [("TemperatureLab", state)])
    expect(page.locator(".qkv-lead")).to_contain_text(says)


@pytest.mark.browser
def test_the_handle_of_a_long_bar_never_covers_its_number(open_page: Callable[..., Page]):
    page = open_page(width=390)
    draw(page, [("TemperatureLab", {"temperature": 0.25})])
    number = page.locator(".qkv-in-bar")
    for temperature in (0.15, 0.21, 0.05):
        page.evaluate("(t) => shown[0].model.set('temperature', t)", temperature)
        for _ in range(6):
            frame(page)
            ends = number.evaluate("""(b) => [b.getBoundingClientRect().right,
              b.closest('.qkv-weight-bar').querySelector('i').getBoundingClientRect().right - 6]""")
            assert ends[0] <= ends[1], temperature


@pytest.mark.browser
@pytest.mark.parametrize("handles", [[], WHOLE["handles"]])
@pytest.mark.parametrize("scores", [list(TemperatureLab().scores), [1000, -1000, 0]])
def test_on_a_phone_it_fits_and_every_score_is_between_its_word_and_its_bar(
    open_page: Callable[..., Page], scores: list[float], handles: list[str]
):
    page = open_phone(open_page)
    draw(page, [("TemperatureLab", {"scores": scores, "d_k": 64, "handles": handles})])
    assert page.locator(".qkv-widget").evaluate("e => e.offsetHeight") <= (644 if handles else 480)
    beyond = page.evaluate("""() => [...document.querySelectorAll('.qkv-score')].filter((bar) => {
      const [name, number, stem, outer] = [bar.previousElementSibling, bar.querySelector('span'),
        bar.querySelector('i'), bar].map((e) => e.getBoundingClientRect());
      const isBetween = name.right <= number.left && number.right <= outer.left;
      return !isBetween || stem.left < outer.left || stem.right > outer.right;
    }).map((bar) => bar.innerText)""")
    assert beyond == []


@pytest.mark.browser
def test_a_weight_that_can_go_no_further_says_why(plain: Page):
    drag(plain, plain.locator(".qkv-weight-bar").nth(1), 0.8)
    assert "Scores end" not in plain.locator(".qkv-hint").inner_text()
    drag(plain, plain.locator(".qkv-weight-bar").nth(1), 1)
    assert trait(plain, "scores")[1] == 4
    assert "Scores end at ±4" in plain.locator(".qkv-hint").inner_text()


@pytest.mark.browser
def test_one_bar_has_a_handle_at_its_end_and_stops_where_its_score_ends(plain: Page):
    row = plain.locator(".qkv-key-row:has(em)")
    expect(row.locator(".qkv-key-name")).to_have_text("cat")
    expect(plain.locator(".qkv-hint")).to_contain_text("score ±4")
    middle = "e => { const { left, right } = e.getBoundingClientRect(); return (left + right) / 2; }"
    end = "e => e.getBoundingClientRect().right"
    stops = [row.locator(".qkv-stop").nth(i).evaluate(middle) for i in range(2)]
    for share, stop in ((1, stops[1]), (0, stops[0])):
        for _ in range(2):  # each by half of the axis
            drag(plain, row.locator(".qkv-weight-bar"), share)
        assert trait(plain, "scores")[1] == (4 if share else -4)
        assert row.locator("em").evaluate(middle) == pytest.approx(stop, abs=2)
        assert row.locator("i").evaluate(end) == pytest.approx(stop, abs=2)
    put_temperature(plain, 0.2)
    assert row.locator(".qkv-stop").nth(1).evaluate(middle) > stops[1] + 5, "another T, another weight"
    drag(plain, plain.locator(".qkv-weight-bar").nth(4), 0.6)
    expect(row.locator(".qkv-key-name")).to_have_text("mouse")


@pytest.mark.browser
@pytest.mark.parametrize("temperature", [0.05, 0.5, 1, 10])
def test_the_handle_of_a_bar_covers_no_number(plain: Page, temperature: float):
    plain.evaluate("(t) => shown[0].model.set('temperature', t)", temperature)
    frame(plain)
    knob, number = (plain.locator(f".qkv-weight-bar:has(em) {part}").bounding_box() for part in ("em", "b"))
    assert knob
    assert number
    assert number["x"] >= knob["x"] + knob["width"] or number["x"] + number["width"] <= knob["x"]


@pytest.mark.browser
def test_the_end_of_a_weights_bar_is_its_weight(lab: Page):
    ends = """() => [...document.querySelectorAll('.qkv-weight-bar')].map((bar) => {
      const [inner, outer] = [bar.querySelector('i'), bar].map((e) => e.getBoundingClientRect());
      return [(inner.right - outer.left) / outer.width, Number(bar.querySelector("b").textContent)];
    }).filter(([, weight]) => weight > 0.02)"""
    put_temperature(lab, 0.5)
    for end, weight in lab.evaluate(ends):
        assert end == pytest.approx(weight, abs=0.0051)


@pytest.mark.browser
def test_the_thermometer_is_dragged(lab: Page):
    put_temperature(lab, 0)
    assert trait(lab, "temperature") == 0.05
    lab.get_by_role("slider", name="temperature").press("ArrowRight")
    expect(lab.get_by_role("slider", name="temperature")).to_have_attribute("aria-valuetext", re.compile(r"^0\.05\d$"))
    assert len(lab.locator(".qkv-thermometer b").inner_text().split()[1]) <= 4, "the ring is no wider"
    put_temperature(lab, math.log(2 / 0.05) / math.log(200))
    assert trait(lab, "temperature") == 2
    expect(lab.get_by_role("slider", name="temperature")).to_have_attribute("aria-valuetext", "2")
    assert lab.locator(".qkv-thermometer b").inner_text().split() == ["T", "2"]


@pytest.mark.browser
@pytest.mark.parametrize("part", ["b", "b var", ".qkv-drag"])
def test_on_the_thermometer_a_finger_drags_the_knob_and_its_track(open_page: Callable[..., Page], part: str):
    page, handle = opened(open_page, ("TemperatureLab", {"temperature": 0.4}), f".qkv-thermometer {part}")
    assert swipe(page, handle, 0, -60) == 0
    assert trait(page, "temperature") > 0.8


@pytest.mark.browser
@pytest.mark.parametrize("part", ["b", "b var", ".qkv-drag"])
def test_below_scores_a_finger_drags_it_sideways(open_page: Callable[..., Page], part: str):
    state = {"temperature": 0.4, "handles": ["scores"]}
    page, handle = opened(open_page, ("TemperatureLab", state), f".qkv-thermometer {part}")
    assert swipe(page, handle, 60, 0) == 0
    assert trait(page, "temperature") > 0.5


@pytest.mark.browser
def test_beside_the_thermometer_a_finger_scrolls(open_page: Callable[..., Page]):
    page, word = opened(open_page, ("TemperatureLab", {}), ".qkv-key-name")
    assert swipe(page, word, 0, -60) > 10
    assert trait(page, "temperature") == 1


@pytest.mark.browser
def test_in_forced_colours_the_bars_and_the_level_can_be_seen(open_page: Callable[..., Page]):
    page = open_page(width=390, forced_colors="active")
    draw(page, [("TemperatureLab", WHOLE)])
    colour = "e => getComputedStyle(e).backgroundColor"
    paper = page.locator("body").evaluate(colour)
    for part in (".qkv-weight-bar i", ".qkv-score i", ".qkv-thermometer i"):
        seen = page.locator(part).first.evaluate(colour)
        assert seen not in (paper, "rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"), part


@pytest.mark.browser
def test_words_are_drawn_and_another_weight_starts_the_count_again(lab: Page):
    put_temperature(lab, 0)
    dots = lab.locator(".qkv-weight-bar u")
    expect(dots).to_have_count(0)
    lab.get_by_role("button", name="draw 100").click()
    expect(dots).to_have_count(100)
    expect(lab.locator(".qkv-sampled")).to_have_text(re.compile("^100 drawn, the last: (cat|mouse)"))
    colour = dots.first.evaluate("e => getComputedStyle(e).backgroundColor")
    expect(lab.locator(".qkv-sampled u"), "the name of the dots").to_have_css("background-color", colour)
    # Its weight is almost 1: now and then another word is drawn.
    expect(lab.locator("details td:last-child").nth(1)).to_have_text(re.compile(r"1\.000|0\.9[5-9]0"))
    lab.get_by_role("slider", name="score of cat").press("ArrowLeft")
    expect(lab.locator(".qkv-sampled")).to_contain_text("Language models draw words")


@pytest.mark.browser
def test_the_dots_are_as_long_as_the_share_of_the_draws(lab: Page):
    for draws in (100, 200):
        lab.get_by_role("button", name="draw 100").click()
        expect(lab.locator(".qkv-sampled")).to_contain_text(f"{draws} drawn")
        lab.locator("details").evaluate("details => { details.open = true; }")
        for row, seen in zip(lab.locator(".qkv-weight-bar").all(), table(lab), strict=True):
            assert row.locator("u").count() == pytest.approx(100 * seen, abs=0.51)


def table(lab: Page) -> list[float]:
    """The share of the draws of each token, as the table says."""
    frame(lab)
    return [float(cell) for cell in lab.locator("details td:nth-child(5)").all_inner_texts()]


@pytest.mark.browser
@BARS
def test_nothing_jumps_when_words_are_drawn_and_bars_are_dragged(open_page: Callable[..., Page], bar: str, state: dict):
    page = open_page(width=390, reduced_motion="reduce")
    draw(page, [("TemperatureLab", state)])
    height = "() => document.querySelector('.qkv-widget').offsetHeight"
    before = page.evaluate(height)
    page.get_by_role("button", name="draw a word").click()
    frame(page)
    assert page.evaluate(height) == before
    drag(page, page.locator(bar).nth(5), 1)
    frame(page)
    assert trait(page, "scores") != list(TemperatureLab().scores)
    assert page.evaluate(height) == before


@pytest.mark.browser
@BARS
def test_a_finger_drags_a_bar_sideways_and_scrolls_the_page_up(open_page: Callable[..., Page], bar: str, state: dict):
    page, picture = opened(open_page, ("TemperatureLab", state), bar)
    assert swipe(page, picture, 0, -200) > 100
    assert trait(page, "scores") == list(TemperatureLab().scores)
    picture.evaluate("e => e.scrollIntoView({ block: 'center' })")
    assert swipe(page, picture, 20, 0) == 0
    assert trait(page, "scores")[0] > TemperatureLab().scores[0]
