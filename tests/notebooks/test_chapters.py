"""Chapters and exercises run from top to bottom, from an empty folder, with nothing beside them but the package."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools.course import TRANSLATED
from tools.translations import sources, weaving

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("book/before.ipynb", "book/look.ipynb", "book/xray.ipynb", "chapters/**/[0-9]*.ipynb", "exercises/*.ipynb")
NOTEBOOKS = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))


def run(notebook, folder):
    """Execute a notebook where it has nothing but the installed package; name the cell that failed.

    Cells that the build of the site leaves out run, too.
    """
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=resources, skip_cells_with_tag="no such tag"
    )
    at = {}
    client.on_cell_start = lambda cell, cell_index: at.update(id=cell.id, number=cell_index + 1)
    try:
        client.execute()
    except CellExecutionError as error:
        pytest.fail(
            f"cell {at['number']} ({at['id']}) raised {error.ename}: {error.evalue}\n\n{error.traceback}", False
        )


def warned(notebook):
    """What cells wrote to stderr: a reader would see it."""
    return [
        (cell.id, output.text)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]


@pytest.fixture(autouse=True)
def _on_its_own(monkeypatch):
    """The kernel finds the package as it is installed (or where the tests got it), never by the folder it runs in."""
    import qkv

    source = str(Path(qkv.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", source + os.pathsep + os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as in the site's build: the numbers are the same on every machine


@pytest.mark.slow  # in the gate they run in the site's build
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix())
def test_runs_from_an_empty_folder(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    run(notebook, tmp_path)
    assert not warned(notebook)
    assert not list(tmp_path.iterdir()), "the notebook left files behind"


@pytest.mark.slow
@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix())
def test_a_woven_notebook_runs(path, language, tmp_path):
    """In another language the code is the same, except for what it shows; its setup chooses the language."""
    woven = sources.woven_file(path, weaving.translate_page(path, language))
    notebook = nbformat.reads(weaving.speaking(woven, language), as_version=4)
    run(notebook, tmp_path)
    assert not warned(notebook)


def test_there_are_chapters():
    assert any(path.parent.name == "chapters" for path in NOTEBOOKS)


def test_a_failing_cell_is_named(tmp_path):
    cells = [
        nbformat.v4.new_code_cell("x = 1", id="fine"),
        nbformat.v4.new_code_cell("assert x == 2, 'not two'", id="wrong"),
    ]
    with pytest.raises(pytest.fail.Exception, match=r"cell 2 \(wrong\) raised AssertionError: not two"):
        run(nbformat.v4.new_notebook(cells=cells), tmp_path)


def test_a_warning_is_seen(tmp_path):
    cell = nbformat.v4.new_code_cell("import warnings; warnings.warn('careful')", id="warns")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    run(notebook, tmp_path)
    assert "careful" in warned(notebook)[0][1]
