"""The page's torch gives what torch gives: numbers, kinds, shapes, errors, text and random streams."""

from __future__ import annotations

import ast
import re
from abc import ABC
from inspect import signature
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from browser_python import torch as page_torch
from browser_python.torch import names as listed
from browser_python.torch.utils._python_dispatch import TorchDispatchMode
from tests.browser_python.both import BOTH, differences
from tools import names

# Some of these programs use what torch itself warns of.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

X = "x = torch.arange(24.).reshape(2, 3, 4) / 7 - 1.3\n"

CREATION = """
torch.tensor([[1, 2], [3, 4]])
torch.tensor([1, 2.5])
torch.tensor([True, False])
torch.tensor([])
torch.tensor([[1, 2], [3]])
torch.tensor([1, [2]])
torch.tensor([[1], 2])
torch.tensor([1, [2, 3]])
torch.tensor([[1], [[2]]])
torch.tensor([[], [1]])
torch.tensor([torch.tensor(1.0), torch.tensor(2, dtype=torch.float64)])
torch.tensor([torch.ones(2), torch.ones(2)])
torch.tensor([True, 2]), torch.tensor([1.0, True]), torch.tensor([1, 2.5], dtype=torch.int64)
torch.tensor(["a"])
torch.tensor([2**70])
torch.tensor(300, dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8)
torch.tensor([1.0], torch.float64)
torch.as_tensor([1.0], torch.float64)
torch.scalar_tensor(3)
torch.Tensor(2, 3).shape, torch.Tensor(2).shape, torch.Tensor([2]), torch.Tensor()
torch.full(2, 3)
torch.full((2,), 3, torch.float64)
torch.full(size=(2,), fill_value=3), torch.zeros(size=(2, 3)), torch.rand(size=(2,))
torch.zeros()
torch.zeros(True)
torch.eye(-1)
torch.eye(2, 3, torch.int64)
torch.eye(2, requires_grad=True).requires_grad, torch.arange(3.0, requires_grad=True).requires_grad
torch.arange(5, requires_grad=True)
torch.arange(0, 5, 2, torch.float32)
torch.arange(end=5), torch.arange(1, 5, step=2)
torch.arange(0, 5, 0)
torch.arange(2, dtype=torch.bool)
torch.linspace(0, 1, 3, torch.float64)
torch.linspace(0, 1, 3, requires_grad=True).requires_grad, torch.logspace(0, 2, 3, 2)
torch.zeros_like(x, requires_grad=True).requires_grad, torch.full_like(x, 2.0, requires_grad=True).requires_grad
torch.zeros_like(x, torch.int64)
torch.tensor([math.nan, math.inf, 3e9, -1e20]).int(), torch.tensor([math.nan, 1e20, 3e9]).long()
torch.randn_like(torch.randn(2, 4, 2, 4).transpose(1, 2)), torch.zeros(4, 5).T.normal_()
torch.rand_like(torch.ones(4, 5).T), torch.nonzero(torch.tensor(2.0), as_tuple=True), torch.tensor(2.0).mT
torch.ones(2, 3).scatter_(1, torch.arange(0), 2.0)
torch.arange(4)[:, None].stride(), torch.arange(6).view(2, 3)[:, None].stride(), torch.linalg.inv(torch.eye(2)).stride()
torch.zeros_like(x, nonsense=1)
x.new_zeros((2, 3), requires_grad=True).requires_grad, x.new_tensor([1], requires_grad=True).requires_grad
torch.tril_indices(3, 3, dtype=torch.int32), torch.tril_indices(0, 0), torch.tril_indices(row=2, col=2)
torch.zeros(2, device="cuda")
x.to("cuda")
x.to("nonsense")
nn.Linear(2, 3, device="cuda")
nn.Linear(2, 3).to("cuda")
torch.device("cuda:1"), torch.device("cuda:1").index, torch.device("cpu") == "cpu", x.device == torch.device("cpu")
torch.device("nonsense")
torch.set_default_device("cpu")
torch.finfo(torch.int32)
torch.iinfo(torch.float32)
torch.iinfo(torch.int32).dtype
torch.set_default_dtype(torch.int64)
torch.set_num_threads(0)
torch.use_deterministic_algorithms()
torch.tensor("no")
torch.tensor(None)
torch.zeros(2, 3)
torch.ones((2, 3), dtype=torch.int64)
torch.full((2, 2), 7)
torch.full((2, 2), 0.5)
torch.eye(3)
torch.arange(5)
torch.arange(1, 2, 0.25)
torch.arange(5, 0, -2)
torch.arange(3, 1)
torch.linspace(0, 1, 5)
torch.logspace(0, 2, 3)
torch.hann_window(5)
torch.zeros(-1)
torch.zeros(2).new_full((3,), 4)
torch.tensor([1, 2, 3], dtype=torch.bfloat16) / 3
torch.tensor([1e5, -1e5]).half()
torch.tensor([3.7, -3.7]).long()
torch.tensor([300]).to(torch.uint8)
torch.finfo(torch.float32).eps
torch.iinfo(torch.int8).min
"""

ARITHMETIC = """
y = torch.tensor([math.nan, math.inf, -math.inf, -0.0, -0.5, 0.5]); y.expm1(), F.elu(y), F.selu(y), y.sinh()
y = torch.tensor([-0.0, -0.5, 0.5]); 1 / y.floor(), 1 / y.ceil(), 1 / y.trunc(), 1 / y.round()
torch.tensor([1e-3, 1e3, 60000.0], dtype=torch.float16).round(decimals=2)
torch.tensor([145.0, 1234.5, 1e38]).round(decimals=-1), torch.tensor([1.005, 2.675]).round(decimals=2)
torch.tensor([0.1, 12.345], dtype=torch.bfloat16).round(decimals=1)
x + 1
x * x.mT.mT
x + torch.arange(4)
x + torch.arange(3)
x + torch.zeros(3)
1 / (x - x)
x // 0.3
x % 0.3
x ** 2
x ** -0.5
2 ** torch.arange(3)
torch.arange(3) ** -1
torch.arange(5) // 2
torch.arange(5) // 0
torch.arange(5) / 2
torch.arange(5) - True
torch.tensor([True]) - torch.tensor([True])
-torch.tensor([True])
~torch.tensor([True, False])
~torch.tensor([1.0])
torch.tensor([True]) & torch.tensor([False])
torch.tensor([1.0]) & torch.tensor([1.0])
x > 0
x == None
x + "a"
torch.where(x > 0, x, 0.0)
torch.where(x, x, 0.0)
torch.maximum(x, -x)
x.clamp(-0.5, 0.5)
x.clamp(min=0)
x.masked_fill(x > 0, -math.inf)
x.masked_fill(x, 0.0)
x.masked_fill(0.0, x > 0)
x.masked_fill(x > 0, x[0, 0])
x.exp()
x.log()
x.sqrt()
x.sigmoid()
x.tanh()
x.abs().rsqrt()
x.sign()
x.round()
x.round(decimals=1)
x.floor()
torch.arange(3).exp()
torch.arange(3).sqrt()
torch.arange(3).abs()
torch.tensor([-1.0, -0.0, math.nan, math.inf, -math.inf]).relu()
torch.tensor([math.nan, math.inf, -math.inf]).nan_to_num()
torch.tensor([math.nan, 1.0]).isnan()
torch.allclose(x, x + 1e-9)
torch.equal(x, x.clone())
torch.isclose(x, x + 1e-6)
torch.isclose(x, x.long())
torch.allclose(x, x, atol=-1)
torch.result_type(torch.ones(2, dtype=torch.int64), 1.5)
torch.ones(2, dtype=torch.float64) + torch.ones(2)
torch.ones(2, dtype=torch.int64) + torch.ones((), dtype=torch.float64)
torch.ones(2) + torch.ones((), dtype=torch.float64)
torch.lerp(x, -x, 0.25)
torch.xlogy(torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 2.0, math.nan]))
torch.xlogy(x, 2), torch.xlogy(2, x), torch.xlogy(torch.arange(3), torch.arange(3))
torch.add(x, x, alpha=2), torch.sub(x, 1, alpha=2)
torch.add(torch.arange(3), 1, alpha=0.5)
torch.div(x, 0.3, rounding_mode="trunc"), torch.div(torch.arange(-4, 4), 3, rounding_mode="trunc")
torch.div(torch.arange(3), 0, rounding_mode="trunc")
torch.div(x, 2, rounding_mode="up")
torch.div(x, 2, "floor")
torch.arange(3) // 0.0, torch.arange(3) % 0.0
torch.tensor([-0.0, 0.0]) ** -1, torch.tensor([-1e300], dtype=torch.float64) ** 3
torch.tensor([2.0, 800.0, -800.0, math.nan]).sigmoid()
torch.tensor([900.0, -900.0]).sinh(), torch.tensor([-900.0]).cosh()
torch.tensor([-1.5, -1.0, 0.0]).lgamma()
x.clamp()
x.clamp(torch.zeros(4), 1.0)
x.maximum(0)
x.eq(None)
x.add("a")
round(x)
torch.round(x, 2)
torch.arange(3).round(decimals=-1)
torch.tensor([True]).square(), torch.tensor([True]).sign()
torch.tensor([True]).abs()
torch.tensor([True]).floor()
"""

VIEWS = """
x.permute(2, 0, 1)
x.permute(0, 1)
x.permute(0, 0, 1)
x.transpose(0, 5)
x.mT.stride()
x.transpose(0, 2).is_contiguous()
x.transpose(0, 2).view(24)
x.transpose(0, 2).reshape(24)
x.view(6, -1)
x.view(torch.float32)
x[0, 0].t() is x[0, 0]
torch.reshape(x, 6, 4)
torch.permute(x, 2, 0, 1)
torch.flip(x, 0, 1)
torch.flip(x, 0)
torch.tile(x, 2, 2)
x.movedim((0, 1), (2, 0)), torch.movedim(x, source=0, destination=1)
x.expand(-2, 2, 3, 4)
x[0, 0].unfold(0, -1, 1)
x[0, 0].unfold(0, 2, 0)
x[0, 0].as_strided((99,), (1,))
x.to(torch.float64, torch.float64)
x.to("cpu", torch.float64), x.to(torch.float32, False, True) is x, x.to(x.double()), x.to(torch.float32, copy=True) is x
x.type("torch.DoubleTensor")
torch.meshgrid(torch.ones(2), torch.arange(2), indexing="ij")
torch.meshgrid(torch.ones(2), torch.ones(2), indexing="no")
torch.meshgrid(x, indexing="ij")
list(reversed(x[0]))
x.size(dim=1), x.stride(dim=1), x.unsqueeze(dim=0).squeeze(dim=0), x.transpose(dim0=0, dim1=1)
x.unflatten(dim=-1, sizes=(2, 2)), x.unfold(dimension=0, size=1, step=1)
x.view(5, -1)
x.view(-1, -1)
x.view(2, 3, 2, 2).transpose(1, 2)
x.flatten(1)
x.flatten(2, 1)
x.unflatten(-1, (2, 2))
x.unflatten(-1, (3, -1))
x.unsqueeze(-1).squeeze()
x[:, :1].squeeze(1)
x[:, :1].expand(2, 5, 4)
x.expand(2, 5, 4)
x.expand(3)
x[None, :, None].shape
x.unfold(2, 2, 1)
x.as_strided((2, 2), (4, 1), 3)
x.diagonal(1, 1, 2)
x.movedim(0, -1)
torch.broadcast_tensors(torch.ones(3, 1), torch.ones(2))
torch.broadcast_shapes((2, 1), (3,))
torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
x.T.shape if False else x[0].T
torch.ones(3).mT
x.contiguous().data_ptr() == x.data_ptr()
x[0].data_ptr() == x.data_ptr()
x.shape, x.size(1), x.ndim, x.numel(), len(x)
len(torch.tensor(1.0))
float(x)
bool(x)
x.tolist()
x.item()
[row.sum().item() for row in x]
"""

LAYOUTS = """
x.mT.clone().stride(), x.mT.contiguous().stride(), x.mT.double().stride(), torch.zeros_like(x.mT).stride()
(x.mT + 1).stride(), (1 - x.mT).stride(), x.mT.exp().stride(), (x.mT > 0).stride(), (-x.permute(2, 0, 1)).stride()
(x.mT + torch.ones(3)).stride(), (torch.ones(4, 3) + x.mT).stride(), (x + x.mT.contiguous().mT).stride()
(x[:, :, ::2].mT * 2).stride(), (x[:, :1].expand(2, 3, 4).mT * 2).stride(), (x[0].T + x[0].T.contiguous()).stride()
(x[0].T.contiguous() + x[0].T).stride(), (x.permute(2, 0, 1) * x.permute(2, 0, 1)[:1]).stride()
torch.where(x.mT > 0, x.mT, 0.0).stride(), x.mT.masked_fill(x.mT > 0, 0.0).stride(), x.mT.clamp(0).stride()
(x.mT + 1).view(24)
x.mT.relu().view(24)
x.mT.clone().view(24)
(x.mT + 1).reshape(24)
(x.mT + 1)[0, 1:], (x.mT + 1).mT.view(24), torch.cat([x.mT + 1, x.mT]).stride()
(x.mT @ x).stride(), x.mT.softmax(-1).stride(), x.mT.sum(-1).stride(), x.mT.cumsum(0).stride()
x.requires_grad_(); (x.mT * 2).exp().mT.sum().backward(); x.grad.stride(), x.grad
x.requires_grad_(); (x.mT * x.mT + x[0].mT).pow(2).sum().backward(); x.grad.stride(), x.grad
y = x.mT + 1; y[0] = 5.0; y.add_(x.mT); y, y.stride()
"""

