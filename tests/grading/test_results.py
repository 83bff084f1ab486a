"""What is written of each submission: taken up again, never outside its folder, never half."""

from __future__ import annotations

import csv
import io
import json
import os
import unicodedata
from pathlib import Path

import pytest

from qkv.grading import writing
from qkv.grading.results import MalformedError, Result, clean, clean_name, safe_name
from qkv.grading.writing import Writer, earlier_seed, exclusive_access, remember_seed
from tests.grading.made import made, made_ungraded, question, result, ungraded

CONTRACT = ["student", "notebook", "sha256", "version", "seed", "status", "reason", "score", "max_score", "questions"]
OF_A_QUESTION = ["id", "points", "max_points", "status", "misconception", "message", "seconds"]


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "out")


def test_the_json_is_the_contracts(writer):
    writer.write(made(source="secret = 1"))
    written = json.loads((writer.out / "ada" / "03_scaling.json").read_text())
    assert list(written) == CONTRACT
    assert list(written["questions"][0]) == OF_A_QUESTION
    assert written == {key: value for key, value in result().items() if key in CONTRACT}


def test_what_is_graded_is_kept(writer):
    writer.write(made())
    assert Writer(writer.out).earlier_result("ada", "03_scaling") == made()


@pytest.mark.parametrize(("student", "notebook"), [("ada", "04_x"), ("bob", "03_scaling")])
def test_of_another_student_or_notebook_nothing_is_kept(writer, student, notebook):
    writer.write(made())
    (writer.out / "bob").mkdir()
    (writer.out / "ada" / "04_x.json").write_text((writer.out / "ada" / "03_scaling.json").read_text())
    (writer.out / "bob" / "03_scaling.json").write_text((writer.out / "ada" / "03_scaling.json").read_text())
    assert writer.earlier_result(student, notebook) is None


def test_a_fault_of_ours_is_tried_again_and_is_not_a_zero(writer):
    writer.write(Result.from_dict(ungraded("ada") | {"score": 0.0}))
    assert writer.earlier_result("ada", "03_scaling") is None
    assert json.loads((writer.out / "ada" / "03_scaling.json").read_text())["score"] is None


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"student": "ada"}', b"[" * 100_000, b"x" * 3_000_000],
    ids=["empty", "cut", "encoding", "list", "null", "fields", "deep", "large"],
)
def test_a_damaged_file_counts_as_absent(writer, damage):
    writer.write(made())
    (writer.out / "ada" / "03_scaling.json").write_bytes(damage)
    assert writer.earlier_result("ada", "03_scaling") is None


def test_a_score_that_was_made_text_counts_as_damage(writer):
    writer.write(made())
    path = writer.out / "ada" / "03_scaling.json"
    path.write_text(path.read_text().replace('"score": 3.0', '"score": "12"'))
    assert writer.earlier_result("ada", "03_scaling") is None


def test_a_run_without_a_seed_takes_up_the_last_runs_whatever_the_files_dates(writer):
    assert earlier_seed(writer.out / "absent") is None
    for student, seed in (("ada", 7), ("bob", 5)):
        remember_seed(writer.out, seed)
        Writer(writer.out).write(made(student, seed=seed))
    os.utime(writer.out / "ada" / "03_scaling.json", (2e9, 2e9))
    assert earlier_seed(writer.out) == 5
    (writer.out / "run.json").write_text('{"seed": ')
    assert earlier_seed(writer.out) is None


def test_one_run_at_a_time_writes_to_a_folder(tmp_path):
    with (
        exclusive_access(tmp_path / "out"),
        pytest.raises(OSError, match="another run"),
        exclusive_access(tmp_path / "out"),
    ):
        pass
    with exclusive_access(tmp_path / "out"), exclusive_access(tmp_path / "elsewhere"):
        pass


def test_the_result_is_written_last(writer, monkeypatch):
    real = writing._replace

    def without_room(path, text):
        if path.name == "03_scaling.results.json":
            raise OSError("no space left")
        real(path, text)

    monkeypatch.setattr(writing, "_replace", without_room)
    with pytest.raises(OSError, match="no space"):
        writer.write(made())
    assert writer.earlier_result("ada", "03_scaling") is None


# ── names that nobody can trust ───────────────────────────────────────────────────────────────────

