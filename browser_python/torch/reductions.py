"""Reductions (sums, means, extremes), norms, softmax, and cumulative sums and products.

Errors are those of torch, also where a docstring does not list them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate
from math import inf, nan
from operator import mul
from typing import Any, NamedTuple

from .arithmetic import empty_output, kernel_for, masked_fill, maximum, minimum, unary_op, where
from .creation import zeros_like
from .dtypes import FLOATING, TYPE_NAMES, as_dtype, bool_, dtype, int64, uint8
from .dtypes import dtype as Kind
from .gradients import record_step
from .indexing import gather
from .joining import cat
from .kernels import Kernel, address_of
from .missing import refuse
from .numbers import Numbers, OtherInteger, exp_of, map_numbers, power, quotient, sqrt_of
from .shapes import Axes, Size, axes_of, axis_of, check_flag, product, whole
from .tensors import Rule, Tensor, method, record_rules, tensor_of
from .views import diagonal, permuted_view

OfRow = Callable[[Numbers], float]


class Reduced(NamedTuple):
    """How a reduction walks over a tensor of one shape.

    Attributes:
        dims: the reduced axes
        order: all axes, in the order that has the reduced ones last; None if they already are
        n, m: how many numbers a row has, which are reduced to one, and how many rows there are
        shape, kept: the shape of the result without the reduced axes, and with axes of size 1 for them
    """

    dims: list[int]
    order: list[int] | None
    n: int
    m: int
    shape: Size
    kept: Size


@lru_cache(maxsize=1000)
def reduced(shape: tuple[int, ...], dim: Axes) -> Reduced:
    """Return how a reduction over these axes walks over a tensor of this shape.

    The parts: the reduced axes; the order that puts them last, or None if they are; the length and number of rows; the
    result's shape, without these axes and with size 1 in their places.
    """
    shape = tuple(shape)
    dims = axes_of(dim, len(shape))
    keep = [i for i in range(len(shape)) if i not in dims]
    order = keep + sorted(dims)
    left = Size([shape[i] for i in keep])
    return Reduced(
        dims,
        None if order == list(range(len(shape))) else order,
        product([shape[i] for i in dims]),
        product(left),
        left,
        Size([1 if i in dims else n for i, n in enumerate(shape)]),
    )


def reduced_by(x: Tensor, dim: Axes) -> Reduced:
    """Return how a reduction of `x` over these axes walks over it."""
    return reduced(x.shape, dim if dim is None or type(dim) is int else tuple(axes_of(dim, len(x.shape))))


def reduce_rows(
    name: str, x: Tensor, dim: Axes, keepdim: bool, f: OfRow, dt: dtype, rule: Rule | None = None
) -> Tensor:
    """Reduce the axes `dim` with a function `f` of a row, or with the kernel `name`, to a result of the dtype `dt`.

    `rule` is the rule for the gradient of `x`, from the gradient `g` of the result `y`. Both have axes of size 1 for
    the reduced ones. A `keepdim` that is no bool raises a TypeError.
    """
    check_flag("keepdim", keepdim)
    dims, order, n, m, shape, kept = reduced_by(x, dim)
    y = x if order is None else permuted_view(x, order)
    given = kept if keepdim else shape
    if dt is x.dtype and n and (kernel := kernel_for(name, m * n, dt)):
        out = empty_output(dt, given)
        fold_by_kernel(kernel, x, dims, y, m, n, out)
    else:
        v = bytes(y._numbers()) if x.dtype is bool_ else y._numbers()
        out = tensor_of([f(v[i * n : (i + 1) * n]) for i in range(m)], given, dt)
    if rule and x.requires_grad:
        names = rule.__code__.co_varnames[1 : rule.__code__.co_argcount]

        def back(g: Tensor, *saved: Tensor) -> list[Tensor]:
            known = [t.reshape(kept) if name == "y" else t for name, t in zip(names, saved, strict=True)]
            return [rule(g.reshape(kept), *known)]

        record_step(out, [x], back, [{"x": x, "y": out}[name] for name in names])
    return out


def fold_by_kernel(kernel: Kernel, x: Tensor, dims: list[int], y: Tensor, m: int, n: int, out: Tensor) -> None:
    """Fold the axes `dims` of `x` with a kernel, into `out`. `y` is `x` with these axes last: m rows of n numbers."""
    side_by_side = dims == list(range(dims[0], dims[0] + len(dims))) if dims else False
    if side_by_side and x.is_contiguous():
        inner = product(x.shape[dims[-1] + 1 :])
        kernel(address_of(out._data), x._address(), m // inner, n, inner, 0)
    else:
        numbers = y._buffer()
        kernel(address_of(out._data), address_of(numbers), m, n, 1, 0)


@method
def sum(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Kind | None = None) -> Tensor:
    """Return the sum over these axes, or over all numbers; of integers and bools in int64.

    With `dtype`, the numbers are converted to it first. An axis that is not there raises an IndexError.
    """
    if x.dtype is bool_ and dtype is None:
        return reduce_rows("count", x, dim, keepdim, builtins.sum, int64)
    x, dt = as_summed(x, dtype)
    shape = x.shape
    return reduce_rows("sum", x, dim, keepdim, builtins.sum, dt, lambda g: g.expand(shape))


def as_summed(x: Tensor, dtype: Kind | None) -> tuple[Tensor, Kind]:
    """Return a tensor converted to the dtype of its sum or product, and this dtype: int64 for integers by default."""
    x = x if (dtype := as_dtype(dtype)) is None else x.to(dtype)
    return x, dtype or (x.dtype if x.dtype.kind == FLOATING else int64)


@method
def mean(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Kind | None = None) -> Tensor:
    """Return the mean over these axes, or of all numbers; with `dtype`, they are converted to it first.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: the dtype is not floating-point.
    """
    x = x if dtype is None else x.to(as_dtype(dtype))
    if x.dtype.kind < FLOATING:
        raise RuntimeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {TYPE_NAMES[x.dtype]}"
        )
    return sum(x, dim, keepdim) / product([x.shape[d] for d in axes_of(dim, x.ndim)])


@method
def var(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """Return the variance over these axes, or of all numbers: Σ (x − mean)² / (n − `correction`).

    The correction is 1, or 0 if `unbiased` is False, which may also stand in the place of `dim`.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: the dtype is not floating-point.
        TypeError: `unbiased` or `keepdim` is no bool.
    """
    if x.dtype.kind < FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    check_flag("unbiased", unbiased)
    c = correction if correction is not None else 1 if unbiased else 0
    n = product([x.shape[d] for d in axes_of(dim, x.ndim)])
    if not x.requires_grad:

        def f(v: Numbers) -> float:
            mu = builtins.sum(v) / len(v) if len(v) else nan
            return quotient(builtins.sum([(u - mu) ** 2 for u in v]), float(builtins.max(0, n - c)))

        return reduce_rows("var", x, dim, keepdim, f, x.dtype)
    gap = x - mean(x, dim, True)
    return sum(gap * gap, dim, keepdim) / (n - c)


@method
def std(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    return root(var(x, dim, unbiased, keepdim, correction=correction), 2)


def root(x: Tensor, p: float) -> Tensor:
    """Return the p-th root, whose gradient at 0 is 0, as that of torch's standard deviation and norm."""
    name, f = ("sqrt", sqrt_of) if p == 2 else ("root", lambda v: power(v, 1 / p))
    return unary_op(name, x, f, lambda g, y: g * where(y == 0, 0.0, y ** (1 - p) / p), x.dtype)


