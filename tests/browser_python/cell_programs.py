"""Small programs of several cells, as a reader runs, edits and runs them again, and what a notebook prints.

`NOTEBOOKS` has the program's cells by its name. A cell that begins with a number and a colon is run in the place of the
cell with this number: the reader has edited that cell, or runs it again.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.lib.pretty import pretty

from qkv.sandboxed.isolation import undisturbed

HEAD = (
    "import copy, math, random\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn"
)
AGAIN = re.compile(r"(\d+): (.*)", re.DOTALL)

NOTEBOOKS: dict[str, list[str]] = {
    # What an object holds stays, whoever changes it.
    "an optimizer's step": [
        "w = nn.Parameter(torch.ones(1)); opt = torch.optim.SGD([w], lr=.5)",
        "(w * 2).sum().backward(); opt.step()",
        "print(w)",
    ],
    "an optimizer's step, three times": [
        "w = nn.Parameter(torch.ones(1)); opt = torch.optim.SGD([w], lr=.5, momentum=.9)",
        "opt.zero_grad(); (w * 2).sum().backward(); opt.step()",
        "2: opt.zero_grad(); (w * 2).sum().backward(); opt.step()",
        "2: opt.zero_grad(); (w * 2).sum().backward(); opt.step()",
        "w",
    ],
    "Adam goes on where it was": [
        "torch.manual_seed(0); m = nn.Linear(3, 1); opt = torch.optim.Adam(m.parameters(), lr=.1)",
        "x = torch.arange(6.).view(2, 3)",
        "for _ in range(3):\n    loss = m(x).square().mean(); opt.zero_grad(); loss.backward(); opt.step()",
        "3: for _ in range(2):\n    loss = m(x).square().mean(); opt.zero_grad(); loss.backward(); opt.step()",
        "print(round(loss.item(), 3))",
    ],
    "gradients add up until they are cleared": [
        "w = torch.ones(2, requires_grad=True)",
        "(w * 3).sum().backward()",
        "2: (w * 3).sum().backward()",
        "print(w.grad)",
        "w.grad = None",
        "print(w.grad)",
    ],
    "zero_": ["x = torch.ones(3)", "y = x[1:]", "y.zero_()", "x"],
    "a view is written": ["x = torch.arange(6).view(2, 3)", "x.T[0] = 9", "x"],
    "a write by index": ["x = torch.zeros(2, 2)", "x[0, 1] = 5", "x[1] += 2", "x"],
    "add_ twice": ["x = torch.ones(2)", "x.add_(1)", "2: x.add_(1)", "x"],
    "data of a parameter": ["m = nn.Linear(2, 1, bias=False)", "m.weight.data.fill_(2)", "print(m.weight)"],
    "init": ["m = nn.Linear(2, 2)", "nn.init.ones_(m.weight); nn.init.zeros_(m.bias)", "m(torch.ones(2))"],
    "copy_ without gradients": [
        "m = nn.Linear(2, 1)",
        "with torch.no_grad():\n    m.weight.copy_(torch.tensor([[1., 2.]])); m.bias.zero_()",
        "m(torch.ones(1, 2))",
    ],
    "eval": ["m = nn.Dropout(.5)", "m.eval()", "print(m.training); print(m(torch.ones(3)))"],
    "train after eval": [
        "m = nn.Sequential(nn.Linear(2, 2), nn.Dropout(.5))",
        "m.eval()",
        "m.train()",
        "m[1].training",
    ],
    "requires_grad_": ["m = nn.Linear(2, 1)", "m.requires_grad_(False)", "[p.requires_grad for p in m.parameters()]"],
    "load_state_dict": [
        "a, b = nn.Linear(1, 1), nn.Linear(1, 1)",
        "b.load_state_dict(a.state_dict())",
        "print(torch.equal(a.weight, b.weight))",
    ],
    "a stored state is a reference": [
        "m = nn.Linear(1, 1, bias=False); nn.init.ones_(m.weight)",
        "kept = m.state_dict()",
        "nn.init.zeros_(m.weight)",
        "kept",
    ],
    "a deep copy is not": [
        "m = nn.Linear(1, 1, bias=False); nn.init.ones_(m.weight)",
        "kept = copy.deepcopy(m)",
        "nn.init.zeros_(m.weight)",
        "print(kept.weight, m.weight)",
    ],
    "a buffer": [
        "class Count(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('n', torch.zeros(1))\n"
        "    def forward(self, x):\n        self.n += 1\n        return x * self.n",
        "m = Count()",
        "m(torch.ones(2))",
        "3: m(torch.ones(2))",
        "print(m.n, list(m.state_dict()))",
    ],
    "running averages": [
        "m = nn.BatchNorm1d(2)",
        "_ = m(torch.tensor([[1., 2.], [3., 6.]]))",
        "2: _ = m(torch.tensor([[1., 2.], [3., 6.]]))",
        "print(m.running_mean, m.num_batches_tracked)",
    ],
    "an attribute set by name": ["class A: pass", "a = A()", "setattr(a, 'x', 3)", "print(a.x)"],
    "a function that changes its argument": [
        "def train(m):\n    m.weight.data.zero_()",
        "m = nn.Linear(2, 1)",
        "train(m)",
        "print(m.weight)",
    ],
    "a list through another name": ["a = []", "b = a", "b.append(1)", "a"],
    "a list of losses": [
        "losses = []",
        "def log(x):\n    losses.append(round(x, 2))",
        "log(1 / 3)",
        "3: log(1 / 3)",
        "losses",
    ],
    "a dictionary": ["seen = {}", "seen['a'] = seen.get('a', 0) + 1", "2: seen['a'] = seen.get('a', 0) + 1", "seen"],
    "a default argument is one object": ["def f(x, kept=[]):\n    kept.append(x); return kept", "f(1)", "f(2)"],
    "a class attribute": ["class A:\n    made = 0\n    def __init__(self): A.made += 1", "A(); A()", "print(A.made)"],
    "a closure": [
        "def counter():\n    n = 0\n    def count():\n        nonlocal n; n += 1; return n\n    return count",
        "c = counter()",
        "c()",
        "3: c()",
        "c()",
    ],
    "a generator": ["g = iter([1, 2, 3])", "next(g)", "2: next(g)", "print(next(g))"],
    "a cache of keys and values": [
        "cache = []",
        "def step(x):\n    cache.append(x); return torch.stack(cache).mean(0)",
        "step(torch.tensor([1., 2.]))",
        "step(torch.tensor([3., 4.]))",
        "len(cache)",
    ],
    "NumPy shares the memory of a tensor": ["x = torch.zeros(3)", "a = x.numpy()", "a[0] = 7", "x"],
    "a tensor of an array": ["a = np.ones(2)", "x = torch.from_numpy(a)", "x += 1", "print(a)"],
    # What a cell sets for all.
    "random numbers go on": ["torch.manual_seed(0)", "x = torch.rand(1)", "print(x.item() == torch.rand(1).item())"],
    "the same seed, again": [
        "torch.manual_seed(0)",
        "x = torch.randn(3)",
        "1: torch.manual_seed(0)",
        "torch.equal(x, torch.randn(3))",
    ],
    "Python's random numbers": ["random.seed(1)", "a = random.random()", "b = random.random()", "print(a, a == b)"],
    "a setting of dtypes": [
        "torch.set_default_dtype(torch.float64)",
        "print(torch.ones(1).dtype)",
        "torch.set_default_dtype(torch.float32)",
        "torch.ones(1).dtype",
    ],
    "a setting of printing": [
        "torch.set_printoptions(precision=2)",
        "torch.tensor([1 / 3])",
        "torch.set_printoptions(precision=4)",
        "torch.tensor([1 / 3])",
    ],
    "gradients off for a while": [
        "w = torch.ones(1, requires_grad=True)",
        "torch.set_grad_enabled(False)",
        "print((w * 2).requires_grad)",
        "torch.set_grad_enabled(True)",
        "print((w * 2).requires_grad)",
    ],
    # Names.
    "a counter": ["n = 0", "n += 1", "2: n += 1", "2: n += 1", "n"],
    "an edited cell": ["a = 1", "b = a + 1", "1: a = 10", "b"],
    "an edited cell, and those below again": ["a = 1", "b = a + 1", "1: a = 10", "2: b = a + 1", "b"],
    "an edited function": ["def f(x):\n    return x", "y = f(2)", "1: def f(x):\n    return -x", "print(y, f(2))"],
    "an edited class keeps old objects": [
        "class A:\n    def say(self): return 'old'",
        "a = A()",
        "1: class A:\n    def say(self): return 'new'",
        "print(a.say(), A().say(), isinstance(a, A))",
    ],
    "a deleted name": ["a = 1", "del a", "print('a' in globals())"],
    "a name of the library": ["sum = 3", "print(sum)", "del sum", "sum([1, 2])"],
    "an imported name": ["from math import sqrt as root", "print(root(9))"],
    "a name that an error does not bind": ["a = 1", "a = 1 / 0", "print(a)"],
    "what stood before an error is bound": ["a = [1]; b = 2; c = a[5]; d = 3", "print(a, b, 'd' in globals())"],
    "a loop's variable stays": ["for i in range(3):\n    square = i * i", "print(i, square)"],
    "an assertion that fails": ["x = torch.ones(2)", "assert x.sum() == 3, 'not three'", "x.sum()"],
    "the value of a last line": ["x = torch.arange(3)", "x * 2; x + 1", "x.shape"],
    "a module with a hook": [
        "m = nn.Linear(1, 1); shapes = []",
        "handle = m.register_forward_hook(lambda m, x, y: shapes.append(tuple(y.shape)))",
        "_ = m(torch.ones(4, 1))",
        "handle.remove()",
        "_ = m(torch.ones(5, 1))",
        "shapes",
    ],
}


def runs(cells: list[str]) -> list[tuple[int, list[str]]]:
    """Return the place of each cell that is run, and all cells as they are then."""
    page: list[str] = []
    found = []
    for cell in cells:
        again = AGAIN.fullmatch(cell)
        place = int(again[1]) - 1 if again else len(page)
        page[place : place + 1] = [again[2] if again else cell]
        found.append((place, list(page)))
    return found


class Shell(InteractiveShell):
    """IPython's shell, which prints the value of a cell's last line as a notebook shows it, and of an error its end."""

    def init_displayhook(self) -> None:
        super().init_displayhook()
        self.display_trap.hook = lambda value: None if value is None else print(pretty(value))

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        kind, error, _ = sys.exc_info()
        assert kind is not None
        print(f"{kind.__name__}: {error}")


def printed_in_a_notebook(cells: list[str]) -> list[str]:
    """Return what each run of a cell prints in a notebook, with torch."""
    shell, found = Shell(), []
    with undisturbed():
        for place, page in [(0, [HEAD]), *runs(cells)]:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                shell.run_cell(page[place])
            found.append(printed.getvalue())
    return found[1:]
