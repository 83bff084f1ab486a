"""Python on the page when the network or the browser's storage fails: it says so, and works once they are back."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from .conftest import SITE
from .test_exercises import CHECK, PATIENCE, RIGHT, SAMPLE, SET

pytestmark = pytest.mark.browser
CUT = "pyodide.asm.wasm"  # the largest of the files
EXERCISE, CHAPTER = f"exercises/{SAMPLE}.html", "chapters/02_qkv_projection.html"
BEGIN = "([key, source]) => { window.qkv.answer(key, source); window.ended = window.qkv.check(key); }"
WRONG = "def scaled_scores(q, k):\n    return q @ k.mT\n"


class Failing(SimpleHTTPRequestHandler):
    """A server of the site on which one file fails as `fails` says, which is called with the handler and the bytes."""

    fails: Callable[[Failing, bytes], None] | None = None

    def do_GET(self) -> None:
        if Failing.fails and CUT in self.path:
            fails, Failing.fails = Failing.fails, None
            fails(self, (SITE / "_static/python" / CUT).read_bytes())
        else:
            with contextlib.suppress(ConnectionError):
                super().do_GET()

    def begin(self, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing: pytest's output is for the tests."""


def cut(handler: Failing, content: bytes) -> None:
    """Send a fifth of the file, and close the connection."""
    handler.begin(len(content))
    handler.wfile.write(content[: len(content) // 5])
    handler.close_connection = True


def hang(handler: Failing, content: bytes) -> None:
    """Send a fifth of the file, and nothing more, until the browser leaves."""
    handler.begin(len(content))
    handler.wfile.write(content[: len(content) // 5])
    handler.rfile.read(1)


def shorten(handler: Failing, content: bytes) -> None:
    """Send a fifth of the file as if it were the whole, to be kept for an hour."""
    handler.begin(len(content) // 5)
    handler.wfile.write(content[: len(content) // 5])


def change(handler: Failing, content: bytes) -> None:
    """Send a file of the same size with other bytes at its end, to be kept for an hour."""
    handler.begin(len(content))
    handler.wfile.write(content[:-100] + bytes(100))


@pytest.fixture(scope="module")
def failing() -> Iterator[str]:
    """Serve the site, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Failing, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


def opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    return page


# From now on, all that is said beside the button of question 3.1.
WATCH = """() => {
  const said = document.querySelector(".qkv-check [role=status]");
  window.said = [];
  new MutationObserver(() => window.said.push(said.textContent)).observe(said, { childList: true });
}"""


# --- the network --------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [cut, pytest.param(hang, marks=pytest.mark.slow)])
def test_a_connection_that_is_cut_is_said_and_tried_again(context: BrowserContext, failing: str, fails: Callable):
    page = opened(context, f"{failing}/{EXERCISE}")
    page.evaluate(WATCH)
    Failing.fails = fails
    page.evaluate(BEGIN, ["3.1", RIGHT])
    page.wait_for_function("() => window.said.some((words) => words.includes('was cut at'))", timeout=10_000)
    assert page.evaluate("window.ended")["status"] == "passed"
    assert page.evaluate("window.said").count("Running …") == 1


@pytest.mark.parametrize("fails", [shorten, pytest.param(change, marks=pytest.mark.slow)])
def test_a_wrong_file_in_the_cache_is_fetched_again(context: BrowserContext, failing: str, fails: Callable):
    page = opened(context, f"{failing}/{EXERCISE}")
    Failing.fails = fails
    for _ in range(2):
        found = page.evaluate(CHECK, ["3.1", RIGHT])
        assert found["status"] == "passed", found
        page.reload()


def test_offline_before_python_is_loaded_a_check_says_so_and_works_later(context: BrowserContext, site: str):
    page = opened(context, f"{site}/{EXERCISE}")
    context.set_offline(True)
    found = page.evaluate(CHECK, ["3.1", RIGHT])
    assert found["status"] == "error"
    assert found["message"].startswith("You are offline")
    context.set_offline(False)
    assert page.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"


def test_offline_a_download_says_so_and_works_later(context: BrowserContext, site: str):
    page = opened(context, f"{site}/{EXERCISE}")
    button = page.get_by_role("button", name="Download my notebook")
    context.set_offline(True)
    button.click()
    expect(page.locator(".qkv-points .qkv-lost")).to_have_text("You are offline. Try again later.")
    context.set_offline(False)
    with page.expect_download():
        button.click()
    expect(page.locator(".qkv-lost")).to_have_count(0)


@pytest.mark.parametrize("name", [pytest.param("Run", marks=pytest.mark.slow), "Edit"])
def test_offline_a_cell_of_a_chapter_says_so_and_works_later(context: BrowserContext, site: str, name: str):
    page = opened(context, f"{site}/{CHAPTER}")
    cell = page.locator(".qkv-cell-chapter").first
    context.set_offline(True)
    cell.get_by_role("button", name=name).click()
    expect(cell.locator(".qkv-lost")).to_have_text("You are offline. Try again later.")
    context.set_offline(False)
    cell.get_by_role("button", name=name).click()
    expected = cell.locator(".qkv-printed") if name == "Run" else cell.get_by_role("textbox")
    expect(expected).to_be_visible(timeout=PATIENCE)
    expect(page.locator(".qkv-lost")).to_have_count(0)


@pytest.mark.parametrize(
    "file", ["worker.js", *(pytest.param(n, marks=pytest.mark.slow) for n in ("sizes.json", "course.bin"))]
)
def test_a_file_that_is_not_there_is_named_in_words(context: BrowserContext, site: str, file: str):
    page = opened(context, f"{site}/{EXERCISE}")
    page.clock.install()  # which the tries wait for
    page.route(f"**/python/{file}", lambda route: route.fulfill(status=404, body="nothing"))
    page.evaluate(BEGIN, ["3.1", RIGHT])
    card = page.locator(".qkv-check .qkv-card").first
    for _ in range(20):
        page.clock.run_for(1000)
        if card.is_visible():
            break
    expect(card).to_contain_text(f"{file} could not be loaded. Your text is kept.")


@pytest.mark.slow
def test_an_error_of_the_start_is_one_line(context: BrowserContext, site: str):
    """The program of the worker is whole, but Python does not find its own modules."""
    page = opened(context, f"{site}/{EXERCISE}")
    page.evaluate("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    empty = gzip.compress(b"PK\x05\x06" + bytes(18))
    sizes = json.loads((SITE / "_static/python/sizes.json").read_text(encoding="utf-8"))
    sizes["built"]["course.bin"]["size"] = len(empty)
    page.route("**/python/sizes.json", lambda route: route.fulfill(json=sizes))
    page.route("**/python/course.bin", lambda route: route.fulfill(body=empty))
    message = page.evaluate(CHECK, ["3.1", RIGHT])["message"]
    assert message.startswith("Python could not start here. ModuleNotFoundError: No module named 'notebook'")
    assert "Traceback" not in message
    assert "undefined" not in message


def test_python_is_compiled_while_its_other_files_are_loaded(context: BrowserContext, site: str):
    page = opened(context, f"{site}/{EXERCISE}")
    late: list[Route] = []
    page.route("**/python/course.bin", lambda route: late.append(route))
    page.evaluate(BEGIN, ["3.1", RIGHT])
    page.wait_for_event("worker", timeout=PATIENCE)
    expect(page.locator(".qkv-check [role=status]").first).to_contain_text("Loading Python")
    while not late:
        page.wait_for_timeout(100)
    late[0].continue_()
    assert page.evaluate("window.ended")["status"] == "passed"


# --- two tabs -----------------------------------------------------------------------------------


def kept(page: Page, question: str = "3.1") -> dict[str, object]:
    """What this browser keeps of an answer: its text, and the verdict on it."""
    answer = json.loads(page.evaluate("localStorage.getItem('qkv-answers')"))["answers"][question]
    return {name: answer.get(name) for name in ("source", "status", "points")}


@pytest.mark.slow
def test_two_tabs_show_one_answer_and_its_own_verdict(context: BrowserContext, site: str):
    first, second = (opened(context, f"{site}/{EXERCISE}") for _ in range(2))
    assert first.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"
    second.wait_for_function("text => window.qkv.answer('3.1') === text", arg=RIGHT)
    expect(second.locator(".qkv-points")).to_contain_text("3 of 15 points")

    second.evaluate(SET, ["3.1", WRONG])
    first.wait_for_function("text => window.qkv.answer('3.1') === text", arg=WRONG)
    expect(first.locator(".qkv-check .qkv-verdict").first).to_have_attribute("data-old", "")
    for page in (first, second):
        expect(page.locator(".qkv-points")).to_contain_text("0 of 15 points")
    assert kept(first) == {"source": WRONG, "status": None, "points": None}


def test_a_verdict_does_not_go_to_the_text_that_another_tab_wrote_meanwhile(context: BrowserContext, site: str):
    first, second = (opened(context, f"{site}/{EXERCISE}") for _ in range(2))
    first.evaluate("window.addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    first.evaluate(BEGIN, ["3.1", RIGHT])
    second.evaluate(SET, ["3.1", WRONG])
    assert first.evaluate("window.ended")["status"] == "passed"
    assert kept(first) == {"source": WRONG, "status": None, "points": None}
    assert first.evaluate("window.qkv.answer('3.1')") == WRONG


# --- storage ------------------------------------------------------------------------------------

DENIED = """for (const what of ["getItem", "setItem", "removeItem"])
  Storage.prototype[what] = () => { throw Error("denied"); };"""


def test_without_storage_the_points_of_this_visit_are_counted(context: BrowserContext, site: str):
    context.add_init_script(DENIED)
    page = opened(context, f"{site}/{EXERCISE}")
    assert page.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"
    expect(page.locator(".qkv-points")).to_contain_text("3 of 15 points; 1 of 5 answers")
    expect(page.locator(".qkv-offer")).to_contain_text("does not keep")
    page.evaluate(SET, ["3.1", WRONG])
    expect(page.locator(".qkv-points")).to_contain_text("0 of 15 points")
    assert page.evaluate("window.qkv.answer('3.1')") == WRONG


STRANGE = [
    "null",
    "words",
    "{}",
    *(
        json.dumps({"format": "qkv-answers", "version": 1, "answers": answers})
        for answers in (
            None,
            "words",
            {"3.1": None},
            {"3.1": "words"},
            {"3.1": {"source": 5, "status": "passed", "points": 3}},
            {"3.1": {"status": "passed", "points": "words"}},
            {"3.1": {"checked": None}},
        )
    ),
]


def test_nulls_and_words_in_storage_are_harmless(context: BrowserContext, site: str):
    page = opened(context, f"{site}/{EXERCISE}")
    threw: list[str] = []
    page.on("pageerror", lambda error: threw.append(str(error)))
    for stored in STRANGE:
        page.evaluate("stored => localStorage.setItem('qkv-answers', stored)", stored)
        page.reload()
        expect(page.locator(".qkv-points")).to_contain_text("On this page: 0 of 15 points; 0 of 5 answers")
        page.evaluate(SET, ["3.1", RIGHT])
        assert kept(page)["source"] == RIGHT, stored
    assert threw == []


# --- a browser without WebAssembly --------------------------------------------------------------


@pytest.mark.parametrize("path", [EXERCISE, CHAPTER, "book/try.html"])
def test_without_webassembly_each_page_says_so(context: BrowserContext, site: str, path: str):
    context.add_init_script("delete window.WebAssembly")
    page = opened(context, f"{site}/{path}")
    buttons = page.locator("[data-do=check], [data-do=run], [data-do=runCell]")
    said = page.locator(".qkv-do:has([data-do=check], [data-do=run], [data-do=runCell]) > .qkv-said[role=status]")
    expect(said).to_have_text(["This browser cannot run Python on the page."] * buttons.count())
    for button in buttons.all():
        expect(button).to_be_disabled()
