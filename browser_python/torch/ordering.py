"""Sorting, the k largest numbers, unique numbers and their counts, and binary search.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

import builtins
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from . import ties
from .creation import as_tensor, tensor
from .dtypes import INTEGER, TYPE_NAMES, bool_, float32, float64, int32, int64
from .gradients import record_step
from .indexing import gather
from .missing import refuse, refuse_set
from .numbers import Numbers
from .reductions import NamedResults, along_axis, named_results
from .shapes import axis_of, check_flag, whole
from .tensors import Tensor, method, tensor_of, without_gradient


@method
def sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> NamedResults:
    """Return the numbers sorted along an axis, and their indices, as a named tuple (values, indices).

    Equal numbers keep the order of the input with `stable`, else they have that of torch. nan counts as the largest. A
    `descending` that is no bool raises a TypeError. An axis that is not there raises an IndexError.
    """
    check_flag("descending", descending)

    def order(row: Numbers) -> list[int]:
        if not stable and len(row) > ties.SHORT and ties.have_ties(row):
            return ties.sort(row, descending)
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
    """Return the k largest numbers along an axis (or smallest, without `largest`), and their indices, as a named tuple.

    Equal numbers, and without `sorted` all, are in torch's order.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: k is not from 0 to the axis's size, or x is bool.
    """
    d, k = axis_of(dim, x.ndim), whole(k, "k")
    if x.dtype is bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= k <= (x.shape[d] if x.ndim else 1):
        raise RuntimeError("selected index k out of range")

    def first(row: Numbers) -> list[int]:
        if k and (not sorted or ties.have_ties(row)):
            return ties.topk(row, k, largest, sorted) + [0] * (len(row) - k)
        return builtins.sorted(range(len(row)), key=row.__getitem__, reverse=largest)

    at = along_axis(first, d, x, dtype=int64)
    at = at.narrow(d, 0, k).clone() if x.ndim else at
    return named_results("topk", gather(x, d, at) if x.ndim else x.clone(), at)


@method
def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> NamedResults:
    """Return the k-th smallest number along an axis, counted from 1, and its index, as a named tuple.

    Of equal numbers, it is the one that torch finds.

    Raises:
        IndexError: the axis is empty.
        RuntimeError: k is not from 1 to the size of the axis.
        NotImplementedError: x is bool.
    """
    d, k = axis_of(dim, x.ndim), whole(k, "k")
    if x.dtype is bool_:
        raise NotImplementedError("\"kthvalue_cpu\" not implemented for 'Bool'")
    if x.ndim and not x.shape[d]:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= (x.shape[d] if x.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(d))

    def place(row: Numbers) -> list[int]:
        return [place_of_rank(row, k - 1)] * len(row)

    at = along_axis(place, d, x, dtype=int64)
    at = at.narrow(d, 0, 1) if x.ndim else at
    values = gather(x, d, at) if x.ndim else x.clone()
    return named_results("kthvalue", *((values, at) if keepdim or not x.ndim else (values.squeeze(d), at.squeeze(d))))


def place_of_rank(row: Numbers, k: int) -> int:
    """Return the index of the number of rank k, from 0 for the smallest; nan counts as the largest.

    It is found by the quickselect of torch (Hoare, 1961), so that of equal numbers it is the same one.
    """
    keys, at = [(v != v, v) for v in row], list(range(len(row)))

    def exchange(i: int, j: int) -> None:
        keys[i], keys[j], at[i], at[j] = keys[j], keys[i], at[j], at[i]

    low, high = 0, len(keys) - 1
    while high > low + 1:
        exchange(low + (high - low) // 2, low + 1)  # the pivot is the median of three numbers, and goes to `low`
        for i, j in ((low + 1, high), (low, high), (low + 1, low)):
            if keys[i] > keys[j]:
                exchange(i, j)
        i, j, pivot = low + 1, high, keys[low]
        while True:
            i, j = i + 1, j - 1
            while pivot > keys[i]:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if j < i:
                break
            exchange(i, j)
        exchange(low, j)
        low, high = i if j <= k else low, j - 1 if j >= k else high
    if high == low + 1 and keys[low] > keys[high]:
        exchange(low, high)
    return at[k]


def running_extreme(name: str, better: Callable[[float, float], bool]) -> Callable[[Tensor, int], NamedResults]:
    """Return a function `name(x, dim)` of the best number so far along an axis, and its index.

    `better(v, best)` says whether a number replaces the best one; nan always does. The function is added to `Tensor`,
    too.
    """

    def places(row: Numbers) -> list[int]:
        found, best = [], 0
        for i, v in enumerate(row):
            if v != v or (row[best] == row[best] and better(v, row[best])):
                best = i
            found.append(best)
        return found

    def run(x: Tensor, dim: int) -> NamedResults:
        at = along_axis(places, dim, x, dtype=int64)
        return named_results(name, gather(x, axis_of(dim, x.ndim), at) if x.ndim else x.clone(), at)

    run.__name__, run.__code__ = name, run.__code__.replace(co_name=name)  # the name of its step in the graph
    setattr(Tensor, name, run)
    return run


cummax, cummin = running_extreme("cummax", operator.ge), running_extreme("cummin", operator.le)


def isin(
    elements: Tensor | float, test_elements: Tensor | float, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return for each number of `elements` whether it is one of `test_elements`; with `invert`, whether not.

    Bools raise a RuntimeError. `assume_unique` changes nothing.
    """
    given, tested = as_tensor(elements), as_tensor(test_elements)
    if bool_ in (given.dtype, tested.dtype):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    others = set(tested._numbers())
    return tensor_of([(v in others) != invert for v in given._numbers()], given.shape, bool_)


@method
def unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Return the different numbers, or along axis `dim` the different parts. They are always sorted.

    With `return_inverse` or `return_counts`, return a tuple, also with the index in the result of each number or part,
    or with how often each occurs.
    """
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
    """Count how often each of 0, 1, 2, … occurs, or sum the weights of its occurrences, in at least `minlength` places.

    Raises:
        NotImplementedError: `x` holds no integers.
        RuntimeError: `x` has several axes or a negative number, `minlength` is negative, or the weights have another
            shape.
    """
    numbers = list(x._numbers())
    if x.dtype.kind != INTEGER:
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
    """Return where each number of `v` would be inserted into the sorted vector `a`, in int64 or int32.

    That is before equal numbers, or with `right` or `side="right"` behind them; nan comes last. Another side raises a
    RuntimeError, and several rows or a `sorter` a NotImplementedError.
    """
    refuse_set("searchsorted", sorter=sorter)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if a.ndim > 1:
        refuse("`searchsorted` in several rows")
    numbers, kind = a.tolist(), int32 if out_int32 else int64
    place = bisect_right if right or side == "right" else bisect_left
    if isinstance(v, Tensor):
        return tensor_of([place(numbers, u) if u == u else len(numbers) for u in v._numbers()], v.shape, kind)
    return tensor(place(numbers, v), dtype=kind)


def bucketize(v: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return how many boundaries are below each number; with `right`, how many are not above it.

    `boundaries` are a sorted vector; other axes raise a RuntimeError.
    """
    if boundaries.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})",
        )
    return searchsorted(boundaries, v, out_int32=out_int32, right=right)
