"""Answers after public code get the verdicts that their labels say."""

from __future__ import annotations

import random
from importlib import import_module

import pytest

from qkv.questions import find
from qkv.questions.engine.judging import Verdict
from tests.questions.corpus.label import EVERY, Labelled
from tests.questions.test_twins import drawn_once, verdict, verdict_in

for chapter in range(1, 12):
    import_module(f"tests.questions.corpus.chapter_{chapter:02d}")

IN_THE_GATE = 40


def disagreement(labelled: Labelled, found: Verdict) -> str | None:
    """Say how a verdict differs from the label; None if it agrees."""
    said = f"{labelled.name}: {found.status}, {found.misconception}: {found.message}"
    if labelled.right != (found.status == "passed"):
        return said
    return None if labelled.right or labelled.is_named_by(found.misconception) else f"named: {said}"
