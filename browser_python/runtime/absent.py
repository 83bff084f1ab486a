"""Placeholders for modules that are not on the page. Importing one raises no error, but using what it has does.

The first cell of a notebook imports every module, also those that only some cells use.
"""

from __future__ import annotations

import sys
from collections.abc import MutableSequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from torch.missing import note_missing

from qkv.words import t

ABSENT = (
    *("IPython", "ipywidgets", "matplotlib", "transformers", "qkv.figures", "qkv.widgets"),
    *("torch.nn.attention", "torch.utils.flop_counter"),
)


class AbsentError(RuntimeError):
    """The error for a call of something that is not on the page."""


class _Absent:
    """A placeholder for a name in an absent module. Calling, showing or comparing it raises an AbsentError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self._name}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        note_missing(f"`{self._name}`")
        raise AbsentError(t("{name} is not on this page; open this notebook in JupyterLab or Colab", name=self._name))

    __repr__ = __bool__ = __eq__ = __hash__ = __iter__ = __len__ = __getitem__ = __contains__ = __call__
    __instancecheck__ = __mro_entries__ = __enter__ = __exit__ = __call__


class _Module(ModuleType):
    __path__: MutableSequence[str] = []  # noqa: RUF012  (as in ModuleType)

    def __getattr__(self, name: str) -> _Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self.__name__}.{name}")


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        absent = any(name == known or name.startswith(f"{known}.") for known in ABSENT)
        return ModuleSpec(name, self, is_package=True) if absent else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the placeholder module is empty."""


def install() -> None:
    """Put the finder before all others, because some of these modules are installed where this code is tested."""
    sys.meta_path.insert(0, _Finder())
