"""6.1: the sinusoidal encoding."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.positions import sinusoidal_encoding
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.frequencies import (
    FAR_TOLERANCE,
    OTHER_BASE,
    UNDIVIDED,
    WIDE,
    WIDTHS,
    WRONG_FREQUENCIES,
    Frequencies,
    growing_frequencies,
    interleave,
    right_frequencies,
)


def draw_sizes(draw: Draw) -> list[Case]:
    """Draw numbers of positions and of features."""

    def case(name: str, tolerance: float | None = None, **fixed: int) -> Case:
        sizes = draw.sizes("n", "d_model", **{"d_model": draw.choose(WIDTHS)} | fixed)
        return Case(call(sizes["n"], sizes["d_model"]), name, sizes, tolerance=tolerance)

    same = draw.choose(WIDTHS)
    return [
        case("plain", d_model=6),
        case("plain"),
        case("more features than positions", n=draw.whole(3, 7), d_model=draw.choose((32, 48, 64))),
        case("as many positions as features", n=same, d_model=same),
        case("n = 1", n=1),
        case("one pair", d_model=2),
        case("a long text", n=draw.whole(900, 1000), d_model=WIDE, tolerance=FAR_TOLERANCE),
    ]


def right_positions(n: int) -> Tensor:
    return torch.arange(n, dtype=torch.float64)


def encoding_variant(
    frequencies: Frequencies = right_frequencies,
    positions: Callable[[int], Tensor] = right_positions,
    arrange: Callable[[Tensor, Tensor], Tensor] = interleave,
    after: Callable[[Tensor], Tensor] = lambda table: table,
) -> Callable[..., Tensor]:
    """Return an answer(n, d_model); by default it is right.

    The arguments replace frequencies, positions and the order of columns, or change the table.
    """

    def variant(n: int, d_model: int) -> Tensor:
        angles = torch.outer(positions(n), frequencies(d_model, 10000.0))
        return after(arrange(angles.sin(), angles.cos()).float())

    return variant


def table_from(make: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer that computes the correct angles (n, d/2), and makes its table from them with `make`."""
    return lambda n, d_model: make(torch.outer(right_positions(n), right_frequencies(d_model, 10000.0))).float()


def frequency_by_column(exponent: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer with a frequency for each column j, base^(−exponent(j)/d), where each pair should have one."""

    def variant(n: int, d_model: int) -> Tensor:
        j = torch.arange(d_model, dtype=torch.float64)
        angles = torch.outer(right_positions(n), 10000.0 ** (-exponent(j) / d_model))
        return torch.where(j % 2 == 0, angles.sin(), angles.cos()).float()

    return variant


def growing_in_float32(n: int, d_model: int) -> Tensor:
    angles = torch.arange(n)[:, None] * 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return interleave(angles.sin(), angles.cos())


def growing_by_exp(n: int, d_model: int) -> Tensor:
    growth = torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))
    angles = torch.arange(n)[:, None] * growth
    return interleave(angles.sin(), angles.cos())


def frequency_outside_the_sine(n: int, d_model: int) -> Tensor:
    positions, frequencies = right_positions(n)[:, None], right_frequencies(d_model, 10000.0)
    return interleave(positions.sin() * frequencies, positions.cos() * frequencies).float()


arranged = by_knob("arrange")
placed = by_knob("positions")
changed = by_knob("after")

QUESTION = Question(
    points=4,
    inputs=("n", "d_model"),
    outputs=("encoding (n, d_model)",),
    draw=draw_sizes,
    reference=sinusoidal_encoding,
    variant=encoding_variant,
    misconceptions=(
        arranged("sin-and-cos-swapped", lambda sines, cosines: interleave(cosines, sines)),
        arranged(
            "concatenated",
            lambda sines, cosines: torch.cat([sines, cosines], dim=-1),
            lambda sines, cosines: torch.cat([cosines, sines], dim=-1),
        ),
        arranged("only-sines", lambda sines, cosines: interleave(sines, sines)),
        arranged("turned-backwards", lambda sines, cosines: interleave(-sines, cosines)),
        mistake(
            "frequencies-by-index",
            frequency_by_column(lambda j: j),
            frequency_by_column(lambda j: 2 * j),
            frequency_by_column(lambda j: 2 * ((j + 1) // 2)),
        ),
        *WRONG_FREQUENCIES,
        UNDIVIDED,
        OTHER_BASE,
        Misconception(
            "speeds-grow", twins=(growing_in_float32, growing_by_exp), knob_sets=({"frequencies": growing_frequencies},)
        ),
        mistake("frequency-outside-the-sine", frequency_outside_the_sine),
        placed("positions-from-one", lambda n: right_positions(n) + 1),
        placed(
            "positions-as-fractions", lambda n: right_positions(n) / n, lambda n: right_positions(n) / max(n - 1, 1)
        ),
        changed("transposed", lambda table: table.mT),
        changed("batch-axis-added", lambda table: table.unsqueeze(0)),
        changed("positions-lost", lambda table: table.flatten()),
        changed(
            "scaled",
            lambda table: table * math.sqrt(table.shape[-1]),
            lambda table: table / math.sqrt(table.shape[-1]),
            lambda table: table / table.norm(dim=-1, keepdim=True),
        ),
        mistake(
            "angles-returned",
            table_from(lambda angles: angles),
            table_from(lambda angles: interleave(angles, angles.cos())),
            table_from(lambda angles: interleave(angles.sin(), angles)),
        ),
        mistake("pairs-left-apart", table_from(lambda angles: torch.stack([angles.sin(), angles.cos()], dim=-1))),
        mistake("one-position-too-many", lambda n, d_model: sinusoidal_encoding(n + 1, d_model)),
    ),
)
