"""SentenceLab shows what the trained tagger computes in Python, and answers what it cannot read."""

import functools
import json
import re
import subprocess
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from traitlets import TraitError

from qkv.models import load_tagger
from qkv.models.grammar import draw
from qkv.widgets import SentenceLab
from qkv.widgets.base import _own_traits
from qkv.widgets.sentence_lab import HANDLES

from .conftest import frame, open_phone
from .node import JS, ROOT, node

OpenPage = Callable[..., Page]
HALF_WRONG = float(re.findall(r"HALF_WRONG = ([\d.]+)", (JS / "sentence_lab.js").read_text(encoding="utf-8"))[0])
HUNGRY = "the cat chased the mouse because it was hungry"
TYPING = f'(await import("{(JS / "typing.js").as_uri()}"))'


# ---- traits


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("word", 11, "word must be a whole number from -1 to 10; got 11"),
        ("layer", 3, "layer must be one of 1, 2, 'both'; got 3"),
        ("temperature", 0, "temperature must be a number from 0.01 to 1000; got 0"),
        ("heads", [True, True], "heads must be a list of 2 entries"),
        ("handles", ["sound"], "handles must be a list of entries, each one of"),
    ],
)
def test_wrong_values_are_answered_with_a_sentence(name: str, value: object, wanted: str):
    with pytest.raises(TraitError) as error:
        setattr(SentenceLab(), name, value)
    assert wanted in str(error.value)


def test_each_handle_is_turned_in_a_chapter():
    """What the widget offers and no page shows, no reader turns."""
    sources = [
        "".join(cell["source"])
        for path in (ROOT / "chapters").rglob("[0-9]*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]
    shown = re.findall(r"SentenceLab\([^)]*handles=\[([^\]]*)\]", "\n".join(sources))
    assert set(re.findall(r"\w+", " ".join(shown))) == set(HANDLES)


# ---- typing


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ["the", "a", "my"]),
        ("the cat ch", ["chased"]),
        ("the cat chased the mouse because it was ta", ["tasty"]),
        ("the cat chased the mouse because it was ", ["hungry", "fast"]),
        ("貓追老鼠因為它", ["餓了", "很快"]),
        ("貓追老鼠因為它很好", ["很好吃"]),
        ("saw saw saw", []),
    ],
)
def test_words_that_may_come_next_are_offered(text: str, wanted: list[str]):
    offered = node(f"async (text) => {TYPING}.completions(grammar, text).words", text)
    assert set(wanted) <= set(offered)
    assert bool(offered) == bool(wanted)


@pytest.mark.parametrize("seed", range(6))
def test_the_word_that_is_meant_is_offered_while_it_is_typed(seed: int):
    """A word of which all but the last letter is typed is among the offers."""
    sentence = draw(Random(seed))
    joined = "" if sentence.language == "chinese" else " "
    for i, word in enumerate(sentence.words):
        if len(word) > 1:
            typed = joined.join([*sentence.words[:i], word[:-1]])
            assert word in node(f"async (text) => {TYPING}.completions(grammar, text).words", typed), typed


@pytest.mark.parametrize(
    ("text", "unknown", "nearest"),
    [
        ("the catt chased", "catt", "cat"),
        ("the ca sat", "ca", "cat"),
        ("my mouze", "mouze", "mouse"),
        ("貓吃", "吃", "畫"),
    ],
)
def test_an_unknown_word_is_named_with_the_nearest_known_ones(text: str, unknown: str, nearest: str):
    answer = node(f"async (text) => {TYPING}.readText(grammar, text)", text)
    assert answer["unknown"][0] == unknown
    assert len(answer["nearest"]) == 6
    if unknown.isascii():
        assert nearest == answer["nearest"][0]
    else:
        assert not any(word.isascii() for word in answer["nearest"])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("the man looks", "noun"),
        ("the cat ate the apple", "verb"),
        ("the cat chased the robot", "noun"),
        ("the cat chased the mouse because he was hungry", "pronoun"),
        ("貓吃", "verb"),
    ],
)
def test_words_are_offered_that_fit_in_the_place_of_an_unknown_one(text: str, kind: str):
    """Also the adjective that may stand before a noun."""
    body = """async (text) => {
      const { nearest } = %s.readText(grammar, text);
      const slots = ["english", "chinese"].flatMap((name) => grammar.data[name].templates.flatMap((each) => each.slots
        .map((slot) => [slot.class, grammar.slotForms(name, slot)])));
      return nearest.map((word) => slots.filter(([, forms]) => forms.includes(word)).map(([kind]) => kind));
    }"""
    for kinds in node(body % TYPING, text):
        assert {kind, "adjective"} & set(kinds)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("the ca, the cat ca sat", ["ca", "sat"]),
        ("today xyz", ["today", "xyz"]),
        ("today the mou", ["today"]),
        ("貓吃老鼠喝", ["吃", "喝"]),
    ],
)
def test_all_unknown_words_are_named(text: str, unknown: list[str]):
    assert node(f"async (text) => {TYPING}.readText(grammar, text)", text)["unknown"] == unknown


