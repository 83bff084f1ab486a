"""Implementations that an answer can call and cannot look into: a learner's test is tried on them.

In a notebook the implementation is there, behind a `Handle`. In a grader's sandbox it is not: there each call goes to
the grader, which evaluates it (`Bench`) and sends the result. Both ways the same goes in and comes out: tensors without
gradients, numbers, and tuples of them, and no more of them than the limits below.

This file runs beside untrusted code too. It imports torch only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

MAX_CALLS = 200  # of one implementation and of what it made, in one run
MAX_MADE = 64  # objects that one implementation makes, in one run
MAX_NUMBERS = 100_000  # in one call, and in what it gives
MAX_DEPTH = 3

Ask = Callable[[int, str, tuple[Any, ...], dict[str, Any]], Any]  # an object, its method, and the arguments


@dataclass(frozen=True, eq=False)
class Hidden:
    """Stands for the implementation `make(*args)`; an answer is handed a `Handle` of it.

    Attributes:
        make, args: what makes it; they never leave the process that judges
        methods: of the objects that the implementation makes; without any, a call gives tensors and numbers
        name: which implementation it is, for the judge alone
        ask: where calls go, in a sandbox
    """

    make: Callable[..., Any] | None
    args: tuple[Any, ...] = ()
    methods: tuple[str, ...] = ()
    name: str = ""
    ask: Ask | None = None

    def handle(self) -> Handle:
        """Give what an answer is handed."""
        return Handle(self.ask or Bench(self).ask, self.methods)


@dataclass(frozen=True)
class Made:
    """Stands for an object that an implementation made, by its number."""

    number: int


class Handle:
    """All that an answer has of an implementation: it can be called, or has the methods that the question names."""

    def __init__(self, ask: Ask, methods: tuple[str, ...], number: int = 0) -> None:
        self._ask, self._methods, self._number = ask, methods, number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._number == 0 or name not in self._methods:
            has = f"has {' and '.join(self._methods)}" if not name.startswith("_") and self._number else "can be called"
            raise AttributeError(f"it {has}, and has no attribute {name!r}")
        return functools.partial(self._call, name)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        given_args, given_kwargs = plain(args), {name: plain(value) for name, value in kwargs.items()}
        if _count((given_args, *given_kwargs.values())) > MAX_NUMBERS:
            raise ValueError(f"a call may have {MAX_NUMBERS:,} numbers, and this one has more")
        given = self._ask(self._number, method, given_args, given_kwargs)
        return Handle(self._ask, self._methods, given.number) if isinstance(given, Made) else given


class Bench:
    """Has an implementation and what it made, and evaluates the calls."""

    def __init__(self, hidden: Hidden, runs: int = 1) -> None:
        assert hidden.make is not None
        self.hidden = hidden
        self.runs = runs
        self.objects = [hidden.make(*hidden.args)]
        self.calls = 0

    def ask(self, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an object, or a method of it."""
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
    """Say what is behind a handle: in the process that judges, where its bench is."""
    hidden: Hidden = handle._ask.__self__.hidden  # type: ignore[attr-defined]
    return hidden


def plain(value: Any, depth: int = 0) -> Any:
    """Copy tensors, without their gradients, and numbers; nothing else goes in or comes out.

    Raises:
        TypeError: there is something else.
    """
    if isinstance(value, Tensor) and not value.is_complex():
        return value.detach().cpu().clone()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        members = [plain(item, depth + 1) for item in value]
        return members if isinstance(value, list) else tuple(members)
    raise TypeError(f"tensors and numbers can be handed over, and this is a {type(value).__name__}")


def _count(value: Any) -> int:
    return sum(item.numel() if isinstance(item, Tensor) else 1 for item in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
