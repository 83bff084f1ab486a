"""Print the whole book to one PDF: `python tools/pdf.py [--out FILE]`, after the site was built.

Chromium prints each page of the site, with every widget drawn and every answer unfolded. The parts are joined in the
order of the contents, links from page to page become links within the file, and each sheet gets its number.
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
# Widgets that are far down wait for their reader; those who print are all readers at once.
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
    """The pages to print, in the order of the contents: all but the solutions."""
    return [name for name in site.listed() if not name.startswith("solutions/")]


@contextmanager
def served() -> Iterator[str]:
    """The address of the built site until the end of the block."""
    handler = functools.partial(site.Handler, directory=str(site.HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def printed(page: Page, address: str) -> PdfReader:
    """A page of the site on paper."""
    from pypdf import PdfReader

    page.goto(address, wait_until="load")
    page.emulate_media(media="print", color_scheme="light")
    page.evaluate(DRAW)
    page.wait_for_function(DRAWN)
    return PdfReader(io.BytesIO(page.pdf(**PAPER, print_background=True)))


def join(parts: dict[str, PdfReader], titles: dict[str, str], base: str) -> PdfWriter:
    """One file of all parts, with an outline; a link to a page of the site leads to its first sheet."""
    from pypdf import PdfWriter

    book, starts = PdfWriter(), {}
    for name, part in parts.items():
        starts[name] = len(book.pages)
        book.append(part, outline_item=titles[name])
    for sheet in book.pages:
        for note in sheet.get("/Annots") or []:
            lead_inside(book, note.get_object(), starts, base)
    book.add_metadata({"/Title": "QKV: self-attention you can touch", "/Author": "The QKV authors"})
    return book


def lead_inside(book: PdfWriter, note: Any, starts: dict[str, int], base: str) -> None:
    """Turn a link to the served site into one to a sheet of the book; one to another file of it leads nowhere."""
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


def number(book: PdfWriter, browser: Browser) -> None:
    """Write on each sheet which it is."""
    from pypdf import PdfReader

    page = browser.new_page()
    page.set_content(NUMBERS.format("".join(f"<p><span>{i + 1}</span></p>" for i in range(len(book.pages)))))
    numbers = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    for sheet, over in zip(book.pages, numbers.pages, strict=False):
        sheet.merge_page(over)
    page.close()


def make(out: Path) -> None:
    """Print, join, number, and write."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    if not path:
        raise site.StoppedError(f"Chromium prints the book. To get it: {how_to_get('chromium')}")
    if not (site.HTML / "index.html").exists():
        raise site.StoppedError("there is no site to print. Build it with: make site")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    parts: dict[str, PdfReader] = {}
    titles: dict[str, str] = {}
    with sync_playwright() as playwright, served() as base:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(viewport={"width": 900, "height": 1200}, color_scheme="light")
        for count, name in enumerate(names := pages(), 1):
            start = time.perf_counter()
            parts[name] = printed(page, f"{base}/{name}.html")
            titles[name] = page.locator("h1").first.inner_text().rstrip("#").strip()
            sheets, seconds = len(parts[name].pages), time.perf_counter() - start
            print(f"[{count}/{len(names)}] {name}: {sheets} sheets, {seconds:.1f} s", flush=True)
        book = join(parts, titles, base)
        number(book, browser)
        browser.close()
    book.compress_identical_objects()
    out.parent.mkdir(parents=True, exist_ok=True)
    book.write(out)
    print(f"\n{out}: {len(book.pages)} sheets, {out.stat().st_size / 1e6:.1f} MB")


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=site.BUILD / "qkv.pdf", metavar="FILE", help="default: %(default)s")
    try:
        make(parser.parse_args(arguments).out)
    except (site.StoppedError, OSError) as problem:
        print(f"\nStopped: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
