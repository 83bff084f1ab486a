"""Results in the formats of other systems: CSV for spreadsheets, Canvas and Moodle, and Gradescope's results.json."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from qkv.checking.card import WORDS
from qkv.grading.results import Answer, Result

# Spreadsheets evaluate a cell as a formula if it begins with one of these characters, also in their full-width forms.
# Some spreadsheets split a cell again at the separator of their language (";"). Some first strip spaces and quotes.
FORMULA = re.compile(r"""(^|[;,|\t\r\n])([\s"']*)(?=[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20])""")


def grades(submissions: Sequence[Result]) -> str:
    """Return a CSV table with one row for each submission and one column for the points of each question.

    The score of a submission that could not be graded is empty.
    """
    questions = sorted({answer.id for s in submissions for answer in s.questions}, key=_in_order)
    head = ["student", "notebook", "status", "score", "max_score", "reason", "sha256", "version", "seed"]
    rows = []
    for s in submissions:
        points = {answer.id: _points(answer.points) for answer in s.questions if s.graded}
        fields = [s.student, s.notebook, s.status, _points(s.score), _points(s.max_score), s.reason]
        rows.append([*fields, s.sha256, s.version, s.seed, *(points.get(question, "") for question in questions)])
    return _table([*head, *questions], rows)


def canvas(submissions: Sequence[Result]) -> str:
    """Return a CSV table for Canvas' gradebook import. The student's name here must be their login name in Canvas."""
    notebooks = _columns(submissions)
    most = [_points(max_score) for max_score in notebooks.values()]
    rows: list[Sequence[Any]] = [["    Points Possible", "", "", "", "", *most]]
    for student, scores in _by_student(submissions).items():
        rows.append([student, "", "", student, "", *(scores.get(column, "") for column in notebooks)])
    return _table(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *notebooks], rows)


def moodle(submissions: Sequence[Result]) -> str:
    """Return a CSV table for Moodle's grade import. The student's name here must be their user name in Moodle."""
    notebooks = _columns(submissions)
    rows = [
        [student, *(scores.get(column, "") for column in notebooks)]
        for student, scores in _by_student(submissions).items()
    ]
    return _table(["username", *notebooks], rows)


def gradescope(submission: Result) -> dict[str, Any]:
    """Return the content of results.json for Gradescope.

    A submission that could not be graded gets no score, so that Gradescope asks for manual grading and records no zero.
    """
    if not submission.graded:
        return {"output": f"Not graded: {submission.reason}", "output_format": "text"}
    return {
        "score": submission.score,
        "output": f"Seed {submission.seed}, version {submission.version}, sha256 {submission.sha256}.",
        "output_format": "text",
        "tests": [_gradescope_test(answer) for answer in submission.questions],
    }


def _gradescope_test(answer: Answer) -> dict[str, Any]:
    idea = f" ({answer.misconception})" if answer.misconception else ""
    return {
        "number": answer.id,
        "name": f"Question {answer.id}: {WORDS[answer.status]}{idea}",
        "score": answer.points,
        "max_score": answer.max_points,
        "status": "passed" if answer.status == "passed" else "failed",
        "output": answer.message,
        "output_format": "text",
    }


def _columns(submissions: Iterable[Result]) -> dict[str, float]:
    """Return the maximal points of each exercise, by the name of its column. Other files add no column."""
    columns: dict[str, float] = {}
    for s in submissions:
        if s.max_score:
            columns[s.stem] = max(s.max_score, columns.get(s.stem, 0.0))
    return dict(sorted(columns.items()))


def _by_student(submissions: Iterable[Result]) -> dict[str, dict[str, str]]:
    """Return each student's scores by column. The score of a submission that could not be graded is ""."""
    students: dict[str, dict[str, str]] = {}
    for s in submissions:
        students.setdefault(s.student, {})[s.stem] = _points(s.score)
    return students


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\r\n")
    table.writerow([_harmless(value) for value in head])
    table.writerows([_harmless(value) for value in row] for row in rows)
    return stream.getvalue()


def _harmless(value: Any) -> str:
    """Return the text of a cell on one line, with an apostrophe wherever a spreadsheet could start a formula."""
    return re.sub(r"[\t\r\n]", " ", FORMULA.sub(r"\1'\2", str(value)))


def _points(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _in_order(question: str) -> tuple[list[int], str]:
    """Return a sort key that puts question 3.2 before 3.10."""
    return [int(part) for part in question.split(".") if part.isdecimal()], question
