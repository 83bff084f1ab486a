"""7.5: grouped-query attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from qkv.attention import causal_mask, grouped_query_attention
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, by_knob, call, mistake
from qkv.questions.shared.attending import first_row_sum
from qkv.questions.shared.masking import MASKS, Weigh, mask_scores
from qkv.questions.shared.products import PRODUCTS, Product, dot_products, multiplied
from qkv.questions.shared.scales import SCALES, SCALES_OF_HEADS, SQUARE, Scale, root_of_d_k
from qkv.words import t

Repeat = Callable[[Tensor, int], Tensor]  # (keys or values (B, H_kv, n, d), H) -> one for each query head


def draw_groups(draw: Draw) -> list[Case]:
    """Draw queries, and keys and values of fewer heads."""

    def case(name: str, heads: tuple[int, int], dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d = SQUARE if dtype == torch.float64 else draw.choose((5, 7, 10, 11))
        n_heads, n_kv_heads = heads
        s = {"H": n_heads, "H_kv": n_kv_heads, "B": draw.choose([b for b in (1, 2, 3) if b != n_kv_heads])}
        s |= draw.sizes("n", "d", **{"H": n_heads, "d": d} | fixed)
        q = draw.normal(s["B"], n_heads, s["n"], s["d"], dtype=dtype)
        k, v = (draw.normal(s["B"], n_kv_heads, s["n"], s["d"], dtype=dtype) for _ in range(2))
        return Case(call(q, k, v), name, s)

    return [
        case("plain", (6, 2), B=3),
        case("plain", draw.choose(((6, 3), (8, 2), (9, 3), (8, 4)))),
        case("float64", (6, 2), torch.float64),
        case("one KV head for all", (draw.choose((3, 5)), 1)),
        case("as many KV heads as query heads", (draw.choose((3, 4)),) * 2),
        case("groups as many as their members", (4, 2)),
        case("one head", (1, 1)),
        case("n = 1", (6, 2), n=1),
        case("one example", (6, 3), B=1),
        case("as many tokens as features", (6, 3), n=7, d=7),
        case("as many tokens as heads", (6, 2), n=6),
        case("d = 1", (6, 2), d=1),
    ]


def repeat_for_groups(t: Tensor, n_heads: int) -> Tensor:
    return t.repeat_interleave(n_heads // t.shape[1], dim=1)


def kv_heads_tiled(t: Tensor, n_heads: int) -> Tensor:
    return t.repeat(1, n_heads // t.shape[1], 1, 1)


def head_by_head(t: Tensor, numbers: Iterable[int]) -> Tensor:
    """Stack the KV heads with these numbers, as a loop in an answer does, so that an error has the same text."""
    return torch.stack([t[:, h] for h in numbers], dim=1)


def causal_mask_of(scores: Tensor) -> Tensor:
    return causal_mask(*scores.shape[-2:])


def softmax_with_mask(scores: Tensor, mask: Tensor) -> Tensor:
    return mask_scores(scores, mask).softmax(dim=-1)


def grouped_variant(
    keys: Repeat = repeat_for_groups,
    values: Repeat = repeat_for_groups,
    product: Product = dot_products,
    scale: Scale = root_of_d_k,
    change_mask: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: mask,
    weigh: Weigh = softmax_with_mask,
    mix: Callable[[Tensor, Tensor], Tensor] = lambda weights, v: weights @ v,
    result: Callable[[Tensor, Tensor, int], Any] = lambda out, weights, n_kv_heads: out,
) -> Callable[..., Any]:
    """Return an answer(q, k, v); each argument replaces one step of grouped-query attention. By default it is right.

    `keys` and `values` repeat the KV heads for the query heads, `weigh` makes weights of scores and mask, and `result`
    is what is returned.
    """

    def variant(q: Tensor, k: Tensor, v: Tensor) -> Any:
        n_heads, n_kv_heads = q.shape[1], k.shape[1]
        scores = product(q, keys(k, n_heads))
        scores = scores / scale(scores, q, k)
        weights = weigh(scores, change_mask(causal_mask_of(scores), scores))
        return result(mix(weights, values(v, n_heads)), weights, n_kv_heads)

    return variant


def in_groups(t: Tensor, n_kv_heads: int) -> Tensor:
    return t.unflatten(1, (n_kv_heads, -1))


def heads_per_group(seen: Seen) -> str:
    """Return the numbers of query heads and KV heads, in words."""
    return t("{n} query heads share {n_kv} KV heads", n=seen["H"], n_kv=seen["H_kv"])


repeated = by_knob("keys", "values")
masked_by = by_knob("change_mask")
weighed = by_knob("weigh")
returned = by_knob("result", alone=True)

# The answer makes the mask itself, and the mask has no blind row, so some ideas about masks are left out.
MASKED = (
    *("mask-inverted", "mask-ignored", "zero-for-minus-infinity", "mask-added-as-a-number"),
    *("softmax-over-queries", "softmax-over-heads", "softmax-over-first-axis", "no-softmax", "not-normalised"),
    *("plus-infinity", "scores-negated"),
)
SCALED = ("no-scale", "scaled-by-d-k", "scale-multiplied", "scaled-by-number-of-keys")
MULTIPLIED = ("keys-not-transposed", "elementwise-product", "keys-on-the-left", "query-and-key-swapped")

QUESTION = Question(
    points=3,
    inputs=("q", "k", "v"),
    outputs=("out (B, H, n, d)",),
    draw=draw_groups,
    reference=grouped_query_attention,
    variant=grouped_variant,
    gradients=True,
    tokens=-2,
    quotes={"heads_per_group": heads_per_group, "d_k": lambda seen: seen["d"], "first_row_sum": first_row_sum},
    misconceptions=(
        repeated("kv-heads-tiled", kv_heads_tiled),
        mistake("kv-heads-tiled-in-one", grouped_variant(keys=kv_heads_tiled), grouped_variant(values=kv_heads_tiled)),
        repeated("one-kv-head-for-all", lambda t, n_heads: t[:, :1].expand(-1, n_heads, -1, -1)),
        repeated("kv-heads-averaged", lambda t, n_heads: t.mean(1, keepdim=True).expand(-1, n_heads, -1, -1)),
        repeated("kv-heads-not-shared", lambda t, n_heads: t, lambda t, n_heads: head_by_head(t, range(n_heads))),
        repeated("divided-by-kv-heads", lambda t, n_heads: head_by_head(t, (h // t.shape[1] for h in range(n_heads)))),
        repeated(
            "heads-repeated-too-often",
            lambda t, n_heads: t.repeat_interleave(n_heads, dim=1),
            lambda t, n_heads: t.repeat_interleave(t.shape[1], dim=1),
        ),
        *(idea for idea in MASKS if idea.slug in MASKED),
        weighed("mask-after-softmax", lambda scores, mask: scores.softmax(dim=-1) * mask),
        Misconception(
            "mask-off-by-one",
            twin=grouped_variant(
                change_mask=lambda mask, scores: mask.tril(-1),
                weigh=lambda scores, mask: mask_scores(scores, mask, -1e9).softmax(-1),
            ),
            knob_sets=(
                {"change_mask": lambda mask, scores: mask.tril(-1)},
                {"change_mask": lambda mask, scores: mask.roll(-1, 0) | mask},
            ),
        ),
        masked_by("sees-itself-only", lambda mask, scores: torch.eye(len(mask), dtype=torch.bool)),
        *(replace(idea, alone=True) for idea in PRODUCTS if idea.slug in MULTIPLIED),
        multiplied(
            "other-axes-swapped", lambda q, k: q @ k.transpose(1, 2), lambda q, k: q @ k.transpose(1, 3), alone=True
        ),
        *(idea for idea in SCALES if idea.slug in SCALED),
        *SCALES_OF_HEADS,
        mistake("values-on-the-left", grouped_variant(mix=lambda weights, v: v @ weights)),
        mistake("keys-used-as-values", lambda q, k, v: grouped_query_attention(q, k, k)),
        mistake("values-used-as-keys", lambda q, k, v: grouped_query_attention(q, v, v)),
        mistake("keys-and-values-swapped", lambda q, k, v: grouped_query_attention(q, v, k)),
        returned(
            "groups-merged",
            lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads).mean(2),
            lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads).sum(2),
        ),
        returned("groups-left-apart", lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads)),
        returned("heads-merged", lambda out, weights, n_kv_heads: out.transpose(1, 2).flatten(2)),
        returned("heads-and-tokens-swapped", lambda out, weights, n_kv_heads: out.transpose(1, 2)),
        returned("weights-returned-too", lambda out, weights, n_kv_heads: (out, weights)),
        returned("weights-returned", lambda out, weights, n_kv_heads: weights),
    ),
)
