"""Containers: modules that hold a list or dictionary of modules or parameters."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, KeysView, ValuesView
from itertools import groupby
from typing import Any, Self

from ..missing import refuse
from ..tensors import Tensor
from .module import Module
from .parameter import Parameter


class Listed(Module):
    """Members of one kind in order, with numbers as names."""

    _kind = "_modules"

    def _names(self) -> list[str]:
        return list(self.__dict__[self._kind])

    def _items(self) -> list[Any]:
        return list(self.__dict__[self._kind].values())

    def _replace(self, modules: Iterable[Any]) -> None:
        """Hold these modules, in order and with numbers as names, in place of those so far."""
        given = list(modules)
        for n in self._names():
            delattr(self, n)
        for i, m in enumerate(given):
            self.add_module(str(i), m)

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for m in modules:
            self.append(m)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module before the one at this place, and return this container. Later ones get new numbers.

        Raises:
            IndexError: there is no such place.
        """
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        items = self._items()
        items.insert(index, module)
        self._replace(items)
        return self

    def pop(self, key: int) -> Module:
        module = self[key]
        del self[key]
        return module

    def __iter__(self) -> Any:
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())

    def __getitem__(self, i: Any) -> Any:
        return type(self)(self._items()[i]) if isinstance(i, slice) else self._items()[self._place(i)]

    def _place(self, i: int) -> int:
        """Return the place that an index from either end names.

        Raises:
            IndexError: there is none.
        """
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} is out of range")
        return i % len(self)

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._names()[self._place(i)], module)

    def __delitem__(self, i: Any) -> None:
        """Remove a module or several, and number the others anew; IndexError if there is no such module."""
        names = self._names()
        for n in names[i] if isinstance(i, slice) else [names[self._place(i)]]:
            delattr(self, n)
        self._replace(self._items())

    def __add__(self, other: Any) -> Self:
        return type(self)().extend(self).extend(other)

    def __iadd__(self, other: Any) -> Self:
        return self.extend(other)


class Sequential(Listed):
    """Modules that run one after the other, each on the result of the one before. A dictionary of them gives names."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], dict) else dict(enumerate(modules))
        for n, m in named.items():
            self.add_module(str(n), m)

    def forward(self, input: Tensor) -> Tensor:
        for m in self._modules.values():
            input = m(input)
        return input

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(dict([*self._modules.items()][i]))
        return super().__getitem__(i)


class ModuleList(Listed):
    """A list of modules, whose parameters belong to the module that holds it."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def _described(self) -> list[tuple[str, str]]:
        """Return the names and texts of the submodules; equal ones in a row together."""
        out, at = [], 0
        for text, same in groupby(map(repr, self._items())):
            n = len(list(same))
            out.append((str(at), text) if n == 1 else (f"{at}-{at + n - 1}", f"{n} x {text}"))
            at += n
        return out


class Named(Module):
    """Members of one kind by their names."""

    _kind = "_modules"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, n: str) -> Any:
        return self.__dict__[self._kind][n]

    def __setitem__(self, n: str, module: Module) -> None:
        self.add_module(n, module)

    def __delitem__(self, n: str) -> None:
        delattr(self, n)

    def pop(self, key: str) -> Module:
        module = self[key]
        del self[key]
        return module

    def update(self, modules: Any) -> None:
        for n, m in modules.items() if hasattr(modules, "items") else modules:
            self[n] = m

    def __contains__(self, n: object) -> bool:
        return n in self.__dict__[self._kind]

    def __iter__(self) -> Any:
        return iter(self.__dict__[self._kind])

    def __len__(self) -> int:
        return len(self.__dict__[self._kind])

    def clear(self) -> None:
        self.__dict__[self._kind].clear()

    def keys(self) -> KeysView[str]:
        return self.__dict__[self._kind].keys()

    def values(self) -> ValuesView[Module]:
        return self.__dict__[self._kind].values()

    def items(self) -> ItemsView[str, Module]:
        return self.__dict__[self._kind].items()


class ModuleDict(Named):
    """A dictionary of modules, whose parameters belong to the module that holds it."""


def lines_of(parameters: Iterable[tuple[str, Parameter, Any]]) -> str:
    """Return the names of parameters with their kinds and sizes, one line each."""
    return "\n".join(
        f"  ({n}): Parameter containing: [{kind} of size {'x'.join(map(str, p.shape))}]" for n, p, kind in parameters
    )


def as_parameter(container: str, value: Any) -> Parameter:
    """Return a tensor as a parameter; a NotImplementedError is raised for another value."""
    if not isinstance(value, Tensor):
        refuse(f"a value that is no tensor, in a `{container}`,")
    return value if isinstance(value, Parameter) else Parameter(value)


class ParameterDict(Named):
    """A dictionary of parameters."""

    _kind = "_parameters"

    def add_module(self, name: str, module: Any) -> None:
        setattr(self, name, as_parameter(type(self).__name__, module))

    def extra_repr(self) -> str:
        return lines_of((n, p, p.type()) for n, p in self._parameters.items())


class ParameterList(Listed):
    """A list of parameters."""

    _kind = "_parameters"

    def __init__(self, values: Any = ()) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def extra_repr(self) -> str:
        return lines_of((n, p, p.dtype) for n, p in self._parameters.items())

    def add_module(self, name: str, module: Any) -> None:
        setattr(self, name, as_parameter(type(self).__name__, module))
