"""A trained model runs with an answer in the place of ours: right answers give its own accuracy, wrong ones a lower."""

from __future__ import annotations

import re
import time

import pytest
import torch

from qkv.checking import examine, in_model
from qkv.checking.in_model import N_SENTENCES, say_in_model
from qkv.models import load_writer, sentences
from qkv.models.writer import with_ends
from qkv.questions import find, ids

IN_MODEL = [name for name in ids() if find(name).in_model]
SAYS = "12.5"  # it says which head is needed most, and counts nothing
ATTENTION = {"no-softmax", "softmax-over-first-axis", "no-scale", "keys-and-values-swapped"}
# Wrong ideas with which the model is worse. Each question's most frequent ones are among them.
WORSE = {
    "2.5": {"softmax-over-queries", *ATTENTION, "queries-and-keys-exchanged"},
    "3.3": {"softmax-over-queries", *ATTENTION, "weights-transposed-in-the-mix"},
    "4.1": {"softmax-over-queries", "temperature-multiplied", "temperature-ignored", "exponential-forgotten"},
    "5.1": {"heads-split-by-reshape", "examples-mixed", "features-dealt-out"},
    "5.2": {"heads-merged-by-reshape", "examples-mixed", "features-dealt-out"},
    "5.4": {"mask-inverted", "mask-ignored", "softmax-over-queries", *ATTENTION},
    "5.5": {"heads-split-by-reshape", "heads-merged-by-reshape", "mask-inverted", "no-scale"},
    "7.1": {"keys-and-values-swapped", "one-tensor-for-both"},
    "7.2": {"not-appended", "sees-itself-only", "keys-and-values-swapped", "no-scale"},
    "8.1": {"norm-over-tokens", "not-divided", "gain-forgotten", "variance-for-standard-deviation"},
    "8.2": {"residual-forgotten", "feed-forward-first", "second-half-from-the-input"},
    "12.1": {"mask-forgotten", "residual-forgotten", "no-scale", "heads-split-by-reshape"},
    "12.2": {"positions-forgotten", "last-layer-left-out", "last-norm-forgotten"},
    "12.3": {"beginning-left-out", "least-likely", "logits-of-the-first-token"},
}
# Wrong ideas that change nothing in these models, of which nothing is then said.
THE_SAME = {
    "3.3": {"scores-returned"},
    "4.1": {"overflow", "temperature-not-checked", "maximum-before-the-temperature"},
    "5.4": {"nan-on-a-blind-row"},
    "5.5": {"key-and-value-ignored"},
    "7.1": {"a-fixed-capacity"},
    "8.1": {"sample-variance", "eps-outside-the-root", "no-eps"},
    "12.1": {"cache-not-used", "no-mask-with-a-cache", "mask-of-the-new-tokens"},
    "12.2": {"caches-counted", "two-layers-taken-for-granted"},
}


def right_of(said: str) -> int:
    """Return the number of sentences that a model got right."""
    found = re.search(r"in (\d+) of (?:100|20|5)", said)
    assert found, said
    return int(found[1])


def all_of(name: str) -> int:
    """Return the number of sentences that a question's model reads or writes."""
    put = find(name).in_model
    return put.n_texts if put.model == "writer" else N_SENTENCES


@pytest.mark.parametrize("name", [name for name in IN_MODEL if name != SAYS])
def test_a_right_answer_gives_the_models_own_accuracy(name: str):
    said = say_in_model(find(name), find(name).reference, passed=True)
    assert re.search(rf"in {all_of(name)} of {all_of(name)} (new )?sentences\.", said), said


@pytest.mark.parametrize("name", WORSE)
def test_famous_wrong_ideas_give_a_lower_accuracy(name: str):
    question = find(name)
    found = [(idea.slug, question.twin(idea)) for idea in question.misconceptions if idea.slug in WORSE[name]]
    assert {slug for slug, _ in found} == WORSE[name]
    for slug, twin in found:
        said = say_in_model(question, twin, passed=False)
        assert right_of(said) < all_of(name), slug
        assert said.endswith(f" of {all_of(name)} sentences." if "writer" in said else "; with ours, in 100."), said


@pytest.mark.parametrize("name", THE_SAME)
def test_nothing_is_said_of_a_model_that_does_not_show_a_wrong_idea(name: str):
    question = find(name)
    for slug in THE_SAME[name]:
        twin = next(question.twin(idea) for idea in question.misconceptions if idea.slug == slug)
        assert say_in_model(question, twin, passed=False) == "", slug


def test_every_question_that_runs_a_model_is_tried():
    assert {*WORSE, SAYS} == set(IN_MODEL)


def test_the_head_that_is_needed_most_is_named_for_a_right_answer_alone():
    question = find(SAYS)
    said = say_in_model(question, question.reference, passed=True)
    assert said.endswith("needs head 1 of layer 0 most: without it, the loss of 20 new sentences rises by 0.20 nats.")
    assert say_in_model(question, question.reference, passed=False) == ""


