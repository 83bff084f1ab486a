"""What an answer is tried on: a case is one or more steps with their inputs, as plain data.

It holds no reference answer, no expected value and no score, because it is sent to the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

Where = tuple[int, int | str]  # a place of an input: the index of its step, and the argument's position or name


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
        tolerance: absolute and relative; None for the tolerance that float32 needs in this case
        max_elements: how many elements the largest intermediate tensor may have; None for no limit
        of_products: whether the limit is for results of matrix products alone
    """

    steps: Step | tuple[Step, ...]
    name: str = "plain"
    sizes: dict[str, int] = field(default_factory=dict)
    raises: str | None = None
    gradients: bool = True
    tolerance: float | None = None
    max_elements: int | None = None
    of_products: bool = False

    @property
    def script(self) -> tuple[Step, ...]:
        return self.steps if isinstance(self.steps, tuple) else (self.steps,)

    @property
    def wants_class(self) -> bool:
        """Whether the answer has to be a class: an object is made of it first."""
        return self.script[0].act == "make"

    @property
    def quoted_step(self) -> int:
        """The index of the last step that calls something with arguments, 0 if none does. Messages quote it."""
        steps = [i for i, step in enumerate(self.script) if step.act == "call" and step.args]
        return steps[-1] if steps else 0


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
    """Yield the tensors and lists in an argument, each with the place to which it belongs.

    Those in an object that several steps share are yielded once: `met` has the ids of these objects, and gets new ones.
    """
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


def shared_objects(case: Case) -> list[Any]:
    """Return the `Seeded` and `Provided` objects of a case, each once, in order of appearance."""
    values = [value for step in case.script for value in (*step.args, *step.kwargs.values(), step.on)]
    return list({id(value): value for value in values if isinstance(value, (Seeded, Provided))}.values())