INDEXING = """
x[0]
x[-1, 1:]
x[..., -1]
x[:, [0, 2]]
x[:, (0, 2)]
x[(0, 1)]
x[(0, 1), (1, 2)]
x[[0, 1], [1, 2]]
x[[0, 1], :, [1, 2]]
x[x > 0]
x[:, x[0, :, 0] > -1]
x[torch.tensor([[0, 1], [1, 0]])]
x[True]
x[5]
x[0, 0, 0, 0]
x[[0, 9]]
x[torch.tensor([True, False, True])]
x[[[0, 1], [1, 2]]], x[[(0, 1)]], x[[torch.tensor(0), torch.tensor(1)]], x[[slice(1), 0]]
x[torch.tensor([0, 1], dtype=torch.uint8)]
x[::2, ::-1]
x[1.0]
x["a"]
x[[]]
x.select(1, 2)
x.narrow(1, 1, 2)
x.narrow(1, 2, 5)
x.gather(2, torch.tensor([[[0, 1]], [[2, 3]]]))
x.gather(2, torch.tensor([[[9]]]))
x.gather(2, torch.tensor([0]))
x.gather(2, torch.zeros(3, 1, 1, dtype=torch.int64))
x.gather(2, torch.zeros(2, 3, 1, dtype=torch.int32))
x.take_along_dim(x.argsort(-1), -1)
x.take_along_dim(torch.tensor([0, 5]))
x.index_select(1, torch.tensor([2, 0])), x.index_select(1, torch.tensor(1))
x[0].index_select(0, torch.tensor([-1]))
x.index_select(1, torch.tensor([[0]]))
x.index_select(0, torch.tensor([True, False]))
x.narrow(1, -2, 2)
x.narrow(1, 0, -1)
x.nonzero(True)
(x > 0).nonzero()
x.masked_select(x > 0)
torch.where(x > 0)
x.unbind(1)
"""

WRITING = """
torch.ones(3, 4).index_add_(0, torch.zeros(3, 4, dtype=torch.int64), torch.ones(3, 4))
torch.ones(3).scatter(0, torch.tensor(2), 5.0)
torch.zeros(3).scatter(0, torch.tensor(2), torch.ones(1))
torch.tensor(1.0).scatter(0, torch.tensor([0]), 5.0)
torch.tensor(1.0).gather(0, torch.tensor([0, 0]))
torch.ones(2, 2).scatter(0, torch.tensor(1), 1.0)
torch.zeros(3).scatter(0, torch.tensor([1], dtype=torch.int32), 1.0)
torch.zeros(3).scatter(0, torch.tensor([1], dtype=torch.uint8), 1.0)
torch.zeros(3).scatter(0, torch.tensor([2, 1]), torch.tensor(1.0))
torch.zeros(3).scatter_add(0, torch.tensor([2, 1, 2]), torch.arange(4.0))
torch.zeros(2, 3).scatter_add_(1, torch.tensor([[0, 0], [2, 1]]), torch.ones(2, 3))
torch.zeros(3).scatter_add(0, torch.tensor([2, 3]), torch.arange(4.0))
w = torch.ones(2).requires_grad_(); torch.zeros(3).scatter_add(0, torch.tensor([2, 2]), w).sum().backward(); w.grad
w = torch.ones(3, requires_grad=True); torch.zeros(3).scatter_add(0, torch.tensor([2, 2]), w).sum().backward()
v = torch.arange(4.0).view(2, 2).requires_grad_(); v[v < 0] = 0
v = torch.arange(4.0).view(2, 2).requires_grad_(); v.add_(1)
v = torch.ones(3, requires_grad=True); v[v < 0] = 0
x[0] = 1.0; x
x[:, 1] += 2; x
x[x > 0] = 0.0; x
x[:, [0, 2]] = torch.ones(2, 4); x
x[0] = torch.ones(2); x
x[0, 0] = [1, 2, 3, 4]; x
x[0, 0] = 1, 2, 3, 4; x
x[0, 0] = None; x
x[0] = torch.ones(2, 3, 4); x
x[[0]] = torch.ones(5); x
y = x.view(6, 4); y[0] = 9.0; x
y = x.mT; y.zero_(); x
y = x[0].clone(); y.fill_(1.0); x
x.add_(1).mul_(2); x
x += torch.ones(3, 1); x
x += torch.ones(5, 2, 3, 4); x
x.masked_fill_(x > 0, -1.0); x
x.copy_(torch.ones(4)); x
x.copy_(torch.ones(5)); x
x[0].fill_diagonal_(7); x
x.scatter_(2, torch.zeros(2, 3, 1, dtype=torch.int64), 5.0); x
x.index_add_(0, torch.tensor([1, 1]), torch.ones(2, 3, 4)); x
x.index_fill(-1, torch.tensor([0, 2]), -math.inf)
x.index_fill_(1, torch.tensor([1]), 5); x
x.requires_grad_(); x.add_(1)
torch.arange(3).mul_(0.5)
x[0].tril_(); x
"""

IN_PLACE = """
y = x; y //= 2; x
y = x; y %= 2; x
y = x; y **= 2; x
y = x; y += 1; y -= 2; y *= 3; y /= 4; x
y = x[0]; y //= 2; x
y = x[0]; y %= 2; x
y = x.mT; y //= 2; x
y = x.view(24)[::2]; y -= 1; x
x = torch.arange(4); y = x; y <<= 1; x
x = torch.arange(4); y = x; y >>= 1; x
x = torch.arange(4); y = x; y &= 1; x
x = torch.arange(4); y = x; y |= 1; x
x = torch.arange(4); y = x; y ^= 1; x
x = torch.arange(4); y = x; y //= 2; x
x = torch.arange(4); y = x; y //= 0.5; x
x = torch.arange(4); y = x; y /= 2; x
x = torch.arange(4); y = x; y ^= "a"; x
x.neg_().round_().square_(); x
x.clip_(0, 1).lerp_(x * 2, 0.5); x
x.subtract_(1).multiply_(2).divide_(3).true_divide_(2); x
x.clamp_(); x
x[0].addr_(torch.ones(3), torch.arange(4.0), beta=0.5, alpha=2); x
x.fill_(torch.ones(2)); x
x.fill_diagonal_(5); x
y = torch.zeros(2, 2, 2); y.fill_diagonal_(5); y
y = x.expand(2, 2, 3, 4); y.add_(1); x
y = x.expand(2, 2, 3, 4); y += 1; x
y = x.expand(2, 2, 3, 4); y.exp_(); x
y = x[:, :1].expand(2, 3, 4); y.copy_(x); x
y = x[:, :1].expand(2, 3, 4); y.fill_(1.0); x
y = x.view(24); y[1:] += y[:-1]; x
y = x.view(24); y[1:] = y[:-1]; x
y = x.view(24); y[1:].mul_(y[:-1]); x
y = x.view(24); y[12:] += y[:12]; x
y = x[0, :, :3].clone(); y.copy_(y.T); y
y = x[0, :, :3].clone(); y.add_(y.T); y
x.copy_(x); x
y = torch.tensor(3.0); y.max(0).values.add_(1); y
y = torch.tensor(3.0); y.sort().values.add_(1); y
x.index_add_(0, torch.tensor([1, 1]), torch.ones(2, 3, 4), alpha=2); x
x.index_add_(0, torch.tensor([1]), torch.ones(2, 3, 4)); x
x.index_add_(0, torch.tensor([-1]), torch.ones(1, 3, 4)); x
x.index_copy_(0, torch.tensor([1]), torch.ones(4)); x
x.index_copy_(0, torch.tensor([1]), torch.ones(1, 3, 4).double()); x
x.index_fill_(0, torch.tensor([1]), torch.ones(4)); x
x.index_fill_(0, torch.tensor([True, False]), 1.0); x
x.masked_scatter_(x > 0, torch.arange(24.0).double()); x
x.scatter_(2, torch.zeros(2, 3, 1, dtype=torch.int64), torch.ones(2, 3, 1).double()); x
x.scatter_(2, torch.tensor([0]), 5.0); x
x[0, 0] = torch.arange(12.0).view(3, 1, 4)[2:3]; x
"""

REDUCTIONS = """
x.sum()
x.sum(-1)
x.sum((0, 2), keepdim=True)
x.sum((0, 0))
x.sum(axis=-1, keepdims=True)
x.max(axis=-1).values
torch.amax(x, axis=-1, keepdims=True)
torch.softmax(x, axis=-1)
F.softmax(x, axis=-1)
x.argmax(axis=0)
x.var(axis=0)
torch.stack([x, x], axis=1)
torch.cat([x, x], axis=1)
x.sum(7)
x.sum(0, 1)
x.sum(keepdim=True)
x.sum(None, keepdim=True), x.amax(keepdim=True)
x.sum(0, True, torch.float64)
torch.arange(3).sum(dtype=torch.int32), torch.arange(3).sum(dtype=torch.bool)
x.prod(dtype=torch.float64), torch.arange(1, 4).prod(0, dtype=torch.float32), (x * 5).prod(dtype=torch.int64)
x.prod((0, 1))
x.cumsum(0, dtype=torch.float64), (x * 3).cumsum(0, dtype=torch.int64), torch.arange(3).cumsum(0, dtype=torch.float32)
torch.arange(1, 4).cumprod(0, dtype=torch.float32), torch.tensor(2.0).cumprod(0), torch.ones(2, 0).cumsum(1)
x.softmax(1).stride(), x.cumsum(1).stride(), x.sort(0).values.stride(), x.sort(0).indices.stride()
x.argmax((0, 1))
(x > 0).argmax()
(x > 0).max(0)
x.to(torch.uint8).all(), x.to(torch.uint8).any(0)
torch.arange(3).var()
torch.var_mean(x, 0, keepdim=True), torch.var_mean(x, 0, False), torch.var_mean(x, False)
torch.tensor([1.0, math.nan, math.inf]).nansum(), torch.tensor([1.0, math.nan]).nansum(dtype=torch.float64)
torch.tensor([3.0, math.nan, 1.0]).median(), torch.tensor([3.0, math.nan, 1.0]).median(0), torch.ones(0).median()
torch.arange(4).sum()
torch.tensor([True, True]).sum()
x.mean(1)
torch.arange(4).mean()
x.var(-1)
x.var(-1, unbiased=False)
x.std()
x.prod(-1)
x.max()
x.max(-1)
x.min(1).indices
x.amax((0, 1))
x.argmax()
x.argmax(-1)
torch.tensor([1.0, math.nan]).max()
torch.ones(0).max()
x.median(-1)
(x > 0).any(-1)
(x > 9).all()
x.logsumexp(-1)
torch.full((2,), -math.inf).logsumexp(0)
torch.logaddexp(x, x.flip(-1))
torch.logaddexp(torch.tensor([-math.inf, 0.0, math.inf, 100.0]), torch.tensor([-math.inf, -math.inf, 0.0, -100.0]))
x.norm()
x.norm(dim=-1)
x.norm(1, -1)
x.norm(0), x.norm(math.inf, 0), x.norm(-math.inf, 0), x.norm(3, 0, True), x.norm(p=None), x.norm(dtype=torch.float64)
torch.arange(3).norm()
torch.cdist(x, x + 1, 1), torch.cdist(x, x + 1, p=math.inf), torch.cdist(x, x, 0)
torch.cdist(x[0, 0], x[0, 0])
torch.cdist(x, x)
x.softmax(-1)
x.softmax(0)
x.softmax(3)
torch.full((2,), -math.inf).softmax(0)
torch.arange(3).softmax(0)
x.log_softmax(-1)
x.log_softmax()
torch.arange(3).log_softmax(0)
x.cumsum(1)
x.cumprod(-1)
x.diff(dim=1)
x.diff(2), x.diff(n=0), x.diff(9), x.diff(2, 1, prepend=x[:, :1], append=x)
x.diff(n=-1)
(x > 0).diff()
x[0, :, :3].trace()
x.trace()
x.count_nonzero()
x.sort(-1, descending=True)
x.topk(2)
x.topk(9)
x.sort(0, True, True)
x.sort(0, 1)
x.max(0, 1)
x.std(0, 1)
torch.tensor([2.0, math.nan, math.inf, 1.0]).sort(), torch.tensor([math.inf, math.nan, 1.0]).sort(descending=True)
torch.tensor([3, 1, 3, 2]).unique(return_counts=True)
torch.tensor([3, 1, 3, 2]).unique(True, True, True), torch.unique(torch.tensor([3, 1, 3]), True, True)
torch.tensor([[1, 2], [1, 2], [0, 1]]).unique(dim=0, return_inverse=True, return_counts=True)
torch.tensor([math.nan, 1.0, math.nan]).unique(return_counts=True)
torch.tensor([3, 1, 3]).bincount()
torch.tensor([3, 1, 3]).bincount(torch.tensor([0.5, 1.0, 2.0]), 6), torch.tensor([1]).bincount(torch.tensor([2]))
torch.tensor([3, 1, 3]).bincount(torch.ones(2))
torch.tensor([3, -1]).bincount()
torch.tensor([[3, 1]]).bincount()
torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 0.0]))
torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 0.0]), side="right", out_int32=True)
torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 0.0]), True)
"""

