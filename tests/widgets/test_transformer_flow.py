"""TransformerFlow shows at each stage what the tagger has there in Python, with its parts on and off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from qkv.models import load_tagger
from qkv.widgets import TransformerFlow
from qkv.widgets.base import _own_traits
from qkv.widgets.transformer_flow import SENTENCES, STAGES

from .conftest import frame
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
        const {{ rows }} = m.stageRows(places, stage, n, model.nHeads);
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
    return page.locator('.qkv-widget[data-state="ready"]')


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
    widget.locator("summary").click()
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


@pytest.mark.browser
def test_the_flow_gives_the_shape_of_every_stage(open_page: OpenPage):
    widget = show(open_page(), sentence="I saw a saw")
    places = load_tagger().tag("I saw a saw").places
    shapes = ["×".join(map(str, places[place_of(stage)].shape)) for stage in STAGES]
    assert widget.locator(".qkv-flow-stage small").all_inner_texts() == shapes


@pytest.mark.browser
def test_without_residual_all_words_become_one_class(open_page: OpenPage):
    widget = show(open_page())
    answer = widget.locator(".qkv-flow-answer")
    expect(answer).to_contain_text("it: pronoun (1.00). It stands for cat (0.99).")
    widget.get_by_role("radio", name="tasty").check()
    expect(answer).to_contain_text("stands for mouse")
    widget.get_by_role("switch", name="residual").press("Space")
    expect(answer).to_contain_text("2 of 9 words keep their class.")
    expect(widget.get_by_role("status")).to_contain_text("2 of 9")


@pytest.mark.browser
def test_columns_are_named_and_the_likeliest_answers_are_given(open_page: OpenPage):
    tagger = load_tagger().double()
    page = open_page(width=390)
    widget = show(page, stage="nouns")
    row = tagger.tag(SENTENCES[0]).places["noun_logits"][6]
    shares, best = row.softmax(0).topk(3)
    said = widget.locator(".qkv-flow-likeliest dd").all_inner_texts()
    assert [float(text) for text in said] == pytest.approx(shares.tolist(), abs=0.0051)
    assert widget.locator(".qkv-flow-likeliest dt").first.inner_text() == "cat"
    name = widget.locator(".qkv-flow-columns i")
    expect(name).to_have_text("cat")
    assert name.evaluate("i => parseFloat(i.style.getPropertyValue('--at'))") == (int(best[0]) + 0.5) / 32 * 100
    widget.locator("summary").click()
    head = widget.locator("details table").first.locator("thead th")
    assert head.all_inner_texts()[1 + int(best[0])] == "cat"
    first = widget.locator("details tbody th").first
    before = first.bounding_box()
    widget.locator(".qkv-scroll").first.evaluate("box => { box.scrollLeft = 200; }")
    assert first.bounding_box() == before, "the words stay in sight"
    page.evaluate("it.model.set('stage', '2 attention')")
    expect(name).to_have_text(["cat", "cat"])


@pytest.mark.browser
def test_a_stage_that_is_off_is_struck_out(open_page: OpenPage):
    widget = show(open_page(width=390))
    off = widget.locator(".qkv-flow-off")
    expect(off).to_have_count(0)
    widget.get_by_role("switch", name="feed-forward").uncheck()
    expect(off).to_contain_text(["feed-forward (off)"] * 2)
    widget.get_by_role("switch", name="norm").uncheck()
    expect(off).to_have_count(7)


@pytest.mark.browser
def test_what_a_switch_changes_has_a_dot_and_what_comes_before_it_has_none(open_page: OpenPage):
    widget = show(open_page(width=390), stage="1 norm 2")
    stages, title = widget.locator(".qkv-flow-stage"), widget.locator(".qkv-flow-title")
    dots = widget.locator("small.qkv-flow-changed")
    expect(dots).to_have_count(0)
    expect(title).to_have_text("norm before feed-forward, block 1 9 × 32")
    widget.get_by_role("switch", name="feed-forward").uncheck()
    expect(dots).to_have_count(10)
    expect(stages.filter(has_text="(changed)")).to_have_count(10)
    expect(title).to_have_text("norm before feed-forward, block 1, as before 9 × 32")
    stages.nth(6).click()
    expect(title).to_have_text("stream after feed-forward, block 1, changed 9 × 32")
    widget.get_by_role("switch", name="norm").uncheck()
    expect(dots).to_have_count(15)  # all but the embedding


@pytest.mark.browser
def test_a_chinese_noun_in_an_english_sentence_is_said_to_be_one(open_page: OpenPage):
    widget = show(open_page(width=390), residual=False, stage="nouns")
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("It stands for 鳥, Chinese for bird")
    expect(widget.locator(".qkv-flow-across")).to_contain_text("one list for both languages")


@pytest.mark.browser
def test_stages_are_walked_by_keyboard_and_rows_are_pressed(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page)
    widget.get_by_role("radio", name="embedding").focus()
    page.keyboard.press("Space")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("it.model.get('stage')") == "1 sum 1"
    frame(page)
    expect(widget.locator(".qkv-flow-title")).to_have_text("stream after attention, block 1 9 × 32")
    area = widget.locator(".qkv-flow-map")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 20, box["y"] + 1.5 / 9 * box["height"])
    expect(widget.locator(".qkv-flow-answer")).to_contain_text("cat: noun")
    expect(widget.get_by_role("slider", name="word")).to_have_attribute("aria-valuetext", "2 of 9: cat")


@pytest.mark.browser
def test_flow_and_numbers_are_on_one_screen_of_a_phone(open_page: OpenPage):
    widget = show(open_page(width=390))
    heights = set()
    for stage in STAGES:
        widget.page.evaluate("(stage) => it.model.set('stage', stage)", stage)
        frame(widget.page)
        box = widget.bounding_box()
        assert box is not None
        heights.add(box["height"])
    assert max(heights) < 844
    assert len(heights) == 1, "the page below moves from stage to stage"


@pytest.mark.browser
def test_on_a_phone_the_numbers_have_the_whole_width_and_the_blocks_are_side_by_side(open_page: OpenPage):
    widget = show(open_page(width=390))
    area = widget.locator(".qkv-flow-map").bounding_box()
    assert area is not None
    assert area["width"] > 250
    assert area["height"] > 200
    stages = widget.locator(".qkv-flow-stage")
    boxes = [stages.nth(i).bounding_box() for i in range(len(STAGES))]
    one, other = boxes[1:7], boxes[7:13]
    for left, right in zip(one, other, strict=True):
        assert left is not None
        assert right is not None
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] < right["x"]
    assert len({box["y"] for box in boxes[13:] if box}) == 1, "norm, classes and nouns are one row"
    assert all(box and box["y"] + box["height"] <= area["y"] for box in boxes)


SEEN = """() => [
  document.querySelector(".qkv-flow-answer").innerText,
  document.querySelector(".qkv-flow-stages").outerHTML,
  document.querySelector("canvas").toDataURL(),
]"""


@pytest.mark.browser
@pytest.mark.parametrize("switch", ["residual", "norm", "feed-forward"])
def test_a_switch_changes_the_flow_and_the_numbers_that_follow(open_page: OpenPage, switch: str):
    page = open_page(width=390, has_touch=True)
    widget = show(page, stage="2 attention")
    before = page.evaluate(SEEN)
    widget.get_by_role("switch", name=switch).tap()
    frame(page)
    answer, flow, picture = (one != other for one, other in zip(before, page.evaluate(SEEN), strict=True))
    assert (answer, flow, picture) == (True, True, True)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_the_choice_of_a_sentence_is_beside_the_answer(open_page: OpenPage, width: int):
    widget = show(open_page(width=width))
    choice, answer = (widget.locator(part).bounding_box() for part in (".qkv-choices", ".qkv-flow-answer"))
    assert choice
    assert answer
    assert 0 <= answer["y"] - choice["y"] - choice["height"] < 20
