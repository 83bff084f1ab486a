"""Hold notebooks to one form in git: `python tools/notebooks.py normalise [PATH…]`, `… check [PATH…]`.

Chapters, exercises and the site's own notebooks carry no outputs; solutions keep the text that a run printed and the
cells' numbers, which nbval needs to compare. Nobody keeps editors' metadata, trailing blanks or cells without a name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("chapters", "exercises", "solutions", "book")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# What a cell may carry: tags say how the site shows it, nbgrader marks what is graded, the rest locks it.
CELL_METADATA = ("deletable", "editable", "nbgrader", "tags")
# The source of a prediction holds its answer: the site leaves it out by its tag, JupyterLab and Colab fold it by these.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Finding(NamedTuple):
    """One thing that is not as it should be, and where."""

    cell: str
    what: str


def keeps_outputs(path: Path) -> bool:
    """Only solutions keep outputs."""
    return path.parent.name == "solutions"


def text_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs that are text and the same at every run: what was printed, and results in plain text."""
    kept = []
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            kept.append(nbformat.v4.new_output("stream", name="stdout", text=output.text))
        elif "text/plain" in output.get("data", {}):
            data = {"text/plain": output.data["text/plain"]}
            kept.append(nbformat.v4.new_output(output.output_type, data=data))
    return kept


def without_trailing_blanks(source: str) -> str:
    """Lines without blanks at their end, and no empty lines at the end of the cell."""
    return "\n".join(line.rstrip() for line in source.splitlines()).rstrip()


def new_id(cell: NotebookNode, taken: set[str]) -> str:
    """A name for a cell that has none of its own: the same whenever it is made again."""
    stem = hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
    return next(name for i in range(len(taken) + 1) if (name := stem if not i else f"{stem}-{i}") not in taken)


def normal_cell(cell: NotebookNode, run: int | None) -> NotebookNode:
    """A cell with what its author wrote; where outputs are kept, those of its run, which has a number.

    nbval compares the outputs of cells that have one, and no others.
    """
    metadata = {key: cell.metadata[key] for key in CELL_METADATA if cell.metadata.get(key) not in (None, [])}
    if "remove-input" in metadata.get("tags", []):
        metadata |= FOLDED
    fields: dict[str, Any] = {
        "cell_type": cell.cell_type,
        "id": cell.get("id", ""),
        "metadata": metadata,
        "source": without_trailing_blanks(cell.source),
    }
    if cell.get("attachments"):
        fields["attachments"] = cell.attachments
    if cell.cell_type == "code":
        fields |= {"execution_count": run, "outputs": [] if run is None else text_outputs(cell.outputs)}
    return NotebookNode(fields)


def normal(notebook: NotebookNode, outputs: bool) -> NotebookNode:
    """The notebook in its one form, in nbformat 4.5."""
    cells, taken, runs = [], set[str](), count(1)
    for cell in notebook.cells:
        clean = normal_cell(cell, next(runs) if outputs and cell.cell_type == "code" else None)
        if not CELL_ID.fullmatch(clean.id) or clean.id in taken:
            clean.id = new_id(clean, taken)
        taken.add(clean.id)
        cells.append(clean)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return nbformat.from_dict({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def written(notebook: NotebookNode) -> str:
    """The one layout in JSON: nbformat's own, which JupyterLab writes too."""
    return nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n"


def read(path: Path) -> tuple[str, NotebookNode]:
    """A file's text, and its notebook as it is: nbformat's own reader would repair it, and hide what is wrong."""
    text = path.read_text(encoding="utf-8")
    try:
        version = json.loads(text)["nbformat"]
    except (ValueError, KeyError, TypeError) as problem:
        raise SystemExit(f"{shown(path)} is not a notebook: {problem}") from None
    if version != 4:
        raise SystemExit(f"{shown(path)} has format {version}; open it in JupyterLab and save it in format 4")
    return text, nbformat.v4.reads(text)


def cell_findings(cell: NotebookNode, clean: NotebookNode) -> Iterator[str]:
    """What differs between a cell and its one form."""
    if cell.get("id", "") != clean.id:
        yield "has no id of its own"
    if cell.source != clean.source:
        yield "has blanks at the end of a line, or empty lines at its end"
    if noise := sorted(set(cell.metadata) - set(clean.metadata)):
        yield f"carries metadata: {', '.join(noise)}"
    if cell.get("execution_count") != clean.get("execution_count"):
        yield "carries an execution count" if clean.execution_count is None else "was not run from top to bottom"
    if cell.get("outputs", []) != clean.get("outputs", []):
        yield "carries outputs" if not clean.outputs else "carries outputs that are not plain text"


def findings(path: Path) -> list[Finding]:
    """Everything about a notebook file that is not in its one form."""
    text, notebook = read(path)
    clean = normal(notebook, keeps_outputs(path))
    found = [
        Finding(f"cell {number} (id {clean_cell.id})", what)
        for number, (cell, clean_cell) in enumerate(zip(notebook.cells, clean.cells, strict=True), 1)
        for what in cell_findings(cell, clean_cell)
    ]
    if notebook.metadata != clean.metadata:
        found.append(Finding("the notebook", "carries metadata other than its kernel and language"))
    if not found and text != written(clean):
        found.append(Finding("the file", "is laid out otherwise (nbformat 4.5, indent 1, sorted keys)"))
    return found


def chosen(paths: list[str]) -> list[Path]:
    """The notebooks that are meant: those named, or all."""
    roots = [Path(path) for path in paths] or [ROOT / folder for folder in FOLDERS]
    missing = [str(root) for root in roots if paths and not root.exists()]
    if missing:
        raise SystemExit(f"no such notebook: {', '.join(missing)}")
    files = [file for root in roots for file in ([root] if root.is_file() else root.rglob("*.ipynb"))]
    return sorted(file for file in files if ".ipynb_checkpoints" not in file.parts)


def shown(path: Path) -> str:
    """A path as one would type it."""
    resolved = path.resolve()
    return str(resolved.relative_to(ROOT) if resolved.is_relative_to(ROOT) else path)


def check(paths: list[Path]) -> int:
    """Say what is not as it should be, and what to type."""
    bad = [(path, found) for path in paths if (found := findings(path))]
    for path, found in bad:
        for finding in found:
            print(f"{shown(path)}, {finding.cell}: {finding.what}")
    if bad:
        print(f"\nType: python tools/notebooks.py normalise {' '.join(shown(path) for path, _ in bad)}")
    return 1 if bad else 0


def normalise(paths: list[Path]) -> int:
    """Rewrite what is not in its one form."""
    for path in paths:
        text, notebook = read(path)
        clean = written(normal(notebook, keeps_outputs(path)))
        if clean != text:
            path.write_text(clean, encoding="utf-8", newline="\n")
            print(f"normalised {shown(path)}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("normalise", "check"))
    parser.add_argument("paths", nargs="*", help="notebooks or folders; all of the course's when left out")
    options = parser.parse_args(arguments)
    paths = chosen(options.paths)
    return check(paths) if options.command == "check" else normalise(paths)


if __name__ == "__main__":
    sys.exit(main())
