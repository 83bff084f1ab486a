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

Pairs = Iterator[tuple[Tensor, Tensor]]
Cut = Callable[[Tensor, Tensor, int], Pairs]  # of keys, values and the block: blocks of both
Scale = Callable[[Tensor, Tensor], float]  # of q and a block of keys: what scores are divided by
Largest = Callable[[Tensor, Tensor], Tensor]  # of the largest so far and a block's scores: the largest now
Begin = Callable[[Tensor, int], tuple[Tensor, Tensor, Tensor]]  # of q and d: the largest, the sum and the mixture
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


def by_root(q: Tensor, k: Tensor) -> float:
    return math.sqrt(q.shape[-1])


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
    begin: float = -math.inf,
    shrink_total: Shrink = shrunk,
    shrink_mixed: Shrink = shrunk,
    finish: Callable[[Tensor, Tensor], Tensor] = lambda mixed, total: mixed / total,
) -> Callable[..., Any]:
    """Give an answer that goes wrong at some part of its loop over blocks."""

    def variant(q: Tensor, k: Tensor, v: Tensor, block: int) -> Any:
        largest = torch.full_like(q[..., :1], begin)
        total, mixed = torch.zeros_like(largest), torch.zeros_like(q)
        for k_block, v_block in cut(k, v, block):
            scores = q @ k_block.mT / scale(q, k_block)
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


def without_maximum(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    powers = [((q @ k_block.mT / by_root(q, k)).exp(), v_block) for k_block, v_block in cut(k, v, block)]
    total = torch.stack([p.sum(-1, keepdim=True) for p, _ in powers]).sum(0)
    return torch.stack([p @ v_block for p, v_block in powers]).sum(0) / total


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


def begun_by_length(q: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """The largest, the sum and the mixture, each with as many rows as the first axis has entries."""
    return torch.full((len(q), 1), -math.inf), torch.zeros(len(q), 1), torch.zeros(len(q), width)


def begun_like(q: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    largest = torch.full_like(q[..., :1], -math.inf)
    return largest, torch.zeros_like(largest), torch.zeros_like(q)


def for_one_sequence(begun: Begin, end: int, of_front: bool) -> Callable[..., Any]:
    """Give an answer that begins, ends its loop at this axis, or cuts its blocks as one sequence allows."""

    def variant(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
        largest, total, mixed = begun(q, v.shape[-1])
        for start in range(0, k.shape[end], block):
            at = slice(start, start + block)
            k_block, v_block = (k[at], v[at]) if of_front else (k[..., at, :], v[..., at, :])
            scores = q @ k_block.mT / by_root(q, k)
            now = larger(largest, scores)
            total = total * shrunk(largest, now) + (scores - now).exp().sum(-1, keepdim=True)
            mixed = mixed * shrunk(largest, now) + (scores - now).exp() @ v_block
            largest = now
        return mixed / total

    return variant


def turned(before: Tensor, now: Tensor) -> Tensor:
    """The factor upside down; before the first block there is nothing to scale."""
    return torch.where(before.isinf(), torch.zeros_like(now), (now - before).exp())


scales = by_knob("scale")
cuts = by_knob("cut")

QUESTION = Question(
    points=5,
    inputs=("q", "k", "v", "block"),
    outputs=("out (..., n_q, d)",),
    draw=draw_blocks,
    reference=blockwise_attention,
    variant=block_variant,
    gradients=True,
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
        Misconception("largest-of-this-block", knobs={"largest_of": largest_here}),
        Misconception(
            "one-maximum-for-all-rows", knobs={"largest_of": lambda before, s: torch.maximum(before, s.amax())}
        ),
        Misconception("maximum-begins-at-zero", knobs={"begin": 0.0}),
        mistake("no-maximum", without_maximum),
        mistake(
            "softmax-in-each-block",
            softmax_in_each(lambda outs: outs.sum(0)),
            softmax_in_each(lambda outs: outs.mean(0)),
        ),
        mistake("blocks-see-themselves-only", to_themselves),
        Misconception("not-divided", knobs={"finish": lambda mixed, total: mixed}),
        mistake(
            "axes-counted-from-the-front",
            for_one_sequence(begun_by_length, end=0, of_front=True),
            for_one_sequence(begun_by_length, end=-2, of_front=True),
            for_one_sequence(begun_by_length, end=0, of_front=False),
            for_one_sequence(begun_by_length, end=-2, of_front=False),
            for_one_sequence(begun_like, end=-2, of_front=True),
            for_one_sequence(begun_like, end=0, of_front=False),
        ),
        cuts("last-block-dropped", whole_blocks),
        mistake("as-many-keys-as-queries", as_many_keys_as_queries),
        cuts("padding-counted", padded),
        cuts("first-block-only", first_block),
        scales("no-scale", lambda q, k: 1.0),
        scales("scaled-by-d", lambda q, k: q.shape[-1]),
        scales("scale-multiplied", lambda q, k: q.shape[-1] ** -0.5),
        scales("scaled-by-the-block", lambda q, k: k.shape[-2] ** 0.5),
        mistake("keys-used-as-values", lambda q, k, v, block: blockwise_attention(q, k, k, block)),
        mistake("query-and-key-swapped", lambda q, k, v, block: blockwise_attention(k, q, v, block)),
        mistake("causal-though-not-asked", causal),
    ),
)
