"""Write the names that PyTorch and NumPy have and the page's versions lack: `python tools/names.py`.

The page says of these that it lacks them. For a name that is not theirs, either, the page raises their AttributeError.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "browser_python" / "torch" / "names.py"
MODULES = """
torch torch.accelerator torch.autograd torch.autograd.functional torch.backends torch.backends.cuda
torch.backends.cudnn torch.backends.mps torch.cuda torch.distributions torch.linalg torch.nn torch.nn.functional
torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.optim torch.optim.lr_scheduler torch.random torch.special
torch.testing torch.utils torch.utils.data numpy numpy.linalg numpy.random
"""
CLASSES = """
torch.Tensor torch.nn.Module torch.optim.Optimizer torch.optim.lr_scheduler.LRScheduler torch.utils.data.DataLoader
torch.distributions.Categorical numpy.ndarray numpy.generic numpy.random.Generator numpy.random.RandomState
"""
LAYERS = """
torch.nn.GRU torch.nn.LSTM torch.nn.RNN torch.nn.Sequential torch.nn.ModuleList torch.nn.ModuleDict
torch.nn.ParameterList torch.nn.ParameterDict torch.nn.MultiheadAttention torch.nn.LazyLinear
"""
HEAD = '"""The names that PyTorch and NumPy have and the page lacks, as `python tools/names.py` wrote them."""\n'


def at(place: str) -> Any:
    first, *more = place.split(".")
    return reduce(getattr, more, import_module(first))


def own_names() -> dict[str, list[str]]:
    """Return the names where this runs: of modules, public ones; of classes, all but special ones."""
    hidden = dict.fromkeys(MODULES.split(), "_") | dict.fromkeys((CLASSES + LAYERS).split(), "__")
    return {place: [n for n in dir(at(place)) if not n.startswith(start)] for place, start in hidden.items()}


def names(path: str) -> dict[str, list[str]]:
    """Return the names of modules and classes as a new interpreter sees them.

    It finds modules in the folder `path` first.
    """
    code = "import json; from tools.names import own_names; print(json.dumps(own_names()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, str(ROOT), str(ROOT / "src")])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def lacking() -> dict[str, list[str]]:
    """Return the names that PyTorch and NumPy have and the page lacks, by the module or class.

    Of a layer, the names that all modules have do not count.
    """
    theirs, page = names(""), names(str(ROOT / "browser_python"))
    found = {}
    for place, own in theirs.items():
        known = {*page[place], *(theirs["torch.nn.Module"] if place in LAYERS.split() else ())}
        title = place if place in MODULES.split() else place.rpartition(".")[2]
        found[title] = [n for n in own if n not in known]
    return {title: own for title, own in found.items() if own}


def main() -> None:
    lines = [f'    "{title}": """\n{textwrap.fill(" ".join(own), 120)}\n""",\n' for title, own in lacking().items()]
    TARGET.write_text(f"{HEAD}\nNAMES = {{\n{''.join(lines)}}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
