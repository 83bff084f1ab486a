"""10.4: attention, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import attention
from qkv.efficient import blockwise_attention
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.scales import SCALES, Scale, root_of_d_k
from qkv.words import mark

Pairs = Iterator[tuple[Tensor, Tensor]]
Cut = Callable[[Tensor, Tensor, int], Pairs]  # (keys, values, block) -> blocks of keys and values
Largest = Callable[[Tensor, Tensor], Tensor]  # (largest score so far, scores of a block) -> largest score now
Rescale = Callable[[Tensor, Tensor], Tensor]  # (largest score before, now) -> the factor for the sums so far


def draw_blocks(draw: Draw) -> list[Case]:
    """Draw queries, keys and values for blocks of several sizes; large scores, and a limit of memory."""

    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        block: int | None = None,
        **fixed: int,
    ) -> Case:
        # A root taken in float32 is no mistake, even for float64 inputs: with d = 4 it is exact.
        fixed = {"d": 4} | fixed if dtype == torch.float64 else fixed
        s = draw.sizes("n", "d", **({"n": draw.choose((8, 11)), "d": draw.choose((5, 6, 7))} | fixed))
        s["block"] = 3 if block is None else block
        q, k, v = (draw.normal(*leading, s["n"], s["d"], dtype=dtype) for _ in range(3))
        tolerance = 1e-5 if dtype == torch.float32 else None
        return Case(call(q, k, v, s["block"]), name, s, tolerance=tolerance)

    def large(name: str, offsets: tuple[float, ...], falls: bool = False) -> Case:
        """Draw scores around ±8,192 from multiples of 1/8 and 1/64, whose products and sums are exact in any order.

        If it `falls`, the scores of the keys after the first block have the other sign.
        """
        s = {"n": 11, "d": 4, "block": 4}
        q, k, v = (draw.normal(s["n"], s["d"]) for _ in range(3))
        q, k = (q * 8).round() / 8, (k * 8).round() / 8
        q[:, 0] = torch.tensor([offsets[i % len(offsets)] for i in range(s["n"])])
        k[:, 0] = 128 + draw.ids(s["n"], below=24) / 64
        if falls:  # the keys after the first block
            k[s["block"] :, 0] *= -1
        return Case(call(q, k, v, s["block"]), name, s, gradients=False, tolerance=1e-3)

    def memory_case() -> Case:
        """Draw a case that limits memory: all keys for one block of queries exceed the limit, blocks of keys do not."""
        s = {"n_q": draw.whole(55, 60), "n_k": draw.whole(150, 180), "d": 4, "block": draw.choose((16, 17))}
        q, k, v = (draw.normal(2, s[n], s["d"]) for n in ("n_q", "n_k", "n_k"))
        name = mark("fewer queries than keys, and many of both")
        return Case(call(q, k, v, s["block"]), name, s, tolerance=1e-5, max_elements=2 * s["n_k"] * 2 * s["d"])

    def few_queries_case() -> Case:
        """Draw a case that limits products: all keys for one query exceed the limit, a block of keys does not."""
        s = {"n_q": 2, "n_k": draw.whole(150, 180), "d": 4, "block": draw.choose((16, 17))}
        q, k, v = (draw.normal(2, s[n], s["d"]) for n in ("n_q", "n_k", "n_k"))
        limit = 2 * s["n_q"] * s["block"]
        step = call(q, k, v, s["block"])
        return Case(step, "two queries, and many keys", s, tolerance=1e-5, max_elements=limit, of_products=True)

    return [
        *draw.situations(case),
        case("the block divides n", n=9, block=3),
        case("a block of 1", block=1),
        case("a block as long as the text", n=6, block=6),
        case("a block longer than the text", n=4, block=9),
        case("one token", n=1, block=2),
        large(mark("large scores"), (128.0, 64.0)),
        large(mark("large negative scores"), (-128.0, -64.0)),
        large(mark("large scores that fall or rise"), (128.0, -64.0), falls=True),
        memory_case(),
        few_queries_case(),
    ]


def cut(k: Tensor, v: Tensor, block: int) -> Pairs:
    return zip(k.split(block, dim=-2), v.split(block, dim=-2), strict=True)


def running_maximum(largest: Tensor, scores: Tensor) -> Tensor:
    return torch.maximum(largest, scores.amax(-1, keepdim=True))


def largest_of_block(largest: Tensor, scores: Tensor) -> Tensor:
    return scores.amax(-1, keepdim=True)


def rescale(before: Tensor, now: Tensor) -> Tensor:
    return (before - now).exp()


def not_rescaled(before: Tensor, now: Tensor) -> Tensor:
    return torch.ones_like(now)


def block_variant(
    cut: Cut = cut,
    scale: Scale = root_of_d_k,
    largest_of: Largest = running_maximum,
    begin: Callable[[Tensor], Tensor] = lambda q: torch.full_like(q[..., :1], -math.inf),
    rescale_total: Rescale = rescale,
    rescale_mixed: Rescale = rescale,
    finish: Callable[[Tensor, Tensor], Tensor] = lambda mixed, total: mixed / total,
) -> Callable[..., Any]:
    """Return an answer(q, k, v, block); each argument replaces one part of its loop over blocks.

    By default it is right. `begin` is the largest score before the first block, and `largest_of` updates it. The sum of
    powers so far is multiplied by `rescale_total`, the output so far by `rescale_mixed`, and `finish` divides the two.
    """

    def variant(q: Tensor, k: Tensor, v: Tensor, block: int) -> Any:
        largest = begin(q)
        total, mixed = torch.zeros_like(largest), torch.zeros_like(q)
        for k_block, v_block in cut(k, v, block):
            scores = q @ k_block.mT
            scores = scores / scale(scores, q, k_block)
            now = largest_of(largest, scores)
            powers = (scores - now).exp()
            total = total * rescale_total(largest, now) + powers.sum(-1, keepdim=True)
            mixed = mixed * rescale_mixed(largest, now) + powers @ v_block
            largest = now
        return finish(mixed, total)

    return variant


def last_block_dropped(k: Tensor, v: Tensor, block: int) -> Pairs:
    whole = k.shape[-2] // block * block
    yield from cut(k[..., :whole, :], v[..., :whole, :], block) if whole else ()


def whole_blocks_but_one_at_least(k: Tensor, v: Tensor, block: int) -> Pairs:
    whole = max(k.shape[-2] // block, 1) * block
    yield from cut(k[..., :whole, :], v[..., :whole, :], block)


def padding_counted(k: Tensor, v: Tensor, block: int) -> Pairs:
    missing = -k.shape[-2] % block
    yield from cut(F.pad(k, (0, 0, 0, missing)), F.pad(v, (0, 0, 0, missing)), block)


def first_block_only(k: Tensor, v: Tensor, block: int) -> Pairs:
    yield k[..., :block, :], v[..., :block, :]


def softmax_in_each_block(joined: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Return a wrong answer that takes a softmax in each block of keys.

    `joined` makes one output of the blocks' outputs, which are stacked along a new first axis.
    """

    def variant(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
        return joined(torch.stack([attention(q, *pair)[0] for pair in cut(k, v, block)]))

    return variant


def blocks_see_themselves(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    pairs = zip(q.split(block, dim=-2), cut(k, v, block), strict=False)
    return torch.cat([attention(q_block, *pair)[0] for q_block, pair in pairs], dim=-2)


def causal_though_not_asked(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attention(q, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())[0]


def all_at_once(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attention(q, k, v)[0]


def all_at_once_in_a_loop(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    if q.ndim == 2:
        return all_at_once(q, k, v, block)
    return torch.stack([all_at_once_in_a_loop(*one, block) for one in zip(q, k, v, strict=True)])


def blocks_of_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return torch.cat([attention(q_block, k, v)[0] for q_block in q.split(block, dim=-2)], dim=-2)


def one_query_at_a_time(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return blocks_of_queries(q, k, v, 1)


def as_many_keys_as_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    n = q.shape[-2]
    return blockwise_attention(q, k[..., :n, :], v[..., :n, :], block)


def as_many_places_as_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    n = -(-q.shape[-2] // block) * block
    return blockwise_attention(q, k[..., :n, :], v[..., :n, :], block)


def first_axis_for_length(k: Tensor, v: Tensor, block: int) -> Pairs:
    for start in range(0, len(k), block):
        yield k[..., start : start + block, :], v[..., start : start + block, :]


def along_first_axis(k: Tensor, v: Tensor, block: int) -> Pairs:
    for start in range(0, k.shape[-2], block):
        yield k[start : start + block], v[start : start + block]


def rescaled_the_wrong_way(before: Tensor, now: Tensor) -> Tensor:
    """Return the inverse factor, and 0 before the first block, where nothing was summed yet."""
    return torch.where(before.isinf(), torch.zeros_like(now), (now - before).exp())


cut_by = by_knob("cut")
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
        mistake("all-scores-at-once", all_at_once, all_at_once_in_a_loop),
        mistake("blocks-of-queries", blocks_of_queries),
        mistake("block-not-used", one_query_at_a_time),
        Misconception("sum-not-rescaled", knobs={"rescale_total": not_rescaled}),
        Misconception("output-not-rescaled", knobs={"rescale_mixed": not_rescaled}),
        mistake(
            "nothing-rescaled",
            block_variant(rescale_total=not_rescaled, rescale_mixed=not_rescaled),
            block_variant(largest_of=largest_of_block, rescale_total=not_rescaled, rescale_mixed=not_rescaled),
        ),
        mistake(
            "rescaled-the-wrong-way",
            block_variant(rescale_total=rescaled_the_wrong_way, rescale_mixed=rescaled_the_wrong_way),
        ),
        raised("largest-of-this-block", largest_of_block),
        raised("one-maximum-for-all-rows", lambda before, scores: torch.maximum(before, scores.amax())),
        begun("maximum-begins-at-zero", lambda q: torch.zeros_like(q[..., :1])),
        raised("no-maximum", lambda before, scores: torch.zeros_like(before)),
        mistake(
            "softmax-in-each-block",
            softmax_in_each_block(lambda outs: outs.sum(0)),
            softmax_in_each_block(lambda outs: outs.mean(0)),
        ),
        mistake("blocks-see-themselves-only", blocks_see_themselves),
        Misconception("not-divided", knobs={"finish": lambda mixed, total: mixed}),
        mistake(
            "axes-counted-from-the-front",
            block_variant(begin=lambda q: torch.full((len(q), 1), -math.inf)),
            block_variant(cut=first_axis_for_length),
            block_variant(cut=along_first_axis),
        ),
        cut_by("last-block-dropped", last_block_dropped, whole_blocks_but_one_at_least),
        mistake("as-many-keys-as-queries", as_many_keys_as_queries, as_many_places_as_queries),
        cut_by("padding-counted", padding_counted),
        cut_by("first-block-only", first_block_only),
        *(idea for idea in SCALES if idea.slug in SCALED),
        mistake("keys-used-as-values", lambda q, k, v, block: blockwise_attention(q, k, k, block)),
        mistake("query-and-key-swapped", lambda q, k, v, block: blockwise_attention(k, q, v, block)),
        mistake("causal-though-not-asked", causal_though_not_asked),
    ),
)
