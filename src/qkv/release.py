"""Turn solutions into exercises: the same notebooks without what a learner is to write.

nbgrader's preprocessors do it, used as a library: they cut what stands between BEGIN SOLUTION and END SOLUTION, lock
the cells that grade, and drop outputs. The same source gives the same file, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

STUB = "raise NotImplementedError"
SOLUTION_ONLY = "solution-only"  # the tag of a cell that stays behind


class Finding(NamedTuple):
    """An exercise that is not what its solution releases to, and in which way."""

    exercise: Path
    what: str


def released(source: NotebookNode) -> NotebookNode:
    """Give the exercise that a solution releases to.

    Raises:
        ImportError: nbgrader is not installed.
        RuntimeError: a solution is marked outside a solution cell, or its end is missing.
    """
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearMarkScheme,
        ClearOutput,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    notebook = without_solution_only(source)
    resources: dict[str, str] = {}
    for step in (
        CheckCellMetadata(),
        ClearSolutions(code_stub={"python": STUB}),
        ClearHiddenTests(),
        ClearMarkScheme(),
        LockCells(),
        ClearOutput(),
        ComputeChecksums(),
    ):
        notebook, resources = step.preprocess(notebook, resources)
    for cell in notebook.cells:
        _tidy(cell)
    return notebook


def _tidy(cell: NotebookNode) -> None:
    """Drop the empty lines that a cut solution leaves, and the tags that only a solution needs."""
    cell.source = cell.source.rstrip()
    tags = [tag for tag in cell.metadata.get("tags", []) if not tag.startswith("nbval")]
    if tags:
        cell.metadata["tags"] = tags
    else:
        cell.metadata.pop("tags", None)


def written(notebook: NotebookNode) -> str:
    """The notebook as a file holds it."""
    return nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n"


def release(solutions: Path, exercises: Path) -> list[Path]:
    """Write every exercise that is not as it should be, and give those files."""
    changed = []
    for exercise, text in _expected(solutions, exercises):
        if not exercise.exists() or exercise.read_text(encoding="utf-8") != text:
            exercise.parent.mkdir(parents=True, exist_ok=True)
            exercise.write_text(text, encoding="utf-8")
            changed.append(exercise)
    return changed


def release_for_nbgrader(solutions: Path, source: Path) -> list[Path]:
    """Write the `source/` folder of a course of nbgrader's, from which its own commands release and grade.

    A notebook is an assignment of its own. Answers stay, between their marks; only what is about the solution goes.
    """
    written_files = []
    for path in sorted(solutions.glob("*.ipynb")):
        notebook = without_solution_only(nbformat.read(path, as_version=4))
        target = source / path.stem / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written(notebook), encoding="utf-8")
        written_files.append(target)
    return written_files


def without_solution_only(source: NotebookNode) -> NotebookNode:
    """A copy without the cells that are about the solution."""
    notebook = nbformat.from_dict(source)
    notebook.cells = [cell for cell in notebook.cells if SOLUTION_ONLY not in cell.metadata.get("tags", [])]
    return notebook


def findings(solutions: Path, exercises: Path) -> list[Finding]:
    """Say which exercises are not what their solutions release to."""
    found = []
    wanted = set()
    for exercise, text in _expected(solutions, exercises):
        wanted.add(exercise)
        if not exercise.exists():
            found.append(Finding(exercise, "is missing"))
        elif exercise.read_text(encoding="utf-8") != text:
            found.append(Finding(exercise, f"is not what {solutions / exercise.name} releases to"))
    orphans = sorted(set(exercises.glob("*.ipynb")) - wanted)
    return found + [Finding(orphan, "has no solution") for orphan in orphans]


def _expected(solutions: Path, exercises: Path) -> Iterator[tuple[Path, str]]:
    for source in sorted(solutions.glob("*.ipynb")):
        notebook = nbformat.read(source, as_version=4)
        yield exercises / source.name, written(released(notebook))