@pytest.mark.parametrize(
    ("text", "unknown", "wanted"),
    [("the cat ca sat", "ca", "the cat dog sat"), ("why? c++, I", "c++", "why? dog, I"), ("貓吃狗", "吃", "貓dog狗")],
)
def test_only_the_unknown_word_is_replaced(text: str, unknown: str, wanted: str):
    call = f"async ([text, unknown, word]) => {TYPING}.mended(text, unknown, word)"
    assert node(call, [text, unknown, "dog"]) == wanted


def test_a_word_that_is_still_being_typed_is_not_yet_unknown():
    assert node(f"async (text) => {TYPING}.readText(grammar, text)", "the mou") == {"unfinished": "mou"}


@pytest.mark.parametrize(
    ("a", "b", "steps"), [("", "cat", 3), ("kitten", "sitting", 3), ("cat", "cat", 0), ("ab", "ba", 2)]
)
def test_edits_are_counted(a: str, b: str, steps: int):
    assert node(f"async ([a, b]) => {TYPING}.editDistance(a, b)", [a, b]) == steps


# ---- the drawing


@functools.cache
@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_the_arcs_are_dragged_to_the_word_that_looks_and_no_text_is_selected(open_page: OpenPage, width: int):
    page = open_page(width=width)
    widget = show(page)
    svg = widget.locator("svg.qkv-arcs-beside" if width == 390 else "svg.qkv-arcs-above")
    at, to = svg.bounding_box(), widget.locator(".qkv-word").nth(8).bounding_box()
    assert at
    assert to
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.mouse.down()
    frame(page)
    page.mouse.move(to["x"] + min(40, to["width"] / 2), to["y"] + to["height"] / 2, steps=4)
    page.mouse.up()
    frame(page)
    assert page.evaluate("it.model.get('word')") == 8
    expect(widget.get_by_role("radio", name="where hungry looks")).to_be_checked()
    assert page.evaluate("String(getSelection())") == ""


@pytest.mark.browser
def test_on_a_phone_a_weight_stands_beside_its_word(open_page: OpenPage):
    page = open_phone(open_page)
    widget = show(page)
    cat = widget.locator(".qkv-word").nth(1)
    token, weight = (cat.locator(part).bounding_box() for part in (".qkv-token", ".qkv-weight-of"))
    assert token
    assert weight
    assert 0 <= weight["x"] - (token["x"] + token["width"]) <= 24


def source() -> str:
    """The widget as its sources are now; that the package holds the same is test_bundle's."""
    esbuild = [ROOT / "node_modules" / ".bin" / "esbuild", JS / "sentence_lab.js", "--bundle", "--format=esm"]
    done = subprocess.run([*esbuild, "--loader:.safetensors=binary"], check=True, capture_output=True, cwd=ROOT)
    return done.stdout.decode()


def show(page: Page, **traits: Any) -> Locator:
    """The widget in the page, with its model as `window.it`."""
    widget = SentenceLab(**traits)
    state = {name: getattr(widget, name) for name in _own_traits(SentenceLab)}
    page.evaluate(
        """async ([source, state]) => {
          const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          window.it = show((await import(address)).default, state);
          document.querySelector("main").append(it.el);
        }""",
        [source(), state],
    )
    frame(page)
    return page.locator('.qkv-widget[data-state="ready"]')


def shown(widget: Locator) -> dict[str, list[str]]:
    """What stands beside the words, and their classes in the table of numbers."""
    words = widget.locator(".qkv-word")
    beside = {
        name: words.evaluate_all(f"all => all.map((word) => word.querySelector('{part}')?.textContent ?? '')")
        for name, part in {"words": ".qkv-token", "weights": ".qkv-weight-of"}.items()
    }
    return {**beside, "classes": widget.locator(".qkv-tables tbody td:nth-child(2)").all_text_contents()}


