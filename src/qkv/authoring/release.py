"""Turn solutions into exercises: the same notebooks without the answers.

This uses nbgrader's preprocessors as a library. They remove the lines between BEGIN SOLUTION and END SOLUTION, lock the
graded cells, and clear outputs. The same solution always gives the same file, byte for byte.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

LINK = re.compile(r"\]\(((?:\.\.?/|[\w-]+/)*[\w-]+\.(?:ipynb|md))(?:#[^)\s]*)?\)")  # to another page of the course
SETUP = """import importlib.util

if importlib.util.find_spec("qkv") is None:
    raise ModuleNotFoundError(
        "This notebook needs the course's package. Your instructor has it as a file, qkv-….whl: run `pip install FILE`."
    )"""
STUB = "raise NotImplementedError"
SOLUTION_ONLY = "solution-only"  # the tag of a cell that the exercise does not get
EXERCISE_ONLY = "exercise-only"  # the tag of a cell that the solution's page hides (it has the tag remove-cell too)


class Finding(NamedTuple):
    """An exercise that is out of sync with its solution."""

    exercise: Path
    what: str  # the problem, as the rest of a sentence: "is missing"


def released(source: NotebookNode) -> NotebookNode:
    """Return the exercise for a solution, which does not change.

    Raises:
        ImportError: nbgrader is not installed.
        RuntimeError: BEGIN SOLUTION stands outside of a solution cell or within a solution, or END SOLUTION is missing.
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
    """Change a cell: remove the empty lines at its end, and the tags that only a solution needs.

    A cell that only the exercise shows loses the tag remove-cell too.
    """
    cell.source = cell.source.rstrip()
    tags = [tag for tag in cell.metadata.get("tags", []) if not tag.startswith("nbval")]
    if EXERCISE_ONLY in tags:
        tags = [tag for tag in tags if tag not in (EXERCISE_ONLY, "remove-cell")]
    if tags:
        cell.metadata["tags"] = tags
    else:
        cell.metadata.pop("tags", None)


def written(notebook: NotebookNode) -> str:
    """Return the notebook as the text of its .ipynb file."""
    return nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n"


def release(solutions: Path, exercises: Path) -> list[Path]:
    """Write every exercise that is missing or differs from its solution, and return the paths of those written.

    No file is removed. Errors are those of `released`.
    """
    changed = []
    for exercise, text in _expected(solutions, exercises):
        if not exercise.exists() or exercise.read_text(encoding="utf-8") != text:
            exercise.parent.mkdir(parents=True, exist_ok=True)
            exercise.write_text(text, encoding="utf-8")
            changed.append(exercise)
    return changed


def release_without_solutions(solutions: Path, chapters: Path, handout: Path) -> list[Path]:
    """Write the folder for learners: the exercises, the chapters, and the pages that they link to. Return its files.

    The setup cell of each notebook is replaced by one that says how to install the package.

    Raises:
        FileExistsError: the folder already contains solutions.
        ImportError, RuntimeError: as in `released`.
    """
    if (handout / "solutions").exists():
        raise FileExistsError(f"{handout} already contains a folder named solutions")
    release(solutions, handout / "exercises")
    root = chapters.parent
    to_visit = [path.relative_to(handout) for path in sorted(handout.glob("exercises/*.ipynb"))]
    to_visit += [path.relative_to(root) for path in sorted(chapters.glob("**/[0-9]*.ipynb"))]
    visited: set[Path] = set()
    while to_visit:
        page = to_visit.pop()
        visited.add(page)
        if page.parts[0] != "exercises":
            (handout / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / page, handout / page)
        to_visit += [linked for linked in linked_pages(handout / page, page) if (root / linked).is_file()]
        to_visit = [linked for linked in dict.fromkeys(to_visit) if linked not in visited]
    for notebook in sorted(handout.glob("**/*.ipynb")):
        _say_how_to_install(notebook)
    return sorted(handout / page for page in visited)


def linked_pages(file: Path, page: Path) -> list[Path]:
    """Return the pages in `book` and `chapters` that a page links to. They may not exist.

    Args:
        file: the page's file; of a notebook, only the text cells are read
        page: its place in the course, as are the results: `exercises/03_scaling.ipynb`
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = "\n".join(
            cell.source for cell in nbformat.reads(text, as_version=4).cells if cell.cell_type == "markdown"
        )
    found = [Path(os.path.normpath(page.parent / link)) for link in LINK.findall(text)]
    return [path for path in found if path.parts[0] in ("book", "chapters")]


def _say_how_to_install(file: Path) -> None:
    """Replace the setup cell of a notebook's file by one that says how to install the package.

    The folder for learners has no package in it. A notebook without a setup cell stays as it is.
    """
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        if "setup" in cell.metadata.get("tags", []):
            cell.source = SETUP
            file.write_text(written(notebook), encoding="utf-8")


def release_for_nbgrader(solutions: Path, source: Path) -> list[Path]:
    """Write the `source/` folder of an nbgrader course, from which nbgrader's own commands release and grade.

    Each notebook becomes an assignment, `source/03_scaling/03_scaling.ipynb`. The answers stay, between BEGIN SOLUTION
    and END SOLUTION. Only cells with the tag solution-only are removed. Returns the files.
    """
    files = []
    for path in sorted(solutions.glob("*.ipynb")):
        target = source / path.stem / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written(without_solution_only(nbformat.read(path, as_version=4))), encoding="utf-8")
        files.append(target)
    return files


def without_solution_only(source: NotebookNode) -> NotebookNode:
    """Return a copy of a notebook without the cells that have the tag solution-only."""
    notebook = nbformat.from_dict(source)
    notebook.cells = [cell for cell in notebook.cells if SOLUTION_ONLY not in cell.metadata.get("tags", [])]
    return notebook


def findings(solutions: Path, exercises: Path) -> list[Finding]:
    """Return the exercises that are missing, that differ from their solutions, or that have no solution.

    Errors are those of `released`.
    """
    found = []
    wanted = set()
    for exercise, text in _expected(solutions, exercises):
        wanted.add(exercise)
        if not exercise.exists():
            found.append(Finding(exercise, "is missing"))
        elif exercise.read_text(encoding="utf-8") != text:
            found.append(Finding(exercise, f"is not up to date with {solutions / exercise.name}"))
    orphans = sorted(set(exercises.glob("*.ipynb")) - wanted)
    return found + [Finding(orphan, "has no solution") for orphan in orphans]


def _expected(solutions: Path, exercises: Path) -> Iterator[tuple[Path, str]]:
    """Yield the path and the expected content of each exercise. It raises what `released` does."""
    for source in sorted(solutions.glob("*.ipynb")):
        yield exercises / source.name, written(released(nbformat.read(source, as_version=4)))
