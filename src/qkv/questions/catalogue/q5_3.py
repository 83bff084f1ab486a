"""5.3: the causal mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, call


def draw_length(draw: Draw) -> list[Case]:
    n = draw.whole(5, 9)
    return [
        Case(call(n), "plain", {"n": n}),
        Case(call(n + draw.whole(2, 9)), "plain"),
        Case(call(1), "n = 1"),
        Case(call(2), "n = 2"),
        Case(call(draw.whole(30, 70)), "a long sequence"),
    ]


def all_true(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool)


QUESTION = Question(
    id="5.3",
    points=2,
    inputs=("n",),
    outputs=("mask (n, n)",),
    draw=draw_length,
    reference=causal_mask,
    misconceptions=(
        Misconception("mask-inverted", twin=lambda n: ~causal_mask(n)),
        Misconception("minus-for-not", twin=lambda n: -causal_mask(n)),
        Misconception("mask-transposed", twin=lambda n: causal_mask(n).mT),
        Misconception("cannot-see-itself", twin=lambda n: all_true(n).tril(-1)),
        Misconception("sees-one-ahead", twin=lambda n: all_true(n).tril(1)),
        Misconception("only-itself", twin=lambda n: torch.eye(n, dtype=torch.bool)),
        Misconception("everything-visible", twin=all_true),
        Misconception("nothing-visible", twin=lambda n: ~all_true(n)),
        Misconception("mask-mirrored", twins=(lambda n: causal_mask(n).flip(0), lambda n: causal_mask(n).flip(1))),
        Misconception(
            "additive-mask",
            twins=(
                lambda n: torch.full((n, n), -math.inf).triu(1),
                lambda n: torch.full((n, n), -1e9).triu(1),
            ),
        ),
        Misconception(
            "numbers-for-truth-values",
            twins=(lambda n: torch.ones(n, n).tril(), lambda n: torch.ones(n, n, dtype=torch.int64).tril()),
        ),
        Misconception("extra-axes", twins=(lambda n: causal_mask(n)[None], lambda n: causal_mask(n)[None, None])),
        Misconception("one-row-only", twin=lambda n: torch.ones(n, dtype=torch.bool)),
        Misconception("size-off-by-one", twins=(lambda n: causal_mask(n + 1), lambda n: causal_mask(n - 1))),
    ),
)
