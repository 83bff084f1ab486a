"""Reading a page: links land where they lead, code folds, Chinese is drawn, and the map shows the way."""

import base64
import re
from collections.abc import Callable
from html import unescape
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont
from playwright.sync_api import Page, expect
from qkv_site.assets import KATEX, USED

from .conftest import A_FEW, SITE, gate_has, lay_out, pages
from .test_first_paint import SHIFTS
from .test_site import CHAPTERS, DESK, PHONE, start_widgets, violations_of

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
CHAPTER = "chapters/03_scaling.html"
LINKED = [*CHAPTERS, "book/glossary.html", "book/references.html"]
ROOM = {"phone": (PHONE, 56), "desk": (DESK, 24)}  # px between the top of the window and where a link leads
# Where each place that the page's contents or its own links lead to comes to stand, and the least that it could.
LANDED = """() => [...new Set([...document.querySelectorAll("article a[href^='#'], .toc-tree a[href^='#']")]
  .map((link) => link.hash).filter((hash) => hash.length > 1))].map((hash) => {
    location.hash = hash;
    const top = document.querySelector(":target").getBoundingClientRect().top;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 1;
    return [hash, Math.round(top), atEnd];
  })"""


# Of each covered answer: whether its button can be pressed, what of the answer is shown, and the height of the box.
COVERS = """() => [...document.querySelectorAll('.qkv-prediction-answer:not(.qkv-open)')].map((cover) => {
  const button = cover.querySelector('.qkv-uncover button');
  button.scrollIntoView({ block: 'center' });
  const { left, top, width, height } = button.getBoundingClientRect();
  const shown = [...cover.querySelectorAll(':scope > :not(.cell, .qkv-uncover), .cell_output, .qkv-own')]
    .filter((e) => e.checkVisibility());
  const pressed = document.elementFromPoint(left + width / 2, top + height / 2) === button;
  return [pressed, shown.length, button.parentElement.offsetHeight];
})"""


@pytest.mark.parametrize("path", gate_has(CHAPTERS, "chapters/04_"))
def test_an_answer_is_covered_by_a_small_box_with_a_button(visit: Visit, path: str):
    page = visit(path, viewport=PHONE)
    start_widgets(page)
    covers = page.evaluate(COVERS)
    assert covers
    assert all(cover[:2] == [True, 0] and cover[2] <= 120 for cover in covers), covers


COVER = ".qkv-prediction-answer"
# Where everything that is shown stands before an answer's button.
BEFORE = """cover => [...document.querySelectorAll('section > p, .qkv-prediction-answer > p, .qkv-widget, .cell_input')]
  .filter((e) => e.compareDocumentPosition(cover.querySelector('.qkv-uncover')) === Node.DOCUMENT_POSITION_FOLLOWING)
  .filter((e) => e.checkVisibility())
  .map((e) => e.getBoundingClientRect().top)"""


def test_an_answer_opens_below_its_button_and_moves_nothing_above(visit: Visit):
    page = visit("chapters/04_softmax_temperature.html", viewport=PHONE)
    lay_out(page)
    covers = page.locator(COVER).filter(has=page.locator(".cell_output")).all()
    assert len(covers) > 1
    for cover in covers:
        button = cover.locator(".qkv-uncover button")
        button.scroll_into_view_if_needed()
        before = cover.evaluate(BEFORE)
        button.click()
        expect(cover.locator(".cell_output").first).to_be_visible()
        assert len(before) > 10
        after = cover.evaluate(BEFORE)
        assert len(after) > len(before)
        assert after[: len(before)] == before
        assert page.evaluate("document.activeElement.matches('.qkv-prediction-answer.qkv-open *')")


def test_a_guess_uncovers_what_answers_it_and_another_try_covers_it(visit: Visit):
    page = visit(CHAPTER, viewport=PHONE)
    cover = page.locator(COVER).first
    widget = page.locator('[data-widget="PredictNumber"]').first
    widget.scroll_into_view_if_needed()
    widget.and_(page.locator('[data-state="ready"]')).wait_for()
    widget.get_by_role("spinbutton").fill("32")
    widget.get_by_role("button", name="check").click()
    expect(cover.locator(".cell_output").first).to_be_visible()
    widget.get_by_role("button", name="try again").click()
    expect(cover.locator(".cell_output").first).to_be_hidden()


