"""Make each change of tests/breakages.toml in a scratch copy, and print which tests fail. Each must make a test fail.

python tools/breakages.py              every breakage in tests/breakages.toml
python tools/breakages.py softmax      only the breakages whose name contains this word
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "breakages.toml"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
GATE = ["-m", "not slow"]  # for whole test files: the gate alone must notice a breakage, without the long sweeps


def scratch_copy(home: Path) -> Path:
    """Copy all files that git tracks, in their present state, into a folder, and link node_modules.

    Return the copy's folder.
    """
    copy = home / "copy"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    (copy / "node_modules").symlink_to(ROOT / "node_modules")
    return copy


def run(command: list[str], copy: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy; Python imports the copy's package instead of the installed one."""
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)


def red_tests(copy: Path, tests: list[str], *options: str) -> list[str]:
    """Return the names of the tests that fail in the copy, up to the first one; none if all pass.

    `tests` are all files, which run without their slow tests, or have names of single tests. `options` are pytest's. If
    pytest itself fails, return one text that says so.

    Raises:
        SystemExit: pytest did not find the tests.
    """
    whole = not any("::" in test for test in tests)
    done = run([*PYTEST, *options, *(GATE if whole else []), *tests], copy)
    if done.returncode in (4, 5):
        raise SystemExit(f"pytest did not find {', '.join(tests)}. Fix {LIST.name}.\n{done.stdout[-500:]}")
    if done.returncode == 0:
        return []
    red = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)
    return red or [f"pytest ended with {done.returncode}: {done.stdout[-200:].strip()}"]


def is_outdated(breakage: dict) -> bool:
    """Check whether the file no longer contains the code that the breakage replaces."""
    return breakage["old"] not in (ROOT / breakage["file"]).read_text()


def require_green(copy: Path, breakages: list[dict]) -> None:
    """Run the tests of these breakages on code that is not broken, two at a time, and say so.

    Raises:
        SystemExit: a test fails, which would be red after every breakage as well, or was not found.
    """
    tests = sorted({test for breakage in breakages for test in breakage["tests"]})
    files, named = [test for test in tests if "::" not in test], [test for test in tests if "::" in test]
    print(f"Running the tests of {len(breakages)} breakages on code that is not broken …", flush=True)
    for part in (files, named):
        if part and (red := red_tests(copy, part, "-n", "2")):
            raise SystemExit(f"Red before anything is broken: {', '.join(red)}\nRun it by itself, and mend it first.")


def replay(copy: Path, breakage: dict) -> list[str]:
    """Make a breakage's change, run its tests, and undo the change, also after an error. Return the tests that failed.

    Raises:
        SystemExit: pytest did not find the tests.
    """
    file = copy / breakage["file"]
    good = file.read_text()
    file.write_text(good.replace(breakage["old"], breakage["new"], 1))
    try:
        return red_tests(copy, breakage["tests"])
    finally:
        file.write_text(good)


def main() -> int:
    """Replay the breakages whose names have one of the given words; without words, all of them.

    Return 1 if no test failed for one of them, or if no breakage has such a name, else 0.

    Raises:
        SystemExit: an entry is outdated, or a test fails before anything is broken.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only breakages whose name contains one of these words")
    words = parser.parse_args().words
    chosen = [b for b in tomllib.loads(LIST.read_text())["breakage"] if not words or any(w in b["name"] for w in words)]
    if lost := [f"{b['name']}: {b['file']} no longer contains {b['old']!r}" for b in chosen if is_outdated(b)]:
        raise SystemExit("\n".join([*lost, f"Fix these entries of {LIST.name} first."]))
    green = []
    with tempfile.TemporaryDirectory(prefix="qkv-breakages-") as home:
        copy = scratch_copy(Path(home))
        require_green(copy, chosen)
        for number, breakage in enumerate(chosen, 1):
            started = time.monotonic()
            red = replay(copy, breakage)
            green += [] if red else [breakage["name"]]
            found = f"red: {', '.join(red)}" if red else "NO TEST FAILED"
            print(
                f"[{number}/{len(chosen)}] {time.monotonic() - started:3.0f} s  {breakage['name']}: {found}", flush=True
            )
    print(f"{len(chosen) - len(green)} of {len(chosen)} breakages made a test fail.")
    return 1 if green or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
