"""Run the gate: every kind of test, several at a time, and print the time of each step.

python tools/gate.py             all steps that must pass before a change is merged
python tools/gate.py --sweeps    these steps with all their cases, and the long sweeps
python tools/gate.py static unit  only these steps
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable]
YIELDING = ["nice"]  # the site goes first, because the browser's tests wait for it
PYTEST = [*PYTHON, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
# Two processes. One that has no tests left takes tests from the other: without this, a few long modules keep one idle.
TWO = ["-n", "2", "--dist", "worksteal"]
# Each module runs in one process only, because its fixtures start slowly: a JupyterLab, Python on a page.
A_FILE_EACH = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
A_NOTEBOOK_EACH = ["-n", "2", "--dist", "loadscope"]
SOME = "--some"  # of the cases of costly tests (tests/conftest.py): the gate has ten minutes

Step = tuple[str, str, list[list[str]]]  # its name, what it checks, its commands

STEPS: list[Step] = [
    ("static", "lint, format, types, docstrings, imports; notebooks, bundled widgets and exercises are up to date", [
        [*PYTHON, "-m", "mypy", "--no-error-summary"],  # first, because it takes longest
        [*PYTHON, "-m", "ruff", "check", "--quiet", "."],
        [*PYTHON, "-m", "ruff", "format", "--quiet", "--check", "."],
        ["node_modules/.bin/biome", "ci", "--log-level=warn", "."],
        ["node_modules/.bin/tsc", "--project", "."],
        [*PYTHON, "-c", "import sys; from importlinter.cli import lint_imports_command as c; c(['--no-cache'])"],
        [*PYTHON, "tools/docstrings.py"],
        [*PYTHON, "tools/notebooks.py", "check"],
        [*PYTHON, "-m", "tools.translations", "check"],
        ["node", "tools/bundle.mjs", "--check"],
        [*PYTHON, "-m", "qkv.cli", "release", "--check"],
    ]),
    ("unit", "the package, the questions, the grader and the tools", [
        [*YIELDING, *PYTEST, *TWO, SOME, "-m", "not browser and not lab and not slow", "tests"],
    ]),
    ("site", "the site builds without a warning, in every language", [
        [*PYTHON, "tools/site.py", "build", "--languages", "zh_TW", "zh_CN"],
    ]),
    ("notebooks", "solutions print their saved outputs again", [[*PYTEST, *A_NOTEBOOK_EACH, "--nbval", "solutions"]]),
    ("browser", "the built site, and the widgets in JupyterLab, in Chromium", [
        [*PYTEST, *A_FILE_EACH, SOME, "-m", "(browser or lab) and not slow", "tests/browser", "tests/widgets"],
    ]),
]  # fmt: skip
SWEEPS: list[Step] = [
    ("sweeps", "the long sweeps", [[*PYTEST, "-m", "slow", "tests"]]),
]
# The browser's tests wait for the site, and the sweeps for all; the rest runs at the same time: while a test waits for
# a page or a time limit, another can use the core.
AFTER = {"browser": ["site"], "sweeps": [name for name, _, _ in STEPS]}
SHOWN = ("unit", "browser", "sweeps")  # steps whose output is shown while they run


def failures(command: list[str], code: int, lines: list[str]) -> list[str]:
    """Return what failed in a command that ended with `code`: pytest's lines of its failed tests, else the command."""
    if not code:
        return []
    return [line for line in lines if line.startswith(("FAILED ", "ERROR "))] or [f"{' '.join(command)} (exit {code})"]


def run_and_show(name: str, command: list[str]) -> list[str]:
    """Run a command, and print each line that it writes, behind the step's name. Return what failed."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    lines = []
    with subprocess.Popen(command, cwd=ROOT, text=True, errors="replace", **options) as running:
        for line in running.stdout or ():
            print(f"{name:9s} {line}", end="", flush=True)
            lines.append(line.rstrip())
    return failures(command, running.returncode, lines)


def run_two_at_a_time(commands: list[list[str]]) -> list[str]:
    """Run all commands, two at the same time, also after a failure.

    Print the output of those that failed. Return what failed.
    """

    def failures_of(command: list[str]) -> list[str]:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            print(f"{done.stdout}{done.stderr}", flush=True)
        return failures(command, done.returncode, done.stdout.splitlines())

    with ThreadPoolExecutor(2) as two:
        return [failure for found in two.map(failures_of, commands) for failure in found]


def run_step(number: int, total: int, step: Step) -> list[str]:
    """Run a step's commands, and print its number, its checks, the result and the seconds. Return what failed."""
    name, checks, commands = step
    print(f"[{number}/{total}] {name}: {checks}", flush=True)
    started = time.monotonic()
    failed = run_and_show(name, commands[0]) if name in SHOWN else run_two_at_a_time(commands)
    print(f"      {name}: {'FAILED' if failed else 'ok'} in {time.monotonic() - started:.0f} s", flush=True)
    return failed


def with_all_cases(step: Step) -> Step:
    """Return a step of the gate as the sweeps run it: with all cases of its tests, of which the gate draws some."""
    name, checks, commands = step
    return name, checks, [[part for part in command if part != SOME] for command in commands]


def run_steps(steps: list[Step]) -> list[list[str]]:
    """Run steps at the same time, each after those that it needs. Return for each what failed."""
    running: dict[str, Future[list[str]]] = {}

    def start(number: int, step: Step) -> list[str]:
        for needed in AFTER.get(step[0], []):
            if needed in running:
                running[needed].result()
        return run_step(number, len(steps), step)

    with ThreadPoolExecutor(len(steps)) as pool:
        for number, step in enumerate(steps, 1):
            running[step[0]] = pool.submit(start, number, step)
    return [done.result() for done in running.values()]


def main() -> int:
    """Run the chosen steps, by default all of the gate, and print what failed. Return 1 if a step failed, else 0.

    An unknown step ends with SystemExit. This Python's folder comes first in PATH from then on.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name, _, _ in STEPS + SWEEPS]
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"only these: {', '.join(names)}")
    parser.add_argument("--sweeps", action="store_true", help="run the long sweeps too")
    asked = parser.parse_args()
    if unknown := set(asked.steps) - set(names):
        parser.error(f"unknown steps: {', '.join(sorted(unknown))}. The steps are {', '.join(names)}")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    steps = [*map(with_all_cases, STEPS), *SWEEPS] if asked.sweeps else STEPS
    if asked.steps:
        steps = [step for step in (steps if asked.sweeps else STEPS + SWEEPS) if step[0] in asked.steps]
    started = time.monotonic()
    results = run_steps(steps)
    red = sum(1 for failed in results if failed)
    print(f"The gate took {time.monotonic() - started:.0f} s." + (" Failed:" if red else ""))
    for (name, _, _), failed in zip(steps, results, strict=True):
        for failure in failed:
            print(f"  {name}: {failure}")
    print(f"{len(results) - red} passed, {red} failed")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
