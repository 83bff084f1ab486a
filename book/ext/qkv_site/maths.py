"""Render formulas with KaTeX at build time, with Q, K and V in their colours.

A colour means the same in the whole book, so also in formulas. KaTeX's HTML is a flat list of glyph spans. A span that
names a query, a key or a value gets a class, and `qkv.css` gives the class its colour.
"""

from __future__ import annotations

import re
from html import escape, unescape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from .node import Node

LOGGER = logging.getLogger(__name__)

SOURCE = re.compile(r'<annotation .*?</annotation>|</?semantics>| xmlns="[^"]*"')  # MathML that no reader needs
WORD_JOINER = "\u2060"
ROLE = {"q": "query", "k": "key", "v": "value"}
GLYPH = re.compile(
    r'<span class="(mord mathnormal(?: mtight)?)"((?: style="[^"]*")?)>([QKVWqkv])</span>'
    # A subscript, if one follows: the first text inside a vertical list (`vlist`) that has a second row.
    r'(?=(?:<span class="msupsub"><span class="vlist-t vlist-t2">(?:<[^>]+>)+([^<]))?)'
)
# The text of a title with d_k: in a heading or a link, or after a chapter's number.
TITLE = re.compile(r'((?:<h[1-6]>|<a\b[^>]*>(?:<span class="qkv-number">\d+</span>)?|<b>\d+</b>))([^<]*\bd_k\b)')


def typeset_title(title: str) -> str:
    """Return a title as HTML, with d_k as mathematics. The browser's tab and the search use the plain title."""
    return title.replace("d_k", "<i>d</i><sub>k</sub>")


def typeset_titles(html: str) -> str:
    """Typeset all titles in a piece of HTML."""
    return TITLE.sub(lambda found: found[1] + typeset_title(found[2]), html)


def role(glyph: str, subscript: str) -> str | None:
    """Return the role of a letter (Q, K, V or W, large or small) with a subscript: "query", "key", "value", or None.

    A capital Q, K or V is always the matrix, and a W has the role of the matrix that it makes. A small letter has a
    role only with a token's index (q_i, k_2): k alone is a count, and the v of additive attention is not a value.
    """
    if glyph == "W":
        return ROLE.get(subscript.lower())
    if glyph.isupper() or (subscript and subscript in "ijmnt0123456789"):
        return ROLE[glyph.lower()]
    return None


def coloured(html: str) -> str:
    """Add the class of its colour to each glyph in KaTeX's HTML that names a query, key or value."""
    owner: str | None = None  # the role of a W whose subscript comes next

    def glyph(match: re.Match[str]) -> str:
        nonlocal owner
        classes, style, letter, subscript = match.groups(default="")
        meaning, owner = owner or role(letter, subscript), None
        if letter == "W":
            owner = meaning
        return f'<span class="{classes} qkv-{meaning}"{style}>{letter}</span>' if meaning else match[0]

    return GLYPH.sub(glyph, html)


class Renderer(Node):
    """A process with KaTeX that renders each formula once and caches the result."""

    def __init__(self) -> None:
        super().__init__("katex.mjs")
        self.known: dict[tuple[str, bool], str] = {}

    def __call__(self, latex: str, display: bool) -> str:
        """Return the HTML and MathML of a formula, with its colours; `display` is for one on a line of its own.

        Raises:
            ValueError: KaTeX cannot parse the formula. The message is KaTeX's.
        """
        if (latex, display) not in self.known:
            self.known[latex, display] = coloured(SOURCE.sub("", self.ask({"latex": latex, "display": display})))
        return self.known[latex, display]


render = Renderer()


def formula(node: nodes.Element, display: bool) -> str:
    """Return the HTML of a formula's node; `display` is for one on a line of its own.

    If KaTeX cannot parse it, return its source, and log a warning, which fails the build.
    """
    try:
        return render(node.astext(), display)
    except ValueError as reason:
        LOGGER.warning("KaTeX cannot parse this formula: %s", reason, location=node)
        return f"<code>{escape(node.astext())}</code>"


def drawn_characters(html: str) -> set[str]:
    """Return the characters that KaTeX draws for a formula, without those of the MathML, which precedes the drawing."""
    return set(unescape(re.sub(r"<[^>]*>", "", html.partition('class="katex-html" aria-hidden="true">')[2])))


def note_characters(app: Sphinx, document: nodes.document) -> None:
    """Store the characters of a page's formulas in its metadata, for the site's fonts."""
    shown: set[str] = set()
    for node in document.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)):
        shown |= drawn_characters(formula(node, isinstance(node, nodes.math_block)))
    app.env.metadata[app.env.docname]["qkv_formula_characters"] = "".join(sorted(shown))


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write an inline formula, joined to a punctuation mark that follows: a line must not begin with the mark.

    It ends with SkipNode, as Sphinx asks, because nothing below the node is left to write.
    """
    after = node.next_node(descend=False, siblings=True)
    joiner = WORD_JOINER if isinstance(after, nodes.Text) and after.astext()[0] in ",.;:?!)" else ""
    self.body.append(f'<span class="math">{formula(node, display=False)}</span>{joiner}')
    raise nodes.SkipNode


def visit_displaymath(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a display formula, with its number if it has one.

    It ends with SkipNode, as Sphinx asks, because nothing below the node is left to write.
    """
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(formula(node, display=True) + "</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer under its name, its style sheet, and the steps of this module."""
    app.add_html_math_renderer("qkv", (visit_math, None), (visit_displaymath, None))
    app.add_css_file("katex/katex.css")
    app.connect("doctree-read", note_characters)
    app.connect("build-finished", lambda app, exception: render.close())
