"""Exercises are what their solutions release to: nothing of the answers in them, and the same bytes each time."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from qkv.authoring.release import findings, linked_pages, release, release_without_solutions, released, written
from qkv.questions import chapters, questions_of

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
each_solution = pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)


def graded(**changes):
    fields = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return {"nbgrader": fields | changes}


@pytest.fixture
def solution():
    answer = "def f(x):\n    # keep\n    ### BEGIN SOLUTION\n    secret = 3\n    return secret\n    ### END SOLUTION\n"
    notebook = new_notebook(
        cells=[
            new_markdown_cell("# Title", id="title"),
            new_code_cell(answer, id="answer", metadata=graded(solution=True, grade_id="f")),
            new_code_cell("print(1)", id="try", outputs=[new_output("stream", text="1\n")], execution_count=4),
            new_code_cell(
                'check("3.1", f).points',
                id="check",
                metadata=graded(grade=True, locked=True, points=3, grade_id="c") | {"tags": ["nbval-ignore-output"]},
            ),
            new_code_cell("assert secret_total", id="mine", metadata={"tags": ["solution-only"]}),
        ]
    )
    notebook.nbformat_minor = 5
    return notebook


def test_answers_are_cut_and_the_stub_is_not_attempted(solution):
    source = released(solution).cells[1].source
    assert source == "def f(x):\n    # keep\n    raise NotImplementedError"


def test_the_check_is_locked_and_the_answer_is_not(solution):
    _, answer, trial, check = released(solution).cells
    assert (check.metadata.editable, check.metadata.deletable) == (False, False)
    assert "editable" not in answer.metadata
    assert "editable" not in trial.metadata


def test_outputs_tags_for_tests_and_cells_of_the_solution_stay_behind(solution):
    exercise = released(solution)
    assert [cell.id for cell in exercise.cells] == ["title", "answer", "try", "check"]
    assert exercise.cells[2].outputs == []
    assert exercise.cells[2].execution_count is None
    assert "tags" not in exercise.cells[3].metadata


def test_the_solution_itself_is_not_changed(solution):
    before = written(solution)
    released(solution)
    assert written(solution) == before


def test_the_same_source_gives_the_same_bytes(solution):
    assert written(released(solution)) == written(released(solution))


def test_a_solution_outside_a_solution_cell_is_refused(solution):
    solution.cells[2].source = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    with pytest.raises(RuntimeError):
        released(solution)


def test_release_writes_what_changed_and_findings_name_the_rest(solution, tmp_path):
    solutions, exercises = tmp_path / "solutions", tmp_path / "exercises"
    solutions.mkdir()
    nbformat.write(solution, solutions / "03_a.ipynb")
    assert [f.what for f in findings(solutions, exercises)] == ["is missing"]
    assert release(solutions, exercises) == [exercises / "03_a.ipynb"]
    assert release(solutions, exercises) == []
    assert findings(solutions, exercises) == []
    (exercises / "03_a.ipynb").write_text((exercises / "03_a.ipynb").read_text() + " ")
    (exercises / "04_b.ipynb").write_text("{}")
    assert [f.what.split()[:2] for f in findings(solutions, exercises)] == [["is", "not"], ["has", "no"]]


# ── the course's own ──────────────────────────────────────────────────────────────────────────────


@each_solution
def test_every_question_of_the_chapter_is_checked_for_its_points(path):
    notebook = nbformat.read(path, as_version=4)
    questions = questions_of(int(path.name[:2]))
    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    asked = [re.fullmatch(r'check\("(\d+\.\d+)", \w+\)\.points', cell.source) for cell in checks]
    assert [match.group(1) for match in asked] == list(questions)
    assert [cell.metadata.nbgrader.points for cell in checks] == [question.points for question in questions.values()]
    assert notebook.cells[-1].source == f"progress({int(path.name[:2])})"


@each_solution
def test_the_text_has_the_title_and_says_the_points(path):
    cells = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    questions = questions_of(int(path.name[:2])).values()
    for question in questions:
        text = cells[f"question-{question.id.replace('.', '-')}"]
        assert text.startswith(f"## {question.id} {question.title}\n")
        assert re.search(rf"\*{question.points} points?,", text)
    assert f"{sum(question.points for question in questions)} points" in cells["title"]


@each_solution
def test_each_question_has_a_place_to_try_and_hints(path):
    notebook = nbformat.read(path, as_version=4)
    ids = [cell.id for cell in notebook.cells]
    for question in questions_of(int(path.name[:2])):
        slug = question.replace(".", "-")
        places = [ids.index(f"{part}-{slug}") for part in ("question", "try", "hints", "check")]
        assert places == sorted(places)
        hints = notebook.cells[places[2]].source
        assert hints.count("<details>") == hints.count("</details>") == 3


@each_solution
def test_the_exercise_gives_nothing_away(path):
    solution, exercise = nbformat.read(path, as_version=4), (ROOT / "exercises" / path.name).read_text()
    for cell in solution.cells:
        secret = re.search(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", cell.source, re.DOTALL)
        for line in secret.group(1).splitlines() if secret else []:
            code = line.partition("#")[0].strip()
            assert len(code) < 12 or code not in exercise, f"{code!r} stands in the exercise"


# In the gate all exercises run in the site's build, and all solutions by nbval, which holds their points.
@pytest.mark.slow
@each_solution
def test_the_exercise_runs_unanswered_and_the_solution_gets_full_marks(path, tmp_path):
    full = float(sum(question.points for question in questions_of(int(path.name[:2])).values()))
    assert points_of(ROOT / "exercises" / path.name, tmp_path) == 0.0
    assert points_of(path, tmp_path) == full


def points_of(path: Path, folder: Path) -> float:
    """Run a notebook, and add up what its graded cells end in; a word on the error stream would cost the points."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    for cell in notebook.cells:
        assert not [o for o in cell.get("outputs", []) if o.get("name") == "stderr"], cell.id
    return sum(float(o.data["text/plain"]) for c in checks for o in c.outputs if o.output_type == "execute_result")


def test_every_chapter_with_questions_has_its_solution():
    assert [int(path.name[:2]) for path in SOLUTIONS] == list(chapters())


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    """The folder that learners get."""
    folder = tmp_path_factory.mktemp("handout") / "new"
    release_without_solutions(ROOT / "solutions", ROOT / "chapters", folder)
    return folder


def test_no_link_in_the_folder_for_learners_is_dead(handout):
    pages = [path for path in handout.glob("**/*") if path.suffix in (".md", ".ipynb")]
    links = [(page, link) for page in pages for link in linked_pages(page, page.relative_to(handout))]
    assert len(links) > 300
    assert [(page.name, str(link)) for page, link in links if not (handout / link).is_file()] == []
    assert not list(handout.glob("**/solutions*"))


def test_the_first_code_cell_there_says_what_is_true_there(handout):
    for page in handout.glob("[ce]*/**/*.ipynb"):
        code = next(cell.source for cell in nbformat.read(page, as_version=4).cells if cell.cell_type == "code")
        assert "pip install FILE" in code, page
        assert "course's folder" not in code, page
        compile(code, page.name, "exec")
