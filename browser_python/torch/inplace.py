"""In-place operations, and how they are recorded for gradients.

Errors are those of torch, with its messages, also where a docstring does not list them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .arithmetic import masked_fill
from .creation import arange, full, zeros_like
from .dtypes import TYPE_NAMES, State, int32, int64
from .gradients import Node, Saved, node_of, record_step
from .indexing import write_at
from .joining import tril, triu
from .missing import refuse, refuse_set
from .numbers import to_array
from .products import outer
from .shapes import ALL, axis_of, common_shape, offsets_of, row_major
from .tensors import (
    Tensor,
    as_tensor_of,
    check_leaf,
    check_overlap,
    in_place,
    method,
    numbers_as,
    record_in_base,
    tensor_of,
)
from .views import squeeze, t, transpose, unsqueeze


@method
def _write(x: Tensor, value: Tensor) -> Tensor:
    """Write this value into the tensor's storage, record the write for gradients, and return the tensor.

    Raises:
        RuntimeError: the shape or the dtype does not fit, or the tensor is a leaf that requires a gradient.
    """
    check_leaf(x)
    if tuple(value.shape) != tuple(x.shape):
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(value.shape)}")
    if value.dtype.kind > x.dtype.kind:
        raise RuntimeError(
            f"result type {TYPE_NAMES[value.dtype]} can't be cast to the desired output type {TYPE_NAMES[x.dtype]}"
        )
    numbers = to_array(numbers_as(value, x.dtype), x.dtype)
    if x.is_contiguous():
        x._data[x._offset : x._offset + len(numbers)] = numbers
    else:
        for o, v in zip(x._offsets(), numbers, strict=True):
            x._data[o] = v
    x._writes[0] += 1
    if State.grad_enabled and (value.requires_grad or x.requires_grad):
        value = value.to(x.dtype)
        node: Any = node_of(value) if value.requires_grad else Node([node_of(x)], lambda g: [zeros_like(g)])
        node.saved = [Saved(x) if saved.value is value else saved for saved in node.saved]  # notices writes to `x`
        record_in_base(x, value)
        x._node, x._needs_grad = node, True
    return x


def is_plain_copy(x: Tensor, other: Tensor) -> bool:
    """Check whether the numbers of `other` only have to be copied into `x`: nothing to check, convert or record."""
    same = x.dtype is other.dtype and x.shape == other.shape and x._data is not other._data
    return same and x.is_contiguous() and not x.requires_grad and not other.requires_grad


@method
def copy_(x: Tensor, other: Tensor | float, non_blocking: bool = False) -> Tensor:
    """Write the numbers of `other`, converted to the dtype of `x` and broadcast to its shape, into `x`, and return it.

    Raises:
        RuntimeError: the shapes do not fit, both overlap in memory, or `x` is a leaf that requires a gradient.
    """
    other = as_tensor_of(other, x.dtype)
    if is_plain_copy(x, other):
        x._data[x._offset : x._offset + x.numel()] = other._buffer()
        x._writes[0] += 1
        return x
    check_leaf(x)
    if other is x:
        return x
    check_overlap(x, other)
    shape = common_shape(x.shape, other.shape)
    if shape != x.shape:
        raise RuntimeError(
            f"The size of tensor a ({x.shape[-1] if x.ndim else 1}) must match the size of tensor b ({other.shape[-1]}) at non-singleton dimension {x.ndim - 1}"
        )
    return x._write((other.expand(shape) if other.shape != shape else other).to(x.dtype))


@method
def fill_(x: Tensor, value: Tensor | float) -> Tensor:
    """Write one value, a number or a tensor without axes, into each place of `x`, and return it.

    Raises:
        RuntimeError: the value has axes, or does not fit the dtype.
    """
    if not isinstance(value, Tensor):
        return x._write(full(x.shape, value, dtype=x.dtype))
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return x._write(value.to(x.dtype).expand(x.shape))


@method
def zero_(x: Tensor) -> Tensor:
    return x.fill_(0)


@method
def fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write one value into the diagonal of a matrix, or of a tensor whose axes have equal sizes, and return the tensor.

    Raises:
        RuntimeError: it has fewer than two axes, or more of different sizes.
        NotImplementedError: `wrap` is set.
    """
    refuse_set("fill_diagonal_", wrap=wrap)
    if x.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    at = arange(min(x.shape))
    x[(at,) * x.ndim] = fill_value
    return x


