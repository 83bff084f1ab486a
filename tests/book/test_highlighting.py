"""Code is marked where the style has a rule for the mark, and nowhere else."""

import html
import re
from pathlib import Path

import nbformat
import pytest
from pygments import highlight
from pygments.lexers import PythonLexer

from browser_python.highlighting import QuietFormatter

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = set(
    re.findall(
        r"\.([a-z]\w*)", " ".join(re.findall(r"\.highlight :is\(([^)]*)\)", (ROOT / "book/static/qkv.css").read_text()))
    )
)


@pytest.mark.parametrize("path", sorted(ROOT.glob("chapters/*.ipynb")), ids=lambda path: path.stem)
def test_every_mark_has_a_look_and_the_code_stays(path: Path):
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    for code in cells:
        shown = highlight(code, PythonLexer(stripnl=False), QuietFormatter())
        assert set(re.findall(r'<span class="([^"]*)">', shown)) <= RULES
        assert html.unescape(re.sub(r"<[^>]*>", "", shown)).strip() == code.strip()


def test_what_the_language_says_and_what_is_said_about_it_are_marked():
    shown = highlight("def f(x):  # why\n    return 'a'", PythonLexer(), QuietFormatter())
    assert re.findall(r'<span class="([^"]*)">(.*?)</span>', shown) == [
        ("k", "def"), ("nf", "f"), ("c1", "# why"), ("k", "return"), ("s1", "'a'"),
    ]  # fmt: skip