@pytest.mark.browser
def test_it_shows_what_python_computes(open_page: OpenPage):
    page = open_page()
    widget = show(page, layer="both")
    widget.locator("details").evaluate("details => { details.open = true; }")
    tagger = load_tagger().double()
    random = Random(5)
    for sentence in [draw(random) for _ in range(12)]:
        text = ("" if sentence.language == "chinese" else " ").join(sentence.words)
        page.evaluate("(sentence) => it.model.set('sentence', sentence)", text)
        frame(page)
        tagged = tagger.tag(list(sentence.words))
        at = next(iter(tagged.refers_to), len(sentence.words) - 1)
        seen = shown(widget)
        assert seen["words"] == list(sentence.words)
        assert seen["classes"] == tagged.classes
        below = widget.locator(".qkv-class").all_inner_texts()
        assert below == ([] if tagged.refers_to else tagged.classes), "the classes are the answer where there is no it"
        for written, weight in zip(seen["weights"], tagged.weights.mean((0, 1))[at].tolist(), strict=True):
            assert float(written or 0) == pytest.approx(weight, abs=0.0051)
        nouns = widget.locator(".qkv-word .qkv-read-as").all_inner_texts()
        assert nouns == [f"= {noun}" for noun in tagged.refers_to.values()]


@pytest.mark.browser
def test_one_changed_word_moves_where_it_looks(open_page: OpenPage):
    widget = show(open_page())
    finding = widget.locator(".qkv-finding")
    expect(finding).to_contain_text("it looks at cat")
    expect(finding).to_contain_text("the cat was hungry")
    widget.get_by_role("radio", name="tasty").check()
    expect(finding).to_contain_text("it looks at mouse")
    expect(finding).to_contain_text("the mouse was tasty")
    widget.page.evaluate("() => it.model.set('sentence', 'the mouse chased the cat because it was tasty')")
    expect(finding).to_contain_text("it looks at cat")


@pytest.mark.browser
@pytest.mark.parametrize("has_touch", [False, True], ids=["mouse", "finger"])
def test_a_press_on_the_word_that_is_changed_turns_it(open_page: OpenPage, has_touch: bool):
    widget = show(open_page(width=390, has_touch=has_touch))
    for word in ("tasty", "slow", "scared", "angry", "fast", "hungry"):
        last = widget.locator(".qkv-exchange").last
        last.tap() if has_touch else last.click()
        expect(widget.locator(".qkv-token").last).to_have_text(word)
        noun = "mouse" if word in ("tasty", "slow", "scared") else "cat"
        expect(widget.locator(".qkv-finding")).to_contain_text(f"it looks at {noun}")


@pytest.mark.browser
def test_a_square_shows_for_each_new_sentence_whether_its_noun_was_found(open_page: OpenPage):
    widget = show(open_page(), handles=["temperature"], temperature=5.0)
    expect(widget.locator(".qkv-exam-squares i")).to_have_count(100)
    expect(widget.locator(".qkv-missed").first).to_be_visible()
    right = int(widget.locator(".qkv-exam-share").inner_text())
    assert [widget.locator(part).count() for part in (".qkv-found", ".qkv-missed")] == [right, 100 - right]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_the_arc_leads_from_it_to_the_word(open_page: OpenPage, width: int):
    """The widest arc starts beside or over *it*, and ends beside or over *cat*: arcs and words are laid out apart."""
    page = open_page(width=width)
    widget = show(page)
    ends = widget.evaluate("""(widget) => {
      const svg = [...widget.querySelectorAll("svg.qkv-arcs")].find((each) => each.getBoundingClientRect().width > 0);
      const width = (path) => parseFloat(getComputedStyle(path).strokeWidth);
      const widest = [...svg.querySelectorAll("path")].sort((a, b) => width(b) - width(a))[0];
      const point = (at) => {
        const { x, y } = widest.getPointAtLength(at).matrixTransform(widest.getScreenCTM());
        return [x, y];
      };
      return [point(0), point(widest.getTotalLength())];
    }""")
    axis = 1 if width == 390 else 0
    for (*point,), i in zip(ends, (6, 1), strict=True):
        box = widget.locator(".qkv-word").nth(i).bounding_box()
        assert box is not None
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert point[axis] == pytest.approx(middle[axis], abs=3)


@pytest.mark.browser
def test_words_and_changes_are_reached_by_keyboard(open_page: OpenPage):
    page = open_page()
    widget = show(page)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(widget.locator(".qkv-finding")).to_contain_text("because looks")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(widget.locator(".qkv-aside legend")).to_have_text("change mouse to")
    page.keyboard.press("ArrowRight")
    expect(widget.locator(".qkv-aside legend")).to_have_text("change hungry to")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(widget.locator(".qkv-finding")).to_contain_text("the mouse was tasty")
    expect(widget.get_by_role("status")).to_contain_text("it looks at mouse")


