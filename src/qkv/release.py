"""Turn solutions into exercises: the same notebooks without what a learner is to write.

nbgrader's preprocessors do it, used as a library: they cut what stands between BEGIN SOLUTION and END SOLUTION, lock
the cells that grade, and drop outputs. The same source gives the same file, byte for byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

STUB = "raise NotImplementedError"
SOLUTION_ONLY = "solution-only"  # the tag of a cell that stays behind
EXERCISE_ONLY = "exercise-only"  # the tag of a cell that a solution's page leaves out, by `remove-cell` beside it


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
    if EXERCISE_ONLY in tags:
        tags = [tag for tag in tags if tag not in (EXERCISE_ONLY, "remove-cell")]
    if tags:
        cell.metadata["tags"] = tags
    else:
        cell.metadata.pop("tags", None)


def written(notebook: NotebookNode) -> str:
    """The notebook as a file holds it."""
    return nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n"


def release(solutions: Path, exercises: Path, seed: int | None = None) -> list[Path]:
    """Write every exercise that is not as it should be, and give those files; a seed draws their examples again."""
    changed = []
    for exercise, text in _expected(solutions, exercises, seed):
        if not exercise.exists() or exercise.read_text(encoding="utf-8") != text:
            exercise.parent.mkdir(parents=True, exist_ok=True)
            exercise.write_text(text, encoding="utf-8")
            changed.append(exercise)
    return changed


def release_without_solutions(solutions: Path, chapters: Path, handout: Path, seed: int | None = None) -> list[Path]:
    """Write what learners get into a folder: the exercises and the chapters that they link to. Gives its files.

    Raises:
        FileExistsError: the folder holds solutions, from another use or another command.
    """
    if (handout / "solutions").exists():
        raise FileExistsError(f"there is a folder solutions in {handout}")
    release(solutions, handout / "exercises", seed)
    (handout / "chapters").mkdir(parents=True, exist_ok=True)
    for chapter in sorted(chapters.glob("**/[0-9]*.ipynb")):
        copy = handout / "chapters" / chapter.relative_to(chapters)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(chapter, copy)
    return sorted(handout.glob("**/*.ipynb"))


def release_for_nbgrader(solutions: Path, source: Path, seed: int | None = None) -> list[Path]:
    """Write the `source/` folder of a course of nbgrader's, from which its own commands release and grade.

    A notebook is an assignment of its own. Answers stay, between their marks; only what is about the solution goes.
    """
    files = []
    for path in sorted(solutions.glob("*.ipynb")):
        target = source / path.stem / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written(without_solution_only(_read(path, seed))), encoding="utf-8")
        files.append(target)
    return files


def without_solution_only(source: NotebookNode) -> NotebookNode:
    """A copy without the cells that are about the solution."""
    notebook = nbformat.from_dict(source)
    notebook.cells = [cell for cell in notebook.cells if SOLUTION_ONLY not in cell.metadata.get("tags", [])]
    return notebook


def findings(solutions: Path, exercises: Path, seed: int | None = None) -> list[Finding]:
    """Say which exercises are not what their solutions release to."""
    found = []
    wanted = set()
    for exercise, text in _expected(solutions, exercises, seed):
        wanted.add(exercise)
        if not exercise.exists():
            found.append(Finding(exercise, "is missing"))
        elif exercise.read_text(encoding="utf-8") != text:
            found.append(Finding(exercise, f"is not what {solutions / exercise.name} releases to"))
    orphans = sorted(set(exercises.glob("*.ipynb")) - wanted)
    return found + [Finding(orphan, "has no solution") for orphan in orphans]


def _expected(solutions: Path, exercises: Path, seed: int | None) -> Iterator[tuple[Path, str]]:
    for source in sorted(solutions.glob("*.ipynb")):
        yield exercises / source.name, written(released(_read(source, seed)))


def _read(solution: Path, seed: int | None) -> NotebookNode:
    """A solution, with other numbers in its examples where a seed is given."""
    notebook = nbformat.read(solution, as_version=4)
    if seed is not None:
        from qkv.examples import redraw  # it needs torch, which takes its time

        redraw(notebook, seed)
    return notebook
