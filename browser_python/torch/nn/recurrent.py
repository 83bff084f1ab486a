"""Recurrent layers: plain ones, LSTM (Hochreiter and Schmidhuber, 1997) and GRU (Cho et al., 2014).

What the page's version lacks raises a NotImplementedError.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..creation import empty, zeros
from ..dtypes import Device
from ..dtypes import dtype as Kind
from ..joining import cat, stack
from ..missing import refuse, refuse_set
from ..modes import no_grad
from ..tensors import Tensor
from . import functional
from .module import Module
from .parameter import Parameter


def lstm_step(given: Tensor, before: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the next output and cell from the gates' inputs, of `x` and of the output before.

    Each has the four gates input, forget, cell and output along its last axis; `state` is (output, cell).
    """
    i, f, g, o = (given + before).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(given: Tensor, before: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the next output, in a tuple, from the gates' inputs, of `x` and of the output before.

    Each has the three gates reset, update and new along its last axis; `state` is (output,).
    """
    (r, z, n), (r_before, z_before, n_before) = given.chunk(3, -1), before.chunk(3, -1)
    update = (z + z_before).sigmoid()
    new = (n + (r + r_before).sigmoid() * n_before).tanh()
    return ((state[0] - new) * update + new,)


def stacked_result(steps: list[Tensor], gates: int) -> Tensor:
    return stack(steps)  # a function of its own, as the name of its step in the graph depends on the layer


def transposed_result(steps: Tensor, gates: int) -> Tensor:
    return steps.transpose(0, 1)


class Recurrent(Module):
    """The base of recurrent layers and cells: their sizes and weights, and a step."""

    gates: ClassVar[int] = 1
    nonlinearity: str = "tanh"
    hidden_size: int

    def _add_weights(self, end: str, n_in: int, bias: bool, **kind: Any) -> None:
        """Add the weights and biases of one layer or of a cell for `n_in` inputs, uninitialized.

        Their names (`weight_ih…`, `bias_hh…`) end with `end`. Without `bias`, a layer has no parameters for biases, and
        a cell has None.
        """
        size = self.gates * self.hidden_size
        self.register_parameter(f"weight_ih{end}", Parameter(empty(size, n_in, **kind)))
        self.register_parameter(f"weight_hh{end}", Parameter(empty(size, self.hidden_size, **kind)))
        for name in (f"bias_ih{end}", f"bias_hh{end}"):
            if bias or isinstance(self, Cell):  # a layer without biases has no such parameters, a cell has None
                self.register_parameter(name, Parameter(empty(size, **kind)) if bias else None)

    def reset_parameters(self) -> None:
        """Draw all weights anew: uniform between ±1 / √hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        with no_grad():
            for p in self.parameters():
                p.uniform_(-bound, bound)

    def _step(self, x: Tensor, state: tuple[Tensor, ...], end: str = "") -> tuple[Tensor, ...]:
        """Return the next state of one time step, whose first part is the output.

        `end` is that of the weights' names.
        """
        of: Any = {
            name: self._parameters.get(f"{name}{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        }
        given = functional.linear(x, of["weight_ih"], of["bias_ih"])
        before = functional.linear(state[0], of["weight_hh"], of["bias_hh"])
        if self.gates == 1:
            return (getattr(given + before, self.nonlinearity)(),)
        return (lstm_step if self.gates == 4 else gru_step)(given, before, state)


class Layers(Recurrent):
    """Recurrent layers over a sequence: each reads the outputs of the one before.

    In training, dropout with the probability `dropout` lies between them. If they are `bidirectional`, each has a
    second one, from the end to the start; outputs of both are joined. A ValueError is raised unless `hidden_size` and
    `num_layers` are positive, and a NotImplementedError for `proj_size`.
    """

    def flatten_parameters(self) -> None:
        """Do nothing: this is for a GPU."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: Kind | None = None,
    ) -> None:
        super().__init__()
        refuse_set(type(self).__name__, proj_size=proj_size)
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        for name, size in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        self.mode, self.proj_size = type(self).__name__, proj_size
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        ends = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            for end in ends:
                n_in = hidden_size * len(ends) if layer else input_size
                self._add_weights(f"_l{layer}{end}", n_in, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """Return the outputs of the last layer at each time, and each layer's last state: for LSTM, (output, cell).

        `hx` are the states at the start, in the same form; they are zeros without it. `bidirectional` doubles the last
        axis of the outputs and the first one of the states.

        Shapes, with `batch_first` (else batch and time change places; both also without a batch):
            input (B, n, input_size); outputs (B, n, hidden_size); each state (layers, B, hidden_size)
        Raises:
            RuntimeError: the last axis of the input is not `input_size`, or a state in `hx` has another shape.
            ValueError: the input and the weights have different dtypes.
            NotImplementedError: the input is a packed sequence.
        """
        if not isinstance(input, Tensor):
            refuse(f"a packed sequence for `{type(self).__name__}`")
        single, kind = input.ndim == 2, self.weight_ih_l0.dtype
        if input.dtype is not kind:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: input.to({kind}), or "
                f"convert model: model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        steps = input.unsqueeze(1) if single else input.transpose(0, 1) if self.batch_first else input
        starts = (hx if isinstance(hx, tuple) else (hx,)) if hx is not None else None
        for state in starts or ():
            if single or state.ndim != 3:
                continue
            wanted = (self.num_layers * (2 if self.bidirectional else 1), steps.shape[1], self.hidden_size)
            if state.shape != wanted:
                raise RuntimeError(f"Expected hidden size {wanted}, got {list(state.shape)}")
        if starts and single:
            starts = tuple(s.unsqueeze(1) for s in starts)
        ends = ("", "_reverse") if self.bidirectional else ("",)
        kept: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                steps = functional.dropout(steps, self.dropout, self.training)
            ways = []
            for end in ends:
                none = zeros(steps.shape[1], self.hidden_size, dtype=input.dtype)
                state = tuple(s[len(kept)] for s in starts) if starts else (none, none)[: 2 if self.gates == 4 else 1]
                found = []
                for t in range(len(steps))[:: -1 if end else 1]:
                    state = self._step(steps[t], state, f"_l{layer}{end}")
                    found.append(state[0])
                kept.append(state)
                ways.append(stacked_result(found[:: -1 if end else 1], self.gates))
            steps = ways[0] if len(ways) == 1 else cat(ways, -1)
        states = tuple(stack([state[i] for state in kept]) for i in range(len(kept[0])))
        if single:
            steps, states = steps.squeeze(1), tuple(s.squeeze(1) for s in states)
        elif self.batch_first:
            steps = transposed_result(steps, self.gates)
        return steps, states if self.gates == 4 else states[0]

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that are not the usual ones."""
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        other = [f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return f"{self.input_size}, {self.hidden_size}{''.join(other)}"


class RNN(Layers):
    """Plain recurrent layers: tanh or relu of a linear function of the input and the state.

    Another `nonlinearity` raises a ValueError.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", **more: Any
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(input_size, hidden_size, num_layers, **more)
        self.nonlinearity, self.mode = nonlinearity, f"RNN_{nonlinearity.upper()}"


class LSTM(Layers):
    """Layers of long short-term memory."""

    gates = 4


class GRU(Layers):
    """Layers of gated recurrent units."""

    gates = 3


class Cell(Recurrent):
    """One time step of a recurrent layer."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Device = None, dtype: Kind | None = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._add_weights("", input_size, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Return the next state, (B, hidden_size) or without the batch; for LSTM, the pair (output, cell).

        The input is (B, input_size) or without the batch. `hx` is the state before, in the form of the result; zeros
        without it.

        Raises:
            RuntimeError: the input or the state has another last axis, or the nonlinearity is neither tanh nor relu.
        """
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        if input.shape[-1] != self.input_size:
            sizes = f"got {input.shape[-1]} expected {self.input_size}"
            raise RuntimeError(f"input has inconsistent input_size: {sizes}")
        none = zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype)
        state = (none, none) if hx is None else hx if isinstance(hx, tuple) else (hx,)
        for i, part in enumerate(state):
            if part.shape[-1] != self.hidden_size:
                sizes = f"got {part.shape[-1]}, expected {self.hidden_size}"
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: {sizes}")
        found = self._step(input, state)
        return found if self.gates == 4 else found[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}{'' if self.bias else ', bias=False'}"


class RNNCell(Cell):
    """One time step of a plain recurrent layer."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", **more: Any
    ) -> None:
        super().__init__(input_size, hidden_size, bias, **more)
        self.nonlinearity, self.mode = nonlinearity, f"RNN_{nonlinearity.upper()}"


class LSTMCell(Cell):
    """One time step of an LSTM."""

    gates = 4


class GRUCell(Cell):
    """One time step of a GRU."""

    gates = 3