PRODUCTS = """
x @ x.mT
x @ x
x[0] @ x[0, 0]
x[0, 0] @ x[0, 0]
x[0, 0] @ x[0, 1, :3]
x @ x[0].mT
x[0].mT @ x
torch.arange(4) @ torch.arange(4)
x @ torch.arange(4)
torch.tensor(1.0) @ x
x[0].mm(x[0].mT)
x.mm(x)
x.bmm(x.mT)
x[0, 0].dot(x[0, 1])
torch.outer(x[0, 0], x[0, 1])
torch.outer(x[0], x[0, 0])
torch.mv(x, x[0, 0])
torch.inner(x[0, 0], torch.tensor(2.0))
torch.addmm(x[0], x[0, :, :2], x[0, :2], beta=0.5, alpha=2)
torch.tensordot(x, x, -1)
torch.einsum("bij,bkj->bik", x, x)
torch.einsum("...ij,...kj->...ik", x, x)
torch.einsum("bij->ji", x)
torch.einsum("ii", x[0, :, :3])
torch.einsum("ij,jk", x[0], x[0])
torch.einsum("ij->k", x[0])
torch.tensordot(x, x, dims=([2], [2]))
torch.kron(torch.eye(2), torch.ones(2, 2))
torch.linalg.solve(torch.tensor([[2.0, 1.0], [1.0, 3.0]]), torch.tensor([1.0, 2.0]))
torch.linalg.norm(x[0])
torch.linalg.norm(x[0], 1), torch.linalg.norm(x[0], math.inf), torch.linalg.norm(x[0], -1, keepdim=True)
torch.linalg.norm(x, 1, (1, 2)), torch.linalg.norm(x, 3, -1), torch.linalg.norm(x[0], "fro")
torch.linalg.norm(x, 1)
torch.linalg.norm(torch.arange(3))
torch.linalg.vector_norm(x[0], 1), torch.linalg.vector_norm(x[0], 0, -1)
torch.linalg.vector_norm(x[0], "fro")
torch.linalg.inv(torch.tensor([[1, 2], [3, 4]]))
torch.linalg.inv(x[0])
torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), -2)
torch.linalg.matrix_power(x[0], 0)
torch.linalg.matrix_rank(x[0]), torch.linalg.matrix_rank(x[0] * x[1]), torch.linalg.matrix_rank(torch.zeros(2, 3))
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.0, 1e-6, 1e-8])))
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.0, 1e-6, 1e-8])).double())
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.0, 1e-2])), tol=0.1)
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.0, 1e-2])), rtol=0.1)
torch.linalg.matrix_rank(torch.diag(torch.tensor([3.0, 0.2])), atol=0.1, rtol=0.1)
torch.special.entr(torch.tensor([0.0, 0.5, -1.0]))
torch.special.gammaincc(torch.ones(3), torch.tensor([-1.0, 0.0, 1.0]))
torch.testing.assert_close(x, x + 0.1, atol=0.2)
torch.testing.assert_close(x, x, 1e-3, 1e-3)
torch.testing.assert_close([x, x], [x])
torch.testing.assert_close([1], {1: 2})
torch.testing.assert_close({1: 2}, [1])
torch.testing.assert_close({"a": x}, {"a": x}), torch.testing.assert_close(x, x + 0.1, rtol=0, atol=0.2)
torch.testing.assert_close({"a": x}, {"a": x + 1})
torch.testing.assert_close(1.0, torch.tensor(1.0))
torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
"""

JOINING = """
torch.tensor(4).chunk(2, dim=1)
torch.empty(0).chunk(2), torch.empty(2, 0).chunk(3, dim=1)
torch.empty(0).roll(1, 5)
torch.cat([x, x], 1)
torch.cat([x, x[:, :2]], 0)
torch.cat([])
torch.cat([x, torch.ones(2)])
torch.cat([torch.ones(2), torch.ones(1, dtype=torch.float64)])
torch.stack([x, -x], -1)
torch.stack([x, x[0]])
torch.cat(x)
torch.stack(x)
torch.vstack([torch.tensor(1.0), torch.tensor(2.0)]), torch.hstack([torch.tensor(1.0), torch.tensor(2.0)])
x.split(-1)
torch.ones(0).split(2)
x.chunk(0)
x.repeat_interleave(-1)
x.repeat_interleave(torch.tensor([1, 2]), 1)
torch.diag_embed(x[0], 0, 0, 2), torch.diag_embed(x[0], 1, dim1=0, dim2=-1)
torch.diag_embed(x[0], 0, 1, 1)
torch.block_diag(x)
x.split(2, 1)
x.split([1, 3], -1)
x.split([1, 1], -1)
x.chunk(2, -1)
x.flip(0)
x.flip((1, 2))
x.roll(1, -1)
x.repeat(2, 1, 1)
x.repeat(2)
x.repeat_interleave(2, 1)
x.tril()
x.triu(1)
torch.ones(3).tril()
torch.ones(3).triu()
torch.diag(torch.arange(3.0))
torch.diag(x[0])
torch.block_diag(x[0], x[1])
torch.tril_indices(3, 3)
"""

LAYERS = """
F.unfold(torch.arange(32.0).view(1, 2, 4, 4), 2), F.unfold(torch.arange(24.0).view(2, 3, 4), (2, 3), 1, 1, (1, 2))
F.unfold(torch.arange(32.0).view(1, 2, 4, 4), 2, stride=2, dilation=2), F.unfold(torch.ones(1, 1, 3, 3), 2).stride()
F.scaled_dot_product_attention(torch.eye(0), torch.eye(0), torch.eye(0)).shape
F.conv1d(torch.ones(1, 2, 3), torch.ones(1, 2, 2)).stride()
F.conv1d(torch.ones(4, 2, 3), torch.ones(3, 2, 3)).stride()
F.conv2d(torch.ones(2, 1, 3, 3), torch.ones(1, 1, 3, 1)).stride()
F.conv2d(torch.ones(2, 1, 3, 3), torch.ones(5, 1, 3, 3)).stride()
nn.Linear(4, 2)(x)
nn.Linear(4, 2, bias=False)(x)
nn.Linear(3, 2)(x)
nn.Embedding(5, 3)(torch.tensor([[1, 4]]))
nn.Embedding(5, 3, padding_idx=1).weight, nn.Embedding(5, 3, padding_idx=-1)
nn.Embedding(5, 3, padding_idx=9)
f = nn.Embedding(5, 3, 1); f(torch.tensor([1, 2, 2])).sum().backward(); f.weight.grad
nn.Embedding(5, 3, _weight=torch.ones(4, 3))
nn.Embedding(5, 3)(torch.tensor([-1]))
nn.Embedding.from_pretrained(torch.ones(5, 3), freeze=False, padding_idx=0).weight.requires_grad
nn.LayerNorm(4)(x)
nn.LayerNorm(4, elementwise_affine=False)(x), list(nn.LayerNorm(4, elementwise_affine=False).parameters())
[name for name, p in nn.LayerNorm(4, bias=False).named_parameters()], nn.LayerNorm(4, bias=False)
nn.LayerNorm(3)(x)
nn.Dropout(0.5).eval()(x)
nn.Dropout(0.5, inplace=True), nn.ReLU(inplace=True), nn.ReLU(), nn.GELU(), nn.GELU("tanh"), nn.Softmax(1)
nn.Dropout(2.0)
y = nn.Dropout(1.0, inplace=True)(x); x
y = nn.ReLU(True)(x); x
y = F.relu(x, inplace=True); x
y = F.leaky_relu(x, 0.1, True); x
y = F.elu(x, 1.0, True); x
y = F.silu(x, True); x
nn.ReLU(nonsense=1)
nn.GELU(approximate="tanh")(x), F.gelu(x, approximate="tanh")
F.gelu(x, "tanh")
F.gelu(x, approximate="nonsense")
F.gelu(torch.arange(3))
nn.CrossEntropyLoss(reduction="sum", label_smoothing=0.1)(x[0], torch.tensor([0, 1, 2]))
nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 3.0, 4.0]))(x[0], torch.tensor([0, 1, 2]))
nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))(x)
[name for name, p in nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1)).named_parameters()]
list(nn.Linear(2, 3).state_dict())
sum(p.numel() for p in nn.Linear(2, 3).parameters())
nn.Linear(2, 3).load_state_dict({"weight": torch.ones(1)})
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)
nn.MultiheadAttention(4, 2, bias=False, batch_first=True)(x, x, x)
nn.MultiheadAttention(4, 2, 0.0, True, batch_first=True)(x[0], x[0], x[0])
nn.MultiheadAttention(4, 2)(x[0], x[0], x[0], average_attn_weights=False)
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=torch.ones(4, 3, 3, dtype=torch.bool).triu(1))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=torch.ones(2, 3, 3, dtype=torch.bool).triu(1))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, key_padding_mask=torch.tensor([[0.0, -1.0, 0.0]] * 2))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, is_causal=True)
nn.MultiheadAttention(4, 3)
nn.MultiheadAttention(4, 2)
nn.Linear(2, 3)
nn.Sequential(nn.Linear(2, 3), nn.ReLU())
nn.Module()(1)
nn.Module(1)
nn.ModuleList([nn.Linear(2, 3) for _ in range(3)])
f = nn.ModuleList([nn.ReLU()]).append(nn.GELU()); f.extend([nn.Identity()]); f, f[-1], f[:2], len(f)
nn.Sequential(nn.ReLU(), nn.GELU())[:1], nn.Sequential(nn.ReLU()).append(nn.GELU())
nn.Sequential(nn.ReLU(), 3)
f = nn.ModuleDict({"a": nn.ReLU()}); f["b"] = nn.GELU(); f, list(f), len(f), "a" in f, list(f.keys())
f = nn.ParameterList([torch.ones(2)]).append(nn.Parameter(torch.ones(1))); len(f), f[-1], [p.shape for p in f]
nn.Parameter(torch.arange(3))
f = nn.Module(); f.b = nn.Buffer(x); f.c = nn.Buffer(x, persistent=False); list(f.state_dict())
f = nn.Module(); f.register_buffer("b", x, persistent=False); list(f.state_dict()), len(list(f.buffers()))
f = nn.Module(); f.register_buffer("b", 3)
f = nn.Module(); f.register_parameter("b", x)
f = nn.Module(); f.add_module("b", 3)
f = nn.Module(); f.register_buffer("b.c", x)
f = nn.Module(); f.a = nn.ReLU(); f.a = 3
f = nn.Module(); f.a = f.b = nn.Linear(1, 1); list(f.state_dict()), [n for n, m in f.named_children()]
f = nn.Sequential(nn.Sequential(nn.Linear(2, 1))); len(list(f.parameters(recurse=False))), [*f.state_dict(prefix="a.")]
f = nn.Linear(2, 3); f.state_dict()["bias"].requires_grad, f.state_dict(keep_vars=True)["bias"].requires_grad
nn.Linear(2, 3).load_state_dict({"weight": torch.ones(3, 2)}, strict=False)
f = nn.Linear(2, 1); f(torch.ones(2)).sum().backward(); f.zero_grad(set_to_none=False); f.weight.grad
torch.optim.SGD(nn.Linear(2, 3).parameters(), lr=-1)
torch.optim.SGD(nn.Linear(2, 3).weight)
torch.optim.SGD([nn.Linear(2, 3).weight * 2])
torch.optim.SGD([3])
torch.optim.Adam(nn.Linear(2, 3).parameters(), betas=(1.0, 0.9))
torch.optim.SGD([{"params": nn.Linear(2, 3).weight, "lr": 0.5}], foreach=False).param_groups[0]["lr"]
F.dropout(torch.arange(3))
nn.Linear(2, 3).train(3)
nn.Linear(2, 3).to(torch.int64)
nn.Linear(2, 3).to("cpu", torch.float64).weight.dtype, nn.Linear(2, 3).to(x.double()).weight.dtype
nn.init.xavier_uniform_(x), nn.init.xavier_normal_(x, generator=torch.Generator().manual_seed(1))
nn.init.kaiming_uniform_(x[0], mode="fan_out", nonlinearity="relu"), nn.init.kaiming_uniform_(x, 1.0)
nn.init.xavier_uniform_(x[0, 0])
F.softmax(x), F.log_softmax(x[0])
F.softmax(x, 1, 3, torch.float64), F.log_softmax(x, 1, dtype=torch.float64)
F.one_hot(torch.tensor([0, 2]))
F.one_hot(torch.tensor([0.0]))
F.cross_entropy(x[0], torch.tensor([0, 1, 2]))
F.cross_entropy(x[0], torch.tensor([0, -100, 2]))
F.cross_entropy(x, torch.tensor([[0, 1, 2, 0], [2, 2, 0, 1]]), ignore_index=0)
F.cross_entropy(x, torch.tensor([[0, 1, 2, 0], [2, 2, 0, 1]]), reduction="none")
F.cross_entropy(x, torch.tensor([[0, 1, 2, 0], [2, 2, 0, 1]]), reduction="sum", ignore_index=2)
F.cross_entropy(x[0], torch.tensor([0, 1, 2]), torch.tensor([1.0, 2.0, 3.0, 4.0]))
F.cross_entropy(x[0], torch.tensor([0, 1, 2]), weight=torch.arange(4.0), reduction="none", ignore_index=1)
F.cross_entropy(x[0], torch.tensor([0, 1, 2]), label_smoothing=0.1, weight=torch.arange(4.0), ignore_index=1)
F.cross_entropy(x, x.softmax(1), label_smoothing=0.1, weight=torch.arange(3.0))
F.cross_entropy(x[0], x[0].softmax(-1), reduction="sum")
F.cross_entropy(x[0], torch.tensor([0, 1, 2]), reduction="nonsense")
F.cross_entropy(x[0], torch.tensor([0, 1, -1]))
F.cross_entropy(x[0], torch.tensor([0, 1]))
F.cross_entropy(x[0], torch.tensor([[0, 1, 2]]))
F.cross_entropy(x[0], torch.tensor([0, 1, 2], dtype=torch.int32))
F.nll_loss(x[0], torch.tensor([0, 1, 2]), torch.tensor([1.0, 2.0, 3.0, 4.0]))
F.nll_loss(x[0].log_softmax(-1), torch.tensor([0, 1, 2]))
F.nll_loss(x.log_softmax(1), torch.tensor([[0, 1, 2, 0], [2, 2, 0, 1]]))
F.nll_loss(x.log_softmax(1), torch.tensor([[0, 1, 2, 0], [2, 2, 0, 1]]), reduction="sum", ignore_index=2)
F.nll_loss(torch.tensor([-1.0, -2.0]), torch.tensor(1))
F.gelu(x)
F.silu(x)
F.elu(x)
F.elu(x, 0.5)
F.leaky_relu(x)
F.leaky_relu(x, 0.2)
f = nn.ReLU(); s = []; h = f.register_forward_pre_hook(lambda f, a: s.append(a[0].shape)); f(x); h.remove(); f(x); s
f = nn.ReLU(); f.register_forward_pre_hook(lambda f, a: a[0] + 1); f(x)
f = nn.ReLU(); h = f.register_forward_hook(lambda f, a, out: out + a[0]); [f(x), h.remove(), f(x)]
F.layer_norm(x, (4,))
F.normalize(x, dim=-1)
F.pad(x, (1, 2))
F.pad(x, (1,))
F.pad(x, (1,) * 8)
F.pad(x, (-9, 0))
F.pad(x, (0, 0, 1, 0), value=-1.0)
F.pad(x, (2, 1), "reflect"), F.pad(x, (2, 1), "replicate"), F.pad(x, (2, 1), mode="circular")
F.mse_loss(x, -x)
F.mse_loss(x, -x, reduction="sum"), F.mse_loss(x, -x, reduction="none"), F.mse_loss(x, -x, None, None, "sum")
F.mse_loss(x, -x, reduction="nonsense")
F.kl_div(x, x.softmax(-1), reduction="none"), F.kl_div(x, 2 * x, reduction="batchmean", log_target=True)
F.cosine_similarity(x, -x, dim=-1)
F.scaled_dot_product_attention(x, x, x)
F.scaled_dot_product_attention(x, x, x, is_causal=True)
F.scaled_dot_product_attention(x, x, x, attn_mask=torch.eye(3, dtype=torch.bool))
F.scaled_dot_product_attention(x, x, x, attn_mask=torch.full((3, 3), -math.inf))
F.scaled_dot_product_attention(x, x, x, attn_mask=torch.eye(3).bool(), is_causal=True)
F.scaled_dot_product_attention(x, x, x, attn_mask=torch.eye(3).long())
F.dropout(x, 1.0), F.dropout(x, 0.5, False) is x
F.dropout(x, 1.5)
F.embedding(torch.tensor([1]), x[0])
F.embedding(torch.tensor([1]), x[0], padding_idx=9)
F.embedding(torch.tensor([1.0]), x[0])
nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True)
nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], True, 9.0, "left")
"""

