"""2.2: scores."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import attention_scores
from qkv.questions.engine import Misconception, Question, by_knob, mistake
from qkv.questions.shared.masking import filled
from qkv.questions.shared.products import PRODUCTS, Product, draw_pairs, multiplied, q_with_k

After = Callable[[Tensor, Tensor, Tensor], Tensor]  # of the scores, q and k


def scores_variant(product: Product = q_with_k, after: After = lambda scores, q, k: scores) -> Callable[..., Tensor]:
    """Give an answer that compares in another way, or changes the scores afterwards."""

    def variant(q: Tensor, k: Tensor) -> Tensor:
        return after(product(q, k), q, k)

    return variant


def lengths(rows: Tensor) -> Tensor:
    return rows.norm(dim=-1, keepdim=True)


changed = by_knob("after")

QUESTION = Question(
    points=3,
    inputs=("q", "k"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_pairs,
    reference=attention_scores,
    variant=scores_variant,
    gradients=True,
    misconceptions=(
        *PRODUCTS,
        multiplied("distance", torch.cdist, lambda q, k: -torch.cdist(q, k)),
        multiplied("squared-distance", lambda q, k: -(torch.cdist(q, k) ** 2), lambda q, k: torch.cdist(q, k) ** 2),
        multiplied("not-summed", lambda q, k: q[..., :, None, :] * k[..., None, :, :]),
        Misconception(
            "only-matching-places",
            knob_sets=(
                {"product": lambda q, k: (q * k).sum(-1)},
                {"after": lambda scores, q, k: scores * torch.eye(*scores.shape[-2:], dtype=scores.dtype)},
            ),
        ),
        changed("scaled-already", lambda scores, q, k: scores / math.sqrt(q.shape[-1])),
        changed("averaged-over-features", lambda scores, q, k: scores / q.shape[-1]),
        changed("scale-multiplied", lambda scores, q, k: scores * math.sqrt(q.shape[-1])),
        changed("cosine-similarity", lambda scores, q, k: scores / (lengths(q) @ lengths(k).mT)),
        changed(
            "divided-by-a-length", lambda scores, q, k: scores / lengths(k).mT, lambda scores, q, k: scores / lengths(q)
        ),
        changed(
            "softmax-already-applied",
            lambda scores, q, k: scores.softmax(-1),
            lambda scores, q, k: scores.softmax(-2),
            lambda scores, q, k: (scores / math.sqrt(q.shape[-1])).softmax(-1),
        ),
        changed("exponential-already-applied", lambda scores, q, k: scores.exp()),
        changed("scores-rounded", lambda scores, q, k: scores.round()),
        changed(
            "masked-though-not-asked",
            lambda scores, q, k: filled(scores, torch.ones_like(scores).tril() > 0),
            lambda scores, q, k: scores.tril(),
        ),
        changed("summed-over-everything", lambda scores, q, k: scores.sum((-2, -1))),
        changed("summed-over-keys", lambda scores, q, k: scores.sum(-1)),
        mistake("last-feature-left-out", lambda q, k: q_with_k(q[..., :-1], k[..., :-1])),
    ),
)
