"""Every known wrong idea is rejected, and by its own name; so are two at once, and the reference passes."""

from __future__ import annotations

from itertools import combinations

import pytest

from qkv.observing import observe
from qkv.questions import chapters, questions_of
from qkv.questions.base import Misconception, Question
from qkv.questions.judging import Verdict, judge
from tests.questions import samples

EVERY = [*samples.ALL, *(question for chapter in chapters() for question in questions_of(chapter).values())]
TWINS = [(question, idea, i) for question in EVERY for i, idea in enumerate(question.misconceptions)]


def verdict(question: Question, answer: object, seed: int | None = None) -> Verdict:
    cases = question.fresh_cases(seed)
    return judge(question, cases, observe(answer, cases, question.gradients))


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)
def test_the_reference_passes(question: Question):
    for _ in range(5):
        found = verdict(question, question.reference)
        assert found.status == "passed", found


@pytest.mark.parametrize(("question", "idea", "i"), TWINS, ids=[f"{q.id}-{m.slug}-{i}" for q, m, i in TWINS])
@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_twin_is_rejected_by_its_own_name(question: Question, idea: Misconception, i: int, times: int):
    for _ in range(times):
        found = verdict(question, question.twin(idea))
        assert found.status in ("failed", "error")
        assert found.misconception == idea.slug, found
        assert not found.message.startswith("This looks like:"), "its message raised"


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)
def test_two_ideas_at_once_are_never_accepted(question: Question):
    pairs = [(a, b) for a, b in combinations(question.misconceptions, 2) if a.knobs and b.knobs]
    pairs = [(a, b) for a, b in pairs if not set(a.knobs) & set(b.knobs)]
    for a, b in pairs[:: max(1, len(pairs) // 12)]:
        found = verdict(question, question.twin(a, b))
        assert found.status != "passed", (a.slug, b.slug)


def test_two_ideas_at_once_are_told_apart():
    attention = questions_of(3)["3.3"]
    ideas = {idea.slug: idea for idea in attention.misconceptions}
    both = ideas["softmax-over-queries"], ideas["no-scale"]
    message = verdict(attention, attention.twin(*both)).message
    assert message.startswith("Two things at once.")
    assert "columns" in message
    assert "q · k as it is" in message


@pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)
def test_a_question_is_well_made(question: Question):
    cases = question.fresh_cases()
    assert cases[0].name == "plain", "the first case is what messages quote"
    assert question.misconceptions
    for idea in question.misconceptions:
        assert idea.slug == idea.slug.lower().replace(" ", "-").replace("_", "-")
        assert (idea.twin is None) != (not idea.knobs), f"{idea.slug}: a twin or knobs"

    def drawn(seed: int | None = None) -> str:
        return repr([case.steps for case in question.fresh_cases(seed)])

    assert drawn() != drawn(), "drawn anew at every check"
    assert drawn(7) == drawn(7), "and again from a seed"
