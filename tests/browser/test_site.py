"""Every page of the built site, as a reader meets it: light and dark, phone and desk, served and from a file."""

import gzip
import json
import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .conftest import A_FEW, SITE, gate_has, has_widgets, pages

pytestmark = pytest.mark.browser

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
CHAPTERS = [page for page in pages() if page.startswith("chapters/") and has_widgets(page)]
CONTENT = [page for page in pages() if page.startswith(("book/", "chapters/", "exercises/", "solutions/"))]

AXE = SITE.parents[1] / "node_modules" / "axe-core" / "axe.min.js"
# Formulas are left out: KaTeX draws each twice, and tests/book holds that their colours can be read.
RUN_AXE = """async () => (await axe.run({ exclude: [".katex"] }, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
})).violations.map(({ id, help, nodes }) => [id, help, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))])"""

# What a page, a style or a script asks for by itself, elsewhere.
REQUEST = re.compile(r"""(?:\bsrc|<link[^>]*\bhref|url|@import|import)\s*[=(]?\s*["'(]?\s*((?:https?:)?//[^"')\s>]+)""")


def violations_of(page: Page) -> list[list[str]]:
    """What axe-core finds against WCAG 2.2 AA and good practice, with everything on the page open."""
    page.evaluate("() => document.querySelectorAll('.qkv-widget details').forEach((e) => { e.open = true; })")
    page.evaluate(AXE.read_text(encoding="utf-8"))  # a page's policy keeps scripts from elsewhere out
    return page.evaluate(RUN_AXE)


def uncover(page: Page) -> None:
    """Open every covered answer and every folded aside of the page."""
    page.locator(".qkv-prediction-answer").evaluate_all("all => all.forEach((e) => e.classList.add('qkv-open'))")
    page.locator(".qkv-rest").evaluate_all("all => all.forEach((e) => { e.open = true; })")


COVERED = ":is(.qkv-prediction-answer:not(.qkv-open), .qkv-rest:not([open])) *"  # not laid out


def start_widgets(page: Page) -> list[Locator]:
    """Bring every widget that is not covered near, and wait until each says that it is ready."""
    for slot in page.locator(f".qkv-slot:not({COVERED})").all():
        slot.scroll_into_view_if_needed()
    widgets = page.locator(f".qkv-widget:not({COVERED})").all()
    for widget in widgets:
        widget.scroll_into_view_if_needed()
        widget.and_(page.locator('[data-state="ready"]')).wait_for(state="attached", timeout=5000)
    return widgets


def test_the_site_was_built():
    assert "index.html" in pages()
    assert CHAPTERS, "no chapter on the site"


# One of each kind on a phone in the dark or on a desk in the light, two both ways; the rest is a sweep.
LOOKS = [
    pytest.param(
        path,
        {"phone": PHONE, "desk": DESK}[screen],
        scheme,
        id=f"{path}-{screen}-{scheme}",
        marks=() if gated else pytest.mark.slow,
    )
    for path in CONTENT
    for screen, scheme, gated in (
        ("phone", "dark", path.startswith(("book/index", "chapters/03_", "chapters/deeper/03_", "exercises/03_"))),
        ("desk", "light", path.startswith(("book/index", "book/map", "chapters/03_", "solutions/03_"))),
        ("phone", "light", False),
        ("desk", "dark", False),
    )
]


