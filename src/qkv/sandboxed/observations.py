"""Compare the traces of an answer with its cases and with each other: what it changed, drew and repeated.

In a notebook this happens in the process of the answer. A grader compares in its own process, because an answer can
tamper with code in the process that runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from qkv.sandboxed.cases import Case, Seeded, Step, Where, originals, shared_objects
from qkv.sandboxed.recording import OtherValue, Raised
from qkv.sandboxed.running import MAX_AGAIN, Run, Trace, trace


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


def observe(answer: Any, cases: Sequence[Case], gradients: bool = False) -> list[Observation]:
    """Run the answer on every case, twice, and return what it did in each case."""
    return combine_runs(cases, *trace(answer, cases, gradients))


def combine_runs(cases: Sequence[Case], first: Sequence[Trace], again: Sequence[Trace]) -> list[Observation]:
    """Compare the traces of both runs with the cases and with each other. Return an observation for each case."""
    return [
        _merge(case, _observation(case, one), _observation(case, other))
        for case, one, other in zip(cases, first, again, strict=True)
    ]


def observe_once(answer: Any, case: Case, gradients: bool = False) -> Observation:
    """Run the answer once on one case. The caller has to protect the global state (`undisturbed`)."""
    return _observation(case, Run(answer, gradients).trace(case))


def results_of(answer: Any, case: Case) -> Observation:
    """Run a trusted answer once, and return its results, the exception that it raised, and the missing parameters.

    All else in the observation is empty.
    """
    run = Run(answer, gradients=False)
    results, raised = run.run_steps(case)
    return Observation(results, raised, tuple(run.lacking), tuple(run.absent))


def _observation(case: Case, left: Trace) -> Observation:
    """Return what the trace of one run shows: its results, changed inputs, draws, gradients and output.

    What the steps returned may also have changed later in the run.
    """
    seeds = [value for value in shared_objects(case) if isinstance(value, Seeded)]
    return Observation(
        results=left.results,
        raised=left.raised,
        lacking=left.lacking,
        absent=left.absent,
        changed=tuple(dict.fromkeys(_changed(case, left.handed))),
        changed_later=tuple(i for i, value in left.at_the_end if not _almost_equal(value, left.results[i])),
        generators=tuple(map(_generator_fate, seeds, left.generators)),
        global_draws=not all(_identical(state, left.random_states[0]) for state in left.random_states),
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


def _identical(now: Any, then: Any) -> bool:
    """Check whether two values are exactly equal, with their types and dtypes.

    A list may equal a tuple. NaN equals nothing.
    """
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
    """Return the first run's observation, with gradients and unstable steps from the second run.

    If only the second run raised, its exception counts as one of gradients. If only the first one did, the step that
    raised counts as unstable, and there are no gradients.
    """
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
    """Check whether the results of two runs are equal, tensors of one dtype up to 1e-5. A list may equal a tuple.

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
