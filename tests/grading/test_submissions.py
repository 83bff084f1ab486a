"""Submissions are found by their paths, and read whatever state they are in."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv.grading import batch
from qkv.grading.submissions import (
    MAX_CELLS,
    MAX_SOURCE,
    Submission,
    UnreadableError,
    chapter_of,
    code_cells,
    find,
    read,
)

ANSWER = "def scaled_scores(q, k):\n    return q"

ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]  # the first of each has a mark
CODE = {"cell_type": "code", "source": ANSWER}


def notebook(*sources: object, **cell: object) -> bytes:
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **cell} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def put(path: Path, data: bytes = b"{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_the_first_folder_is_the_student_or_else_the_files_own_name(tmp_path):
    put(tmp_path / "ann" / "03_scaling.ipynb")
    put(tmp_path / "ann" / "exercises" / "bob" / "bob_04_softmax_temperature.ipynb")
    put(tmp_path / "bob_smith_04_softmax_temperature.ipynb")
    put(tmp_path / "cy" / "homework final.ipynb")
    put(tmp_path / "dee" / "03_scaling" / "03_scaling.ipynb")
    assert {(one.student, one.notebook) for one in find([tmp_path])} == {
        ("ann", "03_scaling"),
        ("ann", "04_softmax_temperature"),
        ("bob_smith", "04_softmax_temperature"),
        ("cy", "homework final"),
        ("dee", "03_scaling"),
    }


@pytest.mark.parametrize(
    "name",
    ["._03_scaling.ipynb", ".ipynb_checkpoints/03_scaling-checkpoint.ipynb", "__MACOSX/ann/._03_scaling.ipynb"],
)
def test_copies_that_programs_make_on_their_own_are_ignored(tmp_path, name):
    path = put(tmp_path / "ann" / "03_scaling.ipynb")
    put(tmp_path / "ann" / name)
    (tmp_path / "ann" / "folder.ipynb").mkdir()
    assert find([tmp_path]) == [Submission("ann", "03_scaling", path)]


@pytest.mark.parametrize(
    "name",
    [
        *("03_scaling (1)", "03_scaling(2)", "03_scaling-Copy1", "03_scaling-Copy1 (1)", "03_scaling-1"),
        *("03_scaling copy", "03_scaling - Copy", "LATE_03_scaling", "ann_03_scaling", "homework", "04_softmax"),
    ],
)
def test_a_notebook_is_known_by_the_questions_that_it_checks(tmp_path, name):
    put(tmp_path / "ann" / f"{name}.ipynb", notebook(ANSWER, 'check("3.1", scaled_scores).points'))
    assert [(one.student, one.notebook) for one in find([tmp_path])] == [("ann", "03_scaling")]


@pytest.mark.parametrize("name", ["03_scaling (1)", "03_scaling-Copy1", "03_scaling-1", "LATE_03_scaling"])
def test_a_notebook_that_cannot_be_read_is_known_by_its_name(tmp_path, name):
    put(tmp_path / "ann" / f"{name}.ipynb", b"")
    assert [(one.student, one.notebook) for one in find([tmp_path])] == [("ann", "03_scaling")]


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("leeann_11234_99871_03_scaling.ipynb", "leeann_11234"),
        ("leeann_LATE_11234_99872_03_scaling-1.ipynb", "leeann_11234"),
        ("leeann_11234_99873_bob_03_scaling.ipynb", "leeann_11234"),
        ("bob_LATE_03_scaling.ipynb", "bob"),
    ],
)
def test_names_that_canvas_makes_tell_the_student(tmp_path, name, student):
    put(tmp_path / name)
    assert [(one.student, one.notebook) for one in find([tmp_path])] == [(student, "03_scaling")]


def test_a_single_file_is_its_folders(tmp_path):
    path = put(tmp_path / "ann" / "03_scaling.ipynb")
    assert find([path, path, tmp_path / "ann"]) == [Submission("ann", "03_scaling", path)]


def test_files_of_several_folders_are_their_folders_whatever_they_are_called(tmp_path):
    ann, eve = (put(tmp_path / name) for name in ("ann/03_scaling.ipynb", "eve/bob_03_scaling.ipynb"))
    assert [one.student for one in find([ann, eve])] == ["ann", "eve"]


def test_two_files_for_one_cell_of_the_table_are_one_submission_that_nobody_reads(tmp_path):
    put(tmp_path / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    put(tmp_path / "ann" / "old" / "final.ipynb", notebook(ANSWER))
    put(tmp_path / "ann_03_scaling.ipynb", notebook(ANSWER))
    put(tmp_path / "bob" / "03_scaling.ipynb", notebook(ANSWER))
    ann, bob = sorted(find([tmp_path]), key=lambda one: one.student)
    assert (ann.student, ann.notebook, len(ann.others), bob.others) == ("ann", "03_scaling", 2, ())
    with pytest.raises(UnreadableError, match=r"final\.ipynb"):
        read(ann)


def test_control_characters_in_a_name_go_no_further(tmp_path):
    put(tmp_path / "an\x1b[2Jn\u202e" / "03_scaling.ipynb")
    (found,) = find([tmp_path])
    assert not set(found.student) & {"\x1b", "\u202e"}


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
        *(notebook(ANSWER).decode().encode(encoding) for encoding in ENCODINGS),
        notebook(ANSWER) + b"\0\0\0",
        notebook(ANSWER, metadata=None, outputs="none", id=7),
        json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ANSWER}]}]}).encode(),
        json.dumps({"cells": [None, 7, {}, CODE, {**CODE, "source": 3}]}).encode(),
    ],
    ids=["plain", "lines", "with a mark", *ENCODINGS, "null bytes", "no metadata", "format 3", "cells that are none"],
)  # fmt: skip
def test_a_damaged_notebook_is_read(data):
    assert code_cells(data) == [ANSWER]


def test_latin_1_is_read():
    text = json.dumps({"cells": [{"cell_type": "code", "source": "# für"}]}, ensure_ascii=False)
    assert code_cells(text.encode("latin-1")) == ["# für"]


def test_outputs_of_60_mb_do_no_harm():
    data = notebook(ANSWER, "x = 1", outputs=[{"text": "x" * 30_000_000}])
    assert code_cells(data) == [ANSWER, "x = 1"]


def test_what_is_too_long_is_not_cut_but_says_so():
    whole = "#" * MAX_SOURCE
    kept, too_long, after = code_cells(notebook(whole, whole + "#", ANSWER))
    assert (kept, after) == (whole, ANSWER)
    with pytest.raises(RuntimeError, match="more than 1,000,000 characters"):
        exec(too_long)


def test_cells_after_the_last_that_is_run_are_said():
    assert code_cells(notebook(*["x = 1"] * MAX_CELLS)) == ["x = 1"] * MAX_CELLS
    *kept, last = code_cells(notebook(*["x = 1"] * (MAX_CELLS + 101)))
    assert kept == ["x = 1"] * MAX_CELLS
    with pytest.raises(RuntimeError, match="of this notebook's 2,101 code cells, 2,000 are run"):
        exec(last)


def test_a_link_is_not_followed(tmp_path):
    secret = put(tmp_path / "secret", notebook(ANSWER))
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "03_scaling.ipynb").symlink_to(secret)
    (found,) = find([tmp_path / "ann"])
    with pytest.raises(UnreadableError, match="symbolic link"):
        read(found)


def test_a_pipe_is_no_notebook(tmp_path):
    os.mkfifo(tmp_path / "ann_03_scaling.ipynb")
    (found,) = find([tmp_path])
    with pytest.raises(UnreadableError, match="pipe"):
        read(found)


@pytest.fixture
def deep_folders(tmp_path) -> Iterator[Path]:
    """Folders of two students: deeper than Python's own recursion goes, and with a longer path than a system takes."""
    before = os.getcwd()
    try:
        for student, name, times in (("bob", "d", 1_500), ("eve", "d" * 200, 30)):
            (tmp_path / student).mkdir()
            os.chdir(tmp_path / student)
            for _ in range(times):
                os.mkdir(name)
                os.chdir(name)
            put(Path("03_scaling.ipynb"), notebook(ANSWER))
        os.chdir(before)
        yield tmp_path
    finally:
        os.chdir(before)
        subprocess.run(["rm", "-rf", tmp_path / "bob", tmp_path / "eve"], check=True)  # Python could not


