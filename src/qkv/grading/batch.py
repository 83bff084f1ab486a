"""`qkv grade` for a class: find the notebooks, grade them with a progress bar, and say how it ended."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from tqdm import tqdm

from qkv.grading import runner, sandbox
from qkv.grading.results import UNSAFE, Result
from qkv.grading.session import Settings
from qkv.grading.submissions import Submission, find
from qkv.grading.writing import Writer, alone, earlier_seed, remember_seed


def run(asked: argparse.Namespace) -> int:
    """Grade what the command line names: 0 when all were graded, 1 when some were not, 2 for bad usage."""
    out = asked.out or Path("graded")
    refusal = "" if asked.unsafe_no_sandbox or asked.scheduler else sandbox.why_unavailable()
    if refusal:
        return complain(
            f"{refusal}\nNothing was graded. Without a sandbox a notebook can do anything here, and forge its points: "
            "--unsafe-no-sandbox grades all the same, not for credit.",
            2,
        )
    try:
        with runner.Reader() as reader:
            submissions = _outside(out, find(asked.paths, reader.exercise_in))
            if not submissions:
                return complain("no notebook (*.ipynb) is there", 2)
            with alone(out):
                return _run_in(out, submissions, reader, asked)
    except runner.SetupError as why:
        return complain(f"{why}\nNothing more was graded: the fault is here, not with the notebooks.", 1)
    except (OSError, ValueError) as why:
        return complain(str(why), 2)


def _outside(out: Path, submissions: list[Submission]) -> list[Submission]:
    """Leave out what is in the folder for results."""
    inside = os.path.join(os.path.realpath(out), "")
    return [one for one in submissions if not os.path.realpath(one.path).startswith(inside)]  # a link may be a ring


def _run_in(out: Path, submissions: list[Submission], reader: runner.Reader, asked: argparse.Namespace) -> int:
    if not asked.unsafe_no_sandbox and not asked.scheduler:
        for weakness in sandbox.weaknesses():
            print(f"Note: {weakness}", file=sys.stderr)
    seed = earlier_seed(out) if asked.seed is None else asked.seed
    settings = Settings(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        timeout=asked.timeout or Settings.timeout,
        memory=asked.memory or Settings.memory,
        safe=not asked.unsafe_no_sandbox,
    )
    remember_seed(out, settings.seed)
    if not settings.safe:
        print(UNSAFE, file=sys.stderr)
    print(f"{len(submissions)} notebooks, seed {settings.seed}, results in {out}", flush=True)
    writer = Writer(out, settings.seed, asked.gradebook)
    return _summary(_grade(submissions, settings, reader, writer, asked), settings)


def _grade(
    submissions: list[Submission],
    settings: Settings,
    reader: runner.Reader,
    writer: Writer,
    asked: argparse.Namespace,
) -> list[Result]:
    with tqdm(total=len(submissions), unit="notebook", file=sys.stderr, dynamic_ncols=True) as bar:

        def on_graded(result: Result, kept: bool) -> None:
            bar.update()
            if not result.graded:
                bar.write(f"not graded: {result.student} {result.notebook}: {result.reason}", file=sys.stderr)

        jobs = asked.jobs or runner.default_jobs()
        return runner.grade_all(submissions, settings, reader, writer, jobs, asked.scheduler, asked.regrade, on_graded)


def _summary(results: list[Result], settings: Settings) -> int:
    graded = [result for result in results if result.graded]
    missing = len(results) - len(graded)
    mean = sum((result.score or 0.0) / result.max_score for result in graded) / len(graded) if graded else 0.0
    print(f"{len(graded)} graded, {missing} not; on average {mean:.0%} of the points")
    if not settings.safe:
        print(UNSAFE, file=sys.stderr)
    return 1 if missing else 0


def complain(text: str, status: int) -> int:
    print(f"qkv grade: {text}", file=sys.stderr)
    return status
