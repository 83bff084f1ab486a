"""The repeater in JavaScript against qkv.models in float64, its interventions too, and the widget that shows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import Locator, Page, expect
from traitlets import TraitError

from qkv.interpretability import induction_score, previous_token_score
from qkv.models import load_repeater, repeater_steps
from qkv.models.repeater import N_SYMBOLS
from qkv.transformer import Places
from qkv.widgets import HeadMicroscope
from qkv.widgets.base import _own_traits
from qkv.widgets.head_microscope import STEPS

from .conftest import colours, drag, frame, open_phone
from .node import JS, node

OpenPage = Callable[..., Page]
TEXTS = [[10, 1, 23, 16, 21, 12, 10, 1, 23, 16, 21, 12, 10, 1, 23, 16], [3, 3], [31, 0, 31, 0, 0], list(range(32))]
MODES = [["zeros", "on", "on", "on"], ["on", "mean", "other text", "on"], ["other text", "zeros", "mean", "mean"]]


def ask(body: str, data: Any = None) -> Any:
    """What `body`, over the module m and the trained model, makes of x."""
    module = f'await import("{(JS / "repeater.js").as_uri()}")'
    return node(
        f'async (x) => {{ const m = {module}; const model = m.makeRepeater(weights("repeater")); {body} }}', data
    )


def double(values: Any, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def run(
    ids: list[int], edits: dict[str, Callable[[torch.Tensor], torch.Tensor]] | None = None, step: int | None = None
) -> Places:
    """The places of one run in torch, in float64."""
    places = Places(edits or {})
    with torch.no_grad():
        load_repeater(step=step).double()(torch.tensor([ids]), visit=places)
    return places


# ---- the mathematics


@pytest.mark.parametrize("ids", TEXTS)
def test_every_place_is_what_torch_computes(ids: list[int]):
    found, expected = ask("return m.runRepeater(model, x);", ids), run(ids)
    for place, values in found.items():
        table = expected[place].squeeze(0)
        torch.testing.assert_close(double(values, tuple(table.shape)), table, atol=1e-8, rtol=0)


@pytest.mark.parametrize("step", [250, 1000])
def test_at_an_earlier_step_every_place_is_what_torch_computes(step: int):
    read = 'const saved = files.readSafetensors(weights("repeater-checkpoints"));'
    found = ask(f"{read} return m.runRepeater(m.repeaterAt(saved, x.step), x.ids);", {"step": step, "ids": TEXTS[0]})
    expected = run(TEXTS[0], step=step)
    for place, values in found.items():
        table = expected[place].squeeze(0)
        torch.testing.assert_close(double(values, tuple(table.shape)), table, atol=1e-8, rtol=0)


def test_the_widget_takes_the_steps_that_were_kept():
    assert repeater_steps() == STEPS
    assert HeadMicroscope().step == STEPS[-1]


def drawn() -> list[list[int]]:
    texts: list[list[int]] = ask("return m.drawTexts(16, 1);")
    return texts


def means(texts: list[list[int]]) -> list[torch.Tensor]:
    """Each layer's mean output of each head, (H, d_head), over texts and positions."""
    places = [run(ids) for ids in texts]
    return [torch.stack([p[f"{layer}.attention.heads"][0] for p in places]).mean((0, 2)) for layer in range(2)]


def test_texts_are_drawn_as_the_repeater_was_trained():
    texts = drawn()
    assert len(texts) == 16
    for ids in texts:
        assert len(ids) == 32
        assert set(ids) <= set(range(N_SYMBOLS))
        assert any(ids[period:] == ids[:-period] for period in range(6, 17))


