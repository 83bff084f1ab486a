"""Measure the built site as a reader meets it: size, time until a page is ready, longest step of a slider.

    make site && .venv/bin/python benchmarks/site.py [PAGE …] [--defaults]

"Slow" means a connection of 9 Mbps and 60 ms, and a CPU that is slowed down four times. For each page, the table has:

- first kB, then kB: the gzipped size of a load in a fresh browser, and of a load after the first page of the book (for
  that page: after chapter 1)
- shift: how far things moved while the page loaded (CLS)
- ready s, slow s: seconds until the first widget is ready, to which the link leads, on localhost and slow; on a page
  without widgets, until the page is loaded
- paint s, bare s: seconds until the first text is painted, slow, with the page's widgets and without them (medians of
  five loads)
- step ms: the longest of 20 steps of a slider or a drag, on the slow CPU; each step is the median of nine passes
- axe: violations that axe finds, in light and dark mode, 390 and 1440 px wide
- elsewhere, errors: requests to other hosts, and errors in the console

Below the table: on the slow CPU, the time of SentenceLab's model for one sentence and for its exam of 100, and the
frames that the exam drops; the seconds from *Check* to the first card, at the first and at a later visit, on localhost
and at 9 Mbps and 60 ms (which the server simulates, because the browser slows neither a worker's requests nor its CPU);
and the memory of the tab after all questions of that page were checked. For the real model: the seconds until it is
ready, and the MB that it loads; the time of a step of its temperature, with a sentence of 15 tokens; the tab's memory.

`--defaults` adds one chapter as Jupyter Book builds it without a configuration, with html-manager instead of our host.
What that page would load from other hosts is fetched from npm and served from here. `--jobs steps` measures one part.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import http.server
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
DEFAULTS = ROOT / "_build" / ".defaults"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "book" / "ext"))
from tests.browser.drivers import chromium_with  # noqa: E402
from tools.service_worker import worker  # noqa: E402
from tools.system import chromium  # noqa: E402

FIRST, SECOND = "book/index.html", "chapters/01_sequence_inputs.html"
COMPARED = "chapters/03_scaling"
CHECKED = "03_scaling"  # whose exercises are checked on their page
TIMED_CHECK = """async ([key, source]) => {
  const start = performance.now();
  window.qkv.answer(key, source);
  const { status } = await window.qkv.check(key);
  if (status !== "passed") throw new Error(`${key}: ${status}`);
  return performance.now() - start;
}"""
# As on the published site, the service worker caches the site, and the page caches Python and Python's memory.
KEEP = "navigator.serviceWorker.register('../sw.js').then(() => navigator.serviceWorker.ready)"
ALL_KEPT = """async () => {
  const later = () => new Promise((done) => setTimeout(done, 100));
  const kept = async (name) => (await (await caches.open(name)).keys()).some(({ url }) => url.includes("/memory-"));
  while (!(await Promise.all((await caches.keys()).map(kept))).includes(true)) await later();
}"""
SLOW = {"offline": False, "latency": 60, "downloadThroughput": 9e6 / 8, "uploadThroughput": 9e6 / 8}
LOOKS = [(width, scheme) for width in (390, 1440) for scheme in ("light", "dark")]
PACKED = {".woff2", ".png", ".bin"}
# The addresses on other hosts from which Jupyter Book's page loads files; below, the npm packages with these files.
ELSEWHERE = {
    "https://cdn.jsdelivr.net/npm/": "/cdn/",
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.4/require.min.js": "/cdn/requirejs/require.min.js",
    "https://unpkg.com/": "/cdn/",
}
CDN = re.compile(r"cdn/(?P<name>(?:@[^/]+/)?[^/@]+)(?:@[^/]+)?/(?P<inside>.+)")
PACKAGES = ["requirejs@2.3", "@jupyter-widgets/html-manager@1.0", "mathjax@3", "anywidget"]
# An element that every page with widgets has, ours and Jupyter Book's.
STATE = "script[type='application/vnd.jupyter.widget-state+json']"
# Records when the first widget becomes ready, even if that is before the page has loaded.
WATCH = """
window.layoutShift = 0;
new PerformanceObserver(l => l.getEntries().forEach(e => { if (!e.hadRecentInput) window.layoutShift += e.value; }))
  .observe({type: 'layout-shift', buffered: true});
