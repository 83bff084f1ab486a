"""Run a program, note the result of every torch operation with its line, and change one number's slot on the way."""

from __future__ import annotations

import copy
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

OURS = str(Path(__file__).parent)
TORCH = str(Path(torch.__file__).parent)
IN_PLACE = ("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__")


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
        result: a copy of its result
        inputs: the indices of the operations whose results it read; -1 - i for input i of the program
    """

    name: str
    place: Place
    result: Tensor
    inputs: tuple[int, ...]


Nudge = Callable[[Tensor], Tensor]  # returns a changed copy


@dataclass(eq=False)
class Run(TorchFunctionMode):
    """A run of `fn(*inputs)`. `nudges` maps the index of an operation to the change of its result."""

    inputs: Sequence[Any]
    nudges: dict[int, Nudge] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Number the inputs −1, −2, …."""
        super().__init__()
        # Tensors are kept alive, so that an id stays the name of one tensor.
        self.kept: list[Any] = list(self.inputs)
        self.made_by = {id(value): -1 - i for i, value in enumerate(self.inputs) if isinstance(value, Tensor)}

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, change its results where a nudge asks for it, and record what it read."""
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        returned = function(*args, **kwargs)
        if name == "__get__" and not isinstance(returned, Tensor):  # an attribute, such as `x.shape`
            return returned
        read = tuple(self.made_by[id(value)] for value in tensors_in([args, kwargs]) if id(value) in self.made_by)
        changed = name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
        results = [returned if isinstance(returned, Tensor) else args[0]] if changed else list(tensors_in(returned))
        for result in results:
            if len(self.operations) in self.nudges:
                with torch.no_grad():
                    result.copy_(self.nudges[len(self.operations)](result))
            self.made_by[id(result)] = len(self.operations)
            self.kept.append(result)
            self.operations.append(Operation(name, _place(), result.detach().clone(), read))
        return returned


def run(fn: Callable[..., Any], inputs: Sequence[Any], nudges: dict[int, Nudge] | None = None) -> list[Operation]:
    """Run `fn` on copies of the inputs, and return its operations. A module runs as a copy, in evaluation mode.

    Args:
        fn: a function or a module
        inputs: what it is called with; the same tensor twice stays one tensor
        nudges: changes of the inputs (-1 - i) and of the results of operations, by their index
    """
    nudges = nudges or {}
    copies: dict[int, Any] = {}
    for i, value in enumerate(inputs):
        if id(value) not in copies and isinstance(value, Tensor):
            copies[id(value)] = nudges[-1 - i](value) if -1 - i in nudges else value.detach().clone()
    running = Run([copies.get(id(value), value) for value in inputs], nudges)
    called = copy.deepcopy(fn).eval() if isinstance(fn, torch.nn.Module) else fn
    state = torch.get_rng_state()
    try:
        torch.manual_seed(0)
        with torch.no_grad(), running:
            called(*running.inputs)
    finally:
        torch.set_rng_state(state)
    return running.operations


def tensors_in(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors in a value, also in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()), depth)
    elif isinstance(value, (list, tuple)) and depth < 5:
        for item in value:
            yield from tensors_in(item, depth + 1)


def _place() -> Place:
    """Return the line that called a torch operation: the innermost one outside of torch, or else inside it."""
    frames = list(_frames(sys._getframe(1)))
    theirs = [frame for frame in frames if not frame.f_code.co_filename.startswith(TORCH)]
    of_nn = [frame for frame in frames if frame.f_code.co_filename.startswith(f"{TORCH}/nn/modules")]
    frame = (theirs or of_nn or frames)[0]
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Place(file, line, linecache.getline(file, line, frame.f_globals).strip())


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of the program, from the innermost to the one that `run` called."""
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    while frame is not None and not frame.f_code.co_filename.startswith(OURS):
        yield frame
        frame = frame.f_back
