"""Write grades into nbgrader's gradebook: SQLite or any database that SQLAlchemy knows.

A notebook is an assignment of the same name, unless the gradebook has it in another one already. A question is the
graded cell of the released notebook, `check-3-1`. What could not be graded waits for a person; a score of an
earlier run stays until then.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count, groupby
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from qkv.grading.results import UNSAFE, Result


def record(submissions: Sequence[Result], address: str) -> None:
    """Write the grades, over those of an earlier run; what a person entered by hand stays.

    Raises:
        OSError: the database cannot be reached or written, or a package for it is missing.
    """
    try:
        from nbgrader.api import Gradebook

        with _alembic_on_path(), Gradebook(address) as book:
            for name, group in groupby(sorted(submissions, key=_name), _name):
                of_one = list(group)
                _record_notebook(book, _notebook(book, name, of_one), of_one)
            book.db.commit()
    except (SQLAlchemyError, ImportError) as error:
        why = str(error).splitlines()[0][:300]
        raise OSError(f"the grades are written, but nbgrader's gradebook is not: {why}") from error


def set_aside_if_broken(path: Path) -> None:
    """Rename a gradebook that cannot be read, and say so; a new one is made in its place."""
    if not path.exists() or _is_sound(path):
        return
    aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.broken-{n}")).exists())
    path.rename(aside)
    text = f"{path} could not be read. It is kept as {aside.name}, with the marks that were entered by hand in it."
    print(f"qkv grade: {text} A new gradebook was made.", file=sys.stderr)


def _is_sound(path: Path) -> bool:
    """Say whether a file is a whole database of nbgrader's. One that is in use counts as sound."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
            return database.execute("pragma quick_check").fetchone() == ("ok",) and {"grade", "student"} <= tables
    except sqlite3.OperationalError:
        return True
    except sqlite3.DatabaseError:
        return False


def cell_of(question: str) -> str:
    """The graded cell of a question: `check-3-1` for 3.1."""
    return f"check-{question.replace('.', '-')}"


def _name(submission: Result) -> str:
    return f"{submission.stem} ({UNSAFE})" if submission.unsafe else submission.stem


def _notebook(book: Any, name: str, submissions: Sequence[Result]) -> Any:
    """Find or make the notebook, with a graded cell for each question."""
    from nbgrader.api import Notebook

    notebook = book.db.query(Notebook).filter_by(name=name).first()
    if notebook is None:
        book.update_or_create_assignment(name)
        notebook = book.update_or_create_notebook(name, name)
    most = {answer.id: answer.max_points for s in submissions for answer in s.questions}
    for question, points in most.items():
        options = {"max_score": points, "cell_type": "code"}
        book.update_or_create_grade_cell(cell_of(question), notebook.name, notebook.assignment.name, **options)
    return notebook


def _record_notebook(book: Any, notebook: Any, submissions: Sequence[Result]) -> None:
    """Write the grades of one notebook's submissions, in one go: nbgrader's own way is a transaction each."""
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
            student = students.get(s.student) or _added(db, Student(id=s.student))
            whole = handed_in.get(s.student) or _added(
                db, SubmittedAssignment(assignment=notebook.assignment, student=student)
            )
            part = inside.get(whole.id) or _added(db, SubmittedNotebook(notebook=notebook, assignment=whole))
            points = {cell_of(answer.id): answer.points for answer in s.questions}
            for cell in cells.values():
                grade = grades.get((part.id, cell.id)) or _added(db, Grade(cell=cell, notebook=part))
                if s.graded:
                    grade.auto_score = points.get(cell.name)
                grade.needs_manual_grade = not s.graded or grade.auto_score is None or grade.manual_score is not None


def _added(db: Any, row: Any) -> Any:
    db.add(row)
    return row


@contextmanager
def _alembic_on_path() -> Iterator[None]:
    """For a new gradebook nbgrader runs the command alembic, which stands beside this Python."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before
