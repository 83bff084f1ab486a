"""2.3: additive scores."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import additive_scores
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.products import ALREADY_WEIGHTS, right_for
from qkv.questions.shared.projecting import MATRICES_TRANSPOSED, product

Binary = Callable[[Tensor, Tensor], Tensor]
Unary = Callable[[Tensor], Tensor]
Roles = Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]]  # (q, k, w_q, w_k) -> the tensors used in their places


def draw_additive(draw: Draw) -> list[Case]:
    """Draw queries, keys and the network that compares them; its tanh does not saturate."""

    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", "d_a", **{"d_k": draw.choose((5, 6, 7, 8))} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        k = draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)
        scale = (2 * s["d_k"]) ** -0.5  # so the input of the tanh has variance 1, and the tanh does not saturate
        w_q, w_k = (draw.normal(s["d_k"], s["d_a"], dtype=dtype, scale=scale) for _ in range(2))
        return Case(call(q, k, w_q, w_k, draw.normal(s["d_a"], dtype=dtype)), name, s)

    same = draw.choose((5, 6, 7))
    return [
        *draw.situations(case),
        case("one query and one key", n_q=1, n_k=1),
        case("one query", n_q=1),
        case("one key", n_k=1),
        case("one hidden unit", d_a=1),
        case("d_k = 1", d_k=1),
        case("as many queries as keys", n_q=same, n_k=same),
        case("as many hidden units as features", d_k=same, d_a=same),
        case("all sizes equal", n_q=same, n_k=same, d_k=same, d_a=same),
    ]


def summed_pairs(q: Tensor, k: Tensor) -> Tensor:
    """Add every row of q to every row of k: (..., n_q, d_a) and (..., n_k, d_a) to (..., n_q, n_k, d_a)."""
    return q.unsqueeze(-2) + k.unsqueeze(-3)


def additive_variant(
    combine: Binary = summed_pairs,
    activate: Unary = torch.tanh,
    readout: Binary = product,
    project: Binary = product,
    roles: Roles = lambda q, k, w_q, w_k: (q, k, w_q, w_k),
    after: Unary = lambda scores: scores,
) -> Callable[..., Tensor]:
    """Return an answer(q, k, w_q, w_k, v); each argument replaces one step of additive attention.

    By default it is right.
    """

    def variant(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
        q, k, w_q, w_k = roles(q, k, w_q, w_k)
        hidden = activate(combine(project(q, w_q), project(k, w_k)))
        return after(readout(hidden, v))

    return variant


def leaky(hidden: Tensor) -> Tensor:
    return F.leaky_relu(hidden, 0.2)


def identity(hidden: Tensor) -> Tensor:
    return hidden


combined = by_knob("combine")
activated = by_knob("activate")
read_out = by_knob("readout")
assigned = by_knob("roles")

QUESTION = Question(
    points=4,
    inputs=("q", "k", "w_q", "w_k", "v"),
    outputs=("scores (..., n_q, n_k)",),
    draw=draw_additive,
    reference=additive_scores,
    variant=additive_variant,
    gradients=True,
    quotes={"right_for": right_for},
    misconceptions=(
        activated("tanh-forgotten", identity),
        activated(
            "another-function", torch.sigmoid, torch.relu, leaky, F.gelu, torch.exp, lambda hidden: hidden.softmax(-1)
        ),
        Misconception(
            "tanh-before-the-sum",
            knobs={"combine": lambda q, k: summed_pairs(q.tanh(), k.tanh()), "activate": identity},
        ),
        Misconception("tanh-after-v", knobs={"activate": identity, "after": torch.tanh}),
        combined("multiplied-for-added", lambda q, k: q.unsqueeze(-2) * k.unsqueeze(-3)),
        combined("only-matching-places", lambda q, k: q + k),
        combined("query-and-key-swapped", lambda q, k: q.unsqueeze(-3) + k.unsqueeze(-2)),
        combined(
            "axis-counted-from-the-front",
            lambda q, k: q.unsqueeze(1) + k.unsqueeze(0),
            lambda q, k: q.unsqueeze(2) + k.unsqueeze(1),
        ),
        mistake(
            "new-axis-in-the-wrong-place",
            additive_variant(combine=lambda q, k: q.unsqueeze(-1) + k.unsqueeze(-3)),
            additive_variant(combine=lambda q, k: q + k.unsqueeze(-3)),
            additive_variant(combine=lambda q, k: q.unsqueeze(-2) + k.unsqueeze(-1)),
            additive_variant(combine=lambda q, k: q.unsqueeze(-2) + k.unsqueeze(0)),
            additive_variant(combine=lambda q, k: q.unsqueeze(-2) + k.unsqueeze(1)),
            additive_variant(combine=lambda q, k: q.unsqueeze(-2) + k),
        ),
        read_out("v-forgotten", lambda hidden, v: hidden.sum(-1), lambda hidden, v: hidden.mean(-1)),
        read_out("not-summed", lambda hidden, v: hidden * v, lambda hidden, v: hidden),
        read_out("one-axis-too-many", lambda hidden, v: hidden @ v.unsqueeze(-1)),
        read_out("averaged-over-hidden-units", lambda hidden, v: (hidden * v).mean(-1)),
        mistake("v-on-the-left", additive_variant(readout=lambda hidden, v: v @ hidden)),
        Misconception(
            "scaled-though-not-asked",
            twin=lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_k, v) / math.sqrt(q.shape[-1]),
            knob_sets=(
                {"readout": lambda hidden, v: hidden @ v / math.sqrt(v.shape[-1])},
                {"project": lambda x, w: x @ w / math.sqrt(x.shape[-1])},
            ),
        ),
        mistake(
            "dot-product-after-all",
            lambda q, k, w_q, w_k, v: (q @ w_q) @ (k @ w_k).mT,
            lambda q, k, w_q, w_k, v: torch.tanh((q @ w_q) @ (k @ w_k).mT),
            lambda q, k, w_q, w_k, v: q @ k.mT,
        ),
        assigned("matrices-swapped", lambda q, k, w_q, w_k: (q, k, w_k, w_q)),
        assigned(
            "one-matrix-for-both", lambda q, k, w_q, w_k: (q, k, w_q, w_q), lambda q, k, w_q, w_k: (q, k, w_k, w_k)
        ),
        assigned("inputs-swapped", lambda q, k, w_q, w_k: (k, q, w_q, w_k)),
        assigned("keys-compared-with-keys", lambda q, k, w_q, w_k: (k, k, w_q, w_k)),
        assigned("queries-compared-with-queries", lambda q, k, w_q, w_k: (q, q, w_q, w_k)),
        MATRICES_TRANSPOSED,
        mistake("queries-not-projected", lambda q, k, w_q, w_k, v: torch.tanh(summed_pairs(q, k @ w_k)) @ v),
        mistake("keys-not-projected", lambda q, k, w_q, w_k, v: torch.tanh(summed_pairs(q @ w_q, k)) @ v),
        ALREADY_WEIGHTS,
    ),
)
