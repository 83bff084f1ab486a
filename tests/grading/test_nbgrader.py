"""The released notebooks grade under plain nbgrader too: through its own autograder, cell by cell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from qkv.authoring.release import STUB, release_for_nbgrader
from qkv.grading.submissions import find
from qkv.questions import questions_of

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = sorted((ROOT / "exercises").glob("*.ipynb"))
RIGHT = "def scaled_scores(q, k):\n    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])"
WRONG = "def score_variance(d_k, var_q, var_k):\n    return d_k * (var_q + var_k)"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course of nbgrader's, with the sources that `qkv release --nbgrader` writes."""
    folder = tmp_path_factory.mktemp("course")
    release_for_nbgrader(ROOT / "solutions", folder / "source")
    return folder


def autograded(course: Path, slug: str, student: str, answers: dict[str, str]) -> dict[str, float]:
    """Hand in the released exercise with these answers, and give the points of each graded cell."""
    config = Config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.assignment_id = slug
    config.CourseDirectory.db_url = f"sqlite:///{course / 'gradebook.db'}"
    config.Execute.timeout = 120
    assert GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start() is None
    submitted = course / "submitted" / student / slug
    submitted.mkdir(parents=True)
    notebook = nbformat.read(ROOT / "exercises" / f"{slug}.ipynb", as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            assert STUB in cell.source
            cell.source = answers[name]
    nbformat.write(notebook, submitted / f"{slug}.ipynb")
    Autograde(coursedir=CourseDirectory(config=config), config=config).start()
    with Gradebook(config.CourseDirectory.db_url) as book:
        found = book.find_submission_notebook(slug, slug, student)
        return {grade.name: grade.auto_score for grade in found.grades}


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """nbgrader starts alembic, which stands beside this Python."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def test_its_sources_have_the_answers_and_nothing_about_the_solution(course):
    path = course / "source" / "03_scaling" / "03_scaling.ipynb"
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    assert ids == [cell.id for cell in nbformat.read(ROOT / "exercises" / path.name, as_version=4).cells]
    assert "### BEGIN SOLUTION" in path.read_text()
    assert len(list(course.glob("source/*/*.ipynb"))) == len(EXERCISES)


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_a_right_answer_gets_its_points_a_wrong_one_and_an_untouched_one_none(course):
    points = autograded(course, "03_scaling", "ada", {"scaled_scores": RIGHT, "score_variance": WRONG})
    assert points == {f"check-{name.replace('.', '-')}": 3.0 if name == "3.1" else 0.0 for name in questions_of(3)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda path: path.stem)
def test_every_solution_gets_full_marks_from_nbgrader(course, exercise):
    slug = exercise.stem
    source = nbformat.read(course / "source" / slug / exercise.name, as_version=4)
    written = [cell for cell in source.cells if "### BEGIN SOLUTION" in cell.source]
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in written}
    points = autograded(course, slug, "solver", answers)
    questions = questions_of(int(slug[:2]))
    assert points == {f"check-{q.id.replace('.', '-')}": q.points for q in questions.values()}


def test_what_nbgrader_collected_is_found_by_its_students(tmp_path):
    for student in ("ada", "bob"):
        folder = tmp_path / "submitted" / student / "03_scaling"
        folder.mkdir(parents=True)
        (folder / "03_scaling.ipynb").write_text("{}")
    collected = find([tmp_path / "submitted"])
    assert [(one.student, one.notebook) for one in collected] == [("ada", "03_scaling"), ("bob", "03_scaling")]
    assert [one.student for one in find([tmp_path / "submitted" / "bob"])] == ["bob"]


@pytest.mark.slow
def test_the_commands_on_the_page_run_one_after_another(tmp_path, monkeypatch):
    """A learner fetches and submits between the release and the collection."""
    page = (ROOT / "book" / "instructors-scale.md").read_text()
    shown = next(block for block in page.split("```") if "nbgrader generate_assignment" in block).strip().splitlines()
    assert [line.split()[:2] for line in shown[:2]] == [["qkv", "release"], ["cd", "course"]]
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))

    def run(command: str, folder: str) -> None:
        (tmp_path / folder).mkdir(exist_ok=True)
        done = subprocess.run(command.split(), cwd=tmp_path / folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def nbgrader(command: str, folder: str = "course") -> None:
        run(f"{command} --Exchange.root={exchange}", folder)

    run(shown[0].replace("qkv release", f"qkv release --solutions {ROOT / 'solutions'}"), ".")
    for command in shown[2:4]:
        nbgrader(command)
    nbgrader("nbgrader fetch_assignment 03_scaling --course attention", "learner")
    nbgrader("nbgrader submit 03_scaling --course attention", "learner")
    for command in shown[4:]:
        nbgrader(command)
    assert list((tmp_path / "course" / "autograded").glob("*/03_scaling/03_scaling.ipynb"))
