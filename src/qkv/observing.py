"""Run an answer on a case, and record what it did as plain data.

An answer is untrusted code. It may raise anything, print, draw random numbers, write into its arguments, or return an
object that claims to equal everything. This module returns only plain data: tensors on the CPU, numbers, short
strings, and tuples of them.

The same code runs in a notebook and, next to untrusted code, in a grader's worker. So it imports only torch, NumPy and
`hidden`, and it holds no reference answer, no expected value and no score.
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
else:  # in a worker, where these files are top-level modules
    from hidden import Hidden  # type: ignore[no-redef]

MAX_TEXT = 300  # characters of any text that comes from an answer
MAX_ITEMS = 64  # members of a list or tuple that are recorded
MAX_PARAMETERS = 1_000  # parameters of an object whose shapes are recorded
MAX_DEPTH = 4  # levels of lists and tuples that are recorded
MAX_NUMBERS = 2_000_000  # entries of a tensor that is recorded
MAX_AGAIN = 300  # calls with the same arguments in the second run; enough to see whether they depend on earlier calls
DTYPES = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool),
)

# ── a case: the steps to run an answer ────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Seeded:
    """A placeholder for a `torch.Generator` with this seed. All its places in a case get the same generator."""

    seed: int


@dataclass(frozen=True, eq=False)
class Provided:
    """A placeholder for the object `make(*args)`. All its places in a case get the same object.

    The source of `make` is sent to a worker, so it may use only torch and builtins.
    """

    make: Callable[..., Any]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Carried:
    """A placeholder for the state, the last member of the result of an earlier step. It is passed on uncopied."""

    step: int


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a case: make an object, load its parameters, or call something."""

    act: Literal["make", "load", "call"]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    method: str | None = None  # the method to call, of the object that was made or of `on`
    on: Provided | None = None  # the object to call, if not the answer's own
    times: int = 1  # number of calls
    carries: bool = False  # whether the last member of the result is a state: passed on by `Carried`, and not compared


def call(*args: Any, **kwargs: Any) -> Step:
    """Return a step that calls the answer, or the object that an earlier step made from it."""
    return Step("call", args, kwargs)


def call_many(times: int, *args: Any, **kwargs: Any) -> Step:
    """Return a step that calls the answer `times` times with the same arguments. Integer results become one tensor."""
    return Step("call", args, kwargs, times=times)


def call_carrying(*args: Any) -> Step:
    """Return a step that calls the answer for a result and a state, which `Carried(step)` passes to later calls."""
    return Step("call", args, carries=True)


def method(name: str, *args: Any, on: Provided | None = None, **kwargs: Any) -> Step:
    """Return a step that calls a method of the object that was made, or of `on`."""
    return Step("call", args, kwargs, method=name, on=on)


def length(on: Provided | None = None) -> Step:
    """Return a step that takes `len` of the object that was made, or of `on`."""
    return method("__len__", on=on)


def make(*args: Any, **kwargs: Any) -> Step:
    """Return a step that makes an object of the answer, which is a class. Later steps call that object."""
    return Step("make", args, kwargs)


def load(parameters: dict[str, Tensor]) -> Step:
    """Return a step that copies tensors into the object's parameters: `{"w_q.weight": …, "w_q.bias": …}`.

    The object need not have a bias.
    """
    return Step("load", kwargs=dict(parameters))


