"""Run an answer on a case and say, in plain data, what it did.

An answer is code that somebody else wrote. It may raise anything, print, draw random numbers, write into what it
was handed, or return an object that claims to equal everything. What leaves this module is plain: tensors on
the CPU, numbers, short strings, and tuples of them.

The same code runs in a notebook and beside untrusted code in a grader's worker. So it imports torch and numpy only,
and `hidden` beside it, and it holds no reference answer, no expected value and nothing of a score.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import logging
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

if __package__:
    from qkv.hidden import Hidden
else:  # in a worker, which has the files alone
    from hidden import Hidden  # type: ignore[no-redef]

MAX_TEXT = 300  # characters of any text that comes from an answer
MAX_ITEMS = 64  # members of a list or tuple that are looked at
MAX_PARAMETERS = 1_000  # of an object whose layers are looked at
MAX_DEPTH = 4
MAX_NUMBERS = 2_000_000  # entries of a tensor
MAX_AGAIN = 300  # calls with the same arguments in the second run: so many tell whether they depend on what came before
DTYPES = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool),
)

# ── a case: what is done with an answer ───────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Seeded:
    """Stands for a `torch.Generator` with this seed; one generator for every place it is named in a case."""

    seed: int


@dataclass(frozen=True, eq=False)
class Provided:
    """Stands for the object `make(*args)`; one object for every place it is named in a case.

    `make` is written with torch alone and needs nothing around it, so that its source can be sent to a worker.
    """

    make: Callable[..., Any]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Carried:
    """Stands for the state that came back last in an earlier step, the very object."""

    step: int


@dataclass(frozen=True, eq=False)
class Step:
    """One thing that is done: make an object, load its layers, or call something."""

    act: Literal["make", "load", "call"]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    method: str | None = None  # of the object that was made, or of `on`
    on: Provided | None = None
    times: int = 1
    carries: bool = False  # the last thing that comes back is a state of any form: handed on, and not compared


def call(*args: Any, **kwargs: Any) -> Step:
    """Call the answer, or the object that was made of it."""
    return Step("call", args, kwargs)


def call_many(times: int, *args: Any, **kwargs: Any) -> Step:
    """Call it this often with the same arguments; whole numbers that come back are gathered in one tensor."""
    return Step("call", args, kwargs, times=times)


def call_carrying(*args: Any) -> Step:
    """Call it for a result and a state, which `Carried(step)` hands to later calls."""
    return Step("call", args, carries=True)


def method(name: str, *args: Any, on: Provided | None = None, **kwargs: Any) -> Step:
    """Call a method of the object that was made, or of an object that was provided."""
    return Step("call", args, kwargs, method=name, on=on)


def length(on: Provided | None = None) -> Step:
    """Take `len` of the object that was made, or of an object that was provided."""
    return method("__len__", on=on)


def make(*args: Any, **kwargs: Any) -> Step:
    """Make an object of the answer, a class. Later steps call that object."""
    return Step("make", args, kwargs)


def load(parameters: dict[str, Tensor]) -> Step:
    """Copy these into the object's parameters: `{"w_q.weight": …, "w_q.bias": …}`. It may have a bias or none."""
    return Step("load", kwargs=dict(parameters))


@dataclass(frozen=True, eq=False)
class Case:
    """One situation that an answer is put into. Plain data but for `Provided` and `Hidden`.

    Attributes:
        steps: what is done, in order; one step or several
        name: the situation in the learner's words: "n = 1", "two leading axes", "float64"
        sizes: what each size is called, for messages and for recognising factors: {"d_k": 5}
        raises: the exception that the last step must raise
        gradients: False where gradients are not looked at, though the question asks for them
        tolerance: absolute; by default 1e-4 in float32 and 1e-8 in float64
        most: the numbers that the largest tensor formed on the way may hold; None where nobody counts
    """

    steps: Step | tuple[Step, ...]
    name: str = "plain"
    sizes: dict[str, int] = field(default_factory=dict)
    raises: str | None = None
    gradients: bool = True
    tolerance: float | None = None
    most: int | None = None

    @property
    def script(self) -> tuple[Step, ...]:
        return self.steps if isinstance(self.steps, tuple) else (self.steps,)

    @property
    def wants_class(self) -> bool:
        """Whether the answer has to be a class: an object is made of it first."""
        return self.script[0].act == "make"

    @property
    def quoted_step(self) -> int:
        """The last step that hands something over: what a message quotes."""
        steps = [i for i, step in enumerate(self.script) if step.act == "call" and step.args]
        return steps[-1] if steps else 0


