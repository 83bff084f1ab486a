"""The site in other languages: the same pages, anchors and links as in English, a switch that keeps the place.

These tests need a site in these languages: `make site`. The gate builds one.
"""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import A_FEW, ROOT, SITE, gate_has, lay_out
from tests.browser.test_site import PHONE, start_widgets, uncover
from tests.browser.test_widths import SIDEWAYS
from tools.course import LANGUAGES, TRANSLATED
from tools.translations import terms, weaving

pytestmark = pytest.mark.browser

BUILT = [code for code in TRANSLATED if (SITE / LANGUAGES[code].folder).exists()]
MAY_BE_ENGLISH = re.compile(r"<(script|style|code|svg|textarea|em|q|blockquote|a)\b.*?</\1>", re.DOTALL)
SENTENCE = re.compile(r"[A-Z][a-z]+(?: [a-z]+){4,}[.?!]")


def test_the_site_is_built_in_other_languages() -> None:
    assert BUILT, "To build them: make site (or python tools/site.py build --languages zh_TW)"


def pages(folder: Path) -> set[str]:
    others = {LANGUAGES[code].folder for code in TRANSLATED}
    found = (path.relative_to(folder) for path in folder.rglob("*.html"))
    return {path.as_posix() for path in found if path.parts[0] not in {*others, "_static", "solutions", "reports"}}


