"""3.1: scores that are scaled."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import scaled_scores
from qkv.questions.engine import Case, Draw, Misconception, Question, call, mistake
from qkv.questions.shared.products import ALREADY_WEIGHTS, PRODUCTS, Product, q_with_k
from qkv.questions.shared.scales import EXACT, ROOTLESS, SCALES, Scale, by_root


def draw_q_and_k(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d_k = EXACT if dtype == torch.float64 else draw.choose(ROOTLESS)
        sizes = draw.sizes("n_q", "n_k", "d_k", **{"d_k": d_k} | fixed)
        q = draw.normal(*leading, sizes["n_q"], sizes["d_k"], dtype=dtype)
        k = draw.normal(*leading, sizes["n_k"], sizes["d_k"], dtype=dtype)
        return Case(call(q, k), name, sizes)

    same = draw.choose(ROOTLESS)
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
    draw=draw_q_and_k,
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
