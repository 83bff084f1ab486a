"""Cells of a chapter are run and edited where they are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser_python import runnable_cells

from .test_exercises import PATIENCE, python_page
from .test_site import violations_of

pytestmark = pytest.mark.browser
CHAPTER = "chapters/02_qkv_projection"


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A chapter on a phone, on which Python is started once; nothing but the site is asked for anything."""
    for page in python_page(browser, site, f"{CHAPTER}.html"):
        page.locator(".qkv-read-mode").last.evaluate("(e) => e.click()")  # code is folded on a phone at first
        yield page


def edited(page: Page, cell: Locator, more: str) -> Locator:
    """Add a line to a cell's code; give its editor."""
    cell.get_by_role("button", name="Edit").click()
    editor = cell.get_by_role("textbox", name="The code of this cell")
    editor.wait_for()
    page.keyboard.press("Control+End")
    page.keyboard.type(f"\n{more}")
    return editor


def test_a_cell_is_run_edited_and_reset(page: Page):
    cell = page.locator(".qkv-cell-chapter").first
    built, printed = cell.locator(".cell_output"), cell.locator(".qkv-printed")
    shown = built.inner_text()
    cell.get_by_role("button", name="Run").click()
    expect(printed).to_be_visible(timeout=PATIENCE)
    assert printed.inner_text().split() == shown.split()
    expect(built).to_be_hidden()
    editor = edited(page, cell, "print('mine')")
    cell.get_by_role("button", name="Run").click()
    expect(printed).to_contain_text("mine")
    assert violations_of(page) == []
    cell.get_by_role("button", name="Reset").click()
    expect(editor).not_to_contain_text("mine")
    expect(built).to_be_visible()


def test_an_edited_cell_counts_for_those_after_it(page: Page):
    page.evaluate("document.querySelectorAll('.qkv-prediction-answer').forEach((e) => e.classList.add('qkv-open'))")
    cell, later = page.locator(".qkv-cell-chapter").nth(1), page.locator(".qkv-cell-chapter").nth(2)
    edited(page, cell, "print = lambda *_: None")
    later.get_by_role("button", name="Run").click()
    expect(later.locator(".qkv-printed")).to_have_text("It printed nothing.", timeout=PATIENCE)
    cell.get_by_role("button", name="Reset").click()


def test_an_edited_cell_is_kept_until_it_is_reset(page: Page):
    page.reload()
    cell = page.locator(".qkv-cell-chapter").first
    edited(page, cell, "print('mine')")
    page.reload()
    expect(cell.locator(".cell_output")).to_be_visible()
    cell.get_by_role("button", name="Edit").click()
    editor = cell.get_by_role("textbox", name="The code of this cell")
    expect(editor).to_contain_text("print('mine')")
    cell.get_by_role("button", name="Reset").click()
    expect(editor).not_to_contain_text("mine")
    assert page.evaluate("localStorage.getItem('qkv-answers')") is None


def test_shift_or_ctrl_enter_runs_the_cell_that_is_written_and_enter_adds_a_line(page: Page):
    page.reload()
    cell = page.locator(".qkv-cell-chapter").first
    editor, printed = edited(page, cell, "print('mi' + 'ne')"), cell.locator(".qkv-printed")
    for keys, typed in (("Shift+Enter", "mine"), ("Control+Enter", "minene")):
        before = editor.text_content()
        page.keyboard.press(keys)
        expect(printed).to_contain_text(typed, timeout=PATIENCE)
        assert editor.text_content() == before, "no line is added"
        expect(editor).to_be_focused()
        page.keyboard.press("ArrowLeft")
        page.keyboard.type(" * 2")
    before = editor.text_content()
    page.keyboard.press("Enter")
    assert editor.text_content() != before
    cell.get_by_role("button", name="Reset").click()
    expect(cell.get_by_role("button", name="Run")).to_have_attribute("title", "Shift+Enter")


def test_a_cell_that_cannot_run_here_says_so(browser: Browser, site: str):
    page = browser.new_page()
    chapter, cells = next((name, cells) for name, cells in runnable_cells.read_list().items() if cells)
    page.goto(f"{site}/{chapter}.html")
    notes = page.get_by_text("In the notebook only:")
    expect(notes).to_have_count(len(cells))
    expect(notes.first).to_contain_text(next(iter(cells.values())))
    page.close()


def test_there_is_a_cell_to_try_anything_in(page: Page, site: str):
    page.goto(f"{site}/book/try.html")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".qkv-printed")).to_contain_text("tensor([1.", timeout=PATIENCE)
    assert violations_of(page) == []
