"""What comes from outside costs only itself: any exception is the submission's, and time and memory are bounded."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import json
import os
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
import torch

from qkv.grading import files, replies, roster, runner, session, sheets, submissions, systems
from qkv.grading.files import File
from qkv.grading.submissions import (
    Submission,
    UnreadableError,
    Work,
    code_cells,
    exercise_in,
    find,
    read,
    run_or,
    without_additions,
)  # fmt: skip
from qkv.questions import chapters, questions_of
from qkv.questions.catalogue import q3_5, q5_8, q7_6, q8_5
from qkv.sandboxed import recording, wire
from qkv.sandboxed.hidden import Bench, Hidden
from qkv.sandboxed.time_limit import at_most
from tests.grading.fuzz import read_all
from tests.grading.made import made, made_ungraded
from tests.grading.test_submissions import ANSWER, notebook, put
from tests.grading.untidy_notebooks import CHECKED, FIRST, POINTS

FAR_TOO_LONG = 20  # seconds: what is bounded takes milliseconds


# ── files ─────────────────────────────────────────────────────────────────────────────────────────

STRANGE = {
    "cells that are a number": {"worksheets": [{"cells": 5}]},
    "cells that are a text": {"worksheets": [{"cells": "text"}]},
    "cells that are true": {"worksheets": [{"cells": True}]},
    "cells that are an object": {"worksheets": [{"cells": {"a": 1}}]},
    "worksheets in worksheets": {"worksheets": [[{"cells": []}], None, 3, {"cells": [[[]]]}]},
    "a source that is an object": {"cells": [{"cell_type": "code", "source": {"a": "b"}}]},
    "a type that is a list": {"cells": [{"cell_type": ["code"], "source": "x"}]},
    "surrogates": {"cells": [{"cell_type": "code", "source": "\ud800 = 1"}]},
}


@pytest.mark.parametrize("name", STRANGE)
def test_json_of_any_shape_is_a_notebook_or_is_refused(tmp_path, name):
    path = put(tmp_path / "ann" / "03_scaling.ipynb", json.dumps(STRANGE[name]).encode())
    (found,) = find([tmp_path])
    assert (found.student, found.path) == ("ann", path)
    with contextlib.suppress(UnreadableError):
        assert all(isinstance(source, str) for source in read(found).sources)


class Once:
    """An executor whose process raises this error, or returns what is none."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def submit(self, *_: Any) -> Any:
        return self

    def result(self, _: float) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize(
    "error", [TypeError("x"), KeyError(3), RecursionError(), SystemError("x"), ValueError("x" * 10**6)]
)
def test_whatever_reading_raises_is_the_files_fault(monkeypatch, error):
    monkeypatch.setattr(runner.Reader, "new_executor", lambda self: Once(error))
    reader = runner.Reader()
    with pytest.raises(UnreadableError, match=type(error).__name__) as raised:
        reader.read(Submission("eve", "03_scaling", Path("03_scaling.ipynb")))
    assert len(str(raised.value)) < 200
    assert run_or(reader.run, "03_scaling", exercise_in, File(Path("x")), "homework") == "03_scaling"


@pytest.mark.parametrize("error", [MemoryError(), TimeoutError(), BrokenProcessPool()], ids=lambda e: type(e).__name__)
def test_what_may_be_the_machines_fault_is_tried_again_in_a_new_process(monkeypatch, error):
    """What an earlier file left in memory is no loss of the next learner."""
    work = Work("ann", "03_scaling", "", 3, ())
    processes = iter([Once(error), Once(work), Once(error), Once(error), Once(work)])
    monkeypatch.setattr(runner.Reader, "new_executor", lambda self: next(processes))
    monkeypatch.setattr(runner.Reader, "restart", lambda self: setattr(self, "executor", next(processes)))
    reader = runner.Reader()
    assert reader.read(Submission("ann", "03_scaling", Path("x"))) is work
    reader.restart()
    with pytest.raises(UnreadableError, match=r"MB to read|seconds to read|ended unexpectedly"):
        reader.read(Submission("eve", "03_scaling", Path("x")))
    assert reader.read(Submission("ann", "03_scaling", Path("x"))) is work


