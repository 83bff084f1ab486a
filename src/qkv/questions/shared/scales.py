"""Wrong scales: scores are divided by something other than √d_k, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from qkv.questions.engine import by_knob

Scale = Callable[[Tensor, Tensor, Tensor], Tensor | float]  # (scores, q, k) -> the divisor

NON_SQUARES = (5, 6, 7, 8, 10)  # values of d_k whose root is not a whole number
# A root taken in float32 is no mistake, even for float64 inputs. With d_k = 16 it is exact, so no digit is lost.
SQUARE = 16


def root_of_d_k(scores: Tensor, q: Tensor, k: Tensor) -> float:
    return math.sqrt(q.shape[-1])


divided_by = by_knob("scale")

SCALES = (
    divided_by("no-scale", lambda scores, q, k: 1.0),
    divided_by("scaled-by-d-k", lambda scores, q, k: q.shape[-1]),
    divided_by("scale-multiplied", lambda scores, q, k: 1 / math.sqrt(q.shape[-1])),
    divided_by("scale-multiplied-by-d-k", lambda scores, q, k: 1 / q.shape[-1]),
    divided_by("scaled-by-fourth-root", lambda scores, q, k: q.shape[-1] ** 0.25),
    divided_by("scaled-by-d-k-squared", lambda scores, q, k: q.shape[-1] ** 2),
    divided_by("scaled-again", lambda scores, q, k: q.shape[-1] ** 1.5),
    divided_by(
        "one-over-root-off",
        lambda scores, q, k: q.shape[-1] / 2,  # / (d_k ** 1 / 2)
        lambda scores, q, k: 2 * q.shape[-1],  # / d_k ** 1 / 2
    ),
    divided_by(
        "scaled-by-number-of-keys",
        lambda scores, q, k: math.sqrt(k.shape[-2]),
        lambda scores, q, k: k.shape[-2],
    ),
    divided_by(
        "scaled-by-number-of-queries",
        lambda scores, q, k: math.sqrt(q.shape[-2]),
        lambda scores, q, k: q.shape[-2],
    ),
    divided_by(
        "scaled-by-first-axis",
        lambda scores, q, k: math.sqrt(q.shape[0]),
        lambda scores, q, k: math.sqrt(k.shape[0]),
    ),
    divided_by(
        "axis-counted-from-the-front",
        lambda scores, q, k: math.sqrt(q.shape[1]),
        lambda scores, q, k: math.sqrt(k.shape[1]),
    ),
    divided_by("scaled-by-all-entries", lambda scores, q, k: math.sqrt(q.numel())),
    divided_by("root-rounded", lambda scores, q, k: max(1, math.isqrt(q.shape[-1]))),
    divided_by(
        "scaled-by-measured-spread",
        lambda scores, q, k: scores.std() if scores.numel() > 1 else 1.0,
        lambda scores, q, k: scores.std(),
        lambda scores, q, k: scores.std(-1, keepdim=True),
    ),
)

# For q and k with the heads on axis 1.
SCALES_OF_HEADS = (
    divided_by("scaled-by-model-width", lambda scores, q, k: math.sqrt(q.shape[-1] * q.shape[1])),
    divided_by(
        "scaled-by-number-of-heads",
        lambda scores, q, k: math.sqrt(q.shape[1]),
        lambda scores, q, k: math.sqrt(k.shape[1]),
    ),
)