def test_the_head_that_few_sentences_need_most_is_the_one_that_many_need_most():
    writer = load_writer()
    drawn = [s for s in sentences("new", 1000, 1, "english", only_it=True) if len(s.words) == in_model.LENGTH]
    ids = writer.vocabulary.encode(with_ends(drawn))
    rise = find(SAYS).reference(ids, writer.state_dict(), writer.shape.n_heads)
    assert len(ids) > 600
    assert int(rise.argmax()) == 1
    assert rise[0, 1] - rise.flatten()[[0, 2, 3]].max() > 0.15


def test_texts_are_compared_up_to_their_end_with_what_the_writer_writes():
    writer = load_writer()
    texts = [writer.vocabulary.split(writer.write(start, temperature=0)) for start in ("they used", "the dog")]
    known = writer.vocabulary.encode([[in_model.END, *words, in_model.END] for words in texts])
    assert known[0, -1] == 0, "the first text is shorter: padding stands behind its end"
    changed = known.repeat(3, 1)
    changed[2, len(texts[0]) + 2] = known[0, 1]  # behind the end
    changed[3, 4] = known[1, 3]  # a word
    changed[4, len(texts[0]) + 1] = known[0, 1]  # it does not end
    assert in_model.as_ours(writer, changed, 3).tolist() == [True, True, True, False, False, True]


# ── through `examine` ─────────────────────────────────────────────────────────────────────────────


def attend(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return weights @ v, weights


def over_queries(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2)
    return weights @ v, weights


def is_in_the_tagger(q: torch.Tensor) -> bool:
    return q.ndim == 4 and q.shape[-1] == 16


def endless(q, k, v):
    while is_in_the_tagger(q):
        pass
    return attend(q, k, v)


def raises(q, k, v):
    if is_in_the_tagger(q):
        raise SystemError("only here")
    return attend(q, k, v)


def exits(q, k, v):
    if is_in_the_tagger(q):
        raise SystemExit
    return attend(q, k, v)


def of_another_shape(q, k, v):
    out, weights = attend(q, k, v)
    return (out[:, :1], weights) if is_in_the_tagger(q) else (out, weights)


def of_no_tensor(q, k, v):
    return None if is_in_the_tagger(q) else attend(q, k, v)


def test_the_card_says_it_for_right_and_wrong_answers():
    right, wrong = examine("3.3", attend).card, examine("3.3", over_queries).card
    assert "“it” is the cat. Right in 100 of 100 new sentences." in right.in_model
    assert right.in_model in right.text().replace("\n", " ")
    assert "<code>attention</code> in place of ours" in right.html()
    assert right_of(wrong.in_model) < 100


@pytest.mark.parametrize("answer", [endless, raises, exits, of_another_shape, of_no_tensor])
def test_an_answer_that_fails_in_the_model_alone_keeps_its_points(answer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(in_model, "SECONDS", 0.3)
    start = time.process_time()
    report = examine("3.3", answer)
    assert report.passed
    assert report.card.in_model == ""
    assert time.process_time() - start < 5  # it ends; the limit itself has its own tests
    assert right_of(examine("3.3", attend).card.in_model) == 100


def test_what_does_not_run_and_what_is_not_attempted_says_nothing():
    assert examine("3.3", lambda q, k, v: None).card.in_model == ""
    assert examine("3.3", lambda q, k, v: 1 / 0).card.in_model == ""
    assert examine("3.1", lambda q, k: q @ k.mT).card.in_model == ""


def test_an_answer_that_changes_the_model_leaves_the_next_check_untouched():
    def layer_norm(x, gain, bias, eps=1e-5):
        centred = x - x.mean(-1, keepdim=True)
        out = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * gain + bias
        gain.zero_()
        x.zero_()
        return out

    def block(x, norm_1, attend, norm_2, feed_forward):
        out = x + attend(norm_1(x))
        out = out + feed_forward(norm_2(out))
        with torch.no_grad():
            norm_1.weight.zero_()
        return out

    clean = examine("8.1", find("8.1").twin(find("8.1").misconceptions[0])).card.in_model
    examine("8.1", layer_norm)
    examine("8.2", block)
    assert examine("8.1", find("8.1").twin(find("8.1").misconceptions[0])).card.in_model == clean
    assert say_in_model(find("8.2"), find("8.2").reference, True).endswith("100 of 100 new sentences.")


def test_an_answer_that_changes_the_weights_is_compared_with_the_trained_writer():
    own = {}

    def writer(ids, w, n_heads, caches=None):
        own.update(own or {name: weight.clone() for name, weight in w.items()})
        for weight in w.values():
            weight.zero_()
        return find("12.2").reference(ids, own, n_heads, caches)

    assert right_of(say_in_model(find("12.2"), writer, True)) == 20


def test_grading_does_not_run_a_model():
    assert examine("3.3", attend, in_model=False).card.in_model == ""
