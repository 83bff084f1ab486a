"""An exercise is solved on a phone: letters that do not zoom, lines that wrap, a row of keys over the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .test_exercises import ENDLESS, PATIENCE, RIGHT, SAMPLE, SET, python_page
from .test_site import violations_of

pytestmark = pytest.mark.browser

# What a soft keyboard does to a page: it covers the lower part of the window, and only `visualViewport` tells of it.
KEYBOARD = """height => {
  const shown = window.visualViewport;
  Object.defineProperty(shown, "height", { get: () => innerHeight - height, configurable: true });
  shown.dispatchEvent(new Event("resize"));
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    yield from python_page(browser, site, f"exercises/{SAMPLE}.html")


@pytest.fixture
def editor(page: Page) -> Locator:
    """The editor of the first answer, written in with the keyboard up."""
    page.evaluate(SET, ["3.1", "def scaled_scores(q, k):\n    return q"])
    place = page.locator(".qkv-answer").first
    place.locator("textarea:visible, .cm-content").first.click()
    place.locator(".cm-content").wait_for()
    page.evaluate(KEYBOARD, 320)
    place.locator(".cm-content").press("Control+End")
    return place


# Where the first word of a line begins, and where the rows begin on which it goes on, from the left of the page.
ROWS = """line => {
  const range = document.createRange();
  range.selectNodeContents(line);
  const word = line.querySelector("span").getBoundingClientRect();
  const later = [...range.getClientRects()].filter(({ top }) => top > word.bottom);
  return [word.x, [...later].map(({ x }) => x)];
}"""


def test_a_long_line_wraps_and_goes_on_further_in(page: Page, editor: Locator):
    page.evaluate(SET, ["3.1", "def f(x):\n    return " + "x + " * 20 + "x"])
    start, rows = editor.locator(".cm-line").nth(1).evaluate(ROWS)
    assert rows
    assert min(rows) > start


def test_the_cursor_is_in_sight_when_the_keyboard_comes_up(page: Page, editor: Locator):
    line = editor.locator(".cm-line").last
    page.evaluate(KEYBOARD, 0)
    line.evaluate("line => scrollBy(0, line.getBoundingClientRect().bottom - innerHeight + 130)")
    page.evaluate(KEYBOARD, 320)
    keys = page.get_by_role("toolbar", name="Signs of code").bounding_box()
    assert line.bounding_box()["y"] <= keys["y"]


def test_a_keyboard_that_goes_with_the_focus_scrolls_nowhere(page: Page, editor: Locator):
    """Without an error, for which `python_page` looks at the end."""
    page.evaluate("() => { document.activeElement.blur(); visualViewport.dispatchEvent(new Event('resize')); }")
    expect(page.get_by_role("toolbar")).to_be_hidden()


def test_check_stands_directly_below_the_answer(page: Page):
    for answer in page.locator(".qkv-answer").all():
        box = answer.bounding_box()
        check = page.locator(f".qkv-check[data-question='{answer.get_attribute('data-question')}']")
        button = check.get_by_role("button", name="Check").bounding_box()
        assert button["height"] >= 44
        assert 0 <= button["y"] - box["y"] - box["height"] <= 24


def test_the_lines_of_an_answer_are_indented_as_python_is(page: Page):
    """Chromium indents every line of a text area, where only a wrapped line is asked for."""
    indents = "areas => areas.map((area) => getComputedStyle(area).textIndent)"
    found = page.locator("textarea.qkv-editor").evaluate_all(indents)
    assert found
    assert set(found) == {"0px"}


def test_the_letters_are_too_large_to_zoom_and_lines_wrap(page: Page, editor: Locator):
    long = "# " + "a word and another " * 8
    page.evaluate(SET, ["3.1", long])
    assert editor.locator(".cm-content").evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 16
    assert editor.locator(".cm-scroller").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    small = """[...document.querySelectorAll("input, textarea, select")]
      .filter((e) => e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 16).map((e) => e.outerHTML)"""
    assert page.evaluate(small) == []


def test_the_keys_write_indent_and_undo_and_keep_the_focus(page: Page, editor: Locator):
    keys = page.get_by_role("toolbar", name="Signs of code")
    for name in ("opening parenthesis", "underscore", "closing bracket"):
        keys.get_by_role("button", name=name).click()
    assert page.evaluate("window.qkv.answer('3.1')").endswith("return q(_]")
    keys.get_by_role("button", name="undo").click()
    assert not page.evaluate("window.qkv.answer('3.1')").endswith("(_]")
    for name in ("at sign", "asterisk"):
        keys.get_by_role("button", name=name).click()
    assert page.evaluate("window.qkv.answer('3.1')").endswith("@*")
    keys.get_by_role("button", name="indent").click()
    assert page.evaluate("window.qkv.answer('3.1')").splitlines()[-1].startswith(" " * 8)
    expect(editor.locator(".cm-content")).to_be_focused()
    assert violations_of(page) == []


def test_the_row_stands_over_the_keyboard_with_targets_for_a_finger(page: Page, editor: Locator):
    keys = page.get_by_role("toolbar", name="Signs of code")
    box = keys.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 844 - 320 + 1
    sizes = [button.bounding_box() for button in keys.get_by_role("button").all()]
    assert all(size and min(size["width"], size["height"]) >= 32 for size in sizes), sizes
    caret = editor.locator(".cm-line").last.bounding_box()
    assert caret is not None
    assert 0 <= caret["y"] <= box["y"] - caret["height"] + 1, "what is written is behind the keyboard"
    page.locator("h1").click()
    expect(keys).to_be_hidden()


def test_an_answer_is_checked_from_there_and_a_right_one_leads_on(page: Page, editor: Locator):
    page.evaluate(SET, ["3.1", RIGHT])
    page.get_by_role("toolbar").get_by_role("button", name="Check").click()
    card = page.locator(".qkv-check[data-question='3.1'] .qkv-card")
    expect(card).to_have_attribute("data-status", "passed", timeout=PATIENCE)
    expect(card).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("toolbar")).to_be_hidden()
    step = page.locator(".qkv-next")
    expect(step).to_contain_text("Next: 3.2")
    step.get_by_role("link").click()
    expect(page.get_by_role("heading", name="3.2")).to_be_in_viewport()


