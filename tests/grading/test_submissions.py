"""Submissions are found by their paths, and read whatever state they are in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qkv.grading.submissions import MAX_SOURCE, Submission, UnreadableError, chapter_of, code_cells, find, read

ANSWER = "def scaled_scores(q, k):\n    return q"

CODE = {"cell_type": "code", "source": ANSWER}


def notebook(*sources: object, **cell: object) -> bytes:
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **cell} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def put(path: Path, data: bytes = b"{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_both_layouts_name_student_and_notebook(tmp_path):
    put(tmp_path / "ann" / "03_scaling.ipynb")
    put(tmp_path / "bob_smith_04_softmax_temperature.ipynb")
    put(tmp_path / "cy" / "homework final.ipynb")
    put(tmp_path / "ann" / ".ipynb_checkpoints" / "03_scaling-checkpoint.ipynb")
    assert {(one.student, one.notebook) for one in find([tmp_path])} == {
        ("ann", "03_scaling"),
        ("bob_smith", "04_softmax_temperature"),
        ("cy", "homework final"),
    }


def test_a_single_file_is_its_folders(tmp_path):
    path = put(tmp_path / "ann" / "03_scaling.ipynb")
    assert find([path, path]) == [Submission("ann", "03_scaling", path)]


def test_two_of_one_name_have_results_of_their_own(tmp_path):
    for course in ("monday", "tuesday"):
        put(tmp_path / course / "ann" / "03_scaling.ipynb")
    assert [one.notebook for one in find([tmp_path])] == ["03_scaling", "03_scaling-2"]


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        find([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"\0" * 1000, "empty"),
        (b"PK\x03\x04 a zip", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no list of cells"),
        (b'{"cells": 7}', "no list of cells"),
        (b'"text"', "no list of cells"),
        (notebook(ANSWER)[:-40], "not JSON"),
    ],
)
def test_what_is_no_notebook_says_so(data, why):
    with pytest.raises(UnreadableError, match=why):
        code_cells(data)


@pytest.mark.parametrize(
    "data",
    [
        notebook(ANSWER),
        notebook(ANSWER.splitlines(keepends=True)),
        notebook(ANSWER).decode().encode("utf-8-sig"),
        notebook(ANSWER).decode().encode("utf-16"),
        notebook(ANSWER) + b"\0\0\0",
        notebook(ANSWER, metadata=None, outputs="none", id=7),
        json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ANSWER}]}]}).encode(),
        json.dumps({"cells": [None, 7, {}, CODE, {**CODE, "source": 3}]}).encode(),
    ],
    ids=["plain", "lines", "with a mark", "utf-16", "null bytes", "no metadata", "format 3", "cells that are none"],
)  # fmt: skip
def test_a_damaged_notebook_is_read(data):
    assert code_cells(data) == [ANSWER]


def test_latin_1_is_read():
    text = json.dumps({"cells": [{"cell_type": "code", "source": "# für"}]}, ensure_ascii=False)
    assert code_cells(text.encode("latin-1")) == ["# für"]


def test_outputs_of_60_mb_do_no_harm_and_sources_are_bounded():
    data = notebook(ANSWER, "#" * (MAX_SOURCE + 5), outputs=[{"text": "x" * 30_000_000}])
    assert list(map(len, code_cells(data))) == [len(ANSWER), MAX_SOURCE]


def test_a_link_is_not_followed(tmp_path):
    secret = put(tmp_path / "secret", notebook(ANSWER))
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "03_scaling.ipynb").symlink_to(secret)
    (found,) = find([tmp_path / "ann"])
    with pytest.raises(UnreadableError, match="symbolic link"):
        read(found)


def test_the_chapter_is_told_by_name_by_checks_or_by_answers():
    assert chapter_of("05_multi_head", []) == 5
    assert chapter_of("homework", ['check("4.1", softmax).points']) == 4
    assert chapter_of("99_homework", [ANSWER, "def attention(q, k, v): ..."]) == 3
    with pytest.raises(UnreadableError, match="which chapter"):
        chapter_of("homework", ["x = 1"])
