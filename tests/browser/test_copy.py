"""A downloaded copy of the site, opened from its files: Python runs there too, where nothing can be fetched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from .conftest import SITE
from .test_exercises import BY_D_K, CHECK, PATIENCE, SAMPLE

pytestmark = pytest.mark.browser
COPY = SITE.as_uri()


def test_an_answer_is_checked_and_written_with_an_editor(visit: Callable[..., Page]):
    page = visit(f"exercises/{SAMPLE}.html", base=COPY)
    page.set_default_timeout(PATIENCE)
    found = page.evaluate(CHECK, ["3.1", BY_D_K])
    assert found["misconception"] == "scaled-by-d-k", found
    page.locator(".qkv-answer textarea").first.focus()
    expect(page.get_by_role("textbox", name="Your answer to question 3.1")).to_be_focused(timeout=PATIENCE)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download my notebook").click()
    assert BY_D_K.splitlines()[1].strip() in waiting.value.path().read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_cell_of_a_trained_model_runs(visit: Callable[..., Page]):
    """Its weights are loaded when a cell first names them."""
    page = visit("book/try.html", base=COPY)
    sentence = "the cat chased the mouse because it was hungry"
    tag = f"from qkv.models import load_tagger\nload_tagger().tag('{sentence}').refers_to"
    page.evaluate("source => window.qkv.answer('pad', source)", tag)
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".qkv-printed")).to_have_text("{6: 'cat'}\n", timeout=PATIENCE)
