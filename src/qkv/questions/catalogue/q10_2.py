"""10.2: linear attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention
from qkv.efficient import linear_attention
from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.questions.shared.features import FEATURES, MAP_MISUSES, SMALL, ApplyMap, apply_map, skip_map

Total = Callable[[Tensor, Tensor], Tensor]  # (φ(q), φ(k)) -> the divisor of each row, (..., n, 1)
Product = Callable[[Tensor, Tensor], Tensor]  # (φ(k), v) -> the matrix that φ(q) is multiplied by, (..., features, d_v)


def draw_texts(draw: Draw) -> list[Case]:
    """Draw queries, keys, values and a feature map; a long text limits the size of tensors."""

    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        features: Any = None,
        max_elements: int | None = None,
        **fixed: int,
    ) -> Case:
        s = draw.sizes("n", "d", "d_v", **fixed)
        q, k = (draw.normal(*leading, s["n"], s["d"], dtype=dtype) for _ in range(2))
        v = draw.normal(*leading, s["n"], s["d_v"], dtype=dtype)
        features = draw.choose(FEATURES) if features is None else features
        return Case(call(q, k, v, features()), name, s, max_elements=max_elements)

    long, same = draw.whole(230, 260), draw.choose((5, 6))
    return [
        *draw.situations(case),
        *(case("one feature map and another", features=features) for features in FEATURES),
        case("all sizes equal", n=same, d=same, d_v=same),
        case("one token", n=1),
        # The products are so small here that a number added below the line shows.
        case("small features", features=SMALL, dtype=torch.float64),
        # To form φ(k) v for each token is right too: 2 · n · 2d · d_v numbers are fewer than n².
        case("a long text", leading=(2,), n=long, d=draw.choose((4, 5)), d_v=6, max_elements=long * long - 1),
    ]


def row_sums(phi_q: Tensor, phi_k: Tensor) -> Tensor:
    return phi_q @ phi_k.sum(-2).unsqueeze(-1)


def keys_times_values(phi_k: Tensor, v: Tensor) -> Tensor:
    return phi_k.mT @ v


def linear_variant(
    map_q: ApplyMap = apply_map,
    map_k: ApplyMap = apply_map,
    map_v: ApplyMap = skip_map,
    total: Total = row_sums,
    product: Product = keys_times_values,
) -> Callable[..., Any]:
    """Return an answer(q, k, v, feature_map); each argument replaces one of its steps, and by default it is right."""

    def variant(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Any:
        phi_q, phi_k, v = map_q(feature_map, q), map_k(feature_map, k), map_v(feature_map, v)
        return phi_q @ product(phi_k, v) / total(phi_q, phi_k)

    return variant


def scores_first(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    scores = feature_map(q) @ feature_map(k).mT
    return scores / scores.sum(-1, keepdim=True) @ v


def scores_first_in_a_loop(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    if q.ndim == 2:
        return scores_first(q, k, v, feature_map)
    return torch.stack([scores_first_in_a_loop(*one, feature_map) for one in zip(q, k, v, strict=True)])


def features_of_the_scores(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    scores = feature_map(q @ k.mT)
    return scores / scores.sum(-1, keepdim=True) @ v


def causal_though_not_asked(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    scores = (feature_map(q) @ feature_map(k).mT).tril()
    return scores / scores.sum(-1, keepdim=True) @ v


def efficient_attention(power: float) -> Callable[..., Tensor]:
    """Return an answer with softmaxes in place of the map: of a query's features, and of each feature over the tokens.

    Queries are divided by d to this power, after their softmax.
    """

    def answer(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
        return q.softmax(-1) / q.shape[-1] ** power @ (k.softmax(-2).mT @ v)

    return answer


def reversed_axes(phi_k: Tensor, v: Tensor) -> Tensor:
    return phi_k.permute(*reversed(range(phi_k.ndim))) @ v  # .T


def summed_over_the_first_axis(phi_q: Tensor, phi_k: Tensor) -> Tensor:
    return phi_q @ phi_k.sum(0).unsqueeze(-1)


divided_by = by_knob("total")

QUESTION = Question(
    points=4,
    inputs=("q", "k", "v", "feature_map"),
    outputs=("out (..., n, d_v)",),
    draw=draw_texts,
    reference=linear_attention,
    variant=linear_variant,
    gradients=True,
    misconceptions=(
        mistake("scores-first", scores_first, scores_first_in_a_loop),
        *MAP_MISUSES,
        mistake("features-twice", lambda q, k, v, features: linear_attention(features(q), features(k), v, features)),
        mistake(
            "scaled-inside-the-features",
            lambda q, k, v, features: linear_attention(q / q.shape[-1] ** 0.5, k, v, features),
            lambda q, k, v, features: linear_attention(q, k / k.shape[-1] ** 0.5, v, features),
            lambda q, k, v, features: linear_attention(q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25, v, features),
        ),
        divided_by("not-divided", lambda phi_q, phi_k: torch.ones_like(phi_q[..., :1])),
        divided_by(
            "small-number-below-the-line",
            *(lambda phi_q, phi_k, eps=eps: row_sums(phi_q, phi_k) + eps for eps in (1e-6, 1e-8, 1e-5)),
            lambda phi_q, phi_k: row_sums(phi_q, phi_k).clamp(min=1e-6),
        ),
        divided_by("divided-by-the-number-of-tokens", lambda phi_q, phi_k: phi_k.shape[-2] + 0 * phi_q[..., :1]),
        divided_by("query-not-in-the-sum", lambda phi_q, phi_k: phi_k.sum((-2, -1)).unsqueeze(-1).unsqueeze(-1)),
        divided_by(
            "summed-over-features", lambda phi_q, phi_k: (phi_q * phi_k.sum(-1, keepdim=True)).sum(-1, keepdim=True)
        ),
        divided_by("keys-not-in-the-sum", lambda phi_q, phi_k: phi_q.sum(-1, keepdim=True)),
        divided_by("one-sum-for-all-rows", lambda phi_q, phi_k: row_sums(phi_q, phi_k).sum(-2, keepdim=True)),
        mistake(
            "axes-counted-from-the-front",
            linear_variant(product=reversed_axes),
            linear_variant(product=reversed_axes, total=summed_over_the_first_axis),
            linear_variant(product=reversed_axes, total=lambda phi_q, k: (phi_q @ k.sum(0)).unsqueeze(-1)),
            linear_variant(total=summed_over_the_first_axis),
            linear_variant(total=lambda phi_q, k: (phi_q @ k.sum(0)).unsqueeze(-1)),
            linear_variant(total=lambda phi_q, k: (phi_q * k.sum(0)).sum(-1, keepdim=True)),
            linear_variant(product=lambda k, v: k.transpose(0, 1) @ v),
            linear_variant(product=lambda k, v: k.transpose(0, 1) @ v, total=summed_over_the_first_axis),
        ),
        mistake(
            "axes-of-a-batch-alone",
            linear_variant(product=lambda k, v: k.transpose(1, 2) @ v),
            linear_variant(total=lambda phi_q, k: phi_q @ k.sum(1).unsqueeze(-1)),
            linear_variant(
                product=lambda k, v: k.transpose(1, 2) @ v,
                total=lambda phi_q, k: phi_q @ k.sum(1).unsqueeze(-1),
            ),
            linear_variant(total=lambda phi_q, k: (phi_q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)),
        ),
        mistake("query-and-key-swapped", lambda q, k, v, features: linear_attention(k, q, v, features)),
        mistake("keys-used-as-values", lambda q, k, v, features: linear_attention(q, k, k, features)),
        mistake("keys-compared-with-keys", lambda q, k, v, features: linear_attention(k, k, v, features)),
        mistake("features-of-the-scores", features_of_the_scores),
        mistake(
            "softmax-attention",
            lambda q, k, v, features: attention(q, k, v)[0],
            lambda q, k, v, features: (q @ k.mT).softmax(-1) @ v,
            lambda q, k, v, features: attention(features(q), features(k), v)[0],
        ),
        mistake("softmaxes-for-features", *map(efficient_attention, (0.0, 0.5))),
        mistake("causal-though-not-asked", causal_though_not_asked),
    ),
)
