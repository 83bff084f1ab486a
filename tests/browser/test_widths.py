"""A chapter between a phone and a desk, on a wide screen, and with large text: nothing scrolls sideways."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.widgets.test_access import SMALL_PRINT

from .conftest import A_FEW, gate_has, pages
from .test_site import CHAPTERS, PHONE, start_widgets, uncover

pytestmark = pytest.mark.browser

# The page, and the boxes that hold all of its text: how far what is in them reaches beyond their right edges.
SIDEWAYS = """[...document.querySelectorAll("html, body, .page, .main, .content")]
  .map(({ className, scrollWidth, clientWidth }) => [className, scrollWidth - clientWidth])
  .filter(([, beyond]) => beyond > 0)"""


# 320 px is a window of 1280 px zoomed to 400 %, 1024 px a tablet lying down.
@pytest.mark.parametrize(("width", "text"), [(320, 100), (768, 100), (1024, 100), (1280, 200)])
def test_a_chapter_does_not_scroll_sideways(visit: Callable[..., Page], width: int, text: int):
    page = visit("chapters/03_scaling.html", viewport={"width": width, "height": 800})
    page.add_style_tag(content=f":root {{ font-size: {text}% }}")
    uncover(page)
    for slot in page.locator(".qkv-slot").all():
        slot.scroll_into_view_if_needed()
        slot.locator('[data-state="ready"]').wait_for(state="attached", timeout=5000)
    assert page.evaluate(SIDEWAYS) == []


@pytest.mark.parametrize("path", gate_has(sorted({*pages()} - {"index.html"}), *A_FEW, "chapters/05_"))
def test_on_a_phone_no_page_can_be_pushed_sideways(visit: Callable[..., Page], path: str):
    page = visit(path, viewport=PHONE)
    uncover(page)
    for widget in [page.locator("h1"), *start_widgets(page)]:  # one out of sight is laid out as a box of its size
        widget.scroll_into_view_if_needed()
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert page.evaluate(SIDEWAYS) == [], widget


@pytest.mark.parametrize("path", gate_has(CHAPTERS, "chapters/04_", "chapters/07_"))
def test_on_a_phone_a_widget_fits_on_the_screen_and_can_be_read(visit: Callable[..., Page], path: str):
    page = visit(path, viewport=PHONE)
    uncover(page)
    heights = {widget.get_attribute("data-widget"): widget.bounding_box()["height"] for widget in start_widgets(page)}
    assert {name: height for name, height in heights.items() if height > PHONE["height"]} == {}
    assert page.evaluate(SMALL_PRINT) == []


# 1440 px is the first width with room beside the text; from 1552 px the theme's letters are larger.
@pytest.mark.parametrize("width", [1280, 1440, 1552, 1920])
def test_on_a_desk_there_are_two_widths_that_of_text_and_that_of_widgets_and_code(
    visit: Callable[..., Page], width: int
):
    page = visit("chapters/05_multi_head.html", viewport={"width": width, "height": 900})
    uncover(page)
    code, widgets, text, sections, whole = page.evaluate("""() => {
      const boxes = (selector) => [...document.querySelectorAll(selector)]
        .filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect());
      const widths = (selector) => boxes(selector).map(({ width }) => Math.round(width));
      return [
        widths('.cell_input'),
        widths('.qkv-widget:not([data-widget^="Predict"])'),
        widths(':is(section, .qkv-prediction-answer) > p:not(.qkv-ties), .qkv-widget[data-widget^="Predict"]'),
        boxes('.toc-drawer')[0].left,
        document.documentElement.scrollWidth,
      ];
    }""")
    assert len({*code, *widgets}) == 1, (code, widgets)
    assert max(text) <= min(code) - 90
    assert len({width for width in text if width > 500}) == 1, text
    assert page.evaluate("document.querySelector('.cell_input').getBoundingClientRect().right") <= sections
    assert whole <= width
