"""Answers after public code get the verdicts that their labels say."""

from __future__ import annotations

import random

import pytest

from qkv.questions import find
from qkv.questions.engine.judging import Verdict
from tests.questions.corpus.label import Labelled, whole_corpus
from tests.questions.test_twins import drawn_once, verdict, verdict_in

EVERY = whole_corpus()
IN_THE_GATE = 40


def disagreement(labelled: Labelled, found: Verdict) -> str | None:
    """Say how a verdict differs from the label; None if it agrees."""
    said = f"{labelled.name}: {found.status}, {found.misconception}: {found.message}"
    if labelled.right != (found.status == "passed"):
        return said
    return None if labelled.right or labelled.is_named_by(found.misconception) else f"named: {said}"


# Where a label and a check disagree, and why.
DISPUTED = {
    "2.1-project_keys_first": "the check says that queries and keys are exchanged, which is true as well",
    "3.3-attention_numpy": "the float64 that NumPy makes is named before the gradient that it cuts",
    "3.5-catches_by_row_sums": "it is right about the one implementation that divides the weights",
    "4.2-entropy_xlogy": "the label is wrong: the gradient of xlogy(p, p) is NaN at 0",
    "7.6-catches_stale_exactly": "it says True of right ones and of wrong ones, and the check says so",
    "8.1-norm_no_eps": "the check has a name of its own for no eps at all",
    "8.4-parameters_no_bias": "besides all biases, that of the final norm is forgotten",
}


def forget(answer: object) -> None:
    """Empty the lists in which a class keeps what its instances share: another test may have filled them."""
    for kept in vars(answer).values() if isinstance(answer, type) else ():
        if isinstance(kept, list):
            kept.clear()


def verdict_of(labelled: Labelled) -> Verdict:
    forget(labelled.answer)
    return verdict_in(find(labelled.question), labelled.answer, drawn_once(find(labelled.question)))


def test_a_sample_of_the_corpus_gets_the_verdicts_of_its_labels():
    some = random.Random(0).sample(EVERY, IN_THE_GATE)
    found = [disagreement(labelled, verdict_of(labelled)) for labelled in some if labelled.name not in DISPUTED]
    assert not any(found), list(filter(None, found))


def test_a_class_of_answers_shares_its_cases_and_gets_the_same_verdicts():
    # A twin whose caches share one store is run in the order of the cases, whichever answer was judged before.
    of_the_cache = [labelled for labelled in EVERY if labelled.question == "7.1"]
    found = {labelled.name: disagreement(labelled, verdict_of(labelled)) for labelled in of_the_cache}
    assert {name for name, text in found.items() if text} <= DISPUTED.keys(), found


@pytest.mark.slow
@pytest.mark.parametrize("labelled", EVERY, ids=lambda labelled: labelled.name)
def test_every_answer_of_the_corpus_gets_the_verdict_of_its_label(labelled: Labelled):
    forget(labelled.answer)
    found = disagreement(labelled, verdict(find(labelled.question), labelled.answer))
    assert (found is None) == (labelled.name not in DISPUTED), found