@dataclass(frozen=True, eq=False)
class Case:
    """One test case for an answer: steps with their inputs. Plain data, except for `Provided` and `Hidden`.

    Attributes:
        steps: one step, or several in order
        name: what is special about the case, in the learner's words: "n = 1", "two leading axes", "float64"
        sizes: the names of the sizes, for messages and for recognising factors: {"d_k": 5}
        raises: the name of the exception that the last step must raise
        gradients: False to skip the gradients in this case, although the question asks for them
        tolerance: absolute; by default 1e-4 in float32 and 1e-8 in float64
        most: how many numbers the largest intermediate tensor may have; None for no limit
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
        """The last step that calls something with arguments. Messages quote it."""
        steps = [i for i, step in enumerate(self.script) if step.act == "call" and step.args]
        return steps[-1] if steps else 0


# ── an observation: what an answer did ────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class OtherValue:
    """The record of a result that is not a tensor, a number, a text, or a short list or tuple of them."""

    kind: str  # the type, in words: "NumPy array", "function"
    text: str = ""
    tensor: Tensor | None = None  # the values of a NumPy array


@dataclass(frozen=True)
class Raised:
    """The record of an exception: the names of its type and of all base classes, its message, and a line of code.

    The line is the last one of the learner's own code that the traceback goes through.
    """

    types: tuple[str, ...]
    text: str
    line: str = ""

    @property
    def type(self) -> str:
        return self.types[0]


Where = tuple[int, int | str]  # a place of an input: the index of its step, and the argument's position or name


@dataclass(frozen=True, eq=False)
class Observation:
    """What an answer did in one case.

    Attributes:
        results: the result of each step that did not raise
        raised: the exception of the step after those; None if all steps ran
        lacking: why weights could not be loaded
        absent: parameters in a "load" step that the object does not have (a bias)
        changed: the arguments that the answer wrote into
        changed_later: the steps whose result had changed after the last step
        generators: the state of each generator afterwards: "unused", "moved" or "reseeded"
        global_draws: whether the answer drew from the global random state
        unstable: the steps whose result was different in the second run
        gradients: the gradient of each floating-point argument and loaded parameter, None if it received none
        gradient_raised: the exception that came when gradients were computed
        printed: the beginning of what the answer printed
        largest: how many numbers the largest intermediate tensor had; None if they were not counted
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
    """The raw record of one run, without any comparison.

    The comparisons are made later, in `combine_runs`: an answer can tamper with code in its own process, so that code
    must not decide whether an input was changed.

    Attributes:
        results, raised, lacking, absent, gradients, gradient_raised, printed, largest: as in `Observation`
        at_the_end: the steps that called something, with their results as they are after the last step
        handed: the tensors and lists that were passed to the answer, in order, as they are after the run
        generators: each generator's seed and state after the run
        random_states: torch's global random state, before and after the run
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
    """Run the answer on every case, twice, and return what it did in each case."""
    return combine_runs(cases, *trace(answer, cases, gradients))


def trace(answer: Any, cases: Sequence[Case], gradients: bool = False) -> tuple[list[Trace], list[Trace]]:
    """Run the answer on every case, then again in reverse order. Return the traces of both runs, in the cases' order.

    The second run shows whether a result depends on earlier calls. Gradients are computed only in the second run, so
    that the results of an answer without gradients are recorded in the first.
    """
    with undisturbed(), quiet():
        first = [_Run(answer, False).trace(case) for case in cases]
        again = [_Run(answer, gradients and case.gradients).trace(for_second_run(case)) for case in reversed(cases)]
    return first, again[::-1]


def for_second_run(case: Case) -> Case:
    """Return the case for the second run: calls are repeated at most `MAX_AGAIN` times."""
    if all(step.times <= MAX_AGAIN for step in case.script):
        return case
    steps = tuple(replace(step, times=min(step.times, MAX_AGAIN)) for step in case.script)
    return replace(case, steps=steps)


def combine_runs(cases: Sequence[Case], first: Sequence[Trace], again: Sequence[Trace]) -> list[Observation]:
    """Compare the traces of both runs with the cases and with each other. Return an observation for each case."""
    return [
        _merge(case, _observation(case, one), _observation(case, other))
        for case, one, other in zip(cases, first, again, strict=True)
    ]


def observe_once(answer: Any, case: Case, gradients: bool = False) -> Observation:
    """Run the answer once on one case. The caller has to protect the global state (`undisturbed`)."""
    return _observation(case, _Run(answer, gradients).trace(case))


def results_of(answer: Any, case: Case) -> Observation:
    """Run a trusted answer once, and record only its results."""
    run = _Run(answer, gradients=False)
    results, raised = run.run_steps(case)
    return Observation(results, raised, tuple(run.lacking), tuple(run.absent))


def _observation(case: Case, left: Trace) -> Observation:
    """Compare the trace of one run with its case."""
    seeds = [value for value in _shared(case) if isinstance(value, Seeded)]
    return Observation(
        results=left.results,
        raised=left.raised,
        lacking=left.lacking,
        absent=left.absent,
        changed=tuple(dict.fromkeys(_changed(case, left.handed))),
        changed_later=tuple(i for i, value in left.at_the_end if not _almost_equal(value, left.results[i])),
        generators=tuple(map(_generator_fate, seeds, left.generators)),
        global_draws=not all(torch.equal(state, left.random_states[0]) for state in left.random_states),
        gradients=None if left.gradients is None else dict(left.gradients),
        gradient_raised=left.gradient_raised,
        printed=left.printed,
        largest=left.largest,
    )


def _changed(case: Case, handed: Sequence[tuple[Where, Any]]) -> Iterator[Where]:
    """Yield the places of the inputs that are different from the case after the run."""
    expected: dict[Where, list[Any]] = {}
    for where, original in originals(case):
        expected.setdefault(where, []).append(original)
    for where, now in handed:
        if not expected.get(where) or not _identical(now, expected[where].pop(0)):
            yield where


def originals(case: Case, steps: int | None = None) -> Iterator[tuple[Where, Any]]:
    """Yield the tensors and lists that a case passes to an answer, with their places and in their order.

    With `steps`, only those of the first steps.
    """
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
    """Return the `Seeded` and `Provided` objects of a case, each once, in order of appearance."""
    values = [value for step in case.script for value in (*step.args, *step.kwargs.values(), step.on)]
    return list({id(value): value for value in values if isinstance(value, (Seeded, Provided))}.values())


def _identical(now: Any, then: Any) -> bool:
    """Check whether two values are exactly equal, including types and dtypes."""
    if isinstance(then, Tensor):
        return isinstance(now, Tensor) and now.dtype == then.dtype and torch.equal(now, then)
    if isinstance(then, (list, tuple)):
        return isinstance(now, (list, tuple)) and len(now) == len(then) and all(map(_identical, now, then))
    return type(now) is type(then) and now == then


def _generator_fate(seeded: Seeded, left: tuple[int, Tensor]) -> str:
    """Return what an answer did with a generator: "unused", "moved" or "reseeded"."""
    seed, state = left
    if seed != seeded.seed:
        return "reseeded"
    return "unused" if torch.equal(state, torch.Generator().manual_seed(seed).get_state()) else "moved"


def _merge(case: Case, first: Observation, again: Observation) -> Observation:
    """Return the first run's observation, with gradients and unstable steps from the second run."""
    if first.raised is None and again.raised is not None:
        return replace(first, gradient_raised=again.raised)
    if first.raised is not None and again.raised is None:
        return replace(first, unstable=(len(first.results),))
    results = zip(case.script, first.results, again.results, strict=False)
    unstable = tuple(i for i, (step, a, b) in enumerate(results) if not _almost_equal(_cut_to_second_run(step, a), b))
    return replace(
        first,
        unstable=unstable,
        gradients=again.gradients,
        gradient_raised=again.gradient_raised,
    )


