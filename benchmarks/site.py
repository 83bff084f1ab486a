"""What a reader waits for, on the built site: weight, time until widgets are ready, longest step of a slider.

    make site && .venv/bin/python benchmarks/site.py [PAGE …]

For each page: kB gzipped at the first load; seconds until the first widget is ready, on localhost and at 9 Mbps, 60 ms
and a CPU four times slower; the work of a slider step in ms at that CPU, median and longest of 20 steps of each slider.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import http.server
import os
import statistics
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT))
from tools.system import chromium  # noqa: E402

SLOW = {"offline": False, "latency": 60, "downloadThroughput": 9e6 / 8, "uploadThroughput": 9e6 / 8}
# Notes when the first widget says that it is ready, however early that is.
WATCH = """
window.layoutShift = 0;
new PerformanceObserver(l => l.getEntries().forEach(e => { if (!e.hadRecentInput) window.layoutShift += e.value; }))
  .observe({type: 'layout-shift', buffered: true});
new MutationObserver((_, self) => {
  if (document.querySelector('[data-state="ready"]')) { window.readyAt = performance.now(); self.disconnect(); }
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-state']});
"""
# The work of a step: the event, the animation frame that it asks for, and the layout. Waiting for the frame is not.
STEPS = """async (slider) => {
  const frame = window.requestAnimationFrame.bind(window);
  const timed = (f) => { const start = performance.now(); f(); work += performance.now() - start; };
  let work = 0;
  window.requestAnimationFrame = (callback) => frame((time) => timed(() => callback(time)));
  const works = [];
  for (let i = 0; i < 20; i++) {
    const share = (i * 7 % 20) / 19;
    work = 0;
    slider.value = String(Number(slider.min) + share * (slider.max - slider.min));
    timed(() => slider.dispatchEvent(new Event('input', {bubbles: true})));
    await new Promise((done) => frame(() => {
      timed(() => slider.closest('.qkv-widget').getBoundingClientRect());
      done();
    }));
    await new Promise((done) => setTimeout(done, 30));
    works.push(work);
  }
  window.requestAnimationFrame = frame;
  return works;
}"""


def serve() -> http.server.ThreadingHTTPServer:
    """Serve the site with gzip, as any host of static pages does."""

    class Gzipped(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            path = Path(self.translate_path(self.path))
            path = path / "index.html" if path.is_dir() else path
            if not path.exists():
                return self.send_error(404)
            body = gzip.compress(path.read_bytes(), 6)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(str(path)))
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    handler = functools.partial(Gzipped, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def open_page(browser: Browser, address: str, slow: bool) -> tuple[Page, CDPSession, set[str]]:
    """A page in a fresh context (no cache), with the paths that it fetched."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    fetched: set[str] = set()
    page.on("request", lambda request: fetched.add(urlsplit(request.url).path))
    session = page.context.new_cdp_session(page)
    if slow:
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.add_init_script(WATCH)
    page.goto(address, wait_until="load")
    return page, session, fetched


def ready_seconds(browser: Browser, address: str, slow: bool) -> float | None:
    """Median of three fresh loads, from navigation to the first ready widget."""
    times = []
    for _ in range(3):
        page, _, _ = open_page(browser, address, slow)
        if not page.locator(".qkv-slot").count():
            page.context.close()
            return None
        page.locator(".qkv-slot").first.scroll_into_view_if_needed()
        page.wait_for_function("window.readyAt", timeout=30_000)
        times.append(page.evaluate("window.readyAt") / 1000)
        page.context.close()
    return statistics.median(times)


def slider_steps(browser: Browser, address: str) -> tuple[float, float]:
    """Milliseconds of a slider step at a CPU four times slower: median and longest over every slider of the page."""
    page, session, _ = open_page(browser, address, slow=False)
    for slot in page.locator(".qkv-slot").all():
        slot.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    times = [t for slider in page.locator("input[type=range]").all() for t in slider.evaluate(STEPS)]
    page.context.close()
    return (statistics.median(times), max(times)) if times else (float("nan"), float("nan"))


def weight(browser: Browser, address: str) -> tuple[float, int, float]:
    """kB gzipped of all that the first load fetched, the number of files, and the layout shift."""
    page, _, fetched = open_page(browser, address, slow=False)
    page.wait_for_timeout(500)
    shift = page.evaluate("window.layoutShift")
    page.context.close()
    files = [SITE / name.lstrip("/") for name in fetched]
    return sum(len(gzip.compress(f.read_bytes())) for f in files if f.is_file()) / 1000, len(files), shift


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help="addresses relative to the site; all chapters by default")
    chosen = parser.parse_args().pages or sorted(str(p.relative_to(SITE)) for p in SITE.glob("chapters/*.html"))
    server = serve()
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    print(
        f"{'page':36} {'kB gz':>6} {'files':>5} {'shift':>6} {'ready s':>8} {'slow s':>7} {'step ms':>8} {'longest':>8}"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        for name in chosen:
            address = f"http://127.0.0.1:{server.server_port}/{name}"
            kilobytes, files, shift = weight(browser, address)
            local, slow = ready_seconds(browser, address, False), ready_seconds(browser, address, True)
            median, longest = slider_steps(browser, address)
            ready = " ".join(f"{value:8.2f}" if value else "       –" for value in (local, slow))
            print(f"{name:36} {kilobytes:6.0f} {files:5} {shift:6.3f} {ready} {median:7.1f} {longest:8.1f}", flush=True)
    server.shutdown()


if __name__ == "__main__":
    main()
