"""The command `qkv`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from qkv import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand: 0 when all is well, 1 when something was found, 2 for bad usage."""
    asked = _parser().parse_args(arguments)
    return int(asked.run(asked))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="qkv", description="Self-attention you can touch: the course's commands.")
    parser.add_argument("--version", action="version", version=f"qkv {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_grade(commands)
    _add_release(commands)
    return parser


def _add_grade(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "grade",
        help="grade your own notebook, here",
        description="Run a notebook in a fresh Python and check its answers, as its own check cells do.",
        epilog="Nothing protects this machine from the notebook, nor the points: for your own work, not for credit.",
    )
    parser.add_argument(
        "notebooks", nargs="+", type=Path, metavar="NOTEBOOK", help="such as exercises/03_scaling.ipynb"
    )
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="seconds for each; default: 120")
    parser.set_defaults(run=_grade)


def _grade(asked: argparse.Namespace) -> int:
    from qkv.grading.own import UnreadableError, grade

    total = full = 0.0
    worst = 0
    for notebook in asked.notebooks:
        print(f"{notebook}\n", flush=True)
        try:
            result = grade(notebook, asked.timeout)
        except UnreadableError as why:
            print(f"qkv grade: {notebook} was not graded: {why}", file=sys.stderr)
            worst = 1
            continue
        total += sum(result.points.values())
        full += sum(result.max_points.values())
    if full:
        print(f"\n{total:g} of {full:g} points. This was your own machine: it is not for credit.")
    return worst


def _add_release(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "release",
        help="write the exercises from the solutions",
        description="Write exercises/ from solutions/: the same notebooks, without what a learner is to write.",
        epilog="Exercises are never edited by hand. Edit the solution, then run this.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; say which exercises are out of sync")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR", help="default: solutions")
    parser.add_argument("--exercises", type=Path, default=Path("exercises"), metavar="DIR", help="default: exercises")
    parser.set_defaults(run=_release)


def _release(asked: argparse.Namespace) -> int:
    from qkv.release import findings, release

    if not asked.solutions.is_dir():
        print(f"qkv release: there is no folder {asked.solutions} here. Run it where the course is.", file=sys.stderr)
        return 2
    try:
        if asked.check:
            found = findings(asked.solutions, asked.exercises)
            for finding in found:
                print(f"{finding.exercise} {finding.what}. Mend it with: qkv release")
            return 1 if found else 0
        changed = release(asked.solutions, asked.exercises)
    except ImportError as missing:
        print(f"qkv release needs nbgrader ({missing}). Install the extra `grade` of this package.", file=sys.stderr)
        return 2
    for exercise in changed:
        print(f"wrote {exercise}")
    print(f"{len(changed)} of {len(list(asked.solutions.glob('*.ipynb')))} exercises changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