RANDOM = """
p = torch.tensor([0.4, 0.6, 1]); d = torch.distributions.Categorical(p); str(d), d.probs, d.entropy(), d.sample((4,))
z = torch.tensor([[1.0, 2], [-math.inf, 1]]); d = torch.distributions.Categorical(None, z); d.entropy(), d.sample((3,))
z = torch.tensor([[1.0, 2, 3], [0, 4, 1]]); torch.distributions.Categorical(None, z).log_prob(torch.tensor([0, 2]))
torch.distributions.Categorical(torch.tensor([-1.0, 2.0]))
torch.distributions.Categorical(logits=torch.tensor([math.nan, 2.0]))
torch.distributions.Categorical(torch.tensor(1.0))
torch.distributions.Categorical()
torch.distributions.Categorical(torch.ones(3)).log_prob(torch.tensor(5))
torch.rand(3)
torch.rand(40)
torch.rand(3, dtype=torch.float64)
torch.randn(3)
torch.randn(5), torch.randn(3)
torch.randn(16)
torch.randn(37)
torch.randn(4, 5, dtype=torch.float64)
torch.randint(0, 10, (7,))
torch.randint(5, (2, 3))
torch.randint(2**28 - 1, (3,)), torch.randint(2**28, (3,)), torch.randint(2**31, (3,)), torch.rand(1)
torch.randperm(9), torch.randperm(4, dtype=torch.float32), torch.randperm(4, dtype=torch.int32)
torch.randperm(-1)
torch.randperm(4, torch.Generator().manual_seed(5))
torch.randint(high=3, size=(4,)), torch.randint(low=1, high=3, size=(4,)), torch.randint(1, 3, size=(4,))
torch.randint(3, (4,), dtype=torch.float32, requires_grad=True).requires_grad
torch.randint(5, 3, (4,))
torch.randint(0, 3.5, (4,))
torch.rand(2, dtype=torch.int64)
torch.randn_like(torch.arange(3))
torch.randn_like(x, requires_grad=True).requires_grad, torch.rand_like(x, dtype=torch.float64)
torch.normal(x[0, 0], 2.0), torch.normal(x[0], x[1].abs()), torch.normal(x[0, 0])
torch.normal(0.0, 1.0, (2,), dtype=torch.float64)
torch.normal(0.0, -1.0, (2,))
torch.bernoulli(torch.tensor([1.5]))
torch.bernoulli(torch.tensor([1]))
torch.multinomial(torch.tensor([0.1, 0.9]), 0)
torch.manual_seed(-1).initial_seed()
torch.randn(3, generator=torch.Generator().manual_seed(5))
torch.rand(2), torch.randn(2), torch.randint(9, (2,)), torch.rand(1)
torch.bernoulli(torch.full((6,), 0.4))
torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2)
torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 8, replacement=True)
torch.multinomial(torch.tensor([0.1, -0.2]), 1)
torch.multinomial(torch.tensor([0.1, 0.2]), 3)
torch.empty(3).uniform_(-1, 1)
torch.empty(40).uniform_(-0.1, 1.3).tolist()
torch.empty(3).normal_(2, 3)
torch.empty(3).uniform_(2, 1)
torch.empty(3).uniform_(from_=1, to=2)
torch.empty(3).normal_(0, -1)
torch.empty(3).exponential_(-1.0)
torch.arange(3).normal_()
torch.normal(0.0, 1.0, (3,))
nn.Linear(3, 2).weight
"""

GRADIENTS = """
v = torch.ones(3); w = v[:2]; v.requires_grad_(); w.requires_grad, (w * 2).requires_grad, w.is_leaf, w.grad_fn
v = torch.ones(3); w = v.detach()[:2]; u = v.data[:2]; v.requires_grad_(); w.requires_grad, u.requires_grad
x.requires_grad_(); (x ** 2).sum().backward(); x.grad
x.requires_grad_(); x.softmax(-1)[..., 0].sum().backward(); x.grad
x.requires_grad_(); (x @ x.mT).sum().backward(); x.grad
x.requires_grad_(); x.max(-1).values.sum().backward(); x.grad
x.requires_grad_(); x.amax(-1).sum().backward(); x.grad
x.requires_grad_(); (x[:, [0, 0]] * 3).sum().backward(); x.grad
x.requires_grad_(); x.view(6, 4).mT.reshape(-1)[::3].sum().backward(); x.grad
x.requires_grad_(); torch.cat([x, 2 * x], 1).exp().sum().backward(); x.grad
x.requires_grad_(); (x.sum(0, keepdim=True) / x.std()).sum().backward(); x.grad
x.requires_grad_(); y = x * 2; y[0] = 0.0; y.sum().backward(); x.grad
x.requires_grad_(); y = x * 2; y.mul_(x); y.sum().backward(); x.grad
x.requires_grad_(); y = x.clone(); y[0].zero_(); y.sum().backward(); x.grad
x.requires_grad_(); torch.where(x > 0, x, 2 * x).sum().backward(); x.grad
x.requires_grad_(); x.masked_fill(x > 0, 0.0).sum().backward(); x.grad
x.requires_grad_(); F.layer_norm(x, (4,)).pow(3).sum().backward(); x.grad
x.requires_grad_(); F.elu(x * 100).pow(2).sum().backward(); x.grad
x.requires_grad_(); F.leaky_relu(x, 0.2).pow(2).sum().backward(); x.grad
x.requires_grad_(); F.cross_entropy(x[0], torch.tensor([0, 1, 2])).backward(); x.grad
x.requires_grad_(); torch.einsum("bij,bkj->", x, x).backward(); x.grad
x.requires_grad_(); x.logsumexp(-1).sum().backward(); x.grad
x.requires_grad_(); torch.logaddexp(x, x.detach().flip(-1)).sum().backward(); x.grad
x.requires_grad_(); x.cumsum(-1).prod(-1).sum().backward(); x.grad
x.requires_grad_(); x.sum(-1).backward(); x.grad
x.backward()
x.requires_grad_(); torch.autograd.grad((x ** 3).sum(), x)
x.requires_grad_(); torch.autograd.grad(x[0].sum(), x, allow_unused=True)
torch.arange(3).requires_grad_()
x.requires_grad_(); x.detach().requires_grad, (x * 2).requires_grad, (x * 2).is_leaf
x.requires_grad_(); x.numpy()
torch.autograd.functional.jacobian(lambda v: v ** 2, torch.tensor([1.0, 2.0]))
"""

