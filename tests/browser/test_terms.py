"""A link to a term of the glossary says what the term means, at the word, without another page."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

CHAPTER = "chapters/03_scaling.html"
LINK = "article a[href*='glossary.html#term-softmax']"
NOTE = ".qkv-term"
NARROW = {"viewport": {"width": 390, "height": 700}, "has_touch": True, "is_mobile": True}


def test_a_term_is_explained_on_hover_and_escape_hides_it(visit: Callable[..., Page]):
    page = visit(CHAPTER, viewport={"width": 1440, "height": 900})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    link, note = page.locator(LINK).first, page.locator(NOTE)
    link.hover()
    expect(note).to_contain_text("softmax The function that turns a row of scores into weights")
    note.hover()
    page.wait_for_timeout(400)  # a note that the mouse has reached stays
    expect(note).to_be_visible()
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    page.mouse.move(0, 0)
    link.hover()
    expect(note).to_be_visible()
    assert [url.rpartition("/")[2] for url in asked] == ["terms.js"]  # once, and nothing else


def test_a_term_is_explained_to_the_keyboard_and_to_screen_readers(visit: Callable[..., Page]):
    page = visit(CHAPTER)
    link = page.locator(LINK).first
    page.keyboard.press("Tab")  # from now on, focus comes from the keyboard
    link.focus()
    expect(page.locator(NOTE)).to_be_visible()
    expect(link).to_have_accessible_description(re.compile("turns a row of scores into weights"))
    link.blur()
    expect(page.locator(NOTE)).to_have_count(0)
    assert link.get_attribute("aria-describedby") is None


def test_the_first_tap_explains_and_a_press_outside_hides(visit: Callable[..., Page]):
    page = visit(CHAPTER, **NARROW)
    link, note = page.locator(LINK).first, page.locator(NOTE)
    link.tap()
    expect(note).to_be_visible()
    box = note.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.locator("article p").first.tap()
    expect(note).to_have_count(0)
    link.tap()
    note.get_by_role("link", name="more").tap()
    page.wait_for_url("**/glossary.html#term-softmax")


def test_the_second_tap_follows_the_link(visit: Callable[..., Page]):
    page = visit(CHAPTER, **NARROW)
    link = page.locator(LINK).first
    link.tap()
    expect(page.locator(NOTE)).to_be_visible()
    link.tap()
    page.wait_for_url("**/glossary.html#term-softmax")


def test_without_its_terms_the_link_leads_to_the_glossary(visit: Callable[..., Page]):
    page = visit(CHAPTER, **NARROW)
    page.route("**/terms.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.locator(LINK).first.tap()
    page.wait_for_url("**/glossary.html#term-softmax")
