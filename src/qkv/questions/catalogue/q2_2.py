"""2.2: scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from qkv.attention import attention_scores
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, mistake
from qkv.questions.shared.masking import mask_scores
from qkv.questions.shared.products import PRODUCTS, Product, dot_products, multiplied, query_key_case
from qkv.questions.shared.scales import NON_SQUARES

After = Callable[[Tensor, Tensor, Tensor], Tensor]  # (scores, q, k) -> result


def draw_pairs(draw: Draw) -> list[Case]:
    """Draw queries and keys, in several sizes."""
    case, same = partial(query_key_case, draw), draw.choose(NON_SQUARES)
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("one query", n_q=1),
        case("one key", n_k=1),
        case("d_k = 1", d_k=1),
        case("as many queries as keys", n_q=same, n_k=same, d_k=11),
        case("as many keys as features", n_k=same, d_k=same),
        case("all sizes equal", n_q=same, n_k=same, d_k=same),
    ]


def score_variant(product: Product = dot_products, after: After = lambda scores, q, k: scores) -> Callable[..., Tensor]:
    """Return an answer(q, k) that computes scores by `product`, and then changes them by `after`.

    By default it is right.
    """

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
    variant=score_variant,
    gradients=True,
    misconceptions=(
        *PRODUCTS,
        multiplied("distance", torch.cdist, lambda q, k: -torch.cdist(q, k)),
        multiplied("squared-distance", lambda q, k: -(torch.cdist(q, k) ** 2), lambda q, k: torch.cdist(q, k) ** 2),
        multiplied("sums-multiplied", lambda q, k: q.sum(-1)[..., :, None] * k.sum(-1)[..., None, :]),
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
            lambda scores, q, k: mask_scores(scores, torch.ones_like(scores).tril() > 0),
            lambda scores, q, k: scores.tril(),
        ),
        changed("summed-over-everything", lambda scores, q, k: scores.sum((-2, -1))),
        changed("summed-over-keys", lambda scores, q, k: scores.sum(-1)),
        mistake("last-feature-left-out", lambda q, k: dot_products(q[..., :-1], k[..., :-1])),
    ),
)
