"""Linear algebra: systems of equations, norms, ranks, and powers of matrices."""

from __future__ import annotations

import math
from operator import mul
from typing import Any

from .creation import eye, tensor
from .dtypes import FLOATING, TYPE_NAMES, dtype, finfo, float64
from .gradients import record_step
from .missing import missing_getattr, refuse
from .reductions import norm as norm_of
from .shapes import Axes, axes_of
from .tensors import Tensor, without_gradient


def norm(
    x: Tensor, ord: float | str | None = None, dim: Axes = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """Return a vector norm, or the norm `ord` of matrices: of a tensor with two axes, or in the axes `dim`."""
    axes = axes_of(dim, x.ndim)
    if ord is None or len(axes) == 1:
        return norm_of(x, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    if len(axes) != 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {x.ndim}D."
        )
    if ord == "fro":
        return norm_of(x, 2, dim, keepdim, dtype=dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        refuse(f"the matrix norm with `ord={ord!r}`")
    summed, other = axes if abs(ord) == 1 else reversed(axes)
    sums = norm_of(x, 1, summed, True, dtype=dtype)
    out = sums.amax(other, True) if ord > 0 else sums.amin(other, True)
    return out if keepdim else out.squeeze(tuple(axes))


def vector_norm(
    x: Tensor, ord: float = 2, dim: Axes = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """Return the norm of order `ord`, (Σ |x|ᵒ)^(1/o), of these axes, or of all numbers."""
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    return norm_of(x, ord, dim, keepdim, dtype=dtype)


def check_matrix(name: str, a: Tensor, square: bool = True) -> None:
    """Raise an error unless this is a floating-point matrix, and a square one if it must be."""
    if a.dtype.kind < FLOATING:
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[a.dtype]}"
        )
    if a.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if a.ndim > 2:
        refuse(f"`linalg.{name}` of several matrices at once")
    if square and a.shape[0] != a.shape[1]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {a.shape[0]} by {a.shape[1]} matrices"
        )


def solve(a: Tensor, b: Tensor) -> Tensor:
    """Solve a x = b by Gauss-Jordan elimination with partial pivoting."""
    check_matrix("solve", a)
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B: {list(a.shape)} and {list(b.shape)}")
    n, vec = a.shape[-1], b.ndim == 1
    A = [list(r) for r in a.tolist()]
    B = [[v] if vec else list(v) for v in b.tolist()]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(A[r][i]))
        A[i], A[p], B[i], B[p] = A[p], A[i], B[p], B[i]
        if A[i][i] == 0:
            raise RuntimeError("torch.linalg.solve: The solver failed because the input matrix is singular.")
        for r in range(n):
            if r != i:
                f = A[r][i] / A[i][i]
                A[r] = [x - f * y for x, y in zip(A[r], A[i], strict=False)]
                B[r] = [x - f * y for x, y in zip(B[r], B[i], strict=False)]
    out = tensor([[v / A[i][i] for v in B[i]] for i in range(n)], dtype=a.dtype)
    return record_step(out[:, 0].clone() if vec else out, [a, b], without_gradient("linalg.solve"))


def inv(a: Tensor) -> Tensor:
    check_matrix("inv", a)
    return solve(a, eye(a.shape[-1], dtype=a.dtype)).mT.contiguous().mT  # torch stores it column by column


def singular_values(a: Tensor) -> list[float]:
    """Compute the singular values of a matrix, in no order, by one-sided Jacobi rotations (Hestenes, 1958)."""
    columns = (a if a.shape[0] > a.shape[1] else a.mT).double().mT.tolist()
    turned = True
    while turned:
        turned = False
        for i in range(len(columns)):
            for j in range(i):
                p, q = columns[j], columns[i]
                pp, pq, qq = (sum(map(mul, x, y)) for x, y in ((p, p), (p, q), (q, q)))
                if abs(pq) > 1e-14 * math.sqrt(pp * qq):
                    turned, slope = True, (qq - pp) / (2 * pq)
                    t = math.copysign(1, slope) / (abs(slope) + math.hypot(1, slope))
                    c = 1 / math.hypot(1, t)
                    columns[j] = [c * (x - t * y) for x, y in zip(p, q, strict=True)]
                    columns[i] = [c * (t * x + y) for x, y in zip(p, q, strict=True)]
    return [math.hypot(*column) for column in columns]


def matrix_rank(a: Tensor, tol: float | None = None, *, atol: float | None = None, rtol: float | None = None) -> Tensor:
    """Count the singular values that exceed a tolerance, by default that of torch."""
    check_matrix("matrix_rank", a, square=False)
    values = singular_values(a)
    relative = rtol if rtol is not None else 0.0 if tol or atol else max(a.shape) * finfo(a.dtype).eps
    least = max(tol or atol or 0.0, relative * max(values, default=0.0))
    return tensor(sum(v > least for v in values))


def matrix_power(a: Tensor, n: int) -> Tensor:
    """Return the n-th power of a square matrix; of its inverse if n is negative."""
    check_matrix("matrix_power", a)
    a, out = inv(a) if n < 0 else a, eye(a.shape[-1], dtype=a.dtype)
    for _ in range(abs(n)):
        out = out @ a
    return out


def lstsq(a: Tensor, b: Tensor) -> Any:
    """Solve a least-squares problem by the normal equations, in float64. The result has the attribute `solution`."""
    if int(matrix_rank(a)) < a.shape[1]:
        refuse("`linalg.lstsq` of a matrix whose columns depend on each other")
    left = a.double()
    found = solve(left.mT @ left, left.mT @ b.double())
    return type("lstsq", (), {"solution": found.to(a.dtype)})


def matrix_exp(a: Tensor) -> Tensor:
    """Compute the matrix exponential by its series, with scaling and squaring."""
    check_matrix("matrix_exp", a)
    out = term = eye(a.shape[-1], dtype=float64)
    k = max(0, int(norm_of(a.double()).item()).bit_length() + 4)
    b = a.double() / 2**k
    for i in range(1, 20):
        term = term @ b / i
        out = out + term
    for _ in range(k):
        out = out @ out
    return out.to(a.dtype)


__getattr__ = missing_getattr("torch.linalg")
