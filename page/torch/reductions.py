"""Reductions (sums, means, extremes), norms, softmax, and cumulative sums and products."""

from __future__ import annotations

import builtins
from math import inf, nan
from typing import Any

from . import kernels
from .arithmetic import empty_output, maximum, minimum, nan_to_num, use_kernel, where
from .creation import zeros_like
from .dtypes import FLOATING, TYPE_NAMES, bool_, dtype, int64
from .dtypes import dtype as Kind
from .gradients import record_step
from .indexing import gather
from .joining import cat
from .kernels import address_of
from .numbers import exp_of, map_numbers, quotient
from .shapes import axes_of, axis_of, product
from .tensors import Tensor, method, tensor_of
from .views import diagonal, permuted_view


def rows_of(x: Tensor, dims: list[int]) -> tuple[Tensor, int, list[int]]:
    """Return a view of `x` with these axes last as rows, the length of a row, and the sizes of the other axes."""
    if dims == [len(x.shape) - 1]:
        *shape, n = x.shape
        return x, n, shape
    keep = [i for i in range(x.ndim) if i not in dims]
    order = keep + sorted(dims)
    y = x if order == list(range(x.ndim)) else permuted_view(x, order)
    return y, product([x.shape[i] for i in sorted(dims)]), [x.shape[i] for i in keep]


def keepdim_shape(x: Tensor, dims: list[int]) -> list[int]:
    return [1 if i in dims else n for i, n in enumerate(x.shape)]


def reduce_rows(name: Any, x: Tensor, dim: Any, keepdim: bool, f: Any, dt: dtype, vjp: Any = None) -> Tensor:
    """Reduce the axes `dim` with a function `f` of a row, or with the kernel `name`, to a result of the dtype `dt`.

    `vjp` computes the gradient of `x` from the gradient of the result and from the result.
    """
    dims = axes_of(dim, x.ndim)
    y, n, shape = rows_of(x, dims)
    m = product(shape)
    kept = keepdim_shape(x, dims)
    given = kept if keepdim else shape
    if dt is x.dtype and use_kernel(name, m * n, dt):
        out = empty_output(dt, given)
        numbers = y._buffer()
        kernels.JS.reduce(dt.code, name, address_of(numbers), address_of(out._data), m, n)
    else:
        v = y._numbers()
        out = tensor_of([f(v[i * n : (i + 1) * n]) for i in range(m)], given, dt)
    if vjp and x.requires_grad:
        record_step(out, [x], lambda g: [vjp(g.reshape(kept), out.detach().reshape(kept)).to(x.dtype)])
    return out


@method
def sum(x: Tensor, dim: Any = None, keepdim: bool = False, dtype: Kind | None = None) -> Tensor:
    x = x.to(dtype) if dtype is not None else x
    dt = x.dtype if x.dtype.kind == FLOATING else int64
    return reduce_rows("sum", x, dim, keepdim, builtins.sum, dt, lambda g, y: g.expand(x.shape))


@method
def mean(x: Tensor, dim: Any = None, keepdim: bool = False, dtype: Kind | None = None) -> Tensor:
    x = x.to(dtype) if dtype is not None else x
    if x.dtype.kind < FLOATING:
        raise RuntimeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {TYPE_NAMES[x.dtype]}"
        )
    return sum(x, dim, keepdim) / product([x.shape[d] for d in axes_of(dim, x.ndim)])


@method
def var(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: int | None = None
) -> Tensor:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    c = correction if correction is not None else 1 if unbiased else 0
    n = product([x.shape[d] for d in axes_of(dim, x.ndim)])
    if not x.requires_grad:

        def f(v: Any) -> float:
            mu = builtins.sum(v) / len(v) if len(v) else nan
            return quotient(builtins.sum([(u - mu) ** 2 for u in v]), float(builtins.max(0, n - c)))

        return reduce_rows("var", x, dim, keepdim, f, x.dtype)
    gap = x - mean(x, dim, True)
    return sum(gap * gap, dim, keepdim) / (n - c)


@method
def std(
    x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: int | None = None
) -> Tensor:
    return var(x, dim, unbiased, keepdim, correction).sqrt()


def var_mean(x: Tensor, dim: Any = None, **kw: Any) -> Any:
    return var(x, dim, **kw), mean(x, dim)


@method
def prod(x: Tensor, dim: Any = None, keepdim: bool = False, dtype: Kind | None = None) -> Tensor:
    dt = x.dtype if x.dtype.kind == FLOATING else int64
    return reduce_rows("prod", x, dim, keepdim, product, dt, lambda g, y: g * y / x)


