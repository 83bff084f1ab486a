"""A published site without a network: after one visit, every page of it is there."""

import shutil
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect
from qkv_site.published import worker

from .conftest import A_FEW, SITE, gate_has, pages

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def cut_off(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A page of a browser that visited the first page of a published site, which then went away."""
    site = tmp_path_factory.mktemp("published") / "course"
    shutil.copytree(SITE, site)
    (site / "sw.js").write_text(worker(site), encoding="utf-8")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing: pytest's output is for the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/course"
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/book/index.html")
    page.evaluate("navigator.serviceWorker.register('../sw.js').then(() => navigator.serviceWorker.ready)")
    server.shutdown()
    server.server_close()
    yield page, address
    context.close()


def test_the_server_is_really_gone(cut_off: tuple[Page, str]):
    port = int(cut_off[1].split(":")[2].split("/")[0])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)), "somebody still listens"


@pytest.mark.parametrize("path", [*gate_has([path for path in pages() if "/" in path], *A_FEW), ""])
def test_every_page_opens_without_a_network(cut_off: tuple[Page, str], path: str):
    page, address = cut_off
    lost: list[str] = []
    # A request that ends because the page is left again is not lost.
    page.on("requestfailed", lambda r: lost.append(r.url) if r.failure != "net::ERR_ABORTED" else None)
    page.goto(f"{address}/{path}")
    expect(page.locator("h1").first).to_be_visible()
    assert lost == []
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--qkv-ink') !== ''"), "no style"


def test_widgets_links_and_search_work_there(cut_off: tuple[Page, str]):
    page, address = cut_off
    page.goto(f"{address}/chapters/03_scaling.html?ScalingLab-99.d_k=4")
    page.locator(".qkv-slot").first.scroll_into_view_if_needed()
    page.locator('.qkv-widget[data-state="ready"]').first.wait_for()
    page.goto(f"{address}/search.html?q=softmax")
    expect(page.locator("#search-results a").first).to_be_visible()


def test_a_page_that_never_was_is_said_to_be_missing(cut_off: tuple[Page, str]):
    page, address = cut_off
    page.goto(f"{address}/nowhere.html")
    expect(page.locator("h1")).to_have_text("This page is not here")
