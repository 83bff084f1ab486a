"""The result of grading one submission: one dataclass, from grading to the written file.

Names, messages and source come from the learner. The constructor cuts them to a limit and cleans them, so that every
`Result` and `Answer` is safe to print and to write.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qkv.checking.card import STATUSES
from qkv.words import mark, retold

# How a cell's error is written where it ran, in English (qkv.sandboxed.cells and .worker).
RAISED = (
    mark("{error} in line {line}, `{code}`. The rest of the cell ran"),
    mark("{error} in line {line}, `{code}`"),
    mark("{error} in line {line}"),
    mark("TimeUp: it was stopped after {time}"),
)
MAX_NAME = 70  # characters; nbgrader allows 128
MAX_FILE_NAME = 210  # bytes; file systems allow 255, and an ending is added to a name
MAX_TEXT = 1500  # characters of a message
MAX_QUESTIONS = 200  # in one result
MAX_FAILED = 20  # cells that failed, in one result
MAX_SOURCE = 100_000  # characters of a submission that are compared with other submissions

# Names that a learner's folder or file must not have: the grader's own files, and devices on Windows.
RESERVED = re.compile(
    r"((grades|canvas|moodle|moodle_worksheet_.*|blackboard)\.csv|gradebook\.db.*|report\.html|run\.(json|lock)|secret|con|prn|aux|nul|(com|lpt)\d)(\..*)?",
    re.IGNORECASE,
)


def error_of_cell(said: str) -> str:
    """Return what a cell raised, in the reader's language."""
    return retold(said, RAISED)


class MalformedError(ValueError):
    """A field of a result is missing or has a wrong value."""


@dataclass(frozen=True)
class Answer:
    """The grade of one question: points, status and message."""

    id: str
    points: float
    max_points: float
    status: str
    misconception: str | None
    message: str
    seconds: float
    by_hand: bool = False  # whether the points were entered by hand

    def __post_init__(self) -> None:
        """Bring each field to its type and length.

        Raises:
            MalformedError: the status is unknown, or the points or seconds are no finite number from 0.
        """
        if self.status not in STATUSES:
            raise MalformedError(f"unknown status of a question: {str(self.status)[:40]!r}")
        _set_fields(
            self,
            id=clean(self.id, 20),
            points=number(self.points),
            max_points=number(self.max_points),
            misconception=None if self.misconception is None else clean(self.misconception, MAX_NAME),
            message=clean(self.message, MAX_TEXT),
            seconds=number(self.seconds),
        )


@dataclass(frozen=True)
class Result:
    """The result of one notebook. `score` is None if the notebook could not be graded, which is not a zero.

    Raises:
        MalformedError: the status is unknown, or a score is not a finite number from 0.
    """

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
    missing_modules: tuple[str, ...] = ()  # that the notebook imports and that are not installed where it was graded
    failed_cells: tuple[str, ...] = ()  # what each cell that failed raised, or why it was not run
    by_hand: bool = False  # whether the score was entered by hand, whatever the questions have
    source: str = ""  # the code, to compare submissions; it is not written to the file

    def __post_init__(self) -> None:
        """Bring each field to its type and length. A result that is not graded loses its score.

        Raises:
            MalformedError: the status is unknown, or a score is no finite number from 0.
        """
        if self.status not in ("graded", "ungraded"):
            raise MalformedError(f"unknown status: {str(self.status)[:40]!r}")
        _set_fields(
            self,
            student=clean_name(self.student),
            notebook=clean_name(self.notebook),
            sha256=clean(self.sha256, 64),
            version=clean(self.version, MAX_NAME),
            seed=int(self.seed),
            reason=clean(self.reason or "", MAX_TEXT),
            score=number(self.score) if self.graded else None,
            max_score=number(self.max_score or 0),
            questions=tuple(self.questions[:MAX_QUESTIONS]),
            missing_modules=tuple(clean(module, MAX_NAME) for module in self.missing_modules[:MAX_QUESTIONS]),
            failed_cells=tuple(clean(cell, MAX_TEXT) for cell in self.failed_cells[:MAX_FAILED]),
            source=str(self.source or "")[:MAX_SOURCE],
        )

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Result:
        """Make a result from the content of a result's JSON file. Other fields than those of a result are left out.

        Raises:
            MalformedError: a field is missing or has the wrong type, or a number is not finite or is negative.
        """
        try:
            fields = {field.name: given[field.name] for field in dataclasses.fields(cls) if field.name in given}
            return cls(**fields | {"questions": tuple(Answer(**entry) for entry in given["questions"])})
        except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as wrong:
            raise MalformedError(f"{type(wrong).__name__}: {wrong}") from None

    @property
    def graded(self) -> bool:
        return self.status == "graded"

    @property
    def stem(self) -> str:
        """The notebook's name without the ending .ipynb."""
        return self.notebook.removesuffix(".ipynb")

    def as_dict(self) -> dict[str, Any]:
        """Return the content of the result's JSON file: all fields but `source`, and without empty optional ones."""
        fields = _without_unused(vars(self))
        fields.pop("source", None)
        return fields | {"questions": [_without_unused(vars(answer)) for answer in self.questions]}


def _without_unused(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result or an answer without those that are optional and not used."""
    optional = ("missing_modules", "failed_cells", "by_hand")
    return {name: value for name, value in fields.items() if value or name not in optional}


def _set_fields(result: Answer | Result, **fields: Any) -> None:
    """Set fields of a frozen dataclass, which is only allowed while it is constructed."""
    for name, value in fields.items():
        object.__setattr__(result, name, value)


def clean(text: Any, limit: int) -> str:
    """Return a text of at most `limit` characters, with control characters and other invisible characters as U+FFFD.

    A text that was cut ends in "…".
    """
    whole = str(text)
    kept = whole[:limit]
    if not kept.isprintable():  # nothing printable is invisible
        kept = "".join("\ufffd" if _is_invisible(c) else c for c in kept)
    return kept if len(whole) <= limit else f"{kept[: limit - 1]}…"


def _is_invisible(c: str) -> bool:
    """Check whether a character is a control, format or surrogate character, or a line or paragraph separator.

    Line breaks are allowed, and so are the zero-width joiner and non-joiner, which several scripts need.
    """
    return c not in "\n\u200c\u200d" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def clean_name(text: Any) -> str:
    """Clean a name and put it on one line. A name that this changes ends in a hash, so that names stay different."""
    name = clean(text, MAX_NAME).replace("\n", " ")
    return name if name and name == text else f"{name[: MAX_NAME - 13] or 'unnamed'}~{_hash(str(text))}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def number(value: Any) -> float:
    """Return a number of points or seconds as a float.

    Raises:
        MalformedError: the value is not a finite number that is at least 0.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise MalformedError(f"{str(value)[:40]!r} is not a number of points or seconds")
    return float(value)


def safe_name(name: str) -> str:
    """Return a name for a folder or file; different names give different results.

    A short name of letters, digits, spaces and `._@+-` is returned as it is. In any other name, other characters are
    replaced by `_`, it is cut, and a hash is added; so too for names that a system reserves.
    """
    kept = re.sub(r"[^\w.@+ -]+", "_", unicodedata.normalize("NFC", clean_name(name))).strip(". ").lstrip("-")
    looks_hashed = re.search(r"~[0-9a-f]{12}$", kept)
    fits = len(kept.encode()) <= MAX_FILE_NAME
    if kept and kept == name and fits and not looks_hashed and not RESERVED.fullmatch(kept):
        return kept
    return f"{kept[:40] or 'unnamed'}~{_hash(name)}"
