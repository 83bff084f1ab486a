"""What runs in a notebook and not on the page, said in words: commands such as `%matplotlib`, `await`, `input()`, and
parts of Python, PyTorch and NumPy that the page does not have.
"""

from __future__ import annotations

import builtins
import re
from types import ModuleType

from qkv.words import t

COMMAND = re.compile(r"\s*[%!]")


def note_on(error: BaseException, source: str) -> str:
    """Return why this code runs in a notebook and not here. Empty if something else is wrong with it."""
    if missing := missing_name(error):
        return t("{name} is not on this page; open this notebook in JupyterLab or Colab", name=missing)
    if not isinstance(error, SyntaxError):
        return ""
    line = (source.splitlines() or [""])[(error.lineno or 1) - 1 :][:1]
    if line and COMMAND.match(line[0]):
        return t("`{line}` is a command for a notebook. This page runs Python alone: remove it.", line=line[0].strip())
    if "'await' outside" in str(error):
        return t("This page runs `await` only inside `async def`; JupyterLab and Colab run it anywhere.")
    return ""


def missing_name(error: BaseException) -> str:
    """Return the name that a program wanted of a module, or of an object of the page's torch or numpy, if it is absent.

    Empty for other errors, for attributes of a class that a cell defines, and if the error says itself that the page
    does not have it.
    """
    if isinstance(error, ImportError) and error.name:
        inside = getattr(error, "name_from", None)
        return f"{error.name}.{inside}" if inside else error.name
    if isinstance(error, AttributeError) and error.name and "page" not in str(error):
        owner = error.obj if isinstance(error.obj, (type, ModuleType)) else type(error.obj)
        modules = [owner.__name__] if isinstance(owner, ModuleType) else [kind.__module__ for kind in owner.__mro__]
        of_page = any(name.partition(".")[0] in ("torch", "numpy") for name in modules)
        if of_page and getattr(owner, "__module__", "") != "__main__":
            return f"{owner.__name__}.{error.name}"
    return ""


def no_input(prompt: object = "") -> str:
    """Raise an EOFError, as Python does where nobody can be asked."""
    raise EOFError(t("This page cannot ask for `input()`: write the answer into the code instead."))


def install() -> None:
    builtins.input = no_input
