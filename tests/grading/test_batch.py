"""`qkv grade` for a class: from a folder to results, through crashes, kills and lost machines."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from qkv.cli import main
from qkv.grading import groups, replies, runner, sandbox, session, submissions
from qkv.grading.files import File
from qkv.grading.results import Answer, Result
from qkv.grading.session import Grader, Settings
from qkv.grading.submissions import Work
from qkv.questions import chapters
from qkv.questions.catalogue import q4_5, q8_6
from qkv.sandboxed import wire
from tests.grading.attacks import ATTACKS, FULL, RIGHT, WRONG

ROOT = Path(__file__).resolve().parents[2]
MOST = sum(FULL.values())


pytestmark = pytest.mark.usefixtures("needs_sandbox")


@pytest.fixture(scope="module")
def grader(needs_sandbox):
    grader = Grader(Settings(seed=3, timeout=5))
    yield grader
    grader.stop()


@contextlib.contextmanager
def another(grader: Grader, **settings: float) -> Iterator[Grader]:
    """Yield a grader with other settings that uses the worker of this one: to start a worker takes long."""
    other = Grader(Settings(**settings), grader.worker)
    yield other
    grader.worker = other.worker


def hand_in(path: Path, sources: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


def marks(grader: Grader, *sources: str) -> dict[str, Answer]:
    result = grader.grade(Work("ann", "03_scaling", "", 3, sources))
    assert result.status == "graded", result.reason
    return {question.id: question for question in result.questions}


def points(grader: Grader, *sources: str) -> dict[str, float]:
    return {name: mark.points for name, mark in marks(grader, *sources).items()}


# ── one notebook ──────────────────────────────────────────────────────────────────────────────────


def graded(grader: Grader, folder: str, chapter: int) -> Result:
    (path,) = (ROOT / folder).glob(f"{chapter:02}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    sources = tuple(cell.source for cell in cells if cell.cell_type == "code")
    return grader.grade(Work("ann", path.stem, "", chapter, sources))


def test_deleting_the_cells_of_a_question_takes_nothing_from_the_others(grader):
    cells = nbformat.read(ROOT / "solutions" / "03_scaling.ipynb", as_version=4).cells
    left_out = {f"{part}-3-4" for part in ("question", "try", "hints", "check")} | {"answer-softmax_jacobian"}
    sources = [cell.source for cell in cells if cell.cell_type == "code" and cell.id not in left_out]
    found = marks(grader, *sources)
    assert {name for name, mark in found.items() if mark.points != mark.max_points} == {"3.4"}
    assert found["3.4"].status == "not attempted"


WITHOUT_SYMPY = """
import sys

def linear_attention(q, k, v, feature_map):
    if "sympy" in sys.modules:
        raise ImportError("sympy is there")
    a, b = feature_map(q), feature_map(k)
    return (a @ (b.mT @ v)) / (a @ b.sum(-2).unsqueeze(-1))
