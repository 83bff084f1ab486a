"""What runs in a notebook and not on the page, said in words: commands such as `%matplotlib`, `await`, `input()`."""

from __future__ import annotations

import builtins
import re

from qkv.words import t

COMMAND = re.compile(r"\s*[%!]")


def note_on(error: BaseException, source: str) -> str:
    """Return why this code runs in a notebook and not here. Empty if something else is wrong with it."""
    if not isinstance(error, SyntaxError):
        return ""
    line = (source.splitlines() or [""])[(error.lineno or 1) - 1 :][:1]
    if line and COMMAND.match(line[0]):
        return t("`{line}` is a command for a notebook. This page runs Python alone: remove it.", line=line[0].strip())
    if "'await' outside" in str(error):
        return t("This page runs `await` only inside `async def`; JupyterLab and Colab run it anywhere.")
    return ""


def no_input(prompt: object = "") -> str:
    """Raise an error, as Python does where nobody can be asked."""
    raise EOFError(t("This page cannot ask for `input()`: write the answer into the code instead."))


def install() -> None:
    builtins.input = no_input
