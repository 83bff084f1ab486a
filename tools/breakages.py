"""Break each guarded thing in a scratch copy, and print which tests went red. None may stay green.

python tools/breakages.py              all of tests/breakages.toml
python tools/breakages.py softmax      only those whose name holds the word
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
GATE = ["-m", "not slow"]  # of whole files: what only a long sweep notices lands unnoticed


def scratch_copy(home: Path) -> Path:
    """The files that git knows, as they are now, with the installed JavaScript tools linked in."""
    copy = home / "copy"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    (copy / "node_modules").symlink_to(ROOT / "node_modules")
    return copy


def run(command: list[str], copy: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, with the copy's package before the installed one."""
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)


def red_tests(copy: Path, breakage: dict) -> list[str]:
    """Names of the tests that fail in the copy as it stands."""
    whole = not any("::" in test for test in breakage["tests"])
    done = run([*PYTEST, *(GATE if whole else []), *breakage["tests"]], copy)
    if done.returncode in (4, 5):
        raise SystemExit(f"{breakage['name']}: pytest finds no such tests: mend {LIST.name}\n{done.stdout[-500:]}")
    if done.returncode not in (0, 1):
        return [f"pytest ended with {done.returncode}: {done.stdout[-200:].strip()}"]
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)


def outdated(breakage: dict) -> bool:
    """Whether the file no longer holds what is to be broken."""
    return breakage["old"] not in (ROOT / breakage["file"]).read_text()


def replay(copy: Path, breakage: dict) -> list[str]:
    """Make the change, run the tests that guard it, undo the change."""
    file = copy / breakage["file"]
    good = file.read_text()
    file.write_text(good.replace(breakage["old"], breakage["new"], 1))
    try:
        return red_tests(copy, breakage)
    finally:
        file.write_text(good)


def main() -> int:
    """Replay the chosen breakages; exit 1 when one stayed green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only breakages whose name holds one of these")
    words = parser.parse_args().words
    chosen = [b for b in tomllib.loads(LIST.read_text())["breakage"] if not words or any(w in b["name"] for w in words)]
    if lost := [f"{b['name']}: {b['file']} no longer holds {b['old']!r}" for b in chosen if outdated(b)]:
        raise SystemExit("\n".join([*lost, f"Mend {LIST.name} first."]))
    green = []
    with tempfile.TemporaryDirectory(prefix="qkv-breakages-") as home:
        copy = scratch_copy(Path(home))
        for number, breakage in enumerate(chosen, 1):
            started = time.monotonic()
            red = replay(copy, breakage)
            green += [] if red else [breakage["name"]]
            found = f"red: {', '.join(red)}" if red else "STAYED GREEN"
            print(
                f"[{number}/{len(chosen)}] {time.monotonic() - started:3.0f} s  {breakage['name']}: {found}", flush=True
            )
    print(f"{len(chosen) - len(green)} of {len(chosen)} breakages were noticed.")
    return 1 if green or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
