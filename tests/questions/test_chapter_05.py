"""Chapter 5: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qkv.questions import questions_of
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict

QUESTIONS = questions_of(5)

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def equal_slices(x, n_heads):
    if x.size(-1) % n_heads != 0:
        raise ValueError("d_model must be divisible by n_heads")
    return x.size(-1) // n_heads


def split_by_permute(x, n_heads):
    d_head = equal_slices(x, n_heads)
    return x.view(x.size(0), x.size(1), n_heads, d_head).permute(0, 2, 1, 3)


def split_by_slices(x, n_heads):
    d = equal_slices(x, n_heads)
    return torch.stack([x[:, :, h * d : (h + 1) * d] for h in range(n_heads)], dim=1)


def split_by_chunks(x, n_heads):
    equal_slices(x, n_heads)
    return torch.stack(x.chunk(n_heads, dim=-1)).transpose(0, 1).contiguous()


def split_by_columns(x, n_heads):
    d = equal_slices(x, n_heads)
    return x.mT.reshape(x.shape[0], n_heads, d, x.shape[1]).mT


def split_by_filling(x, n_heads):
    d = equal_slices(x, n_heads)
    heads = torch.empty(x.shape[0], n_heads, x.shape[1], d, dtype=x.dtype)
    for h in range(n_heads):
        heads[:, h] = x[..., h * d : h * d + d]
    return heads


def split_by_einsum(x, n_heads):
    equal_slices(x, n_heads)
    return torch.einsum("bnhd->bhnd", x.unflatten(-1, (n_heads, -1)))


SPLITS = [split_by_permute, split_by_slices, split_by_chunks, split_by_columns, split_by_filling, split_by_einsum]

MERGES = [
    lambda x: x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
    lambda x: torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1),
    lambda x: torch.cat(x.unbind(1), dim=2),
    lambda x: x.transpose(1, 2).contiguous().view(x.size(0), x.size(2), x.size(1) * x.size(3)),
    lambda x: x.mT.reshape(x.shape[0], -1, x.shape[2]).mT,
    lambda x: torch.einsum("bhnd->bnhd", x).flatten(-2),
    lambda x: torch.stack([torch.stack([torch.cat(list(e[:, i])) for i in range(e.shape[1])]) for e in x]),
]

CAUSALS = [
    lambda n: torch.ones(n, n).tril().bool(),
    lambda n: ~torch.ones(n, n, dtype=torch.bool).triu(1),
    lambda n: torch.arange(n)[:, None] >= torch.arange(n),
    lambda n: torch.tensor([[j <= i for j in range(n)] for i in range(n)]),
    lambda n: torch.from_numpy(np.tri(n, dtype=bool)),
    lambda n: torch.triu(torch.full((n, n), -math.inf), diagonal=1) == 0,
    lambda n: torch.eye(n).cumsum(0).flip(0).cumsum(0).flip(0).cumsum(0) > 0 if n == 1 else torch.eye(n).cumsum(0) > 0,
]


def masked_by_where(q, k, v, mask):
    scores = torch.where(mask, q @ k.mT / math.sqrt(q.shape[-1]), torch.tensor(-math.inf, dtype=q.dtype))
    weights = torch.nan_to_num(F.softmax(scores, dim=-1))
    return torch.matmul(weights, v), weights


def masked_by_hand(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(mask.logical_not(), -1e9)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
    total = powers.sum(-1, keepdim=True)
    weights = powers / torch.where(total > 0, total, torch.ones_like(total))
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


def masked_by_lowest(q, k, v, mask):
    scores = (q @ k.transpose(-1, -2)) / math.sqrt(k.size(-1))
    weights = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min).softmax(-1)
    weights = weights * mask.any(dim=-1, keepdim=True)
    return [weights @ v, weights]


def masked_by_rows(q, k, v, mask):
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    lead = q.shape[:-2]
    flat = [t.reshape(-1, *t.shape[-2:]) for t in (q, k, v, mask)]
    outs, weights = [], []
    for one_q, one_k, one_v, one_mask in zip(*flat, strict=True):
        for row, visible in zip(one_q, one_mask, strict=True):
            weight = torch.zeros(len(one_k), dtype=q.dtype)
            if visible.any():
                weight = weight.masked_scatter(visible, F.softmax(one_k[visible] @ row / len(row) ** 0.5, dim=0))
            weights.append(weight)
            outs.append((weight[:, None] * one_v).sum(0))
    shape = (*lead, q.shape[-2])
    return torch.stack(outs).reshape(*shape, -1), torch.stack(weights).reshape(*shape, -1)


def masked_in_place(q, k, v, mask):
    scores = q @ k.mT
    scores /= math.sqrt(q.shape[-1])
    hidden = ~mask
    scores.masked_fill_(hidden, -math.inf)
    weights = scores.softmax(-1).masked_fill(hidden.all(-1, keepdim=True), 0)
    return weights @ v, weights


MASKED = [masked_by_where, masked_by_hand, masked_by_lowest, masked_by_rows, masked_in_place]


class ByPermute(nn.Module):
    """Without biases, in the way that most books write it."""

    bias = False

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.d = n_heads, d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=self.bias)
        self.w_k = nn.Linear(d_model, d_model, bias=self.bias)
        self.w_v = nn.Linear(d_model, d_model, bias=self.bias)
        self.w_o = nn.Linear(d_model, d_model, bias=self.bias)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        B = query.size(0)
        q, k, v = (
            layer(x).view(B, -1, self.h, self.d).permute(0, 2, 1, 3)
            for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        return self.attend(B, q, k, v, mask)

    def attend(self, B, q, k, v, mask):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.nan_to_num(torch.softmax(scores, dim=-1), 0.0)
        out = (weights @ v).transpose(1, 2).contiguous().view(B, -1, self.h * self.d)
        return self.w_o(out), weights


class WithBias(ByPermute):
    bias = True


class MixedBias(ByPermute):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(0.0)


class HeadByHead(WithBias):
    def attend(self, B, q, k, v, mask):
        done = []
        for h in range(self.h):
            seen = None if mask is None else mask.expand(B, self.h, q.shape[2], k.shape[2])[:, h]
            seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool) if seen is None else seen
            done.append(masked_by_hand(q[:, h], k[:, h], v[:, h], seen))
        return self.w_o(torch.cat([out for out, _ in done], dim=-1)), torch.stack([w for _, w in done], dim=1)


class HeadsAsExamples(WithBias):
    """Folds heads into the batch, and unfolds them."""

    def attend(self, B, q, k, v, mask):
        q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        scores = torch.bmm(q, k.mT) / self.d**0.5
        if mask is not None:
            mask = mask.expand(B, self.h, *scores.shape[1:]).flatten(0, 1)
            weights = scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0)
        else:
            weights = scores.softmax(-1)
        heads = torch.bmm(weights, v).unflatten(0, (B, self.h))
        return self.w_o(heads.transpose(1, 2).flatten(2)), weights.unflatten(0, (B, self.h))


class ByEinsum(WithBias):
    """Sums over heads and features at once; the mask is replaced by a bias of scores."""

    def attend(self, B, q, k, v, mask):
        mask = torch.ones((), dtype=torch.bool) if mask is None else mask
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / self.d**0.5
        scores = torch.where(mask, scores, torch.full_like(scores, -1e30))
        weights = scores.softmax(-1) * mask
        w_o = self.w_o.weight.view(-1, self.h, self.d)
        return torch.einsum("bhqk,bhkd,ohd->bqo", weights, v, w_o) + self.w_o.bias, weights


class MaskedByTorch(WithBias):
    """torch's own attention for the output, and once more with the identity for the weights."""

    def attend(self, B, q, k, v, mask):
        weights = masked_by_where(q, k, v, torch.ones(1, 1, dtype=torch.bool) if mask is None else mask)[1]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if mask is not None:
            out = out.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        return self.w_o(out.transpose(1, 2).flatten(-2)), weights


