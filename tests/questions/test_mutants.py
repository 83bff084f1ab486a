"""No machine-made mutant of a reference passes its check, but for those that are proved to be right answers."""

from __future__ import annotations

import random
import tomllib
from functools import cache
from pathlib import Path

import pytest

from qkv.questions import chapters, questions_of
from qkv.questions.engine.draw import Draw
from qkv.questions.engine.judging import judge
from qkv.questions.engine.question import Question
from qkv.sandboxed.observations import observe
from tests.questions.mutants import (
    Mutant,
    Subject,
    mutants_of,
    subject_of,
    survives,
    verdict_on,
)

EVERY = [question for chapter in chapters() for question in questions_of(chapter).values()]
LISTED = tomllib.loads(Path(__file__).with_name("equivalent_mutants.toml").read_text())["equivalent"]
EQUIVALENT = {(entry["question"], entry["was"], entry["now"]) for entry in LISTED}
AT_ONCE = 2  # mutants a question in the gate; `make test-all` tries every one

pytestmark = pytest.mark.draws
by_question = pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)


@cache
def made(question: Question) -> tuple[Subject, list[Mutant]]:
    subject = subject_of(question)
    return subject, mutants_of(subject)


def listed(mutant: Mutant) -> bool:
    return (mutant.question, mutant.was, mutant.now) in EQUIVALENT


def seeds(n: int) -> list[int]:
    return [Draw().seed for _ in range(n)]


@pytest.mark.parametrize(
    "question",
    [pytest.param(one, id=one.id, marks=() if i % 6 == 0 else pytest.mark.slow) for i, one in enumerate(EVERY)],
)
def test_what_is_mutated_is_the_reference(question: Question):
    answer, _ = made(question)[0].compile()
    cases = question.fresh_cases()
    assert judge(question, cases, observe(answer, cases, question.gradients)).status == "passed"


@by_question
def test_some_mutants_are_rejected(question: Question):
    subject, mutants = made(question)
    seed = seeds(1)[0]
    some = random.Random(seed).sample(mutants, min(AT_ONCE, len(mutants)))
    survivors = [str(mutant) for mutant in some if not listed(mutant) and survives(subject, mutant, seed)]
    assert not survivors, f"seed {seed}"


@pytest.mark.slow
@by_question
def test_every_mutant_is_rejected(question: Question):
    subject, mutants = made(question)
    drawn = seeds(3)
    mutants = [mutant for mutant in mutants if not listed(mutant)]
    survivors = [str(mutant) for mutant in mutants if any(survives(subject, mutant, seed) for seed in drawn)]
    assert not survivors, f"seeds {drawn}"


@pytest.mark.slow
def test_equivalent_mutants_are_few_and_proved():
    known = {(m.question, m.was, m.now) for question in EVERY for m in made(question)[1]}
    assert known >= EQUIVALENT, f"no longer made: {EQUIVALENT - known}"
    assert len(EQUIVALENT) < 0.05 * len(known)
    assert all(entry["proof"] for entry in LISTED)
    assert len(LISTED) == len(EQUIVALENT)


def test_a_mutant_without_end_is_stopped():
    subject = made(questions_of(4)["4.4"])[0]
    source = "def find_temperature(z, target):\n    while True:\n        pass"
    found = verdict_on(subject, Mutant("4.4", "by hand", "find_temperature", "", "", source))
    assert found is not None
    assert found.status == "error"
    assert "does not end" in found.message
