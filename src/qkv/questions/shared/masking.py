"""Masks that are used wrongly. A way of sharing is made of scores and a mask, True = may attend."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Draw, Misconception, by_knob
from qkv.softmax import masked_softmax

Share = Callable[[Tensor, Tensor], Tensor]  # of scores and mask: the weights


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
    """Hide every key from one query, in each table of the mask."""
    mask = mask.clone()
    mask[..., mask.shape[-2] // 2, :] = False
    return mask


def filled(scores: Tensor, mask: Tensor, hidden: float = -math.inf) -> Tensor:
    return scores.masked_fill(~mask, hidden)


def softmax_along(dim: int) -> Share:
    return lambda scores, mask: filled(scores, mask).softmax(dim).masked_fill(~mask, 0.0)


def over_everything(scores: Tensor, mask: Tensor) -> Tensor:
    return filled(scores, mask).flatten(-2).softmax(-1).view_as(scores).nan_to_num()


def blind_rows_cleared(share: Share) -> Share:
    """Let a wrong way of sharing keep the rule for rows that see nothing."""
    return lambda scores, mask: share(scores, mask).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def blind_rows_filled(other: Callable[[Tensor], Tensor]) -> Share:
    """Share rightly, but for rows that see nothing."""
    return lambda scores, mask: torch.where(mask.any(-1, keepdim=True), masked_softmax(scores, mask), other(scores))


def shared_again(scores: Tensor, mask: Tensor) -> Tensor:
    left = scores.softmax(-1) * mask
    return left / left.sum(-1, keepdim=True)


def shared_again_where_enough_is_left(scores: Tensor, mask: Tensor) -> Tensor:
    left = scores.softmax(-1) * mask
    return left / left.sum(-1, keepdim=True).clamp(min=1e-9)


def unmasked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1)


def zeros_hidden(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(-1)


shared_by = by_knob("share")

MASKS = (
    Misconception(
        "mask-inverted",
        knob_sets=(
            {"see": lambda mask, scores: ~mask},
            {"share": lambda scores, mask: filled(scores, ~mask).softmax(-1).masked_fill(~mask, 0.0)},
            {"share": lambda scores, mask: filled(scores, mask).softmax(-1).masked_fill(mask, 0.0)},
        ),
    ),
    shared_by("mask-ignored", unmasked, blind_rows_cleared(unmasked)),
    shared_by("zero-for-minus-infinity", zeros_hidden, blind_rows_cleared(zeros_hidden)),
    shared_by("mask-added-as-a-number", lambda scores, mask: (scores + mask.to(scores.dtype)).softmax(-1)),
    shared_by("minus-one-for-minus-infinity", lambda scores, mask: filled(scores, mask, -1.0).softmax(-1)),
    shared_by("plus-infinity", lambda scores, mask: filled(scores, mask, math.inf).softmax(-1) * mask, alone=True),
    shared_by(
        "mask-after-softmax",
        lambda scores, mask: scores.softmax(-1) * mask,
        lambda scores, mask: filled(scores.softmax(-1), mask),
        lambda scores, mask: masked_softmax(scores.softmax(-1), mask),
        shared_again,
        blind_rows_cleared(shared_again),
        lambda scores, mask: shared_again(scores, mask).nan_to_num(),
        shared_again_where_enough_is_left,
    ),
    shared_by("nan-on-a-blind-row", lambda scores, mask: filled(scores, mask).softmax(-1)),
    shared_by("even-shares-on-a-blind-row", blind_rows_filled(lambda s: torch.full_like(s, 1 / s.shape[-1]))),
    shared_by("unmasked-on-a-blind-row", blind_rows_filled(lambda scores: scores.softmax(-1))),
    shared_by(
        "softmax-over-queries",
        lambda scores, mask: filled(scores, mask).softmax(-2).nan_to_num() * mask,
        softmax_along(-2),
    ),
    shared_by("softmax-over-heads", softmax_along(-3), alone=True),
    shared_by("softmax-over-first-axis", softmax_along(0), alone=True),
    shared_by("softmax-axis-from-the-front", softmax_along(1), alone=True),
    shared_by("softmax-over-everything", over_everything),
    shared_by("no-softmax", lambda scores, mask: scores, lambda scores, mask: scores * mask),
    shared_by("not-normalised", lambda scores, mask: scores.exp() * mask),
    shared_by("sigmoid", lambda scores, mask: scores.sigmoid() * mask),
    shared_by("all-keys-alike", lambda scores, mask: masked_softmax(torch.zeros_like(scores), mask)),
    shared_by("only-the-best-key", lambda scores, mask: masked_softmax(scores * 1e4, mask)),
    shared_by("scores-negated", lambda scores, mask: masked_softmax(-scores, mask)),
    shared_by(
        "arguments-of-masked-fill",
        lambda scores, mask: scores.softmax(-1).masked_fill(0.0, ~mask),
        lambda scores, mask: scores.masked_fill(-math.inf, ~mask),
        alone=True,
    ),
    Misconception(
        "first-row-of-the-mask-for-all", knobs={"see": lambda mask, scores: mask[..., :1, :] if mask.ndim > 1 else mask}
    ),
    Misconception("causal-mask-instead", knobs={"see": lambda mask, scores: causal_mask(*scores.shape[-2:])}),
    Misconception(
        "weights-of-all-keys-returned", knobs={"give": lambda out, weights, scores: (out, scores.softmax(-1))}
    ),
)
