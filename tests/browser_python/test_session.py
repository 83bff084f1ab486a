"""Python on a page works as a notebook: names stay, checks start from a clean interpreter, and nothing ends it."""

from __future__ import annotations

import random
import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from IPython.lib.pretty import pretty
from torch import nn

from browser_python.in_node import Interpreter, interpreter
from browser_python.runtime import showing
from tests.browser_python.cell_programs import AGAIN, HEAD, NOTEBOOKS, printed_in_a_notebook, runs


@pytest.fixture(scope="module")
def python() -> Iterator[Interpreter]:
    with interpreter() as python:
        yield python


FORGET = """import notebook, pristine, sys
for owner, then, _ in notebook.session.pristine.changes():
    pristine.assign(owner, then)
notebook.session.names = {"__name__": "__main__"}
sys.setrecursionlimit(notebook.session.pristine.depth)
notebook.session.ran = set()
"""


@pytest.fixture
def shared(python: Interpreter) -> Interpreter:
    """Return an interpreter whose cells have made nothing, without the seconds of a new one."""
    assert printed(python, FORGET) == ""
    return python


def printed(python: Interpreter, *cells: str) -> str:
    """Run the last of these cells, and return what it printed, and its error."""
    found = python.ask(list(cells))
    return f"{found['printed']}{found['problem']}"


IMPORTS = "from torch import nn\nimport torch"


ADDRESS = re.compile("0x[0-9a-f]+")


def shown(found: dict[str, Any]) -> str:
    """Return what the page prints for a cell, and of an error its last line."""
    return found["printed"] + "".join(f"{line}\n" for line in found["problem"].strip().splitlines()[-1:])


def without_addresses(printed: list[str]) -> list[str]:
    return [ADDRESS.sub("0x…", text) for text in printed]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_print_what_they_print_in_a_notebook(shared: Interpreter, name: str):
    cells = NOTEBOOKS[name]
    shared.ask([HEAD])
    page = [shown(shared.ask([HEAD, *page[: place + 1]])) for place, page in runs(cells)]
    assert without_addresses(page) == without_addresses(printed_in_a_notebook(cells))


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if not any(map(AGAIN.fullmatch, NOTEBOOKS[name]))])
def test_the_last_cell_runs_those_above_it_first(shared: Interpreter, name: str):
    cells = NOTEBOOKS[name]
    assert shown(shared.ask([HEAD, *cells])) == printed_in_a_notebook(cells)[-1]


class A:
    """A class without `__repr__`, whose objects a notebook shows by an address."""


def named(x, *, y=2):
    """Have a name and arguments, which a notebook shows."""


def drawn_value(draw: random.Random, depth: int) -> Any:
    """Draw lists, dictionaries, sets and tensors inside each other, of any width."""
    kind = draw.randrange(9 if depth else 4)
    inner = [kind > 4 and drawn_value(draw, depth - 1) for _ in range(draw.randrange(7))]
    numbers = [draw.randrange(100) for _ in inner]
    return [
        draw.randrange(10 ** draw.randrange(1, 12)),
        "x" * draw.randrange(25),
        draw.random(),
        torch.full((draw.randrange(1, 4), draw.randrange(1, 5)), 0.5),
        set(numbers),
        inner,
        tuple(inner),
        dict(zip(numbers, inner, strict=True)),
        OrderedDict(zip(map(str, numbers), inner, strict=True)),
    ][kind]


def test_the_value_of_a_last_line_has_the_text_that_a_notebook_shows():
    draw = random.Random(0)
    values = [*(drawn_value(draw, 4) for _ in range(500)), list(range(2000)), (1,), (), {}, set(), frozenset({2, 1})]
    for value in [*values, {"b", 1}, A, A(), [A()], named, len, int, torch.Size([2]), nn.Linear(1, 2).state_dict()]:
        assert showing.shown(value) == pretty(value)


