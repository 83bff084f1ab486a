"""PositionExplorer: its codes, turns and biases against the reference, and what its two handles leave unmoved."""

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from qkv.positions import alibi_bias, apply_rope, pair_frequencies, sinusoidal_encoding
from qkv.widgets import PositionExplorer

from .conftest import as_on_a_phone, drag, frame
from .node import ROOT, node

DOUBLE = torch.float64
EXPLORER = ROOT / "src" / "qkv" / "widgets" / "static" / "position_explorer.js"


def words(d: int) -> torch.Tensor:
    return torch.randn(2, d, dtype=DOUBLE, generator=torch.Generator().manual_seed(d))


def scores(places: list[list[int]], **setting: Any) -> torch.Tensor:
    setting = {"scheme": "sinusoidal", "d": 16, "base": 10_000, "head": 1, "words": None} | setting
    body = "({ places, setting: { ...s } }) => places.map(((p) => ([t, s]) => p.score(t, s))(maths.placedScores(s)))"
    return torch.tensor(node(body, {"places": places, "setting": setting}), dtype=DOUBLE)


# ---- the mathematics, against the reference


@pytest.mark.parametrize("base", [10, 10_000, 1_000_000])
@pytest.mark.parametrize("d", [4, 128])
def test_hands_are_the_reference_s(d: int, base: float):
    frequencies = node("([d, base]) => maths.pairFrequencies(d, base)", [d, base])
    torch.testing.assert_close(torch.tensor(frequencies, dtype=DOUBLE), pair_frequencies(d, base))
    body = "(fs) => [0, 1, 5, 254].map((t) => maths.sinusoidalEncoding(t, fs))"
    expected = sinusoidal_encoding(255, d, base, dtype=DOUBLE)[[0, 1, 5, 254]]
    torch.testing.assert_close(torch.tensor(node(body, frequencies), dtype=DOUBLE), expected, atol=1e-11, rtol=0)


@pytest.mark.parametrize("position", [0, 3, 127])
def test_turns_are_the_reference_s(position: int):
    x = words(32)[:1]
    body = "({ x, t }) => maths.applyRope(x, maths.sinusoidalEncoding(t, maths.pairFrequencies(32, 500)))"
    turned = torch.tensor(node(body, {"x": x[0].tolist(), "t": position}), dtype=DOUBLE)
    torch.testing.assert_close(turned, apply_rope(x, torch.tensor([position]), base=500.0)[0])


@pytest.mark.parametrize("head", [1, 8])
def test_biases_are_the_reference_s(head: int):
    drawn = node("(head) => [0, 1, 2, 3, 4].map((s) => maths.alibiBias(head, 8, 4 - s))", head)
    torch.testing.assert_close(torch.tensor(drawn), alibi_bias(8, 5)[head - 1, 4])


