"""Large tensors on the page: the loops of its JavaScript give what torch gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from page.in_node import Interpreter, interpreter

MAKE = "import torch\ntorch.manual_seed(0)\nx = torch.randn(80, 90)\n"
PROGRAMS = """
x.max()
x.min()
x.max(-1).values[:3]
x.amax()
x.amin(0)[:3]
x.sum(-1)[:3]
x.mean()
x.abs().log()[0, :3]
x.softmax(-1)[0, :3]
(x @ x.mT)[0, :3]
(x.mT * 2 + 1)[0, :3]
(x / x[:1])[1, :3]
(2 - x.mT)[0, :3]
torch.maximum(x, -x)[0, :3]
torch.minimum(x, x.flip(0))[0, :3]
x.mT.contiguous()[0, :3]
x.sigmoid()[0, :3]
torch.rand(5000, dtype=torch.float64)[-2:]
torch.randn(5001)[-2:]
"""


@pytest.fixture(scope="module")
def python() -> Iterator[Interpreter]:
    with interpreter() as started:
        yield started


def test_large_tensors_give_the_same(python: Interpreter):
    torch.manual_seed(0)
    other = {}
    for program in PROGRAMS.strip().splitlines():
        found = python.ask([MAKE + program])
        names: dict[str, object] = {}
        exec(MAKE, names)
        want = f"{eval(program, names)!r}\n"
        if (found["printed"], found["problem"]) != (want, ""):
            other[program] = found["printed"] + found["problem"], want
    assert not other
