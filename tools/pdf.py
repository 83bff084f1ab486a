"""Print the whole book to one PDF: `python tools/pdf.py [--out FILE]`. Build the site first.

Chromium prints each page of the site, with every widget drawn and every answer unfolded. The PDFs of the pages are
joined in the order of the table of contents. Links between pages become links within the file, and each sheet gets its
number.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import site  # noqa: E402
from tools.system import chromium, how_to_get  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pypdf import PdfReader, PdfWriter

PAPER: dict[str, Any] = {"format": "A4", "margin": {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}}
# A widget below the visible part starts when the reader scrolls to it; before printing, all of them have to start.
DRAW = """async () => {
  dispatchEvent(new Event("beforeprint"));
  for (const details of document.querySelectorAll("details:not(.qkv-widget *)")) details.open = true;
  await document.fonts.ready;
}"""
DRAWN = "!document.querySelector('.qkv-widget[data-state=waiting]')"
NUMBERS = """<style>@page {{ size: A4; margin: 0 }} body {{ margin: 0 }}
p {{ position: relative; height: 297mm; margin: 0; break-after: page; }}
span {{ position: absolute; bottom: 9mm; width: 100%; text-align: center; font: 9pt sans-serif; color: #565d69 }}
</style>{}"""


def pages() -> list[str]:
    """Return the pages to print, in the order of the table of contents: all except the solutions."""
    return [name for name in site.listed_pages() if not name.startswith("solutions/")]


@contextmanager
def serve_site() -> Iterator[str]:
    """Serve the built site until the end of the block, and yield its address."""
    handler = functools.partial(site.Handler, directory=str(site.HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def print_page(page: Page, address: str) -> PdfReader:
    """Load an address in the browser, print it, and return the PDF."""
    from pypdf import PdfReader

    page.goto(address, wait_until="load")
    page.emulate_media(media="print", color_scheme="light")
    page.evaluate(DRAW)
    page.wait_for_function(DRAWN)
    return PdfReader(io.BytesIO(page.pdf(**PAPER, print_background=True)))


def join(parts: dict[str, PdfReader], titles: dict[str, str], base: str) -> PdfWriter:
    """Join the PDFs of all pages, with an outline of their titles, and return the book. Both are by the page's name.

    A link to a page of the site, whose addresses begin with `base`, becomes a link to its first sheet.
    """
    from pypdf import PdfWriter

    book, starts = PdfWriter(), {}
    for name, part in parts.items():
        starts[name] = len(book.pages)
        book.append(part, outline_item=titles[name])
    for sheet in book.pages:
        for note in sheet.get("/Annots") or []:
            link_inside(book, note.get_object(), starts, base)
    book.add_metadata({"/Title": "QKV: self-attention you can touch", "/Author": "The QKV authors"})
    return book


def link_inside(book: PdfWriter, note: Any, starts: dict[str, int], base: str) -> None:
    """Change a link to a page of the served site, so that it leads to the page's first sheet.

    A link to another file of the site loses its target; links to other hosts stay. `note` is the annotation with the
    link, `starts` the index of each page's first sheet, and `base` what the site's addresses begin with.
    """
    from pypdf.generic import ArrayObject, NameObject

    action = note.get("/A")
    target = str(action.get_object().get("/URI", "")) if action is not None else ""
    if not target.startswith(base):
        return
    del note["/A"]
    name = target.removeprefix(f"{base}/").partition("#")[0].partition("?")[0].removesuffix(".html")
    if name in starts:
        sheet = book.pages[starts[name]]
        note[NameObject("/Dest")] = ArrayObject([sheet.indirect_reference, NameObject("/Fit")])


def number_sheets(book: PdfWriter, browser: Browser) -> None:
    """Print its number on each sheet of the book, which is changed."""
    from pypdf import PdfReader

    page = browser.new_page()
    page.set_content(NUMBERS.format("".join(f"<p><span>{i + 1}</span></p>" for i in range(len(book.pages)))))
    numbers = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    for sheet, over in zip(book.pages, numbers.pages, strict=False):
        sheet.merge_page(over)
    page.close()


def make_pdf(out: Path) -> None:
    """Print all pages, join them, number the sheets, and write the file.

    Raises:
        StoppedError: Chromium or the built site is missing.
    """
    from playwright.sync_api import sync_playwright

    path = chromium()
    if not path:
        raise site.StoppedError(f"printing the book needs Chromium. To get it: {how_to_get('chromium')}")
    if not (site.HTML / "index.html").exists():
        raise site.StoppedError("the site is not built. Build it with: make site")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    parts: dict[str, PdfReader] = {}
    titles: dict[str, str] = {}
    with sync_playwright() as playwright, serve_site() as base:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(viewport={"width": 900, "height": 1200}, color_scheme="light")
        for count, name in enumerate(names := pages(), 1):
            start = time.perf_counter()
            parts[name] = print_page(page, f"{base}/{name}.html")
            titles[name] = page.locator("h1").first.inner_text().rstrip("#").strip()
            sheets, seconds = len(parts[name].pages), time.perf_counter() - start
            print(f"[{count}/{len(names)}] {name}: {sheets} sheets, {seconds:.1f} s", flush=True)
        book = join(parts, titles, base)
        number_sheets(book, browser)
        browser.close()
    book.compress_identical_objects()
    out.parent.mkdir(parents=True, exist_ok=True)
    book.write(out)
    print(f"\n{out}: {len(book.pages)} sheets, {out.stat().st_size / 1e6:.1f} MB")


def main(arguments: list[str] | None = None) -> int:
    """Make the PDF. Return the exit code: 1 if it could not be made, for a reason that is printed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=site.BUILD / "qkv.pdf", metavar="FILE", help="default: %(default)s")
    try:
        make_pdf(parser.parse_args(arguments).out)
    except (site.StoppedError, OSError) as problem:
        print(f"\nStopped: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
