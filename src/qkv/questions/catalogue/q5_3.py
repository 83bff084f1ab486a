"""5.3: the causal mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Case, Draw, Question, call, mistake


def draw_length(draw: Draw) -> list[Case]:
    """Draw cases with lengths from 1 to 70."""
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
    points=2,
    inputs=("n",),
    outputs=("mask (n, n)",),
    draw=draw_length,
    reference=causal_mask,
    misconceptions=(
        mistake("mask-inverted", lambda n: ~causal_mask(n)),
        mistake("minus-for-not", lambda n: -causal_mask(n)),
        mistake("mask-transposed", lambda n: causal_mask(n).mT),
        mistake("cannot-see-itself", lambda n: all_true(n).tril(-1)),
        mistake("sees-one-ahead", lambda n: all_true(n).tril(1)),
        mistake("only-itself", lambda n: torch.eye(n, dtype=torch.bool)),
        mistake("everything-visible", all_true),
        mistake("nothing-visible", lambda n: ~all_true(n)),
        mistake("mask-mirrored", lambda n: causal_mask(n).flip(0), lambda n: causal_mask(n).flip(1)),
        mistake(
            "additive-mask", lambda n: torch.full((n, n), -math.inf).triu(1), lambda n: torch.full((n, n), -1e9).triu(1)
        ),
        mistake(
            "numbers-for-truth-values",
            lambda n: torch.ones(n, n).tril(),
            lambda n: torch.ones(n, n, dtype=torch.int64).tril(),
        ),
        mistake("extra-axes", lambda n: causal_mask(n)[None], lambda n: causal_mask(n)[None, None]),
        mistake("one-row-only", lambda n: torch.ones(n, dtype=torch.bool)),
        mistake("size-off-by-one", lambda n: causal_mask(n + 1), lambda n: causal_mask(n - 1)),
    ),
)
