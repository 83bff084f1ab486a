"""Formulas: rendered by KaTeX at build time, with Q, K and V in their colours.

A colour means one thing in the whole book, so formulas may not be the exception. KaTeX's HTML is a flat list of glyph
spans; the ones that name a query, a key or a value get a class, and `qkv.css` gives the class its colour.
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

SOURCE = re.compile(r'<annotation .*?</annotation>|</?semantics>| xmlns="[^"]*"')  # of MathML, what no reader needs
WORD_JOINER = "\u2060"
ROLE = {"q": "query", "k": "key", "v": "value"}
GLYPH = re.compile(
    r'<span class="(mord mathnormal(?: mtight)?)"((?: style="[^"]*")?)>([QKVWqkv])</span>'
    # What follows it: a subscript is the first text of a list with a second row.
    r'(?=(?:<span class="msupsub"><span class="vlist-t vlist-t2">(?:<[^>]+>)+([^<]))?)'
)
# A title's own text: of a heading, of a link, or after the number before it.
TITLE = re.compile(r'((?:<h[1-6]>|<a\b[^>]*>(?:<span class="qkv-number">\d+</span>)?|<b>\d+</b>))([^<]*\bd_k\b)')


def title_set(title: str) -> str:
    """A title with d_k as mathematics. It stays text elsewhere: for the tab, and for the search."""
    return title.replace("d_k", "<i>d</i><sub>k</sub>")


def titles_set(html: str) -> str:
    """HTML with all of its titles set so."""
    return TITLE.sub(lambda found: found[1] + title_set(found[2]), html)


def role(glyph: str, subscript: str) -> str | None:
    """What a letter with this subscript stands for: a query, a key, a value, or none of them.

    A capital Q, K or V is always the matrix, and a W belongs to the matrix that it makes. A small letter is a vector
    only with a token's index (q_i, k_2): a bare k is a count, and the v of additive attention is not a value.
    """
    if glyph == "W":
        return ROLE.get(subscript.lower())
    if glyph.isupper() or (subscript and subscript in "ijmnt0123456789"):
        return ROLE[glyph.lower()]
    return None


def coloured(html: str) -> str:
    """Give each glyph of KaTeX's `html` that names a query, key or value the class of its colour."""
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
    """KaTeX in a process of its own, which is asked once for each formula."""

    def __init__(self) -> None:
        super().__init__("katex.mjs")
        self.known: dict[tuple[str, bool], str] = {}

    def __call__(self, latex: str, display: bool) -> str:
        """HTML and MathML of a formula, coloured; ValueError with KaTeX's reason where it cannot be read."""
        if (latex, display) not in self.known:
            self.known[latex, display] = coloured(SOURCE.sub("", self.ask({"latex": latex, "display": display})))
        return self.known[latex, display]


rendered = Renderer()


def formula(node: nodes.Element, display: bool) -> str:
    """The HTML of a formula's node; one that KaTeX cannot read is a warning, which fails the build."""
    try:
        return rendered(node.astext(), display)
    except ValueError as reason:
        LOGGER.warning("a formula that cannot be read: %s", reason, location=node)
        return f"<code>{escape(node.astext())}</code>"


def drawn_characters(html: str) -> set[str]:
    """The characters that KaTeX draws for a formula: MathML, which is read aloud, comes before them."""
    return set(unescape(re.sub(r"<[^>]*>", "", html.partition('class="katex-html" aria-hidden="true">')[2])))


def note_characters(app: Sphinx, document: nodes.document) -> None:
    """Note of a page what its formulas are drawn with, for the fonts that the site sends."""
    shown: set[str] = set()
    for node in document.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)):
        shown |= drawn_characters(formula(node, isinstance(node, nodes.math_block)))
    app.env.metadata[app.env.docname]["qkv_formula_characters"] = "".join(sorted(shown))


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write an inline formula, and hold on to a comma that follows: a line must not begin with it."""
    after = node.next_node(descend=False, siblings=True)
    joiner = WORD_JOINER if isinstance(after, nodes.Text) and after.astext()[0] in ",.;:?!)" else ""
    self.body.append(f'<span class="math">{formula(node, display=False)}</span>{joiner}')
    raise nodes.SkipNode


def visit_displaymath(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number where it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(formula(node, display=True) + "</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer under the name that `html_math_renderer` asks for."""
    app.add_html_math_renderer("qkv", (visit_math, None), (visit_displaymath, None))
    app.add_css_file("katex/katex.css")
    app.connect("doctree-read", note_characters)
    app.connect("build-finished", lambda app, exception: rendered.close())