@pytest.mark.browser
def test_the_word_that_looks_and_the_word_that_is_changed_are_chosen_apart(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page)
    finding, legend = widget.locator(".qkv-finding"), widget.locator(".qkv-aside legend")
    widget.locator(".qkv-exchange", has_text="mouse").click()
    expect(legend).to_have_text("change mouse to")
    expect(finding).to_contain_text("it looks at cat")
    widget.locator(".qkv-look").nth(2).click()
    expect(finding).to_contain_text("chased looks most at")
    expect(legend).to_have_text("change mouse to")
    widget.get_by_role("radio", name="fox").check()
    expect(widget.locator(".qkv-token")).to_have_text(HUNGRY.replace("mouse", "fox").split())
    expect(finding).to_contain_text("chased looks most at")
    widget.locator(".qkv-token", has_text="because").click()  # no word can replace it
    expect(finding).to_contain_text("because looks most at")
    expect(legend).to_have_text("change fox to")
    framed = widget.locator(".qkv-token").evaluate_all("all => all.map((e) => getComputedStyle(e).borderColor)")
    assert len(set(framed)) == 3, "the word that is changed, those that can be, and the others"


@pytest.mark.browser
def test_a_sentence_is_typed_with_offers(open_page: OpenPage):
    page = open_page()
    widget = show(page)
    widget.get_by_role("radio", name="type a sentence").check()
    field, aside = widget.get_by_role("textbox", name="your sentence"), widget.locator(".qkv-aside")
    field.fill("I saw a dinosaur")
    expect(widget.locator(".qkv-typing")).to_contain_text("does not know “dinosaur”.")
    expect(aside).to_contain_text("These fit:")
    field.fill("I saw a s")
    expect(aside).to_contain_text("next word")
    expect(widget.locator(".qkv-token")).to_have_text(HUNGRY.split())  # the picture waits
    widget.get_by_role("button", name="saw", exact=True).click()
    expect(field).to_have_value("I saw a saw ")
    expect(widget.locator(".qkv-class")).to_have_text(["pronoun", "verb", "determiner", "noun"])
    assert page.evaluate("it.model.get('sentence')") == "I saw a saw"
    expect(widget.get_by_role("button", name="I saw a saw")).to_have_attribute("aria-pressed", "true")
    field.fill("the the")
    expect(aside).to_contain_text("trained on no sentence like this")
    widget.get_by_role("button", name="read it anyway").click()
    expect(widget.locator(".qkv-token")).to_have_text(["the", "the"])
    field.fill("my my")
    field.press("Enter")
    expect(widget.locator(".qkv-token")).to_have_text(["my", "my"])
    widget.get_by_role("button", name="the cat").click()
    expect(field).to_have_value(HUNGRY)


@pytest.mark.browser
def test_a_space_after_a_whole_sentence_stays_and_more_words_follow(open_page: OpenPage):
    widget = show(open_phone(open_page))
    widget.get_by_role("radio", name="type a sentence").check()
    field = widget.get_by_role("textbox", name="your sentence")
    field.fill("")
    text = "the dog saw the bird because it was hungry"
    for letter in text:
        field.press_sequentially(letter)
        frame(widget.page)
        if field.input_value() == "the dog saw the bird ":
            expect(widget.locator(".qkv-token")).to_have_text(["the", "dog", "saw", "the", "bird"])
            expect(widget.locator(".qkv-aside")).to_have_text("")
    expect(field).to_have_value(text)
    field.press("Enter")
    expect(widget.locator(".qkv-token")).to_have_text(text.split())


@pytest.mark.browser
@pytest.mark.parametrize("text", ["the dog saw the bird", "the dog saw the birdy", "my dog saw the bird the"])
def test_no_class_is_under_the_words_that_are_offered(open_page: OpenPage, text: str):
    widget = show(open_phone(open_page))
    widget.get_by_role("radio", name="type a sentence").check()
    for each in ("the dog saw the bird", text):
        widget.get_by_role("textbox", name="your sentence").fill(each)
        frame(widget.page)
    ends = widget.locator(".qkv-class").evaluate_all("es => es.map((e) => e.getBoundingClientRect().right)")
    aside = widget.locator(".qkv-aside").bounding_box()
    assert aside
    assert max(ends) <= aside["x"]


@pytest.mark.browser
@pytest.mark.parametrize("text", ["the man", "the cat ch", "the the", "", "the cat " * 6])
def test_examples_stay_and_the_picture_waits_while_a_sentence_is_typed(open_page: OpenPage, text: str):
    widget = show(open_page(width=390))
    widget.get_by_role("radio", name="type a sentence").check()
    for end in range(len(text) + 1):
        widget.get_by_role("textbox").fill(text[:end])
    expect(widget.locator(".qkv-typing button")).to_have_count(3)
    expect(widget.locator(".qkv-token")).to_have_text(HUNGRY.split())


