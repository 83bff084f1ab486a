"""Exercises are solved on a phone whose keyboard takes half of the screen: 390 × 400 px are left of the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from .test_exercises import PATIENCE, ROOT, cells, python_page

pytestmark = pytest.mark.browser

LEFT = {"width": 390, "height": 400}
CHAPTERS = ("03_scaling", "05_multi_head", "07_kv_cache")

# The room at each side of a button's word, in pixels.
BESIDE_THE_WORD = """button => {
  const word = document.createRange();
  word.selectNodeContents(button);
  return (button.clientWidth - word.getBoundingClientRect().width) / 2;
}"""


def solutions(name: str) -> dict[str, str]:
    """The official solution of each question of a chapter, by its number."""
    texts = cells(ROOT / "solutions" / f"{name}.ipynb")
    answers = [text for cell, text in texts.items() if cell.startswith("answer-")]
    return {f"{int(name[:2])}.{number}": text for number, text in enumerate(answers, start=1)}


def type_code(page: Page, source: str) -> None:
    """Type code line by line. The indentation that the editor begins a line with is replaced by the line's own."""
    for number, line in enumerate(source.splitlines()):
        if number:
            page.keyboard.press("Enter")
            page.keyboard.press("Shift+Home")
        page.keyboard.insert_text(line or " ")


def solve(page: Page, question: str, solution: str) -> None:
    """Type a solution, and press Check in the row of keys. The line that is typed, Check and the card are in sight."""
    answer = page.locator(f".qkv-answer[data-question='{question}']")
    answer.locator("textarea:visible, .cm-content").first.click()
    editor = answer.locator(".cm-content")
    editor.press("Control+a")
    page.keyboard.press("Delete")
    type_code(page, solution)
    row = page.get_by_role("toolbar", name="Signs of code")
    check = row.get_by_role("button", name="Check")
    expect(check).to_be_in_viewport(ratio=1)
    assert check.evaluate(BESIDE_THE_WORD) >= 8
    caret, keys = editor.locator(".cm-line").last.bounding_box(), row.bounding_box()
    assert caret is not None
    assert keys is not None
    assert 0 <= caret["y"] <= keys["y"] - caret["height"] + 1, question
    check.click()
    card = page.locator(f".qkv-check[data-question='{question}'] .qkv-card")
    expect(card).to_have_attribute("data-status", "passed", timeout=PATIENCE)
    expect(card).to_be_in_viewport(ratio=0.5)
    assert page.evaluate("document.documentElement.scrollWidth") <= LEFT["width"]


# Each page loads Python, so the gate has one of them; the sweep solves every question.
SWEEP = [pytest.param(name, [*solutions(name)], id=name, marks=pytest.mark.slow) for name in CHAPTERS]


@pytest.mark.parametrize(("name", "questions"), [("03_scaling", ["3.1"]), *SWEEP])
def test_questions_are_solved_above_a_soft_keyboard(browser: Browser, site: str, name: str, questions: list[str]):
    for page in python_page(browser, site, f"exercises/{name}.html"):
        page.set_viewport_size(LEFT)
        for question in questions:
            solve(page, question, solutions(name)[question])
