"""No widget grows or shrinks when a control is moved: what stands below it on the page stays where it is."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from .test_access import LOOKS, draw

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]

# This opens a part that is asked for: a box to type in.
OPENS = ["type a sentence"]
# Every choice and every switch, and in each the ends and the middle of every slider; then all is put back.
WALK = """async (opens) => {
  const root = document.querySelector('.qkv-widget');
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const all = (selector) => [...root.querySelectorAll(selector)].filter((e) => !e.closest('table'));
  const name = (e) => (e.closest('label') ?? e).innerText.replace(/\\s+/g, ' ').trim();
  const heights = {};
  const note = async (what) => {
    await drawn();
    (heights[root.firstElementChild.offsetHeight] ??= []).push(what);
  };
  const put = async (slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const slide = async (place) => {
    for (const slider of all('input[type=range]')) {
      const { value, min, max } = slider;
      for (const to of [min, max, (Number(min) + Number(max)) / 2]) {
        put(slider, to);
        await note(`${place}, ${name(slider)} at ${to}`);
      }
      put(slider, value);
      await drawn();
    }
  };
  const press = async (selector, i, back) => {
    const control = all(selector)[i];
    const label = name(control);
    if (opens.includes(label)) return;
    control.click();
    await note(label);
    await slide(label);
    back(control)?.click();
    await drawn();
  };
  await note('at first');
  await slide('at first');
  for (let i = 0; i < all('input[type=radio]').length; i++) {
    const { name } = all('input[type=radio]')[i];
    const before = all('input[type=radio]').findIndex((e) => e.name === name && e.checked);
    await press('input[type=radio]', i, () => all('input[type=radio]')[before]);
  }
  for (let i = 0; i < all('input[type=checkbox]').length; i++) await press('input[type=checkbox]', i, (e) => e);
  return heights;
}"""
GATED = [("CacheStepper", {}), ("PredictBars", {})]


def in_gate(look: tuple[str, dict[str, Any]], width: int) -> object:
    return pytest.param(look, width, marks=() if look in GATED and width == 390 else pytest.mark.slow)


@pytest.mark.parametrize(("look", "width"), [in_gate(look, width) for look in LOOKS for width in (390, 1280)], ids=str)
def test_a_widget_keeps_its_height(open_page: OpenPage, look: tuple[str, dict[str, Any]], width: int):
    page = open_page(width=width, reduced_motion="reduce")
    page.add_style_tag(content="main { max-width: 760px }")
    draw(page, [look])
    heights = page.evaluate(WALK, OPENS)
    assert len(heights) == 1, {height: places[:6] for height, places in heights.items()}
