"""Find submissions and read them, whatever state they are in.

PATH/<student>/…/<any name>.ipynb or PATH/<student>_NN_slug.ipynb. The path tells who, the content tells which exercise.
A file is untrusted: its size is bounded, its encoding guessed, and only the text of its code cells is kept.
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
MAX_CELLS = 2_000
MAX_SOURCE = 1_000_000  # characters of a cell
# What a learning platform, a browser or a file manager adds to the name of a file.
CANVAS = re.compile(r"(?P<student>[^_]+)(?:_LATE)?_(?P<user>\d{3,})_\d{3,}_(?P<rest>.+)")
LATE = re.compile(r"(^|_)LATE_")
COPY = re.compile(r"([ _-]*\(\d+\)|-Copy\d*|-\d+|[ _-]+copy( \d+)?)+$", re.IGNORECASE)
EXERCISE = re.compile(r"(?P<chapter>\d\d)_[a-z0-9_]+", re.IGNORECASE)
NAME = re.compile(rf"(?:(?P<student>.+?)[_\- ])?(?P<notebook>{EXERCISE.pattern})", re.IGNORECASE)
IGNORED = re.compile(r"\._.*|\.ipynb_checkpoints|__MACOSX")  # copies that macOS and Jupyter make on their own
CHECKS = re.compile(r"""check\(\s*["'](\d+\.\d+)["']""")
DEFINES = re.compile(r"^\s*(?:def|class)\s+(\w+)", re.MULTILINE)


class UnreadableError(Exception):
    """This is not a notebook that can be graded; the message says why."""


@dataclass(frozen=True)
class Submission:
    """A notebook that somebody handed in.

    Attributes:
        student: who, as far as the path says
        notebook: what its results are called, "03_scaling"
        path: where it lies
        others: more files of this student that hold the same exercise, so that nobody knows which one counts
    """

    student: str
    notebook: str
    path: Path
    others: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Work:
    """A submission as it is graded: plain data that can travel to another machine."""

    student: str
    notebook: str
    sha256: str
    chapter: int
    sources: tuple[str, ...]


# ── whose is it, and which exercise ───────────────────────────────────────────────────────────────


def exercise_in(path: Path, stem: str) -> str:
    """The name of the exercise that a file holds, whatever the file is called."""
    try:
        sources = code_cells(_bytes(path))
    except UnreadableError:
        sources = []
    try:
        return solution_file(chapter_of(stem, sources)).stem
    except (UnreadableError, FileNotFoundError):
        return stem


def find(paths: Iterable[Path], exercise_in: Callable[[Path, str], str] = exercise_in) -> list[Submission]:
    """Find the notebooks in files and folders: one submission for each student and exercise.

    `exercise_in` reads each file for the name of its exercise. A file of a stranger may be made to take gigabytes to
    read, so a batch reads them in another process.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    cells: dict[tuple[str, str], list[Submission]] = {}
    for path, root in _notebooks(list(paths)):
        student, stem = _named(path, root)
        one = Submission(clean_name(student), clean_name(exercise_in(path, stem)), path)
        cells.setdefault((one.student.casefold(), one.notebook.casefold()), []).append(one)
    return [
        Submission(first.student, first.notebook, first.path, tuple(other.path for other in others))
        for first, *others in cells.values()
    ]


def _notebooks(paths: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Each notebook, once, and the folder below which the students' folders are."""
    met: set[Path] = set()
    files = [path.absolute().parent for path in paths if path.is_file()]
    above = Path(os.path.commonpath(files)) if files else Path()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        root = path.absolute() if path.is_dir() else above
        inside = sorted(_files(path)) if path.is_dir() else [path]
        for notebook in inside:
            place = notebook.absolute()
            if place not in met and not _is_ignored(place, root):
                met.add(place)
                yield notebook, root


def _files(folder: Path) -> Iterator[Path]:
    """The notebooks below a folder, however deep; and each folder that cannot be listed, for a notebook may be there.

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


def _named(path: Path, root: Path) -> tuple[str, str]:
    """Read from a path who handed it in, and what the file is called without what was added to its name.

    The first folder below `root` is the student; a file's own name tells the student only where there is no folder.
    A folder that is called like an exercise is nobody: nbgrader keeps `bob/03_scaling/03_scaling.ipynb`.
    """
    folders = [part for part in path.absolute().relative_to(root).parts[:-1] if not EXERCISE.fullmatch(part)]
    stem = COPY.sub("", path.stem)
    canvas = None if folders else CANVAS.fullmatch(stem)
    if canvas:
        own = NAME.fullmatch(canvas["rest"])
        return f"{canvas['student']}_{canvas['user']}", own["notebook"] if own else canvas["rest"]
    match = NAME.fullmatch(LATE.sub(r"\1", stem))
    if match is None:
        return folders[0] if folders else stem, stem
    return folders[0] if folders else match["student"] or root.name, match["notebook"]


@cache
def solution_file(chapter: int) -> Path:
    """The reference solution of a chapter: shipped beside the package, or in the repository that it is in.

    Raises:
        FileNotFoundError: it is not there.
    """
    package = Path(qkv.__file__).resolve().parent
    for folder in (package / "solutions", package.parents[1] / "solutions"):
        for path in sorted(folder.glob(f"{chapter:02}_*.ipynb")):
            return path
    raise FileNotFoundError(f"the solution of chapter {chapter} is not there: {package / 'solutions'}")


def chapter_of(name: str, sources: Iterable[str]) -> int:
    """Tell the chapter: from the questions that a notebook checks, else from the answers that it defines, else by name.

    Raises:
        UnreadableError: nothing tells.
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
    raise UnreadableError("neither its content nor its name tells which chapter's exercises it has.")


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def read(submission: Submission) -> Work:
    """Read a submission.

    Raises:
        UnreadableError: it is no notebook, too large, a link, one of several, or of no chapter of this course.
    """
    if submission.others:
        files = " and ".join(clean(path, 200) for path in (submission.path, *submission.others))
        raise UnreadableError(f"these files hold the same exercise of one student: {files}. Leave the one that counts.")
    data = _bytes(submission.path)
    sources = code_cells(data)
    return Work(
        submission.student,
        submission.notebook,
        hashlib.sha256(data).hexdigest(),
        chapter_of(submission.notebook, sources),
        tuple(sources),
    )


def _bytes(path: Path) -> bytes:
    try:
        if path.is_symlink():
            raise UnreadableError("it is a symbolic link; a submission has to be a file of its own.")
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            os.scandir(path).close()  # it says why it could not be listed
            raise UnreadableError("it is a folder that could not be listed.")
        if not stat.S_ISREG(about.st_mode):
            raise UnreadableError("it is a pipe or a device; a submission has to be a file.")
        if about.st_size > MAX_FILE:
            raise UnreadableError(f"it has {about.st_size / 2**20:.0f} MB; at most {MAX_FILE // 2**20} are read.")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}.") from None


def code_cells(data: bytes) -> list[str]:
    """The sources of a notebook's code cells, in order.

    Raises:
        UnreadableError: it is no notebook.
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
    return [source[:MAX_SOURCE] for cell in cells[:MAX_CELLS] if (source := _source(cell)) is not None]


def _text(data: bytes) -> str:
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
    """The cells of a notebook of any format."""
    if not isinstance(tree, dict):
        return None
    if isinstance(tree.get("cells"), list):
        return list(tree["cells"])
    sheets = tree.get("worksheets")
    if isinstance(sheets, list):
        return [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or ()]
    return None


def _source(cell: Any) -> str | None:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else None
