"""What there is, is listed where readers look for it: on the site, on its first page, and in JupyterLab."""

import re
from pathlib import Path

import nbformat

from tools import site

ROOT = Path(__file__).resolve().parents[2]


def pages(*patterns: str) -> list[str]:
    """The course's notebooks, without their ending."""
    found = {path for pattern in patterns for path in ROOT.glob(f"{pattern}/[0-9]*.ipynb")}
    return sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in found)


def text(name: str) -> str:
    """All that a notebook's cells hold."""
    return "\n".join(cell.source for cell in nbformat.read(ROOT / name, as_version=4).cells)


def test_the_site_has_every_notebook():
    listed = [name for name in site.listed_pages() if not name.startswith("book/")]
    assert sorted(listed) == pages("chapters", "chapters/deeper", "exercises", "solutions")


def test_the_first_page_asks_every_chapter_s_question():
    asked = re.findall(r"^(\d\d_\w+): \S", text("book/index.ipynb"), re.MULTILINE)
    assert [f"chapters/{name}" for name in asked] == pages("chapters")


def test_the_welcome_leads_to_every_chapter_and_its_exercises():
    links = set(re.findall(r"\]\(([^)]*)\)", text("book/welcome.ipynb")))
    assert all((ROOT / "book" / link).is_file() for link in links)
    assert {f"../{name}.ipynb" for name in pages("chapters", "exercises")} == {
        link for link in links if link.startswith("../")
    }
