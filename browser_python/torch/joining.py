"""Concatenation and splitting, flips, rolls and repetition, diagonals and triangles.

Errors are those of torch, with its messages, also where a docstring does not list them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .creation import arange, tensor, zeros
from .dtypes import TYPE_NAMES, Device, bfloat16, float16, int32, int64, promoted_dtype
from .dtypes import dtype as Kind
from .gradients import record_step
from .indexing import gather_flat
from .numbers import INTEGERS, OtherInteger, class_name
from .shapes import ALL, Axes, axes_of, axis_of, check_sizes, offsets_of, product, sizes_of, whole
from .tensors import Tensor, accept_numpy_names, method, places_in, tensor_of, view_of
from .views import meshgrid


def list_of_tensors(function: str, tensors: Iterable[Tensor]) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    return list(tensors)


def joined(parts: list[tuple[Any, int]], rows: int, out: Any) -> Any:
    """Append the rows of several tensors to `out`, each row of the result made of one row of each, and return `out`.

    Each tensor is given by its numbers and the length of its rows.
    """
    size = sum([n for _, n in parts])
    if size >= rows * len(parts):
        for i in range(rows):
            for v, n in parts:
                out.extend(v[i * n : (i + 1) * n])
        return out
    for v, _ in parts:  # fewer columns than pieces of rows: move whole columns
        out.extend(v)
    start = 0
    for v, n in parts:
        for j in range(n):
            out[start + j :: size] = v[j::n]
        start += n
    return out


@accept_numpy_names
def cat(tensors: Iterable[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along an axis that all of them have. The dtype is that to which all promote.

    Tensors of the shape (0,) are left out, whatever axes the others have.

    Raises:
        IndexError: there is no such axis.
        ValueError: there are none.
        TypeError: one of them is not a tensor.
        RuntimeError: one has no axes, or they differ in another axis.
    """
    ts = list_of_tensors("cat", tensors)
    if not ts:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(ts):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    real = [t for t in ts if tuple(t.shape) != (0,)]
    if not real:
        return ts[0].clone()
    d = axis_of(dim, real[0].ndim)
    dt = ts[0].dtype
    for t in ts:
        dt = promoted_dtype(dt, t.dtype)
    for i, t in enumerate(real):
        if t.ndim != real[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {real[0].ndim} and {t.ndim}")
        for j in range(t.ndim):
            if j != d and t.shape[j] != real[0].shape[j]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {real[0].shape[j]} but got size {t.shape[j]} for tensor number {i} in the list."
                )
    shape = list(real[0].shape)
    shape[d] = sum([t.shape[d] for t in real])
    outer_n = product(shape[:d])
    parts = [(t.detach().to(dt)._numbers(), product(t.shape[d:])) for t in real]
    out = tensor_of(joined(parts, outer_n, [] if dt in (float16, bfloat16) else array(dt.code)), shape, dt)

    def back(g: Tensor) -> list[Tensor]:
        parts = split(g, [t.shape[d] for t in real], d)
        return [part.to(t.dtype) for t, part in zip(real, parts, strict=True)]

    return record_step(out, real, back)


@accept_numpy_names
def stack(tensors: Iterable[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis. Their dtype becomes that to which all promote.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: there are none, or shapes differ.
        TypeError: one of them is not a tensor.
    """
    ts = list_of_tensors("stack", tensors)
    if not ts:
        raise RuntimeError("stack expects a non-empty TensorList")
    for i, t in enumerate(ts):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.shape != ts[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(ts[0].shape)} at entry 0 and {list(t.shape)} at entry {i}"
            )
    d = axis_of(dim, ts[0].ndim + 1)
    return cat([t.unsqueeze(d) for t in ts], d)


def vstack(tensors: Iterable[Tensor]) -> Tensor:
    return cat([t.reshape(1, -1) if t.ndim < 2 else t for t in list_of_tensors("vstack", tensors)], 0)


def hstack(tensors: Iterable[Tensor]) -> Tensor:
    ts = [t.reshape(1) if not t.ndim else t for t in list_of_tensors("hstack", tensors)]
    return cat(ts, 0 if ts and ts[0].ndim == 1 else 1)


def column_stack(tensors: Iterable[Tensor]) -> Tensor:
    return cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in list_of_tensors("column_stack", tensors)], 1)


@method
def split(x: Tensor, size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split an axis into parts of one size, of which the last may be smaller, or of the given sizes. They are views.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: a size is negative, the only one is 0, they do not sum to that of the axis, or there is no axis.
        TypeError: the size is no int or sequence.
    """
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = axis_of(dim, x.ndim)
    n = x.shape[d]
    if isinstance(size, (bool, OtherInteger)) or not (isinstance(size, (int, list, tuple, Tensor))):
        raise TypeError(
            f"split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {class_name(size)}"
        )
    if not isinstance(size, (list, tuple)):
        size = whole(size, "split_size")
        if size < 0 or (not size and n):
            if not size:
                raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        sizes = [min(size, n - i) for i in range(0, n, size or 1)] or [0]
    else:
        sizes = list(size)
        if sum(sizes) != n:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), but got split_sizes={sizes}"
            )
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    out, at = [], 0
    for s in sizes:
        out.append(x.narrow(d, at, s))
        at += s
    return tuple(out)


