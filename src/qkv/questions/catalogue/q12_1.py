"""12.1: a block of the writer, from the parts of chapters 5, 7 and 8."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import causal_mask, merge_heads, split_heads
from qkv.questions.engine import (
    Case,
    Draw,
    InModel,
    Misconception,
    Provided,
    Question,
    by_knob,
    call,
    length,
    method,
    mistake,
)
from qkv.questions.shared.heads import MERGES, SPLITS, Merge, Split
from qkv.questions.shared.writing import HeldCache, Weights, block, draw_block, provided, writer
from qkv.softmax import masked_softmax
from qkv.transformer import layer_norm

Part = Callable[[Tensor], Tensor]
Join = Callable[[Tensor, Part, Part], Tensor]  # (x, norm, part) -> x after this half of the block
Linear = Callable[[Tensor, Weights, str], Tensor]  # (y, w, name of the layer) -> the layer's output
Store = Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensor]]  # (cache, new keys, new values) -> those to attend to


def draw_blocks(draw: Draw) -> list[Case]:
    """Draw blocks, with and without a cache that holds earlier tokens."""

    def case(
        name: str,
        *counts: int,
        dtype: torch.dtype = torch.float32,
        cached: bool = False,
        held_before: int = 0,
        **fixed: int,
    ) -> Case:
        """Draw a block, and texts that reach it in pieces of these lengths; without any, in one piece."""
        s = draw.sizes("B", "n", "H", "d_head", "d_hidden", low=2, high=8, **fixed)
        s["d_model"] = d = s["H"] * s["d_head"]
        s["d_hidden"] += d
        s["n_k"] = held_before + sum(counts or (s["n"],))
        w = provided(draw_block(draw, d, s["d_hidden"], dtype))
        held = Provided(HeldCache)
        steps = []
        if held_before:
            steps.append(
                method("append", *(draw.normal(s["B"], s["H"], held_before, s["d_head"]) for _ in "kv"), on=held)
            )
        for n in counts or (s["n"],):
            x = 1.5 * draw.normal(s["B"], n, d, dtype=dtype) + 0.5
            steps.append(call(x, w, s["H"], held) if cached else call(x, w, s["H"]))
        return Case((*steps, length(on=held)) if cached else steps[0], name, s)

    return [
        case("plain"),
        case("plain", H=3),
        case("one text", B=1),
        case("one token", n=1),
        case("one head", H=1, d_head=8),
        case("one feature a head", H=7, d_head=1),
        case("float64", dtype=torch.float64, d_head=4),
        case("three new tokens, with a cache that holds five", 3, cached=True, held_before=5, n=3),
        case("five new tokens, with an empty cache", 5, cached=True, n=5),
        case("with a cache: four tokens, then one, then one", 4, 1, 1, cached=True, n=4),
        case("with a cache: three tokens, then two, then four", 3, 2, 4, cached=True, n=3),
    ]


# ── an answer whose steps can be replaced ─────────────────────────────────────────────────────────


def pre_norm(x: Tensor, norm: Part, work: Part) -> Tensor:
    return x + work(norm(x))


def linear(y: Tensor, w: Weights, name: str) -> Tensor:
    return F.linear(y, w[f"{name}.weight"], w[f"{name}.bias"])


def append(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return (k, v) if cache is None else cache.append(k, v)


def block_variant(
    first: Join = pre_norm,
    second: Join = pre_norm,
    linear: Linear = linear,
    roles: str = "qkv",
    split: Split = split_heads,
    merge: Merge = merge_heads,
    scale: Callable[[Tensor, Tensor], float] = lambda q, y: q.shape[-1] ** 0.5,
    store: Store = append,
    mask: Callable[[int, int], Tensor] = causal_mask,
    masks: Callable[[Any], bool] = lambda cache: True,
    activation: Callable[[Tensor], Tensor] = F.gelu,
    norms: tuple[str, str] = ("norm_1", "norm_2"),
    normalise: Callable[..., Tensor] = layer_norm,
    result: Callable[[Tensor, Tensor], Any] = lambda x, weights: (x, weights),
) -> Callable[..., Any]:
    """Return an answer(x, w, n_heads, cache); each argument replaces one of its steps, and by default it is right."""

    def variant(x: Tensor, w: Weights, n_heads: int, cache: Any = None) -> Any:
        found = []

        def attend(y: Tensor) -> Tensor:
            q, k, v = (split(linear(y, w, f"attention.w_{name}"), n_heads) for name in roles)
            k, v = store(cache, k, v)
            seen = (mask if masks(cache) else all_visible)(q.shape[-2], k.shape[-2])
            seen, scores = torch.broadcast_tensors(seen, q @ k.mT / scale(q, y))  # raises as `masked_fill` does
            weights = masked_softmax(scores, seen)
            found.append(weights)
            return linear(merge(weights @ v), w, "attention.w_o")

        def feed_forward(y: Tensor) -> Tensor:
            return linear(activation(linear(y, w, "feed_forward.w_1")), w, "feed_forward.w_2")

        norm_1, norm_2 = (partial(normalise, gain=w[f"{n}.weight"], bias=w[f"{n}.bias"]) for n in norms)
        x = second(first(x, norm_1, attend), norm_2, feed_forward)
        return result(x, found[0])

    return variant


def wrong_half(slug: str, join: Join) -> Misconception:
    """Return the misconception that computes the first half of the block, the second, or both by `join`."""
    return Misconception(slug, knob_sets=({"first": join}, {"second": join}, {"first": join, "second": join}))


def new_tokens_only(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    append(cache, k, v)
    return k, v


def not_appended(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return k, v


def appended_twice(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    append(cache, k, v)
    return append(cache, k, v)


def swapped_going_in(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return (k, v) if cache is None else append(cache, v, k)


def swapped_coming_out(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return (k, v) if cache is None else append(cache, k, v)[::-1]


def newest_only(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Append the last of the new tokens alone, and return all so far; without a cache, k and v."""
    return (k, v) if cache is None else append(cache, k[..., -1:, :], v[..., -1:, :])


