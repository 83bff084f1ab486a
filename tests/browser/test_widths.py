"""A chapter between a phone and a desk, and with large text: nothing scrolls sideways."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


# 320 px is a window of 1280 px zoomed to 400 %, 1024 px a tablet lying down.
@pytest.mark.parametrize(("width", "text"), [(320, 100), (768, 100), (1024, 100), (1280, 200)])
def test_a_chapter_does_not_scroll_sideways(visit: Callable[..., Page], width: int, text: int):
    page = visit("chapters/03_scaling.html", viewport={"width": width, "height": 800})
    page.add_style_tag(content=f":root {{ font-size: {text}% }}")
    for slot in page.locator(".qkv-slot").all():
        slot.scroll_into_view_if_needed()
        slot.locator('[data-state="ready"]').wait_for(state="attached", timeout=5000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
