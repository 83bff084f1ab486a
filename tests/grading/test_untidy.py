"""Untidy notebooks of honest learners get in the sandbox what their own kernel gives them, and alone as well."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from qkv.grading import own
from qkv.grading.report import feedback_page
from qkv.grading.session import Grader, Settings
from qkv.grading.submissions import MAX_SOURCE, Work, code_cells
from tests.grading.untidy_notebooks import CHECKED, FILES, FIRST, NOTEBOOKS, POINTS, as_json

REPORTS = (
    "import json\nfrom qkv.checking import examining\n"
    "print(json.dumps({question: report.points for question, report in examining._reports.items()}))"
)
SAMPLE = ("a magic under if",)  # a fresh Python for each: the rest is in the sweep


@pytest.fixture(scope="module")
def grader(needs_sandbox):
    grader = Grader(Settings(seed=5))
    yield grader
    grader.stop()


def in_the_class(grader: Grader, cells: list[str]) -> dict[str, float]:
    result = grader.grade(Work("ann", "03_scaling", "", 3, tuple(cells)))
    assert result.graded, result.reason
    return {answer.id: answer.points for answer in result.questions}


def alone(folder: Path, data: bytes) -> dict[str, float]:
    (folder / "mine.ipynb").write_bytes(data)
    return own.grade(folder / "mine.ipynb", 120).points


def in_the_kernel(folder: Path, cells: list[str]) -> dict[str, float]:
    """What the learner sees: the last report of each question, in a kernel of its own."""
    notebook = nbformat.from_dict(as_json([cell for cell in cells if "input(" not in cell] + [REPORTS], lines=False))
    client = NotebookClient(notebook, allow_errors=True, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return json.loads(notebook.cells[-1].outputs[0]["text"])


def test_there_are_enough():
    assert len(NOTEBOOKS) >= 100


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (i % 4 > 0)) for i, name in enumerate(NOTEBOOKS)]
)
def test_an_honest_notebook_has_full_marks_in_the_class(grader, name):
    assert in_the_class(grader, NOTEBOOKS[name]) == POINTS


@pytest.mark.parametrize("name", FILES)
def test_a_notebook_is_read_however_it_is_stored(grader, name):
    assert in_the_class(grader, code_cells(FILES[name])) == POINTS


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow][name in SAMPLE :]) for name in NOTEBOOKS])
def test_an_honest_notebook_has_full_marks_alone_and_in_the_kernel(tmp_path, name):
    assert alone(tmp_path, json.dumps(as_json(NOTEBOOKS[name])).encode()) == POINTS
    if name not in ("exit",):  # it ends the kernel
        assert in_the_kernel(tmp_path, NOTEBOOKS[name]) == POINTS


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_notebook_is_read_alone_however_it_is_stored(tmp_path, name):
    assert alone(tmp_path, FILES[name]) == POINTS


# In the learner's kernel these modules are installed, so it cannot be asked here.
FAILED_IMPORTS = {
    "first in the imports": [f"import seaborn as sns\n{FIRST}", *CHECKED],
    "from Colab, and used": [
        f"from google.colab import drive, files\nimport random, no_such_module, torch\n{FIRST}",
        "drive.mount('/content/drive')",
        *CHECKED,
    ],
    "an error that is no ImportError": [
        "open('broken_module.py', 'w').write('1 / 0')\nimport sys; sys.path.insert(0, '.')",
        f"import broken_module\n{FIRST}",
        *CHECKED,
    ],
    "in the cell of an answer": [FIRST, f"import cupy\nfrom cupy import *\n{CHECKED[0]}", *CHECKED[1:]],
}


@pytest.mark.parametrize("name", FAILED_IMPORTS)
def test_a_cell_goes_on_behind_an_import_that_fails_in_the_class(grader, name):
    assert in_the_class(grader, FAILED_IMPORTS[name]) == POINTS


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow][name == "from Colab, and used" :]) for name in FAILED_IMPORTS]
)
def test_a_cell_goes_on_behind_an_import_that_fails_alone(tmp_path, name):
    assert alone(tmp_path, json.dumps(as_json(FAILED_IMPORTS[name])).encode()) == POINTS


def test_what_was_not_run_is_said_in_the_class_and_alone(grader, tmp_path, capsys):
    """As every cell that failed."""
    cells = [FIRST, "1 / 0", "#" * (MAX_SOURCE + 1), *CHECKED]
    data = json.dumps(as_json(cells)).encode()
    result = grader.grade(Work("ann", "03_scaling", "", 3, tuple(code_cells(data))))
    assert [answer.points for answer in result.questions] == list(POINTS.values())
    said = (
        "Code cell 2 raised ZeroDivisionError: division by zero in line 1, `1 / 0`",
        "Code cell 3 raised RuntimeError: this cell was not run: it has more than 1,000,000 characters",
    )
    assert [shown.startswith(words) for shown, words in zip(result.failed_cells, said, strict=True)] == [True] * 2
    page = feedback_page(result)
    assert alone(tmp_path, data) == POINTS
    shown = capsys.readouterr().out
    for words in said:
        assert words in shown
        assert words.partition(", `")[0] in page


def test_what_uses_a_missing_module_says_so(grader, tmp_path, capsys):
    cells = [
        f"import seaborn as sns\n{FIRST}",
        "sns.set_theme()\nvalue = 1",
        CHECKED[0].replace("return", "sns.set_theme()\n    return"),
        "from no_such_package.part import helper\ndef score_variance(a, b, c):\n    return helper(a)",
        CHECKED[1],
    ]
    result = grader.grade(Work("ann", "03_scaling", "", 3, tuple(cells)))
    assert result.missing_modules == ("seaborn", "no_such_package.part")
    first, second, third = (answer.message for answer in result.questions[:3])
    assert "No module named 'seaborn'" in first
    assert "No module named 'no_such_package'" in second
    assert "No `attention` is defined" in third
    alone(tmp_path, json.dumps(as_json(cells)).encode())
    said = capsys.readouterr().out
    assert "No module named 'seaborn' in line 1, `import seaborn as sns`. The rest" in said
    assert "Code cell 2 raised ModuleNotFoundError: No module named 'seaborn' in line 1, `sns.set_theme()`" in said


def test_what_is_wrong_in_the_kernel_is_wrong_in_the_class(grader):
    """What an answer refers to when it is checked counts, not what was there before, and not what comes later."""
    late = CHECKED[0].replace("math.sqrt", "scale")
    assert in_the_class(grader, [FIRST, late, CHECKED[1], "scale = math.sqrt"])["3.1"] == 0
    assert in_the_class(grader, [FIRST, CHECKED[0], "del scaled_scores", CHECKED[1]])["3.1"] == 0
    table = [FIRST, "scales = {}", CHECKED[0].replace("math.sqrt", "scales['root']"), CHECKED[1]]
    assert in_the_class(grader, [*table, "scales['root'] = math.sqrt"])["3.1"] == 0


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            CHECKED[0].replace("return", "from qkv.attention import scaled_scores as theirs\n    return"),
            marks=pytest.mark.slow,
        ),
        "from qkv import attention as theirs\n" + CHECKED[0].replace("return", "theirs\n    return"),
        pytest.param(
            "from qkv.attention import scaled_scores as theirs\n"
            "def helper(*given):\n    return theirs(*given)\n\ndef scaled_scores(q, k):\n    return helper(q, k)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_answer_that_names_the_reference_has_no_points_anywhere(grader, tmp_path, answer):
    """Whether it calls it or not: one rule for the learner's kernel, for oneself and for the class."""
    cells = [FIRST, answer, CHECKED[1]]
    result = grader.grade(Work("ann", "03_scaling", "", 3, tuple(cells)))
    assert (result.questions[0].points, "holds the solution" in result.questions[0].message) == (0.0, True)
    assert alone(tmp_path, json.dumps(as_json(cells)).encode())["3.1"] == 0.0
    assert in_the_kernel(tmp_path, cells)["3.1"] == 0.0


def test_an_answer_that_ends_python_costs_itself_alone(grader, tmp_path):
    """Its check ends the session; the other answers of that cell, and what was checked before it, stand."""
    ends = "import os\ndef scaled_scores(q, k):\n    os._exit(1)"
    cells = [
        FIRST,
        *CHECKED[2:4],
        f"{ends}\n{CHECKED[4].replace('scaled_scores', 'scores')}\n{CHECKED[1]}",
        *CHECKED[6:],
    ]
    cells[2:2] = ["def scores(q, k):\n    return q @ k.mT / math.sqrt(q.shape[-1])"]
    expected = {**POINTS, "3.1": 0.0}
    assert in_the_class(grader, [*cells, CHECKED[5]]) == expected
    assert alone(tmp_path, json.dumps(as_json([*cells, CHECKED[5]])).encode()) == expected
