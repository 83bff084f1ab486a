"""The gate: every kind of test, one step after another, with its time.

python tools/gate.py             what must be green before anything lands
python tools/gate.py --sweeps    the long sweeps too
python tools/gate.py static unit  only these steps
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable]
PYTEST = [*PYTHON, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
# Whoever is done takes over from the other: a few long modules would else leave one process without work.
TWO = ["-n", "2", "--dist", "worksteal"]
# What a module starts takes long here, so that only one process should: a JupyterLab, Python on a page.
A_FILE_EACH = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
A_NOTEBOOK_EACH = ["-n", "2", "--dist", "loadscope"]

# One line a step: its name, what it holds, its commands. The site is built before the tests that open it.
STEPS: list[tuple[str, str, list[list[str]]]] = [
    ("static", "lint, format and types; arrows one way; notebooks normal, widgets bundled, exercises released", [
        [*PYTHON, "-m", "mypy", "--no-error-summary"],  # first, for it takes longest
        [*PYTHON, "-m", "ruff", "check", "--quiet", "."],
        [*PYTHON, "-m", "ruff", "format", "--quiet", "--check", "."],
        ["node_modules/.bin/biome", "ci", "--log-level=warn", "."],
        ["node_modules/.bin/tsc", "--project", "."],
        [*PYTHON, "-c", "import sys; from importlinter.cli import lint_imports_command as c; c(['--no-cache'])"],
        [*PYTHON, "tools/notebooks.py", "check"],
        ["node", "tools/bundle.mjs", "--check"],
        [*PYTHON, "-m", "qkv.cli", "release", "--check"],
    ]),
    ("unit", "the package, the questions, the grader and the tools", [
        [*PYTEST, *TWO, "-m", "not browser and not lab and not slow", "tests"],
    ]),
    ("notebooks", "solutions print what they say", [[*PYTEST, *A_NOTEBOOK_EACH, "--nbval", "solutions"]]),
    ("site", "the site builds without a warning", [[*PYTHON, "tools/site.py", "build"]]),
    ("browser", "the built site, and the widgets in JupyterLab, in Chromium", [
        [*PYTEST, *A_FILE_EACH, "-m", "(browser or lab) and not slow", "tests/browser", "tests/widgets"],
    ]),
]  # fmt: skip
SWEEPS: list[tuple[str, str, list[list[str]]]] = [
    ("sweeps", "the long sweeps", [[*PYTEST, "-m", "slow", "tests"]]),
]


def run(command: list[str]) -> bool:
    """Run a command that prints as it goes on; say whether it was green."""
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode == 0


def run_two_at_a_time(commands: list[list[str]]) -> bool:
    """Run all of these, so that one run names every mistake; print what the red ones said, and say whether none was."""

    def said(command: list[str]) -> str:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return f"{done.stdout}{done.stderr}\n" if done.returncode else ""

    with ThreadPoolExecutor(2) as two:
        found = list(two.map(said, commands))
    print("".join(found), end="", flush=True)
    return not any(found)


def run_step(number: int, total: int, step: tuple[str, str, list[list[str]]]) -> bool:
    """Run a step's commands, print how it ended, and say whether all of them were green."""
    name, holds, commands = step
    print(f"[{number}/{total}] {name}: {holds}", flush=True)
    started = time.monotonic()
    green = run(commands[0]) if len(commands) == 1 else run_two_at_a_time(commands)
    print(f"      {'ok' if green else 'FAILED'} in {time.monotonic() - started:.0f} s", flush=True)
    return green


def main() -> int:
    """Run the chosen steps; exit 1 when one is red."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name, _, _ in STEPS + SWEEPS]
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"only these: {', '.join(names)}")
    parser.add_argument("--sweeps", action="store_true", help="the long sweeps too")
    asked = parser.parse_args()
    if unknown := set(asked.steps) - set(names):
        parser.error(f"no step is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    steps = STEPS + SWEEPS if asked.sweeps else STEPS
    if asked.steps:
        steps = [step for step in STEPS + SWEEPS if step[0] in asked.steps]
    started = time.monotonic()
    greens = [run_step(number, len(steps), step) for number, step in enumerate(steps, 1)]
    red = [name for (name, _, _), green in zip(steps, greens, strict=True) if not green]
    print(f"The gate took {time.monotonic() - started:.0f} s." + (f" Red: {', '.join(red)}." if red else ""))
    print(f"{len(greens) - len(red)} passed, {len(red)} failed")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
