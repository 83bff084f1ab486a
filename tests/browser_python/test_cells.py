"""Cells of chapters run on their pages: those that they need run first, and they print what the site shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from browser_python import runnable_cells
from browser_python.runtime.needed import needed_cells

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "04_other_weights"
CHAPTERS = [
    pytest.param(path, id=path.stem, marks=() if path.stem == SAMPLE else pytest.mark.slow)
    for path in runnable_cells.chapters()
]


@pytest.mark.parametrize(
    ("cells", "places"),
    [
        (["a = 1", "b = 2", "print(a)"], [0, 2]),
        (["a = 1", "a = 2", "print(a)"], [1, 2]),
        (["a = 1", "b = a", "c = b", "print(c)"], [0, 1, 2, 3]),
        (["a = []", "a.append(1)", "print(a)"], [0, 1, 2]),
        (["a = [1]", "a[0] = 2", "print(a)"], [0, 1, 2]),
        (["a = 1", "a += 1", "print(a)"], [0, 1, 2]),
        (["a = 1", "a = a + 1", "print(a)"], [0, 1, 2]),
        (["t = f()", "t.mul_(2)", "print(t)"], [0, 1, 2]),
        (["import math, torch", "import os", "print(math.pi)"], [0, 2]),
        (["def f():\n    return a", "a = 1", "print(f())"], [0, 1, 2]),
        (["a = torch.randn(3)", "b = torch.randn(3)", "print(b)"], [0, 1, 2]),
        (["def f():\n    return torch.randn(3)", "a = f()", "print(f())"], [0, 1, 2]),
        (["a = torch.randn(3)", "def f():\n    return torch.randn(3)\nprint(f())"], [0, 1]),
        (["a = torch.randn(3)", "def f():\n    return torch.randn(3)\nprint([f() for _ in (1, 2)])"], [0, 1]),
        (["tagger = load_tagger()", "b = 1", "print(torch.rand(2))"], [0, 2]),
        (["def f():\n    return torch.randn(3)", "a = 1", "def g():\n    return f()", "print(g())"], [0, 2, 3]),
        (["a = torch.randn(3)", "def f():\n    return torch.randn(3)", "def g():\n    return 2", "print(g())"], [2, 3]),
        (["torch.manual_seed(1)", "print(1)", "print(torch.rand(2))"], [0, 2]),
        (["a = 1", "oh no", "print(2)"], [0, 1, 2]),
        (["def f():\n    return torch.randn(3)", "a = 1", "print(torch.rand(2))"], [2]),
        (["kept = []", "def f(a):\n    kept.append(a)", "f(1)", "print(kept)"], [0, 1, 2, 3]),
        (["a = 1", "if b:\n    a = 2", "print(a)"], [0, 1, 2]),
        (["a = 1", "for a in b:\n    pass\nprint(a)"], [0, 1]),
        (["a = 1", "try:\n    a = b\nexcept NameError:\n    pass\nprint(a)"], [0, 1]),
        (["a, b = 1, 2", "def f(b: a = b):\n    return b", "print(f())"], [0, 1, 2]),
        # names of one function, of one comprehension, or made just before, are not those of an earlier cell
        (["a = 1", "def f(q):\n    a = q\n    return a", "print(f(2))"], [1, 2]),
        (["a = 1", "def f(q):\n    def g(): return a\n    a = q\n    return g()", "print(f(2))"], [1, 2]),
        (["a = 1", "b = lambda a: a", "print(b(2))"], [1, 2]),
        (["a = 1", "f = lambda b=a: b", "print(f())"], [0, 1, 2]),
        (["a = 1", "def f():\n    a = []\n    a.append(1)\nc = f()", "print(a)"], [0, 2]),
        (["a = torch.randn(3)", "def f():\n    return torch.randn(3)\nc = 1", "print(c)"], [1, 2]),
        (["a = 1", "print([a for a in (1, 2)])"], [1]),
        (["a = 1", "for a in (1, 2):\n    print(a)"], [1]),
        (["a = 1", "a = 2\nprint(a)"], [1]),
        (["f = 1", "class A:\n    def f(self):\n        return f", "print(A().f())"], [0, 1, 2]),
    ],
)
def test_a_cell_needs_what_makes_or_changes_its_names(cells: list[str], places: list[int]):
    assert needed_cells(cells) == places


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
    program = "import notebook; print(notebook.output_of_last_cell(['import matplotlib.pyplot as p\\np.plot([1])']))"
    path = os.pathsep.join(["browser_python", "browser_python/runtime", "src"])
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert "matplotlib.pyplot.plot is not on this page; open this notebook in JupyterLab or Colab" in done.stdout
