"""Functions of NumPy for single tasks: borders, polynomials, sets of numbers, settings for a block of code.

Errors are NumPy's, also where a docstring does not list them. What the page lacks raises a NotImplementedError.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.numbers import INTEGERS

from . import (
    KINDS,
    OPERATORS,
    apply_to_two,
    array_or_number,
    as_floating,
    as_tensor,
    checked_dtype,
    concatenate,
    dtype,
    get_printoptions,
    missing_message,
    ndarray,
    set_printoptions,
)
from .statistics import unique

__all__ = [
    *("atleast_1d", "atleast_2d", "bitwise_and", "bitwise_or", "bitwise_xor", "block", "convolve"),
    *("copysign", "delete", "diag_indices", "digitize", "dstack", "errstate", "finfo", "fmod", "gradient", "iinfo"),
    *("heaviside", "insert", "interp", "intersect1d", "invert", "negative", "pad", "polyval", "positive"),
    *("printoptions", "setdiff1d", "trapezoid", "tril_indices", "triu_indices", "union1d"),
]


# ── limits of dtypes ──────────────────────────────────────────────────────────────────────────────
class finfo:  # noqa: N801
    """The limits of a dtype of numbers with a fraction."""

    def __init__(self, kind: Any) -> None:
        found = checked_dtype(kind)
        if found is None or not found.is_floating_point:
            raise ValueError(f"data type {dtype(kind).type!r} not inexact")
        limits, number = torch.finfo(found), KINDS[found]
        self.dtype, self.bits = dtype(found), limits.bits
        self.eps, self.max, self.min = number(limits.eps), number(limits.max), number(limits.min)
        self.tiny = self.smallest_normal = number(limits.tiny)
        self.precision = {16: 3, 32: 6, 64: 15}[limits.bits]
        self.resolution = number(10.0**-self.precision)

    def __repr__(self) -> str:
        values = {"resolution": self.resolution, "min": self.min, "max": self.max, "dtype": self.dtype}
        return f"finfo({', '.join(f'{name}={value!s}' for name, value in values.items())})"

    def __str__(self) -> str:
        raise NotImplementedError(missing_message("the text of `numpy.finfo`"))


class iinfo:  # noqa: N801
    """The limits of a dtype of integers."""

    def __init__(self, kind: Any) -> None:
        found = checked_dtype(kind)
        if found is None or found.is_floating_point or found is torch.bool:
            raise ValueError(f"Invalid integer data type {dtype(kind).kind!r}.")
        limits = torch.iinfo(found)
        self.dtype, self.bits, self.min, self.max = dtype(found), limits.bits, limits.min, limits.max

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __str__(self) -> str:
        line = "-" * 63
        return f"Machine parameters for {self.dtype}\n{line}\nmin = {self.min}\nmax = {self.max}\n{line}\n"


# ── settings for a block of code ──────────────────────────────────────────────────────────────────
@contextmanager
def printoptions(**options: Any) -> Iterator[dict[str, Any]]:
    """Set how arrays are printed in a block of code: see `set_printoptions`."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield get_printoptions()
    finally:
        set_printoptions(**before)


@contextmanager
def errstate(**states: str) -> Iterator[None]:
    """Begin a block in which results such as 1 / 0 are not warned of: the page never warns of them.

    Raises:
        NotImplementedError: they shall raise an error or call a function.
    """
    if not {"ignore", "warn"} >= set(states.values()):
        raise NotImplementedError(missing_message("`numpy.errstate` that raises errors"))
    yield


# ── each number ───────────────────────────────────────────────────────────────────────────────────
def negative(x: Any) -> Any:
    return array_or_number(-as_tensor(x))


def positive(x: Any) -> Any:
    return array_or_number(as_tensor(x).clone())


def invert(x: Any) -> Any:
    return array_or_number(~as_tensor(x))


def bitwise_and(a: Any, b: Any) -> Any:
    return apply_to_two(OPERATORS["and"], a, b)


def bitwise_or(a: Any, b: Any) -> Any:
    return apply_to_two(OPERATORS["or"], a, b)


def bitwise_xor(a: Any, b: Any) -> Any:
    return apply_to_two(OPERATORS["xor"], a, b)


def of_floats(f: Callable[..., torch.Tensor]) -> Callable[[Any, Any], Any]:
    return lambda a, b: apply_to_two(lambda x, y: f(as_floating(as_tensor(x)), as_floating(as_tensor(y))), a, b)


copysign, heaviside = of_floats(torch.copysign), of_floats(lambda x, y: torch.heaviside(x, y.to(x.dtype)))


def fmod(a: Any, b: Any) -> Any:
    return apply_to_two(lambda x, y: torch.fmod(as_tensor(x), as_tensor(y)), a, b)


