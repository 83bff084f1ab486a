"""10.4: attention, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import attention
from qkv.cheaper import blockwise_attention
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.scales import SCALES, Scale, by_root

Pairs = Iterator[tuple[Tensor, Tensor]]
Cut = Callable[[Tensor, Tensor, int], Pairs]  # of keys, values and the block: blocks of both
Largest = Callable[[Tensor, Tensor], Tensor]  # of the largest so far and a block's scores: the largest now
Shrink = Callable[[Tensor, Tensor], Tensor]  # of the largest before and now: the factor of what was summed


def draw_blocks(draw: Draw) -> list[Case]:
    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        block: int | None = None,
        **fixed: int,
    ) -> Case:
        # Many take the root of a float32 tensor, whatever the inputs are: in float64 the root is exact.
        fixed = {"d": 4} | fixed if dtype == torch.float64 else fixed
        s = draw.sizes("n", "d", **({"n": draw.choose((8, 11)), "d": draw.choose((5, 6, 7))} | fixed))
        s["block"] = 3 if block is None else block
        q, k, v = (draw.normal(*leading, s["n"], s["d"], dtype=dtype) for _ in range(3))
        tolerance = 1e-5 if dtype == torch.float32 else None
        return Case(call(q, k, v, s["block"]), name, s, tolerance=tolerance)

    def large(name: str, offsets: tuple[float, ...], falls: bool = False) -> Case:
        """Scores around ±8,192: all numbers are eighths, so their products and sums are exact in any order."""
        s = {"n": 11, "d": 4, "block": 4}
        q, k, v = (draw.normal(s["n"], s["d"]) for _ in range(3))
        q, k = (q * 8).round() / 8, (k * 8).round() / 8
        q[:, 0] = torch.tensor([offsets[i % len(offsets)] for i in range(s["n"])])
        k[:, 0] = 128 + draw.ids(s["n"], below=24) / 64
        if falls:  # behind the first block
            k[s["block"] :, 0] *= -1
        return Case(call(q, k, v, s["block"]), name, s, gradients=False, tolerance=1e-3)

    def counted() -> Case:
        """A block of queries with all keys is larger than keys and values together; one of keys is smaller."""
        s = {"n_q": draw.whole(55, 60), "n_k": draw.whole(150, 180), "d": 4, "block": draw.choose((16, 17))}
        q, k, v = (draw.normal(2, s[n], s["d"]) for n in ("n_q", "n_k", "n_k"))
        name = "fewer queries than keys, and many of both"
        return Case(call(q, k, v, s["block"]), name, s, tolerance=1e-5, most=2 * s["n_k"] * 2 * s["d"])

    return [
        *draw.situations(case),
        case("the block divides n", n=9, block=3),
        case("a block of 1", block=1),
        case("a block as long as the text", n=6, block=6),
        case("a block longer than the text", n=4, block=9),
        case("one token", n=1, block=2),
        large("large scores", (128.0, 64.0)),
        large("large negative scores", (-128.0, -64.0)),
        large("large scores that fall or rise", (128.0, -64.0), falls=True),
        counted(),
    ]


def cut(k: Tensor, v: Tensor, block: int) -> Pairs:
    return zip(k.split(block, dim=-2), v.split(block, dim=-2), strict=True)


def larger(largest: Tensor, scores: Tensor) -> Tensor:
    return torch.maximum(largest, scores.amax(-1, keepdim=True))


def largest_here(largest: Tensor, scores: Tensor) -> Tensor:
    return scores.amax(-1, keepdim=True)


def shrunk(before: Tensor, now: Tensor) -> Tensor:
    return (before - now).exp()


def kept(before: Tensor, now: Tensor) -> Tensor:
    return torch.ones_like(now)


def block_variant(
    cut: Cut = cut,
    scale: Scale = by_root,
    largest_of: Largest = larger,
    begin: Callable[[Tensor], Tensor] = lambda q: torch.full_like(q[..., :1], -math.inf),
    shrink_total: Shrink = shrunk,
    shrink_mixed: Shrink = shrunk,
    finish: Callable[[Tensor, Tensor], Tensor] = lambda mixed, total: mixed / total,
) -> Callable[..., Any]:
    """Give an answer that goes wrong at some part of its loop over blocks."""

    def variant(q: Tensor, k: Tensor, v: Tensor, block: int) -> Any:
        largest = begin(q)
        total, mixed = torch.zeros_like(largest), torch.zeros_like(q)
        for k_block, v_block in cut(k, v, block):
            scores = q @ k_block.mT
            scores = scores / scale(scores, q, k_block)
            now = largest_of(largest, scores)
            powers = (scores - now).exp()
            total = total * shrink_total(largest, now) + powers.sum(-1, keepdim=True)
            mixed = mixed * shrink_mixed(largest, now) + powers @ v_block
            largest = now
        return finish(mixed, total)

    return variant


def whole_blocks(k: Tensor, v: Tensor, block: int) -> Pairs:
    whole = k.shape[-2] // block * block
    yield from cut(k[..., :whole, :], v[..., :whole, :], block) if whole else ()


def padded(k: Tensor, v: Tensor, block: int) -> Pairs:
    missing = -k.shape[-2] % block
    yield from cut(F.pad(k, (0, 0, 0, missing)), F.pad(v, (0, 0, 0, missing)), block)


def first_block(k: Tensor, v: Tensor, block: int) -> Pairs:
    yield k[..., :block, :], v[..., :block, :]


def softmax_in_each(joined: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Give an answer that takes a softmax in each block, and joins the outputs of blocks."""

    def variant(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
        return joined(torch.stack([attention(q, *pair)[0] for pair in cut(k, v, block)]))

    return variant


def to_themselves(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    pairs = zip(q.split(block, dim=-2), cut(k, v, block), strict=False)
    return torch.cat([attention(q_block, *pair)[0] for q_block, pair in pairs], dim=-2)


def causal(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attention(q, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())[0]


def all_at_once(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attention(q, k, v)[0]


def one_example_after_another(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    if q.ndim == 2:
        return all_at_once(q, k, v, block)
    return torch.stack([one_example_after_another(*one, block) for one in zip(q, k, v, strict=True)])


def blocks_of_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return torch.cat([attention(q_block, k, v)[0] for q_block in q.split(block, dim=-2)], dim=-2)


def as_many_keys_as_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    n = q.shape[-2]
    return blockwise_attention(q, k[..., :n, :], v[..., :n, :], block)


def to_the_length(k: Tensor, v: Tensor, block: int) -> Pairs:
    for start in range(0, len(k), block):
        yield k[..., start : start + block, :], v[..., start : start + block, :]


def along_the_first_axis(k: Tensor, v: Tensor, block: int) -> Pairs:
    for start in range(0, k.shape[-2], block):
        yield k[start : start + block], v[start : start + block]


def turned(before: Tensor, now: Tensor) -> Tensor:
    """The factor upside down; before the first block there is nothing to scale."""
    return torch.where(before.isinf(), torch.zeros_like(now), (now - before).exp())


cuts = by_knob("cut")
begun = by_knob("begin")
raised = by_knob("largest_of")

SCALED = ("no-scale", "scaled-by-d-k", "scale-multiplied", "scaled-by-number-of-keys")

QUESTION = Question(
    points=5,
    inputs=("q", "k", "v", "block"),
    outputs=("out (..., n_q, d)",),
    draw=draw_blocks,
    reference=blockwise_attention,
    variant=block_variant,
    gradients=True,
    quotes={"d_k": lambda seen: seen["d"]},
    misconceptions=(
        mistake("all-scores-at-once", all_at_once, one_example_after_another),
        mistake("blocks-of-queries", blocks_of_queries),
        Misconception("sum-not-rescaled", knobs={"shrink_total": kept}),
        Misconception("output-not-rescaled", knobs={"shrink_mixed": kept}),
        mistake(
            "nothing-rescaled",
            block_variant(shrink_total=kept, shrink_mixed=kept),
            block_variant(largest_of=largest_here, shrink_total=kept, shrink_mixed=kept),
        ),
        mistake("rescaled-the-wrong-way", block_variant(shrink_total=turned, shrink_mixed=turned)),
        raised("largest-of-this-block", largest_here),
        raised("one-maximum-for-all-rows", lambda before, scores: torch.maximum(before, scores.amax())),
        begun("maximum-begins-at-zero", lambda q: torch.zeros_like(q[..., :1])),
        raised("no-maximum", lambda before, scores: torch.zeros_like(before)),
        mistake(
            "softmax-in-each-block",
            softmax_in_each(lambda outs: outs.sum(0)),
            softmax_in_each(lambda outs: outs.mean(0)),
        ),
        mistake("blocks-see-themselves-only", to_themselves),
        Misconception("not-divided", knobs={"finish": lambda mixed, total: mixed}),
        mistake(
            "axes-counted-from-the-front",
            block_variant(begin=lambda q: torch.full((len(q), 1), -math.inf)),
            block_variant(cut=to_the_length),
            block_variant(cut=along_the_first_axis),
        ),
        cuts("last-block-dropped", whole_blocks),
        mistake("as-many-keys-as-queries", as_many_keys_as_queries),
        cuts("padding-counted", padded),
        cuts("first-block-only", first_block),
        *(idea for idea in SCALES if idea.slug in SCALED),
        mistake("keys-used-as-values", lambda q, k, v, block: blockwise_attention(q, k, k, block)),
        mistake("query-and-key-swapped", lambda q, k, v, block: blockwise_attention(k, q, v, block)),
        mistake("causal-though-not-asked", causal),
    ),
)
