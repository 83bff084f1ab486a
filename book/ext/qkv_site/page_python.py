"""Python on the page: exercises are answered, and cells of chapters run, where they are read.

`page/drawn.py` says what a page has for it and `page/runtime/page.js` brings it to life. What that loads when a reader
presses *Check* or *Run* is packed once the pages are written. A site built `--without-page-python` has none of it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from page import drawn, pack, tried  # noqa: E402  (it is no package that is installed)

SCRATCH = "book/try"


def draw(app: Sphinx, document: nodes.document) -> None:
    """Give the cells of a page what they are run or answered with."""
    page = app.env.docname
    if page == SCRATCH:
        document[0] += nodes.raw("", drawn.scratch(), format="html")
    if not page.startswith(("exercises/", "chapters/")):
        return
    cells = json.loads(Path(app.env.doc2path(page)).read_text(encoding="utf-8"))["cells"]
    for container in list(document.findall(nodes.container)):
        if container.get("nb_element") == "cell_code" and "cell_index" in container:
            (draw_exercise if page.startswith("exercises/") else draw_chapter)(container, cells, page)


def draw_exercise(container: nodes.container, cells: list[dict[str, Any]], page: str) -> None:
    cell = next((cell for cell in drawn.page_cells(cells) if cell.place == container["cell_index"]), None)
    if cell:
        container["classes"].append(f"{drawn.SIGN}{cell.kind}")
        container += nodes.raw("", drawn.html_of(cell), format="html")


def draw_chapter(container: nodes.container, cells: list[dict[str, Any]], page: str) -> None:
    """Between a cell's code and its output, where this is text."""
    output = next((part for part in container.children if part.get("nb_element") == "cell_code_output"), None)
    if output is None or not is_text(output):
        return
    name = cells[container["cell_index"]]["id"]
    why = tried.read_list().get(page, {}).get(name)
    container["classes"].append(f"{drawn.SIGN}chapter")
    at = container.index(output)
    container.insert(at, nodes.raw("", drawn.not_here(why) if why else drawn.runnable(name), format="html"))


def is_text(output: nodes.Element) -> bool:
    """Whether an output is what a cell printed, and no picture or widget."""
    return all(isinstance(part, nodes.literal_block) for part in output.children)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Put what the page loads beside its script."""
    if exception is not None or not any(page.startswith("exercises/") for page in app.env.found_docs):
        return
    if not pack.PYODIDE.exists():
        raise ExtensionError("Pyodide is missing; get it with: npm install --no-save")
    pack.pack(Path(app.outdir) / "_static")


def setup(app: Sphinx) -> None:
    """Draw as a page is read; pack when all is written, before the service worker lists the files."""
    if os.environ.get("QKV_PAGE_PYTHON") == "off":
        return
    app.add_css_file("python-page.css")
    app.add_js_file("python-page.js", loading_method="defer")
    app.connect("doctree-read", draw)
    app.connect("build-finished", finish, priority=950)