# ── shapes and places ─────────────────────────────────────────────────────────────────────────────
def atleast_1d(*arrays: Any) -> Any:
    found = [ndarray(t if t.ndim else t.reshape(1)) for t in map(as_tensor, arrays)]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_2d(*arrays: Any) -> Any:
    found = [ndarray(t if t.ndim > 1 else t.reshape(1, -1)) for t in map(as_tensor, arrays)]
    return found[0] if len(found) == 1 else tuple(found)


def dstack(arrays: Sequence[Any]) -> ndarray:
    return ndarray(torch.dstack([as_tensor(a) for a in arrays]))


def block(arrays: Any) -> Any:
    """Return a matrix of rows of blocks; another depth of lists raises a NotImplementedError."""
    if not (isinstance(arrays, list) and arrays and builtins.all(isinstance(row, list) for row in arrays)):
        raise NotImplementedError(missing_message("`numpy.block` of other than a list of rows"))
    rows = [concatenate([atleast_2d(a) for a in row], 1) for row in arrays]
    return concatenate(rows, 0)


def indices_of(t: torch.Tensor) -> tuple[ndarray, ...]:
    return tuple(ndarray(places) for places in t.nonzero(as_tuple=True))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    return indices_of(torch.ones(n, n if m is None else m).triu(k))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    return indices_of(torch.ones(n, n if m is None else m).tril(k))


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    return tuple(ndarray(torch.arange(n)) for _ in range(ndim))


PADDINGS = ("constant", "edge", "reflect")


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> ndarray:
    """Return an array with a border before and after each axis: of one value, of its edge, or of its reflection.

    Raises:
        NotImplementedError: the mode is another one, or a reflection is wider than the array.
    """
    t = as_tensor(x)
    if mode not in PADDINGS:
        raise NotImplementedError(missing_message(f"the mode {mode!r} of `numpy.pad`"))

    def pairs(given: Any) -> list[list[Any]]:
        return torch.as_tensor(as_tensor(given)).expand(t.ndim, 2).tolist()

    if isinstance(pad_width, dict):
        raise NotImplementedError(missing_message("a dictionary in `numpy.pad`"))
    for d, ((before, after), values) in enumerate(zip(pairs(pad_width), pairs(constant_values), strict=True)):
        n = t.shape[d]
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if mode == "constant":
            ends = [list(t.shape) for _ in range(2)]
            ends[0][d], ends[1][d] = before, after
            borders = [torch.full(size, value).to(t.dtype) for size, value in zip(ends, values, strict=True)]
            t = torch.cat([borders[0], t, borders[1]], d)
            continue
        if mode == "reflect" and max(before, after) >= n:
            raise NotImplementedError(missing_message("a reflection of `numpy.pad` that is wider than the array"))
        places = range(-before, n + after)
        if mode == "edge":
            at = [min(max(i, 0), n - 1) for i in places]
        else:
            at = [-i if i < 0 else i if i < n else 2 * (n - 1) - i for i in places]
        t = t.index_select(d, torch.tensor(at, dtype=torch.int64))
    return ndarray(t.clone())


def kept_places(n: int, at: Any) -> list[int]:
    """Return the places from 0 to n − 1 that are not among some indices, or not where a mask is true."""
    t = as_tensor(at)
    if t.dtype is torch.bool:
        return [i for i, gone in enumerate(t.flatten().tolist()) if not gone]
    gone = t.flatten().tolist()
    for i in gone:
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for axis 0 with size {n}")
    return [i for i in range(n) if i not in {j % n for j in gone}]


def delete(x: Any, obj: Any, axis: int | None = None) -> ndarray:
    """Return an array without the parts at some indices along an axis, or of the flat array."""
    t, d = (as_tensor(x).flatten(), 0) if axis is None else (as_tensor(x), axis)
    at = list(range(t.shape[d]))[obj] if isinstance(obj, slice) else obj
    return ndarray(t.index_select(d, torch.tensor(kept_places(t.shape[d], at), dtype=torch.int64)))


def insert(x: Any, obj: int, values: Any, axis: int | None = None) -> ndarray:
    """Return an array with values before an index along an axis, or of the flat array.

    Raises:
        NotImplementedError: there are several indices, or an axis of several.
    """
    t = as_tensor(x)
    if not isinstance(obj, INTEGERS) or (axis is not None and t.ndim > 1):
        raise NotImplementedError(missing_message("`numpy.insert` at several indices or along an axis"))
    t = t.flatten()
    if not -len(t) <= obj <= len(t):
        raise IndexError(f"index {obj} is out of bounds for axis 0 with size {len(t)}")
    at = obj % len(t) if obj < 0 else obj
    return ndarray(torch.cat([t[:at], as_tensor(values).to(t.dtype).reshape(-1), t[at:]]))


