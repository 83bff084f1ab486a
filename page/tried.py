"""Try the printing cells of chapters as their pages run them: `PYTHONPATH=src python -m page.tried [NN…]`.

It writes `not_on_page.toml`: the cells that do not run there, or print something else, and why. A page offers to run
every other cell that prints. Tried in node, on the page's own Python, torch and kernels (`in_node.mjs`).
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "page" / "not_on_page.toml"
ABOUT = """# Cells of chapters that print, and cannot be run on their page: `python -m page.tried` writes this list.
# The words stand on the page, after "In the notebook only: it …".
"""


def chapters() -> list[Path]:
    return sorted((ROOT / "chapters").rglob("*.ipynb"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def listed() -> dict[str, dict[str, str]]:
    """By page and by cell: why it is not run there."""
    return tomllib.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}


def printing(notebook: Any) -> dict[str, str]:
    """What each cell of an executed notebook prints, by its id; not those that show a picture or a widget."""
    texts: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or "remove-cell" in cell.metadata.get("tags", []):
            continue
        outputs = [text_of(output) for output in cell.outputs]
        if outputs and None not in outputs:
            texts[cell.id] = "".join(filter(None, outputs))
    return texts


def text_of(output: Any) -> str | None:
    """An output as text; None for anything else."""
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else None
    if output.output_type == "execute_result" and set(output.data) == {"text/plain"}:
        return f"{output.data['text/plain']}\n"
    return None


def on_page(path: Path, ids: list[str]) -> dict[str, dict[str, Any]]:
    """What these cells print on their page."""
    from page.in_node import interpreter

    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    places = {cell["id"]: place for place, cell in enumerate(cells)}
    sources = ["".join(cell["source"]) for cell in cells]
    with interpreter() as python:
        return {name: python.ask(sources[: places[name] + 1]) for name in ids}


def why_not(path: Path) -> dict[str, str]:
    """Why printing cells of a chapter are not run on its page, by their ids."""
    from tools.site import run_notebook

    _, notebook, _, error = run_notebook(str(path))
    if error:
        raise RuntimeError(error)
    wanted = printing(notebook)
    found = on_page(path, list(wanted))
    reasons = {name: reason(text, found[name]["printed"], found[name]["problem"]) for name, text in wanted.items()}
    return {name: why for name, why in reasons.items() if why}


def reason(wanted: str, printed: str, problem: str) -> str:
    """In words, after "it"; nothing where the page prints the same."""
    last = problem.strip().splitlines()[-1] if problem.strip() else ""
    if "is not on this page" in last:
        return f"uses {last.split(': ')[1].split(' is not')[0]}"
    if "TimeoutError" in last:
        return "takes too long here"
    if last:
        return "needs what this page does not have"
    return "" if printed == wanted else "prints other digits here"


def main(numbers: list[str]) -> None:
    """Write the list anew for these chapters, or for all."""
    reasons = listed()
    for path in chapters():
        if not numbers or path.stem[:2] in numbers:
            reasons[name_of(path)] = why_not(path)
            print(f"{name_of(path)}: {len(reasons[name_of(path)])} printing cells do not run on the page", flush=True)
    pages = {name_of(path) for path in chapters()}
    lines = [ABOUT]
    for page in sorted(pages & reasons.keys()):
        lines += [f'\n["{page}"]', *(f'{cell} = "{why}"' for cell, why in reasons[page].items())]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
