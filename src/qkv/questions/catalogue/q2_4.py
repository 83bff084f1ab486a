"""2.4: the mixture of the values."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import weighted_sum
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.products import right_for
from qkv.questions.shared.scales import NON_SQUARES

Unary = Callable[[Tensor], Tensor]
Mix = Callable[[Tensor, Tensor], Tensor]  # (weights, v) -> output


def draw_mixtures(draw: Draw) -> list[Case]:
    """Draw weights and values, in several sizes."""

    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        change_weights: Unary = lambda weights: weights,
        **fixed: int,
    ) -> Case:
        s = draw.sizes("n_q", "n_k", "d_v", **fixed)
        weights = change_weights(draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype))
        return Case(call(weights, draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)), name, s)

    same = draw.choose(NON_SQUARES)
    return [
        *draw.situations(case),
        case("one query", n_q=1),
        case("one key", n_k=1),
        case("d_v = 1", d_v=1),
        case("as many queries as keys", n_q=same, n_k=same),
        case("as many keys as features of a value", n_k=same, d_v=same),
        case("as many queries as features of a value", n_q=same, d_v=same),
        case("all sizes equal", n_q=same, n_k=same, d_v=same),
        case("rows that do not sum to 1", change_weights=lambda weights: 2 * weights * (weights > weights.median())),
    ]


def product(weights: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def weighted_values(weights: Tensor, v: Tensor) -> Tensor:
    """Return each value times each of its weights: (..., n_q, n_k, d_v)."""
    return weights.unsqueeze(-1) * v.unsqueeze(-3)


def mixture_variant(
    change_weights: Unary = lambda weights: weights,
    change_values: Unary = lambda v: v,
    mix: Mix = product,
    after: Unary = lambda out: out,
) -> Callable[..., Tensor]:
    """Return an answer(weights, v); by default it is right.

    The arguments change the weights and the values, replace their product, or change the output.
    """

    def variant(weights: Tensor, v: Tensor) -> Tensor:
        return after(mix(change_weights(weights), change_values(v)))

    return variant


def best_key(weights: Tensor) -> Tensor:
    return (weights == weights.amax(-1, keepdim=True)).to(weights.dtype)


weighed = by_knob("change_weights")
valued = by_knob("change_values")
mixed = by_knob("mix")
changed = by_knob("after")

QUESTION = Question(
    points=2,
    inputs=("weights", "v"),
    outputs=("out (..., n_q, d_v)",),
    draw=draw_mixtures,
    reference=weighted_sum,
    variant=mixture_variant,
    gradients=True,
    quotes={"right_for": right_for},
    misconceptions=(
        Misconception(
            "mixed-by-columns",
            knobs={"change_weights": lambda weights: weights.mT},
            twins=(
                lambda weights, v: weighted_values(weights.mT, v).sum(-2),
            ),  # axes of size 1 broadcast, as in einsum
        ),
        weighed("softmax-again", lambda weights: weights.softmax(-1)),
        weighed("softmax-over-queries", lambda weights: weights.softmax(-2)),
        weighed("rows-made-to-sum-to-1", lambda weights: weights / weights.sum(-1, keepdim=True)),
        weighed(
            "weights-have-no-say", lambda weights: torch.full_like(weights, 1 / weights.shape[-1]), torch.ones_like
        ),
        weighed("only-the-best-key", best_key, lambda weights: weights * best_key(weights)),
        weighed("masked-though-not-asked", lambda weights: weights.tril()),
        valued("values-transposed", lambda v: v.mT),
        mixed("values-on-the-left", lambda weights, v: v @ weights),
        mixed("entry-by-entry", lambda weights, v: weights * v),
        mixed("not-summed", weighted_values),
        mixed("summed-over-queries", lambda weights, v: weighted_values(weights, v).sum(-3)),
        mixed("summed-over-features", lambda weights, v: weighted_values(weights, v).sum(-1)),
        mixed(
            "axis-counted-from-the-front",
            lambda weights, v: weighted_values(weights, v).sum(1),
            lambda weights, v: (weights[:, :, None] * v[None, :, :]).sum(1),
        ),
        mixed("one-batch-shape", torch.bmm, torch.mm),
        mixed("averaged-over-keys", lambda weights, v: weights @ v / weights.shape[-1]),
        mixed(
            "scaled-though-not-asked",
            lambda weights, v: weights @ v / math.sqrt(v.shape[-1]),
            lambda weights, v: weights @ v / math.sqrt(v.shape[-2]),
        ),
        changed("transposed", lambda out: out.mT),
        changed("laid-out-along-the-wrong-axis", lambda out: out.mT.reshape(out.shape)),
        mistake("last-key-left-out", lambda weights, v: weights[..., :-1] @ v[..., :-1, :]),
        mistake("weights-returned-too", lambda weights, v: (weights @ v, weights)),
        mistake("weights-returned", lambda weights, v: weights),
        mistake("values-returned", lambda weights, v: v),
    ),
)
