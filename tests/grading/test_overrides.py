"""Points by hand win in every file that is written, and the checks' own points come back without them."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from qkv.grading import batch
from qkv.grading.overrides import Overrides, read_overrides
from qkv.grading.results import Result
from qkv.grading.writing import Writer
from tests.grading.made import made, made_ungraded, question

TABLE = """student,question,points,reason
*,3.4,full,The text was unclear
ada,3.1,1.5,A slip
bob,03_scaling,4,On paper
cy,03_scaling.ipynb,full,Read by hand
"""


def results() -> list[Result]:
    questions = [question("3.1", 3, 3), question("3.2", 0, 2, misconception="variance-added"), question("3.4", 0, 4)]
    return [*(made(who, questions=questions) for who in ("ada", "bob", "eve")), made_ungraded("cy")]


def table(path: Path, text: str = TABLE) -> Overrides:
    path.write_text(text)
    return read_overrides(path)


@pytest.fixture(scope="module")
def written_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the results of a class of four, with points by hand. No test changes it."""
    folder = tmp_path_factory.mktemp("overrides")
    writer = Writer(folder / "out", overrides=table(folder / "overrides.csv"))
    writer.finish([writer.write(one) for one in results()])
    return writer.out


@pytest.fixture
def written(written_once: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder."""
    return Path(shutil.copytree(written_once, tmp_path / "out"))


SCORES = {"ada": 5.5, "bob": 4.0, "cy": 5.0, "eve": 7.0}


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_every_table_has_them(written: Path):
    assert {row["student"]: float(row["score"]) for row in rows(written / "grades.csv")} == SCORES
    by_name = {row["student"]: row for row in rows(written / "grades.csv")}
    assert (by_name["eve"]["3.4"], by_name["ada"]["3.1"], by_name["cy"]["status"]) == ("4", "1.5", "graded")
    assert "On paper" in by_name["bob"]["reason"]
    assert {row["Student"]: float(row["03_scaling"]) for row in rows(written / "canvas.csv")[1:]} == SCORES
    assert {row["username"]: float(row["03_scaling"]) for row in rows(written / "moodle.csv")} == SCORES
    assert {row["Username"]: float(row["03_scaling"]) for row in rows(written / "blackboard.csv")} == SCORES


def test_every_learners_file_has_them(written: Path):
    for student, score in SCORES.items():
        assert json.loads((written / student / "03_scaling.json").read_text())["score"] == score
        assert json.loads((written / student / "03_scaling.results.json").read_text())["score"] == score
    page = (written / "eve" / "03_scaling.html").read_text()
    assert re.search(r"By hand: 4 of 4 points\. The text was unclear", page)
    assert "The check gave 0" in page
    sent = json.loads((written / "eve" / "03_scaling.results.json").read_text())
    assert [(test["score"], test["status"]) for test in sent["tests"]][2] == (4, "passed")


def test_the_report_counts_with_them(written: Path):
    assert "Mean 5.4, median 5.2" in (written / "report.html").read_text()


def test_nbgraders_gradebook_has_them(written: Path):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{written / 'gradebook.db'}") as book:
        for student, score in SCORES.items():
            assert book.find_submission("03_scaling", student).score == score, student
        eve = book.find_submission_notebook("03_scaling", "03_scaling", "eve")
        eve.grades[0].manual_score = 0.5  # somebody has marked it there: a line of the table wins all the same
        name = eve.grades[0].cell.name
        book.db.commit()
    finish(written, Overrides())
    assert score_in_gradebook(written, name) == 0.5
    finish(written, table(written / "o.csv", f"student,question,points\neve,{name[6:].replace('-', '.')},1\n"))
    assert score_in_gradebook(written, name) == 1


def finish(out: Path, overrides: Overrides) -> None:
    writer = Writer(out, overrides=overrides)
    writer.finish([writer.write(one) for one in results()])


def score_in_gradebook(out: Path, cell: str) -> float:
    """Return eve's score of one graded cell."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{out / 'gradebook.db'}") as book:
        grades = book.find_submission_notebook("03_scaling", "03_scaling", "eve").grades
        return next(grade.score for grade in grades if grade.cell.name == cell)


def test_what_the_checks_gave_is_kept_and_comes_back(written: Path, tmp_path: Path):
    raw = {one.student: one for one in results()}
    other = Writer(written, overrides=table(tmp_path / "other.csv", "student,question,points\nada,3.2,2\n"))
    for student in ("ada", "bob", "eve"):
        assert other.earlier_result(student, "03_scaling") == raw[student]
        assert other.keep(raw[student]).score == {"ada": 5.0}.get(student, 3.0)
    assert other.earlier_result("cy", "03_scaling") is None, "it is read again: points by hand are no grade"
    none = Writer(written)
    for student in ("ada", "bob", "eve"):
        assert none.keep(none.earlier_result(student, "03_scaling")) == raw[student]
        assert json.loads((written / student / "03_scaling.json").read_text())["score"] == 3.0
        assert not (written / student / "03_scaling.checked.json").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("student,points\nada,1\n", "no column question"),
        ("student,question,points\nada,3.1,lots\n", "'lots' for points"),
        ("student,question,points\nada,3.1,-1\n", "'-1' for points"),
        ("student,question,points\nada,3.1,1e308\n", "'1e308' for points"),
        (f"student,question,points,reason\nada,3.1,1,{'x' * 200_000}\n", "is not a table"),
        ("", "no column student"),
    ],
)
def test_a_table_that_cannot_be_read_is_said(tmp_path: Path, text: str, why: str):
    with pytest.raises(ValueError, match=why):
        table(tmp_path / "overrides.csv", text)


def test_a_line_about_nobody_or_nothing_is_said(tmp_path: Path):
    lines = table(tmp_path / "o.csv", "student;notebook;points;reason\nzoe;3.1;1;\n*;9.99;full;\n*;03_scaling;5,5;\n")
    first, second = lines.problems({"ada"}, {"03_scaling"})
    assert "zoe, who is not" in first
    assert "9.99, which is no question" in second
    assert lines.apply(made()).score == 5.5


def test_the_name_without_the_number_of_a_system_is_asked_about(tmp_path: Path):
    lines = table(tmp_path / "o.csv", "student,question,points\nlovelaceada,3.1,1\n")
    class_of_canvas = {"lovelaceada_11230", "lovelaceada_11231", "lovelace_11232"}
    said = lines.problems(class_of_canvas, {"03_scaling"})
    assert said[0].endswith("not in this class. Is it lovelaceada_11230 or lovelaceada_11231?")


def test_the_last_line_about_the_same_points_counts(tmp_path: Path):
    lines = table(tmp_path / "o.csv", "student,question,points\n*,3.2,full\nada,3.2,1\n")
    assert [lines.apply(made(who)).score for who in ("ada", "bob")] == [4.0, 5.0]


def test_points_for_a_file_of_no_exercise_leave_the_mean_of_the_exercises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    essay = made("dee", "essay", status="ungraded", reason="no notebook", score=None, questions=[])
    by_hand = table(tmp_path / "o.csv", "student,question,points\ndee,essay,9\n").apply(essay)
    assert (by_hand.status, by_hand.score, by_hand.max_score) == ("graded", 9, 0)
    assert batch._summary([by_hand]) == 0
    assert batch._summary([by_hand, made("ada")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 graded, 0 not graded; mean score 0% of the points",
        "2 graded, 0 not graded; mean score 60% of the points",
    ]
