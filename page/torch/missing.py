"""The error for a name that the page's torch does not have, although PyTorch may have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def missing_getattr(module: str) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`, which raises an AttributeError that names the missing attribute."""

    def raise_missing(name: str) -> NoReturn:
        raise AttributeError(
            f"`{module}.{name}` is not in the page's torch; if PyTorch has it, open this notebook in Colab or JupyterLab"
        )

    return raise_missing