new MutationObserver((_, self) => {
  if (document.querySelector('[data-state="ready"]')) { window.readyAt = performance.now(); self.disconnect(); }
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-state']});
"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
JOBS = ["weight", "ready", "paint", "steps", "faults", "lab", "check", "model"]
REAL_MODEL = "chapters/deeper/09_a_real_model.html"
# The elements that are dragged. Only moves of a pressed pointer are simulated: a simulated press cannot be captured.
DRAGGED = ".qkv-drag, .qkv-things, .qkv-flow-map, .qkv-scope-map, .qkv-drawn-area, .qkv-mask, .qkv-painted"
NAME = "e => `${e.closest('.qkv-widget').dataset.widget}: ${e.labels?.[0]?.innerText ?? (e.ariaLabel || e.className)}`"
# The time of a step: handling the event, the animation frame that it requests, and the layout, without the wait for the
# frame.
STEPS = """async (handle) => {
  const slide = (share) => {
    handle.value = String(Number(handle.min) + share * (handle.max - handle.min));
    handle.dispatchEvent(new Event('input', {bubbles: true}));
  };
  const drag = (share) => {
    const {left, top, width, height} = handle.getBoundingClientRect();
    const [clientX, clientY] = [left + (0.05 + 0.9 * share) * width, top + (0.95 - 0.9 * share) * height];
    const under = handle.matches('table') ? document.elementFromPoint(clientX, clientY) ?? handle : handle;
    under.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, buttons: 1, clientX, clientY}));
  };
  const step = handle.matches('input') ? slide : drag;
  const frame = window.requestAnimationFrame.bind(window);
  const timed = (f) => { const start = performance.now(); f(); work += performance.now() - start; };
  let work = 0;
  window.requestAnimationFrame = (callback) => frame((time) => timed(() => callback(time)));
  const works = [];
  for (let i = 0; i < 20; i++) {
    const share = (i * 7 % 20) / 19;
    work = 0;
    timed(() => step(share));
    await new Promise((done) => frame(() => {
      timed(() => handle.closest('.qkv-widget').getBoundingClientRect());
      done();
    }));
    await new Promise((done) => setTimeout(done, 30));
    works.push(work);
  }
  window.requestAnimationFrame = frame;
  return works;
}"""

# The code of SentenceLab's model, without its widget.
LAB = """
import { examiner } from "./src/qkv/widgets/js/exam.js";
import { tag } from "./src/qkv/widgets/js/tagger.js";
import { theGrammar, theTagger } from "./src/qkv/widgets/js/trained.js";
theGrammar();
Object.assign(window, { examiner, tag, theTagger });
"""
SENTENCE = ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"]
SENTENCES = """(words) => Array.from({length: 60}, (_, i) => {
  const start = performance.now();
  tag(theTagger(), words, {temperature: 1 + i / 60});
  return performance.now() - start;
})"""
# Runs an exam while the page draws frames. Returns the time that it took, and the times between frames.
EXAM = """async () => {
  const frames = [];
  let isOpen = true;
  const beat = (now) => {
    frames.push(now);
    if (isOpen) requestAnimationFrame(beat);
  };
  const exam = (temperature) =>
    new Promise((tell) => examiner({settings: () => ({temperature}), tell}).look());
  await exam(1); // draws the sentences
  requestAnimationFrame(beat);
  const start = performance.now();
  await exam(2);
  const took = performance.now() - start;
  isOpen = false;
  return [took, frames.slice(1).map((now, i) => now - frames[i])];
}"""


@functools.cache
def without_widgets(data: bytes) -> bytes:
    """Return a page without its widgets, with an empty element in place of each."""
    page = BeautifulSoup(data, "html.parser")
    for slot in page.select(".qkv-slot"):
        slot.clear()
    for script in page.select(f"{STATE}, script[src*='qkv-weights']"):
        script.decompose()
    return str(page).encode()


@functools.cache
def gzipped(data: bytes) -> bytes:
    """Return a file's bytes as gzip, compressed once: hosts of pages do not compress it again for each reader."""
    return gzip.compress(data, 6)


@dataclass
class Server:
    """A server for a folder of pages. It gzips them and lets browsers cache them, as hosts of static pages do."""

    folder: Path
    address: str = ""
    sent: int = 0  # bytes of bodies since this was last set to 0
    slow: bool = False  # whether it sends at 9 Mbps in total, after 60 ms
    bare: bool = False  # whether it sends pages without their widgets
    line: Any = field(default_factory=threading.Lock)  # when slow, it sends one piece at a time

    def file(self, path: str) -> Path:
        """Return the path of the file for an address; it may not exist.

        That of a folder is its index.html, and what follows a "?" does not count. Files that a page loads from other
        hosts are in the npm packages.
        """
        name = path.split("?")[0].lstrip("/")
        package = CDN.fullmatch(name)
        if package is None:
            found = self.folder / name
            return found / "index.html" if found.is_dir() else found
        return DEFAULTS / "node_modules" / package["name"] / package["inside"]

    def body(self, path: str) -> bytes | None:
        """Return the bytes that are sent for an address; None if there is no file, also with .js at its end.

        They are gzipped unless their format is compressed. In pages, addresses of other hosts become addresses of this
        server.
        """
        file = self.file(path)
        file = file if file.is_file() else file.with_name(file.name + ".js")
        if not file.is_file():
            return None
        data = file.read_bytes()
        if file.suffix == ".html":
            for there, here in ELSEWHERE.items():
                data = data.replace(there.encode(), here.encode())
            data = re.sub(rb' integrity="[^"]*"', b"", data)  # npm's require.js differs in how it is minified
            data = without_widgets(data) if self.bare else data
        return data if file.suffix in PACKED else gzipped(data)

    def send(self, body: bytes, to: Any) -> None:
        """Write a body, at the speed of the simulated connection if `slow` is set."""
        if not self.slow:
            to.write(body)
            return
        time.sleep(SLOW["latency"] / 1000)
        for start in range(0, len(body), 16384):
            piece = body[start : start + 16384]
            with self.line:
                time.sleep(len(piece) / SLOW["downloadThroughput"])
            to.write(piece)


@contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """Serve a folder on a free port of localhost until the end of the block, and yield the server."""
    served = Server(folder)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            body = served.body(self.path)
            if body is None:
                return self.send_error(404)
            served.sent += len(body)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(self.path.split("?")[0]))
            if served.file(self.path).suffix not in PACKED:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "max-age=600")
            with suppress(ConnectionError):  # the reader has left the page
                self.end_headers()
                served.send(body, self.wfile)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served.address = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()