def work_for_ever(begun: Event) -> None:
    runner.end_with_parent()
    begun.set()
    sum(iter(int, 1))  # in C, where no other thread of Python gets a turn


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this signal of a pipe")
def test_a_process_of_a_pool_ends_with_the_one_that_started_it():
    begun = runner.PROCESSES.Event()
    process = runner.PROCESSES.Process(target=work_for_ever, args=(begun,))
    process.start()
    assert begun.wait(60)
    process._popen.finalizer()  # closes this end of the pipe, as the end of this process would
    until = time.monotonic() + 20
    while Path(f"/proc/{process.pid}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{process.pid}").exists()
    # Its own end is closed as well, and the next file may have its number: pytest would wait for that one when it ends.
    process._popen.returncode = -signal.SIGKILL


# ── zips that are made to stop a class ────────────────────────────────────────────────────────────

ANN = {"ann/03_scaling.ipynb": notebook(ANSWER)}
KB = 1024


def zip_of(contents: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


@pytest.fixture
def bytes_read(monkeypatch) -> list[int]:
    """The sizes of the files in zips that were read."""
    sizes: list[int] = []
    real = files._read_member

    def counted(file: File) -> bytes:
        data = real(file)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(files, "_read_member", counted)
    return sizes


def submissions_in(folder: Path, hostile: bytes, all_in_a_zip: bool) -> dict[str, Submission]:
    """Find the submissions of a class with `ann`, who is honest, and `eve`, who handed in this zip."""
    contents = {**ANN, "eve/work.zip": hostile}
    for name, data in ({"class.zip": zip_of(contents)} if all_in_a_zip else contents).items():
        put(folder / name, data)
    return {one.student: one for one in find([folder / "class.zip" if all_in_a_zip else folder])}


@pytest.mark.parametrize("all_in_a_zip", [False, True])
def test_a_zip_that_unpacks_to_gigabytes_costs_only_itself(tmp_path, monkeypatch, bytes_read, all_in_a_zip):
    monkeypatch.setattr(submissions, "MAX_BYTES", 1000 * KB)
    many = zip_of({f"{kind} {i}.ipynb": b" " * 300 * KB for i in range(20) for kind in ("03_scaling", "x")})
    found = submissions_in(tmp_path, many, all_in_a_zip)
    assert sum(bytes_read) < 1000 * KB
    assert read(found["ann"]).sources == (ANSWER,)
    with pytest.raises(UnreadableError, match=r"more than \d+ MB when unpacked.* Ask for the notebooks alone"):
        read(found["eve"])


@pytest.mark.parametrize("ending", [".txt", ".json", ".py", ".png"])
def test_of_files_that_are_no_notebooks_as_little_is_read(tmp_path, monkeypatch, bytes_read, ending):
    monkeypatch.setattr(submissions, "MAX_BYTES", 1000 * KB)
    found = submissions_in(tmp_path, zip_of({f"{i}{ending}": b" " * 300 * KB for i in range(20)}), False)
    assert sum(bytes_read) < 2 * 1000 * KB
    assert read(found["ann"]).sources == (ANSWER,)
    with pytest.raises(UnreadableError, match=r"Ask for the file that ends in \.ipynb"):
        read(found["eve"])


def test_one_file_that_takes_too_much_ends_the_reading_of_its_learners_others(tmp_path):
    for i in range(20):
        put(tmp_path / "eve" / f"{i:02}_x.ipynb", notebook(ANSWER))
    put(tmp_path / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    asked = []

    def run(function: Any, *about: Any) -> Any:
        asked.append(about[0].path.parent.name)
        if asked[-1] == "eve":
            raise UnreadableError("it takes more than 1024 MB to read.")
        return function(*about)

    found = {one.student: one for one in find([tmp_path], run)}
    assert sorted(asked) == ["ann", "eve"]
    assert read(found["ann"]).sources == (ANSWER,)
    with pytest.raises(UnreadableError, match="too much time or memory to read"):
        read(found["eve"])


def test_files_of_a_learner_are_counted_too(tmp_path, monkeypatch, bytes_read):
    monkeypatch.setattr(submissions, "MAX_LOOKED_AT", 10)
    found = submissions_in(tmp_path, zip_of({f"{i}.ipynb": b"{}" for i in range(11)}), False)
    assert len(bytes_read) == 0
    with pytest.raises(UnreadableError, match="or are more than"):
        read(found["eve"])


@pytest.mark.parametrize("all_in_a_zip", [False, True])
def test_zips_in_zips_are_opened_within_limits(tmp_path, monkeypatch, bytes_read, all_in_a_zip):
    monkeypatch.setattr(submissions, "MAX_NESTED", 1000 * KB)
    monkeypatch.setattr(submissions, "MAX_BYTES", 1000 * KB)
    stored = zip_of({"03_scaling.ipynb": b" " * 300 * KB}, zipfile.ZIP_STORED)
    nested = zip_of({"in.zip": zip_of({f"{i}.zip": stored for i in range(20)})})
    found = submissions_in(tmp_path, nested, all_in_a_zip)
    assert sum(bytes_read) < 3 * 1000 * KB
    assert read(found["ann"]).sources == (ANSWER,)


@pytest.mark.parametrize("place", ["eve/work.zip", "eve.zip", "class.zip"])
def test_many_zips_side_by_side_are_opened_within_limits(tmp_path, monkeypatch, bytes_read, place):
    """60 kB on the disk took two minutes: each zip in a learner's zip had limits of its own."""
    monkeypatch.setattr(submissions, "MAX_NESTED", 1000 * KB)
    stored = zip_of({"03_scaling.ipynb": b" " * 300 * KB}, zipfile.ZIP_STORED)
    many = {f"eve/{i}.zip": zip_of({"in.zip": stored}) for i in range(40)}
    put(tmp_path / place, zip_of(ANN | many if place == "class.zip" else many))
    if place != "class.zip":
        put(tmp_path / "ann" / "03_scaling.ipynb", ANN["ann/03_scaling.ipynb"])
    on_disk = (tmp_path / place).stat().st_size
    found = {one.student: one for one in find([tmp_path / place if place == "class.zip" else tmp_path])}
    assert sum(bytes_read) < 3 * 1000 * KB + 2 * submissions.NESTED_RATIO * on_disk
    assert read(found["ann"]).sources == (ANSWER,)


def test_many_zips_of_one_learner_leave_room_for_those_of_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_NESTED", 1000 * KB)
    stored = zip_of({"x": b" " * 300 * KB}, zipfile.ZIP_STORED)
    hostile = {f"bob/{i}.zip": zip_of({"in.zip": stored}) for i in range(40)}
    honest = {f"{name}/work.zip": zip_of({"03_scaling.ipynb": notebook(ANSWER)}) for name in ("ann", "zoe")}
    put(tmp_path / "class.zip", zip_of(hostile | honest | {"zoe/picture.png": os.urandom(200 * KB)}))
    found = {one.student: one for one in find([tmp_path / "class.zip"])}
    assert [read(found[name]).sources for name in ("ann", "zoe")] == [(ANSWER,)] * 2


@pytest.mark.parametrize("name", [".zip", "./.zip", "/.zip", "..zip", "\\.zip", "//x.zip"])
def test_a_zip_of_any_name_can_stand_in_a_zip(tmp_path, name):
    found = submissions_in(tmp_path, zip_of({name: zip_of({"03_scaling.ipynb": notebook(ANSWER)})}), False)
    assert read(found["ann"]).sources == (ANSWER,)


def test_files_in_zips_in_zips_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_MEMBERS", 50)
    bomb = zip_of({f"{i}.zip": zip_of({f"{j}.ipynb": b"{}" for j in range(40)}) for i in range(5)})
    found = submissions_in(tmp_path, zip_of({"in.zip": bomb}), False)
    assert len(found["eve"].others) < 50
    assert read(found["ann"]).sources == (ANSWER,)


def test_an_unusual_compression_is_not_unpacked(tmp_path, bytes_read):
    """A few bytes of bzip2 become 45 MB in one step, whatever size the zip states."""
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        found = submissions_in(tmp_path, zip_of({"03_scaling.ipynb": notebook(ANSWER)}, method), False)
        with pytest.raises(UnreadableError, match="ask for an ordinary zip"):
            read(found["eve"])
    assert sum(bytes_read) == 0


def zip_that_lies(change: Callable[[list[zipfile.ZipInfo]], None]) -> bytes:
    """Return a zip whose directory was changed before it was written."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("03_scaling.ipynb", b" " * 300 * KB)
        change(archive.filelist)
    return stream.getvalue()


def test_files_that_share_their_bytes_are_refused(tmp_path, bytes_read):
    def repeat(listed: list[zipfile.ZipInfo]) -> None:
        for i in range(100):
            listed.append(copy.copy(listed[0]))
            listed[-1].filename = f"{i}.ipynb"

    put(tmp_path / "eve.zip", zip_that_lies(repeat))
    with pytest.raises(UnreadableError, match="overlap"):
        files.members_of(File(tmp_path / "eve.zip"))


def test_no_more_is_read_than_a_zip_states(tmp_path, bytes_read):
    def understate(listed: list[zipfile.ZipInfo]) -> None:
        listed[0].file_size = 10

    put(tmp_path / "eve.zip", zip_that_lies(understate))
    (member,) = files.members_of(File(tmp_path / "eve.zip"))
    with pytest.raises(UnreadableError):
        files.read_bytes(member)
    assert member.unpacked == 10


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_files_with_one_name_the_one_that_is_read_counts(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.ipynb", b"")
        archive.writestr("x.ipynb", b" " * 300 * KB)
    put(tmp_path / "eve.zip", stream.getvalue())
    (member,) = files.members_of(File(tmp_path / "eve.zip"))
    assert member.unpacked == len(files.read_bytes(member)) == 300 * KB


def test_the_zips_of_one_learner_are_closed_before_the_next_is_read(tmp_path):
    """They can fill the memory of the process that reads all of them."""
    inner = zip_of({"a.ipynb": b"{}"})
    mal = zip_of({f"{i}.zip": inner for i in range(5)})
    put(tmp_path / "class.zip", zip_of({**ANN, "mal.zip": mal, "eve.zip": mal}))
    found = find([tmp_path / "class.zip"])
    for one in found:
        files.read_bytes(one.file)
        held = [zipped for zipped, _ in files._open]
        assert all(zipped.members == one.members[: len(zipped.members)] for zipped in held)
    files.read_bytes(File(put(tmp_path / "ann.ipynb", notebook(ANSWER))))
    assert not files._open


# ── expressions that see foreign text, each with its worst case ───────────────────────────────────

LONG = 1_000_000  # characters of a cell
NAME = 255  # characters of a name
EXPRESSIONS: dict[str, tuple[Callable[[str], Any], list[str]]] = {
    "additions to a name": (
        without_additions,
        ["03_scaling" + "-copy" * 40 + "x", "-" * NAME + "x", " copy 1" * 36 + "x", "(1)" * 80 + "x", "-copy1" * 42,
         "_-" * 120 + "(", "- copy" * 40 + "!", "-1" * 120 + "x"],
    ),
    "names of Canvas": (systems.CANVAS.fullmatch, ["a" * NAME, "a_LATE" * 40, "a_111" * 50, "a_" + "1" * NAME]),
    "names of Moodle": (systems.MOODLE.fullmatch, ["_1" * 127, "a_1_assignsubmission_" * 12, "_" * NAME]),
    "names of Blackboard": (
        systems.BLACKBOARD.fullmatch,
        ["_attempt_" * 28, "a_attempt_2026-01-01-01-01-01" * 8, "_" * NAME],
    ),
    "text files of Blackboard": (systems.ABOUT.search, ["Name:" + " " * 9_000, "Name: (\n" * 999, "Name: (x" * 999]),
    "learners' names": (roster._key, ["_" * 10_000, " ," * 5_000]),
    "names of files": (submissions.NAME.fullmatch, ["a_" * 127, "01_" * 85 + "!", "_01_a" * 50 + " ", " -_" * 85]),
    "late ones": (lambda name: submissions.LATE.sub(r"\1", name), ["LATE_" * 51, "_" * NAME]),
    "checks": (submissions.CHECKS.findall, ["check(" * (LONG // 6), "check(" + " " * LONG, "check('" + "1" * LONG]),
    "definitions": (
        submissions.DEFINES.findall,
        ["\n" * LONG, "def" + " " * LONG, "def\n" * (LONG // 4), " " * LONG, "\t\n " * (LONG // 3), "class " * 10**5],
    ),
    "formulas": (sheets._harmless, ["\n" * 1500, '"' * 1500, ";" * 1500, "; " * 750, "\t '" * 500]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_text_makes_an_expression_try_for_ever(name):
    look, worst = EXPRESSIONS[name]
    for text in worst:
        with at_most(FAR_TOO_LONG):
            look(text)


def test_additions_are_removed_one_after_another():
    for name in ("03_scaling-Copy1 (2)", "03_scaling - Copy (1)", "03_scaling copy 2", "03_scaling(3)-1-Copy"):
        assert without_additions(name) == "03_scaling"
    assert without_additions("03_scaling" + "-copy" * 40) == "03_scaling"


def test_a_hostile_name_is_found_like_any_other(tmp_path):
    put(tmp_path / "eve" / ("03_scaling" + "-copy" * 40 + "x.ipynb"), b"")
    put(tmp_path / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    with at_most(FAR_TOO_LONG):
        found = find([tmp_path])
    assert [one.student for one in found] == ["ann", "eve"]
    with pytest.raises(UnreadableError, match="empty"):
        read(found[1])


# ── how many rows and columns a student can make ──────────────────────────────────────────────────


def test_four_hundred_files_of_a_student_are_one_row_and_no_column(tmp_path):
    put(tmp_path / "ann" / "03_scaling.ipynb", notebook(ANSWER))
    for i in range(400):
        put(tmp_path / "eve" / f"note {i}.ipynb", notebook(f"x = {i}"))
    for i in range(20):
        put(tmp_path / "eve" / f"05_try{'x' * i}.ipynb")
    found = find([tmp_path])
    assert sorted((one.student, len(one.others)) for one in found) == [("ann", 0), ("eve", 19), ("eve", 399)]
    assert {one.notebook for one in found if one.others[18:19]} >= {"05_multi_head"}
    (many,) = [one for one in found if len(one.others) == 399]
    with pytest.raises(UnreadableError, match=r"several files that belong to no exercise: .*note") as raised:
        read(many)
    assert len(str(raised.value)) < 3_000


def test_a_file_that_is_no_exercise_adds_no_column():
    other = dataclasses.replace(made_ungraded("eve"), notebook="Final exam (98765)", max_score=0.0)
    for table in (sheets.canvas, sheets.moodle):
        assert "Final exam" not in table([made(), other])
        assert "eve" in table([made(), other])
    assert "Final exam" in sheets.grades([made(), other])


# ── calls of a learner's test ─────────────────────────────────────────────────────────────────────


def bench_of(implementation: Any, methods: tuple[str, ...] = ()) -> Bench:
    return Bench(Hidden(lambda: implementation, methods=methods))


def call_of(bench: Bench, *args: Any, number: int = 0, method: str = "") -> replies.Call:
    """Read this call as it comes out of a sandbox whose code is all the attacker's."""
    message = {"id": 1, "kind": "call", "of": 0, "object": number, "method": method, "args": args, "kwargs": {}}
    return replies.read(wire.encode(message)[8:], 1, lambda reply: replies.call(reply, [bench]))


@pytest.mark.parametrize(
    "shape", [(0, 2**40, 1), (2**40, 0), (2 * 10**7, 0), (0, 400, 400), (0, *(2**30,) * 2)], ids=str
)
def test_an_axis_of_size_zero_hides_no_others(shape):
    with pytest.raises(replies.ReplyError):
        call_of(bench_of(len), torch.empty(shape))


def test_every_attention_refuses_what_makes_it_loop():
    for steps in (*q3_5.RIGHT.values(), *q3_5.WRONG.values()):
        for shapes in (((0, 50_000, 1),) * 3, ((50_000, 1), (1, 1), (1, 1)), ((0, 2**40, 1),) * 3):
            with at_most(FAR_TOO_LONG), pytest.raises(ValueError, match="each size is from 1 to"):
                steps(*map(torch.empty, shapes))


def test_every_block_to_diagnose_refuses_what_makes_it_loop():
    for block in q8_5.FAULTS.values():
        for x, d in (((50_000, 50_000, 0), 0), ((1, 2**40, 0), 0), ((1, 300, 2), 2), ((1, 1, 300), 300)):
            with at_most(FAR_TOO_LONG), pytest.raises(ValueError, match=r"x is \(B, n, d\)|the scores, x and each"):
                block(torch.empty(x), *torch.empty(6, d, d))


def test_every_module_to_diagnose_refuses_what_makes_it_loop():
    for module in q5_8.FAULTS.values():
        for x, d in (((50_000, 50_000, 0), 0), ((1, 2**40, 0), 0), ((1, 300, 2), 2), ((1, 1, 300), 300)):
            with (
                at_most(FAR_TOO_LONG),
                pytest.raises(ValueError, match=r"x is \(B, n, d_model\)|the scores, x and each"),
            ):
                module(torch.empty(x), *torch.empty(4, d, d), 1)


@pytest.mark.parametrize("ids", [torch.empty(10**5, 0), torch.empty(0, 10**5), torch.ones(10**5), [[1]], [1] * 33, []])
def test_a_decoder_looks_at_the_length_of_a_text_first(monkeypatch, ids):
    monkeypatch.setattr(torch.Tensor, "tolist", None)
    with pytest.raises(ValueError, match="ids are a tensor"):
        q7_6.parse_ids(ids)


def test_a_decoder_takes_texts_of_every_kind():
    assert (
        q7_6.parse_ids(torch.tensor([1, 2])) == q7_6.parse_ids([1, torch.tensor(2)]) == q7_6.parse_ids((1, 2)) == [1, 2]
    )


def test_a_call_that_does_not_end_is_an_error_of_the_test(monkeypatch):
    def endless() -> None:
        while True:
            pass

    monkeypatch.setattr(session, "CALL_SECONDS", 0.1)
    with at_most(FAR_TOO_LONG):
        said = session.answer_call(call_of(bench_of(endless)))
    assert "takes too long" in said["raised"].text


def test_what_is_recorded_is_what_may_be_read():
    """A session records no tensor that the reader refuses, or an honest answer would end its session."""
    for shape in ((2 * 10**7, 0), (0, 2**40), (1_000, 0), (0,), (1_000, 2_000)):
        recorded = recording.record(torch.empty(shape))
        refused = isinstance(recorded, recording.OtherValue)
        assert replies._is_readable(torch.float32, shape) != refused


def test_the_questions_with_hidden_implementations_are_these():
    """A new one needs a bound on its own arguments, and a line in the tests above."""
    hidden = [
        q for chapter in chapters() for q, question in questions_of(chapter).items() if question.of_implementations
    ]
    assert hidden == ["3.5", "5.6", "5.8", "7.6", "8.5"]


def test_cells_that_are_no_cells_are_passed_over():
    assert code_cells(
        json.dumps({"worksheets": [{"cells": 5}, {"cells": [{"cell_type": "code", "input": "x"}]}]}).encode()
    ) == ["x"]


def test_mutated_notebooks_and_names_end_in_a_word(tmp_path):
    """A sample; `python -m tests.grading.fuzz 20000` is the sweep."""
    readable, _ = read_all(150, 35, tmp_path)
    assert 30 < readable < 150


# ── what cannot be judged ─────────────────────────────────────────────────────────────────────────


def test_a_judge_that_fails_leaves_a_zero_and_the_other_points(needs_sandbox, monkeypatch):
    """Code of an answer can make up what is judged: it must not become "ungraded", which a person would look at."""
    real, failed = session.judge, []

    def judge(question: Any, *about: Any) -> Any:
        if question.id == "3.2" and not failed:
            failed.append(question.id)
            raise KeyError("made up")
        return real(question, *about)

    monkeypatch.setattr(session, "judge", judge)
    grader = session.Grader(session.Settings(seed=3))
    result = grader.grade(Work("eve", "03_scaling", "", 3, (FIRST, *CHECKED)), alone=True)
    grader.stop()
    assert result.graded, result.reason
    assert {answer.id: answer.points for answer in result.questions} == {**POINTS, "3.2": 0.0}


def test_a_judge_that_also_fails_on_the_reference_is_our_fault(needs_sandbox, monkeypatch):
    def judge(*_: Any) -> Any:
        raise KeyError("broken")

    monkeypatch.setattr(session, "judge", judge)
    grader = session.Grader(session.Settings(seed=3))
    result = grader.grade(Work("ann", "03_scaling", "", 3, (FIRST, *CHECKED)), alone=True)
    grader.stop()
    assert (result.graded, "could not be judged" in result.reason) == (False, True)


def test_a_test_that_sleeps_has_one_limit_for_all_implementations(monkeypatch):
    """It used no processor time, so each of some twenty implementations got the whole limit by the clock again."""
    attempt = session._Attempt(session.Grader(session.Settings(seed=1)), (), [questions_of(3)["3.5"]])
    limits: list[float] = []

    def ask(_: Any, schema: Any, most: float, **message: Any) -> replies.ObserveReply:
        limits.append(most)
        return replies.ObserveReply("stopped")

    class Sleeping:
        used, size = 0.2, 10

        def passed(self) -> float:
            return session.CLOCK_FACTOR * limits[-1]

    monkeypatch.setattr(attempt, "ask", ask)
    assert attempt.observe_test(Sleeping(), attempt.questions[0]).kind == "stopped"
    assert len(limits) > 10
    assert sum(max(limit, 0) for limit in limits) <= attempt.timeout


def test_whatever_grading_raises_costs_only_its_submission(monkeypatch):
    """A mistake of the grader's own in one notebook ended the batch, with nobody's tables written."""

    class Executor:
        def submit(self, function: Any, work: Work, *_: Any, **__: Any) -> Future[Any]:
            done: Future[Any] = Future()
            if work.student == "eve":
                done.set_exception(KeyError("3.1"))
            else:
                done.set_result(made(work.student))
            return done

    monkeypatch.setattr(runner._LocalPool, "new_executor", lambda self: Executor())
    works = [(i, Work(name, "03_scaling", "", 3, ())) for i, name in enumerate(("ann", "eve", "zoe"))]
    results = dict(runner._LocalPool(1, session.Settings(seed=1)).results(works))
    assert [results[i].status for i in range(3)] == ["graded", "ungraded", "graded"]
    assert "KeyError" in results[1].reason


def test_an_answer_that_was_not_reached_is_not_borrowed():
    questions = list(questions_of(7).values())
    attempt = session._Attempt(session.Grader(session.Settings(seed=1)), (), questions)
    assert not any(map(attempt.may_be_borrowed, questions))
