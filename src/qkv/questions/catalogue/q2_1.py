"""2.1: three projections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import attention, project_qkv
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.products import dot_products, right_for
from qkv.questions.shared.projecting import (
    ROLES,
    WRONG_PRODUCTS,
    Project,
    Roles,
    assigned,
    product,
    projected,
    projections_by,
    right_roles,
)
from qkv.questions.shared.scales import NON_SQUARES

Result = Callable[[Tensor, Tensor, Tensor], Any]  # (q, k, v) -> what the answer returns


def draw_projections(draw: Draw) -> list[Case]:
    """Draw tokens and the three matrices, in several sizes."""

    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "d_model", "d_k", "d_v", **fixed)
        x = draw.normal(*leading, s["n"], s["d_model"], dtype=dtype)
        widths = s["d_k"], s["d_k"], s["d_v"]
        matrices = [draw.normal(s["d_model"], d, dtype=dtype, scale=s["d_model"] ** -0.5) for d in widths]
        return Case(call(x, *matrices), name, s)

    same = draw.choose(NON_SQUARES)
    return [
        *draw.situations(case),
        case("n = 1", n=1, d_k=5, d_v=8),  # parts of one width are wrong here, also where the last may be narrower
        case("d_k = d_v = d_model", d_model=same, d_k=same, d_v=same),
        case("a batch, d_k = d_v = d_model", leading=(3,), d_model=same, d_k=same, d_v=same),
        case("all sizes equal", n=same, d_model=same, d_k=same, d_v=same),
        case("d_model = 1", d_model=1),
        case("d_k = 1 and d_v = 1", d_k=1, d_v=1),
    ]


def projection_variant(
    project: Project = product, roles: Roles = right_roles, result: Result = lambda q, k, v: (q, k, v)
) -> Callable[..., Any]:
    """Return an answer(x, w_q, w_k, w_v) → q, k, v; by default it is right.

    The arguments replace the product, the matrix of each role, and what is returned.
    """

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Any:
        return result(*roles(x, *projections_by(project, w_q, w_k, w_v)))

    return variant


def one_product(cut: Callable[[Tensor, int], Any]) -> Callable[..., Any]:
    """Return an answer that multiplies by all matrices side by side. `cut(product, d_k)` makes the three results."""

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Any:
        return cut(x @ torch.cat([w_q, w_k, w_v], dim=-1), w_q.shape[-1])

    return variant


def unpacked(parts: tuple[Tensor, ...]) -> Any:
    q, k, v = parts
    return q, k, v


returned = by_knob("result")

QUESTION = Question(
    points=2,
    inputs=("x", "w_q", "w_k", "w_v"),
    outputs=("q (..., n, d_k)", "k (..., n, d_k)", "v (..., n, d_v)"),
    draw=draw_projections,
    reference=project_qkv,
    variant=projection_variant,
    gradients=True,
    quotes={"right_for": right_for},
    misconceptions=(
        *WRONG_PRODUCTS,
        projected("tokens-as-columns", lambda x, w: w.mT @ x.mT),
        projected("input-transposed", lambda x, w: x.mT @ w),
        Misconception(
            "scaled-already",
            knob_sets=(
                {"project": lambda x, w: x @ w / math.sqrt(w.shape[-1])},
                {"project": lambda x, w: x @ w / math.sqrt(x.shape[-1])},
                {"result": lambda q, k, v: (q / math.sqrt(q.shape[-1]), k, v)},
            ),
        ),
        projected("one-batch-shape", lambda x, w: torch.bmm(x, w.expand(len(x), *w.shape)), torch.mm),
        projected("only-the-first-sequence", lambda x, w: x.reshape(-1, *x.shape[-2:])[0] @ w),
        mistake(
            "cut-into-equal-parts",
            one_product(lambda qkv, d_k: unpacked(qkv.chunk(3, dim=-1))),
            one_product(lambda qkv, d_k: unpacked(qkv.split(d_k, dim=-1))),
            one_product(lambda qkv, d_k: qkv.split(d_k, dim=-1)),
            one_product(lambda qkv, d_k: (qkv[..., :d_k], qkv[..., d_k : 2 * d_k], qkv[..., 2 * d_k : 3 * d_k])),
        ),
        assigned("one-matrix-for-all", lambda x, q, k, v: (q(x), q(x), q(x))),
        *ROLES,
        assigned(
            "projected-one-after-another",
            lambda x, q, k, v: (q(x), k(q(x)), v(k(q(x)))),
            lambda x, q, k, v: (q(x), k(q(x)), v(q(x))),
        ),
        returned(
            "another-order",
            lambda q, k, v: (v, q, k),
            lambda q, k, v: (v, k, q),
            lambda q, k, v: (q, v, k),
            lambda q, k, v: (k, v, q),
        ),
        returned("key-transposed", lambda q, k, v: (q, k.mT, v)),
        returned("only-the-query", lambda q, k, v: q),
        returned("value-not-returned", lambda q, k, v: (q, k)),
        returned("glued-together", lambda q, k, v: torch.cat([q, k, v], dim=-1)),
        returned("went-on-to-scores", lambda q, k, v: dot_products(q, k)),
        returned("went-on-to-attention", lambda q, k, v: attention(q, k, v)),
    ),
)
