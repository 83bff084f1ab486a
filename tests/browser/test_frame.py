"""The frame of a page in a real browser: theme, drawers, contents, copying, search; by keyboard, and from a file."""

import re
from collections.abc import Callable
from importlib.metadata import version
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from .conftest import SITE, pages
from .test_site import uncover

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
CHAPTER = "chapters/03_scaling.html"


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("system", ["light", "dark"])
def test_theme_follows_the_system_until_it_is_chosen(visit: Visit, system: str):
    page = visit(CHAPTER, viewport=DESK, color_scheme=system)
    other = {"light": "dark", "dark": "light"}[system]
    root = page.locator("html")
    button = page.get_by_role("button", name="Colours").last
    expect(root).to_have_attribute("data-theme", system)
    before = background(page)
    button.click()
    expect(root).to_have_attribute("data-theme", other)
    expect(page.locator("body")).to_have_attribute("data-theme", other)
    assert background(page) != before
    page.reload()
    expect(root).to_have_attribute("data-theme", other)
    button.click()
    button.click()
    expect(root).to_have_attribute("data-theme", system)


def test_theme_is_set_before_the_first_paint(visit: Visit):
    page = visit(CHAPTER, color_scheme="dark", java_script_enabled=True)
    assert page.evaluate("document.querySelector('head > script').textContent").count("dataset.theme") == 1
    first = page.evaluate("[...document.head.children].findIndex(e => e.tagName === 'SCRIPT')")
    style = page.evaluate("[...document.head.children].findIndex(e => e.rel === 'stylesheet')")
    assert first < style


@pytest.mark.parametrize("system", ["light", "dark"])
def test_without_scripts_the_page_can_be_read(visit: Visit, system: str):
    page = visit(CHAPTER, viewport=DESK, color_scheme=system, java_script_enabled=False)
    assert page.locator(".katex").first.is_visible()
    for slot in page.locator(".qkv-slot").all():
        assert "JavaScript" in slot.inner_text()
        assert slot.locator("input").count(), "it is drawn without scripts"
    largest = page.locator('[data-widget="ScalingLab"] [data-number="largest"]').first
    assert 0 < float(largest.inner_text()) < 1


@pytest.mark.parametrize("name", ["All pages", "On this page"])
def test_drawer_opens_and_closes_by_keyboard(visit: Visit, name: str):
    page = visit(CHAPTER, viewport=PHONE)
    opener = page.get_by_role("button", name=name)
    drawer = page.locator(f"#{opener.get_attribute('aria-controls')}")
    link = drawer.locator("a:visible").first
    expect(drawer).to_be_hidden()
    opener.focus()
    page.keyboard.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(link).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(opener).to_be_focused()


def test_links_of_a_closed_drawer_are_not_reached_by_tab(visit: Visit):
    page = visit("book/glossary.html", viewport=PHONE)
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate("!document.activeElement.closest('#qkv-nav')")


def test_contents_follow_the_reader(visit: Visit):
    page = visit(CHAPTER, viewport=DESK)
    link = page.locator(".toc-tree a").nth(4)
    link.click()
    expect(page.locator(".toc-tree a[aria-current]")).to_have_text(link.inner_text())