def test_a_list_that_contains_itself_is_shown(shared: Interpreter):
    assert printed(shared, "x = [1]; x.append(x)", "x") == "[1, [...]]\n"


def test_a_cell_that_is_run_again_goes_on(shared: Interpreter):
    found = [shared.ask(["n = 0", "n += 1; print(n)"]) for _ in range(3)]
    assert [one["printed"] for one in found] == ["1\n", "2\n", "3\n"]
    assert [one["above"] for one in found] == [1, 0, 0]
    assert printed(shared, "n = 10", "n += 1; print(n)") == "11\n"  # an edited cell above has not run


def test_a_restart_forgets(shared: Interpreter):
    shared.ask(["kept = 1"])
    shared.close()
    assert "NameError: name 'kept' is not defined" in printed(shared, "print(kept)")


def test_an_error_above_is_named_where_a_name_is_missing(shared: Interpreter):
    problem = shared.ask(["def f(:\n    pass", "print(f())"])["problem"]
    assert "NameError: name 'f' is not defined" in problem
    assert "its end: SyntaxError" in problem
    assert shared.ask(["1 / 0", "print(1)"])["problem"] == ""


# A check refuses the course's own answers. Here, `borrowed` is replaced so that they are accepted.
REFERENCE = """from qkv.questions import find
from qkv.sandboxed import answers
answers.find_borrowed_name = lambda answer: ""
answer = find("3.3").reference
"""


@pytest.mark.parametrize(
    "change",
    [
        "torch.set_default_dtype(torch.float64)",
        "math.pi = 3; math.sqrt = None",
        "torch.softmax = None; torch.Tensor.softmax = None",
        "torch.set_grad_enabled(False)",
        "import builtins; builtins.sum = max",
        "nn.Linear.forward = lambda self, x: x",
        "del torch.Tensor.matmul",
        "import sys; sys.setrecursionlimit(60)",
    ],
)
def test_what_cells_change_does_not_enter_a_check(shared: Interpreter, change: str):
    cells = [IMPORTS, REFERENCE]
    assert shared.ask(cells, question="3.3", name="answer")["status"] == "passed"
    assert shared.ask([f"{IMPORTS}, math", change])["problem"] == ""
    assert shared.ask(cells, question="3.3", name="answer")["status"] == "passed"
    assert printed(shared, "import math", "1", "print(math.pi == 3)") == f"{'math.pi' in change}\n"


def test_a_check_runs_the_trained_model(shared: Interpreter):
    shown = shared.ask([IMPORTS, REFERENCE], question="3.3", name="answer")["html"]
    assert "Right in 100 of 100 new sentences." in shown


# Answers that mix tokens, by question, and the line that mixes them.
MIXING = {
    "5.1": (
        "def answer(x, n_heads):\n    return x.view(len(x), n_heads, x.shape[1], -1)",
        "Line 2: <code>return x.view(len(x), n_heads, x.shape[1], -1)</code>",
    ),
    "8.1": (
        "def answer(x, gain, bias, eps=1e-5):\n"
        "    centred = x - x.mean(-2, keepdim=True)\n"
        "    return centred / (centred.square().mean(-2, keepdim=True) + eps).sqrt() * gain + bias",
        "Line 2: <code>centred = x - x.mean(-2, keepdim=True)</code>",
    ),
}


@pytest.mark.parametrize("question", MIXING)
def test_a_card_has_the_line_that_mixes_tokens(shared: Interpreter, question: str):
    answer, line = MIXING[question]
    shown = shared.ask([IMPORTS, answer], question=question, name="answer")["html"]
    assert f"</summary><p>{line}" in shown


ENDLESS_IN_THE_MODEL = """def answer(q, k, v):
    while q.ndim == 4 and q.shape[-1] == 16:  # as in the tagger alone
        pass
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return weights @ v, weights
"""


@pytest.mark.slow
def test_an_answer_that_is_endless_in_the_model_alone_ends_and_keeps_its_points(shared: Interpreter):
    found = shared.ask([IMPORTS, ENDLESS_IN_THE_MODEL], question="3.3", name="answer")
    assert found["status"] == "passed"
    assert "new sentences" not in found["html"]


