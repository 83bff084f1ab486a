"""Implementations that an answer can call but not inspect. If the answer is a test, it is tried on them.

In a notebook the implementation is in the same process, behind a `Handle`. In a grader's sandbox it is absent: there
each call goes to the grader, which evaluates it (`Bench`) and sends back the result. Both ways accept and return the
same values, tensors without gradients, numbers, and lists and tuples of them, and have the limits below.

This file also runs next to untrusted code in the sandbox.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from qkv.sandboxed.recording import size_of

MAX_CALLS = 200  # of one implementation and of the objects that it made, in one run
MAX_MADE = 64  # objects that one implementation can make in one run
MAX_NUMBERS = 100_000  # in the arguments of one call
MAX_DEPTH = 3  # levels of lists and tuples

# Makes a call. Its arguments: the index of an object, the name of its method, args and kwargs.
Ask = Callable[[int, str, tuple[Any, ...], dict[str, Any]], Any]


@dataclass(frozen=True, eq=False)
class Hidden:
    """A placeholder for the implementation `make(*args)`; an answer gets a `Handle` of it.

    Attributes:
        make, args: make the implementation; they never leave the process that judges
        methods: the methods of the objects that the implementation makes; empty if it returns tensors and numbers
        name: the name of the implementation, only for the judge
        ask: makes the calls, in a sandbox; None elsewhere
    """

    make: Callable[..., Any] | None
    args: tuple[Any, ...] = ()
    methods: tuple[str, ...] = ()
    name: str = ""
    ask: Ask | None = None

    def handle(self) -> Handle:
        """Return a new handle, which is passed to an answer."""
        return Handle(self.ask or Bench(self).ask, self.methods)


@dataclass(frozen=True)
class Made:
    """A placeholder for an object that an implementation made: its index in `Bench.objects`."""

    number: int


class Handle:
    """An answer's access to an implementation: it can be called, or has the methods that the question names.

    What it leads to is not among its attributes, so that nothing of the implementation is found by looking at it.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, ask: Ask, methods: tuple[str, ...], number: int = 0) -> None:
        _access[self] = _Access(ask, methods, number)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _access[self].call("", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return a function that calls this method of an object that the hidden implementation made.

        Raises:
            AttributeError: the question names no such method, or this is the implementation itself, which can only be
                called.
        """
        access = _access[self]
        if name.startswith("_") or access.number == 0 or name not in access.methods:
            made = not name.startswith("_") and access.number
            has = f"has {' and '.join(access.methods)}" if made else "can be called"
            raise AttributeError(f"it {has}, and has no attribute {name!r}")
        return functools.partial(access.call, name)


@dataclass(frozen=True, eq=False)
class _Access:
    """What a handle leads to: a function that makes calls, the methods of the object, and its number."""

    ask: Ask
    methods: tuple[str, ...]
    number: int

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Have a method of the hidden object called ("" for the object itself), and return what it gives.

        For an object that the call made, it is a `Handle`.

        Raises:
            TypeError: an argument has something else than tensors and numbers.
            ValueError: the arguments have too many numbers.
            Exception: what `ask` raises, such as errors of the implementation.
        """
        given_args, given_kwargs = plain(args), {name: plain(value) for name, value in kwargs.items()}
        if _count((given_args, *given_kwargs.values())) > MAX_NUMBERS:
            raise ValueError(f"a call may have {MAX_NUMBERS:,} numbers, and this one has more")
        given = self.ask(self.number, method, given_args, given_kwargs)
        return Handle(self.ask, self.methods, given.number) if isinstance(given, Made) else given


_access: WeakKeyDictionary[Handle, _Access] = WeakKeyDictionary()


class Bench:
    """An implementation with the objects that it made, on which the calls are evaluated.

    Attributes:
        runs: how many runs of an answer share this bench, and so its limits
        objects: the implementation, then the objects that it made
        calls: how many calls were made
    """

    def __init__(self, hidden: Hidden, runs: int = 1) -> None:
        assert hidden.make is not None
        self.hidden = hidden
        self.runs = runs
        self.objects = [hidden.make(*hidden.args)]
        self.calls = 0

    def ask(self, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call object number `number`, or a method of it, and return the result, or `Made` for a new object.

        Raises:
            RuntimeError: there were too many calls or objects.
            TypeError: the object cannot be called, or its result has something else than tensors and numbers. An error
                of the implementation is raised too.
        """
        self.calls += 1
        if self.calls > MAX_CALLS * self.runs:
            raise RuntimeError(f"a test may make {MAX_CALLS} calls, and this one makes more")
        makes = bool(self.hidden.methods) and not method
        if makes and number:
            raise TypeError(f"it cannot be called; it has {' and '.join(self.hidden.methods)}")
        if makes and len(self.objects) > MAX_MADE * self.runs:
            raise RuntimeError(f"a test may make {MAX_MADE} objects, and this one makes more")
        called = getattr(self.objects[number], method) if method else self.objects[number]
        with torch.no_grad():
            given = called(*args, **kwargs)
        if not makes:
            return plain(given)
        self.objects.append(given)
        return Made(len(self.objects) - 1)


def behind(handle: Handle) -> Hidden:
    """Return the `Hidden` of a handle. This works only in the process that judges, which has the bench."""
    hidden: Hidden = _access[handle].ask.__self__.hidden  # type: ignore[attr-defined]
    return hidden


def plain(value: Any, depth: int = 0) -> Any:
    """Return a copy of tensors, on the CPU and without gradients, of numbers and None, and of lists and tuples of them.

    Raises:
        TypeError: the value contains something else, such as a complex tensor, or is nested too deeply.
    """
    if isinstance(value, Tensor) and not value.is_complex():
        return value.detach().cpu().clone()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        members = [plain(item, depth + 1) for item in value]
        return members if isinstance(value, list) else tuple(members)
    raise TypeError(f"only tensors and numbers can be passed, and this is a {type(value).__name__}")


def _count(value: Any) -> int:
    """Return how many numbers a value contains, where an axis of size 0 counts as one of size 1."""
    return sum(size_of(item.shape) if isinstance(item, Tensor) else 1 for item in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the tensors and numbers in nested lists and tuples."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
