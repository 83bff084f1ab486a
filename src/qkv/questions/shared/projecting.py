"""Wrong projections to queries, keys and values: by the wrong matrix, or by a wrong product with it."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from qkv.questions.engine import by_knob

QKV = tuple[Tensor, Tensor, Tensor]
Projection = Callable[[Tensor], Tensor]
Roles = Callable[[Tensor, Projection, Projection, Projection], QKV]  # (x, by w_q, by w_k, by w_v) -> q, k, v
Project = Callable[[Tensor, Tensor], Tensor]  # (x, matrix) -> product


def right_roles(x: Tensor, q: Projection, k: Projection, v: Projection) -> QKV:
    return q(x), k(x), v(x)


def product(x: Tensor, w: Tensor) -> Tensor:
    return x @ w


def projections_by(project: Project, *matrices: Tensor) -> list[Projection]:
    """Return, for each matrix, the function that maps x to `project(x, matrix)`."""

    def project_by(w: Tensor) -> Projection:
        return lambda x: project(x, w)

    return [project_by(w) for w in matrices]


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
