"""The errors for a name, an argument or a gradient that the page's torch does not have."""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

UNDOCUMENTED = "This documentation is not in the page's torch; open this notebook in Colab or JupyterLab."
HERE = (__package__ or "").removesuffix("torch")  # where torch is a part of another package, as in tests
asked_for: list[str] = []  # the missing parts that code has used; a check clears it, and reads it afterwards


def note_missing(part: str) -> None:
    """Note that code has used a part that the page does not have, unless its name is private: libraries look for those."""
    if not part.strip("`").rpartition(".")[2].startswith("_"):
        asked_for.append(part)


def t(text: str, /, **values: Any) -> str:
    """Return a text of the page's Python in the reader's language."""
    from qkv import words  # at the first error, because the course imports torch

    return words.t(text, **values)


def refuse(part: str) -> NoReturn:
    """Raise the NotImplementedError for a part of PyTorch that the page does not have, and note that code used it."""
    note_missing(part)
    raise NotImplementedError(
        t("{part} is not in the page's torch; open this notebook in Colab or JupyterLab", part=part)
    )


@cache
def known(place: str) -> frozenset[str]:
    """Return the names that a module or class of PyTorch or NumPy has."""
    from .names import NAMES  # at the first error, because few programs need it

    return frozenset(NAMES.get(place, "").split())


def is_known(kind: type, name: str) -> bool:
    """Check whether objects of one of the page's classes have this attribute in PyTorch or NumPy.

    False for a special name such as `__len__`.
    """
    if name.startswith("__"):
        return False
    return any(name in known(base.__name__) for base in kind.__mro__ if base.__module__ != "__main__")


def raise_missing(thing: object, name: str) -> NoReturn:
    """Raise the error for an attribute that a thing does not have.

    If PyTorch has it, it is a NotImplementedError, which `hasattr` does not take for an answer; else an AttributeError.
    """
    kind = type(thing)
    if is_known(kind, name):
        refuse(f"`{kind.__name__}.{name}`")
    raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")


class TellsMissing(type):
    """The class of a class that PyTorch has, too: it lists PyTorch's names, and asking it for one tells if it is missing."""

    def __getattr__(cls, name: str) -> NoReturn:
        if is_known(cls, name):
            refuse(f"`{cls.__name__}.{name}`")
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")

    def __dir__(cls) -> list[str]:
        missing = [name for base in cls.__mro__ for name in known(base.__name__) if base.__module__ != "__main__"]
        return sorted({*super().__dir__(), *missing})


class TellsMissingOrAbstract(TellsMissing, ABCMeta):
    """The same, for a class whose subclasses may also be abstract: `class Model(nn.Module, ABC)`."""


def refuse_set(function: str, **arguments: Any) -> None:
    """Raise a NotImplementedError naming the first argument of `function` that is set: not None, False or 0."""
    for name, value in arguments.items():
        if value is not None and not (isinstance(value, (int, float)) and not value):
            refuse(f"`{name}` of `{function}`")


def tell_names(place: str, module: ModuleType | None = None) -> None:
    """Let `dir` list what a module has in PyTorch or NumPy, also what the page lacks, and nothing of the page's own.

    A module that is not given is looked up by its name, `place`; if it is not imported, nothing happens.
    """

    def names_there() -> list[str]:
        from .names import OWN

        return sorted({*vars(module), *known(place)} - {"names", *OWN.get(place, "").split()})

    if module := module or sys.modules.get(f"{HERE}{place}"):
        vars(module)["__dir__"] = names_there


def missing_getattr(module: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__`, which imports a module in it. For other names, it raises an error.

    It is a NotImplementedError if PyTorch has the name, else an AttributeError.
    """
    tell_names(module)

    def find_or_raise(name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            raise AttributeError(
                t(
                    "{part} is not in the page's torch; if PyTorch has it, open this notebook in Colab or JupyterLab",
                    part=f"`{module}.{name}`",
                )
            )
        if not name.startswith("__") and name in known(module):
            with suppress(ImportError):
                return import_module(f"{HERE}{module}.{name}")
            refuse(f"`{module}.{name}`")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return find_or_raise