@pytest.mark.parametrize("path", gate_has(CHAPTERS, "chapters/04_"))
def test_answers_that_were_guessed_are_open_before_the_first_paint(visit: Visit, site: str, path: str):
    page = visit("404.html", viewport=PHONE)
    guesses = {f"{path.removesuffix('.html')}#widget-{i}": {"isRight": True, "isSure": False} for i in range(1, 30)}
    kept = {"format": "qkv-predictions", "version": 1, "guesses": guesses}
    page.evaluate("kept => localStorage.setItem('qkv-predictions', JSON.stringify(kept))", kept)
    page.add_init_script(SHIFTS)
    page.goto(f"{site}/{path}")
    start_widgets(page)
    assert page.evaluate("window.shifts") == []
    assert page.locator(COVER).count() == page.locator(f"{COVER}.qkv-open").count() > 0


def test_a_link_into_a_covered_answer_opens_it(visit: Visit, site: str):
    path = "chapters/08_transformer.html"
    hidden = visit(path).locator(f"{COVER} .qkv-slot").first.get_attribute("id")
    page = visit("404.html", viewport=PHONE)
    page.add_init_script(SHIFTS)
    page.goto(f"{site}/{path}#{hidden}")
    expect(page.locator(f"#{hidden}")).to_be_in_viewport()
    assert page.evaluate("window.shifts") == []
    expect(page.locator(f"{COVER}.qkv-open")).to_have_count(1)


@pytest.mark.parametrize("path", gate_has(LINKED, *A_FEW, "chapters/05_", "chapters/06_", "book/glossary"))
@pytest.mark.parametrize("screen", ROOM)
def test_a_link_within_a_page_lands_at_its_place_at_once(visit: Visit, path: str, screen: str):
    size, room = ROOM[screen]
    landed = visit(path, viewport=size).evaluate(LANDED)
    assert landed, "the page has no place to link to"
    assert [place for place in landed if abs(place[1] - room) > 2 and not place[2]] == []


@pytest.mark.parametrize("screen", ROOM)
def test_a_page_opens_at_the_place_that_its_address_names(visit: Visit, screen: str):
    size, room = ROOM[screen]
    page = visit("chapters/06_positional_encoding.html#in-the-wild", viewport=size)
    place = "document.querySelector(':target').getBoundingClientRect().top"
    assert abs(page.evaluate(place) - room) <= 2
    page.wait_for_timeout(500)  # widgets near it come alive
    assert abs(page.evaluate(place) - room) <= 2


@pytest.mark.parametrize("path", [CHAPTER, "exercises/08_transformer.html", "solutions/11_everywhere.html"])
def test_the_list_of_pages_is_at_the_page_that_is_open(visit: Visit, path: str):
    page = visit(path, viewport=DESK)
    here = page.locator(".sidebar-tree [aria-current=page]")
    expect(here).to_have_count(1)
    expect(here).to_be_in_viewport()


def switched(page: Page) -> None:
    """Use the switch of read mode by keyboard."""
    switch = page.get_by_role("switch", name="Read mode: code is folded")
    expect(switch).to_have_count(1)
    switch.focus()
    page.keyboard.press("Space")


@pytest.mark.parametrize("screen", [PHONE, pytest.param(DESK, marks=pytest.mark.slow)], ids=["phone", "desk"])
def test_read_mode_folds_code_and_is_remembered(visit: Visit, screen: dict[str, int]):
    page = visit(CHAPTER, viewport=screen)
    code = page.locator(".cell_input:has(> .qkv-unfold) > div")
    lines = page.locator(".qkv-unfold")
    expect(lines.first).to_be_visible(visible=screen is PHONE)  # on a phone code is folded at first
    if screen is PHONE:
        assert max(lines.evaluate_all("all => all.map((line) => line.offsetHeight)")) < 40, "a line has broken"
        switched(page)
    outputs = page.locator(".cell_output:visible").count()
    assert code.count() == lines.count() > 5
    expect(code.first).to_be_visible()
    expect(lines.first).to_be_hidden()
    switched(page)
    expect(page.locator(".qkv-read-mode:visible")).to_have_attribute("aria-checked", "true")
    page.add_init_script(SHIFTS)
    page.reload()
    start_widgets(page)
    assert page.evaluate("window.shifts") == [], "nothing moves when a page opens folded"
    expect(page.locator(".cell_input:has(> .qkv-unfold) > div:visible")).to_have_count(0)
    assert page.locator(".cell_output:visible").count() == outputs
    assert not violations_of(page)
    lines.first.click()
    expect(code.first).to_be_visible()
    expect(lines.first).to_have_attribute("aria-expanded", "true")
    expect(code.nth(1)).to_be_hidden()
    switched(page)
    expect(code.nth(1)).to_be_visible()
    page.reload()
    expect(code.nth(1)).to_be_visible()