HOSTILE = ["../../etc", "..", ".", "", "/root", "a/b", "a_b", "a\\b", "C:\\x", "con", "grades.csv", "gradebook.db",
           "report.html", ".hidden", "-rf", "a\0b", "a\nb", "a" * 300, "a" * 301, "\u202egnp", " ada", "ada ", "ada.",
           "\udcff", "<b>x</b>", "=1+1", "🙂", "𠀀" * 70, "_~1234567890ab", "a:b", "x|y", "NUL.txt"]  # fmt: skip


@pytest.mark.parametrize("name", ["ada", "Ada Lovelace", "ada.l@uni.example", "王小明", "s-001", "a_b"])
def test_plain_names_stay_as_they_are(name):
    assert safe_name(name) == name


def test_every_name_has_a_folder_of_its_own_inside(writer):
    for student in HOSTILE:
        writer.write(made(student))
    folders = [path.parent for path in writer.out.rglob("03_scaling.json")]
    assert len(folders) == len(HOSTILE)
    assert {folder.parent for folder in folders} == {writer.out}
    assert sorted(path.name for path in writer.out.parent.iterdir()) == ["out"]
    for student in HOSTILE:
        assert writer.earlier_result(student, "03_scaling").student == clean_name(student)


@pytest.mark.parametrize("notebook", ["../x", "a/b", "", ".", "03.results", "x" * 300, "\0"])
def test_a_notebooks_name_stays_in_its_folder(writer, notebook):
    writer.write(made(notebook=notebook))
    written = [path for path in writer.out.rglob("*") if path.is_file()]
    assert len(written) == 3
    assert {path.parent for path in written} == {writer.out / "ada"}
    assert writer.earlier_result("ada", notebook) is not None


def test_no_link_is_followed(writer, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "03_scaling.json").write_text(json.dumps(result()))
    (outside / "precious").write_text("mine")
    os.symlink(outside, writer.out / "ada")
    assert writer.earlier_result("ada", "03_scaling") is None
    writer.write(made())
    assert not (writer.out / "ada").is_symlink()
    (writer.out / "bob").mkdir()
    for name in ("03_scaling.json", "03_scaling.html", ".03_scaling.json.part"):
        os.symlink(outside / "precious", writer.out / "bob" / name)
    writer.write(made("bob"))
    assert (outside / "precious").read_text() == "mine"
    assert sorted(path.name for path in outside.iterdir()) == ["03_scaling.json", "precious"]


def test_a_link_or_a_pipe_is_no_result(writer, tmp_path):
    (tmp_path / "forged").write_text(json.dumps(result()))
    (writer.out / "ada").mkdir()
    os.symlink(tmp_path / "forged", writer.out / "ada" / "03_scaling.json")
    assert writer.earlier_result("ada", "03_scaling") is None
    (writer.out / "bob").mkdir()
    os.mkfifo(writer.out / "bob" / "03_scaling.json")
    assert writer.earlier_result("bob", "03_scaling") is None


# ── text that nobody can trust ────────────────────────────────────────────────────────────────────


def test_text_is_bounded_and_its_tricks_are_seen():
    assert clean("x" * 2000, 10) == "x" * 9 + "…"
    assert clean("a\x1b[31mb\u202ec\udcffd\ne", 99) == "a�[31mb�c�d\ne"


@pytest.mark.parametrize(
    "change",
    [{"score": float("nan")}, {"score": "3"}, {"score": -1}, {"status": "great"}, {"questions": None}, {"seed": None},
     {"questions": [question(status="won")]}, {"questions": [question(points=True)]}, {"questions": [7]}],
)  # fmt: skip
def test_what_is_no_result_is_refused(change):
    with pytest.raises(MalformedError):
        Result.from_dict(result() | change)


def test_a_cleaned_result_stays_as_it_is():
    hostile = result("a\0" * 80, "x\n/y.ipynb", questions=[question(message="\x1b" * 5000)])
    once = Result.from_dict(hostile).as_dict()
    assert Result.from_dict(once).as_dict() == once


# ── all of them ───────────────────────────────────────────────────────────────────────────────────


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def finished(writer, monkeypatch) -> Path:
    """A class of three, without the gradebook, which has tests of its own."""
    monkeypatch.setattr("qkv.grading.writing.record", lambda submissions, address: None)
    writer.finish([made("eve", notebook="04_x"), made_ungraded("bob"), made('=cmd|"/c calc"'), made("ada")])
    return writer.out