MODULES = [ByPermute, WithBias, MixedBias, HeadByHead, HeadsAsExamples, ByEinsum, MaskedByTorch]

test_a_right_answer_is_accepted = right_answers(
    {"5.1": SPLITS, "5.2": MERGES, "5.3": CAUSALS, "5.4": MASKED, "5.5": MODULES}
)

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


class InAList(WithBias):
    """Its layers are not found: a plain list does not register them."""

    def __init__(self, d_model, n_heads):
        nn.Module.__init__(self)
        self.layers = [nn.Linear(d_model, d_model) for _ in range(4)]


class OtherNames(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model) for _ in range(4))


class DropsOut(WithBias):
    def attend(self, B, q, k, v, mask):
        out, weights = super().attend(B, q, k, v, mask)
        return F.dropout(out, 0.1), weights


class Remembers(WithBias):
    """Keeps a number that it drew at the first call."""

    kept = None

    def attend(self, B, q, k, v, mask):
        if Remembers.kept is None:
            Remembers.kept = torch.randn(())
        return super().attend(B, q * Remembers.kept, k, v, mask)


class BlindRowsNan(WithBias):
    def attend(self, B, q, k, v, mask):
        scores = q @ k.mT / self.d**0.5
        weights = (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1)
        return self.w_o((weights @ v).transpose(1, 2).flatten(2)), weights


