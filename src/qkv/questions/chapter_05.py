"""Chapter 5, many heads: what is asked, and what people get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import torch
from torch import Tensor, nn

from qkv.attention import MultiHeadAttention, attention, causal_mask, merge_heads, split_heads
from qkv.questions.engine import Case, Draw, Layer, Misconception, Question, Seen, call, load, make
from qkv.questions.shared.products import PRODUCTS, q_with_k
from qkv.questions.shared.scales import SCALES, Scale, by_root
from qkv.questions.slips import At, slips
from qkv.softmax import masked_softmax

Split = Callable[[Tensor, int], Any]
Merge = Callable[[Tensor], Tensor]

# ── 5.1 split ─────────────────────────────────────────────────────────────────────────────────────


def draw_sheets(draw: Draw) -> list[Case]:
    def case(name: str, dtype: torch.dtype = torch.float32, x: Tensor | None = None, **fixed: int) -> Case:
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
        indivisible(6, 4),  # there and back, 6 // (6 // 4) is 6 heads of 1
    ]


def split_alike(x: Tensor, n_heads: int) -> Tensor:
    """The right split of as many features as divide."""
    d_head = x.shape[-1] // n_heads
    return split_heads(x[..., : d_head * n_heads], n_heads) if d_head else x[:, None, :, :0].expand(-1, n_heads, -1, -1)


def insist_on_equal_slices(x: Tensor, n_heads: int) -> Tensor:
    assert x.shape[-1] % n_heads == 0
    return split_heads(x, n_heads)


def by_view(x: Tensor, n_heads: int) -> Tensor:
    return x.view(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).transpose(1, 2)


def only_whole(split: Callable[[Tensor, int], Any]) -> Callable[[Tensor, int], Any]:
    """Let a wrong split refuse what it should, so that it goes wrong in one thing only."""

    def checked(x: Tensor, n_heads: int) -> Any:
        if x.shape[-1] % n_heads:
            raise ValueError(f"{x.shape[-1]} and {n_heads}")
        return split(x, n_heads)

    return checked


def refusing(test: Callable[[Tensor, int], int]) -> Split:
    """Give an answer to 5.1 that refuses an input where this is not 0."""

    def checked(x: Tensor, n_heads: int) -> Tensor:
        if test(x, n_heads):
            raise ValueError(f"{x.shape[-1]} and {n_heads}")
        return split_heads(x, n_heads)

    return checked


def cut_along(axis: int) -> Split:
    return lambda x, n_heads: x.unflatten(axis, (n_heads, -1)).transpose(-3, -2)


def cut_into(size: int, sign: int = 1) -> Split:
    return lambda x, n_heads: x.unflatten(-1, (sign * n_heads, size)).transpose(-3, -2)


def cut_and_turned(a: int, b: int) -> Split:
    return lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(a, b)


def flat_from(start: int) -> Merge:
    return lambda x: x.transpose(1, 2).flatten(start)


def reshape_in(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(len(x), n_heads, x.shape[1], -1)


def heads_first(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(n_heads, len(x), x.shape[1], -1).transpose(0, 1)


def dealt_out(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


def tokens_and_features_mixed(x: Tensor, n_heads: int) -> Tensor:
    return split_heads(x, n_heads).mT.reshape(len(x), n_heads, x.shape[1], -1)


def read_down_columns(x: Tensor, n_heads: int) -> Tensor:
    return x.mT.reshape(len(x), n_heads, x.shape[1], -1)


def read_down_columns_by_head(x: Tensor, n_heads: int) -> Tensor:
    return x.transpose(0, 1).reshape(len(x), n_heads, x.shape[1], -1)


# The splits and merges that give the right shape and wrong contents: asked about in 5.1, 5.2 and again in 5.5.
SPLITS: tuple[tuple[str, str, Split], ...] = (
    (
        "heads-split-by-reshape",
        "Head 0 holds all features of the first few tokens: `reshape` or `view` alone went to four axes. "
        "It keeps the order in memory. Which axis must be cut in two, and which two must then change places?",
        reshape_in,
    ),
    (
        "examples-mixed",
        "Head 0 holds numbers of several examples: the axis of heads came in front of the batch by reshape alone. "
        "Which axis may be cut to make heads?",
        heads_first,
    ),
    (
        "features-dealt-out",
        "Head 0 holds every H-th feature, as cards are dealt. The question wants a slice: features that stand side by "
        "side. Which of the two new axes counts heads, the first or the second?",
        dealt_out,
    ),
    (
        "heads-split-by-reshape",
        "The slices are right, but within a head tokens and features are mixed: a reshape follows a transpose. "
        "Which operation swaps two axes, and which only moves the line breaks?",
        tokens_and_features_mixed,
    ),
    (
        "heads-split-by-reshape",
        "Tokens and features changed places before a reshape, so a row of a head runs down one feature. "
        "What should a row of a head be: one token, or one feature?",
        read_down_columns,
    ),
    (
        "examples-mixed",
        "Tokens of several examples came together: the first two axes changed places before a reshape. "
        "Which axes does the split leave alone?",
        read_down_columns_by_head,
    ),
    (
        "heads-reversed",
        "The heads are there in the reverse order. Which features does head 0 get?",
        lambda x, n_heads: split_heads(x, n_heads).flip(1),
    ),
    (
        "all-heads-alike",
        "Every head holds the same features. Which slice belongs to head h?",
        lambda x, n_heads: split_heads(x, n_heads)[:, :1].expand(-1, n_heads, -1, -1),
    ),
    (
        "shifted-slices",
        "Each head starts one feature too late. Where does slice h begin?",
        lambda x, n_heads: split_heads(x.roll(-1, -1), n_heads),
    ),
)


def permuted(order: tuple[int, ...]) -> Split:
    return only_whole(lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).permute(order))


# Of examples, tokens, heads, features; the orders that have a message of their own are left out.
SAID_ELSEWHERE = ((0, 2, 1, 3), (0, 1, 2, 3), (0, 2, 3, 1), (2, 0, 1, 3))
OTHER_ORDERS = tuple(
    Misconception(
        "heads-tokens-features-in-another-order",
        "The numbers are right, and their axes are not in the order that is asked for: examples, heads, tokens, "
        "features of a head. Which two axes did you swap?",
        twin=permuted(order),
    )
    for order in permutations(range(4))
    if order not in SAID_ELSEWHERE
)

SPLIT_HEADS = Question(
    id="5.1",
    points=3,
    title="Split into heads",
    inputs=("x", "n_heads"),
    outputs=("heads (B, H, n, d_head)",),
    draw=draw_sheets,
    reference=split_heads,
    gradients=True,
    about="One tensor is asked for: examples, heads, tokens, features of a head.",
    misconceptions=(
        *(Misconception(slug, says, twin=only_whole(split)) for slug, says, split in SPLITS),
        Misconception(
            "axes-not-turned",
            "Your features are cut into heads, but tokens still come before heads. Attention wants a table of tokens "
            "for each head. Which two axes are to change places?",
            twin=only_whole(lambda x, n_heads: x.unflatten(-1, (n_heads, -1))),
        ),
        Misconception(
            "heads-tokens-features-in-another-order",
            "Tokens and features of a head stand in each other's place. Rows are tokens. Which axis is last?",
            twin=only_whole(lambda x, n_heads: split_heads(x, n_heads).mT),
        ),
        Misconception(
            "heads-tokens-features-in-another-order",
            "The heads come first and the examples second. Which axis stays in front?",
            twin=only_whole(lambda x, n_heads: split_heads(x, n_heads).transpose(0, 1)),
        ),
        *OTHER_ORDERS,
        Misconception(
            "n-heads-taken-for-d-head",
            "You made heads of H features, and d_model / H of them. How many heads are there to be?",
            twin=only_whole(lambda x, n_heads: split_heads(x, x.shape[-1] // n_heads)),
        ),
        Misconception(
            "tokens-split",
            "Each of your heads has all the features, of some tokens. Which axis is divided among the heads: tokens, "
            "or features?",
            twin=only_whole(
                lambda x, n_heads: torch.stack([t.contiguous() for t in x.tensor_split(n_heads, dim=1)[:1]], dim=1)
            ),
        ),
        Misconception(
            "whole-features-in-each-head",
            "Each of your heads holds all d_model features. How many does one head get, if H heads share them?",
            twin=only_whole(lambda x, n_heads: x[:, None].expand(-1, n_heads, -1, -1)),
        ),
        Misconception(
            "one-head-only",
            "Only the first head came back. Where are the others?",
            twin=only_whole(lambda x, n_heads: split_heads(x, n_heads)[:, 0]),
        ),
        Misconception(
            "heads-as-more-examples",
            "Examples and heads share one axis. Some code does that, and this question keeps the two apart. Which four "
            "axes are asked for?",
            twin=only_whole(lambda x, n_heads: split_heads(x, n_heads).flatten(0, 1)),
        ),
        Misconception(
            "list-of-heads",
            "A list of heads came back. What makes one tensor of them, with an axis of its own for heads?",
            twin=only_whole(lambda x, n_heads: list(x.chunk(n_heads, dim=-1))),
        ),
        Misconception(
            "list-of-heads",
            "A tuple of heads came back. What makes one tensor of them, with an axis of its own for heads?",
            twin=only_whole(lambda x, n_heads: x.chunk(n_heads, dim=-1)),
        ),
        Misconception(
            "input-returned",
            "What came back is the input. What should the last axis become?",
            twin=only_whole(lambda x, n_heads: x),
        ),
        *slips(lambda at: lambda x, n_heads: at("heads", split_heads(x, n_heads)), heads="the heads"),
        *(
            Misconception(
                "good-widths-refused",
                f"A d_model that H divides is refused: your test is true for {what}. Which number must be 0, and when "
                "do you complain?",
                twin=refusing(test),
            )
            for what, test in (
                ("every input, or nearly", lambda x, n_heads: x.shape[-1] // n_heads),
                ("every H that d_model does not divide", lambda x, n_heads: n_heads % x.shape[-1]),
                ("as many tokens as H does not divide", lambda x, n_heads: x.shape[-2] % n_heads),
                ("as many examples as H does not divide", lambda x, n_heads: x.shape[-3] % n_heads),
            )
        ),
        *(
            Misconception(
                "another-axis-cut",
                f"You cut {what} into heads. Which axis holds the features?",
                twin=only_whole(cut_along(axis)),
            )
            for what, axis in (("the tokens", -2), ("the examples", -3))
        ),
        *(
            Misconception(
                "sizes-of-the-cut",
                f"The two sizes that features are cut into are n_heads and {size}. How many features has one head?",
                twin=only_whole(cut_into(size)),
            )
            for size in (0, 1, -2)
        ),
        Misconception(
            "sizes-of-the-cut",
            "The number of heads is negative where you cut the features. How many heads are there?",
            twin=only_whole(cut_into(-1, sign=-1)),
        ),
        Misconception(
            "not-cut-into-heads",
            "Your axes change places, and no axis was cut in two before. How do three axes become four?",
            twin=only_whole(lambda x, n_heads: x.transpose(-3, -2)),
        ),
        Misconception(
            "indivisible-let-through",
            "Right when H divides d_model. When it does not, features are dropped without a word. "
            "Which exception does the question ask for?",
            twin=split_alike,
        ),
        Misconception(
            "indivisible-left-to-torch",
            "Right when H divides d_model. When it does not, torch raises its own RuntimeError, about shapes. "
            "Which exception does the question ask for?",
            twin=by_view,
        ),
        Misconception(
            "assertion-for-an-error",
            "Right when H divides d_model. When it does not you raise AssertionError. `assert` can be switched off. "
            "Which exception does the question ask for?",
            twin=insist_on_equal_slices,
        ),
    ),
)

# ── 5.2 merge ─────────────────────────────────────────────────────────────────────────────────────


def draw_heads(draw: Draw) -> list[Case]:
    def case(name: str, dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=7, **fixed)
        x = draw.normal(s["B"], s["H"], s["n"], s["d_head"], dtype=dtype)
        return Case(call(x), name, s)

    def turned() -> Case:
        """Heads as a split leaves them, which `view` cannot merge and `reshape` can, rightly or wrongly."""
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=7)
        x = draw.normal(s["B"], s["n"], s["H"], s["d_head"]).transpose(1, 2)
        return Case(call(x), "heads that a split has made", s)

    return [
        case("plain"),
        case("plain"),
        turned(),
        case("float64", torch.float64),
        case("one example", B=1),
        case("one head", H=1),
        case("one token", n=1),
        case("one feature a head", d_head=1),
    ]


def reshape_out(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


MERGES: tuple[tuple[str, str, Merge], ...] = (
    (
        "heads-merged-by-reshape",
        "The first rows of your result hold head 0 only, for several tokens: a `reshape` alone went back to three "
        "axes. What must be undone first, before heads and features can become one axis?",
        reshape_out,
    ),
    (
        "features-dealt-out",
        "The heads' features alternate: the first of each head, then the second of each. They are to lie side by "
        "side, head after head. Which of the two axes should vary faster?",
        lambda x: x.permute(0, 2, 3, 1).flatten(2),
    ),
    (
        "examples-mixed",
        "Rows of several examples came together. Which axis stays as it is, all the way?",
        lambda x: x.transpose(0, 1).reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "heads-merged-by-reshape",
        "Two axes were swapped, but not those that the split had swapped; then a reshape. Which axis must stand next "
        "to the features, so that the two can become one?",
        lambda x: x.mT.reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "heads-merged-by-reshape",
        "The axes of your result are read in another order than the split wrote them. Which one operation undoes "
        "the swap?",
        lambda x: x.permute(0, 3, 2, 1).reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "heads-merged-by-reshape",
        "The axes of your result are read in another order than the split wrote them. Which one operation undoes "
        "the swap?",
        lambda x: x.permute(0, 3, 1, 2).reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "examples-mixed",
        "Tokens were read before examples, and rows of several examples came together. Which axis stays in front?",
        lambda x: x.permute(2, 0, 1, 3).reshape(x.shape[0], x.shape[2], -1),
    ),
    (
        "heads-reversed",
        "The heads lie side by side in the reverse order. Whose features come first?",
        lambda x: merge_heads(x.flip(1)),
    ),
    (
        "first-head-repeated",
        "Every slice of your result is head 0. Where are the others?",
        lambda x: merge_heads(x[:, :1].expand_as(x)),
    ),
    (
        "heads-averaged",
        "Your slices are all alike: the mean of the heads. A mean loses who said what. How do heads keep their own "
        "features?",
        lambda x: merge_heads(x.mean(1, keepdim=True).expand_as(x)),
    ),
)

MERGE_HEADS = Question(
    id="5.2",
    points=3,
    title="Merge the heads",
    inputs=("x",),
    outputs=("merged (B, n, d_model)",),
    draw=draw_heads,
    reference=merge_heads,
    gradients=True,
    misconceptions=(
        *(Misconception(slug, says, twin=merge) for slug, says, merge in MERGES),
        Misconception(
            "heads-summed",
            "The heads are added up, and d_head features are left. How many features has a token after the merge?",
            twin=lambda x: x.sum(1),
        ),
        Misconception(
            "heads-averaged",
            "The heads are averaged, and d_head features are left. How many features has a token after the merge?",
            twin=lambda x: x.mean(1),
        ),
        Misconception(
            "one-head-only",
            "Only head 0 came back. Where are the others?",
            twin=lambda x: x[:, 0],
        ),
        Misconception(
            "one-head-only",
            "Only the last head came back. Where are the others?",
            twin=lambda x: x[:, -1],
        ),
        Misconception(
            "axes-not-turned",
            "Tokens and features became one axis, in each head by itself: the swap of the split was not undone. Which "
            "axis should stand next to the features, before two become one?",
            twin=lambda x: x.flatten(-2),
        ),
        Misconception(
            "too-many-axes-merged",
            "More than two axes became one. Which two belong together?",
            twin=lambda x: x.transpose(1, 2).flatten(1),
        ),
        Misconception(
            "too-many-axes-merged",
            "All axes became one. Which two belong together?",
            twin=lambda x: x.transpose(1, 2).flatten(),
        ),
        *(
            Misconception(
                "other-axes-merged",
                "Two axes became one, but not those of heads and features, or not in their order. Which axis stands "
                "between heads and features, and where should it go?",
                twin=lambda x, order=order: x.permute(order).flatten(-2),
            )
            for order in permutations(range(4))
            if order not in ((0, 2, 1, 3), (0, 1, 2, 3), (0, 2, 3, 1), (2, 0, 1, 3))
        ),
        Misconception(
            "heads-below-each-other",
            "The heads are laid one below the other, so there are H · n rows. Which axis should grow: tokens, or "
            "features?",
            twin=lambda x: x.flatten(1, 2),
        ),
        Misconception(
            "axes-turned-only",
            "The axes are swapped back, and there are still four. Which two of them become one?",
            twin=lambda x: x.transpose(1, 2),
        ),
        Misconception(
            "input-returned",
            "What came back is the input. How many axes should be left?",
            twin=lambda x: x,
        ),
        Misconception(
            "features-before-tokens",
            "Features and tokens stand in each other's place. Rows are tokens. Which axis is last?",
            twin=lambda x: merge_heads(x).mT,
        ),
        Misconception(
            "tokens-first",
            "The tokens come first and the examples second. Which axis stays in front?",
            twin=lambda x: merge_heads(x).transpose(0, 1),
        ),
        Misconception(
            "examples-as-tokens",
            "Examples and tokens share one axis. Which three axes are asked for?",
            twin=lambda x: merge_heads(x).flatten(0, 1),
        ),
        *slips(lambda at: lambda x: at("features", merge_heads(x)), features="the features"),
        Misconception(
            "view-after-transpose",
            "Your axes are in the right order, and `view` refuses: after a transpose, memory does not follow the axes. "
            "Which call of torch may move them?",
            twin=lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
        ),
    ),
)

# ── 5.3 the causal mask ───────────────────────────────────────────────────────────────────────────


def draw_length(draw: Draw) -> list[Case]:
    n = draw.whole(5, 9)
    return [
        Case(call(n), "plain", {"n": n}),
        Case(call(n + draw.whole(2, 9)), "plain"),
        Case(call(1), "n = 1"),
        Case(call(2), "n = 2"),
        Case(call(draw.whole(30, 70)), "a long sequence"),
    ]


def may(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool)


CAUSAL_MASK = Question(
    id="5.3",
    points=2,
    title="The causal mask",
    inputs=("n",),
    outputs=("mask (n, n)",),
    draw=draw_length,
    reference=causal_mask,
    about="The mask is a boolean tensor; True = may attend.",
    misconceptions=(
        Misconception(
            "mask-inverted",
            "Your True hides: each token sees the tokens after it, and not itself. In this course, what does True say?",
            twin=lambda n: ~causal_mask(n),
        ),
        Misconception(
            "minus-for-not",
            "A mask has no sign, and torch refuses the minus. What turns True and False round, and is that asked for?",
            twin=lambda n: -causal_mask(n),
        ),
        Misconception(
            "mask-transposed",
            "Your mask stands on its side: each token sees itself and the tokens after it. Do queries go down, or "
            "across?",
            twin=lambda n: causal_mask(n).mT,
        ),
        Misconception(
            "cannot-see-itself",
            "Your diagonal is False: no token sees itself, and the first sees nothing at all. Is a token hidden from "
            "itself?",
            twin=lambda n: may(n).tril(-1),
        ),
        Misconception(
            "sees-one-ahead",
            "Each token sees the one after it, which is the one that a model is to predict. Where does a row end?",
            twin=lambda n: may(n).tril(1),
        ),
        Misconception(
            "only-itself",
            "Each token sees itself and nothing else. What about the tokens before it?",
            twin=lambda n: torch.eye(n, dtype=torch.bool),
        ),
        Misconception(
            "only-the-one-before",
            "Each token sees itself and the one before it. Where does causality end to the left?",
            twin=lambda n: may(n).tril().triu(-1),
        ),
        Misconception(
            "everything-visible",
            "All is True, so every token sees the future. Which half is to be hidden?",
            twin=may,
        ),
        Misconception(
            "nothing-visible",
            "All is False, so no token sees anything. Which half is to stay visible?",
            twin=lambda n: ~may(n),
        ),
        Misconception(
            "mask-mirrored",
            "Your triangle leans the other way: the first token sees all, the last one only key 0. How much does the "
            "last token know?",
            twin=lambda n: causal_mask(n).flip(0),
        ),
        Misconception(
            "mask-mirrored",
            "Your triangle leans the other way: the first token sees the last key. Which key does token 0 see?",
            twin=lambda n: causal_mask(n).flip(1),
        ),
        Misconception(
            "additive-mask",
            "You gave what is added to scores: 0 and −∞. Some libraries want that. Which dtype is asked for here?",
            twin=lambda n: torch.full((n, n), -math.inf).triu(1),
        ),
        Misconception(
            "additive-mask",
            "You gave what is added to scores: 0 and a large negative number. Which dtype is asked for here?",
            twin=lambda n: torch.full((n, n), -1e9).triu(1),
        ),
        Misconception(
            "numbers-for-truth-values",
            "Your triangle is right, and made of numbers: 1 and 0. `~` and `masked_fill` need truth values. "
            "Which dtype is asked for?",
            twin=lambda n: torch.ones(n, n).tril(),
        ),
        Misconception(
            "numbers-for-truth-values",
            "Your triangle is right, and made of whole numbers. `~` of 1 is −2, which is no False. Which dtype is "
            "asked for?",
            twin=lambda n: torch.ones(n, n, dtype=torch.int64).tril(),
        ),
        Misconception(
            "extra-axes",
            "Your triangle has axes of size 1 in front. Broadcasting adds them by itself. Which shape is asked for?",
            twin=lambda n: causal_mask(n)[None],
        ),
        Misconception(
            "extra-axes",
            "Your triangle has axes of size 1 in front. Broadcasting adds them by itself. Which shape is asked for?",
            twin=lambda n: causal_mask(n)[None, None],
        ),
        Misconception(
            "one-row-only",
            "One row came back. Each of n queries needs a row of its own. How do they differ?",
            twin=lambda n: torch.ones(n, dtype=torch.bool),
        ),
        Misconception(
            "size-off-by-one",
            "Your mask has one row and one column too many. How many tokens are there?",
            twin=lambda n: causal_mask(n + 1),
        ),
        Misconception(
            "size-off-by-one",
            "Your mask has one row and one column too few. How many tokens are there?",
            twin=lambda n: causal_mask(n - 1),
        ),
    ),
)

# ── 5.4 masked attention ──────────────────────────────────────────────────────────────────────────

ROOTLESS = (5, 6, 7, 8, 10)  # sizes whose root is not a whole number
Apply = Callable[[Tensor, Tensor], Tensor]  # of scores and mask: weights


def softmax_over(dim: int) -> Apply:
    def share(scores: Tensor, mask: Tensor) -> Tensor:
        return filled(scores, mask).softmax(dim).nan_to_num() * mask

    return share


def filled(scores: Tensor, mask: Tensor, hidden: float = -math.inf) -> Tensor:
    return scores.masked_fill(~mask, hidden)


def over_everything(scores: Tensor, mask: Tensor) -> Tensor:
    return filled(scores, mask).flatten(-2).softmax(-1).view_as(scores).nan_to_num()


def mixed(weights: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return weights @ v


def shared_as_asked(share: Apply) -> Apply:
    """Let a wrong way of sharing keep the rule for rows that see nothing."""
    return lambda scores, mask: share(scores, mask).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def masked_variant(
    scale: Scale = by_root,
    product: Callable[[Tensor, Tensor], Tensor] = q_with_k,
    share: Apply = masked_softmax,
    see: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: mask,
    mix: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor] = mixed,
    give: Callable[[Tensor, Tensor, Tensor], Any] = lambda out, weights, scores: (out, weights),
) -> Callable[..., Any]:
    """Give an answer to 5.4 that goes wrong at some of its steps."""

    def variant(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
        scores = product(q, k)
        scores = scores / scale(scores, q, k)
        weights = share(scores, see(mask, scores))
        return give(mix(weights, q, k, v, mask), weights, scores)

    return variant


def draw_masked(draw: Draw) -> list[Case]:
    def case(
        name: str, leading: tuple[int, ...] = (), over: str = "qk", dtype: torch.dtype = torch.float32, **fixed: int
    ) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", "d_v", **{"d_k": draw.choose(ROOTLESS)} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        k = draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)
        v = draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)
        return Case(call(q, k, v, draw_mask(draw, leading, s["n_q"], s["n_k"], over)), name, s)

    def with_mask(name: str, change: Callable[[Tensor], Tensor], **fixed: Any) -> Case:
        made = case(name, **fixed)
        q, k, v, mask = made.script[0].args
        return Case(call(q, k, v, change(mask)), name, made.sizes)

    same = draw.choose(ROOTLESS)
    batch, heads = draw.choose(((2, 3), (3, 2)))
    return [
        case("plain"),
        case("plain"),
        case("a batch", (batch,), "*qk"),
        case("a batch, one mask for all", (batch,)),
        case("a batch and heads", (batch, heads), "**qk"),
        case("padding: one row for all heads and queries", (batch, heads), "*11k"),
        case("one mask for each example", (batch, heads), "*1qk"),
        case("a mask of one row", (), "k"),
        case("float64", dtype=torch.float64),
        with_mask("a row that sees nothing", with_blind_row),
        with_mask("two examples' padding", lambda mask: mask.any(0, keepdim=True)),
        with_mask("a causal mask", lambda mask: causal_mask(*mask.shape), n_q=same, n_k=same),
        with_mask("all visible", torch.ones_like),
        with_mask("nothing visible", torch.zeros_like),
        with_mask("one key visible for each query", one_key_each),
        case("one key", n_k=1),
        case("one query", n_q=1),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_v=same),
        padded_to_nothing(draw, batch, heads),
        far_below_zero(draw),
        far_above(draw),
    ]


def far_below_zero(draw: Draw) -> Case:
    """Scores so far below 0 that a hidden key wins when its score is set to a large negative number, and not to −∞."""
    s = draw.sizes("n_q", "n_k", "d_k", "d_v", d_k=draw.choose(ROOTLESS))
    q = draw.normal(s["n_q"], s["d_k"]).abs()
    k = draw.normal(s["n_k"], s["d_k"]) - 100  # the same offset for all keys of a query: no weight moves
    mask = draw_mask(draw, (), s["n_q"], s["n_k"], "qk")
    handed = call(q, k, draw.normal(s["n_k"], s["d_v"]), mask)
    return Case(handed, "scores far below 0", s, gradients=False, tolerance=1e-3)


def far_above(draw: Draw) -> Case:
    """Hidden scores 100 to 500 above the others: too far for a softmax over all of them and a small number added.

    In float64, so that whoever masks the exponentials by hand and divides by their true sum still is right.
    """
    s = draw.sizes("n_q", "n_k", "d_k", "d_v", d_k=draw.choose(ROOTLESS))
    q = draw.normal(s["n_q"], s["d_k"], dtype=torch.float64).abs() + 1
    mask = draw_mask(draw, (), s["n_q"], s["n_k"], "k")
    k = draw.normal(s["n_k"], s["d_k"], dtype=torch.float64) + 60 * ~mask[:, None]
    handed = call(q, k, draw.normal(s["n_k"], s["d_v"], dtype=torch.float64), mask)
    return Case(handed, "hidden scores far above the others", s, gradients=False)


def draw_mask(draw: Draw, leading: tuple[int, ...], n_q: int, n_k: int, over: str) -> Tensor:
    """Draw a mask: `over` names its axes, q and k and * for a leading axis, 1 where it broadcasts.

    Each row that has more than one key sees some and is blind to some.
    """
    sizes = {"1": 1, "q": n_q, "k": n_k}
    shape = [leading[i] if axis == "*" else sizes[axis] for i, axis in enumerate(over)]
    if n_k == 1:
        return torch.ones(shape, dtype=torch.bool)
    order = torch.rand(shape, generator=draw.generator).argsort(-1)  # a permutation in each row
    fewest = min(max(2, n_k // 3), n_k - 1)  # a query with one key in sight tells nothing of its scores
    return order < draw.whole(fewest, max(fewest, 2 * n_k // 3))


def with_blind_row(mask: Tensor) -> Tensor:
    mask = mask.clone()
    mask[len(mask) // 2] = False
    return mask


def one_key_each(mask: Tensor) -> Tensor:
    return torch.eye(mask.shape[-1], dtype=torch.bool)[torch.arange(len(mask)) * 2 % mask.shape[-1]]


def padded_to_nothing(draw: Draw, batch: int, heads: int) -> Case:
    """A batch with an example that is padding throughout."""
    s = draw.sizes("n_q", "n_k", "d_k", "d_v")
    q, k = (draw.normal(batch, heads, s[n], s["d_k"]) for n in ("n_q", "n_k"))
    v = draw.normal(batch, heads, s["n_k"], s["d_v"])
    real = torch.arange(s["n_k"]) < torch.tensor([s["n_k"] - 1, 0, 2])[:batch, None]
    return Case(call(q, k, v, real[:, None, None, :]), "an example without a real token", s)


def weights_in(seen: Seen) -> Tensor | None:
    value = seen.value
    found = value[1] if isinstance(value, (tuple, list)) and len(value) == 2 else None
    return found if isinstance(found, Tensor) and found.ndim > 1 else None


def row_sum(seen: Seen) -> str:
    weights = weights_in(seen)
    return f"{float(weights.sum(-1).flatten()[0]):.3g}" if weights is not None else "something else than 1"


def even_where_blind(scores: Tensor, mask: Tensor) -> Tensor:
    weights = masked_softmax(scores, mask)
    return torch.where(mask.any(-1, keepdim=True), weights, 1 / scores.shape[-1])


def unmasked_where_blind(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.any(-1, keepdim=True), masked_softmax(scores, mask), scores.softmax(-1))


def shared_again(scores: Tensor, mask: Tensor) -> Tensor:
    left = scores.softmax(-1) * mask
    return left / left.sum(-1, keepdim=True).clamp(min=1e-9)


# Whatever is masked in the wrong way, in 5.4 and again in 5.5.
MASKS = (
    Misconception(
        "mask-inverted",
        "Each query attends to exactly the keys that it must not see. In this course, does True hide or show?",
        knobs={"see": lambda mask, scores: ~mask},
    ),
    Misconception(
        "mask-inverted",
        "Your mask is turned round where it hides scores, and right where it clears the rows that see nothing. "
        "In this course, does True hide or show?",
        knobs={"share": lambda scores, mask: filled(scores, ~mask).softmax(-1).masked_fill(~mask, 0.0)},
    ),
    Misconception(
        "mask-inverted",
        "Your mask is right where it hides scores, and turned round where it clears the rows that see nothing. "
        "Which weights are to become 0 there?",
        knobs={"share": lambda scores, mask: filled(scores, mask).softmax(-1).masked_fill(mask, 0.0)},
    ),
    Misconception(
        "mask-ignored",
        "Your weights are the same whatever the mask says. Where should it act?",
        knobs={"share": lambda scores, mask: scores.softmax(-1)},
    ),
    Misconception(
        "mask-ignored",
        "Hidden keys get weight, except in rows that see nothing. Where should the mask act, for all rows?",
        knobs={"share": shared_as_asked(lambda scores, mask: scores.softmax(-1))},
    ),
    Misconception(
        "zero-for-minus-infinity",
        "Hidden scores are set to 0, and a score of 0 still gets a weight: e⁰ is 1. Which score gets none?",
        knobs={"share": lambda scores, mask: (scores * mask).softmax(-1)},
    ),
    Misconception(
        "zero-for-minus-infinity",
        "Hidden scores are set to 0, and a score of 0 still gets a weight: e⁰ is 1. Which score gets none?",
        knobs={"share": shared_as_asked(lambda scores, mask: (scores * mask).softmax(-1))},
    ),
    Misconception(
        "mask-added-as-a-number",
        "The mask was added as it is: True counts as 1, so visible scores rise a little and hidden ones stay. "
        "What must be added to a hidden score, so that nothing is left of it?",
        knobs={"share": lambda scores, mask: (scores + mask.to(scores.dtype)).softmax(-1)},
    ),
    Misconception(
        "minus-one-for-minus-infinity",
        "Hidden scores are lowered by 1, or set to −1. Their weight shrinks and does not vanish. What makes an "
        "exponential exactly 0?",
        knobs={"share": lambda scores, mask: filled(scores, mask, -1.0).softmax(-1)},
    ),
    Misconception(
        "mask-after-softmax",
        lambda seen: (
            f"Hidden keys get no weight, but your first row sums to {row_sum(seen)}: the mask came after the softmax. "
            "Who got the rest, before it was thrown away?"
        ),
        knobs={"share": lambda scores, mask: scores.softmax(-1) * mask},
    ),
    Misconception(
        "mask-after-softmax",
        "Weights of −∞ or of −1e9 came out: the mask was written into the weights, after the softmax. Before or "
        "after: where does −∞ become 0?",
        knobs={"share": lambda scores, mask: filled(scores.softmax(-1), mask)},
    ),
    Misconception(
        "mask-after-softmax",
        "The mask was written into the weights, and a second softmax follows. How often should scores go through it?",
        knobs={"share": lambda scores, mask: masked_softmax(scores.softmax(-1), mask)},
    ),
    Misconception(
        "mask-after-softmax",
        "Right where hidden scores are no larger than the others. You mask after the softmax, and share out again what "
        "is left. Where a hidden score is far above the others, what is left for them?",
        knobs={"share": shared_again},
    ),
    Misconception(
        "nan-on-a-blind-row",
        "Right for rows that see something. A row that sees nothing comes out as NaN: its softmax is 0/0. "
        "What should such a row give, and how do you put it there?",
        knobs={"share": lambda scores, mask: filled(scores, mask).softmax(-1)},
    ),
    Misconception(
        "even-shares-on-a-blind-row",
        "Right for rows that see something. A row that sees nothing shares its weight evenly among the hidden keys, as "
        "−1e9 in every place does. What should such a row give?",
        knobs={"share": even_where_blind},
    ),
    Misconception(
        "unmasked-on-a-blind-row",
        "Right for rows that see something. In a row that sees nothing, the mask is dropped. What should such a row "
        "give?",
        knobs={"share": unmasked_where_blind},
    ),
    Misconception(
        "softmax-over-queries",
        "The weights of each key sum to 1, down the columns. Whose attention is shared out: a key's, or a query's?",
        knobs={"share": softmax_over(-2)},
    ),
    Misconception(
        "softmax-over-everything",
        lambda seen: (
            f"All visible weights of a table sum to 1 together, and the first row to {row_sum(seen)}. "
            "Does each query share out a weight of 1 of its own?"
        ),
        knobs={"share": over_everything},
    ),
    Misconception(
        "no-softmax",
        "Your weights are the scores, hidden ones too. What makes weights of scores, and where does the mask act?",
        knobs={"share": lambda scores, mask: scores},
    ),
    Misconception(
        "no-softmax",
        "Your weights are scores, with hidden ones at 0. What makes weights of scores?",
        knobs={"share": lambda scores, mask: scores * mask},
    ),
    Misconception(
        "not-normalised",
        lambda seen: f"Your weights are positive, but the first row sums to {row_sum(seen)}. What is missing?",
        knobs={"share": lambda scores, mask: scores.exp() * mask},
    ),
    Misconception(
        "sigmoid",
        lambda seen: (
            f"Each weight lies between 0 and 1, but your first row sums to {row_sum(seen)}. "
            "Do the keys compete for a query's attention?"
        ),
        knobs={"share": lambda scores, mask: scores.sigmoid() * mask},
    ),
    Misconception(
        "divided-by-the-number-of-keys",
        "Every visible key gets the same weight: the scores have no effect. What should decide who gets more?",
        knobs={"share": lambda scores, mask: masked_softmax(torch.zeros_like(scores), mask)},
    ),
    Misconception(
        "only-the-best-key",
        "All the weight goes to the best visible key. Does a soft look-up take one value, or a mixture?",
        knobs={"share": lambda scores, mask: masked_softmax(scores * 1e4, mask)},
    ),
    Misconception(
        "first-row-of-the-mask-for-all",
        "Every query uses the first row of the mask. Whose row is it?",
        knobs={"see": lambda mask, scores: mask[..., :1, :] if mask.ndim > 1 else mask},
    ),
    Misconception(
        "causal-mask-instead",
        "Your weights follow a causal triangle, whatever mask is handed over. Which mask is this query's?",
        knobs={"see": lambda mask, scores: causal_mask(*scores.shape[-2:])},
    ),
    Misconception(
        "scores-negated",
        "Your largest weight goes to the visible key that fits worst. Which sign do your scores have?",
        knobs={"share": lambda scores, mask: masked_softmax(-scores, mask)},
    ),
    *(
        Misconception(slug, says, knobs={"share": share}, alone=True)
        for slug, says, share in (
            (
                "plus-infinity",
                "Hidden keys got the score +∞, so their row is NaN. Which score gives the weight 0?",
                lambda scores, mask: filled(scores, mask, math.inf).softmax(-1).masked_fill(~mask, 0.0),
            ),
            (
                "softmax-over-heads",
                "Your softmax runs along the third axis from the back: heads, where there are some. Has not each head "
                "a softmax of its own?",
                lambda scores, mask: filled(scores, mask).softmax(-3).masked_fill(~mask, 0.0),
            ),
            (
                "axis-counted-from-the-front",
                "Your softmax runs along axis 0. Along which axis do the keys lie, counted from the back?",
                lambda scores, mask: filled(scores, mask).softmax(0).masked_fill(~mask, 0.0),
            ),
            (
                "axis-counted-from-the-front",
                "Your softmax runs along axis 1. Along which axis do the keys lie, counted from the back?",
                lambda scores, mask: filled(scores, mask).softmax(1).masked_fill(~mask, 0.0),
            ),
            (
                "softmax-over-queries",
                "The weights of each key sum to 1, down the columns. Whose attention is shared out: a key's, or a "
                "query's?",
                lambda scores, mask: filled(scores, mask).softmax(-2).masked_fill(~mask, 0.0),
            ),
            (
                "hidden-weights-not-zero",
                "A hidden key ends with the weight 1. Which number should be written where the mask is False?",
                lambda scores, mask: filled(scores, mask).softmax(-1).masked_fill(~mask, 1.0),
            ),
            (
                "hidden-weights-not-zero",
                "A hidden key ends with the weight −1. Which number should be written where the mask is False?",
                lambda scores, mask: filled(scores, mask).softmax(-1).masked_fill(~mask, -1.0),
            ),
            (
                "arguments-of-masked-fill",
                "`masked_fill` complains about its first argument, which is the mask. In which order does it take a "
                "mask and a number?",
                lambda scores, mask: scores.softmax(-1).masked_fill(0.0, ~mask),
            ),
            (
                "arguments-of-masked-fill",
                "`masked_fill` complains about its first argument, which is the mask. In which order does it take a "
                "mask and a number?",
                lambda scores, mask: scores.masked_fill(-math.inf, ~mask),
            ),
            (
                "no-softmax",
                "Your weights are the scores, with hidden ones at 0 and rows that see nothing too. What makes weights "
                "of scores?",
                lambda scores, mask: filled(scores, mask).masked_fill(~mask, 0.0),
            ),
        )
    ),
)

GIVES = (
    Misconception(
        "output-and-weights-swapped",
        "The weights come first and the output second. In which order does the question ask for them?",
        knobs={"give": lambda out, weights, scores: (weights, out)},
    ),
    Misconception(
        "scores-returned",
        "Your output is right. The second thing is scores, and their rows do not sum to 1. What was to be second?",
        knobs={"give": lambda out, weights, scores: (out, scores)},
    ),
    Misconception(
        "weights-of-all-keys-returned",
        "Your output is right. The weights that you return know nothing of the mask. Which weights made the output?",
        knobs={"give": lambda out, weights, scores: (out, scores.softmax(-1))},
    ),
    Misconception(
        "weights-transposed",
        "Your output is right, but the weights that you return stand on their side. Whose weights does a row hold?",
        knobs={"give": lambda out, weights, scores: (out, weights.mT)},
    ),
    Misconception(
        "weights-not-returned",
        "Your output is right, and it came back alone. Two things are asked for: out, and then the weights.",
        knobs={"give": lambda out, weights, scores: out},
    ),
    Misconception(
        "output-not-returned",
        "Your weights are right, and they came back alone. Two things are asked for: out, and then weights.",
        knobs={"give": lambda out, weights, scores: weights},
    ),
    Misconception(
        "output-returned-twice",
        "The output came back twice. What says how much each query took from each key?",
        knobs={"give": lambda out, weights, scores: (out, out)},
    ),
    Misconception(
        "weights-times-values-one-by-one", knobs={"mix": lambda weights, q, k, v, *mask: weights * v}, alone=True
    ),
    Misconception("values-on-the-left", knobs={"mix": lambda weights, q, k, v, *mask: v @ weights}, alone=True),
)


def masked_in_steps(at: At) -> Callable[..., Any]:
    def answer(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        scores = at("scores", at("products", q_with_k(q, k)) / math.sqrt(q.shape[-1]))
        weights = at("weights", masked_softmax(scores, mask))
        return at("output", at("weights_in_the_mix", weights) @ v), at("returned_weights", weights)

    return answer


def nan_kept(weights: Tensor, scores: Tensor, dead: Tensor) -> Tensor:
    return weights.masked_fill(dead, math.nan)


def nan_in_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The rule for blind rows kept in the output only."""
    out, weights = attention(q, k, v, mask)
    return out, nan_kept(weights, weights, ~mask.any(-1, keepdim=True))


