"""5.2: heads merged."""

from __future__ import annotations

from itertools import permutations

import torch

from qkv.attention import merge_heads
from qkv.questions.engine import Case, Draw, Question, call, in_each_layer, mistake
from qkv.questions.shared.heads import MERGES, Merge


def draw_heads(draw: Draw) -> list[Case]:
    """Draw heads, also in the memory layout in which a split leaves them."""

    def case(name: str, dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=7, **fixed)
        x = draw.normal(s["B"], s["H"], s["n"], s["d_head"], dtype=dtype)
        return Case(call(x), name, s)

    def from_a_split() -> Case:
        """Draw heads in the memory layout of a split: `view` cannot merge them, `reshape` can, rightly or wrongly."""
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=7)
        x = draw.normal(s["B"], s["n"], s["H"], s["d_head"]).transpose(1, 2)
        return Case(call(x), "heads that a split has made", s)

    return [
        case("plain"),
        case("plain"),
        from_a_split(),
        case("float64", torch.float64),
        case("one example", B=1),
        case("one head", H=1),
        case("one token", n=1),
        case("one feature a head", d_head=1),
    ]


def joined_in_order(*order: int) -> Merge:
    """Return a merge that permutes (examples, heads, tokens, features) to this order and joins the last two axes."""
    return lambda x: x.permute(order).flatten(-2)


# The orders left out have slugs of their own, in MERGES or below.
OTHER_ORDERS = [o for o in permutations(range(4)) if o not in ((0, 2, 1, 3), (0, 1, 2, 3), (0, 2, 3, 1), (2, 0, 1, 3))]


QUESTION = Question(
    points=3,
    inputs=("x",),
    outputs=("merged (B, n, d_model)",),
    draw=draw_heads,
    reference=merge_heads,
    gradients=True,
    tokens=-2,
    in_model=in_each_layer("attention.out", lambda answer, at: at.block.attention.w_o(answer(at["attention.heads"]))),
    misconceptions=(
        *(mistake(slug, *merges) for slug, merges in MERGES.items() if slug != "heads-averaged"),
        mistake("heads-averaged", *MERGES["heads-averaged"], lambda x: x.mean(1)),
        mistake("heads-summed", lambda x: x.sum(1)),
        mistake("one-head-only", lambda x: x[:, 0], lambda x: x[:, -1]),
        mistake("axes-not-turned", lambda x: x.flatten(-2)),
        mistake("too-many-axes-merged", lambda x: x.transpose(1, 2).flatten(1), lambda x: x.transpose(1, 2).flatten()),
        mistake("other-axes-merged", *(joined_in_order(*order) for order in OTHER_ORDERS)),
        mistake("heads-below-each-other", lambda x: x.flatten(1, 2)),
        mistake("axes-turned-only", lambda x: x.transpose(1, 2)),
        mistake("input-returned", lambda x: x),
        mistake("tokens-first", lambda x: merge_heads(x).transpose(0, 1)),
        mistake("view-after-transpose", lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1)),
    ),
)
