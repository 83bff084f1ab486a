"""Sorting, the k largest numbers, unique numbers and their counts, and binary search."""

from __future__ import annotations

import builtins
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from .creation import tensor
from .dtypes import FLOATING, TYPE_NAMES, float32, float64, int32, int64
from .gradients import record_step
from .indexing import gather
from .missing import refuse, refuse_set
from .numbers import Numbers
from .reductions import NamedResults, along_axis, named_results
from .shapes import axis_of, check_flag
from .tensors import Tensor, method, tensor_of, without_gradient


@method
def sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> NamedResults:
    """Sort along an axis. The order of equal numbers is always that of the input, as torch's with `stable`."""
    check_flag("descending", descending)

    def order(row: Numbers) -> list[int]:
        return sorted(range(len(row)), key=keys_of(row).__getitem__, reverse=descending)

    at = along_axis(order, dim, x, dtype=int64)
    return named_results("sort", gather(x, axis_of(dim, x.ndim), at) if x.ndim else x.clone(), at)


def keys_of(row: Numbers) -> Sequence[Any]:
    """Return the keys by which to sort numbers: nan comes last."""
    return row if builtins.sum(row) == builtins.sum(row) else [(v != v, v) for v in row]


@method
def argsort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    return sort(x, dim, descending, stable=stable)[1]


@method
def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> NamedResults:
    """Return the k largest numbers along an axis. They are always sorted."""
    d = axis_of(dim, x.ndim)
    if not 0 <= k <= x.shape[d]:
        raise RuntimeError("selected index k out of range")
    values, at = sort(x, d, largest)
    return named_results("topk", values.narrow(d, 0, k).clone(), at.narrow(d, 0, k).clone())


@method
def unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Return the different numbers, or the different parts along an axis. They are always sorted."""
    parts = list(x._numbers()) if dim is None else [tuple(part._numbers()) for part in x.unbind(dim)]
    first: dict[Any, int] = {}
    for place, part in enumerate(parts):
        first.setdefault(part, place)
    order = {part: n for n, part in enumerate(builtins.sorted(first, key=lambda v: (v != v, v)))}
    source = x.detach().flatten() if dim is None else x.detach()
    values = source.index_select(dim or 0, tensor([first[part] for part in order], dtype=int64))
    out = [record_step(values, [x], without_gradient("unique"))]
    inverse = tensor([order[part] for part in parts], dtype=int64)
    if return_inverse:
        out.append(inverse.reshape(x.shape) if dim is None else inverse)
    if return_counts:
        out.append(bincount(inverse))
    return out[0] if len(out) == 1 else tuple(out)


@method
def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each of 0, 1, 2, … occurs, or sum the weights of its occurrences.

    Raises:
        RuntimeError: `x` has several axes or a negative number, or the weights have another length.
    """
    numbers = list(x._numbers())
    if x.dtype.kind == FLOATING:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{TYPE_NAMES[x.dtype]}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.ndim != 1 or min(numbers, default=0) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    out: list[float] = [0] * max(minlength, max(numbers, default=-1) + 1)
    for number, weight in zip(numbers, repeat(1) if weights is None else weights._numbers()):  # noqa: B905
        out[number] += weight
    kind = int64 if weights is None else float32 if weights.dtype is float32 else float64
    return tensor_of(out, (len(out),), kind)


def searchsorted(
    a: Tensor,
    v: Tensor | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return where each number of `v` would be inserted into the sorted vector `a`: before equal numbers, or behind."""
    refuse_set("searchsorted", sorter=sorter)
    if a.ndim > 1:
        refuse("`searchsorted` in several rows")
    numbers, kind = a.tolist(), int32 if out_int32 else int64
    place = bisect_right if right or side == "right" else bisect_left
    if isinstance(v, Tensor):
        return tensor_of([place(numbers, u) for u in v._numbers()], v.shape, kind)
    return tensor(place(numbers, v), dtype=kind)
