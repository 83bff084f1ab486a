"""Queries, keys and values that are made in a wrong way: by the wrong matrix, or by a wrong product."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from qkv.questions.engine import by_knob

Three = tuple[Tensor, Tensor, Tensor]
Projection = Callable[[Tensor], Tensor]
Roles = Callable[[Tensor, Projection, Projection, Projection], Three]  # of x and what w_q, w_k and w_v do
Project = Callable[[Tensor, Tensor], Tensor]  # of x and one matrix


def own_roles(x: Tensor, q: Projection, k: Projection, v: Projection) -> Three:
    return q(x), k(x), v(x)


def product(x: Tensor, w: Tensor) -> Tensor:
    return x @ w


def by_matrices(project: Project, *matrices: Tensor) -> list[Projection]:
    """Give what each of these matrices does to x, where it is multiplied in this way."""

    def by(w: Tensor) -> Projection:
        return lambda x: project(x, w)

    return [by(w) for w in matrices]


assigned = by_knob("roles")

ROLES = (
    assigned("queries-and-keys-exchanged", lambda x, q, k, v: (k(x), q(x), v(x))),
    assigned("key-made-by-w-q", lambda x, q, k, v: (q(x), q(x), v(x))),
    assigned("query-made-by-w-k", lambda x, q, k, v: (k(x), k(x), v(x))),
    assigned("value-made-by-w-k", lambda x, q, k, v: (q(x), k(x), k(x))),
    assigned("value-made-by-w-q", lambda x, q, k, v: (q(x), k(x), q(x))),
    assigned("value-not-projected", lambda x, q, k, v: (q(x), k(x), x * 1)),
    assigned("key-not-projected", lambda x, q, k, v: (q(x), x * 1, v(x))),
    assigned("query-not-projected", lambda x, q, k, v: (x * 1, k(x), v(x))),
    assigned("nothing-projected", lambda x, q, k, v: (x * 1, x * 1, x * 1)),
)

projected = by_knob("project")

MATRICES_TRANSPOSED = projected("matrices-transposed", lambda x, w: x @ w.mT)
WRONG_PRODUCTS = (
    MATRICES_TRANSPOSED,
    projected("matrix-on-the-left", lambda x, w: w @ x, lambda x, w: w.mT @ x),
    projected("entry-by-entry", lambda x, w: x * w),
)
