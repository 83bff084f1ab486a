"""Find the parts of a page's plain Markdown that have a style of their own, such as predictions and named sections.

Chapters are also read in JupyterLab and Colab, which show directives as raw text. So the source stays plain Markdown,
and this module finds these parts by their text. It also checks that pictures have alt text.
"""

from __future__ import annotations

import re
from itertools import pairwise

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tools.course import ROOT
from tools.translations.skin import is_english

from .language import names_of_terms
from .reading import reading

LOGGER = logging.getLogger(__name__)

# By the beginning of the section's anchor, which is the same in every language.
SECTIONS = {
    "break-it": "qkv-break-it",
    "in-the-wild": "qkv-wild",
    "summary": "qkv-summary",
}
TERMS = {
    "query": "query",
    "queries": "query",
    "key": "key",
    "keys": "key",
    "value": "value",
    "values": "value",
    "weight": "weight",
    "weights": "weight",
    "attention weights": "weight",
    "output": "output",
}
CODE = {
    "Q": "query",
    "K": "key",
    "V": "value",
    "W_Q": "query",
    "W_K": "key",
    "W_V": "value",
    "w_q": "query",
    "w_k": "key",
    "w_v": "value",
}
FIGURE_STYLE = re.compile(r"<style data-qkv-tokens>.*?</style>", re.DOTALL)
# An SVG path that is one unbroken line of straight segments, as a plot of many points has it.
LONG_LINE = re.compile(r'(?<= d=")M[\d. \n-]+(?:L[\d. \n-]+){20,}(?=")')
DRAWN = re.compile(r'(?<= d=")[^"]*(?=")')
# An SVG path that is an upright rectangle, as each cell of a heat map is: two corners say all of it.
RECTANGLE = re.compile(
    r"M (?P<x>\S+) (?P<y>\S+) L (?P<right>\S+) (?P=y) L (?P=right) (?P<bottom>\S+) L (?P=x) (?P=bottom) "
    r"(?:L (?P=x) (?P=y) )?z "
)
BARE_IMAGE = re.compile(r"<img(?![^>]*\salt=\"[^\"]+\")[^>]*>|<svg(?=[^>]*role=\"img\")(?![^>]*aria-label=\"[^\"]+\")")


def mark_sections(document: nodes.document) -> None:
    """Add a class to the sections that every chapter has, so that they look the same in all chapters."""
    for section in document.findall(nodes.section):
        anchor = section["ids"][0] if section["ids"] else ""
        for opening, name in SECTIONS.items():
            if anchor.startswith(opening):
                section["classes"].append(name)


def colour_words(document: nodes.document) -> None:
    """Add the class of its colour to words that have one.

    They are bold terms for queries, keys, values, weights and outputs, and in code the names of Q, K, V and their
    projections. On a translated site, the names of the terms there count too.
    """
    names = {} if is_english() else names_of_terms()
    terms = TERMS | {name: TERMS[term] for name, term in names.items() if term in TERMS}
    for strong in document.findall(nodes.strong):
        if (role := terms.get(strong.astext().lower())) is not None:
            strong["classes"].append(f"qkv-{role}")
    for literal in document.findall(nodes.literal):
        if (role := CODE.get(literal.astext())) is not None:
            literal["classes"].append(f"qkv-{role}")


def share_palette(document: nodes.document) -> None:
    """Replace each figure by a compact one without its copy of the palette, because the page has it already."""
    for raw in document.findall(nodes.raw):
        if "data-qkv-tokens" in raw.astext():
            text = compacted(FIGURE_STYLE.sub("", raw.astext()))
            raw.replace_self(nodes.raw("", text, **raw.non_default_attributes()))


def compacted(figure: str) -> str:
    """Return a figure as SVG in fewer bytes: no whitespace between elements, short rectangles, rounded lines."""
    figure = RECTANGLE.sub(r"M\g<x> \g<y>H\g<right>V\g<bottom>H\g<x>z", re.sub(r">\s+<", "><", figure))
    return DRAWN.sub(rounded_path, LONG_LINE.sub(relative_path, figure))


def rounded_path(path: re.Match[str]) -> str:
    """Return a path with its points rounded to a tenth of a point, and no spaces around its letters."""
    rounded = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), path[0])
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", rounded)


def relative_path(line: re.Match[str]) -> str:
    """Return a path of SVG as steps from point to point, rounded to a tenth of a point.

    `line` is the match of its absolute points. The points are rounded, not the steps, so that rounding errors do not
    add up.
    """
    tenths = [(round(10 * float(x)), round(10 * float(y))) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", line[0])]
    steps = [(x - px, y - py) for (px, py), (x, y) in pairwise([(0, 0), *tenths])]
    first, *others = (f"{dx / 10:g} {dy / 10:g}" for dx, dy in steps)
    return f"M{first}l{' '.join(others)}"


OPENING_END = "<!-- the opening ends here -->"


def mark_end_of_opening(document: nodes.document) -> None:
    """Insert a mark after a chapter's opening, if it has one.

    An opening is a widget without code before the first section.
    """
    chapter = document.next_node(nodes.section)
    cells = (child for child in chapter.children if "tag_remove-input" in child.get("classes", []))
    if opening := next(cells, None):
        chapter.insert(chapter.index(opening) + 1, nodes.raw("", OPENING_END, format="html"))


def require_alt_text(document: nodes.document) -> None:
    """Log a warning, which fails the build, for each picture without alt text."""
    for image in document.findall(nodes.image):
        if not image.get("alt"):
            LOGGER.warning("an image without alt text (figures: qkv.figures.show(fig, alt=…))", location=image)
    for raw in document.findall(nodes.raw):
        if bare := BARE_IMAGE.search(raw.astext()):
            LOGGER.warning("a picture without alt text: %s", bare[0][:80], location=raw)


def name_solutions(app: Sphinx, document: nodes.document) -> None:
    """Change a solution's title from "Exercises for" to "Solutions to": the notebook has the title of its exercise."""
    title = document.next_node(nodes.title)
    if app.env.docname.startswith("solutions/") and title is not None:
        for text in title.findall(nodes.Text):
            text.parent.replace(text, nodes.Text(text.replace("Exercises for", "Solutions to")))
            return


def mark(app: Sphinx, document: nodes.document) -> None:
    """Apply the functions for sections, colours, figures and alt text to a page that was read.

    For a chapter, also mark the end of its opening, and store its reading time in its metadata.
    """
    page = app.env.docname
    if page.startswith("chapters/"):
        notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)  # the words of the English page are counted
        app.env.metadata[page]["qkv_minutes"] = reading(notebook).minutes
        if not page.startswith("chapters/deeper/"):
            mark_end_of_opening(document)
    for step in (mark_sections, colour_words, share_palette, require_alt_text):
        step(document)


def setup(app: Sphinx) -> None:
    """Register the changes of a page that Sphinx has read. Titles are changed before Sphinx collects them."""
    app.connect("doctree-read", name_solutions, priority=100)
    app.connect("doctree-read", mark)
