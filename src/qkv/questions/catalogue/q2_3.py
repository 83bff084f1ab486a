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

Two = Callable[[Tensor, Tensor], Tensor]
Change = Callable[[Tensor], Tensor]
Roles = Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]]  # of q, k, w_q and w_k: which are used as these four


def draw_additive(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n_q", "n_k", "d_k", "d_a", **{"d_k": draw.choose((5, 6, 7, 8))} | fixed)
        q = draw.normal(*leading, s["n_q"], s["d_k"], dtype=dtype)
        k = draw.normal(*leading, s["n_k"], s["d_k"], dtype=dtype)
        scale = (2 * s["d_k"]) ** -0.5  # of variance 1 before the tanh, which is nowhere near its limits then
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


def summed_pairs(asked: Tensor, offered: Tensor) -> Tensor:
    """Add every row of one to every row of the other: (..., n_q, d_a) and (..., n_k, d_a) to (..., n_q, n_k, d_a)."""
    return asked.unsqueeze(-2) + offered.unsqueeze(-3)


def additive_variant(
    meet: Two = summed_pairs,
    squash: Change = torch.tanh,
    read: Two = product,
    project: Two = product,
    roles: Roles = lambda q, k, w_q, w_k: (q, k, w_q, w_k),
    after: Change = lambda scores: scores,
) -> Callable[..., Tensor]:
    """Give an answer that goes wrong at some of its steps."""

    def variant(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Tensor:
        q, k, w_q, w_k = roles(q, k, w_q, w_k)
        hidden = squash(meet(project(q, w_q), project(k, w_k)))
        return after(read(hidden, v))

    return variant


def as_it_is(hidden: Tensor) -> Tensor:
    return hidden


met = by_knob("meet")
squashed = by_knob("squash")
weighed = by_knob("read")
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
        squashed("tanh-forgotten", as_it_is),
        squashed("another-function", torch.sigmoid, torch.relu, F.gelu, torch.exp, lambda hidden: hidden.softmax(-1)),
        Misconception(
            "tanh-before-the-sum",
            knobs={"meet": lambda asked, offered: summed_pairs(asked.tanh(), offered.tanh()), "squash": as_it_is},
        ),
        Misconception("tanh-after-v", knobs={"squash": as_it_is, "after": torch.tanh}),
        met("multiplied-for-added", lambda asked, offered: asked.unsqueeze(-2) * offered.unsqueeze(-3)),
        met("only-matching-places", lambda asked, offered: asked + offered),
        met("query-and-key-swapped", lambda asked, offered: asked.unsqueeze(-3) + offered.unsqueeze(-2)),
        met(
            "axis-counted-from-the-front",
            lambda asked, offered: asked.unsqueeze(1) + offered.unsqueeze(0),
            lambda asked, offered: asked.unsqueeze(2) + offered.unsqueeze(1),
        ),
        mistake(
            "new-axis-in-the-wrong-place",
            additive_variant(meet=lambda asked, offered: asked.unsqueeze(-1) + offered.unsqueeze(-3)),
            additive_variant(meet=lambda asked, offered: asked + offered.unsqueeze(-3)),
            additive_variant(meet=lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(-1)),
            additive_variant(meet=lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(0)),
            additive_variant(meet=lambda asked, offered: asked.unsqueeze(-2) + offered.unsqueeze(1)),
            additive_variant(meet=lambda asked, offered: asked.unsqueeze(-2) + offered),
        ),
        weighed("v-forgotten", lambda hidden, v: hidden.sum(-1), lambda hidden, v: hidden.mean(-1)),
        weighed("not-summed", lambda hidden, v: hidden * v, lambda hidden, v: hidden),
        weighed("one-axis-too-many", lambda hidden, v: hidden @ v.unsqueeze(-1)),
        weighed("averaged-over-hidden-units", lambda hidden, v: (hidden * v).mean(-1)),
        mistake("v-on-the-left", additive_variant(read=lambda hidden, v: v @ hidden)),
        Misconception(
            "scaled-though-not-asked",
            twin=lambda q, k, w_q, w_k, v: additive_scores(q, k, w_q, w_k, v) / math.sqrt(q.shape[-1]),
            knob_sets=(
                {"read": lambda hidden, v: hidden @ v / math.sqrt(v.shape[-1])},
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
