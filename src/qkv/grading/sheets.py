"""Results in the formats of other systems: CSV for spreadsheets, Canvas, Moodle, Blackboard; Gradescope's results.json.

A table for a system has only rows that the system can match with a learner: a row that it cannot match makes a new
learner (Canvas), or stops the whole import (Moodle).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qkv.checking.card import WORDS
from qkv.grading.results import Answer, Result
from qkv.grading.roster import NO_ROSTER, Person, Roster
from qkv.grading.systems import Owner
from qkv.words import t, translated

# Spreadsheets evaluate a cell as a formula if it begins with one of these characters, also in their full-width forms.
# Some spreadsheets split a cell again at the separator of their language (";"). Some first strip spaces and quotes.
FORMULA = re.compile(r"""(^|[;,|\t\r\n])([\s"']*)(?=[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20])""")


@dataclass(frozen=True)
class Class:
    """What is known about the learners of a class, besides their results.

    Attributes:
        roster: the list of the class
        owners: what a learning system says about a student, by the student's name
        late: the students and notebooks that a system calls late
    """

    roster: Roster = NO_ROSTER
    owners: Mapping[str, Owner] = field(default_factory=dict)
    late: frozenset[tuple[str, str]] = frozenset()

    def person_of(self, student: str) -> Person:
        """Return the learner's row in the list of the class, or an empty one."""
        return self.roster.person_of(student, self.owners.get(student)) or Person({})

    def is_of(self, student: str, system: str) -> bool:
        """Check whether a student's files came from this system, or from none."""
        owner = self.owners.get(student)
        return owner is None or owner.system == system


NOTHING_KNOWN = Class()


def grades(submissions: Sequence[Result], group: Class = NOTHING_KNOWN) -> str:
    """Return a CSV table with one row for each submission and one column for the points of each question.

    The score of a submission that could not be graded is empty. A learner of the list who handed in nothing for a
    notebook has a row with the status "missing".
    """
    questions = sorted({answer.id for s in submissions for answer in s.questions}, key=_in_order)
    head = ["student", "notebook", "status", "score", "max_score", "reason", "sha256", "version", "seed", "late"]
    rows: list[Sequence[Any]] = []
    for s in submissions:
        points = {answer.id: _points(answer.points) for answer in s.questions if s.graded}
        late = "LATE" if (s.student, s.notebook) in group.late else ""
        fields = [s.student, s.notebook, s.status, _points(s.score), _points(s.max_score), s.reason]
        rows.append([*fields, s.sha256, s.version, s.seed, late, *(points.get(question, "") for question in questions)])
    for notebook, people in missing(submissions, group).items():
        rows += [[person.shown, notebook, "missing", *[""] * (len(head) - 3 + len(questions))] for person in people]
    return _table([*head, *questions], rows)


def missing(submissions: Sequence[Result], group: Class) -> dict[str, list[Person]]:
    """Return, for each notebook that somebody handed in, the learners of the list who did not."""
    there: dict[str, list[tuple[str, Owner | None]]] = {}
    for s in submissions:
        there.setdefault(s.notebook, []).append((s.student, group.owners.get(s.student)))
    return {notebook: group.roster.missing(students) for notebook, students in sorted(there.items())}


def unclear(submissions: Sequence[Result], group: Class) -> list[str]:
    """Return the students of whom the list does not tell who they are: the tables of systems can lack their marks."""
    return group.roster.unclear({s.student: group.owners.get(s.student) for s in submissions})


def canvas(submissions: Sequence[Result], group: Class = NOTHING_KNOWN) -> str:
    """Return a CSV table for Canvas' gradebook import, which finds a learner by ID, SIS ids or login name.

    Learners whose files came from another system are left out. So are those of Canvas whose ID is neither in the list
    nor in the names of their files, where it is unless Canvas hands them out without names. Where no system named a
    file's learner, and the list has no login name, the student's name here is taken for it. The first row has the
    maximal points.
    """
    notebooks = _columns(submissions)
    most = [_points(max_score) for max_score in notebooks.values()]
    rows: list[Sequence[Any]] = []
    for student, scores in _by_student(submissions).items():
        owner, person = group.owners.get(student), group.person_of(student)
        number = person.get("id") or (owner.id if owner else "")
        if not group.is_of(student, "Canvas") or (owner and not number.isdecimal()):
            continue
        name = person.get("student") or (owner.name if owner else "") or student
        login = person.get("sis login id") or ("" if owner else student)
        about = [name, number, person.get("sis user id"), login, person.get("section")]
        rows.append([*about, *(scores.get(column, "") for column in notebooks)])
    rows = _one_for_each(rows, lambda row: row[1] or row[3] or row[0], len(notebooks))
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *notebooks]
    return _table(head, [["    Points Possible", "", "", "", "", *most], *rows])


