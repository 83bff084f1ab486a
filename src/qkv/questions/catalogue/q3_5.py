"""3.5: a test that catches a wrong scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Question
from qkv.questions.shared import implementations
from qkv.questions.shared.catching import catches_wrong_scale
from qkv.words import mark, t

Attend = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Weights = Callable[[Tensor, Tensor, Tensor], Tensor]  # (q, k, v) -> weights
MAX_NUMBERS = 100_000  # at most so many numbers in the scores, and in the output
MAX_SIZE = 2_000  # of one axis: some implementations take one query at a time


def checked_attention(steps: Attend) -> Attend:
    """Return `steps` with a check of its inputs before, which raises the same errors for every implementation."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        check_inputs(q, k, v)
        return steps(q, k, v)

    attend.__qualname__ = "attend"
    return attend


def check_inputs(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise an error if q, k and v are no inputs of an attention, or if they would take much memory or time.

    It is a TypeError for their types or dtypes, and a ValueError for their shapes; torch's own RuntimeError if their
    leading axes do not broadcast.
    """
    if not all(isinstance(x, Tensor) and x.is_floating_point() and x.dtype == q.dtype for x in (q, k, v)):
        raise TypeError(t("q, k and v are tensors of one floating-point dtype"))
    shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(
            t(
                "q, k and v are (..., n_q, d_k), (..., n_k, d_k) and (..., n_k, d_v), and these are {shapes}",
                shapes=shapes,
            )
        )
    if not all(1 <= size <= MAX_SIZE for x in (q, k, v) for size in x.shape):
        raise ValueError(
            t("each size is from 1 to {most}, and these are {shapes}", most=f"{MAX_SIZE:,}", shapes=shapes)
        )
    leading = q.shape[:-2].numel()
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        # torch.broadcast_shapes would import sympy, which takes seconds
        leading = torch.broadcast_tensors(*(x[..., 0, 0] for x in (q, k, v)))[0].numel()
    if leading * q.shape[-2] * max(k.shape[-2], v.shape[-1]) > MAX_NUMBERS:
        raise ValueError(
            t("the scores and the output may have {most} numbers, and these would have more", most=f"{MAX_NUMBERS:,}")
        )


def mixing_by(weights_of: Weights, after: Callable[[Tensor, Tensor], Tensor] = lambda weights, q: weights) -> Attend:
    """Return a hidden attention(q, k, v) → out, weights.

    `after(weights, q)` changes the weights before values are mixed.
    """

    def steps(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = after(weights_of(q, k, v), q)
        return weights @ v, weights

    return checked_attention(steps)


# ── right implementations ─────────────────────────────────────────────────────────────────────────


def formula(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)


def einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5).softmax(-1)


def fourth_roots(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ((q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT).softmax(-1)


def exponentials(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def double_precision(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return formula(q.double(), k.double(), v).to(q.dtype)


def one_query_at_a_time(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.cat([formula(q[..., i : i + 1, :], k, v) for i in range(q.shape[-2])], dim=-2)


def fused(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return F.scaled_dot_product_attention(q, k, v), einsum(q, k, v)


RIGHT: dict[str, Attend] = {
    mark("as the formula stands"): mixing_by(formula),
    mark("by einsum"): mixing_by(einsum),
    mark("with a fourth root on each side"): mixing_by(fourth_roots),
    mark("by exponentials and their sum"): mixing_by(exponentials),
    mark("in double precision"): mixing_by(double_precision),
    mark("one query at a time"): mixing_by(one_query_at_a_time),
    mark("by torch's fused attention"): checked_attention(fused),
}

# ── wrong implementations ─────────────────────────────────────────────────────────────────────────


def scores_divided_by(scale: Callable[..., Any]) -> Attend:
    """Return an attention whose scores are divided by `scale(q=, k=, v=, scores=)`."""

    def weights_of(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT
        return (scores / scale(q=q, k=k, v=v, scores=scores)).softmax(-1)

    return mixing_by(weights_of)


WRONG: dict[str, Attend] = {
    mark("does not divide"): scores_divided_by(lambda **_: 1.0),
    mark("divides by d_k"): scores_divided_by(lambda q, **_: q.shape[-1]),
    mark("multiplies by the root of d_k"): scores_divided_by(lambda q, **_: q.shape[-1] ** -0.5),
    mark("divides by half of d_k"): scores_divided_by(lambda q, **_: q.shape[-1] / 2),
    mark("divides by the root of n_k"): scores_divided_by(lambda k, **_: k.shape[-2] ** 0.5),
    mark("divides by the root of n_q"): scores_divided_by(lambda q, **_: q.shape[-2] ** 0.5),
    mark("divides by the root of d_v"): scores_divided_by(lambda v, **_: v.shape[-1] ** 0.5),
    mark("divides by the root of d_k, rounded"): scores_divided_by(lambda q, **_: max(1, math.isqrt(q.shape[-1]))),
    mark("divides by 8, whatever d_k is"): scores_divided_by(lambda **_: 8.0),
    mark("divides by the largest score"): scores_divided_by(lambda scores, **_: scores.abs().amax()),
    mark("divides the weights"): mixing_by(
        lambda q, k, v: (q @ k.mT).softmax(-1), after=lambda weights, q: weights / math.sqrt(q.shape[-1])
    ),
}

IMPLEMENTATIONS = implementations.list_implementations(RIGHT, WRONG, lambda attend, wrong: lambda seed: attend)


QUESTION = Question(
    points=3,
    inputs=("attend",),
    outputs=("verdict",),
    draw=lambda draw: implementations.draw_implementations(draw, IMPLEMENTATIONS),
    reference=catches_wrong_scale,
    judged_by=implementations.perfect_test(IMPLEMENTATIONS),
    of_implementations=True,
    quotes={"which": implementations.implementation_name},
    misconceptions=implementations.mistakes_of_tests(IMPLEMENTATIONS),
)
