"""The book on paper: its pages in order, links within the file, a number on each sheet."""

import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from pypdf import PdfReader, PdfWriter

from tools import pdf, site

pytestmark = pytest.mark.browser
BASE = "http://127.0.0.1:1"


def test_all_pages_but_the_solutions_are_printed_in_order():
    names = pdf.pages()
    assert names[0] == "book/index"
    assert names.index("chapters/01_sequence_inputs") < names.index("exercises/01_sequence_inputs")
    assert not [name for name in names if name.startswith("solutions/")]
    assert set(names) == {name for name in site.listed_pages() if not name.startswith("solutions/")}


@pytest.fixture(scope="module")
def book(browser: Browser) -> PdfReader:
    """Two small pages that lead to each other, joined and numbered."""

    def part(page: Page, *links: str) -> PdfReader:
        page.set_content("".join(f'<p><a href="{link}">{link}</a></p>' for link in links))
        return PdfReader(io.BytesIO(page.pdf(format="A4")))

    page = browser.new_page()
    parts = {
        "book/index": part(page, f"{BASE}/chapters/01_x.html#why", "https://arxiv.org/"),
        "chapters/01_x": part(page, f"{BASE}/book/index.html", f"{BASE}/_sources/x.ipynb"),
    }
    page.close()
    joined = pdf.join(parts, {"book/index": "Welcome", "chapters/01_x": "A chapter"}, BASE)
    pdf.number_sheets(joined, browser)
    written = io.BytesIO()
    joined.write(written)
    return PdfReader(written)


def links(book: PdfReader, sheet: int) -> list[str | int]:
    """Where the links of a sheet lead: a sheet of the book, an address, or nowhere (-1)."""
    found: list[str | int] = []
    for note in book.pages[sheet].get("/Annots", []):
        note = note.get_object()
        if "/Dest" in note:
            found.append(book.get_page_number(note["/Dest"][0].get_object()))
        else:
            found.append(str(note["/A"]["/URI"]) if "/A" in note else -1)
    return found


def test_links_lead_to_sheets_and_never_to_the_machine_that_printed(book: PdfReader):
    assert links(book, 0) == [1, "https://arxiv.org/"]
    assert links(book, 1) == [0, -1]


def test_each_part_is_in_the_outline_and_each_sheet_has_its_number(book: PdfReader):
    assert [entry.title for entry in book.outline] == ["Welcome", "A chapter"]
    assert [re.findall(r"^\d+$", sheet.extract_text(), re.MULTILINE) for sheet in book.pages] == [["1"], ["2"]]


def test_a_chapter_is_printed_with_its_widgets_and_without_its_frame(browser: Browser):
    page = browser.new_page()
    with pdf.serve_site() as base:
        text = "\n".join(sheet.extract_text() for sheet in pdf.print_page(page, f"{base}/book/index.html").pages)
    page.close()
    assert "looks at" in text, "the widget was not drawn"
    for left_out in ("Copy link", "new sample", "Search", "in your browser alone"):
        assert left_out not in text


def test_without_a_site_it_says_what_builds_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(site, "HTML", tmp_path)
    assert pdf.main(["--out", str(tmp_path / "x.pdf")]) == 1
    assert "make site" in capsys.readouterr().err


def test_a_link_without_an_action_stays():
    note = {"/Dest": "x"}
    pdf.link_inside(PdfWriter(), note, {}, BASE)
    assert note == {"/Dest": "x"}
