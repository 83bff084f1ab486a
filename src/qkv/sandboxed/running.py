"""Run an answer on a case, and write down what it did: a trace, which holds no comparison.

The answer may raise anything, print, draw random numbers, or write into its arguments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from qkv.sandboxed.cases import Carried, Case, Provided, Seeded, Step, Where
from qkv.sandboxed.hidden import Hidden
from qkv.sandboxed.isolation import CapturedOutput, quiet, reset_torch, undisturbed
from qkv.sandboxed.recording import MAX_DEPTH, MAX_ITEMS, OtherValue, Raised, bounded, describe_error, record

MAX_PARAMETERS = 1_000  # parameters of an object whose shapes are recorded
PRODUCTS = ("aten::mm", "aten::bmm", "aten::mv", "aten::addmm", "aten::baddbmm")  # of matrices, as torch names them
TO_NUMPY = ("numpy", "__array__")  # methods of tensors
MAX_TAKEN = 1_000  # numbers that may go to NumPy in a case that limits matrix products, such as logits for `argmax`
MAX_KEPT = 10_000  # numbers of a projection that are computed once
MAX_AGAIN = 300  # calls with the same arguments in the second run; enough to see whether they depend on earlier calls


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
        random_states: torch's global random state, before and after the run; in a grader, hashes of them
    """

    results: tuple[Any, ...] = ()
    raised: Raised | None = None
    lacking: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    at_the_end: tuple[tuple[int, Any], ...] = ()
    handed: tuple[tuple[Where, Any], ...] = ()
    generators: tuple[tuple[int, Tensor], ...] = ()
    random_states: tuple[Tensor | str, ...] = ()
    gradients: tuple[tuple[Where, Tensor | None], ...] | None = None
    gradient_raised: Raised | None = None
    printed: str = ""
    largest: int | None = None


def trace(answer: Any, cases: Sequence[Case], gradients: bool = False) -> tuple[list[Trace], list[Trace]]:
    """Run the answer on every case, twice, without a lasting effect on this process. Return the traces of both runs."""
    with undisturbed(), quiet():
        return trace_twice(answer, cases, gradients)


def trace_twice(answer: Any, cases: Sequence[Case], gradients: bool) -> tuple[list[Trace], list[Trace]]:
    """Run the answer on every case, then again in reverse order. Return the traces of both runs, in the cases' order.

    The second run shows whether a result depends on earlier calls. Gradients are computed only in the second run, so
    that the results of an answer without gradients are recorded in the first.
    """
    first = [Run(answer, False).trace(case) for case in cases]
    again = [Run(answer, gradients and case.gradients).trace(for_second_run(case)) for case in reversed(cases)]
    return first, again[::-1]


def for_second_run(case: Case) -> Case:
    """Return the case for the second run: calls are repeated at most `MAX_AGAIN` times."""
    if all(step.times <= MAX_AGAIN for step in case.script):
        return case
    steps = tuple(replace(step, times=min(step.times, MAX_AGAIN)) for step in case.script)
    return replace(case, steps=steps)


def prepared(answer: Any, case: Case) -> tuple[Any, tuple[Any, ...]]:
    """Run the steps before the first call of a case. Return what that step calls, and its arguments by position.

    Raises:
        ValueError: the case has no call. What the answer raises is raised too.
    """
    run = Run(answer, gradients=False)
    for i, step in enumerate(case.script):
        if step.act == "call":
            return run.subject, step.args
        run.run_step(i, step)
    raise ValueError("the case calls nothing")


@dataclass(eq=False)
class _Input:
    """A tensor or list that was passed to an answer."""

    where: Where
    given: Any  # the object that the answer got
    leaf: Tensor | None = None  # the leaf whose gradient is computed
    size: int = 0  # the length of a list before the run


