"""Try the printing cells of chapters as their pages run them: `PYTHONPATH=src python -m page.tried [NN…]`.

It writes `not_on_page.toml`: the cells that do not run there, or print something else, and why. A page offers to run
every other cell that prints. Tried in CPython, with the page's torch and without the kernels that make it faster.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "page" / "not_on_page.toml"
ABOUT = """# Cells of chapters that print, and cannot be run on their page: `python -m page.tried` writes this list.
# The words stand on the page, after "In the notebook only: it …".
"""
SECONDS = 5  # in CPython; WebAssembly takes about three times as long, and the page stops after 20


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


def on_page(path: Path, ids: list[str]) -> dict[str, dict[str, str]]:
    """What these cells print with the page's torch, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["page", "page/runtime", "src"])}
    command = [sys.executable, __file__, "--cells", str(path), *ids]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def why_not(path: Path) -> dict[str, str]:
    """Why printing cells of a chapter are not run on its page, by their ids."""
    from tools.site import run_notebook

    _, notebook, _, error = run_notebook(str(path))
    if error:
        raise RuntimeError(error)
    wanted = printing(notebook)
    found = on_page(path, list(wanted))
    reasons = {name: reason(text, **found[name]) for name, text in wanted.items()}
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


def run_cells(path: str, ids: list[str]) -> None:
    """In a process of the page's torch: print what each cell gives, as JSON."""
    page: Any = import_module("notebook")  # page/runtime/notebook.py

    def ring(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, ring)
    notebook = json.loads(Path(path).read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    places = {cell["id"]: place for place, cell in enumerate(cells)}
    found = {}
    for name in ids:
        found[name] = {"printed": "", "problem": "TimeoutError"}
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.1)  # again and again: each cell that is left is stopped too
        with contextlib.suppress(TimeoutError):
            found[name] = page.printed_by(["".join(cell["source"]) for cell in cells[: places[name] + 1]])
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(json.dumps(found))


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
    if sys.argv[1:2] == ["--cells"]:
        run_cells(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])