# ── an observation: what came of it ───────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class OtherValue:
    """Something that came back and is neither a tensor, a number, nor a few of them."""

    kind: str
    text: str = ""
    tensor: Tensor | None = None


@dataclass(frozen=True)
class Raised:
    """An exception: the names of its type and of that type's bases, its text, and the learner's line it came from."""

    types: tuple[str, ...]
    text: str
    line: str = ""

    @property
    def type(self) -> str:
        return self.types[0]


Where = tuple[int, int | str]  # a step, and an argument's position or name


@dataclass(frozen=True, eq=False)
class Observation:
    """What an answer did in one case.

    Attributes:
        results: what came back from each step, as far as it got
        raised: what the step after those raised
        lacking: why a layer's weights could not be loaded
        absent: parameters that were to be loaded and that the object does not have (a bias)
        changed: the arguments that were written into
        changed_later: the steps whose result was different at the end
        generators: what became of each generator: "unused", "moved", "reseeded"
        global_draws: whether the global random state was drawn from
        unstable: the steps that gave something else the second time
        gradients: the gradient that each floating-point argument and loaded parameter received, None where none flowed
        gradient_raised: what came instead when gradients were asked for
        printed: what was printed, bounded
        largest: the numbers in the largest tensor that was formed; None where nobody counted
    """

    results: tuple[Any, ...] = ()
    raised: Raised | None = None
    lacking: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    changed: tuple[Where, ...] = ()
    changed_later: tuple[int, ...] = ()
    generators: tuple[str, ...] = ()
    global_draws: bool = False
    unstable: tuple[int, ...] = ()
    gradients: dict[Where, Tensor | None] | None = None
    gradient_raised: Raised | None = None
    printed: str = ""
    largest: int | None = None


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run left behind, as it is.

    It holds no comparison. Code that an answer can reach must not be the one that says whether an input was changed.

    Attributes:
        results, raised, lacking, absent, gradients, gradient_raised, printed, largest: as in an observation
        at_the_end: the steps that called something, with what they had returned, read again after the last step
        handed: the tensors and lists that were handed over, in order, as they are afterwards
        generators: each generator's seed and state afterwards
        random_states: torch's global random state, before and after
    """

    results: tuple[Any, ...] = ()
    raised: Raised | None = None
    lacking: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    at_the_end: tuple[tuple[int, Any], ...] = ()
    handed: tuple[tuple[Where, Any], ...] = ()
    generators: tuple[tuple[int, Tensor], ...] = ()
    random_states: tuple[Tensor, ...] = ()
    gradients: tuple[tuple[Where, Tensor | None], ...] | None = None
    gradient_raised: Raised | None = None
    printed: str = ""
    largest: int | None = None


def observe(answer: Any, cases: Sequence[Case], gradients: bool = False) -> list[Observation]:
    """Run the answer on every case, and then again in the reverse order."""
    return digest(cases, *trace(answer, cases, gradients))


def trace(answer: Any, cases: Sequence[Case], gradients: bool = False) -> tuple[list[Trace], list[Trace]]:
    """Run the answer on every case, and then again in the reverse order: the traces of both, in the order of the cases.

    The second run tells whether anything depends on what came before. Gradients are taken in it, so that an answer
    that cannot carry them still shows its values in the first.
    """
    with undisturbed(), quiet():
        first = [_Run(answer, False).trace(case) for case in cases]
        again = [_Run(answer, gradients and case.gradients).trace(as_again(case)) for case in reversed(cases)]
    return first, again[::-1]


def as_again(case: Case) -> Case:
    """What the second run does of a case: calls with the same arguments are made at most `MAX_AGAIN` times."""
    if all(step.times <= MAX_AGAIN for step in case.script):
        return case
    steps = tuple(replace(step, times=min(step.times, MAX_AGAIN)) for step in case.script)
    return replace(case, steps=steps)


def digest(cases: Sequence[Case], first: Sequence[Trace], again: Sequence[Trace]) -> list[Observation]:
    """Say what two runs show of an answer."""
    return [
        _merge(case, _observation(case, one), _observation(case, other))
        for case, one, other in zip(cases, first, again, strict=True)
    ]


def observe_once(answer: Any, case: Case, gradients: bool = False) -> Observation:
    """Run the answer on one case. The caller keeps the global state (`undisturbed`)."""
    return _observation(case, _Run(answer, gradients).trace(case))


def results_of(answer: Any, case: Case) -> Observation:
    """Run an answer that is trusted, and look at what comes back only."""
    run = _Run(answer, gradients=False)
    results, raised = run.follow(case)
    return Observation(results, raised, tuple(run.lacking), tuple(run.absent))


def _observation(case: Case, left: Trace) -> Observation:
    seeds = [value for value in _shared(case) if isinstance(value, Seeded)]
    return Observation(
        results=left.results,
        raised=left.raised,
        lacking=left.lacking,
        absent=left.absent,
        changed=tuple(dict.fromkeys(_changed(case, left.handed))),
        changed_later=tuple(i for i, value in left.at_the_end if not _alike(value, left.results[i])),
        generators=tuple(map(_became, seeds, left.generators)),
        global_draws=not all(torch.equal(state, left.random_states[0]) for state in left.random_states),
        gradients=None if left.gradients is None else dict(left.gradients),
        gradient_raised=left.gradient_raised,
        printed=left.printed,
        largest=left.largest,
    )


def _changed(case: Case, handed: Sequence[tuple[Where, Any]]) -> Iterator[Where]:
    """Give the places whose tensors or lists are no longer what the case has there."""
    expected: dict[Where, list[Any]] = {}
    for where, original in originals(case):
        expected.setdefault(where, []).append(original)
    for where, now in handed:
        if not expected.get(where) or not _same(now, expected[where].pop(0)):
            yield where


def originals(case: Case, steps: int | None = None) -> Iterator[tuple[Where, Any]]:
    """Walk through what a case hands over in its first steps, or in all, in the order in which it does."""
    met: set[int] = set()
    for i, step in enumerate(case.script[:steps]):
        places: list[tuple[int | str, Any]] = [*enumerate(step.args), *step.kwargs.items()]
        for place, value in [*places, ("on", step.on)]:
            yield from _parts(value, (i, place), met)


def _parts(value: Any, where: Where, met: set[int]) -> Iterator[tuple[Where, Any]]:
    if isinstance(value, Tensor):
        yield where, value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(item, where, met)
        if isinstance(value, list):
            yield where, value
    elif isinstance(value, Provided) and id(value) not in met:
        met.add(id(value))
        for j, item in enumerate(value.args):
            yield from _parts(item, (-1, j), met)


def _shared(case: Case) -> list[Any]:
    """The objects of a case that it may name in several places, in the order in which they are met."""
    values = [value for step in case.script for value in (*step.args, *step.kwargs.values(), step.on)]
    return list({id(value): value for value in values if isinstance(value, (Seeded, Provided))}.values())


def _same(now: Any, then: Any) -> bool:
    """Say whether two values are the same to the last bit."""
    if isinstance(then, Tensor):
        return isinstance(now, Tensor) and now.dtype == then.dtype and torch.equal(now, then)
    if isinstance(then, (list, tuple)):
        return isinstance(now, (list, tuple)) and len(now) == len(then) and all(map(_same, now, then))
    return type(now) is type(then) and now == then


def _became(seeded: Seeded, left: tuple[int, Tensor]) -> str:
    seed, state = left
    if seed != seeded.seed:
        return "reseeded"
    return "unused" if torch.equal(state, torch.Generator().manual_seed(seed).get_state()) else "moved"


def _merge(case: Case, first: Observation, again: Observation) -> Observation:
    """Keep the first run's values, and what the second adds."""
    if first.raised is None and again.raised is not None:
        return replace(first, gradient_raised=again.raised)
    if first.raised is not None and again.raised is None:
        return replace(first, unstable=(len(first.results),))
    results = zip(case.script, first.results, again.results, strict=False)
    unstable = tuple(i for i, (step, a, b) in enumerate(results) if not _alike(_as_often(step, a), b))
    return replace(
        first,
        unstable=unstable,
        gradients=again.gradients,
        gradient_raised=again.gradient_raised,
    )


