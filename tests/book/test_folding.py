"""Read mode and asides: what is folded, and to what."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from qkv_site.folding import ASIDE, SIGN, Rest, fold, fold_asides, fold_instructions, line_of, unfold_button


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


def section(title: str, *parts: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *parts, ids=[nodes.make_id(title)])


def rests(page: str, *sections: nodes.section) -> list[Rest]:
    """What is folded of a page with these sections."""
    document = new_document("page")
    document.extend(sections)
    fold_asides(SimpleNamespace(env=SimpleNamespace(docname=page)), document)
    return [*document.findall(Rest)]


def test_how_to_answer_is_folded_from_the_second_paragraph_to_the_first_code():
    about, how, rules, code = nodes.paragraph("", "one"), nodes.paragraph(), nodes.paragraph(), cell("import torch")
    document = new_document("page")
    document += section("Exercises", about, how, rules, code, section("3.1", nodes.paragraph("", "a question")))
    fold_instructions(SimpleNamespace(env=SimpleNamespace(docname="exercises/03_scaling")), document)
    [rest] = document.findall(Rest)
    assert rest.children == [how, rules]
    assert [*map(type, document[0].children)] == [
        nodes.title,
        nodes.paragraph,
        Rest,
        nodes.container,
        nodes.section,
    ]


def test_all_but_the_first_paragraph_of_an_aside_is_folded():
    first, second, code = nodes.paragraph("", "one"), nodes.paragraph("", "two"), cell("a = 1")
    [rest] = rests("chapters/03_scaling", section("In the wild", first, second, code))
    assert rest.children == [second, code]
    assert rest["of"] == "In the wild"
    assert isinstance(first.parent, nodes.section)


def test_a_comment_makes_an_aside_of_any_section():
    parts = [nodes.raw("", ASIDE, format="html"), nodes.paragraph("", "one"), nodes.paragraph("", "two")]
    [rest] = rests("chapters/03_scaling", section("The proof", *parts), section("Summary", *parts[1:]))
    assert rest["of"] == "The proof"
    assert rest.children == parts[2:]


def test_what_is_no_aside_or_has_no_more_to_say_stays_open():
    one, two = nodes.paragraph("", "one"), nodes.paragraph("", "two")
    assert rests("chapters/03_scaling", section("The root", one, two)) == []
    assert rests("chapters/03_scaling", section("In the wild", one)) == []
    assert rests("exercises/03_scaling", section("References", one, two)) == []
