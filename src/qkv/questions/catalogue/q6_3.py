"""6.3: RoPE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.positions import apply_rope
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, by_knob, call, mistake
from qkv.questions.shared.frequencies import (
    FAR,
    GROWING,
    OTHER_BASES,
    SPEEDS,
    UNDIVIDED,
    WIDE,
    WIDTHS,
    Speeds,
    alternating,
    right_speeds,
)

Turn = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # of a pair's two features, cos and sin
Split = Callable[[Tensor], tuple[Tensor, Tensor]]
Times = Callable[[Tensor, Tensor], Tensor]  # of positions and x: which positions the rows have


def draw_rows(draw: Draw) -> list[Case]:
    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        positions: Tensor | None = None,
        base: float | None = None,
        tolerance: float | None = None,
        **fixed: int,
    ) -> Case:
        sizes = draw.sizes("n", "d", **{"d": draw.choose(WIDTHS)} | fixed)
        coarse = dtype == torch.float64 and positions is None  # float32 angles are right enough
        given = scattered(draw, sizes["n"]) if positions is None else positions
        options = {} if base is None else {"base": base}
        return Case(
            call(draw.normal(*leading, sizes["n"], sizes["d"], dtype=dtype), given, **options),
            name,
            sizes,
            gradients=tolerance is None and not coarse,
            tolerance=1e-5 if coarse else tolerance,
        )

    same = draw.choose((5, 7, 9))
    n = draw.choose((5, 7, 9))
    return [
        case("plain", positions=torch.arange(n), n=n, d=6),
        *draw.situations(case)[1:],
        case("positions that start late", positions=torch.arange(n) + draw.whole(3, 11), n=n),
        case("one token", n=1),
        case("one pair", d=2),
        case("every token at position 0", dtype=torch.float64, positions=torch.zeros(n, dtype=torch.int64), n=n),
        case("another base", base=float(draw.choose((20, 50, 100))), d=14),  # its second pair turns half as fast
        case("a large base", base=500000.0),
        case("as many heads as tokens", leading=(same,), n=same),
        case("as many examples as tokens", leading=(same, 2), n=same),
        case("all sizes equal", leading=(6, 6), n=6, d=6),
        case("far into a text", positions=draw.ids(30, below=124) + 900, tolerance=2 * FAR, n=30, d=WIDE),
    ]


def scattered(draw: Draw, n: int) -> Tensor:
    """Draw n different positions below 20, in no order."""
    return torch.randperm(19, generator=draw.generator)[:n] + 1


def neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    first, second = x.chunk(2, dim=-1)
    return first, second


def side_by_side(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a, b], dim=-1)


def turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos - b * sin, a * sin + b * cos


def turned_backwards(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos + b * sin, b * cos - a * sin


def first_written_over(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    a = a * cos - b * sin
    return a, a * sin + b * cos


def second_written_over(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    b = a * sin + b * cos
    return a * cos - b * sin, b


def rope_variant(
    speeds: Speeds = right_speeds,
    times: Times = lambda positions, x: positions,
    split: Split = neighbours,
    join: Callable[[Tensor, Tensor], Tensor] = alternating,
    turn: Turn = turned,
    chosen: Callable[[float], float] = lambda base: base,
    width: Callable[[Tensor], int] = lambda x: x.shape[-1],
) -> Callable[..., Tensor]:
    """Give an answer that pairs, turns or counts in another way."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        angles = times(positions, x).double()[:, None] * speeds(width(x), chosen(base))
        a, b = split(x)
        return join(*turn(a, b, angles.cos().to(x), angles.sin().to(x)))

    return variant


def by_columns(
    speeds: Callable[[int, float], Tensor],
    combine: Callable[[Tensor, Tensor, Tensor], Any] = lambda x, cos, sin: x * cos + partners(x) * sin,
) -> Callable[..., Any]:
    """Give an answer that has a speed for each column, (d,), and combines x with cosines and sines (n, d)."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Any:
        angles = positions.double()[:, None] * speeds(x.shape[-1], base)
        return combine(x, angles.cos().to(x), angles.sin().to(x))

    return variant


def partners(x: Tensor) -> Tensor:
    """Put −x₂ᵢ₊₁ at 2i and x₂ᵢ at 2i + 1: what the sine multiplies."""
    return alternating(-x[..., 1::2], x[..., 0::2])


def halves_with_speeds_in_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = halves(x)
    return x * cos + side_by_side(-second, first) * sin


def added(speeds: Callable[[int, float], Tensor]) -> Callable[..., Any]:
    """Give an answer that adds the code of chapter 6's sinusoids to each row."""
    return by_columns(speeds, lambda x, cos, sin: x + code(cos, sin))