@method
def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split an axis into at most this number of parts of equal size. The last may be smaller. They are views.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: the number is not positive, or there is no axis.
    """
    if not x.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = whole(chunks, "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = x.shape[axis_of(dim, x.ndim)]
    return split(x, -(-n // chunks) if n else [0] * chunks, dim)


@method
def tensor_split(x: Tensor, k: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split an axis into k parts, of which the first ones may be larger by one, or before each of the indices k.

    They are views. A tensor without axes raises a RuntimeError, and so does a number k below 1.
    An axis that is not there raises an IndexError.
    """
    if not x.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = x.shape[axis_of(dim, x.ndim)]
    if not isinstance(k, INTEGERS):
        before = (ALL,) * axis_of(dim, x.ndim)
        return tuple(x[(*before, slice(a, b))] for a, b in zip([0, *k], [*k, n], strict=True))
    if k <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {k}")
    return split(x, [n // k + (1 if i < n % k else 0) for i in range(k)], dim)


@method
def flip(x: Tensor, dims: int | Sequence[int], *more: int) -> Tensor:
    """Return a copy with the order of these axes reversed: one list of them, or several integers.

    A TypeError is raised for a list and more axes after it. An axis that is not there raises an IndexError.
    """
    one = isinstance(dims, INTEGERS) or (isinstance(dims, Tensor) and not dims.ndim)
    if more and not one:
        raise TypeError(f"flip() takes 1 positional argument but {1 + len(more)} were given")
    given: Any = [dims, *more] if one else dims
    dims = axes_of(list(given), x.ndim)
    g = places_in(x.shape)
    for d in dims:
        g = view_of(
            g,
            g.shape,
            [-s if i == d else s for i, s in enumerate(g._strides)],
            g._offset + (g.shape[d] - 1) * g._strides[d] if g.shape[d] else 0,
        )
    return gather_flat(x, x.shape, offsets_of(g.shape, g._strides, g._offset))


@method
def fliplr(x: Tensor) -> Tensor:
    return flip(x, 1)


@method
def roll(x: Tensor, shifts: int | Sequence[int], dims: Axes = None) -> Tensor:
    """Return a copy with each index i of the axis at i + shift, modulo its size; without `dims`, of the flat tensor.

    No shifts, or not as many axes, raise a RuntimeError. An axis that is not there raises an IndexError.
    """
    steps = [whole(n, "shifts") for n in (shifts if isinstance(shifts, (tuple, list)) else [shifts])]
    given = dims if isinstance(dims, (tuple, list)) else [] if dims is None else [dims]
    axes = [whole(d, "dims") for d in given]
    if not steps:
        raise RuntimeError("`shifts` required")
    if not axes and len(steps) == 1:
        return roll(x.flatten(), steps, 0).view(x.shape)
    if len(steps) != len(axes):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    if not x.numel():
        return x.clone()
    for step, axis in zip(steps, axes, strict=True):
        d = axis_of(axis, x.ndim)
        n = x.shape[d]
        x = x[tuple([ALL] * d + [[(i - step) % n for i in range(n)]])]
    return x


@method
def repeat_interleave(x: Tensor, repeats: Tensor | int, dim: int | None = None) -> Tensor:
    """Repeat each part along an axis, all equally often or each by its own count; of the flat tensor without `dim`.

    Raises:
        IndexError: there is no such axis.
        TypeError: the counts are neither an integer nor a tensor.
        NotImplementedError: the counts are a tensor of another dtype than int32 or int64.
        RuntimeError: a count is negative, or their number differs from the size of the axis.
    """
    if not isinstance(repeats, (*INTEGERS, Tensor)):
        raise TypeError(
            f"repeat_interleave() received an invalid combination of arguments - got ({type(repeats).__name__}, dim=int), but expected one of:\n * (Tensor repeats, int dim = None, *, int output_size = None)\n * (int repeats, int dim = None, *, int output_size = None)\n"
        )
    if isinstance(repeats, Tensor) and repeats.dtype not in (int32, int64):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{TYPE_NAMES[repeats.dtype]}'")
    if dim is None:
        x, dim = x.flatten(), 0
    d = axis_of(dim, x.ndim)
    if not isinstance(repeats, Tensor) and repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    reps = repeats.tolist() if isinstance(repeats, Tensor) and repeats.ndim else [int(repeats)] * x.shape[d]
    if len(reps) == 1:
        reps = reps * x.shape[d]
    if min(reps, default=0) < 0:
        raise RuntimeError("Repeats must be non-negative")
    if len(reps) != x.shape[d]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(reps)} and "
            f"input.size({d}) = {x.shape[d]}"
        )
    return x[tuple([ALL] * d + [[i for i, r in enumerate(reps) for _ in range(r)]])] if x.shape[d] else x


