"""3.5: a test that catches a wrong scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.catching import catches_wrong_scale
from qkv.questions.engine import Question
from qkv.questions.shared import implementations

Attend = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Weights = Callable[[Tensor, Tensor, Tensor], Tensor]  # of q, k and v
MOST = 100_000  # numbers in the scores, and in the output


def attending(steps: Attend) -> Attend:
    """Give an attention that refuses what is no input of one; no error text says which one it is."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        fits(q, k, v)
        return steps(q, k, v)

    attend.__qualname__ = "attend"
    return attend


def fits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuse what is no attention's input, and what would take much memory."""
    if not all(isinstance(x, Tensor) and x.is_floating_point() and x.dtype == q.dtype for x in (q, k, v)):
        raise TypeError("q, k and v are tensors of one floating-point dtype")
    shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(f"q, k and v are (..., n_q, d_k), (..., n_k, d_k) and (..., n_k, d_v), and these are {shapes}")
    leading = math.prod(torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2]))
    if leading * q.shape[-2] * max(k.shape[-2], v.shape[-1]) > MOST:
        raise ValueError(f"the scores and the output may have {MOST:,} numbers, and these would have more")


def by_weights(weights_of: Weights, after: Callable[[Tensor, Tensor], Tensor] = lambda weights, q: weights) -> Attend:
    def steps(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = after(weights_of(q, k, v), q)
        return weights @ v, weights

    return attending(steps)


# ── right ones ────────────────────────────────────────────────────────────────────────────────────


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


def double(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return formula(q.double(), k.double(), v).to(q.dtype)


def one_query_at_a_time(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.cat([formula(q[..., i : i + 1, :], k, v) for i in range(q.shape[-2])], dim=-2)


def fused(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return F.scaled_dot_product_attention(q, k, v), einsum(q, k, v)


RIGHT: dict[str, Attend] = {
    "as the formula stands": by_weights(formula),
    "by einsum": by_weights(einsum),
    "with a fourth root on each side": by_weights(fourth_roots),
    "by exponentials and their sum": by_weights(exponentials),
    "in double precision": by_weights(double),
    "one query at a time": by_weights(one_query_at_a_time),
    "by torch's fused attention": attending(fused),
}

# ── wrong ones ────────────────────────────────────────────────────────────────────────────────────


def divided_by(scale: Callable[..., Any]) -> Attend:
    def weights_of(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT
        return (scores / scale(q=q, k=k, v=v, scores=scores)).softmax(-1)

    return by_weights(weights_of)


WRONG: dict[str, Attend] = {
    "does not divide": divided_by(lambda **_: 1.0),
    "divides by d_k": divided_by(lambda q, **_: q.shape[-1]),
    "multiplies by the root of d_k": divided_by(lambda q, **_: q.shape[-1] ** -0.5),
    "divides by half of d_k": divided_by(lambda q, **_: q.shape[-1] / 2),
    "divides by the root of n_k": divided_by(lambda k, **_: k.shape[-2] ** 0.5),
    "divides by the root of n_q": divided_by(lambda q, **_: q.shape[-2] ** 0.5),
    "divides by the root of d_v": divided_by(lambda v, **_: v.shape[-1] ** 0.5),
    "divides by the root of d_k, rounded": divided_by(lambda q, **_: max(1, math.isqrt(q.shape[-1]))),
    "divides by 8, whatever d_k is": divided_by(lambda **_: 8.0),
    "divides by the largest score": divided_by(lambda scores, **_: scores.abs().amax()),
    "divides the weights": by_weights(
        lambda q, k, v: (q @ k.mT).softmax(-1), after=lambda weights, q: weights / math.sqrt(q.shape[-1])
    ),
}

EVERY = implementations.listed(RIGHT, WRONG, lambda attend, wrong: lambda seed: attend)


QUESTION = Question(
    points=3,
    inputs=("attend",),
    outputs=("verdict",),
    draw=lambda draw: implementations.draw_implementations(draw, EVERY),
    reference=catches_wrong_scale,
    judged_by=implementations.known_of(EVERY),
    of_implementations=True,
    quotes={"which": implementations.which},
    misconceptions=implementations.ideas_of_tests(EVERY),
)
