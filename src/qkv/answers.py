"""Whether what a check was handed can be tried at all: the same rule in a notebook and in a grader's worker.

It runs beside untrusted code too, and imports `observing` alone.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

if __package__:
    from qkv import observing
else:  # in a worker, which has the files alone
    import observing  # type: ignore[no-redef]

REACHABLE = ("qkv.checking", "qkv.figures", "qkv.widgets")  # what an answer may name: nothing there is an answer
MOST_LOOKED_AT = 200  # functions, classes and modules that one answer refers to


@dataclass(frozen=True)
class Unfit:
    """Why an answer cannot be tried.

    Attributes:
        kind: "missing", when there is none; "object", when it is neither the function nor the class that is wanted;
            "borrowed", when it names a part of the course that holds solutions
        seen: the object in plain data, or the name
    """

    kind: Literal["missing", "object", "borrowed"]
    seen: Any = None


def unfit(answer: Any, wants_class: bool) -> Unfit | None:
    """Say what is wrong with an answer that cannot be tried; nothing where it can."""
    if answer is None or answer is Ellipsis:
        return Unfit("missing")
    if not callable(answer):
        return Unfit("object", observing.record(answer))
    if wants_class and isinstance(answer, nn.Module):
        return Unfit("object", observing.OtherValue(f"object of the class {type(answer).__name__[:60]}"))
    name = borrowed(answer)
    return Unfit("borrowed", observing.bounded(name)) if name else None


def borrowed(answer: Any) -> str:
    """Find a name of the package that an answer, or a helper that it calls, refers to, as far as can be seen."""
    ahead: list[Any] = [answer]
    done: set[int] = set()
    while ahead and len(done) < MOST_LOOKED_AT:
        item = ahead.pop()
        if id(item) in done:
            continue
        done.add(id(item))
        if _is_ours(item):
            return ".".join(filter(None, (_place_of(item), getattr(item, "__name__", ""))))
        ahead += [value for value in _refers_to(item) if _is_ours(value) or _place_of(value) == _place_of(answer)]
    return ""


def _is_ours(value: Any) -> bool:
    name = value.__name__ if isinstance(value, types.ModuleType) else _place_of(value)
    if not name or not (callable(value) or isinstance(value, types.ModuleType)):
        return False
    return (name == "qkv" or name.startswith("qkv.")) and not name.startswith(REACHABLE)


def _place_of(value: Any) -> str:
    """The module that something was written in; nothing where it does not say."""
    try:
        place = getattr(value, "__module__", "")
    except Exception:  # its own way to give attributes
        return ""
    return place if isinstance(place, str) else ""


def _refers_to(value: Any) -> Iterator[Any]:
    """Give what a function or class refers to; a module of ours that it imports stands as an empty one of that name."""
    if isinstance(value, functools.partial):
        yield value.func
    elif isinstance(value, types.MethodType):
        yield value.__func__
    elif isinstance(value, type):
        yield from value.__bases__
        yield from vars(value).values()
    elif isinstance(value, types.FunctionType):
        yield from (cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell))
        yield from _names_in(value.__code__, value.__globals__)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _names_in(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and str(instruction.argval).partition(".")[0] == "qkv":
            yield types.ModuleType(str(instruction.argval))
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in names:
            yield names[instruction.argval]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant, names)