@method
def tile(x: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    reps = sizes_of(sizes)
    return x.repeat([1] * (x.ndim - len(reps)) + reps)


@method
def repeat(self: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    """Return a tensor repeated this often along each axis. More sizes than axes add axes at the front.

    Raises:
        RuntimeError: there are fewer sizes than axes, or a negative one.
    """
    reps = sizes_of(sizes)
    if len(reps) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    check_sizes([size * times for size, times in zip(self.shape[::-1], reps[::-1], strict=False)][::-1])
    x = self.reshape([1] * (len(reps) - self.ndim) + list(self.shape))
    for d, r in enumerate(reps):
        if r != 1:
            x = cat([x] * r, d) if r else x.narrow(d, 0, 0)
    return x.clone() if x._data is self._data else x


@method
def diag(x: Tensor, diagonal: int = 0) -> Tensor:
    """Return a diagonal of a matrix, as a copy, or the matrix with these numbers on a diagonal and zeros elsewhere.

    Raises:
        RuntimeError: the tensor has neither one axis nor two.
    """
    diagonal = whole(diagonal, "diagonal")
    if x.ndim == 2:
        return x.diagonal(diagonal).clone()
    if x.ndim != 1:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")
    return diag_embed(x, diagonal)


@method
def diag_embed(x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices, in the axes `dim1` and `dim2`, with the numbers of the last axis on a diagonal, else 0.

    `offset` says which: 1 is the one above the main diagonal. It is a RuntimeError if the two axes are the same.
    An axis that is not there raises an IndexError.
    """
    a, b = axis_of(dim1, x.ndim + 1), axis_of(dim2, x.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = x.shape[-1] + abs(offset)
    at = arange(x.shape[-1])
    out = zeros(*x.shape[:-1], n, n, dtype=x.dtype)
    out[..., at + max(0, -offset), at + max(0, offset)] = x
    return out.movedim((-2, -1), (a, b))


def diagflat(x: Tensor, offset: int = 0) -> Tensor:
    return diag(x.flatten(), offset)


def block_diag(*ts: Tensor) -> Tensor:
    """Return the matrix with these matrices along its diagonal and zeros elsewhere. A vector counts as a row.

    Without any, its shape is (1, 0).

    Raises:
        RuntimeError: a tensor has more than two axes.
    """
    for i, t in enumerate(ts):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            )
    if not ts:
        return zeros(1, 0)
    matrices = [t if t.ndim == 2 else t.reshape(1, -1) for t in ts]
    dt = matrices[0].dtype
    for t in matrices:
        dt = promoted_dtype(dt, t.dtype)
    out, i, j = zeros(sum([t.shape[0] for t in matrices]), sum([t.shape[1] for t in matrices]), dtype=dt), 0, 0
    for t in matrices:
        out[i : i + t.shape[0], j : j + t.shape[1]] = t
        i, j = i + t.shape[0], j + t.shape[1]
    return out


def cartesian_prod(*ts: Tensor) -> Tensor:
    """Return all combinations of one number of each vector, as rows; of one vector, the vector itself.

    Raises:
        RuntimeError: one is no vector.
    """
    for t in ts:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    return ts[0] if len(ts) == 1 else stack([t.flatten() for t in meshgrid(*ts)], 1)


@method
def rot90(x: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Return a copy with the plane of two axes turned by k right angles, from the first axis toward the second.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: there are not two such axes.
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if x.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {x.ndim}")
    first, second = axes_of(list(dims), x.ndim)
    if k % 4 == 0:
        return x.clone()
    if k % 4 == 2:
        return flip(x, [first, second])
    return flip(x, second if k % 4 == 1 else first).transpose(first, second)


def triangle(name: str, x: Tensor, keep: Callable[[int, int], bool]) -> Tensor:
    """Return a copy of `x` that is zero at every row and column for which `keep(row, column)` is false.

    Raises:
        RuntimeError: `x` has fewer than two axes; the message names the function.
    """
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    r, c = x.shape[-2:]
    mask = [keep(i, j) for i in range(r) for j in range(c)] * (x.numel() // (r * c) if r * c else 0)
    out = tensor_of([v if k else 0 for v, k in zip(x._numbers(), mask, strict=False)], x.shape, x.dtype)
    return record_step(out, [x], lambda g: [triangle(name, g, keep)])


@method
def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    k = whole(diagonal, "diagonal")
    return triangle("tril", x, lambda i, j: j <= i + k)


@method
def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    k = whole(diagonal, "diagonal")
    return triangle("triu", x, lambda i, j: j >= i + k)


def places_of_matrix(row: int, col: int) -> list[tuple[int, int]]:
    """Return the places (row, column) of all numbers of a matrix of `row` rows and `col` columns, row by row.

    A negative size raises a RuntimeError.
    """
    for name, size in (("row", row), ("col", col)):
        if whole(size, name) < 0:
            raise RuntimeError(f"{name} must be non-negative, got{size}")
    return [(i, j) for i in range(row) for j in range(col)]


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Kind = int64, device: Device = None) -> Tensor:
    places = [(i, j) for i, j in places_of_matrix(row, col) if j <= i + whole(offset, "offset")]
    return tensor([[i for i, _ in places], [j for _, j in places]], dtype=dtype, device=device)