# ── sets of numbers ───────────────────────────────────────────────────────────────────────────────
def intersect1d(a: Any, b: Any) -> Any:
    both = set(as_tensor(a).flatten().tolist()) & set(as_tensor(b).flatten().tolist())
    joined = union1d(a, b)
    return joined[ndarray(torch.tensor([v in both for v in joined.tolist()], dtype=torch.bool))]


def union1d(a: Any, b: Any) -> Any:
    return unique(concatenate([ndarray(as_tensor(x).flatten()) for x in (a, b)]))


def setdiff1d(a: Any, b: Any) -> Any:
    gone, own = set(as_tensor(b).flatten().tolist()), unique(ndarray(as_tensor(a)))
    return own[ndarray(torch.tensor([v not in gone for v in own.tolist()], dtype=torch.bool))]


# ── curves ────────────────────────────────────────────────────────────────────────────────────────
def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Return the values at x of the line through points (xp, fp) in order; beyond the ends, those of the ends."""
    points, values = (as_floating(as_tensor(v)).double().tolist() for v in (xp, fp))

    def at(v: float) -> float:
        if math.isnan(v):
            return v
        if v >= points[-1]:
            return values[-1]
        if v < points[0]:
            return values[0]
        i = builtins.max(j for j in range(len(points) - 1) if points[j] <= v)
        return (values[i + 1] - values[i]) / (points[i + 1] - points[i]) * (v - points[i]) + values[i]

    t = as_floating(as_tensor(x)).double()
    return array_or_number(torch.tensor([at(v) for v in t.flatten().tolist()], dtype=torch.float64).reshape(t.shape))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the interval between rising bounds in which each number lies.

    Raises:
        NotImplementedError: the bounds fall.
    """
    bounds = as_tensor(bins).double()
    if not bool((bounds.diff() >= 0).all()):
        raise NotImplementedError(missing_message("`numpy.digitize` with falling bounds"))
    return array_or_number(torch.bucketize(as_tensor(x).double(), bounds, right=not right))


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Return the area under a curve along an axis, of points `dx` apart, or at `x`.

    Raises:
        NotImplementedError: there are both points `x` and several axes.
    """
    t = as_floating(as_tensor(y))
    n = t.shape[axis] - 1
    width = dx if x is None else as_floating(as_tensor(x)).diff()
    if x is not None and t.ndim > 1:
        raise NotImplementedError(missing_message("`x` of `numpy.trapezoid` of several axes"))
    return array_or_number((width * (t.narrow(axis, 1, n) + t.narrow(axis, 0, n)) / 2.0).sum(axis))


def polyval(p: Any, x: Any) -> Any:
    """Return the values at x of the polynomial with these coefficients, that of the highest power first."""
    found = ndarray(torch.zeros_like(as_tensor(x)))
    for c in ndarray(as_tensor(p)):
        found = found * x + c
    return array_or_number(as_tensor(found))


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Return the convolution of two vectors: the full one, as much as the longer one has, or where they overlap whole.

    Raises:
        ValueError: the mode is another one, or a vector is empty.
    """
    x, y = as_tensor(a).flatten(), as_tensor(v).flatten()
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    for name, t in (("a", x), ("v", y)):
        if not len(t):
            raise ValueError(f"{name} cannot be empty")
    x, y = (y, x) if len(y) > len(x) else (x, y)
    kind = torch.promote_types(x.dtype, y.dtype)
    rows, columns = x.tolist(), y.tolist()
    full = [
        sum(rows[i - j] * columns[j] for j in range(len(columns)) if 0 <= i - j < len(rows))
        for i in range(len(rows) + len(columns) - 1)
    ]
    first, count = {"full": (0, len(full)), "same": ((len(columns) - 1) // 2, len(rows))}.get(
        mode, (len(columns) - 1, len(rows) - len(columns) + 1)
    )
    return ndarray(torch.tensor(full[first : first + count], dtype=kind))


def gradient(f: Any, *varargs: Any, axis: Any = None) -> Any:
    """Return the slope of a curve at each of its points at equal distances, by both neighbours, or one at an end.

    Raises:
        NotImplementedError: the points lie otherwise, or there are several axes.
        ValueError: there are fewer than two points.
    """
    t = as_floating(as_tensor(f))
    if (
        t.ndim != 1
        or axis not in (None, 0, -1)
        or len(varargs) > 1
        or any(isinstance(v, (list, ndarray)) for v in varargs)
    ):
        raise NotImplementedError(missing_message("`numpy.gradient` of other than a curve at equal distances"))
    if len(t) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )
    gap = varargs[0] if varargs else 1.0
    return concatenate(
        [ndarray((t[1:2] - t[:1]) / gap), ndarray((t[2:] - t[:-2]) / (2.0 * gap)), ndarray((t[-1:] - t[-2:-1]) / gap)]
    )
