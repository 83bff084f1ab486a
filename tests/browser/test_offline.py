"""A published site without a network: after one visit, every page of it is there."""

import contextlib
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tools.course import LANGUAGES, TRANSLATED
from tools.service_worker import files_of, worker

from .conftest import A_FEW, SITE, gate_has, pages
from .test_exercises import CHECK, PATIENCE, RIGHT, SAMPLE, SET

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: pytest's output is for the tests."""


@contextlib.contextmanager
def published(folder: Path) -> Iterator[str]:
    """The address of a copy of the site that has a service worker; its server ends with the block."""
    site = folder / "course"
    shutil.copytree(SITE, site)
    (site / "sw.js").write_text(worker(site), encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/course"
    server.shutdown()
    server.server_close()


WAITED = 120_000  # ms, after which something has failed without a word
REGISTER = f"""async () => {{
  const made = await navigator.serviceWorker.register("../sw.js");
  const {{ installing }} = made;
  const say = (fail) => fail(new Error(`not ready: ${{installing?.state}}`));
  await Promise.race([navigator.serviceWorker.ready, new Promise((_, fail) => setTimeout(say, {WAITED}, fail))]);
}}"""


@pytest.fixture(scope="module")
def cut_off(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A page of a browser that visited the first page of a published site, which then went away."""
    context = browser.new_context()
    page = context.new_page()
    with published(tmp_path_factory.mktemp("published")) as address:
        page.goto(f"{address}/book/index.html")
        page.evaluate(REGISTER)
    context.set_offline(True)
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


@pytest.mark.parametrize("path", ["nowhere.html", "%", "%E0%A4%A"])
def test_a_page_that_never_was_is_said_to_be_missing(cut_off: tuple[Page, str], path: str):
    page, address = cut_off
    page.goto(f"{address}/{path}")
    expect(page.locator("h1")).to_contain_text("not here")


# --- languages ------------------------------------------------------------------------------------

BUILT = [LANGUAGES[code].folder for code in TRANSLATED if (SITE / LANGUAGES[code].folder).exists()]
KEPT_OF = """async (folder) => {
  const [name] = (await caches.keys()).filter((name) => !name.startsWith("qkv-python-"));
  const kept = await (await caches.open(name)).keys();
  return kept.filter(({ url }) => new URL(url).pathname.startsWith(`/course/${folder}/`)).length;
}"""
IS_KEPT = f"""async ([folder, count]) => {{
  const end = Date.now() + {WAITED};
  while (Date.now() < end) {{
    if (await ({KEPT_OF})(folder) === count) return;
    await new Promise((done) => setTimeout(done, 100));
  }}
  throw new Error(`${{await ({KEPT_OF})(folder)}} of ${{count}} files of ${{folder}}`);
}}"""


def number_of_files(folder: str) -> int:
    return sum(file.is_relative_to(SITE / folder) for file in files_of(SITE))


@pytest.mark.skipif(not BUILT, reason="the site is in English alone")
def test_a_language_that_is_read_is_there_without_a_network(browser: Browser, tmp_path: Path):
    """The pages of the first language that was read, and no others; those of the next one, once it is opened."""
    first, *others = [*BUILT, "book"]  # the English pages stand in several folders
    context = browser.new_context()
    page = context.new_page()
    with published(tmp_path) as address:
        page.goto(f"{address}/{first}/book/index.html")
        page.evaluate(REGISTER.replace("../sw.js", "../../sw.js"))
        page.evaluate(IS_KEPT, [first, number_of_files(first)])
        assert page.evaluate(KEPT_OF, others[0]) == 0
        page.goto(f"{address}/{others[0]}/{'' if others[0] == 'book' else 'book/'}index.html")
        page.evaluate(IS_KEPT, [others[0], number_of_files(others[0])])
    context.set_offline(True)
    page.goto(f"{address}/{first}/chapters/03_scaling.html")
    page.locator(".qkv-slot").first.scroll_into_view_if_needed()
    page.locator('.qkv-widget[data-state="ready"]').first.wait_for()
    assert page.locator("html").get_attribute("lang") in {language.tag for language in LANGUAGES.values()} - {"en"}
    page.goto(f"{address}/{first}/nowhere.html")
    assert "zh" in str(page.locator("html").get_attribute("lang")), "the page for missing addresses, in this language"
    context.close()


POISON = """async () => {
  const [name] = (await caches.keys()).filter((name) => !name.startsWith("qkv-python-"));
  const cache = await caches.open(name);
  const old = await cache.match("/course/book/map.html");
  const headers = { "Content-Type": "text/html", Refresh: "0; url=https://example.org/" };
  await cache.put("/course/book/map.html", new Response(`${await old.text()}<p>poison</p>`, { headers }));
  await cache.put("/course/book/new.html", new Response("<h1>poison</h1>", { headers }));
}"""


def test_what_another_script_put_into_the_cache_is_not_served(cut_off: tuple[Page, str]):
    """Neither a changed page nor an added one; the site of another user of this host could have done it."""
    page, address = cut_off
    page.goto(f"{address}/book/index.html")
    page.evaluate(POISON)
    for path in ("book/map.html", "book/new.html"):
        page.goto(f"{address}/{path}")
        expect(page.locator("h1")).to_be_visible()
        assert "poison" not in page.content()
        assert page.url == f"{address}/{path}"


# --- what runs Python on a page -----------------------------------------------------------------

KEPT = """async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("qkv-python-"));
  const kept = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
  return kept.flat().map(({ url }) => url.split("/").pop());
}"""
KEPT_IN_THE_END = f"""async (count) => {{
  let kept = [];
  const end = Date.now() + {WAITED};
  while (kept.length < count) {{
    kept = await new Promise((done) => setTimeout(done, 100)).then({KEPT});
    if (Date.now() > end) {{
      const {{ connection, serviceWorker }} = navigator;
      const controlled = Boolean(serviceWorker.controller);
      throw new Error(`kept ${{kept}}; connection ${{connection?.effectiveType}}, controlled ${{controlled}}`);
    }}
  }}
  return kept;
}}"""
SPOIL = """async () => {
  const packed = new Blob(["spoilt"]).stream().pipeThrough(new CompressionStream("gzip"));
  const spoilt = await new Response(packed).blob();
  for (const name of await caches.keys())
    for (const { url } of await (await caches.open(name)).keys())
      if (url.includes("/memory-")) await (await caches.open(name)).put(url, new Response(spoilt));
}"""
NEEDED = {"worker.js", "editor.js", "sizes.json", "pyodide.asm.wasm", "python_stdlib.bin", "course.bin"}


def connected(**connection: object) -> str:
    """A script that says of the connection what it is told to."""
    return f"Object.defineProperty(navigator, 'connection', {{ value: {json.dumps(connection)} }})"


def printed(page: Page, source: str) -> str:
    """Open the page anew, run this in a cell to try an answer in, and give what it printed."""
    page.reload()
    page.evaluate(SET, ["try 3.1", source])
    cell = page.locator(".qkv-live", has=page.locator('[data-key="try 3.1"]'))
    cell.locator("[data-do=run]").click()
    expect(cell.locator(".qkv-printed")).not_to_be_empty(timeout=PATIENCE)
    return cell.locator(".qkv-printed").inner_text()


def test_exercises_are_checked_though_python_was_never_asked_for(browser: Browser, tmp_path: Path):
    """An idle browser on a good connection fetched it ahead, and the service worker kept it."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script(connected(saveData=False, effectiveType="4g"))  # however busy this machine seems to it
    with published(tmp_path) as address:
        page.goto(f"{address}/exercises/{SAMPLE}.html")
        page.evaluate(REGISTER)
        assert set(page.evaluate(KEPT_IN_THE_END, len(NEEDED))) == NEEDED
    page.reload()
    assert page.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"
    assert page.evaluate(KEPT_IN_THE_END, len(NEEDED) + 1)[-1].startswith("memory-")

    # Later starts read what Python's memory was then: texts hash alike, and random numbers differ all the same.
    first, second = (printed(page, "import random\nprint(hash('qkv'), random.random())").split() for _ in range(2))
    assert first[0] == second[0]
    assert first[1] != second[1]

    page.evaluate(SPOIL)
    page.reload()
    assert page.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"
    context.close()


@pytest.mark.parametrize(
    ("path", "connection"),
    [
        (f"exercises/{SAMPLE}", {"saveData": True, "effectiveType": "4g"}),
        (f"exercises/{SAMPLE}", {"saveData": False, "effectiveType": "3g"}),
        ("chapters/03_scaling", {"saveData": False, "effectiveType": "4g"}),
    ],
)
def test_nothing_is_fetched_ahead_elsewhere(browser: Browser, tmp_path: Path, path: str, connection: dict[str, object]):
    """Not by a reader who saves data, not by a slow connection, and not where there is nothing to check."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(connected(**connection))
    with published(tmp_path) as address:
        page.goto(f"{address}/{path}.html")
        page.evaluate(REGISTER)
        page.wait_for_function("() => navigator.serviceWorker.controller")
        page.evaluate("new Promise((done) => requestIdleCallback(() => setTimeout(done, 500), { timeout: 5000 }))")
        assert page.evaluate(KEPT) == []
    context.close()