def _as_often(step: Step, result: Any) -> Any:
    """Cut what many calls gave in the first run to as many as the second makes."""
    return result[:MAX_AGAIN] if step.times > MAX_AGAIN and isinstance(result, Tensor) else result


def _alike(a: Any, b: Any) -> bool:
    """Say whether two runs gave the same, up to the order in which sums were taken.

    torch sums in another order where gradients are wanted; in float32 that changes results by almost 1e-6.
    """
    if isinstance(a, OtherValue) and isinstance(b, OtherValue):
        return a.kind == b.kind and (a.tensor is None or b.tensor is None or _alike(a.tensor, b.tensor))
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-5, equal_nan=True)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    return type(a) is type(b) and a == b


# ── one run ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(eq=False)
class _Handed:
    """A tensor or list that an answer was given."""

    where: Where
    given: Any
    leaf: Tensor | None = None
    size: int = 0  # of a list, when it was handed over


class _Run:
    """One answer on one case, from handing over to looking at what came back."""

    def __init__(self, answer: Any, gradients: bool) -> None:
        self.subject = answer
        self.gradients = gradients
        self.handed: list[_Handed] = []
        self.shared: dict[int, Any] = {}
        self.generators: list[torch.Generator] = []
        self.kept: list[tuple[int, Any]] = []  # step, and the very object that came back
        self.states: dict[int, Any] = {}  # of the steps that carry one
        self.compared: list[Any] = []  # what came back, states apart
        self.lacking: list[str] = []
        self.absent: list[str] = []

    def follow(self, case: Case) -> tuple[tuple[Any, ...], Raised | None]:
        """Do the steps; give their results as far as they went, and what ended them."""
        results: list[Any] = []
        try:
            for i, step in enumerate(case.script):
                results.append(self.do(i, step))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() is an answer's fault too
            return tuple(results), describe_error(error)
        return tuple(results), None

    def trace(self, case: Case) -> Trace:
        gradients, gradient_raised = None, None
        before = torch.get_rng_state()
        _settle()
        counting = Counting() if case.most is not None else None
        with _Bounded() as printed:
            with counting or contextlib.nullcontext():
                results, raised = self.follow(case)
            _settle()  # the answer may have changed what all of torch does
            if self.gradients and raised is None and not self.lacking:
                gradients, gradient_raised = self.take_gradients()
        several = len(case.script) > 1
        return Trace(
            results=results,
            raised=raised,
            lacking=tuple(dict.fromkeys(self.lacking)),
            absent=tuple(self.absent),
            at_the_end=tuple((i, _read_again(came_back)) for i, came_back in self.kept) if several else (),
            handed=tuple((handed.where, _as_it_is(handed)) for handed in self.handed),
            generators=tuple((generator.initial_seed(), generator.get_state()) for generator in self.generators),
            random_states=(before, torch.get_rng_state()),
            gradients=None if gradients is None else tuple(gradients.items()),
            gradient_raised=gradient_raised,
            printed=printed.text(),
            largest=None if counting is None else counting.largest,
        )

    def do(self, i: int, step: Step) -> Any:
        if step.act == "load":
            return self.load(i, step.kwargs)
        args = tuple(self.hand_over(value, (i, j)) for j, value in enumerate(step.args))
        kwargs = {name: self.hand_over(value, (i, name)) for name, value in step.kwargs.items()}
        if step.act == "make":
            self.subject = self.subject(*args, **kwargs)
            return None
        target = self.subject if step.on is None else self.hand_over(step.on, (i, "on"))
        if step.method == "__len__":
            return record(len(target))
        function = target if step.method is None else getattr(target, step.method)
        if step.times > 1:
            return _gathered([record(function(*args, **kwargs)) for _ in range(step.times)])
        came_back = function(*args, **kwargs)
        result = record(came_back)
        self.kept.append((i, came_back))
        self.compared.append(came_back)
        if step.carries and isinstance(came_back, (tuple, list)) and came_back:
            self.compared[-1], self.states[i] = came_back[:-1], came_back[-1]
        return result

    def hand_over(self, value: Any, where: Where) -> Any:
        """Copy a value of the case, so that nothing an answer does to it reaches the case."""
        if isinstance(value, Tensor):
            return self.hand_over_tensor(value, where)
        if isinstance(value, (Seeded, Provided, Hidden)):
            return self.hand_over_shared(value)
        if isinstance(value, Carried):
            return self.states.get(value.step)
        if isinstance(value, (list, tuple)):
            given = type(value)(self.hand_over(item, where) for item in value)
            if isinstance(given, list):
                self.handed.append(_Handed(where, given, size=len(given)))
            return given
        return value

    def hand_over_tensor(self, value: Tensor, where: Where) -> Tensor:
        leaf = None
        given = value.clone()
        if self.gradients and value.is_floating_point():
            leaf = given.requires_grad_()
            given = leaf.clone()  # not a leaf, so that writing into it is possible, and seen
        self.handed.append(_Handed(where, given, leaf))
        return given

    def hand_over_shared(self, value: Seeded | Provided | Hidden) -> Any:
        if id(value) not in self.shared:
            if isinstance(value, Seeded):
                generator = torch.Generator().manual_seed(value.seed)
                self.generators.append(generator)
                self.shared[id(value)] = generator
            elif isinstance(value, Hidden):
                self.shared[id(value)] = value.handle()
            else:
                self.shared[id(value)] = value.make(
                    *(self.hand_over(item, (-1, j)) for j, item in enumerate(value.args))
                )
        return self.shared[id(value)]

    def load(self, i: int, wanted: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
        """Copy the weights in, in their dtype; say which layer is not there or has another shape."""
        have: dict[str, nn.Parameter] = {}
        if isinstance(self.subject, nn.Module):
            self.subject.to(next(iter(wanted.values())).dtype)
            have = dict(self.subject.named_parameters())
        if not have:
            self.lacking.append("the object has no parameters: is it an nn.Module whose layers are attributes?")
        layers = dict.fromkeys(name.rpartition(".")[0] for name in wanted)
        missing = [layer for layer in layers if have and layer not in have and f"{layer}.weight" not in have]
        if missing:
            called = " or ".join(missing)
            self.lacking.append(f"there is no nn.Linear layer called {called}; there are: {_named(have)}")
        for name, value in wanted.items() if have else ():
            if name.rpartition(".")[0] not in missing:
                self.load_one(i, name, value, have)
        return {name: tuple(parameter.shape) for name, parameter in list(have.items())[:MAX_PARAMETERS]}

    def load_one(self, i: int, name: str, value: Tensor, have: dict[str, nn.Parameter]) -> None:
        parameter = have.get(name)
        layer, _, kind = name.rpartition(".")
        if layer in have:
            self.lacking.append(f"{layer} is a bare nn.Parameter, where an nn.Linear was expected")
        elif parameter is None:
            self.absent.append(name)
        elif parameter.shape != value.shape:
            axes = "(out, in) = " if kind == "weight" else ""
            shape = tuple(parameter.shape)
            self.lacking.append(f"{name} has shape {shape}, where {axes}{tuple(value.shape)} was expected")
        else:
            with torch.no_grad():
                parameter.copy_(value)
            self.handed.append(_Handed((i, name), parameter, parameter if self.gradients else None))

    def take_gradients(self) -> tuple[dict[Where, Tensor | None], Raised | None]:
        """Differentiate a fixed projection of all that came back, with respect to each floating-point input."""
        leaves = [(h.where, h.leaf) for h in self.handed if h.leaf is not None and h.where[0] >= 0]
        received: dict[Where, Tensor | None] = dict.fromkeys(where for where, _ in leaves)
        open_leaves = [(where, leaf) for where, leaf in leaves if leaf.requires_grad]
        try:
            with torch._C.DisableTorchFunctionSubclass():
                live = (t for came_back in self.compared for t in _tensors(came_back))
                parts = [(t * projection(t)).sum().double() for t in live if t.is_floating_point() and t.requires_grad]
                if not parts or not open_leaves:
                    return received, None
                total = torch.stack(parts).sum()
                given = torch.autograd.grad(total, [leaf for _, leaf in open_leaves], allow_unused=True)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return received, describe_error(error)
        for where in received:
            pairs = [(leaf, g) for (at, leaf), g in zip(open_leaves, given, strict=True) if at == where]
            received[where] = _joined(pairs)
        return received, None


class Counting(TorchDispatchMode):
    """Count the numbers in the largest tensor that any operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = operation(*args, **(kwargs or {}))
        self.largest = max([self.largest, _hidden(operation, args), *(t.numel() for t in _tensors(given))])
        return given


def _hidden(operation: Any, args: Sequence[Any]) -> int:
    """Count the scores of attention that is one operation, whatever it does inside."""
    if "scaled_dot_product" not in operation.name() or len(args) < 2:
        return 0
    q, k = args[:2]
    return int(q.shape[:-1].numel() * k.shape[-2])


def _joined(pairs: Sequence[tuple[Tensor, Tensor | None]]) -> Tensor | None:
    """Give the gradient of one argument: that of its tensor, or of a list's tensors, end to end."""
    if all(g is None for _, g in pairs):
        return None
    parts = [torch.zeros_like(leaf) if g is None else g.clone() for leaf, g in pairs]
    return parts[0] if len(parts) == 1 else torch.cat([part.flatten() for part in parts])


def projection(like: Tensor) -> Tensor:
    """Give fixed numbers of this shape, without a pattern that a mistake could cancel."""
    return torch.cos(torch.arange(like.numel(), dtype=like.dtype) ** 2 * 0.7 + 0.3).view(like.shape)


def _read_again(came_back: Any) -> Any:
    """Record it once more; what cannot be read any more is not what it was."""
    try:
        return record(came_back)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return OtherValue("something that can no longer be read")


def _as_it_is(handed: _Handed) -> Any:
    """Record what was handed over; a list that was made longer is cut, and stays longer."""
    given = handed.given
    return [record(item) for item in given[: handed.size + 1]] if isinstance(given, list) else record(given)


def _named(parameters: dict[str, Any]) -> str:
    layers = dict.fromkeys(name.rpartition(".")[0] or name for name in parameters)
    return bounded(", ".join(layers))


def _gathered(values: list[Any]) -> Any:
    """Gather many results: whole numbers in one tensor, anything else as it came, bounded."""
    numbers = [v.item() if isinstance(v, Tensor) and v.numel() == 1 else v for v in values]
    if all(type(v) is int for v in numbers):
        return torch.tensor(numbers, device="cpu")
    return tuple(values[:MAX_ITEMS])


def _tensors(value: Any, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        for item in value[:MAX_ITEMS]:
            yield from _tensors(item, depth + 1)


# ── plain data ────────────────────────────────────────────────────────────────────────────────────


def record(value: Any, depth: int = 0) -> Any:
    """Turn what came back into plain data that nothing can change any more."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Tensor):
        return _record_tensor(value)
    if isinstance(value, np.generic):
        return record(value.item(), depth + 1) if depth < MAX_DEPTH else OtherValue("NumPy number")
    if isinstance(value, np.ndarray):
        return OtherValue("NumPy array", f"of shape {value.shape}", _as_tensor(value))
    if isinstance(value, int) and value.bit_length() <= 256:
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return bounded(value)
    if isinstance(value, (tuple, list, dict, set, frozenset)) and len(value) > MAX_ITEMS:
        return OtherValue(_kind(value), f"of {len(value)} items")  # to write out many tensors would take seconds
    if isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        items = [record(item, depth + 1) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return OtherValue(_kind(value), safe_text(lambda: repr(value)))


def _record_tensor(value: Tensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():  # a subclass may answer anything when it is asked
        plain = torch.Tensor.detach(value)
        if plain.numel() > MAX_NUMBERS or plain.dtype not in DTYPES:
            kind = "very large " * (plain.numel() > MAX_NUMBERS) + str(plain.dtype).removeprefix("torch.")
            return OtherValue(f"{kind} tensor", bounded(f"of shape {tuple(plain.shape)}"))
        try:
            plain = plain.to_dense() if plain.layout is not torch.strided else plain
            return torch.empty(plain.shape, dtype=plain.dtype, device="cpu").copy_(plain)
        except (RuntimeError, NotImplementedError) as error:
            return OtherValue(f"tensor that cannot be read on the CPU ({plain.device})", bounded(str(error)))


def _as_tensor(array: np.ndarray) -> Tensor | None:
    if array.size > MAX_NUMBERS or array.dtype.kind not in "biuf":
        return None
    return torch.from_numpy(np.array(array))


def _kind(value: Any) -> str:
    """Name a type in words a learner knows."""
    if isinstance(value, type):
        return "class"
    return {"function": "function", "generator": "generator", "dict": "dictionary"}.get(
        type(value).__name__, bounded(type(value).__name__, 60)
    )


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """Cut a text that an answer controls, and drop what cannot be shown."""
    text = str(text)[: limit + 1]
    if len(text) <= limit and text.isprintable():
        return text
    clean = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def safe_text(say: Callable[[], str]) -> str:
    """Ask an object for its text; a text that cannot be had is said to be so."""
    try:
        return bounded(say())
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "(it cannot be shown)"


def describe_error(error: BaseException) -> Raised:
    types = tuple(bounded(cls.__name__) for cls in type(error).__mro__[:MAX_ITEMS] if cls is not object)
    return Raised(types, safe_text(lambda: str(error)), _line_of(error))


def remember_lines(name: str, source: str) -> None:
    """Keep the source of a cell that is compiled under this name, so that an error in it can quote its line."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def _line_of(error: BaseException) -> str:
    """Find the last line of the answer's own code that the exception went through.

    The line of a function that is still to be written says nothing: the one that called it does.
    """
    ours = (os.path.dirname(__file__) + os.sep, torch.__path__[0], np.__path__[0])
    try:
        frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
        theirs = [frame for frame in frames if not frame[0].startswith(ours)]
        lines = [linecache.getline(*frame).strip() for frame in theirs[-2:]] or [""]
        return bounded(lines[0 if lines[-1].startswith("raise NotImplementedError") else -1], 120)
    except (OSError, ValueError, RecursionError):
        return ""


# ── leave the process as it was ───────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Give answers the same surroundings each time, and put the process back afterwards as it was.

    Inside: gradients on, float32 by default, the CPU, one thread. Put back: the random states of torch, numpy and
    Python, grad mode, default dtype and device, threads, print options, recursion limit, working directory.
    """
    random_states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    printing = vars(torch._tensor_str.PRINT_OPTS).copy(), np.get_printoptions()
    depth, folder = sys.getrecursionlimit(), _folder()
    try:
        with torch.inference_mode(False), torch.enable_grad(), _uncompiled(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.set_num_threads(1)  # the tensors are tiny, and a second thread only waits
            _settle()
            yield
    finally:
        torch.set_rng_state(random_states[0])
        np.random.set_state(random_states[1])
        random.setstate(random_states[2])
        torch.set_default_dtype(dtype)
        _compute_on(device)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        vars(torch._tensor_str.PRINT_OPTS).update(printing[0])
        np.set_printoptions(**printing[1])
        sys.setrecursionlimit(depth)
        if folder and _folder() != folder:
            os.chdir(folder)


def _uncompiled() -> contextlib.AbstractContextManager[object]:
    """Let functions under `torch.compile` run as they are written: to compile them takes longer than to run them."""
    compiled = "torch._dynamo" in sys.modules  # loaded where something was compiled
    return torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext()


def _folder() -> str:
    """The working directory; none where it was removed."""
    try:
        return os.path.realpath(os.curdir)
    except OSError:
        return ""


def _settle() -> None:
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    _compute_on(torch.device("cpu"))


def _compute_on(device: torch.device) -> None:
    """Set the default device only where it differs: once it was set, every call into torch is a little slower."""
    if torch.get_default_device() != device:
        torch.set_default_device(device)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let nothing reach the standard error stream: neither through Python nor past it."""
    handlers = logging.root.handlers[:]
    try:
        sys.stderr.flush()
        kept = os.dup(2)
        silence = os.open(os.devnull, os.O_WRONLY)
    except (OSError, AttributeError):  # no such stream: nothing to keep quiet
        yield
        return
    try:
        os.dup2(silence, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(silence)
        logging.root.handlers[:] = handlers


class _Bounded(io.TextIOBase):
    """Catch what is printed, on either stream, and keep no more than can be shown."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.streams = contextlib.ExitStack()

    def __enter__(self) -> _Bounded:
        self.streams.enter_context(contextlib.redirect_stdout(self))
        self.streams.enter_context(contextlib.redirect_stderr(self))
        return self

    def __exit__(self, *error: object) -> None:
        self.streams.close()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.size <= MAX_TEXT:
            self.parts.append(str(text)[: MAX_TEXT + 1])
        self.size += len(text)
        return len(text)

    def text(self) -> str:
        return bounded("".join(self.parts))
