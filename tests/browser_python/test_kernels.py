"""Larger tensors on the page: the loops of its JavaScript give what torch gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from IPython.lib.pretty import pretty

from browser_python.in_node import Interpreter, interpreter

MAKE = """import torch
torch.manual_seed(0)
x = torch.randn(80, 90)
y = x[2:9, 3:14]  # begins inside its storage, with gaps between its rows
odd = torch.tensor([torch.inf, -torch.inf, torch.nan, 0.0, -0.0, 1.0, -2.0, 800.0]).repeat(2, 5)
"""
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
y.exp()[0, :3]
(y + y.mT.contiguous().mT)[-1, :3]
(y * x[:7, :11])[0, -3:]
(y @ y.mT)[-1, :3]
(y.double() @ x[:11, 4:9].double())[-1]
y.T.contiguous().view(-1)[:3]
y.sum(0)[:3]
y.softmax(0)[0, :3]
y.expand(2, 7, 11).amax(1)[1, :3]
odd[0, :8].exp(), odd.exp()[1, :8]
odd.log()[1, :8]
odd.sqrt()[1, :8]
odd.sin()[1, :8]
(1 / odd)[1, :8]
(odd / odd.flip(1))[1, :8]
odd.sigmoid()[1, :8]
odd.relu()[1, :8]
odd.maximum(odd.flip(1))[1, :8]
odd.amax(1)
odd.nan_to_num().softmax(1)[1, :8]
torch.rand(7, 9)[-1]
torch.rand(5000, dtype=torch.float64)[-2:]
torch.randn(5001)[-2:]
torch.randn(5001).abs().log().min()  # where an angle that is rounded otherwise shows
"""


@pytest.fixture(scope="module")
def python() -> Iterator[Interpreter]:
    with interpreter() as started:
        yield started


def test_larger_tensors_give_the_same(python: Interpreter):
    torch.manual_seed(0)
    other = {}
    for program in PROGRAMS.strip().splitlines():
        found = python.ask([MAKE + program])
        names: dict[str, object] = {}
        exec(MAKE, names)
        want = f"{pretty(eval(program, names))}\n"  # as a notebook shows it
        if (found["printed"], found["problem"]) != (want, ""):
            other[program] = found["printed"] + found["problem"], want
    assert not other
