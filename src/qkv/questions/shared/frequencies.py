"""The frequencies (d/2,) of sinusoids and RoPE, one for each pair of features: the right ones, and mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.questions.engine import by_knob

Frequencies = Callable[[int, float], Tensor]  # (d, base) -> radians a position, (d/2,)

WIDTHS = (6, 10, 12, 14)  # even values of d; not 8, because d = 8 hides some mistakes
WIDE = 20  # a d whose second pair turns fast: far from position 0 it shows a base that is slightly wrong
# Angles in float32 are no mistake. Near position 1,000 their error is 1e-4, and that of a base of 10,001 is 4e-3.
FAR_TOLERANCE = 1e-3


def exponents(d: int) -> Tensor:
    """Return 2i/d for each pair i, (d/2,)."""
    return torch.arange(0, d, 2, dtype=torch.float64) / d


def right_frequencies(d: int, base: float) -> Tensor:
    return base ** -exponents(d)


def interleave(first: Tensor, second: Tensor) -> Tensor:
    """Put the two features of each pair side by side: (..., d/2) and (..., d/2) become (..., d)."""
    return torch.stack([first, second], dim=-1).flatten(-2)


def growing_frequencies(d: int, base: float) -> Tensor:
    return base ** exponents(d)


turned = by_knob("frequencies")

# Not among the mistakes below: in 6.2 it nearly equals `first-pair-only`, as only the first pair turns visibly.
UNDIVIDED = turned("division-forgotten", lambda d, base: base ** -torch.arange(0, d, 2, dtype=torch.float64))
GROWING = turned("speeds-grow", growing_frequencies)
WRONG_FREQUENCIES = (
    turned("two-forgotten", lambda d, base: base ** (-exponents(d) / 2)),
    turned("two-counted-twice", lambda d, base: base ** (-2 * exponents(d))),
    turned("all-pairs-alike", lambda d, base: torch.ones(d // 2, dtype=torch.float64)),
    turned("pairs-numbered-from-one", lambda d, base: base ** -(exponents(d) + 2 / d)),
    turned("odd-columns-for-pairs", lambda d, base: base ** -(exponents(d) + 1 / d)),
    turned("slowed-to-the-very-base", lambda d, base: base ** -(exponents(d) * d / max(d - 2, 1))),
    turned("fraction-turned-round", lambda d, base: base ** -(1 / exponents(d))),
    turned("exponent-rounded", lambda d, base: base ** -exponents(d).ceil()),
    turned("speeds-reversed", lambda d, base: right_frequencies(d, base).flip(0)),
    turned("speeds-in-a-line", lambda d, base: 1 - exponents(d)),
    turned("e-for-the-base", lambda d, base: right_frequencies(d, math.e)),
    turned("full-turns", lambda d, base: 2 * math.pi * right_frequencies(d, base)),
    turned("degrees", lambda d, base: math.pi / 180 * right_frequencies(d, base)),
    turned(
        "power-left-out",
        lambda d, base: -exponents(d),
        lambda d, base: -base * exponents(d),
        lambda d, base: base - exponents(d),
        lambda d, base: 1 / (base * exponents(d)).clamp(min=1),
    ),
    turned(
        "a-speed-for-every-feature",
        lambda d, base: base ** (-torch.arange(d, dtype=torch.float64) / d),
        alone=True,
    ),
)

OTHER_BASES = (1000.0, 100000.0, 500000.0)
OTHER_BASE = turned(
    "another-base", *(lambda d, base, other=other: right_frequencies(d, other) for other in OTHER_BASES)
)
