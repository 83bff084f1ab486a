"""Read mode: each code cell is folded to one line, for readers who do not run code.

The line is written at build time, so nothing moves when a page opens in read mode. On a phone, pages open in read mode
at first. The style sheet shows the line only in read mode. `page.js` has the switch, and unfolds a cell when its line
is pressed. Without scripts, and on paper, all code is visible.
"""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

SIGN = "qkv-unfold"
FOLDED = ("chapters/", "book/")


def line_of(code: str) -> str:
    """Return the line that represents folded code: its first line that is a comment, or else its first line.

    A line that ends with an open bracket says little, so the lines after it are added until the bracket is closed.
    """
    lines = [line.strip() for line in code.strip().splitlines()]
    comment = next((line for line in lines if line.startswith("#")), "")
    if comment or not lines:
        return comment
    line, *following = lines
    if line.endswith(("(", "[", "{")):
        for more in following:
            line += more if more.startswith((")", "]", "}")) or line.endswith(("(", "[", "{")) else f" {more}"
            if line.count("(") + line.count("[") + line.count("{") <= sum(map(line.count, ")]}")):
                break
    return line


def unfold_button(code: str) -> str:
    """Return the line of a folded cell: a button that unfolds the code below it."""
    return (
        f'<button type="button" class="{SIGN}" aria-expanded="false"><span>Code</span> '
        f"<code>{escape(line_of(code))}</code></button>"
    )


def fold(app: Sphinx, document: nodes.document) -> None:
    """Insert the button above the code of each cell with more than one line."""
    if not app.env.docname.startswith(FOLDED):
        return
    for cell in document.findall(nodes.container):
        if cell.get("nb_element") != "cell_code_source" or cell.parent.get("hide_mode"):
            continue
        code = cell.next_node(nodes.literal_block)
        if code is not None and "\n" in code.astext().strip():
            cell.insert(0, nodes.raw("", unfold_button(code.astext()), format="html"))


def setup(app: Sphinx) -> None:
    """Register `fold`, which Sphinx calls for each page that it has read."""
    app.connect("doctree-read", fold)
