"""The course's own judge gives the same verdicts on the page's torch as on torch: the same status, name and words."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from qkv.questions import chapters, questions_of
from qkv.questions.engine.draw import Draw
from tests.browser_python.verdicts import verdicts

Verdicts = dict[str, list[str | None]]
ROOT = Path(__file__).resolve().parents[2]


def on_torch(seed: int, most: int, names: list[str]) -> Verdicts:
    """Judge here, where torch is."""
    return {told: found for name in names for told, found in verdicts(name, seed, most).items()}


def on_the_page(seed: int, most: int, names: list[str]) -> Verdicts:
    """Judge in a process of its own, whose `torch` is the page's."""
    command = [sys.executable, str(ROOT / "tests/browser_python/verdicts.py"), str(seed), str(most), *names]
    environment = {**os.environ, "PYTHONPATH": "browser_python:src"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "page" in found["torch"], found["torch"]
    assert found["missing"] == []  # a check would say "not judged here"
    return dict(found["verdicts"])


IN_THE_GATE = [pytest.param(chapters(), 1, id="a twin of one question of each chapter")]
SWEEP = [pytest.param((n,), 10_000, id=f"every twin of {n}", marks=pytest.mark.slow) for n in chapters()]


# A search that stops when a number is reached to the last bit may stop one step earlier or later.
@pytest.mark.draws
@pytest.mark.parametrize(("some", "most"), [*IN_THE_GATE, *SWEEP])
def test_every_answer_has_the_same_verdict(some: tuple[int, ...], most: int):
    seed = Draw().seed
    questions = [list(questions_of(chapter)) for chapter in some]
    if most == 1:
        questions = [random.Random(seed).sample(names, 1) for names in questions]
    names = [name for chapter in questions for name in chapter]
    page = on_the_page(seed, most, names)
    other = {name: (found, page[name]) for name, found in on_torch(seed, most, names).items() if found != page[name]}
    assert not other, f"seed {seed}"
    assert all(found[0] == "passed" for name, found in page.items() if name.endswith(" reference"))