def open_page(browser: Browser, address: str, slow: bool = False, **look: Any) -> tuple[Page, CDPSession]:
    """Open an address in a fresh context, where nothing is cached.

    Return the page and its session of the DevTools protocol.

    `slow` simulates the slow connection and CPU; `look` are options of the context.
    """
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **look}).new_page()
    session = page.context.new_cdp_session(page)
    if slow:
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.add_init_script(WATCH)
    page.goto(address, wait_until="load")
    return page, session


def start_widgets(page: Page) -> None:
    """Scroll to every widget that is not in a covered answer to a prediction, so that all of them start."""
    for slot in page.locator(".qkv-slot:not(.qkv-prediction-answer:not(.qkv-open) *)").all():
        slot.scroll_into_view_if_needed()
    page.wait_for_timeout(500)


def weight(browser: Browser, server: Server, name: str) -> tuple[float, float, float]:
    """Return the kB of a first load and of a load after another page, and the layout shift of the first load.

    All widgets are started each time. `name` is the page's address from the site's root.
    """
    server.sent = 0
    page, _ = open_page(browser, f"{server.address}/{name}")
    start_widgets(page)
    first, shift = server.sent / 1000, page.evaluate("window.layoutShift")
    page.context.close()
    page, _ = open_page(browser, f"{server.address}/{SECOND if name == FIRST else FIRST}")
    start_widgets(page)
    server.sent = 0
    page.goto(f"{server.address}/{name}", wait_until="load")
    start_widgets(page)
    page.context.close()
    return first, server.sent / 1000, shift


