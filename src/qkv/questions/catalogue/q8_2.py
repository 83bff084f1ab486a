"""8.2: a pre-norm block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Provided, Question, call, mistake
from qkv.transformer import pre_norm_block

Part = Callable[[Tensor], Tensor]
Join = Callable[[Tensor, Part, Part], Tensor]  # of x, a norm and the work behind it: x afterwards


def norm_part(gain: Tensor, bias: Tensor) -> Callable[[Tensor], Tensor]:
    """Make a layer norm. A worker runs this source by itself, so it uses nothing but torch."""

    def norm(x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain + bias

    return norm


def mixing_part(between: Tensor, within: Tensor) -> Callable[[Tensor], Tensor]:
    """Make what mixes between tokens: a fixed table of weights takes the place of attention."""

    def attend(x: Tensor) -> Tensor:
        return between @ x @ within

    return attend


def token_part(wide: Tensor, narrow: Tensor) -> Callable[[Tensor], Tensor]:
    """Make what works on each token alone."""

    def feed_forward(x: Tensor) -> Tensor:
        return (x @ wide).relu() @ narrow

    return feed_forward


def draw_blocks(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "d_model", "d_hidden", **fixed)
        n, d, wide = s["n"], s["d_model"], s["d_hidden"]

        def norm() -> Provided:
            return Provided(norm_part, (1 + 0.5 * draw.normal(d, dtype=dtype), 0.5 * draw.normal(d, dtype=dtype)))

        def matrix(rows: int, columns: int) -> Tensor:
            return draw.normal(rows, columns, dtype=dtype, scale=rows**-0.5)

        attend = Provided(mixing_part, (draw.weights(n, n, dtype=dtype), matrix(d, d)))
        feed_forward = Provided(token_part, (matrix(d, wide), matrix(wide, d)))
        x = 1.5 * draw.normal(*leading, n, d, dtype=dtype) + 0.5
        return Case(call(x, norm(), attend, norm(), feed_forward), name, s)

    return [*draw.situations(case), case("one token", n=1)]


# ── how one half of the block is put together ─────────────────────────────────────────────────────


def added(x: Tensor, norm: Part, work: Part) -> Tensor:
    return x + work(norm(x))


def block_variant(first: Join = added, second: Join = added) -> Callable[..., Any]:
    """Give an answer whose first half, second half or both are put together in another way."""

    def variant(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Any:
        return second(first(x, norm_1, attend), norm_2, feed_forward)

    return variant


def joined(slug: str, join: Join) -> Misconception:
    """The mistake to put a half together so: the first, the second, or both."""
    return Misconception(slug, knob_sets=({"first": join}, {"second": join}, {"first": join, "second": join}))


def from_the_input(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    return x + feed_forward(norm_2(x + attend(norm_1(x))))


def one_residual(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    return x + feed_forward(norm_2(attend(norm_1(x))))


def input_added_again(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    middle = x + attend(norm_1(x))
    return x + middle + feed_forward(norm_2(middle))


QUESTION = Question(
    points=3,
    inputs=("x", "norm_1", "attend", "norm_2", "feed_forward"),
    outputs=("out (..., n, d_model)",),
    draw=draw_blocks,
    reference=pre_norm_block,
    variant=block_variant,
    gradients=True,
    misconceptions=(
        joined("residual-forgotten", lambda x, norm, work: work(norm(x))),
        joined("norm-after-the-sum", lambda x, norm, work: norm(x + work(x))),
        joined("norm-before-and-after", lambda x, norm, work: norm(x + work(norm(x)))),
        joined("norm-after-the-work", lambda x, norm, work: x + norm(work(x))),
        joined("norm-forgotten", lambda x, norm, work: x + work(x)),
        joined("normed-input-added", lambda x, norm, work: norm(x) + work(norm(x))),
        joined("work-left-out", lambda x, norm, work: x),
        joined("only-the-norm-added", lambda x, norm, work: x + norm(x)),
        mistake("second-half-from-the-input", from_the_input),
        mistake(
            "halves-side-by-side",
            lambda x, norm_1, attend, norm_2, feed_forward: x + attend(norm_1(x)) + feed_forward(norm_2(x)),
        ),
        mistake("one-residual-around-all", one_residual),
        mistake("input-added-again", input_added_again),
        mistake(
            "norms-swapped",
            lambda x, norm_1, attend, norm_2, feed_forward: pre_norm_block(x, norm_2, attend, norm_1, feed_forward),
        ),
        mistake(
            "one-norm-twice",
            lambda x, norm_1, attend, norm_2, feed_forward: pre_norm_block(x, norm_1, attend, norm_1, feed_forward),
            lambda x, norm_1, attend, norm_2, feed_forward: pre_norm_block(x, norm_2, attend, norm_2, feed_forward),
        ),
        mistake(
            "feed-forward-first",
            lambda x, norm_1, attend, norm_2, feed_forward: pre_norm_block(x, norm_2, feed_forward, norm_1, attend),
            lambda x, norm_1, attend, norm_2, feed_forward: pre_norm_block(x, norm_1, feed_forward, norm_2, attend),
        ),
    ),
)
