"""Linear algebra: systems of equations, norms, and powers of matrices."""

from __future__ import annotations

from typing import Any

from .creation import eye, tensor
from .dtypes import float64
from .missing import missing_getattr
from .reductions import norm as norm_of
from .tensors import Tensor


def norm(x: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:
    return norm_of(x, 2 if ord is None else ord, dim, keepdim)


vector_norm = norm


def solve(a: Tensor, b: Tensor) -> Tensor:
    """Solve a x = b by Gauss-Jordan elimination with partial pivoting."""
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
    return out[:, 0] if vec else out


def inv(a: Tensor) -> Tensor:
    return solve(a, eye(a.shape[-1], dtype=a.dtype))


def matrix_rank(a: Tensor, tol: float | None = None) -> Tensor:
    A, rank = [list(r) for r in a.double().tolist()], 0
    rows, cols = len(A), len(A[0]) if A else 0
    eps = 1e-5 * max([abs(v) for r in A for v in r] + [0])
    for c in range(cols):
        p = max(range(rank, rows), key=lambda r: abs(A[r][c])) if rank < rows else None
        if p is None or abs(A[p][c]) <= eps:
            continue
        A[rank], A[p] = A[p], A[rank]
        for r in range(rank + 1, rows):
            f = A[r][c] / A[rank][c]
            A[r] = [x - f * y for x, y in zip(A[r], A[rank], strict=False)]
        rank += 1
    return tensor(rank)


def matrix_power(a: Tensor, n: int) -> Tensor:
    out = eye(a.shape[-1], dtype=a.dtype)
    for _ in range(n):
        out = out @ a
    return out


def lstsq(a: Tensor, b: Tensor) -> Any:
    """Solve a least-squares problem by the normal equations, in float64. The result has the attribute `solution`."""
    left = a.double()
    found = solve(left.mT @ left, left.mT @ b.double())
    return type("lstsq", (), {"solution": found.to(a.dtype)})


def matrix_exp(a: Tensor) -> Tensor:
    """Compute the matrix exponential by its series, with scaling and squaring."""
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