GRADIENTS_AND_WRITES = """
x.requires_grad_(); y = x.exp(); y.add_(1); y.sum().backward(); x.grad
x.requires_grad_(); y = x.sigmoid(); y[0] = 0.0; y.sum().backward(); x.grad
x.requires_grad_(); y = x.softmax(-1); y *= 2; y.sum().backward(); x.grad
x.requires_grad_(); y = x * 2; z = y * y; y.add_(1); z.sum().backward(); x.grad
x.requires_grad_(); y = x * 2; z = y * torch.ones(4); y.add_(1); z.sum().backward(); x.grad
x.requires_grad_(); y = x * 2; w = torch.ones(4); z = y * w; w.add_(1); z.sum().backward(); x.grad
x.requires_grad_(); y = x * 1; z = y @ y.mT; y /= 2; z.sum().backward(); x.grad
x.requires_grad_(); y = x @ x.mT; y /= 2; y.sum().backward(); x.grad
x.requires_grad_(); y = x / (x * x + 1); y += 1; y.sum().backward(); x.grad
x.requires_grad_(); y = x * 3; z = y[0].sin(); y[1] = 0.0; z.sum().backward(); x.grad
x.requires_grad_(); y = x * 3; z = y.sin(); y.detach().zero_(); z.sum().backward(); x.grad
x.requires_grad_(); y = x * 3; z = y.sin(); y.data.zero_(); z.sum().backward(); x.grad
x.requires_grad_(); c = x > 0; z = torch.where(c, x, 0.0); c.fill_(True); z.sum().backward(); x.grad
x.requires_grad_(); i = torch.tensor([0]); z = (x * 1)[i]; i.add_(1); z.sum().backward(); x.grad
x.requires_grad_(); y = x * 1; y.tanh_().mul_(2); y.sum().backward(); x.grad
x.requires_grad_(); y = x * 1; y.exp_(); y.sum().backward(); x.grad
x.requires_grad_(); y = x * 1; y.zero_(); y.requires_grad, y.sum().backward(), x.grad
x.requires_grad_(); y = (x * 1).copy_(torch.ones(4)); y.requires_grad
x.requires_grad_(); y = torch.zeros(3).fill_(x.sum()); y.sum().backward(); x.grad
x.requires_grad_(); y = x * 3; z = y.view(24); y *= 2; z.sum().backward(); x.grad
x.requires_grad_(); y = x * 3; z = y[0]; w = y[0]; z.mul_(2); w.sum().backward(); x.grad
x.requires_grad_(); y = torch.zeros(2, 3, 4); z = y[0]; y[0] = x[1]; (z * z).sum().backward(); x.grad
x.requires_grad_(); y = torch.zeros(2, 3, 4); z = y[0]; z += x[1]; (y * y).sum().backward(); x.grad
x.requires_grad_(); y = torch.zeros(2, 3, 4); w = y.view(24); y[0].copy_(x[1]); (w * w).sum().backward(); x.grad
x.requires_grad_(); y = x.view(24); y.mul_(2)
x.requires_grad_(); y = x[0]; y += 1
x.requires_grad_(); x.scatter_(2, torch.zeros(2, 3, 1, dtype=torch.int64), 5.0)
x.requires_grad_(); i = torch.zeros(2, 3, 1, dtype=torch.int64); x.scatter(2, i, 5.0).pow(2).sum().backward(); x.grad
x.requires_grad_(); i = torch.zeros(2, 3, 4).long(); torch.zeros(2, 3, 4).scatter(2, i, x).requires_grad
x.requires_grad_(); s = x.exp().sum(); s.backward(); s.backward()
x.requires_grad_(); s = (x * 2).sum(); s.backward(); s.backward()
x.requires_grad_(); s = x.sum(); s.backward(); s.backward(); x.grad
x.requires_grad_(); s = x.exp().sum(); s.backward(retain_graph=True); s.backward(); x.grad
x.requires_grad_(); s = x.exp().sum(); torch.autograd.grad(s, x); torch.autograd.grad(s, x)
x.requires_grad_(); s = x.exp().sum(); torch.autograd.grad(s, x, retain_graph=True); torch.autograd.grad(s, x)
x.requires_grad_(); x.sum().backward(); g = x.grad; x.sum().backward(); g
x.requires_grad_(); y = x * 2; y.retain_grad(); (y * y).sum().backward(); y.grad
x.retain_grad()
x.requires_grad_(); y = x * 2; y.requires_grad_(False)
x.requires_grad_(); y = torch.ones(2, requires_grad=True); torch.autograd.grad(x.sum(), [x, y], materialize_grads=True)
"""

GRADIENTS_AT_CORNERS = """
x = torch.tensor([2.0, 0.0, 3.0, 0.0], requires_grad=True); x.prod().backward(); x.grad
x = torch.tensor([2.0, 0.0, 3.0], requires_grad=True); x.prod(0).backward(); x.grad
x = torch.tensor([2.0, 0.0, 3.0], requires_grad=True); x.cumprod(0).sum().backward(); x.grad
x.requires_grad_(); x.prod(1).sum().backward(); x.grad
x.requires_grad_(); x.cumprod(1).pow(2).sum().backward(); x.grad
x.requires_grad_(); x.cumsum(1, dtype=torch.float64).pow(2).sum().backward(); x.grad
x = torch.tensor([0.0, 1.0], requires_grad=True); torch.maximum(x, torch.tensor([0.0, 0.5])).sum().backward(); x.grad
x = torch.tensor([0.0, 1.0], requires_grad=True); torch.minimum(x, torch.tensor([0.0, 1.5])).sum().backward(); x.grad
x = torch.tensor([0.0, 0.5, 1.0, 2.0], requires_grad=True); x.clamp(0, 1).sum().backward(); x.grad
x = torch.tensor([0.0, 1.0], requires_grad=True); (x**0).sum().backward(); x.grad
x = torch.tensor([0.0, 2.0], requires_grad=True); (torch.zeros(2) ** x).sum().backward(); x.grad
x = torch.tensor([0.0, 2.0], requires_grad=True); (3**x + x**x).sum().backward(); x.grad
x.requires_grad_(); (x * 0).norm().backward(); x.grad
x.requires_grad_(); (x * 0).norm(3).backward(); x.grad
x.requires_grad_(); (x * 0).std(1).sum().backward(); x.grad
x.requires_grad_(); torch.cdist(x, x.detach()).sum().backward(); x.grad
x.requires_grad_(); (5 - x).remainder(x).sum().backward(); x.grad
x.requires_grad_(); torch.div(x, 0.3, rounding_mode="floor").sum().backward(); x.grad
x.requires_grad_(); (x // 2).requires_grad
x.requires_grad_(); torch.nansum(x).backward(); x.grad
x.requires_grad_(); torch.xlogy(x, x).sum().backward(); x.grad
x.requires_grad_(); x.softmax(1).view(24).pow(2).sum().backward(); x.grad
x.requires_grad_(); x.log_softmax(1).view(24).pow(2).sum().backward(); x.grad
x.requires_grad_(); x.sort(0).values.view(24)[:9].sum().backward(); x.grad
"""

# Parts of the page's errors in other words than torch's.
ARGUMENTS = """
x.transpose(0, True)
x.sum(True)
x.softmax(1.0)
x.triu(1.0), x.tril(True)
x.round(decimals=2.0)
x.narrow(1, 0, 2.0)
x.select(1, None)
x[0].topk(True)
x.diff(True)
x.split(True)
x.split(torch.tensor(2), 1), x.flip(torch.tensor(0)), x.roll(1, -torch.tensor(1)), x.clamp(torch.tensor(0), 1)
torch.flip(x, torch.tensor(0))
torch.reshape(x, torch.tensor(24))
torch.linspace(0, 1, 5.0)
torch.logspace(0, 2, -3)
torch.eye(True)
torch.eye(torch.tensor(2)), torch.hann_window(torch.tensor(3)), torch.randperm(torch.tensor(3)).shape
torch.hann_window(-5)
torch.tril_indices(-3, 3)
torch.triu_indices(2, 2, 0.5)
torch.arange(2, step=2)
torch.randn(-3)
torch.randint(5, (2, -3))
torch.randint(True, (2,))
torch.Generator().manual_seed(1.0)
torch.broadcast_shapes((torch.tensor(2), 1), (3,))
torch.broadcast_shapes((-2, 1), (3,))
torch.broadcast_shapes(2, (1,))
x.view(-6, -1)
x.repeat(-2, 1, 1)
x.as_strided((2, 2), (-4, 1), 3)
x.as_strided((2, 2), (4, 1), -3)
x.diagonal(1, 1, -2)
x[:0].repeat_interleave(-1)
torch.cdist(x, x, -1)
torch.einsum("ii", x[0, :, :1])
torch.tensordot(x, x, 1)
torch.linalg.solve(torch.eye(2).double(), torch.ones(2))
torch.addmm(x[0, :2, :2].long(), x[0, :2, :2].long(), x[0, :2, :2].long(), beta=0.5)
torch.addr(x, torch.ones(2), torch.ones(2))
x[..., ...].shape, torch.tensor(5.0).index_select(0, torch.tensor([0]))
torch.tensor(5.0).split(1)
x[:0, 0, 0].argmax()
x[:0].max(0)
x[:, torch.tensor([7])]
x[0, 0] = "a"; x
x[:, [0, 2]] = torch.ones(2, 4).double(); x
torch.zeros(2, dtype=float).dtype, torch.ones(2).to(int), torch.ones(2).sum(dtype=int), torch.tensor([1], dtype=bool)
nn.Linear(1, 1, dtype=float).weight.dtype, torch.ones(2).softmax(0, dtype=float), torch.ones(2).type(torch.LongTensor)
torch.zeros(2, dtype="float32")
x.softmax(0, dtype="float32")
x.type(float)
torch.tensor([1, "a"])
x.shape * 2, type(2 * x.shape).__name__, type(x.shape).__module__
nn.Linear(1, 1).load_state_dict([1])
nn.Linear(1, 1).load_state_dict({"weight": [1], "bias": torch.ones(1)})
torch.testing.assert_close(torch.ones(2, 3), torch.ones(2, 3) * torch.tensor([1.0, 2.0, 3.0]))
torch.testing.assert_close(torch.tensor([1, 2]), torch.tensor([1, 3]))
torch.testing.assert_close(torch.tensor(1.0), torch.tensor(math.nan))
"""

DTYPES_OF_ARGUMENTS = """
(x > 0)[0, 0] @ (x > 0)[0, 0]
(x > 0) @ (x > 0).mT
(x > 0).topk(1)
(x > 0).median()
(x > 0)[0].trace()
(x > 0).logsumexp(-1)
torch.logaddexp(x.long(), x.long())
x.long().lerp(x.long(), 0.5)
torch.normal(x.long(), 1.0)
F.elu(x.long())
F.leaky_relu(x > 0)
F.hardswish(x.long())
F.softshrink(x.long())
F.glu(x.long())
F.prelu(x.long(), torch.ones(1))
F.gelu(x.long(), approximate="nonsense")
F.mse_loss(x.long(), x.long(), reduction="sum")
F.mse_loss(x.long(), x)
F.smooth_l1_loss(x.long(), x.long())
F.kl_div(x.long(), x.long())
F.nll_loss(x[0].long(), torch.tensor([0, 1, 2]))
F.nll_loss(x[0], torch.tensor([0, 1, 2]), torch.ones(4).double())
F.cross_entropy(x[0].double(), torch.tensor([0, 1, 2]), weight=torch.ones(4))
F.cross_entropy(x[0], torch.tensor([0, 1, 2]).int())
F.cross_entropy(x[0], torch.tensor([0, -1, 2]), reduction="nonsense")
F.binary_cross_entropy(torch.ones(2), torch.ones(2).long())
F.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2).long())
F.layer_norm(x.double(), (4,), torch.ones(4))
F.layer_norm(x.half(), (4,), torch.ones(4)).dtype
nn.BatchNorm1d(3)(x.double())
nn.GroupNorm(1, 3)(x.double())
nn.Conv1d(3, 1, 1)(x.double())
nn.GRU(4, 2)(x.double())
nn.Linear(4, 2)(x.double())
F.scaled_dot_product_attention(x, x.double(), x)
"""

ATTENTION = """
nn.MultiheadAttention(4, 2)(x[..., :3], x, x)
nn.MultiheadAttention(4, 2)(x[0, 0], x, x)
nn.MultiheadAttention(4, 2)(x, x[0], x[0])
nn.MultiheadAttention(4, 2)(x, x, x[:1])
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=torch.zeros(1, 3))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=torch.zeros(2, 3, 3))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, attn_mask=torch.zeros(3))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, key_padding_mask=torch.zeros(1, 3))
nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, key_padding_mask=torch.zeros(3))
"""

NAMED_ARGUMENTS = """
F.relu(input=x), F.softmax(input=x, dim=0), F.layer_norm(input=x, normalized_shape=(4,)), F.pad(input=x, pad=(1, 0))
F.cross_entropy(input=x[0], target=torch.tensor([0, 1, 2])), F.embedding(input=torch.tensor([0]), weight=x[0])
F.scaled_dot_product_attention(query=x, key=x, value=x), F.cosine_similarity(x1=x, x2=x), F.pairwise_distance(x, x2=x)
nn.Linear(4, 1)(input=x), nn.ReLU()(input=x), nn.Sequential(nn.ReLU())(input=x), nn.GRU(4, 2)(input=x)[0].shape
nn.CrossEntropyLoss()(input=x[0], target=torch.tensor([0, 1, 2])), nn.MSELoss()(input=x, target=x)
nn.Linear(4, 1)([1.0])
nn.Embedding(2, 2)([0])
nn.ReLU()([1.0])
F.dropout([1.0])
F.cross_entropy(x[0], [0])
F.cross_entropy(x, torch.zeros(2, 3).long())
F.cross_entropy(x[0], torch.tensor(0))
F.cross_entropy(x[0], torch.tensor([0, 1, 2]), weight=torch.ones(2))
F.cross_entropy(x[None], torch.zeros(1, 3).long())
nn.RNN(4, 3, batch_first=True)(x, torch.zeros(1, 3, 3))
torch.einsum("i->ii", torch.ones(2))
torch.ones(4).split(0)
x.index_select(0, torch.tensor([2]))
"""

