"""What is far from where a reader arrives is laid out last, and nothing that is read moves when it is."""

import io
from collections.abc import Callable

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Page

from .test_first_paint import SHIFTS

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
CHAPTER = "chapters/05_multi_head.html"
PART = "masks-which-keys-may-a-query-see"
# The page answers and has no idle moment, until the test gives it one.
BUSY = "window.asked = []; window.requestIdleCallback = (f) => window.asked.push(f);"
REST = "() => { while (window.asked.length) window.asked.shift()(); }"
PARTS = "[...document.querySelectorAll('article > section > section')]"
FAR = f"{PARTS}.map((part) => !part.lastElementChild.checkVisibility({{ contentVisibilityAuto: true }}))"
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def arrive(visit: Visit, site: str) -> Callable[..., Page]:
    """A chapter that a reader arrives at, and that has no time to lay out the rest."""

    def to(place: str = "", width: int = 1440) -> Page:
        page = visit("404.html", viewport={"width": width, "height": 844})
        page.add_init_script(BUSY + SHIFTS)
        page.goto(f"{site}/{CHAPTER}{place}", wait_until="load")
        page.evaluate(TWO_FRAMES)
        return page

    return to


def stays_when_the_rest_is_laid_out(page: Page, part: str) -> float:
    """Where a part stands in the window, when nothing moves it."""
    top = f"{part}.getBoundingClientRect().top"
    page.evaluate(TWO_FRAMES)
    before = float(page.evaluate(top))
    page.evaluate(REST)
    page.evaluate(TWO_FRAMES)
    assert page.evaluate(top) == pytest.approx(before, abs=1)
    return before


def furthest(one: bytes, two: bytes) -> int:
    """The largest difference between two screenshots at any pixel, in levels of 255."""
    images = [Image.open(io.BytesIO(png)).convert("RGB") for png in (one, two)]
    return max(most for _, most in ImageChops.difference(*images).getextrema())


@pytest.mark.parametrize("width", [390, 1440])
def test_far_parts_are_left_for_later_and_look_the_same_when_they_come(arrive: Callable[..., Page], width: int):
    page = arrive(width=width)
    far = page.evaluate(FAR)
    assert far[0] is False
    assert sum(far) > len(far) / 2, far
    assert page.locator(".toc-tree [aria-current]").count() == 0, "what is not laid out yet has no place"
    before = page.screenshot()
    page.evaluate(REST)
    page.evaluate(TWO_FRAMES)
    assert not any(page.evaluate(FAR))
    assert furthest(page.screenshot(), before) < 48, "only a corner's or a shadow's edge is rounded otherwise"
    assert page.evaluate("window.shifts") == []


@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_into_a_chapter_leads_there_and_stays(arrive: Callable[..., Page], width: int):
    page = arrive(f"#{PART}", width)
    far = page.evaluate(FAR)
    ids = page.evaluate(f"{PARTS}.map((part) => part.id)")
    assert any(far[ids.index(PART) :])
    assert not any(far[: ids.index(PART)]), "or its place would not be known"
    top = stays_when_the_rest_is_laid_out(page, f"document.getElementById('{PART}')")
    assert 0 < top < 80, "below the bar of a narrow window"
    assert page.evaluate("window.shifts") == []


def test_who_jumps_ahead_stays_there_when_what_was_passed_is_laid_out(arrive: Callable[..., Page]):
    page = arrive()
    page.evaluate(f"scrollTo(0, {PARTS}[4].getBoundingClientRect().top + scrollY)")
    stays_when_the_rest_is_laid_out(page, f"{PARTS}[5]")


def test_a_link_of_the_page_finds_its_part_before_all_is_laid_out(arrive: Callable[..., Page]):
    page = arrive()
    page.locator(f".toc-tree a[href='#{PART}']").click()
    assert stays_when_the_rest_is_laid_out(page, f"document.getElementById('{PART}')") == pytest.approx(24, abs=1)


def test_what_is_read_stays_when_code_folds_before_all_is_laid_out(arrive: Callable[..., Page]):
    page = arrive()
    page.evaluate(f"{PARTS}[5].scrollIntoView()")
    page.evaluate(TWO_FRAMES)
    page.locator(".qkv-read-mode").last.evaluate("(e) => e.click()")  # it is above the window
    stays_when_the_rest_is_laid_out(page, f"{PARTS}[5]")


def test_a_page_that_is_loaded_again_opens_where_it_was_left(arrive: Callable[..., Page]):
    page = arrive()
    page.evaluate(REST)
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_timeout(200)
    before = page.evaluate("scrollY")
    page.reload(wait_until="load")
    page.evaluate(TWO_FRAMES)
    assert page.evaluate("scrollY") == before
    assert not any(page.evaluate(FAR))
