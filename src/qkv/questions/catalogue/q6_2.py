"""6.2: a shift is a rotation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.positions import shift_matrix, sinusoidal_encoding
from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.questions.shared.frequencies import (
    FAR_TOLERANCE,
    GROWING,
    OTHER_BASE,
    WIDE,
    WIDTHS,
    WRONG_FREQUENCIES,
    Frequencies,
    right_frequencies,
)

Block = Callable[[Tensor, Tensor], tuple[Tensor, ...]]  # (cosines, sines), each (d/2,) -> four entries, row by row
Place = Callable[[Tensor], Tensor]  # (blocks (d/2, 2, 2)) -> the matrix


def draw_shifts(draw: Draw) -> list[Case]:
    """Draw shifts k and numbers of features."""

    def case(name: str, k: int, tolerance: float | None = None, d_model: int | None = None) -> Case:
        d = draw.choose([width for width in WIDTHS if width != k]) if d_model is None else d_model
        return Case(call(k, d), name, {"k": k, "d_model": d}, tolerance=tolerance)

    return [
        case("plain", draw.whole(2, 5), d_model=6),
        case("plain", draw.choose((7, 9, 11))),
        case("k = 1", 1),
        case("k = 0", 0),
        case("one pair", draw.whole(3, 9), d_model=2),
        case("k is as large as d_model", 10, d_model=10),
        case("many features", draw.whole(12, 19), d_model=draw.choose((32, 48))),
        case("a long way", draw.whole(900, 1000), FAR_TOLERANCE, WIDE),
    ]


def block_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks)


def in_halves(blocks: Tensor) -> Tensor:
    return torch.cat([torch.cat([torch.diag(blocks[:, i, j]) for j in (0, 1)], dim=1) for i in (0, 1)])


def first_block_then(rest: Callable[[int], Tensor]) -> Place:
    """Return a layout with the first block, and the matrix `rest(size)` in place of all other blocks."""
    return lambda blocks: torch.block_diag(blocks[0], rest(2 * len(blocks) - 2).to(blocks.dtype))


def shift_variant(
    frequencies: Frequencies = right_frequencies,
    distance: Callable[[int, int], float] = lambda k, d: k,
    block: Block = lambda cos, sin: (cos, sin, -sin, cos),
    place: Place = block_diagonal,
) -> Callable[..., Tensor]:
    """Return an answer(k, d_model); by default it is right.

    The arguments replace the frequencies, the distance, the 2 × 2 blocks and their layout.
    """

    def variant(k: int, d_model: int) -> Tensor:
        angles = distance(k, d_model) * frequencies(d_model, 10000.0)
        entries = torch.stack(block(angles.cos(), angles.sin()), dim=-1)
        return place(entries.unflatten(-1, (2, 2))).float()

    return variant


def frequency_by_row(exponent: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer(k, d_model) with a frequency for each row j, where each pair of rows should have one.

    It is base^(−exponent(j)/d).
    """

    def variant(k: int, d_model: int) -> Tensor:
        j = torch.arange(d_model, dtype=torch.float64)
        angles = k * 10000.0 ** (-exponent(j) / d_model)
        sines = torch.diag(torch.where(j % 2 == 0, angles.sin(), -angles.sin()))
        return (torch.diag(angles.cos()) + sines.unflatten(1, (-1, 2)).flip(-1).flatten(1)).float()

    return variant


made_of = by_knob("block")
placed = by_knob("place")
shifted_by = by_knob("distance")

QUESTION = Question(
    points=4,
    inputs=("k", "d_model"),
    outputs=("matrix (d_model, d_model)",),
    draw=draw_shifts,
    reference=shift_matrix,
    variant=shift_variant,
    any_float=True,
    misconceptions=(
        made_of("shifted-backwards", lambda cos, sin: (cos, -sin, sin, cos)),
        made_of("both-signs-plus", lambda cos, sin: (cos, sin, sin, cos)),
        made_of(
            "mirrored",
            lambda cos, sin: (cos, sin, sin, -cos),
            lambda cos, sin: (-cos, sin, sin, cos),
            lambda cos, sin: (sin, cos, cos, -sin),
        ),
        made_of(
            "sin-and-cos-swapped",
            lambda cos, sin: (sin, cos, -cos, sin),
            lambda cos, sin: (sin, -cos, cos, sin),
            lambda cos, sin: (sin, cos, cos, sin),
        ),
        made_of(
            "diagonal-only",
            lambda cos, sin: (cos, 0 * cos, 0 * cos, cos),
            lambda cos, sin: (sin, 0 * cos, 0 * cos, cos),
        ),
        placed("in-halves", in_halves),
        placed("first-pair-only", first_block_then(torch.eye), first_block_then(lambda n: torch.zeros(n, n))),
        placed("blocks-not-laid-out", lambda blocks: blocks, lambda blocks: blocks.flatten(0, 1)),
        *WRONG_FREQUENCIES,
        GROWING,
        OTHER_BASE,
        mistake("frequency-of-its-own-row", frequency_by_row(lambda j: j), frequency_by_row(lambda j: 2 * j)),
        shifted_by("one-step-only", lambda k, d: 1),
        shifted_by("k-off-by-one", lambda k, d: k + 1, lambda k, d: k - 1),
        mistake(
            "codes-for-a-matrix",
            lambda k, d_model: sinusoidal_encoding(d_model, d_model),
            lambda k, d_model: sinusoidal_encoding(d_model + k, d_model)[k:],
        ),
        mistake(
            "features-shifted",
            lambda k, d_model: torch.eye(d_model).roll(k, 0),
            lambda k, d_model: torch.eye(d_model).roll(k, 1),
            lambda k, d_model: torch.ones(d_model, d_model).triu(k).tril(k),
            lambda k, d_model: torch.ones(d_model, d_model).tril(-k).triu(-k),
        ),
        mistake("nothing-moves", lambda k, d_model: torch.eye(d_model)),
    ),
)