def ready_seconds(browser: Browser, address: str, slow: bool) -> float:
    """Return the seconds until the page's first widget, or a page without widgets, is ready: median of three loads.

    `slow` simulates the slow connection and CPU.
    """
    times = []
    for _ in range(3):
        page, _ = open_page(browser, f"{address}#widget-1", slow)
        if page.locator(STATE).count():
            page.wait_for_function("window.readyAt", timeout=60_000)
            times.append(page.evaluate("window.readyAt") / 1000)
        else:
            times.append(page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart") / 1000)
        page.context.close()
    return statistics.median(times)


def paint_seconds(browser: Browser, server: Server, name: str, bare: bool) -> float:
    """Return the seconds until the first text is painted, slow: median of five loads in a fresh browser.

    If `bare`, the server sends the page without its widgets. `name` is its address from the site's root.
    """
    times = []
    server.bare = bare
    for _ in range(5):
        page, _ = open_page(browser, f"{server.address}/{name}", slow=True)
        times.append(page.wait_for_function(PAINTED).json_value() / 1000)
        page.context.close()
    server.bare = False
    return statistics.median(times)


def handle_steps(browser: Browser, address: str) -> list[tuple[str, float]]:
    """Return the name and the longest step in ms, on the slow CPU, of each visible slider and drag of a page.

    Of those with the same name, only the first is measured. The time of a step is the median of nine passes.
    """
    page, session = open_page(browser, address)
    page.locator(".qkv-prediction-answer").evaluate_all("all => all.forEach((e) => e.classList.add('qkv-open'))")
    start_widgets(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    longest: dict[str, float] = {}
    for handle in page.locator(f".qkv-widget :is(input[type=range], {DRAGGED})").all():
        name = " ".join(handle.evaluate(NAME).split())
        if name in longest or not handle.is_visible():  # of handles with the same name, one is enough
            continue
        handle.scroll_into_view_if_needed()
        passes = [handle.evaluate(STEPS) for _ in range(9)]
        longest[name] = max(statistics.median(step) for step in zip(*passes, strict=True))
    page.context.close()
    return list(longest.items())


def lab_times(browser: Browser) -> str:
    """Return a line with the times of SentenceLab's model on the slow CPU, and the frames dropped during its exam."""
    esbuild = [ROOT / "node_modules" / ".bin" / "esbuild", "--bundle", "--loader:.safetensors=binary", "--minify"]
    bundle = subprocess.run(esbuild, input=LAB, check=True, capture_output=True, cwd=ROOT, text=True).stdout
    page = browser.new_page()
    page.add_script_tag(content=bundle)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    sentence = statistics.median(page.evaluate(SENTENCES, SENTENCE))
    exams = [page.evaluate(EXAM) for _ in range(5)]
    page.close()
    took = statistics.median(time for time, _ in exams)
    dropped = statistics.median(sum(gap > 25 for gap in gaps) for _, gaps in exams)
    return f"SentenceLab: one sentence {sentence:.1f} ms, 100 sentences {took:.0f} ms, frames dropped {dropped:.0f}"


def solved(name: str) -> dict[str, str]:
    """Return the solution's answers to the questions of an exercise, by question id."""
    cells = json.loads((ROOT / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    found, question = {}, ""
    for cell in cells:
        kind, _, rest = cell["id"].partition("-")
        if kind == "question":
            question = rest.replace("-", ".")
        elif kind == "answer":
            found[question] = found.get(question, "") + "".join(cell["source"]) + "\n"
    return found


def check_times(browser: Browser, server: Server) -> str:
    """Return lines with the seconds until the first card of a check, and the memory of the tab after all checks.

    They are measured at a first and at a later visit, fast and slow. For the later visit, a service worker is written
    and then removed.
    """
    answers, waits = solved(CHECKED), []
    first = next(iter(answers))
    (server.folder / "sw.js").write_text(worker(server.folder), encoding="utf-8")
    for name in ("pyodide.asm.wasm", "worker.js"):
        server.body(f"/_static/python/{name}")  # so that the first visit does not wait until they are compressed
    for server.slow in (False, True):
        context = browser.new_context()
        for visit in ("first", "meanwhile", "later"):
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(f"{server.address}/exercises/{CHECKED}.html", wait_until="load")
            page.wait_for_function("window.qkv")
            if visit == "meanwhile":  # cache the page and Python before the later visit
                page.evaluate(KEEP)
            took = page.evaluate(TIMED_CHECK, [first, answers[first]]) / 1000
            if visit == "meanwhile":
                page.evaluate(ALL_KEPT)
            else:
                waits.append(took)
            page.close()
        context.close()
    server.slow = False
    memory, memory_again = tab_memory(server, answers)
    (server.folder / "sw.js").unlink()
    near, again, far, far_again = waits
    return (
        f"The first card of {CHECKED}: {near:.1f} s, at a later visit {again:.1f} s; at 9 Mbps and 60 ms {far:.1f} s, "
        f"at a later visit {far_again:.1f} s. After all its questions were checked, the tab uses {memory:.0f} MB, "
        f"at a later visit {memory_again:.0f} MB."
    )


def tab_memory(server: Server, answers: dict[str, str]) -> list[float]:
    """Return the MB of the tab after all questions were checked, at a reader's first visit and at a later one."""
    found = []
    with tempfile.TemporaryDirectory() as profile:
        for _ in ("first", "later"):
            with chromium_with(Path(profile)) as browser:
                browser.open(f"{server.address}/exercises/{CHECKED}.html")
                browser.evaluate(f"() => {KEEP}.then(() => true)")
                for pair in answers.items():
                    browser.evaluate(f"() => ({TIMED_CHECK})({json.dumps(pair)})")
                browser.evaluate(ALL_KEPT)
                found.append(browser.memory() / 1e6)
    return found


def model_times(browser: Browser, server: Server) -> str:
    """Return a line with the seconds until the real model is ready, its MB, a step's time, and the tab's memory."""
    waits = []
    for server.slow in (False, True):
        page = browser.new_context().new_page()
        page.goto(f"{server.address}/{REAL_MODEL}", wait_until="load")
        widget = page.locator(".qkv-widget[data-widget=RealModel]")
        server.sent, start = 0, time.perf_counter()
        widget.get_by_role("button", name="Load the model").click()
        slider = widget.get_by_role("slider", name="temperature")
        slider.wait_for(timeout=120_000)
        waits.append(time.perf_counter() - start)
        loaded = server.sent / 1e6
        steps = slider.evaluate(STEPS)  # of the stored sentence, which has 15 tokens
        memory = max(tab.memory_full_info().uss for tab in tabs()) / 1e6  # without what all tabs share
        page.context.close()
    server.slow = False
    return (
        f"The real model: {loaded:.2f} MB, ready after {waits[0]:.1f} s, at 9 Mbps and 60 ms after {waits[1]:.1f} s; "
        f"a step of the temperature {statistics.median(steps):.0f} ms (longest {max(steps):.0f}); "
        f"the tab uses {memory:.0f} MB of its own."
    )


def tabs() -> list[psutil.Process]:
    """Return the processes of the browser's pages."""
    below = psutil.Process().children(recursive=True)
    return [process for process in below if "--type=renderer" in process.cmdline()]


def faults(browser: Browser, server: Server, name: str) -> tuple[int, int, int]:
    """Return the counts of axe's violations over four looks, of requests to other hosts, and of console errors.

    Each address on another host counts once. `name` is the page's address from the site's root.
    """
    wrong, outside, errors = 0, set(), 0
    for width, scheme in LOOKS:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        asked: list[str] = []
        messages: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on("console", lambda m, messages=messages: messages.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error, messages=messages: messages.append(str(error)))
        page.goto(f"{server.address}/{name}", wait_until="load")
        start_widgets(page)
        page.evaluate("scrollTo(0, 0)")  # otherwise the header may cover a button, which axe then reports as too small
        page.evaluate(AXE.read_text(encoding="utf-8"))
        wrong += page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']}).then(r => r.violations.length)"
        )
        outside |= {url for url in asked if not url.startswith((f"{server.address}/", "data:", "blob:"))}
        outside |= {url for url in asked if url.startswith(f"{server.address}/cdn/")}
        errors += len(messages)
        context.close()
    return wrong, len(outside), errors


COLUMNS: dict[str, tuple[str, str]] = {
    "first": ("first kB", "{:8.1f}"),
    "second": ("then kB", "{:7.1f}"),
    "shift": ("shift", "{:6.3f}"),
    "local": ("ready s", "{:7.2f}"),
    "slow": ("slow s", "{:6.2f}"),
    "paint": ("paint s", "{:7.2f}"),
    "bare": ("bare s", "{:6.2f}"),
    "step": ("step ms", "{:7.1f}"),
    "axe": ("axe", "{:3}"),
    "outside": ("elsewhere", "{:9}"),
    "errors": ("errors", "{:6}"),
}


def measure(
    browser: Browser, server: Server, name: str, parts: set[str]
) -> tuple[dict[str, Any], list[tuple[str, float]]]:
    """Return the page's row of the table, and the longest step in ms of each of its sliders and drags.

    `name` is its address from the site's root. Of the parts weight, ready, paint, steps and faults, those in `parts`
    are measured.
    """
    row: dict[str, Any] = {}
    steps: list[tuple[str, float]] = []
    address = f"{server.address}/{name}"
    if "weight" in parts:
        row["first"], row["second"], row["shift"] = weight(browser, server, name)
    if "ready" in parts:
        row["local"], row["slow"] = (ready_seconds(browser, address, slow) for slow in (False, True))
    if "paint" in parts:
        row["paint"], row["bare"] = (paint_seconds(browser, server, name, bare) for bare in (False, True))
    if "steps" in parts:
        steps = handle_steps(browser, address)
        row["step"] = max((step for _, step in steps), default=None)
    if "faults" in parts:
        row["axe"], row["outside"], row["errors"] = faults(browser, server, name)
    return row, steps


def shown(name: str, row: dict[str, Any]) -> str:
    """Return a row of the table as text, after the page's name, with "–" for what was not measured."""
    cells = [
        form.format(row[key]) if row.get(key) is not None else "–".rjust(len(form.format(0)))
        for key, (_, form) in COLUMNS.items()
    ]
    return f"{name:36} {' '.join(cells)}"


def build_defaults() -> Path:
    """Build a chapter with Jupyter Book's defaults, and return the folder of its pages.

    The files that it loads from other hosts are fetched from npm, into DEFAULTS.
    """
    book = DEFAULTS / "book"
    (book / "chapters").mkdir(parents=True, exist_ok=True)
    (book / f"{COMPARED}.ipynb").write_bytes((ROOT / f"{COMPARED}.ipynb").read_bytes())
    cache = ROOT / "_build" / ".jupyter_cache"
    settings = f"title: Defaults\nexecute:\n  execute_notebooks: cache\n  cache: {cache}\n"
    (book / "_config.yml").write_text(settings, encoding="utf-8")
    (book / "_toc.yml").write_text(f"format: jb-book\nroot: {COMPARED}\n", encoding="utf-8")
    quiet: Callable[..., Any] = functools.partial(subprocess.run, check=True, capture_output=True, cwd=DEFAULTS)
    quiet([sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(book), "-q"])
    (DEFAULTS / "package.json").write_text("{}", encoding="utf-8")
    quiet(["npm", "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", *PACKAGES])
    require = DEFAULTS / "node_modules" / "requirejs"
    esbuild = ROOT / "node_modules" / ".bin" / "esbuild"
    quiet(
        [
            str(esbuild),
            "--minify",
            str(require / "require.js"),
            f"--outfile={require / 'require.min.js'}",
            "--allow-overwrite",
        ]
    )
    return book / "_build" / "html"


def compare(browser: Browser, ours: dict[str, Any]) -> None:
    """Print the row of the chapter with Jupyter Book's defaults, and its ratios to our row."""
    with serve(build_defaults()) as server:
        name = f"{COMPARED}.html"
        server.sent = 0
        page, _ = open_page(browser, f"{server.address}/{name}")
        page.wait_for_function("window.readyAt", timeout=60_000)
        page.wait_for_timeout(1500)
        row: dict[str, Any] = {"first": server.sent / 1000, "shift": page.evaluate("window.layoutShift")}
        page.context.close()
        row["local"], row["slow"] = (ready_seconds(browser, f"{server.address}/{name}", slow) for slow in (False, True))
        row["axe"], row["outside"], row["errors"] = faults(browser, server, name)
    print(shown("  the same with Jupyter Book's defaults", row))
    ratios = {key: f"{row[key] / ours[key]:.1f}" for key in ("first", "local", "slow") if ours.get(key)}
    print(f"  divided by ours: kB {ratios.get('first')}, ready {ratios.get('local')}, slow {ratios.get('slow')}")


def main() -> None:
    """Run the command line: measure the pages and print the table."""
    every = sorted(str(path.relative_to(SITE)) for path in SITE.glob("*/*.html") if path.parent.name[0] != "_")
    every.append("search.html?q=softmax")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "pages", nargs="*", default=every, help="addresses relative to the site; all of them by default"
    )
    parser.add_argument("--defaults", action="store_true", help=f"compare {COMPARED} with Jupyter Book's defaults")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS, help="what to measure; default: %(default)s")
    chosen = parser.parse_args()
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    print(f"{'page':36} {' '.join(title.rjust(len(form.format(0))) for title, form in COLUMNS.values())}")
    sliders: dict[str, float] = {}
    rows: dict[str, dict[str, Any]] = {}
    with sync_playwright() as playwright, serve(SITE) as server:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        for name in chosen.pages:
            rows[name], steps = measure(browser, server, name, set(chosen.jobs))
            print(shown(name, rows[name]), flush=True)
            for slider, step in steps:
                sliders[slider] = max(step, sliders.get(slider, 0.0))
        if sliders:
            print("\nLongest step of each slider and drag, ms at a CPU four times slower:")
            print(
                "\n".join(f"  {step:6.1f}  {slider}" for slider, step in sorted(sliders.items(), key=lambda e: -e[1]))
            )
        if "lab" in chosen.jobs:
            print(f"\n{lab_times(browser)} (CPU four times slower)")
        if "check" in chosen.jobs:
            print(f"\n{check_times(browser, server)}")
        if "model" in chosen.jobs:
            print(f"\n{model_times(browser, server)}")
        if chosen.defaults:
            name = f"{COMPARED}.html"
            ours = rows.get(name) or measure(browser, server, name, {"weight", "ready", "faults"})[0]
            print(f"\n{shown(name, ours)}")
            compare(browser, ours)
        browser.close()


if __name__ == "__main__":
    main()
