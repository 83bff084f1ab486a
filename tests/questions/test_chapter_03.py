"""Chapter 3: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from qkv.questions import questions_of
from qkv.questions.engine import behind
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict

QUESTIONS = questions_of(3)

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def scores_by_loops(q, k):
    lead = q.shape[:-2]
    q, k = q.reshape(-1, *q.shape[-2:]), k.reshape(-1, *k.shape[-2:])
    rows = [[[sum(a * b) / len(a) ** 0.5 for b in ks] for a in qs] for qs, ks in zip(q, k, strict=True)]
    return torch.stack([torch.stack([torch.stack(row) for row in table]) for table in rows]).reshape(
        *lead, q.shape[1], k.shape[1]
    )


def scores_in_place(q, k):
    scores = torch.matmul(q, k.transpose(-1, -2))
    scores /= torch.sqrt(torch.tensor(k.size(-1)))
    return scores


def scores_by_broadcasting(q, k):
    return (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) * q.shape[-1] ** -0.5


def scores_filled(q, k):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            scores[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(-1)
    return scores / np.sqrt(q.shape[-1])


SCORES = [
    scores_by_loops,
    scores_in_place,
    scores_by_broadcasting,
    scores_filled,
    lambda q, k: torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.shape[-1]),
    lambda q, k: (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT,
    lambda q, k: F.linear(q, k) / math.sqrt(q.shape[-1]) if q.ndim == 2 else q @ k.mT / k.shape[-1] ** 0.5,
]


def variance_by_summing(d_k, var_q, var_k):
    return sum(var_q * var_k for _ in range(d_k))


VARIANCES = [
    variance_by_summing,
    lambda d_k, var_q, var_k: math.prod((d_k, var_q, var_k)),
    lambda d_k, var_q, var_k: torch.tensor(var_q * var_k * d_k, dtype=torch.float64),
    lambda d_k, var_q, var_k: np.float64(d_k) * var_q * var_k,
    lambda d_k, var_q, var_k: (math.sqrt(d_k) * math.sqrt(var_q) * math.sqrt(var_k)) ** 2,
    lambda n, a, b, *rest: torch.full((n,), a * b, dtype=torch.float64).sum().item(),
]


def attention_by_hand(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


def attention_by_rows(q, k, v):
    outs, rows = [], []
    for i in range(q.shape[-2]):
        scores = (k @ q[..., i, :, None]).squeeze(-1) / q.shape[-1] ** 0.5
        weights = F.softmax(scores, dim=-1)
        rows.append(weights)
        outs.append((weights.unsqueeze(-1) * v).sum(-2))
    return torch.stack(outs, dim=-2), torch.stack(rows, dim=-2)


def attention_as_a_list(q, k, v):
    weights = torch.nn.Softmax(dim=-1)(q.matmul(k.transpose(-2, -1)).div(math.sqrt(k.shape[-1])))
    return [torch.matmul(weights, v), weights]


def attention_by_torch(q, k, v):
    weights = F.scaled_dot_product_attention(q, k, torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-1], -1))
    return F.scaled_dot_product_attention(q, k, v), weights


def attention_in_place(q, k, v):
    weights = q @ k.mT
    weights.mul_(q.shape[-1] ** -0.5)
    weights = weights.sub_(weights.amax(-1, keepdim=True).detach()).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ v, weights


class Attends:
    """A callable object; the names of parameters do not matter."""

    def __call__(self, a, b, c):
        return attention_by_hand(a, b, c)


ATTENTIONS = [attention_by_hand, attention_by_rows, attention_as_a_list, attention_by_torch, attention_in_place]
ATTENTIONS.append(Attends())


def jacobian_by_loops(p):
    n = len(p)
    table = torch.zeros(n, n, dtype=p.dtype)
    for i in range(n):
        for j in range(n):
            table[i, j] = p[i] * (float(i == j) - p[j])
    return table


JACOBIANS = [
    jacobian_by_loops,
    lambda p: torch.diag(p) - torch.outer(p, p),
    lambda p: p[:, None] * (torch.eye(len(p), dtype=p.dtype) - p),
    lambda p: torch.autograd.functional.jacobian(lambda z: z.softmax(-1), p.log()),
    lambda p: torch.diag(p).addr_(p, p, alpha=-1),
    lambda p: torch.einsum("i,ij->ij", p, torch.eye(p.numel()).to(p)) - torch.einsum("i,j->ij", p, p),
]


def expected(q, k):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)


def catches_by_the_output(attend):
    q, k, v = 3 * torch.randn(4, 6), torch.randn(9, 6), torch.randn(9, 5)
    return bool((attend(q, k, v)[0] - expected(q, k) @ v).abs().max() > 0.01)


def catches_by_a_batch(attend):
    q, k, v = (3 * torch.randn(2, 3, n, d, dtype=torch.float64) for n, d in ((4, 5), (6, 5), (6, 7)))
    out, weights = attend(q=q, v=v, k=k)
    return not (torch.allclose(weights, expected(q, k), atol=1e-5) and torch.allclose(out, weights @ v, atol=1e-5))


def catches_by_odds(attend):
    """The logarithm of the odds of two keys is the difference of their scores."""
    q = torch.tensor([[1.0] + [0.0] * 9])
    k = torch.cat([q, -q, 0 * q])
    weights = attend(q, k, torch.randn(3, 11))[1][0]
    return torch.log(weights[0] / weights[1]).sub(2 / 10**0.5).abs() > 1e-3 or abs(weights.sum() - 1) > 1e-3


def catches_by_numpy(attend):
    draw = np.random.default_rng(1)
    q, k, v = (torch.tensor(draw.normal(size=size, scale=2)).float() for size in ((3, 12), (7, 12), (7, 2)))
    return not np.allclose(attend(q, k, v)[1].numpy(), expected(q, k).numpy(), atol=1e-3)


CATCHES = [catches_by_the_output, catches_by_a_batch, catches_by_odds, catches_by_numpy]

test_a_right_answer_is_accepted = right_answers(
    {"3.1": SCORES, "3.2": VARIANCES, "3.3": ATTENTIONS, "3.4": JACOBIANS, "3.5": CATCHES}
)

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def weights(q, k):
    return scores(q, k).softmax(-1)


def attends(scores, v):
    return scores.softmax(-1) @ v, scores.softmax(-1)


def stub(*inputs):
    raise NotImplementedError


SAID = {
    "raises": ("3.1", lambda q, k: 1 / 0, "error", None, ["ZeroDivisionError", "division by zero", "float32 tensor"]),
    "exits": ("3.1", lambda q, k: exit(), "error", None, ["SystemExit"]),
    "too few parameters": ("3.1", lambda q: q, "error", None, ["takes 1 positional argument", "called with q, k"]),
    "stub": ("3.1", stub, "not attempted", None, ["NotImplementedError"]),
    "nothing": ("3.3", lambda q, k, v: None, "not attempted", None, ["returned None", "`return`"]),
    "shape": ("3.1", lambda q, k: scores(q, k).sum(-1), "failed", None, ["shape of your scores is (", "n_q, n_k)"]),
    "one of two": ("3.3", lambda q, k, v: v, "failed", None, ["One thing came back", "two were asked for", "weights"]),
    "three of two": ("3.3", lambda q, k, v: (v, v, v), "failed", None, ["Three things came back", "two were asked"]),
    "two of one": ("3.1", lambda q, k: (scores(q, k), k), "failed", None, ["Two things came back", "one was: scores"]),
    "dtype": ("3.1", lambda q, k: scores(q, k).half(), "failed", "half-precision", []),
    "double": ("3.1", lambda q, k: scores(q, k).double(), "failed", "wrong-dtype", ["float64", "float32 was expected"]),
    "float32 only": ("3.1", lambda q, k: scores(q, k).float(), "passed", None, ["One remark", "float32"]),
    "nan": ("3.1", lambda q, k: scores(q, k) / 0 * 0, "failed", None, ["NaN in your scores", "What was"][:1]),
    "a list": ("3.1", lambda q, k: scores(q, k).tolist(), "failed", None, ["a list of", " lists", "tensor"]),
    "a text": ("3.2", lambda *_: "d_k", "failed", None, ["the text 'd_k'", "the number"]),
    "an array": ("3.1", lambda q, k: scores(q, k).numpy(), "failed", "gradient-cut", ["NumPy array", "tensor of"]),
    "a round trip": (
        "3.1", lambda q, k: torch.from_numpy(scores(q, k).numpy()), "failed", "gradient-cut", ["requires grad"],
    ),
    "detached": (
        "3.1", lambda q, k: scores(q, k).detach(), "failed", "gradient-cut", ["no gradient reaches q, k"],
    ),
    "half detached": (
        "3.3", lambda q, k, v: (weights(q, k).detach() @ v, weights(q, k)),
        "failed", "gradient-cut", ["a part of it is cut off"],
    ),
    "query detached": ("3.1", lambda q, k: scores(q.detach(), k), "failed", "gradient-cut", ["reaches q"]),
    "no graph": ("3.1", torch.no_grad()(scores), "failed", "gradient-cut", ["no gradient"]),
    "writes": (
        "3.1", lambda q, k: q.div_(math.sqrt(q.shape[-1])) @ k.mT, "failed", "inputs-changed", ["writes into", "q has"],
    ),
    "random": ("3.1", lambda q, k: scores(q, k) + torch.randn(1), "failed", "not-the-same-twice", ["at random"]),
    "2 % off": ("3.1", lambda q, k: scores(q, k) * 1.02, "failed", None, ["1.02 times what was expected"]),
    "ln 2": ("3.1", lambda q, k: scores(q, k) * math.log(2), "failed", None, ["ln 2 times"]),
    "the measured spread": (
        "3.1", lambda q, k: (s := q @ k.mT) / s.std(), "failed", "scaled-by-measured-spread", ["was measured"],
    ),
    "the measured spread of a row": (
        "3.1", lambda q, k: (s := q @ k.mT) / s.std(-1, keepdim=True), "failed", "scaled-by-measured-spread", [],
    ),
    "the root alone": ("3.2", lambda d_k, a, b: math.sqrt(d_k), "failed", "root-of-d-k-alone", ["standard deviation"]),
    "hard-coded": ("3.1", lambda q, k: q @ k.mT / 8, "failed", "hard-coded-size", ["right only if d_k is 64"]),
    "a power without brackets": (
        "3.3", lambda q, k, v: attends(q @ k.mT / q.shape[-1] ** 1 / 2, v), "failed", "one-over-root-off", ["brackets"],
    ),
    "the root three times": (
        "3.3", lambda q, k, v: attends(scores(q, k) / q.shape[-1], v), "failed", "scaled-again", ["How often"],
    ),
    "queries transposed": (
        "3.1", lambda q, k: q.mT @ k / math.sqrt(q.shape[-1]), "error", "queries-transposed", ["transpose q"],
    ),
    "right with a batch axis alone": (
        "3.1", lambda q, k: q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, "error", "axes-of-a-batch-alone", ["one batch"],
    ),
    "a single sequence": ("3.1", lambda q, k: torch.mm(q, k.t()) / q.shape[1] ** 0.5, "error", "one-batch-shape", []),
    "squeezed": ("3.1", lambda q, k: scores(q, k).squeeze(), "failed", None, ["Right for: plain", "one query"]),
    "shifted": ("3.1", lambda q, k: scores(q, k.roll(1, -2)), "failed", None, ["shifted by one along the last axis"]),
    "reversed": ("3.1", lambda q, k: scores(q, k).flip(-1), "failed", None, ["reverse order along the last axis"]),
    "reshaped": (
        "3.1", lambda q, k: scores(k, q).reshape(*q.shape[:-1], -1), "failed", None, ["that should be transposed"],
    ),
    "one row": (
        "3.3", lambda q, k, v: ((w := zero_first_row(weights(q, k))) @ v, w), "failed", None, ["row 0"],
    ),
    "offset": ("3.4", lambda p: torch.diag(p) - torch.outer(p, p) + 0.5, "failed", None, ["off by the same amount"]),
    "a comparison in a subtraction": (
        "3.4", lambda p: p[:, None] * ((torch.arange(len(p))[:, None] == torch.arange(len(p))) - p),
        "error", "true-and-false-subtracted", ["what makes numbers of them"],
    ),
    "indices that are compared": (
        "3.4", lambda p: torch.stack([torch.stack([a * ((i == j) - b) for j, b in enumerate(p)])
                                      for i, a in enumerate(p)]),
        "error", "true-and-false-subtracted", ["what makes numbers of them"],
    ),
    "a softmax of no axis": (
        "3.3", lambda q, k, v: ((w := torch.softmax(scores(q, k))) @ v, w),
        "error", "softmax-without-an-axis", ["along which axis"],
    ),
    "a maximum with its indices": (
        "3.4", lambda p: p - p.max(dim=-1), "error", "values-and-indices", ["values and their indices"],
    ),
    "a root of a number": (
        "3.3", lambda q, k, v: ((w := (q @ k.mT / torch.sqrt(q.size(-1))).softmax(-1)) @ v, w),
        "error", "a-number-for-a-tensor", ["plain number"],
    ),
    "a test that raises": ("3.5", lambda attend: 1 / 0, "error", None, ["ZeroDivisionError"]),
    "a test for errors": ("3.5", lambda attend: attend(torch.ones(3)), "error", "arguments-do-not-fit", ["positional"]),
    "a test of nothing": ("3.5", lambda attend: None, "not attempted", None, ["returned None"]),
    "a test that gives a number": ("3.5", lambda attend: 0.5, "failed", None, ["verdict is the number 0.5", "True st"]),
    "a test of True": ("3.5", lambda attend: True, "failed", "always-true", ["even of the right ones"]),
    "a test with one key": (
        "3.5", lambda attend: compares_with(attend, 5, 1, 7), "failed",
        "accepts-one-that-does-not-divide", ["how many keys"],
    ),
    "a test with d_k = 4": (
        "3.5", lambda attend: compares_with(attend, 5, 7, 4), "failed",
        "accepts-one-that-divides-by-half-of-d-k", ["d_k ** 1 / 2"],
    ),
    "a test with d_k = 64": (
        "3.5", lambda attend: compares_with(attend, 5, 7, 64), "failed",
        "accepts-one-that-divides-by-the-root-of-d-k-rounded", ["rounds"],
    ),
    "a test with as many keys as features": (
        "3.5", lambda attend: compares_with(attend, 5, 7, 7), "failed",
        "accepts-one-that-divides-by-the-root-of-n-k", ["√n_k"],
    ),
    "a test to the last bit": (
        "3.5", lambda attend: compares_with(attend, 5, 7, 6, 0.0), "failed", "right-one-accused", ["round"],
    ),
    "a test that is turned round": (
        "3.5", lambda attend: not compares_with(attend, 5, 7, 6), "failed", "right-and-wrong-swapped", ["stand for"],
    ),
    "a test that is turned round, and finds little": (
        "3.5", lambda attend: not compares_with(attend, 5, 7, 4), "failed", "right-and-wrong-swapped", ["way round"],
    ),
    "a test that is turned round, to the last bit": (
        "3.5", lambda attend: not compares_with(attend, 5, 7, 6, 0.0),
        "failed", "right-and-wrong-swapped", ["stand for"],
    ),
    "a test by a wrong formula": (
        "3.5", lambda attend: compares_with(attend, 5, 7, 6, scale=6), "failed", "own-result-wrong", ["same wrong"],
    ),
    "a test that calls nothing": (
        "3.5", lambda attend: not torch.equal(torch.ones(3), torch.zeros(3)), "failed", "always-true", ["call what it"],
    ),
    "a test that calls nothing, the other way": (
        "3.5", lambda attend: torch.equal(torch.ones(3), torch.zeros(3)), "failed", "always-false", ["call what it"],
    ),
    "a test that allows too much": (
        "3.5", lambda attend: compares_with(attend, 5, 7, 6, 0.15), "failed",
        "accepts-one-that-divides-by-half-of-d-k", ["how large a difference"],
    ),
    "a test by a threshold": (
        "3.5", lambda attend: bool(attend(*(draws(n, 512) for n in (3, 5, 5)))[1].max() > 0.9), "failed",
        "accepts-one-that-divides-by-d-k", ["from which difference on"],
    ),
    "a test that calls for ever": (
        "3.5", lambda attend: [attend(*[torch.ones(2, 3)] * 3) for _ in range(300)], "error", None, ["200 calls"],
    ),
    "a test with a gradient": (
        "3.5", lambda attend: attend(*[torch.ones(2, 3, requires_grad=True)] * 3)[0].sum().backward(),
        "error", None, ["does not require grad"],
    ),
}  # fmt: skip


def compares_with(attend, n_q, n_k, d_k, tolerance=1e-3, scale=None):
    """A test that compares weights, on inputs of these sizes."""
    draw = torch.Generator().manual_seed(3)
    q, k, v = (2 * torch.randn(n, d, generator=draw) for n, d in ((n_q, d_k), (n_k, d_k), (n_k, 9)))
    weights = (q @ k.mT / (scale or math.sqrt(d_k))).softmax(-1)
    return bool((attend(q, k, v)[1] - weights).abs().max() > tolerance)


def draws(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sizes[0]))


def zero_first_row(w):
    keep = torch.ones(w.shape[-2], 1, dtype=w.dtype)
    keep[0] = 0
    return w * keep


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


def test_two_problems_of_different_kinds_are_both_said():
    """A missing scale, in code that takes one sequence only."""

    def answer(q, k):
        _n_q, _d_k = q.shape
        return q @ k.mT

    found = verdict(QUESTIONS["3.1"], answer)
    assert (found.status, found.misconception) == ("error", "no-scale")
    assert "It also raises ValueError" in found.message
    assert "(a batch)" in found.message


def test_a_test_that_gives_two_verdicts_is_asked_for_its_tolerance():
    """Right when it is called first, wrong when it is called again, as a draw near its tolerance would have it."""
    met = set()

    def answer(attend):
        torch.rand(())
        one = behind(attend)
        again = (one.name, one.args) in met
        met.add((one.name, one.args))
        return compares_with(attend, 5, 7, 6) != again

    found = verdict(QUESTIONS["3.5"], answer)
    assert found.misconception == "not-the-same-twice"
    assert "tolerance too small" in found.message


def test_reckoning_in_float32_is_accepted_with_a_remark():
    for _ in range(5):
        found = verdict(QUESTIONS["3.1"], lambda q, k: scores(q.float(), k.float()).to(q.dtype))
        assert found.status == "passed"
        assert "fewer digits" in found.message


def test_the_inputs_are_named():
    cases_with = verdict(QUESTIONS["3.1"], lambda q, k: q @ k.mT).tried
    assert cases_with.startswith("q (")
    assert ", k (" in cases_with
    assert verdict(QUESTIONS["3.2"], lambda d_k, a, b: a * b).tried.startswith("d_k = ")
