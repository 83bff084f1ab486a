"""Python on the page: readers answer exercises and run cells of chapters on the page itself.

`browser_python/controls.py` has the HTML of its controls, and `browser_python/runtime/page.js` makes them work. The
files that the script loads when a reader presses *Check* or *Run* are packed after all pages are written. A site that
is built with `--without-page-python` has none of this.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from browser_python import controls, pack, runnable_cells
from tools.translations.skin import is_english

SCRATCH = "book/try"
RUNNING = ("exercises/", "chapters/")  # the pages with cells that run


def draw(app: Sphinx, document: nodes.document) -> None:
    """Add to the cells of a page the controls that run or check them, and to the scratch page an editor."""
    page = app.env.docname
    if page == SCRATCH:
        document[0] += nodes.raw("", controls.scratch(), format="html")
    if not page.startswith(RUNNING):
        return
    cells = json.loads(Path(app.env.doc2path(page)).read_text(encoding="utf-8"))["cells"]
    for container in list(document.findall(nodes.container)):
        if container.get("nb_element") == "cell_code" and "cell_index" in container:
            (draw_exercise if page.startswith("exercises/") else draw_chapter)(container, cells, page)


def draw_exercise(container: nodes.container, cells: list[dict[str, Any]], page: str) -> None:
    """Add the controls to a cell of an exercise, if it is one of the cells that have controls.

    `cells` are all cells of the page's notebook. The page's name does not matter here, as it does in `draw_chapter`.
    """
    cell = next((cell for cell in controls.page_cells(cells) if cell.place == container["cell_index"]), None)
    if cell:
        container["classes"].append(f"{controls.SIGN}{cell.kind}")
        container += nodes.raw("", controls.html_of(cell), format="html")


def draw_chapter(container: nodes.container, cells: list[dict[str, Any]], page: str) -> None:
    """Insert a *Run* button before a cell's output if that is text, or the reason why the cell cannot run here.

    A cell without output, or with another one, stays as it is. `cells` are all cells of the notebook of `page`.
    """
    output = next((part for part in container.children if part.get("nb_element") == "cell_code_output"), None)
    if output is None or not is_text(output):
        return
    name = cells[container["cell_index"]]["id"]
    why = runnable_cells.read_list().get(page, {}).get(name)
    container["classes"].append(f"{controls.SIGN}chapter")
    at = container.index(output)
    container.insert(at, nodes.raw("", controls.not_here(why) if why else controls.runnable(name), format="html"))


def is_text(output: nodes.Element) -> bool:
    """Check whether a cell's output is text only, without a picture or a widget."""
    return all(isinstance(part, nodes.literal_block) for part in output.children)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Pack the files that the page's Python loads into `_static`.

    Nothing happens after an error, for another language, and if no page runs Python.

    Raises:
        ExtensionError: Pyodide is not installed.
    """
    if (
        exception is not None
        or not is_english()
        or not any(page == SCRATCH or page.startswith(RUNNING) for page in app.env.found_docs)
    ):
        return
    if not pack.PYODIDE.exists():
        raise ExtensionError("Pyodide is missing. Install it with: npm install --no-save")
    pack.pack(Path(app.outdir) / "_static")


def remove(app: Sphinx, exception: Exception | None) -> None:
    """Remove what an earlier build with the page's Python has left: it contains the reference answers."""
    shutil.rmtree(Path(app.outdir) / "_static" / "python", ignore_errors=True)


def setup(app: Sphinx) -> None:
    """Draw the controls when a page is read; pack the files after the build, before the service worker lists them.

    If QKV_PAGE_PYTHON is "off", only remove the files of an earlier build.
    """
    if os.environ.get("QKV_PAGE_PYTHON") == "off":
        app.connect("build-finished", remove)
        return
    app.add_css_file("python-page.css")
    app.add_js_file("python-page.js", loading_method="defer")
    app.connect("doctree-read", draw)
    app.connect("build-finished", finish, priority=950)
