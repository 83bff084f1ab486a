"""Questions in which the learner writes a test: the truth about each implementation, and what is said of a test."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from qkv import check
from qkv.questions import find
from qkv.questions.catalogue import q3_5, q5_6, q7_6
from qkv.questions.engine import Draw
from qkv.questions.shared.implementations import draw_implementations
from qkv.sandboxed.observations import results_of
from tests.questions.answers import expected_verdicts, right_answers

IMPLEMENTATIONS = {"3.5": q3_5.IMPLEMENTATIONS, "5.6": q5_6.IMPLEMENTATIONS, "7.6": q7_6.IMPLEMENTATIONS}
by_question = pytest.mark.parametrize("question", IMPLEMENTATIONS)


@by_question
def test_the_reference_says_what_is_true_of_each(question):
    """What is expected of an answer is what the reference says of the same implementations."""
    truth = {one.name: one.wrong for one in IMPLEMENTATIONS[question]}
    for _ in range(5):
        cases = find(question).fresh_cases()
        assert {case.name for case in cases} == truth.keys()
        assert [results_of(find(question).reference, c).results[0] for c in cases] == [truth[c.name] for c in cases]


@by_question
def test_how_many_are_wrong_cannot_be_known(question):
    truth = {one.name: one.wrong for one in IMPLEMENTATIONS[question]}
    drawn = [[truth[case.name] for case in find(question).fresh_cases(seed)] for seed in range(200)]
    assert len({sum(one) for one in drawn}) == len({len(one) - sum(one) for one in drawn}) == 5
    assert {one[0] for one in drawn} == {one[-1] for one in drawn} == {True, False}


@by_question
def test_which_one_is_the_first_right_one_cannot_be_guessed(question):
    """Who compares all with one of them, without knowing what is right, is seldom right."""
    kinds = IMPLEMENTATIONS[question]
    truth = {one.name: one.wrong for one in kinds}
    drawn = [[truth[case.name] for case in draw_implementations(Draw(seed), kinds)] for seed in range(400)]
    assert Counter(one.index(False) for one in drawn).most_common(1)[0][1] < 0.2 * len(drawn)


# ── the margin between right and wrong ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("one", q7_6.IMPLEMENTATIONS, ids=lambda one: one.name)
def test_a_right_decoder_is_right_up_to_rounding_and_a_wrong_one_is_far_off(one):
    for seed in range(10):
        ids = torch.randint(0, q7_6.VOCAB, (q7_6.MAX_TOKENS,)).tolist()
        decoder = one.make(seed)()
        gap = (torch.stack([decoder.step(i) for i in ids]) - decoder.full(ids)).abs().max()
        assert gap > 0.1 if one.wrong else gap < 1e-4


@pytest.mark.parametrize("one", q5_6.IMPLEMENTATIONS, ids=lambda one: one.name)
def test_modules_give_the_shapes_of_attention(one):
    for seed in range(4):
        out, weights = one.make(seed)(torch.randn(2, 5, 12))
        assert out.shape == (2, 5, 12)
        assert torch.allclose(weights.sum(-1), torch.ones(1), atol=1e-5)


def test_right_modules_of_one_seed_agree():
    x = torch.randn(3, 4, 12, dtype=torch.float64)
    expected, *others = (one.make(5)(x) for one in q5_6.IMPLEMENTATIONS if not one.wrong)
    for out, weights in others:
        assert torch.allclose(out, expected[0])
        assert torch.allclose(weights, expected[1])


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("3.5", (torch.ones(3, 4),)), ("3.5", (torch.ones(4),) * 3), ("3.5", (torch.ones(3, 4).int(),) * 3),
        ("3.5", (torch.ones(20_000, 1),) * 3), ("3.5", (torch.ones(2, 3), torch.ones(2, 4), torch.ones(2, 3))),
        ("5.6", (torch.ones(2, 3, 11),)), ("5.6", (torch.ones(200, 3, 12),)), ("5.6", (3,)), ("5.6", ()),
        ("7.6", (1,)),
    ],
)  # fmt: skip
def test_the_text_of_an_error_says_nothing_of_which_one_it_is(question, given):
    texts = set()
    for one in IMPLEMENTATIONS[question]:
        with pytest.raises((TypeError, ValueError)) as raised:
            one.make(1)(*given)
        texts.add(str(raised.value))
    assert len(texts) == 1, texts


@pytest.mark.parametrize("ids", [[], [5], [0.5], [0] * 33, torch.zeros(2, 2).long(), "0"])
def test_a_decoder_refuses_what_is_no_text(ids):
    for one in q7_6.IMPLEMENTATIONS:
        decoder = one.make(1)()
        with pytest.raises(ValueError, match="whole number"):
            decoder.full(ids)
        for _ in range(q7_6.MAX_TOKENS):
            decoder.step(torch.tensor(0))
        with pytest.raises(ValueError, match="at most 32"):
            decoder.step(0)


# ── right answers, and wrong ones ─────────────────────────────────────────────────────────────────


def nudges_one_token(module):
    """Nudges each of the tokens, and looks which rows move."""
    x = torch.randn(2, 4, 12)
    out = module(x)[0]
    for b in range(2):
        for i in range(4):
            other = x.clone()
            other[b, i] += 3 * torch.randn(12)
            moved = ((module(other)[0] - out).abs() > 1e-4).any(-1)
            if not moved[b].all() or moved[1 - b].any():
                return True
    order = torch.tensor([2, 0, 3, 1])
    return bool((module(x[:, order])[0] - out[:, order]).abs().max() > 1e-3)


def shuffles_and_splits(module):
    x = torch.randn(4, 6, 12, dtype=torch.float64)
    out = module(x)[0]
    same = torch.cat([module(one[None])[0] for one in x])
    turned = module(x.flip(1))[0].flip(1)
    first = module(torch.cat([x[:, :3], 4 * x[:, 3:]], dim=1))[0][:, 0]
    return not (torch.allclose(out, same) and torch.allclose(out, turned)) or torch.allclose(first, out[:, 0])


def steps_by_list(make_decoder):
    ids = [0, 1, 2, 3, 4] * 6 + [4, 4]
    d, e = make_decoder(), make_decoder()
    return any((e.step(i) - row).abs().max() > 1e-3 for i, row in zip(ids, d.full(ids), strict=True))


def steps_by_tensor(make_decoder):
    ids = torch.randint(0, 5, (32,))
    d = make_decoder()
    whole = d.full(ids)
    return not torch.allclose(torch.stack([d.step(i) for i in ids]), whole, rtol=1e-3, atol=1e-3)


def three_texts(make_decoder):
    for _ in range(3):
        ids = torch.randint(0, 5, (32,))
        d = make_decoder()
        if torch.stack([d.step(id=i.item()) for i in ids]).sub(d.full(ids=ids)).abs().max() > 1e-2:
            return True
    return False


test_a_right_answer_is_accepted = right_answers(
    {"5.6": [nudges_one_token, shuffles_and_splits], "7.6": [steps_by_list, steps_by_tensor, three_texts]}
)


def far(a, b, tolerance=1e-3):
    return bool((a - b).abs().max() > tolerance)


X = torch.randn(3, 5, 12, generator=torch.Generator().manual_seed(4))


def by_shuffling(module):
    return far(module(X.flip(1))[0].flip(1), module(X)[0])


def by_examples(module):
    return far(module(X[:1])[0], module(X)[0][:1])


def with_text(ids, tolerance=1e-3, rows=slice(None)):
    def test(make_decoder):
        d = make_decoder()
        return far(torch.stack([d.step(i) for i in ids])[rows], d.full(ids)[rows], tolerance)

    return test


def of_a_used_decoder(make_decoder):
    d = make_decoder()
    d.step(0)
    return with_text([0, 1, 2, 3, 4] * 6)(lambda: d)


def two_texts(make_decoder):
    d = make_decoder()
    return any(with_text(ids)(lambda: d) for ids in ([0, 1, 2, 3] * 8, [4, 3, 2, 1] * 8))


test_what_is_said_of_a_wrong_answer = expected_verdicts(
    {
        "shuffles alone": (
            "5.6", by_shuffling, "failed",
            "accepts-one-that-reads-the-batch-as-one-text", ["other examples"],
        ),
        "examples alone": ("5.6", by_examples, "failed", "accepts-one-that-splits-by-reshape-alone", ["shuffle"]),
        "nothing moves": (
            "5.6", lambda module: by_shuffling(module) or by_examples(module), "failed",
            "accepts-one-that-attends-over-heads",
            ["never look"],
        ),
        "shapes alone": ("5.6", lambda module: module(X)[0].shape != X.shape, "failed", "always-false", []),
        "looks for layers": ("5.6", lambda module: module.w_q is None, "error", None, ["can be called"]),
        "short": (
            "7.6", with_text([0, 1] * 4), "failed", "accepts-one-that-keeps-the-latest-tokens-alone", ["How long"],
        ),
        "the first token alone": (
            "7.6", with_text([1]), "failed",
            "accepts-one-that-keeps-the-last-token-alone", ["steps"],
        ),
        "the first row left out": (
            "7.6", with_text([0, 1, 2, 3, 4] * 6, rows=slice(1, None)), "failed",
            "accepts-one-that-skips-attention-while-the-cache-is-empty", ["first row"],
        ),
        "one decoder for two texts": ("7.6", two_texts, "error", None, ["make one for each text"]),
        "to the last bit": ("7.6", with_text([0, 1, 2, 3] * 8, 0.0), "failed", "always-true", ["how far apart"]),
        "a used decoder": ("7.6", of_a_used_decoder, "failed", "always-true", ["even of the right ones"]),
        "too long": ("7.6", with_text([0] * 40), "error", None, ["at most 32"]),
        "looks inside": ("7.6", lambda make_decoder: make_decoder().cache, "error", None, ["full and step"]),
    }
)  # fmt: skip


def test_an_error_lists_no_implementations():
    """Of a test that raises an error, what it would say of each implementation is no help."""
    message = check("7.6", two_texts).message
    assert "32 steps" in message
    assert "Right for" not in message
