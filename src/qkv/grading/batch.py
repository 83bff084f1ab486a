"""`qkv grade` for a class: find the notebooks, grade them with a progress bar, and print a summary."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from tqdm import tqdm

from qkv.grading import runner, sandbox
from qkv.grading.overrides import NO_OVERRIDES, Overrides, read_overrides
from qkv.grading.results import Result
from qkv.grading.roster import NO_ROSTER, Roster, names_of, read_roster
from qkv.grading.session import Settings
from qkv.grading.sheets import missing
from qkv.grading.submissions import Submission, find
from qkv.grading.writing import Writer, earlier_seed, exclusive_access, remember_seed, secret_of
from qkv.words import language, mark, sentences, t, translated

STALE = mark("Graded again, because the questions, the package or the limits have changed since the last run.")


def run(args: argparse.Namespace) -> int:
    """Grade the notebooks that the command line names, print a summary, and return the exit status.

    It is 0 if all notebooks were graded, 1 if some were not or this machine fails, and 2 for bad usage or if no sandbox
    is available. The results are written to the folder `args.out`, or to `graded` if it is None.
    """
    out = args.out or Path("graded")
    refusal = "" if args.scheduler else sandbox.why_unavailable()
    if refusal:
        text = t(
            "Nothing was graded. Without a sandbox, a notebook can do anything on this machine that you can do, and "
            "give itself any points. Grade on a machine with Linux, bubblewrap and user namespaces."
        )
        return print_error(f"{refusal}\n{text}", 2)
    try:
        with runner.Reader() as reader:
            roster = read_roster(args.roster) if args.roster else NO_ROSTER
            overrides = read_overrides(args.overrides) if args.overrides else NO_OVERRIDES
            submissions = _not_among_results(out, find(args.paths, reader.run))
            if not submissions:
                return print_error(t("found nothing to grade; files in the results folder do not count"), 2)
            with exclusive_access(out):
                return _run_in(out, submissions, reader, args, roster, overrides)
    except runner.SetupError as why:
        text = t("Grading stopped. The fault is with this machine, not with the notebooks.")
        return print_error(f"{why}\n{text}", 1)
    except (OSError, ValueError) as why:
        return print_error(str(why), 2)


def _not_among_results(out: Path, submissions: list[Submission]) -> list[Submission]:
    """Return the submissions that are not in the results folder."""
    inside = os.path.join(os.path.realpath(out), "")
    # Not `Path.resolve`: it raises for a symlink that leads back to itself.
    return [one for one in submissions if not os.path.realpath(one.path).startswith(inside)]


def _run_in(
    out: Path,
    submissions: list[Submission],
    reader: runner.Reader,
    args: argparse.Namespace,
    roster: Roster,
    overrides: Overrides,
) -> int:
    """Grade submissions, with the results in the folder `out`, and print a summary. Return the exit code.

    It is 2, and nothing is graded, if the overrides name somebody or something unknown; 1 if a submission was not
    graded, else 0. The seed is the given one, else that of the folder, else a new one, and is written there. Printed
    too: what the sandbox cannot enforce here, and who of the class's list handed in nothing.

    Raises:
        SetupError: the reference solution does not get full marks on this machine.
        OSError: a file or the gradebook cannot be written.
    """
    problems = overrides.problems({one.student for one in submissions}, {one.notebook for one in submissions})
    if problems:
        return print_error("\n".join(problems), 2)
    if not args.scheduler:
        for weakness in sandbox.weaknesses():
            print(f"Note: {weakness}", file=sys.stderr)
    seed = earlier_seed(out) if args.seed is None else args.seed
    settings = Settings(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        timeout=args.timeout or Settings.timeout,
        memory=args.memory or Settings.memory,
        secret=secret_of(out),
        per_student=args.per_student,
        roster=roster.fingerprint if args.per_student else "",
        language=language(),
    )
    remember_seed(out, settings.seed)
    n = len(submissions)
    print(t("{n} notebooks, seed {seed}, results in {out}", n=n, seed=settings.seed, out=out), flush=True)
    writer = Writer(out, args.gradebook, overrides)
    results = _grade(submissions, settings, reader, writer, args, roster)
    for notebook, people in missing(results, runner.class_of(submissions, roster)).items():
        if people:
            text = t(
                "{notebook}: {n} of {all} handed in nothing: {names}",
                notebook=notebook,
                n=len(people),
                all=len(roster.people),
                names=names_of(people),
            )
            print(text)
    return _summary(results)


def _grade(
    submissions: list[Submission],
    settings: Settings,
    reader: runner.Reader,
    writer: Writer,
    args: argparse.Namespace,
    roster: Roster,
) -> list[Result]:
    """Grade submissions while a progress bar runs, which shows why one is not graded. Return all results.

    Say how many were graded again because the rules have changed. Errors are those of `runner.grade_all`.
    """
    with tqdm(total=len(submissions), unit="notebook", file=sys.stderr, dynamic_ncols=True) as bar:

        def on_graded(result: Result, reused: bool) -> None:
            bar.update()
            if not result.graded:
                text = t("not graded: {what}: {why}", what=f"{result.student} {result.notebook}", why=result.reason)
                bar.write(text, file=sys.stderr)

        stale: list[Result] = []

        def on_stale(earlier: Result) -> None:
            if not stale:
                first = t("First: {what}", what=f"{earlier.student} {earlier.notebook}")
                bar.write(sentences(translated(STALE), first), file=sys.stderr)
            stale.append(earlier)

        jobs = args.jobs or runner.default_jobs()
        results = runner.grade_all(
            submissions, settings, reader, writer, jobs, args.scheduler, args.regrade, roster, on_graded, on_stale
        )
    if stale:
        print(t("{n} notebooks that had a grade were graded again, because the rules have changed", n=len(stale)))
    return results


def _summary(results: list[Result]) -> int:
    """Print how many were graded, and their mean score. Return the exit code: 1 if one was not graded, else 0.

    The mean is of the shares of the points. Files of no exercise, which have 0 maximal points, do not count in it.
    """
    graded = [result for result in results if result.graded]
    missing = len(results) - len(graded)
    shares = [(result.score or 0.0) / result.max_score for result in graded if result.max_score]
    mean = sum(shares) / len(shares) if shares else 0.0
    text = t(
        "{n} graded, {missing} not graded; mean score {mean} of the points",
        n=len(graded),
        missing=missing,
        mean=f"{mean:.0%}",
    )
    print(text)
    return 1 if missing else 0


def print_error(text: str, status: int) -> int:
    """Print an error to stderr, and return the exit status that was passed in."""
    print(f"qkv grade: {text}", file=sys.stderr)
    return status