@pytest.mark.browser
def test_a_press_on_its_mode_brings_the_field_into_view_and_arrow_keys_go_on_among_the_modes(open_page: OpenPage):
    page = open_page(width=390)
    page.set_viewport_size({"width": 390, "height": 600})
    widget = show(page)
    page.add_style_tag(content="body { padding-top: 100px }")
    widget.get_by_role("radio", name="type a sentence").click(position={"x": 20, "y": 10})
    frame(page)
    assert "change" not in widget.locator(".qkv-aside").inner_text(), "the words for the other mode"
    page.keyboard.type("zebra ")
    expect(widget.get_by_role("textbox")).to_have_value(re.compile("zebra $"))
    assert widget.locator(".qkv-typing").evaluate("e => e.getBoundingClientRect().bottom") < 601
    said, field = (widget.locator(part).bounding_box() for part in (".qkv-typing b", "textarea"))
    assert said
    assert field
    assert said["y"] + said["height"] <= field["y"] <= said["y"] + said["height"] + 8, "beside the field"
    widget.get_by_role("radio", name="change", exact=True).click()
    page.keyboard.press("ArrowRight")
    frame(page)
    expect(widget.get_by_role("radio", name="type a sentence")).to_be_focused()


LONGEST = "the old rabbit followed the old hammer because it was curious"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, pytest.param(800, marks=pytest.mark.slow)])
def test_a_shorter_or_longer_sentence_moves_nothing_below_and_fits_its_field(open_page: OpenPage, width: int):
    page = open_page(width=width)
    widget = show(page)
    widget.get_by_role("radio", name="type a sentence").check()
    field = widget.get_by_role("textbox", name="your sentence")
    heights = set()
    for text in (HUNGRY, "I saw a saw", "貓追老鼠因為它餓了", "they ", LONGEST, "today xyz"):
        field.fill(text)
        frame(page)
        heights.add(widget.evaluate("(widget) => widget.offsetHeight"))
        assert field.evaluate("(field) => field.scrollHeight <= field.clientHeight"), text
    assert len(heights) == 1, heights


OVERLAPS = """(widget) => {
  const words = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const parts = [...widget.querySelectorAll('.qkv-reading *, .qkv-modes *, .qkv-weights th > span, .qkv-weights td')]
    .filter((e) => words(e) && !e.matches('.qkv-unseen, .qkv-badge'));
  const boxes = parts.flatMap((e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    const { left, right, top, bottom } = (e.closest('.qkv-chip, .qkv-token') ?? range).getBoundingClientRect();
    return right > left ? [{ e, left, right, top: top + 1, bottom: bottom - 1 }] : [];
  });
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
    !a.e.contains(b.e) && !b.e.contains(a.e) && a.left < b.right + 2 && b.left < a.right + 2
    && a.top < b.bottom && b.top < a.bottom).map((b) => `${a.e.innerText} | ${b.e.innerText}`));
}"""


@pytest.mark.browser
@pytest.mark.parametrize("sentence", [HUNGRY, LONGEST, "I saw a saw"])
@pytest.mark.parametrize("width", [354, 324, 760])
@pytest.mark.parametrize("handles", [[], ["temperature"]], ids=str)
def test_no_words_touch(open_page: OpenPage, sentence: str, width: int, handles: list[str]):
    page = open_page(width=width)
    page.add_style_tag(content="body { margin: 0 }")
    widget = show(page, sentence=sentence, temperature=1000, handles=handles)
    for i in range(widget.locator(".qkv-exchange").count()):
        widget.locator(".qkv-exchange").nth(i).click()
        frame(page)
        assert widget.evaluate(OVERLAPS) == []
    page.evaluate("it.model.set('matrix', true)")
    frame(page)
    assert widget.evaluate(OVERLAPS) == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_all_weights_take_the_place_of_the_arcs_and_a_row_chooses_its_word(open_page: OpenPage, width: int):
    page = open_page(width=width)
    widget = show(page)
    before = widget.evaluate("(widget) => widget.offsetHeight")
    widget.get_by_role("radio", name="all weights").check()
    frame(page)
    assert page.evaluate("it.model.get('matrix')") is True
    assert widget.evaluate("(widget) => widget.offsetHeight") == before
    assert widget.locator(".qkv-reading").count() == 0
    widget.locator(".qkv-weights tbody tr").nth(1).locator("td").nth(4).click()
    frame(page)
    assert page.evaluate("it.model.get('word')") == 1
    expect(widget.locator(".qkv-finding")).to_contain_text("cat looks")
    expect(widget.locator(".qkv-row-from")).to_contain_text("cat")
    widget.get_by_role("radio", name="where it looks").check()
    expect(widget.locator(".qkv-row-from td.qkv-heat")).to_have_text(["", "1.0", *[""] * 7])


