"""The errors for a name, an argument or a gradient that the page's torch does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

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
    """Raise the error for a part of PyTorch that the page's torch does not have."""
    note_missing(part)
    raise NotImplementedError(
        t("{part} is not in the page's torch; open this notebook in Colab or JupyterLab", part=part)
    )


def no_attribute(kind: str, name: str) -> str:
    """Return the text of the error for an attribute that the page's torch does not have."""
    return t(
        "'{kind}' object has no attribute '{name}' in the page's torch; if PyTorch has it, open this notebook in Colab "
        "or JupyterLab",
        kind=kind,
        name=name,
    )


def refuse_set(function: str, **arguments: Any) -> None:
    """Raise the error for an argument that the page's torch does not have, unless it is None, False or 0."""
    for name, value in arguments.items():
        if value is not None and not (isinstance(value, (int, float)) and not value):
            refuse(f"`{name}` of `{function}`")


def missing_getattr(module: str) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`, which raises an AttributeError that names the missing attribute."""

    def raise_missing(name: str) -> NoReturn:
        note_missing(f"`{module}.{name}`")
        raise AttributeError(
            t(
                "{part} is not in the page's torch; if PyTorch has it, open this notebook in Colab or JupyterLab",
                part=f"`{module}.{name}`",
            )
        )

    return raise_missing
