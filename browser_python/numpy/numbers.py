"""Single numbers of arrays: they are Python numbers that are shown, and calculated with, as NumPy does."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar, Self

import torch
from torch.creation import TRUTH

from .printing import SINGLE, shortest


class generic:  # noqa: N801
    """The class of NumPy's scalars that are no numbers of Python: here, only truth values."""


class bool_(int, generic):  # noqa: N801
    """A truth value of an array."""

    def __new__(cls, value: Any = False) -> Self:
        return super().__new__(cls, bool(value))

    def __repr__(self) -> str:
        return f"np.{bool(self)}_"

    def __str__(self) -> str:
        return str(bool(self))

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec)

    def __invert__(self) -> Any:
        return bool_(not self)

    def __and__(self, other: Any) -> Any:
        return bool_(self and other) if isinstance(other, (bool, bool_)) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return bool_(self or other) if isinstance(other, (bool, bool_)) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return bool_(bool(self) != bool(other)) if isinstance(other, (bool, bool_)) else NotImplemented

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def item(self) -> bool:
        return bool(self)


TRUTH.add(bool_)


class Float(float):
    """A float of a dtype. A result with another one of this dtype, or with a Python number, is of this dtype, too."""

    kind: ClassVar[torch.dtype] = torch.float64

    def __str__(self) -> str:
        return shortest(self, self.kind)

    def __repr__(self) -> str:
        return f"np.{type(self).__name__}({self!s})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    @property
    def dtype(self) -> Any:
        from . import NAMED

        return NAMED[type(self).__name__]

    def item(self) -> float:
        return float(self)


class float64(Float):  # noqa: N801
    """NumPy's float64."""


class float32(Float):  # noqa: N801
    """NumPy's float32."""

    kind = torch.float32


class float16(Float):  # noqa: N801
    """NumPy's float16."""

    kind = torch.float16


class int64(int):  # noqa: N801
    """NumPy's int64."""

    def __repr__(self) -> str:
        return f"np.int64({self})"

    def __str__(self) -> str:
        return int.__repr__(self)

    def item(self) -> int:
        return int(self)


KINDS = {torch.float64: float64, torch.float32: float32, torch.float16: float16}
for _kind in (*KINDS.values(), int64, bool_):
    _kind.__module__ = "numpy"


def attribute_of_array(self: Any, name: str) -> Any:
    """Return an attribute that a number shares with arrays: it counts as an array without axes."""
    from . import ndarray

    if name.startswith("_") or not hasattr(ndarray, name):
        raise AttributeError(f"'numpy.{type(self).__name__}' object has no attribute '{name}'")
    kind = {int64: torch.int64, bool_: torch.bool}.get(type(self)) or self.kind
    found = getattr(ndarray(torch.tensor(self.item(), dtype=kind)), name)
    return number_of_call(found) if callable(found) else found


def number_of_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an array whose results without axes become numbers."""

    def called(*args: Any, **kwargs: Any) -> Any:
        from . import array_or_number, ndarray

        found = function(*args, **kwargs)
        return array_or_number(found._tensor) if isinstance(found, ndarray) else found

    return called


for _kind in (Float, int64, bool_):
    _kind.__getattr__ = attribute_of_array  # type: ignore[union-attr]


def number_of(value: Any, kind: torch.dtype) -> Any:
    """Return a number as one of this dtype, rounded to it; integers of other dtypes and bools stay Python's."""
    if kind is torch.int64:
        return int64(value)
    if kind is torch.bool:
        return bool_(value)
    if kind not in KINDS:
        return value
    if code := SINGLE.get(kind):
        try:
            value = struct.unpack(code, struct.pack(code, value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else -float("inf")
    return KINDS[kind](value)


def rounding(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation of floats whose result has the dtype of its operands; of two dtypes, that of more digits."""

    def operate(self: Float, *others: Any) -> Any:
        result = operation(self, *others)
        kinds = [x.kind for x in (self, *others) if isinstance(x, Float)]
        return number_of(result, max(kinds, key=lambda kind: kind.itemsize)) if type(result) is float else result

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Float, _method, rounding(getattr(float, _method)))
for _method in ("__neg__", "__abs__", "__round__"):
    setattr(Float, _method, rounding(getattr(float, _method)))


def as_scalar(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation of integers or a comparison whose result is one of NumPy's numbers."""

    def operate(self: Any, *others: Any) -> Any:
        result = operation(self, *others)
        kinds: dict[type, Any] = {bool: bool_, int: int64, float: float64}
        return kinds[type(result)](result) if type(result) in kinds else result

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(int64, _method, as_scalar(getattr(int, _method)))
for _method in ("__neg__", "__abs__", "__round__", "__invert__"):
    setattr(int64, _method, as_scalar(getattr(int, _method)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Float, f"__{_name}__", as_scalar(getattr(float, f"__{_name}__")))
    setattr(int64, f"__{_name}__", as_scalar(getattr(int, f"__{_name}__")))
for _kind, _plain in ((Float, float), (int64, int)):
    setattr(_kind, "__hash__", _plain.__hash__)  # noqa: B010 (a class with its own `__eq__` has none)
