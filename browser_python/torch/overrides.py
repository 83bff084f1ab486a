"""`TorchFunctionMode`: while one is active, every function of torch that a program calls goes through it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from .tensors import Tensor

NOT_OPERATIONS = ("manual_seed", "is_tensor", "is_grad_enabled", "set_grad_enabled", "no_grad", "get_default_dtype")
DERIVED = ("mT", "T")  # attributes that are results of operations


class TorchFunctionMode:
    """A context manager whose `__torch_function__(function, types, args, kwargs)` is called instead of each function.

    Functions that torch itself calls do not go through it, as in PyTorch.
    """

    busy = False  # while a function of torch runs

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))

    def __enter__(self) -> Self:
        self.replaced = [*self._replace()]
        return self

    def __exit__(self, *error: object) -> None:
        for place, name, function in self.replaced:
            setattr(place, name, function)

    def _replace(self) -> Any:
        """Replace the public functions and the tensors' methods by ones that call this mode.

        Yield for each (module or class, name, what stood there).
        """
        import torch

        from .nn import functional

        for place in (torch, functional, torch.special, torch.linalg, Tensor):
            for name, value in list(vars(place).items()):
                is_public = not name.startswith("_") or (place is Tensor and name in _operators())
                if isinstance(value, property) and name in DERIVED and value.fget:
                    wrapped: Any = property(self._through(value.fget, name))
                elif type(value) is type(_operators) and is_public and name not in NOT_OPERATIONS:
                    wrapped = self._through(value, name)
                else:
                    continue
                setattr(place, name, wrapped)
                yield place, name, value

    def _through(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that calls this mode, unless torch itself is the caller."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if self.busy:
                return function(*args, **kwargs)
            self.busy = True
            try:
                return self.__torch_function__(named, (), args, kwargs)
            finally:
                self.busy = False

        def named(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        named.__name__ = name
        return called


def _operators() -> set[str]:
    """Return the names of the special methods that compute: `__add__`, `__getitem__`, …"""
    parts = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
    binary = {f"__{kind}{part}__" for part in parts for kind in ("", "r", "i")}
    return binary | {
        f"__{name}__" for name in ("neg", "invert", "getitem", "setitem", "lt", "le", "gt", "ge", "eq", "ne")
    }
