"""Write what came of each submission, and what came of all of them, so that a run can be taken up again.

Names, messages and source are the learner's: bounded and cleaned here, once, before they reach any file. One process
writes. A file is either as it was or as it should be, and no link that somebody left in the folder is followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_NAME = 70  # characters; nbgrader's own limit is 128, with what may be added to a name
MAX_TEXT = 1500
MAX_QUESTIONS = 200
MAX_BYTES = 2_000_000  # of a result that is read back
UNSAFE = "UNSAFE: graded without a sandbox. Not for credit."
TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")  # of the direction of writing
STATUSES = ("passed", "failed", "not attempted", "error")

# A folder or file of this name would be mistaken for one of ours, or for a device on Windows.
RESERVED = re.compile(
    r"(grades\.csv|canvas\.csv|moodle\.csv|gradebook\.db.*|report\.html|con|prn|aux|nul|(com|lpt)\d)(\..*)?",
    re.IGNORECASE,
)


class MalformedError(ValueError):
    """This is not the result of a submission."""


@dataclass(frozen=True)
class Answer:
    """What came of one question."""

    id: str
    points: float
    max_points: float
    status: str
    misconception: str | None
    message: str
    seconds: float

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Answer:
        """Clean one entry of a result's `questions`."""
        status = given["status"]
        if status not in STATUSES:
            raise MalformedError(f"a question's status is {str(status)[:40]!r}")
        idea = given["misconception"]
        return cls(
            id=clean(given["id"], 20),
            points=number(given["points"]),
            max_points=number(given["max_points"]),
            status=status,
            misconception=None if idea is None else clean(idea, MAX_NAME),
            message=clean(given["message"], MAX_TEXT),
            seconds=number(given["seconds"]),
        )


@dataclass(frozen=True)
class Submission:
    """What came of one notebook; `score` is None where it could not be graded, which is not a zero."""

    student: str
    notebook: str
    sha256: str
    version: str
    seed: int
    status: str
    reason: str
    score: float | None
    max_score: float
    questions: tuple[Answer, ...]
    unsafe: bool = False
    source: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Submission:
        """Clean a result as the contract has it.

        Raises:
            MalformedError: a field is missing, of another type, or no number.
        """
        try:
            graded = given["status"] == "graded"
            if not graded and given["status"] != "ungraded":
                raise MalformedError(f"the status is {str(given['status'])[:40]!r}")
            return cls(
                student=clean_name(given["student"]),
                notebook=clean_name(given["notebook"]),
                sha256=clean(given["sha256"], 64),
                version=clean(given["version"], MAX_NAME),
                seed=int(given["seed"]),
                status=given["status"],
                reason=clean(given["reason"] or "", MAX_TEXT),
                score=number(given["score"]) if graded else None,
                max_score=number(given["max_score"] or 0),
                questions=tuple(Answer.of(entry) for entry in given["questions"][:MAX_QUESTIONS]),
                unsafe=bool(given.get("unsafe", False)),
                source=str(given.get("source") or ""),
            )
        except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as wrong:
            raise MalformedError(f"{type(wrong).__name__}: {wrong}") from None

    @property
    def graded(self) -> bool:
        return self.status == "graded"

    @property
    def stem(self) -> str:
        """The notebook's name without its ending."""
        return self.notebook.removesuffix(".ipynb")

    def as_dict(self) -> dict[str, Any]:
        """The result as the contract has it."""
        fields = {name: value for name, value in vars(self).items() if name not in ("source", "unsafe")}
        fields["questions"] = [dict(vars(answer)) for answer in self.questions]
        return fields | ({"unsafe": True} if self.unsafe else {})


def clean(text: Any, limit: int) -> str:
    """Bound a text, and make visible what could move a cursor, turn the direction or break an encoding."""
    whole = str(text)
    kept = "".join("\ufffd" if _is_treacherous(c) else c for c in whole[:limit])
    return kept if len(whole) <= limit else f"{kept[: limit - 1]}…"


def _is_treacherous(c: str) -> bool:
    return c != "\n" and (unicodedata.category(c) in ("Cc", "Cs") or unicodedata.bidirectional(c) in TURNS)