class Run:
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
        """Run the steps. Return the results of those that did not raise, and the exception that ended them, or None.

        Only a KeyboardInterrupt is raised.
        """
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
        """Run the case and return the record of all that happened, also of an exception.

        Torch's global settings are set before and after. Gradients are taken if they are wanted and nothing went wrong.
        """
        gradients, gradient_raised = None, None
        before = torch.get_rng_state()
        reset_torch()
        with CapturedOutput() as printed:
            with counted(case) as counting:
                results, raised = self.run_steps(case)
            reset_torch()  # the answer may have changed torch's global settings
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
        """Run step i, and return the record of its result: None for "make", the shapes of the parameters for "load".

        "make" replaces `subject` by the object that it makes. Of a step that calls something once, other than `len`,
        what came back is also added to `returned` and `compared`, and a state in it to `states`. What the answer raises
        is raised.
        """
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
        """Return a copy of an input, so that the answer cannot change the case itself, and note the copy in `inputs`.

        For a placeholder, return the object for which it stands; for a state, the one that an earlier step returned.
        Numbers and texts are returned as they are.
        """
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
        """Return a copy of a tensor, and note it in `inputs`. If gradients are wanted, it requires one."""
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
        """Run step i, a "load": copy tensors into the parameters of `subject` by name, and note these in `inputs`.

        The object is first converted to the dtype of the first tensor. What does not fit is noted: in `lacking`, that
        there are no parameters, or that a layer is missing, is a bare parameter or has another shape; in `absent`,
        missing biases.

        Returns:
            the shapes of its parameters (at most MAX_PARAMETERS), also by the names asked for
        """
        have: dict[str, nn.Parameter] = {}
        if isinstance(self.subject, nn.Module):
            self.subject.to(next(iter(wanted.values())).dtype)
            have = dict(self.subject.named_parameters())
        if not have:
            self.lacking.append("the object has no parameters: is it an nn.Module whose layers are attributes?")
        layers = dict.fromkeys(name.rpartition(".")[0] for name in wanted)
        for layer in layers:  # an attribute may stand for a layer that has another name, or lies deeper
            module = getattr(self.subject, layer, None) if have and f"{layer}.weight" not in have else None
            if isinstance(module, nn.Module):
                have |= {f"{layer}.{name}": parameter for name, parameter in module.named_parameters()}
        missing = [layer for layer in layers if have and layer not in have and f"{layer}.weight" not in have]
        if missing:
            called = " or ".join(missing)
            self.lacking.append(f"there is no nn.Linear layer called {called}; there are: {_layer_names(have)}")
        for name, value in wanted.items() if have else ():
            if name.rpartition(".")[0] not in missing:
                self.load_one(i, name, value, have)
        return {name: tuple(parameter.shape) for name, parameter in list(have.items())[:MAX_PARAMETERS]}

    def load_one(self, i: int, name: str, value: Tensor, have: dict[str, nn.Parameter]) -> None:
        """Copy one tensor into the parameter of this name, and note it in `inputs`.

        If there is no such parameter of this shape, note that in `absent` or `lacking` instead.
        """
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

        Loaded parameters are inputs too; what is in an object that several steps share is not.

        Returns:
            the gradients by place, None for an input that none reaches, and the exception if they could not be computed
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
    """A dispatch mode that counts the numbers in the largest tensor that any torch operation, or product, returns."""

    def __init__(self, of_products: bool = False) -> None:
        super().__init__()
        self.of_products = of_products
        self.largest = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tell torch that nothing here has to be kept from its compiler, whose import takes seconds."""
        return False

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, return its result, and remember the size of the largest tensor so far."""
        given = operation(*args, **(kwargs or {}))
        counted = [] if self.of_products and operation.name() not in PRODUCTS else _tensors(given)
        self.largest = max([self.largest, _fused_scores_size(operation, args), *(t.numel() for t in counted)])
        return given


