"""Indexing: reading and writing `x[…]`, gathering along an axis, and the positions of nonzero numbers.

Errors are those of torch, with its messages, also where a docstring does not list them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .creation import check_fits, tensor
from .dtypes import FLOATING, TYPE_NAMES, State, bfloat16, bool_, float16, int32, int64, uint8
from .gradients import record_step
from .kernels import BIG, KERNELS, address_of
from .missing import refuse_set
from .numbers import is_number, to_array
from .shapes import ALL, axis_of, common_shape, offsets_of, product, row_major, whole
from .tensors import (
    SHARED,
    Tensor,
    broadcast_view,
    check_leaf,
    check_overlap,
    method,
    numbers_as,
    places_in,
    record_write,
    scatter_gradient,
    tensor_of,
    type_name,
    view_of,
)


@dataclass
class Selection:
    """The part of a tensor that an index selects, computed key by key.

    Slices and single integers determine the shape, strides and offset of a view. `picks` holds each tensor of indices,
    with the axis of this view to which it applies.
    """

    tensor: Tensor
    offset: int
    axis: int = 0
    shape: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    picks: list[tuple[int, Tensor]] = field(default_factory=list)

    def keep_axis(self, size: int, stride: int) -> None:
        self.shape.append(size)
        self.strides.append(stride)

    def take_slice(self, key: slice) -> None:
        """Apply a slice to the next axis.

        Raises:
            ValueError: its step is not positive.
        """
        if key.step is not None and key.step <= 0:
            raise ValueError("step must be greater than zero")
        start, stop, step = key.indices(self.tensor.shape[self.axis])
        stride = self.tensor._strides[self.axis]
        self.keep_axis(max(0, -(-(stop - start) // step)), stride * step)
        self.offset += start * stride if self.shape[-1] else 0
        self.axis += 1

    def take_integer(self, key: int) -> None:
        """Apply an integer to the next axis, which the result then does not have.

        Raises:
            IndexError: the integer is out of bounds.
        """
        size = self.tensor.shape[self.axis]
        if not -size <= key < size:
            raise IndexError(f"index {key} is out of bounds for dimension {self.axis} with size {size}")
        self.offset += key % size * self.tensor._strides[self.axis]
        self.axis += 1

    def take_bool(self, key: bool) -> None:
        """Apply a single bool: it adds an axis of size 1 for True, and of size 0 for False."""
        self.picks.append((len(self.shape), tensor_of([0] if key else [], (1 if key else 0,), int64)))
        self.keep_axis(1, 0)

    def take_indices(self, key: Tensor) -> None:
        self.picks.append((len(self.shape), key))
        self.keep_axis(self.tensor.shape[self.axis], self.tensor._strides[self.axis])
        self.axis += 1

    def take_mask(self, key: Tensor) -> None:
        """Apply a mask, which has one axis or more, as one tensor of indices for each of its axes.

        Raises:
            IndexError: the mask has other sizes than these axes.
        """
        shape = self.tensor.shape
        for j in range(key.ndim):
            if key.shape[j] != shape[self.axis + j]:
                raise IndexError(
                    f"The shape of the mask {list(key.shape)} at index {j} does not match the shape of the indexed tensor {list(shape)} at index {self.axis + j}"
                )
        for part in nonzero(key, as_tuple=True):
            self.take_indices(part)

    def take(self, key: Any) -> None:
        """Apply one key: None, a slice, a bool, an integer, or a tensor of bools or integers. An ellipsis does nothing.

        Raises:
            IndexError: it has another type, such as a tensor of floats, or does not fit the next axis.
        """
        if key is None:
            shape, strides = self.tensor.shape, self.tensor._strides
            self.keep_axis(1, shape[self.axis] * strides[self.axis] if self.axis < len(shape) else 1)
        elif key is Ellipsis:  # a second one stands for no axes
            return
        elif isinstance(key, slice):
            self.take_slice(key)
        elif isinstance(key, bool) or (isinstance(key, Tensor) and key.dtype is bool_ and not key.ndim):
            self.take_bool(bool(key))
        elif isinstance(key, Tensor) and key.dtype is bool_:
            self.take_mask(key)
        elif isinstance(key, Tensor) and key.dtype.kind == FLOATING:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        elif isinstance(key, Tensor) and key.ndim:
            self.take_indices(key)
        elif isinstance(key, Tensor) or hasattr(key, "__index__"):
            self.take_integer(key.__index__())
        else:
            raise IndexError(
                f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(key).__name__})"
            )

    def view(self) -> Tensor:
        return view_of(self.tensor, self.shape, self.strides, self.offset)

    def places(self) -> tuple[list[int], list[int]]:
        """Return the shape of the selected part, and the position of each of its numbers in the storage.

        Raises:
            IndexError: an index is out of bounds, or the tensors of indices cannot be broadcast together.
        """
        try:
            over = common_shape(*[p.shape for _, p in self.picks])
        except RuntimeError:
            shapes = ", ".join(str(list(p.shape)) for _, p in self.picks)
            raise IndexError(
                f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
            ) from None
        at = [axis for axis, _ in self.picks]
        first = at[0] if at == list(range(at[0], at[0] + len(at))) else 0
        before = [i for i in range(len(self.shape)) if i not in at and i < first]
        after = [i for i in range(len(self.shape)) if i not in at and i >= first]
        left = offsets_of([self.shape[i] for i in before], [self.strides[i] for i in before], self.offset)
        right = offsets_of([self.shape[i] for i in after], [self.strides[i] for i in after])
        inner = [0] * product(over)
        for number, (axis, pick) in enumerate(self.picks):  # in an error, torch counts the tensors of indices
            size, stride = self.shape[axis], self.strides[axis]
            for j, v in enumerate(broadcast_view(pick, over)._numbers()):
                # If the result is empty, torch does not check the indices, unless the indexed axis is empty.
                if not size or (not -size <= v < size and left and right):
                    raise IndexError(f"index {v} is out of bounds for dimension {number} with size {size}")
                inner[j] += v % size * stride
        shape = [self.shape[i] for i in before] + list(over) + [self.shape[i] for i in after]
        return shape, [p + q + r for p in left for q in inner for r in right]


PARTS = (list, tuple, range, slice, Tensor, type(None), type(Ellipsis))  # a list of these is a key as a tuple is


def axes_indexed(key: Any) -> int:
    """Return the number of axes of the tensor that a key indexes."""
    if key is None or key is Ellipsis or isinstance(key, bool):
        return 0
    return key.ndim if isinstance(key, Tensor) and key.dtype is bool_ else 1


def as_key(key: Any) -> Any:
    """Return a list, tuple, range or array within an index as a tensor, an empty one as integers; another key as it is.

    A uint8 tensor becomes a mask.

    Raises:
        TypeError: it is a text.
    """
    if isinstance(key, Tensor) and key.dtype is uint8:
        return key.bool()
    if isinstance(key, (slice, int, Tensor)):
        return key
    if isinstance(key, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(key, (list, tuple, range)):
        return tensor(key, dtype=int64) if not len(key) else tensor(key)
    return getattr(key, "_tensor", key)


def selection(t: Tensor, key: Any) -> Selection:
    """Return the selection of `t[key]`.

    Raises:
        IndexError: an index is out of bounds, a mask has another shape, there are too many indices, or a key has a
            wrong type.
        TypeError: a key is a string.
        ValueError: the step of a slice is not positive.
    """
    several = isinstance(key, tuple) or (isinstance(key, list) and any(isinstance(k, PARTS) for k in key))
    keys = [as_key(k) for k in (key if several else (key,))]
    rest = t.ndim - sum(map(axes_indexed, keys))
    if rest < 0:
        raise IndexError(f"too many indices for tensor of dimension {t.ndim}")
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys[at : at + 1] = [ALL] * rest
    chosen = Selection(t, t._offset)
    for k in keys:
        chosen.take(k)
    return chosen


def chosen_places(t: Tensor, key: Any) -> tuple[list[int], list[int]]:
    """Return the shape of `t[key]`, and the position of each of its numbers in the storage.

    `selection` and `Selection.places` list the errors.
    """
    found = selection(t, key)
    return found.places() if found.picks else (found.shape, offsets_of(found.shape, found.strides, found.offset))


@method
def __getitem__(x: Tensor, key: Any) -> Tensor:
    """Return `x[key]`: a view for integers and slices, else a copy. `selection` lists the errors."""
    if type(key) is int and x.shape:
        return select(x, 0, key)
    if (
        isinstance(key, Tensor)
        and key.dtype is int64
        and ("gather", x.dtype) in KERNELS
        and x.ndim
        and key.numel() > BIG
    ):
        return rows_by_kernel(x, key)
    found = selection(x, key)
    if not found.picks:
        return view_of(x, found.shape, found.strides, found.offset, lambda t: selection(t, key).view())
    shape, places = found.places()
    storage = x._data
    out = tensor_of([storage[p] for p in places], shape, x.dtype)
    if x.requires_grad and State.grad_enabled:
        flat, given = chosen_places(places_in(x.shape), key)[1], x.shape
        picks = [pick for _, pick in found.picks]
        record_step(out, [x], lambda g, *_: [scatter_gradient(given, flat, g)], picks)
    return out


def rows_by_kernel(x: Tensor, index: Tensor) -> Tensor:
    """Return the rows of `x` (the parts along axis 0) with these indices, computed by a kernel.

    Raises:
        IndexError: an index is out of bounds.
    """
    size = x.shape[0]
    rows = index._buffer()
    low, high = min(rows), max(rows)
    if low < -size or high >= size:
        raise IndexError(f"index {low if low < -size else high} is out of bounds for dimension 0 with size {size}")
    places = array("i", [row % size for row in rows] if low < 0 else rows)
    given, columns = x.shape, product(x.shape[1:])
    numbers = x._buffer()
    out = tensor_of(
        array(x.dtype.code, bytes(len(places) * columns * x.dtype.itemsize)), index.shape + given[1:], x.dtype
    )
    KERNELS["gather", x.dtype](address_of(out._data), address_of(numbers), address_of(places), len(places), columns, 0)

    def back(g: Tensor, *_: Tensor) -> list[Tensor]:
        return [scattered(given, places, columns, g)]

    return record_step(out, [x], back, [index])


def scattered(shape: Sequence[int], places: array[int], columns: int, g: Tensor) -> Tensor:
    """Return zeros of this shape, with each row (`columns` numbers) of the gradient `g` added to the row at its place.

    It needs the kernel `scatter` for the dtype of `g`.
    """
    out = tensor_of(array(g.dtype.code, bytes(product(shape) * g.dtype.itemsize)), shape, g.dtype)
    numbers = g._buffer()
    KERNELS["scatter", g.dtype](address_of(out._data), address_of(numbers), address_of(places), len(places), columns)
    return out


def fit_value(value: Tensor, shape: Sequence[int], picked: bool) -> Tensor:
    """Return a value for `x[key] = value`, without leading axes of size 1 that the shape of `x[key]` does not have.

    `picked` says whether the key contains a tensor of indices; torch's error message depends on it.

    Raises:
        RuntimeError: the value cannot be broadcast to this shape.
    """
    sizes = list(value.shape)
    while len(sizes) > len(shape) and sizes[0] == 1:
        sizes = sizes[1:]
    wrong = [j for j in range(1, len(sizes) + 1) if j > len(shape) or sizes[-j] not in (1, shape[-j])]
    if not wrong:
        return value if sizes == list(value.shape) else value.reshape(sizes)
    if picked:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    if len(sizes) > len(shape):
        raise RuntimeError(
            f"expand({type_name(value)}{{{sizes}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({len(sizes)})"
        )
    i = wrong[0]
    raise RuntimeError(
        f"The expanded size of the tensor ({shape[-i]}) must match the existing size ({sizes[-i]}) at non-singleton dimension {len(shape) - i}.  Target sizes: {list(shape)}.  Tensor sizes: {sizes}"
    )


@method
def __setitem__(x: Tensor, key: Any, value: Any) -> None:
    """Write a number or a tensor, broadcast to the shape of `x[key]`, into `x[key]`.

    Raises:
        TypeError: the value is a list, a tuple, a string, an array of NumPy or None.
        RuntimeError: the value cannot be broadcast or does not fit the dtype of `x`, `x` is a leaf that requires a
            gradient, or both overlap in memory.
        IndexError, ValueError: the key is none; see `selection`.
    """
    picked = bool(selection(x, key).picks)
    parts = key if isinstance(key, tuple) else (key,)
    check_leaf(x, part=not picked and any(part is not ... and part != ALL for part in parts))
    if any(isinstance(k, Tensor) and k._data is x._data for k in parts):
        raise RuntimeError(SHARED)
    shape, places = chosen_places(x, key)
    if not isinstance(value, Tensor):
        if isinstance(value, (list, tuple, str)) or value is None or hasattr(value, "_tensor"):
            raise TypeError(f"can't assign a {type(value).__name__} to a {type_name(x)}")
        if is_number(value) and x.dtype not in (float16, bfloat16):  # there, torch writes inf without an error
            check_fits(value, x.dtype)
        value = tensor(value, dtype=x.dtype if is_number(value) else None)
    elif (
        picked
        and value.dtype is not x.dtype
        and not (isinstance(key, Tensor) and key.dtype is bool_ and not value.ndim)
    ):
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {TYPE_NAMES[x.dtype]} for the destination and "
            f"{TYPE_NAMES[value.dtype]} for the source."
        )
    elif not picked:
        check_overlap(selection(x, key).view(), value)
    write_at(x, shape, places, lambda: chosen_places(places_in(x.shape), key)[1], fit_value(value, shape, picked))


def write_at(x: Tensor, shape: Sequence[int], places: list[int], flat: Callable[[], list[int]], value: Tensor) -> None:
    """Write a value, broadcast to this shape, to these positions of the storage; `flat` returns those in `x` itself.

    The write is counted, and recorded for gradients.
    """
    storage = x._data
    for place, number in zip(places, to_array(numbers_as(broadcast_view(value, shape), x.dtype), x.dtype), strict=True):
        storage[place] = number
    x._writes[0] += 1
    if State.grad_enabled and (x.requires_grad or value.requires_grad):
        record_write(x, flat(), value, shape)


@method
def select(x: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of the part of `x` with this index along the axis `dim`, without this axis.

    Raises:
        IndexError: the index is out of bounds.
    """
    if type(index) is not int or not x.shape:
        return x[tuple([ALL] * axis_of(dim, x.ndim) + [whole(index, "index")])]
    d = axis_of(dim, len(x.shape))
    shape, strides = list(x.shape), list(x._strides)
    size, stride = shape.pop(d), strides.pop(d)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {d} with size {size}")
    return view_of(x, shape, strides, x._offset + index % size * stride, lambda t: select(t, d, index))


