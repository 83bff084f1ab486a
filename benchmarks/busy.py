"""Grade right and endless answers on a machine that is busy with eight other processes.

python benchmarks/busy.py             20 times for oneself, and a class of 20
python benchmarks/busy.py --times 3   3 times, and a class of 3

A notebook with right answers must get full marks each time: an answer's time is counted in processor time, and not by
the clock. An answer that never ends must end all the same, at the latest after four times its limit by the clock.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
SLUG = "03_scaling"
LOOPS = 8
AT_A_TIME = 2  # notebooks for oneself
LIMIT = 10  # seconds, for answers that do not end
ENDLESS = "def scaled_scores(q, k):\n    while True:\n        pass\n"


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_machine() -> Iterator[None]:
    """Keep eight processes busy during the block."""
    loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(LOOPS)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def hand_in(path: Path, endless: bool = False) -> Path:
    """Write the solution of chapter 3 as a submission into the file `path`, and return it.

    If `endless`, its answer to 3.1 never ends.
    """
    notebook = nbformat.read(ROOT / "solutions" / f"{SLUG}.ipynb", as_version=4)
    for cell in notebook.cells:
        if endless and "def scaled_scores" in cell.source:
            cell.source = ENDLESS
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


def qkv(*arguments: object) -> tuple[str, float]:
    """Run `qkv` in a new process, and return what it printed and its seconds by the clock."""
    started = time.monotonic()
    command = [sys.executable, "-m", "qkv.cli", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "100"})
    return ended.stdout + ended.stderr, time.monotonic() - started


def points_alone(printed: str) -> tuple[float, float]:
    """Return the points that `qkv grade` printed for oneself, and the maximal points.

    If it printed none, an IndexError is raised.
    """
    got, most = re.findall(r"([\d.]+) of ([\d.]+) points\. This ran", printed)[-1]
    return float(got), float(most)


def alone(folder: Path) -> tuple[bool, float]:
    """Grade a right notebook for oneself in a folder, and print its points and seconds.

    Return whether it has full marks, and the seconds. Errors are those of `points_alone`.
    """
    printed, seconds = qkv("grade", hand_in(folder / f"{SLUG}.ipynb"))
    got, most = points_alone(printed)
    print(f"  {got:g} of {most:g} points in {seconds:.0f} s", flush=True)
    return got == most, seconds


def in_a_class(folder: Path, learners: int) -> tuple[int, float]:
    """Grade a class of right notebooks, one for each learner, in a folder.

    Return how many have full marks, and the seconds.
    """
    for i in range(learners):
        hand_in(folder / "in" / f"student{i}" / f"{SLUG}.ipynb")
    _, seconds = qkv("grade", folder / "in", "--out", folder / "out", "--seed", "1")
    results = [json.loads(path.read_text()) for path in (folder / "out").glob(f"*/{SLUG}.json")]
    return sum(one["status"] == "graded" and one["score"] == one["max_score"] for one in results), seconds


def endless(folder: Path) -> None:
    """Grade an answer that never ends, for oneself and for a class, and print the points and when each run ended."""
    printed, seconds = qkv("grade", hand_in(folder / f"{SLUG}.ipynb", endless=True), "--timeout", LIMIT)
    print(f"endless, for oneself: {points_alone(printed)} points, {seconds:.0f} s for the notebook; limit {LIMIT} s")
    hand_in(folder / "in" / "ann" / f"{SLUG}.ipynb", endless=True)
    _, seconds = qkv("grade", folder / "in", "--out", folder / "out", "--seed", "1", "--timeout", LIMIT)
    result = json.loads((folder / "out" / "ann" / f"{SLUG}.json").read_text())
    took = {question["id"]: question["seconds"] for question in result["questions"]}
    print(
        f"endless, in a class: {result['score']:g} of {result['max_score']:g} points, {seconds:.0f} s in all, "
        f"3.1 took {took['3.1']:.1f} s by the clock; limit {LIMIT} s, at most {4 * LIMIT} s"
    )


def main() -> None:
    """Grade on a busy machine, and print the points and the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, metavar="N")
    times = parser.parse_args().times
    with busy_machine(), tempfile.TemporaryDirectory() as folder:
        print(
            f"{LOOPS} busy processes on {os.cpu_count()} processors; load {os.getloadavg()[0]:.1f} at the start",
            flush=True,
        )
        full, seconds = in_a_class(Path(folder) / "class", times)
        print(f"right, in a class: {full} of {times} have full marks; {seconds:.0f} s", flush=True)
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            tried = list(pool.map(alone, [Path(folder) / f"alone{i}" for i in range(times)]))
        full, took = sum(full for full, _ in tried), sorted(seconds for _, seconds in tried)
        print(f"right, for oneself: full marks {full} of {times} times; {took[0]:.0f} to {took[-1]:.0f} s", flush=True)
        endless(Path(folder) / "endless")
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
