"""The search's index: formulas as they are typed, and a place for every section, term and work."""

import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from qkv_site.search import as_typed, entries
from sphinx import addnodes


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\sqrt{d_k}", "√d_k"),
        (r"\sqrt3", "√3"),
        (r"Q K^\top", "QKᵀ"),
        (r"W_Q W_K^{\top}", "W_QW_Kᵀ"),
        (r"\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V", "softmax(QKᵀ/√d_k)V"),
        (r"n = 2 d_\text{model}", "n=2d_model"),
        (r"\sum_j e^{s_j} \le \ln n", "∑_je^s_j≤lnn"),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}", "1,0,0,2"),
    ],
)
def test_a_formula_is_indexed_as_it_is_typed(latex: str, expected: str):
    assert as_typed(latex) == expected


def section(title: str, *parts: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *parts, ids=[re.sub(r"\W+", "-", title.lower())])


def cell(source: str, printed: str) -> nodes.container:
    output = nodes.container("", nodes.literal_block("", printed), nb_element="cell_code_output")
    code = nodes.container("", nodes.literal_block("", source), nb_element="cell_code_source")
    return nodes.container("", code, output, nb_element="cell_code")


def test_each_section_is_a_place_with_its_own_text():
    inner = section("Why?", nodes.paragraph("", "Divide by ", nodes.math("", r"\sqrt{d_k}")))
    outer = section("Scores", nodes.paragraph("", "", nodes.Text("They grow.")), inner)
    document = new_document("page")
    document += outer
    assert list(entries(document)) == [("", "Scores", "They grow."), ("why-", "Why?", "Divide by √d_k")]


def test_of_code_the_names_are_indexed_and_nothing_that_it_printed():
    document = new_document("page")
    document += section(
        "Mask", nodes.paragraph("", "Use masked_fill."), cell("x = s.masked_fill(m, 0)", "tensor_out 3")
    )
    assert list(entries(document)) == [("", "Mask", "Use masked_fill. s.masked_fill")]


def test_a_term_is_found_by_its_chinese_names():
    definition = nodes.definition("", nodes.paragraph("", "A share of attention.\nIn Chinese: 權重 or 权重."))
    term = nodes.term("", "weight", ids=["term-weight"])
    glossary = addnodes.glossary("", nodes.definition_list("", nodes.definition_list_item("", term, definition)))
    document = new_document("page")
    document += section("Glossary", nodes.paragraph("", "Terms."), glossary)
    assert list(entries(document)) == [
        ("", "Glossary", "Terms."),
        ("term-weight", "weight (權重, 权重)", "A share of attention."),
    ]
