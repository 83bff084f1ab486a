"""Find the chapter cells that print, but cannot run on their page.

    PYTHONPATH=src python -m browser_python.runnable_cells [NN…]

It runs each cell that prints in Node.js, with the page's Python, torch and kernels (`in_node.mjs`). It writes to
`not_on_page.toml` the cells that fail or print something else, with a reason. The page offers to run all other cells
that print.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "browser_python" / "not_on_page.toml"
TOO_LONG = "takes too long here"
ABOUT = """# Chapter cells that print, but cannot run on the page, by `python -m browser_python.runnable_cells`.
# The page shows the reason after "In the notebook only: it …".
"""


def chapters() -> list[Path]:
    return sorted((ROOT / "chapters").rglob("*.ipynb"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def read_list() -> dict[str, dict[str, str]]:
    """Return the list of cells that do not run on their page: the reasons by page and by the cell's id."""
    return tomllib.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}


def left_out(page: str, cells: list[dict[str, Any]]) -> list[str]:
    """Return the ids of cells that do not run when one below them does: they take too long, here or for the build."""
    too_long = [name for name, why in read_list().get(page, {}).items() if why == TOO_LONG]
    return too_long + [cell["id"] for cell in cells if is_skipped(cell)]


def is_skipped(cell: dict[str, Any]) -> bool:
    return "skip-execution" in cell["metadata"].get("tags", [])


def printed_by_cell(notebook: Any) -> dict[str, str]:
    """Return the text that each cell of an executed notebook prints, by id.

    Left out are cells without output, with any output that is no text (see `text_of`), or with the tag remove-cell.
    """
    texts: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or "remove-cell" in cell.metadata.get("tags", []):
            continue
        outputs = [text_of(output) for output in cell.outputs]
        if outputs and None not in outputs:
            texts[cell.id] = "".join(filter(None, outputs))
    return texts


def text_of(output: Any) -> str | None:
    """Return what a cell printed, or the value of its last line and a new line; None for any other output.

    Others are what `display` shows, a value with a picture or HTML, a widget, an error, and what went to stderr.
    """
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else None
    if output.output_type == "execute_result" and set(output.data) == {"text/plain"}:
        return f"{output.data['text/plain']}\n"
    return None


def run_on_page(path: Path) -> dict[str, dict[str, Any]]:
    """Run the code cells of a chapter in order, as its page does, and return by cell id what `Interpreter.ask` returns.

    Cells with the tag skip-execution are left out. So is one that takes too long when those below it run, as on the
    page. Errors are those of `Interpreter.ask`.
    """
    from browser_python.in_node import interpreter

    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and not is_skipped(cell)]
    found, sources = {}, []
    with interpreter() as python:
        for cell in cells:
            sources.append("".join(cell["source"]))
            found[cell["id"]] = python.ask(sources)
            if "TimeoutError" in found[cell["id"]]["problem"]:
                sources[-1] = ""
    return found


def find_reasons(path: Path) -> dict[str, str]:
    """Run the cells of a chapter. Return {cell id: reason} for those that cannot run on the chapter's page.

    They are the cells that print something else there, and all that take too long, also those that print nothing.

    Raises:
        RuntimeError: the notebook itself fails.
    """
    from tools.site import run_notebook

    _, notebook, _, error = run_notebook(str(path))
    if error:
        raise RuntimeError(error)
    wanted = printed_by_cell(notebook)
    reasons = {}
    for name, found in run_on_page(path).items():
        why = reason(wanted.get(name, found["printed"]), found["printed"], found["problem"])
        if why and (name in wanted or why == TOO_LONG):
            reasons[name] = why
    return reasons


def reason(wanted: str, printed: str, problem: str) -> str:
    """Return why a cell cannot run on the page, as words that follow "it"; an empty string if the outputs are equal."""
    last = problem.strip().splitlines()[-1] if problem.strip() else ""
    if "is not on this page" in last:
        return f"uses {last.split(': ')[1].split(' is not')[0]}"
    if "TimeoutError" in last:
        return TOO_LONG
    if last:
        return "needs what this page does not have"
    return "" if printed == wanted else "prints other digits here"


def write_list(reasons: dict[str, dict[str, str]]) -> None:
    """Write the list to its file: for each page the reasons by cell id, without pages that are gone."""
    pages = {name_of(path) for path in chapters()}
    lines = [ABOUT]
    for page in sorted(pages & reasons.keys()):
        lines += [f'\n["{page}"]', *(f'{cell} = "{why}"' for cell, why in reasons[page].items())]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(numbers: list[str]) -> None:
    """Update the list for the chapters with these numbers ("05"), or for all.

    It is written after each chapter, because this takes long. A notebook that itself fails raises a RuntimeError.
    """
    for path in chapters():
        if not numbers or path.stem[:2] in numbers:
            found = find_reasons(path)
            write_list({**read_list(), name_of(path): found})
            print(f"{name_of(path)}: {len(found)} cells that print cannot run on the page", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