def test_the_message_about_a_loop_is_a_card_and_goes_with_the_next_run(page: Page, editor: Locator):
    page.evaluate("source => { window.qkv.answer('3.1', source); window.ended = window.qkv.check('3.1'); }", ENDLESS)
    page.wait_for_timeout(500)
    place = page.locator(".qkv-check[data-question='3.1']")
    place.get_by_role("button", name="Stop").click()
    expect(place.locator(".qkv-card.qkv-ended")).to_contain_text("Stopped.", timeout=PATIENCE)
    cell = page.locator(".qkv-cell-try").first
    page.evaluate(SET, ["3.1", RIGHT])
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator(".qkv-printed")).to_contain_text("tensor", timeout=PATIENCE)
    expect(page.locator(".qkv-ended")).to_have_count(0)


def test_the_sums_that_prove_a_mistake_are_in_sight_on_a_phone(page: Page):
    page.evaluate(SET, ["3.3", "def attention(q, k, v):\n    scores = q @ k.mT\n    return scores @ v, scores\n"])
    page.evaluate("() => window.qkv.check('3.3')")
    table = page.get_by_role("group", name="Your weights", exact=True)
    table.locator("tr").first.evaluate("row => row.children[1].style.setProperty('min-width', '30rem')")
    box, wrong = table.bounding_box(), table.locator(".qkv-card-off").first.bounding_box()
    assert box is not None
    assert wrong is not None
    assert wrong["x"] + wrong["width"] <= box["x"] + box["width"] + 1


def test_loading_says_what_it_does_after_the_last_byte(browser: Browser, site: str):
    page = browser.new_page()
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    page.evaluate("""() => {
      window.said = [];
      const place = document.querySelector(".qkv-check .qkv-said");
      new MutationObserver(() => window.said.push(place.textContent)).observe(place, { childList: true });
    }""")
    page.evaluate("() => window.qkv.check('3.1')")
    said = page.evaluate("window.said")
    last = said.index("Loading Python: 100 %")
    stages = [words for words in said[last + 1 :] if words.startswith("Starting Python:")]
    assert any("compiling" in words for words in stages), said
    assert any("importing" in words for words in stages), said
    assert said.index("Running …") > said.index(stages[-1])
    page.close()


def test_who_is_offline_is_told_so_and_keeps_the_answer(browser: Browser, site: str):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    context.set_offline(True)
    page.evaluate(SET, ["3.1", RIGHT])
    page.evaluate("() => window.qkv.check('3.1')")
    card = page.locator(".qkv-check .qkv-card").first
    expect(card).to_contain_text("You are offline")
    assert "undefined" not in card.inner_text()
    assert page.evaluate("window.qkv.answer('3.1')") == RIGHT
    context.set_offline(False)
    found = page.evaluate("() => window.qkv.check('3.1')")
    assert found["status"] == "passed"
    context.close()
