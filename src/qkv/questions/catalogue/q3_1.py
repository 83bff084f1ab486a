"""3.1: scaled scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from torch import Tensor

from qkv.attention import scaled_scores
from qkv.questions.engine import Case, Draw, Question, by_knob, mistake
from qkv.questions.shared.products import ALREADY_WEIGHTS, PRODUCTS, Product, dot_products, query_key_case
from qkv.questions.shared.scales import NON_SQUARES, SCALES, Scale, root_of_d_k


def draw_pairs(draw: Draw) -> list[Case]:
    """Draw queries and keys, in several sizes."""
    case, same = partial(query_key_case, draw), draw.choose(NON_SQUARES)
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("d_k = 1", d_k=1),
        case("as many keys as features", n_k=same, d_k=same),
    ]


def score_variant(
    scale: Scale = root_of_d_k,
    product: Product = dot_products,
    after: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Callable[..., Tensor]:
    """Return an answer(q, k); by default it is right.

    The arguments replace the product and the scale, or change the scores afterwards.
    """

    def variant(q: Tensor, k: Tensor) -> Tensor:
        scores = product(q, k)
        return after(scores / scale(scores, q, k))

    return variant


def cosine(q: Tensor, k: Tensor) -> Tensor:
    return dot_products(q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True))


QUESTION = Question(
    points=3,
    inputs=("q", "k"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_pairs,
    reference=scaled_scores,
    variant=score_variant,
    gradients=True,
    misconceptions=(
        *SCALES,
        *PRODUCTS,
        by_knob("product")(
            "cosine-similarity", lambda q, k: cosine(q, k) * math.sqrt(q.shape[-1]), cosine
        ),  # not scaled, and scaled
        ALREADY_WEIGHTS,
        mistake("only-the-scale-returned", lambda q, k: math.sqrt(q.shape[-1])),
    ),
)
