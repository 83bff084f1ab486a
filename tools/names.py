"""Write the names that only PyTorch and NumPy have (`NAMES`), or only the page (`OWN`): `python tools/names.py`.

The page says of the first that it lacks them. For any other name, it raises an AttributeError, as they do.
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
HEAD = '"""The names that only PyTorch and NumPy have, or only the page, as `python tools/names.py` wrote them."""\n'


def at(place: str) -> Any:
    first, *more = place.split(".")
    return reduce(getattr, more, import_module(first))


def own_names() -> dict[str, list[str]]:
    """Return the names of each module and class where this runs.

    Of modules, they are the public ones; of classes, all but special ones.
    """
    hidden = dict.fromkeys(MODULES.split(), "_") | dict.fromkeys((CLASSES + LAYERS).split(), "__")
    return {place: [n for n in names_at(place) if not n.startswith(start)] for place, start in hidden.items()}


def names_at(place: str) -> list[str]:
    """Return what a module or class has; on the page, `dir` also lists what is missing."""
    found = at(place)
    if isinstance(found, type):
        return list(type.__dir__(found))
    if getattr(found.__dir__, "__name__", "") == "names_there":
        return sorted(vars(found))
    return [*dir(found), *(name for name in getattr(found, "_lazy_modules", ()) if name not in dir(found))]


def names(path: str) -> dict[str, list[str]]:
    """Return the names of modules and classes as a new interpreter sees them.

    It finds modules in the folder `path` first.
    """
    code = "import json; from tools.names import own_names; print(json.dumps(own_names()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, str(ROOT), str(ROOT / "src")])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def lacking() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the names that the page lacks, by module or class, and those that only its modules have, by module.

    A class is called by the last part of its name. Of a layer, only names that `torch.nn.Module` does not have count.
    What would have no names is left out.
    """
    theirs, page = names(""), names(str(ROOT / "browser_python"))
    missing, more = {}, {}
    for place, own in theirs.items():
        known = {*page[place], *(theirs["torch.nn.Module"] if place in LAYERS.split() else ())}
        title = place if place in MODULES.split() else place.rpartition(".")[2]
        missing[title] = sorted({*own} - known)
        more[title] = sorted({*page[place]} - {*own}) if place in MODULES.split() else []
    return drop_empty(missing), drop_empty(more)


def drop_empty(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {title: own for title, own in found.items() if own}


def main() -> None:
    """Write both results of `lacking` to browser_python/torch/names.py, as `NAMES` and `OWN`."""
    text = HEAD
    for variable, found in zip(("NAMES", "OWN"), lacking(), strict=True):
        lines = [f'    "{title}": """\n{textwrap.fill(" ".join(own), 120)}\n""",\n' for title, own in found.items()]
        text += f"\n{variable} = {{\n{''.join(lines)}}}\n"
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
