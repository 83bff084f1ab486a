"""6.5: positions in a padded batch."""

from __future__ import annotations

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, call, mistake


def token_positions(mask: Tensor) -> Tensor:
    """Number the real tokens of each text from 0; padding gets 0.

    Shapes:
        mask (B, n) bool, True = a real token
    Returns:
        (B, n) int64
    """
    return (mask.cumsum(dim=-1) - 1).masked_fill(~mask, 0)


def draw_masks(draw: Draw) -> list[Case]:
    """Draw masks of texts that are padded on the left or on the right."""

    def case(name: str, lengths: list[int], side: str) -> Case:
        lengths_column, n = torch.tensor(lengths)[:, None], max(lengths)
        places = torch.arange(n)
        mask = places >= n - lengths_column if side == "left" else places < lengths_column
        return Case(call(mask), name, {"B": len(lengths), "n": n})

    def some() -> list[int]:
        longest = draw.whole(6, 9)
        return [longest - draw.whole(2, 4), longest, draw.whole(1, 2)]

    return [
        case("plain", some(), "left"),
        case("plain", some(), "left"),
        case("padding on the right", some(), "right"),
        case("one text", [draw.whole(4, 7)], "left"),
        case("texts of one length", [4, 4], "left"),
        case("a text of one token", [1, 5], "left"),
    ]


def counted_from_one(mask: Tensor) -> Tensor:
    return mask.cumsum(dim=-1).masked_fill(~mask, 0)


def places_from_the_first(mask: Tensor) -> Tensor:
    """Number the places from the first real token: padding before it is below 0, padding behind it counts on."""
    return torch.arange(mask.shape[-1]) - mask.int().argmax(-1, keepdim=True)


def moved_by_the_padding(mask: Tensor) -> Tensor:
    """Move each row to the left by all of its padding, as if it always stood on the left."""
    return (torch.arange(mask.shape[-1]) - (~mask).sum(-1, keepdim=True)).clamp(min=0)


QUESTION = Question(
    points=2,
    inputs=("mask",),
    outputs=("positions (B, n)",),
    draw=draw_masks,
    reference=token_positions,
    misconceptions=(
        mistake("padding-counted", lambda mask: torch.arange(mask.shape[-1]).expand(mask.shape)),
        mistake(
            "padding-counted-for-tokens",
            lambda mask: torch.arange(mask.shape[-1]).expand(mask.shape).masked_fill(~mask, 0),
        ),
        mistake("counted-from-one", counted_from_one),
        mistake("padding-is-minus-one", lambda mask: (mask.cumsum(-1) - 1).masked_fill(~mask, -1)),
        mistake("padding-is-one", lambda mask: (mask.cumsum(-1) - 1).masked_fill(~mask, 1)),
        mistake(
            "padding-not-reset",
            lambda mask: (mask.cumsum(-1) - 1).clamp(min=0),
            lambda mask: places_from_the_first(mask).clamp(min=0),
        ),
        mistake("padding-below-zero", lambda mask: mask.cumsum(-1) - 1, places_from_the_first),
        mistake(
            "padding-taken-for-left",
            moved_by_the_padding,
            lambda mask: moved_by_the_padding(mask).masked_fill(~mask, 0),
        ),
        mistake("padding-numbered", lambda mask: (~mask).cumsum(-1)),
        mistake("tokens-reset", lambda mask: (mask.cumsum(-1) - 1).masked_fill(mask, 0)),
        mistake("counted-from-the-end", lambda mask: (mask.flip(-1).cumsum(-1).flip(-1) - 1).masked_fill(~mask, 0)),
        mistake("counted-down-the-batch", lambda mask: (mask.cumsum(0) - 1).masked_fill(~mask, 0)),
        mistake("count-runs-on", lambda mask: (mask.flatten().cumsum(0).view(mask.shape) - 1).masked_fill(~mask, 0)),
        mistake("mask-returned", lambda mask: mask.long()),
        mistake("numbers-of-another-dtype", lambda mask: token_positions(mask).float()),
    ),
)
