"""What a check says in Chinese: every message of every known mistake, without an English word."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from qkv.questions import chapters, questions_of
from qkv.questions.engine.draw import Draw
from qkv.questions.engine.question import Misconception, Question
from qkv.words import ENGLISH, speak
from tests.questions.test_twins import drawn_once, verdict_in
from tools.translations.rules import english

# What an answer has returned, a learner's name, and the arguments and numbers of a case.
QUOTED = re.compile(r"「[^」]*」|\b\w+ = [\w.]+|\bnan\b")
EVERY = [question for chapter in chapters() for question in questions_of(chapter).values()]
AT_ONCE = 1  # twins a question in the gate; `make test-all` tries every one

pytestmark = pytest.mark.draws
by_question = pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)


@pytest.fixture(autouse=True)
def chinese() -> Iterator[None]:
    speak("zh_TW")
    yield
    speak(ENGLISH)


def english_in(question: Question, ideas: list[Misconception]) -> list[str]:
    """List what is said in English of these mistakes. Names of code and a few loan words may stay (terms.toml)."""
    return [f"{idea.slug}: {line}" for idea in ideas for line in left_in(question, question.twin(idea))]


def left_in(question: Question, answer: object) -> list[str]:
    """List the English words in what is said of an answer."""
    return list(english("", QUOTED.sub(" ", verdict_in(question, answer, drawn_once(question)).message)))


@by_question
def test_a_message_has_no_english_word(question: Question) -> None:
    seed = Draw().seed
    assert english_in(question, random.Random(seed).sample(question.misconceptions, AT_ONCE)) == [], f"seed {seed}"


@pytest.mark.slow
@by_question
def test_no_message_has_an_english_word(question: Question) -> None:
    assert english_in(question, [*question.misconceptions]) == []


@by_question
def test_praise_has_no_english_word(question: Question) -> None:
    assert left_in(question, question.reference) == []


def test_an_english_word_is_found() -> None:
    assert list(english("", "你的權重 sum to 2。")) == ["English: sum to"]