def test_grades_have_a_row_for_each_in_order(finished):
    table = rows(finished / "grades.csv")
    assert [row["student"] for row in table] == ['\'=cmd|"/c calc"', "ada", "bob", "eve"]
    ada, bob = table[1:3]
    assert (ada["score"], ada["max_score"], ada["3.1"], ada["3.2"]) == ("3", "5", "3", "0")
    assert (bob["status"], bob["score"], bob["reason"], bob["3.1"]) == ("ungraded", "", "the worker was lost", "")


def test_canvas_gets_its_header_the_possible_points_and_blanks(finished):
    lines = (finished / "canvas.csv").read_text().splitlines()
    assert lines[0] == "Student,ID,SIS User ID,SIS Login ID,Section,03_scaling,04_x"
    assert lines[1] == "    Points Possible,,,,,5,5"
    assert lines[3:] == ["ada,,,ada,,3,", "bob,,,bob,,,", "eve,,,eve,,,3"]


def test_moodle_gets_one_row_a_student(finished):
    lines = (finished / "moodle.csv").read_text().splitlines()
    assert lines[0] == "username,03_scaling,04_x"
    assert lines[2:] == ["ada,3,", "bob,,", "eve,,3"]


FORMULAS = [
    *("=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", " =1", '"=1', "\uff1d1", "\uff0b1", "\uff20x", "\u22121"),
    *("eve;=1+1;", "eve,=1", "eve; @x", 'eve;"=1"', "eve|-1", "eve\n=1", "eve\t+1", "a;b; ;=1"),
]


@pytest.mark.parametrize("separator", list(",;\t|"))
def test_no_cell_can_be_a_formula_wherever_a_spreadsheet_cuts_the_line(writer, monkeypatch, separator):
    monkeypatch.setattr("qkv.grading.writing.record", lambda submissions, address: None)
    writer.finish([made(name, name) for name in FORMULAS] + [made_ungraded(name, reason=name) for name in FORMULAS])
    for name in ("grades.csv", "canvas.csv", "moodle.csv"):
        with (writer.out / name).open(newline="", encoding="utf-8") as stream:
            text = stream.read()
        cut = [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) for cell in row]
        for piece in [*cut, *(piece for cell in cut for piece in cell.split(separator))]:
            start = unicodedata.normalize("NFKC", piece.strip(" \t\r\n\"'"))[:1]
            assert start not in tuple("=+-@\u2212") or piece.lstrip(' "').startswith("'"), piece


def test_gradescope_gets_tests_with_scores(writer):
    writer.write(made())
    sent = json.loads((writer.out / "ada" / "03_scaling.results.json").read_text())
    assert sent["score"] == 3.0
    assert [(test["score"], test["max_score"], test["status"]) for test in sent["tests"]] == [
        (3.0, 3.0, "passed"),
        (0.0, 2.0, "failed"),
    ]
    assert "variance-added" in sent["tests"][1]["name"]


def test_gradescope_gets_no_score_for_a_fault_of_ours(writer):
    writer.write(made_ungraded("ada"))
    sent = json.loads((writer.out / "ada" / "03_scaling.results.json").read_text())
    assert "score" not in sent
    assert "tests" not in sent
    assert "the worker was lost" in sent["output"]


def test_the_order_of_grading_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr("qkv.grading.writing.record", lambda submissions, address: None)
    code = "\n".join(f"a{i} = f{i}(b) + {i}" for i in range(20))
    graded = [made(name, source=code) for name in ("ada", "bob", "eve")] + [made_ungraded("moe"), made("ada", "04_x")]
    for folder, order in (("one", graded), ("two", graded[::-1])):
        Writer(tmp_path / folder).finish(order)
    for name in ("grades.csv", "canvas.csv", "moodle.csv", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_last_of_a_name_counts(writer, monkeypatch):
    monkeypatch.setattr("qkv.grading.writing.record", lambda submissions, address: None)
    writer.finish([made(), made(questions=[question("3.1", 0, 3)])])
    assert [row["score"] for row in rows(writer.out / "grades.csv")] == ["0"]