class Stub(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        raise NotImplementedError


def reshaped_in_heads(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], equal_slices(x, n_heads))


def blind_to_queries(q, k, v, mask):
    return masked_by_hand(q, k, v, torch.atleast_2d(mask).any(-2, keepdim=True))


SAID = {
    "reshape": ("5.1", reshaped_in_heads, "failed", "heads-split-by-reshape", ["first few tokens"]),
    "detached split": ("5.1", lambda x, h: split_by_slices(x, h).detach(), "failed", "gradient-cut", []),
    "one size": ("5.2", lambda x: x.transpose(1, 2).reshape(7, 11, -1), "error", None, []),
    "shifted mask": ("5.3", lambda n: torch.ones(n, n, dtype=torch.bool).tril(-2), "failed", None, []),
    "only four": ("5.3", lambda n: torch.ones(4, 4, dtype=torch.bool).tril(), "failed", None, ["(4, 4)"]),
    "masked, 2 % off": ("5.4", lambda q, k, v, m: masked_by_hand(1.02 * q, k, v, m), "failed", None, []),
    "half a mask": ("5.4", blind_to_queries, "failed", None, []),
    "no batch": ("5.4", lambda q, k, v, m: masked_by_hand(*(t.view(*t.shape[-2:]) for t in (q, k, v)), m), "error",
                 None, []),
    "in a list": ("5.5", InAList, "failed", None, ["no parameters"]),
    "other names": ("5.5", OtherNames, "failed", None, ["w_q"]),
    "drops out": ("5.5", DropsOut, "failed", "not-the-same-twice", ["twice"]),
    "NaN": ("5.5", BlindRowsNan, "failed", "nan-on-a-blind-row", []),
    "a stub": ("5.5", Stub, "not attempted", None, []),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


@pytest.mark.parametrize("left", [lambda w: w.sum(-1, keepdim=True) + 1e-9, lambda w: 1])
def test_a_mask_after_the_softmax_is_no_mask_where_a_hidden_score_is_large(left):
    def answer(q, k, v, mask):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = (scores - 100.0 * ~mask).softmax(-1) * mask
        weights = weights / left(weights)
        return weights @ v, weights

    assert verdict(QUESTIONS["5.4"], answer).misconception == "mask-after-softmax"


def cleared(weights, mask):
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0)


def over_its_sum(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def powers_over_their_sum(scores, mask):
    """Masked exponentials, but the maximum is taken over hidden scores too."""
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, 1)


AFTER_THE_SOFTMAX = {
    "blind rows cleared": lambda scores, mask: cleared(over_its_sum(scores, mask), mask),
    "every NaN made 0": lambda scores, mask: over_its_sum(scores, mask).nan_to_num(),
    "by hand": powers_over_their_sum,
}


@pytest.mark.parametrize("share", AFTER_THE_SOFTMAX.values(), ids=AFTER_THE_SOFTMAX)
def test_to_divide_by_the_sum_does_not_repair_a_mask_after_the_softmax(share):
    def answer(q, k, v, mask):
        weights = share(q @ k.mT / q.shape[-1] ** 0.5, mask)
        return weights @ v, weights

    assert verdict(QUESTIONS["5.4"], answer).misconception == "mask-after-softmax"


def test_to_divide_by_the_sum_does_not_repair_a_module_either():
    class Module(WithBias):
        def attend(self, B, q, k, v, mask):
            mask = torch.ones(1, dtype=torch.bool) if mask is None else mask
            weights = powers_over_their_sum(q @ k.mT / self.d**0.5, mask)
            return self.w_o((weights @ v).transpose(1, 2).flatten(2)), weights

    assert verdict(QUESTIONS["5.5"], Module).misconception == "mask-after-softmax"


def test_what_a_class_keeps_between_calls_is_rejected():
    assert verdict(QUESTIONS["5.5"], Remembers).status != "passed"


def test_two_ideas_at_once_are_told_apart():
    question = QUESTIONS["5.5"]
    ideas = {idea.slug: idea for idea in question.misconceptions}
    both = ideas["heads-split-by-reshape"], ideas["output-not-projected"]
    message = verdict(question, question.twin(*both)).message
    assert message.startswith("Two mistakes at once.")
    assert "Which layer mixes" in message


# ── 5.7: padding and the causal mask together ─────────────────────────────────────────────────────


