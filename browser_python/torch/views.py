"""Views (other shapes, orders of axes, broadcasting), copies, and conversions to another dtype.

Errors are those of torch, also where a docstring does not list them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from .dtypes import (
    FLOATING,
    TYPE_NAMES,
    Device,
    as_dtype,
    bfloat16,
    bool_,
    check_device,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from .dtypes import dtype as Kind
from .gradients import record_step
from .kernels import BIG, KERNELS, address_of
from .missing import refuse
from .numbers import OtherInteger, convert_numbers
from .shapes import Axes, Size, axes_of, axis_of, common_shape, infer_size, product, row_major, sizes_of, whole
from .tensors import (
    Tensor,
    attribute,
    broadcast_view,
    laid_out,
    link_to_base,
    method,
    tensor_of,
    type_name,
    view_of,
)


def permuted_view(x: Tensor, order: Sequence[int]) -> Tensor:
    """Return a view with the axes in this order, without gradient history."""
    shape = tuple(x.shape)
    return view_of(x, [shape[i] for i in order], [x._strides[i] for i in order], x._offset)


def view_strides(t: Tensor, shape: Sequence[int]) -> Any:
    """Return the strides of a view of `t` in another shape, or None if this shape needs a copy."""
    if t.is_contiguous() or t.numel() == 0:
        return row_major(shape)
    old = [(n, s) for n, s in zip(t.shape, t._strides, strict=False) if n != 1]
    strides, i = [0] * len(shape), len(shape) - 1
    j = len(old) - 1
    while j >= 0:
        k, n = j, old[j][0]
        while k > 0 and old[k - 1][1] == old[k][0] * old[k][1]:
            k -= 1
            n *= old[k][0]
        step, left = old[j][1], n
        while (i >= 0 and left > 1) or (i >= 0 and shape[i] == 1):
            if shape[i] != 1 and left % shape[i]:
                return None
            strides[i] = step
            step *= shape[i]
            left //= shape[i]
            i -= 1
            if left == 1 and not (i >= 0 and shape[i] == 1):
                break
        if left != 1:
            return None
        j = k - 1
    return tuple(strides)


@method
def permute(x: Tensor, *axes: int | Sequence[int]) -> Tensor:
    """Return a view with the axes in this order.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: an axis is missing or named twice.
    """
    order = sizes_of(axes)
    if len(order) != x.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not equal to len(dims) = {len(order)}"
        )
    order = [axis_of(d, x.ndim) for d in order]
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return x._as_view(lambda t: permuted_view(t, order))


@method
def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two axes exchanged.

    Raises:
        IndexError: there is no such axis.
    """
    n = len(x.shape)
    a, b = axis_of(dim0, n), axis_of(dim1, n)
    if not n:
        return x
    order = list(range(n))
    order[a], order[b] = b, a
    return x._as_view(lambda t: permuted_view(t, order))


@method
def t(x: Tensor) -> Tensor:
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return x.transpose(0, max(0, x.ndim - 1))


@attribute
def T(x: Tensor) -> Tensor:
    return x.permute(list(range(x.ndim))[::-1])


@attribute
def mT(x: Tensor) -> Tensor:
    """Return a view with the last two axes exchanged. A tensor without axes is returned as it is.

    Shapes:
        x (..., m, n); result (..., n, m)
    Raises:
        RuntimeError: x has one axis.
    """
    if x.ndim == 0:
        return x
    if x.ndim == 1:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {x.ndim}-D tensor.")
    return x.transpose(-2, -1)


@method
def view(x: Tensor, *sizes: Any) -> Tensor:
    """Return a view in another shape, in which one size may be −1. `view(dtype)` takes only the tensor's own dtype.

    Raises:
        RuntimeError: the shape has another number of elements, or would need a copy.
        NotImplementedError: a view with another dtype.
    """
    if len(sizes) == 1 and isinstance(sizes[0], Kind):
        if sizes[0] is not x.dtype:
            refuse("a view with another dtype")
        return x._as_view(lambda t: view_of(t, t.shape, t._strides, t._offset))
    if not sizes:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype dtype)\n * "
            "(tuple of ints size)\n"
        )
    shape = infer_size(sizes_of(sizes), x.numel())
    st = view_strides(x, shape)
    if st is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return x._as_view(lambda t: view_of(t, shape, view_strides(t, shape), t._offset))


@method
def view_as(x: Tensor, other: Tensor) -> Tensor:
    return x.view(other.shape)


