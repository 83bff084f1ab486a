"""Modules of linear layers: the weights that are loaded into them, and a mistake in `__init__`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from qkv.questions.engine import Draw, mistake


def draw_layers(draw: Draw, d_model: int, widths: dict[str, int], dtype: torch.dtype) -> dict[str, Tensor]:
    """Return a random weight (width, d_model) and bias (width,) for each named layer: `name.weight`, `name.bias`.

    The weights are scaled so that x @ weight.mT keeps the variance of x.
    """
    layers = {}
    for name, width in widths.items():
        layers[f"{name}.weight"] = draw.normal(width, d_model, dtype=dtype, scale=d_model**-0.5)
        layers[f"{name}.bias"] = draw.normal(width, dtype=dtype, scale=0.5)
    return layers


class NoSuperInit(nn.Module):
    def __init__(self, d_model: int, *sizes: int) -> None:
        self.w_q = nn.Linear(d_model, d_model)


NO_SUPER_INIT = mistake("no-super-init", NoSuperInit)
