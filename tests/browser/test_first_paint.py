"""Widgets are drawn in the page that arrives: a script takes them over, and nothing moves."""

import functools
import http.server
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from .conftest import A_FEW, SITE, gate_has, pages
from .test_site import CHAPTERS, PHONE, start_widgets, uncover

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
WITH_WIDGETS = [*CHAPTERS, "book/index.html"]
PLAYS = "chapters/07_"  # it moves by itself, once it is seen
# What moved, by how much, and from where to where, from before the first paint on.
SHIFTS = """window.shifts = [];
const told = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (hadRecentInput) continue;
    const moved = sources.map(({ node, previousRect, currentRect }) => {
      const html = (node?.closest?.(".qkv-slot") ?? node?.parentElement ?? node)?.outerHTML;
      return `${String(html).slice(0, 120)}: ${told(previousRect)} to ${told(currentRect)}`;
    });
    window.shifts.push([value, ...moved]);
  }
}).observe({ type: "layout-shift", buffered: true });"""
# Each widget as it is, without what a script alone adds and without lit's marks.
DRAWN = """() => [...document.querySelectorAll(".qkv-widget")].map((widget) => {
  const copy = widget.querySelector(":scope > div").cloneNode(true);
  for (const still of copy.querySelectorAll(".qkv-heatmap > i")) still.remove();
  // An exam is marked sentence by sentence, once it is seen.
  for (const exam of copy.querySelectorAll(".qkv-exam, .qkv-exam-squares")) exam.remove();
  // A line between two elements is drawn where the browser has laid them out.
  for (const line of copy.querySelectorAll(".qkv-thread path")) line.removeAttribute("d");
  const controls = widget.querySelectorAll(":scope > div input");
  for (const [i, input] of copy.querySelectorAll("input").entries()) {
    const { value, checked } = controls[i];
    for (const name of ["value", "checked", "data-lm-suppress-shortcuts"]) input.removeAttribute(name);
    input.title = [value, checked];
  }
  for (const canvas of copy.querySelectorAll("canvas")) canvas.removeAttribute("data-painted");
  for (const element of copy.querySelectorAll("*")) {
    const attributes = [...element.attributes].map(({ name, value }) => [name, value]).sort();
    for (const [name] of attributes) element.removeAttribute(name);
    for (const [name, value] of attributes) element.setAttribute(name, value); // in one order
  }
  return copy.innerHTML
    .replaceAll(/<!--.*?-->/g, "")
    .replaceAll(/\\b(?:widget|qkv)-\\d+-/g, "")
    .replaceAll(/\\d+\\.\\d{9,}/g, (number) => Number(Number(number).toFixed(8))); // engines' last digits differ
})"""


@pytest.mark.parametrize("path", gate_has(sorted({*pages()} - {"index.html"}), *A_FEW, PLAYS))  # it leads on
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves(visit: Visit, site: str, path: str, width: int):
    page = visit("404.html", viewport={"width": width, "height": 844})
    page.add_init_script(SHIFTS)
    page.goto(f"{site}/{path}", wait_until="load")
    start_widgets(page)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    assert page.evaluate("window.shifts") == []


