"""One page: what it loads, says and leads to."""

from types import SimpleNamespace

import pytest
from qkv_site.navigation import counterpart, line_under_title, number_pages, remove_solutions
from qkv_site.pages import NEEDS, accessible, needed
from qkv_site.widgets import VIEW

COLAB = "https://colab.research.google.com/github"
NAVIGATION = (
    '<p class="caption" role="heading"><span>Chapters</span></p>'
    '<a class="reference internal" href="../chapters/03_scaling.html">Why divide</a>'
    '<a class="reference internal" href="03_scaling.html">Exercises for chapter 3: why divide</a>'
    '<a class="current reference internal" href="#">Exercises for chapter 4: heat</a>'
    '<a class="reference internal" href="../book/glossary.html">Glossary</a>'
)


def test_notebooks_have_their_number_in_the_list_of_pages():
    shown = number_pages(NAVIGATION, "exercises/04_softmax_temperature")
    assert '<span class="qkv-number">3</span>Why divide</a>' in shown
    assert '<span class="qkv-number">3</span>Why divide</a><a class="current' in shown
    assert '<span class="qkv-number">4</span>Heat</a>' in shown
    assert '">Glossary</a>' in shown
    assert "heading" not in shown


@pytest.mark.parametrize(
    ("page", "other"),
    [
        ("chapters/03_scaling", "exercises/03_scaling"),
        ("exercises/03_scaling", "chapters/03_scaling"),
        ("chapters/09_everywhere", None),
        ("chapters/deeper/03_race", "chapters/03_scaling"),
        ("chapters/deeper/04_alone", None),
        ("solutions/03_scaling", None),
        ("book/index", None),
    ],
)
def test_a_chapter_and_its_exercises_lead_to_each_other(page: str, other: str | None):
    pages = {
        "chapters/03_scaling",
        "exercises/03_scaling",
        "solutions/03_scaling",
        "chapters/09_everywhere",
        "chapters/deeper/03_race",
        "chapters/deeper/04_alone",
        "book/index",
    }
    assert counterpart(page, pages) == other


def part(caption: str, *links: str) -> str:
    """A part of the list of pages, as furo writes it."""
    items = "".join(f'<li class="toctree-l1"><a class="reference internal" href="{link}">x</a></li>' for link in links)
    head = f'<p class="caption" role="heading"><span class="caption-text">{caption}</span></p>'
    return f'{head}\n<ul class="current">\n{items}\n</ul>\n'


def test_no_way_leads_from_an_exercise_to_a_solution():
    kept = part("Exercises", "#", "02_qkv.html") + part("Look things up", "../book/glossary.html")
    solutions = part("Solutions", "../solutions/01_x.html", "../solutions/02_y.html")
    context = {
        "furo_navigation_tree": part("Exercises", "#", "02_qkv.html")
        + solutions
        + part("Look things up", "../book/glossary.html"),
        "prev": {"link": "01_x.html", "title": "x"},
        "next": {"link": "../solutions/01_x.html", "title": "y"},
    }
    remove_solutions(context)
    assert context["furo_navigation_tree"] == kept
    assert context["prev"] == {"link": "01_x.html", "title": "x"}
    assert context["next"] is None


@pytest.mark.parametrize(
    ("page", "repository", "colab"),
    [
        ("chapters/03_scaling", "", None),
        ("chapters/03_scaling", "who/what", f"{COLAB}/who/what/blob/colab/chapters/03_scaling.ipynb"),
        ("exercises/03_scaling", "who/what", f"{COLAB}/who/what/blob/colab/exercises/03_scaling.ipynb"),
        ("solutions/03_scaling", "who/what", None),
        ("book/look", "who/what", f"{COLAB}/who/what/blob/colab/book/look.ipynb"),
    ],
)
def test_colab_opens_the_page_s_own_notebook_and_no_solution(page: str, repository: str, colab: str | None):
    env = SimpleNamespace(found_docs={page}, metadata={page: {"qkv_minutes": 20}})
    app = SimpleNamespace(env=env, config=SimpleNamespace(qkv_repository=repository))
    line = line_under_title(app, page, {"pathto": lambda target, resource=0: f"../{target}"})
    assert line["colab"] == colab
    assert line["notebook"] == f"../_sources/{page}.ipynb"
    assert line["file"] == ("look.ipynb" if page == "book/look" else "03_scaling.ipynb")
    assert ("3" in line["kind"]) == (page != "book/look")


@pytest.mark.parametrize(
    ("asset", "text", "expected"),
    [
        ("_static/qkv.css?v=1", "", True),
        ("_static/qkv-site.js", "prose", False),
        ("_static/qkv-site.js", VIEW, True),
        ("_static/katex/katex.css", '<span class="katex">', True),
        ("_static/katex/katex.css", "prose", False),
        ("_static/doctools.js", "prose", False),
        ("_static/sphinx-thebe.js", VIEW, False),
        ("https://cdn.example/x.js", VIEW, False),
    ],
)
def test_a_page_loads_what_it_needs(asset: str, text: str, expected: bool):
    assert needed(asset, text) is expected


def test_everything_offered_is_ours():
    assert not [name for name in NEEDS if name.startswith(("http", "//"))]


def test_what_docutils_writes_is_mended():
    assert accessible('<div role="doc-biblioentry">') == '<div role="listitem">'
    assert accessible('<th class="head text-left"><p></p></th><th class="head"><p>x</p></th>') == (
        '<td></td><th class="head"><p>x</p></th>'
    )
    assert accessible('<summary aria-label="Toggle hidden content">') == "<summary>"


def test_chinese_in_prose_is_read_as_chinese():
    assert accessible("<p>In Chinese: 權重 or 权重.</p>") == (
        '<p>In Chinese: <span lang="zh">權重</span> or <span lang="zh">权重</span>.</p>'
    )
    for kept in ('<svg aria-label="權重"><text>權重</text></svg>', "<span>權重</span>", '{"x": "權重"}'):
        assert accessible(kept) == kept