# The loop of an answer, while the clock goes on by a second at each reading: the first one begins the time.
ENDLESS = """import itertools, time
from qkv.sandboxed.time_limit import TimeUp, at_most
turns, ticks, clock = [], itertools.count(), time.monotonic
def answer():
    while True:
        turns.append(1)
time.monotonic = lambda: next(ticks)
try:
    with at_most(20):
        answer()
except TimeUp as limit:
    print(limit, len(turns))
finally:
    time.monotonic = clock
"""


def test_the_clock_ends_a_loop_after_four_times_the_limit_so_that_a_busy_machine_costs_no_points(shared: Interpreter):
    assert printed(shared, ENDLESS) == "80 s 81\n"


DEEP = {
    "forward": "class A(nn.Module):\n    def forward(self, x):\n        return self(x)\nA()(torch.ones(1))",
    "__getattr__": "class A:\n    def __getattr__(self, name):\n        return self.other\nA().x",
    "a key of sorted": "def f(x):\n    return sorted([1, 2], key=f)\nf(1)",
    "a function": "def f(x):\n    return f(x)\nf(1)",
}


@pytest.mark.parametrize("name", DEEP)
def test_endless_recursion_is_an_error(shared: Interpreter, name: str):
    assert "RecursionError" in printed(shared, IMPORTS, DEEP[name])
    assert printed(shared, IMPORTS, "print(1)") == "1\n"


def test_a_long_graph_can_be_made_and_left(shared: Interpreter):
    loop = "w = torch.ones(3, requires_grad=True)\nloss = 0\nfor _ in range(5000):\n    loss = loss + (w * 2).sum()\n"
    assert printed(shared, IMPORTS, loop + "print(loss.item())") == "30000.0\n"
    assert printed(shared, IMPORTS, loop + "loss.backward(); print(w.grad[0].item()); del loss") == "10000.0\n"
    assert printed(shared, IMPORTS, "loss = None; print(2)") == "2\n"


def test_modules_inside_each_other_and_recursion_that_ends_work(shared: Interpreter):
    nested = "m = nn.Linear(2, 2)\nfor _ in range(30):\n    m = nn.Sequential(m)\nprint(m(torch.ones(2)).shape)"
    assert printed(shared, IMPORTS, nested) == "torch.Size([2])\n"
    assert printed(shared, "def f(n):\n    return n and 1 + f(n - 1)\nprint(f(900))") == "900\n"
    tree = "def f(n):\n    return 1 + sum(f(n - 1) for _ in range(1)) if n else 0\nprint(f(12))"
    assert printed(shared, tree) == "12\n"


def test_an_error_without_a_line_of_a_cell_is_shown(shared: Interpreter):
    assert "`torch.nn.EmbeddingBag` is not in the page's torch" in printed(shared, "from torch.nn import EmbeddingBag")
    assert printed(shared, "open('/lib/notebook.py')").splitlines()[-1].startswith("FileNotFoundError")


ONLY_IN_A_NOTEBOOK = {
    "x = 1\n%matplotlib inline": "`%matplotlib inline` is a command for a notebook.",
    "!pip install einops": "`!pip install einops` is a command for a notebook.",
    "import asyncio\nawait asyncio.sleep(0)": "This page runs `await` only inside `async def`",
    "name = input('Your name? ')": "EOFError: This page cannot ask for `input()`",
}


@pytest.mark.parametrize("cell", ONLY_IN_A_NOTEBOOK)
def test_what_runs_only_in_a_notebook_is_said_in_words(shared: Interpreter, cell: str):
    assert printed(shared, cell).splitlines()[-1].startswith(ONLY_IN_A_NOTEBOOK[cell])