def mask_by_loops(lengths, causal, side):
    n = max(lengths.tolist())
    mask = torch.zeros(len(lengths), n, n, dtype=torch.bool)
    for text, length in enumerate(lengths.tolist()):
        first = n - length if side == "left" else 0
        for i in range(n):
            for j in range(n):
                both_real = all(first <= place < first + length for place in (i, j))
                mask[text, i, j] = i == j or (both_real and (j <= i or not causal))
    return mask


def mask_by_products(lengths, causal, side):
    n = int(lengths.max())
    real = torch.arange(n).expand(len(lengths), n) < lengths.unsqueeze(-1)
    real = real.flip(-1) if side == "left" else real
    mask = real.float().unsqueeze(-1) @ real.float().unsqueeze(-2) > 0
    mask = mask.tril() if causal else mask
    mask.diagonal(dim1=-2, dim2=-1).fill_(True)
    return mask


test_a_right_mask_is_accepted = right_answers({"5.7": [mask_by_loops, mask_by_products]})


# ── 5.8: diagnose ─────────────────────────────────────────────────────────────────────────────────


def weights_shown(module, scores=0.0, heads=1):
    """With x, W_V and W_O the identity, the output of a module is its matrix of weights."""
    one = torch.eye(4)
    return module(one[None], scores * one, one, one, one, heads)[0]


def diagnose_by_probes(module):
    even = weights_shown(module)
    past = torch.ones(4, 4).tril()
    for name, expected in (
        ("no mask", torch.ones(4, 4) / 4),
        ("mask after softmax", past / 4),
        ("mask turned", past.T / past.T.sum(-1, keepdim=True)),
        ("softmax over queries", past / past.sum(0)),
    ):
        if torch.allclose(even, expected, atol=1e-4):
            return name
    # Two heads, and even weights: each output row should be the mean of the tokens up to its own.
    x = torch.arange(24.0).reshape(1, 4, 6)
    zero, one = torch.zeros(6, 6), torch.eye(6)
    seen, means = module(x, zero, zero, one, one, 2), x.cumsum(1) / torch.arange(1, 5)[:, None]
    if not torch.allclose(seen, means, atol=1e-3):
        two_tokens_of_the_first_head = x[0, :2, :3].mean(0)
        merged = torch.allclose(seen[0, 0, 3:], two_tokens_of_the_first_head, atol=1e-3)
        return "heads merged by view" if merged else "heads split by view"
    ratio = weights_shown(module, 1.0, 2)[1]
    log = float((ratio[1] / ratio[0]).log())
    scales = {1.0: "no scale", 2**-0.5: "none", 0.5: "scale of d_model"}
    return scales[min(scales, key=lambda scale: abs(scale - log))]


test_a_right_diagnosis_is_accepted = right_answers({"5.8": [diagnose_by_probes]})


def test_a_wrong_diagnosis_is_told_what_input_would_differ():
    question = QUESTIONS["5.8"]

    def confused(module):
        found = diagnose_by_probes(module)
        return "none" if found == "no scale" else found

    found = verdict(question, confused)
    assert (found.status, found.misconception) == ("failed", "told-apart-wrongly")
    assert "the fault “no scale” got the answer “none”" in found.message
    assert "W_Q ten times as large" in found.message


def test_a_right_module_is_not_told_from_a_right_one():
    question = QUESTIONS["5.8"]

    def suspicious(module):
        found = diagnose_by_probes(module)
        return "no scale" if found == "none" else found

    found = verdict(question, suspicious)
    assert found.message.startswith("A module with no fault got the answer “no scale”.")
    assert "tells a module with that fault from a right one: make W_Q ten times as large" in found.message


def test_nothing_of_the_module_can_be_read():
    """Cheap tricks: attributes, closures, names of types and functions, texts and sources are the same for all."""
    seen = set()

    def peek(module):
        looks = [
            repr(getattr(module, "__dict__", None)),
            type(module).__name__,
            str(dir(module)),
            str(module.__class__),
        ]
        for name in ("__closure__", "__code__", "__wrapped__", "_ask", "hidden", "__defaults__", "__self__"):
            looks.append(str(getattr(module, name, None)))
        for given in ((), (torch.ones(1),), (torch.ones(1, 2, 3), *torch.ones(4, 2, 2), 1)):
            try:
                module(*given)
            except Exception as error:
                looks.append(f"{type(error).__name__}: {error}")
        seen.add(tuple(looks))
        return "none"

    verdict(QUESTIONS["5.8"], peek)
    assert len(seen) == 1
    assert "none" not in str(seen).replace("None", "").lower().replace("nonetype", "")
