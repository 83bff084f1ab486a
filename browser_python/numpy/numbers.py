"""Single numbers of arrays: they are Python numbers that are shown, and calculated with, as NumPy does."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar

import torch

from .printing import SINGLE, shortest


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
for _kind in (*KINDS.values(), int64):
    _kind.__module__ = "numpy"


def number_of(value: Any, kind: torch.dtype) -> Any:
    """Return a number as one of this dtype, rounded to it; integers of other dtypes and bools stay Python's."""
    if kind is torch.int64:
        return int64(value)
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
