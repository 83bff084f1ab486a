"""5.1: features split into heads."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from qkv.attention import split_heads
from qkv.questions.engine import Case, Draw, InModel, Misconception, Question, call, mistake
from qkv.questions.engine.in_model import At, ModelRun
from qkv.questions.shared.heads import SPLITS, Split
from qkv.transformer import Edit


def draw_cases(draw: Draw) -> list[Case]:
    """Draw tokens and numbers of heads, also some that do not divide d_model."""

    def case(name: str, dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=7, **fixed)
        x = draw.normal(s["B"], s["n"], s["H"] * s["d_head"], dtype=dtype)
        return Case(call(x, s["H"]), name, s)

    def indivisible(d_model: int, n_heads: int) -> Case:
        x = draw.normal(2, draw.whole(3, 6), d_model)
        return Case(call(x, n_heads), "a d_model that H does not divide", raises="ValueError", gradients=False)

    n_heads = draw.whole(3, 5)
    return [
        case("plain"),
        case("plain"),
        case("float64", torch.float64),
        case("one example", B=1),
        case("one head", H=1),
        case("one token", n=1),
        case("one feature a head", d_head=1),
        indivisible(n_heads * draw.whole(2, 4) + draw.whole(1, n_heads - 1), n_heads),
        indivisible(4, 8),  # 4 // 8 is 0
        indivisible(6, 4),  # d_head = 6 // 4 is 1, and 6 // 1 is 6 heads
    ]


def wrong(slug: str, *splits: Split) -> Misconception:
    """Return the misconception that splits in one of these ways, but refuses an indivisible d_model, as is right."""
    return mistake(slug, *map(with_guard, splits))


def with_guard(split: Split) -> Split:
    """Return the split, but with a ValueError if n_heads does not divide d_model, so that it makes one mistake only."""

    def checked(x: Tensor, n_heads: int) -> Any:
        if x.shape[-1] % n_heads:
            raise ValueError(f"{x.shape[-1]} and {n_heads}")
        return split(x, n_heads)

    return checked


def axes_in_order(*order: int) -> Split:
    """Return a split that cuts the features, and permutes (examples, tokens, heads, features) to this order."""
    return lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).permute(order)


def cut_along(axis: int) -> Split:
    return lambda x, n_heads: x.unflatten(axis, (n_heads, -1)).transpose(-3, -2)


OTHER_ORDERS = [order for order in permutations(range(4)) if order not in ((0, 2, 1, 3), (0, 1, 2, 3))]


def indivisible_let_through(x: Tensor, n_heads: int) -> Tensor:
    """Split as many features as H divides, and drop the rest."""
    d_head = x.shape[-1] // n_heads
    return split_heads(x[..., : d_head * n_heads], n_heads) if d_head else x[:, None, :, :0].expand(-1, n_heads, -1, -1)


def indivisible_left_to_torch(x: Tensor, n_heads: int) -> Tensor:
    return x.view(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).transpose(1, 2)


def assertion_for_an_error(x: Tensor, n_heads: int) -> Tensor:
    assert x.shape[-1] % n_heads == 0
    return split_heads(x, n_heads)


def split_in_model(answer: Split, run: ModelRun) -> dict[str, Edit]:
    """Return the edits that split the queries, keys and values of all layers with the answer."""

    def split(at: At, x: str) -> Edit:
        attention = at.block.attention
        return lambda _: answer(getattr(attention, f"w_{x}")(at["attention.normed"]), attention.n_heads)

    return {f"{at.name}.attention.{x}": split(at, x) for at in run.layers for x in "qkv"}


QUESTION = Question(
    points=3,
    inputs=("x", "n_heads"),
    outputs=("heads (B, H, n, d_head)",),
    draw=draw_cases,
    reference=split_heads,
    gradients=True,
    tokens=-2,
    in_model=InModel(edits=split_in_model),
    misconceptions=(
        *(wrong(slug, *splits) for slug, splits in SPLITS.items()),
        wrong("axes-not-turned", axes_in_order(0, 1, 2, 3)),
        wrong("heads-tokens-features-in-another-order", *(axes_in_order(*order) for order in OTHER_ORDERS)),
        wrong("n-heads-taken-for-d-head", lambda x, n_heads: split_heads(x, x.shape[-1] // n_heads)),
        wrong("another-axis-cut", cut_along(-2), cut_along(-3)),
        wrong("whole-features-in-each-head", lambda x, n_heads: x[:, None].expand(-1, n_heads, -1, -1)),
        wrong("one-head-only", lambda x, n_heads: split_heads(x, n_heads)[:, 0]),
        wrong("heads-as-more-examples", lambda x, n_heads: split_heads(x, n_heads).flatten(0, 1)),
        wrong("list-of-heads", lambda x, n_heads: list(x.chunk(n_heads, -1)), lambda x, n_heads: x.chunk(n_heads, -1)),
        wrong("input-returned", lambda x, n_heads: x),
        mistake("indivisible-let-through", indivisible_let_through),
        mistake("indivisible-left-to-torch", indivisible_left_to_torch),
        mistake("assertion-for-an-error", assertion_for_an_error),
    ),
)