def var_mean(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean, in this order: see `var`."""
    return var(x, dim, unbiased, keepdim, correction=correction), mean(
        x, None if isinstance(dim, bool) else dim, keepdim
    )


def std_mean(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean, in this order: see `var`."""
    deviation, average = var_mean(x, dim, unbiased, keepdim, correction=correction)
    return root(deviation, 2), average


@method
def prod(x: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Kind | None = None) -> Tensor:
    """Return the product over an axis, or of all numbers; of integers and bools in int64.

    With `dtype`, the numbers are converted to it first. An axis that is not there raises an IndexError.
    """
    x, dt = as_summed(x, dtype)
    d = None if dim is None else axis_of(dim, x.ndim)

    def rule(g: Tensor, x: Tensor) -> Tensor:
        return g * (
            along_axis(products_of_others, -1, x.flatten()).reshape(x.shape)
            if d is None
            else along_axis(products_of_others, d, x)
        )

    return reduce_rows("prod", x, d, keepdim, product, dt, rule)


def products_of_others(v: Numbers) -> list[float]:
    """Return for each number of a row the product of all others."""
    before = accumulate(v[:-1], mul, initial=1.0)
    after = list(accumulate(v[:0:-1], mul, initial=1.0))
    return [a * b for a, b in zip(before, reversed(after), strict=True)]


def max_of_row(v: Numbers) -> float:
    """Return the largest number of a row, or nan if the row contains nan."""
    total = builtins.sum(v)
    if total == total:
        return builtins.max(v)
    best = v[0]
    for u in v:
        if u != u:
            return u
        if u > best:
            best = u
    return best


def min_of_row(v: Numbers) -> float:
    """Return the smallest number of a row, or nan if the row contains nan."""
    total = builtins.sum(v)
    if total == total:
        return builtins.min(v)
    best = v[0]
    for u in v:
        if u != u:
            return u
        if u < best:
            best = u
    return best


def check_not_empty(x: Tensor, dim: Axes, name: str) -> None:
    """Raise torch's error for `name` if `dim` has an empty axis, which has no extreme.

    Raises:
        RuntimeError: `dim` is None, and `x` is empty; for `argmax` and `argmin`, an IndexError.
        IndexError: an axis in `dim` is empty.
    """
    if 0 in x.shape and (all_zero := [d for d in axes_of(dim, x.ndim) if x.shape[d] == 0]):
        if dim is None and name.startswith("arg"):
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if dim is None:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        raise IndexError(f"{name}(): Expected reduction dim {all_zero[0]} to have non-zero size.")


def extreme(x: Tensor, dim: Axes, keepdim: bool, f: OfRow, name: str) -> Tensor:
    """Return the largest or smallest numbers over these axes, by `f` of a row; equal ones share the gradient.

    An empty axis raises the errors of `check_not_empty`.
    """
    check_not_empty(x, dim, name)

    def rule(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        at: Any = x == y
        return g * at / at.sum(axes_of(dim, x.ndim), keepdim=True)

    return reduce_rows("amax" if f is max_of_row else "amin", x, dim, keepdim, f, x.dtype, rule)


@method
def amax(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    return extreme(x, dim, keepdim, max_of_row, "amax")


@method
def amin(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    return extreme(x, dim, keepdim, min_of_row, "amin")


@method
def aminmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> NamedResults:
    """Return the smallest and the largest number along an axis, or of all numbers, as a named tuple (min, max).

    Errors are those of `check_not_empty`.
    """
    names = ("min", "max")
    return named_results("aminmax", amin(x, dim, keepdim), amax(x, dim, keepdim), names=names)


class NamedResults(tuple[Tensor, ...]):
    """The result of `max`, `sort` and similar functions: a named tuple of values and indices."""

    __slots__ = ()
    names: tuple[str, ...] = ("values", "indices")
    kind: str

    def __getattr__(self, name: str) -> Tensor:
        if name in self.names:
            return self[self.names.index(name)]
        raise AttributeError(f"'torch.return_types' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("readonly attribute")

    def __repr__(self) -> str:
        """Return the text that torch prints for such a result."""
        return (
            f"torch.return_types.{self.kind}(\n"
            + ",\n".join([f"{n}={v!r}" for n, v in zip(self.names, self, strict=True)])
            + ")"
        )


def named_results(kind: str, *values: Tensor, names: tuple[str, ...] = NamedResults.names) -> NamedResults:
    return class_of_results(kind, names)(values)


@lru_cache(maxsize=100)
def class_of_results(kind: str, names: tuple[str, ...]) -> type[NamedResults]:
    """Return the class of the results of a function, such as `torch.return_types.max`."""
    own = {"__module__": "torch.return_types", "__slots__": (), "kind": kind, "names": names}
    return type(kind, (NamedResults,), own)


def index_of_extreme(x: Tensor, dim: int | None, keepdim: bool, f: OfRow) -> Tensor:
    """Return the index of the first largest or smallest number along an axis, or of the first nan.

    Without an axis, it is the index in all numbers in order. Bools raise a RuntimeError; see also `check_not_empty`.
    """
    name = "argmax" if f is max_of_row else "argmin"
    if x.dtype is bool_:
        raise RuntimeError(f"{name}(): does not support bool input")
    check_not_empty(x, None if dim is None else axis_of(dim, x.ndim), name)

    def at(v: Numbers) -> int:
        best = f(v)
        return next(i for i, u in enumerate(v) if u == best or u != u)

    return reduce_rows("arg", x, dim, keepdim, at, int64)


@method
def argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return index_of_extreme(x, dim, keepdim, max_of_row)


@method
def argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return index_of_extreme(x, dim, keepdim, min_of_row)


def extreme_with_index(
    x: Tensor,
    dim: Tensor | int | None,
    keepdim: bool,
    f: OfRow,
    arg: Callable[..., Tensor],
    pair: Callable[[Tensor, Tensor], Tensor],
    kind: str,
) -> Tensor | NamedResults:
    """Implement `max` and `min`: of two tensors if `dim` is a tensor, of all numbers without `dim`, else along an axis.

    Along an axis, the result is a named tuple (values, indices). `kind` is the function's name, `pair` its version for
    two tensors, `f` for a row, and `arg` for the index. A `keepdim` that is no bool raises a TypeError; see also
    `check_not_empty`.
    """
    if isinstance(dim, Tensor):
        return pair(x, dim)
    check_flag("keepdim", keepdim)
    if dim is None:
        return extreme(x, None, False, f, kind)
    check_not_empty(x, axis_of(dim, x.ndim), kind)
    at = arg(x.to(uint8) if x.dtype is bool_ else x, dim, True)
    values = gather(x, axis_of(dim, x.ndim), at) if x.ndim else x.clone()
    if not keepdim and x.ndim:
        at, values = at.squeeze(dim), values.squeeze(dim)
    return named_results(kind, values, at)


@method
def max(x: Tensor, dim: Tensor | int | None = None, keepdim: bool = False) -> Tensor | NamedResults:
    return extreme_with_index(x, dim, keepdim, max_of_row, argmax, maximum, "max")


@method
def min(x: Tensor, dim: Tensor | int | None = None, keepdim: bool = False) -> Tensor | NamedResults:
    return extreme_with_index(x, dim, keepdim, min_of_row, argmin, minimum, "min")


def place_of_median(v: Numbers) -> int:
    """Return the index of the median of a row, or of its first nan."""
    order = sorted(range(len(v)), key=lambda i: (v[i] == v[i], v[i], i))
    return order[0] if v[order[0]] != v[order[0]] else order[(len(v) - 1) // 2]


@method
def median(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | NamedResults:
    """Return the median of all numbers, the lower one of two; nan if there is nan, or no number.

    Along an axis, return a named tuple (values, indices); if it is empty, an IndexError is raised. A bool tensor raises
    a NotImplementedError.
    """
    if x.dtype is bool_:
        name = "median_cpu" if dim is None else "median_out"
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    if dim is None:

        def rule(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
            at: Any = x.isnan() if y.isnan().any() else x == y
            return g * at / at.sum()

        return reduce_rows("", x, None, False, lambda v: v[place_of_median(v)] if len(v) else nan, x.dtype, rule)
    check_not_empty(x, axis_of(dim, x.ndim), "median")
    at = reduce_rows("", x, dim, True, place_of_median, int64)
    values = gather(x, dim, at)
    return named_results("median", *((values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))))


@method
def all(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    dt = uint8 if x.dtype is uint8 else bool_
    return reduce_rows("all", x, dim, keepdim, lambda v: 1 if builtins.all(v) else 0, dt)


@method
def any(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    dt = uint8 if x.dtype is uint8 else bool_
    return reduce_rows("any", x, dim, keepdim, lambda v: 1 if builtins.any(v) else 0, dt)


@method
def count_nonzero(x: Tensor, dim: Axes = None) -> Tensor:
    return sum(x.ne(0), dim)


@method
def nansum(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Kind | None = None) -> Tensor:
    return masked_fill(x, x.isnan(), 0).sum(dim, keepdim, dtype=dtype)


@method
def logsumexp(x: Tensor, dim: Axes, keepdim: bool = False) -> Tensor:
    """Return log Σ exp x over these axes, computed without overflow. It is a TypeError if they are None.

    An axis that is not there raises an IndexError.
    """
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' (position 1) must be tuple of ints, not NoneType")
    x = x.float() if x.dtype is bool_ else x
    if not x.numel():
        return x.exp().sum(dim, keepdim).log()
    top = amax(x, dim, True).detach()
    top = where(top.abs() == inf, zeros_like(top), top)
    out = (x - top).exp().sum(dim, True).log() + top
    return out if keepdim else out.reshape([n for i, n in enumerate(x.shape) if i not in axes_of(dim, x.ndim)])


def logaddexp(a: Tensor, b: Tensor) -> Tensor:
    """Return log(exp a + exp b), computed without overflow, with broadcasting.

    Raises:
        NotImplementedError: neither is floating-point.
        RuntimeError: the shapes do not broadcast.
    """
    if a.dtype.kind < FLOATING and b.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"logaddexp_cpu\" not implemented for '{TYPE_NAMES[a.dtype]}'")
    top = where(a > b, a, b).detach()
    top = where(top.abs() == inf, zeros_like(top), top)
    return ((a - top).exp() + (b - top).exp()).log() + top


@method
def norm(x: Tensor, p: Any = "fro", dim: Axes = None, keepdim: bool = False, *, dtype: Kind | None = None) -> Tensor:
    """Return the norm of order p, (Σ |x|ᵖ)^(1/p), over these axes, or of all numbers.

    For p = 0, count the numbers other than 0; for ±inf, return the largest or smallest |x|; "fro" is 2.

    Raises:
        RuntimeError: the dtype is not floating-point, or p is another text.
        NotImplementedError: p is "nuc".
        TypeError: `dim` is an integer of NumPy, and p is "fro", as in torch.
    """
    if isinstance(dim, OtherInteger) and p == "fro":  # torch asks for its length
        raise TypeError("object of type 'numpy.int64' has no len()")
    x = x if dtype is None else x.to(dtype)
    if p == "nuc":
        refuse("the nuclear norm")
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if x.dtype.kind < FLOATING:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[x.dtype]}"
        )
    if p in (2, "fro", None):
        return root((x * x).sum(dim, keepdim), 2)
    if p == 0:
        return x.ne(0).to(x.dtype).sum(dim, keepdim)
    if p in (inf, -inf):
        return x.abs().amax(dim, keepdim) if p > 0 else x.abs().amin(dim, keepdim)
    return root((x.abs() ** p).sum(dim, keepdim), p)


@method
def dist(a: Tensor, b: Tensor, p: float = 2) -> Tensor:
    return norm(a - b, p)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the norm of order p of the difference of each row of `x1` and each of `x2`.

    `compute_mode` only chooses torch's way to compute them.

    Shapes:
        x1 (..., m, d); x2 (..., n, d); result (..., m, n)
    Raises:
        RuntimeError: one has fewer than two axes or is not floating-point, d differs, or p is negative.
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
        if x.dtype.kind < FLOATING:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {TYPE_NAMES[x.dtype]}")
    if x1.shape[-1] != x2.shape[-1]:
        sizes = f"X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        raise RuntimeError(f"X1 and X2 must have the same number of columns. {sizes}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def move_axis_last(x: Tensor, d: int) -> Tensor:
    """Return a view with the axis `d` last, without gradient history."""
    return x if d == x.ndim - 1 or not x.ndim else permuted_view(x, [i for i in range(x.ndim) if i != d] + [d])


def move_axis_back(x: Tensor, d: int) -> Tensor:
    """Return a contiguous tensor in which the last axis of `x` is the axis `d`."""
    last = x.ndim - 1
    return x if d >= last else permuted_view(x, [*range(d), last, *range(d, last)]).contiguous()


def along_axis(f: Callable[..., Iterable[float]], dim: int, *xs: Tensor, dtype: Kind | None = None) -> Tensor:
    """Return the results of `f`, which maps a row along this axis, of each tensor, to a row of as many numbers.

    The tensors have one shape, and so has the result; its dtype is that of the first one unless `dtype` is given.
    """
    d = axis_of(dim, xs[0].ndim)
    moved = [move_axis_last(x, d) for x in xs]
    y, rows = moved[0], [x._numbers() for x in moved]
    n = y.shape[-1] if y.ndim else 1
    numbers: list[Any] = []
    for start in range(0, y.numel(), n or 1):
        numbers += f(*[row[start : start + n] for row in rows])
    return move_axis_back(tensor_of(numbers, y.shape, dtype or y.dtype), d)


def softmax_of_row(v: Numbers) -> list[float]:
    """Return exp x / Σ exp x of a row, computed without overflow."""
    top = max_of_row(v)
    p = map_numbers(exp_of, [u - top for u in v])
    s = builtins.sum(p)
    return [u / s for u in p]


@method
def softmax(x: Tensor, dim: int | None = None, dtype: Kind | None = None) -> Tensor:
    """Return exp x / Σ exp x along an axis, by a kernel if there is one; with `dtype`, x is converted to it first.

    Raises:
        IndexError: there is no such axis.
        TypeError: no axis is given.
        NotImplementedError: the dtype is not floating-point.
    """
    if dtype is not None:
        x = x.to(as_dtype(dtype))
    if dim is None:
        raise TypeError('softmax() missing 1 required positional arguments: "dim"')
    if x.dtype.kind < FLOATING:
        last = "lastdim_" if axis_of(dim, x.ndim) == (x.ndim or 1) - 1 else ""
        raise NotImplementedError(f"\"softmax_{last}kernel_impl\" not implemented for '{TYPE_NAMES[x.dtype]}'")
    y = move_axis_last(x, axis_of(dim, x.ndim))
    n = y.shape[-1] if y.ndim else 1
    m = y.numel() // n if n else 0
    if kernel := kernel_for("softmax", m * n, x.dtype):
        out = empty_output(x.dtype, y.shape)
        numbers = y._buffer()
        kernel(address_of(out._data), address_of(numbers), m, n, 1.0, 0)
        out = move_axis_back(out, axis_of(dim, x.ndim))
    else:
        out = along_axis(softmax_of_row, dim, x)
    return record_rules(out, [x], [lambda g, y: y * (g - (g * y).sum(dim, True))], y=out)


@method
def log_softmax(x: Tensor, dim: int, dtype: Kind | None = None) -> Tensor:
    """Return x − log Σ exp x along an axis, by a kernel if there is one; with `dtype`, x is converted to it first.

    Raises:
        IndexError: there is no such axis.
        NotImplementedError: the dtype is not floating-point.
    """
    x = x if dtype is None else x.to(as_dtype(dtype))
    if x.dtype.kind < FLOATING:
        last = "lastdim_" if axis_of(dim, x.ndim) == (x.ndim or 1) - 1 else ""
        raise NotImplementedError(f"\"log_softmax_{last}kernel_impl\" not implemented for '{TYPE_NAMES[x.dtype]}'")
    kernel = kernel_for("logSoftmax", x.numel(), x.dtype) if axis_of(dim, x.ndim) == x.ndim - 1 else None
    if kernel:
        out, numbers = empty_output(x.dtype, x.shape), x._buffer()
        kernel(address_of(out._data), address_of(numbers), x.numel() // x.shape[-1], x.shape[-1])
    else:
        out = x.detach() - logsumexp(x.detach(), dim, True)
    return record_rules(out, [x], [lambda g, y: g - y.exp() * g.sum(dim, True)], y=out)


@method
def cumsum(x: Tensor, dim: int, *, dtype: Kind | None = None) -> Tensor:
    x, dt = as_summed(x, dtype)
    out = along_axis(accumulate, dim, x.to(dt))
    return record_step(out, [x], lambda g: [g.flip(dim).cumsum(dim).flip(dim) if g.ndim else g])


@method
def cumprod(x: Tensor, dim: int, *, dtype: Kind | None = None) -> Tensor:
    x, dt = as_summed(x, dtype)
    out = along_axis(lambda v: accumulate(v, mul), dim, x.to(dt))
    return record_rules(out, [x], [lambda g, x: along_axis(gradient_of_products, dim, g, x)], x=x)


def gradient_of_products(g: Numbers, v: Numbers) -> list[float]:
    """Return the gradient of a row `v`, from the gradient `g` of its cumulative products."""
    gradient, before = [], 1.0
    for k, number in enumerate(v):
        later = accumulate(v[k + 1 :], mul, initial=before)
        gradient.append(builtins.sum(map(mul, g[k:], later)))
        before *= number
    return gradient


@method
def diff(x: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Return the n-th differences of neighbours along an axis, with `prepend` and `append` joined to it first.

    Bools give whether neighbours differ. A RuntimeError is raised for a negative n, no axes, or other numbers of axes.
    An axis that is not there raises an IndexError.
    """
    d = axis_of(dim, x.ndim)
    if whole(n, "n") < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not x.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    joined = [t for t in (prepend, x, append) if t is not None]
    if len({t.ndim for t in joined}) > 1:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    x = cat(joined, d)
    for _ in range(builtins.min(n, x.shape[d])):
        after, before = x.narrow(d, 1, x.shape[d] - 1), x.narrow(d, 0, x.shape[d] - 1)
        x = after ^ before if x.dtype is bool_ else after - before
    return x


@method
def trace(x: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix.

    Raises:
        RuntimeError: x has not two axes.
        NotImplementedError: x is bool.
    """
    if x.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    if x.dtype is bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return diagonal(x).sum()
