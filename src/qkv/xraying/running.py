"""Run a program once, and each of its torch operations also on copies in which one token or example is changed."""

from __future__ import annotations

import copy
import linecache
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from qkv.xraying.axes import Counted, Shape, Span

OURS = str(Path(__file__).parent)
TORCH = str(Path(torch.__file__).parent)
IN_PLACE = ("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__")
# In these operations, tokens mix on purpose.
MIXING = (
    *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "inner", "tensordot", "einsum", "linear"),
    *("addmm", "baddbmm", "addbmm", "bilinear", "softmax", "log_softmax", "scaled_dot_product_attention"),
    *("multi_head_attention_forward", "_native_multi_head_attention", "_transformer_encoder_layer_fwd"),
    *("conv1d", "conv2d", "conv3d", "avg_pool1d", "avg_pool2d", "max_pool1d", "max_pool2d", "unfold", "fft_fft"),
    *("rnn_tanh", "rnn_relu", "gru", "lstm", "sort", "argsort", "topk", "gather", "take_along_dim"),
)


@dataclass(frozen=True)
class Place:
    """A line of a program: its file, its number there, and its text."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, eq=False)
class Operation:
    """One torch operation of a run.

    Attributes:
        name: the function's name in torch: "view", "matmul"
        place: the line that called it
        shape: the shape of its result
        inputs: the indices of the operations whose results it read
        spans: where its result counts tokens, or examples
        what: what is followed, "tokens" or "examples"
        reach: a bool tensor (*shape, slots): which slots of the inputs reach which numbers
    """

    name: str
    place: Place
    shape: Shape
    inputs: tuple[int, ...]
    spans: Sequence[Span]
    what: str
    reach: Tensor

    def slots(self, span: Span) -> list[tuple[int, ...]]:
        """Return which slots of the inputs reach each slot along a span of axes of the result."""
        return [tuple(row.nonzero().flatten().tolist()) for row in self.reach_of(span)]

    def reach_of(self, span: Span) -> Tensor:
        """Return which slots of the inputs reach which slots along a span, (slots, slots of the inputs)."""
        other = [axis for axis in range(len(self.shape)) if not span[0] <= axis < span[1]]
        return (self.reach.any(other) if other else self.reach).flatten(0, -2)

    def is_mixed(self) -> bool:
        """Check whether several slots of the inputs reach one number, or one slot along each span."""
        mixed = [max(map(len, self.slots(span)), default=0) > 1 and not self.is_moved(span) for span in self.spans]
        return bool((self.reach.sum(-1) > 1).any()) or (any(mixed) and all(mixed))

    @property
    def may_mix(self) -> bool:
        """Whether tokens mix on purpose: in an operation in MIXING, or in one that runs over them.

        In a running sum or state, each next slot holds one token more.
        """
        running = list(range(1, 1 + self.reach.shape[-1]))
        are_running = [[*map(len, self.slots(span))] in (running, running[::-1]) for span in self.spans]
        return self.what == "tokens" and (self.name in MIXING or (any(are_running) and all(are_running)))

    def is_moved(self, span: Span) -> bool:
        """Check whether tokens moved as whole rows: in each next slot stands the next token, as in windows by hand.

        Features and tokens that were exchanged may look so by chance. But then each slot holds all tokens, and this
        returns False.
        """
        rows = self.reach.movedim(span[0], -2)  # (..., slots, tokens)
        are_next = bool((rows.sum(-1) <= 1).all() and (rows[..., 1:, 1:] == rows[..., :-1, :-1]).all())
        return self.what == "tokens" and span[1] == span[0] + 1 and are_next and not self.reach_of(span).all()

    def is_whole(self) -> bool:
        """Check whether each slot of the inputs has a slot of the result."""
        return bool(self.spans) and bool(self.reach.flatten(0, -2).any(0).all()) and not self.is_mixed()


@dataclass(frozen=True)
class Known:
    """A tensor of a run, which is kept alive, so that its id stays its name.

    Attributes:
        made_by: the index of the operation that made it; -1 for an input
        copies: what it would be with one slot of the inputs changed, for each slot; none if it is not followed
    """

    tensor: Tensor
    made_by: int
    copies: Sequence[Tensor]


class Run(TorchFunctionMode):
    """A run of a program that notes its operations, and computes each also on the copies of what it reads."""

    def __init__(self, counted: Counted, inputs: Sequence[Known]) -> None:
        super().__init__()
        self.counted = counted
        self.known = {id(each.tensor): each for each in inputs}
        self.operations: list[Operation] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute an operation, return its result, and note the operation and what it is on the copies.

        After an operation that may mix, each row counts as the token of the row of its first factor.
        """
        name, given = getattr(function, "__name__", ""), (args, kwargs or {})
        read = tensors_in(given)
        written = read[:1] if name in IN_PLACE or (name.endswith("_") and not name.endswith("__")) else []
        inputs = tuple(known.made_by for tensor in read if (known := self.known.get(id(tensor))))
        copies = self._on_copies(function, given, written)
        returned = function(*given[0], **given[1])
        for k, result in enumerate(written or tensors_in(returned)):
            # One number for all, such as the maximum that a softmax subtracts, may depend on everything.
            of_result = [each[k] for each in copies] if result.ndim else []
            operation = self._noted(name, result, inputs, of_result)
            if operation.may_mix and operation.is_mixed():
                # Behind a mixture, a row counts as the row of its first factor: a row of weights as its query.
                of_result = [each[k] for each in self._on_copies(function, given, written, only_first=True)]
                operation = replace(operation, reach=_reach(result, of_result))
                if operation.is_mixed():
                    of_result = []
                    operation = replace(operation, reach=_reach(result, of_result))
            self.known[id(result)] = Known(result, len(self.operations), of_result)
            self.operations.append(operation)
        return returned

    def _on_copies(
        self, function: Any, given: Any, written: Sequence[Tensor], only_first: bool = False
    ) -> list[list[Tensor]]:
        """Compute an operation for each slot, with copies of all tensors that it reads, or only of the first.

        Return the results of each slot. If the operation changes a tensor in place (`written`), these are the changed
        copies. The random state stays as it is.
        """
        read = tensors_in(given)
        known = {id(t): self.known[id(t)].copies for t in read if id(t) in self.known and self.known[id(t)].copies}
        slots = range(len(next(iter(known.values()), ())))
        for tensor in written:
            known.setdefault(id(tensor), [tensor.clone() for _ in slots])
        places = [i for i, tensor in enumerate(read) if id(tensor) in known][: 1 if only_first else None]
        state, results = torch.get_rng_state(), []
        for slot in slots:
            tensors = [known[id(tensor)][slot] if i in places else tensor for i, tensor in enumerate(read)]
            args, kwargs = _with_tensors(given, tensors)
            returned = function(*args, **kwargs)
            torch.set_rng_state(state)  # the next slot, and the program itself, draw the same numbers
            results.append(tensors[:1] if written else tensors_in(returned))
        return results

    def _noted(self, name: str, result: Tensor, inputs: tuple[int, ...], copies: Sequence[Tensor]) -> Operation:
        """Return the next operation of this run."""
        i, shape, counted = len(self.operations), tuple(result.shape), self.counted
        return Operation(name, _place(), shape, inputs, counted.spans(i, shape), counted.what, _reach(result, copies))


