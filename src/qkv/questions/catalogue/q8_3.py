"""8.3: the loss of the next token."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.transformer import next_token_loss

Pairs = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # of logits and ids: guesses and their targets
Surprise = Callable[[Tensor, Tensor], Tensor]  # of guesses and targets: a number for each pair
Average = Callable[[Tensor], Any]  # of those numbers (B, m): the loss


def draw_texts(draw: Draw) -> list[Case]:
    def case(name: str, dtype: torch.dtype = torch.float32, offset: float = 0.0, **fixed: int) -> Case:
        s = draw.sizes("B", "n", low=3, high=7, **fixed)
        s |= draw.sizes("vocab", low=8, high=12)  # never n − 1: classes on a wrong axis would fit there
        logits = draw.normal(s["B"], s["n"], s["vocab"], dtype=dtype, scale=1.5) + offset
        ids = draw.ids(s["B"], s["n"], below=s["vocab"])
        return Case(call(logits, ids), name, s, tolerance=1e-3 if offset else None)

    return [
        case("plain"),
        case("plain"),
        case("float64", torch.float64),
        case("one example", B=1),
        case("two tokens", n=2),
        case("logits that are all large", offset=1000.0),
    ]


def shifted(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    return logits[:, :-1], ids[:, 1:]


def surprise(guesses: Tensor, targets: Tensor) -> Tensor:
    return -picked(guesses.log_softmax(-1), targets)


def picked(table: Tensor, targets: Tensor) -> Tensor:
    """Take each target's entry of the last axis."""
    return table.gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def loss_variant(
    pairs: Pairs = shifted, measure: Surprise = surprise, average: Average = torch.mean
) -> Callable[..., Any]:
    """Give an answer that pairs guesses with targets, measures, or averages in another way."""

    def variant(logits: Tensor, ids: Tensor) -> Any:
        return average(measure(*pairs(logits, ids)))

    return variant


def end_to_end(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Lay the examples end to end, and only then shift, so that they run into each other."""
    return logits.flatten(0, 1)[:-1], ids.flatten()[1:]


def squared_error(guesses: Tensor, targets: Tensor) -> Tensor:
    wanted = F.one_hot(targets, guesses.shape[-1]).to(guesses.dtype)
    return (guesses.softmax(-1) - wanted).square().sum(-1)


paired = by_knob("pairs")
measured = by_knob("measure")
averaged = by_knob("average")

QUESTION = Question(
    points=3,
    inputs=("logits", "ids"),
    outputs=("loss",),
    draw=draw_texts,
    reference=next_token_loss,
    variant=loss_variant,
    gradients=True,
    misconceptions=(
        paired("not-shifted", lambda logits, ids: (logits, ids)),
        paired("shifted-the-wrong-way", lambda logits, ids: (logits[:, 1:], ids[:, :-1])),
        paired("last-position-kept", lambda logits, ids: (logits, ids.roll(-1, 1))),
        paired("first-position-kept", lambda logits, ids: (logits, ids.roll(1, 1))),
        paired("not-shifted-and-cut", lambda logits, ids: (logits[:, :-1], ids[:, :-1])),
        paired("first-token-left-out", lambda logits, ids: (logits[:, 1:], ids[:, 1:])),
        paired("examples-run-together", end_to_end),
        paired("shifted-over-examples", lambda logits, ids: (logits[:-1], ids[1:])),
        measured("no-softmax", lambda guesses, targets: -picked(guesses, targets)),
        measured("probability-for-surprise", lambda guesses, targets: -picked(guesses.softmax(-1), targets)),
        measured("softmax-twice", lambda guesses, targets: surprise(guesses.softmax(-1), targets)),
        measured("sign-forgotten", lambda guesses, targets: -surprise(guesses, targets)),
        measured("loss-in-bits", lambda guesses, targets: surprise(guesses, targets) / math.log(2)),
        measured("softmax-over-tokens", lambda guesses, targets: -picked(guesses.log_softmax(1), targets)),
        measured(
            "no-maximum-subtracted", lambda guesses, targets: guesses.exp().sum(-1).log() - picked(guesses, targets)
        ),
        measured("squared-error", squared_error),
        averaged("loss-summed", torch.sum),
        averaged("summed-along-one-axis", lambda losses: losses.sum(-1).mean(), lambda losses: losses.sum(0).mean()),
        averaged("not-averaged", lambda losses: losses),
        averaged("one-loss-an-example", lambda losses: losses.mean(-1)),
        averaged("perplexity", lambda losses: losses.mean().exp()),
        mistake("divided-by-all-positions", lambda logits, ids: surprise(*shifted(logits, ids)).sum() / ids.numel()),
    ),
)
