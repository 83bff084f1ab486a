"""Containers: modules that hold a list or dictionary of modules or parameters."""

from __future__ import annotations

from typing import Any

from ..tensors import Tensor
from .module import Module
from .parameter import Parameter


class Sequential(Module):
    def __init__(self, *ms: Any) -> None:
        super().__init__()
        for i, m in enumerate(ms):
            setattr(self, str(i), m)

    def forward(self, x: Tensor) -> Tensor:
        for m in self.children():
            x = m(x)
        return x

    def __getitem__(self, i: Any) -> Any:
        return self.children()[i]

    def __len__(self) -> int:
        return len(self.children())


class ModuleList(Module):
    def __init__(self, ms: Any = ()) -> None:
        super().__init__()
        for m in ms:
            self.append(m)

    def append(self, m: Any) -> Any:
        setattr(self, str(len(self.children())), m)
        return self

    def __iter__(self) -> Any:
        return iter(self.children())

    def __len__(self) -> int:
        return len(self.children())

    def __getitem__(self, i: Any) -> Any:
        return self.children()[i]


class ModuleDict(Module):
    def __init__(self, ms: Any) -> None:
        super().__init__()
        for n, m in ms.items():
            setattr(self, n, m)

    def __getitem__(self, n: Any) -> Any:
        return self.__dict__[n]


class ParameterList(ModuleList):
    def append(self, p: Any) -> Any:
        setattr(self, str(len(self._own(Parameter))), p)

    def __iter__(self) -> Any:
        return iter([p for _, p in self._own(Parameter)])
