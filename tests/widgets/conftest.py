"""Fixtures for the tests of the widgets' base and host: bundled sources in Chromium, without the site or a server."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from .node import ROOT


@pytest.hookimpl(tryfirst=True)  # before the markers choose which tests run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that opens a page as one that needs a browser."""
    for item in items:
        if "open_page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


TOY = {"heads": 3, "kind": "causal", "temperature": 1}


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Bundle page.js and the styles of all widgets, and return the script and the style sheet."""
    folder = tmp_path_factory.mktemp("bundled")
    page = ROOT / "tests" / "widgets" / "page.js"
    esbuild = [ROOT / "node_modules" / ".bin" / "esbuild", page, "--bundle", "--log-level=warning"]
    subprocess.run([*esbuild, f"--outfile={folder / 'tested.js'}"], check=True, cwd=ROOT)
    subprocess.run(["node", "tools/bundle.mjs", "--site", folder], check=True, cwd=ROOT, capture_output=True)
    script = (folder / "tested.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
    styles = [folder / "qkv-site.css", *sorted(folder.glob("qkv-widget-*.css"))]
    return script, "".join(style.read_text(encoding="utf-8") for style in styles)


@pytest.fixture(scope="session")
def shared(browser: Browser) -> Iterator[dict[str, Page]]:
    """Pages that the tests use one after the other, by their options: a new page takes four times as long."""
    pages: dict[str, Page] = {}
    yield pages
    for page in pages.values():
        page.close()


MEDIA = ("media", "color_scheme", "reduced_motion", "forced_colors")  # what a test may emulate in the middle


@pytest.fixture
def open_page(
    browser: Browser, bundled: tuple[str, str], shared: dict[str, Page], tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page with a given body. After the test, fail if an exception was not caught.

    The first page of a test is one that earlier tests have used, and looks new. With `own=True` it is new: for a test
    that changes what stays, such as the clock.
    """
    script, style = bundled
    opened: list[Page] = []
    thrown: list[str] = []

    def note(error: object) -> None:
        thrown.append(str(error))

    def find_page(own: bool, options: dict[str, Any]) -> Page:
        if own or opened:
            return browser.new_page(**options)
        page = shared[str(options)] = shared.get(str(options)) or browser.new_page(**options)
        page.mouse.move(0, 0)
        page.emulate_media(**{name: options.get(name, "null") for name in MEDIA})
        return page

    def open_it(body: str = "", theme: str = "light", width: int = 800, own: bool = False, **options: Any) -> Page:
        page = find_page(own, options)
        page.set_viewport_size({"width": width, "height": 800})
        page.on("pageerror", note)
        head = f"<meta charset=utf-8><title>test</title><style>{style}</style>"
        file = tmp_path / f"page{len(opened)}.html"
        file.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}">{head}<body><main>{body}</main>'
            f"<script>{script}</script>",
            encoding="utf-8",
        )
        page.goto(file.as_uri())
        opened.append(page)
        return page

    yield open_it
    for page in opened:
        page.remove_listener("pageerror", note)
        if page in shared.values():
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        else:
            page.close()
    assert not thrown, thrown


def open_phone(open_page: Callable[..., Page]) -> Page:
    """Open an empty page as wide as a phone, with the room that a page of the site has for a widget there."""
    page = open_page(width=390)
    as_on_a_phone(page)
    return page


def as_on_a_phone(page: Page) -> None:
    """Give widgets the room that a page of the site has for them on a phone."""
    page.add_style_tag(content="main { width: 354px }")


def frame(page: Page) -> None:
    """Wait for two animation frames, after which the page has drawn every change."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drag(page: Page, area: Locator, x: float, y: float = 0.5) -> None:
    """Drag from the middle of an area to a place in it, given as fractions of its width and height."""
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y, steps=3)
    page.mouse.up()
    frame(page)


def colours(style: str) -> list[int]:
    """Return the red, green and blue parts of a computed colour."""
    return [int(part) for part in re.findall(r"\d+", style)[:3]]