def nan_in_output(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    out, weights = attention(q, k, v, mask)
    return nan_kept(out, out, ~mask.any(-1, keepdim=True)), weights


def mask_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    mask.logical_not_()
    return attention(q, k, v, ~mask)


def scaled_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    q.div_(math.sqrt(q.shape[-1]))
    return attention(q * math.sqrt(q.shape[-1]), k, v, mask)


MASKED_ATTENTION = Question(
    id="5.4",
    called="masked_attention",
    points=4,
    title="Masked attention",
    inputs=("q", "k", "v", "mask"),
    outputs=("out (..., n_q, d_v)", "weights (..., n_q, n_k)"),
    draw=draw_masked,
    reference=attention,
    variant=masked_variant,
    gradients=True,
    row_sums={"weights": 1.0},
    misconceptions=(
        *MASKS,
        *SCALES,
        *PRODUCTS,
        *GIVES,
        *slips(masked_in_steps, "rounded", products="your products q · k"),
        *slips(masked_in_steps, "rounded cut", scores="your scores"),
        *slips(masked_in_steps, "negated rounded", weights="your weights"),
        *slips(masked_in_steps, "cut", weights_in_the_mix="the weights, where they mix the values"),
        *slips(masked_in_steps, output="your output", returned_weights="the weights that you return"),
        Misconception(
            "scaled-by-d-v",
            "Your scores are divided by the root of d_v. Do the values take part in a score at all?",
            twin=lambda q, k, v, mask: masked_variant(scale=lambda *_: math.sqrt(v.shape[-1]))(q, k, v, mask),
        ),
        Misconception(
            "scale-after-softmax",
            "Your rows of weights sum to 1/√d_k. What should be on the right scale: what goes into the softmax, or "
            "what comes out?",
            twin=lambda q, k, v, mask: tuple(
                t / math.sqrt(q.shape[-1]) for t in masked_variant(scale=lambda *_: 1.0)(q, k, v, mask)
            ),
        ),
        Misconception(
            "keys-used-as-values",
            "Your output mixes the keys. A key is what a token is found by. What does it hand over?",
            knobs={"mix": lambda weights, q, k, v, mask: weights @ k},
        ),
        Misconception(
            "values-used-as-keys",
            "Your scores compare queries with values. By what is a token found, and what does it hand over?",
            twin=lambda q, k, v, mask: attention(q, v, v, mask),
        ),
        Misconception(
            "keys-and-values-swapped",
            "Your scores compare queries with values, and your output mixes keys. Which of k and v is which?",
            twin=lambda q, k, v, mask: attention(q, v, k, mask),
        ),
        Misconception(
            "output-of-unmasked-weights",
            "Your weights are right, but your output mixes in hidden values. Which weights made it?",
            twin=lambda q, k, v, mask: (attention(q, k, v)[0], attention(q, k, v, mask)[1]),
        ),
        Misconception(
            "only-the-values-are-hidden",
            "Hidden values are left out of your output, and your weights still count their keys. Does a hidden key "
            "take a share?",
            twin=lambda q, k, v, mask: ((attention(q, k, v)[1] * mask) @ v, attention(q, k, v)[1]),
        ),
        Misconception(
            "weights-transposed-in-the-mix",
            "Your output mixes by columns of the weights. Does a query's output come from its row, or from a column?",
            knobs={"mix": lambda weights, q, k, v, mask: weights.mT @ v},
        ),
        Misconception(
            "mask-transposed",
            "Your mask stands on its side, which runs only where it happens to be square. Do queries go down, or "
            "across?",
            knobs={"see": lambda mask, scores: mask.mT if mask.ndim > 1 else mask},
        ),
        Misconception(
            "nan-in-the-weights-of-a-blind-row",
            "Your output is right. In a row that sees nothing the weights are NaN. Both are asked to be zeros there.",
            twin=nan_in_weights,
        ),
        Misconception(
            "nan-in-the-output-of-a-blind-row",
            "Your weights are right. In a row that sees nothing the output is NaN. Which weights made it?",
            twin=nan_in_output,
        ),
        Misconception(
            "inputs-changed",
            "Your results are right, but the mask that you were handed is inverted afterwards. The next layer uses it "
            "too. Which operation writes in place?",
            twin=mask_in_place,
        ),
        Misconception(
            "inputs-changed",
            "Your results are right, but the queries that you were handed have changed. Which operation "
            "writes in place?",
            twin=scaled_in_place,
        ),
    ),
)

# ── 5.5 the module ────────────────────────────────────────────────────────────────────────────────


def as_given(query: Tensor, key: Tensor | None, value: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    key = query if key is None else key
    return query, key, key if value is None else value


def all_visible(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool)


def projected(module: Any, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return module.w_q(q), module.w_k(k), module.w_v(v)


# What often comes together with another mistake. All pairs of all ideas would take seconds.
OFTEN = (
    "no-scale",
    "scaled-by-d-k",
    "keys-not-transposed",
    "mask-inverted",
    "mask-ignored",
    "nan-on-a-blind-row",
    "softmax-over-queries",
)


def for_a_module(idea: Misconception) -> Misconception:
    """Make a mistake in `masked_attention` one in the module."""
    if idea.slug in OFTEN or not idea.knobs:
        return idea
    return replace(idea, twin=module_variant(**idea.knobs), knobs={})


def module_variant(
    sources: Callable[..., tuple[Tensor, Tensor, Tensor]] = as_given,
    project: Callable[..., tuple[Tensor, Tensor, Tensor]] = projected,
    split: Split = split_heads,
    merge: Merge = merge_heads,
    scale: Scale = by_root,
    product: Callable[[Tensor, Tensor], Tensor] = q_with_k,
    share: Apply = masked_softmax,
    see: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: mask,
    mix: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor] = mixed,
    finish: Callable[[Any, Tensor, Tensor], Tensor] = lambda module, merged, query: module.w_o(merged),
    give: Callable[[Tensor, Tensor, Tensor], Any] = lambda out, weights, scores: (out, weights),
    default: Callable[[Tensor], Tensor] = all_visible,
    split_each: tuple[bool, ...] = (True, True, True),
    unmasked: Callable[[Tensor], Tensor] | None = None,
) -> Callable[..., Any]:
    """Give an answer to 5.5 that goes wrong at some of its steps."""

    class Variant(nn.Module):
        def __init__(self, d_model: int, n_heads: int) -> None:
            super().__init__()
            self.n_heads = n_heads
            self.w_q, self.w_k, self.w_v, self.w_o = (Layer(d_model, d_model) for _ in range(4))

        def forward(
            self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None, mask: Tensor | None = None
        ) -> Any:
            three = project(self, *sources(query, key, value))
            q, k, v = (split(t, self.n_heads) if do else t for t, do in zip(three, split_each, strict=True))
            scores = product(q, k)
            scores = scores / scale(scores, q, k)
            seen = default(scores) if mask is None else see(mask, scores)
            weights = share(scores, seen) if mask is not None or unmasked is None else unmasked(scores)
            out = finish(self, merge(mix(weights, q, k, v, seen)), query)
            return give(out, weights, scores)

    return Variant


def module_in_steps(at: At) -> Callable[..., Any]:
    names = ("queries", "keys", "values")

    def sources(query: Tensor, key: Tensor | None, value: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        key = at("key_input", query if key is None else key)
        return query, key, at("value_input", key if value is None else value)

    def project(module: Any, *inputs: Tensor) -> Any:
        three = (at("queries_keys_and_values", t) for t in projected(module, *inputs))
        return tuple(at(name, t) for name, t in zip(names, three, strict=True))

    return module_variant(
        sources=sources,
        project=project,
        product=lambda q, k: at("products", q_with_k(q, k)),
        share=lambda scores, mask: at("weights", masked_softmax(at("scores", scores), mask)),
        mix=lambda weights, q, k, v, mask: at("weights_in_the_mix", weights) @ v,
        merge=lambda x: at("merged", merge_heads(x)),
        finish=lambda module, merged, query: at("output", module.w_o(merged)),
        give=lambda out, weights, scores: (out, at("returned_weights", weights)),
    )


def module_without(layer: str) -> type[nn.Module]:
    """Give the class in which one layer is not there."""

    class Without(MultiHeadAttention):
        def __init__(self, d_model: int, n_heads: int) -> None:
            super().__init__(d_model, n_heads)
            delattr(self, layer)

    return Without


class NoSuperInit(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        self.w_q = nn.Linear(d_model, d_model)


def over_keys(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def draw_modules(draw: Draw) -> list[Case]:
    def case(
        name: str,
        *given: str,
        over: str | None = None,
        blind: bool = False,
        loud: bool = False,
        dtype: torch.dtype = torch.float32,
        **fixed: int,
    ) -> Case:
        """Draw a module and its inputs; `given` names those that are handed over besides the query."""
        low = 2 if over is None else 3  # of two keys one would be hidden, and the other have a weight of 1
        s = draw.sizes("B", "H", "d_head", "n_q", "n_k", low=low, high=7, **fixed)
        d = s["H"] * s["d_head"]
        n_k = s["n_k"] if "key" in given else s["n_q"]
        x: dict[str, Tensor] = {
            "query": draw.normal(s["B"], s["n_q"], d, dtype=dtype),
            "key": draw.normal(s["B"], n_k, d, dtype=dtype),
            "value": draw.normal(s["B"], n_k, d, dtype=dtype),
        }
        if over is not None:
            mask = draw_mask(draw, (s["B"], s["H"]), s["n_q"], n_k, over)
            x["mask"] = with_blind_query(mask) if blind else mask
            if loud:  # what is hidden from every query has scores far above the others, or far below
                x["key"] = x["key"] * (1 + 99 * ~mask[:, 0, 0, :, None])
        handed = {name: value for name, value in x.items() if name in given or name == "query"}
        return Case((make(d, s["H"]), load(draw_layers(draw, d, dtype)), how(draw, handed)), name, {**s, "d_model": d})

    return [
        case("plain"),
        case("plain, masked", "mask", over="**qk"),
        case("cross-attention", "key"),
        case("cross-attention, masked", "key", "mask", over="**qk"),
        case("key and value of their own", "key", "value"),
        case("a value of its own", "value"),
        case("key, value and mask", "key", "value", "mask", over="**qk"),
        case("padding", "key", "mask", over="*11k"),
        case("padding full of large numbers", "key", "mask", over="*11k", loud=True, dtype=torch.float64),
        case("one mask for all", "key", "mask", over="qk"),
        case("one mask for each head", "mask", over="1*qk"),
        case("a query that sees nothing", "key", "mask", over="*1qk", blind=True),
        case("float64", "key", "mask", dtype=torch.float64, over="qk"),
        case("one head", "mask", H=1, over="qk"),
        case("one feature a head", "key", d_head=1),
        case("one example", "key", "mask", B=1, over="**qk"),
        case("one query", "key", n_q=1),
        case("one key", "key", n_k=1),
        case("as many heads as tokens", "mask", H=4, n_q=4, over="qk"),
    ]


def how(draw: Draw, handed: dict[str, Tensor]) -> Any:
    """Hand inputs over by name, or by position as far as they follow on each other."""
    names = list(handed)
    follow = next((i for i, name in enumerate(names) if ("query", "key", "value", "mask")[i] != name), len(names))
    by_position = names[: draw.whole(1, follow)]
    return call(*(handed[n] for n in by_position), **{n: handed[n] for n in names if n not in by_position})


def with_blind_query(mask: Tensor) -> Tensor:
    mask = mask.clone()
    mask[..., mask.shape[-2] // 2, :] = False
    return mask


def draw_layers(draw: Draw, d_model: int, dtype: torch.dtype) -> dict[str, Tensor]:
    """Draw four layers that keep unit variance."""
    layers = {}
    for name in ("w_q", "w_k", "w_v", "w_o"):
        layers[f"{name}.weight"] = draw.normal(d_model, d_model, dtype=dtype, scale=d_model**-0.5)
        layers[f"{name}.bias"] = draw.normal(d_model, dtype=dtype, scale=0.5)
    return layers


def swapped(one: int, other: int) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Project with two of the three layers exchanged."""

    def project(module: Any, *inputs: Tensor) -> Any:
        layers = [module.w_q, module.w_k, module.w_v]
        layers[one], layers[other] = layers[other], layers[one]
        return tuple(layer(x) for layer, x in zip(layers, inputs, strict=True))

    return project


def without(*skipped: int) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Leave some of the three projections out."""

    def project(module: Any, *inputs: Tensor) -> Any:
        layers = (module.w_q, module.w_k, module.w_v)
        return tuple(x if i in skipped else layers[i](x) for i, x in enumerate(inputs))

    return project


def one_layer(which: int) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Use one layer for two of the three."""

    def project(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Any:
        layer = (module.w_q, module.w_k, module.w_v)[which]
        return (layer(q), layer(k), module.w_v(v)) if which < 2 else (module.w_q(q), layer(k), layer(v))

    return project


def keys_for_values(module: Any, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return module.w_q(q), module.w_v(v), module.w_k(k)


def transposed_layers(module: Any, *inputs: Tensor) -> Any:
    layers = (module.w_q, module.w_k, module.w_v)
    return tuple(x @ layer.weight + layer.bias for layer, x in zip(layers, inputs, strict=True))


def bias_forgotten(module: Any, *inputs: Tensor) -> Any:
    layers = (module.w_q, module.w_k, module.w_v)
    return tuple(x @ layer.weight.mT for layer, x in zip(layers, inputs, strict=True))


def by_model_width(scores: Tensor, q: Tensor, k: Tensor) -> float:
    return math.sqrt(q.shape[-1] * q.shape[1])


MULTI_HEAD = Question(
    id="5.5",
    points=6,
    title="Multi-head attention",
    inputs=("query", "key", "value", "mask"),
    outputs=("out (B, n_q, d_model)", "weights (B, H, n_q, n_k)"),
    draw=draw_modules,
    reference=MultiHeadAttention,
    variant=module_variant,
    quotes={"d_k": lambda seen: seen["d_head"]},
    gradients=True,
    row_sums={"weights": 1.0},
    misconceptions=(
        *(Misconception(slug, says, knobs={"split": split}) for slug, says, split in SPLITS),
        *(
            Misconception("heads-merged-by-reshape" if slug == "features-dealt-out" else slug, says, knobs={"merge": m})
            for slug, says, m in MERGES
        ),
        Misconception(
            "heads-split-and-merged-by-reshape",
            "Heads are made by `reshape` alone, and undone by it. The round trip is right and every shape is right. "
            "Nudge the last token: which outputs move?",
            knobs={"split": reshape_in, "merge": reshape_out},
        ),
        Misconception(
            "features-dealt-out",
            "Features are dealt out to the heads like cards, and gathered the same way. Which features belong to head "
            "h: every H-th, or a slice?",
            knobs={"split": dealt_out, "merge": lambda x: x.permute(0, 2, 3, 1).flatten(2)},
        ),
        Misconception(
            "output-not-projected",
            "Your weights are right, and the merged heads came back as they are. Which layer mixes what the heads "
            "found?",
            knobs={"finish": lambda module, merged, query: merged},
        ),
        Misconception(
            "output-projected-twice",
            "Your weights are right, and the output went through w_o twice. How often should it?",
            knobs={"finish": lambda module, merged, query: module.w_o(module.w_o(merged))},
        ),
        Misconception(
            "input-added",
            "Your output is right plus the query: a residual connection. It stands outside this module. Was it asked "
            "for?",
            knobs={"finish": lambda module, merged, query: module.w_o(merged) + query},
        ),
        Misconception(
            "scaled-by-model-width",
            lambda seen: (
                f"Your scores are divided by √{seen['d_model']}, the root of d_model. A score sums the products of one "
                "head. How many are there?"
            ),
            knobs={"scale": by_model_width},
        ),
        Misconception(
            "scaled-by-number-of-heads",
            "Your scores are divided by the root of the number of heads. How many products does one score sum?",
            knobs={"scale": lambda scores, q, k: math.sqrt(q.shape[1])},
        ),
        Misconception(
            "no-scale",
            "Your scores are q · k as it is. Each head is an attention of its own. What did chapter 3 divide by, and "
            "how wide is a head?",
            knobs={"scale": lambda scores, q, k: 1.0},
        ),
        *(
            for_a_module(way)
            for idea in SCALES
            for way in idea.ways()
            if idea.slug
            not in (
                *("no-scale", "scaled-by-first-axis", "axis-counted-from-the-front", "root-rounded"),
                "scaled-by-a-leading-axis",  # the heads, here
            )
        ),
        *(for_a_module(way) for idea in PRODUCTS for way in idea.ways() if "axes" not in idea.slug),
        *(for_a_module(idea) for idea in MASKS if idea.slug != "axis-counted-from-the-front"),
        Misconception(
            "softmax-over-the-batch",
            "Your softmax runs along axis 0, and shares weights out among examples. Along which axis do the keys lie?",
            twin=module_variant(share=lambda scores, mask: filled(scores, mask).softmax(0).masked_fill(~mask, 0.0)),
        ),
        Misconception(
            "causal-though-not-asked",
            "Without a mask your weights are zero to the right of the diagonal. What may a token see when no mask is "
            "given?",
            knobs={"default": lambda scores: causal_mask(*scores.shape[-2:])},
        ),
        Misconception(
            "key-and-value-ignored",
            "Your keys and values always come from the query. In cross-attention, who is asked?",
            knobs={"sources": lambda query, key, value: (query, query, query)},
        ),
        Misconception(
            "key-ignored",
            "A key that is handed over has no effect: your keys always come from the query. In cross-attention, who "
            "is asked?",
            knobs={"sources": lambda query, key, value: (query, query, query if value is None else value)},
        ),
        Misconception(
            "value-ignored",
            "Your values always come from the key. What if a value of its own is handed over?",
            knobs={
                "sources": lambda query, key, value: (
                    query,
                    query if key is None else key,
                    query if key is None else key,
                )
            },
        ),
        Misconception(
            "value-defaults-to-query",
            "Without a value, yours takes the query's rows. In cross-attention there is one value for each key. "
            "From where should it come?",
            knobs={
                "sources": lambda query, key, value: (
                    query,
                    query if key is None else key,
                    query if value is None else value,
                )
            },
        ),
        Misconception(
            "key-defaults-to-value",
            "Without a key, yours takes the value's rows for keys. To what does the key default?",
            knobs={
                "sources": lambda query, key, value: (
                    query,
                    (query if value is None else value) if key is None else key,
                    value if value is not None else (query if key is None else key),
                )
            },
        ),
        Misconception(
            "query-and-key-inputs-swapped",
            "Queries are made from the key, and keys from the query. Who asks in cross-attention, and who is asked?",
            knobs={
                "sources": lambda query, key, value: (
                    (as_given(query, key, value)[1], query, query) if value is None else (key, query, query)
                )
            },
        ),
        Misconception(
            "projections-swapped",
            "Queries go through w_k, and keys through w_q. Which layer is whose?",
            knobs={"project": swapped(0, 1)},
        ),
        Misconception(
            "projections-swapped",
            "Keys go through w_v, and values through w_k. Which layer is whose?",
            knobs={"project": swapped(1, 2)},
        ),
        Misconception(
            "projections-swapped",
            "Queries go through w_v, and values through w_q. Which layer is whose?",
            knobs={"project": swapped(0, 2)},
        ),
        Misconception(
            "not-projected",
            "Nothing is projected on the way in: raw features are sliced. Each head is then deaf to most of them. "
            "Which layers come first?",
            knobs={"project": without(0, 1, 2)},
        ),
        Misconception(
            "not-projected",
            "Your values are not projected. Which layer makes values of the input?",
            knobs={"project": without(2)},
        ),
        Misconception(
            "not-projected",
            "Your keys are not projected. Which layer makes keys of the input?",
            knobs={"project": without(1)},
        ),
        Misconception(
            "not-projected",
            "Your queries are not projected. Which layer makes queries of the input?",
            knobs={"project": without(0)},
        ),
        Misconception(
            "one-layer-for-two",
            "Queries and keys go through the same layer, w_q. How many projections are there?",
            knobs={"project": one_layer(0)},
        ),
        Misconception(
            "one-layer-for-two",
            "Queries and keys go through the same layer, w_k. How many projections are there?",
            knobs={"project": one_layer(1)},
        ),
        Misconception(
            "one-layer-for-two",
            "Keys and values go through the same layer, w_v. How many projections are there?",
            knobs={"project": one_layer(2)},
        ),
        Misconception(
            "keys-used-as-values",
            "Keys and values are one: your output mixes what w_k made. Which layer makes what a token hands over?",
            knobs={"mix": lambda weights, q, k, v, mask: weights @ k},
        ),
        Misconception(
            "keys-and-values-swapped",
            "Your scores compare queries with values, and your output mixes keys. By which is a token found?",
            knobs={"project": keys_for_values},
        ),
        Misconception(
            "layer-transposed",
            "You multiply by `weight` itself. nn.Linear stores it as (out, in). What does calling the layer do?",
            knobs={"project": transposed_layers},
        ),
        Misconception(
            "bias-forgotten",
            "Your layers have a bias, and the projections leave it out. What does calling the layer do?",
            knobs={"project": bias_forgotten},
        ),
        Misconception(
            "weights-averaged-over-heads",
            "Your output is right. The weights are averaged over heads, as nn.MultiheadAttention does. "
            "Which axes are asked for?",
            knobs={"give": lambda out, weights, scores: (out, weights.mean(1))},
        ),
        Misconception(
            "one-head-s-weights",
            "Your output is right. The weights are those of head 0 only. Which axes are asked for?",
            knobs={"give": lambda out, weights, scores: (out, weights[:, 0])},
        ),
        *map(for_a_module, GIVES),
        *slips(module_in_steps, "rounded", products="your products q · k"),
        *slips(
            module_in_steps,
            "rounded cut",
            scores="your scores",
            queries="your queries",
            keys="your keys",
            queries_keys_and_values="your queries, keys and values",
            merged="what the heads found",
        ),
        *slips(
            module_in_steps,
            key_input="the key, or the query that stands for it",
            value_input="the value, or what stands for it",
            values="your values",
            output="your output",
            returned_weights="the weights that you return",
        ),
        *slips(module_in_steps, "negated rounded", weights="your weights"),
        *slips(module_in_steps, "cut", weights_in_the_mix="the weights, where they mix the values"),
        *(
            Misconception(
                "layer-missing",
                f"There is no layer called {layer}. Which four does the question ask for, under which names?",
                twin=module_without(layer),
            )
            for layer in ("w_q", "w_k", "w_v", "w_o")
        ),
        Misconception(
            "no-super-init",
            "nn.Module was not set up before a layer was put into it. Which call stands first in `__init__`?",
            twin=NoSuperInit,
        ),
        *(
            Misconception(
                "one-of-three-not-split",
                f"Your {name} are not split into heads, and the other two are. Which axis do heads stand on?",
                twin=module_variant(split_each=tuple(i != j for j in range(3))),
            )
            for i, name in enumerate(("queries", "keys", "values"))
        ),
        Misconception(
            "queries-and-values-exchanged",
            "Your queries and values change places when attention is called. In which order does it take q, k and v?",
            twin=module_variant(project=lambda module, q, k, v: projected(module, q, k, v)[::-1]),
        ),
        Misconception(
            "axes-turned-only",
            "Heads and tokens change places again, and heads and features never become one axis. What joins them?",
            twin=module_variant(merge=lambda x: x.transpose(1, 2)),
        ),
        Misconception(
            "heads-not-merged",
            "The heads went into w_o as they are, four axes and all. How wide does w_o want its input?",
            twin=module_variant(merge=lambda x: x),
        ),
        *(
            Misconception(
                "too-many-axes-merged",
                "More than two axes became one before w_o. Which two belong together?",
                twin=module_variant(merge=flat_from(start)),
            )
            for start in (0, 1)
        ),
        Misconception(
            "other-axes-merged",
            "Features and tokens became one axis, heads aside. Which two belong together?",
            twin=module_variant(merge=lambda x: x.transpose(1, 3).flatten(2)),
        ),
        *(
            Misconception(
                "other-axes-turned",
                "Two axes change places after the split, and not those of tokens and heads. Which two should?",
                twin=module_variant(split=cut_and_turned(a, b)),
            )
            for a, b in ((-1, -2), (-3, -1), (0, 1))
        ),
        *(
            Misconception(
                "another-axis-cut",
                f"You cut {what} into heads. Which axis holds the features?",
                twin=module_variant(split=cut_along(axis)),
            )
            for what, axis in (("the tokens", -2), ("the examples", -3))
        ),
        *(
            Misconception(
                "sizes-of-the-cut",
                "The two sizes that features are cut into do not make d_model. How many heads are there, and how many "
                "features has one?",
                twin=module_variant(split=cut_into(size, sign)),
            )
            for size, sign in ((0, 1), (1, 1), (-2, 1), (-1, -1))
        ),
        Misconception(
            "not-cut-into-heads",
            "Your axes change places, and no axis was cut in two before. How do three axes become four?",
            twin=module_variant(split=lambda x, h: x.transpose(-3, -2)),
        ),
        *(
            Misconception(
                "right-without-a-mask-only",
                f"Right without a mask. With one, {what}. Where does the mask act?",
                twin=module_variant(share=share, unmasked=over_keys),
            )
            for what, share in (
                ("your weights are the scores", lambda scores, mask: scores),
                ("your softmax runs over the queries", softmax_over(-2)),
            )
        ),
        *(
            Misconception(
                "right-with-a-mask-only",
                f"Right with a mask. Without one, {what}. Which softmax should there be then?",
                twin=module_variant(unmasked=unmasked),
            )
            for what, unmasked in (
                ("your weights are the scores", lambda scores: scores),
                ("your softmax runs over the queries", lambda scores: scores.softmax(-2)),
                ("your softmax runs over the heads", lambda scores: scores.softmax(-3)),
            )
        ),
    ),
)

QUESTIONS = (SPLIT_HEADS, MERGE_HEADS, CAUSAL_MASK, MASKED_ATTENTION, MULTI_HEAD)
