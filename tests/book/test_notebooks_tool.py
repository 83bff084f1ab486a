"""The normaliser: what it refuses, what it keeps, and that its own output passes."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tools import notebooks

CLEAN = {
    "cells": [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": "# Title"},
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "sum",
            "metadata": {"tags": ["remove-cell"]},
            "outputs": [],
            "source": "1 + 1",
        },
    ],
    "metadata": {"kernelspec": notebooks.KERNEL, "language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
PRINTED = {"name": "stdout", "output_type": "stream", "text": "2\n"}
RICH = {
    "data": {"text/plain": "2", "text/html": "<b>2</b>", "image/png": "AAAA"},
    "execution_count": 7,
    "metadata": {"isolated": True},
    "output_type": "execute_result",
}


def file_with(tmp_path: Path, folder: str = "chapters", **code_cell: Any) -> Path:
    """A notebook that is in its one form, but for these fields of its code cell."""
    content = json.loads(json.dumps(CLEAN))
    content["cells"][1] |= {"execution_count": 1 if folder == "solutions" else None} | code_cell
    path = tmp_path / folder / "03_x.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_text(nbformat.v4.writes(nbformat.from_dict(content)) + "\n", encoding="utf-8")
    return path


def said(path: Path) -> str:
    return "; ".join(f"{finding.cell}: {finding.what}" for finding in notebooks.findings(path))


@pytest.mark.parametrize("folder", ["chapters", "exercises", "solutions", "book"])
def test_clean_notebook_passes(tmp_path: Path, folder: str):
    assert notebooks.findings(file_with(tmp_path, folder)) == []


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"outputs": [PRINTED]}, "cell 2 (id sum): carries outputs"),
        ({"execution_count": 3}, "cell 2 (id sum): carries an execution count"),
        ({"metadata": {"collapsed": True, "jupyter": {}}}, "cell 2 (id sum): carries metadata: collapsed, jupyter"),
        ({"source": "1 + 1  "}, "cell 2 (id sum): has blanks at the end of a line, or empty lines at its end"),
        ({"source": "1 + 1\n\n"}, "cell 2 (id sum): has blanks at the end of a line, or empty lines at its end"),
        ({"id": "intro"}, "has no valid id of its own"),
        ({"id": "not an id"}, "has no valid id of its own"),
    ],
)
def test_noise_is_refused_and_named(tmp_path: Path, field: dict[str, Any], expected: str):
    path = file_with(tmp_path, **field)
    assert expected in said(path)
    assert notebooks.main(["normalise", str(path)]) == 0
    assert notebooks.findings(path) == []


def test_check_names_the_file_and_what_to_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = file_with(tmp_path, execution_count=3)
    assert notebooks.main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"{path}, cell 2 (id sum): carries an execution count" in out
    assert f"Type: python tools/notebooks.py normalise {path}" in out


def test_solutions_keep_text_alone(tmp_path: Path):
    path = file_with(tmp_path, "solutions", outputs=[PRINTED, RICH], execution_count=7)
    assert "not plain text" in said(path)
    assert "from top to bottom" in said(path)
    notebooks.main(["normalise", str(path)])
    outputs = json.loads(path.read_text(encoding="utf-8"))["cells"][1]["outputs"]
    assert outputs[0]["text"] == ["2\n"]
    assert outputs[1]["data"] == {"text/plain": ["2"]}
    assert outputs[1]["execution_count"] is None
    assert notebooks.findings(path) == []


def test_notebook_metadata_is_only_kernel_and_language(tmp_path: Path):
    path = file_with(tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"]["colab"] = {"provenance": []}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "carries metadata" in said(path)


def test_another_layout_is_refused(tmp_path: Path):
    path = file_with(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert "JSON layout" in said(path)


def test_ids_are_kept_and_new_ones_are_stable(tmp_path: Path):
    content = json.loads(json.dumps(CLEAN))
    content["cells"].append(dict(content["cells"][1], id=""))
    once, again = (notebooks.normalised(nbformat.from_dict(content), outputs=False) for _ in range(2))
    assert [cell.id for cell in once.cells] == [cell.id for cell in again.cells]
    assert [cell.id for cell in once.cells][:2] == ["intro", "sum"]
    assert len({cell.id for cell in once.cells}) == 3


def test_marks_of_nbgrader_are_kept(tmp_path: Path):
    grade = {"grade": True, "grade_id": "q31", "points": 3, "schema_version": 3, "solution": False}
    path = file_with(tmp_path, "exercises", metadata={"deletable": False, "editable": False, "nbgrader": grade})
    assert notebooks.findings(path) == []


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"no such notebook: .*nowhere\.ipynb"):
        notebooks.main(["check", str(tmp_path / "nowhere.ipynb")])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}', r"odd\.ipynb has format 3"),
        ("{", r"odd\.ipynb is not a notebook"),
        ("[]", r"odd\.ipynb is not a notebook"),
    ],
)
def test_what_is_no_notebook_of_today_is_named(tmp_path: Path, text: str, says: str):
    path = tmp_path / "odd.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=says):
        notebooks.main(["check", str(path)])
