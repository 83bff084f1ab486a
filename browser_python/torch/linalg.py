"""Linear algebra: systems of equations, norms, ranks, and powers of matrices.

Errors are those of torch, with its messages, also where a docstring does not list them. What a function of torch can do
and the page's cannot raises a NotImplementedError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from operator import mul
from typing import Any, NoReturn

from .creation import eye, tensor
from .dtypes import FLOATING, TYPE_NAMES, dtype, finfo, float64
from .gradients import record_step
from .joining import stack
from .missing import missing_getattr, refuse, refuse_set
from .numbers import NUMBERS
from .reductions import NamedResults, named_results
from .reductions import norm as norm_of
from .shapes import Axes, axes_of
from .tensors import Tensor, without_gradient

CANCELLED = 1e4  # times the dtype's spacing at 1: the part of a column whose digits torch's rounding would change
SINGULAR = {
    "solve": "torch.linalg.solve: The solver failed because the input matrix is singular.",
    "inv": "linalg.inv: The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
    "singular.",
}


def norm(
    x: Tensor, ord: float | str | None = None, dim: Axes = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """Return a vector norm, or the norm `ord` of matrices: of a tensor with two axes, or in the axes `dim`.

    Without `ord`, it is the root of the sum of all squares.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: `ord` is given for other than one or two axes.
        NotImplementedError: the page does not have this norm of matrices.
    """
    axes = axes_of(dim, x.ndim)
    if ord is None or len(axes) == 1:
        return norm_of(x, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    if len(axes) != 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {x.ndim}D."
        )
    if ord == "fro":
        return norm_of(x, 2, dim, keepdim, dtype=dtype)
    if ord in (2, "nuc") and x.ndim == 2 and not keepdim:
        values = svdvals(x if dtype is None else x.to(dtype))
        return values.amax() if ord == 2 else values.sum()
    if ord not in (1, -1, math.inf, -math.inf):
        refuse(f"the matrix norm with `ord={ord!r}`")
    summed, other = axes if abs(ord) == 1 else reversed(axes)
    sums = norm_of(x, 1, summed, True, dtype=dtype)
    out = sums.amax(other, True) if ord > 0 else sums.amin(other, True)
    return out if keepdim else out.squeeze(tuple(axes))


def vector_norm(
    x: Tensor, ord: float = 2, dim: Axes = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """Return the norm of order `ord`, (Σ |x|ᵒ)^(1/o), of these axes, or of all numbers.

    Raises:
        TypeError: `ord` is no number.
    """
    if not isinstance(ord, NUMBERS):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    return norm_of(x, ord, dim, keepdim, dtype=dtype)


def cross(a: Tensor, b: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross products of vectors with three numbers along an axis.

    Raises:
        RuntimeError: the axis has another size, or the numbers of axes differ.
    """
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[dim]} and {b.shape[dim]}"
        )
    (a1, a2, a3), (b1, b2, b3) = a.unbind(dim), b.unbind(dim)
    return stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], dim)


def check_matrix(name: str, a: Tensor, square: bool = True) -> None:
    """Raise an error unless this is a floating-point matrix, and a square one if it must be.

    It is a RuntimeError, or a NotImplementedError for several matrices. `name` is the function in its message.
    """
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


