"""The state of the interpreter before any cell ran, so that a check does not depend on what cells changed.

Cells may assign to a name of a module (`math.pi = 3`, `torch.softmax = None`), or to an attribute of a class of the
page's torch, where settings such as the default dtype are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from operator import is_
from types import ModuleType
from typing import Any

MISSING = object()
UNTOUCHED = {"__main__", "sys", "notebook"}  # modules that change by themselves while cells run
WITH_CLASSES = ("torch", "numpy", "qkv")


class Pristine:
    """The names of all modules, and of the classes of the page's torch and of the course, at one moment."""

    def __init__(self) -> None:
        modules = [module for name, module in sys.modules.items() if name not in UNTOUCHED]
        modules = [module for module in modules if type(module) is ModuleType]
        classes = {
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__.partition(".")[0] in WITH_CLASSES
        }
        self.names = [(owner, dict(vars(owner))) for owner in (*modules, *classes)]
        self.depth = sys.getrecursionlimit()

    def changes(self) -> list[tuple[Any, dict[str, Any], dict[str, Any]]]:
        """Return the modules and classes with other names or values than then, with those names as then and as now.

        A name that was not there then, or is not there now, has the value MISSING. A module imported since is no
        change.
        """
        found = []
        for owner, then in self.names:
            now = vars(owner)
            if len(now) == len(then) and all(map(is_, now.values(), then.values())):
                continue
            other = [
                name
                for name in then.keys() | now.keys()
                if now.get(name, MISSING) is not then.get(name, MISSING)
                and not (name not in then and isinstance(now[name], ModuleType))  # a module imported since
            ]
            was, is_now = ({name: names.get(name, MISSING) for name in other} for names in (then, now))
            found.append((owner, was, is_now))
        return found

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restore these names and the recursion limit during the block; afterwards, put back what they are now.

        A name that only the block changes stays changed.
        """
        changes, depth = self.changes(), sys.getrecursionlimit()
        for owner, then, _ in changes:
            assign(owner, then)
        sys.setrecursionlimit(self.depth)
        try:
            yield
        finally:
            sys.setrecursionlimit(depth)
            for owner, _, now in changes:
                assign(owner, now)


def assign(owner: Any, names: dict[str, Any]) -> None:
    """Give a module or class these names, and remove those that are MISSING."""
    for name, value in names.items():
        if value is not MISSING:
            setattr(owner, name, value)
        elif name in vars(owner):
            delattr(owner, name)
