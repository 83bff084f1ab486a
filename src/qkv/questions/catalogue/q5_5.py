"""5.5: multi-head attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from qkv.attention import MultiHeadAttention, causal_mask, merge_heads, split_heads
from qkv.questions.engine import (
    Case,
    Draw,
    Layer,
    Misconception,
    Question,
    by_knob,
    call,
    in_each_layer,
    load,
    make,
    mistake,
)
from qkv.questions.engine.in_model import At, made
from qkv.questions.shared.attending import MIXES, RETURNS, Mix, Result, first_row_sum, mix_values, out_and_weights
from qkv.questions.shared.heads import HEADS, Merge, Split
from qkv.questions.shared.masking import MASKS, Weigh, draw_mask, mask_scores, with_blind_row
from qkv.questions.shared.modules import NO_SUPER_INIT, draw_layers
from qkv.questions.shared.products import PRODUCTS, Product, dot_products
from qkv.questions.shared.scales import SCALES, SCALES_OF_HEADS, Scale, root_of_d_k
from qkv.softmax import masked_softmax

LAYER_NAMES = ("w_q", "w_k", "w_v", "w_o")
QKV = tuple[Tensor, Tensor, Tensor]
Source = Callable[[Tensor, Tensor | None, Tensor | None], QKV]  # (query, key, value) -> inputs of w_q, w_k and w_v
Project = Callable[[Any, Tensor, Tensor, Tensor], QKV]  # (module, those three inputs) -> queries, keys, values

# ── the cases ─────────────────────────────────────────────────────────────────────────────────────


def draw_modules(draw: Draw) -> list[Case]:
    """Draw a module, its weights and calls of it: with and without keys, values and masks."""

    def case(
        name: str,
        *optional: str,
        over: str | None = None,
        one_sees_nothing: bool = False,
        large_where_hidden: bool = False,
        dtype: torch.dtype = torch.float32,
        **fixed: int,
    ) -> Case:
        """Draw a module and its inputs; `optional` names the arguments that are passed besides the query."""
        low = 2 if over is None else 3  # with two keys and a mask, the one visible key has the weight 1
        s = draw.sizes("B", "H", "d_head", "n_q", "n_k", low=low, high=7, **fixed)
        d = s["H"] * s["d_head"]
        n_k = s["n_k"] if "key" in optional else s["n_q"]
        x: dict[str, Tensor] = {
            "query": draw.normal(s["B"], s["n_q"], d, dtype=dtype),
            "key": draw.normal(s["B"], n_k, d, dtype=dtype),
            "value": draw.normal(s["B"], n_k, d, dtype=dtype),
        }
        if over is not None:
            mask = draw_mask(draw, (s["B"], s["H"]), s["n_q"], n_k, over)
            x["mask"] = with_blind_row(mask) if one_sees_nothing else mask
            if large_where_hidden:  # so large that the exponentials of the smaller scores are 0 even in float64
                x["key"] = x["key"] * (1 + 1999 * ~mask[:, 0, 0, :, None])
        inputs = {name: value for name, value in x.items() if name in optional or name == "query"}
        layers = draw_layers(draw, d, dict.fromkeys(LAYER_NAMES, d), dtype)
        return Case((make(d, s["H"]), load(layers), draw_call(draw, inputs)), name, {**s, "d_model": d})

    return [
        case("plain"),
        case("plain, masked", "mask", over="**qk"),
        case("cross-attention", "key"),
        case("cross-attention, masked", "key", "mask", over="**qk"),
        case("key and value of their own", "key", "value"),
        case("a value of its own", "value"),
        case("key, value and mask", "key", "value", "mask", over="**qk"),
        case("padding", "key", "mask", over="*11k"),
        case("padding full of large numbers", "key", "mask", over="*11k", large_where_hidden=True, dtype=torch.float64),
        case("one mask for all", "key", "mask", over="qk"),
        case("one mask for each head", "mask", over="1*qk"),
        case("a query that sees nothing", "key", "mask", over="*1qk", one_sees_nothing=True),
        case("float64", "key", "mask", dtype=torch.float64, over="qk"),
        case("one head", "mask", H=1, over="qk"),
        case("one feature a head", "key", d_head=1),
        case("one example", "key", "mask", B=1, over="**qk"),
        case("one query", "key", n_q=1),
        case("one key", "key", n_k=1),
        case("as many heads as tokens", "mask", H=4, n_q=4, over="qk"),
    ]


def draw_call(draw: Draw, inputs: dict[str, Tensor]) -> Any:
    """Draw a call with these inputs: the first are passed by position, the rest by keyword.

    Those by position are at least the query, and at most as many as are in the order of the signature.
    """
    names = list(inputs)
    follow = next((i for i, name in enumerate(names) if ("query", "key", "value", "mask")[i] != name), len(names))
    by_position = names[: draw.whole(1, follow)]
    return call(*(inputs[n] for n in by_position), **{n: inputs[n] for n in names if n not in by_position})


# ── an answer whose steps can be replaced ─────────────────────────────────────────────────────────


def right_sources(query: Tensor, key: Tensor | None, value: Tensor | None) -> QKV:
    key = query if key is None else key
    return query, key, key if value is None else value


def right_projections(module: Any, q: Tensor, k: Tensor, v: Tensor) -> QKV:
    return module.w_q(q), module.w_k(k), module.w_v(v)


def triangle_of(scores: Tensor) -> Tensor:
    """Return the causal mask as most code makes it: the first key belongs to the first query."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


