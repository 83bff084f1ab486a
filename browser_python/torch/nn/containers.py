"""Containers: modules that hold a list or dictionary of modules or parameters."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, KeysView, ValuesView
from itertools import groupby
from typing import Any, Self

from ..missing import refuse
from ..tensors import Tensor
from .module import Module
from .parameter import Parameter


class Sequential(Module):
    """Modules that run one after the other, each on the result of the one before."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            refuse("a `Sequential` of a dictionary")
        for i, m in enumerate(modules):
            self.add_module(str(i), m)

    def forward(self, x: Tensor) -> Tensor:
        for m in self:
            x = m(x)
        return x

    def _items(self) -> list[Any]:
        return [m for _, m in self._own(Module)]

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def __iter__(self) -> Any:
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())

    def __getitem__(self, i: Any) -> Any:
        return type(self)(*self._items()[i]) if isinstance(i, slice) else self._items()[i]

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, str(range(len(self))[i]), module)


class ModuleList(Sequential):
    """A list of modules, whose parameters belong to the module that holds it."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__(*modules)

    def forward(self, *args: Any) -> Any:
        return Module.forward(self)

    def _described(self) -> list[tuple[str, str]]:
        """Return the names and texts of the submodules; equal ones in a row together."""
        out, at = [], 0
        for text, same in groupby(map(repr, self._items())):
            n = len(list(same))
            out.append((str(at), text) if n == 1 else (f"{at}-{at + n - 1}", f"{n} x {text}"))
            at += n
        return out

    def extend(self, modules: Iterable[Module]) -> Self:
        for m in modules:
            self.append(m)
        return self

    def __getitem__(self, i: Any) -> Any:
        return type(self)(self._items()[i]) if isinstance(i, slice) else self._items()[i]


class ModuleDict(Module):
    """A dictionary of modules, whose parameters belong to the module that holds it."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        for n, m in (modules or {}).items():
            self[n] = m

    def __getitem__(self, n: str) -> Any:
        return dict(self._own(Module))[n]

    def __setitem__(self, n: str, module: Module) -> None:
        self.add_module(n, module)

    def __contains__(self, n: object) -> bool:
        return n in dict(self._own(Module))

    def __iter__(self) -> Any:
        return iter(dict(self._own(Module)))

    def __len__(self) -> int:
        return len(self._own(Module))

    def keys(self) -> KeysView[str]:
        return dict(self._own(Module)).keys()

    def values(self) -> ValuesView[Module]:
        return dict(self._own(Module)).values()

    def items(self) -> ItemsView[str, Module]:
        return dict(self._own(Module)).items()


class ParameterList(ModuleList):
    """A list of parameters."""

    def _items(self) -> list[Any]:
        return [p for _, p in self._own(Parameter)]

    def _described(self) -> list[tuple[str, str]]:
        """Return the index and the text of each parameter."""
        return [
            (n, f"Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]")
            for n, p in self._own(Parameter)
        ]

    def add_module(self, name: str, module: Any) -> None:
        setattr(self, name, module if isinstance(module, Parameter) else Parameter(module))
