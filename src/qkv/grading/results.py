"""What came of a submission: one dataclass from the moment it is graded until it is written to a file.

Names, messages and source are the learner's: they are bounded and cleaned when a result is made, so that no result with
anything else in it exists.
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

from qkv.feedback import STATUSES

MAX_NAME = 70  # characters; nbgrader's own limit is 128, with what may be added to a name
MAX_FILE_NAME = 210  # bytes; file systems take 255, with what is added to a name
MAX_TEXT = 1500
MAX_QUESTIONS = 200
MAX_SOURCE = 100_000  # characters of a submission that are compared with others
UNSAFE = "UNSAFE: graded without a sandbox. Not for credit."

# A folder or file of this name would be mistaken for one of ours, or for a device on Windows.
RESERVED = re.compile(
    r"(grades\.csv|canvas\.csv|moodle\.csv|gradebook\.db.*|report\.html|run\.(json|lock)|con|prn|aux|nul|(com|lpt)\d)(\..*)?",
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

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise MalformedError(f"a question's status is {str(self.status)[:40]!r}")
        _clean_fields(
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
    """What came of one notebook; `score` is None where it could not be graded, which is not a zero.

    Raises:
        MalformedError: a field is of another type, or a number is none.
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
    unsafe: bool = False
    source: str = ""  # for the comparison of submissions only; it is not written

    def __post_init__(self) -> None:
        if self.status not in ("graded", "ungraded"):
            raise MalformedError(f"the status is {str(self.status)[:40]!r}")
        _clean_fields(
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
            unsafe=bool(self.unsafe),
            source=str(self.source or "")[:MAX_SOURCE],
        )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Result:
        """Make a result of what a file of ours holds.

        Raises:
            MalformedError: a field is missing, of another type, or no number.
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
        """The notebook's name without its ending."""
        return self.notebook.removesuffix(".ipynb")

    def as_dict(self) -> dict[str, Any]:
        """The result as the contract has it."""
        fields = {name: value for name, value in vars(self).items() if name not in ("source", "unsafe")}
        fields["questions"] = [dict(vars(answer)) for answer in self.questions]
        return fields | ({"unsafe": True} if self.unsafe else {})


def _clean_fields(result: Answer | Result, **fields: Any) -> None:
    """Put these into a frozen dataclass that is being made."""
    for name, value in fields.items():
        object.__setattr__(result, name, value)


def clean(text: Any, limit: int) -> str:
    """Bound a text, and make visible what could move a cursor, turn the direction, hide or break an encoding."""
    whole = str(text)
    kept = "".join("\ufffd" if _is_treacherous(c) else c for c in whole[:limit])
    return kept if len(whole) <= limit else f"{kept[: limit - 1]}…"


def _is_treacherous(c: str) -> bool:
    """Say whether a character acts instead of being seen. Two that join letters are part of several scripts."""
    return c not in "\n\u200c\u200d" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")


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
    fits = len(kept.encode()) <= MAX_FILE_NAME
    if kept and kept == name and fits and not looks_hashed and not RESERVED.fullmatch(kept):
        return kept
    return f"{kept[:40] or 'unnamed'}~{_hash(name)}"
