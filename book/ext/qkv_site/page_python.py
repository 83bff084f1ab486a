"""Exercises that are answered on the page: what they are answered with is drawn here, beside or in place of their code.

`page/drawn.py` says what that is and `page/runtime/page.js` brings it to life. What that loads when a reader presses
*Check* is packed once the pages are written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from page import drawn, pack  # noqa: E402  (it is no package that is installed)


def draw(app: Sphinx, document: nodes.document) -> None:
    """Give the cells of an exercise what they are answered with."""
    if not app.env.docname.startswith("exercises/"):
        return
    cells = json.loads(Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8"))["cells"]
    known = {cell.place: cell for cell in drawn.known(cells)}
    for container in document.findall(nodes.container):
        cell = known.get(container.get("cell_index", -1))
        if container.get("nb_element") == "cell_code" and cell:
            container["classes"].append(f"{drawn.SIGN}{cell.kind}")
            container += nodes.raw("", drawn.drawn(cell), format="html")


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Put what the page loads beside its script."""
    if exception is not None or not any(page.startswith("exercises/") for page in app.env.found_docs):
        return
    if not pack.PYODIDE.exists():
        raise ExtensionError("Pyodide is missing; get it with: npm install --no-save")
    pack.pack(Path(app.outdir) / "_static")


def setup(app: Sphinx) -> None:
    """Draw as a page is read; pack when all is written, before the service worker lists the files."""
    app.add_css_file("python-page.css")
    app.add_js_file("python-page.js", loading_method="defer")
    app.connect("doctree-read", draw)
    app.connect("build-finished", finish, priority=950)
