"""Hostile notebooks in the real sandbox: no point is forged, none that was earned is lost, nothing stays."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv.grading import session
from qkv.grading.results import Result
from qkv.grading.session import Grader, Settings
from qkv.grading.submissions import Work
from tests.grading.attacks import ASK, ATTACKS, FULL, RIGHT, WORKER

SECONDS = 1.5


@pytest.fixture(scope="module")
def grader(needs_sandbox: None) -> Iterator[Grader]:
    """One grader for all of them, so that each could reach the next."""
    patch = pytest.MonkeyPatch()
    patch.setattr(session, "GRACE", 0.5)
    grader = Grader(Settings(seed=4711, timeout=SECONDS, memory=512))
    yield grader
    grader.stop()
    patch.undo()


def graded(grader: Grader, sources: tuple[str, ...], chapter: int = 3) -> Result:
    return grader.grade(Work("eve", f"{chapter:02}", "", chapter, sources), alone=True)


def test_there_are_enough():
    assert len(ATTACKS) >= 120


def test_the_attacks_reach_what_they_attack(grader: Grader):
    """An attack that fails before it does harm shows nothing."""
    reaches = f"{WORKER}\ndef catches_wrong_scale(attend):\n    return bool({ASK})"
    result = graded(grader, (*RIGHT, reaches))
    assert result.failed_cells == ()
    assert "every implementation" in result.questions[4].message, "it was found for each of them"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * ATTACKS[name].slow) for name in ATTACKS]
)
def test_an_attack_gets_what_it_deserves(grader: Grader, name: str):
    attack = ATTACKS[name]
    result = graded(grader, attack.sources, attack.chapter)
    assert result.status == "graded", result.reason
    assert {question.id: question.points for question in result.questions} == attack.deserves, result


def test_afterwards_nothing_is_left_running_and_the_next_is_graded(grader: Grader):
    assert graded(grader, tuple(RIGHT)).score == sum(FULL.values())
    assert grader.worker is not None
    until = time.monotonic() + 10
    while len(pythons := running(grader.worker.process.pid)) > 1 and time.monotonic() < until:
        time.sleep(0.05)  # the last session is ending
    assert len(pythons) == 1, f"more than the worker: {pythons}"


def test_who_has_taken_all_memory_can_still_be_asked_about_the_answers(needs_sandbox: None):
    """The replies themselves take memory: a session without any ended there, and its answers got no points."""
    grader = Grader(Settings(seed=4, timeout=4.0, memory=1024))
    result = graded(grader, ATTACKS["a memory hog"].sources)
    grader.stop()
    assert {question.id: question.points for question in result.questions} == FULL, result


def running(worker: int) -> list[bytes]:
    """The commands below a worker's process, but for the sandbox's own."""
    found = []
    for pid in descendants(worker):
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0])
    return [command for command in found if command and b"bwrap" not in command]


def descendants(root: int) -> list[int]:
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, new = [], [root]
    while new:
        found += new
        new = [pid for pid, parent in parents.items() if parent in new]
    return found