@pytest.mark.parametrize("modes", MODES)
def test_interventions_are_those_of_torch(modes: list[str]):
    ids, texts = TEXTS[0], drawn()
    body = "return m.intervene(model, x.ids, x.modes, m.meanOutputs(model, x.texts)).logits;"
    found = ask(body, {"ids": ids, "modes": modes, "texts": texts})
    other, average = run([(i + 1) % N_SYMBOLS for i in ids]), means(texts)

    def edit_of(layer: int) -> Callable[[torch.Tensor], torch.Tensor]:
        place = f"{layer}.attention.heads"

        def edit(heads: torch.Tensor) -> torch.Tensor:
            put = {
                "on": heads,
                "zeros": torch.zeros_like(heads),
                "mean": average[layer][:, None].expand_as(heads),
                "other text": other[place],
            }
            return torch.stack([put[modes[2 * layer + h]][:, h] for h in range(2)], dim=1)

        return edit

    expected = run(ids, {f"{layer}.attention.heads": edit_of(layer) for layer in range(2)})["logits"][0]
    torch.testing.assert_close(double(found, (len(ids), N_SYMBOLS)), expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize("ids", TEXTS)
def test_scores_are_those_of_the_reference(ids: list[int]):
    weights = run(ids)["1.attention.weights"][0, 0]
    found = ask("return m.headScores(Float64Array.from(x.w.flat()), x.ids);", {"w": weights.tolist(), "ids": ids})
    assert found["induction"] == pytest.approx(induction_score(weights, torch.tensor(ids)).item())
    assert found["previous"] == pytest.approx(previous_token_score(weights).item())


def test_the_surprise_counts_only_what_repeats():
    ids = [4, 7, 5, 4, 7, 9, 5, 4]  # after the second 4 comes 7 again, after the second 5 comes 4 again
    logits = run(ids)["logits"][0]
    surprises = F.cross_entropy(logits[[3, 6]], torch.tensor([7, 4])).item()
    flat = logits.flatten().tolist()
    found = ask("return m.repeatedLoss(Float64Array.from(x.logits), x.ids);", {"logits": flat, "ids": ids})
    assert found == pytest.approx(surprises)


def test_what_is_no_symbol_is_left_out():
    assert ask("return m.idsOf(x);", "k-b 16 0ü") == [10, 1, 26, 31]
    assert len(ask("return m.idsOf(x);", "A" * 50)) == 32


# ---- the widget


@pytest.mark.parametrize(
    ("name", "value"), [("head", 4), ("position", 32), ("modes", ["on"]), ("modes", ["off"] * 4), ("step", 7)]
)
def test_wrong_values_are_refused(name: str, value: object):
    with pytest.raises(TraitError):
        setattr(HeadMicroscope(), name, value)


def show(page: Page, **traits: Any) -> Locator:
    """The widget in the page, with its model as `window.it`."""
    widget = HeadMicroscope(**traits)
    page.evaluate(
        """async ([source, state]) => {
          const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          window.it = show((await import(address)).default, state);
          document.querySelector("main").append(it.el);
        }""",
        [str(widget._esm), {name: getattr(widget, name) for name in _own_traits(HeadMicroscope)}],
    )
    frame(page)
    widget = page.locator('.qkv-widget[data-state="ready"]')
    widget.get_by_text("Training, and a text of your own").click()
    return widget


@pytest.mark.browser
def test_the_head_that_copies_hands_over_what_another_text_has_there(open_page: OpenPage):
    widget = show(open_page())
    told = widget.locator(".qkv-scope-next")
    expect(told).to_have_text("The model predicts S (1.00).")
    widget.get_by_role("radio", name="other text").check()
    expect(told).to_contain_text("predicts T (0.99)")
    expect(widget.locator(".qkv-scope-surprise")).to_contain_text("0.14 → ")
    widget.get_by_role("radio", name="1.1").check()
    expect(widget.get_by_role("radio", name="on", exact=True)).to_be_checked()
    expect(told).to_contain_text("predicts T")


@pytest.mark.browser
def test_the_dot_leaves_the_curve_by_what_a_head_is_worth(open_page: OpenPage):
    widget = show(open_page())
    middle = "([dot, curve]) => [dot, curve].map((e) => e.getBoundingClientRect()).map((b) => b.top + b.height / 2)"
    dot, before = (widget.locator(part).element_handle() for part in (".qkv-grip", ".qkv-scope-intact"))
    now, intact = widget.page.evaluate(middle, [dot, before])
    assert now == pytest.approx(intact, abs=1)
    widget.get_by_role("switch", name="silence head 1.1").check()
    frame(widget.page)
    expect(widget.locator(".qkv-scope-surprise")).to_contain_text("0.14 → 3.93 nats")
    above, same = widget.page.evaluate(middle, [dot, before])
    assert same == pytest.approx(intact, abs=1)
    assert above < intact - 20
    widget.get_by_role("textbox").fill("ABCDE")  # where nothing repeats
    expect(widget.locator(".qkv-scope-surprise")).to_have_text("Nothing repeats.")
    frame(widget.page)
    on_curve, same = widget.page.evaluate(middle, [dot, before])
    assert on_curve == pytest.approx(same, abs=1)


@pytest.mark.browser
def test_a_symbol_is_pressed_and_the_text_is_dragged_along(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page)
    text = widget.locator(".qkv-scope-text")
    drag(page, text, 5.5 / 16)
    expect(widget.locator(".qkv-scope-last")).to_have_text("J is new here: a guess.")
    assert page.evaluate("it.model.get('position')") == 5
    text.click(position={"x": 4, "y": 10})
    frame(page)
    assert page.evaluate("it.model.get('position')") == 0
    expect(widget.locator(".qkv-scope-symbols")).to_contain_text("L →")
    ring, arcs = (widget.locator(part).bounding_box() for part in (".qkv-scope-ring", ".qkv-scope-arcs"))
    assert ring
    assert arcs
    page.mouse.move(ring["x"] + 16, ring["y"] + 6)  # beside its middle: it does not jump to the pointer
    page.mouse.down()
    page.mouse.move(ring["x"] + 16 + 3 * arcs["width"] / 16, ring["y"] - 30, steps=3)
    page.mouse.up()
    frame(page)
    assert page.evaluate("it.model.get('position')") == 3
    widget.get_by_role("slider", name="position").press("End")
    expect(widget.locator(".qkv-scope-last")).to_have_text("Last time, S came after M.")


@pytest.mark.browser
def test_a_text_is_typed(open_page: OpenPage):
    widget = show(open_page(), modes=["zeros", "on", "on", "on"], position=3)
    widget.get_by_role("textbox").fill("abcdefgabc")
    expect(widget.locator(".qkv-scope-last")).to_have_text("Last time, D came after C.")
    expect(widget.get_by_role("status")).to_contain_text(re.compile("Whole text: loss .* nats, (good|bad|a guess)"))
    widget.get_by_role("textbox").fill("")
    expect(widget.locator(".qkv-scope-text span")).to_have_count(2)  # it never shows nothing
    expect(widget.locator(".qkv-scope-typed")).to_contain_text("too short: AB")


@pytest.mark.browser
def test_what_is_left_out_of_a_text_is_said(open_page: OpenPage):
    widget = show(open_page())
    label = widget.locator(".qkv-scope-typed")
    expect(label).to_contain_text("text of A–Z and 1–6")
    widget.get_by_role("textbox").fill("hello7 hello7 he")
    expect(label).to_contain_text("left out: 7")


@pytest.mark.browser
def test_a_head_that_is_replaced_is_marked_and_all_come_back(open_page: OpenPage):
    page = open_page()
    widget = show(page)
    widget.get_by_role("radio", name="zeros").check()
    expect(widget.locator(".qkv-scope-out")).to_have_count(1)
    widget.get_by_role("radio", name="1.1").check()
    expect(widget.get_by_role("switch", name="silence head 2.1")).to_be_checked()
    expect(widget.locator(".qkv-scope-head").nth(2)).to_have_class(re.compile("qkv-scope-out"))
    widget.get_by_role("button", name="all on").click()
    expect(widget.locator(".qkv-scope-out")).to_have_count(0)
    expect(widget.get_by_role("button", name="all on")).to_be_disabled()
    assert page.evaluate("it.model.get('modes')") == ["on"] * 4


@pytest.mark.browser
@pytest.mark.parametrize(("silenced", "becomes"), [("1.1", "breaks"), ("2.2", "holds")])
def test_it_asks_which_arc_breaks_and_then_says_it(open_page: OpenPage, silenced: str, becomes: str):
    """Where the arc was, a dashed one stays. The map of the silent head is grey, and nothing moves."""
    widget = show(open_page(width=390, reduced_motion="reduce"), symbols="LPBMSJLPBM")
    asked, before = widget.locator(".qkv-scope-asked"), widget.locator(".qkv-scope-before")
    expect(asked).to_have_text("Silence 1.1: which arc breaks?")
    expect(before).to_have_count(0)
    place = widget.locator(".qkv-scope-maps").bounding_box()
    switch = widget.get_by_role("switch", name=f"silence head {silenced}")
    switch.press("Space")
    expect(asked).to_have_text(f"The arc to S {becomes}.")
    expect(before).to_have_count(int(becomes == "breaks"))
    expect(widget.get_by_role("status")).to_contain_text(f"The arc to S {becomes}.")
    assert widget.locator(".qkv-scope-maps").bounding_box() == place
    assert "grayscale" in widget.locator(".qkv-scope-out .qkv-heatmap").evaluate("e => getComputedStyle(e).filter")
    widget.get_by_role("button", name="all on").click()
    expect(asked).to_have_text("Silence 1.1: which arc breaks?")
    widget.get_by_role("switch", name="silence head 2.1").press("Space")
    expect(asked).to_have_text("Head 2.1 is cut off.")
    expect(before).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize(
    "position", [0, 5]
)  # L and J, which are new there: the one looks at itself, the other at no copy
def test_it_asks_and_answers_nothing_where_no_arc_copies(open_page: OpenPage, position: int):
    widget = show(open_page(width=390), symbols="LPBMSJLPBM", position=position)
    asked, named = widget.locator(".qkv-scope-asked"), widget.locator(".qkv-scope-named")
    expect(asked).to_have_text("Press a map to silence its head.")
    expect(named).to_have_count(0)
    widget.get_by_role("switch", name="silence head 1.1").press("Space")
    expect(asked).to_have_text("No arc copies here.")
    expect(widget.get_by_role("status")).to_contain_text("No arc copies here.")
    widget.page.evaluate("it.model.set('position', 9)")  # the second M
    expect(asked).to_have_text("The arc to S breaks.")
    widget.get_by_role("button", name="all on").click()
    expect(asked).to_have_text("Silence 1.1: which arc breaks?")
    expect(named).to_have_count(1)


@pytest.mark.browser
def test_a_press_anywhere_on_a_map_silences_its_head_and_the_bar_of_the_loss_grows(open_page: OpenPage):
    page = open_page(width=390, reduced_motion="reduce")
    widget = show(page)
    share = "(bar) => Number(getComputedStyle(bar).getPropertyValue('--qkv-p'))"
    bar = widget.locator(".qkv-scope-bar > i")
    before = bar.evaluate(share)
    guess = bar.evaluate("(bar) => Number(getComputedStyle(bar).getPropertyValue('--guess'))")
    widget.locator(".qkv-scope-head").first.click()
    frame(page)
    assert page.evaluate("it.model.get('modes')") == ["zeros", "on", "on", "on"]
    assert page.evaluate("it.model.get('head')") == 2, "the arcs of the other head stay"
    assert before < 0.05 < guess < bar.evaluate(share)
    widget.get_by_text("1.1", exact=True).first.click(force=True)  # its name is a part of it
    frame(page)
    assert page.evaluate("it.model.get('modes')") == ["on"] * 4
    assert bar.evaluate(share) == before


@pytest.mark.browser
def test_a_loudspeaker_sounds_on_each_head_that_is_on_and_is_crossed_out_on_one_that_is_silent(open_page: OpenPage):
    page = open_page(width=390)
    heads = show(page).locator(".qkv-scope-head")
    drawings = "(heads) => heads.map((head) => head.querySelector('.qkv-scope-waves')?.getAttribute('d'))"
    sounds, *others = heads.evaluate_all(drawings)
    assert sounds
    assert others == [sounds] * 3
    page.evaluate("it.model.set('modes', ['on', 'on', 'zeros', 'mean'])")
    frame(page)
    on, also_on, silent, replaced = heads.evaluate_all(drawings)
    assert (on, also_on) == (sounds, sounds)
    assert silent not in (sounds, None)
    assert replaced is None, "a word says what replaces the head"
    expect(heads.last).to_contain_text("mean")


@pytest.mark.browser
def test_it_is_as_high_with_any_text_and_any_replacement_and_fits_on_a_phone(open_page: OpenPage):
    page = open_phone(open_page)
    widget = show(page)
    heights = set()
    for text in ("", "AB", "LPBMSJLPBM", "LPBMSJTLPBMSJTLPBMSJTLPBMSJTLPBM", "W" * 32, "7 8 9 _"):
        widget.get_by_role("textbox").fill(text)
        for mode in ("on", "zeros", "mean", "other text"):
            widget.get_by_role("radio", name=mode, exact=True).check()
            frame(page)
            heights.add(widget.evaluate("e => e.offsetHeight"))
    assert len(heights) == 1
    assert heights.pop() <= 876  # with what is folded away at first


@pytest.mark.browser
def test_the_longest_text_is_not_cut_on_a_phone(open_page: OpenPage):
    page = open_phone(open_page)
    widget = show(page, symbols="W" * 32)
    assert widget.get_by_role("textbox").evaluate("e => e.scrollWidth - e.clientWidth") == 0
    assert widget.locator(".qkv-scope-text").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


@pytest.mark.browser
def test_the_training_is_followed_by_dragging_its_curve_and_by_keys(open_page: OpenPage):
    page = open_page()
    widget = show(page)
    told = widget.locator(".qkv-scope-next")
    expect(told).to_have_text("The model predicts S (1.00).")
    drag(page, widget.locator(".qkv-scope-plot svg").first, 5 / 13)
    expect(told).to_contain_text("predicts S (0.6")
    slider = widget.get_by_role("slider", name="training step")
    expect(slider).to_have_attribute("aria-valuetext", "250 of 1,500")
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "200 of 1,500")
    expect(told).not_to_contain_text("predicts S")
    slider.press("End")
    expect(told).to_have_text("The model predicts S (1.00).")


