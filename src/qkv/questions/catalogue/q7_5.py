"""7.5: grouped-query attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import grouped_query_attention
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, call
from qkv.questions.shared.products import Product, multiplied, q_with_k
from qkv.questions.shared.scales import EXACT, Scale, by_root, divided_by

Spread = Callable[[Tensor, int], Tensor]  # of keys or values (B, H_kv, n, d) and H: one for each query head
See = Callable[[Tensor], Tensor]  # of scores: who sees whom
Share = Callable[[Tensor, Tensor], Tensor]  # of scores and who sees whom: the weights
Give = Callable[[Tensor, Tensor, int], Any]  # of the output, the weights and H_kv: what is returned


def draw_groups(draw: Draw) -> list[Case]:
    def case(name: str, heads: tuple[int, int], dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d = EXACT if dtype == torch.float64 else draw.choose((5, 7, 10, 11))
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


def repeated(t: Tensor, n_heads: int) -> Tensor:
    return t.repeat_interleave(n_heads // t.shape[1], dim=1)


def tiled(t: Tensor, n_heads: int) -> Tensor:
    return t.repeat(1, n_heads // t.shape[1], 1, 1)


def head_by_head(t: Tensor, numbers: Iterable[int]) -> Tensor:
    """Take the KV heads with these numbers, one after another, as a loop does: its errors are worded like this."""
    return torch.stack([t[:, h] for h in numbers], dim=1)


def see_before(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


def masked(scores: Tensor, see: Tensor) -> Tensor:
    return scores.masked_fill(~see, -torch.inf).softmax(dim=-1)


def grouped_variant(
    keys: Spread = repeated,
    values: Spread = repeated,
    product: Product = q_with_k,
    scale: Scale = by_root,
    see: See = see_before,
    share: Share = masked,
    mix: Callable[[Tensor, Tensor], Tensor] = lambda weights, v: weights @ v,
    give: Give = lambda out, weights, n_kv_heads: out,
) -> Callable[..., Any]:
    """Give an answer that shares heads, scales, masks or goes on in another way."""

    def variant(q: Tensor, k: Tensor, v: Tensor) -> Any:
        n_heads, n_kv_heads = q.shape[1], k.shape[1]
        scores = product(q, keys(k, n_heads))
        scores = scores / scale(scores, q, k)
        weights = share(scores, see(scores))
        return give(mix(weights, values(v, n_heads)), weights, n_kv_heads)

    return variant


def in_groups(t: Tensor, n_kv_heads: int) -> Tensor:
    return t.unflatten(1, (n_kv_heads, -1))


def spread(slug: str, *ways: Spread) -> Misconception:
    """The mistake to hand keys and values to query heads in this way."""
    return Misconception(slug, knob_sets=tuple({"keys": way, "values": way} for way in ways))


def seeing(slug: str, *ways: See) -> Misconception:
    return Misconception(slug, knob_sets=tuple({"see": way} for way in ways))


def shared(slug: str, *ways: Share, alone: bool = False) -> Misconception:
    return Misconception(slug, knob_sets=tuple({"share": way} for way in ways), alone=alone)


def hidden(along: int, fill: float = -torch.inf) -> Share:
    """Share weights out along another axis."""
    return lambda scores, see: scores.masked_fill(~see, fill).softmax(dim=along)


def giving(slug: str, *ways: Give) -> Misconception:
    return Misconception(slug, knob_sets=tuple({"give": way} for way in ways), alone=True)


def heads_per_group(seen: Seen) -> str:
    """Say how many query heads share how many KV heads."""
    return f"{seen['H']} query heads share {seen['H_kv']} KV heads"


QUESTION = Question(
    id="7.5",
    points=3,
    inputs=("q", "k", "v"),
    outputs=("out (B, H, n, d)",),
    draw=draw_groups,
    reference=grouped_query_attention,
    variant=grouped_variant,
    gradients=True,
    quotes={"heads_per_group": heads_per_group, "d_k": lambda seen: seen["d"]},
    misconceptions=(
        spread("kv-heads-tiled", tiled),
        Misconception("kv-heads-tiled-in-one", twins=(grouped_variant(keys=tiled), grouped_variant(values=tiled))),
        spread("one-kv-head-for-all", lambda t, n_heads: t[:, :1].expand(-1, n_heads, -1, -1)),
        spread("kv-heads-averaged", lambda t, n_heads: t.mean(1, keepdim=True).expand(-1, n_heads, -1, -1)),
        spread("kv-heads-reversed", lambda t, n_heads: repeated(t.flip(1), n_heads)),
        spread("kv-heads-not-shared", lambda t, n_heads: t, lambda t, n_heads: head_by_head(t, range(n_heads))),
        spread("divided-by-kv-heads", lambda t, n_heads: head_by_head(t, (h // t.shape[1] for h in range(n_heads)))),
        spread(
            "heads-repeated-too-often",
            lambda t, n_heads: t.repeat_interleave(n_heads, dim=1),
            lambda t, n_heads: t.repeat_interleave(t.shape[1], dim=1),
        ),
        seeing("no-causal-mask", lambda scores: torch.ones_like(scores, dtype=torch.bool)),
        seeing("mask-inverted", lambda scores: ~see_before(scores), lambda scores: see_before(scores).mT),
        seeing(
            "mask-off-by-one",
            lambda scores: see_before(scores).tril(-1),
            lambda scores: torch.ones(scores.shape[-2:], dtype=torch.bool).tril(1),
        ),
        seeing("sees-itself-only", lambda scores: torch.eye(scores.shape[-1], dtype=torch.bool)),
        shared("mask-after-softmax", lambda scores, see: scores.softmax(dim=-1) * see),
        shared("zero-for-minus-infinity", lambda scores, see: (scores * see).softmax(dim=-1)),
        shared(
            "mask-added",
            lambda scores, see: (scores + see).softmax(dim=-1),
            lambda scores, see: (scores - (~see).to(scores.dtype)).softmax(dim=-1),
        ),
        shared("plus-infinity", hidden(-1, fill=torch.inf)),
        shared("softmax-over-queries", hidden(-2)),
        shared("softmax-over-heads", hidden(1)),
        shared("softmax-over-first-axis", hidden(0)),
        shared(
            "no-softmax",
            lambda scores, see: scores.masked_fill(~see, 0.0),
            lambda scores, see: scores.masked_fill(~see, -torch.inf),
        ),
        shared("not-normalised", lambda scores, see: scores.masked_fill(~see, -torch.inf).exp()),
        shared("softmax-twice", lambda scores, see: masked(scores, see).softmax(dim=-1)),
        shared("scores-negated", lambda scores, see: masked(-scores, see)),
        multiplied("keys-not-transposed", lambda q, k: q @ k, alone=True),
        multiplied("elementwise-product", lambda q, k: q * k.mT, alone=True),
        multiplied("keys-on-the-left", lambda q, k: k.mT @ q, alone=True),
        multiplied("query-and-key-swapped", lambda q, k: q_with_k(k, q), alone=True),
        multiplied(
            "other-axes-swapped",
            lambda q, k: q @ k.transpose(1, 2),
            lambda q, k: q @ k.transpose(1, 3),
            alone=True,
        ),
        divided_by("no-scale", lambda scores, q, k: 1.0),
        divided_by("scaled-by-d-k", lambda scores, q, k: q.shape[-1]),
        divided_by("scale-multiplied", lambda scores, q, k: q.shape[-1] ** -0.5),
        divided_by("scaled-by-d-model", lambda scores, q, k: math.sqrt(q.shape[-1] * q.shape[1])),
        divided_by("scaled-by-number-of-keys", lambda scores, q, k: math.sqrt(k.shape[-2])),
        divided_by(
            "scaled-by-number-of-heads",
            lambda scores, q, k: math.sqrt(q.shape[1]),
            lambda scores, q, k: math.sqrt(k.shape[1]),
        ),
        Misconception("values-on-the-left", knobs={"mix": lambda weights, v: v @ weights}, alone=True),
        Misconception("keys-used-as-values", twin=lambda q, k, v: grouped_query_attention(q, k, k)),
        Misconception("values-used-as-keys", twin=lambda q, k, v: grouped_query_attention(q, v, v)),
        Misconception("keys-and-values-swapped", twin=lambda q, k, v: grouped_query_attention(q, v, k)),
        giving(
            "groups-merged",
            lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads).mean(2),
            lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads).sum(2),
        ),
        giving("groups-left-apart", lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads)),
        giving("heads-merged", lambda out, weights, n_kv_heads: out.transpose(1, 2).flatten(2)),
        giving("heads-and-tokens-swapped", lambda out, weights, n_kv_heads: out.transpose(1, 2)),
        giving("weights-returned-too", lambda out, weights, n_kv_heads: (out, weights)),
        giving("weights-returned", lambda out, weights, n_kv_heads: weights),
    ),
)