def code(cos: Tensor, sin: Tensor) -> Tensor:
    return alternating(sin[:, 0::2], cos[:, 0::2])


def in_pairs(d: int, base: float) -> Tensor:
    return right_speeds(d, base).repeat_interleave(2)


def with_default_base(default: float) -> Callable[..., Tensor]:
    return lambda x, positions, base=default: apply_rope(x, positions, base)


def turned_along(axis: int) -> Callable[..., Tensor]:
    """Give an answer that turns rows along this axis as if tokens lay there, where x has so many axes."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        tokens = axis if x.ndim > axis + 1 else -2
        return apply_rope(x.movedim(tokens, -2), positions, base).movedim(-2, tokens)

    return variant


def at_position_0(seen: Seen) -> str:
    """Say that the first row should not turn, where that is so."""
    positions = seen.case.script[0].args[1]
    return "" if int(positions[0]) else "The first token stands at position 0, where nothing should turn. "


turning = by_knob("turn")
joining = by_knob("join")
placing = by_knob("times")
widened = by_knob("width", alone=True)

QUESTION = Question(
    points=4,
    inputs=("x", "positions", "base"),
    outputs=("rows (..., n, d)",),
    draw=draw_rows,
    reference=apply_rope,
    variant=rope_variant,
    gradients=True,
    quotes={"at_position_0": at_position_0},
    misconceptions=(
        turning("rotated-the-wrong-way", turned_backwards),
        mistake(
            "half-split",
            rope_variant(split=halves, join=side_by_side),
            rope_variant(split=halves, join=side_by_side, turn=turned_backwards),
        ),
        joining("concatenated", side_by_side),
        Misconception("halves-then-interleaved", knobs={"split": halves}),
        mistake(
            "half-split-angles",
            by_columns(lambda d, base: right_speeds(d, base).repeat(2)),
            by_columns(in_pairs, halves_with_speeds_in_pairs),
        ),
        joining("pair-exchanged", lambda a, b: alternating(b, a)),
        turning("minus-forgotten", lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
        turning(
            "mirrored",
            lambda a, b, cos, sin: (a * cos - b * sin, -a * sin - b * cos),
            lambda a, b, cos, sin: (a * cos + b * sin, a * sin - b * cos),
        ),
        turning(
            "sin-and-cos-swapped",
            lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin),
            lambda a, b, cos, sin: (a * sin + b * cos, b * sin - a * cos),
        ),
        turning("updated-too-early", first_written_over, second_written_over),
        turning("partner-forgotten", lambda a, b, cos, sin: (a * cos, b * sin)),
        joining("pairs-left-apart", lambda a, b: torch.stack([a, b], dim=-1)),
        *SPEEDS,
        UNDIVIDED,
        GROWING,
        widened("width-of-another-axis", lambda x: x.shape[0], lambda x: x.shape[1], lambda x: x.shape[-2]),
        mistake("another-base", *(with_default_base(base) for base in OTHER_BASES)),
        Misconception("base-ignored", knobs={"chosen": lambda base: 10000.0}),
        mistake(
            "frequencies-by-index",
            by_columns(lambda d, base: base ** (-torch.arange(d, dtype=torch.float64) / d)),
            by_columns(lambda d, base: base ** (-2 * torch.arange(d, dtype=torch.float64) / d)),
        ),
        placing(
            "positions-ignored",
            lambda positions, x: torch.arange(x.shape[-2]),
            lambda positions, x: torch.arange(x.shape[-2]) + 1,
        ),
        placing(
            "positions-restarted",
            lambda positions, x: positions - positions[0],
            lambda positions, x: positions[0] + torch.arange(x.shape[-2]),
        ),
        placing("positions-off-by-one", lambda positions, x: positions + 1, lambda positions, x: positions - 1),
        mistake("one-batch-shape", turned_along(0), turned_along(1)),
        mistake("added", added(in_pairs), added(lambda d, base: in_pairs(d, 10000.0))),
        mistake("nothing-turned", lambda x, positions, base=10000.0: x.clone()),
        mistake("angles-returned", by_columns(right_speeds, lambda x, cos, sin: (cos, sin))),
    ),
)