def test_what_is_read_stays_in_its_place_when_code_folds(visit: Visit):
    page = visit(CHAPTER, viewport=DESK)
    heading = page.locator("article h2").nth(5)
    heading.evaluate("(e) => e.scrollIntoView()")
    page.locator(".qkv-read-mode").last.evaluate("(e) => e.click()")  # it is above the window
    before = heading.bounding_box()
    page.locator(".qkv-read-mode").last.evaluate("(e) => e.click()")
    after = heading.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) <= 1


def test_without_scripts_and_on_paper_all_code_is_in_sight(visit: Visit):
    page = visit(CHAPTER, viewport=DESK, java_script_enabled=False)
    expect(page.locator(".qkv-unfold:visible")).to_have_count(0)
    expect(page.locator(".cell_input:has(> .qkv-unfold) > div").first).to_be_visible()
    page = visit(CHAPTER, viewport=DESK)
    switched(page)
    page.emulate_media(media="print")
    expect(page.locator(".cell_input:has(> .qkv-unfold) > div").first).to_be_visible()


# The characters of a page that its own Chinese font has to draw, and does not: a browser without any other draws boxes.
UNDRAWN = """async () => {
  const own = [...document.fonts].filter((face) => 
    /QKV Sans/.test(face.family) && !/^U\\+2(0|E80)-/i.test(face.unicodeRange));
  const known = own.flatMap((face) => face.unicodeRange.split(/,\\s*/)).flatMap((range) => {
    const [first, last] = range.slice(2).split("-").map((code) => Number.parseInt(code, 16));
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => String.fromCodePoint(first + i));
  });
  const shown = document.querySelector("article").innerText.match(/[\\u3400-\\u9fff]/g) ?? [];
  return { shown: new Set(shown).size, missing: shown.filter((letter) => !known.includes(letter)),
    ready: own.map((face) => face.status) };
}"""


@pytest.mark.parametrize(
    "path", gate_has([path for path in pages() if path != "index.html"], "book/glossary", "chapters/05_", "search")
)
def test_chinese_is_drawn_where_no_font_for_it_is_installed(visit: Visit, path: str):
    told = visit(path).evaluate(UNDRAWN)
    assert told["missing"] == []
    assert ("loaded" in told["ready"]) == (told["shown"] > 0), "the font is read before the text is seen"


def test_the_map_leads_through_the_chapters_and_ticks_what_was_read(visit: Visit):
    page = visit("book/map.html", viewport=PHONE)
    chapters = [path for path in pages() if path.startswith("chapters/0") or path.startswith("chapters/1")]
    tiles = page.locator(".qkv-tiles a")
    leads = tiles.evaluate_all("links => links.map((link) => link.href.split('/').slice(-2).join('/'))")
    assert leads == [*chapters, "exercises/12_capstone.html"]
    assert page.locator(".qkv-tiles a > svg:first-child").count() == len(leads)
    height = page.locator(".qkv-tiles").evaluate("(e) => e.offsetHeight")
    rings = page.locator(".qkv-tiles .qkv-ring")
    share = "ring => getComputedStyle(ring).getPropertyValue('--qkv-share')"
    page.locator("[data-progress='chapters/03_scaling']").check()
    assert rings.nth(2).evaluate(share) == "0.5"
    expect(rings.nth(2)).to_have_attribute("aria-label", "read")
    page.locator("[data-progress='exercises/03_scaling']").check()
    assert rings.nth(2).evaluate(share) == "1"
    expect(rings.nth(2)).to_have_attribute("aria-label", "read, 5 of 5 answers right")
    expect(page.locator(".qkv-ring.qkv-begun")).to_have_count(1)
    assert page.locator(".qkv-tiles").evaluate("(e) => e.offsetHeight") == height, "a ring takes no room"


