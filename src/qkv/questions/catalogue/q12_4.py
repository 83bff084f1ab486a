"""12.4: the writer without one head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.questions.shared.writing import Weights, draw_writer, provided, without_head, writer

Change = Callable[[Tensor, int, int], Tensor]  # (W_O of the layer, head, d_head) -> the changed W_O


def draw_lost(draw: Draw) -> list[Case]:
    """Draw writers, and a head of each that is lost."""

    def case(
        name: str, layer: int | None = None, head: int | None = None, dtype: torch.dtype = torch.float32, **fixed: int
    ) -> Case:
        s = draw.sizes("B", "n", "H", "d_head", low=2, high=6, **{"H": 3} | fixed)
        s["L"] = fixed.get("L", 3)
        s |= {"vocab": draw.whole(31, 39), "d_hidden": draw.whole(40, 46), "n_max": s["n"] + 2}
        w = provided(draw_writer(draw, s, dtype))
        ids = draw.ids(s["B"], s["n"], below=s["vocab"])
        layer = draw.whole(0, s["L"] - 1) if layer is None else layer
        head = draw.whole(0, s["H"] - 1) if head is None else head
        return Case(call(ids, w, s["H"], layer, head), name, s)

    return [
        case("plain", layer=1, head=2),
        case("plain", layer=0, head=1),
        case("the last layer", layer=2, head=0),
        case("one layer", layer=0, L=1),
        case("one head", head=0, H=1, d_head=8),
        case("one feature a head", layer=2, head=1, H=7, d_head=1),
        case("one text", B=1),
        case("float64", dtype=torch.float64, layer=1, head=0),
    ]


# ── wrong ways to lose a head ─────────────────────────────────────────────────────────────────────


def with_output(change: Change, layers: Callable[[int, int], list[int]] = lambda layer, n: [layer]) -> Any:
    """Return an answer(ids, w, n_heads, layer, head) that changes W_O by `change`: its columns of a head, for instance.

    `change` gets a copy. `layers` chooses the layers in which it does so, by default only the one of the head.
    """

    def variant(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
        n_layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
        changed = dict(w)
        for one in layers(layer, n_layers):
            name = f"stack.blocks.{one}.attention.w_o.weight"
            changed[name] = change(w[name].clone(), head, w[name].shape[1] // n_heads)
        return writer(ids, changed, n_heads)[0]

    return variant


def with_zeros(name: str, also_bias: bool) -> Callable[..., Tensor]:
    """Return an answer that writes zeros into the head's rows of the matrix `name`, such as w_q, instead of W_O.

    With `also_bias`, the bias is changed too.
    """

    def variant(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
        key = f"stack.blocks.{layer}.attention.{name}"
        d_head = len(w[f"{key}.bias"]) // n_heads
        changed = dict(w)
        for kind in ("weight", "bias") if also_bias else ("weight",):
            changed[f"{key}.{kind}"] = w[f"{key}.{kind}"].clone()
            changed[f"{key}.{kind}"][head * d_head : (head + 1) * d_head] = 0
        return writer(ids, changed, n_heads)[0]

    return variant


def columns(w_o: Tensor, head: int, d_head: int) -> Tensor:
    w_o[:, head * d_head : (head + 1) * d_head] = 0
    return w_o


def rows(w_o: Tensor, head: int, d_head: int) -> Tensor:
    w_o[head * d_head : (head + 1) * d_head] = 0
    return w_o


def every_nth(w_o: Tensor, head: int, d_head: int) -> Tensor:
    w_o[:, head :: w_o.shape[1] // d_head] = 0
    return w_o


def one_column(w_o: Tensor, head: int, d_head: int) -> Tensor:
    w_o[:, head] = 0
    return w_o


def all_others(w_o: Tensor, head: int, d_head: int) -> Tensor:
    return w_o - columns(w_o.clone(), head, d_head)


def whole_layer(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
    names = [f"stack.blocks.{layer}.attention.w_o.{kind}" for kind in ("weight", "bias")]
    return writer(ids, {**w, **{name: torch.zeros_like(w[name]) for name in names}}, n_heads)[0]


def bias_lost_too(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
    bias = f"stack.blocks.{layer}.attention.w_o.bias"
    return without_head(ids, {**w, bias: torch.zeros_like(w[bias])}, n_heads, layer, head)


def weights_written_over(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
    columns(w[f"stack.blocks.{layer}.attention.w_o.weight"], head, w["stack.norm.bias"].shape[0] // n_heads)
    return writer(ids, w, n_heads)[0]


def difference(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
    return without_head(ids, w, n_heads, layer, head) - writer(ids, w, n_heads)[0]


by_output = by_knob("change")

QUESTION = Question(
    points=5,
    inputs=("ids", "w", "n_heads", "layer", "head"),
    outputs=("logits (B, n, vocab)",),
    draw=draw_lost,
    reference=without_head,
    misconceptions=(
        mistake("nothing-lost", lambda ids, w, n_heads, layer, head: writer(ids, w, n_heads)[0]),
        mistake("rows-for-columns", with_output(rows)),
        mistake("features-dealt-out", with_output(every_nth)),
        mistake("one-feature-for-a-head", with_output(one_column)),
        mistake("this-head-alone", with_output(all_others)),
        mistake("lost-in-every-layer", with_output(columns, lambda layer, n: list(range(n)))),
        mistake("another-layer", with_output(columns, lambda layer, n: [(layer + 1) % n])),
        mistake("layers-counted-from-one", with_output(columns, lambda layer, n: [layer - 1] if layer else [])),
        mistake(
            "heads-counted-from-one",
            with_output(lambda w_o, head, d_head: columns(w_o, head - 1, d_head) if head else w_o),
        ),
        mistake("whole-layer-lost", whole_layer),
        mistake("bias-lost-too", bias_lost_too),
        mistake("zeros-in-queries-or-keys", with_zeros("w_q", True), with_zeros("w_k", True), with_zeros("w_k", False)),
        mistake("bias-of-the-values-left", with_zeros("w_v", False)),
        mistake("inputs-changed", weights_written_over),
        mistake("difference-returned", difference),
        mistake(
            "probabilities-returned",
            lambda ids, w, n_heads, layer, head: without_head(ids, w, n_heads, layer, head).softmax(-1),
        ),
    ),
)
