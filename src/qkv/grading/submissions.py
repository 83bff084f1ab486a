"""Find submissions and read them, whatever state they are in.

`<student>/NN_slug.ipynb` or `<student>_NN_slug.ipynb`; any other name is taken too, and then the content tells the
chapter. A file is untrusted: its size is bounded, its encoding guessed, and only the text of its code cells is kept.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.questions import chapters, questions_of

MAX_FILE = 200 * 2**20  # bytes
MAX_CELLS = 2_000
MAX_SOURCE = 1_000_000  # characters of a cell
NAME = re.compile(r"(?:(?P<student>.+?)[_\- ])?(?P<notebook>(?P<chapter>\d\d)_[a-z0-9_]+)", re.IGNORECASE)
CHECKS = re.compile(r"""check\(\s*["'](\d+)\.\d+["']""")
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
    """

    student: str
    notebook: str
    path: Path


@dataclass(frozen=True)
class Work:
    """A submission as it is graded: plain data that can travel to another machine."""

    student: str
    notebook: str
    sha256: str
    chapter: int
    sources: tuple[str, ...]


def find(paths: Iterable[Path]) -> list[Submission]:
    """Find the notebooks in files and folders, by name, each with results of its own.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    found: dict[tuple[str, str], Submission] = {}
    for path, root in _notebooks(paths):
        student, notebook = _named(path, root)
        unique, n = notebook, 1
        while (student.casefold(), unique.casefold()) in found:
            n += 1
            unique = f"{notebook}-{n}"
        found[student.casefold(), unique.casefold()] = Submission(student, unique, path)
    return list(found.values())


def _notebooks(paths: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    met: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        inside = [path] if path.is_file() else sorted(path.rglob("*.ipynb"))
        for notebook in inside:
            if ".ipynb_checkpoints" not in notebook.parts and notebook.absolute() not in met:
                met.add(notebook.absolute())
                yield notebook, path.parent if path.is_file() else path


def _named(path: Path, root: Path) -> tuple[str, str]:
    """Read who and what from a path."""
    home = path.parent
    if home.name == path.stem and home != root:  # nbgrader collects <student>/03_scaling/03_scaling.ipynb
        home = home.parent
    folder = home.name if home != root or home == Path(path.anchor) else ""
    match = NAME.fullmatch(path.stem)
    if match is None:
        return folder or path.stem, path.stem
    return folder or match["student"] or home.absolute().name, match["notebook"]


def read(submission: Submission) -> Work:
    """Read a submission.

    Raises:
        UnreadableError: it is no notebook, too large, a link, or of no chapter of this course.
    """
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
        size = path.stat().st_size
        if size > MAX_FILE:
            raise UnreadableError(f"it has {size / 2**20:.0f} MB; at most {MAX_FILE // 2**20} are read.")
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


def chapter_of(name: str, sources: Iterable[str]) -> int:
    """Tell the chapter: from a notebook's name, or from its checks and the answers that it defines.

    Raises:
        UnreadableError: nothing tells.
    """
    match = NAME.fullmatch(name)
    if match and int(match["chapter"]) in chapters():
        return int(match["chapter"])
    votes: Counter[int] = Counter()
    answers = {question.name: chapter for chapter in chapters() for question in questions_of(chapter).values()}
    for source in sources:
        votes.update(int(chapter) for chapter in CHECKS.findall(source) if int(chapter) in chapters())
        votes.update(answers[name] for name in DEFINES.findall(source) if name in answers)
    if not votes:
        raise UnreadableError("neither its name nor its content tells which chapter's exercises it has.")
    return votes.most_common(1)[0][0]