@pytest.mark.browser
def test_it_can_begin_at_an_earlier_step_with_a_head_replaced(open_page: OpenPage):
    widget = show(open_page(), step=300, modes=["on", "on", "zeros", "on"])
    expect(widget.locator(".qkv-scope-next")).to_contain_text("Without head 2.1: ")
    expect(widget.locator(".qkv-scope-surprise")).to_contain_text(" → ")
    expect(widget.locator(".qkv-scope-surprise")).not_to_contain_text("0.14 → ")


@pytest.mark.browser
def test_an_arc_leads_to_each_symbol_that_the_head_looks_at(open_page: OpenPage):
    widget = show(open_page(width=390))
    weights = widget.locator(".qkv-scope-text span").evaluate_all(
        "(all) => all.map((each) => Number(each.style.getPropertyValue('--qkv-p')))"
    )
    ends = """(arcs) => arcs.map((arc) => {
      const end = arc.getPointAtLength(arc.getTotalLength());
      return [Math.floor(end.x), Number(arc.getAttribute('stroke-width'))];
    })"""
    arcs = dict(widget.locator(".qkv-scope-tape path").evaluate_all(ends))
    expected = {i: weight for i, weight in enumerate(weights[:-1]) if weight >= 0.02}
    assert arcs == pytest.approx({i: 6 * weight for i, weight in expected.items()}, abs=0.01)
    assert max(arcs, key=arcs.__getitem__) == 4  # the S that came after the first M
    widget.get_by_role("radio", name="1.1").check()
    frame(widget.page)
    assert dict(widget.locator(".qkv-scope-tape path").evaluate_all(ends)) != arcs