def _cut_to_second_run(step: Step, result: Any) -> Any:
    """Cut the results of repeated calls in the first run to the number of calls in the second."""
    return result[:MAX_AGAIN] if step.times > MAX_AGAIN and isinstance(result, Tensor) else result


def _almost_equal(a: Any, b: Any) -> bool:
    """Check whether the results of two runs are equal, up to rounding.

    With gradients, torch adds numbers in another order, which changes results in float32 by almost 1e-6.
    """
    if isinstance(a, OtherValue) and isinstance(b, OtherValue):
        return a.kind == b.kind and (a.tensor is None or b.tensor is None or _almost_equal(a.tensor, b.tensor))
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-5, equal_nan=True)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_almost_equal, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    return type(a) is type(b) and a == b


# ── one run ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(eq=False)
class _Input:
    """A tensor or list that was passed to an answer."""

    where: Where
    given: Any  # the object that the answer got
    leaf: Tensor | None = None  # the leaf whose gradient is computed
    size: int = 0  # the length of a list before the run


class _Run:
    """A run of one answer on one case: copies the inputs, runs the steps, records the results."""

    def __init__(self, answer: Any, gradients: bool) -> None:
        self.subject = answer
        self.gradients = gradients
        self.inputs: list[_Input] = []
        self.shared: dict[int, Any] = {}
        self.generators: list[torch.Generator] = []
        self.returned: list[tuple[int, Any]] = []  # the index of a step, and the object that it returned, uncopied
        self.states: dict[int, Any] = {}  # the states that steps returned, by the index of the step
        self.compared: list[Any] = []  # the objects that steps returned, without states
        self.lacking: list[str] = []
        self.absent: list[str] = []

    def run_steps(self, case: Case) -> tuple[tuple[Any, ...], Raised | None]:
        """Run the steps. Return the results of those that did not raise, and the exception that ended them, if any."""
        results: list[Any] = []
        try:
            for i, step in enumerate(case.script):
                results.append(self.run_step(i, step))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit from `sys.exit()`
            return tuple(results), describe_error(error)
        return tuple(results), None

    def trace(self, case: Case) -> Trace:
        """Run the case and record everything about the run."""
        gradients, gradient_raised = None, None
        before = torch.get_rng_state()
        _reset_torch()
        counting = Counting() if case.most is not None else None
        with _CapturedOutput() as printed:
            with counting or contextlib.nullcontext():
                results, raised = self.run_steps(case)
            _reset_torch()  # the answer may have changed torch's global settings
            if self.gradients and raised is None and not self.lacking:
                gradients, gradient_raised = self.take_gradients()
        several = len(case.script) > 1
        return Trace(
            results=results,
            raised=raised,
            lacking=tuple(dict.fromkeys(self.lacking)),
            absent=tuple(self.absent),
            at_the_end=tuple((i, _read_again(came_back)) for i, came_back in self.returned) if several else (),
            handed=tuple((handed.where, _record_input(handed)) for handed in self.inputs),
            generators=tuple((generator.initial_seed(), generator.get_state()) for generator in self.generators),
            random_states=(before, torch.get_rng_state()),
            gradients=None if gradients is None else tuple(gradients.items()),
            gradient_raised=gradient_raised,
            printed=printed.text(),
            largest=None if counting is None else counting.largest,
        )

    def run_step(self, i: int, step: Step) -> Any:
        """Run one step, and return the record of its result."""
        if step.act == "load":
            return self.load(i, step.kwargs)
        args = tuple(self.copy_input(value, (i, j)) for j, value in enumerate(step.args))
        kwargs = {name: self.copy_input(value, (i, name)) for name, value in step.kwargs.items()}
        if step.act == "make":
            self.subject = self.subject(*args, **kwargs)
            return None
        target = self.subject if step.on is None else self.copy_input(step.on, (i, "on"))
        if step.method == "__len__":
            return record(len(target))
        function = target if step.method is None else getattr(target, step.method)
        if step.times > 1:
            return _gather([record(function(*args, **kwargs)) for _ in range(step.times)])
        came_back = function(*args, **kwargs)
        result = record(came_back)
        self.returned.append((i, came_back))
        self.compared.append(came_back)
        if step.carries and isinstance(came_back, (tuple, list)) and came_back:
            self.compared[-1], self.states[i] = came_back[:-1], came_back[-1]
        return result

    def copy_input(self, value: Any, where: Where) -> Any:
        """Copy an input of the case, so that the answer cannot change the case itself."""
        if isinstance(value, Tensor):
            return self.copy_tensor(value, where)
        if isinstance(value, (Seeded, Provided, Hidden)):
            return self.make_shared(value)
        if isinstance(value, Carried):
            return self.states.get(value.step)
        if isinstance(value, (list, tuple)):
            given = type(value)(self.copy_input(item, where) for item in value)
            if isinstance(given, list):
                self.inputs.append(_Input(where, given, size=len(given)))
            return given
        return value

    def copy_tensor(self, value: Tensor, where: Where) -> Tensor:
        """Copy a tensor. If gradients are wanted, let it require a gradient."""
        leaf = None
        given = value.clone()
        if self.gradients and value.is_floating_point():
            leaf = given.requires_grad_()
            given = leaf.clone()  # not a leaf, because torch forbids in-place writes to leaves
        self.inputs.append(_Input(where, given, leaf))
        return given

    def make_shared(self, value: Seeded | Provided | Hidden) -> Any:
        """Return the object for a placeholder: make it at the first call, then return the same one."""
        if id(value) not in self.shared:
            if isinstance(value, Seeded):
                generator = torch.Generator().manual_seed(value.seed)
                self.generators.append(generator)
                self.shared[id(value)] = generator
            elif isinstance(value, Hidden):
                self.shared[id(value)] = value.handle()
            else:
                self.shared[id(value)] = value.make(
                    *(self.copy_input(item, (-1, j)) for j, item in enumerate(value.args))
                )
        return self.shared[id(value)]

    def load(self, i: int, wanted: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
        """Copy tensors into the object's parameters, in the tensors' dtype. Return the shapes of all its parameters.

        Layers that are missing or have another shape are noted in `lacking`, missing biases in `absent`.
        """
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
            self.lacking.append(f"there is no nn.Linear layer called {called}; there are: {_layer_names(have)}")
        for name, value in wanted.items() if have else ():
            if name.rpartition(".")[0] not in missing:
                self.load_one(i, name, value, have)
        return {name: tuple(parameter.shape) for name, parameter in list(have.items())[:MAX_PARAMETERS]}

    def load_one(self, i: int, name: str, value: Tensor, have: dict[str, nn.Parameter]) -> None:
        """Copy one tensor into the parameter of this name."""
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
            self.inputs.append(_Input((i, name), parameter, parameter if self.gradients else None))

    def take_gradients(self) -> tuple[dict[Where, Tensor | None], Raised | None]:
        """Return the gradient of a fixed projection of all results, with respect to each floating-point input.

        Returns:
            the gradients, and the exception if they could not be computed
        """
        leaves = [(h.where, h.leaf) for h in self.inputs if h.leaf is not None and h.where[0] >= 0]
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
            received[where] = _join_gradients(pairs)
        return received, None


class Counting(TorchDispatchMode):
    """A dispatch mode that counts the numbers in the largest tensor that any torch operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = operation(*args, **(kwargs or {}))
        self.largest = max([self.largest, _fused_scores_size(operation, args), *(t.numel() for t in _tensors(given))])
        return given


def _fused_scores_size(operation: Any, args: Sequence[Any]) -> int:
    """Return the number of scores in a fused attention operation, or 0 for any other operation.

    The scores count even if the operation never stores them all.
    """
    if "scaled_dot_product" not in operation.name() or len(args) < 2:
        return 0
    q, k = args[:2]
    return int(q.shape[:-1].numel() * k.shape[-2])


def _join_gradients(pairs: Sequence[tuple[Tensor, Tensor | None]]) -> Tensor | None:
    """Return the gradient of one argument: of its tensor, or the flattened and concatenated gradients of a list."""
    if all(g is None for _, g in pairs):
        return None
    parts = [torch.zeros_like(leaf) if g is None else g.clone() for leaf, g in pairs]
    return parts[0] if len(parts) == 1 else torch.cat([part.flatten() for part in parts])


def projection(like: Tensor) -> Tensor:
    """Return fixed numbers of the same shape and dtype, so irregular that a mistake cannot cancel in their sum."""
    return torch.cos(torch.arange(like.numel(), dtype=like.dtype) ** 2 * 0.7 + 0.3).view(like.shape)


def _read_again(came_back: Any) -> Any:
    """Record a result again. If it can no longer be read, it has changed, and the record says so."""
    try:
        return record(came_back)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return OtherValue("something that can no longer be read")


def _record_input(handed: _Input) -> Any:
    """Record an input after the run. A list that grew is cut to one member more than before: it still differs."""
    given = handed.given
    return [record(item) for item in given[: handed.size + 1]] if isinstance(given, list) else record(given)


def _layer_names(parameters: dict[str, Any]) -> str:
    """Return the names of the layers that these parameters belong to, as a list in a sentence."""
    layers = dict.fromkeys(name.rpartition(".")[0] or name for name in parameters)
    return bounded(", ".join(layers))


def _gather(values: list[Any]) -> Any:
    """Join the results of repeated calls: integers in one tensor, anything else in a tuple of at most `MAX_ITEMS`."""
    numbers = [v.item() if isinstance(v, Tensor) and v.numel() == 1 else v for v in values]
    if all(type(v) is int for v in numbers):
        return torch.tensor(numbers, device="cpu")
    return tuple(values[:MAX_ITEMS])


def _tensors(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors in a value, also in nested lists and tuples."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        for item in value[:MAX_ITEMS]:
            yield from _tensors(item, depth + 1)


# ── plain data ────────────────────────────────────────────────────────────────────────────────────


def record(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value as plain data, which the answer cannot change later."""
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
        return OtherValue(_kind(value), f"of {len(value)} items")  # the repr of many tensors would take seconds
    if isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        items = [record(item, depth + 1) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return OtherValue(_kind(value), safe_text(lambda: repr(value)))


def _record_tensor(value: Tensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():  # a subclass could override these methods
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
    """Return the name of a value's type in words that a learner knows."""
    if isinstance(value, type):
        return "class"
    return {"function": "function", "generator": "generator", "dict": "dictionary"}.get(
        type(value).__name__, bounded(type(value).__name__, 60)
    )


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """Cut a text that an answer controls to `limit` characters, and replace unprintable characters by U+FFFD."""
    text = str(text)[: limit + 1]
    if len(text) <= limit and text.isprintable():
        return text
    clean = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def safe_text(say: Callable[[], str]) -> str:
    """Call `say` for an object's text, and return it bounded, or a note if `say` raises."""
    try:
        return bounded(say())
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "(it cannot be shown)"


def describe_error(error: BaseException) -> Raised:
    """Return the record of an exception."""
    types = tuple(bounded(cls.__name__) for cls in type(error).__mro__[:MAX_ITEMS] if cls is not object)
    return Raised(types, safe_text(lambda: str(error)), _line_of(error))


def remember_lines(name: str, source: str) -> None:
    """Store the source of a cell under the name of its code in `linecache`, so that errors can quote its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def _line_of(error: BaseException) -> str:
    """Return the last line of the answer's own code in the traceback.

    If that line is `raise NotImplementedError`, return the line that called the unfinished function.
    """
    ours = (os.path.dirname(__file__) + os.sep, torch.__path__[0], np.__path__[0])
    try:
        frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
        theirs = [frame for frame in frames if not frame[0].startswith(ours)]
        lines = [linecache.getline(*frame).strip() for frame in theirs[-2:]] or [""]
        return bounded(lines[0 if lines[-1].startswith("raise NotImplementedError") else -1], 120)
    except (OSError, ValueError, RecursionError):
        return ""


# ── restore the state of the process ──────────────────────────────────────────────────────────────


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Run the block with fixed global settings, and restore the global state of the process afterwards.

    In the block: gradients on, default dtype float32, default device CPU, one thread, warnings off. Restored: the
    random states of torch, NumPy and Python, grad mode, default dtype and device, number of threads, print options,
    recursion limit, working directory.
    """
    random_states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    dtype, device, threads = torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()
    printing = vars(torch._tensor_str.PRINT_OPTS).copy(), np.get_printoptions()
    depth, folder = sys.getrecursionlimit(), _working_directory()
    try:
        with torch.inference_mode(False), torch.enable_grad(), _uncompiled(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.set_num_threads(1)  # the tensors are tiny, so more threads would only wait
            _reset_torch()
            yield
    finally:
        torch.set_rng_state(random_states[0])
        np.random.set_state(random_states[1])
        random.setstate(random_states[2])
        torch.set_default_dtype(dtype)
        _set_default_device(device)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        vars(torch._tensor_str.PRINT_OPTS).update(printing[0])
        np.set_printoptions(**printing[1])
        sys.setrecursionlimit(depth)
        if folder and _working_directory() != folder:
            os.chdir(folder)


def _uncompiled() -> contextlib.AbstractContextManager[object]:
    """Let functions under `torch.compile` run uncompiled: compiling them takes longer than running them."""
    compiled = "torch._dynamo" in sys.modules  # torch loads it when something is compiled
    return torch.compiler.set_stance("force_eager") if compiled else contextlib.nullcontext()


def _working_directory() -> str:
    """Return the working directory, or "" if it was deleted."""
    try:
        return os.path.realpath(os.curdir)
    except OSError:
        return ""


def _reset_torch() -> None:
    """Set the global settings of torch that answers run with."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    _set_default_device(torch.device("cpu"))


def _set_default_device(device: torch.device) -> None:
    """Set torch's default device, but only if it is another one: setting it slows down every later torch call."""
    if torch.get_default_device() != device:
        torch.set_default_device(device)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard everything written to stderr, by Python code or by C code, and restore the log handlers afterwards."""
    handlers = logging.root.handlers[:]
    try:
        sys.stderr.flush()
        kept = os.dup(2)
        silence = os.open(os.devnull, os.O_WRONLY)
    except (OSError, AttributeError):  # there is no stderr
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


class _CapturedOutput(io.TextIOBase):
    """A stream that captures stdout and stderr of Python code, and keeps only as much as can be shown."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.streams = contextlib.ExitStack()

    def __enter__(self) -> _CapturedOutput:
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