def of_each_matrix(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that applies a function of one matrix to each of several, and stacks the results."""

    @wraps(function)
    def of_all(a: Tensor, *others: Any, **options: Any) -> Tensor:
        if a.ndim <= 2 or not a.numel():
            return function(a, *others, **options)
        found = stack([function(one, *others, **options) for one in a.reshape(-1, *a.shape[-2:])])
        return found.reshape(*a.shape[:-2], *found.shape[1:])

    return of_all


def refuse_rounding(name: str) -> NoReturn:
    """Raise the NotImplementedError for a matrix that is nearly singular.

    The result would be made of rounding errors, which are others in torch.
    """
    refuse(f"`linalg.{name}` of a matrix that is nearly singular, so that rounding errors decide,")


def check_pivot(name: str, a: Tensor, i: int, pivot: float) -> None:
    """Refuse the matrix (`refuse_rounding`) if too little is left of its column i: rounding errors would decide.

    `pivot` is what the elimination of the columns before has left. If it is 0, nothing happens.
    """
    if pivot and abs(pivot) < CANCELLED * finfo(a.dtype).eps * float(a.detach()[:, i].abs().max()):
        refuse_rounding(name)


def solve(a: Tensor, b: Tensor) -> Tensor:
    """Return x with a x = b, by Gauss-Jordan elimination with partial pivoting; b is a vector or a matrix.

    Raises:
        _LinAlgError: the matrix is singular.
        RuntimeError: the shapes do not fit, the dtypes differ, or are not floating-point.
        NotImplementedError: the matrix is nearly singular, or there are several.
    """
    check_matrix("solve", a)
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B: {list(a.shape)} and {list(b.shape)}")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {TYPE_NAMES[a.dtype]} and B of type "
            f"{TYPE_NAMES[b.dtype]} instead"
        )
    return solution("solve", a, b)


def solution(name: str, a: Tensor, b: Tensor) -> Tensor:
    """Return x with a x = b, for the function of this name. It has no gradient.

    Raises:
        _LinAlgError: the matrix is singular.
        NotImplementedError: it is nearly singular.
    """
    n, vec = a.shape[-1], b.ndim == 1
    A = [list(r) for r in a.tolist()]
    B = [[v] if vec else list(v) for v in b.tolist()]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(A[r][i]))
        A[i], A[p], B[i], B[p] = A[p], A[i], B[p], B[i]
        check_pivot(name, a, i, A[i][i])
        if A[i][i] == 0:
            raise _LinAlgError(SINGULAR.get(name, SINGULAR["solve"]).format(i + 1))
        for r in range(n):
            if r != i:
                f = A[r][i] / A[i][i]
                A[r] = [x - f * y for x, y in zip(A[r], A[i], strict=False)]
                B[r] = [x - f * y for x, y in zip(B[r], B[i], strict=False)]
    out = tensor([[v / A[i][i] for v in B[i]] for i in range(n)], dtype=a.dtype)
    return record_step(out[:, 0].clone() if vec else out, [a, b], without_gradient(f"linalg.{name}"))


@of_each_matrix
def inv(a: Tensor) -> Tensor:
    check_matrix("inv", a)
    return solution("inv", a, eye(a.shape[-1], dtype=a.dtype)).mT.contiguous().mT  # torch stores it column by column


@of_each_matrix
def det(a: Tensor) -> Tensor:
    """Return the determinant of a square matrix.

    Raises:
        RuntimeError: the matrix is not square, or not floating-point.
        NotImplementedError: it is nearly singular; or in the backward pass, it is singular.
    """
    check_matrix("det", a)
    rows, value = a.double().tolist(), 1.0
    for i in range(len(rows)):  # elimination with partial pivoting
        p = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        if p != i:
            rows[i], rows[p], value = rows[p], rows[i], -value
        check_pivot("det", a, i, rows[i][i])
        value *= rows[i][i]
        if value == 0:
            break
        for r in range(i + 1, len(rows)):
            f = rows[r][i] / rows[i][i]
            rows[r] = [x - f * y for x, y in zip(rows[r], rows[i], strict=True)]
    out = tensor(value, dtype=a.dtype)

    def back(g: Tensor) -> list[Tensor]:
        if value == 0:
            refuse("the gradient of `linalg.det` of a singular matrix")
        return [g * out.detach() * inv(a.detach()).mT]

    return record_step(out, [a], back)


@of_each_matrix
def cholesky(a: Tensor, *, upper: bool = False) -> Tensor:
    """Return the lower triangular matrix L with L Lᵀ = a, or with `upper` its transpose. It has no gradient.

    Raises:
        _LinAlgError: the matrix is not positive definite.
        RuntimeError: it is not square, or not floating-point.
    """
    check_matrix("cholesky", a)
    rows = a.double().tolist()
    found = [[0.0] * len(rows) for _ in rows]
    for i, row in enumerate(rows):
        for j in range(i + 1):
            rest = row[j] - sum(map(mul, found[i][:j], found[j][:j]))
            if i == j and not rest > 0:
                raise _LinAlgError(
                    "linalg.cholesky: The factorization could not be completed because the input is not "
                    f"positive-definite (the leading minor of order {i + 1} is not positive-definite)."
                )
            found[i][j] = math.sqrt(rest) if i == j else rest / found[j][j]
    lower = tensor(found, dtype=a.dtype)
    return record_step(lower.mT if upper else lower, [a], without_gradient("linalg.cholesky"))


class _LinAlgError(RuntimeError):
    """The error for a matrix to which a factorization does not apply."""


LinAlgError = _LinAlgError


class Factors(NamedResults):
    """The result of a factorization, of which the page has only some parts: the signs of the others are arbitrary."""

    part: str

    def __iter__(self) -> NoReturn:
        self.refuse()

    def __getitem__(self, key: Any) -> NoReturn:
        self.refuse(key)

    __repr__ = __len__ = __iter__

    def __getattr__(self, name: str) -> Tensor:
        return next(tuple.__iter__(self)) if name == self.part else self.refuse()

    def refuse(self, *_: Any) -> NoReturn:
        refuse(f"the result of `linalg.{self.kind}`, but for its `{self.part}`,")


def factors(kind: str, part: str, values: Tensor) -> Factors:
    found = Factors([values])
    vars(found).update(kind=kind, part=part)
    return found


@of_each_matrix
def svdvals(a: Tensor) -> Tensor:
    """Return the singular values of a matrix, the largest first. They have no gradient.

    Raises:
        RuntimeError: a is no floating-point matrix.
    """
    check_matrix("svd", a, square=False)
    values = sorted(singular_values(a), reverse=True)
    return record_step(tensor(values, dtype=a.dtype), [a], without_gradient("linalg.svdvals"))


def svd(a: Tensor, full_matrices: bool = True) -> Factors:
    """Return the singular value decomposition of a matrix, of which the page only has the values, `S`.

    Another part of it raises a NotImplementedError.
    """
    return factors("svd", "S", svdvals(a))


@of_each_matrix
def eigvalsh(a: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of a symmetric matrix, the smallest first, by Jacobi's rotations. They have no gradient.

    Only the lower triangle of the matrix counts, or with `UPLO="U"` the upper one.

    Raises:
        RuntimeError: the matrix is not square, or not floating-point, or `UPLO` is another letter.
    """
    check_matrix("eigh", a)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    half = a.double().tril() if UPLO.upper() == "L" else a.double().mT.tril()
    rows, turned = (half + half.tril(-1).mT).tolist(), True
    n = len(rows)
    while turned:
        turned = False
        for i in range(n):
            for j in range(i):
                if abs(rows[j][i]) > max(1e-15 * math.hypot(rows[i][i], rows[j][j]), 1e-300):
                    turned = True
                    rotate(rows, j, i)
    values = sorted(rows[i][i] for i in range(n))
    return record_step(tensor(values, dtype=a.dtype), [a], without_gradient("linalg.eigvalsh"))


def rotate(rows: list[list[float]], i: int, j: int) -> None:
    """Turn the axes i and j of a symmetric matrix, in place, so that its number at (i, j) becomes 0."""
    slope = (rows[j][j] - rows[i][i]) / (2 * rows[i][j])
    t = math.copysign(1, slope) / (abs(slope) + math.hypot(1, slope))
    c = 1 / math.hypot(1, t)
    s = t * c
    rows[i], rows[j] = (
        [c * x - s * y for x, y in zip(rows[i], rows[j], strict=True)],
        [s * x + c * y for x, y in zip(rows[i], rows[j], strict=True)],
    )
    for row in rows:
        row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]