@method
def scatter_(
    x: Tensor, dim: int, index: Tensor, src: Tensor | float | None = None, value: float | None = None
) -> Tensor:
    """Write numbers along the axis `dim`: x[i][index[i][j][k]][k] = src[i][j][k] for 3 axes and dim = 1.

    The source is a tensor, or one number for all places (`value`). A tensor without axes counts as one with one axis.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: an index is out of bounds; see also `check_scatter`.
    """
    source: Any = value if src is None else src
    d, size = axis_of(dim, x.ndim), x.shape or (1,)
    check_scatter(x, d, index, source)
    at = index._numbers()
    for i in at:
        if not 0 <= i < size[d]:
            raise RuntimeError(f"index {i} is out of bounds for dimension {d} with size {size[d]}")

    def places(strides: tuple[int, ...], offset: int) -> list[int]:
        strides = strides or (1,)
        others = [0 if i == d else step for i, step in enumerate(strides)]
        starts = offsets_of(index.shape, others[: index.ndim], offset)
        return [o + i * strides[d] for o, i in zip(starts, at, strict=True)]

    check_leaf(x)
    if isinstance(source, Tensor):
        given = source[tuple(slice(0, n) for n in index.shape or (1,))] if source.ndim else source
        given = given if given.ndim == index.ndim else given.reshape(index.shape)
    else:
        given = full(index.shape, source, dtype=x.dtype)
    write_at(x, index.shape, places(x._strides, x._offset), lambda: places(row_major(x.shape), 0), given)
    return x


def check_scatter(x: Tensor, d: int, index: Tensor, src: Tensor | float | None) -> None:
    """Raise a RuntimeError unless `index` (int32 or int64) and `src` fit `x` for a scatter along axis `d`.

    A tensor `src` has the dtype of `x`; `index` has as many axes as both, and is no larger than `src`, nor than `x` but
    along `d`.
    """
    if index.dtype not in (int32, int64):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    shapes = [list(t.shape) for t in (index, src) if isinstance(t, Tensor)]
    if index.numel() and any(max(1, len(shape)) != max(1, x.ndim) for shape in shapes):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if isinstance(src, Tensor) and src.dtype is not x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    wide = any(n > x.shape[i] for i, n in enumerate(index.shape) if i != d)
    sizes = [shape or [1] for shape in shapes]
    if wide or (index.numel() and any(n > m for n, m in zip(sizes[0], sizes[-1], strict=True))):
        of_source = f" and to be no larger size than src {shapes[-1]}" if isinstance(src, Tensor) else ""
        raise RuntimeError(
            f"Expected index {shapes[0]} to be no larger than self {list(x.shape)} apart from dimension {d}{of_source}"
        )


@method
def scatter(
    x: Tensor, dim: int, index: Tensor, src: Tensor | float | None = None, value: float | None = None
) -> Tensor:
    return x.clone().scatter_(dim, index, src, value)


