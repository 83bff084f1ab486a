"""The command `qkv`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from qkv import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand: 0 when all is well, 1 when something was found, 2 for bad usage."""
    asked = _parser().parse_args(arguments)
    try:
        return int(asked.run(asked))
    except KeyboardInterrupt:
        print(f"\nqkv {asked.command}: it was stopped from the keyboard. {asked.after_a_stop}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="qkv", description="Self-attention you can touch: the course's commands.")
    parser.add_argument("--version", action="version", version=f"qkv {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    _add_grade(commands)
    _add_release(commands)
    _add_train(commands)
    return parser


def _add_grade(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "grade",
        help="grade notebooks: your own, here, or a class's, in a sandbox",
        description=(
            "With notebooks alone: run each in a fresh Python, check its answers as its own check cells do, and show "
            "the feedback here. With a folder, or any option below but --timeout: grade for credit. Every notebook "
            "runs in a sandbox, and results go to a folder."
        ),
        epilog=(
            "Students are named by their folders, <student>/03_scaling.ipynb, or by files, "
            "<student>_03_scaling.ipynb. Exit status: 0 when all were graded, 1 when some were not, 2 for bad usage."
        ),
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a notebook, or a folder of notebooks")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where results go; default: graded")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="draw every question's inputs from it; default: DIR's, or new"
    )
    parser.add_argument("--jobs", type=_positive(int), metavar="N", help="how many at once; default: one for each core")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="grade on this Dask cluster, tcp://HOST:8786")
    parser.add_argument(
        "--timeout",
        type=_positive(float),
        metavar="S",
        help="seconds for each question; default: 10 (your own: 120 in all)",
    )
    parser.add_argument("--memory", type=_positive(int), metavar="MB", help="for each notebook; default: 1024")
    parser.add_argument("--regrade", action="store_true", help="grade again what was graded with this seed and version")
    parser.add_argument("--gradebook", metavar="ADDRESS", help="SQLAlchemy's; default: sqlite, DIR/gradebook.db")
    parser.add_argument(
        "--unsafe-no-sandbox", action="store_true", help="run strangers' code as yourself; not for credit"
    )
    parser.set_defaults(
        run=_grade,
        after_a_stop="Results that were written stay. Run the same command again to go on.",
    )


def _positive(kind: type[int] | type[float]) -> Callable[[str], int | float]:
    def number(text: str) -> int | float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not more than 0")
        return value

    number.__name__ = kind.__name__
    return number


FOR_CREDIT = ("out", "seed", "jobs", "scheduler", "memory", "gradebook")


def _grade(asked: argparse.Namespace) -> int:
    for path in asked.paths:
        if not os.path.exists(path):  # not `path.exists()`: it raises where a name is too long
            print(f"qkv grade: there is no {_shown(path)}", file=sys.stderr)
            return 2
    options = any(getattr(asked, name) is not None for name in FOR_CREDIT) or asked.regrade or asked.unsafe_no_sandbox
    if options or any(path.is_dir() for path in asked.paths):
        return _grade_class(asked)
    return _grade_own(asked.paths, asked.timeout or 120)


def _grade_own(notebooks: Sequence[Path], timeout: float) -> int:
    from qkv.grading.own import grade
    from qkv.grading.submissions import UnreadableError

    total = full = 0.0
    worst = 0
    for notebook in notebooks:
        print(f"{_shown(notebook)}\n", flush=True)
        try:
            result = grade(notebook, timeout)
        except UnreadableError as why:
            print(f"qkv grade: {_shown(notebook)} was not graded: {why}", file=sys.stderr)
            worst = 1
            continue
        total += sum(result.points.values())
        full += sum(result.max_points.values())
    if full:
        print(f"\n{total:g} of {full:g} points. This was your own machine: it is not for credit.")
    return worst


def _shown(path: Path) -> str:
    """A path as a terminal may show it: no character of its name acts on the terminal."""
    from qkv.grading.results import clean

    return clean(path, 1000)


def _grade_class(asked: argparse.Namespace) -> int:
    try:
        from qkv.grading import batch
    except ImportError as missing:
        print(f"qkv grade needs what the extra `grade` installs ({missing}): pip install 'qkv[grade]'", file=sys.stderr)
        return 2
    return batch.run(asked)


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
    parser.add_argument("--seed", type=int, metavar="N", help="draw the numbers of the examples again, for a term")
    other = parser.add_mutually_exclusive_group()
    other.add_argument(
        "--without-solutions", type=Path, metavar="DIR", help="write what learners get there: chapters and exercises"
    )
    other.add_argument("--nbgrader", type=Path, metavar="DIR", help="write the sources of a course of nbgrader's there")
    parser.set_defaults(run=_release, after_a_stop="Run it again: it may have written some of its files.")


def _release(asked: argparse.Namespace) -> int:
    if not asked.solutions.is_dir():
        print(f"qkv release: there is no folder {asked.solutions} here. Run it where the course is.", file=sys.stderr)
        return 2
    try:
        return _check_release(asked) if asked.check else _write_release(asked)
    except ImportError as missing:
        print(f"qkv release needs nbgrader ({missing}). Install the extra `grade` of this package.", file=sys.stderr)
    except FileExistsError as there:
        print(f"qkv release: {there}. Choose another.", file=sys.stderr)
    return 2


def _check_release(asked: argparse.Namespace) -> int:
    from qkv.release import findings

    found = findings(asked.solutions, asked.exercises, asked.seed)
    for finding in found:
        print(f"{finding.exercise} {finding.what}. Mend it with: qkv release")
    return 1 if found else 0


def _write_release(asked: argparse.Namespace) -> int:
    from qkv.release import release, release_for_nbgrader, release_without_solutions

    if asked.without_solutions:
        chapters = asked.solutions.parent / "chapters"
        files = release_without_solutions(asked.solutions, chapters, asked.without_solutions, asked.seed)
        print(f"wrote {len(files)} notebooks into {asked.without_solutions}")
    elif asked.nbgrader:
        files = release_for_nbgrader(asked.solutions, asked.nbgrader, asked.seed)
        print(f"wrote {len(files)} notebooks into {asked.nbgrader}")
    else:
        changed = release(asked.solutions, asked.exercises, asked.seed)
        for exercise in changed:
            print(f"wrote {exercise}")
        print(f"{len(changed)} of {len(list(asked.solutions.glob('*.ipynb')))} exercises changed")
    return 0


def _add_train(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "train",
        help="train one of the course's small models again",
        description="Train one of the course's small models, write its weights, and say how good it is.",
        epilog="The same seed on the same machine gives the same weights.",
    )
    models = ["tagger", "tagger-one-layer", "tagger-without-positions", "repeater", "repeater-one-layer", "writer"]
    parser.add_argument("model", choices=models, metavar="MODEL", help=", ".join(models))
    parser.add_argument("--steps", type=_positive(int), metavar="N", help="default: as many as the course's own took")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--out", type=Path, default=Path("weights"), metavar="DIR", help="default: weights")
    parser.set_defaults(run=_train)


def _train(asked: argparse.Namespace) -> int:
    from qkv.models.training import train

    told = train(asked.model, asked.out, asked.steps, asked.seed)
    print(f"wrote {asked.out / asked.model}.safetensors\n{told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
