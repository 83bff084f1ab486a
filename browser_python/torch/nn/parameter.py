"""Trainable tensors."""

from __future__ import annotations

from typing import Any

from ..creation import zeros
from ..dtypes import FLOATING
from ..tensors import Tensor


class Parameter(Tensor):
    """A trainable tensor of a module. It shares the storage of `data`."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Return a parameter that shares the storage of `data`, not its gradient history; without `data`, an empty one.

        Raises:
            RuntimeError: with `requires_grad`, the dtype is not floating-point.
        """
        t: Parameter = object.__new__(cls)
        data = zeros(0) if data is None else data
        if not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
        if requires_grad and data.dtype.kind < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t._data, t._offset, t._writes = data._data, data._offset, data._writes
        t._shape, t._strides, t._dtype = data.shape, data._strides, data.dtype
        t.requires_grad = requires_grad
        return t

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """Do nothing: `__new__` sets all attributes."""


class _BufferMeta(type):
    """The class of `Buffer`: any tensor that `Buffer` has marked is one."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and "_is_buffer" in value.__dict__


class Buffer(metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module to which it is assigned."""

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        t: Any = zeros(0) if data is None else data.detach()
        t.persistent, t._is_buffer = persistent, True
        return t
