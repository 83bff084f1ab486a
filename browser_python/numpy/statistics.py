"""Functions of NumPy that count, order, search, and compute means and quantiles.

Errors are NumPy's, also where a docstring does not list them. What the page lacks raises a NotImplementedError.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from . import array_or_number, as_floating, as_tensor, mean, missing_message, ndarray

__all__ = [
    *("average", "bincount", "corrcoef", "count_nonzero", "cov", "cumprod", "diff", "histogram", "inner", "isin"),
    *("logspace", "median", "nan_to_num", "nanmax", "nanmean", "nanmin", "nansum", "percentile", "ptp", "quantile"),
    *("searchsorted", "tensordot", "unique", "vdot"),
]


def median(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return quantile(x, 0.5, axis, keepdims)


def quantile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    t = as_floating(as_tensor(x))
    return array_or_number(t.quantile(as_tensor(q).to(t.dtype), axis, keepdims))


def percentile(x: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return quantile(x, as_tensor(q).double() / 100, axis, keepdims)


def average(x: Any, axis: int | None = None, weights: Any = None) -> Any:
    """Return the mean along an axis, or of all numbers, in which each counts as often as its weight says.

    Raises:
        TypeError: without an axis, the weights do not have the shape of the array.
        NotImplementedError: with an axis, they do not have it.
    """
    if weights is None:
        return mean(x, axis)
    if as_tensor(x).shape != as_tensor(weights).shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        raise NotImplementedError(missing_message("`weights` of one axis of `numpy.average`"))
    w = as_floating(as_tensor(weights))
    return array_or_number((as_tensor(x) * w).sum(axis) / w.sum(axis))


def nan_to_num(x: Any, nan: float = 0.0) -> Any:
    return array_or_number(as_floating(as_tensor(x)).nan_to_num(nan))


def without_nan(x: Any, fill: float) -> tuple[torch.Tensor, torch.Tensor]:
    t = as_floating(as_tensor(x))
    return torch.where(t.isnan(), fill, t).to(t.dtype), ~t.isnan()


def nansum(x: Any, axis: int | None = None) -> Any:
    return array_or_number(without_nan(x, 0.0)[0].sum(axis))


def nanmean(x: Any, axis: int | None = None) -> Any:
    numbers, there = without_nan(x, 0.0)
    return array_or_number(numbers.sum(axis) / there.sum(axis).to(numbers.dtype))


def axis_or_all(axis: int | None) -> Any:
    return () if axis is None else axis


def nanmax(x: Any, axis: int | None = None) -> Any:
    return array_or_number(without_nan(x, -math.inf)[0].amax(axis_or_all(axis)))


def nanmin(x: Any, axis: int | None = None) -> Any:
    return array_or_number(without_nan(x, math.inf)[0].amin(axis_or_all(axis)))


def ptp(x: Any, axis: int | None = None) -> Any:
    t = as_tensor(x)
    return array_or_number(t.amax(axis_or_all(axis)) - t.amin(axis_or_all(axis)))


def cov(x: Any) -> Any:
    return ndarray(as_floating(as_tensor(x)).cov())


def corrcoef(x: Any, y: Any = None) -> Any:
    rows = as_tensor(x) if y is None else torch.stack([as_floating(as_tensor(v)) for v in (x, y)])
    return array_or_number(as_floating(rows).corrcoef())


def cumprod(x: Any, axis: int | None = None) -> ndarray:
    t = as_tensor(x)
    return ndarray(t.flatten().cumprod(0) if axis is None else t.cumprod(axis))


def diff(x: Any, n: int = 1, axis: int = -1) -> ndarray:
    return ndarray(as_tensor(x).diff(n, axis))


def count_nonzero(x: Any, axis: int | None = None) -> Any:
    return array_or_number((as_tensor(x) != 0).sum(axis))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> ndarray:
    return ndarray(as_tensor(x).bincount(None if weights is None else as_tensor(weights).double(), minlength))


def histogram(x: Any, bins: int = 10, range: Any = None) -> tuple[ndarray, ndarray]:
    """Return the counts of numbers in bins of equal width, and the bins + 1 ends of the bins.

    `range` is (lowest, highest), by default those of the numbers, or (0, 1) without numbers. Numbers outside do not
    count. If both are equal, the bins reach from 0.5 below to 0.5 above.

    Raises:
        ValueError: the lowest is above the highest.
    """
    t = as_tensor(x).double().flatten()
    span = (float(t.min()), float(t.max())) if t.numel() else (0.0, 1.0)
    low, high = span if range is None else map(float, range)
    if low > high:
        raise ValueError("max must be larger than min in range parameter.")
    if low == high:
        low, high = low - 0.5, high + 0.5
    ends = torch.linspace(low, high, bins + 1, dtype=torch.float64)
    inside = t[(t >= low) & (t <= high)]
    places = (torch.searchsorted(ends, inside, right=True) - 1).clamp(max=bins - 1)
    return ndarray(torch.bincount(places, minlength=bins)), ndarray(ends)


def isin(x: Any, others: Any) -> Any:
    return array_or_number(torch.isin(as_tensor(x), as_tensor(others)))


def searchsorted(x: Any, v: Any, side: str = "left") -> Any:
    return array_or_number(torch.searchsorted(as_tensor(x), as_tensor(v), side=side))


def unique(x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """Return the different numbers in order; if a flag is set, a tuple of these and, for each flag, another array.

    They are the place in the flat array where each is first (`return_index`), which of them each number is, in the
    shape of the array (`return_inverse`), and how often each occurs (`return_counts`).
    """
    t = as_tensor(x)
    values, inverse, counts = t.unique(return_inverse=True, return_counts=True)
    places = inverse.flatten().tolist()
    first = torch.tensor([places.index(i) for i in torch.arange(len(values)).tolist()], dtype=torch.int64)
    out = [values, *[first] * return_index, *[inverse] * return_inverse, *[counts] * return_counts]
    return ndarray(values) if len(out) == 1 else tuple(ndarray(found) for found in out)


def inner(a: Any, b: Any) -> Any:
    return array_or_number(torch.inner(as_tensor(a), as_tensor(b)))


def vdot(a: Any, b: Any) -> Any:
    return array_or_number(torch.dot(as_tensor(a).flatten(), as_tensor(b).flatten()))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    return array_or_number(torch.tensordot(as_tensor(a), as_tensor(b), axes))


def logspace(start: float, stop: float, num: int = 50, base: float = 10.0) -> ndarray:
    return ndarray(torch.logspace(start, stop, num, base, dtype=torch.float64))


ndarray.cumprod, ndarray.searchsorted = cumprod, searchsorted  # type: ignore[attr-defined]
