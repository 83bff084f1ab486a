"""Build the search index: all sections, terms and works, with mathematical symbols and Chinese.

Formulas are indexed as a reader would type them (√d_k, QKᵀ), not as LaTeX. The index is a script, because a page that
is opened from a file may load a script but must not fetch data. Solutions are left out, so that no reader finds one by
accident.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opencc
from docutils import nodes
from pybtex.backends import plaintext
from sphinx import addnodes
from sphinx.application import Sphinx

from tools.translations.skin import is_english, language

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
# Characters indexed per section on pages that explain nothing: a reader who searches for a word wants an explanation.
MOST = 60
BRIEF = ("exercises/", "book/instructors-")
# Characters indexed per section of a deeper page. A section begins with its subject, and a small index loads faster.
MOST_DEEPER = 300
PLAIN = plaintext.Backend()  # with its name instead, pybtex would search all installed packages for it, for each work
NAME = re.compile(r"[A-Za-z][\w.]*[._]\w+")


def as_typed(latex: str) -> str:
    r"""Return a formula as a reader would type it: `\frac{Q K^\top}{\sqrt{d_k}}` becomes QKᵀ/√d_k."""
    text = re.sub(r"\\(left|right|big|Big|bigl|bigr|limits|displaystyle|begin|end)\b(\{\w+\*?\})?", "", latex)
    text = re.sub(r"\\\\|&", ", ", text)  # the entries of an array
    text = re.sub(r"\\[!,;: ]|\\q?quad\b", "", text)
    text = re.sub(r"\^\s*(\{\\top\}|\\top\b)", "ᵀ", text)
    text = re.sub(r"\\sqrt\s*(\w)", r"√\1", text)
    before = ""
    while text != before:  # braces, from the innermost outwards
        before = text
        text = BRACED.sub(lambda found: ("√" if found["name"] == "sqrt" else "") + found["in"], text)
        text = FRACTION.sub(r"\1/\2", text)
        text = GROUP.sub(lambda found: found["before"] + found["in"], text)
    text = re.sub(r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], found[1] if len(found[1]) > 2 else ""), text)
    return re.sub(r"[\\&\s]+", "", text)


def text_of(node: nodes.Node) -> str:
    """Return the text below a node, without inner sections, code, cell outputs and HTML.

    Formulas are as a reader would type them.
    """
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.math | nodes.math_block):
        return as_typed(node.astext())
    if isinstance(node, nodes.section | nodes.raw | nodes.comment | nodes.literal_block | addnodes.toctree):
        return ""
    if isinstance(node, nodes.Element) and node.get("nb_element") in OUTPUTS:
        return ""
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(map(text_of, node.children))


def tidy(text: str) -> str:
    """Return a text on one line, with one space between words."""
    return " ".join(text.split())


def entries(document: nodes.document) -> Iterator[tuple[str, str, str]]:
    """Yield the anchor, heading and text of each section and each glossary term of a page.

    The text of a section also has the names in its code that no section before has. A term has its Chinese names too.
    """
    known: set[str] = set()
    for section in document.findall(nodes.section):
        title = section.next_node(nodes.title)
        anchor = "" if section.parent is document else section["ids"][0]
        heading = tidy(text_of(title)) if title else ""
        parts = [part for part in section.children if part is not title and not _apart(part)]
        text = tidy(" ".join(map(text_of, parts)))
        fresh = names(parts, text) - known
        known |= fresh
        yield anchor, heading, " ".join([text, *sorted(fresh)]).strip()
    for item in document.findall(nodes.definition_list_item):
        term = item.next_node(nodes.term)
        if term is not None and term["ids"]:
            text, _, chinese = tidy(" ".join(map(text_of, item.findall(nodes.definition)))).partition("In Chinese: ")
            also = f" ({chinese.rstrip('.').replace(' or ', ', ')})" if chinese else ""
            yield term["ids"][0], tidy(text_of(term)) + also, text.strip()


def names(parts: list[nodes.Node], prose: str) -> set[str]:
    """Return the names in the code of a section's parts that its prose does not contain.

    All of the code would double the index. Inner sections and outputs of cells do not count.
    """
    blocks = (
        block for part in parts if not isinstance(part, nodes.section) for block in part.findall(nodes.literal_block)
    )
    found = {name for block in blocks if not _printed(block) for name in NAME.findall(block.astext())}
    return {name for name in found if name not in prose}


def _printed(block: nodes.Node) -> bool:
    """Check whether a block is the output of a cell."""
    above = block.parent
    while above is not None and above.get("nb_element") not in OUTPUTS:
        above = above.parent
    return above is not None


def works(app: Sphinx) -> Iterator[tuple[str, str, str]]:
    """Yield the anchor, label and shortened text of each work that the course cites."""
    for citation in app.env.get_domain("cite").citations:  # type: ignore[attr-defined]
        yield (
            citation.citation_id,
            citation.formatted_entry.label,
            citation.formatted_entry.text.render(PLAIN)[:100],
        )


def _apart(part: nodes.Node) -> bool:
    """Check whether a part of a section is a glossary, which is indexed term by term."""
    return isinstance(part, addnodes.glossary)


def index(app: Sphinx) -> list[dict[str, Any]]:
    """Return all pages in the order of the book, each with its title and its places."""
    pages = [page for page in reading_order(app) if not page.startswith("solutions/")]
    return [{"page": page, "title": app.env.titles[page].astext(), "places": list(places(app, page))} for page in pages]


def places(app: Sphinx, page: str) -> Iterator[tuple[str, str, str]]:
    """Yield the places of a page: its sections and terms, and on the page of references all works.

    Each is an anchor, a heading and a text, which is cut on exercises, pages for instructors and deeper pages.
    The works come from the bibliography, because they are not on their page before it is written.
    """
    most = MOST if page.startswith(BRIEF) else MOST_DEEPER if page.startswith(DEEPER) else None
    for anchor, heading, text in entries(app.env.get_doctree(page)):
        yield anchor, heading, text[:most]
    if page == REFERENCES:
        yield from works(app)


def reading_order(app: Sphinx) -> list[str]:
    """Return the pages in the order of the table of contents."""
    listed = [app.config.root_doc]
    for page in listed:  # the list grows during the loop
        listed += [name for name in app.env.toctree_includes.get(page, []) if name not in listed]
    return listed


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the index into the root of the site, unless the build failed.

    A Chinese one also has the characters of the other script, so that it is searched in both.
    """
    if exception is None:
        text = json.dumps(index(app), ensure_ascii=False, separators=(",", ":"))
        script = f"window.qkvIndex={text};\n"
        if not is_english():
            script += f'window.qkvVariants="{variants(text)}";\n'
        (Path(app.outdir) / FILE).write_text(script, encoding="utf-8")


def variants(text: str) -> str:
    """Return the characters of the other Chinese script, each before the one of this text that it stands for.

    Where the text has the other one more often, as in the glossary's names, there is no pair.
    """
    other = other_script()
    counts = Counter(text)  # the glossary names its terms in both scripts
    return "".join(f"{typed}{kept}" for typed, kept in other.items() if counts[kept] > counts[typed])


def other_script() -> dict[str, str]:
    """Return a traditional character by each simplified one that differs.

    On the simplified site, it is the other way round.
    """
    every = [chr(code) for code in range(0x4E00, 0xA000)]
    simplified = opencc.OpenCC("t2s").convert("\n".join(every)).split("\n")
    pairs = [(old, new) for old, new in zip(every, simplified, strict=True) if old != new]
    return dict(pairs) if language() == "zh_CN" else {new: old for old, new in pairs}


def replace_search(app: Sphinx) -> None:
    """Turn off the index and the page of Sphinx's own search, which finds only words."""
    app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    """Register the search page, write the index after all pages, and turn off Sphinx's own search."""
    app.connect("builder-inited", replace_search)
    app.connect("html-collect-pages", lambda app: [("search", {}, "search.html")])
    app.connect("build-finished", write, priority=800)
