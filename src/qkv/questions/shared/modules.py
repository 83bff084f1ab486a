"""Modules of linear layers: what is loaded into them, and mistakes in how a module is made."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from qkv.questions.engine import Draw, mistake


def draw_layers(draw: Draw, d_model: int, widths: dict[str, int], dtype: torch.dtype) -> dict[str, Tensor]:
    """Draw a weight and a bias for the layer of each name; the weights keep unit variance."""
    given = {}
    for name, width in widths.items():
        given[f"{name}.weight"] = draw.normal(width, d_model, dtype=dtype, scale=d_model**-0.5)
        given[f"{name}.bias"] = draw.normal(width, dtype=dtype, scale=0.5)
    return given


class NoSuperInit(nn.Module):
    def __init__(self, d_model: int, *sizes: int) -> None:
        self.w_q = nn.Linear(d_model, d_model)


NO_SUPER_INIT = mistake("no-super-init", NoSuperInit)
