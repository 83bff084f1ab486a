"""Read mode: which cells are folded, and to what."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from qkv_site.folding import SIGN, fold, line_of, unfold_button


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import torch\n# what follows\nx = 1", "# what follows"),
        ("    # first\n# second", "# first"),
        ("x = 1  # its shape\ny = 2", "x = 1  # its shape"),
        ("\n\ndef f(x):\n    return x", "def f(x):"),
        ("candidates = {\n    'e^z': exp,\n    '2^z': exp2,\n}\nprint(1)", "candidates = {'e^z': exp, '2^z': exp2,}"),
        ("show(\n    f(1),\n)", "show(f(1),)"),
        ("", ""),
    ],
)
def test_a_cell_is_folded_to_its_first_comment_or_else_its_first_line(code: str, line: str):
    assert line_of(code) == line


def test_markup_in_code_stays_text():
    assert "<code>if a &lt; b:</code>" in unfold_button("if a < b:\n    pass")


def cell(code: str, **about: object) -> nodes.container:
    """A cell of code, as myst-nb makes it."""
    source = nodes.container("", nodes.literal_block(code, code), nb_element="cell_code_source")
    return nodes.container("", source, nb_element="cell_code", **about)


@pytest.mark.parametrize(
    ("page", "code", "about", "folded"),
    [
        ("chapters/03_scaling", "a = 1\nb = 2", {}, True),
        ("book/before", "a = 1\nb = 2", {}, True),
        ("chapters/03_scaling", "a = 1", {}, False),  # it is one line already
        ("chapters/03_scaling", "a = 1\nb = 2", {"hide_mode": "input"}, False),  # and so is this
        ("exercises/03_scaling", "a = 1\nb = 2", {}, False),  # its cells are written in
        ("solutions/03_scaling", "a = 1\nb = 2", {}, False),  # its cells are what the page is for
    ],
)
def test_what_is_folded(page: str, code: str, about: dict[str, object], folded: bool):
    document = new_document("page")
    document += cell(code, **about)
    fold(SimpleNamespace(env=SimpleNamespace(docname=page)), document)
    lines = [raw for raw in document.findall(nodes.raw) if SIGN in raw.astext()]
    assert len(lines) == folded
