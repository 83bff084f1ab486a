"""The command `qkv`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from qkv import __version__
from qkv.words import known, speak, t


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand, and return its exit status: 0 for success, 1 for problems that it reports, 2 for bad usage.

    It is 130 after Ctrl-C. For a wrong option and for --help, argparse raises SystemExit.
    """
    args = _parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        print(f"\nqkv {args.command}: it was stopped from the keyboard. {args.stop_hint}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="qkv", description="Self-attention you can touch: the course's commands.")
    parser.add_argument("--version", action="version", version=f"qkv {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    _add_grade(commands)
    _add_release(commands)
    _add_train(commands)
    return parser


def _add_grade(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `grade` and its options."""
    parser = commands.add_parser(
        "grade",
        help="grade your own notebooks, or the notebooks of a class in a sandbox",
        description=(
            "If you name only notebooks: run each in a new Python process, check its answers as its own check cells "
            "do, and print the feedback. If you name a folder or a zip, or give any option below except --timeout: "
            "grade for credit. Then each notebook runs in a sandbox, and the results are written to a folder."
        ),
        epilog=(
            "The student's name is the name of the folder, <student>/03_scaling.ipynb, or the beginning of the file's "
            "name, <student>_03_scaling.ipynb. Exit status: 0 if all notebooks were graded, 1 if some were not, 2 for "
            "bad usage."
        ),
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a notebook, or a folder or zip of notebooks"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results; default: graded")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="draw the inputs of every question from this seed; default: the last seed used in DIR, or a new one",
    )
    parser.add_argument(
        "--per-student",
        action="store_true",
        help="questions with numbers of one's own, such as 4.5, want the numbers of the student's folder name",
    )
    parser.add_argument(
        "--jobs",
        type=_positive(int),
        metavar="N",
        help="number of notebooks to grade at a time; default: one for each core",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="grade on the Dask cluster with this address, tcp://HOST:8786"
    )
    parser.add_argument(
        "--timeout",
        type=_positive(float),
        metavar="S",
        help="seconds for each question; default: 10. For your own: seconds for the whole notebook; default: 120",
    )
    parser.add_argument(
        "--memory", type=_positive(int), metavar="MB", help="memory for each notebook in MB; default: 1024"
    )
    parser.add_argument(
        "--regrade",
        action="store_true",
        help="also grade notebooks that already have a result with this seed and the same questions",
    )
    parser.add_argument(
        "--gradebook",
        metavar="ADDRESS",
        help="database of nbgrader's gradebook, in SQLAlchemy's notation; default: sqlite, DIR/gradebook.db",
    )
    parser.add_argument(
        "--roster", type=Path, metavar="CSV", help="list of the class; the results say who handed in nothing"
    )
    parser.add_argument(
        "--overrides",
        type=Path,
        metavar="CSV",
        help="points by hand, with the columns student (* for everybody), question (or notebook), points (or full) "
        "and reason",
    )
    parser.add_argument(
        "--language",
        metavar="LANGUAGE",
        help=f"language of the messages: {', '.join(known())}; default: what QKV_LANGUAGE says, or en",
    )
    parser.set_defaults(
        run=_grade,
        stop_hint="The results written so far stay. To continue, run the same command again.",
    )


def _positive(kind: type[int] | type[float]) -> Callable[[str], int | float]:
    """Return a converter of an option's text that accepts finite numbers of this type above 0.

    For another number it raises argparse's error, and for a text that is no number a ValueError.
    """

    def number(text: str) -> int | float:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a finite number above 0")
        return value

    number.__name__ = kind.__name__  # argparse names it in the message about a value that is not a number
    return number


# The options that only a class needs.
FOR_CREDIT = ("out", "seed", "jobs", "scheduler", "memory", "gradebook", "roster", "overrides")


def _grade(args: argparse.Namespace) -> int:
    """Run `grade`: in the sandbox if a folder, a zip or an option for credit is given, else for oneself.

    Set the language if an option names one, also in the environment. Return the exit code: 2 if the language is unknown
    or a path does not exist, else that of the grading.
    """
    if args.language:
        try:
            speak(args.language)
        except ValueError as unknown:
            print(f"qkv grade: {unknown}", file=sys.stderr)
            return 2
        os.environ["QKV_LANGUAGE"] = args.language  # for the processes that read and grade notebooks
    for path in args.paths:
        if not os.path.exists(path):  # not `path.exists()`, which raises if a name is too long
            text = t("there is no {path}", path=_printable(path))
            print(f"qkv grade: {text}", file=sys.stderr)
            return 2
    options = any(getattr(args, name) is not None for name in FOR_CREDIT) or args.regrade or args.per_student
    if options or any(path.is_dir() or path.suffix.casefold() == ".zip" for path in args.paths):
        return _grade_class(args)
    return _grade_own(args.paths, args.timeout or 120)


def _grade_own(notebooks: Sequence[Path], timeout: float) -> int:
    """Grade one's own notebooks and print the feedback. Return the exit code: 1 if one could not be read, else 0.

    `timeout` is the limit for each notebook, in seconds.
    """
    from qkv.grading.own import grade
    from qkv.grading.submissions import UnreadableError

    total = full = 0.0
    worst = 0
    for notebook in notebooks:
        print(f"{_printable(notebook)}\n", flush=True)
        try:
            result = grade(notebook, timeout)
        except UnreadableError as why:
            text = t("{notebook} was not graded: {why}", notebook=_printable(notebook), why=why)
            print(f"qkv grade: {text}", file=sys.stderr)
            worst = 1
            continue
        total += sum(result.points.values())
        full += sum(result.max_points.values())
    if full:
        text = t(
            "{n} of {most} points. This ran on your own machine, so it is not for credit.",
            n=f"{total:g}",
            most=f"{full:g}",
        )
        print(f"\n{text}")
    return worst


def _printable(path: Path) -> str:
    """Return a path, cut to 1,000 characters and without control characters, so that a terminal can print it."""
    from qkv.grading.results import clean

    return clean(path, 1000)


def _grade_class(args: argparse.Namespace) -> int:
    """Grade for credit in a sandbox. Return the exit code of the batch, or 2 if a package is missing."""
    try:
        from qkv.grading import batch
    except ImportError as missing:
        text = t("a package is missing ({missing}). Run: pip install 'qkv[grade]'", missing=missing)
        print(f"qkv grade: {text}", file=sys.stderr)
        return 2
    return batch.run(args)


def _add_release(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `release` and its options."""
    parser = commands.add_parser(
        "release",
        help="write the exercises from the solutions",
        description="Write exercises/ from solutions/: the same notebooks without the answers.",
        epilog="Do not edit exercises by hand. Edit the solution, then run this command.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; list the exercises that are out of sync")
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR", help="default: solutions")
    parser.add_argument("--exercises", type=Path, default=Path("exercises"), metavar="DIR", help="default: exercises")
    other = parser.add_mutually_exclusive_group()
    other.add_argument(
        "--without-solutions", type=Path, metavar="DIR", help="write the chapters and exercises for learners to DIR"
    )
    other.add_argument(
        "--nbgrader", type=Path, metavar="DIR", help="write the source folder of an nbgrader course to DIR"
    )
    parser.set_defaults(run=_release, stop_hint="Run it again: it may have written only some of its files.")


def _release(args: argparse.Namespace) -> int:
    """Run `release`. Return the exit code: 2 if a folder or a package is missing, or a folder is in the way.

    Else it is 0, or 1 if `--check` finds an exercise that is out of date. A solution that is written wrongly raises the
    RuntimeError of `released`.
    """
    if not args.solutions.is_dir():
        print(f"qkv release: there is no folder {args.solutions} here. Run it in the course's folder.", file=sys.stderr)
        return 2
    try:
        return _check_release(args) if args.check else _write_release(args)
    except ImportError as missing:
        print(f"qkv release: a package is missing ({missing}). Install the extra `grade` of qkv.", file=sys.stderr)
    except FileExistsError as error:
        print(f"qkv release: {error}. Choose another folder.", file=sys.stderr)
    return 2


def _check_release(args: argparse.Namespace) -> int:
    """Print which exercises are out of date, missing, or without a solution. Return the exit code: 1 if any, else 0.

    Raises:
        ImportError, RuntimeError: as in `findings`.
    """
    from qkv.authoring.release import findings

    found = findings(args.solutions, args.exercises)
    for finding in found:
        print(f"{finding.exercise} {finding.what}. To fix this, run: qkv release")
    return 1 if found else 0


def _write_release(args: argparse.Namespace) -> int:
    """Write the exercises, or the notebooks that an option asks for, and print how many. Return 0.

    Raises:
        FileExistsError, ImportError, RuntimeError: as in `release_without_solutions`.
    """
    from qkv.authoring.release import release, release_for_nbgrader, release_without_solutions

    if args.without_solutions:
        chapters = args.solutions.parent / "chapters"
        files = release_without_solutions(args.solutions, chapters, args.without_solutions)
        print(f"wrote {len(files)} files into {args.without_solutions}")
    elif args.nbgrader:
        files = release_for_nbgrader(args.solutions, args.nbgrader)
        print(f"wrote {len(files)} notebooks into {args.nbgrader}")
    else:
        changed = release(args.solutions, args.exercises)
        for exercise in changed:
            print(f"wrote {exercise}")
        print(f"{len(changed)} of {len(list(args.solutions.glob('*.ipynb')))} exercises changed")
    return 0


def _add_train(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `train` and its options."""
    parser = commands.add_parser(
        "train",
        help="train one of the course's small models again",
        description="Train one of the course's small models, write its weights, and print how good it is.",
        epilog="The same seed on the same machine gives the same weights.",
    )
    models = ["tagger", "tagger-one-layer", "tagger-without-positions", "repeater", "repeater-one-layer", "writer"]
    parser.add_argument("model", choices=models, metavar="MODEL", help=", ".join(models))
    parser.add_argument(
        "--steps", type=_positive(int), metavar="N", help="training steps; default: those of the course's model"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--out", type=Path, default=Path("weights"), metavar="DIR", help="folder for the weights; default: weights"
    )
    parser.set_defaults(run=_train, stop_hint="Nothing was written: the weights are written at the end.")


def _train(args: argparse.Namespace) -> int:
    """Run `train`: write the weights of a model and print how good it is. Return 0."""
    from qkv.models.training import train

    summary = train(args.model, args.out, args.steps, args.seed)
    print(f"wrote {args.out / args.model}.safetensors\n{summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
