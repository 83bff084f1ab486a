"""Find submissions and read them, even damaged ones.

Layouts: PATH/<student>/…/<any name>.ipynb or PATH/<student>_NN_slug.ipynb. The path names the student; the content
shows which exercise it is. Files are untrusted: their size is limited, their encoding is guessed, and only the source
of their code cells is used.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import qkv
from qkv.grading.results import clean, clean_name
from qkv.questions import chapters, questions_of

MAX_FILE = 200 * 2**20  # bytes
MAX_CELLS = 2_000  # of a notebook
MAX_SOURCE = 1_000_000  # characters of a cell
MAX_NAMED = 8  # files that a message names
MAX_STEM = 255  # characters of a file's name that are looked at; no file system allows more
# Additions to a file's name by a learning platform, a browser or a file manager.
CANVAS = re.compile(r"(?P<student>[^_]+)(?:_LATE)?_(?P<user>\d{3,})_\d{3,}_(?P<rest>.+)")
LATE = re.compile(r"(^|_)LATE_")
ADDITION = re.compile(r"([ _-]*\(\d+\)|-Copy\d*|-\d+|[ _-]+copy( \d+)?)$", re.IGNORECASE)
EXERCISE = re.compile(r"(?P<chapter>\d\d)_[a-z0-9_]+", re.IGNORECASE)
NAME = re.compile(rf"(?:(?P<student>.+?)[_\- ])?(?P<notebook>{EXERCISE.pattern})", re.IGNORECASE)
IGNORED = re.compile(r"\._.*|\.ipynb_checkpoints|__MACOSX")  # copies that macOS and Jupyter make automatically
CHECKS = re.compile(r"""check\(\s*["'](\d+\.\d+)["']""")
DEFINES = re.compile(r"^[ \t]*(?:def|class)[ \t]+(\w+)", re.MULTILINE)


class UnreadableError(Exception):
    """The file is not a notebook that can be graded; the message says why."""


@dataclass(frozen=True)
class Submission:
    """A notebook that a student handed in.

    Attributes:
        student: the student's name, taken from the path
        notebook: the name of the exercise, "03_scaling", which also names the files of its results
        path: the file
        others: other files of this student with the same exercise; then it is unknown which file counts
    """

    student: str
    notebook: str
    path: Path
    others: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Work:
    """A submission that was read and can be graded: plain data that can be sent to another process or machine."""

    student: str
    notebook: str
    sha256: str
    chapter: int
    sources: tuple[str, ...]


# ── whose is it, and which exercise ───────────────────────────────────────────────────────────────


def exercise_in(path: Path, stem: str) -> str:
    """Return the name of the exercise that a file contains, or "" if neither its content nor `stem` shows it."""
    try:
        sources = code_cells(_read_bytes(path))
    except UnreadableError:
        sources = []
    return exercise_named(stem, sources)


def exercise_named(stem: str, sources: Iterable[str] = ()) -> str:
    """Return the name of the exercise of a file with this name and these code cells, or "" if nothing shows it."""
    try:
        return solution_file(chapter_of(stem, sources)).stem
    except UnreadableError:
        return ""
    except FileNotFoundError:  # of the solution
        return stem


def find(paths: Iterable[Path], exercise_in: Callable[[Path, str], str] = exercise_in) -> list[Submission]:
    """Find the notebooks in files and folders, and return one submission for each student and exercise.

    All files of a student that belong to no exercise are one submission too. So a student with any number of files
    has at most one more row than there are exercises.

    Args:
        paths: files and folders
        exercise_in: reads a file and returns the name of its exercise, or ""; a batch passes a function that does this
            in another process, because a file can be made so that reading it takes gigabytes

    Raises:
        FileNotFoundError: a path does not exist.
    """
    cells: dict[tuple[str, str], list[Submission]] = {}
    for path, root in _notebooks(list(paths)):
        student, stem = _student_and_stem(path, root)
        exercise = exercise_in(path, stem)
        one = Submission(clean_name(student), clean_name(exercise or stem), path)
        cells.setdefault((one.student.casefold(), exercise.casefold()), []).append(one)
    return [
        Submission(first.student, first.notebook, first.path, tuple(other.path for other in others))
        for first, *others in cells.values()
    ]


def _notebooks(paths: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each notebook once, with the folder that contains the students' folders."""
    met: set[Path] = set()
    files = [path.absolute().parent for path in paths if path.is_file()]
    above = Path(os.path.commonpath(files)) if files else Path()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder {path}")
        root = path.absolute() if path.is_dir() else above
        inside = sorted(_files(path)) if path.is_dir() else [path]
        for notebook in inside:
            place = notebook.absolute()
            if place not in met and not _is_ignored(place, root):
                met.add(place)
                yield notebook, root


def _files(folder: Path) -> Iterator[Path]:
    """Yield the notebooks below a folder, at any depth.

    A folder that cannot be listed is yielded too, so that a submission which may be in it is reported.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    to_list = [str(folder)]
    while to_list:
        here = to_list.pop()
        try:
            with os.scandir(here) as listed:
                entries = list(listed)
        except OSError:
            if here == str(folder):
                raise
            yield Path(here)
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                to_list.append(entry.path)
            elif os.path.normcase(entry.name).endswith(".ipynb") and not os.path.isdir(entry.path):
                yield Path(entry.path)


def _is_ignored(place: Path, root: Path) -> bool:
    return any(IGNORED.fullmatch(part) for part in place.relative_to(root).parts)


def _student_and_stem(path: Path, root: Path) -> tuple[str, str]:
    """Return the student that a path names, and the file's name without ending and additions.

    The first folder below `root` names the student. The file's name can name the student only if there is no folder.
    A folder with the name of an exercise does not count, because nbgrader collects `bob/03_scaling/03_scaling.ipynb`.
    """
    folders = [part for part in path.absolute().relative_to(root).parts[:-1] if not EXERCISE.fullmatch(part)]
    stem = without_additions(path.stem[:MAX_STEM])
    canvas = None if folders else CANVAS.fullmatch(stem)
    if canvas:
        own = NAME.fullmatch(canvas["rest"])
        return f"{canvas['student']}_{canvas['user']}", own["notebook"] if own else canvas["rest"]
    match = NAME.fullmatch(LATE.sub(r"\1", stem))
    if match is None:
        return folders[0] if folders else stem, stem
    return folders[0] if folders else match["student"] or root.name, match["notebook"]


def without_additions(stem: str) -> str:
    """Remove the additions at the end of a name: "03_scaling-Copy1 (2)" becomes "03_scaling"."""
    while (shorter := ADDITION.sub("", stem)) != stem:  # one at a time: an expression for all of them would try
        stem = shorter  # every way to divide a name into additions, which takes exponential time
    return stem


@cache
def solution_file(chapter: int) -> Path:
    """Return the path of a chapter's reference solution, in the installed package or in the course's repository.

    Raises:
        FileNotFoundError: there is no solution in either place.
    """
    package = Path(qkv.__file__).resolve().parent
    for folder in (package / "solutions", package.parents[1] / "solutions"):
        for path in sorted(folder.glob(f"{chapter:02}_*.ipynb")):
            return path
    raise FileNotFoundError(f"there is no solution of chapter {chapter} in {package / 'solutions'}")


def chapter_of(name: str, sources: Iterable[str]) -> int:
    """Return the chapter of a notebook.

    The questions that the notebook checks decide, else the answers that it defines, else its name.

    Raises:
        UnreadableError: none of these shows the chapter.
    """
    ids = {question: chapter for chapter in chapters() for question in questions_of(chapter)}
    names = {question.name: question.id for chapter in chapters() for question in questions_of(chapter).values()}
    texts = list(sources)
    checked = {question for text in texts for question in CHECKS.findall(text) if question in ids}
    defined = {names[name] for text in texts for name in DEFINES.findall(text) if name in names}
    votes = Counter(ids[question] for question in sorted(checked or defined))
    if votes:
        return votes.most_common(1)[0][0]
    match = NAME.fullmatch(name)
    if match and int(match["chapter"]) in chapters():
        return int(match["chapter"])
    raise UnreadableError("neither its content nor its name shows which chapter it belongs to.")


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def read(submission: Submission) -> Work:
    """Read a submission.

    Raises:
        UnreadableError: the file is not a notebook, is too large, is a symlink, is one of several files with the same
            exercise, or belongs to no chapter of this course.
    """
    if submission.others:
        files = " and ".join(clean(path, 200) for path in (submission.path, *submission.others[:MAX_NAMED]))
        what = "for the same exercise" if exercise_named(submission.notebook) else "that belong to no exercise"
        raise UnreadableError(f"one student has several files {what}: {files}. Keep the one that counts.")
    data = _read_bytes(submission.path)
    sources = code_cells(data)
    return Work(
        submission.student,
        submission.notebook,
        hashlib.sha256(data).hexdigest(),
        chapter_of(submission.notebook, sources),
        tuple(sources),
    )


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_symlink():
            raise UnreadableError("it is a symbolic link; a submission has to be a file of its own.")
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            os.scandir(path).close()  # raises the error that says why the folder could not be listed
            raise UnreadableError("it is a folder that could not be listed.")
        if not stat.S_ISREG(about.st_mode):
            raise UnreadableError("it is a pipe or a device; a submission has to be a file.")
        if about.st_size > MAX_FILE:
            raise UnreadableError(f"it has {about.st_size / 2**20:.0f} MB; at most {MAX_FILE // 2**20} MB are allowed.")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}.") from None


def code_cells(data: bytes) -> list[str]:
    """Return the sources of a notebook's code cells, in order.

    Raises:
        UnreadableError: the data is not a notebook.
    """
    if not data.strip(b"\0 \r\n\t"):
        raise UnreadableError("it is empty.")
    try:
        tree = json.loads(_text(data))
    except (ValueError, RecursionError):
        raise UnreadableError("it is not a notebook: it is not JSON.") from None
    cells = _cells(tree)
    if cells is None:
        raise UnreadableError("it is not a notebook: its JSON has no list of cells.")
    return [source[:MAX_SOURCE] for cell in cells[:MAX_CELLS] if (source := _code_source(cell)) is not None]


def _text(data: bytes) -> str:
    """Decode a file: by its byte order mark, else as UTF-8, else as Latin-1."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    try:
        return data.strip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _cells(tree: Any) -> list[Any] | None:
    """Return the cells of a notebook in any version of the format, or None if it has no list of cells."""
    if not isinstance(tree, dict):
        return None
    if isinstance(tree.get("cells"), list):
        return list(tree["cells"])
    sheets = tree.get("worksheets")
    if isinstance(sheets, list):
        inside = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for cells in inside if isinstance(cells, list) for cell in cells]
    return None


def _code_source(cell: Any) -> str | None:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else None