def test_a_letter_of_the_formula_lights_its_chapters_and_a_chapter_lights_its_letters(visit: Visit):
    page = visit("book/map.html", viewport=PHONE)
    lit = page.locator(".qkv-tiles .qkv-lights-on")
    page.locator(".qkv-formula [data-letter=d_k]").hover(force=True)  # a box of KaTeX lies over it
    expect(lit).to_have_count(1)
    expect(lit).to_have_attribute("data-tile", "chapters/03_scaling")
    page.locator("h1").hover()
    expect(lit).to_have_count(0)
    page.locator(".qkv-formula [data-letter=K]").first.hover(force=True)
    numbers = "all => all.map(({ dataset }) => Number(dataset.tile.match(/[0-9]+/)[0]))"
    assert lit.evaluate_all(numbers) == [2, 3, 7, 10]
    page.locator("[data-tile='chapters/07_kv_cache'] a").focus()
    letters = "all => [...new Set(all.map(({ dataset }) => dataset.letter))]"
    assert page.locator(".qkv-formula .qkv-lights-on").evaluate_all(letters) == ["K", "V"]


# How far each box of K is from the nearest sign beside it, in pixels.
GAPS = """formula => [...formula.querySelectorAll("[data-letter=K]")].map((letter) => {
  const boxes = [...formula.querySelectorAll(".mathnormal, .mrel, .mop")].filter((sign) => !letter.contains(sign));
  const { left, right, top, bottom } = letter.getBoundingClientRect();
  const level = boxes.map((sign) => sign.getBoundingClientRect()).filter((box) => box.bottom > top && box.top < bottom);
  const before = level.filter((box) => box.left < left).map((box) => box.right);
  const after = level.filter((box) => box.right > right).map((box) => box.left);
  return Math.min(left - Math.max(...before), Math.min(...after) - right);
})"""


@pytest.mark.parametrize("width", [390, 1440])
def test_the_box_of_a_letter_covers_no_other_sign(visit: Visit, width: int):
    page = visit("book/map.html", viewport={"width": width, "height": 700})
    gaps = page.locator(".qkv-formula").evaluate(GAPS)
    assert len(gaps) == 2
    assert min(gaps) > 1, "the outline is 1 px wide"


def test_most_pictures_are_in_sight_on_a_phone_when_a_letter_is_pressed(visit: Visit):
    page = visit("book/map.html", viewport={"width": 390, "height": 700})
    page.locator(".qkv-formula").evaluate("formula => scrollTo(0, formula.offsetTop)")
    pictures = ".qkv-tiles li > a > svg:first-child"
    seen = "all => all.filter((one) => one.getBoundingClientRect().bottom <= innerHeight).length"
    assert page.locator(pictures).evaluate_all(seen) >= 9


def drawn_by_katex(text: str) -> set[str]:
    """The characters of a page's formulas: each is a span, which ends where as many have ended as begun in it."""
    shown: set[str] = set()
    for formula in text.split('class="katex-html" aria-hidden="true">')[1:]:
        depth = 1
        for tag, letters in re.findall(r"(</?span)?[^<>]*>?([^<]*)", formula):
            depth += {"<span": 1, "</span": -1}.get(tag, 0)
            if not depth:
                break
            shown |= set(unescape(letters))
    return shown


def test_fonts_of_formulas_have_every_character_that_is_drawn():
    style = (SITE / "_static" / "katex" / "katex.css").read_text(encoding="utf-8")
    sent = [base64.b64decode(font) for font in re.findall(r"base64,([^)]*)\)", style)]
    names = USED.findall((KATEX / "katex.min.css").read_text(encoding="utf-8"))
    drawn = set[str]().union(*(drawn_by_katex((SITE / page).read_text(encoding="utf-8")) for page in pages()))
    assert len(drawn) > 60
    for name, font in zip(names, sent, strict=True):
        whole = set(map(chr, TTFont(KATEX / "fonts" / name).getBestCmap()))
        assert (drawn & whole) - set(map(chr, TTFont(BytesIO(font)).getBestCmap())) == set(), name
