"""A chapter is short on a phone: asides are folded there, and every way to one of them opens it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from .test_openings import OPENED
from .test_site import DESK, PHONE, violations_of

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
LONGEST = 14_000  # px, as a reader first sees a chapter
CHAPTER = "chapters/04_softmax_temperature.html"
RESTS = ".qkv-rest > :not(summary)"


@pytest.mark.parametrize("path", OPENED)
def test_a_chapter_is_not_too_long_on_a_phone(visit: Visit, path: str):
    page = visit(path, viewport=PHONE)
    assert 2000 < page.evaluate("document.documentElement.scrollHeight") <= LONGEST


def test_an_aside_is_one_line_on_a_phone_and_opens_by_keyboard(visit: Visit):
    page = visit(CHAPTER, viewport=PHONE)
    expect(page.locator(RESTS).and_(page.locator(":visible"))).to_have_count(0)
    names = page.locator(".qkv-rest > summary").all_inner_texts()
    assert "Read on: The logarithm of a weight" in names
    assert len(set(names)) == len(names) > 2, "no two have the same name"
    rest = page.locator(".qkv-rest").first
    line = rest.locator(":scope > summary")
    box = line.bounding_box()
    assert box is not None
    assert box["height"] >= 32
    line.press("Enter")
    expect(rest.locator(":scope > :not(summary)").first).to_be_visible()
    assert violations_of(page) == []


def test_a_link_into_an_aside_opens_it(visit: Visit):
    # The last work that the chapter names stands in the folded list of references.
    page = visit(CHAPTER, viewport=PHONE)
    inside = "document.querySelector('#references .qkv-rest li:last-child')"
    page.evaluate(f"{inside}.id = 'last-work'")
    page.evaluate("location.hash = 'last-work'")
    expect(page.locator("#last-work")).to_be_in_viewport()


def test_in_a_wide_window_and_on_paper_nothing_is_folded(visit: Visit):
    page = visit(CHAPTER, viewport=DESK)
    for medium in ("screen", "print"):
        page.emulate_media(media=medium)
        expect(page.locator(".qkv-rest > summary:visible")).to_have_count(0)
        for part in page.locator(".qkv-rest > :is(p, ul)").all():
            expect(part).to_be_visible()
    page.set_viewport_size(PHONE)
    expect(page.locator("#references li").first).to_be_visible()  # a phone's paper is paper
