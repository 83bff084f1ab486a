"""An exercise is answered in a real browser: Python runs in the page, and gives the verdicts of `check`."""

from __future__ import annotations

import functools
import html
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from page.pack import SIGN, kinds, pack

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
RIGHT = "def scaled_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5\n"
BY_D_K = "def scaled_scores(q, k):\n    return q @ k.mT / q.shape[-1]\n"
ENDLESS = "def scaled_scores(q, k):\n    while True:\n        pass\n"
PATIENCE = 240_000  # ms: the first check compiles all of Python, beside everything else that runs here


def exercise(name: str) -> str:
    """A page with the code cells of an exercise, as the site shows them."""
    cells = json.loads((ROOT / "exercises" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = []
    for place, kind, question in kinds(cells):
        source = html.escape("".join(cells[place]["source"]))
        classes = f"cell {SIGN}{kind}" + (f" qkv-q-{question}" if question else "")
        parts.append(f'<div class="{classes}"><div class="cell_input"><pre>{source}\n</pre></div></div>')
    head = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
    return f'{head}<main data-page="exercises/{name}">{"".join(parts)}</main><script src="python-page.js"></script>'


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Chapter 3's exercises, opened; nothing but this server is asked for anything."""
    folder = tmp_path_factory.mktemp("python")
    pack(folder)
    (folder / "index.html").write_text(exercise("03_scaling"), encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    yield opened
    opened.close()
    server.shutdown()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def checked(page: Page, question: str, source: str) -> dict[str, Any]:
    """Write an answer, check it, and give what the page says of it."""
    call = "([question, source]) => { window.qkv.answer(question, source); return window.qkv.check(question); }"
    return dict(page.evaluate(call, [question, source]))


def test_answers_have_their_verdicts(page: Page):
    found = checked(page, "3.1", RIGHT)
    assert (found["status"], found["points"], found["misconception"]) == ("passed", 3, None), found
    found = checked(page, "3.1", BY_D_K)
    assert (found["status"], found["points"], found["misconception"]) == ("failed", 0, "scaled-by-d-k"), found
    found = checked(page, "3.2", "def score_variance(d_k, var_q, var_k):\n    raise NotImplementedError\n")
    assert found["status"] == "not attempted"
    found = checked(page, "3.1", "def scaled_scores(q, k)\n    return q")
    assert found["status"] == "error"
    assert "SyntaxError" in found["message"]
    card = page.locator("[data-question='3.1'] ~ .qkv-cell-check .qkv-verdict").first
    assert card.get_attribute("data-status") == "error"
    assert card.locator(".qkv-card").count() == 1


def test_an_earlier_answer_is_seen_by_a_later_one(page: Page):
    page.evaluate("source => window.qkv.answer('3.1', source)", RIGHT)
    later = "def attention(q, k, v):\n    weights = scaled_scores(q, k).softmax(-1)\n    return weights @ v, weights\n"
    assert checked(page, "3.3", later)["status"] == "passed"


def test_a_loop_without_an_end_is_stopped_and_the_text_stays(page: Page):
    page.evaluate("source => { window.qkv.answer('3.1', source); window.ended = window.qkv.check('3.1'); }", ENDLESS)
    page.wait_for_timeout(500)
    page.locator(".qkv-cell-check").first.get_by_role("button", name="Stop").click()
    assert page.evaluate("() => window.ended")["status"] == "error"
    assert page.evaluate("() => window.qkv.answer('3.1')") == ENDLESS
    page.reload()
    assert page.evaluate("() => window.qkv.answer('3.1')") == ENDLESS, "kept in this browser"
    assert checked(page, "3.1", RIGHT)["status"] == "passed", "another worker"


def test_the_notebook_is_downloaded_with_the_answers(page: Page):
    page.evaluate("source => window.qkv.answer('3.1', source)", RIGHT)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download my notebook").click()
    notebook = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))
    exercise = json.loads((ROOT / "exercises" / "03_scaling.ipynb").read_text(encoding="utf-8"))
    sources = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    assert sources["answer-scaled_scores"] == RIGHT
    assert sources["check-3-1"] == 'check("3.1", scaled_scores).points'
    assert [cell["metadata"] for cell in notebook["cells"]] == [cell["metadata"] for cell in exercise["cells"]]
