"""Wrong uses of a mask, where True = may attend. A *blind row* of a mask is False throughout: it sees no key."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Draw, Misconception, by_knob
from qkv.softmax import masked_softmax

Weigh = Callable[[Tensor, Tensor], Tensor]  # (scores, mask) -> weights


def draw_mask(draw: Draw, leading: tuple[int, ...], n_q: int, n_k: int, over: str) -> Tensor:
    """Draw a mask. `over` has one letter for each axis: q or k, * for a leading axis, 1 for an axis that broadcasts.

    With more than one key, each row has visible and hidden keys. With one key, it is visible everywhere.
    """
    sizes = {"1": 1, "q": n_q, "k": n_k}
    shape = [leading[i] if axis == "*" else sizes[axis] for i, axis in enumerate(over)]
    if n_k == 1:
        return torch.ones(shape, dtype=torch.bool)
    order = torch.rand(shape, generator=draw.generator).argsort(-1)  # a permutation in each row
    fewest = min(max(2, n_k // 3), n_k - 1)  # with one visible key, the weight is 1 whatever its score is
    return order < draw.whole(fewest, max(fewest, 2 * n_k // 3))


def with_blind_row(mask: Tensor) -> Tensor:
    """Return a copy of a mask in which one row, the middle one of each table, hides every key."""
    mask = mask.clone()
    mask[..., mask.shape[-2] // 2, :] = False
    return mask


def mask_scores(scores: Tensor, mask: Tensor, hidden: float = -math.inf) -> Tensor:
    return scores.masked_fill(~mask, hidden)


def softmax_along(dim: int) -> Weigh:
    return lambda scores, mask: mask_scores(scores, mask).softmax(dim).masked_fill(~mask, 0.0)


def softmax_over_everything(scores: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scores, mask).flatten(-2).softmax(-1).view_as(scores).nan_to_num()


def zero_on_blind_rows(weigh: Weigh) -> Weigh:
    """Return a wrong way to weigh, changed so that blind rows have zero weights, as is right."""
    return lambda scores, mask: weigh(scores, mask).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def wrong_on_blind_rows(other: Callable[[Tensor], Tensor]) -> Weigh:
    """Return a masked softmax that is right, except that blind rows get the weights `other(scores)`."""
    return lambda scores, mask: torch.where(mask.any(-1, keepdim=True), masked_softmax(scores, mask), other(scores))


def renormalised_after_masking(scores: Tensor, mask: Tensor) -> Tensor:
    left = scores.softmax(-1) * mask
    return left / left.sum(-1, keepdim=True)


def renormalised_with_a_floor(scores: Tensor, mask: Tensor) -> Tensor:
    left = scores.softmax(-1) * mask
    return left / left.sum(-1, keepdim=True).clamp(min=1e-9)


def mask_ignored(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1)


def hidden_scores_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * mask).softmax(-1)


weighed = by_knob("weigh")

MASKS = (
    Misconception(
        "mask-inverted",
        knob_sets=(
            {"change_mask": lambda mask, scores: ~mask},
            {"weigh": lambda scores, mask: mask_scores(scores, ~mask).softmax(-1).masked_fill(~mask, 0.0)},
            {"weigh": lambda scores, mask: mask_scores(scores, mask).softmax(-1).masked_fill(mask, 0.0)},
        ),
    ),
    weighed("mask-ignored", mask_ignored, zero_on_blind_rows(mask_ignored)),
    weighed("zero-for-minus-infinity", hidden_scores_zero, zero_on_blind_rows(hidden_scores_zero)),
    weighed("mask-added-as-a-number", lambda scores, mask: (scores + mask.to(scores.dtype)).softmax(-1)),
    weighed("minus-one-for-minus-infinity", lambda scores, mask: mask_scores(scores, mask, -1.0).softmax(-1)),
    weighed("plus-infinity", lambda scores, mask: mask_scores(scores, mask, math.inf).softmax(-1) * mask, alone=True),
    weighed(
        "mask-after-softmax",
        lambda scores, mask: scores.softmax(-1) * mask,
        lambda scores, mask: mask_scores(scores.softmax(-1), mask),
        lambda scores, mask: masked_softmax(scores.softmax(-1), mask),
        renormalised_after_masking,
        zero_on_blind_rows(renormalised_after_masking),
        lambda scores, mask: renormalised_after_masking(scores, mask).nan_to_num(),
        renormalised_with_a_floor,
    ),
    weighed("nan-on-a-blind-row", lambda scores, mask: mask_scores(scores, mask).softmax(-1)),
    weighed("even-shares-on-a-blind-row", wrong_on_blind_rows(lambda s: torch.full_like(s, 1 / s.shape[-1]))),
    weighed("unmasked-on-a-blind-row", wrong_on_blind_rows(lambda scores: scores.softmax(-1))),
    weighed(
        "softmax-over-queries",
        lambda scores, mask: mask_scores(scores, mask).softmax(-2).nan_to_num() * mask,
        softmax_along(-2),
    ),
    weighed("softmax-over-heads", softmax_along(-3), alone=True),
    weighed("softmax-over-first-axis", softmax_along(0), alone=True),
    weighed("softmax-axis-from-the-front", softmax_along(1), alone=True),
    weighed("softmax-over-everything", softmax_over_everything),
    weighed("no-softmax", lambda scores, mask: scores, lambda scores, mask: scores * mask),
    weighed("not-normalised", lambda scores, mask: scores.exp() * mask),
    weighed("sigmoid", lambda scores, mask: scores.sigmoid() * mask),
    weighed("all-keys-alike", lambda scores, mask: masked_softmax(torch.zeros_like(scores), mask)),
    weighed("only-the-best-key", lambda scores, mask: masked_softmax(scores * 1e4, mask)),
    weighed("scores-negated", lambda scores, mask: masked_softmax(-scores, mask)),
    weighed(
        "arguments-of-masked-fill",
        lambda scores, mask: scores.softmax(-1).masked_fill(0.0, ~mask),
        lambda scores, mask: scores.masked_fill(-math.inf, ~mask),
        alone=True,
    ),
    Misconception(
        "first-row-of-the-mask-for-all",
        knobs={"change_mask": lambda mask, scores: mask[..., :1, :] if mask.ndim > 1 else mask},
    ),
    Misconception("causal-mask-instead", knobs={"change_mask": lambda mask, scores: causal_mask(*scores.shape[-2:])}),
    Misconception(
        "weights-of-all-keys-returned", knobs={"result": lambda out, weights, scores: (out, scores.softmax(-1))}
    ),
)