def run(
    fn: Callable[..., Any],
    inputs: Sequence[Any],
    counted: Counted | None = None,
    copies: Mapping[int, Sequence[Tensor]] | None = None,
) -> list[Operation]:
    """Run `fn` on copies of the inputs, without gradients, and return its operations.

    A module runs as a copy, in evaluation mode. The random numbers come from a fixed seed; afterwards, the global
    random state is as before. What the program raises is raised.

    Args:
        fn: a function or a module
        inputs: what it is called with; the same tensor twice stays one tensor
        counted: what is followed
        copies: for each input that is followed, by its index, a copy for each slot, with this slot changed
    """
    given = {id(value): value.detach().clone() for value in inputs if isinstance(value, Tensor)}
    followed = {id(inputs[i]): changed for i, changed in (copies or {}).items()}
    running = Run(counted or Counted(), [Known(value, -1, followed.get(name, ())) for name, value in given.items()])
    called = copy.deepcopy(fn).eval() if isinstance(fn, torch.nn.Module) else fn
    state = torch.get_rng_state()
    try:
        torch.manual_seed(0)
        with torch.no_grad(), running:
            called(*(given.get(id(value), value) for value in inputs))
    finally:
        torch.set_rng_state(state)
    return running.operations


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return a value with its tensors changed, also those in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_mapped(item, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in a value, in their order, also in nested lists, tuples and dictionaries."""
    found: list[Tensor] = []
    _mapped(value, found.append)
    return found


def _with_tensors(value: Any, tensors: Sequence[Tensor]) -> Any:
    """Return a value with these tensors in the places of its own."""
    left = iter(tensors)
    return _mapped(value, lambda _: next(left))


def _reach(result: Tensor, copies: Sequence[Tensor]) -> Tensor:
    """Return which numbers of a result differ in each copy, up to rounding; without copies, none does."""
    differs = [~_is_close(result, changed) for changed in copies]
    return torch.stack(differs or [torch.zeros(result.shape, dtype=torch.bool)], dim=-1)


def _is_close(a: Tensor, b: Tensor) -> Tensor:
    """Return, number by number, whether two results are almost equal. No number is, if the shapes differ."""
    if a.shape != b.shape:
        return torch.zeros(a.shape, dtype=torch.bool)
    return torch.isclose(a.double(), b.double(), rtol=1e-5, atol=1e-7, equal_nan=True)


def _place() -> Place:
    """Return the line that called a torch operation: the innermost one outside of torch, or else inside it."""
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe())]
    files = [frame.f_code.co_filename for frame in frames]
    # Innermost are our own frames, outermost is our call of the program.
    start = next(i for i, file in enumerate(files) if not file.startswith(OURS))
    end = start + next(i for i, file in enumerate(files[start:]) if file.startswith(OURS))
    of_nn = [i for i in range(start, end) if files[i].startswith(f"{TORCH}/nn/modules")]
    theirs = [i for i in range(start, end) if not files[i].startswith(TORCH)]
    frame = frames[(theirs or of_nn or [start])[0]]
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Place(file, line, linecache.getline(file, line, frame.f_globals).strip())
