"""6.1: the sinusoidal encoding."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.positions import sinusoidal_encoding
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.frequencies import (
    FAR,
    OTHER_BASE,
    SPEEDS,
    UNDIVIDED,
    WIDE,
    WIDTHS,
    Speeds,
    alternating,
    growing,
    right_speeds,
)


def draw_sizes(draw: Draw) -> list[Case]:
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
        case("a long text", n=draw.whole(900, 1000), d_model=WIDE, tolerance=FAR),
    ]


def counted(n: int) -> Tensor:
    return torch.arange(n, dtype=torch.float64)


def encoding_variant(
    speeds: Speeds = right_speeds,
    times: Callable[[int], Tensor] = counted,
    lay: Callable[[Tensor, Tensor], Tensor] = alternating,
    after: Callable[[Tensor], Tensor] = lambda table: table,
) -> Callable[..., Tensor]:
    """Give an answer that has other frequencies, positions or columns, or changes the result afterwards."""

    def variant(n: int, d_model: int) -> Tensor:
        angles = torch.outer(times(n), speeds(d_model, 10000.0))
        return after(lay(angles.sin(), angles.cos()).float())

    return variant


def by_angles(make: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Give an answer that makes its table of the right angles (n, d/2) in another way."""
    return lambda n, d_model: make(torch.outer(counted(n), right_speeds(d_model, 10000.0))).float()


def by_columns(exponent: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Give an answer with a frequency for each column, in place of each pair."""

    def variant(n: int, d_model: int) -> Tensor:
        j = torch.arange(d_model, dtype=torch.float64)
        angles = torch.outer(counted(n), 10000.0 ** (-exponent(j) / d_model))
        return torch.where(j % 2 == 0, angles.sin(), angles.cos()).float()

    return variant


def growing_in_float32(n: int, d_model: int) -> Tensor:
    angles = torch.arange(n)[:, None] * 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return alternating(angles.sin(), angles.cos())


def frequency_outside(n: int, d_model: int) -> Tensor:
    places, speeds = counted(n)[:, None], right_speeds(d_model, 10000.0)
    return alternating(places.sin() * speeds, places.cos() * speeds).float()


laid = by_knob("lay")
timed = by_knob("times")
changed = by_knob("after")

QUESTION = Question(
    points=4,
    inputs=("n", "d_model"),
    outputs=("encoding (n, d_model)",),
    draw=draw_sizes,
    reference=sinusoidal_encoding,
    variant=encoding_variant,
    misconceptions=(
        laid("sin-and-cos-swapped", lambda sines, cosines: alternating(cosines, sines)),
        laid(
            "concatenated",
            lambda sines, cosines: torch.cat([sines, cosines], dim=-1),
            lambda sines, cosines: torch.cat([cosines, sines], dim=-1),
        ),
        laid("only-sines", lambda sines, cosines: alternating(sines, sines)),
        laid("turned-backwards", lambda sines, cosines: alternating(-sines, cosines)),
        mistake(
            "frequencies-by-index",
            by_columns(lambda j: j),
            by_columns(lambda j: 2 * j),
            by_columns(lambda j: 2 * ((j + 1) // 2)),
        ),
        *SPEEDS,
        UNDIVIDED,
        OTHER_BASE,
        Misconception("speeds-grow", twin=growing_in_float32, knob_sets=({"speeds": growing},)),
        mistake("frequency-outside-the-sine", frequency_outside),
        timed("positions-from-one", lambda n: counted(n) + 1),
        timed("positions-as-fractions", lambda n: counted(n) / n, lambda n: counted(n) / max(n - 1, 1)),
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
            by_angles(lambda angles: angles),
            by_angles(lambda angles: alternating(angles, angles.cos())),
            by_angles(lambda angles: alternating(angles.sin(), angles)),
        ),
        mistake("pairs-left-apart", by_angles(lambda angles: torch.stack([angles.sin(), angles.cos()], dim=-1))),
        mistake("one-position-too-many", lambda n, d_model: sinusoidal_encoding(n + 1, d_model)),
    ),
)
