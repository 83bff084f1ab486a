"""8.2: a pre-norm block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Provided, Question, call, in_each_layer, mistake
from qkv.questions.engine.in_model import At
from qkv.transformer import pre_norm_block

Part = Callable[[Tensor], Tensor]  # a norm, attention or a feed-forward network
Join = Callable[[Tensor, Part, Part], Tensor]  # (x, norm, part) -> x after this half of the block


def make_norm(gain: Tensor, bias: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a stand-in for a norm, which scales each token. A worker runs this source alone, so it uses torch only.

    It is no layer norm, which would be an answer to 8.1.
    """

    def norm(x: Tensor) -> Tensor:
        return x / (0.5 + x.abs().mean(-1, keepdim=True)) * gain + bias

    return norm


def make_attention(between: Tensor, within: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a stand-in for attention, x → between x within.

    So tokens are mixed by a fixed table, and features by a matrix.
    """

    def attend(x: Tensor) -> Tensor:
        return between @ x @ within

    return attend


def make_feed_forward(wide: Tensor, narrow: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a feed-forward network x → relu(x wide) narrow, which changes each token alone."""

    def feed_forward(x: Tensor) -> Tensor:
        return (x @ wide).relu() @ narrow

    return feed_forward


def draw_blocks(draw: Draw) -> list[Case]:
    """Draw tokens, and the norms, the attention and the feed-forward network of a block."""

    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "d_model", "d_hidden", **fixed)
        n, d, wide = s["n"], s["d_model"], s["d_hidden"]

        def norm() -> Provided:
            return Provided(make_norm, (1 + 0.5 * draw.normal(d, dtype=dtype), 0.5 * draw.normal(d, dtype=dtype)))

        def matrix(rows: int, columns: int) -> Tensor:
            return draw.normal(rows, columns, dtype=dtype, scale=rows**-0.5)

        attend = Provided(make_attention, (draw.weights(n, n, dtype=dtype), matrix(d, d)))
        feed_forward = Provided(make_feed_forward, (matrix(d, wide), matrix(wide, d)))
        x = 1.5 * draw.normal(*leading, n, d, dtype=dtype) + 0.5
        return Case(call(x, norm(), attend, norm(), feed_forward), name, s)

    return [*draw.situations(case), case("one token", n=1)]


# ── how one half of the block is put together ─────────────────────────────────────────────────────


def pre_norm(x: Tensor, norm: Part, part: Part) -> Tensor:
    return x + part(norm(x))


def without_residual(x: Tensor, norm: Part, part: Part) -> Tensor:
    return part(norm(x))


def block_variant(first: Join = pre_norm, second: Join = pre_norm) -> Callable[..., Any]:
    """Return an answer(x, norm_1, attend, norm_2, feed_forward) whose halves are computed by `first` and `second`.

    By default it is right.
    """

    def variant(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Any:
        return second(first(x, norm_1, attend), norm_2, feed_forward)

    return variant


def wrong_half(slug: str, join: Join) -> Misconception:
    """Return the misconception that computes the first half, the second, or both by `join`."""
    return Misconception(slug, knob_sets=({"first": join}, {"second": join}, {"first": join, "second": join}))


def second_half_from_the_input(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    return x + feed_forward(norm_2(x + attend(norm_1(x))))


def one_residual_around_all(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    return x + feed_forward(norm_2(attend(norm_1(x))))


def stream_not_read(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    added = attend(norm_1(x))
    return x + added + feed_forward(norm_2(added))


def input_added_again(x: Tensor, norm_1: Part, attend: Part, norm_2: Part, feed_forward: Part) -> Tensor:
    middle = x + attend(norm_1(x))
    return x + middle + feed_forward(norm_2(middle))


def block_in_model(answer: Callable[..., Tensor], at: At) -> Tensor:
    block = at.block
    return answer(at["state"], block.norm_1, lambda y: block.attention(y)[0], block.norm_2, block.feed_forward)


QUESTION = Question(
    points=3,
    inputs=("x", "norm_1", "attend", "norm_2", "feed_forward"),
    outputs=("out (..., n, d_model)",),
    draw=draw_blocks,
    reference=pre_norm_block,
    variant=block_variant,
    gradients=True,
    in_model=in_each_layer("feed_forward.sum", block_in_model),
    misconceptions=(
        Misconception("residual-forgotten", knobs={"first": without_residual, "second": without_residual}),
        Misconception("first-residual-forgotten", knobs={"first": without_residual}),
        Misconception("second-residual-forgotten", knobs={"second": without_residual}),
        wrong_half("norm-after-the-sum", lambda x, norm, part: norm(x + part(x))),
        wrong_half("norm-before-and-after", lambda x, norm, part: norm(x + part(norm(x)))),
        wrong_half("norm-after-the-work", lambda x, norm, part: x + norm(part(x))),
        wrong_half("norm-forgotten", lambda x, norm, part: x + part(x)),
        wrong_half("normed-input-added", lambda x, norm, part: norm(x) + part(norm(x))),
        wrong_half("work-left-out", lambda x, norm, part: x),
        wrong_half("only-the-norm-added", lambda x, norm, part: x + norm(x)),
        mistake("second-half-from-the-input", second_half_from_the_input),
        mistake(
            "halves-side-by-side",
            lambda x, norm_1, attend, norm_2, feed_forward: x + attend(norm_1(x)) + feed_forward(norm_2(x)),
            lambda x, norm_1, attend, norm_2, feed_forward: x + attend(norm_1(x)) + feed_forward(norm_1(x)),
        ),
        mistake("stream-not-read", stream_not_read),
        mistake("one-residual-around-all", one_residual_around_all),
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
