"""What is said of a name that torch may have, and the page's torch has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def missing_getattr(module: str) -> Callable[[str], NoReturn]:
    """A module's `__getattr__`: it says what is missing, and where there is all of it."""

    def say(name: str) -> NoReturn:
        raise AttributeError(
            f"`{module}.{name}` is not in the page's torch; if PyTorch has it, open this notebook in Colab or JupyterLab"
        )

    return say
