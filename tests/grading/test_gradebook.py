"""nbgrader's gradebook: the grades are there, again after a second run, and a person's word stands."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from qkv.grading.gradebook import record, set_aside_if_broken
from qkv.grading.results import Result
from tests.grading.made import question, result, ungraded


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Path:
    """A gradebook without grades, made once: nbgrader starts a process for that."""
    path = tmp_path_factory.mktemp("book") / "empty.db"
    record([], f"sqlite:///{path}")
    return path


@pytest.fixture
def address(empty, tmp_path) -> str:
    (tmp_path / "book.db").write_bytes(empty.read_bytes())
    return f"sqlite:///{tmp_path / 'book.db'}"


def submissions(*results) -> list[Result]:
    return [Result.from_dict(one) for one in results]


def test_scores_and_points_are_there(address):
    record(submissions(result("ada"), result("bob", questions=[question("3.1", 0, 3), question("3.2", 2, 2)])), address)
    with Gradebook(address) as book:
        assert book.find_assignment("03_scaling").max_score == 5.0
        assert book.find_submission("03_scaling", "ada").score == 3.0
        assert book.find_submission("03_scaling", "bob").score == 2.0
        grade = book.find_grade("check-3-2", "03_scaling", "03_scaling", "bob")
        assert (grade.auto_score, grade.max_score, grade.needs_manual_grade) == (2.0, 2.0, False)


def test_a_second_run_replaces_grades_and_keeps_what_a_person_entered(address):
    record(submissions(result("ada")), address)
    with Gradebook(address) as book:
        book.find_grade("check-3-2", "03_scaling", "03_scaling", "ada").manual_score = 1.5
        book.db.commit()
    record(submissions(result("ada", questions=[question("3.1", 0, 3), question("3.2", 0, 2)]), result("bob")), address)
    with Gradebook(address) as book:
        assert book.find_submission("03_scaling", "ada").score == 1.5
        assert book.find_grade("check-3-2", "03_scaling", "03_scaling", "ada").needs_manual_grade
        assert [student.id for student in book.students] == ["ada", "bob"]
        assert len(book.find_notebook("03_scaling", "03_scaling").submissions) == 2


def test_what_could_not_be_graded_waits_for_a_person(address):
    record(submissions(result("ada"), ungraded("bob")), address)
    with Gradebook(address) as book:
        grade = book.find_grade("check-3-1", "03_scaling", "03_scaling", "bob")
        assert (grade.auto_score, grade.needs_manual_grade) == (None, True)


def test_what_can_no_longer_be_graded_keeps_its_score_and_waits_for_a_person(address):
    """As where a second file of the same student is there at the second run: which one counts, a person says."""
    record(submissions(result("ada")), address)
    record(submissions(ungraded("ada")), address)
    with Gradebook(address) as book:
        grade = book.find_grade("check-3-1", "03_scaling", "03_scaling", "ada")
        assert (grade.auto_score, grade.needs_manual_grade) == (3.0, True)
        assert book.find_submission("03_scaling", "ada").score == 3.0


def test_grades_go_to_the_assignment_that_has_the_notebook(address):
    with Gradebook(address) as book:
        book.add_assignment("week 3")
        book.add_notebook("03_scaling", "week 3")
    record(submissions(result("ada", notebook="03_scaling.ipynb")), address)
    with Gradebook(address) as book:
        assert book.find_submission("week 3", "ada").score == 3.0
        assert [assignment.name for assignment in book.assignments] == ["week 3"]


@pytest.mark.parametrize("address", ["nonsense", "sqlite:////no/such/folder/book.db", "nosuchdatabase://host/book"])
def test_a_database_that_cannot_be_had_is_said(address):
    with pytest.raises(OSError, match="not to nbgrader's gradebook"):
        record([], address)


@pytest.mark.parametrize("damage", ["no database", "half a database", "another database"])
def test_a_broken_gradebook_is_set_aside_and_made_again(empty, tmp_path, capsys, damage):
    book = tmp_path / "gradebook.db"
    if damage == "another database":
        with closing(sqlite3.connect(book)) as other:
            other.execute("create table recipes (name)")
    else:
        book.write_bytes(b"not a database " * 99 if damage == "no database" else empty.read_bytes()[:20_000])
    before = book.read_bytes()
    set_aside_if_broken(book)
    assert not book.exists()
    assert (tmp_path / "gradebook.db.broken-1").read_bytes() == before
    assert "gradebook.db.broken-1" in capsys.readouterr().err
    book.write_bytes(empty.read_bytes())
    set_aside_if_broken(book)
    assert book.read_bytes() == empty.read_bytes()