def test_code_is_copied_as_it_stands(visit: Visit):
    page = visit(CHAPTER, viewport=DESK, permissions=["clipboard-read", "clipboard-write"])
    cell = page.locator(".cell_input >> visible=true").first  # imports are folded
    cell.hover()
    cell.get_by_role("button", name="Copy").click()
    expect(cell.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").strip() == cell.locator("pre").inner_text().strip()


@pytest.mark.parametrize("where", ["served", "file"])
def test_search_finds_a_page(visit: Visit, site: str, where: str):
    page = visit("search.html?q=softmax", base=site if where == "served" else SITE.as_uri(), viewport=DESK)
    found = page.locator("#search-results a", has_text="Notation").first
    expect(found).to_be_visible()
    expect(page.get_by_label("Words that a page must contain")).to_have_value("softmax")
    found.click()
    expect(page.locator("h1")).to_contain_text("Notation")


FOUND_FIRST = {
    "√d_k": "Why divide by √dk",  # the k is lowered
    "sqrt(d_k)": "Why divide by √dk",
    "dₖ": "dk",
    "QKᵀ": "",
    "QK^T": "",
    r"Q K^\top": "",
    "注意力": "Glossary › attention (注意力)",
    "权重": "Glossary › weight (權重, 权重)",
    "queries": "",
    "masked_fill": "",
    "Vaswani": "References › Vaswani et al., 2017",
}


def test_search_finds_symbols_and_chinese(visit: Visit):
    page = visit(f"search.html?q={quote('√d_k')}")
    expect(page.locator("#search-results a:has(sub)").first).to_contain_text("√dk")
    for query, first in FOUND_FIRST.items():
        page.get_by_label("Words that a page must contain").fill(query)
        expect(page.locator("#search-status"), query).to_contain_text("Found in")
        expect(page.locator("#search-results a").first, query).to_contain_text(first)
        places = page.eval_on_selector_all("#search-results a", "links => links.map(link => link.href)")
        assert not [place for place in places if "solutions/" in place]


def test_search_answers_while_one_types_and_leads_to_the_place(visit: Visit):
    page = visit("search.html")
    box = page.get_by_label("Words that a page must contain")
    box.fill("attention zebra")
    expect(page.locator("#search-status")).to_contain_text("Not found")
    box.fill("attention sink")
    page.locator("#search-results a").first.click()
    page.wait_for_url("**/book/glossary.html#term-attention-sink")
    assert page.evaluate("document.querySelector(':target') !== null")


def test_no_exercise_leads_to_a_solution(visit: Visit):
    for path in (path for path in pages() if path.startswith("exercises/")):
        text = (SITE / path).read_text(encoding="utf-8")
        assert "solutions/" not in text, path
    listed = (SITE / "book" / "instructors.html").read_text(encoding="utf-8")
    assert 'href="../solutions/01_sequence_inputs.html"' in listed
    contents = listed[listed.index('class="sidebar-tree"') :]
    assert contents.index('href="references.html"') < contents.index("../solutions/01_"), "they come last"
    page = visit("solutions/03_scaling.html")
    expect(page.locator("h1")).to_contain_text("Solutions to chapter 3")
    assert page.locator("meta[name=robots]").get_attribute("content") == "noindex"


@pytest.mark.parametrize("path", pages())
def test_every_page_says_what_it_is(path: str):
    text = (SITE / path).read_text(encoding="utf-8")
    for needed in ('<meta name="description" content="', 'property="og:title"', 'property="og:image"', "<title>"):
        assert text.count(needed) == 1, needed
    if path != "index.html":
        assert f"QKV {version('qkv')}." in text
        assert re.search(r'<link rel="[^"]*\bicon" href="[^"]*favicon.svg', text)
    assert "Project name not set" not in text


def test_wide_code_can_be_scrolled_by_keyboard(visit: Visit):
    page = visit(CHAPTER, viewport=PHONE)
    uncover(page)
    page.wait_for_function(
        "() => [...document.querySelectorAll('pre')]"
        ".filter((box) => box.checkVisibility({ contentVisibilityAuto: true }))"
        ".every((box) => box.scrollWidth > box.clientWidth + 1 === (box.tabIndex === 0))"
    )
    assert page.locator("pre[tabindex='0']").count() > 0


def test_a_page_prints_without_its_frame_and_in_light(visit: Visit):
    page = visit(CHAPTER, viewport=DESK, color_scheme="dark")
    page.emulate_media(media="print")
    for part in ("#qkv-nav", "#qkv-toc", ".qkv-neighbours", ".qkv-corner"):
        expect(page.locator(part)).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_what_arrives_late_in_the_header_moves_nothing(visit: Visit):
    page = visit("chapters/03_scaling.html", viewport=PHONE)
    parts = page.locator(".mobile-header :is(.qkv-wordmark, .qkv-tool)")
    places = "all => all.map((part) => part.getBoundingClientRect().x)"
    there = parts.evaluate_all(places)
    while len(there) > 1:  # as a page stands that has arrived up to here
        parts.last.evaluate("part => part.remove()")
        there.pop()
        assert parts.evaluate_all(places) == there