def test_folders_in_folders_stop_nobody(deep_folders):
    ann = put(deep_folders / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    found = {one.student: one for one in find([deep_folders])}
    assert found["ann"] == Submission("ann", "03_scaling", ann)
    assert read(found["bob"]).sources == (ANSWER,)
    with pytest.raises(UnreadableError, match="cannot be read: File name too long"):
        read(found["eve"])


def test_a_folder_that_cannot_be_listed_is_no_silence(tmp_path, monkeypatch):
    put(tmp_path / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    shut = put(tmp_path / "bob" / "03_scaling" / "03_scaling.ipynb").parent
    real = os.scandir

    def scandir(folder):
        if Path(folder) == shut:
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    ann, bob = find([tmp_path])
    assert (ann.student, bob.student, bob.notebook) == ("ann", "bob", "03_scaling")
    with pytest.raises(UnreadableError, match="Permission denied"):
        read(bob)


def test_a_link_to_itself_stops_nobody(tmp_path):
    put(tmp_path / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    (tmp_path / "eve").mkdir()
    (tmp_path / "eve" / "03_scaling.ipynb").symlink_to("03_scaling.ipynb")
    ann, eve = batch._not_among_results(tmp_path / "out", find([tmp_path]))
    assert (ann.student, eve.student) == ("ann", "eve")
    with pytest.raises(UnreadableError, match="symbolic link"):
        read(eve)


def test_the_chapter_is_told_by_checks_by_answers_or_by_name():
    assert chapter_of("05_multi_head", []) == 5
    assert chapter_of("05_multi_head", ['check("4.1", softmax).points']) == 4
    assert chapter_of("homework", [*['check("4.1", softmax)'] * 9, 'check("3.1", f)', "check('3.2', g)"]) == 3
    assert chapter_of("99_homework", [ANSWER, "def attention(q, k, v): ..."]) == 3
    assert chapter_of("x", [ANSWER, "def attention(q, k, v): ...", 'check("4.1", softmax)']) == 4
    with pytest.raises(UnreadableError, match="which chapter"):
        chapter_of("homework", ["x = 1"])