ADAPTIVE_AND_SEVERAL = """
nn.Conv1d(3, 2, 2, padding="same")(x), nn.Conv2d(2, 1, (2, 3), padding="same", dilation=(1, 2))(x).shape
nn.Conv1d(3, 2, 2, padding="valid")(x), str(nn.Conv2d(1, 2, 3, padding="same"))
nn.Conv1d(1, 1, 2, stride=2, padding="same")
F.conv1d(x, torch.ones(1, 3, 2), padding="other")
F.conv1d(x, torch.ones(1, 3, 2), stride=2, padding="same")
nn.AdaptiveMaxPool2d(1)(x), nn.AdaptiveMaxPool2d((2, 3))(x), F.adaptive_max_pool1d(x, 3)
x = x.relu().requires_grad_(); nn.AdaptiveMaxPool2d(2)(x).sum().backward(); x.grad
torch.linalg.qr(x)[1], torch.linalg.qr(torch.randn(2, 2, 4, 3)).Q
"""

SCHEDULES = """
S = torch.optim.lr_scheduler; isinstance(S.ReduceLROnPlateau, type), issubclass(S.StepLR, S.ReduceLROnPlateau)
o = torch.optim.SGD([x], lr=1.0, momentum=0.9); torch.optim.lr_scheduler.OneCycleLR(o, 0.1)
o = torch.optim.SGD([x], lr=1.0, momentum=0.9); torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=2.5)
o = torch.optim.SGD([x], lr=1.0, momentum=0.9); torch.optim.lr_scheduler.OneCycleLR(o, 0.1, 5, pct_start=2)
o = torch.optim.Adagrad([x]); torch.optim.lr_scheduler.OneCycleLR(o, 0.1, 5)
"""

GRADIENTS_AND_COPIES = """
x.grad = torch.ones(2); x.grad
x.grad = 3; x.grad
x.grad = x; x.grad
x.grad = torch.ones(2, 3, 4); del x.grad; x.grad
x.grad = x.double(); x.grad
x.requires_grad = 1; x
x.data = 3; x
x.requires_grad_(); y = x * 2; y.retain_grad(); y.sum().backward(retain_graph=True); y.sum().backward(); y.grad
p = nn.Parameter(x); o = torch.optim.SGD([p], lr=1.0); p.sum().backward(); o.step(); len(o.state)
import copy; x.requires_grad_(); copy.deepcopy(x * 2)
import copy; x.requires_grad_(); x.sum().backward(); y = copy.deepcopy(x); y.grad, y.grad is x.grad, y.requires_grad
import copy; y, z = copy.deepcopy([x, x[0]]); y[0] = 5; z
"""

OTHER_WORDS = (
    "only Tensors of floating point dtype can require gradients",
    "attempting to assign a gradient with dtype",
    "Expected one of cpu, cuda, xpu, mps, xla, meta device",
    "Trying to create tensor with negative dimension -1: [-1]",
    "masked_fill_ only supports boolean masks",
    '"floor_cpu" not implemented',
    "isn't allowed in a leading, non-existing dimension",
    "are out of bounds for storage of size",
    "Expected 0D or 1D tensor in the tensor list",
    "expected m1 and m2 to have the same dtype",
    "Tensor-likes are not close!",
    "shape '[2, 2, 3, 3]' is invalid",
    "expected scalar type Long but found Int",
    "results in a negative size",
    "Expected attn_mask dtype to be bool or float",
    "random numbers are not implemented for",
    "Expected p_in >= 0 && p_in <= 1",
    "does not fit 1 indices of dimension 0",
    "index out of range in self",
    "self and source expected to have the same dtype",
    "index_copy_(): Expected a long tensor",
    "masked_scatter_: expected self and source",
    'be empty or contain ".", got',
    "has been modified by an inplace operation",
)

# What torch says of an argument that is no tensor; of a function with several signatures it lists them instead.
# Attributes that cannot be set, and arguments that torch refuses.
SETTING = """
setattr(x, "shape", (3, 2, 4))
setattr(x, "dtype", torch.int64)
setattr(x, "device", "cpu")
setattr(x, "T", x)
setattr(x, "ndim", 2)
setattr(x, "is_leaf", False)
setattr(x, "is_cuda", True)
setattr(x, "name", "x")
setattr(x, "width", 5), x.width
delattr(x, "shape")
setattr(x.max(0), "values", x)
setattr(torch.float32, "itemsize", 2)
setattr(torch.float32, "width", 2)
setattr(torch.finfo(torch.float32), "eps", 0.1)
setattr(torch.iinfo(torch.int8), "max", 5)
setattr(torch.device("cpu"), "type", "cuda")
x.requires_grad_(); y = x * 2; setattr(y, "requires_grad", True)
x.requires_grad_(); y = x * 2; setattr(y, "requires_grad", False)
x.requires_grad_(); (x * 2).requires_grad_(True).requires_grad
x.is_cpu, x.is_mps, x.name
"""
REFUSED_ARGUMENTS = """
x.max(None)
x.min(dim=None)
torch.max(x, None)
x.median(None)
x.nanmedian(None)
x.prod(None)
x.squeeze(None)
x.squeeze_(None)
torch.arange(3, None)
torch.where(x > 0, None, x)
torch.where(x > 0, x)
x.sum(0, 1)
x.topk(2.0)
x.topk(True)
x.unsqueeze("a")
x.long(True)
x.flip([1], 1)
torch.zeros(2, requires_grad="yes")
torch.zeros(2, requires_grad=None).requires_grad
torch.optim.SGD([x], lr=None)
torch.optim.SGD([{"params": [x], "lr": 1}], -1)
torch.bincount(torch.tensor([True]))
x.gather(1, torch.tensor(1))
x.masked_select(torch.tensor(1))
torch.isin(torch.tensor([True]), torch.tensor([1]))
torch.cov(torch.tensor([True]))
x.repeat_interleave(torch.tensor(2.0))
x.diff(prepend=x[0])
torch.lerp(x, torch.arange(4), 0.5)
torch.lerp(x, x + 1, torch.tensor(1))
x.narrow(1, -4, 1)
x.narrow(1, 4, 0)
x.sub(True, alpha=2)
x.roll((1, 2), 0)
x.roll((1, 2))
x.roll((), ())
x.roll([1], [0])
torch.searchsorted(torch.arange(3), 1, side="middle")
F.batch_norm(x, None, torch.ones(3), training=True)
F.scaled_dot_product_attention(x[0, 0], x[0], x[0])
F.normalize(x, dim=None), F.normalize(x, dim=(0, 1))
x.sum(torch.tensor(1)), x.topk(torch.tensor(2)), x.clamp(torch.tensor(0)), F.avg_pool1d(x, torch.tensor(2))
x.std(correction=0.5)
torch.pow(x, exponent=2), torch.lerp(x, x + 1, weight=0.5), torch.addmm(input=torch.ones(3, 3), mat1=x[0], mat2=x[0].T)
torch.split(x, split_size_or_sections=1), x.split(split_size=2), torch.tensor_split(x, sections=2)
torch.bucketize(input=x, boundaries=x[0, 0]), torch.searchsorted(sorted_sequence=x[0, 0], input=x)
torch.broadcast_to(x, size=(2, 3, 4)), x.clone().copy_(other=x), torch.ger(x[0, 0], vec2=x[0, 1])
torch.exp(x=x), torch.pow(a=x, exponent=2), x.mul(other=x)
x.view(size=(6, 4)), x.reshape(shape=(6, 4)), torch.reshape(input=x, shape=(6, 4)), x.permute(dims=(1, 0, 2))
x.repeat(repeats=(1, 1, 2)), x.expand(size=(2, 2, 3, 4)), torch.tile(x, dims=(2,)), x.swapaxes(axis0=0, axis1=1)
torch.linalg.inv(A=torch.eye(2)), torch.linalg.solve(A=torch.eye(2), B=torch.ones(2))
torch.linalg.svdvals(A=torch.eye(2))
torch.split(tensor=x, split_size_or_sections=1)
torch.linalg.inv(input=torch.eye(2))
torch.mul(x, b=x)
x.mul(b=x)
F.relu(x=x)
nn.Linear(4, 2)(input=x), nn.LayerNorm(4)(input=x), nn.Sequential(nn.ReLU())(input=x)
nn.Embedding(3, 2)(input=torch.arange(2)), nn.Bilinear(4, 4, 2)(input1=x, input2=x)
nn.Linear(4, 2)()
"""
# What torch says of two dtypes, of leaves, and of settings.
WORDS = """
x[0] @ torch.ones(4).long()
x[0].long() @ torch.ones(4)
x @ x.mT.long()
x[0] @ x[0].mT.long()
torch.addmm(torch.ones(3, 3), x[0], x[0].T.long())
torch.addmm(torch.ones(3, 3), x[0].double(), x[0].T)
torch.tensor([1], requires_grad=True)
torch.ones(2).long().requires_grad_()
x.requires_grad_(); x[0] = 1
x.requires_grad_(); x[..., :1] = 1
x.requires_grad_(); x[:] = 1
x.requires_grad_(); x[...] = 1
x.requires_grad_(); x[x > 0] = 1
F.scaled_dot_product_attention(x, x, x, torch.ones(3, 3).long())
F.scaled_dot_product_attention(x, x, x, torch.ones(3, 3).double())
F.scaled_dot_product_attention(x.double(), x.double(), x.double(), torch.ones(3, 3))
torch.optim.Adam([x], lr="a")
torch.optim.Adam([x], lr=math.nan)
torch.optim.Adam([x], betas=(0.9,))
torch.optim.Adam([x], betas=0.9)
"""

NO_TENSORS = [
    *(f"torch.{name}({given})" for name in (
        "sqrt", "exp", "log", "abs", "relu", "sigmoid", "tanh", "sin", "cos", "isnan", "isfinite", "square", "neg",
        "argmax", "amax", "numel", "is_floating_point", "flip", "tril", "triu", "diag", "unsqueeze", "bernoulli",
        "permute", "ravel", "clone", "softmax", "log_softmax", "logical_not", "nonzero", "trace", "where",
    ) for given in ("4", "2.0", "[1.0]", "None")),
    *(f"torch.{name}({given})" for name in (
        "allclose", "isclose", "equal", "matmul", "dot", "outer", "mv", "inner", "kron", "cdist", "dist", "maximum",
        "minimum", "logical_and", "logical_or", "eq", "lt", "broadcast_to",
    ) for given in ("(x, x), (x, x)", "4.0, x", "[1.0], [2.0]")),
    *(f"torch.{name}(x, {given})" for name in (
        "allclose", "isclose", "equal", "matmul", "dot", "outer", "mv", "inner", "kron", "cdist", "dist", "maximum",
        "minimum", "logical_and", "logical_or", "add", "mul", "take", "masked_select",
    ) for given in ("(x, x)", "'a'")),
    "torch.add([1.0], [2.0])",
    "torch.div('a', x)",
    "torch.gather(x, 0, [1])",
    "torch.index_select(x, 0, [1])",
    "torch.take_along_dim(x, [1], 0)",
    "torch.multinomial([0.5, 0.5], 1)",
]  # fmt: skip

