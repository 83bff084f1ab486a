"""Functions that are made of other operations; their gradients follow from those.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import combinations as chosen
from itertools import combinations_with_replacement, groupby
from typing import Any
from warnings import warn

from .arithmetic import binary_op, check_implemented, where
from .creation import arange, eye, tensor
from .dtypes import C_NAMES, INTEGER, TYPE_NAMES, Device, bool_, int64, promoted_dtype
from .dtypes import dtype as Kind
from .gradients import record_step
from .indexing import gather
from .joining import cat, list_of_tensors, places_of_matrix, stack
from .linalg import cross as cross_product
from .missing import refuse
from .numbers import Numbers
from .ordering import bincount
from .products import scaled
from .randomness import Generator, default_generator, integers
from .reductions import NamedResults, along_axis, check_not_empty, logaddexp, named_results
from .shapes import axis_of, whole
from .tensors import Tensor, laid_out, made_of, method, tensor_of, without_gradient


# ── sums of products ──────────────────────────────────────────────────────────────────────────────
@method
def addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    return x + value * tensor1 * tensor2


@method
def addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    return x + value * tensor1 / tensor2


@method
def addcmul_(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    return x.add_(value * tensor1 * tensor2)


@method
def addcdiv_(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    return x.add_(value * tensor1 / tensor2)


@method
def addmv(x: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    if x.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {mat.ndim}, {vec.ndim}")
    return scaled(x, beta) + scaled(mat.mv(vec), alpha)


@method
def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return scaled(x.expand(len(vec1), len(vec2)), beta) + scaled(vec1.outer(vec2), alpha)


@method
def baddbmm(x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return scaled(x, beta) + scaled(batch1.bmm(batch2), alpha)


@method
def addbmm(x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return scaled(x, beta) + scaled(batch1.bmm(batch2).sum(0), alpha)


def cross(a: Tensor, b: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors with three numbers, along an axis: the first one of this size by default.

    Without an axis, it warns. A RuntimeError is raised if the axis has not this size, or none has.
    """
    if dim is None:
        warn("Using torch.cross without specifying the dim arg is deprecated.", stacklevel=3)
        if 3 not in a.shape:
            raise RuntimeError("no dimension of size 3 in input")
    return cross_product(a, b, dim=list(a.shape).index(3) if dim is None else dim)


# ── each number ───────────────────────────────────────────────────────────────────────────────────
@method
def frac(x: Tensor) -> Tensor:
    return x - x.trunc().detach()


@method
def signbit(x: Tensor) -> Tensor:
    return tensor_of([math.copysign(1, v) < 0 for v in x._numbers()], x.shape, bool_)


@method
def copysign(x: Tensor, other: Tensor | float) -> Tensor:
    sign: Any = other.signbit() if isinstance(other, Tensor) else math.copysign(1, other) < 0
    size = x.abs() if x.is_floating_point() else x.abs().float()
    return where(sign, -size, size) if isinstance(sign, Tensor) else -size if sign else size


@method
def positive(x: Tensor) -> Tensor:
    if x.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return x


@method
def sgn(x: Tensor) -> Tensor:
    return x.sign()


