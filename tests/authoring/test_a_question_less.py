"""A course without one of its questions: its two files and its cells are gone, and everything else works as before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
GONE = {"question-3-2", "answer-score_variance", "try-3-2", "hints-3-2", "check-3-2"}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of the package and of exercise 3's solution, without question 3.2."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for suffix in ("py", "toml"):
        (tmp_path / f"src/qkv/questions/catalogue/q3_2.{suffix}").unlink()
    notebook = nbformat.read(ROOT / "solutions" / "03_scaling.ipynb", as_version=4)
    assert {cell.id for cell in notebook.cells} >= GONE
    notebook.cells = [cell for cell in notebook.cells if cell.id not in GONE]
    (tmp_path / "solutions").mkdir()
    nbformat.write(notebook, tmp_path / "solutions" / "03_scaling.ipynb")
    return tmp_path


def qkv(course: Path, *arguments: str) -> str:
    """Run the course's own `qkv` in its folder, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "qkv.cli", *arguments],
        cwd=course, env={**os.environ, "PYTHONPATH": str(course / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_exercise_is_written_without_it(course: Path):
    qkv(course, "release")
    exercise = nbformat.read(course / "exercises" / "03_scaling.ipynb", as_version=4)
    checked = [cell.id for cell in exercise.cells if cell.id.startswith("check-")]
    assert checked == ["check-3-1", "check-3-3", "check-3-4", "check-3-5"]


@pytest.mark.slow
def test_all_that_is_left_gets_full_marks(course: Path):
    said = qkv(course, "grade", "solutions/03_scaling.ipynb")
    assert "13 of 13 points" in said
    assert "3.2" not in said