def past_of(scores: Tensor) -> Tensor:
    return causal_mask(*scores.shape[-2:])


def all_visible(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool)


def module_variant(
    sources: Source = right_sources,
    project: Project = right_projections,
    split: Split = split_heads,
    merge: Merge = merge_heads,
    scale: Scale = root_of_d_k,
    product: Product = dot_products,
    weigh: Weigh = masked_softmax,
    change_mask: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: mask,
    mix: Mix = mix_values,
    finish: Callable[[Any, Tensor, Tensor], Tensor] = lambda module, merged, query: module.w_o(merged),
    result: Result = out_and_weights,
    default: Callable[[Tensor], Tensor] = all_visible,
) -> Callable[..., Any]:
    """Return a class, an answer: multi-head attention in which each argument replaces one part. By default it is right.

    `sources` chooses the three inputs, `weigh` makes weights of scores and mask, `finish` is the last projection, and
    `result` what is returned. `default` makes the mask if none is passed, else `change_mask` changes it.
    """

    class Variant(nn.Module):
        def __init__(self, d_model: int, n_heads: int) -> None:
            super().__init__()
            self.n_heads = n_heads
            self.w_q, self.w_k, self.w_v, self.w_o = (Layer(d_model, d_model) for _ in range(4))

        def forward(
            self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None, mask: Tensor | None = None
        ) -> Any:
            q, k, v = (split(t, self.n_heads) for t in project(self, *sources(query, key, value)))
            scores = product(q, k)
            scores = scores / scale(scores, q, k)
            weights = weigh(scores, default(scores) if mask is None else change_mask(mask, scores))
            out = finish(self, merge(mix(weights, q, k, v)), query)
            return result(out, weights, scores)

    return Variant


# ── inputs and layers ─────────────────────────────────────────────────────────────────────────────


def by_named_layers(letters: str) -> Project:
    """Return a `Project` that sends query, key and value through these layers: "kqv" means w_k, w_q and w_v.

    "-" means no projection.
    """

    def project(module: Any, *inputs: Tensor) -> Any:
        return tuple(
            x if letter == "-" else getattr(module, f"w_{letter}")(x) for x, letter in zip(inputs, letters, strict=True)
        )

    return project


def by_products(product: Callable[[Tensor, nn.Linear], Tensor]) -> Project:
    """Return a projection that applies `product(input, layer)` to each input and its layer."""
    return lambda module, q, k, v: (product(q, module.w_q), product(k, module.w_k), product(v, module.w_v))


def projected_keys_for_values(module: Any, q: Tensor, k: Tensor, v: Tensor) -> QKV:
    """Compute values from projected keys where no value was passed."""
    return module.w_q(q), module.w_k(k), module.w_v(module.w_k(k) if v is k else v)


def keys_for_values(module: Any, q: Tensor, k: Tensor, v: Tensor) -> QKV:
    return module.w_q(q), module.w_v(v), module.w_k(k)


def late_fallback(module: Any, q: Tensor, k: Any, v: Any) -> QKV:
    """Return projected queries, keys and values, where the projected query stands in for a key that was not passed.

    So do keys for values. This is a mistake: the inputs should stand in for each other before they are projected.
    """
    queries = module.w_q(q)
    keys = queries if k is None else module.w_k(k)
    return queries, keys, keys if v is None else module.w_v(v)


def as_long_as_the_queries(module: Any, q: Tensor, k: Tensor, v: Tensor) -> QKV:
    return module.w_q(q), module.w_k(k).view(q.shape), module.w_v(v).view(q.shape)


def one_for_all(scores: Tensor) -> Tensor:
    return torch.ones(1, 1, 1, dtype=torch.bool)


def hidden_with_one_more_axis(scores: Tensor, mask: Tensor) -> Tensor:
    """Hide keys by a mask that gets an axis for the heads, although it has one already, or broadcasts."""
    return mask_scores(scores, mask.unsqueeze(1), -1e9).softmax(-1)


def weighed_with_one_more_axis(scores: Tensor, mask: Tensor) -> Tensor:
    return hidden_with_one_more_axis(scores, mask) * mask.unsqueeze(1)


def viewed_and_projected(module: Any, heads: Tensor, query: Tensor) -> Tensor:
    """Merge heads with the sizes of the query, as much code does, and project: that runs also with an axis too many."""
    return module.w_o(heads.transpose(1, 2).reshape(len(query), -1, query.shape[-1]))


