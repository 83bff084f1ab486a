"""Sorting, the k largest numbers, unique numbers and their counts, and binary search."""

from __future__ import annotations

import builtins
from bisect import bisect_left, bisect_right
from math import inf
from typing import Any

from .creation import tensor
from .dtypes import int64
from .indexing import gather
from .joining import stack
from .reductions import move_axis_last, named_results
from .shapes import axis_of
from .tensors import Tensor, method, tensor_of


@method
def sort(x: Tensor, dim: Any = -1, descending: bool = False, stable: bool = False) -> Any:
    y, back = move_axis_last(x, dim)
    n, v, at = (y.shape[-1] if y.ndim else 1), y._numbers(), []
    for i in range(y.numel() // n if n else 0):
        row = [u if u == u else inf for u in v[i * n : (i + 1) * n]]
        at += sorted(range(n), key=row.__getitem__, reverse=descending)
    index = tensor_of(at, y.shape, int64)
    return named_results("sort", gather(y, y.ndim - 1, index).permute(back) if y.ndim else y, index.permute(back))


@method
def argsort(x: Tensor, dim: Any = -1, descending: bool = False, stable: bool = False) -> Tensor:
    return sort(x, dim, descending)[1]


@method
def topk(x: Tensor, k: Any, dim: Any = -1, largest: bool = True, sorted: bool = True) -> Any:
    d = axis_of(dim, x.ndim)
    if k > x.shape[d]:
        raise RuntimeError("selected index k out of range")
    values, at = sort(x, d, largest)
    return named_results("topk", values.narrow(d, 0, k), at.narrow(d, 0, k))


@method
def unique(
    x: Tensor, return_counts: Any = False, sorted: bool = True, dim: Any = None, return_inverse: Any = False
) -> Any:
    if dim is not None:
        rows: dict[tuple[float, ...], int] = {}
        for i in range(x.shape[dim]):
            rows.setdefault(tuple(x.select(dim, i)._numbers()), i)
        return stack([x.select(dim, rows[k]) for k in builtins.sorted(rows)], dim)
    vals = list(x._numbers())
    keys = list(dict.fromkeys(builtins.sorted(vals)))
    out = [tensor_of(keys, (len(keys),), x.dtype)]
    if return_inverse:
        out.append(tensor_of([keys.index(v) for v in vals], x.shape, int64))
    if return_counts:
        out.append(tensor_of([vals.count(k) for k in keys], (len(keys),), int64))
    return out[0] if len(out) == 1 else tuple(out)


@method
def bincount(x: Tensor, weights: Any = None, minlength: Any = 0) -> Tensor:
    out = [0] * max(minlength, max([*list(x._numbers()), -1]) + 1)
    for v in x._numbers():
        out[v] += 1
    return tensor_of(out, (len(out),), int64)


def searchsorted(a: Tensor, v: Any, right: bool = False) -> Tensor:
    xs = a.tolist()
    place = bisect_right if right else bisect_left
    return (
        tensor_of([place(xs, u) for u in v._numbers()], v.shape, int64)
        if isinstance(v, Tensor)
        else tensor(place(xs, v))
    )
