"""Write the names that PyTorch and NumPy have: `python tools/names.py`. The page says of these that it lacks them.

For a name that they lack, too, the page raises their AttributeError.
"""

from __future__ import annotations

import sys
import textwrap
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from torch import nn

TARGET = Path(__file__).resolve().parents[1] / "browser_python" / "torch" / "names.py"
MODULES = """
torch torch.accelerator torch.autograd torch.autograd.function torch.autograd.functional torch.backends
torch.backends.cuda torch.backends.cudnn torch.backends.mps torch.cuda torch.distributions torch.linalg torch.nn
torch.nn.functional torch.nn.init torch.nn.parameter torch.nn.utils torch.nn.utils.rnn torch.optim
torch.optim.lr_scheduler torch.overrides torch.random torch.special torch.testing torch.utils torch.utils.data numpy
numpy.linalg numpy.random
"""
CLASSES: tuple[type, ...] = (torch.Tensor, nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)
CLASSES += (torch.utils.data.DataLoader, torch.distributions.Categorical, np.ndarray, np.generic, np.random.Generator)
CLASSES += (np.random.RandomState, nn.GRU, nn.LSTM, nn.RNN, nn.Sequential, nn.ModuleList, nn.ModuleDict)
CLASSES += (nn.ParameterList, nn.ParameterDict, nn.MultiheadAttention, nn.LazyLinear)
HEAD = (
    '"""The names that PyTorch and NumPy have, as `python tools/names.py` wrote them; of modules, the public ones."""\n'
)


def names() -> dict[str, list[str]]:
    """Return the public names of modules, and those of classes but for special ones; of layers, the additional ones."""
    found = {place: [n for n in dir(import_module(place)) if not n.startswith("_")] for place in MODULES.split()}
    for kind in CLASSES:
        known = set(dir(nn.Module)) if issubclass(kind, nn.Module) and kind is not nn.Module else set()
        found[kind.__name__] = [n for n in dir(kind) if not n.startswith("__") and n not in known]
    return found


def text() -> str:
    lines = [f'    "{place}": """\n{textwrap.fill(" ".join(found), 120)}\n""",\n' for place, found in names().items()]
    return f"{HEAD}\nNAMES = {{\n{''.join(lines)}}}\n"


if __name__ == "__main__":
    print(text(), end="") if "--print" in sys.argv else TARGET.write_text(text(), encoding="utf-8")
