"""What the writer's plain Markdown means on the page: predictions, named sections, definitions, alt text.

A chapter is read in JupyterLab and Colab too, where directives are noise. So the source stays plain Markdown, and the
parts with a look of their own are recognised here by what they say.
"""

from __future__ import annotations

import re
from itertools import pairwise

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from .reading import reading

LOGGER = logging.getLogger(__name__)

SECTIONS = {
    "break it": "qkv-break-it",
    "going further": "qkv-further",
    "in the wild": "qkv-wild",
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
# A path of straight lines alone, without a gap: what a plot of many points is.
LONG_LINE = re.compile(r'(?<= d=")M[\d. \n-]+(?:L[\d. \n-]+){20,}(?=")')
BARE_IMAGE = re.compile(r"<img(?![^>]*\salt=\"[^\"]+\")[^>]*>|<svg(?=[^>]*role=\"img\")(?![^>]*aria-label=\"[^\"]+\")")


def mark_predictions(document: nodes.document) -> None:
    """A quotation that opens with a bold "Predict" is a question to commit to before reading on."""
    for quote in document.findall(nodes.block_quote):
        opening = next(iter(quote.findall(nodes.strong)), None)
        if opening is not None and opening.astext().lower().startswith("predict"):
            quote["classes"].append("qkv-predict")


def mark_sections(document: nodes.document) -> None:
    """The sections that every chapter has look alike in all of them."""
    for section in document.findall(nodes.section):
        title = section[0].astext().lower() if section.children else ""
        for opening, name in SECTIONS.items():
            if title.startswith(opening):
                section["classes"].append(name)


def colour_words(document: nodes.document) -> None:
    """A defined word, or a matrix in code, that names a query, key or value has its colour."""
    for strong in document.findall(nodes.strong):
        if (role := TERMS.get(strong.astext().lower())) is not None:
            strong["classes"].append(f"qkv-{role}")
    for literal in document.findall(nodes.literal):
        if (role := CODE.get(literal.astext())) is not None:
            literal["classes"].append(f"qkv-{role}")


def share_palette(document: nodes.document) -> None:
    """The page has the palette already; the copy that each figure carries is left out."""
    for raw in document.findall(nodes.raw):
        if "data-qkv-tokens" in raw.astext():
            text = lightened(FIGURE_STYLE.sub("", raw.astext()))
            raw.replace_self(nodes.raw("", text, **raw.non_default_attributes()))


def lightened(figure: str) -> str:
    """A figure in fewer bytes: no blanks between its parts, and long lines step by step, to a tenth of a point."""
    return LONG_LINE.sub(in_steps, re.sub(r">\s+<", "><", figure))


def in_steps(line: re.Match[str]) -> str:
    """Write a path as steps from point to point. Points are rounded first, so that errors of rounding do not add up."""
    tenths = [(round(10 * float(x)), round(10 * float(y))) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", line[0])]
    steps = [(x - px, y - py) for (px, py), (x, y) in pairwise([(0, 0), *tenths])]
    first, *others = (f"{dx / 10:g} {dy / 10:g}" for dx, dy in steps)
    return f"M{first}l{' '.join(others)}"


def require_alt_text(document: nodes.document) -> None:
    """Warn, so that the build fails, about a picture that a blind reader could not know."""
    for image in document.findall(nodes.image):
        if not image.get("alt"):
            LOGGER.warning("an image without alt text (figures: qkv.figures.show(fig, alt=…))", location=image)
    for raw in document.findall(nodes.raw):
        if bare := BARE_IMAGE.search(raw.astext()):
            LOGGER.warning("a picture without alt text: %s", bare[0][:80], location=raw)


def name_solutions(app: Sphinx, document: nodes.document) -> None:
    """A solution is the source of an exercise, title included: on the site it says which of the two it is."""
    title = document.next_node(nodes.title)
    if app.env.docname.startswith("solutions/") and title is not None:
        for text in title.findall(nodes.Text):
            text.parent.replace(text, nodes.Text(text.replace("Exercises for", "Solutions to")))
            return


def mark(app: Sphinx, document: nodes.document) -> None:
    """Do all of the above to one page; of a chapter, note how long it takes."""
    page = app.env.docname
    if page.startswith("chapters/"):
        notebook = nbformat.read(app.env.doc2path(page), as_version=4)
        app.env.metadata[page]["qkv_minutes"] = reading(notebook).minutes
    for step in (mark_predictions, mark_sections, colour_words, share_palette, require_alt_text):
        step(document)


def setup(app: Sphinx) -> None:
    """Run once a page has been read; titles before they are collected."""
    app.connect("doctree-read", name_solutions, priority=100)
    app.connect("doctree-read", mark)
