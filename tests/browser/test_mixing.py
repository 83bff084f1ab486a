"""The card of an answer that mixes tokens shows the line behind one press."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from .test_exercises import PATIENCE, checked, python_page

pytestmark = pytest.mark.browser
SPLIT = "x.view(x.shape[0], n_heads, x.shape[1], -1)"
MERGE = "heads.reshape(heads.shape[0], heads.shape[2], -1)"
ANSWERS = {
    "5.1": (f"def split_heads(x, n_heads):\n    return {SPLIT}", SPLIT),
    "5.2": (f"def merge_heads(heads):\n    return {MERGE}", MERGE),
}


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The exercises of chapter 5 on a phone, with Python started once."""
    yield from python_page(browser, site, "exercises/05_multi_head.html")


@pytest.mark.parametrize("question", ANSWERS)
def test_one_press_on_a_card_shows_the_line_that_mixes_tokens(page: Page, question: str):
    source, line = ANSWERS[question]
    assert checked(page, question, source)["status"] == "failed"
    shut = page.locator("details", has_text="Which line mixes the tokens?").last
    expect(shut).to_be_visible(timeout=PATIENCE)
    said = shut.locator("p")
    expect(said).to_be_hidden()
    shut.locator("summary").click()
    expect(said).to_contain_text(line)
    expect(said).to_contain_text(re.compile(r"holds numbers of tokens 0, \d"))  # which ones depends on the sizes drawn