@pytest.mark.browser
def test_the_arcs_of_a_head_that_is_replaced_are_grey_dots(open_page: OpenPage):
    page = open_page(reduced_motion="reduce")
    widget = show(page, symbols="LPBMSJLPBM")
    arc = widget.locator(".qkv-scope-tape path").first

    def look() -> tuple[str, list[int]]:
        frame(page)
        dashes, stroke = arc.evaluate("e => [getComputedStyle(e).strokeDasharray, getComputedStyle(e).stroke]")
        return dashes, colours(stroke)

    line, weight = look()
    assert line == "none"
    widget.locator(".qkv-scope-head").nth(2).click()
    dots, grey = look()
    assert dots != "none"
    assert max(grey) - min(grey) < 30 < max(weight) - min(weight)
    widget.get_by_role("radio", name="2.2").check()
    assert look() == (line, weight), "the other head is on"


@pytest.mark.browser
def test_the_first_sentence_says_which_heads_are_silent(open_page: OpenPage):
    widget = show(open_page(), symbols="LPBMSJLPBM")
    told = widget.locator(".qkv-scope-next")
    expect(told).to_have_text("The model predicts S (0.95).")
    widget.locator(".qkv-scope-head").nth(2).click()
    expect(told).to_have_text("Without head 2.1: S (0.11) or Z (0.08).")
    expect(widget.get_by_role("status")).to_contain_text("Without head 2.1")
    widget.locator(".qkv-scope-head").nth(0).click()
    expect(told).to_contain_text("Without 2 heads: ")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("silent", "says"),
    [
        ((), "Whole text: loss 0.20 nats, good."),
        ((1,), "Whole text: loss 0.20 → 1.75 nats, bad."),
        ((2,), "Whole text: loss 0.20 → 1.89 nats, bad."),
        ((0,), "Whole text: loss 0.20 → 3.41 nats, a guess."),
        ((3,), "Whole text: loss 0.20 → 0.13 nats, good."),
    ],
)
def test_the_loss_is_said_in_words(open_page: OpenPage, silent: tuple[int, ...], says: str):
    widget = show(open_page(width=390), symbols="LPBMSJLPBM")
    for head in silent:
        widget.locator(".qkv-scope-head").nth(head).click()
        expect(widget.get_by_role("status")).to_contain_text(says)
    expect(widget.locator(".qkv-scope-surprise")).to_have_text(says)