@contextlib.contextmanager
def counted(case: Case) -> Iterator[Counting | None]:
    """Count the numbers in tensors while a case with a limit runs, and let few of them go to NumPy.

    The block gets the count, or None for a case without a limit.
    """
    if case.max_elements is None:
        yield None
        return
    with Counting(case.of_products) as counting, kept_in_torch(MAX_TAKEN if case.of_products else 0):
        yield counting


@contextlib.contextmanager
def kept_in_torch(most: int) -> Iterator[None]:
    """Let at most so many numbers go to NumPy in the block, besides tensors of one number; more raise a TypeError.

    Methods of `torch.Tensor` are replaced for this, and put back at the end. In NumPy nothing is counted. This tells
    who did not think of it. Code that hides what it computes cannot be counted in its own process.
    """
    own = {name: vars(torch.Tensor).get(name) for name in TO_NUMPY if hasattr(torch.Tensor, name)}
    left = [most]
    try:
        for name in own:
            setattr(torch.Tensor, name, _at_most(left, getattr(torch.Tensor, name)))
        yield
    finally:
        for name, method in own.items():
            if method is not None:
                setattr(torch.Tensor, name, method)
            elif name in vars(torch.Tensor):  # the method is a base class's
                delattr(torch.Tensor, name)


def _at_most(left: list[int], method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of tensors, changed to subtract their size from `left`, which all such methods share.

    It raises a TypeError if nothing is left. A tensor of one number costs nothing.
    """

    def bounded_method(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        left[0] -= tensor.numel() if tensor.numel() > 1 else 0
        if left[0] < 0:
            raise TypeError(
                f"a tensor {tuple(tensor.shape)} goes to NumPy. The sizes of tensors are measured here, "
                "and there they cannot be: compute with torch"
            )
        return method(tensor, *args, **kwargs)

    return bounded_method


def _fused_scores_size(operation: Any, args: Sequence[Any]) -> int:
    """Return the number of scores in a fused attention operation, or 0 for any other operation.

    The scores count even if the operation never stores them all.
    """
    if "scaled_dot_product" not in operation.name() or len(args) < 2:
        return 0
    q, k = args[:2]
    return int(q.shape[:-1].numel() * k.shape[-2])


def _join_gradients(pairs: Sequence[tuple[Tensor, Tensor | None]]) -> Tensor | None:
    """Return the gradient of one argument from pairs (leaf, its gradient); None if no gradient reaches it.

    For a list, it is the flattened and concatenated gradients of its tensors.
    """
    if all(g is None for _, g in pairs):
        return None
    parts = [torch.zeros_like(leaf) if g is None else g.clone() for leaf, g in pairs]
    return parts[0] if len(parts) == 1 else torch.cat([part.flatten() for part in parts])


def projection(like: Tensor) -> Tensor:
    """Return fixed numbers of the same shape and dtype, so irregular that a mistake cannot cancel in their sum.

    They are computed in float64, because the squares of large numbers have no decimals left in float32.
    """
    n = like.numel()
    numbers = _first_irregular()[:n] if n <= MAX_KEPT else _irregular(n)
    return numbers.view(like.shape).to(like.dtype)


@cache
def _first_irregular() -> Tensor:
    """Return the first numbers. A worker computes them once, for all its sessions."""
    return _irregular(MAX_KEPT)


def _irregular(n: int) -> Tensor:
    return torch.cos(torch.arange(n, dtype=torch.float64) ** 2 * 0.7 + 0.3)


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
    """Join the results of repeated calls: if all are integers, in one tensor, else in a tuple.

    A tensor of one integer counts as an integer. The tuple has at most `MAX_ITEMS` results.
    """
    numbers = [v.item() if isinstance(v, Tensor) and v.numel() == 1 else v for v in values]
    if all(type(v) is int for v in numbers):
        return torch.tensor(numbers, device="cpu")
    return tuple(values[:MAX_ITEMS])


def _tensors(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors in a value, also in nested lists and tuples, up to limits of depth and length."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        for item in value[:MAX_ITEMS]:
            yield from _tensors(item, depth + 1)
