"""Attention with mistakes: in how scores become weights, in how values are mixed, and in what is returned."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, scaled_scores
from qkv.questions.engine import Seen, by_knob, mistake
from qkv.questions.shared.products import PRODUCTS, Product, dot_products
from qkv.questions.shared.scales import SCALES, Scale, root_of_d_k
from qkv.words import t

Weigh = Callable[[Tensor], Tensor]  # (scores) -> weights
Mix = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # (weights, q, k, v) -> output
Result = Callable[[Tensor, Tensor, Tensor], Any]  # (output, weights, scores) -> what the answer returns


def softmax_over_keys(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def mix_values(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def out_and_weights(out: Tensor, weights: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    return out, weights


def attention_variant(
    scale: Scale = root_of_d_k,
    product: Product = dot_products,
    weigh: Weigh = softmax_over_keys,
    mix: Mix = mix_values,
    result: Result = out_and_weights,
) -> Callable[..., Any]:
    """Return an attention function attend(q, k, v); each argument replaces one of its five steps.

    These are the divisor of the scores, the scores, the weights, the mixture of values, and what is returned.
    """

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Any:
        scores = product(q, k)
        scores = scores / scale(scores, q, k)
        weights = weigh(scores)
        return result(mix(weights, q, k, v), weights, scores)

    return attend


# ── how scores become weights ─────────────────────────────────────────────────────────────────────


def softmax_over_each_table(scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(dim=-1).view_as(scores)


def softmax_over_the_batch(scores: Tensor) -> Tensor:
    return scores.flatten().softmax(dim=-1).view_as(scores)


def causal_softmax(scores: Tensor) -> Tensor:
    return softmax_over_keys(scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf))


def softmax_without_an_axis(scores: Tensor) -> Tensor:
    """Return what `F.softmax(scores)` gives: torch takes axis 0 of a tensor with three axes, and axis 1 of others."""
    return scores.softmax(dim=0 if scores.ndim in (0, 1, 3) else 1)


weighed = by_knob("weigh")

WEIGHTS = (
    weighed("softmax-over-queries", lambda scores: scores.softmax(dim=-2)),
    weighed("softmax-over-everything", softmax_over_each_table, softmax_over_the_batch),
    weighed("softmax-over-first-axis", lambda scores: scores.softmax(dim=0)),
    weighed("softmax-axis-from-the-front", lambda scores: scores.softmax(dim=1)),
    weighed("softmax-without-an-axis", softmax_without_an_axis),
    weighed("no-softmax", lambda scores: scores),
    weighed("not-normalised", torch.exp),
    weighed("exponential-forgotten", lambda scores: scores / scores.sum(dim=-1, keepdim=True)),
    weighed("sigmoid", torch.sigmoid),
    weighed("softmax-twice", lambda scores: softmax_over_keys(softmax_over_keys(scores))),
    weighed("log-softmax", lambda scores: scores.log_softmax(dim=-1)),
    weighed("only-the-best-key", lambda scores: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)),
    weighed("all-keys-alike", lambda scores: torch.full_like(scores, 1 / scores.shape[-1])),
    weighed("masked-though-not-asked", causal_softmax),
    weighed("scores-negated", lambda scores: softmax_over_keys(-scores)),
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

# These twins replace the whole function. They take no mask, so masked attention needs its own.
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
    mistake("scale-after-softmax", lambda q, k, v: weights_scaled(softmax_over_keys(dot_products(q, k)), q, v)),
    mistake(
        "returned-weights-not-scaled", lambda q, k, v: (attention(q, k, v)[0], softmax_over_keys(dot_products(q, k)))
    ),
    mistake("scaled-twice", lambda q, k, v: weights_scaled(attention(q, k, v)[1], q, v)),
    mistake(
        "output-scaled",
        lambda q, k, v: output_scaled(softmax_over_keys(dot_products(q, k)), q, v),
        lambda q, k, v: output_scaled(attention(q, k, v)[1], q, v),
    ),
)

# ── what is returned ──────────────────────────────────────────────────────────────────────────────

returned = by_knob("result")

RETURNS = (
    returned("output-and-weights-swapped", lambda out, weights, scores: (weights, out)),
    returned("scores-returned", lambda out, weights, scores: (out, scores)),
    returned("weights-transposed", lambda out, weights, scores: (out, weights.mT)),
    returned("weights-not-returned", lambda out, weights, scores: out),
    returned("output-not-returned", lambda out, weights, scores: weights),
    returned("output-returned-twice", lambda out, weights, scores: (out, out)),
)

ATTENTION = (*WEIGHTS, *SCALES, *ELSEWHERE_SCALED, *PRODUCTS, *MIXES, *INPUTS, *RETURNS)


def first_row_sum(seen: Seen) -> str:
    """Return the sum of the first row of weights, as text, where the answer returned an output and weights."""
    return row_sum(seen.value[1] if isinstance(seen.value, (tuple, list)) and len(seen.value) == 2 else None)


def row_sum(value: Any) -> str:
    """Return the sum of a tensor's first row, as text of three digits; "another number" for anything else."""
    return (
        f"{float(value.sum(-1).flatten()[0]):.3g}" if isinstance(value, Tensor) and value.ndim else t("another number")
    )