def merged_heads(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Append keys and values before their split into heads, and return all so far, merged; without a cache, k and v."""
    return (k, v) if cache is None else append(cache, merge_heads(k), merge_heads(v))


def split_after(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Append before the split into heads, and return all so far, split again; without a cache, k and v."""
    if cache is None:
        return k, v
    keys, values = append(cache, merge_heads(k), merge_heads(v))
    return split_heads(keys, k.shape[1]), split_heads(values, k.shape[1])


def only_if_full(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Append as code with `if cache:` does: an empty cache is false, so that it stays empty; return k and v then."""
    return cache.append(k, v) if cache else (k, v)


def all_visible(n_q: int, n_k: int) -> Tensor:
    return torch.ones(n_q, n_k, dtype=torch.bool)


def first_meets_first(n_q: int, n_k: int) -> Tensor:
    return all_visible(n_q, n_k).tril()


def unmasked_with_earlier_tokens(n_q: int, n_k: int) -> Tensor:
    return causal_mask(n_q) if n_q == n_k else all_visible(n_q, n_k)


def earlier_tokens_hidden(n_q: int, n_k: int) -> Tensor:
    return causal_mask(n_q, n_k) & (torch.arange(n_k) >= n_k - n_q)


def sees_the_next(n_q: int, n_k: int) -> Tensor:
    return all_visible(n_q, n_k).tril(n_k - n_q + 1)


def without_itself(n_q: int, n_k: int) -> Tensor:
    return all_visible(n_q, n_k).tril(n_k - n_q - 1)


def future_only(n_q: int, n_k: int) -> Tensor:
    return all_visible(n_q, n_k).triu(n_k - n_q)


def of_the_new_tokens(n_q: int, n_k: int) -> Tensor:
    return causal_mask(n_q)


def of_all_tokens(n_q: int, n_k: int) -> Tensor:
    return causal_mask(n_k)


def of_two_numbers(n_q: int, n_k: int) -> Tensor:
    raise TypeError("causal_mask() takes 1 positional argument but 2 were given")  # as the answer to 5.3 does


def transposed(y: Tensor, w: Weights, name: str) -> Tensor:
    weight = w[f"{name}.weight"]
    return y @ (weight if y.shape[-1] == len(weight) else weight.mT) + w[f"{name}.bias"]


def no_bias(*names: str) -> Linear:
    """Return a linear layer(y, w, name) without the bias of the layers with these names, or of all without names."""

    def layer(y: Tensor, w: Weights, name: str) -> Tensor:
        return F.linear(y, w[f"{name}.weight"]) if name in names or not names else linear(y, w, name)

    return layer


def by_sample_variance(y: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True) + 1e-5).sqrt() * gain + bias


def no_last_projection(y: Tensor, w: Weights, name: str) -> Tensor:
    return y if name == "attention.w_o" else linear(y, w, name)


def next_ids(answer: Callable[..., Any], ids: Tensor, w: Weights, n_heads: int) -> Tensor:
    """Return the next id of each text (B, n), from our writer with blocks of the answer's: (B,)."""
    return writer(ids, w, n_heads, block=answer)[0][:, -1].argmax(-1)


# The bias of w_k is in none of them: it adds the same number to all scores of a query, so its weights stay.
SOME_LAYERS = (
    ("attention.w_o",),
    ("attention.w_q", "attention.w_k", "attention.w_v"),
    ("attention.w_q", "attention.w_k", "attention.w_v", "attention.w_o"),
    ("feed_forward.w_1",),
    ("feed_forward.w_2",),
    ("feed_forward.w_1", "feed_forward.w_2"),
)

masked = by_knob("mask")
stored = by_knob("store")
projected = by_knob("linear")
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=5,
    inputs=("x", "w", "n_heads", "cache"),
    outputs=("out (B, n, d_model)", "weights (B, H, n, n_k)"),
    draw=draw_blocks,
    reference=block,
    variant=block_variant,
    row_sums={"weights": 1.0},
    in_model=InModel("writer", next_ids=next_ids),
    misconceptions=(
        masked("mask-forgotten", all_visible),
        masked("first-query-meets-first-key", first_meets_first),
        masked("cannot-see-itself", without_itself),
        masked("future-seen-past-hidden", future_only),
        masked("sees-one-ahead", sees_the_next),
        masked("no-mask-behind-a-filled-cache", unmasked_with_earlier_tokens),
        masked("earlier-tokens-hidden", earlier_tokens_hidden),
        by_knob("masks")("no-mask-with-a-cache", lambda cache: cache is None),
        Misconception("mask-of-the-new-tokens", knobs={"mask": of_the_new_tokens}, alone=True, in_any_words=True),
        masked("mask-of-all-tokens", of_all_tokens, alone=True),
        masked("mask-of-two-numbers", of_two_numbers, alone=True),
        stored("cache-not-used", not_appended),
        stored("new-tokens-see-themselves-only", new_tokens_only),
        stored("empty-cache-taken-for-none", only_if_full),
        stored("appended-twice", appended_twice, alone=True),
        stored("newest-token-only-appended", newest_only, alone=True),
        stored("keys-and-values-swapped", swapped_going_in, swapped_coming_out),
        stored("appended-before-the-split", merged_heads, split_after, alone=True),
        wrong_half("residual-forgotten", lambda x, norm, work: work(norm(x))),
        wrong_half("norm-after-the-sum", lambda x, norm, work: norm(x + work(x))),
        wrong_half("norm-forgotten", lambda x, norm, work: x + work(x)),
        wrong_half("normed-input-added", lambda x, norm, work: norm(x) + work(norm(x))),
        Misconception("one-norm-twice", knob_sets=({"norms": ("norm_1",) * 2}, {"norms": ("norm_2",) * 2})),
        by_knob("normalise")("another-layer-norm", by_sample_variance, alone=True),
        Misconception("norms-swapped", knobs={"norms": ("norm_2", "norm_1")}),
        projected("layer-transposed", transposed),
        projected("bias-forgotten", no_bias()),
        projected("some-biases-forgotten", *(no_bias(*names) for names in SOME_LAYERS), alone=True),
        projected("last-projection-forgotten", no_last_projection),
        by_knob("roles")("projections-swapped", "kqv", "qvk", "vkq"),
        by_knob("split")("heads-split-by-reshape", *SPLITS["heads-split-by-reshape"]),
        by_knob("merge")("heads-merged-by-reshape", *MERGES["heads-merged-by-reshape"]),
        by_knob("scale")("no-scale", lambda q, y: 1.0),
        by_knob("scale")("scaled-by-model-width", lambda q, y: y.shape[-1] ** 0.5),
        by_knob("activation")("relu-for-gelu", torch.relu),
        by_knob("activation")("activation-forgotten", lambda y: y),
        by_knob("activation")("gelu-by-tanh", lambda y: F.gelu(y, approximate="tanh"), alone=True),
        returned("weights-not-returned", lambda x, weights: x),
        returned("output-and-weights-swapped", lambda x, weights: (weights, x)),
        mistake("cache-returned-too", block_variant(result=lambda x, weights: (x, weights, None))),
    ),
)