@method
def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a view of the indices start, …, start + length − 1 of the axis `dim`.

    A negative start counts from its end.

    Raises:
        IndexError: the first index is beyond the axis.
        RuntimeError: the length is negative, the last of these indices is beyond the axis, or there is no axis.
    """
    if not x.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d, start, length = axis_of(dim, x.ndim), whole(start, "start"), whole(length, "length")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if abs(start) > (n := x.shape[d]):
        raise IndexError(f"start out of range (expected to be in range of [-{n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > x.shape[d]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({x.shape[d]}).")
    return x[tuple([ALL] * d + [slice(start, start + length)])]


@method
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    d = axis_of(dim, x.ndim)
    return tuple(x.select(d, i) for i in range(x.shape[d]))


def gather_flat(x: Tensor, shape: Sequence[int], places: Sequence[int], saved: Sequence[Tensor] = ()) -> Tensor:
    """Return the numbers of `x` at flat positions, counted as if `x` were contiguous, in this shape.

    `saved` are tensors that the gradient depends on.
    """
    v, given = x._numbers(), x.shape
    out = tensor_of([v[p] for p in places], shape, x.dtype)

    def back(g: Tensor, *_: Tensor) -> list[Tensor]:
        by_kernel = ("scatter", g.dtype) in KERNELS and len(places) > BIG
        return [scattered(given, array("i", places), 1, g) if by_kernel else scatter_gradient(given, places, g)]

    return record_step(out, [x], back, saved)


@method
def gather(x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Take numbers along the axis `dim`: result[i][j][k] = x[i][index[i][j][k]][k] for 3 axes and dim = 1.

    The result has the shape of `index`.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: the index is not int32 or int64, has another number of axes or too large a size, or is out of
            bounds.
        NotImplementedError: `sparse_grad` is set.
    """
    refuse_set("gather", sparse_grad=sparse_grad)
    d = axis_of(dim, x.ndim)
    if index.dtype not in (int32, int64):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if large := [i for i, n in enumerate(index.shape) if i != d and x.ndim and n > x.shape[i]]:
        raise RuntimeError(
            f"Size does not match at dimension {large[0]} expected index {list(index.shape)} to be no larger than self "
            f"{list(x.shape)} apart from dimension {d}"
        )
    size = x.shape or (1,)
    st = list(row_major(size))
    own, st[d] = st[d], 0
    offs = offsets_of(index.shape, st[: len(index.shape)])
    at = index._numbers()
    for i in at:
        if not 0 <= i < size[d]:
            raise RuntimeError(f"index {i} is out of bounds for dimension {d} with size {size[d]}")
    return gather_flat(x, index.shape, [o + i * own for o, i in zip(offs, at, strict=False)], [index])


