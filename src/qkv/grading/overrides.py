"""Points by hand: a table that is read before the results are written, and that wins in each of them.

    student,question,points,reason
    *,3.4,full,The text was unclear
    ada,3.1,2,A right idea with a slip
    bela,03_scaling,9,On paper

The column `question` names a question or a whole notebook; `*` is everybody, `full` all points. If several lines are
about the same points, the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from qkv.checking.card import points as in_words
from qkv.grading.results import MAX_TEXT, Answer, Result, clean, number
from qkv.grading.roster import read_table
from qkv.questions import find
from qkv.words import sentences, t

COLUMNS = ("student", "question", "points", "reason")
EVERYBODY = "*"
FULL = "full"
MOST = 1000.0  # points in one line; more is a slip of the hand, and the sum of many would be no number


@dataclass(frozen=True)
class Override:
    """One line of the table. `points` is None for all points."""

    student: str
    what: str
    points: float | None
    reason: str

    def is_about(self, result: Result) -> bool:
        return self.student in (EVERYBODY, result.student)

    def points_of(self, most: float) -> float:
        return most if self.points is None else self.points


@dataclass(frozen=True)
class Overrides:
    """The table. It is empty if there is none."""

    lines: tuple[Override, ...] = ()

    def apply(self, result: Result) -> Result:
        """Return a result with the points of this table; the same result if no line is about it.

        A line about the whole notebook sets its score, also if it could not be graded. The reason says what is by hand.
        Of several lines about the same points, the last counts, whether it is about everybody or this student.
        """
        lines = [line for line in self.lines if line.is_about(result)]
        by_question = {line.what: line for line in lines}
        answers = tuple(_answer(answer, by_question.get(answer.id)) for answer in result.questions)
        changed = [answer.id for answer in answers if answer.by_hand]
        if changed:
            score = sum(answer.points for answer in answers)
            result = replace(
                result, questions=answers, score=score, reason=t("By hand: {what}.", what=t(", ").join(changed))
            )
        whole = by_question.get(result.stem) if result.stem in by_question else None
        if whole is None:
            return result
        reason = sentences(t("By hand: {what}.", what=result.stem), whole.reason)
        return replace(result, status="graded", score=whole.points_of(result.max_score), reason=reason, by_hand=True)

    def problems(self, students: Iterable[str], notebooks: Iterable[str]) -> list[str]:
        """Return a sentence for each line that is about nobody, or about nothing that exists.

        It is about one of these students or everybody, and about one of these notebooks or a question of the course.
        """
        known, names = set(students), set(notebooks)
        said = []
        for line in self.lines:
            if line.student != EVERYBODY and line.student not in known:
                alike = sorted(student for student in known if student.startswith(f"{line.student}_"))
                meant = t("Is it {names}?", names=t(" or ").join(alike)) if alike else ""
                unknown = t("the overrides name the student {name}, who is not in this class.", name=line.student)
                said.append(sentences(unknown, meant))
            if line.what not in names and not _is_question(line.what):
                text = t("the overrides name {what}, which is no question and no notebook here.", what=line.what)
                said.append(text)
        return list(dict.fromkeys(said))


NO_OVERRIDES = Overrides()


def _answer(answer: Answer, line: Override | None) -> Answer:
    """Return an answer with the points that a line gives by hand, and its reason in front of the message.

    With full points it has passed, with fewer it has not. Without a line, it stays as it is.
    """
    if line is None:
        return answer
    given = line.points_of(answer.max_points)
    full = given >= answer.max_points
    share = t("By hand: {n} of {most} points.", n=in_words(given), most=in_words(answer.max_points))
    checked = t("The check gave {n}: {message}", n=in_words(answer.points), message=answer.message)
    message = f"{share} {line.reason}\n{checked}"
    status = "passed" if full else "failed" if answer.status == "passed" else answer.status
    idea = None if full else answer.misconception
    return replace(answer, points=given, status=status, misconception=idea, message=message, by_hand=True)


def _is_question(name: str) -> bool:
    """Return whether the course has a question of this id."""
    try:
        return bool(find(name))
    except (KeyError, ValueError):
        return False


def read_overrides(path: Path) -> Overrides:
    """Read the table of points by hand.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is no table, or has no column for the student, the question or the points; or a cell of
            points is neither a number from 0 to `MOST` nor "full".
    """
    head, *rows = read_table(path) or [[]]
    names = [cell.strip().casefold() for cell in head]
    names = ["question" if name.startswith(("question", "notebook")) else name for name in names]
    missing = [name for name in COLUMNS[:3] if name not in names]
    if missing:
        raise ValueError(
            t(
                "{path} has no column {missing}. It needs: {columns}.",
                path=path,
                missing=t(" and no column ").join(missing),
                columns=t(", ").join(COLUMNS),
            )
        )
    lines = []
    for row in rows:
        cells = dict(zip(names, map(str.strip, row), strict=False))
        lines.append(
            Override(
                cells.get("student", ""),
                cells.get("question", "").removesuffix(".ipynb"),
                _points(cells.get("points", ""), path),
                clean(cells.get("reason", ""), MAX_TEXT // 3),
            )
        )
    return Overrides(tuple(lines))


def _points(text: str, path: Path) -> float | None:
    """Return the points in a cell of the table; None stands for all points. `path`, the table, is for the message.

    Raises:
        ValueError: the cell is neither a number from 0 to MOST, with a point or a comma, nor the word for all points.
    """
    try:
        points = None if text.casefold() == FULL else number(float(text.replace(",", ".")))
    except ValueError:
        points = MOST + 1
    if points is not None and points > MOST:
        raise ValueError(
            t(
                "{path} has {found} for points. It has to be a number from 0 to {most}, or {full}.",
                path=path,
                found=repr(text[:40]),
                most=f"{MOST:g}",
                full=FULL,
            )
        )
    return points
