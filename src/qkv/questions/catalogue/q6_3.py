"""6.3: RoPE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.positions import apply_rope
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, by_knob, call, mistake
from qkv.questions.shared.frequencies import (
    FAR_TOLERANCE,
    GROWING,
    OTHER_BASES,
    UNDIVIDED,
    WIDE,
    WIDTHS,
    WRONG_FREQUENCIES,
    Frequencies,
    interleave,
    right_frequencies,
)
from qkv.words import t

Rotation = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # (first, second, cos, sin) -> new pair
Split = Callable[[Tensor], tuple[Tensor, Tensor]]  # (x) -> first and second features of the pairs
ChoosePositions = Callable[[Tensor, Tensor], Tensor]  # (positions, x) -> the positions that the rows get


def draw_rows(draw: Draw) -> list[Case]:
    """Draw vectors and their positions: in order, scattered, late ones, all 0; and other bases."""

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
        coarse = dtype == torch.float64 and positions is None  # angles in float32 are accepted
        row_positions = scattered_positions(draw, sizes["n"]) if positions is None else positions
        options = {} if base is None else {"base": base}
        return Case(
            call(draw.normal(*leading, sizes["n"], sizes["d"], dtype=dtype), row_positions, **options),
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
        case(
            "another base", base=float(draw.choose((20, 50, 100))), d=14
        ),  # its second pair turns about half as fast as its first
        case("a large base", base=500000.0),
        case("as many heads as tokens", leading=(same,), n=same),
        case("as many examples as tokens", leading=(same, 2), n=same),
        case("all sizes equal", leading=(6, 6), n=6, d=6),
        case("far into a text", positions=draw.ids(30, below=124) + 900, tolerance=2 * FAR_TOLERANCE, n=30, d=WIDE),
    ]


def scattered_positions(draw: Draw, n: int) -> Tensor:
    """Draw n different positions from 1 to 19, in random order."""
    return torch.randperm(19, generator=draw.generator)[:n] + 1


def neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    first, second = x.chunk(2, dim=-1)
    return first, second


def concatenate(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a, b], dim=-1)


def rotate(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos - b * sin, a * sin + b * cos


def rotate_backwards(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos + b * sin, b * cos - a * sin


def first_updated_too_early(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    a = a * cos - b * sin
    return a, a * sin + b * cos


def second_updated_too_early(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    b = a * sin + b * cos
    return a * cos - b * sin, b


def rope_variant(
    frequencies: Frequencies = right_frequencies,
    choose_positions: ChoosePositions = lambda positions, x: positions,
    split: Split = neighbours,
    join: Callable[[Tensor, Tensor], Tensor] = interleave,
    rotation: Rotation = rotate,
    choose_base: Callable[[float], float] = lambda base: base,
    width: Callable[[Tensor], int] = lambda x: x.shape[-1],
) -> Callable[..., Tensor]:
    """Return an answer(x, positions, base); each argument replaces one step of RoPE, and by default it is right."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        angles = choose_positions(positions, x).double()[:, None] * frequencies(width(x), choose_base(base))
        a, b = split(x)
        return join(*rotation(a, b, angles.cos().to(x), angles.sin().to(x)))

    return variant


def frequency_by_column(
    frequencies: Callable[[int, float], Tensor],
    combine: Callable[[Tensor, Tensor, Tensor], Any] = lambda x, cos, sin: x * cos + partners(x) * sin,
) -> Callable[..., Any]:
    """Return an answer with a frequency for each column, (d,), that combines x with cosines and sines (n, d).

    By default, `combine(x, cos, sin)` rotates neighbouring features.
    """

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Any:
        angles = positions.double()[:, None] * frequencies(x.shape[-1], base)
        return combine(x, angles.cos().to(x), angles.sin().to(x))

    return variant


def partners(x: Tensor) -> Tensor:
    """Return the numbers that the sine multiplies: −x₂ᵢ₊₁ at 2i, and x₂ᵢ at 2i + 1."""
    return interleave(-x[..., 1::2], x[..., 0::2])


def halves_with_speeds_in_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = halves(x)
    return x * cos + concatenate(-second, first) * sin


def encoding_added(frequencies: Callable[[int, float], Tensor]) -> Callable[..., Any]:
    """Return an answer that adds the sinusoidal encoding of question 6.1 to each row."""
    return frequency_by_column(frequencies, lambda x, cos, sin: x + sinusoidal_code(cos, sin))


def sinusoidal_code(cos: Tensor, sin: Tensor) -> Tensor:
    return interleave(sin[:, 0::2], cos[:, 0::2])


def in_pairs(d: int, base: float) -> Tensor:
    return right_frequencies(d, base).repeat_interleave(2)


