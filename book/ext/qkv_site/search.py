"""The search: an index of every section, term and work, made while the site is built, that knows symbols and Chinese.

Formulas are indexed as a reader would type them (√d_k, QKᵀ), not as LaTeX. The index is a script, because a page that
was opened from a disk may load one but fetch nothing. Solutions are left out: nobody should find one by accident.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pybtex.backends import plaintext
from sphinx import addnodes
from sphinx.application import Sphinx

from .links import REFERENCES
from .navigation import DEEPER

FILE = "search-index.js"
BRACED = re.compile(
    r"\\(?P<name>sqrt|operatorname\*?|text|mathrm|mathbf|mathbb|mathcal|bar|hat|tilde)\s*\{(?P<in>[^{}]*)\}"
)
FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
GROUP = re.compile(r"(?P<before>[_^]?)\{(?P<in>[^{}]*)\}")
SIGNS = {
    "top": "ᵀ", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "theta": "θ",
    "lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "partial": "∂", "sum": "∑",
    "infty": "∞", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "neq": "≠", "approx": "≈", "cdot": "·", "times": "×",
    "ln": "ln", "in": "∈", "to": "→", "ldots": "…", "dots": "…", "pm": "±", "propto": "∝", "mid": "|", "lVert": "‖",
    "rVert": "‖",
}  # fmt: skip
OUTPUTS = {"cell_code_output"}
# Letters of each section that are indexed where nothing is explained: who looks for a word wants to read about it.
MOST = 60
BRIEF = ("exercises/", "book/instructors-")
# Of a section beyond the core of the course: it begins with what it is about, and the index is sent whole.
MOST_DEEPER = 300
PLAIN = plaintext.Backend()  # asked for by name, it would be sought among all installed packages for every work
NAME = re.compile(r"[A-Za-z][\w.]*[._]\w+")


def typed(latex: str) -> str:
    r"""A formula as a reader would type it: `\frac{Q K^\top}{\sqrt{d_k}}` is QKᵀ/√d_k."""
    text = re.sub(r"\\(left|right|big|Big|bigl|bigr|limits|displaystyle|begin|end)\b(\{\w+\*?\})?", "", latex)
    text = re.sub(r"\\\\|&", ", ", text)  # what stands in a table
    text = re.sub(r"\\[!,;: ]|\\q?quad\b", "", text)
    text = re.sub(r"\^\s*(\{\\top\}|\\top\b)", "ᵀ", text)
    text = re.sub(r"\\sqrt\s*(\w)", r"√\1", text)
    before = ""
    while text != before:  # from the inside out
        before = text
        text = BRACED.sub(lambda found: ("√" if found["name"] == "sqrt" else "") + found["in"], text)
        text = FRACTION.sub(r"\1/\2", text)
        text = GROUP.sub(lambda found: found["before"] + found["in"], text)
    text = re.sub(r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], found[1] if len(found[1]) > 2 else ""), text)
    return re.sub(r"[\\&\s]+", "", text)


def words(node: nodes.Node) -> str:
    """The text below a node, without what belongs to a section of its own, was printed, or is HTML."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.math | nodes.math_block):
        return typed(node.astext())
    if isinstance(node, nodes.section | nodes.raw | nodes.comment | nodes.literal_block | addnodes.toctree):
        return ""
    if isinstance(node, nodes.Element) and node.get("nb_element") in OUTPUTS:
        return ""
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(map(words, node.children))


def tidy(text: str) -> str:
    """The text on one line, with one space between words."""
    return " ".join(text.split())


def entries(document: nodes.document) -> Iterator[tuple[str, str, str]]:
    """The places of a page that can be found: anchor, heading and text of each section and term."""
    known: set[str] = set()
    for section in document.findall(nodes.section):
        title = section.next_node(nodes.title)
        anchor = "" if section.parent is document else section["ids"][0]
        heading = tidy(words(title)) if title else ""
        parts = [part for part in section.children if part is not title and not _apart(part)]
        text = tidy(" ".join(map(words, parts)))
        fresh = names(parts, text) - known
        known |= fresh
        yield anchor, heading, " ".join([text, *sorted(fresh)]).strip()
    for item in document.findall(nodes.definition_list_item):
        term = item.next_node(nodes.term)
        if term is not None and term["ids"]:
            text, _, chinese = tidy(" ".join(map(words, item.findall(nodes.definition)))).partition("In Chinese: ")
            also = f" ({chinese.rstrip('.').replace(' or ', ', ')})" if chinese else ""
            yield term["ids"][0], tidy(words(term)) + also, text.strip()


def names(parts: list[nodes.Node], prose: str) -> set[str]:
    """The names in the code of a section that its prose does not have: all of the code would double the index."""
    blocks = (
        block for part in parts if not isinstance(part, nodes.section) for block in part.findall(nodes.literal_block)
    )
    found = {name for block in blocks if not _printed(block) for name in NAME.findall(block.astext())}
    return {name for name in found if name not in prose}


def _printed(block: nodes.Node) -> bool:
    """Whether a block is what a cell printed."""
    above = block.parent
    while above is not None and above.get("nb_element") not in OUTPUTS:
        above = above.parent
    return above is not None


def works(app: Sphinx) -> Iterator[tuple[str, str, str]]:
    """The works that the course cites."""
    for citation in app.env.get_domain("cite").citations:  # type: ignore[attr-defined]
        yield (
            citation.citation_id,
            citation.formatted_entry.label,
            citation.formatted_entry.text.render(PLAIN)[:100],
        )


def _apart(part: nodes.Node) -> bool:
    """Whether a part of a section is indexed entry by entry."""
    return isinstance(part, addnodes.glossary)


def index(app: Sphinx) -> list[dict[str, Any]]:
    """Every page with its title and its places, in the order of the book."""
    pages = [page for page in reading_order(app) if not page.startswith("solutions/")]
    return [{"page": page, "title": app.env.titles[page].astext(), "places": list(places(app, page))} for page in pages]


def places(app: Sphinx, page: str) -> Iterator[tuple[str, str, str]]:
    """The places of a page; works are put on theirs only while it is written, and come from the bibliography."""
    most = MOST if page.startswith(BRIEF) else MOST_DEEPER if page.startswith(DEEPER) else None
    for anchor, heading, text in entries(app.env.get_doctree(page)):
        yield anchor, heading, text[:most]
    if page == REFERENCES:
        yield from works(app)


def reading_order(app: Sphinx) -> list[str]:
    """The pages as the contents list them."""
    listed = [app.config.root_doc]
    for page in listed:  # it grows while it is read
        listed += [name for name in app.env.toctree_includes.get(page, []) if name not in listed]
    return listed


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the index beside the first page."""
    if exception is None:
        text = json.dumps(index(app), ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / FILE).write_text(f"window.qkvIndex={text};\n", encoding="utf-8")


def replace_search(app: Sphinx) -> None:
    """Sphinx's own search finds words only: it makes neither its index nor its page."""
    app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    """The page is made with the others, and the index after all of them."""
    app.connect("builder-inited", replace_search)
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    app.connect("build-finished", write, priority=800)
