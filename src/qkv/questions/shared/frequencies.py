"""How fast each pair of features turns, with mistakes. Speeds (d/2,) are made of the width d and the base."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.questions.engine import by_knob

Speeds = Callable[[int, float], Tensor]

WIDTHS = (6, 10, 12, 14)  # even; 8 is left out, because a width of 8 hides some mistakes
WIDE = 20  # its second pair turns fast and shows a slightly different base, far from position 0
# Many compute angles in float32. No mistake: far from 0 that costs 1e-4, and a base of 10,001 shows by 4e-3.
FAR = 1e-3


def exponents(d: int) -> Tensor:
    """Give 2i/d for each pair i, (d/2,)."""
    return torch.arange(0, d, 2, dtype=torch.float64) / d


def right_speeds(d: int, base: float) -> Tensor:
    return base ** -exponents(d)


def alternating(first: Tensor, second: Tensor) -> Tensor:
    """Put the two features of each pair side by side: (..., d/2) twice becomes (..., d)."""
    return torch.stack([first, second], dim=-1).flatten(-2)


def growing(d: int, base: float) -> Tensor:
    return base ** exponents(d)


turning = by_knob("speeds")

# It leaves all pairs but the first nearly where they are: one of 6.2's own ideas does so too.
UNDIVIDED = turning("division-forgotten", lambda d, base: base ** -torch.arange(0, d, 2, dtype=torch.float64))
GROWING = turning("speeds-grow", growing)
SPEEDS = (
    turning("two-forgotten", lambda d, base: base ** (-exponents(d) / 2)),
    turning("two-counted-twice", lambda d, base: base ** (-2 * exponents(d))),
    turning("all-pairs-alike", lambda d, base: torch.ones(d // 2, dtype=torch.float64)),
    turning("pairs-numbered-from-one", lambda d, base: base ** -(exponents(d) + 2 / d)),
    turning("odd-columns-for-pairs", lambda d, base: base ** -(exponents(d) + 1 / d)),
    turning("slowed-to-the-very-base", lambda d, base: base ** -(exponents(d) * d / max(d - 2, 1))),
    turning("fraction-turned-round", lambda d, base: base ** -(1 / exponents(d))),
    turning("exponent-rounded", lambda d, base: base ** -exponents(d).ceil()),
    turning("speeds-reversed", lambda d, base: right_speeds(d, base).flip(0)),
    turning("speeds-in-a-line", lambda d, base: 1 - exponents(d)),
    turning("e-for-the-base", lambda d, base: right_speeds(d, math.e)),
    turning("full-turns", lambda d, base: 2 * math.pi * right_speeds(d, base)),
    turning("degrees", lambda d, base: math.pi / 180 * right_speeds(d, base)),
    turning(
        "power-left-out",
        lambda d, base: -exponents(d),
        lambda d, base: -base * exponents(d),
        lambda d, base: base - exponents(d),
        lambda d, base: 1 / (base * exponents(d)).clamp(min=1),
    ),
    turning(
        "a-speed-for-every-feature",
        lambda d, base: base ** (-torch.arange(d, dtype=torch.float64) / d),
        alone=True,
    ),
)

OTHER_BASES = (1000.0, 100000.0, 500000.0)
OTHER_BASE = turning("another-base", *(lambda d, base, other=other: right_speeds(d, other) for other in OTHER_BASES))