def test_another_error_of_the_syntax_has_no_such_words(shared: Interpreter):
    assert printed(shared, "x = 5 %\n").splitlines()[-1] == "SyntaxError: invalid syntax"
    assert printed(shared, "print('%d' % 5)") == "5\n"


NOT_HERE = {
    "torch.compile": "import torch\n@torch.compile\ndef answer(q, k, v): ...",
    "torch.func": "from torch.func import vmap\ndef answer(q, k, v): ...",
    "torch.vmap": "from torch import vmap\ndef answer(q, k, v): ...",
    "einops": "def answer(q, k, v):\n    import einops",
    "torch.polar": "import torch\ndef answer(q, k, v):\n    return torch.polar(q, k)",
    "torch.complex64": "import torch\ndef answer(q, k, v):\n    return q.to(torch.complex64)",
    "Tensor.svd": "def answer(q, k, v):\n    return q.svd()",
    "nested": "import torch\ndef answer(q, k, v):\n    return torch.nested.nested_tensor([q])",
    "multi_head_attention_forward": (
        "import torch.nn.functional as F\ndef answer(q, k, v):\n    return F.multi_head_attention_forward(q, k, v)"
    ),
    "jacobian": (
        "import torch\ndef answer(q, k, v):\n"
        "    return torch.autograd.functional.jacobian(lambda x: x @ k.mT, q, create_graph=True)"
    ),
    "meta": "import torch\ndef answer(q, k, v):\n    return torch.empty(2, device='meta')",
    "numpy.fft": "import numpy\ndef answer(q, k, v):\n    return numpy.fft.fft(q)",
    "'some_argument' of `softmax`": "def answer(q, k, v):\n    return q.softmax(-1, some_argument=1)",
    "'some_argument' of `Linear`": (
        "from torch import nn\ndef answer(q, k, v):\n    return nn.Linear(4, 4, some_argument=1)(q)"
    ),
    "caught": "def answer(q, k, v):\n    try:\n        return q.svd()\n    except AttributeError:\n        return q",
}


@pytest.mark.parametrize("part", NOT_HERE)
def test_an_answer_that_uses_what_the_page_lacks_is_not_judged(shared: Interpreter, part: str):
    found = shared.ask([NOT_HERE[part]], question="3.3", name="answer")
    assert (found["status"], found["points"], found["misconception"]) == ("not attempted", 0, None)
    assert "not judged here" in found["html"]
    assert "points" not in found["html"]
    assert part in found["message"] or part == "caught"


@pytest.mark.parametrize(
    "answer",
    [
        "def answer(q, k, v):\n    return v, q",
        "def answer(q, k, v):\n    return hasattr(q, '__array_ufunc__')",
        "def answer(q, k, v):\n    return q @ k  # raises",
        "def answer(q, k, v):\n    return softmax(q, dims=1)\ndef softmax(x, dim): return x",
        "answer = 3",
    ],
)
def test_a_wrong_answer_is_judged_whatever_cells_above_lack(shared: Interpreter, answer: str):
    above = "import torch\ntorch.polar"
    assert shared.ask([above, answer], question="3.3", name="answer")["status"] in ("failed", "error")


EXACT = """import torch
def answer(module):
    x = torch.randn(3, 5, 12)
    order = torch.tensor([3, 0, 4, 1, 2])
    out, alone, shuffled = module(x)[0], module(x[:1])[0], module(x[:, order])[0]
    nudged = module(torch.cat([x[:, :-1], x[:, -1:] + 2], dim=1))[0]
    near = lambda a, b: torch.allclose(a, b, atol=1e-4)
    return not (SAME(alone, out[:1]) and near(shuffled, out[:, order])) or near(nudged[:, 0], out[:, 0])
"""


@pytest.mark.parametrize(
    ("same", "status"),
    [("torch.equal", "failed"), ("near", "passed")],
)
def test_a_test_that_compares_every_bit_fails_as_in_torch(shared: Interpreter, same: str, status: str):
    assert shared.ask([EXACT.replace("SAME", same)], question="5.6", name="answer")["status"] == status