def ids(page: Path) -> list[str]:
    """Return the anchors of a page, without those that docutils only counts: id1, id2, …"""
    text = re.sub(r"<(script|svg)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sorted(name for name in re.findall(r'\bid="([^"]+)"', text) if not re.fullmatch(r"id\d+", name))


@pytest.mark.parametrize("code", BUILT)
def test_every_page_has_the_anchors_of_the_english_one(code: str) -> None:
    folder = SITE / LANGUAGES[code].folder
    assert pages(folder) == pages(SITE)
    wrong = {page: set(ids(folder / page)) ^ set(ids(SITE / page)) for page in sorted(pages(folder))}
    assert {page: names for page, names in wrong.items() if names} == {}


def links(page: Path) -> set[str]:
    """Return the targets on this site of the links in a page's text. Solutions are in English alone."""
    article = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
    return {to for to in re.findall(r'<a [^>]*href="([^"]+)"', article) if not re.match(r"\w+:|[./]*solutions/", to)}


@pytest.mark.parametrize("code", BUILT)
def test_every_page_has_the_links_of_the_english_one(code: str) -> None:
    folder = SITE / LANGUAGES[code].folder
    wrong = {page: links(folder / page) ^ links(SITE / page) for page in sorted(pages(folder)) if page != "404.html"}
    assert {page: targets for page, targets in wrong.items() if targets} == {}


MOST_MORE = 5_000  # bytes by which a page may be larger than the English one, both compressed


@pytest.mark.parametrize("code", BUILT)
def test_a_page_is_hardly_larger_than_in_english(code: str) -> None:
    folder = SITE / LANGUAGES[code].folder

    def size(path: Path) -> int:
        return len(gzip.compress(path.read_bytes()))

    more = {page: size(folder / page) - size(SITE / page) for page in sorted(pages(folder))}
    assert {page: extra for page, extra in more.items() if extra > MOST_MORE} == {}


@pytest.mark.parametrize("code", BUILT)
def test_the_notes_at_words_are_those_of_the_glossary(code: str) -> None:
    """The anchors are the English ones; a note has the term's name in the language, then the English one."""

    def notes(folder: Path) -> dict[str, tuple[str, str]]:
        text = (folder / "terms.js").read_text(encoding="utf-8")
        return dict(json.loads(text.removeprefix("window.qkvTerms=").rstrip(";\n")))

    english, said = notes(SITE), notes(SITE / LANGUAGES[code].folder)
    assert said.keys() == english.keys()
    for anchor, (name, _) in said.items():
        term = english[anchor][0]
        names = terms.glossary().get(term)  # None: FlashAttention has no other name
        assert name == (f"{names[TRANSLATED.index(code)]}（{term}）" if names else term)


# ── on a phone ────────────────────────────────────────────────────────────────────────────────────

NOTO = {
    "zh_TW": ROOT / "node_modules/@fontsource-variable/noto-sans-tc",
    "zh_CN": ROOT / "node_modules/@fontsource-variable/noto-sans-sc",
}


LOADED = "() => [...document.fonts].some(({ family, status }) => /Noto Sans/.test(family) && status === 'loaded')"


def with_chinese_font(page: Page, code: str) -> None:
    """Let the page show Chinese in Noto Sans, for systems that have no Chinese font."""
    style = (NOTO[code] / "index.css").read_text(encoding="utf-8")
    style = style.replace(" Variable'", "'").replace(
        "./files/", "/noto/"
    )  # by the name that the page's style has for it
    page.route(
        "**/noto/*", lambda route: route.fulfill(path=NOTO[code] / "files" / route.request.url.rpartition("/")[2])
    )
    page.add_style_tag(content=style)
    page.wait_for_function(LOADED)


ON_A_PHONE = gate_has(
    sorted(f"{LANGUAGES[code].folder}/{page}" for code in BUILT for page in pages(SITE) if "/" in page),
    *(f"zh-tw/{start}" for start in A_FEW),
)


@pytest.mark.parametrize("path", ON_A_PHONE)
def test_on_a_phone_no_page_in_another_language_can_be_pushed_sideways(visit: Callable[..., Page], path: str) -> None:
    page = visit(path, viewport=PHONE)
    with_chinese_font(page, next(code for code in BUILT if path.startswith(LANGUAGES[code].folder)))
    uncover(page)
    lay_out(page)
    for widget in [page.locator("h1"), *start_widgets(page)]:
        widget.scroll_into_view_if_needed()
        assert page.evaluate(SIDEWAYS) == [], widget


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", BUILT)
def test_no_link_leads_nowhere(code: str) -> None:
    folder, wrong = SITE / LANGUAGES[code].folder, []
    for page in sorted(pages(folder)):
        text = (folder / page).read_text(encoding="utf-8")
        for link in set(re.findall(r'(?:href|src)="([^":?#]+)[^":]*"', text)):
            if page != "404.html" and not ((folder / page).parent / link).exists():
                wrong.append(f"{page}: {link}")
    assert wrong == []


@pytest.mark.parametrize("code", BUILT)
def test_a_page_that_is_not_finished_says_so(code: str) -> None:
    folder = SITE / LANGUAGES[code].folder
    for path in weaving.translated():
        page = f"{weaving.name_of(path)}.html"
        text = (folder / page).read_text(encoding="utf-8")
        assert ("qkv-unfinished" in text) == (weaving.name_of(path) in weaving.unfinished()), page
        assert f'lang="{LANGUAGES[code].tag}"' in text


@pytest.mark.parametrize("code", BUILT)
def test_a_finished_page_has_no_english_sentence(code: str) -> None:
    """Neither in its text, nor in its code and what that prints. Quoted sentences and names of works may be English."""
    folder = SITE / LANGUAGES[code].folder
    left = {}
    for page in {weaving.name_of(path) for path in weaving.translated()} - set(weaving.unfinished()):
        article = (folder / f"{page}.html").read_text(encoding="utf-8").split("<article", 1)[1].split("</article>")[0]
        left[page] = SENTENCE.findall(re.sub(r"<[^>]*>", " ", MAY_BE_ENGLISH.sub(" ", article)))
    # A program on a page without cells stays as it is.
    assert {page: found for page, found in left.items() if found} == {
        "book/instructors-scale": ["Enter to stop the workers."]
    }


@pytest.mark.parametrize("code", BUILT)
def test_the_switch_keeps_the_place(site: str, browser: Browser, code: str) -> None:
    """The same page opens at the section that was reached, and no other host is asked for anything."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site}/chapters/03_scaling.html#how-large-is-a-score")
    page.wait_for_timeout(300)
    page.click(".qkv-corner .qkv-languages summary")
    page.click(f".qkv-corner .qkv-languages a[lang={LANGUAGES[code].tag}]")
    page.wait_for_load_state()
    assert page.url == f"{site}/{LANGUAGES[code].folder}/chapters/03_scaling.html#how-large-is-a-score"
    assert page.locator("html").get_attribute("lang") == LANGUAGES[code].tag
    assert not [url for url in asked if not url.startswith((site, "data:", "blob:"))]
    page.close()


@pytest.mark.parametrize("code", BUILT)
def test_a_widget_speaks_the_language_of_its_page(site: str, browser: Browser, code: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/{LANGUAGES[code].folder}/chapters/03_scaling.html")
    page.wait_for_selector('[data-widget="ScalingLab"][data-state="ready"]')
    lab = page.locator('[data-widget="ScalingLab"]').first
    before = lab.inner_text()
    lab.locator("[role=switch]").click(force=True)
    page.wait_for_timeout(200)
    after = lab.inner_text()
    assert before != after
    assert not SENTENCE.search(after)
    assert "features" not in after
    page.close()


@pytest.mark.parametrize("code", BUILT)
def test_the_search_finds_in_both_scripts(site: str, browser: Browser, code: str) -> None:
    page = browser.new_page()
    for words in ("注意力權重", "注意力权重"):
        page.goto(f"{site}/{LANGUAGES[code].folder}/search.html?q={words}")
        page.wait_for_selector("#search-results li")
    page.close()


@pytest.mark.parametrize("code", BUILT)
def test_a_term_is_explained_in_the_language_of_its_page(site: str, browser: Browser, code: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/{LANGUAGES[code].folder}/chapters/03_scaling.html")
    page.locator("article a[href*='glossary.html#term-softmax']").first.hover()
    note = page.locator(".qkv-term")
    note.wait_for()
    text = note.inner_text()
    page.close()
    assert len(re.findall(r"[\u4e00-\u9fff]", text)) > 20, text
    assert re.findall(r"[a-z]{3,}", text.replace("softmax", "")) == [], text
