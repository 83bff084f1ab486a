"""6.4: ALiBi."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.positions import alibi_bias
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.masking import mask_scores

Slopes = Callable[[int], Tensor]  # (n_heads) -> the slope of each head
Distance = Callable[[Tensor, Tensor], Tensor]  # (positions of queries (n, 1), of keys (1, n)) -> distances (n, n)


def draw_heads(draw: Draw) -> list[Case]:
    """Draw numbers of heads, powers of two and others, and of tokens."""

    def case(name: str, **fixed: int) -> Case:
        sizes = draw.sizes("n_heads", "n", **fixed)
        return Case(call(sizes["n_heads"], sizes["n"]), name, sizes)

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


def numbered(n_heads: int) -> Tensor:
    return torch.arange(1, n_heads + 1, dtype=torch.float64)


def right_slopes(n_heads: int) -> Tensor:
    return 2.0 ** (-8 * numbered(n_heads) / n_heads)


def published_slopes(n_heads: int) -> Tensor:
    """Return the slopes of ALiBi's code: those for a power of two, then every second one for the next power."""
    power = 2 ** math.floor(math.log2(n_heads))
    return torch.cat([right_slopes(power), right_slopes(2 * power)[0::2]])[:n_heads]


def alibi_variant(
    slopes: Slopes = right_slopes,
    distance: Distance = lambda i, j: (i - j).abs(),
    sign: float = -1.0,
    after: Callable[[Tensor], Any] = lambda bias: bias,
    axis: int = -3,
) -> Callable[..., Any]:
    """Return an answer(n_heads, n); by default it is right.

    The arguments replace slopes, distances, sign and the axis of heads, or change the bias afterwards.
    """

    def variant(n_heads: int, n: int) -> Any:
        positions = torch.arange(n, dtype=torch.float64)
        distances = distance(positions[:, None], positions[None, :]).expand(n, n)
        slope = slopes(n_heads)[(..., *[None] * (-1 - axis))]  # along another axis it broadcasts only where H is n
        return after((sign * slope * distances).expand(len(slope) if axis == -3 else n_heads, n, n).float())

    return variant


def with_exponent(slug: str, *ways: Callable[[Tensor, int], Tensor]) -> Misconception:
    """Return the misconception that head h = 1 … H has the slope 2^(−e), with a wrong exponent e = way(h, H)."""
    return sloped(slug, *(lambda n_heads, way=way: 2.0 ** -way(numbered(n_heads), n_heads) for way in ways))


sloped = by_knob("slopes")
measured = by_knob("distance")
changed = by_knob("after")

QUESTION = Question(
    points=2,
    inputs=("n_heads", "n"),
    outputs=("bias (H, n, n)",),
    draw=draw_heads,
    reference=alibi_bias,
    variant=alibi_variant,
    any_float=True,
    misconceptions=(
        Misconception("positive-alibi", knobs={"sign": 1.0}),
        measured("distance-signed", lambda i, j: i - j, lambda i, j: j - i),
        measured("one-side-only", lambda i, j: (i - j).clamp(min=0), lambda i, j: (j - i).clamp(min=0)),
        Misconception(
            "position-for-distance",
            knob_sets=(
                {"distance": lambda i, j: i},
                {"distance": lambda i, j: j},
                {"distance": lambda i, j: -j},  # what is added to a row does not matter to its softmax
            ),
        ),
        measured("distance-counted-from-one", lambda i, j: (i - j).abs() + 1),
        measured("distance-squared", lambda i, j: (i - j) ** 2),
        measured("distance-as-a-fraction", lambda i, j: (i - j).abs() / len(i)),
        with_exponent("heads-numbered-from-zero", lambda h, n_heads: 8 * (h - 1) / n_heads),
        with_exponent("number-of-heads-ignored", lambda h, n_heads: h),
        with_exponent("eight-forgotten", lambda h, n_heads: h / n_heads),
        with_exponent("fraction-turned-round", lambda h, n_heads: 8 * n_heads / h, lambda h, n_heads: 8 / h),
        with_exponent(
            "exponent-rounded", lambda h, n_heads: (8 * h / n_heads).floor(), lambda h, n_heads: h * (8 // n_heads)
        ),
        with_exponent("sign-of-the-exponent", lambda h, n_heads: -8 * h / n_heads),
        sloped(
            "power-left-out",
            lambda n_heads: -8 * numbered(n_heads) / n_heads,
            lambda n_heads: 8 * numbered(n_heads) / n_heads,
        ),
        sloped(
            "one-head-too-many",
            lambda n_heads: torch.cat([torch.ones(1), right_slopes(n_heads)]),
            lambda n_heads: 2.0 ** (-8 * numbered(n_heads + 1) / n_heads),
        ),
        sloped(
            "one-head-too-few", lambda n_heads: right_slopes(n_heads)[:-1], lambda n_heads: right_slopes(n_heads)[1:]
        ),
        sloped("slopes-in-a-line", lambda n_heads: numbered(n_heads) / n_heads, lambda n_heads: 1 / numbered(n_heads)),
        sloped("published-slopes", published_slopes),
        sloped("first-slope-fixed", lambda n_heads: torch.logspace(-1, -8, n_heads, base=2.0, dtype=torch.float64)),
        sloped("e-for-two", lambda n_heads: (-8 * numbered(n_heads) / n_heads).exp()),
        sloped("slopes-reversed", lambda n_heads: right_slopes(n_heads).flip(0)),
        sloped("heads-alike", lambda n_heads: right_slopes(n_heads)[:1].expand(n_heads), torch.ones),
        mistake(
            "slope-forgotten",
            *(alibi_variant(slopes=torch.ones, sign=sign, after=lambda bias: bias[0]) for sign in (1, -1)),
        ),
        mistake("slope-along-another-axis", alibi_variant(axis=-1), alibi_variant(axis=-2)),
        mistake("slopes-returned", lambda n_heads, n: right_slopes(n_heads).float()),
        mistake(
            "one-row-for-all-queries",
            *(
                alibi_variant(sign=sign, distance=lambda i, j: j, after=lambda bias: bias[:, :1])
                for sign in (1.0, -1.0)
            ),
            alibi_variant(after=lambda bias: bias[:, -1:]),
        ),
        changed("masked-though-not-asked", lambda bias: mask_scores(bias, torch.ones_like(bias).tril() > 0)),
        changed("heads-last", lambda bias: bias.movedim(0, -1)),
        changed("batch-axis-added", lambda bias: bias.unsqueeze(0)),
        changed("one-head-only", lambda bias: bias[0]),
        changed("softmax-already-applied", lambda bias: bias.softmax(dim=-1)),
    ),
)