projected_by = by_knob("project")
taken = by_knob("sources")
finished = by_knob("finish")
returned = by_knob("result")

LAYERS = (
    projected_by("projections-swapped", *map(by_named_layers, ("kqv", "qvk", "vkq"))),
    projected_by("not-projected", *map(by_named_layers, ("---", "qk-", "q-v", "-kv"))),
    projected_by("one-layer-for-two", *map(by_named_layers, ("qqv", "kkv", "qvv", "qkk", "qkq"))),
    Misconception(
        "fallback-after-projection",
        knobs={"sources": lambda query, key, value: (query, key, value), "project": late_fallback},
        alone=True,
    ),
    Misconception(
        "length-of-the-queries-for-keys", knobs={"project": as_long_as_the_queries}, in_any_words=True, alone=True
    ),
    projected_by("keys-and-values-swapped", keys_for_values),
    projected_by("values-projected-twice", projected_keys_for_values),
    projected_by("layer-transposed", by_products(lambda x, layer: x @ layer.weight + layer.bias)),
    projected_by("bias-forgotten", by_products(lambda x, layer: x @ layer.weight.mT)),
    finished("output-not-projected", lambda module, merged, query: merged),
    finished("input-added", lambda module, merged, query: module.w_o(merged) + query),
    NO_SUPER_INIT,
)

SOURCES = (
    taken("key-and-value-ignored", lambda query, key, value: (query, query, query)),
    taken("key-ignored", lambda query, key, value: (query, query, query if value is None else value)),
    taken("value-ignored", lambda query, key, value: right_sources(query, key, None)),
    taken(
        "value-defaults-to-query",
        lambda query, key, value: right_sources(query, key, query if value is None else value),
    ),
)

# ── attention in each head ────────────────────────────────────────────────────────────────────────

# Ideas that often occur together with another one. To try all pairs of ideas would take seconds.
OFTEN_WITH_OTHERS = (
    *("no-scale", "scaled-by-d-k", "keys-not-transposed"),
    *("mask-inverted", "mask-ignored", "nan-on-a-blind-row", "softmax-over-queries"),
)
# With the heads on axis 1, these twins have another name here: the number of heads, or the softmax over heads.
MEANS_ANOTHER_IDEA_HERE = (
    *("scaled-by-first-axis", "axis-counted-from-the-front", "root-rounded", "scaled-by-a-leading-axis"),
    *("axes-swapped-from-the-front", "axes-of-a-batch-alone", "softmax-axis-from-the-front"),
)

ATTENTION = tuple(
    replace(idea, alone=idea.slug not in OFTEN_WITH_OTHERS)
    for idea in (*SCALES, *PRODUCTS, *MASKS, *MIXES, *RETURNS)
    if idea.slug not in MEANS_ANOTHER_IDEA_HERE
)

# ── in the trained tagger ─────────────────────────────────────────────────────────────────────────


def module_in_model(answer: Any, at: At) -> Tensor:
    """Return the output of attention in one layer, computed with a module of the answer's class with our weights.

    Raises:
        Exception: as in `made`.
    """
    ours = at.block.attention
    module = made(answer, (ours.w_q.in_features, ours.n_heads), ours.state_dict())
    return module(at["attention.normed"], mask=at.mask.clone())[0]


QUESTION = Question(
    points=6,
    inputs=("query", "key", "value", "mask"),
    outputs=("out (B, n_q, d_model)", "weights (B, H, n_q, n_k)"),
    draw=draw_modules,
    reference=MultiHeadAttention,
    variant=module_variant,
    gradients=True,
    tokens=-2,
    in_model=in_each_layer("attention.out", module_in_model, padded=True),
    row_sums={"weights": 1.0},
    quotes={"d_k": lambda seen: seen["d_head"], "first_row_sum": first_row_sum},
    misconceptions=(
        *HEADS,
        mistake("heads-not-merged", module_variant(merge=lambda x: x)),
        *LAYERS,
        *SCALES_OF_HEADS,
        *ATTENTION,
        Misconception(
            "causal-though-not-asked",
            knob_sets=(
                {"default": past_of},
                {"default": past_of, "change_mask": lambda mask, scores: mask & past_of(scores)},
                {"default": triangle_of},
                {"default": triangle_of, "change_mask": lambda mask, scores: mask & triangle_of(scores)},
            ),
        ),
        Misconception(
            "mask-with-one-more-axis",
            knob_sets=tuple(
                {"weigh": weigh, "default": one_for_all, **merging}
                for weigh in (weighed_with_one_more_axis, hidden_with_one_more_axis)
                for merging in ({"merge": lambda heads: heads, "finish": viewed_and_projected}, {})
            ),
            alone=True,
        ),
        *SOURCES,
        returned("weights-averaged-over-heads", lambda out, weights, scores: (out, weights.mean(1))),
        returned("weights-of-one-head", lambda out, weights, scores: (out, weights[:, 0])),
    ),
)
