"""9.4: how far a head looks at the previous token."""

from __future__ import annotations

import torch
from torch import Tensor

from qkv.interpretability import previous_token_score
from qkv.questions.engine import Case, Draw, Question, call, mistake


def draw_maps(draw: Draw) -> list[Case]:
    """Draw square maps of weights for texts of several lengths."""

    def case(name: str, n: int, dtype: torch.dtype = torch.float32) -> Case:
        return Case(call((2 * draw.normal(n, n, dtype=dtype)).softmax(-1)), name, {"n": n})

    return [
        case("plain", draw.whole(5, 8)),
        case("plain", draw.whole(5, 8)),
        case("float64", 6, torch.float64),
        case("two tokens", 2),
        case("a long text", draw.whole(30, 50)),
    ]


def later_rows(weights: Tensor) -> Tensor:
    return weights.diagonal(-1)


def share_of_rows(weights: Tensor) -> Tensor:
    return (weights[1:].argmax(-1) == torch.arange(len(weights) - 1)).to(weights.dtype).mean()


QUESTION = Question(
    points=2,
    inputs=("weights",),
    outputs=("score",),
    draw=draw_maps,
    reference=previous_token_score,
    misconceptions=(
        mistake("next-token", lambda weights: weights.diagonal(1).mean()),
        mistake("itself", lambda weights: weights.diagonal().mean(), lambda weights: weights.diagonal()[1:].mean()),
        mistake("two-back", lambda weights: torch.cat([weights.diagonal(-2), weights.new_zeros(1)]).mean()),
        mistake("divided-by-all-tokens", lambda weights: later_rows(weights).sum() / len(weights)),
        mistake("summed", lambda weights: later_rows(weights).sum()),
        mistake(
            "first-row-counted",
            lambda weights: torch.cat([weights[0, :1], later_rows(weights)]).mean(),
        ),
        mistake("all-earlier-tokens", lambda weights: weights.tril(-1).sum(-1)[1:].mean()),
        mistake("largest", lambda weights: later_rows(weights).max()),
        mistake("first-row-wraps-around", lambda weights: weights.roll(1, dims=-1).diagonal().mean()),
        mistake(
            "share-of-rows", lambda weights: (weights[1:].argmax(-1) == torch.arange(len(weights) - 1)).float().mean()
        ),
        mistake("one-number-for-each-row", later_rows),
    ),
)
