"""Functions of NumPy that change shapes, join, split, repeat and select.

Errors are NumPy's, also where a docstring does not list them. What the page lacks raises a NotImplementedError.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.numbers import INTEGERS

from . import array, array_or_number, as_tensor, concatenate, int64, missing_message, ndarray, stack

__all__ = [
    *("append", "apply_along_axis", "argwhere", "array_split", "broadcast_to", "column_stack", "diag", "diagonal"),
    *("expand_dims", "fill_diagonal", "flatnonzero", "flip", "fliplr", "flipud", "fromfunction", "hsplit", "hstack"),
    *("ix_", "kron", "meshgrid", "moveaxis", "ndenumerate", "ndindex", "nonzero", "ravel", "repeat", "reshape", "roll"),
    *("rot90", "split", "squeeze", "take", "take_along_axis", "tile", "trace", "transpose", "vectorize", "vsplit"),
    *("vstack", "unravel_index"),
]


def reshape(x: Any, shape: Any) -> ndarray:
    return ndarray(as_tensor(x)).reshape(shape)


def ravel(x: Any) -> ndarray:
    return ndarray(as_tensor(x)).ravel()


def transpose(x: Any, axes: Any = None) -> ndarray:
    t = ndarray(as_tensor(x))
    return t.transpose(*(axes or ()))


def expand_dims(x: Any, axis: int) -> ndarray:
    return ndarray(as_tensor(x).unsqueeze(axis))


def squeeze(x: Any, axis: Any = None) -> Any:
    """Return an array without its axes of size 1, or without these.

    Raises:
        ValueError: one of these has another size.
    """
    t = as_tensor(x)
    for d in [axis] if isinstance(axis, INTEGERS) else axis or ():
        if t.size(d) != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return ndarray(t.squeeze() if axis is None else t.squeeze(axis))


def moveaxis(x: Any, source: Any, destination: Any) -> ndarray:
    return ndarray(as_tensor(x).movedim(source, destination))


def flip(x: Any, axis: Any = None) -> ndarray:
    """Return an array in the reverse order along one axis, several, or all."""
    t = as_tensor(x)
    found = ndarray(t.flip(list(range(t.ndim)) if axis is None else axis))
    found._reversed = True
    return found


def fliplr(x: Any) -> ndarray:
    return flip(x, 1)


def flipud(x: Any) -> ndarray:
    return flip(x, 0)


def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> ndarray:
    return ndarray(as_tensor(x).rot90(k, list(axes)))


def roll(x: Any, shift: Any, axis: Any = None) -> ndarray:
    return ndarray(as_tensor(x).roll(shift, axis))


def tile(x: Any, reps: Any) -> ndarray:
    """Return an array repeated so often along each of its axes. Counts for too few axes are for the last ones.

    Counts for more axes add axes at the front.
    """
    t, counts = as_tensor(x), (reps,) if isinstance(reps, INTEGERS) else tuple(reps)
    counts = (1,) * (t.ndim - len(counts)) + counts
    return ndarray(t.reshape((1,) * (len(counts) - t.ndim) + tuple(t.shape)).repeat(*counts))


def repeat(x: Any, repeats: Any, axis: int | None = None) -> ndarray:
    counts = repeats if isinstance(repeats, INTEGERS) else as_tensor(repeats)
    return ndarray(as_tensor(x).repeat_interleave(counts, axis))


def broadcast_to(x: Any, shape: Any) -> ndarray:
    """Return an array repeated to a shape; a ValueError is raised if it does not broadcast to that."""
    t, sizes = as_tensor(x), (shape,) if isinstance(shape, INTEGERS) else tuple(shape)
    try:
        return ndarray(t.expand(sizes).clone())
    except RuntimeError:
        own, wanted = (f"({','.join(map(str, s))}{',' * (len(s) == 1)})" for s in (t.shape, sizes))
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{own}  and requested shape {wanted}"
        ) from None


def at_least_2d(x: Any) -> torch.Tensor:
    t = as_tensor(x)
    return t.reshape(1, -1) if t.ndim < 2 else t


def vstack(arrays: Sequence[Any]) -> ndarray:
    return concatenate([ndarray(at_least_2d(a)) for a in arrays])


def hstack(arrays: Sequence[Any]) -> ndarray:
    tensors = [t if t.ndim else t.reshape(1) for t in map(as_tensor, arrays)]
    return concatenate([ndarray(t) for t in tensors], 0 if tensors[0].ndim == 1 else 1)


def column_stack(arrays: Sequence[Any]) -> ndarray:
    return concatenate([ndarray(t if t.ndim > 1 else t.reshape(-1, 1)) for t in map(as_tensor, arrays)], 1)


def append(x: Any, values: Any, axis: int | None = None) -> ndarray:
    return concatenate([array(x), array(values)], axis)


def array_split(x: Any, parts: Any, axis: int = 0) -> list[ndarray]:
    """Split an axis into so many parts, of which the first ones may be larger by one, or before these indices.

    Return the parts, which are views. A part between indices beyond the axis is empty.

    Raises:
        ValueError: the number of parts is not positive.
    """
    t = as_tensor(x)
    n = t.shape[axis]
    if isinstance(parts, INTEGERS):
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.")
        ends = list(itertools.accumulate(n // parts + (i < n % parts) for i in range(parts)))
    else:
        ends = [*parts, n]
    before = (slice(None),) * within(axis, t.ndim)
    return [ndarray(t[(*before, slice(a, b))]) for a, b in zip([0, *ends], ends, strict=False)]


def split(x: Any, parts: Any, axis: int = 0) -> list[ndarray]:
    if isinstance(parts, INTEGERS) and as_tensor(x).shape[axis] % parts:
        raise ValueError("array split does not result in an equal division")
    return array_split(x, parts, axis)


def hsplit(x: Any, parts: Any) -> list[ndarray]:
    return split(x, parts, 1 if as_tensor(x).ndim > 1 else 0)


def vsplit(x: Any, parts: Any) -> list[ndarray]:
    return split(x, parts)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[ndarray, ...]:
    return tuple(ndarray(t.clone()) for t in torch.meshgrid(*map(as_tensor, arrays), indexing=indexing))


def diag(x: Any, k: int = 0) -> ndarray:
    return ndarray(as_tensor(x).diag(k))


def diagonal(x: Any, offset: int = 0) -> ndarray:
    return ndarray(as_tensor(x).diagonal(offset))


def trace(x: Any) -> Any:
    return array_or_number(as_tensor(x).diagonal().sum())


def fill_diagonal(x: ndarray, value: Any) -> None:
    x._tensor.fill_diagonal_(value)


def kron(a: Any, b: Any) -> ndarray:
    return ndarray(torch.kron(as_tensor(a), as_tensor(b)))


def nonzero(x: Any) -> tuple[ndarray, ...]:
    return tuple(ndarray(places) for places in as_tensor(x).nonzero(as_tuple=True))


def argwhere(x: Any) -> ndarray:
    return ndarray(as_tensor(x).nonzero())


def flatnonzero(x: Any) -> ndarray:
    return ndarray(as_tensor(x).flatten().nonzero().flatten())


def ix_(*lists: Any) -> tuple[ndarray, ...]:
    """Return indices that select all combinations of these indices of each axis."""
    n = len(lists)
    return tuple(ndarray(as_tensor(x)).reshape(*[-1 if i == j else 1 for j in range(n)]) for i, x in enumerate(lists))


def within(axis: int, n: int) -> int:
    """Return an axis as a number from 0, of n axes.

    Raises:
        IndexError: there is no such axis.
    """
    if not -n <= axis < n:
        raise IndexError(f"axis {axis} is out of bounds for array of dimension {n}")
    return axis % n


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Return the parts at these indices along an axis, or without one, the numbers of the flat array.

    Raises:
        IndexError: an index or the axis is out of bounds.
    """
    t, at = as_tensor(x), as_tensor(indices)
    if axis is None:
        return array_or_number(t.flatten()[at])
    return array_or_number(t[(slice(None),) * within(axis, t.ndim) + (at,)])


