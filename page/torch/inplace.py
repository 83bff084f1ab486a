"""In-place operations, and how they are recorded for gradients."""

from __future__ import annotations

from typing import Any

from .arithmetic import masked_fill
from .creation import arange, full
from .dtypes import TYPE_NAMES, State
from .gradients import node_of
from .joining import tril, triu
from .numbers import to_array
from .shapes import ALL, axis_of, common_shape, offsets_of
from .tensors import Tensor, as_tensor_of, check_leaf, method, numbers_as, places_in, record_write, snapshot


@method
def _write(x: Tensor, value: Any) -> Tensor:
    """Write this value into the tensor's storage, record the write for gradients, and return the tensor."""
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
    if State.grad_enabled and (value.requires_grad or x.requires_grad):
        value = value.to(x.dtype)
        if x._base is not None:
            root, fn = x._base
            record_write(root, snapshot(root), fn(places_in(root.shape))._offsets(), value, x.shape)
        x._node, x.requires_grad = node_of(value), value.requires_grad
    return x


@method
def copy_(x: Tensor, other: Any) -> Tensor:
    other = as_tensor_of(other, x.dtype)
    shape = common_shape(x.shape, other.shape)
    if shape != x.shape:
        raise RuntimeError(
            f"The size of tensor a ({x.shape[-1] if x.ndim else 1}) must match the size of tensor b ({other.shape[-1]}) at non-singleton dimension {x.ndim - 1}"
        )
    return x._write((other.expand(shape) if other.shape != shape else other).to(x.dtype))


@method
def fill_(x: Tensor, v: Any) -> Tensor:
    return x._write(full(x.shape, v, x.dtype))


@method
def zero_(x: Tensor) -> Tensor:
    return x.fill_(0)


@method
def masked_fill_(x: Tensor, mask: Tensor, v: Any) -> Tensor:
    return x._write(masked_fill(snapshot(x), mask, v))


@method
def fill_diagonal_(x: Tensor, v: Any) -> Tensor:
    n = min(x.shape)
    at = arange(n)
    x[at, at] = v
    return x


@method
def scatter_(x: Tensor, dim: Any, index: Tensor, src: Any = None, value: Any = None) -> Tensor:
    src = value if src is None else src
    d = axis_of(dim, x.ndim)
    st = list(x._strides)
    own, st[d] = st[d], 0
    offs = offsets_of(index.shape, st, x._offset)
    vals = src[tuple(slice(0, n) for n in index.shape)]._numbers() if isinstance(src, Tensor) else [src] * index.numel()
    check_leaf(x)
    for o, i, v in zip(offs, index._numbers(), vals, strict=True):
        if not 0 <= i < x.shape[d]:
            raise RuntimeError(f"index {i} is out of bounds for dimension {d} with size {x.shape[d]}")
        x._data[o + i * own] = v
    return x


@method
def scatter(x: Tensor, dim: Any, index: Tensor, src: Any = None, value: Any = None) -> Tensor:
    return x.clone().scatter_(dim, index, src, value)


@method
def index_copy_(x: Tensor, dim: Any, index: Tensor, src: Any) -> Tensor:
    x[tuple([ALL] * axis_of(dim, x.ndim) + [index])] = src
    return x


@method
def index_fill_(x: Tensor, dim: Any, index: Tensor, value: Any) -> Tensor:
    x[tuple([ALL] * axis_of(dim, x.ndim) + [index])] = value
    return x


@method
def index_fill(x: Tensor, dim: Any, index: Tensor, value: Any) -> Tensor:
    return x.clone().index_fill_(dim, index, value)


@method
def index_add_(x: Tensor, dim: Any, index: Tensor, src: Any) -> Tensor:
    d = axis_of(dim, x.ndim)
    for j, i in enumerate(index.tolist()):
        x[tuple([ALL] * d + [i])] = x.select(d, i) + src.select(d, j)
    return x


@method
def masked_scatter(x: Tensor, mask: Tensor, src: Any) -> Tensor:
    out = x.clone()
    mask = mask.expand(x.shape)
    out[mask] = src.flatten()[: int(mask.sum())]
    return out


@method
def masked_scatter_(x: Tensor, mask: Tensor, src: Any) -> Tensor:
    x[mask.expand(x.shape)] = src.flatten()[: int(mask.sum())]
    return x


@method
def addr_(x: Tensor, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return x._write(snapshot(x) * beta + a[:, None] * b * alpha)


for _name, _f in (("tril", tril), ("triu", triu)):
    setattr(Tensor, f"{_name}_", lambda x, *a, f=_f, **k: x._write(f(snapshot(x), *a, **k)))
