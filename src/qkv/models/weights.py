"""Where trained weights lie, and how they are written and read: safetensors, 16 bits a number.

Weights are rounded to 16 bits when training ends. So Python, the page and every test compute
with the same numbers, and what is measured holds for all of them.
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
    """A model that knows how large it is."""

    @property
    def shape(self) -> TransformerShape: ...

    def state_dict(self) -> dict[str, Tensor]: ...


def weights_file(name: str | Path) -> Path:
    """Find the weights of that name that come with the course; a path stays what it is.

    Raises:
        FileNotFoundError: there are none; the message lists the names.
    """
    path = name if isinstance(name, Path) else FOLDER / f"{name}.safetensors"
    if not path.exists():
        names = ", ".join(sorted(file.stem for file in FOLDER.glob("*.safetensors")))
        raise FileNotFoundError(f"there are no weights {path}; the course has {names}")
    return path


def load_weights(model: Model, name: str | Path) -> Model:
    """Give a model its trained weights, in float32, and switch training off."""
    tensors = load_file(weights_file(name))
    model.load_state_dict({place: tensor.float() for place, tensor in tensors.items()})
    return model.eval().requires_grad_(False)


def round_weights(model: Model) -> Model:
    """Round every weight to the nearest number of 16 bits."""
    return model.half().float().eval().requires_grad_(False)


def save_weights(model: Shaped, path: Path) -> None:
    """Write a model's weights as 16-bit numbers, and its number of heads, which no weight tells."""
    save({place: tensor.half() for place, tensor in model.state_dict().items()}, path, model.shape.n_heads)


def save(tensors: dict[str, Tensor], path: Path, n_heads: int) -> None:
    """Write tensors by their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    path.write_bytes(to_bytes(contiguous, {"n_heads": str(n_heads)}))


# ── in 8 bits: for many checkpoints ───────────────────────────────────────────────────────────────


def pack(model: nn.Module) -> dict[str, Tensor]:
    """Write each row of each weight as integers from −127 to 127, and one scale for the row."""
    packed = {}
    for name, tensor in model.state_dict().items():
        rows = tensor.reshape(-1, tensor.shape[-1])
        scale = (rows.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-8)
        packed[name] = (rows / scale).round().to(torch.int8).reshape(tensor.shape)
        packed[f"{name}.scale"] = scale.squeeze(-1)
    return packed


def unpack(packed: dict[str, Tensor], names: Iterable[str]) -> dict[str, Tensor]:
    """Read the weights of those names that `pack` wrote, in float32."""
    return {name: _unpacked(packed[name], packed[f"{name}.scale"]) for name in names}


def _unpacked(integers: Tensor, scale: Tensor) -> Tensor:
    """Multiply each row of integers by its scale."""
    rows = integers.reshape(-1, integers.shape[-1]).float()
    return (rows * scale.unsqueeze(-1)).reshape(integers.shape)


def stack_steps(packed: dict[int, dict[str, Tensor]]) -> dict[str, Tensor]:
    """Put what `pack` wrote at several steps into one tensor a weight; "steps" says which steps these are."""
    stacked = {name: torch.stack([step[name] for step in packed.values()]) for name in next(iter(packed.values()))}
    return {"steps": torch.tensor(list(packed)), **stacked}


def load_checkpoint(model: Model, name: str | Path, step: int) -> Model:
    """Give a model the weights that it had after so many steps of its training.

    Raises:
        ValueError: there is no checkpoint after that step; the message lists those that there are.
    """
    tensors = load_file(weights_file(name))
    steps = tensors.pop("steps").tolist()
    if step not in steps:
        raise ValueError(f"expected one of the steps {steps}; got {step}")
    packed = {place: tensor[steps.index(step)] for place, tensor in tensors.items()}
    model.load_state_dict(unpack(packed, model.state_dict()))
    return model.eval().requires_grad_(False)


def checkpoint_steps(name: str | Path) -> list[int]:
    """List the steps whose weights a file of checkpoints holds."""
    steps: list[int] = load_file(weights_file(name))["steps"].tolist()
    return steps
