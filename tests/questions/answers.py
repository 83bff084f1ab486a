"""What every chapter's tests ask of its checks: right answers pass, and of wrong ones a certain thing is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from qkv.questions import find
from tests.questions.test_twins import drawn_once, verdict, verdict_in

MANY = 50  # checks of a right answer in the sweeps, with inputs drawn anew for each

Answers = dict[str, Sequence[Callable[..., Any]]]
Said = dict[str, tuple[str, Any, str, str | None, list[str]]]  # question, answer, status, slug, parts of the message


def right_answers(answers: Answers) -> Callable[..., None]:
    """Make the tests that each answer passes its question's check: in the gate once, in the sweeps with 50 seeds."""
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


def what_is_said(said: Said) -> Callable[..., None]:
    """Make the test that a wrong answer gets this status and this name, and a message with these parts."""

    @pytest.mark.parametrize("name", said)
    def test(name: str) -> None:
        question, answer, status, slug, parts = said[name]
        found = verdict_in(find(question), answer, drawn_once(find(question)))
        assert (found.status, found.misconception) == (status, slug), found
        for part in parts:
            assert part in found.message, found.message

    return test
