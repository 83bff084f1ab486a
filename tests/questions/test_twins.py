"""Every known wrong idea is rejected, and by its own name; so are two at once, and the reference passes."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import combinations

import pytest
import torch

from qkv.questions import chapters, questions_of
from qkv.questions.engine.draw import Draw
from qkv.questions.engine.judging import Verdict, judge
from qkv.questions.engine.question import Misconception, Question
from qkv.sandboxed.cases import Case
from qkv.sandboxed.observations import observe
from tests.questions import samples

EVERY = [*samples.ALL, *(question for chapter in chapters() for question in questions_of(chapter).values())]
AT_ONCE = 2  # twins a question in the gate; `make test-all` tries every one
PAIRS_AT_ONCE = 1  # of them; there are thousands, and `make test-all` tries a hundred a question

pytestmark = pytest.mark.draws
by_question = pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)


def verdict(question: Question, answer: object, seed: int | None = None) -> Verdict:
    """Judge an answer as `check` does: with inputs drawn anew."""
    return verdict_in(question, answer, question.fresh_cases(seed))


def verdict_in(question: Question, answer: object, cases: list[Case]) -> Verdict:
    return judge(question, cases, observe(answer, cases, question.gradients))


@cache
def drawn_once(question: Question) -> list[Case]:
    """Inputs drawn once, as for a class: what the reference and the twins give for them is computed once in a run."""
    return question.fresh_cases(seed=1)


# The references of the course's own questions pass where their mutants are made.
@pytest.mark.parametrize("question", samples.ALL, ids=lambda question: question.id)
def test_the_reference_of_a_sample_passes(question: Question):
    for _ in range(3):
        found = verdict(question, question.reference)
        assert found.status == "passed", found
        if not question.of_implementations:
            assert found.message.startswith(f"Right in all {cases_named(found.message)} cases")


def cases_named(praise: str) -> int:
    """How many cases a praise names, of which it says that there are so many."""
    names = re.match(r"Right in all \d+ cases: (.*?)\.( [A-Z]|$)", praise)[1].split("; ")
    several = [re.search(r"\((\d+) cases\)$", name) for name in names]
    return sum(int(one[1]) if one else 1 for one in several)


def misnamed(question: Question, ideas: list[Misconception]) -> list[str]:
    """List the twins that pass, or get another name than their own."""
    found = [(idea, verdict(question, question.twin(idea))) for idea in ideas]
    return [
        f"{idea.slug}: {v.status}, {v.misconception}, {v.message}"
        for idea, v in found
        if v.status not in ("failed", "error")
        or v.misconception != idea.slug
        or v.message.startswith("This looks like:")
    ]


@by_question
def test_some_twins_are_rejected_by_their_own_names(question: Question):
    seed = Draw().seed
    some = random.Random(seed).sample(question.misconceptions, min(AT_ONCE, len(question.misconceptions)))
    assert not misnamed(question, some), f"seed {seed}"


@pytest.mark.slow
@by_question
def test_every_twin_is_rejected_by_its_own_name(question: Question):
    assert not misnamed(question, [*question.misconceptions] * 10)


# Each mends the other: products that are not summed are right once their last axis is summed over, keys or not.
MENDED = {("not-summed", "summed-over-keys")}


def pairs_of(question: Question) -> list[tuple[Misconception, Misconception]]:
    """Ideas that one answer can have at once, and be wrong."""
    joinable = [idea for idea in question.misconceptions if idea.knobs and not idea.alone]
    pairs = [(a, b) for a, b in combinations(joinable, 2) if not set(a.knobs) & set(b.knobs)]
    return [(a, b) for a, b in pairs if (a.slug, b.slug) not in MENDED]


@pytest.mark.parametrize("most", [PAIRS_AT_ONCE, pytest.param(100, marks=pytest.mark.slow)])
@by_question
def test_two_ideas_at_once_are_never_accepted(question: Question, most: int):
    seed = Draw().seed
    pairs = pairs_of(question)
    some = random.Random(seed).sample(pairs, min(most, len(pairs)))
    assert [(a.slug, b.slug) for a, b in some if verdict(question, question.twin(a, b)).status == "passed"] == [], seed


def test_two_ideas_at_once_are_told_apart():
    attention = questions_of(3)["3.3"]
    ideas = {idea.slug: idea for idea in attention.misconceptions}
    both = ideas["softmax-over-queries"], ideas["no-scale"]
    message = verdict(attention, attention.twin(*both)).message
    assert message.startswith("Two mistakes at once.")
    assert "columns" in message
    assert "q · k, without a scale" in message


@by_question
def test_a_question_is_well_made(question: Question, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.Tensor, "__repr__", lambda tensor: f"{tensor.dtype} {tensor.tolist()}")  # torch's is slow

    cases = question.fresh_cases()
    assert cases[0].name == "plain" or question.of_implementations, "the first case is what messages quote"
    assert question.misconceptions
    for idea in question.misconceptions:
        assert idea.slug == idea.slug.lower().replace(" ", "-").replace("_", "-")
        assert (idea.twin is None) != (not idea.knobs), f"{idea.slug}: a twin or knobs"

    def drawn(seed: int | None = None) -> str:
        return repr([case.steps for case in question.fresh_cases(seed)])

    assert question.personal or drawn() != drawn(), "drawn anew at every check; or, from a name, in the answer"
    assert drawn(7) == drawn(7), "and again from a seed"
