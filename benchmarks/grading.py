"""Measure how fast `qkv grade` and nbgrader's autograder grade a class, in one run.

python benchmarks/grading.py               50 notebooks by nbgrader, 500 by `qkv grade`: the ratio, and our time by step
python benchmarks/grading.py --class 1000  `qkv grade` also grades a class of this size: rate and memory

Both grade the same kind of notebook: exercise 3, answered with torch, where every third notebook has one wrong answer.
nbgrader runs through its API, in two processes that stay. The rate is measured from the fourth result to the last, so
that start-up does not count. `qkv grade` gets ten times as many notebooks, so that both sides run for about a minute.
`qkv grade` judges equal results only once, and such a class has few different results. So there is a second class,
whose right answers to three of the five questions differ in their last bits; it gives a second ratio.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import logging
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
SLUG = "03_scaling"
WRONG = {"/ math.sqrt(d_k)": "/ d_k", "dim=-1)  #": "dim=-2)  #", "d_k * var_q * var_k": "d_k * (var_q + var_k)"}
# Changes that make right answers differ in their last bits, by k times the distance between neighbouring numbers.
LAST_BIT_CHANGES = {
    "/ math.sqrt(": "* (1 + {k} * torch.finfo(q.dtype).eps) / math.sqrt(",
    "d_k * var_q": "(1 + {k} * 2.3e-16) * d_k * var_q",
    # Not for one token, whose Jacobian is 0: no rounding error of a right answer is as large there.
    "torch.diag(p)": "(1 + {k} * (len(p) > 1) * torch.finfo(p.dtype).eps) * torch.diag(p)",
}
LAST_BITS = 250  # values of k: with a larger one, an answer could be judged wrong
JOBS = 2
TIMES_AS_MANY = 10  # notebooks for `qkv grade`, for each of nbgrader's
STEPS = {
    "start_session": "start a session, and wait for its first reply",
    "run_cells": "run the cells, and the answers that they check",
    "mark_rest": "run the answers that no cell checks",
    "verdict_on": "judge the answers (part of the two above)",
}


def answered(i: int, unlike: bool = False) -> nbformat.NotebookNode:
    """Return the i-th submission of a class. Every third has one wrong answer.

    The right answers of `unlike` ones differ in their last bits.
    """
    notebook = nbformat.read(ROOT / "exercises" / f"{SLUG}.ipynb", as_version=4)
    solved = nbformat.read(ROOT / "solutions" / f"{SLUG}.ipynb", as_version=4)
    answers = {cell.id: cell.source for cell in solved.cells if "BEGIN SOLUTION" in cell.source}
    was, now = list(WRONG.items())[i // 3 % len(WRONG)]
    for cell in notebook.cells:
        if cell.id in answers:
            cell.source = answers[cell.id] + f"\n# {i}"
            if i % 3 == 2:
                cell.source = cell.source.replace(was, now)
            for plain, other in LAST_BIT_CHANGES.items() if unlike else ():
                cell.source = cell.source.replace(plain, other.format(k=i % LAST_BITS))
    return notebook


def hand_in(folder: Path, n: int, layout: str, unlike: bool = False) -> None:
    """Write n submissions below a folder; `layout` is the path of a file, with `{student}` in it.

    Right answers of `unlike` ones differ in their last bits.
    """
    for i in range(n):
        path = folder / layout.format(student=f"student{i:04}")
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(answered(i, unlike), path)


def rate(times: list[float]) -> float:
    """Return the submissions per minute, from the result with which both jobs have graded about two each.

    `times` are those of at least five results, in seconds and in order.
    """
    settled = times[2 * JOBS - 1 :]
    return 60 * (len(settled) - 1) / (settled[-1] - settled[0])


def ours(folder: Path, n: int, unlike: bool = False) -> list[float]:
    """Grade n submissions with `qkv grade` in its sandbox, and return when each result came, in seconds by a clock.

    The submissions are written below `folder`. Right answers of `unlike` ones differ in their last bits.

    Raises:
        SystemExit: they did not get the marks that they deserve.
    """
    from qkv.grading.runner import Reader, grade_all
    from qkv.grading.session import Settings
    from qkv.grading.submissions import find
    from qkv.grading.writing import Writer

    hand_in(folder / "in", n, "{student}/" + f"{SLUG}.ipynb", unlike)
    times: list[float] = []
    writer = Writer(folder / "out")
    with Reader() as reader:
        results = grade_all(
            find([folder / "in"], reader.run), Settings(seed=1), reader, writer, JOBS,
            on_graded=lambda *_: times.append(time.perf_counter()),
        )  # fmt: skip
    full = sum(result.score == result.max_score for result in results)
    if full != n - n // 3:
        raise SystemExit(f"{full} of {n} have full marks, not {n - n // 3}: the comparison is meaningless")
    return times


def autograde(course: Path, student: str) -> float:
    """Grade one student's notebook through nbgrader's API, and return the time at the end, by a clock in seconds.

    `course` is the folder of nbgrader's course. This runs in a process of a pool, and switches its log off.
    """
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    logging.disable(logging.CRITICAL)
    config = Config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.assignment_id = SLUG
    config.CourseDirectory.student_id = student
    # SQLite allows one writer at a time. With a gradebook per job, nbgrader's jobs do not wait for each other.
    config.CourseDirectory.db_url = f"sqlite:///{course}/gradebook-{os.getpid()}.db"
    config.Autograde.create_student = True
    if not (course / f"gradebook-{os.getpid()}.db").exists():
        shutil.copy(course / "gradebook.db", course / f"gradebook-{os.getpid()}.db")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        Autograde(coursedir=CourseDirectory(config=config), config=config).start()
    return time.perf_counter()


def nbgraders(folder: Path, n: int) -> list[float]:
    """Grade n submissions with nbgrader, and return when each result came, in seconds by a clock, sorted.

    They are written below `folder`. This Python's folder comes first in PATH from then on.

    Raises:
        SystemExit: not all were graded.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    from qkv.authoring.release import release_for_nbgrader

    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    release_for_nbgrader(ROOT / "solutions", folder / "source")
    hand_in(folder / "submitted", n, "{student}/" + f"{SLUG}/{SLUG}.ipynb")
    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.assignment_id = SLUG
    config.CourseDirectory.db_url = f"sqlite:///{folder}/gradebook.db"
    GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start()
    students = [f"student{i:04}" for i in range(n)]
    with ProcessPoolExecutor(JOBS, mp_context=get_context("spawn")) as pool:
        times = sorted(pool.map(autograde, [folder] * n, students))
    graded = len(list((folder / "autograded").glob(f"*/{SLUG}/{SLUG}.ipynb")))
    if graded != n:
        raise SystemExit(f"nbgrader graded {graded} of {n}: the comparison is meaningless")
    return times


