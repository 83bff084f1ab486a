"""Every chapter opens with a widget: its picture and handles are on the first screen of a phone and of a desk."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .test_site import CHAPTERS

pytestmark = pytest.mark.browser

# The screen of a phone is lower by the browser's bars.
SCREENS = {"phone": {"width": 390, "height": 700}, "desk": {"width": 1440, "height": 900}}
OPENED = [path for path in CHAPTERS if not path.startswith("chapters/deeper/")]
# The page's first widget: where it begins, what of its pictures and handles is beyond the screen, and how many it has.
OPENING = """() => {
  const widget = document.querySelector(".qkv-widget");
  const parts = [...widget.querySelectorAll("svg, canvas, table, .qkv-drag, input")].filter(
    (e) => !e.closest(".qkv-tables, .qkv-unseen") && e.checkVisibility({ visibilityProperty: true }),
  );
  const beyond = parts.filter((e) => {
    const { left, right, bottom } = e.getBoundingClientRect();
    return left < 0 || right > innerWidth || bottom > innerHeight;
  });
  return {
    top: widget.getBoundingClientRect().top / innerHeight,
    beyond: beyond.map((e) => e.outerHTML.slice(0, 120)),
    isBeforeTies: widget.compareDocumentPosition(document.querySelector(".qkv-ties")) === 4, // the line follows
    handles: parts.filter((e) => e.matches(".qkv-drag, input")).length,
  };
}"""


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", OPENED)
def test_a_chapter_opens_with_its_thing(visit: Callable[..., Page], path: str, screen: str):
    page = visit(path, viewport=SCREENS[screen])
    page.locator('.qkv-widget[data-state="ready"]').first.wait_for(state="attached")
    opening = page.evaluate(OPENING)
    assert opening["top"] <= 0.6, "it begins in the upper 60 % of the screen"
    assert opening["beyond"] == []
    assert opening["handles"] > 0
    assert opening["isBeforeTies"], "the line with the notebook and the exercises does not push it down"
