"""Formulas: KaTeX renders them, and Q, K and V have their colours in them."""

import re
from collections.abc import Iterator

import pytest
from qkv_site.maths import Renderer, coloured, role, typeset_titles


@pytest.fixture(scope="module")
def render() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


def colours(html: str) -> list[tuple[str, str]]:
    """(letter, meaning) for each coloured glyph, in order."""
    return [(letter, meaning) for meaning, letter in re.findall(r'mathnormal[^"]* qkv-(\w+)"[^>]*>(\w)<', html)]


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"Q K^\top", [("Q", "query"), ("K", "key")]),
        (r"\operatorname{softmax}(QK^\top/\sqrt{d_k}) V", [("Q", "query"), ("K", "key"), ("V", "value")]),
        (r"W_Q", [("W", "query"), ("Q", "query")]),
        (r"W_{K}^{(h)}", [("W", "key"), ("K", "key")]),
        (r"W_v a_i", [("W", "value"), ("v", "value")]),
        (r"q_i^\top k_j", [("q", "query"), ("k", "key")]),
        (r"\sum_j a_{ij} v_j", [("v", "value")]),
        (r"k_{t-1}, v_2", [("k", "key"), ("v", "value")]),
        # What only looks like one of them: a size, a count, an index, a learned vector, the output's matrix.
        (r"d_k", []),
        (r"n_q", []),
        (r"2k/d", []),
        (r"\omega_k", []),
        (r"v^\top \tanh(x)", []),
        (r"W_O", []),
        (r"\text{QKV}", []),
    ],
)
def test_a_glyph_has_the_colour_of_what_it_means(render: Renderer, latex: str, expected: list[tuple[str, str]]):
    assert colours(render(latex, display=False)) == expected


def test_colouring_changes_nothing_but_classes(render: Renderer):
    html = render.ask({"latex": r"\frac{Q K^\top}{\sqrt{d_k}} W_V q_i", "display": True})
    assert re.sub(r" qkv-\w+", "", coloured(html)) == html
    assert coloured(html) != html


def test_role_of_a_letter():
    assert role("W", "q") == role("Q", "") == role("q", "i") == "query"
    assert role("k", "") is None
    assert role("W", "O") is None


def test_formula_is_there_for_screen_readers_too(render: Renderer):
    html = render(r"\sqrt{d_k}", display=False)
    assert "<math" in html
    assert '<span class="katex-html" aria-hidden="true">' in html


def test_a_wrong_formula_says_why_and_the_next_one_works(render: Renderer):
    with pytest.raises(ValueError, match=r"Undefined control sequence: \\nonsense"):
        render(r"\nonsense{x}", display=False)
    assert "katex" in render("x", display=False)


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<h1>By √d_k<a", "<h1>By √<i>d</i><sub>k</sub><a"),
        ('<a href="x">By √d_k</a>', '<a href="x">By √<i>d</i><sub>k</sub></a>'),
        (
            '<a href="d_k"><span class="qkv-number">3</span>d_k</a>',
            '<a href="d_k"><span class="qkv-number">3</span><i>d</i><sub>k</sub></a>',
        ),
        ("<b>3</b> By √d_k", "<b>3</b> By √<i>d</i><sub>k</sub>"),
        ("<pre><span></span>√d_k</pre>", "<pre><span></span>√d_k</pre>"),
        ('<input aria-label="√d_k">', '<input aria-label="√d_k">'),
    ],
)
def test_titles_have_mathematics_and_code_stays(html: str, wanted: str):
    assert typeset_titles(html) == wanted
