"""TransformerFlow shows at each stage what the tagger has there in Python, with its parts on and off."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from qkv.models import load_tagger
from qkv.widgets import TransformerFlow
from qkv.widgets.base import _own_traits
from qkv.widgets.transformer_flow import SENTENCES, STAGES

from .conftest import frame, open_phone
from .node import JS, node

OpenPage = Callable[..., Page]
PLACES = {
    "norm 1": "attention.normed",
    "attention": "attention.weights",
    "sum 1": "attention.sum",
    "norm 2": "feed_forward.normed",
    "hidden": "feed_forward.hidden",
    "sum 2": "feed_forward.sum",
}
ENDS = {"embedding": "0.state", "norm": "normed", "classes": "class_logits", "nouns": "noun_logits"}


def place_of(stage: str) -> str:
    """Where qkv.transformer keeps what a stage shows."""
    if stage in ENDS:
        return ENDS[stage]
    layer, part = stage.split(" ", 1)
    return f"{int(layer) - 1}.{PLACES[part]}"


OFF: list[dict[str, bool]] = [{}, {"residual": False}, {"norm": False, "feed_forward": False}]


@pytest.mark.parametrize("off", OFF, ids=str)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_rows_of_every_stage_are_those_of_python(sentence: str, off: dict[str, bool]):
    tagged = load_tagger().double().tag(sentence, **off)
    body = f"""async ({{ sentence, parts, n }}) => {{
      const m = await import("{(JS / "stages.js").as_uri()}");
      const model = tagger("tagger");
      const {{ places }} = m.tagWithParts(model, sentence, parts);
      const rows = (stage) => {{
        const {{ rows }} = m.stageRows(places, stage, n, model.shape.heads);
        return Array.from({{ length: n }}, (_, i) => [...rows(i)]);
      }};
      return m.STAGES.map((stage) => [stage.name, stage.place, rows(stage)]);
    }}"""
    parts = {"residual": True, "norm": True, "feed_forward": True, **off}
    found = node(body, {"sentence": sentence, "parts": parts, "n": len(tagged.words)})
    assert [name for name, _, _ in found] == STAGES
    for name, place, rows in found:
        assert place == place_of(name)
        table = tagged.places[place]
        wanted = table.transpose(0, 1).flatten(1) if table.dim() == 3 else table
        torch.testing.assert_close(torch.tensor(rows, dtype=torch.float64), wanted, atol=1e-8, rtol=1e-8)


def show(page: Page, **traits: Any) -> Locator:
    """The widget in the page, with its model as `window.it`."""
    widget = TransformerFlow(**traits)
    page.evaluate(
        """async ([source, state]) => {
          const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          window.it = show((await import(address)).default, state);
          document.querySelector("main").append(it.el);
        }""",
        [str(widget._esm), {name: getattr(widget, name) for name in _own_traits(TransformerFlow)}],
    )
    frame(page)
    widget = page.locator('.qkv-widget[data-state="ready"]')
    widget.locator(".qkv-flow-here summary").click()
    return widget


def numbers(widget: Locator, table: int = 0) -> list[list[str]]:
    """The cells of one of the open tables."""
    rows: list[list[str]] = (
        widget.locator("details table")
        .nth(table)
        .evaluate("(table) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))")
    )
    return rows


def expected(stage: str, table: torch.Tensor) -> torch.Tensor:
    """The first features of each word, or all its nouns; of weights, the row of each word in both heads."""
    return table.transpose(0, 1).flatten(1) if table.dim() == 3 else table[:, : 32 if stage == "nouns" else 8]


@pytest.mark.browser
@pytest.mark.parametrize("off", OFF[:2], ids=str)
def test_every_stage_shows_what_python_computes(open_page: OpenPage, off: dict[str, bool]):
    page = open_page()
    widget = show(page, **off)
    widget.get_by_text("Numbers", exact=True).click()
    tagged = load_tagger().double().tag(SENTENCES[0], **off)
    for stage in STAGES:
        page.evaluate("(stage) => it.model.set('stage', stage)", stage)
        frame(page)
        rows = numbers(widget)
        assert [row[0] for row in rows] == tagged.words, stage
        shown = torch.tensor([[float(cell.replace("−", "-")) for cell in row[1:]] for row in rows])
        wanted = expected(stage, tagged.places[place_of(stage)])
        torch.testing.assert_close(shown.double(), wanted, atol=0.0051, rtol=0)
    said = [[row[1], row[3]] for row in numbers(widget, 1)]
    assert said == [[kind, tagged.refers_to.get(i, "–")] for i, kind in enumerate(tagged.classes)]


def stand_at(widget: Locator, stage: str) -> None:
    widget.page.evaluate("(stage) => it.model.set('stage', stage)", stage)
    frame(widget.page)


@pytest.mark.browser
def test_the_shape_of_every_stage_is_given(open_page: OpenPage):
    widget = show(open_page(), sentence="I saw a saw")
    places = load_tagger().tag("I saw a saw").places
    for stage in STAGES:
        stand_at(widget, stage)
        said = widget.locator(".qkv-flow-shape").inner_text()
        assert [int(size) for size in re.findall(r"\d+", said)] == list(places[place_of(stage)].shape), said


@pytest.mark.browser
def test_without_residual_all_words_become_one_class(open_page: OpenPage):
    widget = show(open_page())
    answer = widget.locator(".qkv-flow-answer")
    expect(answer).to_contain_text("“it” stands for cat.")
    widget.get_by_role("radio", name="tasty").check()
    expect(answer).to_contain_text("stands for mouse")
    widget.get_by_role("switch", name="residual").press("Space")
    expect(answer).to_contain_text("Wrong classes: 0 → 7.")
    expect(widget.get_by_role("status")).to_contain_text("Wrong classes: 0 → 7.")


@pytest.mark.browser
def test_no_wrong_class_is_no_zero(open_page: OpenPage):
    widget = show(open_page(), sentence=SENTENCES[1])
    answer = widget.locator(".qkv-flow-answer")
    expect(answer).to_have_text("All classes are right. “it” stands for mouse. Press a box.")
    widget.get_by_role("switch", name="feed-forward").press("Space")
    expect(answer).to_have_text(re.compile(r"^Wrong classes: 0 → [1-9]\. “it” stands for mouse\.$"))
    widget.get_by_role("radio", name="hungry").check()
    expect(answer).to_have_text("3 classes are wrong. “it” stands for cat.")


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390, 800])
def test_a_wrong_class_is_said_to_be_the_model_s_answer(open_page: OpenPage, width: int):
    page = open_page(width=width)
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    widget = show(page, sentence="I saw a saw", residual=False)
    answer = widget.locator(".qkv-flow-answer small")
    for i, word in enumerate(["I", "saw", "a", "saw"]):
        widget.evaluate("(e, i) => it.model.set('word', i)", i)
        frame(page)
        is_wrong = widget.locator(".qkv-flow-answer-of").nth(i).locator(".qkv-flow-wrong").count() == 1
        wrong = "Wrong answer: " if is_wrong else ""
        expect(answer).to_have_text(re.compile(f"^{wrong}“{word}”(: | stands for )"))
    assert widget.locator(".qkv-flow-wrong").count() >= 2


@pytest.mark.browser
@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("part", ["residual", "feed_forward"])
@pytest.mark.parametrize("width", [360, 390])
def test_the_sentence_about_a_wrong_answer_moves_nothing(open_page: OpenPage, sentence: str, part: str, width: int):
    page = open_page(width=width)
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    widget = show(page, sentence=sentence)
    place = "e => e.getBoundingClientRect().top"
    flow = widget.locator(".qkv-flow")
    before = flow.evaluate(place)
    widget.evaluate("(e, part) => it.model.set(part, false)", part)
    for i in range(len(sentence.split())):
        widget.evaluate("(e, i) => it.model.set('word', i)", i)
        frame(page)
        assert flow.evaluate(place) == before, i


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390])
def test_a_class_that_changes_stays_within_the_card(open_page: OpenPage, width: int):
    page = open_page(width=width)
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    widget = show(page, residual=False)
    widget.get_by_role("switch", name="residual").press("Space")
    frame(page)
    largest = page.evaluate("""() => Math.max(...document.getAnimations()
      .filter(({ animationName }) => animationName === "qkv-flow-turn").map((each) => {
        each.pause();
        each.currentTime = each.effect.getComputedTiming().delay + 250;
        return each.effect.target.getBoundingClientRect().right;
      }))""")
    edge = widget.evaluate("e => e.getBoundingClientRect().right - parseFloat(getComputedStyle(e).paddingRight)")
    assert 0 < largest < edge


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390])
@pytest.mark.parametrize("off", [{"feed_forward": False}, {"residual": False}], ids=str)
def test_wrong_classes_stay_within_the_card(open_page: OpenPage, width: int, off: dict[str, bool]):
    page = open_page(width=width)
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    widget = show(page, sentence="I saw a saw", **off)
    edge = widget.evaluate("e => e.getBoundingClientRect().right")
    ends = widget.locator(".qkv-flow-answer-of").evaluate_all("all => all.map((e) => e.getBoundingClientRect().right)")
    assert max(ends) < edge - 2


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 848])
def test_words_stand_at_their_lines_and_marks_of_wrong_classes_beside_them(open_page: OpenPage, width: int):
    page = open_page(width=width)
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    widget = show(page, feed_forward=False)
    lines = widget.locator(".qkv-flow-line").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map(({ left, right }) => [left, right])"
    )
    words = widget.locator(".qkv-flow-word").evaluate_all("all => all.map((e) => e.getBoundingClientRect().right)")
    assert all(0 < line - word < 12 for word, (line, _) in zip(words, lines, strict=True))
    marks = widget.locator(".qkv-flow-wrong").evaluate_all(
        """all => all.map((e) => e.getBoundingClientRect().left - parseFloat(getComputedStyle(e, '::before').width))"""
    )
    assert len(marks) == 3
    assert all(mark >= max(right for _, right in lines) for mark in marks)
    size = widget.locator(".qkv-flow-wrong").first.evaluate("e => parseFloat(getComputedStyle(e, '::before').fontSize)")
    assert size >= 15.5, "as large as the text of a page"


@pytest.mark.browser
def test_columns_are_named_and_the_likeliest_answers_are_given(open_page: OpenPage):
    tagger = load_tagger().double()
    page = open_page(width=390)
    widget = show(page, stage="nouns")
    row = tagger.tag(SENTENCES[0]).places["noun_logits"][6]
    shares, best = row.softmax(0).topk(2)
    said = [text.rsplit(" ", 1) for text in widget.locator(".qkv-flow-row span").all_inner_texts()]
    assert [float(chance) for _, chance in said] == pytest.approx(shares.tolist(), abs=0.0051)
    assert said[0][0] == "cat"
    name = widget.locator(".qkv-flow-columns i")
    expect(name).to_have_text("cat")
    assert name.evaluate("i => parseFloat(i.style.getPropertyValue('--at'))") == (int(best[0]) + 0.5) / 32 * 100
    widget.get_by_text("Numbers", exact=True).click()
    head = widget.locator("details table").first.locator("thead th")
    assert head.all_inner_texts()[1 + int(best[0])] == "cat"
    first = widget.locator("details tbody th").first
    before = first.bounding_box()
    widget.locator(".qkv-scroll").first.evaluate("box => { box.scrollLeft = 200; }")
    assert first.bounding_box() == before, "the words stay in sight"
    page.evaluate("it.model.set('stage', '2 attention')")
    expect(name).to_have_text(["cat", "cat"])


@pytest.mark.browser
@pytest.mark.parametrize(
    ("off", "stage", "title", "means"),
    [
        ({}, "1 sum 1", "stream after attention, block 1", "what was there, plus what attention has read"),
        ({"residual": False}, "1 sum 1", "stream after attention, block 1", "only what attention has read"),
        ({"norm": False}, "2 norm 2", "norm before feed-forward, block 2, off", "the stream as it is"),
        ({"feed_forward": False}, "2 hidden", "feed-forward, block 2, off", "computed, but not added to the stream"),
        ({"feed_forward": False}, "2 sum 2", "stream after feed-forward, block 2", "as before: nothing is added"),
    ],
)
def test_it_says_what_a_stage_is(open_page: OpenPage, off: dict[str, bool], stage: str, title: str, means: str):
    widget = show(open_page(width=390), stage=stage, **off)
    expect(widget.locator(".qkv-flow-here .qkv-label b")).to_have_text(title)
    expect(widget.locator(".qkv-flow-here .qkv-note")).to_contain_text(means)
    slider = widget.get_by_role("slider", name="place in the flow")
    assert (slider.get_attribute("aria-valuetext") or "").startswith(title)


@pytest.mark.browser
def test_a_part_that_is_off_is_a_dashed_outline_but_the_network_asks_for_a_press(open_page: OpenPage):
    widget = show(open_page(width=390, reduced_motion="reduce"))

    def dashed() -> list[str]:
        frame(widget.page)
        found: list[str] = widget.locator(".qkv-flow-part").evaluate_all(
            "all => all.filter((e) => getComputedStyle(e).borderStyle === 'dashed').map((e) => e.dataset.part)"
        )
        return found

    def has_bridge() -> bool:
        return widget.locator(".qkv-flow-past").count() == 1

    assert (dashed(), has_bridge()) == ([], True)
    widget.get_by_role("switch", name="residual").press("Space")
    assert (dashed(), has_bridge()) == (["residual"], False)
    widget.get_by_role("switch", name="feed-forward").press("Space")
    assert dashed() == ["residual"]
    network = widget.locator("[data-part=feed_forward]")
    expect(network).to_have_text("FFN off")
    assert network.evaluate("e => getComputedStyle(e).borderWidth") == "2px"


@pytest.mark.browser
def test_norms_that_are_off_and_that_of_a_network_that_is_off_are_not_drawn(open_page: OpenPage):
    widget = show(open_page(width=390))
    norms = widget.locator(".qkv-flow-norm >> visible=true")
    expect(norms).to_have_count(3)
    widget.get_by_role("switch", name="feed-forward").press("Space")
    expect(norms).to_have_count(2)
    widget.get_by_role("switch", name="norm").press("Space")
    expect(norms).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize("word", [0, 4, 8])
def test_every_box_of_a_part_is_pressed_and_chooses_no_word(open_page: OpenPage, word: int):
    page = open_page(width=390, reduced_motion="reduce")
    widget = show(page, word=word)
    boxes = widget.locator(".qkv-flow-part")
    assert boxes.count() == 2
    for i in range(2):
        part = boxes.nth(i).get_attribute("data-part")
        for on in (False, True):
            boxes.nth(i).click()
            assert page.evaluate("(part) => [it.model.get(part), it.model.get('word')]", part) == [on, word]


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 800])
def test_boxes_are_apart_and_so_are_their_names(open_page: OpenPage, width: int):
    widget = show(open_page(width=width))

    def found(parts: str) -> list[list[float]]:
        sides: list[list[float]] = widget.locator(parts).evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map(({ left, right }) => [left, right])"
        )
        return sorted(sides)

    boxes = found(".qkv-flow-attention, .qkv-flow-part[data-part=feed_forward]")
    assert all(right - left >= 48 for left, right in boxes)
    names = found(".qkv-flow-norm")
    assert (len(boxes), len(names)) == (2, 3)
    for row in (boxes, names):
        assert all(right <= left for (_, right), (left, _) in pairwise(row))
    clipped = widget.locator(".qkv-flow-attention").evaluate("e => e.scrollWidth > e.clientWidth")
    assert not clipped, "attention's name is wider than its place"


@pytest.mark.browser
@pytest.mark.parametrize("norm", [True, False])
def test_lines_are_as_thick_as_their_numbers_are_large_and_a_norm_makes_them_alike(open_page: OpenPage, norm: bool):
    widget = show(open_page(width=390), norm=norm)
    lines = widget.locator(".qkv-flow-line").evaluate_all("all => all.map((line) => line.getAttribute('d'))")
    sizes = torch.tensor([[float(y) for y in re.findall(r"V([\d.]+)H", line)] for line in lines])
    above, below = sizes[:, :6], sizes[:, 6:].flip(1)
    places = load_tagger().double().tag(SENTENCES[0], norm=norm).places
    in_block = ["state", "attention.normed", "attention.sum", "feed_forward.normed", "feed_forward.sum"]
    along = [*(f"1.{place}" for place in in_block), "normed"]
    wanted = torch.stack([places[place].std(-1, correction=0) for place in along], 1)
    torch.testing.assert_close((below - above).double() / 3.2, wanted, atol=0.01, rtol=0)
    before, after = (column.max() / column.min() for column in (wanted[:, 4], wanted[:, 5]))
    assert (after < 1.1) == norm
    assert before > 2


@pytest.mark.browser
@pytest.mark.parametrize(("stage", "layer"), [("2 attention", 1), ("1 hidden", 0), ("embedding", 0), ("nouns", 1)])
def test_bands_of_attention_are_as_thick_as_the_heads_mean_weights(open_page: OpenPage, stage: str, layer: int):
    widget = show(open_page(width=390), word=4, stage=stage)
    widths = widget.locator(".qkv-flow-read").evaluate_all(
        "all => all.map((line) => Number(line.getAttribute('stroke-width')))"
    )
    weights = load_tagger().double().tag(SENTENCES[0]).places[f"{layer}.attention.weights"].mean(0)[4]
    drawn = torch.tensor(widths, dtype=torch.float64)
    torch.testing.assert_close(drawn / drawn.sum(), weights, atol=1e-6, rtol=0)
    expect(widget.locator(".qkv-flow-norms small")).to_contain_text(f"block {layer + 1} of 2")


@pytest.mark.browser
def test_classes_that_a_switch_changes_are_marked_and_the_old_ones_named(open_page: OpenPage):
    widget = show(open_page(width=800))
    wrong = widget.locator(".qkv-flow-wrong")
    expect(wrong).to_have_count(0)
    widget.get_by_role("switch", name="feed-forward").press("Space")
    expect(wrong).to_have_text(["pronoun"] * 3)
    expect(widget.locator(".qkv-flow-wrong + small")).to_have_text(["not verb", "not verb", "not adjective"])
    assert wrong.first.evaluate("e => getComputedStyle(e, '::before').content").startswith('"✗')


MOVING = """() => document.getAnimations().map(({ effect, animationName }) => [animationName, effect.target])
  .filter(([name]) => name === "qkv-flow-send").map(([, dot]) => Number(dot.style.getPropertyValue("--y")))"""


@pytest.mark.browser
def test_a_press_sends_a_dot_to_each_class_that_it_changes_and_marks_those_that_are_right_again(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page, feed_forward=False)
    right = widget.locator(".qkv-flow-right")
    dots = widget.locator(".qkv-flow-dot")
    assert page.evaluate(MOVING) == [], "nothing moves before a press"
    wrong = [80 + (i + 0.5) * 24 for i in (2, 7, 8)]
    for marks in (3, 0, 3):  # on, off, on
        widget.locator(".qkv-flow-part").last.click()
        frame(page)
        assert page.evaluate(MOVING) == pytest.approx(wrong)
        expect(right).to_have_count(marks)
    begin = "e => getComputedStyle(e).getPropertyValue('--from')"
    assert dots.evaluate_all(f"all => all.map({begin})") == ["61.75%"] * 3, "in the box that was pressed"
    widget.get_by_role("radio", name="tasty").check()
    expect(dots).to_have_count(0)
    expect(right).to_have_count(0)


@pytest.mark.browser
def test_with_reduced_motion_a_press_moves_nothing_and_marks_the_same_classes(open_page: OpenPage):
    page = open_page(width=390, reduced_motion="reduce")
    widget = show(page, feed_forward=False)
    widget.locator(".qkv-flow-part").last.click()
    frame(page)
    assert page.evaluate("document.getAnimations().length") == 0
    assert (
        widget.locator(".qkv-flow-dot").evaluate_all("all => all.map((e) => getComputedStyle(e).opacity)") == ["0"] * 3
    )
    marks = widget.locator(".qkv-flow-answer-of:has(.qkv-flow-right)")
    expect(marks).to_have_text(["verb", "verb", "adjective"])


@pytest.mark.browser
def test_a_tap_does_not_tint_all_of_the_picture(open_page: OpenPage):
    widget = show(open_page(width=390))
    tint = widget.locator(".qkv-flow svg").evaluate("e => getComputedStyle(e).webkitTapHighlightColor")
    assert tint == "rgba(0, 0, 0, 0)"


@pytest.mark.browser
def test_a_noun_of_another_sentence_is_not_named(open_page: OpenPage):
    widget = show(open_page(width=390), residual=False, stage="nouns")
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("“it” stands for no noun.")
    expect(widget.locator(".qkv-flow-here .qkv-note")).to_contain_text("English or Chinese")


@pytest.mark.browser
def test_places_are_walked_by_keyboard_and_words_are_chosen(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page)
    widget.get_by_role("slider", name="place in the flow").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("it.model.get('stage')") == "1 sum 1"
    frame(page)
    expect(widget.locator(".qkv-flow-here .qkv-label b")).to_have_text("stream after attention, block 1")
    widget.get_by_role("radio", name="cat").press("Space")
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("“cat”: noun")
    page.keyboard.press("ArrowDown")
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("“chased”: verb")
    assert page.evaluate("it.model.get('stage')") == "1 sum 1"


@pytest.mark.browser
@pytest.mark.parametrize("sentence", [SENTENCES[0], SENTENCES[2]])
def test_a_press_anywhere_in_a_word_s_row_chooses_it(open_page: OpenPage, sentence: str):
    page = open_page(width=390, reduced_motion="reduce")
    widget = show(page, sentence=sentence)
    flow = widget.locator(".qkv-flow").bounding_box()
    assert flow
    for chosen in (0, -1):
        page.evaluate("(word) => it.model.set('word', word)", chosen)
        for i in range(len(sentence.split())):
            frame(page)
            box = widget.locator(".qkv-flow-word").nth(i).bounding_box()
            assert box
            page.mouse.click(flow["x"] + flow["width"] * 0.37, box["y"] + box["height"] / 2)
            assert page.evaluate("it.model.get('word')") == i


@pytest.mark.browser
def test_a_drag_down_the_words_meets_each(open_page: OpenPage):
    page = open_page(width=390, reduced_motion="reduce")
    widget = show(page, word=0)
    flow = widget.locator(".qkv-flow").bounding_box()
    assert flow
    met: list[int] = []
    page.mouse.move(flow["x"] + 10, flow["y"] + 5)
    page.mouse.down()
    for y in range(5, int(flow["height"]), 8):
        page.mouse.move(flow["x"] + 10, flow["y"] + y)
        frame(page)
        met.append(page.evaluate("it.model.get('word')"))
    page.mouse.up()
    assert sorted(set(met)) == list(range(9))
    assert met == sorted(met), "it goes back nowhere"


@pytest.mark.browser
@pytest.mark.parametrize("sentence", [SENTENCES[0], SENTENCES[2]])
def test_words_stand_beside_their_classes(open_page: OpenPage, sentence: str):
    widget = show(open_page(width=390, reduced_motion="reduce"), sentence=sentence)
    for word in widget.locator(".qkv-flow-word").all():
        word.click()
        frame(widget.page)
        names, kinds = (
            widget.locator(part).evaluate_all(
                "all => all.map((e) => e.getBoundingClientRect()).map(({ y, height }) => y + height / 2)"
            )
            for part in (".qkv-flow-word", ".qkv-flow-answer-of")
        )
        assert names == pytest.approx(kinds, abs=1)


@pytest.mark.browser
def test_flow_and_numbers_are_on_one_screen_of_a_phone(open_page: OpenPage):
    page = open_phone(open_page)
    widget = show(page)
    heights = set()
    for residual, stage in product((True, False), STAGES):
        page.evaluate("(residual) => it.model.set('residual', residual)", residual)
        stand_at(widget, stage)
        box = widget.bounding_box()
        assert box is not None
        heights.add(box["height"])
    assert len(heights) == 1, "the page below moves from stage to stage"
    assert heights.pop() <= 780


SEEN = """() => [
  document.querySelector(".qkv-flow-answer").innerText,
  document.querySelector(".qkv-flow svg").innerHTML + document.querySelectorAll("[data-on=false]").length,
  document.querySelector(".qkv-flow-bars svg").innerHTML,
]"""


@pytest.mark.browser
@pytest.mark.parametrize("switch", ["residual", "norm", "feed-forward"])
def test_a_switch_changes_the_flow_and_the_numbers_that_follow(open_page: OpenPage, switch: str):
    page = open_page(width=390, has_touch=True)
    widget = show(page, stage="2 sum 2")
    before = page.evaluate(SEEN)
    widget.locator("label", has=page.get_by_role("switch", name=switch)).tap()
    frame(page)
    answer, flow, picture = (one != other for one, other in zip(before, page.evaluate(SEEN), strict=True))
    assert (answer, flow, picture) == (True, True, True)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_the_choice_of_a_sentence_is_below_the_flow(open_page: OpenPage, width: int):
    widget = show(open_page(width=width))
    choice, flow = (widget.locator(part).bounding_box() for part in (".qkv-flow-sentences", ".qkv-flow"))
    assert choice
    assert flow
    assert 0 <= choice["y"] - flow["y"] - flow["height"] < 20


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_before_the_first_press_a_network_that_is_off_is_the_only_part_to_press(open_page: OpenPage, width: int):
    page = open_page(width=width, reduced_motion="reduce")
    widget = show(page, feed_forward=False)
    expect(widget.get_by_role("switch")).to_have_count(3)  # with that of the numbers, which are unfolded
    widget.locator(".qkv-flow-here summary").click()
    others = widget.locator(".qkv-flow").locator(".qkv-flow-norm, .qkv-flow-past, [data-part=residual]")
    network = widget.get_by_role("switch")
    expect(network).to_have_count(1)
    expect(others.locator("visible=true")).to_have_count(0)
    assert others.count() > 3
    height = widget.evaluate("e => e.offsetHeight")
    words = widget.locator(".qkv-flow-word").evaluate_all("all => all.map((e) => e.getBoundingClientRect().top)")
    network.press("Space")
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("Wrong classes: 3 → 0.")
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("Now press “residual”.")
    seen = others.locator("visible=true")
    for _ in range(2):
        expect(widget.get_by_role("switch")).to_have_count(2)
        expect(seen).to_have_count(2)  # the residual, and its lines: no norm
        widget.get_by_role("switch", name="feed-forward").press("Space")
    widget.get_by_role("switch", name="residual").press("Space")
    expect(seen).to_have_count(4)  # with three norms, without the lines
    widget.get_by_role("switch", name="residual").press("Space")
    expect(seen).to_have_count(5)
    expect(widget.locator(".qkv-flow-answer")).not_to_contain_text("Now press")
    assert widget.evaluate("e => e.offsetHeight") == height
    now = widget.locator(".qkv-flow-word").evaluate_all("all => all.map((e) => e.getBoundingClientRect().top)")
    assert now == words, "no word moves"
