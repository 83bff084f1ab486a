"""8.3: the loss of the next token."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.transformer import next_token_loss

Pairing = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # (logits, ids) -> logits and their targets
Surprise = Callable[[Tensor, Tensor], Tensor]  # (logits, targets) -> a loss for each pair, (B, m)
Average = Callable[[Tensor], Any]  # (those losses) -> one loss


def draw_texts(draw: Draw) -> list[Case]:
    """Draw logits and ids; one case has logits so large that their exponentials overflow."""

    def case(name: str, dtype: torch.dtype = torch.float32, offset: float = 0.0, **fixed: int) -> Case:
        s = draw.sizes("B", "n", low=3, high=7, **fixed)
        s |= draw.sizes("vocab", low=8, high=12)  # never n − 1, so that classes on a wrong axis do not fit
        logits = draw.normal(s["B"], s["n"], s["vocab"], dtype=dtype, scale=1.5) + offset
        ids = draw.ids(s["B"], s["n"], below=s["vocab"])
        ids[0, 1] = 0  # an id like any other
        return Case(call(logits, ids), name, s, tolerance=1e-3 if offset else None)

    return [
        case("plain"),
        case("plain"),
        case("float64", torch.float64),
        case("one example", B=1),
        case("two tokens", n=2),
        case("logits that are all large", offset=1000.0),
    ]


def shift(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    return logits[:, :-1], ids[:, 1:]


def surprise(logits: Tensor, targets: Tensor) -> Tensor:
    return -of_targets(logits.log_softmax(-1), targets)


def of_targets(table: Tensor, targets: Tensor) -> Tensor:
    """Return, along the last axis, the entry of each target."""
    return table.gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def loss_variant(
    pairing: Pairing = shift, measure: Surprise = surprise, average: Average = torch.mean
) -> Callable[..., Any]:
    """Return an answer(logits, ids); by default it is right.

    The arguments replace the pairing with targets, the loss of a pair, and the average.
    """

    def variant(logits: Tensor, ids: Tensor) -> Any:
        return average(measure(*pairing(logits, ids)))

    return variant


def examples_run_together(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate the examples before the shift, so that the end of one example predicts the start of the next."""
    return logits.flatten(0, 1)[:-1], ids.flatten()[1:]


def squared_error(logits: Tensor, targets: Tensor) -> Tensor:
    wanted = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return (logits.softmax(-1) - wanted).square().sum(-1)


def id_zero_left_out(logits: Tensor, ids: Tensor) -> Tensor:
    guesses, targets = shift(logits, ids)
    return F.cross_entropy(guesses.transpose(1, 2), targets, ignore_index=0)


def softmax_over_all_tokens(logits: Tensor, ids: Tensor) -> Tensor:
    """Share a weight of 1 among all positions of a text, and shift afterwards."""
    return -of_targets(*shift(logits.log_softmax(1), ids)).mean()


def smoothed(share: float) -> Callable[..., Tensor]:
    """Return an answer(logits, ids): the right loss, but with this share of label smoothing."""

    def loss(logits: Tensor, ids: Tensor) -> Tensor:
        guesses, targets = shift(logits, ids)
        return F.cross_entropy(guesses.transpose(1, 2), targets, label_smoothing=share)

    return loss


paired = by_knob("pairing")
scored_by = by_knob("measure")
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
        paired("examples-run-together", examples_run_together),
        paired("shifted-over-examples", lambda logits, ids: (logits[:-1], ids[1:])),
        scored_by("no-softmax", lambda logits, targets: -of_targets(logits, targets)),
        scored_by("probability-for-surprise", lambda logits, targets: -of_targets(logits.softmax(-1), targets)),
        scored_by("softmax-twice", lambda logits, targets: surprise(logits.softmax(-1), targets)),
        scored_by("sign-forgotten", lambda logits, targets: -surprise(logits, targets)),
        scored_by("loss-in-bits", lambda logits, targets: surprise(logits, targets) / math.log(2)),
        Misconception(
            "softmax-over-tokens",
            twins=(softmax_over_all_tokens,),
            knobs={"measure": lambda logits, targets: -of_targets(logits.log_softmax(1), targets)},
        ),
        scored_by(
            "no-maximum-subtracted", lambda logits, targets: logits.exp().sum(-1).log() - of_targets(logits, targets)
        ),
        scored_by("squared-error", squared_error),
        averaged("loss-summed", torch.sum),
        averaged("summed-along-one-axis", lambda losses: losses.sum(-1).mean(), lambda losses: losses.sum(0).mean()),
        averaged("not-averaged", lambda losses: losses),
        averaged("one-loss-an-example", lambda losses: losses.mean(-1)),
        mistake("id-zero-left-out", id_zero_left_out),
        mistake("label-smoothing", smoothed(0.1), smoothed(0.05), smoothed(0.2)),
        averaged("perplexity", lambda losses: losses.mean().exp()),
        mistake("divided-by-all-positions", lambda logits, ids: surprise(*shift(logits, ids)).sum() / ids.numel()),
    ),
)
