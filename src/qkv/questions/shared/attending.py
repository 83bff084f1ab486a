"""Attention with mistakes: in how weights are shared out, how values are mixed, and what is returned."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, scaled_scores
from qkv.questions.engine import Seen, by_knob, mistake
from qkv.questions.shared.products import PRODUCTS, Product, q_with_k
from qkv.questions.shared.scales import SCALES, Scale, by_root

Share = Callable[[Tensor], Tensor]  # of scores: the weights
Mix = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # of weights, q, k, v: the output
Give = Callable[[Tensor, Tensor, Tensor], Any]  # of the output, weights and scores: what is returned


def over_keys(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def mixed(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def out_and_weights(out: Tensor, weights: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    return out, weights


def attention_variant(
    scale: Scale = by_root,
    product: Product = q_with_k,
    share: Share = over_keys,
    mix: Mix = mixed,
    give: Give = out_and_weights,
) -> Callable[..., Any]:
    """Give an attention that goes wrong at some of its five steps."""

    def variant(q: Tensor, k: Tensor, v: Tensor) -> Any:
        scores = product(q, k)
        scores = scores / scale(scores, q, k)
        weights = share(scores)
        return give(mix(weights, q, k, v), weights, scores)

    return variant


# ── how weights are shared out ────────────────────────────────────────────────────────────────────


def over_each_table(scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(dim=-1).view_as(scores)


def over_the_whole_batch(scores: Tensor) -> Tensor:
    return scores.flatten().softmax(dim=-1).view_as(scores)


def below_the_diagonal(scores: Tensor) -> Tensor:
    return over_keys(scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf))


shared_out = by_knob("share")

SHARES = (
    shared_out("softmax-over-queries", lambda scores: scores.softmax(dim=-2)),
    shared_out("softmax-over-everything", over_each_table, over_the_whole_batch),
    shared_out("softmax-over-first-axis", lambda scores: scores.softmax(dim=0)),
    shared_out("softmax-axis-from-the-front", lambda scores: scores.softmax(dim=1)),
    shared_out("no-softmax", lambda scores: scores),
    shared_out("not-normalised", torch.exp),
    shared_out("exponential-forgotten", lambda scores: scores / scores.sum(dim=-1, keepdim=True)),
    shared_out("sigmoid", torch.sigmoid),
    shared_out("softmax-twice", lambda scores: over_keys(over_keys(scores))),
    shared_out("log-softmax", lambda scores: scores.log_softmax(dim=-1)),
    shared_out("only-the-best-key", lambda scores: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)),
    shared_out("all-keys-alike", lambda scores: torch.full_like(scores, 1 / scores.shape[-1])),
    shared_out("masked-though-not-asked", below_the_diagonal),
    shared_out("scores-negated", lambda scores: over_keys(-scores)),
)

# ── how values are mixed ──────────────────────────────────────────────────────────────────────────

mixed_by = by_knob("mix")

MIXES = (
    mixed_by("weights-times-values-one-by-one", lambda weights, q, k, v: weights * v, alone=True),
    mixed_by("values-on-the-left", lambda weights, q, k, v: v @ weights, alone=True),
    mixed_by("keys-used-as-values", lambda weights, q, k, v: weights @ k),
    mixed_by("queries-used-as-values", lambda weights, q, k, v: weights @ q),
    mixed_by("weights-transposed-in-the-mix", lambda weights, q, k, v: weights.mT @ v),
)

# Of attention as a whole; one with a mask needs its own.
INPUTS = (
    mistake("values-used-as-keys", lambda q, k, v: attention(q, v, v)),
    mistake("keys-and-values-swapped", lambda q, k, v: attention(q, v, k)),
    mistake("scores-mixed", lambda q, k, v: (scaled_scores(q, k) @ v, attention(q, k, v)[1])),
)

# ── what is scaled, besides the scores ────────────────────────────────────────────────────────────


def weights_scaled(weights: Tensor, q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights / math.sqrt(q.shape[-1])
    return weights @ v, weights


def output_scaled(weights: Tensor, q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return weights @ v / math.sqrt(q.shape[-1]), weights


ELSEWHERE_SCALED = (
    mistake("scaled-by-d-v", lambda q, k, v: attention_variant(scale=lambda *_: math.sqrt(v.shape[-1]))(q, k, v)),
    mistake("scale-after-softmax", lambda q, k, v: weights_scaled(over_keys(q_with_k(q, k)), q, v)),
    mistake("scaled-twice", lambda q, k, v: weights_scaled(attention(q, k, v)[1], q, v)),
    mistake(
        "output-scaled",
        lambda q, k, v: output_scaled(over_keys(q_with_k(q, k)), q, v),
        lambda q, k, v: output_scaled(attention(q, k, v)[1], q, v),
    ),
)

# ── what is returned ──────────────────────────────────────────────────────────────────────────────

given = by_knob("give")

RETURNS = (
    given("output-and-weights-swapped", lambda out, weights, scores: (weights, out)),
    given("scores-returned", lambda out, weights, scores: (out, scores)),
    given("weights-transposed", lambda out, weights, scores: (out, weights.mT)),
    given("weights-not-returned", lambda out, weights, scores: out),
    given("output-not-returned", lambda out, weights, scores: weights),
    given("output-returned-twice", lambda out, weights, scores: (out, out)),
)

ATTENTION = (*SHARES, *SCALES, *ELSEWHERE_SCALED, *PRODUCTS, *MIXES, *INPUTS, *RETURNS)


def first_row_sum(seen: Seen) -> str:
    """Quote what the first row of weights sums to, where weights came back beside an output."""
    return row_sum(seen.value[1] if isinstance(seen.value, (tuple, list)) and len(seen.value) == 2 else None)


def row_sum(value: Any) -> str:
    """Quote what the first row of a table sums to."""
    return f"{float(value.sum(-1).flatten()[0]):.3g}" if isinstance(value, Tensor) and value.ndim else "another number"