@pytest.mark.parametrize(("path", "screen", "scheme"), LOOKS)
def test_page_opens_clean(visit: Callable[..., Page], path: str, screen: dict[str, int], scheme: str):
    page = visit(path, viewport=screen, color_scheme=scheme)
    uncover(page)
    start_widgets(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"], "it scrolls sideways"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3]))
    assert (brightness < 200) == (scheme == "dark"), background
    unnamed = page.locator("img:not([alt]), img[alt=''], main svg[role=img]:not([aria-label])")
    assert unnamed.count() == 0
    text = page.locator("article").inner_text()
    assert not re.search(r"\\(frac|sqrt|text|mathbb)|\$\$", text), "mathematics was left unrendered"
    violations = violations_of(page)
    assert not violations, json.dumps(violations, indent=1, ensure_ascii=False)


def test_nothing_of_the_site_asks_another_host_for_anything():
    files = [path for path in SITE.rglob("*") if path.suffix in {".html", ".css", ".js"}]
    asked = {(path.name, found) for path in files for found in REQUEST.findall(path.read_text(encoding="utf-8"))}
    assert {(name, url) for name, url in asked if "www.w3.org" not in url} == set()


def test_the_pattern_for_requests_finds_them():
    assert REQUEST.findall('<script src="https://cdn.example/x.js">') == ["https://cdn.example/x.js"]
    assert REQUEST.findall("<link rel='stylesheet' href='//fonts.example/y.css'>") == ["//fonts.example/y.css"]
    assert REQUEST.findall("src:url(https://fonts.example/z.woff2)") == ["https://fonts.example/z.woff2"]
    assert REQUEST.findall('<a href="https://arxiv.org/abs/1706.03762">') == []


@pytest.mark.parametrize("path", sorted({*pages()} - {*CONTENT, "index.html"}))  # the index leads on to the book's
def test_axe_finds_nothing_on_the_pages_around_them(visit: Callable[..., Page], path: str):
    page = visit(path, viewport=DESK)
    assert not violations_of(page)


@pytest.mark.parametrize("path", gate_has(CHAPTERS, *A_FEW))
def test_chapter_opens_from_a_file(visit: Callable[..., Page], path: str):
    page = visit(path, base=SITE.as_uri())
    uncover(page)
    assert start_widgets(page), "no widget on the page"


@pytest.mark.parametrize("path", gate_has(CHAPTERS, *A_FEW))
def test_mathematics_can_be_read_aloud(visit: Callable[..., Page], path: str):
    page = visit(path)
    formulas = page.locator(".katex").count()
    assert page.locator(".katex math").count() == formulas
    assert formulas or "/deeper/" in path  # a deeper page may do without


# Of a native control: its name, and the keys that use it; nothing for what cannot be used, or is chosen already.
KEYS = """control => {
  const kind = control.type || control.tagName.toLowerCase();
  if (control.disabled || (kind === "radio" && control.checked)) return null;
  const label = control.labels?.[0]?.innerText || control.ariaLabel || control.innerText;
  const away = control.value === control.max ? "ArrowLeft" : "ArrowRight";
  const keys = { range: away, checkbox: "Space", radio: "Space" }[kind] ?? "Enter";
  const text = kind in { number: 1, text: 1 } ? (control.value === "1" ? "2" : "1") : null;
  return { label, keys, text };
}"""
# What a widget shows. In a form of a prediction, the choice itself is all that a press on it shows.
SHOWN = """root => {
  const copy = root.cloneNode(true);
  copy.querySelectorAll('input, [aria-live]').forEach(e => e.remove());
  return copy.innerHTML + [...root.querySelectorAll('.qkv-predict input')].map(({ checked }) => checked);
}"""
# Whether a widget comes to show something else than `before` within two seconds.
CHANGES = f"""async (root, before) => {{
  const shown = {SHOWN};
  for (const end = performance.now() + 2000; performance.now() < end; ) {{
    if (shown(root) !== before) return true;
    await new Promise(requestAnimationFrame);
  }}
  return false;
}}"""


def first_shown() -> dict[str, set[str]]:
    """By page: the kinds of widgets that no page before it shows."""
    known: set[str] = set()
    first = {}
    for path in CHAPTERS:
        kinds = set(re.findall(r'class="qkv-slot"[^>]*data-for="(\w+)"', (SITE / path).read_text(encoding="utf-8")))
        first[path] = kinds - known
        known |= kinds
    return first


# In the gate one widget of each kind that a few pages show first; the sweeps try every widget.
KINDS = [
    pytest.param(path, kinds, id=path) for path, kinds in first_shown().items() if kinds and path.startswith(A_FEW)
]
EVERY_KIND = [pytest.param(path, None, id=f"{path}-every", marks=pytest.mark.slow) for path in CHAPTERS]


@pytest.mark.parametrize(("path", "kinds"), [*KINDS, *EVERY_KIND])
def test_every_control_works_by_keyboard_and_shows(visit: Callable[..., Page], path: str, kinds: set[str] | None):
    page = visit(path, viewport=PHONE)
    uncover(page)
    left = None if kinds is None else set(kinds)
    for widget in start_widgets(page):
        name = widget.get_attribute("data-widget") or ""
        if left is not None and name not in left:
            continue
        left = None if left is None else left - {name}
        controls = widget.locator("input, button").all()
        assert controls, f"{name} has no control"
        for index, control in enumerate(controls):
            use = control.evaluate(KEYS) if control.is_visible() else None  # another control may have taken it away
            if use is None:
                continue
            assert use["label"], f"control {index} of {name} has no label"
            before = widget.evaluate(SHOWN)
            control.focus()
            if use["text"]:
                control.fill(use["text"])
            page.keyboard.press(use["keys"])
            assert widget.evaluate(CHANGES, before), f"{use['label']!r} of {name} shows nothing"


def test_the_theme_does_not_reach_into_widgets(visit: Callable[..., Page]):
    page = visit("chapters/06_positional_encoding.html")
    uncover(page)
    start_widgets(page)
    below = page.locator(".qkv-tables").evaluate_all("all => all.map((e) => getComputedStyle(e).marginBottom)")
    assert set(below) == {"0px"}


def test_scaling_lab_makes_its_point(visit: Callable[..., Page]):
    page = visit("chapters/03_scaling.html")
    start_widgets(page)
    lab = page.locator('[data-widget="ScalingLab"]').first
    largest = lab.locator('[data-number="largest"]')
    first = float(largest.inner_text())
    lab.get_by_role("slider").first.press("End")
    expect(largest, "at the start, wider scores still change the largest weight").not_to_have_text(f"{first:.2f}")
    unscaled = float(largest.inner_text())
    lab.locator("input[type=checkbox]").first.check()
    expect(largest, "dividing by √d_k must make the largest weight small").to_have_text(re.compile(r"^0\.[1-4]"))
    assert first < 0.8
    assert unscaled > 0.9


def fetched_by(page: Page, address: str) -> set[str]:
    """The files that a page fetches until its last widget is ready."""
    fetched: set[str] = set()
    page.on("request", lambda request: fetched.add(urlsplit(request.url).path))
    page.goto(address)
    uncover(page)
    start_widgets(page)
    return {name for name in fetched if (SITE / name.lstrip("/")).is_file()}


def kilobytes(files: set[str]) -> float:
    """What files weigh, sent gzipped."""
    return sum(len(gzip.compress((SITE / name.lstrip("/")).read_bytes())) for name in files) / 1000


@pytest.fixture(scope="module")
def first_page(browser: Browser, site: str) -> set[str]:
    """The files of the book's first page, which a browser keeps for the second."""
    page = browser.new_page()
    fetched = fetched_by(page, f"{site}/book/index.html")
    page.close()
    return fetched


OTHERS = ("book/index.html", "book/map.html", "book/glossary.html", "search.html?q=softmax")
INDEX = "/search-index.js"
# The index of the search is loaded once, for all pages. It grows with the course, so its limit does too.
INDEX_KB_A_CHAPTER = 9.5


@pytest.mark.parametrize("path", [*gate_has(CHAPTERS, *A_FEW), *OTHERS])
def test_page_weighs_little(visit: Callable[..., Page], site: str, first_page: set[str], path: str):
    page = visit("book/how-to-use.html")
    fetched = fetched_by(page, f"{site}/{path}") - {INDEX}
    assert 5 < kilobytes(fetched) <= 250, f"{len(fetched)} files at the first load"
    assert kilobytes(fetched - first_page) <= 60, sorted(fetched - first_page)


def test_the_index_of_the_search_weighs_little_for_each_chapter():
    chapters = [path for path in CHAPTERS if "/deeper/" not in path]
    assert 5 < kilobytes({INDEX}) <= INDEX_KB_A_CHAPTER * len(chapters)