def moodle(submissions: Sequence[Result], group: Class = NOTHING_KNOWN) -> str:
    """Return a CSV table for Moodle's grade import, which finds a learner by user name or e-mail address.

    The names of the files that Moodle hands out have neither: these learners are in the table only if the list of the
    class has them. E-mail addresses are used if a list is given and has no user names. `moodle_worksheets` needs no
    list. Learners whose files came from another system are left out. Where no system named a file's learner, and the
    list has no user name, the student's name here is taken for it.
    """
    notebooks = _columns(submissions)
    by_mail = bool(group.roster.people) and not any(person.get("username") for person in group.roster.people)
    rows: list[Sequence[Any]] = []
    for student, scores in _by_student(submissions).items():
        columns = ("email address", "email") if by_mail else ("username",)
        name = group.person_of(student).get(*columns) or ("" if student in group.owners or by_mail else student)
        if name and group.is_of(student, "Moodle"):
            rows.append([name, *(scores.get(column, "") for column in notebooks)])
    rows = _one_for_each(rows, lambda row: row[0], len(notebooks))
    return _table(["email address" if by_mail else "username", *notebooks], rows)


def moodle_worksheets(submissions: Sequence[Result], group: Class) -> dict[str, str]:
    """Return Moodle's grading worksheet (CSV) for each notebook that came from Moodle, by its name without .ipynb.

    It finds a learner by the number of the participant, which is in the names of the files that Moodle hands out.
    """
    rows: dict[str, list[Sequence[Any]]] = {}
    for s in submissions:
        owner = group.owners.get(s.student)
        if owner and owner.system == "Moodle":
            about = [f"Participant {owner.id}", owner.name, _points(s.score), _points(s.max_score)]
            rows.setdefault(s.stem, []).append([*about, ""])
    head = ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"]
    return {notebook: _table(head, several) for notebook, several in rows.items()}


def blackboard(submissions: Sequence[Result], group: Class) -> str:
    """Return a CSV table for Blackboard's Grade Center, which finds a learner by user name.

    Learners whose files came from another system are left out.
    """
    notebooks = _columns(submissions)
    rows = [
        [student, *(scores.get(column, "") for column in notebooks)]
        for student, scores in _by_student(submissions).items()
        if group.is_of(student, "Blackboard")
    ]
    return _table(["Username", *notebooks], rows)


def gradescope(submission: Result) -> dict[str, Any]:
    """Return the content of results.json for Gradescope.

    A submission that could not be graded gets no score, so that Gradescope asks for manual grading and records no zero.
    """
    if not submission.graded:
        return {"output": t("Not graded: {why}", why=submission.reason), "output_format": "text"}
    return {
        "score": submission.score,
        "output": t(
            "Seed {seed}, version {version}, sha256 {sha256}.",
            seed=submission.seed,
            version=submission.version,
            sha256=submission.sha256,
        ),
        "output_format": "text",
        "tests": [_gradescope_test(answer) for answer in submission.questions],
    }


def _gradescope_test(answer: Answer) -> dict[str, Any]:
    """Return an answer as a test in Gradescope's format."""
    idea = f" ({answer.misconception})" if answer.misconception else ""
    return {
        "number": answer.id,
        "name": t("Question {id}: {status}", id=answer.id, status=f"{translated(WORDS[answer.status])}{idea}"),
        "score": answer.points,
        "max_score": answer.max_points,
        "status": "passed" if answer.status == "passed" else "failed",
        "output": answer.message,
        "output_format": "text",
    }


def _columns(submissions: Iterable[Result]) -> dict[str, float]:
    """Return the maximal points of each exercise, by the name of its column, sorted. Other files add no column."""
    columns: dict[str, float] = {}
    for s in submissions:
        if s.max_score:
            columns[s.stem] = max(s.max_score, columns.get(s.stem, 0.0))
    return dict(sorted(columns.items()))


def _by_student(submissions: Iterable[Result]) -> dict[str, dict[str, str]]:
    """Return each student's scores as text, by column. The score of a submission that could not be graded is ""."""
    students: dict[str, dict[str, str]] = {}
    for s in submissions:
        students.setdefault(s.student, {})[s.stem] = _points(s.score)
    return students


def _one_for_each(
    rows: Iterable[Sequence[Any]], who: Callable[[Sequence[Any]], str], marks: int
) -> list[Sequence[Any]]:
    """Return one row for each learner. If several rows are about one, marks that differ between them are left empty.

    `who` returns the learner of a row, and the last `marks` cells are the marks. Files under two names can be of one
    learner of the list, or two people have one name: the instructor decides.
    """
    groups: dict[str, list[Sequence[Any]]] = {}
    for row in rows:
        groups.setdefault(who(row).casefold(), []).append(row)
    merged: list[Sequence[Any]] = []
    for first, *others in groups.values():
        found = [{row[i] for row in (first, *others)} - {""} for i in range(len(first) - marks, len(first))]
        merged.append([*first[: len(first) - marks], *(only.pop() if len(only) == 1 else "" for only in found)])
    return merged


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a head and rows as CSV. Cells that a spreadsheet would take for a formula are made harmless."""
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
