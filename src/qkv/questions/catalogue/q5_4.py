"""5.4: attention with a mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, causal_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, call, in_each_layer, mistake
from qkv.questions.engine.in_model import At
from qkv.questions.shared.attending import MIXES, RETURNS, Mix, Result, first_row_sum, mix_values, out_and_weights
from qkv.questions.shared.masking import MASKS, Weigh, draw_mask, mask_scores, with_blind_row, zero_on_blind_rows
from qkv.questions.shared.products import PRODUCTS, Product, dot_products
from qkv.questions.shared.scales import NON_SQUARES, SCALES, Scale, root_of_d_k
from qkv.softmax import masked_softmax
from qkv.words import mark

# ── the cases ─────────────────────────────────────────────────────────────────────────────────────


def draw_masked(draw: Draw) -> list[Case]:
    """Draw queries, keys, values and masks that broadcast in several ways, also with rows that see nothing."""

    def case(
        name: str, leading: tuple[int, ...] = (), over: str = "qk", dtype: torch.dtype = torch.float32, **fixed: int
    ) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", "d_v", **{"d_k": draw.choose(NON_SQUARES)} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        k = draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)
        v = draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)
        return Case(call(q, k, v, draw_mask(draw, leading, s["n_q"], s["n_k"], over)), name, s)

    def with_mask(name: str, change: Callable[[Tensor], Tensor], **fixed: Any) -> Case:
        original = case(name, **fixed)
        q, k, v, mask = original.script[0].args
        return Case(call(q, k, v, change(mask)), name, original.sizes)

    same = draw.choose(NON_SQUARES)
    batch, heads = draw.choose(((2, 3), (3, 2)))
    return [
        case("plain"),
        case("plain"),
        case("a batch", (batch,), "*qk"),
        case("a batch, one mask for all", (batch,)),
        case("two axes in front", (batch, heads), "**qk"),
        case("padding: one row for all heads and queries", (batch, heads), "*11k"),
        case("one mask for each example", (batch, heads), "*1qk"),
        case("a mask of one row", (), "k"),
        case("float64", dtype=torch.float64),
        with_mask(mark("a row that sees nothing"), with_blind_row),
        with_mask(mark("two examples' padding"), lambda mask: mask.any(0, keepdim=True)),
        with_mask(mark("a causal mask"), lambda mask: causal_mask(*mask.shape), n_q=same, n_k=same),
        with_mask(mark("all visible"), torch.ones_like),
        with_mask(mark("nothing visible"), torch.zeros_like),
        with_mask(mark("one key visible for each query"), one_visible_key_each),
        case("one key", n_k=1),
        case("one query", n_q=1),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_v=same),
        example_of_padding_only(draw, batch, heads),
        scores_far_below_zero(draw, mark("scores far below 0")),
        scores_far_below_zero(draw, mark("scores far below -9,975"), offset=-40_000.0, dtype=torch.float64),
        hidden_scores_far_above(draw),
    ]


def one_visible_key_each(mask: Tensor) -> Tensor:
    return torch.eye(mask.shape[-1], dtype=torch.bool)[torch.arange(len(mask)) * 2 % mask.shape[-1]]


def example_of_padding_only(draw: Draw, batch: int, heads: int) -> Case:
    """Draw a batch in which every token of one example is padding."""
    s = draw.sizes("n_q", "n_k", "d_k", "d_v")
    q, k = (draw.normal(batch, heads, s[n], s["d_k"]) for n in ("n_q", "n_k"))
    v = draw.normal(batch, heads, s["n_k"], s["d_v"])
    real = torch.arange(s["n_k"]) < torch.tensor([s["n_k"] - 1, 0, 2])[:batch, None]
    return Case(call(q, k, v, real[:, None, None, :]), "an example without a real token", s)


def scores_far_below_zero(draw: Draw, name: str, offset: float = -100.0, dtype: torch.dtype = torch.float32) -> Case:
    """Draw scores so far below 0 that a hidden key wins if its score is a large negative number instead of −∞."""
    s = draw.sizes("n_q", "n_k", "d_k", "d_v", d_k=draw.choose(NON_SQUARES))
    q = draw.normal(s["n_q"], s["d_k"], dtype=dtype).abs()
    k = draw.normal(s["n_k"], s["d_k"], dtype=dtype) + offset  # an offset for all keys changes no weight
    mask = draw_mask(draw, (), s["n_q"], s["n_k"], "qk")
    step = call(q, k, draw.normal(s["n_k"], s["d_v"], dtype=dtype), mask)
    tolerance = 1e-3 if dtype == torch.float32 else None
    return Case(step, name, s, gradients=False, tolerance=tolerance)


def hidden_scores_far_above(draw: Draw) -> Case:
    """Draw hidden scores 16,000 to 100,000 above the others, so that the visible exponentials are 0 even in float64.

    Then a softmax over all keys gives the visible keys the weight 0, and no later division can repair that.
    """
    s = draw.sizes("n_q", "n_k", "d_k", "d_v", d_k=draw.choose(NON_SQUARES))
    q = draw.normal(s["n_q"], s["d_k"]).abs() + 1
    mask = draw_mask(draw, (), s["n_q"], s["n_k"], "k")
    k = draw.normal(s["n_k"], s["d_k"]) + 8000 * ~mask[:, None]
    step = call(q, k, draw.normal(s["n_k"], s["d_v"]), mask)
    return Case(step, "hidden scores far above the others", s, gradients=False)


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────


def masked_variant(
    scale: Scale = root_of_d_k,
    product: Product = dot_products,
    weigh: Weigh = masked_softmax,
    change_mask: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: mask,
    mix: Mix = mix_values,
    result: Result = out_and_weights,
) -> Callable[..., Any]:
    """Return an answer(q, k, v, mask) → out, weights; each argument replaces one of its steps.

    By default it is right.
    """

    def variant(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
        scores = product(q, k)
        scores = scores / scale(scores, q, k)
        weights = weigh(scores, change_mask(mask, scores))
        return result(mix(weights, q, k, v), weights, scores)

    return variant


def scaled_by_d_v(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
    return masked_variant(scale=lambda *_: math.sqrt(v.shape[-1]))(q, k, v, mask)


def scale_after_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = masked_softmax(dot_products(q, k), mask) / math.sqrt(q.shape[-1])
    return weights @ v, weights


def only_the_values_hidden(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = attention(q, k, v)[1]
    return (weights * mask) @ v, weights


def nan_where_blind(value: Tensor, mask: Tensor) -> Tensor:
    return value.masked_fill(~mask.any(-1, keepdim=True), math.nan)


def nan_in_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    out, weights = attention(q, k, v, mask)
    return out, nan_where_blind(weights, mask)


def nan_in_output(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    out, weights = attention(q, k, v, mask)
    return nan_where_blind(out, mask), weights


def mean_in_output(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Set the weights of a blind row to zero after the output was made with equal ones."""
    out, weights = attention(q, k, v, mask)
    return torch.where(mask.any(-1, keepdim=True), out, v.mean(-2, keepdim=True)), weights