"""


def test_counting_tensors_in_the_sandbox_does_not_import_the_compiler_of_torch(grader):
    found = {q.id: q for q in grader.grade(Work("ann", "10_efficient", "", 10, (WITHOUT_SYMPY,))).questions}
    assert found["10.2"].status == "passed", found["10.2"]


@pytest.mark.parametrize("chapter", chapters())
def test_every_solution_has_full_marks_and_every_exercise_none(grader, chapter):
    solved, untouched = graded(grader, "solutions", chapter), graded(grader, "exercises", chapter)
    assert solved.score == solved.max_score, solved
    assert untouched.score == 0, untouched
    assert {question.status for question in untouched.questions} == {"not attempted"}


def test_the_result_is_the_contracts(grader):
    result = grader.grade(Work("ann", "03_scaling", "abc", 3, tuple(WRONG)))
    about = {"student": "ann", "notebook": "03_scaling", "sha256": "abc", "version": Settings(3, 5).version, "seed": 3}
    assert {name: getattr(result, name) for name in about} == about
    assert (result.status, result.reason) == ("graded", "")
    assert (result.score, result.max_score) == (0.0, MOST)
    first = result.questions[0]
    assert (first.id, first.status, first.misconception) == ("3.1", "failed", "no-scale")


def test_a_seed_gives_the_same_result_again(grader):
    one = marks(grader, *WRONG)
    with another(grader, seed=3, timeout=5) as again:
        other = marks(again, *WRONG)
    for name in one:
        assert replace(one[name], seconds=0) == replace(other[name], seconds=0)
    other_seed, first_cases = Grader(Settings(seed=4)), grader.cases_of(runner.questions_of(3)["3.1"])
    assert repr(other_seed.cases_of(runner.questions_of(3)["3.1"])[0].steps) != repr(first_cases[0].steps)


def test_what_the_last_check_was_handed_counts_as_it_was_then(grader):
    others = [*RIGHT[:1], "scale = math.sqrt", *RIGHT[2:3], RIGHT[4]]
    mine = "def mine(q, k):\n    return q @ k.mT / scale(q.shape[-1])"
    check = 'check("3.1", mine)'
    assert points(grader, *others, mine, check)["3.1"] == 3, "under whatever name"
    later = ["def mine(q, k):\n    return q", "scale = abs", "del scale", "scaled_scores = None"]
    assert points(grader, *others, mine, check, *later)["3.1"] == 3, "as it was when it was checked"
    assert points(grader, *others, mine, check, *later[:1], check)["3.1"] == 0, "the last check that ran counts"
    assert points(grader, *others, mine, check, *later[:1], f"1 / 0\n{check}")["3.1"] == 3, "one that did not run, not"
    assert points(grader, *others, RIGHT[1])["3.1"] == 3, "without a check it is the name in the exercise"
    assert points(grader, *others, RIGHT[1], WRONG[1])["3.1"] == 0


def test_names_bound_before_a_cell_raised_stay(grader):
    assert points(grader, *RIGHT[:1], "\n".join(RIGHT[1:5]) + "\n1 / 0\nscaled_scores = None") == FULL


def test_a_missing_answer_says_which_cell_and_line_failed(grader):
    mark = marks(grader, "import torch", "x = 1\nno_such_name\ndef scaled_scores(q, k):\n    return q")["3.1"]
    assert mark.status == "not attempted"
    assert "code cell 2 raised NameError" in mark.message
    assert "in line 2, `no_such_name`" in mark.message


def test_what_is_not_a_function_is_told_apart(grader):
    mark = marks(grader, *RIGHT, "scaled_scores = scaled_scores(torch.ones(2, 2), torch.ones(2, 2))")["3.1"]
    assert (mark.status, mark.points) == ("passed", 3.0) or "Was it called?" in mark.message


def test_nothing_is_judged_before_the_notebook_has_ended(grader, monkeypatch):
    """Else its code could try one answer after the other, and tell from the time whether one was right."""
    events = []
    real_ask, real_judge = session._Session.ask, session.judge
    monkeypatch.setattr(session, "judge", lambda *about: events.append("judge") or real_judge(*about))

    def ask(self, seconds, schema, **message):
        events.append(message["do"])
        return real_ask(self, seconds, schema, **message)

    monkeypatch.setattr(session._Session, "ask", ask)
    wrong = 'check("3.2", lambda d_k, var_q, var_k: 1.0)'
    with another(grader, seed=3) as fresh:  # without verdicts that are known
        result = fresh.grade(Work("ann", "03_scaling", "", 3, (*RIGHT, wrong, wrong, 'check("3.2", score_variance)')))
    assert result.score == MOST
    assert events.index("judge") > max(i for i, event in enumerate(events) if event in ("cell", "observe"))
    assert events.count("judge") == 5


@pytest.mark.slow
def test_a_second_pass_knows_nothing_of_the_first(grader, monkeypatch):
    """Who fakes a busy machine is graded again, with the same inputs, in a session without files of the first."""
    keeps = (
        "import os, time\nkept = ('kept', '/dev/shm/kept')\nknown = any(map(os.path.exists, kept))",
        "for path in kept:\n    open(path, 'w').write('x')",
        *RIGHT[:2], "if not known:\n    check('3.1', scaled_scores)\ndel scaled_scores",
        "if not known:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        time.sleep(60)",
    )  # fmt: skip
    monkeypatch.setattr(sandbox.Worker, "longest_wait", lambda self: 60.0)
    with another(grader, seed=3, timeout=1.0) as fresh:
        with pytest.raises(session.AgainError):
            fresh.grade(Work("eve", "03_scaling", "", 3, keeps))
        result = fresh.grade(Work("eve", "03_scaling", "", 3, keeps), alone=True)
    assert {answer.id: answer.points for answer in result.questions}["3.1"] == 3.0, "it found nothing of the first"


# ── our own faults ────────────────────────────────────────────────────────────────────────────────


def test_a_fault_of_ours_is_no_zero(grader, monkeypatch):
    monkeypatch.setattr(session, "judge", lambda *_: 1 / 0)
    grader.verdicts.clear()  # what is known is not judged again
    work = Work("ann", "03_scaling", "", 3, tuple(RIGHT))
    with pytest.raises(session.AgainError):  # what else runs at the same time may be the reason
        grader.grade(work)
    result = grader.grade(work, alone=True)
    assert (result.status, result.score) == ("ungraded", None)
    assert "ZeroDivisionError" in result.reason


@pytest.mark.slow
def test_a_crash_is_ours_where_the_reference_fails_as_well(monkeypatch):
    """With too little memory for anything, nobody loses a point."""
    ill = Grader(Settings(seed=3, timeout=5))
    monkeypatch.setattr(session, "solution_cells", lambda chapter: ["import os\nos._exit(1)"])
    result = ill.grade(
        Work("ann", "03_scaling", "", 3, (*RIGHT[:1], "import os\ndef scaled_scores(q, k):\n    os._exit(3)")),
        alone=True,
    )
    ill.stop()
    assert result.status == "ungraded"
    assert "reference solution" in result.reason


def test_a_lost_worker_is_replaced(grader):
    assert points(grader, *RIGHT) == FULL
    os.killpg(grader.worker.process.pid, signal.SIGKILL)
    assert points(grader, *RIGHT) == FULL


def kill_worker(grader: Grader) -> None:
    """Kill the worker and all of its processes, and wait until they have ended."""
    pids = sandbox._descendants(grader.worker.process.pid)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    grader.worker.process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("asked", "number"), [("cell", 2), ("observe", 1), ("observe", 4)], ids=["cell", "check", "last answer"]
)
def test_a_worker_that_is_lost_once_costs_no_point(grader, monkeypatch, asked, number):
    """Whatever killed it: the cell or the answer that was running is tried again."""
    requests, ask = [], session._Session.ask

    def kill_first(self, *args, **message):
        requests.append(message["do"])
        if requests.count(asked) == number and message["do"] == asked:
            kill_worker(grader)
        return ask(self, *args, **message)

    monkeypatch.setattr(session._Session, "ask", kill_first)
    assert points(grader, *RIGHT) == FULL
    assert requests.count("greet") >= 2


@pytest.mark.slow
def test_what_loses_its_worker_twice_is_to_blame(grader, monkeypatch):
    ask = session._Session.ask

    def kill_each(self, *args, **message):
        if "scaled_scores" in message.get("source", ""):
            kill_worker(grader)
        return ask(self, *args, **message)

    monkeypatch.setattr(session._Session, "ask", kill_each)
    mark = marks(grader, *RIGHT[:2])["3.1"]
    assert (mark.status, mark.points) == ("not attempted", 0.0)
    assert "code cell 2 was stopped: the worker ended" in mark.message


def test_without_a_worker_nothing_is_graded(monkeypatch):
    def nothing(memory):
        raise sandbox.UnavailableError("no")

    monkeypatch.setattr(sandbox, "start", nothing)
    result = Grader(Settings(seed=3)).grade(Work("ann", "03_scaling", "", 3, tuple(RIGHT)), alone=True)
    assert (result.status, result.score) == ("ungraded", None)


def test_the_batch_stops_where_the_reference_has_not_full_marks(tmp_path, monkeypatch, capsys):
    hand_in(tmp_path / "in" / "ann" / "03_scaling.ipynb", RIGHT)
    monkeypatch.setattr(runner._LocalPool, "check_reference", lambda self, chapter: "3.1: no torch here")
    monkeypatch.setattr(submissions, "code_cells", lambda data: pytest.fail("a stranger's file is read in the batch"))
    monkeypatch.setattr(sandbox, "weaknesses", lambda: ["memory is counted 20 times a second"])
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Note: memory is counted 20 times a second\n"), "what cannot be held is said at the start"
    assert "3.1: no torch here" in said
    assert "fault is with this machine" in said
    assert not list(tmp_path.glob("out/*/*.json"))


def test_without_a_sandbox_it_refuses(tmp_path, monkeypatch, capsys):
    hand_in(tmp_path / "in" / "ann" / "03_scaling.ipynb", RIGHT)
    arguments = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--jobs", "1", "--seed", "1"]
    monkeypatch.setattr(sandbox, "why_unavailable", lambda: "bubblewrap is missing")
    assert main(arguments) == 2
    assert "bubblewrap is missing" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_worker_is_held_to_its_limits_by_the_kernel_too(grader):
    """Where the system lets groups be made; here or not, the worker is in every group that was made."""
    assert points(grader, *RIGHT) == FULL
    made = grader.worker.group.folders
    may = os.geteuid() == 0 and any(os.access(groups.ROOT / name, os.W_OK) for name in ("memory", "cgroup.procs"))
    assert bool(made) == may
    for folder in made:
        assert grader.worker.process.pid in map(int, (folder / "cgroup.procs").read_text().split())
    other = sandbox.start(memory=64)
    folders = other.group.folders
    other.stop()
    assert not any(folder.exists() for folder in folders)


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────

CLOSES_THE_CHANNEL = "import os, time\nos.close(100)\ntime.sleep(600)"


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(CLOSES_THE_CHANNEL, id="closes", marks=pytest.mark.slow),
        pytest.param("import os\nos._exit(0)", id="exits"),
    ],
)
def test_a_notebook_whose_cells_stop_python_is_given_up(grader, monkeypatch, cell):
    started = []
    real = session._Attempt.start_session
    monkeypatch.setattr(session._Attempt, "start_session", lambda self: started.append(self.trusted) or real(self))
    result = grader.grade(Work("ann", "03_scaling", "", 3, (*RIGHT[:1], *[cell] * 400, *RIGHT[1:])))
    assert (result.status, result.score) == ("graded", 0.0)
    assert f"Python was stopped {session.CRASHES} times" in result.questions[0].message
    assert started.count(False) == session.CRASHES


def test_nobody_waits_for_a_session_that_does_not_read(grader, monkeypatch):
    """What a session is asked may be larger than what the system keeps for it."""
    monkeypatch.setattr(session, "SEND_SECONDS", 0.5)
    opened = session._Session(grader)
    asleep = {"do": "cell", "id": 0, "source": "import time\ntime.sleep(600)", "number": 1, "seconds": 600}
    wire.send(opened.channel, asleep, 5)
    with pytest.raises(session.CrashError):
        opened.ask(600, replies.cell, do="cell", source="#" * 3_000_000, number=2)
    opened.close()


@pytest.mark.slow
def test_time_is_the_submissions_own_processor_time(grader):
    """An answer that waits has four times its seconds by the clock; one that works has them once."""
    waits = "import time\ndef scaled_scores(q, k):\n    time.sleep(.2)\n    return q @ k.mT / math.sqrt(q.shape[-1])"
    with another(grader, seed=3, timeout=1.0) as brief:
        cases = len(brief.cases_of(runner.questions_of(3)["3.1"]))
        assert 1 < 2 * cases * 0.2 < 4, "longer than its seconds, and shorter than four times that"
        assert points(brief, *RIGHT[:1], waits)["3.1"] == 3.0


def test_the_time_for_which_the_grader_waits_is_not_the_answers(monkeypatch):
    """An answer that calls what is hidden from it waits for the grader, which may have no processor."""
    clock, waited = [0.0], [0.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sandbox, "own_waiting_seconds", lambda: waited[0])
    one = object.__new__(session._Session)
    one.start_clock()
    clock[0], waited[0] = 30.0, 28.0
    assert one.passed() == 2.0


@pytest.mark.slow
def test_who_waited_for_a_processor_is_graded_again_alone(grader, monkeypatch):
    """As beside a notebook that starts sixty busy processes: the clock ran out, and it had not had its time."""
    monkeypatch.setattr(sandbox.Worker, "longest_wait", lambda self: 60.0)
    sleeps = (*RIGHT[:1], "import time\ntime.sleep(600)", *RIGHT[1:])
    with another(grader, seed=3, timeout=0.5) as brief:
        with pytest.raises(session.AgainError):
            brief.grade(Work("ann", "03_scaling", "", 3, sleeps))
        assert brief.grade(Work("ann", "03_scaling", "", 3, sleeps), alone=True).score == MOST


def bomb(path: Path) -> Path:
    """A notebook of 50 MB that takes gigabytes once it is read: lists in lists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"cells": [' + b"[[],[]]," * 6_000_000 + b"[]]}")
    return path


@pytest.mark.slow
def test_what_takes_too_much_to_read_is_no_notebook_and_ends_nothing(tmp_path, monkeypatch):
    from qkv.grading.submissions import Submission, UnreadableError

    monkeypatch.setattr(runner, "READ_SECONDS", 30)
    files = {"bomb": bomb(tmp_path / "03_bomb.ipynb"), "right": hand_in(tmp_path / "03_scaling.ipynb", RIGHT)}
    os.mkfifo(tmp_path / "03_pipe.ipynb")
    (tmp_path / "03_folder.ipynb").mkdir()
    with contextlib.suppress(PermissionError):  # only root may make a device
        os.mknod(tmp_path / "03_device.ipynb", 0o20644, os.makedev(1, 5))
    before = resident(os.getpid())
    with runner.Reader() as reader:
        for name in ("bomb", "pipe", "device", "folder", "long"):
            path = files.get(name, tmp_path / (f"03_{name}.ipynb" if name != "long" else f"{'x' * 300}.ipynb"))
            with pytest.raises(UnreadableError):
                reader.read(Submission("ann", "03_scaling", path))
        assert reader.read(Submission("ann", "03_scaling", files["right"])).sources == tuple(RIGHT)
        assert submissions.find([files["bomb"]], reader.run)[0].notebook == "03_bomb"
        assert reader.run(submissions.exercise_in, File(files["right"]), "homework") == "03_scaling"
    assert resident(os.getpid()) < before + 100


# ── a class ───────────────────────────────────────────────────────────────────────────────────────


def a_class(folder: Path, n: int) -> Path:
    for i in range(n):
        hand_in(folder / f"student{i:03}" / "03_scaling.ipynb", [*(WRONG if i % 3 == 2 else RIGHT), f"# {i}"])
    return folder


def grade(folder: Path, out: Path, *options: str, **popen: object) -> subprocess.Popen:
    # A shell's background processes ignore the keyboard's signal, and so does what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "qkv.cli", "grade", str(folder), "--out", str(out), "--seed", "7", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)


def outcomes(out: Path) -> dict[str, object]:
    """Every result, without the times in it."""
    found = {}
    for path in sorted(out.glob("*/*_scaling.json")):
        result = json.loads(path.read_text())
        for question in result["questions"]:
            question.pop("seconds")
        found[result["student"]] = result
    return found


@pytest.mark.slow
def test_a_zip_of_canvas_with_every_option(tmp_path):
    """One run with all options of a class, and a second one after the points by hand have changed."""
    files = {
        "lovelaceada_11234_56701_03_scaling.ipynb": hand_in(tmp_path / "a.ipynb", RIGHT).read_bytes(),
        "lissbela_LATE_11235_56702_03_scaling-1.ipynb": hand_in(tmp_path / "b.ipynb", WRONG).read_bytes(),
        "moecy_11236_56703_03_scaling.py": b"x = 1",
    }
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    (tmp_path / "roster.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section\n"
        '"Lovelace, Ada",11234,,ada,A\n"Liss, Bela",11235,,bela,A\n"Moe, Cy",11236,,cy,A\n"Er, Dee",11237,,dee,A\n'
    )
    (tmp_path / "overrides.csv").write_text("student,question,points,reason\n*,3.2,full,Unclear\n")
    out, book = tmp_path / "out", f"sqlite:///{tmp_path / 'book.db'}"
    options = [*("--jobs", "1"), *("--timeout", "8"), *("--memory", "900"), *("--gradebook", book)]
    options += ["--roster", str(tmp_path / "roster.csv"), "--overrides", str(tmp_path / "overrides.csv")]
    first = grade(tmp_path / "submissions.zip", out, *options)
    said, complained = first.communicate(timeout=400)
    assert first.returncode == 1, complained
    assert "moecy_11236 03_scaling: " in complained
    assert "1 of 4 handed in nothing: " in said
    with (out / "grades.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {row["score"] for row in rows.values()} == {f"{MOST:g}", "2", ""}
    assert (rows["lissbela_11235"]["late"], rows["Er, Dee"]["status"]) == ("LATE", "missing")
    lines = (out / "canvas.csv").read_text().splitlines()
    assert '"Liss, Bela",11235,,bela,A,2' in lines
    assert (tmp_path / "book.db").exists()
    assert not (out / "gradebook.db").exists()
    (tmp_path / "overrides.csv").write_text("student,question,points,reason\nlissbela_11235,03_scaling,5,By hand\n")
    second = grade(tmp_path / "submissions.zip", out, *options)
    second.communicate(timeout=400)
    assert json.loads((out / "lissbela_11235" / "03_scaling.json").read_text())["score"] == 5
    assert json.loads((out / "lovelaceada_11234" / "03_scaling.json").read_text())["score"] == MOST
    (tmp_path / "overrides.csv").write_text("student,question,points\nzoe,3.2,full\n")
    third = grade(tmp_path / "submissions.zip", out, "--regrade", *options)
    assert "zoe, who is not" in third.communicate(timeout=400)[1]
    assert third.returncode == 2


@pytest.mark.slow
def test_a_batch_outlives_its_processes_and_goes_on_where_it_was_killed(tmp_path):
    folder, out = a_class(tmp_path / "in", 16), tmp_path / "out"
    hand_in(folder / "zoe" / "03_scaling.ipynb", []).write_text("no notebook")
    for name in ("03_scaling.ipynb", "03_scaling (1).ipynb"):
        hand_in(folder / "yan" / name, RIGHT)
    first = grade(folder, out, "--jobs", "1", start_new_session=True)
    wait_for_results(2, out, first)
    os.kill(pool_of(first)[-1], signal.SIGKILL)
    wait_for_results(5, out, first)
    first.kill()
    first.wait()
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*.json")}
    assert 5 <= len(before) < 16
    second = grade(folder, out, "--jobs", "1")
    said, complained = second.communicate(timeout=400)
    assert second.returncode == 1, complained  # zoe's and yan's
    assert "16 graded, 2 not" in said
    assert "03_scaling (1).ipynb" in complained
    assert "not a notebook" in complained
    again = {path: path.stat().st_mtime_ns for path in before if json.loads(path.read_text()).get("status") == "graded"}
    assert again == {path: before[path] for path in again}, "what was graded is not graded twice"
    results = outcomes(out)
    assert [results[f"student{i:03}"]["score"] for i in range(16)] == [0.0 if i % 3 == 2 else MOST for i in range(16)]
    with (out / "grades.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert len(rows) == 18
    for student in ("zoe", "yan"):
        assert (rows[student]["status"], rows[student]["score"]) == ("ungraded", "")
    assert (out / "gradebook.db").exists()
    deadline = time.monotonic() + 20
    while running_under(out) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running_under(out)


@pytest.mark.slow
def test_a_second_run_stops_and_the_keyboard_ends_the_first_with_one_sentence(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    for i in range(40):
        hand_in(folder / f"student{i}" / "03_scaling.ipynb", ["import time; time.sleep(2)", f"# {i}"])
    first = grade(folder, out, "--jobs", "1", start_new_session=True)
    wait_for_results(1, out, first)
    second = grade(folder, out, "--jobs", "1")
    assert "another run is writing" in second.communicate(timeout=60)[1]
    os.killpg(first.pid, signal.SIGINT)
    _, complained = first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (130, 2)
    assert complained.splitlines()[-1].startswith("qkv grade: it was stopped from the keyboard.")
    assert "Traceback" not in complained
    assert not (out / "grades.csv").exists()


def wait_for_results(number: int, out: Path, batch: subprocess.Popen) -> None:
    while len(list(out.glob("*/*.html"))) < number:
        assert batch.poll() is None, batch.stderr.read()
        time.sleep(0.02)


def pool_of(batch: subprocess.Popen) -> list[int]:
    """The processes that read and grade: forks of one that the batch has started for them."""
    (server,) = [pid for pid in children_of(batch.pid) if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return children_of(server)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running_under(out: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(out) in text:
            found.append(text)
    return found


def most_resident(pid: int) -> int:
    """MB that a process held when it held most."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) // 1024


def resident(pid: int) -> int:
    """MB that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


@pytest.mark.slow
def test_a_thousand_right_wrong_and_hostile_and_a_kill_in_the_middle(tmp_path):
    folder, out = a_class(tmp_path / "in", 1000), tmp_path / "out"
    deserved = {f"student{i:03}": 0.0 if i % 3 == 2 else MOST for i in range(1000)}
    for i, attack in zip(range(0, 1000, 13), itertools.cycle(ATTACKS.values())):
        hand_in(folder / f"student{i:03}" / "03_scaling.ipynb", [*attack.sources, f"# {i}"])
        deserved[f"student{i:03}"] = sum(attack.deserves.values())
    first = grade(folder, out, "--timeout", "4", start_new_session=True)
    while len(list(out.glob("*/*_scaling.json"))) < 400:
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.2)
    first.kill()
    first.wait()
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*_scaling.json")}
    second = grade(folder, out, "--timeout", "4")
    held, most = [], 0
    with ThreadPoolExecutor(1) as reader:
        ended = reader.submit(second.communicate, timeout=1200)
        while not ended.done():
            done = len(list(out.glob("*/*_scaling.json")))
            with contextlib.suppress(OSError, KeyError):  # it has just ended
                most = max(most, most_resident(second.pid))  # to the end: the report and the gradebook take some, too
                held += [resident(second.pid)] * (len(before) + 20 < done < 990)
            time.sleep(0.2)
    _, complained = ended.result()
    assert second.returncode == 0, complained
    assert 0 < most <= 500
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert {student: result["score"] for student, result in outcomes(out).items()} == deserved
    assert held[-1] < held[0] + 100, f"MB: {held[0]} to {held[-1]}"


SIXTY = """
import os
for _ in range(60):
    if os.fork() == 0:
        while True:
            pass
"""


@pytest.mark.slow
def test_sixty_busy_processes_of_one_submission_take_no_point_from_its_neighbours(tmp_path):
    """All are graded at the same time. Whose time ran out beside the busy one is graded again, alone."""
    hand_in(tmp_path / "in" / "eve" / "03_scaling.ipynb", [SIXTY, *RIGHT])
    for student in ("ann", "bob", "cid"):
        hand_in(tmp_path / "in" / student / "03_scaling.ipynb", [*RIGHT, f"# {student}"])
    batch = grade(tmp_path / "in", tmp_path / "out", "--jobs", "3", "--timeout", "3")
    _, complained = batch.communicate(timeout=400)
    assert batch.returncode == 0, complained
    scores = {student: result["score"] for student, result in outcomes(tmp_path / "out").items()}
    assert {student: scores[student] for student in ("ann", "bob", "cid")} == dict.fromkeys(("ann", "bob", "cid"), MOST)
    assert "eve" in scores


@pytest.mark.slow
def test_the_keyboard_ends_the_writing_of_the_gradebook_with_one_sentence(tmp_path):
    out = tmp_path / "out"
    hand_in(tmp_path / "in" / "ann" / "03_scaling.ipynb", RIGHT)
    first = grade(tmp_path / "in", out, "--jobs", "1", start_new_session=True)
    while not (out / "report.html").exists():  # it is written just before the gradebook
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGINT)
    _, complained = first.communicate(timeout=60)
    assert first.returncode == 130
    assert complained.splitlines()[-1].startswith("qkv grade: it was stopped from the keyboard.")
    assert "Traceback" not in complained
    second = grade(tmp_path / "in", out, "--jobs", "1")
    _, complained = second.communicate(timeout=200)
    assert second.returncode == 0, complained
    with closing(sqlite3.connect(out / "gradebook.db")) as book:
        assert book.execute("select count(*) from grade").fetchone() == (len(FULL),)


@pytest.mark.slow
def test_dask_gives_the_same_grades_when_a_worker_is_lost(tmp_path):
    from distributed import LocalCluster

    folder = a_class(tmp_path / "in", 40)
    local = grade(folder, tmp_path / "local")
    local.communicate(timeout=200)
    assert local.returncode == 0
    (tmp_path / "dask").mkdir()
    (tmp_path / "dask" / "secret").write_bytes((tmp_path / "local" / "secret").read_bytes())  # or the inputs differ
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        batch = grade(folder, tmp_path / "dask", "--scheduler", cluster.scheduler_address)
        while len(list((tmp_path / "dask").glob("*/*.html"))) < 6:
            assert batch.poll() is None, batch.stderr.read()
            time.sleep(0.02)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        _, complained = batch.communicate(timeout=200)
    assert batch.returncode == 0, complained
    assert outcomes(tmp_path / "dask") == outcomes(tmp_path / "local")
    assert len(outcomes(tmp_path / "dask")) == 40


def test_a_session_that_cannot_begin_is_no_fault_of_the_learner(grader, monkeypatch):
    """The first session of a worker ends before it has answered: another worker is started, and no point is lost."""
    assert points(grader, *RIGHT) == FULL
    real, ended = session._Session.ask, []

    def ask(self, seconds, expected, **message):
        if message["do"] == "greet" and not ended:
            ended.append(self.end("it ended at once"))
            raise session.CrashError("it ended at once")
        return real(self, seconds, expected, **message)

    monkeypatch.setattr(session._Session, "ask", ask)
    assert points(grader, *RIGHT) == FULL
    assert ended


def test_with_a_list_of_the_class_a_person_has_the_same_numbers_whatever_the_folder_is_called(tmp_path, needs_sandbox):
    """Ada Byron hands in for two chapters, in folders with two names, with the numbers of her id in the list."""
    (tmp_path / "class.csv").write_text("student id,first name,last name\ns1,Ada,Byron\ns2,Ada,King\n")
    temperature, loss = (q4_5.my_temperature, q4_5.PERSONAL), (q8_6.my_lowest_loss, q8_6.PERSONAL)
    handed_in = {
        ("byron-ada", "04_softmax_temperature"): ("s1", *temperature),
        ("S1", "08_transformer"): ("s1", *loss),
        ("king ada", "04_softmax_temperature"): ("Ada", *temperature),  # two people are called Ada
    }
    for (folder, notebook), (who, answer, personal) in handed_in.items():
        right = personal.formulas["right"](personal.numbers_of(who))
        cell = nbformat.v4.new_code_cell(f"def {answer.__name__}():\n    return {who!r}, {right}")
        (tmp_path / "in" / folder).mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "in" / folder / f"{notebook}.ipynb")
    options = ["--out", f"{tmp_path}/out", "--roster", f"{tmp_path}/class.csv", "--per-student"]
    main(["grade", f"{tmp_path}/in", "--jobs", "1", "--seed", "1", *options])
    found = {}
    for (folder, notebook), (_, _, personal) in handed_in.items():
        graded = json.loads((tmp_path / "out" / folder / f"{notebook}.json").read_text())
        found[folder] = next(answer for answer in graded["questions"] if answer["id"] == personal.question)
    assert {folder: answer["points"] for folder, answer in found.items()} == {"byron-ada": 2, "S1": 2, "king ada": 0}
    assert "those of “s2”" in found["king ada"]["message"]


@pytest.mark.slow
def test_for_a_class_the_numbers_of_another_name_are_worth_nothing(tmp_path, needs_sandbox):
    """Ann and Bela hand in the same right result, for Ann's numbers. Without the option, both are right."""
    source = f"def my_temperature():\n    return 'Ann', {q4_5.temperature(q4_5.PERSONAL.numbers_of('ann'))}"
    cell = nbformat.v4.new_code_cell(source)
    for student in ("ann", "bela"):
        (tmp_path / "in" / student).mkdir(parents=True)
        nbformat.write(
            nbformat.v4.new_notebook(cells=[cell]), tmp_path / "in" / student / "04_softmax_temperature.ipynb"
        )
    points = {}
    for option in ("", "--per-student"):
        out = tmp_path / f"out{option}"
        main(["grade", str(tmp_path / "in"), "--out", str(out), "--jobs", "1", "--seed", "1", *filter(None, [option])])
        for student in ("ann", "bela"):
            graded = json.loads((out / student / "04_softmax_temperature.json").read_text())
            found = next(answer for answer in graded["questions"] if answer["id"] == "4.5")
            points[option, student] = found["points"]
    assert points == {("", "ann"): 2, ("", "bela"): 2, ("--per-student", "ann"): 2, ("--per-student", "bela"): 0}
    assert found["misconception"] == "numbers-of-another-name"
    assert "“bela”" in found["message"]