def rsub(x: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    return other - x * alpha


@method
def float_power(x: Tensor, exponent: Tensor | float) -> Tensor:
    return x.double() ** (exponent.double() if isinstance(exponent, Tensor) else exponent)


@method
def logit(x: Tensor, eps: float | None = None) -> Tensor:
    """Return log(x / (1 − x)), of numbers between `eps` and 1 − `eps` if it is given."""
    y = (x if x.is_floating_point() else x.float()) if eps is None else x.clamp(eps, 1 - eps)
    return (y / (1 - y)).log()


@method
def sinc(x: Tensor) -> Tensor:
    """Return sin(π·x) / (π·x), and 1 at 0."""
    turn = math.pi * where(x.eq(0), 1.0, x)
    return where(x.eq(0), 1.0, turn.sin() / turn)


@method
def logaddexp2(x: Tensor, other: Tensor) -> Tensor:
    return logaddexp(x * math.log(2), other * math.log(2)) / math.log(2)


@method
def angle(x: Tensor) -> Tensor:
    y = x if x.is_floating_point() else x.float()
    return where(y.isnan(), y, where(y.lt(0), math.pi, 0.0)).to(y.dtype)


@method
def gcd(x: Tensor, other: Tensor) -> Tensor:
    check_integers("gcd", x, other)
    return binary_op("gcd", x, other, math.gcd)


@method
def lcm(x: Tensor, other: Tensor) -> Tensor:
    check_integers("lcm", x, other)
    return binary_op("lcm", x, other, math.lcm)


def check_integers(name: str, *operands: Tensor) -> None:
    for x in operands:
        if x.dtype.kind != INTEGER:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{TYPE_NAMES[x.dtype]}'")


# ── reductions ────────────────────────────────────────────────────────────────────────────────────
@method
def nanmean(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the mean of the numbers that are not nan, along axes or of all."""
    there = ~x.isnan()
    return where(there, x, 0.0).sum(dim, keepdim) / there.sum(dim, keepdim)


def numbers_there(name: str, x: Tensor, dim: int | None) -> Tensor:
    """Return the numbers of a tensor that are not nan, as a vector.

    Raises:
        NotImplementedError: the function `name` is asked for an axis.
    """
    if dim is not None:
        refuse(f"`dim` of `{name}`")
    return x[~x.isnan()]


@method
def nanmedian(x: Tensor, dim: int | None = None) -> Tensor:
    return numbers_there("nanmedian", x, dim).median()


@method
def nanquantile(x: Tensor, q: Tensor | float, dim: int | None = None) -> Tensor:
    return numbers_there("nanquantile", x, dim).quantile(q)


@method
def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> NamedResults:
    """Return the most frequent number along an axis, of several the smallest, and the last of its indices.

    They are the fields `values` and `indices` of the result. An empty axis raises an IndexError.
    """

    def place(row: Numbers) -> list[int]:
        numbers = list(row)
        best = min(set(numbers), key=lambda v: (-numbers.count(v), v))
        return [len(numbers) - 1 - numbers[::-1].index(best)] * len(numbers)

    d = axis_of(dim, x.ndim)
    check_not_empty(x, d, "mode")
    at = along_axis(place, d, x, dtype=int64)
    at = at.narrow(d, 0, 1) if x.ndim else at
    values = gather(x, d, at) if x.ndim else x.clone()
    return named_results("mode", *((values, at) if keepdim or not x.ndim else (values.squeeze(d), at.squeeze(d))))


@method
def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """Return the logarithm of the running sum of exponentials along an axis; NotImplementedError for integers.

    An axis that is not there raises an IndexError.
    """
    check_implemented("logcumsumexp_out", x.dtype)
    d = axis_of(dim, x.ndim)
    sums = list(x.unbind(d))
    for i in range(1, len(sums)):
        sums[i] = logaddexp(sums[i - 1], sums[i])
    return stack(sums, d) if sums else x.clone()


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    return trapezoids(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    return trapezoids(y, x, dx, dim).cumsum(dim)


def vdot(x: Tensor, other: Tensor) -> Tensor:
    return x.dot(other)


def trapezoids(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    """Return the trapezoids' areas between neighbours of `y` along an axis, of width `dx`, or with points `x`.

    There is one less than numbers, or none.
    """
    n = y.shape[dim] - 1
    if n < 0:
        return y
    both = y.narrow(dim, 0, n) + y.narrow(dim, 1, n)
    return both / 2 * dx if x is None else both * x.diff(dim=dim if x.ndim > 1 else -1) / 2


# ── order, and pairs ──────────────────────────────────────────────────────────────────────────────
def msort(x: Tensor) -> Tensor:
    return x.sort(0)[0]


@method
def unique_consecutive(
    x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the numbers, in a row, without those that equal the one before.

    On demand, also return for each number the index of its run, and the length of each run.

    Raises:
        NotImplementedError: an axis is given.
    """
    if dim is not None:
        refuse("`dim` of `unique_consecutive`")
    runs = [(value, len(list(same))) for value, same in groupby(x._numbers())]
    out = [tensor_of([value for value, _ in runs], (len(runs),), x.dtype)]
    out = [record_step(out[0], [x], without_gradient("unique_consecutive"))]
    inverse = tensor([i for i, (_, n) in enumerate(runs) for _ in range(n)], dtype=int64)
    if return_inverse:
        out.append(inverse.reshape(x.shape))
    if return_counts:
        out.append(bincount(inverse))
    return out[0] if len(out) == 1 else tuple(out)


def combinations(x: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return the combinations of r numbers of a vector, as rows.

    A RuntimeError is raised for another number of axes, and for a negative r.
    """
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return x[:0]
    picked = list((combinations_with_replacement if with_replacement else chosen)(range(len(x)), r))
    return x[tensor(picked, dtype=int64).view(-1, r)]


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the powers of a vector's numbers as rows, from the exponent N − 1 down to 0, or `increasing` from 0.

    N is the vector's length by default. Another number of axes raises a RuntimeError.
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    powers = arange(len(x) if N is None else N)
    return x[:, None] ** (powers if increasing else powers.flip(0))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Kind = int64, device: Device = None) -> Tensor:
    places = [(i, j) for i, j in places_of_matrix(row, col) if j >= i + whole(offset, "offset")]
    return tensor([[i for i, _ in places], [j for _, j in places]], dtype=dtype, device=device)


# ── shapes ────────────────────────────────────────────────────────────────────────────────────────
@method
def flipud(x: Tensor) -> Tensor:
    return x.flip(0)


@method
def hsplit(x: Tensor, parts: Any) -> tuple[Tensor, ...]:
    return split_exactly("hsplit", x, parts, 1 if x.ndim > 1 else 0)


@method
def vsplit(x: Tensor, parts: Any) -> tuple[Tensor, ...]:
    """Split the first axis: see `split_exactly`. A vector raises a RuntimeError."""
    if x.ndim < 2:
        raise RuntimeError(
            f"torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with {x.ndim} dimensions!"
        )
    return split_exactly("vsplit", x, parts, 0)


def split_exactly(name: str, x: Tensor, parts: Any, dim: int) -> tuple[Tensor, ...]:
    """Split an axis into equal parts, or before indices; a RuntimeError is raised if there are no equal parts."""
    if isinstance(parts, int) and x.shape[dim] % parts:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {x.shape[dim]} is not "
            f"divisible by the split_size {parts}!"
        )
    return x.tensor_split(parts, dim)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Return the index along each axis of places in a flat tensor of this shape.

    Raises:
        ValueError: torch's, if the indices are not integers.
    """
    if indices.dtype.kind != INTEGER:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    found: list[Tensor] = []
    for n in reversed((shape,) if isinstance(shape, int) else tuple(shape)):
        found.insert(0, indices % n)
        indices = indices // n
    return tuple(found)


@method
def deg2rad(x: Tensor) -> Tensor:
    return x * (math.pi / 180)


@method
def rad2deg(x: Tensor) -> Tensor:
    return x * (180 / math.pi)


@method
def get_device(x: Tensor) -> int:
    return -1


@method
def clamp_min(x: Tensor, min: Tensor | float) -> Tensor:
    return x.clamp(min=min)


@method
def clamp_max(x: Tensor, max: Tensor | float) -> Tensor:
    return x.clamp(max=max)


@method
def matrix_power(x: Tensor, n: int) -> Tensor:
    """Return the product of n copies of a matrix: for a negative n, of its inverse."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if n < 0:
        return x.inverse().matrix_power(-n)
    if n == 0:
        return eye(x.shape[-1], dtype=x.dtype).expand(x.shape).clone()
    if n == 1:
        return x.clone()
    if n == 3:
        return (x @ x) @ x
    result, power = None, x
    while n:
        if n % 2:
            result = power if result is None else result @ power
        n //= 2
        power = power @ power if n else power
    return result  # type: ignore[return-value]


@method
def adjoint(x: Tensor) -> Tensor:
    return x.mT


def atleast_3d(*tensors: Any) -> Any:
    """Return one tensor, or a tuple of several, with three axes or more: a vector has its numbers in the second one."""
    xs = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    found = [x.reshape(1, -1, 1) if x.ndim < 2 else x.unsqueeze(-1) if x.ndim == 2 else x for x in xs]
    return found[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else tuple(found)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    return cat([atleast_3d(x) for x in list_of_tensors("dstack", tensors)], 2)


Tensor.H = property(adjoint)  # type: ignore[attr-defined]
Tensor.cross, Tensor.msort, Tensor.vdot = cross, msort, vdot  # type: ignore[attr-defined]


# ── dtypes ────────────────────────────────────────────────────────────────────────────────────────
def promote_types(type1: Kind, type2: Kind) -> Kind:
    return promoted_dtype(type1, type2)


def can_cast(from_: Kind, to: Kind) -> bool:
    return from_.kind <= to.kind


def is_nonzero(x: Tensor) -> bool:
    return bool(x)


# ── indices ───────────────────────────────────────────────────────────────────────────────────────
@method
def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return x.clone().index_add_(dim, index, source, alpha=alpha)


@method
def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return x.clone().index_copy_(dim, index, source)


@method
def index_put_(x: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write values, or with `accumulate` add them, to the places of `x` that one tensor of indices for each axis names.

    Return `x`. Errors are those of an assignment `x[…] = values`.
    """
    if accumulate:
        places = arange(x.numel()).view(x.shape)[tuple(indices)]
        flat = x.reshape(-1).index_add(0, places.flatten(), values.expand(places.shape).flatten())
        return x.copy_(flat.view(x.shape))
    x[tuple(indices)] = values
    return x


@method
def index_put(x: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    return x.clone().index_put_(indices, values, accumulate)


REDUCE: dict[str, Any] = {"sum": operator.add, "prod": operator.mul, "amax": max, "amin": min, "mean": operator.add}


@method
def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Return a copy of `x` in which the numbers of `src` with the same index along an axis are combined.

    `reduce` is sum, prod, mean, amax or amin, else a RuntimeError is raised. By default, the number in `x` is one of
    those that are combined. The result has no gradient. For other errors, see `gather`.
    """
    if reduce not in REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    out = list(x._numbers())
    count = [int(include_self)] * len(out)
    places = arange(x.numel()).view(x.shape).gather(dim, index)
    used = src[tuple(slice(0, n) for n in index.shape)]
    for place, number in zip(places._numbers(), used._numbers(), strict=True):
        out[place] = REDUCE[reduce](out[place], number) if count[place] else number
        count[place] += 1
    if reduce == "mean":
        out = [v / n if n else v for v, n in zip(out, count, strict=True)]
    made = tensor_of(out, x.shape, x.dtype)
    return record_step(made, [x, src], without_gradient("scatter_reduce"))


# ── random numbers ────────────────────────────────────────────────────────────────────────────────
@method
def random_(
    x: Tensor, from_: int | None = None, /, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Write random integers into `x`: below `from_` if it is alone, else from `from_` to `to` − 1, or 0 to 2⁶³ − 1.

    Return `x`.

    Raises:
        RuntimeError: `from_` is not below `to`, or alone not above 0.
        NotImplementedError: there are no bounds, and `x` is not int64.
    """
    g = generator or default_generator
    if from_ is None:
        if x.dtype is not int64:
            refuse(f"`random_` without bounds for the dtype `{x.dtype}`")
        numbers = [g.long_word() % 2**63 for _ in range(x.numel())]
        return x._write(tensor_of(numbers, x.shape, int64))
    low, high = (0, from_) if to is None else (from_, to)
    draw = lambda x: integers(low, high, tuple(x.shape), generator=g)  # noqa: E731
    return x._write(laid_out(draw, [x]).to(x.dtype))


def randint_like(x: Tensor, low: int, high: int | None = None, *, dtype: Kind | None = None) -> Tensor:
    low, high = (0, low) if high is None else (low, high)
    return integers(low, high, tuple(x.shape)).to(dtype or x.dtype)


# ── tensors by the name of their type ─────────────────────────────────────────────────────────────
class TypeOfTensors(type):
    """The class of `torch.LongTensor` and others: calling one makes a tensor of its dtype."""

    kind: Kind

    def __call__(cls, *data: Any) -> Tensor:
        """Return a tensor of this dtype: zeros of these sizes, or the numbers of nested lists."""
        if len(data) == 1 and isinstance(data[0], Tensor) and data[0].dtype is not cls.kind:
            given, wanted = C_NAMES[data[0].dtype], C_NAMES[cls.kind]
            options = "device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false (default), "
            options += "memory_format=(nullopt)"
            raise TypeError(
                f"expected TensorOptions(dtype={wanted}, {options}) (got TensorOptions(dtype={given}, {options}))"
            )
        return made_of(data, cls.kind)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.kind


TYPES = {f"{name}Tensor": TypeOfTensors(f"{name}Tensor", (), {"kind": kind}) for kind, name in TYPE_NAMES.items()}
