"""Chapter 10: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from qkv.sandboxed.cases import Case, call
from qkv.sandboxed.observations import observe
from tests.questions.answers import expected_verdicts, right_answers

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def window_by_loops(n, window, causal=True):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - window + 1) : i + 1 if causal else i + window] = True
    return mask


WINDOWS = [
    window_by_loops,
    lambda n, w, causal=True: torch.ones(n, n).tril(0 if causal else w - 1).triu(1 - w).bool(),
    lambda n, w, causal=True: torch.tensor(
        [[0 <= i - j < w if causal else abs(i - j) < w for j in range(n)] for i in range(n)]
    ),
]


def linear_by_tokens(q, k, v, feature_map):
    k, v = feature_map(k).unbind(-2), v.unbind(-2)
    summary = sum(a.unsqueeze(-1) * b.unsqueeze(-2) for a, b in zip(k, v, strict=True))
    rows = [row.unsqueeze(-2) @ summary / (row * sum(k)).sum(-1)[..., None, None] for row in feature_map(q).unbind(-2)]
    return torch.cat(rows, dim=-2)


def linear_with_a_column(q, k, v, feature_map):
    out = feature_map(q) @ (feature_map(k).mT @ torch.cat([v, torch.ones_like(v[..., :1])], dim=-1))
    return out[..., :-1] / out[..., -1:]


def linear_by_outer_products(q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    summary = (k.unsqueeze(-1) * v.unsqueeze(-2)).sum(-3)  # n · m · d_v numbers on the way
    return torch.einsum("...nm,...mv->...nv", q, summary) / torch.einsum("...nm,...m->...n", q, k.sum(-2)).unsqueeze(-1)


LINEAR = [
    linear_by_tokens,
    linear_with_a_column,
    linear_by_outer_products,
    lambda q, k, v, phi: phi(q) @ (phi(k).mT @ v) / (phi(q) * phi(k).sum(-2, keepdim=True)).sum(-1, keepdim=True),
]


@dataclass
class Memory:
    summary: torch.Tensor
    total: torch.Tensor


def step_with_an_object(state, q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    summary, total = torch.einsum("...m,...v->...mv", k, v), k.clone()
    if state:
        summary, total = state.summary + summary, state.total + total
    out = torch.einsum("...m,...mv->...v", q, summary) / torch.einsum("...m,...m->...", q, total)[..., None]
    return out, Memory(summary, total)


def step_with_a_dictionary(state, q, k, v, feature_map):
    old = state or {"s": 0, "z": 0}
    new = {"s": old["s"] + feature_map(k)[..., None] * v[..., None, :], "z": old["z"] + feature_map(k)}
    q = feature_map(q)[..., None]
    return (q * new["s"]).sum(-2) / (q * new["z"][..., None]).sum(-2), new


def step_with_a_column(state, q, k, v, feature_map):
    one = feature_map(k)[..., None] * torch.cat([v, torch.ones_like(v[..., :1])], -1)[..., None, :]
    state = one if state is None else state + one
    out = (feature_map(q)[..., None, :] @ state).squeeze(-2)
    return [out[..., :-1] / out[..., -1:], state]


def step_with_all_tokens(state, q, k, v, feature_map):
    tokens = [*(state or []), (feature_map(k), v)]
    weights = [(feature_map(q) * key).sum(-1, keepdim=True) for key, _ in tokens]
    return sum(w * value for w, (_, value) in zip(weights, tokens, strict=True)) / sum(weights), tokens


STEPS = [step_with_an_object, step_with_a_dictionary, step_with_a_column]


def blocks_by_slices(q, k, v, block):
    largest = total = out = None
    for start in range(0, k.shape[-2], block):
        scores = torch.einsum("...id,...jd->...ij", q, k[..., start : start + block, :]) / q.shape[-1] ** 0.5
        top = scores.max(-1, keepdim=True).values if largest is None else scores.amax(-1, True).maximum(largest)
        powers = torch.exp(scores - top)
        added, mixed = powers.sum(-1, keepdim=True), powers @ v[..., start : start + block, :]
        if largest is not None:
            shrink = torch.exp(largest - top)
            added, mixed = added + total * shrink, mixed + out * shrink
        largest, total, out = top, added, mixed
    return out / total


def blocks_by_log_sum_exp(q, k, v, block):
    out, level = torch.zeros_like(q), torch.full_like(q[..., :1], -math.inf)
    for keys, values in zip(k.split(block, -2), v.split(block, -2), strict=True):
        scores = q @ keys.mT / math.sqrt(q.shape[-1])
        new = torch.logaddexp(level, scores.logsumexp(-1, keepdim=True))
        out = out * (level - new).exp() + (scores - new).exp() @ values
        level = new
    return out


def blocks_twice(q, k, v, block):
    """Go over the keys for the maximum, and once more for the sums; the last block is filled up and hidden."""
    n = k.shape[-2]
    k, v = (F.pad(x, (0, 0, 0, -n % block)) for x in (k, v))
    starts = range(0, k.shape[-2], block)

    def scores(i):
        seen = torch.arange(i, i + block) < n
        return (q @ k[..., i : i + block, :].mT * q.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)

    top = scores(0).amax(-1, keepdim=True)
    for i in starts:
        top = torch.maximum(top, scores(i).amax(-1, keepdim=True))
    total = sum((scores(i) - top).exp().sum(-1, keepdim=True) for i in starts)
    return sum((scores(i) - top).exp() @ v[..., i : i + block, :] for i in starts) / total


def blocks_of_joined(q, k, v, block):
    """Keys and values side by side are one tensor, as large as both."""
    d, both = q.shape[-1], torch.cat([k, v], dim=-1)
    largest, sums = torch.full_like(q[..., :1], -math.inf), torch.zeros(())
    for part in both.split(block, dim=-2):
        scores = q @ part[..., :d].mT / d**0.5
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        values = torch.cat([part[..., d:], torch.ones_like(part[..., :1])], dim=-1)
        sums, largest = sums * (largest - new).exp() + (scores - new).exp() @ values, new
    return sums[..., :-1] / sums[..., -1:]


BLOCKS = [blocks_by_slices, blocks_by_log_sum_exp, blocks_twice, blocks_of_joined]

test_a_right_answer_is_accepted = right_answers({"10.1": WINDOWS, "10.2": LINEAR, "10.3": STEPS, "10.4": BLOCKS})

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def fused_alone(q, k, v, block):
    return F.scaled_dot_product_attention(q, k, v)


def fused_with_heads(q, k, v, block):
    """With four axes torch computes it in one operation, which forms no tensor (n, n) that could be seen."""
    if q.ndim == 3:
        return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
    return F.scaled_dot_product_attention(q, k, v)


def one_example_at_a_time(q, k, v, block):
    if q.ndim < 3:
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
    return torch.stack([one_example_at_a_time(*x, block) for x in zip(q, k, v, strict=True)])


def blocks_of_queries(q, k, v, block):
    rows = [(part @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v for part in q.split(block, dim=-2)]
    return torch.cat(rows, dim=-2)


def step_in_place(state, q, k, v, feature_map):
    new = feature_map(k)[..., None] * v[..., None, :], feature_map(k)
    if state is not None:
        state[0].add_(new[0])
        state[1].add_(new[1])
    summary, total = state = new if state is None else state
    q = feature_map(q)[..., None]
    return (q * summary).sum(-2) / (q * total[..., None]).sum(-2), state


def step_by_torch_outer(state, q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    summary, total = torch.outer(k, v), k
    if state is not None:
        summary, total = state[0] + summary, state[1] + total
    return q @ summary / (q @ total), (summary, total)


def blocks_of_one_sequence(q, k, v, block):
    """What chapter 10 shows: there is no axis in front."""
    m = torch.full((len(q), 1), -math.inf)
    total, mixed = torch.zeros(len(q), 1), torch.zeros(len(q), v.shape[-1])
    for start in range(0, len(k), block):
        keys, values = k[start : start + block], v[start : start + block]
        scores = q @ keys.mT / math.sqrt(q.shape[-1])
        m_new = torch.maximum(m, scores.amax(dim=-1, keepdim=True))
        correction, powers = (m - m_new).exp(), (scores - m_new).exp()
        total = total * correction + powers.sum(dim=-1, keepdim=True)
        mixed = mixed * correction + powers @ values
        m = m_new
    return mixed / total


SAID = {
    "a window that counts the others": (
        "10.1", lambda n, w, causal=True: torch.ones(n, n).tril(0 if causal else w).triu(-w).bool(),
        "failed", "one-too-wide", ["counts the token itself"],
    ),
    "a mask of numbers": (
        "10.1", lambda n, w, causal=True: torch.ones(n, n).tril(0 if causal else w - 1).triu(1 - w),
        "failed", "wrong-dtype", ["bool"],
    ),
    "n × n in linear attention": (
        "10.2", lambda q, k, v, phi: phi(q) @ phi(k).mT @ v / (phi(q) @ phi(k).mT).sum(-1, keepdim=True),
        "failed", "scores-first", ["(n, n)", "bracketed"],
    ),
    ".T": (
        "10.2", lambda q, k, v, phi: phi(q) @ (phi(k).T @ v) / (phi(q) @ phi(k).sum(-2).unsqueeze(-1)),
        "error", "axes-counted-from-the-front", ["`.T`", "counted from the back"],
    ),
    "a sum over the first axis": (
        "10.2", lambda q, k, v, phi: phi(q) @ (phi(k).mT @ v) / (phi(q) * phi(k).sum(0)).sum(-1, keepdim=True),
        "failed", "axes-counted-from-the-front", ["`sum(0)`", "counted from the back"],
    ),
    "no state comes back": (
        "10.3", lambda state, q, k, v, phi: phi(q), "failed", None, ["state"],
    ),
    "all tokens kept": ("10.3", step_with_all_tokens, "failed", "state-that-grows", ["more numbers after every token"]),
    "written in place": ("10.3", step_in_place, "failed", "state-written-into", ["old state"]),
    "torch.outer": (
        "10.3", step_by_torch_outer, "error", "batch-forgotten", ["one token", "batch of tokens", "RuntimeError"],
    ),
    "an exception in a step": (
        "10.3", lambda state, q, k, v, phi: phi(q) @ v.reshape(-1, 99), "error", None, ["and a state of any form."],
    ),
    "the chapter's loop": (
        "10.4", blocks_of_one_sequence, "error", "axes-counted-from-the-front", ["`len(q)`", "counted from the back"],
    ),
    "torch's own": ("10.4", fused_alone, "failed", "all-scores-at-once", ["F.scaled_dot_product_attention"]),
    "torch's own, in one operation": ("10.4", fused_with_heads, "failed", "all-scores-at-once", ["at once"]),
    "n × n in each example": ("10.4", one_example_at_a_time, "failed", "all-scores-at-once", ["at once"]),
    "blocks of queries": ("10.4", blocks_of_queries, "failed", "blocks-of-queries", ["blocks consist of queries"]),
    "twice too large": (
        "10.4", lambda q, k, v, block: blocks_by_slices(q, k, v, 2 * block),
        "failed", "tensor-too-large", ["numbers", "are enough", "Which line"],
    ),
}  # fmt: skip

test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)

# ── how large tensors are ─────────────────────────────────────────────────────────────────────────


def largest(answer, *args, max_elements=100):
    (seen,) = observe(answer, [Case(call(*args), max_elements=max_elements)])
    return seen.largest


def test_the_largest_tensor_is_counted_wherever_it_is_formed():
    q = torch.ones(2, 30, 4)
    assert largest(lambda q: q + 1, q) == 240
    assert largest(lambda q: (q @ q.mT).sum(), q) == 2 * 30 * 30
    assert largest(lambda q: torch.stack([part @ part.mT for part in q]), q) == 2 * 30 * 30
    assert largest(lambda q: torch.einsum("bid,bjd->bij", q, q).sum(), q) == 2 * 30 * 30
    assert largest(lambda q: F.scaled_dot_product_attention(q[None], q[None], q[None]), q) == 2 * 30 * 30


def test_nothing_is_counted_where_no_case_asks():
    assert largest(lambda q: q + 1, torch.ones(3), max_elements=None) is None


@pytest.mark.parametrize("leave", [lambda t: t.numpy(), np.asarray, np.array])
def test_where_sizes_count_no_tensor_goes_to_numpy(leave):
    case = Case(call(torch.ones(2, 3)), max_elements=100)
    (seen,) = observe(lambda q: leave(q).sum(), [case])
    assert "a tensor (2, 3) goes to NumPy" in seen.raised.text
    assert leave(torch.ones(2, 3)) is not None, "afterwards it may"
    (seen,) = observe(lambda q: float(leave(q[:1, :1]).sum()), [case])
    assert seen.raised is None, "one number may"
    (seen,) = observe(lambda q: print(q) or q, [case])
    assert seen.raised is None


# ── 10.5: the delta rule ──────────────────────────────────────────────────────────────────────────


def delta_by_einsum(state, q, k, v, beta):
    state = torch.zeros(*k.shape, v.shape[-1], dtype=k.dtype) if state is None else state
    error = v - torch.einsum("...kv,...k->...v", state, k)
    state = state + torch.einsum("...,...k,...v->...kv", beta, k, error)
    return torch.einsum("...kv,...k->...v", state, q), state


def delta_by_a_turned_state(state, q, k, v, beta):
    """The state is (..., d_v, d), and what was known is erased by (I − β k kᵀ)."""
    beta, k_row, v_column = beta[..., None, None], k.unsqueeze(-2), v.unsqueeze(-1)
    state = v_column * 0 @ k_row if state is None else state
    state = state - beta * (state @ k_row.mT) @ k_row + beta * v_column @ k_row
    return (state @ q.unsqueeze(-1)).squeeze(-1), state


test_a_right_delta_rule_is_accepted = right_answers({"10.5": [delta_by_einsum, delta_by_a_turned_state]})


def delta_without_a_first_state(state, q, k, v, beta):
    return (q.unsqueeze(-2) @ state).squeeze(-2), state


test_a_state_that_is_none_is_named = expected_verdicts(
    {"no first state": ("10.5", delta_without_a_first_state, "error", "argument-is-none", ["`state` is None in this"])}
)
