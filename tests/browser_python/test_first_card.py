"""Where the name of a mistake takes long to find, the page shows a verdict first, and the name when it is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser_python.in_node import Interpreter, interpreter

LIMITS = """import notebook
notebook.FIRST_VERDICT_AFTER, notebook.PATIENCE = {silence}, {patience}
"""
ANSWER = """import torch
def grouped_query_attention(q, k, v):
    print("here")
    times, n = q.shape[1] // k.shape[1], q.shape[2]
    scores = q @ k.{repeat}.mT / q.shape[-1] ** {power} + torch.full((n, n), -torch.inf).triu(1)
    return scores.softmax(-1) @ v.{repeat}
"""
IN_GROUPS, TILED = "repeat_interleave(times, dim=1)", "repeat(1, times, 1, 1)"


@pytest.fixture(scope="module")
def python() -> Iterator[Interpreter]:
    with interpreter() as started:
        yield started


def checked(python: Interpreter, repeat: str, power: float, silence: float, patience: float = 60) -> tuple[Any, Any]:
    """The first verdict, or None, and the last one."""
    cells = [LIMITS.format(silence=silence, patience=patience), ANSWER.format(repeat=repeat, power=power)]
    last = python.ask(cells, question="7.5", name="grouped_query_attention")
    return last.get("first"), last


def test_two_ideas_are_named_after_a_first_verdict(python: Interpreter):
    first, last = checked(python, TILED, 1, silence=-1)
    assert last["message"].startswith("Two mistakes at once.")
    assert last["misconception"] == "kv-heads-tiled"
    assert "kv heads tiled" in last["html"]
    assert (first["status"], first["points"], first["misconception"]) == (last["status"], 0, None)
    assert first["message"] != last["message"]
    assert "qkv-card" in first["html"]
    assert "here" in first["html"]
    assert "kv heads tiled" not in first["html"]


def test_a_first_verdict_that_no_two_ideas_explain_is_the_last_one(python: Interpreter):
    first, last = checked(python, IN_GROUPS, 0.8, silence=-1, patience=0.1)
    del first["seconds"], last["seconds"], last["memory"], last["first"]
    assert last["status"] == "failed"
    assert first == last


@pytest.mark.parametrize(
    ("repeat", "silence", "status"), [(IN_GROUPS, -1, "passed"), (TILED, 60, "failed")], ids=["right", "named in time"]
)
def test_what_is_known_in_time_is_said_once(python: Interpreter, repeat: str, silence: float, status: str):
    first, last = checked(python, repeat, 0.5, silence)
    assert (first, last["status"]) == (None, status)