def take_along_axis(x: Any, indices: Any, axis: int = -1) -> ndarray:
    return ndarray(torch.take_along_dim(as_tensor(x), as_tensor(indices), axis))


def unravel_index(index: int, shape: Sequence[int]) -> tuple[Any, ...]:
    """Return the index along each axis of a place in the flat array, where the last axis runs fastest.

    They are int64 numbers, or if `index` is an array of places, arrays of its shape.

    Raises:
        ValueError: an array of this shape has no such place.
    """
    size = math.prod(shape)
    for place in as_tensor(index).flatten().tolist():
        if not 0 <= place < size:
            raise ValueError(f"index {place} is out of bounds for array with size {size}")
    found: list[Any] = []
    for n in reversed(shape):
        found.insert(0, int64(index % n))
        index = index // n
    return tuple(found)


# ── functions of functions ────────────────────────────────────────────────────────────────────────
def fromfunction(function: Callable[..., Any], shape: Sequence[int], dtype: Any = float) -> Any:
    places = torch.meshgrid(*(torch.arange(n) for n in shape), indexing="ij")
    return function(*(ndarray(as_tensor(ndarray(t), dtype)) for t in places))


def vectorize(function: Callable[..., Any]) -> Callable[..., ndarray]:
    """Return a function of arrays that calls `function` with one number of each, for each place of the broadcast shape.

    Its result is an array of that shape.
    """

    def apply(*arrays: Any) -> ndarray:
        tensors = torch.broadcast_tensors(*map(as_tensor, arrays))
        rows = zip(*(ndarray(t).ravel() for t in tensors), strict=True)
        return array([function(*row) for row in rows]).reshape(tuple(tensors[0].shape))

    return apply


def apply_along_axis(function: Callable[..., Any], axis: int, x: Any) -> ndarray:
    """Apply a function to each row of a matrix (axis 1 or −1), or to each column (axis 0), and return the results.

    The function gets an array with one axis. If it returns numbers, the result has one axis, too. If it returns arrays
    with one axis, they are the rows of the result, or its columns.

    Raises:
        NotImplementedError: `x` is not a matrix.
        IndexError: it has no such axis, or no row or column.
    """
    t = as_tensor(x)
    if t.ndim != 2:
        raise NotImplementedError(missing_message("`numpy.apply_along_axis` of other than two axes"))
    by_rows = within(axis, 2) == 1
    found = [function(ndarray(row)) for row in (t if by_rows else t.T)]
    if isinstance(found[0], ndarray):
        return stack(found, 0 if by_rows else 1)
    return array(found)


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    sizes = shape[0] if shape and isinstance(shape[0], tuple) else shape
    return itertools.product(*map(range, sizes))


def ndenumerate(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    values = ndarray(as_tensor(x))
    return zip(ndindex(values.shape), values.ravel(), strict=True)


for _name, _function in {
    "diagonal": diagonal, "nonzero": nonzero, "repeat": repeat, "squeeze": squeeze, "take": take, "trace": trace,
}.items():  # fmt: skip
    setattr(ndarray, _name, _function)