@method
def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return a copy of `x` with numbers added: x[i][index[i][j][k]][k] += src[i][j][k] for 3 axes and dim = 1.

    Raises:
        IndexError: there is no such axis.
        TypeError: the source is no tensor.
        RuntimeError: an index is out of bounds; see also `check_scatter`.
        NotImplementedError: one tensor has no axes, and another has.
    """
    if not isinstance(src, Tensor):
        raise TypeError(f"scatter_add(): argument 'src' (position 3) must be Tensor, not {type(src).__name__}")
    check_scatter(x, axis_of(dim, x.ndim), index, src)
    if x.ndim != src.ndim or x.ndim != index.ndim:
        refuse("`scatter_add` with a tensor without axes")
    used = tuple(slice(0, n) for n in index.shape)
    numbers = to_array(x._numbers(), x.dtype)
    places = arange(x.numel()).view(x.shape).gather(dim, index)
    for place, number in zip(places._numbers(), src[used]._numbers(), strict=True):
        numbers[place] += number

    def back(g: Tensor, *_: Tensor) -> list[Tensor]:
        if index.shape != src.shape:
            raise RuntimeError(
                "Function ScatterAddBackward0 returned an invalid gradient at index 1 - "
                f"got {list(index.shape)} but expected shape compatible with {list(src.shape)}"
            )
        return [g, g.gather(dim, index)]

    return record_step(tensor_of(numbers, x.shape, x.dtype), [x, src], back, [index])


def key_along(x: Tensor, dim: int, index: Tensor | int) -> tuple[Any, ...]:
    """Return the key that selects these indices of an axis.

    Raises:
        IndexError: the indices are a tensor of another dtype than int64.
    """
    if isinstance(index, Tensor) and index.dtype is not int64:
        raise IndexError("index_copy_(): Expected a long tensor for index")
    return (*[ALL] * axis_of(dim, x.ndim), index)


def check_source(x: Tensor, dim: int, index: Tensor, source: Tensor, error: type[Exception]) -> None:
    """Raise `error` unless `source` has the shape of the part of `x` that `index` selects along `dim`.

    A source of another dtype is a RuntimeError.
    """
    d = axis_of(dim, x.ndim)
    if source.dtype is not x.dtype:
        raise RuntimeError("self and source expected to have the same dtype")
    if list(source.shape) != [*x.shape[:d], index.numel(), *x.shape[d + 1 :]]:
        raise error(f"source of shape {list(source.shape)} does not fit {index.numel()} indices of dimension {d}")


@method
def index_copy_(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    check_source(x, dim, index, source, IndexError)
    x[key_along(x, dim, index)] = source
    return x


@method
def index_fill_(x: Tensor, dim: int, index: Tensor, value: Tensor | float) -> Tensor:
    """Write one value into the parts of `x` at these indices of the axis `dim`, and return `x`.

    Raises:
        RuntimeError: the value is a tensor with axes.
        IndexError: the indices are not int64, or out of bounds.
    """
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    x[key_along(x, dim, index)] = value
    return x


@method
def index_fill(x: Tensor, dim: int, index: Tensor, value: Tensor | float) -> Tensor:
    return x.clone().index_fill_(dim, index, value)


@method
def index_add_(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """Add each part of `source`, times alpha, to the part of `x` at its index of the axis `dim`. Return `x`.

    Raises:
        IndexError: the indices have several axes.
        RuntimeError: an index is out of bounds, or the shape or dtype of the source does not fit.
    """
    d = axis_of(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{TYPE_NAMES[index.dtype]} and size: {list(index.shape)}"
        )
    check_source(x, dim, index, source, RuntimeError)
    for j, i in enumerate(index.tolist()):
        if not 0 <= i < x.shape[d]:
            raise RuntimeError("index out of range in self")
        x[key_along(x, d, i)] = x.select(d, i) + source.select(d, j) * alpha
    return x


@method
def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    shape = common_shape(x.shape, mask.shape)
    return x.expand(shape).clone().masked_scatter_(mask, source)


@method
def masked_scatter_(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the first numbers of `source`, in order, into the places of `x` where the mask is True. Return `x`.

    Raises:
        RuntimeError: the dtypes differ, or the source has too few numbers.
    """
    if source.dtype is not x.dtype:
        raise RuntimeError("masked_scatter_: expected self and source to have same dtypes")
    n = int(mask.expand(x.shape).sum())
    if source.numel() < n:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    x[mask.expand(x.shape)] = source.flatten()[:n]
    return x


def addr(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return x * beta + outer(a, b) * alpha


def in_place_view(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the in-place version of a function that returns a view: the tensor itself becomes this view."""

    def name_of_step(dim: Any = None, *_: Any) -> str:
        """Return torch's name for the step in the graph: those of `squeeze_` with and without axes come last."""
        number = 1 if function is not squeeze else 3 if dim is None else 4 if isinstance(dim, int) else 5
        return f"{function.__name__.capitalize()}Backward{number}"

    @wraps(function)
    def write(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_leaf(x)
        y = function(x, *args, **kwargs)
        x._shape, x._strides, x._offset = y.shape, y._strides, y._offset
        x._node, x._needs_grad = y._node, y._needs_grad
        if x._view is not None:
            x._view, x._base_node = y._view, y._base_node
        x._writes[0] += 1
        x._changed_axes = True
        if x._node is not None:
            x._node._name = name_of_step(*args, *kwargs.values())
        return x

    return write


for _f in (unsqueeze, squeeze, t, transpose):
    setattr(Tensor, f"{_f.__name__}_", in_place_view(_f))
Tensor.swapaxes_ = Tensor.swapdims_ = Tensor.transpose_  # type: ignore[attr-defined]
IN_PLACE: dict[str, Callable[..., Tensor]] = {
    "tril": tril,
    "triu": triu,
    "masked_fill": masked_fill,
    "addr": addr,
    "scatter_add": scatter_add,
}
for _name, _f in IN_PLACE.items():
    setattr(Tensor, f"{_name}_", in_place(_f))
