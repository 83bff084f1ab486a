"""Fixtures that serve the built site and open its pages in Chromium."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, Request

from tests.conftest import start_chromium
from tools.course import LANGUAGES, TRANSLATED

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"


def pages() -> list[str]:
    """Return all English pages of the built site, as addresses relative to its root."""
    apart = {"_static", *(LANGUAGES[code].folder for code in TRANSLATED)}
    return sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if not apart & set(path.parts))


def has_widgets(page: str) -> bool:
    """Check whether a page of the built site has a widget."""
    return 'class="qkv-slot"' in (SITE / page).read_text(encoding="utf-8")


def gate_has(paths: Iterable[str], *gated: str) -> list[object]:
    """Return test parameters for these pages. Those that do not begin with one of `gated` are marked slow."""
    return [path if path.startswith(gated) else pytest.param(path, marks=pytest.mark.slow) for path in paths]


LAID_OUT = """() => !document.documentElement.classList.contains("qkv-reading-fonts") &&
  [...document.querySelectorAll("article > section > section")]
    .every((part) => part.style.contentVisibility === "visible")"""


def lay_out(page: Page) -> None:
    """Wait until the fonts are loaded, and all sections are laid out, also those far from the visible part."""
    page.wait_for_function(LAID_OUT)


# The beginnings of page addresses: one page of each kind.
A_FEW = ("book/index", "book/map", "chapters/03_", "exercises/03_", "solutions/03_", "search")


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Start Chromium, in which WebAssembly is not compiled a second time: that takes 40 % of a start of Python."""
    yield from start_chromium(playwright, "--js-flags=--liftoff-only")


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """Serve the built site on a free port, and return its address."""
    if not (SITE / "index.html").exists():
        pytest.fail("These tests need the built site. To build it: make site")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing, because pytest's output is for the tests."""

        def copyfile(self, *files: object) -> None:
            with contextlib.suppress(ConnectionError):  # the browser has left the page
                super().copyfile(*files)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Serve another host on a free port, and return its address and the list of what it is asked for."""
    asked: list[str] = []

    class Noting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Noting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}", asked
    server.shutdown()


@pytest.fixture
def visit(browser: Browser, site: str) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page of the site in a new context.

    After the test, fail if there was a console error, an exception, a failed request, or a request to another host.
    """
    contexts, complaints = [], []

    def note_request(url: str) -> None:
        if not url.startswith((site, "file://", "data:", "blob:")):
            complaints.append(f"request to another host: {url}")

    def note_failure(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # aborted: the test left the page while it was loading
            complaints.append(f"failed request: {request.url}: {request.failure}")

    def visit(path: str, base: str = site, **context_options: object) -> Page:
        context = browser.new_context(**context_options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: note_request(request.url))
        page.on("requestfailed", note_failure)
        page.on("response", lambda r: complaints.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("console", lambda m: complaints.append(f"console: {m.text}") if m.type == "error" else None)
        page.goto(f"{base}/{path}", wait_until="load")
        if context_options.get("java_script_enabled", True):
            lay_out(page)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
