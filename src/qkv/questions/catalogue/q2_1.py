"""2.1: three projections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, project_qkv
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call
from qkv.questions.shared.products import q_with_k, right_for
from qkv.questions.shared.scales import ROOTLESS

Triple = tuple[Tensor, Tensor, Tensor]
Project = Callable[[Tensor, Tensor], Tensor]  # of x and one matrix
Three = Callable[[Tensor, Tensor, Tensor, Tensor, Project], Triple]  # of x, the three matrices and how to project
Give = Callable[[Tensor, Tensor, Tensor], Any]  # of q, k and v: what is returned


def draw_projections(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "d_model", "d_k", "d_v", **fixed)
        x = draw.normal(*leading, s["n"], s["d_model"], dtype=dtype)
        widths = s["d_k"], s["d_k"], s["d_v"]
        matrices = [draw.normal(s["d_model"], d, dtype=dtype, scale=s["d_model"] ** -0.5) for d in widths]
        return Case(call(x, *matrices), name, s)

    same = draw.choose(ROOTLESS)
    return [
        *draw.situations(case),
        case("n = 1", n=1),
        case("d_k = d_v = d_model", d_model=same, d_k=same, d_v=same),
        case("a batch, d_k = d_v = d_model", leading=(3,), d_model=same, d_k=same, d_v=same),
        case("all sizes equal", n=same, d_model=same, d_k=same, d_v=same),
        case("d_model = 1", d_model=1),
        case("d_k = 1 and d_v = 1", d_k=1, d_v=1),
    ]


def projected_variant(
    project: Project = lambda x, w: x @ w,
    three: Three = lambda x, w_q, w_k, w_v, project: (project(x, w_q), project(x, w_k), project(x, w_v)),
    give: Give = lambda q, k, v: (q, k, v),
) -> Callable[..., Any]:
    """Give an answer that multiplies in another way, by other matrices, or returns something else."""

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Any:
        return give(*three(x, w_q, w_k, w_v, project))

    return variant


def from_the_queries(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, project: Project) -> Triple:
    q = project(x, w_q)
    return q, project(q, w_k), project(q, w_v)


def one_after_another(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, project: Project) -> Triple:
    q = project(x, w_q)
    k = project(q, w_k)
    return q, k, project(k, w_v)


projected = by_knob("project")
made = by_knob("three")
given = by_knob("give")

QUESTION = Question(
    points=2,
    inputs=("x", "w_q", "w_k", "w_v"),
    outputs=("q (..., n, d_k)", "k (..., n, d_k)", "v (..., n, d_v)"),
    draw=draw_projections,
    reference=project_qkv,
    variant=projected_variant,
    gradients=True,
    quotes={"right_for": right_for},
    misconceptions=(
        projected("weights-transposed", lambda x, w: x @ w.mT),
        projected("tokens-as-columns", lambda x, w: w.mT @ x.mT),
        projected("matrix-on-the-left", lambda x, w: w @ x, lambda x, w: w.mT @ x),
        projected("input-transposed", lambda x, w: x.mT @ w),
        projected("entry-by-entry", lambda x, w: x * w),
        Misconception(
            "scaled-already",
            knob_sets=(
                {"project": lambda x, w: x @ w / math.sqrt(w.shape[-1])},
                {"project": lambda x, w: x @ w / math.sqrt(x.shape[-1])},
                {"give": lambda q, k, v: (q / math.sqrt(q.shape[-1]), k, v)},
            ),
        ),
        projected("one-batch-shape", lambda x, w: torch.bmm(x, w.expand(len(x), *w.shape)), torch.mm),
        projected("only-the-first-sequence", lambda x, w: x.reshape(-1, *x.shape[-2:])[0] @ w),
        made("one-matrix-for-all", lambda x, w_q, w_k, w_v, by: (by(x, w_q), by(x, w_q), by(x, w_q))),
        made("key-made-by-w-q", lambda x, w_q, w_k, w_v, by: (by(x, w_q), by(x, w_q), by(x, w_v))),
        made("query-made-by-w-k", lambda x, w_q, w_k, w_v, by: (by(x, w_k), by(x, w_k), by(x, w_v))),
        made("value-made-by-w-k", lambda x, w_q, w_k, w_v, by: (by(x, w_q), by(x, w_k), by(x, w_k))),
        made("value-made-by-w-q", lambda x, w_q, w_k, w_v, by: (by(x, w_q), by(x, w_k), by(x, w_q))),
        made("query-and-key-swapped", lambda x, w_q, w_k, w_v, by: (by(x, w_k), by(x, w_q), by(x, w_v))),
        made("value-not-projected", lambda x, w_q, w_k, w_v, by: (by(x, w_q), by(x, w_k), x * 1)),
        made("key-not-projected", lambda x, w_q, w_k, w_v, by: (by(x, w_q), x * 1, by(x, w_v))),
        made("query-not-projected", lambda x, w_q, w_k, w_v, by: (x * 1, by(x, w_k), by(x, w_v))),
        made("nothing-projected", lambda x, w_q, w_k, w_v, by: (x * 1, x * 1, x * 1)),
        made("projected-one-after-another", one_after_another, from_the_queries),
        given(
            "another-order",
            lambda q, k, v: (v, q, k),
            lambda q, k, v: (v, k, q),
            lambda q, k, v: (q, v, k),
            lambda q, k, v: (k, v, q),
        ),
        given("key-transposed", lambda q, k, v: (q, k.mT, v)),
        given("only-the-query", lambda q, k, v: q),
        given("value-not-returned", lambda q, k, v: (q, k)),
        given("glued-together", lambda q, k, v: torch.cat([q, k, v], dim=-1)),
        given("went-on-to-scores", lambda q, k, v: q_with_k(q, k)),
        given("went-on-to-attention", lambda q, k, v: attention(q, k, v)),
    ),
)
