"""`qkv grade` on notebooks of a learner: solved, unanswered, broken, and none at all."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from qkv.cli import main
from qkv.grading import own
from qkv.grading.own import grade
from qkv.questions import chapters, questions_of

ROOT = Path(__file__).resolve().parents[2]


def notebook(folder: Path, *cells: str) -> Path:
    path = folder / "mine.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


# The first in the gate, for the class grades them all there; the sweeps take every one.
SOLUTIONS = [
    pytest.param(path, id=path.stem, marks=pytest.mark.slow if i else ())
    for i, path in enumerate(sorted(ROOT.glob("solutions/*.ipynb")))
]


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_a_solution_gets_full_marks(solution: Path, capsys: pytest.CaptureFixture[str]):
    result = grade(solution, timeout=120)
    assert result.full, capsys.readouterr().out
    chapter = int(solution.stem[:2])
    assert chapter in chapters()
    assert result.max_points == {q.id: q.points for q in questions_of(chapter).values()}


@pytest.mark.slow
def test_a_solution_gets_full_marks_while_the_machine_is_busy(capsys: pytest.CaptureFixture[str]):
    """With eight processes on one core, the clock runs about nine times as fast as the processor's time."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        assert grade(ROOT / "solutions" / "03_scaling.ipynb", timeout=120).full, capsys.readouterr().out
    finally:
        for process in load:
            process.kill()
            process.wait()
        os.sched_setaffinity(0, cores)


def test_an_exercise_gets_nothing_and_no_blame(capsys: pytest.CaptureFixture[str]):
    result = grade(ROOT / "exercises" / "03_scaling.ipynb", timeout=120)
    assert set(result.points.values()) == {0}
    shown = capsys.readouterr().out
    assert shown.count("not attempted") >= len(result.points)
    assert "raised" not in shown


def test_a_cell_that_fails_costs_only_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = notebook(
        tmp_path,
        "%matplotlib inline\nimport torch\nfrom qkv import check",
        "import sys\nsys.exit(3)",
        "def score_variance(d_k, var_q, var_k):\n    return d_k * var_q * var_k",
        "undefined_name",
        "x = 1\ny = (x +\nz = 2",
        'check("3.2", score_variance).points',
    )
    result = grade(path, timeout=120)
    shown = capsys.readouterr().out
    assert result.points["3.2"] == result.max_points["3.2"]
    assert result.points["3.1"] == 0
    assert "Code cell 2 raised SystemExit: 3 in line 2, `sys.exit(3)`" in shown
    assert "Code cell 4 raised NameError" in shown
    assert re.search(r"Code cell 5 raised SyntaxError: .* in line 2, `y = \(x \+`", shown)


@pytest.mark.slow
def test_feedback_names_the_idea(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = notebook(tmp_path, "def scores(q, k):\n    return q @ k.mT", 'check("3.1", scores).points')
    assert grade(path, timeout=120).points["3.1"] == 0
    assert "no scale" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "empty"), ("[]", "not a notebook"), ('{"cells": []}', "no check of this course")],
)
def test_what_is_no_notebook_is_said(tmp_path: Path, content: str, why: str, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    assert main(["grade", str(path)]) == 1
    assert why in capsys.readouterr().err


QUICK = "import signal\nfrom qkv import check\nfrom qkv.checking import examining\nexamining.SECONDS = 1"
VARIANCE = 'def variance(d_k, var_q, var_k):\n    return d_k * var_q * var_k\ncheck("3.2", variance).points'


def test_what_does_not_end_costs_only_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    answer = "def scores(q, k):\n    while True:\n        pass\ncheck('3.1', scores)"
    result = grade(notebook(tmp_path, QUICK, "while True: pass", answer, VARIANCE), timeout=120)
    assert (result.points["3.1"], result.points["3.2"]) == (0, result.max_points["3.2"])
    shown = capsys.readouterr().out
    assert "Code cell 2 was stopped after 1 seconds" in shown
    assert re.search("It took more than [14] seconds and was stopped", shown), "of processor time, or by the clock"


STUBBORN = {
    "swallows interrupts": "    while True:\n        try:\n            while True: abs(1)\n        except: pass",
    "holds Python's lock": "    sum(iter(int, 1))",
}


@pytest.mark.slow
@pytest.mark.parametrize("loop", STUBBORN.values(), ids=STUBBORN)
def test_what_cannot_even_be_interrupted_costs_only_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, loop: str
):
    monkeypatch.setattr(own, "TRIES", 3)
    cell = f"if True:\n{loop}"
    answer = f"def scores(q, k):\n{loop}\ncheck('3.1', scores)"
    result = grade(notebook(tmp_path, QUICK, cell, answer, VARIANCE), timeout=60)
    assert (result.points["3.1"], result.points["3.2"]) == (0, result.max_points["3.2"])
    # Now and then an interrupt finds the loop outside its `try`, and is not swallowed.
    assert re.search(
        "3.1 was not checked: Python stopped|It took more than . seconds and was stopped", capsys.readouterr().out
    )


@pytest.mark.slow
def test_what_an_answer_raised_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = notebook(tmp_path, 'def scores(q, k):\n    return q[..., 0] @ [1]\ncheck("3.1", scores).points')
    grade(path, timeout=120)
    assert "the line `return q[..., 0] @ [1]`" in capsys.readouterr().out


def test_the_keyboard_ends_it_with_one_sentence_even_while_it_starts(tmp_path: Path):
    """The fresh process, which the keyboard reaches as well, imports torch and NumPy then, and says nothing."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    command = [sys.executable, "-m", "qkv.cli", "grade", str(notebook(tmp_path, VARIANCE))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    grading = subprocess.Popen(command, start_new_session=True, **pipes)
    children = Path(f"/proc/{grading.pid}/task/{grading.pid}/children")
    while not any(b"_multiarray" in Path(f"/proc/{pid}/maps").read_bytes() for pid in children.read_text().split()):
        assert grading.poll() is None, grading.stderr.read()
        time.sleep(0.01)
    os.killpg(grading.pid, signal.SIGINT)
    _, said = grading.communicate(timeout=60)
    assert grading.returncode == 130
    assert len(said.strip().splitlines()) == 1, said
    assert said.strip().startswith("qkv grade: it was stopped from the keyboard.")