WITH_ONE_MORE_AXIS: tuple[Weigh, ...] = (
    lambda scores, mask: mask_scores(scores, mask.unsqueeze(1), -1e9).softmax(-1),
    lambda scores, mask: mask_scores(scores, mask.unsqueeze(1), -1e9).softmax(-1) * mask.unsqueeze(1),
    lambda scores, mask: mask_scores(scores, mask.unsqueeze(1), -1e9).softmax(-1) * mask,
)


def large_numbers(most: float) -> tuple[Weigh, ...]:
    """Return ways to weigh scores that hide keys by this number in place of infinity, with a minus."""

    def filled_in(scores: Tensor, mask: Tensor) -> Tensor:
        return mask_scores(scores, mask, -most).softmax(-1)

    def added(scores: Tensor, mask: Tensor) -> Tensor:
        return (scores - most * ~mask).softmax(-1)

    def then_zero(scores: Tensor, mask: Tensor) -> Tensor:
        return filled_in(scores, mask) * mask

    return filled_in, zero_on_blind_rows(filled_in), added, zero_on_blind_rows(added), then_zero


def blind_columns_for_rows(scores: Tensor, mask: Tensor) -> Tensor:
    """Give zeros to keys that no query sees, where queries that see no key should get them."""
    weights = mask_scores(scores, mask).softmax(-1)
    return weights.masked_fill(~mask.expand_as(scores).any(-2, keepdim=True), 0.0)


def mask_changed_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    mask.logical_not_()
    return attention(q, k, v, ~mask)


def queries_changed_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    q.div_(math.sqrt(q.shape[-1]))
    return attention(q * math.sqrt(q.shape[-1]), k, v, mask)


def attend_in_model(answer: Callable[..., Any], at: At) -> Tensor:
    return answer(*(at[f"attention.{x}"] for x in "qkv"), at.mask.clone())[0]


QUESTION = Question(
    called="masked_attention",
    points=4,
    inputs=("q", "k", "v", "mask"),
    outputs=("out (..., n_q, d_v)", "weights (..., n_q, n_k)"),
    draw=draw_masked,
    reference=attention,
    variant=masked_variant,
    gradients=True,
    tokens=-2,
    in_model=in_each_layer("attention.heads", attend_in_model, padded=True),
    row_sums={"weights": 1.0},
    quotes={"first_row_sum": first_row_sum},
    misconceptions=(
        *(idea for idea in MASKS if idea.slug != "nan-on-a-blind-row"),
        *(
            replace(idea, twins=(masked_variant(weigh=blind_columns_for_rows),))
            for idea in MASKS
            if idea.slug == "nan-on-a-blind-row"
        ),
        *SCALES,
        *PRODUCTS,
        *MIXES,
        *RETURNS,
        Misconception(
            "mask-transposed", knobs={"change_mask": lambda mask, scores: mask.mT if mask.ndim > 1 else mask}
        ),
        Misconception(
            "large-number-for-minus-infinity",
            twins=tuple(masked_variant(weigh=way) for most in (1e3, 100.0) for way in large_numbers(most)),
            knob_sets=tuple({"weigh": way} for way in large_numbers(1e4)),
        ),
        mistake("scaled-by-d-v", scaled_by_d_v),
        mistake("scale-after-softmax", scale_after_softmax),
        mistake("values-used-as-keys", lambda q, k, v, mask: attention(q, v, v, mask)),
        mistake("keys-and-values-swapped", lambda q, k, v, mask: attention(q, v, k, mask)),
        mistake(
            "output-of-unmasked-weights", lambda q, k, v, mask: (attention(q, k, v)[0], attention(q, k, v, mask)[1])
        ),
        mistake("only-the-values-are-hidden", only_the_values_hidden),
        mistake("nan-in-the-weights-of-a-blind-row", nan_in_weights),
        mistake("nan-in-the-output-of-a-blind-row", nan_in_output),
        mistake("mean-in-the-output-of-a-blind-row", mean_in_output),
        Misconception(
            "mask-with-one-more-axis", knob_sets=tuple({"weigh": way} for way in WITH_ONE_MORE_AXIS), alone=True
        ),
        mistake("inputs-changed", mask_changed_in_place, queries_changed_in_place),
    ),
)
