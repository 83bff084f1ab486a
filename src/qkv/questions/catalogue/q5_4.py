"""5.4: attention with a mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, causal_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, call, mistake
from qkv.questions.shared.attending import MIXES, RETURNS, Give, Mix, first_row_sum, mixed, out_and_weights
from qkv.questions.shared.masking import MASKS, Share, draw_mask, with_blind_row
from qkv.questions.shared.products import PRODUCTS, Product, q_with_k
from qkv.questions.shared.scales import ROOTLESS, SCALES, Scale, by_root
from qkv.softmax import masked_softmax

# ── what it is tried with ─────────────────────────────────────────────────────────────────────────


def draw_masked(draw: Draw) -> list[Case]:
    def case(
        name: str, leading: tuple[int, ...] = (), over: str = "qk", dtype: torch.dtype = torch.float32, **fixed: int
    ) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", "d_v", **{"d_k": draw.choose(ROOTLESS)} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        k = draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)
        v = draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)
        return Case(call(q, k, v, draw_mask(draw, leading, s["n_q"], s["n_k"], over)), name, s)

    def with_mask(name: str, change: Callable[[Tensor], Tensor], **fixed: Any) -> Case:
        made = case(name, **fixed)
        q, k, v, mask = made.script[0].args
        return Case(call(q, k, v, change(mask)), name, made.sizes)

    same = draw.choose(ROOTLESS)
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
        with_mask("a row that sees nothing", with_blind_row),
        with_mask("two examples' padding", lambda mask: mask.any(0, keepdim=True)),
        with_mask("a causal mask", lambda mask: causal_mask(*mask.shape), n_q=same, n_k=same),
        with_mask("all visible", torch.ones_like),
        with_mask("nothing visible", torch.zeros_like),
        with_mask("one key visible for each query", one_key_each),
        case("one key", n_k=1),
        case("one query", n_q=1),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_v=same),
        padded_to_nothing(draw, batch, heads),
        far_below_zero(draw),
        far_above(draw),
    ]


def one_key_each(mask: Tensor) -> Tensor:
    return torch.eye(mask.shape[-1], dtype=torch.bool)[torch.arange(len(mask)) * 2 % mask.shape[-1]]


def padded_to_nothing(draw: Draw, batch: int, heads: int) -> Case:
    """A batch with an example that is padding throughout."""
    s = draw.sizes("n_q", "n_k", "d_k", "d_v")
    q, k = (draw.normal(batch, heads, s[n], s["d_k"]) for n in ("n_q", "n_k"))
    v = draw.normal(batch, heads, s["n_k"], s["d_v"])
    real = torch.arange(s["n_k"]) < torch.tensor([s["n_k"] - 1, 0, 2])[:batch, None]
    return Case(call(q, k, v, real[:, None, None, :]), "an example without a real token", s)


def far_below_zero(draw: Draw) -> Case:
    """Scores so far below 0 that a hidden key wins when its score is set to a large negative number, and not to −∞."""
    s = draw.sizes("n_q", "n_k", "d_k", "d_v", d_k=draw.choose(ROOTLESS))
    q = draw.normal(s["n_q"], s["d_k"]).abs()
    k = draw.normal(s["n_k"], s["d_k"]) - 100  # the same offset for all keys of a query: no weight moves
    mask = draw_mask(draw, (), s["n_q"], s["n_k"], "qk")
    handed = call(q, k, draw.normal(s["n_k"], s["d_v"]), mask)
    return Case(handed, "scores far below 0", s, gradients=False, tolerance=1e-3)


def far_above(draw: Draw) -> Case:
    """Hidden scores 800 to 5,000 above the others: beside them, visible exponentials are 0 even in float64.

    So a softmax over all keys leaves nothing for the visible ones, and no later division repairs that.
    """
    s = draw.sizes("n_q", "n_k", "d_k", "d_v", d_k=draw.choose(ROOTLESS))
    q = draw.normal(s["n_q"], s["d_k"]).abs() + 1
    mask = draw_mask(draw, (), s["n_q"], s["n_k"], "k")
    k = draw.normal(s["n_k"], s["d_k"]) + 400 * ~mask[:, None]
    handed = call(q, k, draw.normal(s["n_k"], s["d_v"]), mask)
    return Case(handed, "hidden scores far above the others", s, gradients=False)


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────


def masked_variant(
    scale: Scale = by_root,
    product: Product = q_with_k,
    share: Share = masked_softmax,
    see: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: mask,
    mix: Mix = mixed,
    give: Give = out_and_weights,
) -> Callable[..., Any]:
    """Give a masked attention that goes wrong at some of its steps."""

    def variant(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
        scores = product(q, k)
        scores = scores / scale(scores, q, k)
        weights = share(scores, see(mask, scores))
        return give(mix(weights, q, k, v), weights, scores)

    return variant


def by_root_of_d_v(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
    return masked_variant(scale=lambda *_: math.sqrt(v.shape[-1]))(q, k, v, mask)


def weights_scaled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = masked_softmax(q_with_k(q, k), mask) / math.sqrt(q.shape[-1])
    return weights @ v, weights


def hidden_values_left_out(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
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


def mask_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    mask.logical_not_()
    return attention(q, k, v, ~mask)


def scaled_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    q.div_(math.sqrt(q.shape[-1]))
    return attention(q * math.sqrt(q.shape[-1]), k, v, mask)


QUESTION = Question(
    called="masked_attention",
    points=4,
    inputs=("q", "k", "v", "mask"),
    outputs=("out (..., n_q, d_v)", "weights (..., n_q, n_k)"),
    draw=draw_masked,
    reference=attention,
    variant=masked_variant,
    gradients=True,
    row_sums={"weights": 1.0},
    quotes={"first_row_sum": first_row_sum},
    misconceptions=(
        *MASKS,
        *SCALES,
        *PRODUCTS,
        *MIXES,
        *RETURNS,
        Misconception("mask-transposed", knobs={"see": lambda mask, scores: mask.mT if mask.ndim > 1 else mask}),
        mistake("scaled-by-d-v", by_root_of_d_v),
        mistake("scale-after-softmax", weights_scaled),
        mistake("values-used-as-keys", lambda q, k, v, mask: attention(q, v, v, mask)),
        mistake("keys-and-values-swapped", lambda q, k, v, mask: attention(q, v, k, mask)),
        mistake(
            "output-of-unmasked-weights", lambda q, k, v, mask: (attention(q, k, v)[0], attention(q, k, v, mask)[1])
        ),
        mistake("only-the-values-are-hidden", hidden_values_left_out),
        mistake("nan-in-the-weights-of-a-blind-row", nan_in_weights),
        mistake("nan-in-the-output-of-a-blind-row", nan_in_output),
        mistake("inputs-changed", mask_in_place, scaled_in_place),
    ),
)
