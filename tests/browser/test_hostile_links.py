"""A link and what a browser keeps can come from anybody: no page dies of it, and what is refused is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
CHAPTER = "chapters/03_scaling.html"
SENTENCES = "chapters/01_sequence_inputs.html"
UNCOVER = "all => all.forEach((answer) => answer.classList.add('qkv-open'))"


def started(page: Page, widget: str) -> Locator:
    """Return the place of the first widget of this class, once it is interactive."""
    slot = page.locator(f'.qkv-slot[data-for="{widget}"]').first
    page.locator(".qkv-prediction-answer").evaluate_all(UNCOVER)
    slot.scroll_into_view_if_needed()
    slot.locator('[data-state="ready"]').wait_for(state="attached")
    return slot


def key_of(slot: Locator, widget: str) -> str:
    """Return the name by which links call a widget."""
    return f"{widget}-{slot.get_attribute('id').removeprefix('widget-')}"


@pytest.mark.parametrize("end", ["#%", "#%E0%A4%A", "?%#%", "#__proto__", "?=&&.=&ScalingLab-1.=&%00.%00=%00"])
def test_every_widget_starts_whatever_the_address_ends_in(visit: Visit, end: str):
    page = visit(CHAPTER + end)
    started(page, "ScalingLab")
    page.evaluate("location.hash = '#%'")
    page.evaluate("new Promise((done) => setTimeout(done, 100))")  # `visit` fails on an exception


@pytest.mark.parametrize("trait", ["__proto__", "constructor", "hasOwnProperty", "toString"])
def test_traits_that_every_object_has_are_refused_with_a_word(visit: Visit, trait: str):
    page = visit(CHAPTER)
    slot = started(page, "ScalingLab")
    shown = slot.locator(".qkv-widget").inner_text()
    page.goto(f"{page.url}?{key_of(slot, 'ScalingLab')}.{trait}=1")
    slot = started(page, "ScalingLab")
    expect(slot.locator(".qkv-share").get_by_role("status")).to_contain_text(f"{trait} = 1")
    assert slot.locator(".qkv-widget").inner_text() == shown
    slot.locator("input[type=range]").first.press("Home")
    expect(slot.locator(".qkv-widget"), "it can still be used").not_to_have_text(shown, use_inner_text=True)


LONG = "the " * 1_900


@pytest.mark.parametrize("text", [LONG, "the" * 2_500, "貓" * 1_900], ids=["the ", "the", "貓"])
def test_a_text_without_an_end_freezes_no_widget(visit: Visit, text: str):
    page = visit(SENTENCES)
    slot = started(page, "SentenceLab")
    page.goto(f"{page.url}?{key_of(slot, 'SentenceLab')}.sentence={quote(text)}")
    slot = started(page, "SentenceLab")
    expect(slot.locator(".qkv-share").get_by_role("status")).to_contain_text("which it cannot have")
    slot.get_by_text("type a sentence", exact=True).click()
    written = slot.locator("textarea")
    written.fill(text)
    assert page.evaluate("1 + 1") == 2  # waits until the page has done with the text
    written.fill("the cat slept")
    expect(slot.locator('[data-state="ready"]')).to_have_count(1)


@pytest.mark.parametrize("guesses", [None, {"chapters/03_scaling#widget-1": None}, [None], 5, "x", {"__proto__": None}])
def test_damaged_guesses_leave_a_page_alive(visit: Visit, guesses: object):
    page = visit(CHAPTER)
    kept = json.dumps({"format": "qkv-predictions", "version": 1, "guesses": guesses})
    page.evaluate("kept => localStorage.setItem('qkv-predictions', kept)", kept)
    page.reload()
    started(page, "ScalingLab")
    page.goto(page.url.replace(CHAPTER, "book/map.html"))
    expect(page.locator("main h1")).to_be_visible()