@pytest.fixture
def halting() -> Iterator[str]:
    """Address of the site on a connection that halts for half a second in the middle of the map's formula."""

    class Halting(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing: pytest's output is for the tests."""

        def copyfile(self, source: IO[bytes], outputfile: IO[bytes]) -> None:
            text = source.read()
            half = text.find(b"softmax", text.find(b"katex-html")) + 20 if self.path.endswith("map.html") else 0
            outputfile.write(text[:half])
            outputfile.flush()
            time.sleep(0.5 if half else 0)
            outputfile.write(text[half:])

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Halting, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_nothing_moves_while_the_first_screen_is_still_coming(browser: Browser, halting: str):
    context = browser.new_context(viewport={"width": 1280, "height": 844})
    page = context.new_page()
    page.add_init_script(SHIFTS)
    page.goto(f"{halting}/book/map.html", wait_until="commit")
    page.locator(".katex-html").first.wait_for(state="attached")
    assert page.evaluate("document.readyState") == "loading"
    expect(page.locator("h1")).to_be_hidden()
    page.wait_for_load_state()
    expect(page.locator("h1")).to_be_visible()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    assert page.evaluate("window.shifts") == []
    context.close()


def without_drawings(route: Route) -> None:
    """Send a page as it would be if the build had drawn nothing."""
    answer = route.fetch()
    bare = r'(<div class="qkv-slot"[^>]*><script.*?</script>).*?(<noscript>)'
    route.fulfill(response=answer, body=re.sub(bare, r"\1\2", answer.text(), flags=re.DOTALL))


@pytest.mark.parametrize("path", gate_has(WITH_WIDGETS, *A_FEW))
def test_a_drawing_of_the_build_is_what_a_browser_draws_and_is_taken_over(visit: Visit, site: str, path: str):
    before = visit(path, java_script_enabled=False).evaluate(DRAWN)
    taken = visit(path, reduced_motion="reduce")  # then no widget plays by itself
    marks = "[...document.querySelectorAll('.qkv-widget > div')].map((body, i) => { body.mark = i; return i; })"
    count = len(taken.evaluate(marks))
    uncover(taken)
    start_widgets(taken)
    fresh = visit("404.html", reduced_motion="reduce")
    fresh.route(f"{site}/{path}", without_drawings)
    fresh.goto(f"{site}/{path}", wait_until="load")
    assert fresh.locator(".qkv-widget[data-state=waiting] > div").count() == 0
    uncover(fresh)
    start_widgets(fresh)
    drawn = fresh.evaluate(DRAWN)
    assert len(before) == len(drawn) == count > 0
    for one, two, three in zip(before, taken.evaluate(DRAWN), drawn, strict=True):
        assert one == three
        assert two == three
    kept = "[...document.querySelectorAll('.qkv-widget > div')].map((body) => body.mark)"
    assert taken.evaluate(kept) == list(range(count)), "the elements are the ones that arrived"


def test_what_a_link_asks_for_is_there_before_the_text_is_seen(visit: Visit, site: str):
    page = visit("404.html", viewport=PHONE)
    page.add_init_script(SHIFTS)
    slot = page.locator('.qkv-slot[data-for="Predict"]').first
    page.goto(f"{site}/chapters/03_scaling.html")
    name = f"Predict-{(slot.get_attribute('id') or '').removeprefix('widget-')}"
    page.goto(f"{site}/chapters/03_scaling.html?{name}.guess=A")
    expect(slot.locator(".qkv-yours")).to_be_visible()
    start_widgets(page)
    assert page.evaluate("window.shifts") == []
    expect(page.locator("html")).not_to_have_class(re.compile("qkv-asked"))


def test_the_first_page_opens_on_a_sentence_and_the_way_in_on_one_screen(visit: Visit):
    page = visit("book/index.html", viewport=PHONE)
    lab = page.locator('[data-widget="SentenceLab"][data-state="ready"]')
    expect(lab.locator(".qkv-finding")).to_contain_text("the cat was hungry")
    start = page.get_by_role("link", name="Start with chapter 1").bounding_box()
    assert start is not None
    assert start["y"] + start["height"] <= PHONE["height"]
    lab.get_by_role("radio", name="tasty").check()
    expect(lab.locator(".qkv-finding")).to_contain_text("the mouse was tasty")


def test_weights_are_loaded_where_a_widget_computes_with_them():
    for path in WITH_WIDGETS:
        page = (SITE / path).read_text(encoding="utf-8")
        for weights, widgets in {"tagger": "SentenceLab|TransformerFlow", "repeater": "HeadMicroscope"}.items():
            loaded = len(re.findall(rf'<script[^>]*src="[^"]*qkv-weights-{weights}', page))
            shown = re.search(rf'class="qkv-slot"[^>]*data-for="({widgets})"', page)
            assert loaded == (1 if shown else 0), (path, weights)


EARLIER = "qkv-weights-repeater-checkpoints.js"


def microscope(page: Page) -> tuple[Locator, Locator]:
    """The slider of the training steps, and what the model says."""
    slot = page.locator('.qkv-slot[data-for="HeadMicroscope"]')
    slot.scroll_into_view_if_needed()
    slot.locator('[data-state="ready"]').wait_for()
    slot.locator("summary", has_text="Training, and a text of your own").click()
    return slot.get_by_role("slider", name="training step"), slot.locator(".qkv-scope-next")


def test_the_weights_of_earlier_steps_are_loaded_when_one_is_asked_for(visit: Visit):
    page = visit("chapters/09_inside.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    slider, says = microscope(page)
    said = says.inner_text()
    assert not any(EARLIER in url for url in asked)
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0 of 1,500")
    expect(says).not_to_have_text(said)
    untrained = says.inner_text()
    slider.press("ArrowRight")
    expect(says).not_to_have_text(untrained)
    slider.press("End")
    expect(says).to_have_text(said)
    assert sum(EARLIER in url for url in asked) == 1


@pytest.mark.slow
def test_weights_that_do_not_arrive_are_told_and_asked_for_again(browser: Browser, site: str):
    page = browser.new_page()
    page.route(f"**/{EARLIER}", lambda route: route.abort())
    page.goto(f"{site}/chapters/09_inside.html")
    slider, says = microscope(page)
    slider.press("Home")
    expect(says).to_contain_text("did not load")
    page.unroute(f"**/{EARLIER}")
    slider.press("ArrowRight")
    expect(says).to_contain_text("The model predicts")
    page.close()