@pytest.mark.browser
@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [("the cat ate", "does not know the word “ate”"), ("", "reads 1 to 11 words"), ("the " * 12, "1 to 11")],
)
def test_a_sentence_that_it_cannot_read_is_answered(open_page: OpenPage, sentence: str, wanted: str):
    widget = show(open_page(), sentence=sentence)
    expect(widget.locator(".qkv-finding")).to_contain_text(wanted)
    expect(widget.get_by_role("textbox")).to_be_visible()


@pytest.mark.browser
def test_the_share_falls_while_a_handle_is_turned_and_no_portion_is_long(open_page: OpenPage):
    page = open_page()
    page.evaluate("""() => {
      const { postMessage } = MessagePort.prototype;
      window.portions = 0;
      MessagePort.prototype.postMessage = function (...message) {
        window.portions += 1;
        postMessage.apply(this, message);
      };
    }""")
    widget = show(page, handles=["temperature"])
    right = widget.locator("dd")
    expect(right).to_contain_text(re.compile(r"^(9[89]|100) of 100 right"))
    widget.get_by_role("slider").press("End")
    expect(right).to_contain_text(re.compile(r"^[1-5]\d of 100 right"))
    assert page.evaluate("window.portions") > 2, "the exam was taken in one piece"


@pytest.mark.browser
def test_handles_are_those_of_python(open_page: OpenPage):
    settings: dict[str, Any] = {"temperature": 4.0, "positions": False, "heads": [[True, False], [True, True]]}
    widget = show(open_page(), **settings)
    tagged = load_tagger().double().tag(HUNGRY, **settings)
    seen = [float(weight or 0) for weight in shown(widget)["weights"]]
    assert seen == pytest.approx(tagged.weights[1].mean(0)[6].tolist(), abs=0.0051)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("chosen", "off", "said"),
    [
        ({"layer": 2, "head": 2}, {"heads": [[True, True], [True, False]]}, "layer 2, head 2 is off"),
        ({"layer": 2, "head": "both"}, {"layers": [True, False]}, "these heads are off"),
        (
            {"layer": "both", "head": 1},
            {"heads": [[False, True], [False, True]]},
            "these heads are off",
        ),
        ({"layer": "both", "head": "both"}, {"layers": [False, False]}, "these heads are off"),
    ],
)
def test_a_head_that_is_off_has_no_arcs(open_page: OpenPage, chosen: dict[str, Any], off: dict[str, Any], said: str):
    widget = show(open_page(), handles=["heads"], **chosen, **off)
    expect(widget.locator(".qkv-finding span").first).to_have_text(f"it looks at nothing: {said}.")
    assert not any(shown(widget)["weights"])
    assert widget.locator(".qkv-arcs-above path:not(.qkv-arc-none)").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    ("turned", "looks", "answer"),
    [
        ({}, "it looks at lamb.", "Read as: the lamb was tasty."),
        (
            {"heads": [[False, False], [False, True]]},
            "it looks most at wolf.",
            "But the answer is lamb: an arc is no proof.",
        ),
        (
            {"heads": [[False, False], [False, False]]},
            "it looks at nothing: these heads are off.",
            "The answer cat is not in the sentence.",
        ),
        ({"temperature": 1000.0}, "it looks at all words alike.", "The answer bird is not in the sentence."),
    ],
)
def test_where_it_looks_and_the_answer_are_said_apart(
    open_page: OpenPage, turned: dict[str, Any], looks: str, answer: str
):
    widget = show(open_page(width=390), sentence="the wolf chased the lamb because it was tasty", **turned)
    expect(widget.locator(".qkv-finding span")).to_have_text([looks, answer])
    assert all(widget.locator(".qkv-finding span").evaluate_all("all => all.map((e) => e.offsetHeight < 30)"))


@pytest.mark.browser
@pytest.mark.parametrize(("temperature", "text"), [(0.01, "0.01"), (0.015, "0.015"), (1, "1"), (1000, "1,000")])
def test_a_temperature_has_no_empty_digits(open_page: OpenPage, temperature: float, text: str):
    widget = show(open_page(), handles=["temperature"], temperature=float(temperature))
    expect(widget.get_by_role("slider")).to_have_attribute("aria-valuetext", text)


