"""The course's own judge gives the same verdicts on the page's torch as on torch: the same status, name and words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from qkv.questions import chapters, questions_of

ROOT = Path(__file__).resolve().parents[2]
SEED = int.from_bytes(os.urandom(2), "big")


def verdicts(path: str, most: int, names: list[str]) -> dict[str, list[str | None]]:
    """Judge in a process of its own, whose `torch` is the one that the path leads to."""
    command = [sys.executable, str(ROOT / "tests/page/verdicts.py"), str(SEED), str(most), *names]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert ("page" in found["torch"]) == ("page" in path), found["torch"]
    return dict(found["verdicts"])


# In the gate a few chapters share each pair of processes; the sweeps give every chapter its own.
FEW = 3
IN_THE_GATE = [pytest.param(chapters()[i::FEW], 1, id=f"{i + 1} of {FEW}") for i in range(FEW)]
SWEEP = [pytest.param((n,), 10_000, id=f"every twin of {n}", marks=pytest.mark.slow) for n in chapters()]


# A search that stops when a number is reached to the last bit may stop one step earlier or later.
@pytest.mark.parametrize(("some", "most"), [*IN_THE_GATE, *SWEEP])
def test_every_answer_has_the_same_verdict(some: tuple[int, ...], most: int):
    names = [name for chapter in some for name in questions_of(chapter)]
    on_torch, on_page = (verdicts(path, most, names) for path in ("src", "page:src"))
    other = {name: (found, on_page[name]) for name, found in on_torch.items() if found != on_page[name]}
    assert not other, f"seed {SEED}"
    assert all(found[0] == "passed" for name, found in on_page.items() if name.endswith(" reference"))
