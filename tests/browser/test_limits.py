"""Python on a page where it does not end, where it grows, and where the browser cannot run it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Worker, expect

from .test_exercises import ENDLESS, RIGHT, SAMPLE, checked, python_page

pytestmark = pytest.mark.browser

BEGIN = "([key, source]) => { window.qkv.answer(key, source); window.ended = window.qkv.check(key); }"
LARGE = RIGHT + "\nhelper = bytearray(260_000_000)\n"


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    yield from python_page(browser, site, f"exercises/{SAMPLE}.html")


@pytest.mark.slow
def test_a_worker_that_has_grown_is_renewed(page: Page):
    started: list[Worker] = []
    page.on("worker", lambda worker: started.append(worker))
    assert checked(page, "3.1", LARGE)["status"] == "passed"
    assert checked(page, "3.1", RIGHT)["status"] == "passed"
    assert len(started) == 2
    assert page.workers == started[1:], "the memory of the first is given back"


def test_the_time_limit_ends_an_answer_and_the_text_stays(page: Page):
    """The page's clock is put forward; the worker's loop never ends."""
    assert checked(page, "3.1", RIGHT)["status"] == "passed", "Python is ready: the time counts from then"
    page.clock.install()
    page.evaluate(BEGIN, ["3.1", ENDLESS])
    page.clock.fast_forward(10_000)
    cell = page.locator(".qkv-check").first
    expect(cell.get_by_role("button", name="Stop")).to_be_enabled()
    expect(cell.locator(".qkv-said[role=status]")).to_have_text("Running …")
    page.clock.fast_forward(15_000)
    expect(cell.locator(".qkv-said[role=status]")).to_contain_text(
        "Is there a loop that does not end? Then press Stop."
    )
    page.clock.fast_forward(60_000)
    expect(cell.get_by_role("button", name="Stop")).to_be_enabled()
    page.clock.fast_forward(10_000)
    ended: dict[str, Any] = page.evaluate("() => window.ended")
    assert ended["status"] == "error"
    assert "90 seconds" in ended["message"]
    assert "takes too long?" in ended["message"]
    assert page.evaluate("window.qkv.answer('3.1')") == ENDLESS


def test_a_browser_without_webassembly_is_told_of_other_ways(browser: Browser, site: str):
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script("delete window.WebAssembly")
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    offer = page.locator(".qkv-offer")
    expect(offer).to_contain_text("Download this notebook")
    expect(offer).to_contain_text("JupyterLab or Colab")
    for button in page.locator("[data-do=check], [data-do=run]").all():
        expect(button).to_be_disabled()
    page.locator(".qkv-answer textarea").first.focus()
    page.get_by_role("textbox", name="Your answer to question 3.1").press("Control+End")
    page.keyboard.type("# mine")
    assert "# mine" in page.evaluate("window.qkv.answer('3.1')"), "it can be written all the same"
    assert [url for url in asked if "/python/" in url and not url.endswith("editor.js")] == []
    page.close()
