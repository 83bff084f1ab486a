"""Write grades into nbgrader's gradebook: SQLite or any other database that SQLAlchemy supports.

Each notebook becomes an assignment of the same name, unless the gradebook already has it in another assignment. Each
question becomes the graded cell of the released notebook, such as `check-3-1`. A submission that could not be graded
is flagged for manual grading; a score from an earlier run stays until then.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from qkv.grading.results import Result
from qkv.words import t


def record(submissions: Sequence[Result], address: str) -> None:
    """Write the grades of these submissions. They replace the grades of an earlier run, but not manual scores.

    A manual score is replaced only by points by hand. A submission that was not graded is flagged for manual grading. A
    file of no exercise, with 0 maximal points, is left out.

    Args:
        submissions: the results to write
        address: the address of the database, in SQLAlchemy's notation

    Raises:
        OSError: the database cannot be reached or written, or a package for it is missing.
    """
    try:
        from nbgrader.api import Gradebook

        by_notebook = attrgetter("stem")
        with _alembic_on_path(), Gradebook(address) as book:
            of_exercises = [one for one in submissions if one.max_score]  # another file is no assignment
            for name, group in groupby(sorted(of_exercises, key=by_notebook), by_notebook):
                of_one = list(group)
                _record_notebook(book, _find_or_make_notebook(book, name, of_one), of_one)
            book.db.commit()
    except (SQLAlchemyError, ImportError) as error:
        why = str(error).splitlines()[0][:300]
        raise OSError(t("the grades were written, but not to nbgrader's gradebook: {why}", why=why)) from error


def set_aside_if_broken(path: Path) -> None:
    """Rename a gradebook that cannot be read, and print to stderr that a new one is made in its place.

    Nothing happens if the file is missing or intact.
    """
    if not path.exists() or _is_intact(path):
        return
    aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.broken-{n}")).exists())
    path.rename(aside)
    text = t(
        "{path} could not be read, and was renamed to {aside}. Marks entered by hand are only in that file. A new "
        "gradebook was made.",
        path=path,
        aside=aside.name,
    )
    print(f"qkv grade: {text}", file=sys.stderr)


def _is_intact(path: Path) -> bool:
    """Check whether a file is an undamaged database of nbgrader's. A database that is in use counts as undamaged."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
            return database.execute("pragma quick_check").fetchone() == ("ok",) and {"grade", "student"} <= tables
    except sqlite3.OperationalError:
        return True
    except sqlite3.DatabaseError:
        return False


def cell_name(question: str) -> str:
    """Return the name of the graded cell of a question: `check-3-1` for 3.1."""
    return f"check-{question.replace('.', '-')}"


def _find_or_make_notebook(book: Any, name: str, submissions: Sequence[Result]) -> Any:
    """Return the gradebook's notebook of this name, with a graded cell for each question; make what is missing."""
    from nbgrader.api import Notebook

    notebook = book.db.query(Notebook).filter_by(name=name).first()
    if notebook is None:
        book.update_or_create_assignment(name)
        notebook = book.update_or_create_notebook(name, name)
    most = {answer.id: answer.max_points for s in submissions for answer in s.questions}
    for question, points in most.items():
        options = {"max_score": points, "cell_type": "code"}
        book.update_or_create_grade_cell(cell_name(question), notebook.name, notebook.assignment.name, **options)
    return notebook


def _record_notebook(book: Any, notebook: Any, submissions: Sequence[Result]) -> None:
    """Add the grades of one notebook's submissions to the transaction that `record` commits.

    A submission that was not graded keeps earlier points. A grade is flagged for manual grading if its submission was
    not graded, or if it has no automatic or has a manual score. nbgrader's API would take a transaction for each grade.
    """
    from nbgrader.api import Grade, Student, SubmittedAssignment, SubmittedNotebook

    db = book.db
    cells = {cell.name: cell for cell in notebook.grade_cells}
    students = {student.id: student for student in db.query(Student)}
    handed_in = {one.student_id: one for one in db.query(SubmittedAssignment).filter_by(assignment=notebook.assignment)}
    inside = {one.assignment_id: one for one in db.query(SubmittedNotebook).filter_by(notebook=notebook)}
    known = db.query(Grade).join(SubmittedNotebook).filter(SubmittedNotebook.notebook_id == notebook.id)
    grades = {(grade.notebook_id, grade.cell_id): grade for grade in known}
    with db.no_autoflush:
        for s in submissions:
            student = students.get(s.student) or _add_row(db, Student(id=s.student))
            whole = handed_in.get(s.student) or _add_row(
                db, SubmittedAssignment(assignment=notebook.assignment, student=student)
            )
            part = inside.get(whole.id) or _add_row(db, SubmittedNotebook(notebook=notebook, assignment=whole))
            points = {cell_name(answer.id): answer.points for answer in s.questions}
            by_hand = {cell_name(answer.id) for answer in s.questions if answer.by_hand}
            written: list[Any] = []
            for cell in cells.values():
                grade = grades.get((part.id, cell.id)) or _add_row(db, Grade(cell=cell, notebook=part))
                if s.graded:
                    grade.auto_score = points.get(cell.name, 0.0 if s.by_hand else None)
                if grade.manual_score is not None and cell.name in by_hand:
                    grade.manual_score = points[cell.name]
                grade.needs_manual_grade = not s.graded or grade.auto_score is None or grade.manual_score is not None
                written.append(grade)
            if s.by_hand and written:  # of the whole notebook: what is missing to it is the first cell's extra credit
                scores = [grade.auto_score if grade.manual_score is None else grade.manual_score for grade in written]
                written[0].extra_credit = (s.score or 0.0) - sum(score or 0.0 for score in scores)


def _add_row(db: Any, row: Any) -> Any:
    db.add(row)
    return row


@contextmanager
def _alembic_on_path() -> Iterator[None]:
    """Put this Python's folder on PATH, and restore PATH at the end.

    To make a new gradebook, nbgrader runs the command alembic from there.
    """
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before
