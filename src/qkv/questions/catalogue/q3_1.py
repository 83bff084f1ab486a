"""3.1: scores that are scaled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from torch import Tensor

from qkv.attention import scaled_scores
from qkv.questions.engine import Case, Draw, Misconception, Question, mistake
from qkv.questions.shared.products import ALREADY_WEIGHTS, PRODUCTS, Product, pair, q_with_k
from qkv.questions.shared.scales import ROOTLESS, SCALES, Scale, by_root


def draw_pairs(draw: Draw) -> list[Case]:
    case, same = partial(pair, draw), draw.choose(ROOTLESS)
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("d_k = 1", d_k=1),
        case("as many keys as features", n_k=same, d_k=same),
    ]


def scores_variant(
    scale: Scale = by_root,
    product: Product = q_with_k,
    after: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Callable[..., Tensor]:
    """Give an answer that multiplies, scales, or changes the result afterwards."""

    def variant(q: Tensor, k: Tensor) -> Tensor:
        scores = product(q, k)
        return after(scores / scale(scores, q, k))

    return variant


def cosine(q: Tensor, k: Tensor) -> Tensor:
    return q_with_k(q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True)) * math.sqrt(q.shape[-1])


QUESTION = Question(
    points=3,
    inputs=("q", "k"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_pairs,
    reference=scaled_scores,
    variant=scores_variant,
    gradients=True,
    misconceptions=(
        *SCALES,
        *PRODUCTS,
        Misconception("cosine-similarity", knobs={"product": cosine}),
        ALREADY_WEIGHTS,
        mistake("only-the-scale-returned", lambda q, k: math.sqrt(q.shape[-1])),
    ),
)
