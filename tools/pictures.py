"""Take the screenshots that other pages show of the course: `python tools/pictures.py`. Build the site first.

book/static/readme.png shows the first page's widget. book/static/card.png shows the same widget below the course's name
(1200 × 630, the size of link previews). Both have few colours, so the files are small.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools.system import chromium  # noqa: E402

FIRST = ROOT / "_build" / "html" / "book" / "index.html"
STATIC = ROOT / "book" / "static"
COLOURS = 64
# Hide the parts of the widget that a picture does not need. The sentence, its arcs and the choice of words remain.
PLAIN = """
  .qkv-modes, .qkv-tables, .qkv-share { display: none !important }
  .qkv-reading, .qkv-chips { min-height: 0 !important; height: auto !important }
"""
CARD = """() => {
  const widget = document.querySelector(".qkv-widget");
  document.body.replaceChildren(Object.assign(document.createElement("h1"), {
    innerHTML: '<span class="qkv-wordmark" style="font-size: 1em"><span class="qkv-query">Q</span>' +
      '<span class="qkv-key">K</span><span class="qkv-value">V</span></span> self-attention you can touch',
    style: "margin: 0 0 28px; font: 700 34px/1 var(--qkv-font)",
  }), widget);
  document.body.style.cssText =
    "display: flow-root; box-sizing: border-box; width: 800px; height: 420px; padding: 36px 36px 0";
}"""


def save(page: Page, name: str, selector: str) -> None:
    """Save a screenshot of the first part of the page that the selector finds, with at most 64 colours, in book/static.

    Print its size.
    """
    picture = Image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(STATIC / name, optimize=True)
    print(f"{name}: {picture.width} × {picture.height}, {(STATIC / name).stat().st_size:,} bytes")


def main() -> None:
    """Take both screenshots, and write them into book/static."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, device_scale_factor=1.5)
        page.goto(FIRST.as_uri())
        page.locator('.qkv-widget[data-state="ready"]').wait_for()
        page.add_style_tag(content=PLAIN)
        page.wait_for_timeout(500)
        save(page, "readme.png", ".qkv-widget")
        page.evaluate(CARD)
        page.wait_for_timeout(500)
        save(page, "card.png", "body")
        browser.close()


if __name__ == "__main__":
    main()
