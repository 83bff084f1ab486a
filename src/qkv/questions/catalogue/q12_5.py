"""12.5: the head that the writer needs most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, InModel, Question, by_knob, call, mistake
from qkv.questions.shared.writing import Weights, draw_writer, heads_needed, provided, without_head, writer
from qkv.transformer import next_token_loss
from qkv.words import t

Loss = Callable[[Tensor, Tensor], Tensor]  # (logits, ids) -> one number
Compare = Callable[[Tensor, Tensor], Tensor]  # (loss without the head, loss before) -> the number of this head


def draw_texts(draw: Draw) -> list[Case]:
    """Draw writers, and texts on which their heads are compared."""

    def case(name: str, dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("B", "n", "H", "d_head", low=3, high=6, **{"H": 2, "d_head": 4} | fixed)
        s["L"] = fixed.get("L", 2)  # few heads: with each, the whole writer runs once more
        s |= {"vocab": draw.whole(11, 15), "d_hidden": draw.whole(20, 26), "n_max": s["n"] + 2}
        w = draw_writer(draw, s, dtype)
        ids = draw.ids(s["B"], s["n"], below=s["vocab"])
        return Case(call(ids, provided(w), s["H"]), name, s)

    return [
        case("plain", H=3),
        case("plain"),
        case("one layer", L=1),
        case("one head", H=1, L=3, d_head=8),
        case("one text", B=1),
        case("float64", dtype=torch.float64),
    ]


# ── an answer whose steps can be replaced ─────────────────────────────────────────────────────────


def surprise(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)


def needed_variant(
    loss: Loss = next_token_loss,
    compare: Compare = lambda lost, before: lost - before,
    layers: Callable[[int], list[int]] = lambda n: list(range(n)),
    lose: Callable[..., Tensor] = without_head,
    after: Callable[[Tensor], Any] = lambda rise: rise,
) -> Callable[..., Any]:
    """Return an answer(ids, w, n_heads) → (L, H); each argument replaces one of its steps.

    By default it is right. `lose` gives the logits without a head, `compare` a head's number, `layers` are the layers
    that are tried, and `after` changes the table.
    """

    def variant(ids: Tensor, w: Weights, n_heads: int) -> Any:
        n_layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
        before = loss(writer(ids, w, n_heads)[0], ids)

        def of(layer: int, head: int) -> Tensor:
            return compare(loss(lose(ids, w, n_heads, layer, head), ids), before)

        rise = torch.stack([torch.stack([of(layer, head) for head in range(n_heads)]) for layer in layers(n_layers)])
        return after(rise)

    return variant


def one_after_another(ids: Tensor, w: Weights, n_heads: int) -> Tensor:
    """Return a wrong table (L, H) of how much the writer's loss rises as the heads are lost one after another.

    None is given back before the next one is lost.
    """
    w, losses = dict(w), []
    n_layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
    before = next_token_loss(writer(ids, w, n_heads)[0], ids)
    for layer in range(n_layers):
        for head in range(n_heads):
            name = f"stack.blocks.{layer}.attention.w_o.weight"
            d_head = w[name].shape[1] // n_heads
            w[name] = w[name].clone()
            w[name][:, head * d_head : (head + 1) * d_head] = 0
            losses.append(next_token_loss(writer(ids, w, n_heads)[0], ids) - before)
    return torch.stack(losses).view(n_layers, n_heads)


def other_heads_lost(ids: Tensor, w: Weights, n_heads: int, layer: int, head: int) -> Tensor:
    """Return the writer's logits if this head is the only one left in its layer: a wrong way to lose a head."""
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    d_head = w[name].shape[1] // n_heads
    kept = torch.zeros_like(w[name])
    kept[:, head * d_head : (head + 1) * d_head] = w[name][:, head * d_head : (head + 1) * d_head]
    return writer(ids, {**w, name: kept}, n_heads)[0]


def share_wrong(logits: Tensor, ids: Tensor) -> Tensor:
    return (logits[:, :-1].argmax(-1) != ids[:, 1:]).to(logits.dtype).mean()


def says(answer: Callable[..., Any], ids: Tensor, w: Weights, n_heads: int) -> str:
    """Return a sentence that says which head of the trained writer is needed most, by the answer's numbers."""
    rise = answer(ids, w, n_heads)
    layer, head = divmod(int(rise.argmax()), n_heads)
    return t(
        "With your `{name}` in place of ours, the trained writer needs head {head} of layer {layer} most: "
        "without it, the loss of {n} new sentences rises by {rise} nats.",
        name=heads_needed.__name__,
        head=head,
        layer=layer,
        n=len(ids),
        rise=f"{float(rise.max()):.2f}",
    )


losing = by_knob("loss")
compared = by_knob("compare")
returned = by_knob("after", alone=True)
# `alone`: ideas that are seldom combined with another one. To try all pairs takes long: each runs the writer often.

QUESTION = Question(
    points=5,
    inputs=("ids", "w", "n_heads"),
    outputs=("rise (L, H)",),
    draw=draw_texts,
    reference=heads_needed,
    variant=needed_variant,
    any_float=True,
    in_model=InModel("writer", says=says),
    misconceptions=(
        compared("loss-for-its-rise", lambda lost, before: lost),
        compared("sign-turned", lambda lost, before: before - lost),
        compared(
            "ratio-for-difference",
            lambda lost, before: lost / before,
            lambda lost, before: lost / before - 1,
            alone=True,
        ),
        compared("perplexities", lambda lost, before: lost.exp() - before.exp(), alone=True),
        losing("loss-not-shifted", lambda logits, ids: surprise(logits, ids)),
        losing("shifted-backwards", lambda logits, ids: surprise(logits[:, 1:], ids[:, :-1])),
        losing("last-token-only", lambda logits, ids: surprise(logits[:, -2:-1], ids[:, -1:]), alone=True),
        losing("first-text-only", lambda logits, ids: next_token_loss(logits[:1], ids[:1]), alone=True),
        losing("summed", lambda logits, ids: surprise(logits[:, :-1], ids[:, 1:], "sum")),
        losing("share-of-wrong-words", share_wrong, alone=True),
        losing("softmax-before-the-loss", lambda logits, ids: next_token_loss(logits.softmax(-1), ids), alone=True),
        by_knob("layers")("first-layer-only", lambda n: [0] * n, alone=True),
        by_knob("layers")("layers-from-the-last", lambda n: list(range(n))[::-1], alone=True),
        by_knob("lose")("other-heads-lost", other_heads_lost, alone=True),
        mistake("heads-not-given-back", one_after_another),
        returned("heads-first", lambda rise: rise.mT),
        returned("flattened", lambda rise: rise.flatten()),
        returned("number-of-the-head-returned", lambda rise: rise.flatten().argmax()),
        returned("largest-rise-only", lambda rise: rise.max()),
        returned("list-returned", lambda rise: rise.tolist()),
    ),
)