@method
def take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Return `gather` along an axis, with all other axes broadcast; without `dim`, of the flat tensors.

    Errors are those of `gather`.
    """
    if dim is None:
        x, indices, dim = x.flatten(), indices.flatten(), 0
    d = axis_of(dim, x.ndim)
    shape = list(common_shape(*[[n if i != d else 1 for i, n in enumerate(t.shape)] for t in (x, indices)]))
    s1, s2 = shape[:], shape[:]
    s1[d], s2[d] = x.shape[d], indices.shape[d]
    return gather(x.expand(s1), d, indices.expand(s2))


@method
def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the parts of `x` at these indices of the axis `dim`, as a copy.

    Raises:
        IndexError: an index is negative or too large, or the indices have several axes.
        RuntimeError: their dtype is not int32 or int64.
    """
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (int32, int64):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    n = x.shape[axis_of(dim, x.ndim)] if x.ndim else 1
    if not all(0 <= i < n for i in index._numbers()):
        raise IndexError("index out of range in self")
    if not x.ndim and index.numel() == 1:
        return index_select(x.unsqueeze(0), dim, index).reshape(())
    return x[tuple([ALL] * axis_of(dim, x.ndim) + [index.reshape(-1)])]


@method
def take(x: Tensor, index: Tensor) -> Tensor:
    """Return the numbers of the flat tensor at these indices, in their shape. One out of bounds is an IndexError."""
    size = x.numel()
    for i in index._numbers():
        if not -size <= i < size:
            raise IndexError(f"out of range: tried to access index {i} on a tensor of {size} elements.")
    return x.flatten()[index]


@method
def nonzero(x: Tensor, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Return the indices of all numbers that are not 0: one row each, or with `as_tuple`, one tensor for each axis."""
    st = row_major(x.shape)
    rows: list[list[int]] = []
    for p, v in enumerate(x._numbers()):
        if v:
            rows.append([p // s % n for s, n in zip(st, x.shape, strict=False)])
    if as_tuple and not x.ndim:
        return nonzero(x.unsqueeze(0), as_tuple=True)
    if as_tuple:
        return tuple(tensor_of([r[d] for r in rows], (len(rows),), int64) for d in range(x.ndim))
    return tensor_of([r[d] for d in range(x.ndim) for r in rows], (x.ndim, len(rows)), int64).T  # torch's layout


@method
def argwhere(x: Tensor) -> Any:
    return nonzero(x)


@method
def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """Return the numbers where the mask is True, with broadcasting, as a vector.

    A mask of another dtype or a shape that does not broadcast raises a RuntimeError.
    """
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape(x.shape, mask.shape)
    return x.expand(shape)[mask.expand(shape)]