@pytest.mark.parametrize("scheme", ["sinusoidal", "rope", "alibi"])
@pytest.mark.parametrize("with_words", [False, True])
def test_scores_are_torch_s(scheme: str, with_words: bool):
    d, t, s = 32, 41, 97
    it, cat = words(d) if with_words else torch.zeros(2, d, dtype=DOUBLE)
    pe = sinusoidal_encoding(128, d, dtype=DOUBLE)
    hands = torch.tensor([0.0, 1.0], dtype=DOUBLE).repeat(d // 2)
    q, k = apply_rope(torch.stack([it, cat] if with_words else [hands, hands]), torch.tensor([t, s]))
    expected = {
        "sinusoidal": (it + pe[t]) @ (cat + pe[s]),
        "rope": q @ k,
        "alibi": it @ cat / math.sqrt(d) + alibi_bias(8, 128)[2, t, s],
    }
    given = [it.tolist(), cat.tolist()] if with_words else None
    torch.testing.assert_close(scores([[t, s]], scheme=scheme, d=d, head=3, words=given)[0], expected[scheme])


# ---- its point: what moves with the page, and what does not


@pytest.mark.parametrize(
    ("scheme", "with_words", "moves"),
    [
        ("sinusoidal", False, False),
        ("sinusoidal", True, True),
        ("rope", False, False),
        ("rope", True, False),
        ("alibi", False, False),
        ("alibi", True, False),
    ],
)
def test_only_codes_added_to_words_depend_on_the_page(scheme: str, with_words: bool, moves: bool):
    given = words(32).tolist() if with_words else None
    along = scores([[t, t - 5] for t in range(5, 128)], scheme=scheme, d=32, words=given)
    assert (along.max() - along.min() > 1) == moves
    assert moves or along.max() - along.min() < 1e-9


def test_with_two_clocks_six_steps_away_is_most_alike():
    few = scores([[0, s] for s in range(10)], d=4)
    many = scores([[0, s] for s in range(10)], d=64)
    assert few[1:].argmax() + 1 == 6
    assert many[1:].argmax() + 1 == 1


# ---- the drawing


@pytest.fixture
def explorer(open_page: Callable[..., Page]) -> Callable[..., Locator]:
    """Draw a PositionExplorer with these traits from its built file, and unfold its settings."""

    def draw(width: int = 800, **traits: Any) -> Locator:
        page = open_page(width=width)
        names = ["scheme", "query", "key", "together", "words", "d", "base", "head"]
        state = {name: getattr(PositionExplorer(**traits), name) for name in names}
        page.evaluate(
            """async ([source, state]) => {
              const code = new Blob([source], { type: "text/javascript" });
              const { default: widget } = await import(URL.createObjectURL(code));
              window.drawn = show(widget, state);
            }""",
            [EXPLORER.read_text(encoding="utf-8"), state],
        )
        root = page.locator('[data-widget="PositionExplorer"]')
        root.get_by_text("All distances, and other codes").click()
        frame(page)
        return root

    return draw


def number(root: Locator, name: str) -> float:
    return value(root.locator(f'[data-number="{name}"]').inner_text())


def value(text: str) -> float:
    """The number that a text says, such as −0.12, or + 0.12 for a term of a sum."""
    return float(text.replace("−", "-").replace(" ", ""))


def test_it_opens_on_a_sentence_that_moves_as_a_whole(explorer: Callable[..., Locator]):
    root = explorer()
    before = number(root, "score")
    dials = root.locator(".qkv-pos-dials").inner_html()
    root.get_by_role("slider", name="query").press("ArrowRight")
    frame(root.page)
    state = root.page.evaluate("() => ['query', 'key'].map((name) => drawn.model.get(name))")
    assert state[0] - state[1] == 5
    assert state != [6, 1]
    assert root.locator(".qkv-pos-dials").inner_html() != dials
    assert number(root, "score") == before
    lead = root.locator(".qkv-lead")
    expect(lead).to_have_text(f"5 apart: always {before:.2f}")
    top, picture = lead.bounding_box(), root.locator(".qkv-pos-map").bounding_box()
    assert top
    assert picture
    assert top["y"] + top["height"] <= picture["y"], "the page leads with what stays"


def test_handles_part_when_the_distance_is_let_go(explorer: Callable[..., Locator]):
    root = explorer(together=False)
    before = number(root, "score")
    root.get_by_role("slider", name="query").press("End")
    frame(root.page)
    assert root.page.evaluate("() => [drawn.model.get('query'), drawn.model.get('key')]") == [127, 1]
    assert number(root, "score") != before


def test_a_text_stops_at_its_ends(explorer: Callable[..., Locator]):
    root = explorer(query=126, key=20)
    slider = root.get_by_role("slider", name="key")
    slider.press("End")
    frame(root.page)
    assert root.page.evaluate("() => [drawn.model.get('query'), drawn.model.get('key')]") == [127, 21]
    assert slider.input_value() == "21"


def test_added_codes_make_the_score_of_words_depend_on_the_place(explorer: Callable[..., Locator]):
    root = explorer(words=True, d=32, query=106, key=101)
    says = root.locator(".qkv-lead")
    bar = root.locator(".qkv-pos-anywhere")
    low, high = (float(text.replace("−", "-")) for text in says.locator("b").all_inner_texts())
    assert high - low > 5
    assert low < number(root, "score") < high
    assert bar.evaluate("line => line.getBoundingClientRect().height") > 10
    root.get_by_label("RoPE").check()
    frame(root.page)
    expect(says).to_contain_text("5 apart: always ")
    assert bar.evaluate("line => line.getBoundingClientRect().height") < 4


@pytest.mark.parametrize("scheme", ["sinusoidal", "rope"])
def test_with_words_the_score_still_adds_up(explorer: Callable[..., Locator], scheme: str):
    """Added codes: what the clocks give, and what the words add to it. Rotated words are in the clocks already."""
    root = explorer(scheme=scheme, words=True, d=8, base=100, query=46, key=41)
    clocks = sum(value(text) for text in root.locator(".qkv-pos-clock b").all_inner_texts())
    parts = [value(text.split("\n")[0]) for text in root.locator(".qkv-pos-score span").all_inner_texts()]
    assert len(parts) == (2 if scheme == "sinusoidal" else 0)
    assert (parts or [number(root, "score")])[0] == pytest.approx(clocks, abs=0.03)
    assert sum(parts or [clocks]) == pytest.approx(number(root, "score"), abs=0.03)
    if parts:
        assert abs(parts[1]) > 0.1


@pytest.mark.parametrize("key", [0, 41, 64, 127])
def test_a_ruler_below_the_map_is_not_cut_by_the_tag(explorer: Callable[..., Locator], key: int):
    root = explorer(width=390, key=key, query=60)
    tag = root.locator(".qkv-pos-handle-key").bounding_box()
    ticks = root.locator(".qkv-pos-ruler span")
    assert tag
    assert set(ticks.all_inner_texts()) < {"0", "32", "64", "96", "127"}
    assert ticks.count() >= 3
    edges = ticks.evaluate_all(
        "all => all.map((e) => [e.getBoundingClientRect().left, e.getBoundingClientRect().right])"
    )
    assert all(right <= tag["x"] or left >= tag["x"] + tag["width"] for left, right in edges)


@pytest.mark.parametrize(("d", "dials"), [(4, 2), (8, 4), (16, 4), (128, 4)])
def test_the_clocks_add_up_to_the_score(explorer: Callable[..., Locator], d: int, dials: int):
    root = explorer(d=d)
    texts = root.locator(".qkv-pos-clock b").all_inner_texts()
    assert [text[:2] in ("+ ", "− ") for text in texts] == [False] + (dials - 1) * [True]
    shown = [value(text) for text in texts]
    assert len(shown) == dials
    others = number(root, "others") if d > 8 else 0
    assert abs(sum(shown) + others - number(root, "score")) < 0.05


def test_the_shaded_angle_of_a_clock_stays_when_both_tokens_move(explorer: Callable[..., Locator]):
    root = explorer(query=46, key=41)
    angles = "dials => dials.map((dial) => parseFloat(dial.style.getPropertyValue('--angle')))"
    before = root.locator(".qkv-pos-dial").evaluate_all(angles)
    turns = 5 * pair_frequencies(16)[:4]
    assert before == pytest.approx([abs(math.remainder(turn, math.tau)) for turn in turns.tolist()])
    root.get_by_role("slider", name="query").press("ArrowRight")
    frame(root.page)
    assert root.locator(".qkv-pos-dial").evaluate_all(angles) == pytest.approx(before)


def test_the_hands_point_where_the_code_says(explorer: Callable[..., Locator]):
    root = explorer(query=6, key=1, d=16)
    hands = root.locator(".qkv-pos-dial").evaluate_all("""dials => dials.map((dial) => ["query", "key"].map((name) => {
      const { c, d } = new DOMMatrix(getComputedStyle(dial.querySelector(`.qkv-pos-${name}`)).transform);
      return [-c, d]; // where what points to twelve is turned: to the right, and up
    }))""")
    code = sinusoidal_encoding(7, 16)[[6, 1]].view(2, 8, 2)  # (query and key, clock, sine and cosine)
    torch.testing.assert_close(torch.tensor(hands), code.transpose(0, 1)[:4], atol=1e-4, rtol=0)


def test_a_token_of_few_features_shows_its_clocks_alone(explorer: Callable[..., Locator]):
    root = explorer(d=8)
    assert root.locator(".qkv-pos-dial:visible").count() == 4


def test_the_terms_of_two_words_with_codes_are_in_a_table(explorer: Callable[..., Locator]):
    root = explorer(width=390, words=True, query=30, key=90, d=128)
    clocks = [value(text) for text in root.locator(".qkv-pos-clock b").all_inner_texts()]
    root.get_by_text("Numbers", exact=True).click()
    terms = dict(rows_of(root, "the terms of the dot product"))
    assert terms["code · code (clocks)"] == pytest.approx(sum(clocks) + number(root, "others"), abs=0.03)
    assert terms["together"] == number(root, "score")
    *products, together = terms.values()
    assert len(products) == 4
    assert abs(sum(products) - together) < 0.03


def rows_of(root: Locator, caption: str) -> list[tuple[str, float]]:
    """The rows of a table of two columns under Numbers."""
    table = root.locator("table", has=root.page.locator("caption", has_text=caption))
    cells: list[list[str]] = table.evaluate(
        "table => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    return [(name, float(text.replace("−", "-"))) for name, text in cells]


@pytest.mark.parametrize("width", [390, 800])
def test_four_clocks_are_shown_and_large_enough_for_a_finger(explorer: Callable[..., Locator], width: int):
    dials = explorer(width=width, d=128).locator(".qkv-pos-dial")
    assert [dials.nth(i).is_visible() for i in range(4)] == [True] * 4
    assert min(dials.evaluate_all("(all) => all.map((dial) => dial.offsetWidth)")) >= 48


def test_the_slope_of_the_chosen_head_is_said(explorer: Callable[..., Locator]):
    slider = explorer(width=390, scheme="alibi", head=3).get_by_role("slider", name="head")
    expect(slider).to_have_attribute("aria-valuetext", "3, slope 1/8")


@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("with_words", [False, True])
def test_the_numbers_of_the_clocks_stay_apart(explorer: Callable[..., Locator], width: int, with_words: bool):
    root = explorer(width=width, d=128, words=with_words, query=106, key=41)
    heights = root.locator(".qkv-pos-dials b").evaluate_all("all => all.map((each) => each.offsetHeight)")
    assert max(heights) < 25, "one line each"
    as_wide = """all => all.map((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      const { left, right } = range.getBoundingClientRect();
      return [left, right];
    })"""
    places = root.locator(".qkv-pos-dials b").evaluate_all(as_wide)
    assert all(right[0] - left[1] >= 3 for left, right in itertools.pairwise(places))


@pytest.mark.parametrize("width", [390, 800])
def test_it_says_that_without_words_rope_shows_what_sinusoidal_shows(explorer: Callable[..., Locator], width: int):
    root = explorer(width=width, scheme="rope")
    says = root.get_by_text("Without words: the same numbers as sinusoidal; hands turn the other way.")
    expect(says).to_be_visible()
    root.get_by_role("switch", name="words").press("Space")
    expect(says).to_have_count(0)


def test_no_axis_changes_with_the_distance(explorer: Callable[..., Locator]):
    root = explorer(together=False, query=5, key=4)
    ticks = root.locator(".qkv-plot text")
    before = ticks.all_text_contents()
    assert {"−100", "100"} <= set(before)
    root.get_by_role("slider", name="query").press("End")
    frame(root.page)
    assert ticks.all_text_contents() == before


@pytest.mark.parametrize("scheme", ["sinusoidal", "rope", "alibi"])
def test_the_map_follows_the_page_into_the_dark(explorer: Callable[..., Locator], scheme: str):
    root = explorer(scheme=scheme)
    paper = """() => {
      const canvas = document.querySelector("canvas");
      const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return [canvas.width, canvas.height, Math.min(...bytes.filter((_, i) => i % 4 < 3))];
    }"""
    light = root.page.evaluate(paper)
    assert light[:2] == [128, 8 if scheme == "alibi" else 16], "positions are across, features or heads down"
    root.page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    frame(root.page)
    assert root.page.evaluate(paper)[2] < 30 <= light[2]


@pytest.mark.parametrize("scheme", ["sinusoidal", "rope", "alibi"])
@pytest.mark.parametrize("with_words", [False, True])
def test_it_fits_a_phone(explorer: Callable[..., Locator], scheme: str, with_words: bool):
    root = explorer(width=390, scheme=scheme, words=with_words, d=128)
    assert root.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(re.search(r"\w", label) for label in root.locator("label").all_inner_texts())


# ---- what is grabbed


def places(root: Locator) -> list[int]:
    frame(root.page)
    return root.page.evaluate("() => [drawn.model.get('query'), drawn.model.get('key')]")


def on_the_rim(tokens: float, frequency: float) -> tuple[float, float]:
    """Where on a dial a hand points that has turned for so many tokens, as shares of its width and height."""
    angle = tokens * frequency
    return 0.5 + 0.45 * math.sin(angle), 0.5 - 0.45 * math.cos(angle)


@pytest.mark.parametrize(("clock", "frequency"), [(0, 1.0), (1, 10_000 ** (-2 / 16))])
def test_a_hand_is_turned_to_where_its_token_stands(explorer: Callable[..., Locator], clock: int, frequency: float):
    root = explorer(query=2, key=0, together=False)
    dial = root.locator(".qkv-pos-dial").nth(clock)
    box = dial.bounding_box()
    assert box
    mouse = root.page.mouse
    for step, tokens in enumerate([2, 3, 4, 5]):
        x, y = on_the_rim(tokens, frequency)
        mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if step == 0:
            mouse.down()
        assert places(root) == [tokens, 0]
    mouse.up()


@pytest.mark.parametrize(("scheme", "with_words"), [("sinusoidal", True), ("rope", False), ("rope", True)])
def test_a_hand_of_any_clock_follows_the_pointer(explorer: Callable[..., Locator], scheme: str, with_words: bool):
    root = explorer(scheme=scheme, words=with_words, query=40, key=10, together=False, d=16)
    angle = """dial => {
      const { c, d } = new DOMMatrix(getComputedStyle(dial.querySelector(".qkv-pos-query")).transform);
      return Math.atan2(-c, d);
    }"""
    dial = root.locator(".qkv-pos-dial").nth(2)
    before = dial.evaluate(angle)
    box = dial.bounding_box()
    assert box
    for step, turned in enumerate([0.0, 0.4, 0.8]):
        x, y = on_the_rim(before + turned, 1)
        root.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if step == 0:
            root.page.mouse.down()
        frame(root.page)
    root.page.mouse.up()
    assert math.remainder(dial.evaluate(angle) - before - 0.8, math.tau) == pytest.approx(0, abs=0.06)
    assert abs(places(root)[0] - 40) in (7, 8, 9)


def test_the_curve_is_dragged(explorer: Callable[..., Locator]):
    root = explorer(width=390)
    curve = root.locator("svg.qkv-drag")
    drag(root.page, curve, (20 + 127) / 254)
    assert places(root) == [20, 0], "the query gives way at the start of the text"
    drag(root.page, curve, (127 - 32) / 254)
    assert places(root) == [20, 52]


@pytest.mark.parametrize(("query", "key"), [(6, 52), (0, 127)])
def test_a_distance_is_not_negative(explorer: Callable[..., Locator], query: int, key: int):
    lead = explorer(query=query, key=key, together=False).locator(".qkv-lead")
    expect(lead).to_have_text(re.compile(f"^{key - query} apart: "))


def test_two_clocks_have_a_second_peak_that_can_be_reached(explorer: Callable[..., Locator]):
    root = explorer(d=4, width=390)
    scores = []
    for distance in (0, 3, 6):
        drag(root.page, root.locator("svg.qkv-drag").first, (distance + 127) / 254)
        assert places(root)[0] - places(root)[1] == distance
        scores.append(number(root, "score"))
    assert scores[0] > scores[2] > 1.9 > scores[1]


@pytest.mark.parametrize("scheme", ["sinusoidal", "alibi"])
def test_the_nearer_mark_on_the_map_is_dragged(explorer: Callable[..., Locator], scheme: str):
    root = explorer(scheme=scheme, together=False, query=60, key=100)
    drag(root.page, root.locator(".qkv-pos-picture"), 0.3)
    assert places(root) == [38, 100]


@pytest.mark.parametrize("width", [390, 800])
@pytest.mark.parametrize(("name", "moved"), [("query", [46, 1]), ("key", [6, 41])])
def test_a_tag_is_dragged_and_stays_under_the_pointer(
    explorer: Callable[..., Locator], width: int, name: str, moved: list[int]
):
    root = explorer(width=width, together=False)
    box = root.locator(f".qkv-pos-handle-{name}").bounding_box()
    text = root.locator(".qkv-pos-text").bounding_box()
    assert box
    assert text
    x, y = box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2
    root.page.mouse.move(x, y)
    root.page.mouse.down()
    assert places(root) == [6, 1], "a press moves nothing"
    root.page.mouse.move(x + 40 / 127 * text["width"], y, steps=4)
    assert places(root) == moved
    root.page.mouse.up()


def test_tags_stay_within_the_widget_and_beside_their_marks(explorer: Callable[..., Locator]):
    root = explorer(width=390, together=False)
    text = root.locator(".qkv-pos-text").bounding_box()
    assert text
    for at in (0, 46, 127):
        root.get_by_role("slider", name="query").fill(str(at))
        frame(root.page)
        tag, line = (root.locator(f".qkv-pos-{part}-query").bounding_box() for part in ("handle", "mark"))
        assert tag
        assert line
        assert text["x"] - 0.5 <= tag["x"]
        assert tag["x"] + tag["width"] <= text["x"] + text["width"] + 0.5
        middle = tag["x"] + tag["width"] / 2
        if text["x"] + tag["width"] < middle < text["x"] + text["width"] - tag["width"]:
            assert middle == pytest.approx(line["x"] + line["width"] / 2, abs=1), "centred on its line"
        assert tag["x"] - 0.5 <= line["x"]
        assert line["x"] + line["width"] <= tag["x"] + tag["width"] + 0.5


def test_a_head_of_alibi_is_chosen_by_a_press_and_by_the_arrow_keys(explorer: Callable[..., Locator]):
    root = explorer(width=390, scheme="alibi", words=True)
    chosen = "() => drawn.model.get('head')"

    def frame_of(tile: int) -> str:
        return root.locator(".qkv-pos-head").nth(tile).evaluate("tile => getComputedStyle(tile).outlineWidth")

    height = root.bounding_box()
    root.locator(".qkv-pos-head").nth(4).click(position={"x": 4, "y": 4})
    frame(root.page)
    assert root.page.evaluate(chosen) == 5
    expect(root.get_by_role("slider", name="head")).to_have_value("5")
    root.page.keyboard.press("ArrowRight")
    frame(root.page)
    assert root.page.evaluate(chosen) == 6
    assert frame_of(5) == "4px", "the focus can be seen on the tile that is chosen"
    root.get_by_role("slider", name="head").press("Home")
    frame(root.page)
    assert frame_of(0) == "2px"
    expect(root.get_by_role("radio", name="head 1")).to_be_checked()
    assert root.bounding_box() == height


@pytest.mark.parametrize(("scheme", "d"), [("alibi", 16), ("sinusoidal", 128)])
def test_a_longer_number_above_the_curve_moves_nothing(explorer: Callable[..., Locator], scheme: str, d: int):
    root = explorer(width=370, scheme=scheme, d=d, words=True, together=False, query=5, key=5)
    heights = set()
    for query in (5, 30, 90, 127):
        root.get_by_role("slider", name="query").fill(str(query))
        frame(root.page)
        heights.add(root.locator(".qkv-pos-curve").evaluate("e => e.offsetHeight"))
    assert len(heights) == 1


@pytest.mark.parametrize("scheme", ["sinusoidal", "rope", "alibi"])
def test_all_of_it_is_on_one_screen_of_a_phone(explorer: Callable[..., Locator], scheme: str):
    page = explorer(width=390, scheme=scheme, d=128, base=1_000_000).page
    as_on_a_phone(page)
    page.get_by_text("All distances, and other codes").click()  # folded again, as a reader first sees it
    heights = set()
    for words in (False, True):
        page.evaluate("(words) => drawn.model.set('words', words)", words)
        frame(page)
        heights.add(page.locator(".qkv-widget").evaluate("e => e.offsetHeight"))
    assert len(heights) == 1
    assert heights.pop() <= 500


def test_alibi_s_axis_fits_the_distances_that_are_shown(explorer: Callable[..., Locator]):
    root = explorer(scheme="alibi", head=1)
    curve = root.locator(".qkv-curve").evaluate("path => path.getBBox().height")
    assert curve == pytest.approx(100, abs=0.5), "head 1 falls over the whole height within the text"


@pytest.mark.parametrize("d", [4, 16, 64])
def test_a_bracket_ties_two_rows_of_the_picture_to_a_clock_by_its_number(explorer: Callable[..., Locator], d: int):
    root = explorer(width=390, d=d)
    expect(root).to_contain_text("each position’s code: two rows make a clock")
    brackets, dials = root.locator(".qkv-pos-pair"), root.locator(".qkv-pos-clock")
    assert brackets.all_inner_texts() == dials.locator("small").all_inner_texts() == list("1234")[: min(4, d // 2)]
    spans = brackets.evaluate_all("""es => es.map((e) => {
      const { top, height } = document.querySelector(".qkv-pos-picture").getBoundingClientRect();
      const { top: from, bottom: to } = e.getBoundingClientRect();
      return [(from - top) / height, (to - top) / height];
    })""")
    features = root.page.evaluate("""() => [...document.querySelectorAll(".qkv-pos-query")].map((hand) => {
      const { c, d } = new DOMMatrix(getComputedStyle(hand).transform);
      return [-c, d];
    })""")
    code = sinusoidal_encoding(7, d)[6]
    for (top, bottom), shown in zip(spans, features, strict=True):
        first, after = round(top * d), round(bottom * d)
        assert shown == pytest.approx(code[first:after].tolist(), abs=1e-4)
    root.get_by_label("ALiBi").check()
    expect(brackets).to_have_count(0)
