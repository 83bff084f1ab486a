"""Files of trained weights: to find, write and read them (safetensors, 16 bits per number).

Weights are rounded to 16 bits when training ends. So Python, the web page and all tests compute
with the same numbers, and measurements hold for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar

import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from qkv.transformer import TransformerShape

FOLDER = Path(__file__).parent / "weights"
Model = TypeVar("Model", bound=nn.Module)


class Shaped(Protocol):
    """A model with its sizes in `shape`."""

    @property
    def shape(self) -> TransformerShape: ...

    def state_dict(self) -> dict[str, Tensor]: ...


def weights_file(name: str | Path) -> Path:
    """Return the path of the course's weights with this name; a Path is returned as it is.

    Raises:
        FileNotFoundError: there is no such file, also for a path; the message lists the names.
    """
    path = name if isinstance(name, Path) else FOLDER / f"{name}.safetensors"
    if not path.exists():
        names = ", ".join(sorted(file.stem for file in FOLDER.glob("*.safetensors")))
        raise FileNotFoundError(f"there is no file of weights {path}; the course has {names}")
    return path


def load_weights(model: Model, name: str | Path) -> Model:
    """Load trained weights into a model, as float32, and return it in evaluation mode without gradients.

    `name` is a name of the course's weights or a Path. Errors are those of `weights_file`, and torch's RuntimeError if
    the weights do not fit the model.
    """
    tensors = load_file(weights_file(name))
    model.load_state_dict({place: tensor.float() for place, tensor in tensors.items()})
    return model.eval().requires_grad_(False)


def round_weights(model: Model) -> Model:
    """Round all weights of a model to 16-bit floats, in place, and return it in evaluation mode without gradients."""
    return model.half().float().eval().requires_grad_(False)


def save_weights(model: Shaped, path: Path) -> None:
    """Write the weights of a model as 16-bit floats, with its number of heads, which no tensor shows."""
    save({place: tensor.half() for place, tensor in model.state_dict().items()}, path, model.shape.n_heads)


def save(tensors: dict[str, Tensor], path: Path, n_heads: int) -> None:
    """Write named tensors to a safetensors file, with the number of heads as metadata. Its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    path.write_bytes(to_bytes(contiguous, {"n_heads": str(n_heads)}))


# ── checkpoints in 8 bits ─────────────────────────────────────────────────────────────────────────


def pack(model: nn.Module) -> dict[str, Tensor]:
    """Return each weight as integers from −127 to 127, with one scale for each row, by which to multiply them.

    The scales of `name` are in `name.scale`.
    """
    packed = {}
    for name, tensor in model.state_dict().items():
        rows = tensor.reshape(-1, tensor.shape[-1])
        scale = (rows.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-8)
        packed[name] = (rows / scale).round().to(torch.int8).reshape(tensor.shape)
        packed[f"{name}.scale"] = scale.squeeze(-1)
    return packed


def unpack(packed: dict[str, Tensor], names: Iterable[str]) -> dict[str, Tensor]:
    """Return the weights with these names from the result of `pack`, as float32."""
    return {name: _unpacked(packed[name], packed[f"{name}.scale"]) for name in names}


def _unpacked(integers: Tensor, scale: Tensor) -> Tensor:
    """Return a weight: each row of integers times its scale."""
    rows = integers.reshape(-1, integers.shape[-1]).float()
    return (rows * scale.unsqueeze(-1)).reshape(integers.shape)


def stack_steps(packed: dict[int, dict[str, Tensor]]) -> dict[str, Tensor]:
    """Stack the results of `pack` at several steps: one tensor per weight, and the numbers of the steps as "steps"."""
    stacked = {name: torch.stack([step[name] for step in packed.values()]) for name in next(iter(packed.values()))}
    return {"steps": torch.tensor(list(packed)), **stacked}


def load_checkpoint(model: Model, name: str | Path, step: int) -> Model:
    """Load the weights that a model had after this number of training steps, and return it.

    It is then in evaluation mode, without gradients.

    Raises:
        ValueError: there is no checkpoint after this step; the message lists the steps.
        FileNotFoundError: there is no such file.
    """
    tensors = load_file(weights_file(name))
    steps = tensors.pop("steps").tolist()
    if step not in steps:
        raise ValueError(f"expected one of the steps {steps}; got {step}")
    packed = {place: tensor[steps.index(step)] for place, tensor in tensors.items()}
    model.load_state_dict(unpack(packed, model.state_dict()))
    return model.eval().requires_grad_(False)


def checkpoint_steps(name: str | Path) -> list[int]:
    """Return the steps whose weights are in a file of checkpoints. Errors are those of `weights_file`."""
    steps: list[int] = load_file(weights_file(name))["steps"].tolist()
    return steps
