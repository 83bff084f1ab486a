"""Make the tests that every chapter has for its checks: right answers pass, and wrong ones get the expected message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from qkv.questions import find
from tests.questions.test_twins import drawn_once, verdict, verdict_in

MANY = 50  # checks of each right answer in the sweeps, each with new inputs

Answers = dict[str, Sequence[Callable[..., Any]]]
# By a name for the case: question, answer, and the expected status, misconception and parts of the message.
Expected = dict[str, tuple[str, Any, str, str | None, list[str]]]


def right_answers(answers: Answers) -> Callable[..., None]:
    """Make the test that each answer passes its question's check: once in the gate, with 50 seeds in the sweeps."""
    tried = [(question, answer, i) for question in answers for i, answer in enumerate(answers[question])]
    ids = [f"{question}-{getattr(answer, '__name__', 'object')}-{i}" for question, answer, i in tried]

    @pytest.mark.parametrize("times", [1, pytest.param(MANY, marks=pytest.mark.slow)])
    @pytest.mark.parametrize(("question", "answer", "i"), tried, ids=ids)
    def test(question: str, answer: Any, i: int, times: int) -> None:
        asked = find(question)
        for n in range(times):
            found = verdict(asked, answer) if n else verdict_in(asked, answer, drawn_once(asked))
            assert found.status == "passed", found

    return test


def expected_verdicts(cases: Expected) -> Callable[..., None]:
    """Make the test that each wrong answer gets its expected status, misconception and parts of the message."""

    @pytest.mark.parametrize("name", cases)
    def test(name: str) -> None:
        question, answer, status, slug, parts = cases[name]
        found = verdict_in(find(question), answer, drawn_once(find(question)))
        assert (found.status, found.misconception) == (status, slug), found
        for part in parts:
            assert part in found.message, found.message

    return test
