"""Chapter 6, where am I: what is asked, and what people get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.positions import alibi_bias, apply_rope, shift_matrix, sinusoidal_encoding
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, call
from qkv.questions.slips import At, cut, slips

WIDTHS = (6, 10, 12, 14)  # even; 8 is left out, because a width of 8 hides some mistakes
WIDE = 20  # its second pair turns fast and shows a slightly different base, far from position 0
# Many compute angles in float32. No mistake: far from 0 that costs 1e-4, and a base of 10,001 shows by 4e-3.
FAR = 1e-3

# ── the frequencies, which 6.1 to 6.3 have in common ──────────────────────────────────────────────

Speeds = Callable[[int, float], Tensor]  # of d and the base: one frequency for each pair (d/2,)


def right_speeds(d: int, base: float) -> Tensor:
    return speeds_by(lambda i, d: 2 * i / d)(d, base)


def speeds_by(exponent: Callable[[Tensor, int], Tensor]) -> Speeds:
    """Give frequencies base^(−exponent), where the exponent depends on the pair's number i and on d."""
    return lambda d, base: base ** -exponent(torch.arange(d // 2, dtype=torch.float64), d)


def same_speed(d: int, base: float) -> Tensor:
    return torch.ones(d // 2, dtype=torch.float64)


SPEEDS = (
    Misconception(
        "two-forgotten",
        lambda seen: (
            f"Your pairs slow down half as fast as they should: the last of {pairs_of(seen)} is far from 1/10000. "
            "What is the exponent for pair i, and how many pairs share d features?"
        ),
        knobs={"speeds": speeds_by(lambda i, d: i / d)},
    ),
    Misconception(
        "two-counted-twice",
        "Your pairs slow down twice as fast as they should. If you step through 0, 2, 4, …, is that i, or 2i already?",
        knobs={"speeds": speeds_by(lambda i, d: 4 * i / d)},
    ),
    Misconception(
        "all-pairs-alike",
        "All your pairs turn at the same speed. What does a clock with one hand only say after a full turn? "
        "Is your exponent rounded, or left out?",
        knobs={"speeds": same_speed},
    ),
    Misconception(
        "pairs-numbered-from-one",
        "Your first pair is slowed down already. How fast should it turn, in radians a step, and so what is the first "
        "i?",
        knobs={"speeds": speeds_by(lambda i, d: 2 * (i + 1) / d)},
    ),
    Misconception(
        "slowed-to-the-very-base",
        "Your last pair turns at exactly 1/base: the exponent runs up to 1. By what does the formula divide 2i?",
        knobs={"speeds": speeds_by(lambda i, d: 2 * i / max(d - 2, 1))},
    ),
    Misconception(
        "speeds-reversed",
        "Your slow pairs come first and the fast ones last. Which pair turns by a whole radian a step?",
        knobs={"speeds": lambda d, base: right_speeds(d, base).flip(0)},
    ),
    Misconception(
        "speeds-in-a-line",
        "Your speeds fall in equal steps. Should each be a fixed amount below the one before, or a fixed fraction?",
        knobs={"speeds": lambda d, base: 1 - torch.arange(0, d, 2, dtype=torch.float64) / d},
    ),
    Misconception(
        "base-for-power",
        "Your speeds are 1/(base · 2i/d) or alike: the base is multiplied. Which operation joins 10000 and 2i/d?",
        knobs={
            "speeds": lambda d, base: 1 / (base * torch.arange(0, d, 2, dtype=torch.float64) / d).clamp(min=1),
        },
    ),
    Misconception(
        "e-for-the-base",
        "Your speeds are powers of e. What must the exponent be multiplied with, so that they become powers of the "
        "base?",
        knobs={"speeds": lambda d, base: right_speeds(d, math.e)},
    ),
    Misconception(
        "full-turns",
        "Your angles are 2π times what was expected. Does a frequency of 1 mean one turn a step here, or one radian?",
        knobs={"speeds": lambda d, base: 2 * math.pi * right_speeds(d, base)},
    ),
    Misconception(
        "degrees",
        "Your angles are π/180 times what was expected. Are they in degrees anywhere? What do `sin` and `cos` take?",
        knobs={"speeds": lambda d, base: math.pi / 180 * right_speeds(d, base)},
    ),
    Misconception(
        "division-forgotten",
        "Your speeds fall much too fast: d does not divide the exponent. What is the exponent of the last pair, in the "
        "formula?",
        knobs={"speeds": speeds_by(lambda i, d: 2 * i)},
    ),
    Misconception(
        "exponent-rounded",
        "All your pairs but the first turn at 1/base: the exponent was rounded. What does `//` do to a negative "
        "fraction?",
        knobs={"speeds": speeds_by(lambda i, d: (2 * i / d).ceil())},
    ),
    Misconception(
        "odd-columns-for-pairs",
        "Your exponents are those of the odd columns: 1/d, 3/d, … Which number of a column has its pair's exponent?",
        knobs={"speeds": speeds_by(lambda i, d: (2 * i + 1) / d)},
    ),
    Misconception(
        "power-left-out",
        "Your speeds are −2i/d or alike: the exponent itself. What is it the exponent of?",
        knobs={"speeds": lambda d, base: -torch.arange(0, d, 2, dtype=torch.float64) / d},
    ),
    Misconception(
        "power-left-out",
        "Your speeds are base · (−2i/d): a product. Which operation joins 10000 and −2i/d?",
        knobs={"speeds": lambda d, base: base * (-torch.arange(0, d, 2, dtype=torch.float64) / d)},
    ),
    Misconception(
        "power-left-out",
        "Your speeds are base − 2i/d: a difference. Which operation joins 10000 and −2i/d?",
        knobs={"speeds": lambda d, base: base - torch.arange(0, d, 2, dtype=torch.float64) / d},
    ),
    Misconception(
        "power-left-out",
        "Your speeds are base + 2i/d: a sum. Which operation joins 10000 and −2i/d?",
        knobs={"speeds": lambda d, base: base + torch.arange(0, d, 2, dtype=torch.float64) / d},
    ),
    Misconception(
        "fraction-turned-round",
        "Your exponent is −d/(2i). Which of the two stands below the line?",
        knobs={"speeds": speeds_by(lambda i, d: d / (2 * i))},
    ),
    Misconception(
        "rounded-speeds",
        "Your speeds were rounded to two decimals. How far off is a slow hand then, after a hundred steps?",
        knobs={"speeds": lambda d, base: right_speeds(d, base).round(decimals=2)},
    ),
    *(
        Misconception(slug, says, knobs={"speeds": speeds}, alone=True)
        for slug, says, speeds in (
            (
                "speeds-rounded",
                "Your speeds are rounded to whole numbers, so all hands but the first stand still. Which step rounds?",
                lambda d, base: right_speeds(d, base).round(),
            ),
            (
                "base-for-speed",
                "All your speeds are the base itself. What is it raised to?",
                lambda d, base: base * same_speed(d, base),
            ),
            (
                "base-divided-by-exponent",
                "Your speeds are the base divided by an exponent. Which operation joins 10000 and −2i/d?",
                lambda d, base: base / (-torch.arange(0, d, 2, dtype=torch.float64) / d),
            ),
            (
                "base-to-the-width",
                "Your speeds are the base to the power d, all alike. What is the exponent of pair i?",
                lambda d, base: base**d * same_speed(d, base),
            ),
            *(
                (
                    "steps-of-another-size",
                    f"Your exponents go up in steps of {step}/d. How many features does one pair have?",
                    lambda d, base, step=step: base ** (-torch.arange(0, d, step, dtype=torch.float64) / d),
                )
                for step in (1, 3, 4)
            ),
            *(
                (
                    "exponents-from-elsewhere",
                    f"Your exponents begin at {start}/d. With which does the first pair begin?",
                    lambda d, base, start=start: base ** (-torch.arange(start, d, 2, dtype=torch.float64) / d),
                )
                for start in (-1, 2)
            ),
            *(
                (
                    "arguments-of-arange",
                    "`arange` does not get from its first number to its second in such steps. In which order does it "
                    "take start, end and step?",
                    lambda d, base, given=given: base ** (-torch.arange(*given(d), dtype=torch.float64) / d),
                )
                for given in (
                    lambda d: (d, 0, 2),
                    lambda d: (2, d, 0),
                    lambda d: (0, d, -2),
                )
            ),
        )
    ),
    Misconception(
        "speeds-grow",
        "Your pairs turn faster and faster. Which sign does the exponent have, if each hand is slower than the one "
        "before?",
        knobs={"speeds": speeds_by(lambda i, d: -2 * i / d)},
    ),
)


OTHER_BASES = (1000.0, 5000.0, 9999.0, 10001.0, 20000.0, 100000.0)


def other_base(base: float) -> Misconception:
    return Misconception(
        "another-base",
        f"Your frequencies have the base {base:,.0f}. Which base does the chapter's formula have, and which was asked "
        "for?",
        knobs={"speeds": lambda d, _: right_speeds(d, base)},
    )


def pairs_of(seen: Seen) -> str:
    """Say how many pairs there are in a case."""
    width = seen.case.sizes.get("d_model") or seen.case.sizes.get("d", 2)
    return f"{width // 2} pairs" if width > 2 else "all pairs"


# ── 6.1 the sinusoidal encoding ───────────────────────────────────────────────────────────────────

Lay = Callable[[Tensor, Tensor], Tensor]  # of sines and cosines (n, d/2): the table


def alternating(sines: Tensor, cosines: Tensor) -> Tensor:
    return torch.stack([sines, cosines], dim=-1).flatten(-2)


def encoding_variant(
    speeds: Speeds = right_speeds,
    times: Callable[[int, int], Tensor] = lambda n, d: torch.arange(n, dtype=torch.float64),
    lay: Lay = alternating,
    after: Callable[[Tensor], Tensor] = lambda table: table,
) -> Callable[..., Tensor]:
    """Give an answer to 6.1 that has other frequencies, positions, columns, or goes on in another way."""

    def variant(n: int, d_model: int) -> Tensor:
        angles = torch.outer(times(n, d_model), speeds(d_model, 10000.0))
        return after(lay(angles.sin(), angles.cos()).float())

    return variant


def encoding_by_columns(exponent: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """Give an answer to 6.1 with a frequency for each column, in place of each pair."""

    def variant(n: int, d_model: int) -> Tensor:
        j = torch.arange(d_model, dtype=torch.float64)
        angles = torch.outer(torch.arange(n, dtype=torch.float64), 10000.0 ** -exponent(j, d_model))
        return torch.where(j % 2 == 0, angles.sin(), angles.cos()).float()

    return variant


def encoding_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(n: int, d_model: int) -> Tensor:
        angles = at("angles", torch.outer(torch.arange(n, dtype=torch.float64), right_speeds(d_model, 10000.0)))
        return at("table", alternating(at("sines", angles.sin()), at("cosines", angles.cos()))).float()

    return answer


def all_angles(n: int, d_model: int) -> Tensor:
    return torch.outer(torch.arange(n, dtype=torch.float64), right_speeds(d_model, 10000.0))


def growing_in_float32(n: int, d_model: int) -> Tensor:
    angles = torch.arange(n)[:, None] * 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return alternating(angles.sin(), angles.cos())


def frequency_outside(n: int, d_model: int) -> Tensor:
    hands = torch.arange(n, dtype=torch.float64)[:, None]
    speeds = right_speeds(d_model, 10000.0)
    return alternating(hands.sin() * speeds, hands.cos() * speeds).float()


def draw_sizes(draw: Draw) -> list[Case]:
    def case(name: str, tolerance: float | None = None, **fixed: int) -> Case:
        s = draw.sizes("n", "d_model", **{"d_model": draw.choose(WIDTHS)} | fixed)
        return Case(call(s["n"], s["d_model"]), name, s, tolerance=tolerance)

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


SINUSOIDAL = Question(
    id="6.1",
    points=4,
    title="A clock for every position",
    inputs=("n", "d_model"),
    outputs=("encoding (n, d_model)",),
    draw=draw_sizes,
    reference=sinusoidal_encoding,
    variant=encoding_variant,
    about="Positions go down, features across, in float32.",
    misconceptions=(
        Misconception(
            "sin-and-cos-swapped",
            "At position 0 your rows begin with 1, 0. There every hand points to twelve. What is the sine of 0, and "
            "which of the two stands at the even places?",
            knobs={"lay": lambda sines, cosines: alternating(cosines, sines)},
        ),
        Misconception(
            "concatenated",
            "All your sines come first, then all your cosines. Where do the two features of one hand stand in the "
            "formula?",
            knobs={"lay": lambda sines, cosines: torch.cat([sines, cosines], dim=-1)},
        ),
        Misconception(
            "concatenated",
            "All your cosines come first, then all your sines. Where do the two features of one hand stand, and which "
            "of them is first?",
            knobs={"lay": lambda sines, cosines: torch.cat([cosines, sines], dim=-1)},
        ),
        Misconception(
            "only-sines",
            "Every column is a sine. At which angles does the sine alone not tell where a hand points?",
            knobs={"lay": lambda sines, cosines: alternating(sines, sines)},
        ),
        Misconception(
            "only-cosines",
            "Every column is a cosine. Does a cosine tell a hand that is before twelve from one that is past it?",
            knobs={"lay": lambda sines, cosines: alternating(cosines, cosines)},
        ),
        Misconception(
            "frequencies-by-index",
            "Your odd columns turn more slowly than the even ones beside them. Do a sine and its cosine belong to one "
            "hand, or to two?",
            twin=encoding_by_columns(lambda j, d: j / d),
        ),
        Misconception(
            "frequencies-by-index",
            "Each of your columns has a frequency of its own, from 2·(column)/d. How many hands are there, and what "
            "is i the number of?",
            twin=encoding_by_columns(lambda j, d: 2 * j / d),
        ),
        Misconception(
            "frequencies-by-index",
            "Your odd columns turn faster or slower than their even neighbours. Which i do columns 2 and 3 share?",
            twin=encoding_by_columns(lambda j, d: 2 * ((j + 1) // 2) / d),
        ),
        *SPEEDS,
        *map(other_base, OTHER_BASES),
        Misconception(
            "speeds-grow",
            "Your hands turn faster and faster. Is the position divided by 10000 to the power 2i/d, or multiplied?",
            twin=growing_in_float32,
        ),
        Misconception(
            "frequency-outside-the-sine",
            "Your columns get smaller, not slower: the frequency stands outside the sine. How long is every hand?",
            twin=frequency_outside,
        ),
        Misconception(
            "positions-from-one",
            "Your first row is that of position 1. Where should every hand point at the first token?",
            knobs={"times": lambda n, d: torch.arange(1, n + 1, dtype=torch.float64)},
        ),
        Misconception(
            "positions-as-fractions",
            "Your positions run from 0 to 1, whatever n is. Has position 3 the same code in a short text and in a "
            "long one?",
            knobs={"times": lambda n, d: torch.arange(n, dtype=torch.float64) / n},
        ),
        Misconception(
            "positions-as-fractions",
            "Your last row is always at the same angle. Has position 3 the same code in a short text and in a long "
            "one?",
            knobs={"times": lambda n, d: torch.arange(n, dtype=torch.float64) / max(n - 1, 1)},
        ),
        Misconception(
            "positions-backwards",
            "Your last row has position 0. At which end does the text begin?",
            knobs={"times": lambda n, d: torch.arange(n - 1, -1, -1, dtype=torch.float64)},
        ),
        Misconception(
            "turned-backwards",
            "Your sines have the wrong sign. Which way does a hand turn when the position grows?",
            knobs={"lay": lambda sines, cosines: alternating(-sines, cosines)},
        ),
        Misconception(
            "cosines-negative",
            "Your cosines have the wrong sign. What is the cosine of 0, where every hand begins?",
            knobs={"lay": lambda sines, cosines: alternating(sines, -cosines)},
        ),
        Misconception(
            "transposed",
            "Your positions go across and your features down. What is a row in this course?",
            knobs={"after": lambda table: table.mT},
        ),
        Misconception(
            "batch-axis-added",
            "Your table has one axis too many in front. How many axes does (n, d_model) have?",
            knobs={"after": lambda table: table.unsqueeze(0)},
        ),
        Misconception(
            "scaled",
            lambda seen: (
                f"Your table is √{seen['d_model']} times what was expected. A sine never goes past 1: how far does "
                "yours go?"
            ),
            knobs={"after": lambda table: table * math.sqrt(table.shape[-1])},
        ),
        Misconception(
            "scaled",
            "Your table was divided by √d_model. A hand of a clock has length 1: how long is yours?",
            knobs={"after": lambda table: table / math.sqrt(table.shape[-1])},
        ),
        Misconception(
            "scaled",
            "Each of your rows has length 1. Each single hand should have. How long is a row of d/2 hands?",
            knobs={"after": lambda table: table / table.norm(dim=-1, keepdim=True)},
        ),
        *slips(encoding_in_steps, "negated rounded", table="your table"),
        *slips(encoding_in_steps, "rounded", angles="your angles", sines="your sines", cosines="your cosines"),
        Misconception(
            "positions-left-out",
            "Your angles hold no position: every row is alike, or there is one. What is multiplied with a speed?",
            twin=lambda n, d_model: alternating(
                right_speeds(d_model, 10000.0).sin(), right_speeds(d_model, 10000.0).cos()
            ).float(),
        ),
        Misconception(
            "speeds-left-out",
            "Your angles are the positions themselves, and there is one pair for each. Which speeds do the pairs have?",
            twin=lambda n, d_model: alternating(
                torch.arange(n, dtype=torch.float64).sin(), torch.arange(n, dtype=torch.float64).cos()
            ).float(),
        ),
        Misconception(
            "positions-across",
            "Your positions go across and your pairs down, and each row is one pair's. What is a row in this course?",
            twin=lambda n, d_model: alternating(
                all_angles(n, d_model).mT.sin(), all_angles(n, d_model).mT.cos()
            ).float(),
        ),
        Misconception(
            "float64-kept",
            "Your values are right, and in float64. Which dtype was asked for?",
            twin=lambda n, d_model: alternating(all_angles(n, d_model).sin(), all_angles(n, d_model).cos()),
        ),
        Misconception(
            "angle-for-its-sine",
            "Your even columns hold angles, and grow without bound. Which function makes a number between −1 and 1 of "
            "them?",
            twin=lambda n, d_model: alternating(all_angles(n, d_model), all_angles(n, d_model).cos()).float(),
        ),
        Misconception(
            "angle-for-its-cosine",
            "Your odd columns hold angles, and grow without bound. Which function makes a number between −1 and 1 of "
            "them?",
            twin=lambda n, d_model: alternating(all_angles(n, d_model).sin(), all_angles(n, d_model)).float(),
        ),
        Misconception(
            "pairs-left-apart",
            "Your table has an axis for pairs and one for the two hands. How do three axes become two?",
            twin=lambda n, d_model: sinusoidal_encoding(n, d_model).unflatten(-1, (-1, 2)),
        ),
        Misconception(
            "sines-and-cosines-stacked",
            "Sines and cosines came back as two tables. Where does a sine stand, seen from its cosine?",
            twin=lambda n, d_model: torch.stack([all_angles(n, d_model).sin(), all_angles(n, d_model).cos()]).float(),
        ),
        Misconception(
            "sines-and-cosines-stacked",
            "All sines of all positions stand in one row, all cosines in another. What is a row in this course?",
            twin=lambda n, d_model: (
                torch.stack([all_angles(n, d_model).sin(), all_angles(n, d_model).cos()]).flatten(-2).float()
            ),
        ),
        Misconception(
            "positions-lost",
            "All positions came back in one row. What does a row stand for?",
            twin=lambda n, d_model: sinusoidal_encoding(n, d_model).flatten(),
        ),
        Misconception(
            "angles-returned",
            "Your table holds angles, or positions, and they grow without bound. What turns an angle into two numbers "
            "between −1 and 1?",
            twin=lambda n, d_model: all_angles(n, d_model).float(),
        ),
        Misconception(
            "one-row-only",
            "One row came back, that of the last position. How many positions are asked for?",
            twin=lambda n, d_model: sinusoidal_encoding(n, d_model)[-1],
        ),
        Misconception(
            "one-row-only",
            "One row came back, that of position n. Which positions are asked for, and how many?",
            twin=lambda n, d_model: sinusoidal_encoding(n + 1, d_model)[-1],
        ),
        Misconception(
            "one-position-too-many",
            "Your table has a row for position n. It counts from 0: which is the last of n positions?",
            twin=lambda n, d_model: sinusoidal_encoding(n + 1, d_model),
        ),
    ),
)

# ── 6.2 a shift is a rotation ─────────────────────────────────────────────────────────────────────

Block = Callable[[Tensor, Tensor], tuple[Tensor, ...]]  # of cosines and sines (d/2,): four entries, row by row
Place = Callable[[Tensor], Tensor]  # of blocks (d/2, 2, 2): the matrix


def forward_turn(cos: Tensor, sin: Tensor) -> tuple[Tensor, ...]:
    return cos, sin, -sin, cos


def along_the_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks)


def in_halves(blocks: Tensor) -> Tensor:
    return torch.cat([torch.cat([torch.diag(blocks[:, i, j]) for j in (0, 1)], dim=1) for i in (0, 1)])


def against_the_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks.flip(0)).flip(0).unflatten(0, (-1, 2)).flip(1).flatten(0, 1)


def shift_variant(
    speeds: Speeds = right_speeds,
    steps: Callable[[int, int], int] = lambda k, d: k,
    block: Block = forward_turn,
    place: Place = along_the_diagonal,
) -> Callable[..., Tensor]:
    """Give an answer to 6.2 that turns by other angles, in other blocks, or lays them out in another way."""

    def variant(k: int, d_model: int) -> Tensor:
        angles = steps(k, d_model) * speeds(d_model, 10000.0)
        entries = torch.stack(torch.broadcast_tensors(*block(angles.cos(), angles.sin())), dim=-1)
        return place(entries.unflatten(-1, (2, 2))).float()

    return variant


def other_function(entry: str) -> str:
    return entry.translate(str.maketrans("cs", "sc"))


def other_sign(entry: str) -> str:
    return entry[1:] if entry.startswith("-") else f"-{entry}"


def with_one_entry(place: int, other: Callable[[str], str]) -> Block:
    """Give blocks in which one of the four entries is another."""
    entries = ["c", "s", "-s", "c"]
    entries[place] = other(entries[place])

    def block(cos: Tensor, sin: Tensor) -> tuple[Tensor, ...]:
        values = {"c": cos, "s": sin, "-c": -cos, "-s": -sin}
        return tuple(values[entry] for entry in entries)

    return block


def shift_by_angle(angle: Callable[[int, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Give an answer to 6.2 that makes its angles of k and the speeds in another way."""

    def variant(k: int, d_model: int) -> Tensor:
        angles = angle(k, right_speeds(d_model, 10000.0))
        entries = torch.stack(forward_turn(angles.cos(), angles.sin()), dim=-1)
        return along_the_diagonal(entries.unflatten(-1, (2, 2))).float()

    return variant


def shift_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(k: int, d_model: int) -> Tensor:
        angles = at("angles", k * right_speeds(d_model, 10000.0))
        entries = torch.stack(forward_turn(at("cosines", angles.cos()), at("sines", angles.sin())), dim=-1)
        return at("matrix", along_the_diagonal(entries.unflatten(-1, (2, 2)))).float()

    return answer


def shift_by_entries(entries: Callable[[Tensor], tuple[Tensor, ...]]) -> Callable[..., Tensor]:
    """Give an answer to 6.2 that makes the four entries of its blocks from the angles in another way."""

    def variant(k: int, d_model: int) -> Tensor:
        four = torch.stack(entries(k * right_speeds(d_model, 10000.0)), dim=-1)
        return along_the_diagonal(four.unflatten(-1, (2, 2))).float()

    return variant


def four_entries(k: int, d_model: int, dim: int) -> Tensor:
    angles = k * right_speeds(d_model, 10000.0)
    return torch.stack(forward_turn(angles.cos(), angles.sin()), dim=dim)


def shift_by_cut(size: tuple[int, int]) -> Callable[..., Tensor]:
    """Give an answer to 6.2 that cuts its four entries into another block."""
    return lambda k, d_model: along_the_diagonal(four_entries(k, d_model, -1).unflatten(-1, size)).float()


def shift_by_stack(dim: int, cut: int) -> Callable[..., Tensor]:
    """Give an answer to 6.2 that stacks its entries, or cuts them, along another axis."""
    return lambda k, d_model: along_the_diagonal(four_entries(k, d_model, dim).unflatten(cut, (2, 2))).float()


def first_pair_only(blocks: Tensor) -> Tensor:
    size = 2 * len(blocks)
    return torch.block_diag(blocks[0], torch.eye(size - 2, dtype=blocks.dtype))


def first_pair_and_zeros(blocks: Tensor) -> Tensor:
    size = 2 * len(blocks)
    return torch.block_diag(blocks[0], torch.zeros(size - 2, size - 2, dtype=blocks.dtype))


def draw_shifts(draw: Draw) -> list[Case]:
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
        case("a long way", draw.whole(900, 1000), FAR, WIDE),
    ]


SHIFT = Question(
    id="6.2",
    points=4,
    title="A shift is a rotation",
    inputs=("k", "d_model"),
    outputs=("matrix (d_model, d_model)",),
    draw=draw_shifts,
    reference=shift_matrix,
    variant=shift_variant,
    any_float=True,
    misconceptions=(
        Misconception(
            "shifted-backwards",
            "Your matrix takes PE[t] to PE[t − k]: it stands transposed, or its signs are on the other sine. Work out "
            "sin((t + k)ω) with the formula for sin(a + b). Which sign has its second term?",
            knobs={"block": lambda cos, sin: (cos, -sin, sin, cos)},
        ),
        Misconception(
            "both-signs-plus",
            "Both your sines have a plus. Does this matrix keep a hand's length? Work out cos(a + b) once more.",
            knobs={"block": lambda cos, sin: (cos, sin, sin, cos)},
        ),
        Misconception(
            "both-signs-minus",
            "Both your sines have a minus. Does this matrix keep a hand's length? Work out sin(a + b) once more.",
            knobs={"block": lambda cos, sin: (cos, -sin, -sin, cos)},
        ),
        Misconception(
            "mirrored",
            "Your blocks mirror a hand in place of turning it: their determinant is −1. What should k = 0 give?",
            knobs={"block": lambda cos, sin: (cos, sin, sin, -cos)},
        ),
        Misconception(
            "mirrored",
            "Your blocks mirror a hand in place of turning it: their determinant is −1. What should k = 0 give?",
            knobs={"block": lambda cos, sin: (-cos, sin, sin, cos)},
        ),
        Misconception(
            "mirrored",
            "Your blocks mirror a hand: for k = 0 they exchange sine and cosine. What should k = 0 give?",
            knobs={"block": lambda cos, sin: (sin, cos, cos, -sin)},
        ),
        Misconception(
            "sin-and-cos-swapped",
            "For k = 0 your matrix is not the identity: the sines stand on the diagonal. What is sin 0?",
            knobs={"block": lambda cos, sin: (sin, cos, -cos, sin)},
        ),
        Misconception(
            "sin-and-cos-swapped",
            "For k = 0 your matrix is not the identity: the sines stand on the diagonal. What is sin 0?",
            knobs={"block": lambda cos, sin: (sin, -cos, cos, sin)},
        ),
        Misconception(
            "sin-and-cos-swapped",
            "For k = 0 your matrix exchanges sine and cosine. Should a shift by nothing change anything?",
            knobs={"block": lambda cos, sin: (sin, cos, cos, sin)},
        ),
        Misconception(
            "signs-turned-round",
            "For k = 0 your matrix is minus the identity: every hand is turned by half a turn too much. Which signs "
            "are wrong?",
            knobs={"block": lambda cos, sin: (-cos, -sin, sin, -cos)},
        ),
        *(
            Misconception(
                "sine-for-cosine",
                f"In your blocks, row {i // 2} has the wrong function in column {i % 2}. Which two places of a turn "
                "hold cosines, and what should k = 0 give?",
                knobs={"block": with_one_entry(i, other_function)},
            )
            for i in range(4)
        ),
        *(
            Misconception(
                "sign-of-one-entry",
                f"In your blocks, row {i // 2} has the wrong sign in column {i % 2}. What should k = 0 give?",
                knobs={"block": with_one_entry(i, other_sign)},
            )
            for i in (0, 3)
        ),
        Misconception(
            "row-reversed",
            "In each block your second row is the wrong way round. Which of its entries belongs to the sine, the first "
            "feature?",
            knobs={"block": lambda cos, sin: (cos, sin, cos, -sin)},
        ),
        Misconception(
            "row-reversed",
            "In each block your first row is the wrong way round. Which of its entries belongs to the sine, the first "
            "feature?",
            knobs={"block": lambda cos, sin: (sin, cos, -sin, cos)},
        ),
        *(
            Misconception(
                "angle-not-a-product",
                f"Your angle is not k times the speed: you {done}. How far does a hand go in k steps?",
                twin=shift_by_angle(angle),
            )
            for done, angle in (
                ("add the two", lambda k, speeds: k + speeds),
                ("take one from the other", lambda k, speeds: k - speeds),
                ("raise k to it", lambda k, speeds: k**speeds),
                ("raise it to k", lambda k, speeds: speeds**k),
            )
        ),
        Misconception(
            "diagonal-only",
            "Your matrix is zero off the diagonal. Can the new sine be had from the old sine alone?",
            knobs={"block": lambda cos, sin: (cos, 0 * cos, 0 * cos, cos)},
        ),
        Misconception(
            "diagonal-only",
            "Your matrix is zero off the diagonal. Can the new sine be had from the old sine alone?",
            knobs={"block": lambda cos, sin: (sin, 0 * cos, 0 * cos, cos)},
        ),
        Misconception(
            "in-halves",
            "Your matrix fits a code with all sines first and then all cosines. Where do the sine and the cosine of "
            "one hand stand in our encoding?",
            knobs={"place": in_halves},
        ),
        Misconception(
            "along-the-other-diagonal",
            "Your blocks run from the top right to the bottom left. Which features should the first pair be made of?",
            knobs={"place": against_the_diagonal},
        ),
        Misconception(
            "first-pair-only",
            "Only your first pair turns, and the others stay. Do the other hands stand still when the text goes on?",
            knobs={"place": first_pair_only},
        ),
        Misconception(
            "first-pair-only",
            "All but your first block is zero. What happened to the other hands?",
            knobs={"place": first_pair_and_zeros},
        ),
        Misconception(
            "blocks-not-laid-out",
            "Your blocks came back as they are, one 2 × 2 table for each pair. Where do they stand in one large "
            "matrix, and what stands around them?",
            knobs={"place": lambda blocks: blocks},
        ),
        Misconception(
            "blocks-not-laid-out",
            "Your blocks came back below each other. Where do they stand in one large matrix?",
            knobs={"place": lambda blocks: blocks.flatten(0, 1)},
        ),
        Misconception(
            "blocks-everywhere",
            "Your matrix has no zeros: the blocks fill whole rows. Does one hand take anything from another hand?",
            knobs={"place": lambda blocks: blocks.flatten(0, 1).repeat(1, len(blocks))},
        ),
        *(idea for idea in SPEEDS if idea.slug != "division-forgotten"),  # here that turns the first pair only
        *map(other_base, OTHER_BASES),
        Misconception(
            "frequency-of-its-own-row",
            "Within a block your two rows turn by different angles. Do a sine and its cosine belong to one hand, or "
            "to two?",
            twin=lambda k, d_model: by_rows(k, d_model, lambda j: j / d_model),
        ),
        Misconception(
            "frequency-of-its-own-row",
            "Within a block your two rows turn by different angles. What is i the number of: rows, or pairs?",
            twin=lambda k, d_model: by_rows(k, d_model, lambda j: 2 * j / d_model),
        ),
        Misconception(
            "one-step-only",
            "Your matrix is that of one step, whatever k is. Where does k come in?",
            knobs={"steps": lambda k, d: 1},
        ),
        Misconception(
            "one-step-too-many",
            "Your matrix goes k + 1 steps. What should k = 0 give?",
            knobs={"steps": lambda k, d: k + 1},
        ),
        Misconception(
            "one-step-too-few",
            "Your matrix goes k − 1 steps. What should k = 0 give?",
            knobs={"steps": lambda k, d: k - 1},
        ),
        Misconception(
            "step-as-a-fraction",
            "Your angle shrinks as d_model grows: k was divided by it. How far does the fast hand turn in k steps?",
            knobs={"steps": lambda k, d: k / d},
        ),
        Misconception(
            "features-shifted",
            "Your matrix moves every feature k places along the row. A shift of the *text* does what to a hand?",
            twin=lambda k, d_model: torch.eye(d_model).roll(k, dims=0),
        ),
        Misconception(
            "features-shifted",
            "Your matrix moves every feature k places along the row. A shift of the *text* does what to a hand?",
            twin=lambda k, d_model: torch.eye(d_model).roll(k, dims=1),
        ),
        Misconception(
            "features-shifted",
            "Your matrix has ones along an off-diagonal: it moves features. A shift of the *text* does what to a hand?",
            twin=lambda k, d_model: torch.ones(d_model, d_model).triu(k).tril(k),
        ),
        Misconception(
            "features-shifted",
            "Your matrix has ones along an off-diagonal: it moves features. A shift of the *text* does what to a hand?",
            twin=lambda k, d_model: torch.ones(d_model, d_model).triu(-k).tril(-k),
        ),
        Misconception(
            "from-position-0-only",
            "Your matrix takes PE[0] to PE[k], and no other position where it should. Which matrix works for every t?",
            twin=lambda k, d_model: (
                torch.outer(sinusoidal_encoding(k + 1, d_model)[k], sinusoidal_encoding(1, d_model)[0]) * 2 / d_model
            ),
        ),
        Misconception(
            "codes-for-a-matrix",
            "Your rows are codes of positions: PE[0], PE[1], … Which matrix, times one code, gives the code k places "
            "on?",
            twin=lambda k, d_model: sinusoidal_encoding(d_model, d_model),
        ),
        Misconception(
            "codes-for-a-matrix",
            "Your rows are codes of positions: PE[k], PE[k + 1], … Which matrix, times one code, gives the code k "
            "places on?",
            twin=lambda k, d_model: sinusoidal_encoding(d_model + k, d_model)[k:],
        ),
        *slips(
            shift_in_steps,
            "rounded",
            angles="your angles",
            sines="your sines",
            cosines="your cosines",
            matrix="your matrix",
        ),
        Misconception(
            "angle-for-its-sine",
            "Where sines should stand, the angle stands itself. How large can an entry of a turn be?",
            twin=shift_by_entries(lambda angles: (angles.cos(), angles, -angles, angles.cos())),
        ),
        Misconception(
            "angle-for-its-cosine",
            "Where cosines should stand, the angle stands itself. How large can an entry of a turn be?",
            twin=shift_by_entries(lambda angles: (angles, angles.sin(), -angles.sin(), angles)),
        ),
        Misconception(
            "cosines-negative",
            "Your cosines have the wrong sign. What should k = 0 give?",
            knobs={"block": lambda cos, sin: (-cos, sin, -sin, -cos)},
            alone=True,
        ),
        Misconception(
            "speeds-left-out",
            "Your angle is k alone, for every pair. Which speeds do the pairs have?",
            twin=shift_by_angle(lambda k, speeds: k * torch.ones(1, dtype=torch.float64)),
        ),
        Misconception(
            "width-for-speed",
            "Your angle is k times d_model. Which speed does a pair have?",
            twin=shift_by_angle(lambda k, speeds: k * torch.tensor([2.0 * len(speeds)], dtype=torch.float64)),
        ),
        Misconception(
            "blocks-not-laid-out",
            "The four entries of a pair were never made a block of two rows. How do four numbers become 2 × 2?",
            knobs={"place": lambda blocks: torch.block_diag(*blocks.flatten(1))},
            alone=True,
        ),
        *(
            Misconception(
                "sizes-of-a-block",
                f"Four entries are cut into {size}, which does not work out. How many rows and columns has a block?",
                twin=shift_by_cut(size),
            )
            for size in ((3, 2), (1, 2), (4, 2), (-2, 2), (2, 3), (2, 1), (2, 4), (2, -2))
        ),
        Misconception(
            "entries-stacked-along-another-axis",
            "The four entries are stacked along another axis than the last, so a block holds those of several pairs. "
            "Which axis is cut in two afterwards?",
            twin=shift_by_stack(0, -1),
        ),
        Misconception(
            "entries-stacked-along-another-axis",
            "Another axis is cut into a block than the one that the four entries are stacked along. Which one is it?",
            twin=shift_by_stack(-1, -2),
        ),
        Misconception(
            "nothing-moves",
            "Your matrix is the identity. It leaves every code where it was. What do the hands do in k steps?",
            twin=lambda k, d_model: torch.eye(d_model),
        ),
    ),
)


def by_rows(k: int, d_model: int, exponent: Callable[[Tensor], Tensor]) -> Tensor:
    """Give a shift whose rows, in place of its pairs, have a frequency each."""
    j = torch.arange(d_model, dtype=torch.float64)
    angles = k * 10000.0 ** -exponent(j)
    even = j % 2 == 0
    partner = torch.diag(torch.where(even, angles.sin(), -angles.sin()))
    swapped = partner.unflatten(1, (-1, 2)).flip(-1).flatten(1)
    return (torch.diag(angles.cos()) + swapped).float()


# ── 6.3 RoPE ──────────────────────────────────────────────────────────────────────────────────────

Turn = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # of a pair's two, cos and sin
Split = Callable[[Tensor], tuple[Tensor, Tensor]]


def neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    first, second = x.chunk(2, dim=-1)
    return first, second


def side_by_side(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a, b], dim=-1)


def turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos - b * sin, a * sin + b * cos


def turned_too_early(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    a = a * cos - b * sin
    return a, a * sin + b * cos


def turned_too_early_second_first(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    b = a * sin + b * cos
    return a * cos - b * sin, b


def rope_variant(
    speeds: Speeds = right_speeds,
    times: Callable[[Tensor, Tensor], Tensor] = lambda positions, x: positions,
    split: Split = neighbours,
    join: Callable[[Tensor, Tensor], Tensor] = alternating,
    turn: Turn = turned,
    chosen: Callable[[float], float] = lambda base: base,
) -> Callable[..., Tensor]:
    """Give an answer to 6.3 that pairs, turns or counts in another way."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        angles = times(positions, x).double()[:, None] * speeds(x.shape[-1], chosen(base))
        a, b = split(x)
        return join(*turn(a, b, angles.cos().to(x), angles.sin().to(x)))

    return variant


def part_wrong(place: int, wrong: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> Turn:
    """Give a turn with one of its four products wrong: a cos, b sin, a sin, b cos."""

    def turn(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        parts = [a * cos, b * sin, a * sin, b * cos]
        feature, other = (a, b) if place in (0, 2) else (b, a)
        function, partner = (cos, sin) if place in (0, 3) else (sin, cos)
        parts[place] = wrong(feature, function, other, partner).expand_as(a)
        return parts[0] - parts[1], parts[2] + parts[3]

    return turn


NTH = ("first", "second")
WRONG_PARTS: tuple[tuple[str, str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]], ...] = (
    ("product-forgotten", "one of the two products is missing. Which?", lambda x, f, y, g: 0 * x),
    ("function-forgotten", "one of the two products has no sine or cosine in it. Which?", lambda x, f, y, g: x + 0 * f),
    ("feature-forgotten", "one of the two products has no feature in it. Which?", lambda x, f, y, g: f + 0 * x),
    ("added-for-multiplied", "something is added that should be multiplied. What?", lambda x, f, y, g: x + f),
    ("sine-for-cosine", "a sine stands for a cosine, or the other way round. Where?", lambda x, f, y, g: x * g),
    ("wrong-partner", "one of the two products has the wrong feature of the pair. Which?", lambda x, f, y, g: y * f),
    ("divided-for-multiplied", "something is divided that should be multiplied. What?", lambda x, f, y, g: x / f),
)


def rope_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        angles = at("angles", positions.double()[:, None] * right_speeds(x.shape[-1], base))
        a, b = at("first_features", x[..., 0::2]), at("second_features", x[..., 1::2])
        cos, sin = at("cosines", angles.cos().to(x)), at("sines", angles.sin().to(x))
        return at("rows", alternating(*turned(a, b, cos, sin)))

    return answer


def cut_at(step: str) -> At:
    return lambda name, value: cut(value) if name == step else value


def rope_by_angle(functions: tuple[Callable[[Tensor], Tensor], ...]) -> Callable[..., Tensor]:
    """Give an answer to 6.3 with other functions of the angle than cosine and sine."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        angles = positions.double()[:, None] * right_speeds(x.shape[-1], base)
        cos, sin = (function(angles).to(x) for function in functions)
        return alternating(*turned(*neighbours(x), cos, sin))

    return variant


def stacked(dim: int, start: int) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda a, b: torch.stack([a, b], dim=dim).flatten(start)


def rope_of_width(axis: int) -> Callable[..., Tensor]:
    """Give an answer to 6.3 whose speeds are made for another axis than the features'."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        d = x.shape[axis]
        speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = torch.outer(positions.double(), speeds)
        return alternating(*turned(*neighbours(x), angles.cos().to(x), angles.sin().to(x)))

    return variant


def rope_transposed(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    angles = torch.outer(right_speeds(x.shape[-1], base), positions.double())
    return alternating(*turned(*neighbours(x), angles.cos().to(x), angles.sin().to(x)))


def with_default_base(default: float) -> Callable[..., Tensor]:
    return lambda x, positions, base=default: apply_rope(x, positions, base)


def turned_along(axis: int) -> Callable[..., Tensor]:
    """Give an answer to 6.3 that takes another axis for the tokens' one."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        return apply_rope(x.movedim(axis, -2), positions, base).movedim(-2, axis)

    return variant


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
        s = draw.sizes("n", "d", **{"d": draw.choose(WIDTHS)} | fixed)
        coarse = dtype == torch.float64 and positions is None  # float32 angles are right enough
        given = scattered(draw, s["n"]) if positions is None else positions
        options = {} if base is None else {"base": base}
        return Case(
            call(draw.normal(*leading, s["n"], s["d"], dtype=dtype), given, **options),
            name,
            s,
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


def at_position_0(seen: Seen) -> str:
    positions = seen.case.script[0].args[1]
    return "" if int(positions[0]) else "The first token stands at position 0, where nothing should turn. "


ROPE = Question(
    id="6.3",
    points=4,
    title="Turn queries and keys",
    inputs=("x", "positions", "base"),
    outputs=("rows (..., n, d)",),
    draw=draw_rows,
    reference=apply_rope,
    variant=rope_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "rotated-the-wrong-way",
            "You turn backwards: by −θ. In the formula, which of the two new features has the minus, and on which "
            "product?",
            knobs={"turn": lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)},
        ),
        Misconception(
            "half-split",
            "You pair feature i with feature i + d/2: that is the half-split layout. Which two features make a pair in "
            "this formula?",
            twin=lambda x, positions, base=10000.0: rope_variant(split=halves, join=side_by_side)(x, positions, base),
        ),
        Misconception(
            "half-split",
            "You pair feature i with feature i + d/2, and turn them backwards. Which two features make a pair here, "
            "and which product has the minus?",
            twin=lambda x, positions, base=10000.0: rope_variant(
                split=halves,
                join=side_by_side,
                turn=lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin),
            )(x, positions, base),
        ),
        Misconception(
            "concatenated",
            "You turn the right pairs, but lay all first features before all second ones. Where do the two features of "
            "a pair stand afterwards?",
            knobs={"join": side_by_side},
        ),
        Misconception(
            "halves-then-interleaved",
            "You take pairs from the two halves, and lay them down side by side. Do pairs go back to where they came "
            "from? And which features make a pair?",
            knobs={"split": halves},
        ),
        Misconception(
            "half-split-angles",
            lambda seen: (
                f"The right features are paired, but their two angles differ: you repeat a list of {seen['d'] // 2} "
                "frequencies as a whole. Which two columns must have the same one?"
            ),
            twin=lambda x, positions, base=10000.0: mixed_layouts(x, positions, base),
        ),
        Misconception(
            "half-split-angles",
            "Your frequencies stand in pairs, but you pair feature i with feature i + d/2. Which two must fit: the "
            "features that are paired, and the frequencies?",
            twin=lambda x, positions, base=10000.0: mixed_layouts_the_other_way(x, positions, base),
        ),
        Misconception(
            "pair-exchanged",
            "Both features are right, but each stands where its partner should. Which of the two comes first?",
            knobs={"join": lambda a, b: alternating(b, a)},
        ),
        Misconception(
            "minus-forgotten",
            "Both your features have a plus. Does this keep a pair's length, as turning does?",
            knobs={"turn": lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)},
        ),
        Misconception(
            "minus-in-both",
            "Both your features have a minus. Does this keep a pair's length, as turning does?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin)),
        ),
        Misconception(
            "mirrored",
            "Your pairs are mirrored, not turned: at position 0 the second feature changes its sign. Which sign is "
            "wrong?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos - b * sin, -a * sin - b * cos)),
        ),
        Misconception(
            "mirrored",
            "Your pairs are mirrored, not turned: at position 0 the second feature changes its sign. Which sign is "
            "wrong?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin - b * cos)),
        ),
        Misconception(
            "sin-and-cos-swapped",
            lambda seen: (
                f"{at_position_0(seen)}Which of sine and cosine is 1 at the angle 0, and what does it multiply?"
            ),
            knobs={"turn": lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)},
        ),
        Misconception(
            "sin-and-cos-swapped",
            lambda seen: (
                f"{at_position_0(seen)}Which of sine and cosine is 1 at the angle 0, and what does it multiply?"
            ),
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * sin + b * cos, b * sin - a * cos)),
        ),
        Misconception(
            "updated-too-early",
            "Your second feature is made from the first one after it was turned. Which value should it see, the old "
            "or the new?",
            knobs={"turn": turned_too_early},
        ),
        Misconception(
            "updated-too-early",
            "Your first feature is made from the second one after it was turned. Which value should it see, the old "
            "or the new?",
            twin=rope_variant(turn=turned_too_early_second_first),
        ),
        Misconception(
            "partner-forgotten",
            "Each of your features is made from itself alone. A hand that turns: does its new height depend on its "
            "old height only?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos, b * sin)),
        ),
        Misconception(
            "partner-forgotten",
            "Each of your features is made from itself alone. A hand that turns: does its new height depend on its "
            "old height only?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos, b * cos)),
        ),
        Misconception(
            "partner-for-itself",
            "Your sine multiplies a feature itself, not its partner. Which of the two belongs to each product?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos - a * sin, b * sin + b * cos)),
        ),
        Misconception(
            "second-unturned",
            "Only the first feature of each pair has changed. What becomes of the second when a hand turns?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a * cos - b * sin, b + 0 * a)),
        ),
        Misconception(
            "first-unturned",
            "Only the second feature of each pair has changed. What becomes of the first when a hand turns?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (a + 0 * b, a * sin + b * cos)),
        ),
        *SPEEDS,
        *(
            Misconception(
                slug, f"In your {NTH[place // 2]} feature, {says}", twin=rope_variant(turn=part_wrong(place, wrong))
            )
            for place in range(4)
            for slug, says, wrong in WRONG_PARTS
        ),
        *(
            Misconception(
                "terms-turned-round",
                f"Your {NTH[place]} feature has the wrong sign between its two terms, or before them. At position 0, "
                "what should it be?",
                twin=rope_variant(turn=turn),
            )
            for place, turn in (
                (0, lambda a, b, cos, sin: (b * sin - a * cos, a * sin + b * cos)),
                (1, lambda a, b, cos, sin: (a * cos - b * sin, a * sin - b * cos)),
                (0, lambda a, b, cos, sin: (-a * cos - b * sin, a * sin + b * cos)),
            )
        ),
        *(
            Misconception(
                "one-function-for-both",
                f"Your {name}s stand in both places. Turning takes a cosine and a sine: which of the two goes where?",
                twin=rope_variant(turn=turn),
            )
            for name, turn in (
                ("sine", lambda a, b, cos, sin: turned(a, b, sin, sin)),
                ("cosine", lambda a, b, cos, sin: turned(a, b, cos, cos)),
            )
        ),
        *slips(rope_in_steps, "negated rounded", first_features="the first feature of each pair"),
        *slips(rope_in_steps, "rounded", second_features="the second feature of each pair"),
        *(
            Misconception(
                "gradient-cut-at-one-feature-of-each-pair",
                f"Your values are right, but the {which} feature of each pair learns nothing from what it was turned "
                "into. Was it detached, or made anew from its numbers?",
                twin=rope_in_steps(cut_at(f"{which}_features")),
            )
            for which in NTH
        ),
        *slips(rope_in_steps, rows="your rows"),
        *slips(rope_in_steps, "rounded", angles="your angles", sines="your sines", cosines="your cosines"),
        *slips(rope_in_steps, "negated", cosines="your cosines"),
        *(
            Misconception(
                "terms-multiplied",
                f"In your {NTH[place]} feature the two products are multiplied. What joins them in the formula?",
                twin=rope_variant(turn=turn),
            )
            for place, turn in (
                (0, lambda a, b, cos, sin: (a * cos * (b * sin), a * sin + b * cos)),
                (1, lambda a, b, cos, sin: (a * cos - b * sin, a * sin * (b * cos))),
            )
        ),
        Misconception(
            "product-forgotten",
            "Your first feature is its second product alone, with the sign turned. Which two does the formula have?",
            twin=rope_variant(turn=lambda a, b, cos, sin: (b * sin, a * sin + b * cos)),
        ),
        *(
            Misconception(
                "other-features-paired",
                f"Your pairs are taken from {text}. Which two features make a pair, and how far is it to the next?",
                twin=rope_variant(split=split),
            )
            for text, split in (
                ("the last feature alone, for the first of each pair", lambda x: (x[..., -1::2], x[..., 1::2])),
                ("every third feature, for the first of each pair", lambda x: (x[..., 0::3], x[..., 1::2])),
                ("all features, for the first of each pair", lambda x: (x[..., 0::1], x[..., 1::2])),
                ("every fourth feature, for the first of each pair", lambda x: (x[..., 0::4], x[..., 1::2])),
                ("features 2, 4, …, for the second of each pair", lambda x: (x[..., 0::2], x[..., 2::2])),
                ("the last feature alone, for the second of each pair", lambda x: (x[..., 0::2], x[..., -1::2])),
                ("every third feature, for the second of each pair", lambda x: (x[..., 0::2], x[..., 1::3])),
                ("all features from 1 on, for the second of each pair", lambda x: (x[..., 0::2], x[..., 1::1])),
                ("every fourth feature, for the second of each pair", lambda x: (x[..., 0::2], x[..., 1::4])),
            )
        ),
        *(
            Misconception(
                "angle-for-its-cosine" if i == 0 else "angle-for-its-sine",
                "An angle multiplies a feature, and no sine or cosine of it. Which functions turn a pair?",
                twin=rope_by_angle(functions),
            )
            for i, functions in enumerate(
                ((lambda angles: angles, torch.sin), (torch.cos, lambda angles: angles)),
            )
        ),
        *(
            Misconception(
                "pairs-stacked-along-another-axis",
                "The two features of a pair are stacked along another axis than the last, so the rows are mixed. Where "
                "do they stand in the result?",
                twin=rope_variant(join=stacked(dim, -2)),
            )
            for dim in (-3, 0, 1)
        ),
        *(
            Misconception(
                "too-many-axes-merged",
                "More than pairs and their features became one axis. Which two belong together?",
                twin=rope_variant(join=stacked(-1, start)),
            )
            for start in (-3, 0, 1)
        ),
        *(
            Misconception(
                "width-of-another-axis",
                f"Your speeds are made for {what}, and not for the features. How many pairs has a row?",
                twin=rope_of_width(axis),
            )
            for what, axis in (("the number of rows", -2), ("a leading axis", -3), ("axis 0", 0), ("axis 1", 1))
        ),
        Misconception(
            "positions-across",
            "Your angles have pairs down and positions across. What is a row of x?",
            twin=rope_transposed,
        ),
        Misconception(
            "angles-in-float64",
            "Your values are right, and in float64: the angles took x along. Which dtype did x come in?",
            twin=lambda x, positions, base=10000.0: apply_rope(x.double(), positions, base),
        ),
        Misconception(
            "one-feature-twice",
            "Both features of your pairs are the first one. Where does the second stand?",
            twin=rope_variant(split=lambda x: (x[..., 0::2], x[..., 0::2])),
        ),
        Misconception(
            "one-feature-twice",
            "Both features of your pairs are the second one. Where does the first stand?",
            twin=rope_variant(split=lambda x: (x[..., 1::2], x[..., 1::2])),
        ),
        Misconception(
            "pairs-left-apart",
            "Your result has an axis for pairs and one for their two features. How do two axes become one again?",
            twin=rope_variant(join=lambda a, b: torch.stack([a, b], dim=-1)),
        ),
        *(
            Misconception(
                "another-base",
                f"Your frequencies have the base {other:,} where none is given. What should it be by default?",
                twin=with_default_base(float(other)),
            )
            for other in (100, 5000, 9999, 10001, 20000, 100000)
        ),
        Misconception(
            "base-ignored",
            "Right for the base 10,000, wrong for any other. Where does the argument `base` come in?",
            knobs={"chosen": lambda base: 10000.0},
        ),
        Misconception(
            "another-base",
            "Your frequencies have the base 1,000 where none is given. What should it be by default?",
            twin=rope_variant(chosen=lambda base: 1000.0 if base == 10000.0 else base),
        ),
        Misconception(
            "frequencies-by-index",
            "Within a pair your two features turn by different angles. Do they belong to one hand, or to two?",
            twin=lambda x, positions, base=10000.0: turned_by_columns(x, positions, base, lambda j, d: j / d),
        ),
        Misconception(
            "frequencies-by-index",
            "Within a pair your two features turn by different angles. What is i the number of: features, or pairs?",
            twin=lambda x, positions, base=10000.0: turned_by_columns(x, positions, base, lambda j, d: 2 * j / d),
        ),
        Misconception(
            "positions-ignored",
            "You count rows 0, 1, 2, …, and leave `positions` aside. In a cache, which position has the only row of a "
            "new token?",
            knobs={"times": lambda positions, x: torch.arange(x.shape[-2])},
        ),
        Misconception(
            "positions-ignored",
            "You count rows 1, 2, 3, …, and leave `positions` aside. In a cache, which position has the only row of a "
            "new token?",
            twin=rope_variant(times=lambda positions, x: torch.arange(x.shape[-2]) + 1),
        ),
        Misconception(
            "positions-restarted",
            "Your angles count from the first of the given positions. A token that comes later from a cache: from "
            "where should its position count?",
            knobs={"times": lambda positions, x: positions - positions[0]},
        ),
        Misconception(
            "positions-restarted",
            "You count on from the first given position, one at a time. Need the others follow on it?",
            twin=rope_variant(times=lambda positions, x: positions[0] + torch.arange(x.shape[-2])),
        ),
        Misconception(
            "positions-sorted",
            "Your positions were put in order. Row i has the position that stands at place i, whatever its size. Is "
            "that so in yours?",
            twin=rope_variant(times=lambda positions, x: positions.sort()[0]),
        ),
        Misconception(
            "positions-off-by-one",
            lambda seen: f"{at_position_0(seen)}Your positions are too large by one. From which number do they count?",
            knobs={"times": lambda positions, x: positions + 1},
        ),
        Misconception(
            "positions-off-by-one",
            "Your positions are too small by one. From which number do they count?",
            twin=rope_variant(times=lambda positions, x: positions - 1),
        ),
        Misconception(
            "position-forgotten",
            "Every row is turned by the same angles, whatever its position. Which two things make an angle?",
            twin=rope_variant(times=lambda positions, x: torch.ones(x.shape[-2])),
        ),
        Misconception(
            "one-position-for-all",
            "Every row is turned as if it stood at the first position. Which angle belongs to row 1?",
            twin=rope_variant(times=lambda positions, x: positions[:1].expand(x.shape[-2])),
        ),
        Misconception(
            "positions-as-fractions",
            "Your positions were divided by their number. Does the fast hand still turn by one radian a step?",
            twin=rope_variant(times=lambda positions, x: positions / x.shape[-2]),
        ),
        Misconception(
            "one-batch-shape",
            "Right for one sequence, but not for a batch: the positions run along axis 0. Along which axis do tokens "
            "lie, counted from the back?",
            twin=turned_along(0),
        ),
        Misconception(
            "one-batch-shape",
            "Right for one shape, wrong for others: the positions run along axis 1. Along which axis do tokens lie, "
            "counted from the back?",
            twin=lambda x, positions, base=10000.0: (
                apply_rope(x, positions, base) if x.ndim == 2 else turned_along(1)(x, positions, base)
            ),
        ),
        Misconception(
            "added",
            "You add a code to x. RoPE adds nothing: what does it do to a pair, and what stays as long as it was?",
            twin=lambda x, positions, base=10000.0: x + codes(x, positions, base),
        ),
        Misconception(
            "multiplied-by-a-code",
            "You multiply x by a code, feature by feature. Does a pair keep its length then? What does a turn mix?",
            twin=lambda x, positions, base=10000.0: x * codes(x, positions, base),
        ),
        Misconception(
            "turned-twice",
            "Every pair is turned by twice its angle. How often is the turn applied?",
            twin=rope_variant(times=lambda positions, x: 2 * positions),
        ),
        Misconception(
            "nothing-turned",
            "What came back is x as it was. Where do the angles come in?",
            twin=lambda x, positions, base=10000.0: x.clone(),
        ),
        Misconception(
            "first-pair-only",
            "Only the first two features have turned. What do the other pairs do?",
            twin=lambda x, positions, base=10000.0: torch.cat(
                [apply_rope(x, positions, base)[..., :2], x[..., 2:]], dim=-1
            ),
        ),
        Misconception(
            "angles-returned",
            "The cosines and sines came back. What are they to be applied to?",
            twin=lambda x, positions, base=10000.0: cosines_and_sines(x, positions, base),
        ),
    ),
)


def columns_of(positions: Tensor, speeds: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Give cosines and sines for every column, (n, d), where `speeds` has one for each."""
    angles = positions.double()[:, None] * speeds
    return angles.cos().to(x), angles.sin().to(x)


def partners(x: Tensor) -> Tensor:
    """Put −x₂ᵢ₊₁ at 2i and x₂ᵢ at 2i + 1: what the sine multiplies."""
    return alternating(-x[..., 1::2], x[..., 0::2])


def partners_in_halves(x: Tensor) -> Tensor:
    first, second = halves(x)
    return torch.cat([-second, first], dim=-1)


def mixed_layouts(x: Tensor, positions: Tensor, base: float) -> Tensor:
    cos, sin = columns_of(positions, right_speeds(x.shape[-1], base).repeat(2), x)
    return x * cos + partners(x) * sin


def mixed_layouts_the_other_way(x: Tensor, positions: Tensor, base: float) -> Tensor:
    cos, sin = columns_of(positions, right_speeds(x.shape[-1], base).repeat_interleave(2), x)
    return x * cos + partners_in_halves(x) * sin


def turned_by_columns(x: Tensor, positions: Tensor, base: float, exponent: Callable[[Tensor, int], Tensor]) -> Tensor:
    d = x.shape[-1]
    cos, sin = columns_of(positions, base ** -exponent(torch.arange(d, dtype=torch.float64), d), x)
    return x * cos + partners(x) * sin


def codes(x: Tensor, positions: Tensor, base: float) -> Tensor:
    angles = positions.double()[:, None] * right_speeds(x.shape[-1], base)
    return alternating(angles.sin(), angles.cos()).to(x)


def cosines_and_sines(x: Tensor, positions: Tensor, base: float) -> Any:
    return columns_of(positions, right_speeds(x.shape[-1], base), x)


# ── 6.4 ALiBi ─────────────────────────────────────────────────────────────────────────────────────

Slopes = Callable[[int], Tensor]  # of the number of heads: one slope a head


def right_slopes(n_heads: int) -> Tensor:
    return slopes_by(lambda h, n_heads: 8 * h / n_heads)(n_heads)


def slopes_by(exponent: Callable[[Tensor, int], Tensor]) -> Slopes:
    """Give slopes 2^(−exponent), where the exponent depends on the head's number h = 1 … H and on H."""
    return lambda n_heads: 2.0 ** -exponent(torch.arange(1, n_heads + 1, dtype=torch.float64), n_heads)


def eighths(n_heads: int) -> Tensor:
    """Give the exponents 8h/H."""
    return 8 * torch.arange(1, n_heads + 1, dtype=torch.float64) / n_heads


def apart(n: int) -> Tensor:
    """Give the distances of n places, (n, n)."""
    places = torch.arange(float(n))
    return (places[:, None] - places).abs()


def slopes_of(base: float, constant: float) -> Slopes:
    """Give slopes base^(−constant · h/H)."""
    return lambda n_heads: base ** (-constant * torch.arange(1, n_heads + 1, dtype=torch.float64) / n_heads)


def published_slopes(n_heads: int) -> Tensor:
    """The recipe of ALiBi's own code: a power of two is filled first, and then every second slope of the next."""
    power = 2 ** math.floor(math.log2(n_heads))
    return torch.cat([right_slopes(power), right_slopes(2 * power)[0::2]])[:n_heads]


def spaced_slopes(n_heads: int) -> Tensor:
    return torch.logspace(-1, -8, n_heads, base=2.0, dtype=torch.float64)


def alibi_variant(
    slopes: Slopes = right_slopes,
    distance: Callable[[Tensor, Tensor], Tensor] = lambda i, j: (i - j).abs(),
    sign: float = -1.0,
    after: Callable[[Tensor], Tensor] = lambda bias: bias,
) -> Callable[..., Tensor]:
    """Give an answer to 6.4 with other slopes, distances or signs, or that goes on in another way."""

    def variant(n_heads: int, n: int) -> Tensor:
        places = torch.arange(n, dtype=torch.float64)
        apart = distance(places[:, None], places[None, :]).expand(n, n)
        return after(sign * slopes(n_heads)[:, None, None] * apart).float()

    return variant


def draw_heads(draw: Draw) -> list[Case]:
    def case(name: str, **fixed: int) -> Case:
        s = draw.sizes("n_heads", "n", **fixed)
        return Case(call(s["n_heads"], s["n"]), name, s)

    same = draw.choose((3, 5, 7))
    return [
        case("plain", n_heads=draw.choose((3, 5, 6))),
        case("plain", n_heads=draw.choose((2, 4))),
        case("many heads", n_heads=draw.choose((12, 20, 25))),
        case("8 heads", n_heads=8),
        case("one head", n_heads=1),
        case("as many heads as tokens", n_heads=same, n=same),
        case("n = 1", n_heads=draw.whole(3, 7), n=1),
        case("a longer text", n_heads=draw.whole(3, 7), n=draw.whole(40, 60)),
    ]


def slopes_for(numbers: Callable[[int], tuple[int, int]]) -> Slopes:
    """Give slopes whose heads are numbered by another range."""
    return lambda n_heads: 2.0 ** (-8.0 * torch.arange(*numbers(n_heads), dtype=torch.float64) / n_heads)


def causal(bias: Tensor) -> Tensor:
    return bias.masked_fill(~torch.ones_like(bias, dtype=torch.bool).tril(), -torch.inf)


def slopes_along(axis: int) -> Callable[..., Tensor]:
    """Give an answer to 6.4 whose slopes change along another axis than the heads'; it runs where H is n."""

    def variant(n_heads: int, n: int) -> Tensor:
        slopes = right_slopes(n_heads).float()
        lying = slopes if axis == -1 else slopes[:, None]
        return (-lying * alibi_variant(slopes=torch.ones, sign=1.0)(1, n)).expand(n_heads, n, n)

    return variant


ALIBI = Question(
    id="6.4",
    points=2,
    title="Further means less",
    inputs=("n_heads", "n"),
    outputs=("bias (H, n, n)",),
    draw=draw_heads,
    reference=alibi_bias,
    variant=alibi_variant,
    any_float=True,
    misconceptions=(
        Misconception(
            "positive-alibi",
            "Your bias grows with the distance, so far tokens get more weight. Should a score rise or fall when the "
            "key is further away?",
            knobs={"sign": 1.0},
        ),
        *slips(
            lambda at: alibi_variant(
                slopes=lambda n_heads: at("slopes", right_slopes(n_heads)), after=lambda bias: at("bias", bias)
            ),
            "rounded",
            slopes="your slopes",
            bias="your bias",
        ),
        *(
            Misconception(
                "heads-numbered-from-elsewhere",
                f"Your heads are numbered {text}. With h = 1 … H, how many slopes are there?",
                twin=alibi_variant(slopes=slopes_for(given)),
            )
            for text, given in (
                ("from −1 to H", lambda n_heads: (-1, n_heads + 1)),
                ("from 1 to H − 2", lambda n_heads: (1, n_heads - 1)),
                ("from H + 1 down to 1, which `arange` does not do by itself", lambda n_heads: (n_heads + 1, 1)),
                ("not at all: your range is empty", lambda n_heads: (1, 1)),
            )
        ),
        Misconception(
            "distance-signed",
            "Your bias is positive on one side of the diagonal. How far apart are 2 and 5, and how far 5 and 2?",
            knobs={"distance": lambda i, j: i - j},
        ),
        Misconception(
            "distance-signed",
            "Your bias is positive on one side of the diagonal. How far apart are 2 and 5, and how far 5 and 2?",
            knobs={"distance": lambda i, j: j - i},
        ),
        Misconception(
            "one-side-only",
            "Keys after the query get no bias in your table. The formula has |i − j|: what does it give for them?",
            knobs={"distance": lambda i, j: (i - j).clamp(min=0)},
        ),
        Misconception(
            "one-side-only",
            "Keys before the query get no bias in your table. The formula has |i − j|: what does it give for them?",
            knobs={"distance": lambda i, j: (j - i).clamp(min=0)},
        ),
        Misconception(
            "masked-though-not-asked",
            "Your table is −∞ after the query: that is a causal mask besides. Did this question ask for one?",
            knobs={"after": causal},
        ),
        Misconception(
            "position-for-distance",
            "Your bias depends on the key's place alone. What should it depend on, so that it stays the same further "
            "on in the text?",
            knobs={"distance": lambda i, j: j},
        ),
        Misconception(
            "position-for-distance",
            "Your bias depends on the query's place alone, so a softmax over the keys does not see it. What should it "
            "depend on?",
            knobs={"distance": lambda i, j: i},
        ),
        Misconception(
            "places-added",
            "Your bias has i + j in it. What is the distance of a token from itself?",
            knobs={"distance": lambda i, j: i + j},
        ),
        Misconception(
            "distance-squared",
            "Your bias falls with the square of the distance. The L in ALiBi is for *linear*: what does that say?",
            knobs={"distance": lambda i, j: (i - j) ** 2},
        ),
        Misconception(
            "distance-rooted",
            "Your bias falls with the root of the distance. The L in ALiBi is for *linear*: what does that say?",
            knobs={"distance": lambda i, j: (i - j).abs().sqrt()},
        ),
        Misconception(
            "distance-counted-from-one",
            "Your diagonal is not zero. How far is a token from itself?",
            knobs={"distance": lambda i, j: (i - j).abs() + 1},
        ),
        Misconception(
            "distance-as-a-fraction",
            "Your distances were divided by n. Should one step cost the same in a short text and in a long one?",
            knobs={"distance": lambda i, j: (i - j).abs() / len(i)},
        ),
        Misconception(
            "heads-numbered-from-zero",
            "Your first head has the slope 1. With h = 1 … H, which slope does the first head get?",
            knobs={"slopes": slopes_by(lambda h, n_heads: 8 * (h - 1) / n_heads)},
        ),
        Misconception(
            "heads-numbered-from-two",
            "Your first head has the slope that the second should have. With which h does the first head begin?",
            knobs={"slopes": slopes_by(lambda h, n_heads: 8 * (h + 1) / n_heads)},
        ),
        Misconception(
            "number-of-heads-ignored",
            "Right for 8 heads only: your slopes are ½, ¼, ⅛, … for any number of heads. Where does H come in?",
            knobs={"slopes": slopes_by(lambda h, n_heads: h)},
        ),
        Misconception(
            "eight-forgotten",
            "Your last head has the slope ½. What is the exponent of the last head, h = H, in the formula?",
            knobs={"slopes": slopes_by(lambda h, n_heads: h / n_heads)},
        ),
        Misconception(
            "fraction-turned-round",
            "Your exponent divides by h. Which of h and H stands below the line, and what is 8h/H for h = H?",
            knobs={"slopes": slopes_by(lambda h, n_heads: 8 * n_heads / h)},
        ),
        Misconception(
            "fraction-turned-round",
            "Your exponent is 8/h. Which of h and H stands below the line, and what is 8h/H for h = H?",
            knobs={"slopes": slopes_by(lambda h, n_heads: 8 / h)},
        ),
        *(
            Misconception(
                "another-constant",
                f"Your exponent is {constant}h/H. Which slope should the last head have, h = H?",
                knobs={"slopes": slopes_of(2, constant)},
            )
            for constant in (4, 7, 9, 16)
        ),
        *(
            Misconception(
                "another-base",
                f"Your slopes are powers of {base}. Of which number should they be powers?",
                knobs={"slopes": slopes_of(base, 8)},
            )
            for base in (3, 10)
        ),
        *(
            Misconception(
                "exponent-otherwise",
                f"Your exponent is {written}. What is it in the formula for h = H?",
                knobs={"slopes": slopes_by(exponent)},
            )
            for written, exponent in (
                ("−8h: H is left out", lambda h, n_heads: 8 * h),
                ("−8h · H", lambda h, n_heads: 8 * h * n_heads),
                ("−8h + H", lambda h, n_heads: 8 * h - n_heads),
                ("−8h − H", lambda h, n_heads: 8 * h + n_heads),
                ("−H/(8h)", lambda h, n_heads: n_heads / (8 * h)),
                ("−8/(h · H)", lambda h, n_heads: 8 / h / n_heads),
                ("(h − 8)/H", lambda h, n_heads: (8 - h) / n_heads),
                ("−(h + 8)/H", lambda h, n_heads: (8 + h) / n_heads),
                ("h/H", lambda h, n_heads: -h / n_heads),
                ("−8: h and H are left out", lambda h, n_heads: 8 + 0 * h),
            )
        ),
        *(
            Misconception(
                "power-left-out",
                f"Your slopes are {written}. Which operation joins 2 and −8h/H?",
                knobs={"slopes": slopes},
            )
            for written, slopes in (
                ("2 · (−8h/H)", lambda n_heads: -2 * eighths(n_heads)),
                ("2 − 8h/H", lambda n_heads: 2 - eighths(n_heads)),
                ("2 + 8h/H", lambda n_heads: 2 + eighths(n_heads)),
                ("2/(−8h/H)", lambda n_heads: -2 / eighths(n_heads)),
                ("−8h/H itself", lambda n_heads: -eighths(n_heads)),
                ("8h/H itself", eighths),
                ("(8h/H)²", lambda n_heads: eighths(n_heads) ** 2),
            )
        ),
        Misconception(
            "one-head-too-many",
            "There is one head too many: yours begin with h = 0. With which does the first head begin?",
            knobs={"slopes": lambda n_heads: torch.cat([torch.ones(1), right_slopes(n_heads)])},
        ),
        Misconception(
            "one-head-too-many",
            "There is one head too many, beyond h = H. Where does `arange` stop?",
            knobs={"slopes": lambda n_heads: 2.0 ** (-8 * torch.arange(1, n_heads + 2, dtype=torch.float64) / n_heads)},
        ),
        Misconception(
            "one-head-too-few",
            "The last head is missing. Where does `arange` stop?",
            knobs={"slopes": lambda n_heads: right_slopes(n_heads)[:-1]},
        ),
        Misconception(
            "one-head-too-few",
            "The first head is missing. With which h does it begin?",
            knobs={"slopes": lambda n_heads: right_slopes(n_heads)[1:]},
        ),
        Misconception(
            "added-for-multiplied",
            "Slope and distance are added. What should the bias of a token with itself be?",
            twin=lambda n_heads, n: apart(n) - right_slopes(n_heads).float()[:, None, None],
        ),
        Misconception(
            "added-for-multiplied",
            "Slope and distance are added. What should the bias of a token with itself be?",
            twin=lambda n_heads, n: -apart(n) - right_slopes(n_heads).float()[:, None, None],
        ),
        Misconception(
            "divided-by-distance",
            "The slope is divided by the distance. What should the bias of a token with itself be, and should it fall "
            "or rise from there?",
            twin=lambda n_heads, n: -right_slopes(n_heads).float()[:, None, None] / apart(n),
        ),
        Misconception(
            "slope-forgotten",
            "One table of distances came back. Where does the head come in?",
            twin=lambda n_heads, n: -apart(n),
        ),
        Misconception(
            "slope-forgotten",
            "One table of distances came back. Where does the head come in?",
            twin=lambda n_heads, n: apart(n),
        ),
        Misconception(
            "distance-forgotten",
            "One number for each head came back, as (H, 1, 1). Where does the distance come in?",
            twin=lambda n_heads, n: -right_slopes(n_heads).float()[:, None, None],
        ),
        Misconception(
            "places-multiplied",
            "Your bias has i · j in it. How far apart are 2 and 5?",
            knobs={"distance": lambda i, j: i * j},
        ),
        *(
            Misconception(
                "one-place-only",
                "Your tables are one wide: the places of queries and keys lie along one axis, or one of the two is "
                "missing. How do a column and a row of places make a table?",
                twin=lambda n_heads, n, shape=shape, zero=zero: (
                    -right_slopes(n_heads).float()[:, None, None] * (1 - zero) * torch.arange(float(n)).view(shape)
                ),
            )
            for shape in ((-1, 1), (1, -1))
            for zero in (0, 1)
        ),
        Misconception(
            "exponent-rounded",
            "Your exponents are whole numbers. What is 8h/H for H = 3, and what does `//` make of it?",
            knobs={"slopes": slopes_by(lambda h, n_heads: (8 * h / n_heads).floor())},
        ),
        Misconception(
            "exponent-rounded",
            "Your exponents are multiples of a whole number: 8/H was rounded. What is 8/H for H = 3?",
            knobs={"slopes": slopes_by(lambda h, n_heads: h * (8 // n_heads))},
        ),
        Misconception(
            "sign-of-the-exponent",
            "Your slopes are larger than 1 and grow from head to head. Which sign has the exponent?",
            knobs={"slopes": slopes_by(lambda h, n_heads: -8 * h / n_heads)},
        ),
        Misconception(
            "slopes-in-a-line",
            "Your slopes are multiples of one number. Should each be a fixed amount or a fixed *fraction* of the one "
            "before?",
            knobs={"slopes": lambda n_heads: torch.arange(1, n_heads + 1, dtype=torch.float64) / n_heads},
        ),
        Misconception(
            "slopes-in-a-line",
            "Your slopes are 1, ½, ⅓, … Does each of the formula's slopes stand in the same ratio to the next?",
            knobs={"slopes": lambda n_heads: 1 / torch.arange(1, n_heads + 1, dtype=torch.float64)},
        ),
        Misconception(
            "published-slopes",
            "Right where the number of heads is a power of two. ALiBi's first program had a recipe of its own for "
            "other numbers. Which formula is asked for here, for every H?",
            knobs={"slopes": published_slopes},
        ),
        Misconception(
            "first-slope-fixed",
            "Your slopes run from ½ to 1/256, whatever H is. That fits 8 heads. What is 2^(−8h/H) for h = 1?",
            knobs={"slopes": spaced_slopes},
        ),
        Misconception(
            "e-for-two",
            "Your slopes are powers of e. Of which number should they be powers?",
            knobs={"slopes": lambda n_heads: right_slopes(n_heads) ** (1 / math.log(2))},
        ),
        Misconception(
            "slopes-reversed",
            "Your first head has the flattest slope. Which head should see only what is near?",
            knobs={"slopes": lambda n_heads: right_slopes(n_heads).flip(0)},
        ),
        Misconception(
            "heads-alike",
            "All your heads have one slope. What is gained by many heads, if all of them see equally far?",
            knobs={"slopes": lambda n_heads: right_slopes(n_heads)[:1].expand(n_heads)},
        ),
        Misconception(
            "heads-alike",
            "All your heads have the slope 1. Where does the head's number come in?",
            knobs={"slopes": lambda n_heads: torch.ones(n_heads, dtype=torch.float64)},
        ),
        Misconception(
            "slope-along-the-keys",
            "Where H is n it runs, and the slope changes from key to key. Along which axis should it change, and which "
            "axes must be added to `slopes` for that?",
            twin=slopes_along(-1),
        ),
        Misconception(
            "slope-along-the-queries",
            "Where H is n it runs, and the slope changes from query to query. Along which axis should it change?",
            twin=slopes_along(-2),
        ),
        Misconception(
            "heads-last",
            "Your heads are the last axis. Which axis do they have in scores (B, H, n_q, n_k), counted from the back?",
            knobs={"after": lambda bias: bias.movedim(0, -1)},
        ),
        Misconception(
            "heads-in-the-middle",
            "Your heads are the middle axis. Which axis do they have in scores (B, H, n_q, n_k)?",
            knobs={"after": lambda bias: bias.movedim(0, 1)},
        ),
        Misconception(
            "batch-axis-added",
            "Your table has one axis too many in front. How many axes does (H, n, n) have?",
            knobs={"after": lambda bias: bias.unsqueeze(0)},
        ),
        Misconception(
            "one-head-only",
            "One table came back. How many heads are there, and has each its own?",
            knobs={"after": lambda bias: bias[0]},
        ),
        Misconception(
            "one-row-only",
            "Each head has one row, that of the last query. What about the other queries?",
            knobs={"after": lambda bias: bias[:, -1]},
        ),
        Misconception(
            "softmax-already-applied",
            "Your rows sum to 1. The bias is added to scores before the softmax. Which of the two is asked for?",
            knobs={"after": lambda bias: bias.softmax(dim=-1)},
        ),
        Misconception(
            "factor-for-bias",
            "Your table holds e to the power of what was expected: a factor for weights. The bias is added to scores. "
            "Which is asked for?",
            knobs={"after": torch.exp},
        ),
        Misconception(
            "slopes-returned",
            "The slopes came back, or distances without slopes. Which two things does the bias multiply?",
            twin=lambda n_heads, n: right_slopes(n_heads).float(),
        ),
    ),
)

QUESTIONS = (SINUSOIDAL, SHIFT, ROPE, ALIBI)