@pytest.mark.browser
def test_on_a_desk_the_loss_is_beside_the_maps(open_page: OpenPage):
    widget = show(open_page(width=860))
    loss, silenced = (widget.locator(part).first.bounding_box() for part in (".qkv-scope-bar", ".qkv-scope-heads"))
    assert loss
    assert silenced
    assert silenced["y"] <= loss["y"]
    assert loss["y"] + loss["height"] <= silenced["y"] + silenced["height"]
    assert loss["x"] + loss["width"] < silenced["x"]


@pytest.mark.browser
def test_it_says_whose_arcs_are_drawn(open_page: OpenPage):
    widget = show(open_page(width=390))
    expect(widget.locator(".qkv-scope-arcs")).to_have_text(re.compile(r"^\s*arcs: head 2\.1\s*$"))
    widget.locator(".qkv-scope-head").first.click()
    expect(widget.locator(".qkv-scope-arcs")).to_contain_text("arcs: head 2.1")
    widget.get_by_role("radio", name="1.2").check()
    expect(widget.locator(".qkv-scope-arcs")).to_contain_text("arcs: head 1.2")


@pytest.mark.browser
def test_on_a_phone_all_but_the_training_is_on_the_screen_of_an_opening(open_page: OpenPage):
    page = open_phone(open_page)
    widget = show(page)
    maps = widget.locator(".qkv-scope-maps")
    below = maps.evaluate(
        "e => e.getBoundingClientRect().bottom - e.closest('.qkv-widget').getBoundingClientRect().top"
    )
    assert below <= 480


@pytest.mark.browser
def test_a_guess_has_a_question_mark_and_its_box_is_filled_as_high_as_its_chance(open_page: Callable[..., Page]):
    page = open_page(width=390)
    predicted = show(page, symbols="LPBMSJLPBM").locator(".qkv-scope-to")
    expect(predicted).to_have_text("S")
    assert predicted.evaluate("e => Number(e.style.getPropertyValue('--qkv-p'))") > 0.9
    page.evaluate("it.model.set('modes', ['on', 'on', 'mean', 'on'])")
    expect(predicted).to_have_text("S?")
    assert predicted.evaluate("e => Number(e.style.getPropertyValue('--qkv-p'))") < 0.2
