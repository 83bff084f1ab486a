"""Keep notebooks in a normal form in git: `python tools/notebooks.py normalise [PATH…]`, `… check [PATH…]`.

In the normal form, every cell has an id, and there is no editor's metadata and no trailing whitespace. Chapters,
exercises and the site's own notebooks have no outputs. Solutions keep their text outputs and execution counts, because
nbval compares them.
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
# The metadata that a cell may have: tags say how the site shows it, nbgrader marks what is graded, the rest locks it.
CELL_METADATA = ("deletable", "editable", "nbgrader", "tags")
# The source of a prediction contains its answer. The site omits that source by its tag; this metadata folds it in
# JupyterLab and in Colab.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Finding(NamedTuple):
    """A difference from the normal form, and its place."""

    cell: str
    what: str


def keeps_outputs(path: Path) -> bool:
    """Check whether a notebook keeps its outputs: only solutions do."""
    return path.parent.name == "solutions"


def text_outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return a cell's text outputs, which are the same in every run: stdout, and results as plain text."""
    kept = []
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            kept.append(nbformat.v4.new_output("stream", name="stdout", text=output.text))
        elif "text/plain" in output.get("data", {}):
            data = {"text/plain": output.data["text/plain"]}
            kept.append(nbformat.v4.new_output(output.output_type, data=data))
    return kept


def without_trailing_blanks(source: str) -> str:
    """Remove whitespace at the end of each line, and empty lines at the end of the cell."""
    return "\n".join(line.rstrip() for line in source.splitlines()).rstrip()


def new_id(cell: NotebookNode, taken: set[str]) -> str:
    """Return a new id for a cell. It depends only on the cell's type and source and on the ids already taken."""
    stem = hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
    return next(name for i in range(len(taken) + 1) if (name := stem if not i else f"{stem}-{i}") not in taken)


def normalised_cell(cell: NotebookNode, run: int | None) -> NotebookNode:
    """Return a cell in the normal form.

    `run` is its execution count; with None, it gets none, and no outputs. nbval compares the outputs of a cell only if
    it has a count.
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


def normalised(notebook: NotebookNode, outputs: bool) -> NotebookNode:
    """Return a notebook in the normal form, in nbformat 4.5, with or without its text outputs.

    With outputs, its code cells are counted from 1. A cell without a valid id of its own gets a new one.
    """
    cells, taken, runs = [], set[str](), count(1)
    for cell in notebook.cells:
        clean = normalised_cell(cell, next(runs) if outputs and cell.cell_type == "code" else None)
        if not CELL_ID.fullmatch(clean.id) or clean.id in taken:
            clean.id = new_id(clean, taken)
        taken.add(clean.id)
        cells.append(clean)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return nbformat.from_dict({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def as_json(notebook: NotebookNode) -> str:
    """Return a notebook as JSON text, laid out as nbformat and JupyterLab do it."""
    return nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n"


def read(path: Path) -> tuple[str, NotebookNode]:
    """Return a file's text and its notebook, unchanged. (`nbformat.read` would repair it and hide what is wrong.)

    Raises:
        SystemExit: the file is not a notebook in format 4.
    """
    text = path.read_text(encoding="utf-8")
    try:
        version = json.loads(text)["nbformat"]
    except (ValueError, KeyError, TypeError) as problem:
        raise SystemExit(f"{short_path(path)} is not a notebook: {problem}") from None
    if version != 4:
        raise SystemExit(f"{short_path(path)} has format {version}; open it in JupyterLab and save it in format 4")
    return text, nbformat.v4.reads(text)


def cell_findings(cell: NotebookNode, clean: NotebookNode) -> Iterator[str]:
    """Yield the differences between a cell and its normal form, as predicates: "carries outputs"."""
    if cell.get("id", "") != clean.id:
        yield "has no valid id of its own"
    if cell.source != clean.source:
        yield "has blanks at the end of a line, or empty lines at its end"
    if noise := sorted(set(cell.metadata) - set(clean.metadata)):
        yield f"carries metadata: {', '.join(noise)}"
    if cell.get("execution_count") != clean.get("execution_count"):
        yield "carries an execution count" if clean.execution_count is None else "was not run from top to bottom"
    if cell.get("outputs", []) != clean.get("outputs", []):
        yield "carries outputs" if not clean.outputs else "carries outputs that are not plain text"


def findings(path: Path) -> list[Finding]:
    """Return all differences between a notebook file and its normal form.

    Raises:
        SystemExit: the file is not a notebook in format 4.
    """
    text, notebook = read(path)
    clean = normalised(notebook, keeps_outputs(path))
    found = [
        Finding(f"cell {number} (id {clean_cell.id})", what)
        for number, (cell, clean_cell) in enumerate(zip(notebook.cells, clean.cells, strict=True), 1)
        for what in cell_findings(cell, clean_cell)
    ]
    if notebook.metadata != clean.metadata:
        found.append(Finding("the notebook", "carries metadata other than its kernel and language"))
    if not found and text != as_json(clean):
        found.append(Finding("the file", "does not have the JSON layout (nbformat 4.5, indent 1, sorted keys)"))
    return found


def chosen_notebooks(paths: list[str]) -> list[Path]:
    """Return the notebooks at and below these paths, or all of the course's if there are no paths.

    Raises:
        SystemExit: a path does not exist.
    """
    roots = [Path(path) for path in paths] or [ROOT / folder for folder in FOLDERS]
    missing = [str(root) for root in roots if paths and not root.exists()]
    if missing:
        raise SystemExit(f"no such notebook: {', '.join(missing)}")
    files = [file for root in roots for file in ([root] if root.is_file() else root.rglob("*.ipynb"))]
    return sorted(file for file in files if ".ipynb_checkpoints" not in file.parts)


def short_path(path: Path) -> str:
    """Return a path relative to the repository, if it lies in there."""
    resolved = path.resolve()
    return str(resolved.relative_to(ROOT) if resolved.is_relative_to(ROOT) else path)


def check(paths: list[Path]) -> int:
    """Print all findings, and the command that fixes them. Return the exit code: 1 if there are findings, else 0.

    Raises:
        SystemExit: a file is not a notebook in format 4.
    """
    bad = [(path, found) for path in paths if (found := findings(path))]
    for path, found in bad:
        for finding in found:
            print(f"{short_path(path)}, {finding.cell}: {finding.what}")
    if bad:
        print(f"\nType: python tools/notebooks.py normalise {' '.join(short_path(path) for path, _ in bad)}")
    return 1 if bad else 0


def normalise(paths: list[Path]) -> int:
    """Rewrite each notebook that is not in the normal form, and print its name. Return the exit code, always 0.

    Raises:
        SystemExit: a file is not a notebook in format 4. Files after it are not rewritten.
    """
    for path in paths:
        text, notebook = read(path)
        clean = as_json(normalised(notebook, keeps_outputs(path)))
        if clean != text:
            path.write_text(clean, encoding="utf-8", newline="\n")
            print(f"normalised {short_path(path)}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Return the exit code; raise SystemExit as `chosen_notebooks` and `read` do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("normalise", "check"))
    parser.add_argument("paths", nargs="*", help="notebooks or folders; default: all notebooks of the course")
    options = parser.parse_args(arguments)
    paths = chosen_notebooks(options.paths)
    return check(paths) if options.command == "check" else normalise(paths)


if __name__ == "__main__":
    sys.exit(main())
