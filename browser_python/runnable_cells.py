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


def printed_by_cell(notebook: Any) -> dict[str, str]:
    """Return the text that each cell of an executed notebook prints, by id, without cells with a picture or widget."""
    texts: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or "remove-cell" in cell.metadata.get("tags", []):
            continue
        outputs = [text_of(output) for output in cell.outputs]
        if outputs and None not in outputs:
            texts[cell.id] = "".join(filter(None, outputs))
    return texts


def text_of(output: Any) -> str | None:
    """Return a cell output as text, or None if it is not text."""
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else None
    if output.output_type == "execute_result" and set(output.data) == {"text/plain"}:
        return f"{output.data['text/plain']}\n"
    return None


def run_on_page(path: Path, ids: list[str]) -> dict[str, dict[str, Any]]:
    """Run these cells as their page does, and return their results by id."""
    from browser_python.in_node import interpreter

    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    places = {cell["id"]: place for place, cell in enumerate(cells)}
    sources = ["".join(cell["source"]) for cell in cells]
    with interpreter() as python:
        return {name: python.ask(sources[: places[name] + 1]) for name in ids}


def find_reasons(path: Path) -> dict[str, str]:
    """Run the printing cells of a chapter. Return {cell id: reason} for those that cannot run on the chapter's page."""
    from tools.site import run_notebook

    _, notebook, _, error = run_notebook(str(path))
    if error:
        raise RuntimeError(error)
    wanted = printed_by_cell(notebook)
    found = run_on_page(path, list(wanted))
    reasons = {name: reason(text, found[name]["printed"], found[name]["problem"]) for name, text in wanted.items()}
    return {name: why for name, why in reasons.items() if why}


def reason(wanted: str, printed: str, problem: str) -> str:
    """Return why a cell cannot run on the page, as words that follow "it"; an empty string if the outputs are equal."""
    last = problem.strip().splitlines()[-1] if problem.strip() else ""
    if "is not on this page" in last:
        return f"uses {last.split(': ')[1].split(' is not')[0]}"
    if "TimeoutError" in last:
        return "takes too long here"
    if last:
        return "needs what this page does not have"
    return "" if printed == wanted else "prints other digits here"


def main(numbers: list[str]) -> None:
    """Update the list for the chapters with these numbers, or for all chapters."""
    reasons = read_list()
    for path in chapters():
        if not numbers or path.stem[:2] in numbers:
            reasons[name_of(path)] = find_reasons(path)
            print(f"{name_of(path)}: {len(reasons[name_of(path)])} cells that print cannot run on the page", flush=True)
    pages = {name_of(path) for path in chapters()}
    lines = [ABOUT]
    for page in sorted(pages & reasons.keys()):
        lines += [f'\n["{page}"]', *(f'{cell} = "{why}"' for cell, why in reasons[page].items())]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
