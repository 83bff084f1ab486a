"""10.2: linear attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention
from qkv.cheaper import linear_attention
from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.questions.shared.features import FEATURES, MISUSED, Features, as_it_is, mapped

Total = Callable[[Tensor, Tensor], Tensor]  # of the features of q and of k: what each row is divided by, (..., n, 1)
Product = Callable[[Tensor, Tensor], Tensor]  # of the features of k and values: what a query's features are taken to


def draw_texts(draw: Draw) -> list[Case]:
    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        features: Any = None,
        most: int | None = None,
        **fixed: int,
    ) -> Case:
        s = draw.sizes("n", "d", "d_v", **fixed)
        q, k = (draw.normal(*leading, s["n"], s["d"], dtype=dtype) for _ in range(2))
        v = draw.normal(*leading, s["n"], s["d_v"], dtype=dtype)
        features = draw.choose(FEATURES) if features is None else features
        return Case(call(q, k, v, features()), name, s, most=most)

    long, same = draw.whole(230, 260), draw.choose((5, 6))
    return [
        *draw.situations(case),
        *(case("one feature map and another", features=features) for features in FEATURES),
        case("all sizes equal", n=same, d=same, d_v=same),
        case("one token", n=1),
        # Keys times values, token by token, are 2 · 2d · d_v numbers each: fewer than n.
        case("a long text", leading=(2,), n=long, d=draw.choose((4, 5)), d_v=6, most=long * long - 1),
    ]


def by_rows(asked: Tensor, offered: Tensor) -> Tensor:
    return asked @ offered.sum(-2).unsqueeze(-1)


def keys_times_values(offered: Tensor, v: Tensor) -> Tensor:
    return offered.mT @ v


def linear_variant(
    ask: Features = mapped,
    offer: Features = mapped,
    hand_over: Features = as_it_is,
    total: Total = by_rows,
    product: Product = keys_times_values,
) -> Callable[..., Any]:
    """Give an answer that goes wrong at some of its steps."""

    def variant(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Any:
        asked, offered, v = ask(feature_map, q), offer(feature_map, k), hand_over(feature_map, v)
        return asked @ product(offered, v) / total(asked, offered)

    return variant


def scores_first(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    scores = feature_map(q) @ feature_map(k).mT
    return scores / scores.sum(-1, keepdim=True) @ v


def one_example_after_another(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    if q.ndim == 2:
        return scores_first(q, k, v, feature_map)
    return torch.stack([one_example_after_another(*one, feature_map) for one in zip(q, k, v, strict=True)])


def of_the_scores(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    scores = feature_map(q @ k.mT)
    return scores / scores.sum(-1, keepdim=True) @ v


def causal(q: Tensor, k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]) -> Tensor:
    scores = (feature_map(q) @ feature_map(k).mT).tril()
    return scores / scores.sum(-1, keepdim=True) @ v


def reversed_axes(offered: Tensor, v: Tensor) -> Tensor:
    return offered.permute(*reversed(range(offered.ndim))) @ v  # .T


def over_the_first_axis(asked: Tensor, offered: Tensor) -> Tensor:
    return asked @ offered.sum(0).unsqueeze(-1)


totals = by_knob("total")

QUESTION = Question(
    points=4,
    inputs=("q", "k", "v", "feature_map"),
    outputs=("out (..., n, d_v)",),
    draw=draw_texts,
    reference=linear_attention,
    variant=linear_variant,
    gradients=True,
    misconceptions=(
        mistake("scores-first", scores_first, one_example_after_another),
        *MISUSED,
        mistake("features-twice", lambda q, k, v, features: linear_attention(features(q), features(k), v, features)),
        mistake(
            "scaled-inside-the-features",
            lambda q, k, v, features: linear_attention(q / q.shape[-1] ** 0.5, k, v, features),
            lambda q, k, v, features: linear_attention(q, k / k.shape[-1] ** 0.5, v, features),
            lambda q, k, v, features: linear_attention(q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25, v, features),
        ),
        totals("not-divided", lambda asked, offered: torch.ones_like(asked[..., :1])),
        totals("divided-by-the-number-of-tokens", lambda asked, offered: offered.shape[-2] + 0 * asked[..., :1]),
        totals("query-not-in-the-sum", lambda asked, offered: offered.sum((-2, -1)).unsqueeze(-1).unsqueeze(-1)),
        totals("keys-not-in-the-sum", lambda asked, offered: asked.sum(-1, keepdim=True)),
        totals("one-sum-for-all-rows", lambda asked, offered: by_rows(asked, offered).sum(-2, keepdim=True)),
        mistake(
            "axes-counted-from-the-front",
            linear_variant(product=reversed_axes),
            linear_variant(product=reversed_axes, total=over_the_first_axis),
            linear_variant(product=reversed_axes, total=lambda asked, k: (asked @ k.sum(0)).unsqueeze(-1)),
            linear_variant(total=over_the_first_axis),
            linear_variant(total=lambda asked, k: (asked @ k.sum(0)).unsqueeze(-1)),
            linear_variant(total=lambda asked, k: (asked * k.sum(0)).sum(-1, keepdim=True)),
            linear_variant(product=lambda k, v: k.transpose(0, 1) @ v),
            linear_variant(product=lambda k, v: k.transpose(0, 1) @ v, total=over_the_first_axis),
        ),
        mistake(
            "axes-of-a-batch-alone",
            linear_variant(product=lambda k, v: k.transpose(1, 2) @ v),
            linear_variant(total=lambda asked, k: asked @ k.sum(1).unsqueeze(-1)),
            linear_variant(
                product=lambda k, v: k.transpose(1, 2) @ v,
                total=lambda asked, k: asked @ k.sum(1).unsqueeze(-1),
            ),
            linear_variant(total=lambda asked, k: (asked * k.sum(1, keepdim=True)).sum(-1, keepdim=True)),
        ),
        mistake("query-and-key-swapped", lambda q, k, v, features: linear_attention(k, q, v, features)),
        mistake("keys-used-as-values", lambda q, k, v, features: linear_attention(q, k, k, features)),
        mistake("keys-compared-with-keys", lambda q, k, v, features: linear_attention(k, k, v, features)),
        mistake("features-of-the-scores", of_the_scores),
        mistake(
            "softmax-attention",
            lambda q, k, v, features: attention(q, k, v)[0],
            lambda q, k, v, features: (q @ k.mT).softmax(-1) @ v,
            lambda q, k, v, features: attention(features(q), features(k), v)[0],
        ),
        mistake("causal-though-not-asked", causal),
    ),
)