@method
def reshape(x: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    """Return a view in another shape, or a copy where no view is possible. One size may be −1.

    Raises:
        RuntimeError: the shape has another number of elements.
    """
    shape = infer_size(sizes_of(sizes), x.numel())
    if view_strides(x, shape) is not None:
        return x._as_view(lambda t: view_of(t, shape, view_strides(t, shape), t._offset))
    return x.contiguous().view(shape)


@method
def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    return x.reshape(other.shape)


@method
def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the axes from `start_dim` to `end_dim`, which is included, into one; a view where that is possible.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: `start_dim` comes after `end_dim`.
    """
    a, b = axis_of(start_dim, x.ndim), axis_of(end_dim, x.ndim)
    if not x.ndim:
        return x.reshape(1)
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if a == b:
        return x
    return x.reshape([*list(x.shape[:a]), product(x.shape[a : b + 1]), *list(x.shape[b + 1 :])])


@method
def ravel(x: Tensor) -> Tensor:
    return x.flatten()


@method
def unflatten(x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split an axis into axes of these sizes, of which one may be −1; a view where that is possible.

    Raises:
        IndexError: there is no such axis.
        RuntimeError: the product of the sizes is not the size of the axis.
    """
    if not x.ndim:
        raise RuntimeError(
            f"unflatten got an unexpected error:\nDimension specified as {dim} but tensor has no dimensions"
        )
    d = axis_of(dim, x.ndim)
    sizes = list(sizes)
    n, known = x.shape[d], product([s for s in sizes if s != -1])
    if -1 in sizes and known and n % known == 0:
        sizes = [n // known if s == -1 else s for s in sizes]
    if product(sizes) != n or -1 in sizes:
        raise RuntimeError(
            f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {d} ({n}) in the input tensor"
        )
    return x.reshape(list(x.shape[:d]) + sizes + list(x.shape[d + 1 :]))


@method
def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """Return a view with a new axis of size 1 at the place `dim`, which counts in the result.

    Raises:
        IndexError: it is beyond the result's axes.
    """
    d = axis_of(dim, x.ndim + 1)

    def how(t: Tensor) -> Tensor:
        stride = t.shape[d] * t._strides[d] if d < t.ndim else 1
        return view_of(t, (*t.shape[:d], 1, *t.shape[d:]), (*t._strides[:d], stride, *t._strides[d:]), t._offset)

    return x._as_view(how)


@method
def squeeze(x: Tensor, dim: Axes = None) -> Tensor:
    drop = [i for i in axes_of(dim, x.ndim) if x.ndim and x.shape[i] == 1]
    keep = [i for i in range(x.ndim) if i not in drop]
    return x._as_view(lambda t: view_of(t, [t.shape[i] for i in keep], [t._strides[i] for i in keep], t._offset))


@method
def expand(x: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    """Return a view in which axes of size 1, and new axes at the front, have these sizes. −1 keeps a size.

    Raises:
        RuntimeError: another axis would change its size, or there are too few sizes.
    """
    shape = sizes_of(sizes)
    if len(shape) < x.ndim:
        raise RuntimeError(
            f"expand({type_name(x)}{{{list(x.shape)}}}, size={shape}): the number of sizes provided ({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    k = len(shape) - x.ndim
    full_shape = []
    for i, n in enumerate(shape):
        own = x.shape[i - k] if i >= k else 1
        if n == -1 and i >= k:
            n = own
        if n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
            )
        if own not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({own}) at non-singleton dimension {i}.  Target sizes: {shape}.  Tensor sizes: {list(x.shape)}"
            )
        full_shape.append(n)
    return x._as_view(lambda t: broadcast_view(t, full_shape))


@method
def expand_as(x: Tensor, other: Tensor) -> Tensor:
    return x.expand(other.shape)


@method
def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of all windows of this size along an axis, `step` apart; a new last axis counts within a window.

    A RuntimeError is raised for a size that is negative or exceeds the axis, and for a step below 1.
    An axis that is not there raises an IndexError.
    """
    d, size, step = axis_of(dimension, x.ndim), whole(size, "size"), whole(step, "step")
    for name, given, least in (("size", size, 0), ("step", step, 1)):
        if given < least:
            raise RuntimeError(f"{name} is {given} but must be {'>= 0' if least == 0 else '> 0'}")
    n = (x.shape[d] - size) // step + 1
    if n < 1:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {x.shape[d]} but size is {size}")
    return x._as_view(
        lambda t: view_of(
            t,
            [*list(t.shape[:d]), n, *list(t.shape[d + 1 :]), size],
            [*list(t._strides[:d]), t._strides[d] * step, *list(t._strides[d + 1 :]), t._strides[d]],
            t._offset,
        )
    )


@method
def as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Return a view of the storage with this shape, these strides and this offset.

    Raises:
        RuntimeError: the storage is too short, a size, stride or the offset is negative, or sizes and strides differ in
            number.
    """
    size, stride = [whole(n, "size") for n in size], [whole(step, "stride") for step in stride]
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    o = x._offset if storage_offset is None else whole(storage_offset, "storage_offset")
    if min(size, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={size} and strides={stride}")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {stride}")
    if o < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {o}")
    last = o + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= len(x._data):
        one = x.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {o}, and itemsize {one} requiring a "
            f"storage size of {(last + 1) * one} are out of bounds for storage of size {len(x._data) * one}"
        )
    return x._as_view(lambda t: view_of(t, size, stride, o))


@method
def _as_view(x: Tensor, how: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the view `how(x)`, linked to the base of `x`."""
    return link_to_base(how(x), x, how)


@method
def detach(x: Tensor) -> Tensor:
    return view_of(x, x.shape, x._strides, x._offset)


@attribute
def data(x: Tensor) -> Tensor:
    t = x.detach()
    t._writes = [0]  # a write through `x.data` is not noticed by gradients
    return t


def set_data(x: Tensor, other: Tensor) -> None:
    """Implement `x.data = other`: give `x` the storage, shape, strides and dtype of `other`, not its history.

    Raises:
        TypeError: `other` is no tensor.
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    x._data, x._offset, x._shape, x._strides, x._dtype = (
        other._data,
        other._offset,
        other.shape,
        other._strides,
        other.dtype,
    )


Tensor.data = data.setter(set_data)


@method
def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of a diagonal of the axes `dim1` and `dim2`, as the last axis.

    It begins `offset` places along `dim2`, or if that is negative, along `dim1`. It is a RuntimeError if the two axes
    are the same. An axis that is not there raises an IndexError.
    """
    a, b, offset = axis_of(dim1, x.ndim), axis_of(dim2, x.ndim), whole(offset, "offset")
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = max(0, min(x.shape[a] + min(0, offset), x.shape[b] - max(0, offset)))
    keep = [i for i in range(x.ndim) if i not in (a, b)]

    def how(t: Tensor) -> Tensor:
        o = t._offset + (offset * t._strides[b] if offset > 0 else -offset * t._strides[a])
        return view_of(
            t, [t.shape[i] for i in keep] + [n], [t._strides[i] for i in keep] + [t._strides[a] + t._strides[b]], o
        )

    return link_to_base(how(x), x, how)


@method
def movedim(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Return a view with the axes `source` moved to the places `destination`; RuntimeError if they differ in number.

    An axis that is not there raises an IndexError.
    """
    a, b = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(a) != len(b):
        raise RuntimeError("movedim: Invalid source or destination dims: they differ in number")
    order = [i for i in range(x.ndim) if i not in a]
    for place, axis in sorted(zip(b, a, strict=True)):
        order.insert(place, axis)
    return x.permute(order)


def broadcast_tensors(*ts: Tensor) -> tuple[Tensor, ...]:
    shape = common_shape(*[t.shape for t in ts])
    return tuple(t.expand(shape) for t in ts)


@method
def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.expand(shape)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape to which all these shapes broadcast.

    Raises:
        AssertionError: as in torch, a size is an integer of NumPy or a tensor.
        ValueError: a size is negative.
        RuntimeError: the shapes do not broadcast.
    """
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    for size in (size for shape in sizes for size in shape):
        if isinstance(size, OtherInteger):
            raise AssertionError("Expected bool, got <class 'numpy.bool'>")
        if isinstance(size, Tensor):
            raise AssertionError("Expected bool, got <class 'torch.Tensor'>")
        if whole(size, "shapes") < 0:
            raise ValueError("Attempting to broadcast a dimension with negative length!")
    wide: list[int] = []
    for i, own in enumerate(map(tuple, sizes)):
        wide = [1] * (len(own) - len(wide)) + wide
        for d in range(-1, -len(own) - 1, -1):
            if own[d] not in (1, wide[d]) and wide[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {own[d]} at {d}! Mismatching argument at index {i} had "
                    f"{own}; but expected shape should be broadcastable to {wide}"
                )
            wide[d] = own[d] if wide[d] == 1 else wide[d]
    return Size(wide)


def meshgrid(*ts: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return the coordinates of all points of a grid: one tensor for each vector, all of the grid's shape.

    The grid has an axis for each vector, in order; with "xy", the first two are exchanged. A 0-d tensor counts as a
    vector.

    Raises:
        RuntimeError: the indexing is another, the dtypes differ, or a tensor has several axes.
    """
    ts = ts[0] if len(ts) == 1 and not isinstance(ts[0], Tensor) else ts
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if len({t.dtype for t in ts}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(t.ndim > 1 for t in ts):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    n = len(ts)
    shape = [t.numel() for t in ts]
    got = [t.reshape([-1 if j == i else 1 for j in range(n)]).expand(shape) for i, t in enumerate(ts)]
    return tuple(got) if indexing == "ij" or n < 2 else tuple(t.transpose(0, 1) for t in got)


def atleast_1d(x: Tensor) -> Tensor:
    return x if x.ndim else x.reshape(1)


def atleast_2d(x: Tensor) -> Tensor:
    return x if x.ndim > 1 else x.reshape(1, -1)


@method
def contiguous(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else record_step(copied(x), [x], lambda g: [g])


def copied(x: Tensor) -> Tensor:
    return tensor_of(x._buffer()[:], x.shape, x.dtype)


@method
def clone(x: Tensor) -> Tensor:
    return record_step(copied(x) if x.is_contiguous() else laid_out(copied, [x]), [x], lambda g: [g])


@method
def to(
    x: Tensor,
    *args: Any,
    dtype: Kind | None = None,
    device: Device = None,
    non_blocking: bool = False,
    copy: bool = False,
) -> Tensor:
    """Return the tensor in another dtype: `to(dtype)`, `to(device, dtype)` or `to(other)`.

    If that is its own, or there is none, it is `x` itself, or with `copy` a copy. Errors are those of `target_dtype`.
    """
    if not (len(args) == 1 and type(args[0]) is Kind and dtype is device is None):  # not the frequent case `to(dtype)`
        flags = [a for a in args if isinstance(a, bool)]
        args = (target_dtype(args, dtype, device),)
        copy = copy or flags[1:] == [True]  # the first of two flags is `non_blocking`
    dt = args[0]
    if dt is None or dt is x.dtype:
        return x.clone() if copy else x
    src = x.dtype
    out = converted(x, dt) if x.is_contiguous() else laid_out(converted, [x], dt)
    return record_step(out, [x], lambda g: [g.to(src)]) if src.kind == dt.kind == FLOATING else out


def converted(x: Tensor, dt: Kind) -> Tensor:
    """Return a copy in another dtype, without gradient history."""
    choose = KERNELS.get(("choose", dt)) if x.dtype is bool_ and x.numel() > BIG else None
    if choose:
        n, mask, values = x.numel(), x._buffer(), array(dt.code, [1, 0])
        out, one = array(dt.code, bytes(n * dt.itemsize)), address_of(values)
        choose(address_of(out), n, address_of(mask), n, 1, one, 0, 0, one + dt.itemsize, 0, 0, 1, n)
        return tensor_of(out, x.shape, dt)
    return tensor_of(convert_numbers(x._numbers(), x.dtype, dt), x.shape, dt)


def target_dtype(args: tuple[Any, ...], dtype: Kind | None, device: Device) -> Kind | None:
    """Return the dtype that the arguments of `to` name, that of a tensor among them, or None.

    Raises:
        TypeError: they name two dtypes.
        AssertionError, NotImplementedError, RuntimeError: they name a device that is not the CPU.
    """
    check_device(device)
    named = [] if dtype is None else [as_dtype(dtype)]
    for a in args:
        if isinstance(a, (Kind, Tensor, type)):
            named.append(a.dtype if isinstance(a, Tensor) else as_dtype(a))
        elif not isinstance(a, bool):
            check_device(a)
    if len(named) > 1:
        raise TypeError("to() received an invalid combination of arguments: two dtypes")
    return named[0] if named else None


@method
def type_(x: Tensor, dtype: Kind | str | None = None) -> Tensor | str:
    """Return the tensor in another dtype, also by its name ("torch.FloatTensor"); without one, the name of its type.

    An unknown name raises a ValueError.
    """
    if isinstance(dtype, (str, type)):
        given = getattr(dtype, "__name__", dtype)
        named = given if isinstance(dtype, str) else f"torch.{given}"
        dtype = next((kind for kind, name in TYPE_NAMES.items() if named == f"torch.{name}Tensor"), None)
        if dtype is None:
            raise ValueError(f"invalid type: '{given}'")
    return x.to(dtype) if dtype is not None else type_name(x)


@method
def type_as(x: Tensor, other: Tensor) -> Tensor:
    return x.to(other.dtype)


@method
def numpy(x: Tensor) -> Any:
    """Return an array of the page's numpy that shares the storage.

    Raises:
        RuntimeError: the tensor requires a gradient.
        TypeError: its dtype is bfloat16.
    """
    if x.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if x.dtype is bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    from numpy import ndarray  # the page's numpy

    return ndarray(x)


@method
def __array__(x: Tensor, *a: object) -> Any:
    return x.numpy()


for _name, _kind in (("float", float32), ("double", float64), ("half", float16), ("bfloat16", bfloat16), ("int", int32),
                     ("long", int64), ("short", int16), ("char", int8), ("byte", uint8), ("bool", bool_)):  # fmt: skip
    setattr(Tensor, _name, lambda x, *, _kind=_kind: x.to(_kind))
Tensor.swapaxes = Tensor.swapdims = transpose  # type: ignore[attr-defined]
Tensor.mH = mT  # type: ignore[attr-defined]
Tensor.moveaxis = movedim  # type: ignore[attr-defined]