def eigh(a: Tensor, UPLO: str = "L") -> Factors:
    """Return the eigendecomposition of a symmetric matrix, of which the page only has the `eigenvalues`.

    Another part of it raises a NotImplementedError.
    """
    return factors("eigh", "eigenvalues", eigvalsh(a, UPLO))


def qr(a: Tensor, mode: str = "reduced") -> NamedResults:
    """Return an orthogonal matrix Q and an upper triangular one R with Q R = a, by Householder's reflections.

    The signs are those of LAPACK, which torch calls. It has no derivative here.

    Shapes:
        a (..., m, n)
    Returns:
        Q (..., m, r), R (..., r, n) with r = min(m, n), or r = m if the mode is "complete"; if it is "r", Q is empty
    Raises:
        RuntimeError: an unknown mode, or no matrix.
        NotImplementedError: a column is 0 below the diagonal.
    """
    if a.ndim > 2 and a.numel():
        every = [qr(one, mode) for one in a.reshape(-1, *a.shape[-2:])]
        parts = [stack([found[i] for found in every]) for i in (0, 1)]
        parts = [part.reshape(*a.shape[:-2], *part.shape[1:]) for part in parts]
        return named_results("linalg_qr", *parts, names=("Q", "R"))
    check_matrix("qr", a, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    m, n = a.shape
    r, q = a.double(), eye(m, dtype=float64)
    for i in range(min(m - 1, n)):
        v = r[i:, i].clone()
        if not v[1:].any():
            refuse("`linalg.qr` of a matrix with a column of zeros below the diagonal")  # LAPACK's zeros have signs
        v[0] += math.copysign(float(v.norm()), float(v[0]))
        turn = eye(m, dtype=float64)
        turn[i:, i:] -= 2 * v[:, None] * v / (v @ v)
        r, q = turn @ r, q @ turn
    rows = m if mode == "complete" else min(m, n)
    both = [q[:, :rows] if mode != "r" else q.new_zeros(0), r[:rows].triu()]
    found = [record_step(part.to(a.dtype), [a], without_gradient("linalg.qr")) for part in both]
    return named_results("linalg_qr", *found, names=("Q", "R"))


@of_each_matrix
def pinv(a: Tensor, *, atol: float | None = None, rtol: float | None = None) -> Tensor:
    """Return the pseudoinverse of a matrix of full rank: (aᵀa)⁻¹aᵀ, or aᵀ(aaᵀ)⁻¹ for more columns than rows.

    Raises:
        NotImplementedError: the rank is not full, rounding errors would be large, or `atol` or `rtol` is set.
        RuntimeError: a is no floating-point matrix.
    """
    refuse_set("pinv", atol=atol, rtol=rtol)
    check_matrix("pinv", a, square=False)
    if not a.numel():
        return a.new_zeros(a.shape[::-1])
    if int(matrix_rank(a)) < min(a.shape):
        refuse("`linalg.pinv` of a matrix without full rank")
    values = singular_values(a)
    if min(values) < CANCELLED * finfo(a.dtype).eps * max(values):
        refuse_rounding("pinv")
    b = a.detach().double()
    found = solution("pinv", b.mT @ b, b.mT) if b.shape[0] >= b.shape[1] else solution("pinv", b @ b.mT, b).mT
    return record_step(found.to(a.dtype).contiguous(), [a], without_gradient("linalg.pinv"))


def matrix_norm(
    x: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    """Return the norm `ord` of the matrices in two axes; see `norm`.

    Raises:
        RuntimeError: x has fewer than two axes.
    """
    if x.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    return norm(x, ord, list(dim), keepdim, dtype=dtype)


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


@of_each_matrix
def matrix_rank(a: Tensor, tol: float | None = None, *, atol: float | None = None, rtol: float | None = None) -> Tensor:
    """Return how many singular values exceed a tolerance, by default that of torch, as a tensor.

    `tol` and `atol` are tolerances themselves, `rtol` is a share of the largest value; the larger one counts.

    Raises:
        RuntimeError: a is no floating-point matrix.
    """
    check_matrix("matrix_rank", a, square=False)
    values = singular_values(a)
    relative = rtol if rtol is not None else 0.0 if tol or atol else max(a.shape) * finfo(a.dtype).eps
    least = max(tol or atol or 0.0, relative * max(values, default=0.0))
    return tensor(sum(v > least for v in values))


def matrix_power(a: Tensor, n: int) -> Tensor:
    """Return the n-th power of a square matrix; of its inverse if n is negative.

    Raises:
        RuntimeError: the matrix is not square, or not floating-point.
        NotImplementedError: there are several matrices.
        _LinAlgError, NotImplementedError: n is negative, and the matrix is singular, or nearly so.
    """
    check_matrix("matrix_power", a)
    a, out = inv(a) if n < 0 else a, eye(a.shape[-1], dtype=a.dtype)
    for _ in range(abs(n)):
        out = out @ a
    return out


def lstsq(a: Tensor, b: Tensor) -> Any:
    """Solve a least-squares problem by the normal equations, in float64. The result has the attribute `solution`.

    Raises:
        RuntimeError: a is no floating-point matrix.
        NotImplementedError: its columns depend on each other, or there are several matrices.
    """
    check_matrix("lstsq", a, square=False)
    if int(matrix_rank(a)) < a.shape[1]:
        refuse("`linalg.lstsq` of a matrix whose columns depend on each other")
    left = a.double()
    found = solution("lstsq", left.mT @ left, left.mT @ b.double())
    return type("lstsq", (), {"solution": found.to(a.dtype)})


def matrix_exp(a: Tensor) -> Tensor:
    """Compute the matrix exponential by its series, with scaling and squaring.

    Raises:
        RuntimeError: the matrix is not square, or not floating-point.
        NotImplementedError: there are several.
    """
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
