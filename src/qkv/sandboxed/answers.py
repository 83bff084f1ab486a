"""Check whether an answer can be run at all: the same rule in a notebook and in a grader's worker."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from qkv.sandboxed import recording

REACHABLE = ("qkv.checking", "qkv.figures", "qkv.widgets")  # modules that an answer may use: they hold no solutions
MAX_VISITED = 200  # functions, classes and modules that are searched for one answer


@dataclass(frozen=True)
class Unfit:
    """The reason why an answer cannot be run.

    Attributes:
        kind: "missing" if there is no answer; "object" if it is not the function or class that the question asks for;
            "borrowed" if it refers to a part of the course that holds solutions
        seen: the object as plain data, or the name of that part
    """

    kind: Literal["missing", "object", "borrowed"]
    seen: Any = None


def unfit(answer: Any, wants_class: bool) -> Unfit | None:
    """Return why an answer cannot be run, or None if it can.

    It is missing, is no function (or for `wants_class`, no class), or uses a part of the course that would be an
    answer.
    """
    if answer is None or answer is Ellipsis:
        return Unfit("missing")
    if not callable(answer):
        return Unfit("object", recording.record(answer))
    if wants_class and isinstance(answer, nn.Module):
        return Unfit("object", recording.OtherValue(f"object of the class {type(answer).__name__[:60]}"))
    name = find_borrowed_name(answer)
    return Unfit("borrowed", recording.bounded(name)) if name else None


def find_borrowed_name(answer: Any) -> str:
    """Return the name of a part of qkv that an answer, or a helper that it calls, refers to; "" if none is found.

    What an answer to another question was given, such as a cache, counts as such a part. At most MAX_VISITED objects
    are looked at.
    """
    to_visit: list[Any] = [answer]
    visited: set[int] = set()
    while to_visit and len(visited) < MAX_VISITED:
        item = to_visit.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if _is_part_of_qkv(item):
            return ".".join(filter(None, (_module_of(item), getattr(item, "__name__", ""))))
        to_visit += [
            value for value in _refers_to(item) if _is_part_of_qkv(value) or _module_of(value) == _module_of(answer)
        ]
    return ""


def _is_part_of_qkv(value: Any) -> bool:
    """Return whether a value is a part of the course that would be an answer by itself.

    The modules in REACHABLE are none. What a case passes to an answer, such as a cache, is one.
    """
    name = value.__name__ if isinstance(value, types.ModuleType) else _module_of(value)
    if name == recording.PROVIDED or (
        isinstance(value, types.FunctionType) and value.__code__.co_filename == recording.PROVIDED
    ):
        return True
    if not name or not (callable(value) or isinstance(value, types.ModuleType)):
        return False
    return (name == "qkv" or name.startswith("qkv.")) and not name.startswith(REACHABLE)


def _module_of(value: Any) -> str:
    """Return the name of the module that defines an object, or "" if it is not known or the object raises an error."""
    try:
        place = getattr(value, "__module__", "")
    except Exception:  # from a `__getattr__` of the object
        return ""
    return place if isinstance(place, str) else ""


def _refers_to(value: Any) -> Iterator[Any]:
    """Yield the objects that a function, method, partial or class refers to; nothing for other objects.

    For an import of qkv, yield an empty module of that name.
    """
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
    """Return whether a closure's cell has a value other than None."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _names_in(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """Yield the values of the global names that a code object loads, and the modules of the course that it imports."""
    loaded, imported = _loads(code)
    yield from map(types.ModuleType, imported)
    yield from (names[name] for name in loaded if name in names)


@functools.cache  # an answer is looked at before each of its runs, and reading its instructions takes longer than a run
def _loads(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the global names that a code object loads, and the modules of the course that it imports.

    Functions inside it count too.
    """
    loaded: list[str] = []
    imported: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and str(instruction.argval).partition(".")[0] == "qkv":
            imported.append(str(instruction.argval))
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.append(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _loads(constant)
            loaded += inner[0]
            imported += inner[1]
    return tuple(dict.fromkeys(loaded)), tuple(dict.fromkeys(imported))
