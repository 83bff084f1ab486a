"""Measure how long it takes to write the results of a class, and to compare its submissions.

    .venv/bin/python benchmarks/results.py [N]

For N results (default: 1,000) with made-up answers, print the seconds for writing feedback, tables, gradebook and class
report; for reading all results again; and for comparing the submissions, also when every submission has the maximum
length that is compared.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from qkv.grading.report import released_code
from qkv.grading.results import Result
from qkv.grading.similar import MAX_TOKENS, compare
from qkv.grading.writing import Writer
from qkv.questions import questions_of

ROOT = Path(__file__).resolve().parent.parent
SLUG, CHAPTER = "03_scaling", 3
NAMES = ["scores", "weights", "mixed", "total", "spread", "query", "key", "value", "out", "result"]


def answer_code(draw: random.Random) -> str:
    """Return the code of the solution of chapter 3, with up to 24 random lines inserted."""
    notebook = nbformat.read(ROOT / "solutions" / f"{SLUG}.ipynb", as_version=4)
    lines = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code").splitlines()
    for _ in range(draw.randrange(25)):
        name, left, right = (draw.choice(NAMES) for _ in range(3))
        own = f"    {name}_{draw.randrange(9)} = {left} {draw.choice('+-*/@')} {right}.sum({draw.randrange(-3, 3)})"
        lines.insert(draw.randrange(len(lines)), own)
    return "\n".join(lines)


def made_up(student: int, draw: random.Random) -> Result:
    """Return a result in the grader's form, with random marks and code. One in forty is ungraded.

    `student` is a number, from 0.
    """
    questions = []
    for question in questions_of(CHAPTER).values():
        right = draw.random() < 0.7
        idea = None if right else draw.choice(question.misconceptions).slug
        fields = {"id": question.id, "points": float(question.points * right), "max_points": float(question.points)}
        fields |= {"status": "passed" if right else "failed", "misconception": idea, "message": "m" * 400}
        questions.append(fields | {"seconds": 0.1})
    fault = student % 40 == 0
    return Result.from_dict(
        {
            "student": f"student-{student:05}",
            "notebook": SLUG,
            "sha256": f"{student:064x}",
            "version": "0",
            "seed": 7,
            "status": "ungraded" if fault else "graded",
            "reason": "the worker was lost" if fault else "",
            "score": None if fault else sum(question["points"] for question in questions),
            "max_score": float(sum(question.points for question in questions_of(CHAPTER).values())),
            "questions": [] if fault else questions,
            "source": answer_code(draw),
        }
    )


def timed(name: str, step: Callable[[], Any]) -> Any:
    """Run a step, print its seconds, and return its result."""
    start = time.perf_counter()
    done = step()
    print(f"{name:<58} {time.perf_counter() - start:6.2f} s", flush=True)
    return done


def main() -> None:
    """Measure writing, reading and comparing the results of many students, and print the times.

    The first argument of the command line is how many there are, by default 1000.
    """
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    draw = random.Random(3)
    results = [made_up(student, draw) for student in range(n)]
    like = " ".join(f"f{draw.randrange(99)}(" for _ in range(MAX_TOKENS // 2 - 9))
    alike = [" ".join([like, *(f"f{draw.randrange(99)}(" for _ in range(9))]) for _ in range(n)]
    long = [" ".join(f"f{draw.randrange(99)}(" for _ in range(MAX_TOKENS // 2)) for _ in range(n)]
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(Path(folder))
        start = time.perf_counter()
        timed(f"write {n} results", lambda: [writer.write(result) for result in results])
        timed("finish: tables, new gradebook, report", lambda: writer.finish(results, exercises=ROOT / "exercises"))
        print(f"{'both':<58} {time.perf_counter() - start:6.2f} s")
        kept = timed("read all again", lambda: [writer.earlier_result(r.student, r.notebook) for r in results])
        timed("finish again, into the same gradebook", lambda: writer.finish(results, exercises=ROOT / "exercises"))
    print(f"results that need no new grading: {sum(result is not None for result in kept)} of {n}")
    released = released_code(ROOT / "exercises", SLUG)
    timed("compare", lambda: compare([result.source for result in results], released))
    timed(f"compare, {MAX_TOKENS} tokens each", lambda: compare(long))
    timed(f"compare, {MAX_TOKENS} tokens each, all similar", lambda: compare(alike))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