REFUSED = [
    "nn.Embedding(3, 2, max_norm=1.0)",
    "nn.Embedding(3, 2, sparse=True)",
    "F.embedding(torch.tensor([0]), x.detach(), scale_grad_by_freq=True)",
    "nn.MultiheadAttention(2, 1, add_bias_kv=True)",
    "nn.ParameterDict({'a': 1})",
    "torch.autocast('cpu')",
    "torch.amp.GradScaler('cpu')",
    "torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([x])).state_dict()",
    "F.mse_loss(x, x, weight=x)",
    "F.pad(torch.ones(1, 3, 3), (1, 1, 1, 1), mode='reflect')",
    "torch.linalg.norm(x[None], 2, dim=(1, 2))",
    "torch.linalg.qr(torch.eye(2))",
    "torch.linalg.svd(x)[0]",
    "torch.linalg.eigh(x @ x.T).eigenvectors",
    "torch.linalg.pinv(torch.ones(2, 2))",
    "torch.linalg.det(torch.ones(2, 2) * x).backward()",
    "torch.randn(16, dtype=torch.bfloat16)",
    "F.gelu(torch.tensor([torch.inf, 1.0]))",
    "F.interpolate(x[None], scale_factor=1.5)",
    "F.max_pool1d(x, 2, return_indices=True)",
    "nn.Conv1d(2, 2, 3, padding_mode='circular')",
    "torch.optim.RMSprop([x], centered=True)",
    "torch.cov(x, fweights=torch.tensor([1, 1]))",
    "torch.linalg.solve(torch.ones(2, 1, 1), torch.ones(2, 1, 1))",
    "torch.linalg.inv(torch.tensor([[1.0, 2.0], [3.0, 6.000001]]))",
    "torch.linalg.solve(torch.arange(1.0, 17).view(4, 4).double(), torch.ones(4).double())",
    "torch.linalg.det(torch.arange(1.0, 10).view(3, 3))",
    "torch.pinverse(torch.ones(3, 2) + torch.eye(3, 2) * 1e-4)",
    "x.norm('nuc')",
    "x.view(torch.int32)",
    "torch.zeros(2, device='meta')",
    "x.gather(0, torch.tensor([[0]]), sparse_grad=True)",
    "torch.searchsorted(torch.ones(2, 2), torch.ones(2, 2))",
    "torch.optim.SGD([x], differentiable=True)",
    "F.mse_loss(x, x, size_average=False)",
    "F.cross_entropy(x, torch.tensor([0, 1]), reduce=False)",
    "torch.optim.Adam([x], maximize=True)",
    "x.sum().backward(create_graph=True)",
    "torch.autograd.grad(x.sum(), x, create_graph=True)",
    "x.lgamma().sum().backward()",
    "torch.linalg.solve(torch.eye(2) * x, torch.ones(2)).sum().backward()",
    "nn.Linear(2, 2).load_state_dict({'weight': torch.ones(2, 2), 'bias': torch.ones(2)}, assign=True)",
    "torch.testing.assert_close(x, x, check_stride=True)",
]

PRINTED = """
str(x)
str(x * 1e6)
str(x.long())
str(x > 0)
str(torch.arange(400.0).view(20, 20) * 1.37)
str(torch.randn(1200))
str(torch.randn(60))
str(torch.tensor([1e-8, 1.0]))
str(torch.tensor([math.nan, 1.0, math.inf]))
str(torch.tensor([1.0, 2.0]))
str(torch.tensor([-2.0, -0.0, 3.0]).relu())
str(torch.tensor(3))
str(torch.tensor(2.5, dtype=torch.float64))
str(torch.zeros(0))
str(torch.zeros(2, 0))
str(torch.ones(2, dtype=torch.int32))
str(torch.ones(2, requires_grad=True))
str(nn.Parameter(torch.ones(2)))
str(x.shape), repr(x.dtype), repr(x.device)
str(x.max(-1))
f"{x[0, 0, 0]:.3f} {x[0, 0]}"
"""

OPTIMIZERS = [
    f"""
layer = nn.Linear(3, 2)
chosen = torch.optim.{name}
for _ in range(4):
    chosen.zero_grad()
    (layer(torch.ones(5, 3)) ** 2).sum().backward()
    chosen.step()
list(layer.parameters()), [list(chosen.state[p].values()) for p in layer.parameters()], list(chosen.state[layer.weight])
"""
    for name in (
        "SGD(layer.parameters(), lr=0.1)",
        "SGD(layer.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)",
        "SGD(layer.parameters(), 0.1, 0.9, 0, 0.1)",
        "Adam(layer.parameters(), lr=0.1)",
        "AdamW(layer.parameters(), 0.1, (0.8, 0.9), 1e-6, 0.1)",
        "AdamW(layer.parameters(), lr=0.1, weight_decay=0.1)",
    )
]

EVERY = {name: text for name, text in globals().items() if name.isupper() and isinstance(text, str) and name != "X"}
EXPONENTIAL = """
torch.multinomial(torch.ones(2, 60), 1, True), torch.rand(1)
torch.distributions.Categorical(torch.ones(60)).sample(), torch.rand(1)
torch.multinomial(torch.ones(60), 9), torch.rand(1)
torch.empty(5).exponential_(), torch.rand(1)
torch.empty(5, dtype=torch.float64).exponential_(2.0)
torch.empty(40).bernoulli_(0.3), torch.ones(3).bernoulli(0.5), torch.rand(1)
F.dropout(torch.ones(40), 0.3), torch.rand(1)
nn.MultiheadAttention(4, 2, 0.5, batch_first=True)(x, x, x)
F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
"""


def programs(text: str) -> list[str]:
    return [X + line.replace("; ", "\n") for line in text.strip().splitlines()]


@pytest.mark.parametrize("name", EVERY)
def test_programs_give_the_same(name: str):
    found = differences(programs(EVERY[name]), other_words=OTHER_WORDS)
    assert not found, "\n".join(found)


def exponential_from_uniform() -> bool:
    """Whether torch makes each exponential number of a uniform one; with Intel's library it draws otherwise."""
    uniform = torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    drawn = torch.empty(1).exponential_(generator=torch.Generator().manual_seed(0))
    return torch.allclose(-torch.log1p(-uniform).float(), drawn)


@pytest.mark.skipif(not exponential_from_uniform(), reason="torch draws by Intel's library here")
def test_exponential_numbers_and_dropout_are_the_same():
    found = differences(programs(EXPONENTIAL))
    assert not found, "\n".join(found)


def said(expression: str, library: ModuleType) -> str:
    """What an expression raises, in words; nothing where it has a value."""
    try:
        eval(expression, {"torch": library, "x": library.ones(2)})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_one_cycle_gives_the_same_rates_and_momenta():
    cycle = """
o = torch.optim.{}
s = torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20, {})
[(o.step(), s.step(), s.get_last_lr(), o.param_groups[0].get("{}"))[2:] for _ in range(19)] + [s.last_epoch]
"""
    given = (
        ("SGD([nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)", "anneal_strategy='linear'", "momentum"),
        ("Adam([nn.Parameter(torch.ones(1))])", "pct_start=0.5", "betas"),
        ("Adagrad([nn.Parameter(torch.ones(1))])", "cycle_momentum=False, div_factor=5.0", "lr"),
    )
    assert not differences([cycle.format(*one) for one in given], 1e-9)


def test_a_function_returns_a_gradient_for_each_argument():
    program = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g, {}
F.apply(torch.ones(2, requires_grad=True)).sum().backward()
"""
    assert not differences([program.format(more) for more in ("g", "None")])


INFERENCE = """
z.is_inference(), torch.is_inference(x), z.clone().is_inference(), z.view(2, 1).is_inference(), (z * 1).is_inference()
z * x
z + x
nn.Linear(2, 1)(z)
z.clone() * x
z.add_(1)
z[0] = 5; z
z.requires_grad_()
y.is_inference(), q, torch.is_inference_mode_enabled(), z.sum().item()
z.sum().backward()
"""


@pytest.mark.filterwarnings("error")  # such as one of a node that was not finished
def test_what_is_made_in_inference_mode_is_kept_from_gradients():
    start = "x = torch.ones(2, requires_grad=True)\nwith torch.inference_mode():\n    z, y = x * 2, x.view(2, 1)\n"
    start += "    q = torch.is_inference_mode_enabled()\n"
    assert not differences([start + line.replace("; ", "\n") for line in INFERENCE.strip().splitlines()])
    program = "@torch.inference_mode({})\ndef f(x):\n    return x * 2\ny = f(torch.ones(1, requires_grad=True))\n"
    assert not differences(
        [program.format(mode) + "y.is_inference(), y.requires_grad" for mode in ("", "True", "False")]
    )


@pytest.mark.parametrize("expression", NO_TENSORS)
def test_an_argument_that_is_no_tensor_is_named_in_torchs_words(expression: str):
    theirs, ours = said(expression, torch), said(expression, page_torch)
    assert "must be Tensor, not" in ours
    if "invalid combination of arguments" not in theirs:
        assert ours == theirs


def test_normal_numbers_are_rounded_as_in_torch_also_near_zero():
    first, second = ([library.manual_seed(3), library.randn(4000)][1].tolist() for library in (torch, page_torch))
    assert max(abs(a - b) / abs(a) for a, b in zip(first, second, strict=True)) < 1e-6


def test_optimizers_take_the_same_steps():
    assert not differences(OPTIMIZERS, 1e-5)


LACKING = "torch.fft torch.nn.functional.fold torch.nn.EmbeddingBag torch.backends.cuda.sdp_kernel torch.optim.LBFGS "
LACKING += "Tensor.svd Linear.register_full_backward_hook Linear.to_empty SGD.register_step_post_hook LSTM.all_weights"
OWNERS = {"Tensor": "torch.ones(2)", "Linear": "nn.Linear(1, 1)", "LSTM": "nn.LSTM(1, 1)"}
OWNERS |= {"SGD": "torch.optim.SGD([torch.ones(1)])"}


@pytest.mark.parametrize("part", LACKING.split())
def test_what_torch_has_and_the_page_lacks_is_never_said_to_be_absent(part: str):
    """`hasattr` and `getattr` with a default raise an error, as they would not find what torch has."""
    owner, _, name = part.rpartition(".")
    names = {"torch": page_torch, "nn": page_torch.nn}
    assert hasattr(eval(OWNERS.get(owner, owner), {"torch": torch, "nn": torch.nn}), name)
    for asked in (f"hasattr(owner, {name!r})", f"getattr(owner, {name!r}, None)", f"owner.{name}"):
        with pytest.raises(NotImplementedError, match=f"`{re.escape(part)}` is not in the page's torch"):
            eval(asked, {"owner": eval(OWNERS.get(owner, owner), names)})


CLASSES = {"Tensor": "torch.Tensor", "Parameter": "nn.Parameter", "Module": "nn.Module", "Linear": "nn.Linear"}


@pytest.mark.parametrize("part", ["Tensor.svd", "Parameter.svd", "Module.share_memory"])
def test_a_class_tells_what_it_lacks(part: str):
    owner, _, name = part.partition(".")
    theirs, ours = (eval(CLASSES[owner], {"torch": library, "nn": library.nn}) for library in BOTH)
    assert hasattr(theirs, name)
    for asked in (hasattr, lambda kind, name: getattr(kind, name, None)):
        with pytest.raises(NotImplementedError, match=f"`{re.escape(part)}` is not in the page's torch"):
            asked(ours, name)


@pytest.mark.parametrize("place", ["torch", "nn", "nn.functional", "torch.Tensor", "nn.Module", "torch.ones(1)"])
def test_dir_lists_the_names_of_torch(place: str):
    theirs, ours = (dir(eval(place, {"torch": library, "nn": library.nn})) for library in BOTH)
    found = eval(place, {"torch": torch, "nn": torch.nn})
    differ = {name for name in {*theirs} ^ {*ours} if not name.startswith("_")} - {"volatile"}  # torch hides this one
    assert {name for name in differ if not isinstance(getattr(found, name, None), ModuleType)} == set()  # loaded since


def test_layers_name_their_inputs_as_in_torch():
    for name, kind in vars(page_torch.nn).items():
        if isinstance(kind, type) and "forward" in vars(kind) and hasattr(torch.nn, name):
            theirs, ours = (list(signature(k.forward).parameters) for k in (getattr(torch.nn, name), kind))
            assert ours == theirs or {"args", "a"} & {*ours}, name  # of these, the function has the names


def test_a_model_may_be_abstract():
    class Model(page_torch.nn.Module, ABC):
        pass

    assert isinstance(Model(), page_torch.nn.Module)


UNKNOWN = """
torch.Tensor.attend
hasattr(torch.Tensor, "attend"), hasattr(nn.Module, "attend"), hasattr(torch.Tensor, "mT")
torch.sofmax
F.sofmax
nn.Lienar
torch.optim.Adem
torch.ones(2).sofmax
nn.Linear(1, 1).wieght
nn.Module().encoder
hasattr(torch, "sofmax"), hasattr(torch.ones(1), "attn"), hasattr(nn.Linear(1, 1), "hidden")
getattr(torch, "attend", 5), getattr(nn.ReLU(), "d_model", 6), getattr(torch.ones(2), "width", 7)
[hasattr(torch, n) for n in ("softmax", "no_grad", "__path__", "__version__", "__nothing__")]
[hasattr(torch.ones(1), n) for n in ("__len__", "__array__", "__nothing__", "_nothing", "grad_fn")]
"""


def test_what_torch_lacks_is_an_attribute_error_as_there():
    assert not differences(UNKNOWN.strip().splitlines())


def test_every_name_that_the_page_lacks_is_listed():
    """After a new release of torch or NumPy, or a new name of the page's own, `python tools/names.py` lists them."""
    for found, text in zip(names.lacking(), (listed.NAMES, listed.OWN), strict=True):
        unlisted = {place: {*own} - {*text.get(place, "").split()} for place, own in found.items()}
        assert {place: own for place, own in unlisted.items() if own} == {}


