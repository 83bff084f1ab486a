"""Read mode: every cell of code folded to one line, for who reads the course and runs nothing.

The line is there from the build on, so that nothing moves when a page opens folded. The style shows it in read mode
alone; `page.js` has the switch, and opens a cell that is pressed. Without scripts and on paper all code is in sight.
"""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

SIGN = "qkv-unfold"
FOLDED = ("chapters/", "book/")


def line_of(code: str) -> str:
    """What stands for folded code: its first comment if a line is one, or else its first line."""
    lines = [line.strip() for line in code.strip().splitlines()]
    return next((line for line in lines if line.startswith("#")), lines[0] if lines else "")


def drawn(code: str) -> str:
    """The line of a folded cell: a button that opens the code below it."""
    return (
        f'<button type="button" class="{SIGN}" aria-expanded="false"><span>Code</span> '
        f"<code>{escape(line_of(code))}</code></button>"
    )


def fold(app: Sphinx, document: nodes.document) -> None:
    """Put its line above the code of each cell that has more than one."""
    if not app.env.docname.startswith(FOLDED):
        return
    for cell in document.findall(nodes.container):
        if cell.get("nb_element") != "cell_code_source" or cell.parent.get("hide_mode"):
            continue
        code = cell.next_node(nodes.literal_block)
        if code is not None and "\n" in code.astext().strip():
            cell.insert(0, nodes.raw("", drawn(code.astext()), format="html"))


def setup(app: Sphinx) -> None:
    """Run once a page has been read."""
    app.connect("doctree-read", fold)