@pytest.mark.browser
@pytest.mark.parametrize("layer", [1, 2])
def test_the_heads_whose_arcs_are_drawn_are_marked(open_page: OpenPage, layer: int):
    widget = show(open_page(), handles=["heads"], layer=layer)
    tagged = load_tagger().double().tag(HUNGRY)
    seen = [float(weight or 0) for weight in shown(widget)["weights"]]
    assert seen == pytest.approx(tagged.weights[layer - 1].mean(0)[6].tolist(), abs=0.0051)
    marked = widget.get_by_role("switch", name="its weights are the arcs")
    expect(marked).to_have_count(2)
    expect(marked.first).to_have_accessible_name(f"layer {layer}, head 1: its weights are the arcs")
    marked.first.uncheck()
    expect(marked).to_have_count(1)


@pytest.mark.browser
def test_of_many_handles_all_are_turned_back_by_one_button(open_page: OpenPage):
    widget = show(open_page(), handles=HANDLES, temperature=10, scaled=False, layers=[True, False])
    widget.get_by_role("button", name="reset").click()
    expect(widget.get_by_role("button", name="reset")).to_be_disabled()
    expect(widget.locator(".qkv-handles").get_by_text("changed")).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_of_many_handles_one_is_shown_and_those_that_were_moved_are_marked(open_page: OpenPage, width: int):
    page = open_page(width=width)
    widget = show(page, handles=HANDLES)
    heights = set()
    for name, parts in {"temperature": "slider", "scale": "switch", "positions": "switch", "layers": "switch"}.items():
        at = HANDLES.index(name)
        widget.locator(".qkv-handles > fieldset input").nth(at).check()
        frame(page)
        other = {"slider", "switch"} - {parts}
        assert widget.get_by_role(parts).count() == (2 if name == "layers" else 1)
        assert widget.get_by_role(other.pop()).count() == 0
        heights.add(widget.evaluate("(widget) => widget.offsetHeight"))
    widget.get_by_role("switch", name="layer 1").uncheck()
    expect(widget.locator(".qkv-handles > fieldset label", has_text="changed")).to_have_text(["layers •changed"])
    widget.locator(".qkv-handles > fieldset input").nth(HANDLES.index("heads")).check()
    frame(page)
    assert {*heights, widget.evaluate("(widget) => widget.offsetHeight")} == heights, "something below has moved"
    assert len(heights) == 1


@pytest.mark.browser
def test_a_word_that_comes_twice_has_both_its_classes_said(open_page: OpenPage):
    page = open_page()
    widget = show(page, sentence="I saw a saw", word=1)
    said = widget.locator(".qkv-finding span").last
    expect(said).to_have_text("Its class: verb. Elsewhere: noun.")
    page.evaluate("it.model.set('word', 3)")
    expect(said).to_have_text("Its class: noun. Elsewhere: verb.")
    page.evaluate("it.model.set('word', 0)")
    expect(said).to_have_text("Its class: pronoun.")


def words(sentence: str) -> list[str]:
    return sentence.split()


def test_the_mark_of_the_slider_stands_where_half_of_the_answers_are_wrong():
    body = """async (temperature) => {
      const { examSentence, EXAM_LENGTH } = await import(%s);
      const all = Array.from({ length: EXAM_LENGTH }, (_, i) => i);
      return all.filter((i) => taggers.score(tagger("tagger"), examSentence(i), { temperature })[2] > 0).length;
    }"""
    assert node(body % json.dumps((JS / "exam.js").as_uri()), HALF_WRONG) == pytest.approx(50, abs=3)


@pytest.mark.browser
@pytest.mark.parametrize(("positions", "after"), [(True, "the mouse was hungry"), (False, "")])
def test_the_nouns_are_exchanged_and_without_positions_the_answer_is_the_same(
    open_page: OpenPage, positions: bool, after: str
):
    page = open_page(reduced_motion="reduce")
    widget = show(page, handles=["positions"], positions=positions)
    said = widget.locator(".qkv-finding span").last
    before = said.inner_text()
    widget.get_by_role("button", name="exchange nouns").click()
    expect(widget.locator(".qkv-token")).to_have_text(words("the mouse chased the cat because it was hungry"))
    expect(said).to_contain_text(after or before)


