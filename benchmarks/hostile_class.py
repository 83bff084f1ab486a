"""Grade a class with every known attack in it, and measure time and memory.

    python benchmarks/hostile_class.py [N]                        a class of N (default: 1,000)
    python benchmarks/hostile_class.py [N] --no-control-groups    the same where the system has none (as root)

The class has each notebook of `tests/grading/attacks.py`, `DAMAGED` mutated files of `tests/grading/fuzz.py`, and else
honest notebooks, of which every third has one wrong answer. Each has to get what it deserves. The memory is that of the
process that hands out the work and writes the results, and of the largest of all other processes.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shlex
import sys
import tempfile
import time
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.grading import JOBS, SLUG, answered
from qkv.grading import sandbox
from qkv.grading.results import Result
from qkv.grading.runner import Reader, grade_all
from qkv.grading.session import Settings
from qkv.grading.submissions import find, solution_file
from qkv.grading.writing import Writer
from tests.grading.attacks import ATTACKS
from tests.grading.fuzz import notebooks
from tests.grading.untidy_notebooks import as_json

DAMAGED = 50
# With the time limits of a class this one is an honest notebook with slow cells: it is hostile only in the tests.
ONLY_SLOW = "cells that use up the time of the whole notebook, before any answer is reached"
HOSTILE = {name: attack for name, attack in ATTACKS.items() if name != ONLY_SLOW}


def hand_in(folder: Path, n: int) -> int:
    """Write the submissions of a class of n, the hostile ones between the honest ones. Return how many are honest."""
    draw = random.Random(1)
    hostile = {f"eve{i:03}": attack for i, attack in enumerate(HOSTILE.values())}
    honest = [f"student{i:04}" for i in range(n - len(hostile) - DAMAGED)]
    for student, attack in hostile.items():
        text = nbformat.writes(nbformat.from_dict(as_json(list(attack.sources))))
        put(folder / student / solution_file(attack.chapter).name, text.encode())
    for i, student in enumerate(honest):
        put(folder / student / f"{SLUG}.ipynb", nbformat.writes(answered(i)).encode())
    for i, (name, data) in zip(range(DAMAGED), notebooks(draw), strict=False):
        put(folder / f"mallory{i:03}" / name, data)
    return len(honest)


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


def not_deserved(results: list[Result], honest: int) -> list[str]:
    """Return a line for each hostile submission that got something else than it deserves; none if all is right.

    One more line says so unless all of the `honest` notebooks, but every third, have full marks.
    """
    deserved = {f"eve{i:03}": attack.deserves for i, attack in enumerate(HOSTILE.values())}
    names = dict(zip(deserved, HOSTILE, strict=True))
    wrong = []
    for result in results:
        got = {answer.id: answer.points for answer in result.questions}
        if result.student in deserved and (not result.graded or got != deserved[result.student]):
            wrong.append(f"{names[result.student]}: {result.reason or got}")
    full = sum(result.score == result.max_score for result in results if result.student.startswith("student"))
    if full != honest - honest // 3:
        wrong.append(f"{full} of {honest} honest notebooks have full marks, not {honest - honest // 3}")
    return wrong


def run_without_control_groups() -> None:
    """Replace this process by the same command, with an empty folder in the place of the control groups.

    That needs root. Other processes keep their control groups.
    """
    again = shlex.join([sys.executable, *(word for word in sys.argv if word != "--no-control-groups")])
    hide = f"mount -t tmpfs none /sys/fs/cgroup && exec {again}"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c", hide])


def main() -> int:
    """Grade the class, and print the figures. Return 1 if a submission got something else than it deserves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", type=int, nargs="?", default=1000, metavar="N", help="submissions; default: 1000")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="as of qkv grade; default: 10")
    parser.add_argument("--no-control-groups", action="store_true", help="hide the control groups")
    asked = parser.parse_args()
    if asked.no_control_groups:
        run_without_control_groups()
    groups = "no control groups" if sandbox.weaknesses() else "control groups"
    with tempfile.TemporaryDirectory() as name, Reader() as reader:
        folder = Path(name)
        honest = hand_in(folder / "in", asked.size)
        started, load = time.perf_counter(), os.getloadavg()[0]
        handed_in = find([folder / "in"], reader.run)
        settings = Settings(seed=1, timeout=asked.timeout)
        results = grade_all(handed_in, settings, reader, Writer(folder / "out"), JOBS)
        seconds = time.perf_counter() - started
    used = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(
        f"{len(results)} submissions, {len(HOSTILE)} hostile, {DAMAGED} damaged, {groups}, {JOBS} jobs, "
        f"{asked.timeout:g} s for each question: {seconds:.0f} s "
        f"(load of the machine before: {load:.1f}, after: {os.getloadavg()[0]:.1f})"
    )
    print(f"{sum(result.graded for result in results)} graded; peak memory of the parent {used[0]:.0f} MB, ", end="")
    print(f"of the largest other process {used[1]:.0f} MB")
    wrong = not_deserved(results, honest)
    print("\n".join(wrong) or "each got what it deserves")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