def main() -> None:
    """Measure `qkv grade` and nbgrader, and print rates, the ratio and our time by step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notebooks", type=int, default=50, metavar="N", help="notebooks for nbgrader; default: 50")
    parser.add_argument("--class", type=int, default=0, metavar="N", dest="size", help="grade also a class of N")
    asked = parser.parse_args()
    n = asked.notebooks
    with tempfile.TemporaryDirectory() as folder:
        mine = rate(ours(Path(folder) / "ours", TIMES_AS_MANY * n))
        print(f"qkv grade, in its sandbox: {mine:.0f} notebooks a minute", flush=True)
        unlike = rate(ours(Path(folder) / "unlike", TIMES_AS_MANY * n, unlike=True))
        print(f"the same, with answers that differ in their last bits: {unlike:.0f} notebooks a minute", flush=True)
        theirs = rate(nbgraders(Path(folder) / "nbgrader", n))
        print(f"nbgrader: {theirs:.0f} notebooks a minute")
        print(f"ratio: {mine / theirs:.1f}; with answers that differ: {unlike / theirs:.1f}", flush=True)
        print_time_by_step(n)
        if asked.size:
            grade_class(Path(folder) / "class", asked.size)


def print_time_by_step(n: int) -> None:
    """Grade n notebooks one after another in this process, and print the mean time of each step.

    The methods of the grader stay replaced by ones that measure.
    """
    from qkv.grading import session
    from qkv.grading.submissions import Work

    spent: Counter[str] = Counter()

    def timed(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def timing(*given: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return step(*given, **named)
            finally:
                spent[name] += time.perf_counter() - started

        return timing

    for name in STEPS:
        setattr(session._Attempt, name, timed(name, getattr(session._Attempt, name)))
    grader = session.Grader(session.Settings(seed=1))
    works = [
        Work("ann", SLUG, "", 3, tuple(cell.source for cell in answered(i).cells if cell.cell_type == "code"))
        for i in range(n)
    ]
    grader.grade(works[0])  # not measured: starts the worker and draws the inputs
    spent.clear()
    started = time.perf_counter()
    for work in works:
        grader.grade(work)
    whole = time.perf_counter() - started
    grader.stop()
    print(f"one notebook, graded alone: {1000 * whole / n:.1f} ms")
    for name, what in STEPS.items():
        print(f"  {1000 * spent[name] / n:5.1f} ms  {what}")
    print(
        f"  {1000 * (whole - spent['start_session'] - spent['run_cells'] - spent['mark_rest']) / n:5.1f} ms  the rest"
    )


def grade_class(folder: Path, n: int) -> None:
    """Grade a class of n submissions with `qkv grade`, and print its time and memory. Errors are those of `ours`."""
    started = time.perf_counter()
    ours(folder, n)
    seconds = time.perf_counter() - started
    used = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{n} notebooks in {seconds:.0f} s, with start-up; peak memory {used[0]:.0f} MB, a grader {used[1]:.0f} MB")


if __name__ == "__main__":
    main()