def max_of_row(v: Any) -> Any:
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


def min_of_row(v: Any) -> Any:
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


def check_not_empty(x: Tensor, dim: Any, name: str) -> None:
    """Raise torch's error if `dim` is an empty axis, which has no extreme."""
    if all_zero := [d for d in axes_of(dim, x.ndim) if x.ndim and x.shape[d] == 0]:
        if dim is None:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        raise IndexError(f"{name}(): Expected reduction dim {all_zero[0]} to have non-zero size.")


def extreme(x: Tensor, dim: Any, keepdim: bool, f: Any, name: Any) -> Tensor:
    check_not_empty(x, dim, name)

    def vjp(g: Tensor, y: Tensor) -> Tensor:
        at = x.detach() == y
        return g * at / at.sum(axes_of(dim, x.ndim), keepdim=True)

    return reduce_rows("amax" if f is max_of_row else "amin", x, dim, keepdim, f, x.dtype, vjp)


@method
def amax(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return extreme(x, dim, keepdim, max_of_row, "amax")


@method
def amin(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return extreme(x, dim, keepdim, min_of_row, "amin")


class NamedResults(tuple[Tensor, ...]):
    """The result of `max`, `sort` and similar functions: a named tuple of values and indices."""

    names = ("values", "indices")
    kind: str

    def __getattr__(self, name: Any) -> Any:
        if name in self.names:
            return self[self.names.index(name)]
        raise AttributeError(f"'torch.return_types' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return (
            f"torch.return_types.{self.kind}(\n"
            + ",\n".join([f"{n}={v!r}" for n, v in zip(self.names, self, strict=True)])
            + ")"
        )


def named_results(kind: str, *values: Tensor) -> NamedResults:
    got = NamedResults(values)
    got.kind = kind
    return got


def index_of_extreme(x: Tensor, dim: Any, keepdim: bool, f: Any) -> Tensor:
    check_not_empty(x, dim, "argmax" if f is max_of_row else "argmin")

    def at(v: Any) -> int:
        best = f(v)
        return next(i for i, u in enumerate(v) if u == best or u != u)

    return reduce_rows("arg", x, dim, keepdim, at, int64)


@method
def argmax(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return index_of_extreme(x, dim, keepdim, max_of_row)


@method
def argmin(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return index_of_extreme(x, dim, keepdim, min_of_row)


def extreme_with_index(x: Tensor, dim: Any, keepdim: bool, f: Any, arg: Any, pair: Any, kind: Any) -> Any:
    """Implement `max` and `min`: of two tensors, of all numbers, or of an axis with the indices."""
    if isinstance(dim, Tensor):
        return pair(x, dim)
    if dim is None:
        return extreme(x, None, False, f, kind)
    at = arg(x, dim, True)
    values = gather(x, axis_of(dim, x.ndim), at) if x.ndim else x
    if not keepdim and x.ndim:
        at, values = at.squeeze(dim), values.squeeze(dim)
    return named_results(kind, values, at)


@method
def max(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    return extreme_with_index(x, dim, keepdim, max_of_row, argmax, maximum, "max")


@method
def min(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    return extreme_with_index(x, dim, keepdim, min_of_row, argmin, minimum, "min")


@method
def median(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return reduce_rows("median", x, None, False, lambda v: sorted(v)[(len(v) - 1) // 2], x.dtype)
    at = reduce_rows(
        "median", x, dim, True, lambda v: sorted(range(len(v)), key=v.__getitem__)[(len(v) - 1) // 2], int64
    )
    values = gather(x, dim, at)
    return named_results("median", *((values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))))


@method
def all(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return reduce_rows("all", x, dim, keepdim, lambda v: 1 if builtins.all(v) else 0, bool_)


@method
def any(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return reduce_rows("any", x, dim, keepdim, lambda v: 1 if builtins.any(v) else 0, bool_)


@method
def count_nonzero(x: Tensor, dim: Any = None) -> Tensor:
    return sum(x.ne(0), dim)


@method
def nansum(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    return nan_to_num(x).sum(dim, keepdim)


@method
def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    if not x.numel():
        return x.exp().sum(dim, keepdim).log()
    top = amax(x, dim, True).detach()
    top = where(top.abs() == inf, zeros_like(top), top)
    out = (x - top).exp().sum(dim, True).log() + top
    return out if keepdim else out.reshape([n for i, n in enumerate(x.shape) if i not in axes_of(dim, x.ndim)])


def logaddexp(a: Tensor, b: Tensor) -> Tensor:
    top = where(a > b, a, b).detach()
    top = where(top.abs() == inf, zeros_like(top), top)
    return ((a - top).exp() + (b - top).exp()).log() + top


@method
def norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    if p in (2, "fro"):
        return (x * x).sum(dim, keepdim).sqrt()
    if p == inf:
        return x.abs().amax(dim, keepdim)
    return (x.abs() ** p).sum(dim, keepdim) ** (1 / p)


@method
def dist(a: Tensor, b: Tensor, p: Any = 2) -> Tensor:
    return norm(a - b, p)


def cdist(x1: Tensor, x2: Tensor, p: Any = 2.0) -> Tensor:
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def move_axis_last(x: Tensor, dim: Any) -> tuple[Tensor, list[int]]:
    """Return a view of `x` with this axis last, and the order of axes that permutes a result back."""
    d = axis_of(dim, x.ndim)
    if d == x.ndim - 1:
        return x, list(range(x.ndim))
    order = [i for i in range(x.ndim) if i != d] + ([d] if x.ndim else [])
    back = [order.index(i) for i in range(x.ndim)]
    return x.permute(order), back


def softmax_of_row(v: Any) -> list[float]:
    top = max_of_row(v)
    p = map_numbers(exp_of, [u - top for u in v])
    s = builtins.sum(p)
    return [u / s for u in p]


@method
def softmax(x: Tensor, dim: Any = None, dtype: Kind | None = None) -> Tensor:
    if dtype is not None:
        x = x.to(dtype)
    if dim is None:
        raise TypeError(
            "softmax() received an invalid combination of arguments - got (Tensor), but expected (Tensor input, int dim)"
        )
    if x.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"softmax_lastdim_kernel_impl\" not implemented for '{TYPE_NAMES[x.dtype]}'")
    y, back = move_axis_last(x, dim)
    n = y.shape[-1] if y.ndim else 1
    m = y.numel() // n if n else 0
    if use_kernel("softmax", 2 * m * n, x.dtype):  # softmax takes Python about twice the usual time per number
        out = empty_output(x.dtype, y.shape)
        numbers = y._buffer()
        kernels.JS.softmax(x.dtype.code, address_of(numbers), address_of(out._data), m, n)
    else:
        v, vals = y._numbers(), []
        for i in range(m):
            vals += softmax_of_row(v[i * n : (i + 1) * n])
        out = tensor_of(vals, y.shape, x.dtype)
    record_step(out, [y], lambda g: [out.detach() * (g - (g * out.detach()).sum(-1, True))])
    return out if y is x else out.permute(back)


@method
def log_softmax(x: Tensor, dim: Any = None, dtype: Kind | None = None) -> Tensor:
    x = x if dtype is None else x.to(dtype)
    return x - logsumexp(x, dim, True)


@method
def cumsum(x: Tensor, dim: Any, dtype: Kind | None = None) -> Tensor:
    y, back = move_axis_last(x, dim)
    n, v, vals = (y.shape[-1] if y.ndim else 1), y._numbers(), []
    for i in range(y.numel() // n if n else 0):
        s = 0
        for u in v[i * n : (i + 1) * n]:
            s += u
            vals.append(s)
    out = tensor_of(vals, y.shape, x.dtype if x.dtype.kind == FLOATING else int64)
    record_step(out, [y], lambda g: [g.flip(-1).cumsum(-1).flip(-1)])
    return out.permute(back)


@method
def cumprod(x: Tensor, dim: Any) -> Tensor:
    y, back = move_axis_last(x, dim)
    n, v, vals = y.shape[-1], y._numbers(), []
    for i in range(y.numel() // n if n else 0):
        s = 1
        for u in v[i * n : (i + 1) * n]:
            s *= u
            vals.append(s)
    return tensor_of(vals, y.shape, x.dtype if x.dtype.kind == FLOATING else int64).permute(back)


@method
def diff(x: Tensor, n: Any = 1, dim: Any = -1, prepend: Any = None, append: Any = None) -> Tensor:
    d = axis_of(dim, x.ndim)
    x = cat([t for t in (prepend, x, append) if t is not None], d)
    return x.narrow(d, 1, x.shape[d] - 1) - x.narrow(d, 0, x.shape[d] - 1)


@method
def trace(x: Tensor) -> Tensor:
    return diagonal(x).sum()
