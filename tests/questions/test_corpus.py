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


# Where a label and a check disagree, and why.
DISPUTED = {
    "1.2-embed_index_select": "the check lists the cases instead of a name",
    "1.4-frames_overlap": "the check lists the cases instead of a name: where the two steps agree, it is right",
    "2.1-project_keys_first": "the check says that queries and keys are exchanged, which is true as well",
    "3.5-catches_by_row_sums": "it is right about the one implementation that divides the weights",
    "7.1-StaticCache": "the check quotes torch's message, which says the two lengths",
    "7.6-catches_stale_exactly": "it says True of right ones and of wrong ones, and the check says so",
    "8.1-norm_no_eps": "the check has a name of its own for no eps at all",
    "8.4-parameters_no_bias": "besides all biases, that of the final norm is forgotten",
}


def verdict_of(labelled: Labelled) -> Verdict:
    return verdict_in(find(labelled.question), labelled.answer, drawn_once(find(labelled.question)))


def test_a_sample_of_the_corpus_gets_the_verdicts_of_its_labels():
    some = random.Random(0).sample(EVERY, IN_THE_GATE)
    found = [disagreement(labelled, verdict_of(labelled)) for labelled in some if labelled.name not in DISPUTED]
    assert not any(found), list(filter(None, found))


@pytest.mark.slow
@pytest.mark.parametrize("labelled", EVERY, ids=lambda labelled: labelled.name)
def test_every_answer_of_the_corpus_gets_the_verdict_of_its_label(labelled: Labelled):
    found = disagreement(labelled, verdict(find(labelled.question), labelled.answer))
    assert (found is None) == (labelled.name not in DISPUTED), found