def in_half_precision(dtype: torch.dtype) -> Callable[..., Tensor]:
    """Return an answer whose cosines and sines are rounded to this dtype."""

    def combine(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return x * cos.to(dtype).to(x) + partners(x) * sin.to(dtype).to(x)

    return frequency_by_column(in_pairs, combine)


def with_default_base(default: float) -> Callable[..., Tensor]:
    return lambda x, positions, base=default: apply_rope(x, positions, base)


def rotated_along(axis: int) -> Callable[..., Tensor]:
    """Return an answer that rotates along this axis as if it were the axis of tokens.

    If x has too few axes for that, it is right.
    """

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        tokens = axis if x.ndim > axis + 1 else -2
        return apply_rope(x.movedim(tokens, -2), positions, base).movedim(-2, tokens)

    return variant


def partly(share: float, whole: int, width: Callable[[int, int], int]) -> Callable[..., Tensor]:
    """Return an answer that turns only the first features, this share of them rounded down to a multiple of `whole`.

    At least one pair turns. `width(turned, d)` is the d of their frequencies.
    """

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        turned = max(2, int(share * x.shape[-1]) // whole * whole)
        angles = positions.double()[:, None] * right_frequencies(width(turned, x.shape[-1]), base)[: turned // 2]
        a, b = neighbours(x[..., :turned])
        return concatenate(interleave(*rotate(a, b, angles.cos().to(x), angles.sin().to(x))), x[..., turned:])

    return variant


def at_position_0(seen: Seen) -> str:
    """Return a sentence about position 0 where the first token stands there, and otherwise an empty text."""
    positions = seen.case.script[0].args[1]
    return "" if int(positions[0]) else t("The first token stands at position 0, where nothing should turn. ")


rotated = by_knob("rotation")
joining = by_knob("join")
positioned = by_knob("choose_positions")
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
        rotated("rotated-the-wrong-way", rotate_backwards),
        mistake(
            "half-split",
            rope_variant(split=halves, join=concatenate),
            rope_variant(split=halves, join=concatenate, rotation=rotate_backwards),
        ),
        joining("concatenated", concatenate),
        Misconception("halves-then-interleaved", knobs={"split": halves}),
        mistake(
            "half-split-angles",
            frequency_by_column(lambda d, base: right_frequencies(d, base).repeat(2)),
            frequency_by_column(in_pairs, halves_with_speeds_in_pairs),
        ),
        joining("pair-exchanged", lambda a, b: interleave(b, a)),
        rotated("minus-forgotten", lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
        rotated(
            "mirrored",
            lambda a, b, cos, sin: (a * cos - b * sin, -a * sin - b * cos),
            lambda a, b, cos, sin: (a * cos + b * sin, a * sin - b * cos),
        ),
        rotated(
            "sin-and-cos-swapped",
            lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin),
            lambda a, b, cos, sin: (a * sin + b * cos, b * sin - a * cos),
        ),
        rotated("updated-too-early", first_updated_too_early, second_updated_too_early),
        rotated("partner-forgotten", lambda a, b, cos, sin: (a * cos, b * sin)),
        joining("pairs-left-apart", lambda a, b: torch.stack([a, b], dim=-1)),
        *WRONG_FREQUENCIES,
        UNDIVIDED,
        GROWING,
        widened("width-of-another-axis", lambda x: x.shape[0], lambda x: x.shape[1], lambda x: x.shape[-2]),
        mistake("another-base", *(with_default_base(base) for base in OTHER_BASES)),
        Misconception("base-ignored", knobs={"choose_base": lambda base: 10000.0}),
        mistake(
            "frequencies-by-index",
            frequency_by_column(lambda d, base: base ** (-torch.arange(d, dtype=torch.float64) / d)),
            frequency_by_column(lambda d, base: base ** (-2 * torch.arange(d, dtype=torch.float64) / d)),
        ),
        positioned(
            "positions-ignored",
            lambda positions, x: torch.arange(x.shape[-2]),
            lambda positions, x: torch.arange(x.shape[-2]) + 1,
        ),
        positioned(
            "positions-restarted",
            lambda positions, x: positions - positions[0],
            lambda positions, x: positions[0] + torch.arange(x.shape[-2]),
        ),
        positioned("positions-off-by-one", lambda positions, x: positions + 1, lambda positions, x: positions - 1),
        mistake("one-batch-shape", rotated_along(0), rotated_along(1)),
        mistake("added", encoding_added(in_pairs), encoding_added(lambda d, base: in_pairs(d, 10000.0))),
        mistake("half-precision", in_half_precision(torch.bfloat16), in_half_precision(torch.float16)),
        mistake(
            "only-some-features-turned",
            *(
                partly(share, 2, width)
                for share in (0.5, 0.25)
                for width in (lambda turned, d: turned, lambda turned, d: d)
            ),
        ),
        mistake("nothing-turned", lambda x, positions, base=10000.0: x.clone()),
        mistake("angles-returned", frequency_by_column(right_frequencies, lambda x, cos, sin: (cos, sin))),
    ),
)