@pytest.mark.browser
def test_an_exchange_keeps_the_articles_right_and_needs_two_nouns(open_page: OpenPage):
    page = open_page(reduced_motion="reduce")
    widget = show(page, sentence="an owl chased a cat because it was hungry", handles=["positions"])
    exchange = widget.get_by_role("button", name="exchange nouns")
    exchange.click()
    expect(widget.locator(".qkv-token")).to_have_text(words("a cat chased an owl because it was hungry"))
    page.evaluate("it.model.set('sentence', 'I saw a saw')")
    expect(exchange).to_be_disabled()


@pytest.mark.browser
def test_a_head_is_a_map_of_its_weights_which_a_press_switches_off(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page, handles=["heads"])
    head = widget.locator(".qkv-head").nth(1)
    paths = head.locator("path").evaluate_all(
        "all => all.map((e) => [e.getAttribute('stroke-opacity'), e.getAttribute('d')])"
    )
    cells = {tuple(map(int, at)): float(shade) for shade, d in paths for at in re.findall(r"M(\d) (\d)", d)}
    weights = load_tagger().double().tag(HUNGRY).weights[0, 1]
    wanted = {(j, i): weights[i, j].item() for i in range(9) for j in range(9) if weights[i, j] > 1 / 16}
    assert cells == pytest.approx(wanted, abs=1 / 16 + 0.006)
    head.click()
    expect(widget.get_by_role("switch", name="layer 1, head 2")).not_to_be_checked()
    assert page.evaluate("it.model.get('heads')") == [[True, False], [True, True]]


TURNED: dict[str, tuple[str, dict[str, Any]]] = {
    "divide by √dk": ("scale", {"scaled": False}),
    "positions": ("positions", {"positions": False}),
    "layer 1, head 2": ("heads", {"heads": [[True, False], [True, True]]}),
    "layer 2, head 1": ("heads", {"heads": [[True, True], [False, True]]}),
    "layer 1": ("layers", {"layers": [False, True]}),
}


@pytest.mark.browser
@pytest.mark.parametrize("label", TURNED)
def test_each_switch_does_what_it_says(open_page: OpenPage, label: str):
    handle, settings = TURNED[label]
    widget = show(open_page(), handles=[handle], layer="both", head=1)
    widget.get_by_role("switch", name=label, exact=True).uncheck()
    frame(widget.page)
    tagged = load_tagger().double().tag(HUNGRY, **settings)
    seen = [float(weight or 0) for weight in shown(widget)["weights"]]
    on = {"layer 1": [1], "layer 2, head 1": [0]}.get(label, [0, 1])  # of the layers, those whose head 1 is on
    assert seen == pytest.approx(tagged.weights[on, 0].mean(0)[6].tolist(), abs=0.0051)
    assert widget.locator(".qkv-word .qkv-read-as").inner_text() == f"= {tagged.refers_to[6]}"


@pytest.mark.browser
def test_nothing_moves_for_who_asks_for_rest(open_page: OpenPage):
    for motion, moves in (("reduce", False), ("no-preference", True)):
        page = open_page(reduced_motion=motion)
        widget = show(page)
        widget.get_by_role("radio", name="tasty").check()
        frame(page)
        assert (page.evaluate("document.getAnimations().length") > 0) == moves


@pytest.mark.browser
@pytest.mark.parametrize(
    "handles", [["scale"], ["temperature"], ["layers", "positions"], ["heads"], ["heads", "layers"], HANDLES], ids=str
)
def test_handles_and_sentence_are_on_one_screen_of_a_phone(open_page: OpenPage, handles: list[str]):
    """As wide as the widget is on a page of the site; about 640 of 700 px are left below the page's header."""
    page = open_page(width=390)
    page.add_style_tag(content="main, .qkv-widget { width: 354px !important }")
    widget = show(page, handles=handles)
    assert widget.evaluate("(widget) => widget.offsetHeight") <= 600


@pytest.mark.browser
def test_a_sentence_is_typed_on_one_screen_of_a_phone(open_page: OpenPage):
    page = open_page(width=390)
    page.add_style_tag(content="main, .qkv-widget { width: 354px !important }")
    widget = show(page)
    for mode in ("change", "all weights", "type a sentence"):
        widget.get_by_role("radio", name=mode, exact=True).check()
        frame(page)
        assert widget.evaluate("(widget) => widget.offsetHeight") <= 640, mode


@pytest.mark.browser
def test_sentence_arcs_and_choices_are_on_one_screen_of_a_phone(open_page: OpenPage):
    widget = show(open_page(width=390))
    assert widget.evaluate("(widget) => widget.offsetHeight") < 510
    sizes = widget.evaluate("""(widget) => [...widget.querySelectorAll("*")]
      .filter((each) => each.innerText?.trim()).map((each) => parseFloat(getComputedStyle(each).fontSize))""")
    assert min(sizes) >= 12