def test_classes_inherit_from_one_another_as_in_torch():
    """`isinstance(layer, nn.Sequential)` says the same."""
    for place in ("torch", "torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data"):
        theirs, ours = (eval(place, {"torch": library}) for library in BOTH)
        kinds = [
            n for n, kind in vars(ours).items() if isinstance(kind, type) and isinstance(getattr(theirs, n, None), type)
        ]
        for one, other in permutations(kinds, 2):
            same = [issubclass(getattr(library, one), getattr(library, other)) for library in (theirs, ours)]
            assert same[0] == same[1], (place, one, other)


@pytest.mark.parametrize("expression", REFUSED)
def test_what_torch_does_and_the_page_does_not_is_refused(expression: str):
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "x": torch.ones(2, 2, requires_grad=True)}
    eval(expression, names)
    names = {"torch": page_torch, "nn": page_torch.nn, "F": page_torch.nn.functional}
    names["x"] = page_torch.ones(2, 2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="is not in the page's torch"):
        eval(expression, names)


def test_a_block_on_another_device_is_refused():
    with page_torch.device("cpu"):
        assert page_torch.ones(2).device.type == "cpu"
    with (
        pytest.raises(NotImplementedError, match="the device `meta` is not in the page's torch"),
        page_torch.device("meta"),
    ):
        pass


# Parameters that change nothing here, such as those for speed; and those that Python or a caller passes.
UNUSED = {
    *(
        "unique.sorted",
        "cdist.compute_mode",
        "isin.assume_unique",
        "svd.full_matrices",
        "fork_rng.devices",
        "softmin._stacklevel",
        "TransformerEncoder.enable_nested_tensor",
        "TransformerEncoder.mask_check",
        "refuse._",
        "name_of_step._",
    ),
    *(
        "copy_.non_blocking",
        "to.non_blocking",
        "use_deterministic_algorithms.mode",
    ),
    *("use_deterministic_algorithms.warn_only", "grad.only_inputs", "softmax._stacklevel", "log_softmax._stacklevel"),
    *("embedding.norm_type", "assert_close.allow_subclasses", "assert_close.check_device"),
    *(
        "assert_close.check_layout",
        "jacobian.vectorize",
        "Identity.args",
        "Identity.kwargs",
        "Parameter.data",
        "Parameter.requires_grad",
    ),
    *("__exit__.a", "__exit__.error", "__array__.a", "__torch_dispatch__.types", "back.args"),
    "__torch_function__.types",
    "back._",
    *("__class_getitem__.kind", "__getattr__.name", "__getitem__.index", "Sampler.data_source", "is_complex.x"),
    *(f"DataLoader.{name}" for name in ("multiprocessing_context", "persistent_workers", "pin_memory_device")),
    *(f"DataLoader.{name}" for name in ("prefetch_factor", "timeout", "worker_init_fn")),
    *(f"{name}.foreach" for name in ("clip_grad_norm_", "clip_grad_value_", "get_total_norm")),
    *("backward.ctx", "backward.grad_outputs", "forward.ctx", "forward.kwargs"),
    *("mark_non_differentiable.tensors", "set_materialize_grads.value"),
    *(f"GradScaler.{name}" for name in ("init_scale", "growth_factor", "backoff_factor", "growth_interval")),
    *("autocast.cache_enabled", "autocast.dtype", "unscale_.optimizer", "update.new_scale"),
    *("__call__.args", "__call__.kwargs", "get_device.x", "gumbel_softmax.eps", "load_state_dict.state_dict"),
    *("cuda.device", "manual_seed.seed", "manual_seed_all.seed"),
    *("stacked_result.gates", "transposed_result.gates"),  # the names of steps in the graph depend on them
    *("forward.a", "forward.k", "forward.args", "draw_with_replacement.kind", "schedule.args", "schedule.kwargs"),
    *("update.p", "update.g", "update.group", "update.state"),
    *("__setattr__.name", "__setattr__.value", "set_.x", "set_.value"),  # these raise an error
}


def test_every_parameter_is_used():
    """No argument is accepted and then ignored, unless it is one of the above."""
    found = set()
    for file in Path(page_torch.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        owners = {
            id(part): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body
        }
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            used = {part.id for line in node.body for part in ast.walk(line) if isinstance(part, ast.Name)}
            taken = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)} - {"self", "cls"}
            name = owners.get(id(node), node.name) if node.name == "__init__" else node.name
            found |= {f"{name}.{parameter}" for parameter in taken - used}
    assert found == UNUSED


def test_every_name_is_one_of_torch():
    """A program that runs here runs there: no public name is our own."""
    files = {file.stem for file in Path(page_torch.__file__).parent.glob("*.py")} | {"annotations"}
    helpers = {"Any", "NoReturn", "FUNCTIONS"}
    ours = {name for name in vars(page_torch) if not name.startswith("_")} - files - helpers
    assert [name for name in sorted(ours) if not hasattr(torch, name)] == []
    methods = {name for name in vars(page_torch.Tensor) if not name.startswith("_")}
    assert [name for name in sorted(methods) if not hasattr(torch.Tensor, name)] == []


NUMBERS = ("-torch.inf", "torch.nan", "300", "-1", "-256", "-129", "2.7", "1e6", "2.0**64", "1e39", "0")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
FILLED = (
    "torch.ones(2, dtype={t}).masked_fill(torch.tensor([True, False]), {v})",
    "torch.ones(2, dtype={t}).fill_({v})",
    "torch.full((2,), {v}, dtype={t})",
    "x = torch.ones(2, dtype={t})\nx[0] = {v}\nx",
    "torch.tensor([{v}], dtype={t})",
)


@pytest.mark.parametrize("program", FILLED)
def test_a_number_that_does_not_fit_a_dtype_raises_as_in_torch(program: str):
    assert not differences([program.format(v=v, t=f"torch.{t}") for v in NUMBERS for t in DTYPES])


MODULES = """
nn.Linear(2, 3, bias=False)
nn.LayerNorm(3, bias=False)
nn.LayerNorm(3, elementwise_affine=False)
nn.RMSNorm(3, elementwise_affine=False)
nn.GroupNorm(2, 4, affine=False)
nn.BatchNorm1d(3, affine=False, track_running_stats=False)
nn.Conv1d(2, 3, 1, bias=False)
nn.Bilinear(2, 3, 4, bias=False)
nn.MultiheadAttention(4, 2, bias=False)
nn.GRU(2, 3, bias=False)
nn.RNNCell(2, 3, bias=False)
nn.CrossEntropyLoss()
nn.CrossEntropyLoss(weight=torch.ones(3))
nn.BCEWithLogitsLoss(pos_weight=torch.ones(2))
nn.TransformerEncoderLayer(4, 2)
"""


@pytest.mark.parametrize("module", MODULES.strip().splitlines())
def test_a_module_has_the_same_members_also_those_that_are_none(module: str):
    kinds = ("_parameters", "_buffers", "_modules")
    shown = ", ".join(f"[(n, v is None) for n, v in m.{kind}.items()]" for kind in kinds)
    assert not differences([f"m = {module}\n{shown}, list(m.state_dict())"])


ENDS = """
str(m), list(m._parameters), list(m._modules), list(m.children()), list(m.state_dict())
setattr(m, "w", 3)
setattr(m, "l", 3)
[delattr(m, name) for name in "wt"], list(m._parameters), list(m.state_dict())
m.w = nn.Parameter(torch.ones(1)); list(m.state_dict())
m._get_name(), vars(m)["training"]
"""


def test_members_become_none_and_parameters_again():
    start = "m = nn.Module(); m.b = None; m.w = nn.Parameter(torch.ones(1)); m.b = nn.Parameter(torch.ones(1))\n"
    start += "m.add_module('a', None); m.l = nn.Linear(1, 1); m.register_buffer('t', torch.ones(1)); m.l = m.w = None\n"
    assert not differences([start + end.replace("; ", "\n") for end in ENDS.strip().splitlines()])


DRAWS = (
    "",
    "torch.rand(3)",
    "torch.randn(1)",
    "torch.rand(624)",
    "torch.rand(625)",
    "torch.randn(20)",
    "torch.randperm(9)",
)


@pytest.mark.parametrize("draw", DRAWS)
def test_a_random_state_has_the_same_bytes(draw: str):
    states = []
    for library in (torch, page_torch):
        library.manual_seed(77)
        eval(draw or "0", {"torch": library})
        states.append(library.get_rng_state())
    assert states[0].tolist() == states[1].tolist()
    numbers = page_torch.randn(3).tolist()
    page_torch.set_rng_state(states[1])
    assert page_torch.randn(3).tolist() == numbers


JOINED = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")


@pytest.mark.parametrize("shape", ["6, 1", "2, 3"])
def test_tensors_of_two_dtypes_are_joined(shape: str):
    """Narrow columns are joined in another way than wide ones."""
    made = [f"torch.arange(6).reshape({shape}).to(torch.{{}})".format(kind) for kind in JOINED]
    pairs = [f"torch.{f}([{a}, {b}], 1)" for f in ("cat", "stack") for a in made for b in made if f == "cat" or a == b]
    assert not differences(pairs)


REFUSED_STATES = "torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))\ntorch.set_rng_state([1])"
NAMES = """
torch.linspace(0, 1, 4).tolist(), torch.linspace(-0.3, 2.7, 8).tolist()
torch.linspace(1, 2, 7, dtype=torch.float64).tolist()
torch.tensor([[2.0, 1.0], [1.0, 3.0]]).inverse(), torch.inverse(torch.eye(2))
str(torch.distributions.Categorical(torch.ones(4)))
d = torch.distributions.Categorical(torch.ones(4)); d.entropy(); str(d)
[f.__name__ for f in (torch.exp, torch.relu, torch.multiply, torch.floor, torch.square, torch.max)]
type(torch.ones(2).max(0)).__name__, type(torch.ones(2).max(0)).__module__
nn.utils.clip_grad_value_(nn.Linear(1, 1).parameters(), 1.0)
nn.utils.clip_grad_norm_(nn.Linear(1, 1).parameters(), 1.0)
str(nn.ParameterDict({"w": nn.Parameter(torch.ones(1))})), str(nn.ParameterList([nn.Parameter(torch.ones(2, 3))]))
"""


def test_names_and_errors_are_those_of_torch():
    assert not differences(
        [line.replace("; ", "\n") for line in NAMES.strip().splitlines()] + REFUSED_STATES.splitlines()
    )


STEPS = "a + b|a - 1|a * 3|a * b|a / 2|a ** 2|a.exp()|a.sum()|a.softmax(-1)|a.mm(b)|a.t()|a.view(-1)|torch.cat([a, b])"


@pytest.mark.parametrize("step", STEPS.split("|"))
def test_the_graph_names_the_same_next_functions(step: str):
    leaves = "a, b = (torch.ones(2, 2, requires_grad=True) for _ in range(2))\n"
    assert not differences([f"{leaves}[(f.name() if f else None, i) for f, i in ({step}).grad_fn.next_functions]"])


def test_next_functions_of_several_steps_are_refused():
    x = page_torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="next_functions"):
        print(x.mean().grad_fn.next_functions)


PRINTED = """
str(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9))
str(torch.optim.Adam([torch.zeros(1, requires_grad=True)]))
str(torch.optim.AdamW([{"params": [torch.zeros(1, requires_grad=True)], "lr": 0.5}]))
list(torch.optim.SGD([torch.zeros(1, requires_grad=True)]).param_groups[0])
list(torch.optim.AdamW([torch.zeros(1, requires_grad=True)]).param_groups[0])
str(nn.Linear(1, 1).state_dict().keys())
str(type(nn.Linear(1, 1).state_dict()))
torch.zeros(2, 3).scatter(1, torch.tensor([[0, 1], [2, 0], [1, 1]]), 1.0)
torch.zeros(2, 3).scatter(1, torch.tensor([[0], [1]]), torch.arange(6.0).reshape(2, 3))
torch.zeros(2, 3, dtype=torch.int64).scatter(1, torch.tensor([[0]]), torch.inf)
"""


def test_states_and_optimizers_print_as_in_torch():
    assert not differences(PRINTED.strip().splitlines())


@pytest.mark.parametrize("program", ["a @ b", "torch.einsum('ij,jk->ik', a, b)", "F.linear(a, b.mT)", "a.mv(b[:, 0])"])
def test_a_dispatch_mode_is_told_which_tensors_are_products_of_matrices(program: str):
    told: list[tuple[str, int]] = []

    class Telling(TorchDispatchMode):
        def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            told.append((operation.name(), operation().numel()))
            return operation()

    a, b = page_torch.ones(3, 5), page_torch.ones(5, 7)
    with Telling():
        out = eval(program, {"a": a, "b": b, "torch": page_torch, "F": page_torch.nn.functional})
        a * 2
    assert ("aten::bmm", out.numel()) in told
    assert told[-1] == ("formed", 15)
