"""How fast a class is graded, beside nbgrader's own autograder, in one run.

python benchmarks/grading.py               50 notebooks by nbgrader, 500 by us: the ratio, and where our time goes
python benchmarks/grading.py --class 1000  a mixed class of that size as well: rate and memory

Both grade the same kind of notebook, exercise 3 answered with torch: right, wrong and partly. nbgrader runs through its
API, in two processes that stay. A rate is that of the running grader: the time from its fourth result to its last, so
that neither side's start-up counts. We grade ten times as many, so that both sides are measured for about a minute.
Equal results are judged once, and such a class has few that differ: a second class, whose right answers to three of the
five questions differ in their last bits, gives a second ratio.
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
# Right answers that differ in their last bits, by so many times the distance of two neighbouring numbers.
UNLIKE = {
    "/ math.sqrt(": "* (1 + {k} * torch.finfo(q.dtype).eps) / math.sqrt(",
    "d_k * var_q": "(1 + {k} * 2.3e-16) * d_k * var_q",
    "torch.diag(p)": "(1 + {k} * torch.finfo(p.dtype).eps) * torch.diag(p)",
}
LAST_BITS = 250  # further from right than so many, an answer could be wrong
JOBS = 2
TIMES_AS_MANY = 10  # notebooks on our side
STEPS = {
    "start_session": "begin a session, and wait until it answers",
    "run_cells": "run the cells, and the answers of their checks",
    "mark_rest": "run the answers that no check has",
    "verdict_on": "of these two: judge",
}


def answered(i: int, unlike: bool = False) -> nbformat.NotebookNode:
    """The exercise as the i-th of a class hands it in: every third has one wrong idea."""
    notebook = nbformat.read(ROOT / "exercises" / f"{SLUG}.ipynb", as_version=4)
    solved = nbformat.read(ROOT / "solutions" / f"{SLUG}.ipynb", as_version=4)
    answers = {cell.id: cell.source for cell in solved.cells if "BEGIN SOLUTION" in cell.source}
    was, now = list(WRONG.items())[i // 3 % len(WRONG)]
    for cell in notebook.cells:
        if cell.id in answers:
            cell.source = answers[cell.id] + f"\n# {i}"
            if i % 3 == 2:
                cell.source = cell.source.replace(was, now)
            for plain, other in UNLIKE.items() if unlike else ():
                cell.source = cell.source.replace(plain, other.format(k=i % LAST_BITS))
    return notebook


def hand_in(folder: Path, n: int, layout: str, unlike: bool = False) -> None:
    for i in range(n):
        path = folder / layout.format(student=f"student{i:04}")
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(answered(i, unlike), path)


def rate(times: list[float]) -> float:
    """Submissions a minute, once both jobs have graded two each."""
    settled = times[2 * JOBS - 1 :]
    return 60 * (len(settled) - 1) / (settled[-1] - settled[0])


def ours(folder: Path, n: int, unlike: bool = False) -> list[float]:
    """When `qkv grade` had each result, its sandbox on."""
    from qkv.grading.runner import Reader, grade_all
    from qkv.grading.session import Settings
    from qkv.grading.submissions import find
    from qkv.grading.writing import Writer

    hand_in(folder / "in", n, "{student}/" + f"{SLUG}.ipynb", unlike)
    times: list[float] = []
    writer = Writer(folder / "out", 1)
    with Reader() as reader:
        results = grade_all(
            find([folder / "in"], reader.exercise_in), Settings(seed=1), reader, writer, JOBS,
            on_graded=lambda *_: times.append(time.perf_counter()),
        )  # fmt: skip
    full = sum(result.score == result.max_score for result in results)
    if full != n - n // 3:
        raise SystemExit(f"{full} of {n} have full marks: the comparison would say nothing")
    return times


def autograde(course: Path, student: str) -> float:
    """Grade one student's notebook through nbgrader's API; when it was done."""
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    logging.disable(logging.CRITICAL)
    config = Config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.assignment_id = SLUG
    config.CourseDirectory.student_id = student
    # SQLite has one writer; a gradebook for each job is what the comparison grants nbgrader.
    config.CourseDirectory.db_url = f"sqlite:///{course}/gradebook-{os.getpid()}.db"
    config.Autograde.create_student = True
    if not (course / f"gradebook-{os.getpid()}.db").exists():
        shutil.copy(course / "gradebook.db", course / f"gradebook-{os.getpid()}.db")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        Autograde(coursedir=CourseDirectory(config=config), config=config).start()
    return time.perf_counter()


def nbgraders(folder: Path, n: int) -> list[float]:
    """When nbgrader had each result of the same notebooks."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    from qkv.release import release_for_nbgrader

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
        raise SystemExit(f"nbgrader graded {graded} of {n}: the comparison would say nothing")
    return times


def main() -> None:
    """Time both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notebooks", type=int, default=50, metavar="N", help="how many by nbgrader; default: 50")
    parser.add_argument("--class", type=int, default=0, metavar="N", dest="size", help="grade a class of this size too")
    asked = parser.parse_args()
    n = asked.notebooks
    with tempfile.TemporaryDirectory() as folder:
        mine = rate(ours(Path(folder) / "ours", TIMES_AS_MANY * n))
        print(f"qkv grade, sandbox on: {mine:.0f} notebooks a minute", flush=True)
        unlike = rate(ours(Path(folder) / "unlike", TIMES_AS_MANY * n, unlike=True))
        print(f"the same, answers that differ in their last bits: {unlike:.0f} notebooks a minute", flush=True)
        theirs = rate(nbgraders(Path(folder) / "nbgrader", n))
        print(f"nbgrader: {theirs:.0f} notebooks a minute")
        print(f"ratio: {mine / theirs:.1f}; with answers that differ: {unlike / theirs:.1f}", flush=True)
        where_the_time_goes(n)
        if asked.size:
            a_class(Path(folder) / "class", asked.size)


def where_the_time_goes(n: int) -> None:
    """Grade notebooks one after another in this process, and print the time of each step."""
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
    grader.grade(works[0])  # the worker starts, and the reference's inputs are drawn
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


def a_class(folder: Path, n: int) -> None:
    started = time.perf_counter()
    ours(folder, n)
    seconds = time.perf_counter() - started
    used = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{n} notebooks in {seconds:.0f} s, all included; writer {used[0]:.0f} MB, a grader {used[1]:.0f} MB at most")


if __name__ == "__main__":
    main()
