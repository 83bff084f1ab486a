"""2.5: single-head attention as a module."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from qkv.attention import attention
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
from qkv.questions.engine.in_model import At, head_matrices, made, with_ones
from qkv.questions.shared.attending import ATTENTION, attention_variant, first_row_sum
from qkv.questions.shared.modules import NO_SUPER_INIT, draw_layers
from qkv.questions.shared.projecting import ROLES, Roles, right_roles
from qkv.questions.shared.scales import NON_SQUARES


class Projections(nn.Module):
    """The three layers of a twin. They have a bias, which an answer's layers may lack."""

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.w_q = Layer(d_model, d_k)
        self.w_k = Layer(d_model, d_k)
        self.w_v = Layer(d_model, d_v)


Attend = Callable[[Tensor, Tensor, Tensor], Any]
Apply = Callable[[Layer, Tensor], Tensor]  # (layer, x) -> projection


def draw_heads(draw: Draw) -> list[Case]:
    """Draw the sizes and the weights of a head, and tokens for one call or two."""

    def case(
        name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, then: int = 0, **fixed: int
    ) -> Case:
        s = draw.sizes("n", "d_model", "d_k", "d_v", **{"d_k": draw.choose(NON_SQUARES)} | fixed)
        calls = [call(draw.normal(*leading, s["n"], s["d_model"], dtype=dtype))]
        if then:
            calls.append(call(draw.normal(then, s["d_model"], dtype=dtype)))
        layers = draw_layers(draw, s["d_model"], {"w_q": s["d_k"], "w_k": s["d_k"], "w_v": s["d_v"]}, dtype)
        return Case((make(s["d_model"], s["d_k"], s["d_v"]), load(layers), *calls), name, s)

    same = draw.choose(NON_SQUARES)
    return [
        *draw.situations(case),
        case("one sequence after another", n=5, then=8),
        case("n = 1", n=1),
        case("d_k = 1", d_k=1),
        case("d_v = 1", d_v=1),
        case("as many tokens as d_k", n=same, d_k=same),
        case("d_k = d_v", d_k=same, d_v=same),
        case("d_k = d_v = d_model", d_model=same, d_k=same, d_v=same),
        case("all sizes equal", n=same, d_model=same, d_k=same, d_v=same),
    ]


def head(
    attend: Attend = attention, roles: Roles = right_roles, apply: Apply = nn.Linear.forward
) -> Callable[..., Any]:
    """Return a class, an answer, that projects by `roles` and `apply`, and returns what `attend(q, k, v)` does.

    By default it is right.
    """

    class SingleHead(Projections):
        def forward(self, x: Tensor) -> Any:
            return attend(*roles(x, *(partial(apply, layer) for layer in (self.w_q, self.w_k, self.w_v))))

    return SingleHead


def head_variant(roles: Roles = right_roles, apply: Apply = nn.Linear.forward, **knobs: Any) -> Callable[..., Any]:
    """Return an answer; besides `roles` and `apply`, it takes the knobs of `attention_variant`."""
    return head(attention_variant(**knobs), roles, apply)


# ── mistakes in `attention` ───────────────────────────────────────────────────────────────────────

# Left out: n_q equals n_k here, so mistakes about n_q are mistakes about n_k; wrong layers are in ROLES.
NOT_FOR_A_HEAD = (
    "scaled-by-number-of-queries",
    "query-and-key-swapped",
    "keys-compared-with-keys",
    "queries-compared-with-queries",
    "keys-used-as-values",
    "queries-used-as-values",
)
# Ideas that often occur together with another one. To try all pairs of ideas would take seconds.
OFTEN_WITH_OTHERS = (
    "softmax-over-queries",
    "no-softmax",
    "no-scale",
    "scaled-by-d-k",
    "scale-multiplied",
    "weights-transposed-in-the-mix",
    "output-and-weights-swapped",
    "weights-not-returned",
)


def for_a_head(idea: Misconception) -> Misconception:
    """Return a misconception about `attention` as one about the module: its twins are classes.

    One of OFTEN_WITH_OTHERS keeps its knobs, which `head_variant` takes too: only ideas with knobs are tried in pairs.
    """
    if idea.slug in OFTEN_WITH_OTHERS:
        return idea
    return mistake(idea.slug, *(head(way.twin or attention_variant(**way.knobs)) for way in idea.ways()))


# ── mistakes in the module ────────────────────────────────────────────────────────────────────────


class StateKept(Projections):
    """A module that keeps the tokens of earlier calls, and attends to them again."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        self.rows: Tensor | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.rows = x if self.rows is None else torch.cat([self.rows, x], dim=-2)
        return attention(self.w_q(x), self.w_k(self.rows), self.w_v(self.rows))


class ScaledByWidth(Projections):
    def forward(self, x: Tensor) -> Any:
        scale = self.w_q.in_features**0.5
        return attention_variant(scale=lambda *_: scale)(self.w_q(x), self.w_k(x), self.w_v(x))


class InputAdded(Projections):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out, weights = attention(self.w_q(x), self.w_k(x), self.w_v(x))
        return out + x, weights


class BareMatrices(nn.Module):
    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Parameter(torch.randn(d_model, d)) for d in (d_k, d_k, d_v))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return attention(x @ self.w_q, x @ self.w_k, x @ self.w_v)


# ── in the trained tagger ─────────────────────────────────────────────────────────────────────────


def head_in_model(answer: Any, at: At) -> Tensor:
    """Return the outputs (B, H, n, d_head) of all heads of a layer, each computed with a module of the answer's class.

    Its weights are those of the trained head. The matrices hold the biases, because the answer may have none. It raises
    what `made` does.
    """
    x = with_ones(at["attention.normed"])
    heads = []
    for head in range(at.block.attention.n_heads):
        matrices = head_matrices(at.block, head)
        layers = {f"{name}.weight": matrix.mT for name, matrix in zip(("w_q", "w_k", "w_v"), matrices, strict=True)}
        no_biases = {f"{name}.bias": torch.zeros(matrices[0].shape[1]) for name in ("w_q", "w_k", "w_v")}
        module = made(answer, (x.shape[-1], *(matrix.shape[1] for matrix in matrices[1:])), layers | no_biases)
        heads.append(module(x)[0])
    return torch.stack(heads, dim=1)


applied = by_knob("apply")

QUESTION = Question(
    called="SingleHeadAttention",
    points=5,
    inputs=("x",),
    outputs=("out (..., n, d_v)", "weights (..., n, n)"),
    draw=draw_heads,
    reference=head(),
    variant=head_variant,
    quotes={"first_row_sum": first_row_sum},
    gradients=True,
    in_model=in_each_layer("attention.heads", head_in_model),
    row_sums={"weights": 1.0},
    misconceptions=(
        *(for_a_head(idea) for idea in ATTENTION if idea.slug not in NOT_FOR_A_HEAD),
        *ROLES,
        applied("bias-left-out", lambda layer, x: x @ layer.weight.mT),
        applied("layer-weights-transposed", lambda layer, x: x @ layer.weight),
        mistake("scaled-by-d-model", ScaledByWidth),
        mistake("input-added", InputAdded),
        mistake("state-kept", StateKept),
        mistake("parameters-for-layers", BareMatrices),
        NO_SUPER_INIT,
    ),
)