def clean_name(text: Any) -> str:
    """Clean a name to one line; where that changes it, a hash keeps it apart from others that look the same."""
    name = clean(text, MAX_NAME).replace("\n", " ")
    return name if name and name == text else f"{name[: MAX_NAME - 13] or 'unnamed'}~{_hash(str(text))}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def number(value: Any) -> float:
    """A finite number of points or seconds; nothing else will do."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise MalformedError(f"{str(value)[:40]!r} is no number of points or seconds")
    return float(value)


def safe_name(name: str) -> str:
    """Give the folder or file in which something of this name is kept: different for different names.

    A name of letters, digits, spaces and `._@+-` is kept. Any other loses what else it has, and gains a hash.
    """
    kept = re.sub(r"[^\w.@+ -]+", "_", unicodedata.normalize("NFC", clean_name(name))).strip(". ").lstrip("-")
    looks_hashed = re.search(r"~[0-9a-f]{12}$", kept)
    if kept and kept == name and not looks_hashed and not RESERVED.fullmatch(kept):
        return kept
    return f"{kept[:40] or 'unnamed'}~{_hash(name)}"


def earlier_seed(out: Path) -> int | None:
    """The seed of the newest result in a folder: a run without a seed of its own takes up the one before it."""
    with contextlib.suppress(OSError):
        files = [path for path in out.glob("*/*.json") if not path.name.endswith(".results.json")]
        for path in sorted(files, key=lambda path: path.lstat().st_mtime_ns, reverse=True):
            with contextlib.suppress(OSError, ValueError, RecursionError):
                return Submission.of(json.loads(_read(path))).seed
    return None


class Writer:
    """Keeps the results of a run in a folder."""

    def __init__(self, out: Path, seed: int, gradebook: str | None = None) -> None:
        self.out = out
        self.seed = seed
        self.gradebook = gradebook
        out.mkdir(parents=True, exist_ok=True)

    def kept(
        self, student: str, notebook: str, sha256: str, version: str, unsafe: bool = False
    ) -> dict[str, Any] | None:
        """Give an earlier result of this very file, graded with this seed and version; None where there is none.

        What was graded without a sandbox counts only where that is asked for again. A damaged file counts as absent.
        """
        folder, stem = self._place(student, notebook)
        try:
            earlier = Submission.of(json.loads(_read(folder / f"{stem}.json")))
        except (OSError, ValueError, RecursionError):
            return None
        found = (earlier.student, earlier.notebook, earlier.sha256, earlier.version, earlier.seed)
        same = found == (clean_name(student), clean_name(notebook), sha256, version, self.seed)
        return earlier.as_dict() if same and earlier.graded and (unsafe or not earlier.unsafe) else None

    def write(self, result: Mapping[str, Any]) -> None:
        """Write a submission's feedback, its Gradescope file, and last the result that says that all is there.

        Raises:
            MalformedError: it is not a result.
            OSError: it cannot be written.
        """
        from qkv.grading.report import feedback_page
        from qkv.grading.sheets import gradescope

        submission = Submission.of(result)
        folder, stem = self._place(str(result["student"]), str(result["notebook"]))
        _make_folder(folder)
        _replace(folder / f"{stem}.html", feedback_page(submission))
        _replace(folder / f"{stem}.results.json", _as_json(gradescope(submission)))
        _replace(folder / f"{stem}.json", _as_json(submission.as_dict()))

    def finish(self, results: list[dict[str, Any]], exercises: Path = Path("exercises")) -> None:
        """Write what is about all of them: tables, nbgrader's gradebook, and the class report.

        `exercises` holds the notebooks that were released: their own lines are no sign that somebody copied.
        """
        from qkv.grading.gradebook import record
        from qkv.grading.report import class_page
        from qkv.grading.sheets import canvas, grades, moodle

        by_name = {(s.student, s.notebook): s for s in map(Submission.of, results)}  # the last of a name counts
        submissions = [by_name[key] for key in sorted(by_name)]
        for name, text in (
            ("grades.csv", grades(submissions)),
            ("canvas.csv", canvas(submissions)),
            ("moodle.csv", moodle(submissions)),
            ("report.html", class_page(submissions, exercises)),
        ):
            _replace(self.out / name, text)
        record(submissions, self.gradebook or f"sqlite:///{(self.out / 'gradebook.db').resolve()}")

    def _place(self, student: str, notebook: str) -> tuple[Path, str]:
        """The folder and the name, without an ending, of what belongs to a submission."""
        stem = notebook.removesuffix(".ipynb")
        return self.out / safe_name(student), safe_name(stem if "." not in stem else f"{stem}/")


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _read(path: Path) -> str:
    """Read a small regular file that is no link, in a folder that is none.

    Raises:
        OSError: there is none such.
    """
    if path.parent.is_symlink():
        raise OSError(f"{path.parent} is a link")
    with open(os.open(path, os.O_RDONLY | _NO_LINK), encoding="utf-8") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
            raise OSError(f"{path} is no small file")
        return stream.read()


# Windows has neither; O_NONBLOCK keeps a pipe of that name from stopping us.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def _make_folder(folder: Path) -> None:
    """Make a folder; a link of its name, to wherever it leads, gives way to it."""
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(exist_ok=True)


def _replace(path: Path, text: str) -> None:
    """Write a file beside its place, then move it there: half a file is never seen, and no link is followed."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(part, path)
