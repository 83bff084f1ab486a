"""Cells of chapters run on their pages, after those above them, and print what the site shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from browser_python import runnable_cells

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "05_more_about_masks"
CHAPTERS = [
    pytest.param(path, id=path.stem, marks=() if path.stem == SAMPLE else pytest.mark.slow)
    for path in runnable_cells.chapters()
]


@pytest.mark.parametrize("path", CHAPTERS)
def test_what_a_page_runs_prints_what_the_site_shows(path: Path):
    """A listed cell may have become able to run on a faster machine; one that is not listed has to."""
    listed = runnable_cells.read_list().get(runnable_cells.name_of(path), {})
    not_listed = {name: why for name, why in runnable_cells.find_reasons(path).items() if name not in listed}
    assert not not_listed, f"to list them: PYTHONPATH=src python -m browser_python.runnable_cells {path.stem[:2]}"


def test_the_list_names_cells_that_there_are():
    for page, cells in runnable_cells.read_list().items():
        text = (ROOT / f"{page}.ipynb").read_text(encoding="utf-8")
        assert [name for name in cells if f'"id": "{name}"' not in text] == []


def test_what_is_not_on_the_page_is_imported_and_said_when_it_is_used():
    program = "import notebook; print(notebook.Session().run(['import matplotlib.pyplot as p\\np.plot([1])']))"
    path = os.pathsep.join(["browser_python", "browser_python/runtime", "src"])
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert "matplotlib.pyplot.plot is not" in done.stdout
