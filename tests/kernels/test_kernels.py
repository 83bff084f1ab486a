"""Each kernel gives what torch gives, with SIMD and in plain JavaScript, and writes nothing beside its result."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[2]
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Kernels(NamedTuple):
    """The kernels for one type of number, in a process of Node.js."""

    process: subprocess.Popen[str]
    type: str
    simd: bool

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.type]

    def randn(self, *shape: int) -> Tensor:
        return torch.randn(*shape, dtype=self.dtype)

    def __call__(self, name: str, *args: Tensor | float) -> float:
        """Call a kernel. Tensors are passed by address, and afterwards have what the kernel wrote."""
        tensors = list({id(arg): arg for arg in args if isinstance(arg, Tensor)}.values())
        places = {id(tensor): place for place, tensor in enumerate(tensors)}
        sent = [
            {"array": places[id(arg)]} if isinstance(arg, Tensor) else str(float(arg)).replace("inf", "Infinity")
            for arg in args
        ]
        arrays = [encoded(tensor) for tensor in tensors]
        asked = {"type": self.type, "simd": self.simd, "name": name, "arrays": arrays, "args": sent}
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["isFast"] is self.simd
        assert answer["untouched"], "the kernel wrote beside its arrays"
        for tensor, text in zip(tensors, answer["arrays"], strict=True):
            if text:
                tensor.untyped_storage().copy_(storage_of(text))
        return float(answer.get("result") or 0)

    def close_to(self, given: Tensor, wanted: Tensor) -> None:
        """Assert that two tensors are equal but for rounding, and that NaN and infinity are in the same places."""
        rounding = 2e-6 if self.dtype == torch.float32 else 1e-13
        torch.testing.assert_close(given, wanted.to(self.dtype), rtol=rounding, atol=rounding, equal_nan=True)


def number(value: float) -> str:
    return str(float(value)).replace("inf", "Infinity")  # as JavaScript writes it


def encoded(tensor: Tensor) -> str:
    return base64.b64encode(bytes(tensor.untyped_storage())).decode()


def storage_of(text: str) -> torch.UntypedStorage:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8).untyped_storage()


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    command = ["node", str(Path(__file__).with_name("calls.mjs"))]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as running:
        yield running
        running.kill()


@pytest.fixture(params=[("float32", True), ("float64", True), ("float32", False), ("float64", False)], ids=str)
def k(request: pytest.FixtureRequest, process: subprocess.Popen[str]) -> Kernels:
    return Kernels(process, *request.param)


ODD = [torch.inf, -torch.inf, torch.nan, 0.0, -0.0, 1e-320, 3.0, -2.5, 88.0, -104.0, 709.5, -744.0, 1e30]
SIZES = [(1, 1, 1), (4, 3, 8), (5, 7, 9), (3, 300, 17), (12, 32, 96), (2, 0, 3), (9, 5, 2)]


@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES, ids=str)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_product(k: Kernels, rows: int, inner: int, columns: int, transposed: str) -> None:
    a = k.randn(inner, rows).T if "a" in transposed else k.randn(rows, inner)
    b = k.randn(columns, inner).T if "b" in transposed else k.randn(inner, columns)
    before = k.randn(rows, columns)
    out = before.clone()
    k("product", out, columns, a, *a.stride(), b, *b.stride(), rows, inner, columns, 1)
    wanted = before.double() + a.double() @ b.double()
    tolerance = 1e-5 if k.dtype == torch.float32 else 1e-13
    torch.testing.assert_close(out, wanted.to(k.dtype), rtol=tolerance, atol=tolerance * (1 + inner) ** 0.5)
    k("product", out, columns, a, *a.stride(), b, *b.stride(), rows, inner, columns, 0)
    torch.testing.assert_close(out, (a.double() @ b.double()).to(k.dtype), rtol=tolerance, atol=tolerance * 20)


def test_products_of_heads(k: Kernels) -> None:
    """Scores of all heads of a batch: queries and keys lie as (B, n, h, d) and are read as (B, h, n, d)."""
    queries, keys = k.randn(2, 5, 3, 4).transpose(1, 2), k.randn(2, 6, 3, 4).transpose(1, 2)
    out = torch.zeros(2, 3, 5, 6, dtype=k.dtype)
    k("products", 2, 3, out, *out.stride()[:3], queries, *queries.stride(), keys, *keys.mT.stride(), 5, 4, 6, 0)
    k.close_to(out, queries.double() @ keys.double().mT)


PAIRS: dict[str, Any] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "larger": torch.maximum,
    "smaller": torch.minimum,
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (5, 1), (1, 1)], ids=str)
def test_pairs(k: Kernels, name: str, shape: tuple[int, int]) -> None:
    a, b, out = k.randn(5, 7), k.randn(*shape), k.randn(5, 7)
    a[0, 0], a[2, :4], b[0, 0] = 0.0, torch.tensor([torch.nan, torch.inf, 0.0, -0.0]), -0.0
    steps = [0 if size == 1 else step for size, step in zip(shape, b.stride(), strict=True)]
    k(name, out, 7, a, 7, 1, b, *steps, 5, 7)
    wanted = PAIRS[name](a, b)
    assert torch.equal(out.nan_to_num(12345), wanted.nan_to_num(12345))
    if shape == (5, 7):  # elsewhere torch chooses between 0 and −0 by the lengths of the loops
        assert torch.equal(out.signbit() & ~out.isnan(), wanted.signbit() & ~wanted.isnan())


COMPARISONS: dict[str, Any] = {"equal": torch.eq, "unequal": torch.ne, "less": torch.lt, "lessOrEqual": torch.le}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(k: Kernels, name: str) -> None:
    a, b, out = k.randn(5, 7), k.randn(5, 1), torch.ones(5, 7, dtype=torch.bool)
    a[:, 2] = b[:, 0]
    a[1, 3], b[2, 0] = torch.nan, torch.nan
    k(name, out, 7, a, 7, 1, b, 1, 0, 5, 7)
    assert torch.equal(out, COMPARISONS[name](a, b))


def test_power(k: Kernels) -> None:
    a, b, out = k.randn(5, 7), k.randn(1, 7), k.randn(5, 7)
    k("power", out, 7, a, 7, 1, b, 0, 1, 5, 7)
    k.close_to(out, a.double() ** b.double())


def test_pair_of_a_transpose_in_place(k: Kernels) -> None:
    a, b = k.randn(6, 9), k.randn(9, 6)
    wanted = a + b.T
    k("add", a, 9, a, 9, 1, b, 1, 6, 6, 9)
    assert torch.equal(a, wanted)


MAPS: dict[str, Any] = {
    "negative": torch.neg,
    "absolute": torch.abs,
    "root": torch.sqrt,
    "relu": torch.relu,
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "sin": torch.sin,
    "cos": torch.cos,
}


@pytest.mark.parametrize("name", MAPS)
def test_maps(k: Kernels, name: str) -> None:
    odd = [x for x in ODD if name not in ("sin", "cos") or abs(x) < 1e9]
    x = torch.cat([torch.tensor(odd, dtype=k.dtype), k.randn(64), k.randn(64) * 1e-5, k.randn(65) * 30])
    out = torch.empty_like(x)
    k(name, out, x, len(x))
    wanted = MAPS[name](x.double())
    if name == "gelu":
        wanted[1] = out[1]  # at −∞ torch gives NaN
    k.close_to(out, wanted)
    small = out.abs() < (0 if name == "gelu" else 0.1)  # a GELU's far left loses digits, in torch too
    torch.testing.assert_close(out[small], wanted[small].to(k.dtype), rtol=3e-6, atol=1e-300, equal_nan=True)


def test_copy(k: Kernels) -> None:
    x = k.randn(2, 5, 3, 4)
    for axes in [(0, 2, 1, 3), (3, 2, 1, 0), (1, 0, 3, 2)]:
        view = x.permute(axes)
        out = torch.empty(view.shape, dtype=k.dtype)
        k("copy", out, view, *view.shape, *view.stride())
        assert torch.equal(out, view)


def test_spread(k: Kernels) -> None:
    x, out = k.randn(3, 5, 2, 4), torch.zeros(2, 5, 3, 4, dtype=k.dtype)
    view = out.permute(2, 1, 0, 3)
    k("spread", view, x, *view.shape, *view.stride())
    assert torch.equal(view, x)
    wide = torch.zeros(6, 8, dtype=k.dtype)
    wanted = wide.clone()
    wanted[1:4, 2:7:2] = x.flatten()[:9].view(3, 3)
    part = wide.as_strided((3, 3), (8, 2))  # begins at the first number, because the kernel gets its address
    k("spread", part, x, 1, 1, 3, 3, 0, 0, 8, 2)
    assert torch.equal(wide[:3, 0:5:2], wanted[1:4, 2:7:2])
    assert wide.count_nonzero() == 9


@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (5, 1)], ids=str)
def test_choose(k: Kernels, shape: tuple[int, int]) -> None:
    mask, a, b, out = torch.rand(*shape) < 0.5, k.randn(5, 7), k.randn(7, 5).T, k.randn(5, 7)
    steps = [0 if size == 1 else step for size, step in zip(shape, mask.stride(), strict=True)]
    k("choose", out, 7, mask, *steps, a, 7, 1, b, *b.stride(), 5, 7)
    assert torch.equal(out, a.where(mask, b))


def test_gather_and_scatter(k: Kernels) -> None:
    table, rows = k.randn(6, 5), torch.tensor([3, 0, 3, 5], dtype=torch.int32)
    out, before, a = k.randn(4, 5), table.clone(), k.randn(4, 5)
    k("gather", out, table, rows, 4, 5, 0)
    assert torch.equal(out, table[rows])
    k("gather", out, table, rows, 4, 5, 1)
    assert torch.equal(out, 2 * table[rows])
    k("scatter", table, a, rows, 4, 5)
    k.close_to(table, before.index_add(0, rows, a))


def test_from_bytes(k: Kernels) -> None:
    numbers, scales = torch.randint(-128, 128, (3, 5), dtype=torch.int8), k.randn(3)
    out = k.randn(3, 5)
    k("fromBytes", out, numbers, scales, 3, 5)
    k.close_to(out, numbers.double() * scales[:, None])


@pytest.mark.parametrize("shape", [(3, 7, 1), (2, 5, 4), (4, 11, 3), (1, 1, 9), (2, 0, 3)], ids=str)
def test_folds(k: Kernels, shape: tuple[int, int, int]) -> None:
    outer, n, inner = shape
    x, out = k.randn(*shape), k.randn(outer, inner)
    before = out.clone()
    k("sum", out, x, *shape, 1)
    k.close_to(out, before.double() + x.double().sum(1))
    k("sum", out, x, *shape, 0)
    k.close_to(out, x.double().sum(1))
    if not n:
        return
    x[0, n // 2, 0] = torch.nan
    for name, fold in {"largest": torch.amax, "smallest": torch.amin}.items():
        k(name, out, x, *shape)
        assert torch.equal(out.nan_to_num(12345), fold(x, 1).nan_to_num(12345))


@pytest.mark.parametrize("columns", [1, 2, 5, 8])
def test_softmax(k: Kernels, columns: int) -> None:
    scores, out = k.randn(6, columns) * 20, k.randn(6, columns)
    scores[1, 0], scores[2, :] = -torch.inf, -torch.inf  # a masked score, and a row that is masked
    k("softmax", out, scores, 6, columns, 0.5, 0)
    k.close_to(out, (scores.double() / 2).softmax(-1))
    k("logSoftmax", out, scores, 6, columns)
    k.close_to(out, scores.double().log_softmax(-1))
    k("softmax", scores, scores, 6, columns, 1.0, 0)
    assert scores[3:].sum(-1).tolist() == pytest.approx([1, 1, 1])


def test_causal_softmax(k: Kernels) -> None:
    scores, out = k.randn(2, 5, 5), k.randn(2, 5, 5)
    k("softmax", out, scores, 10, 5, 1.0, 1)
    future = torch.ones(5, 5).triu(1) == 1
    k.close_to(out, scores.double().masked_fill(future, -torch.inf).softmax(-1))


def test_derivatives_of_softmax(k: Kernels) -> None:
    scores, g, out = k.randn(4, 7).double().requires_grad_(), k.randn(4, 7), k.randn(4, 7)
    weights = (0.3 * scores).softmax(-1)
    weights.backward(g.double())
    k("softmaxBack", out, weights.detach().to(k.dtype), g, 4, 7, 0.3)
    assert scores.grad is not None
    k.close_to(out, scores.grad)


def test_norm_and_its_derivatives(k: Kernels) -> None:
    x, gain, bias, g = k.randn(5, 7), k.randn(7), k.randn(7), k.randn(5, 7)
    out, units, roots = torch.empty_like(x), torch.empty_like(x), torch.empty(5, dtype=k.dtype)
    k("norm", out, units, roots, x, gain, bias, 5, 7, 1e-5)
    inputs = [t.double().requires_grad_() for t in (x, gain, bias)]
    y = F.layer_norm(inputs[0], (7,), inputs[1], inputs[2], 1e-5)
    k.close_to(out, y.detach())
    y.backward(g.double())
    before = [k.randn(*t.shape) for t in inputs]
    after = [t.clone() for t in before]
    k("normBack", *after, g, units, roots, gain, 5, 7)
    for found, base, leaf in zip(after, before, inputs, strict=True):
        assert leaf.grad is not None
        torch.testing.assert_close(found, (base.double() + leaf.grad).to(k.dtype), rtol=1e-5, atol=2e-6)
    k("norm", out, 0, 0, x, 0, 0, 5, 7, 1e-5)
    k.close_to(out, F.layer_norm(x.double(), (7,)))


def test_derivative_of_relu(k: Kernels) -> None:
    x, g, out = k.randn(33) * 3, k.randn(33), k.randn(33)
    leaf, before = x.double().requires_grad_(), out.clone()
    F.relu(leaf).backward(g.double())
    k("reluBack", out, x, g, 33)
    assert leaf.grad is not None
    k.close_to(out, before.double() + leaf.grad)


def test_add_scaled(k: Kernels) -> None:
    out, a = k.randn(11), k.randn(11)
    wanted = out.double() - 0.1 * a.double()
    k("addScaled", out, a, -0.1, 11)
    k.close_to(out, wanted)


def test_adamw(k: Kernels) -> None:
    values, zeros = k.randn(13), torch.zeros(13, dtype=k.dtype)
    means, squares, leaf = zeros.clone(), zeros.clone(), values.clone().requires_grad_()
    optimizer = torch.optim.AdamW([leaf], lr=0.01, betas=(0.85, 0.99), eps=1e-8, weight_decay=0.1)
    for step in (1, 2, 3):
        g = k.randn(13)
        leaf.grad = g
        optimizer.step()
        k("adamw", values, g, means, squares, 13, 0.01, 0.85, 0.99, 1e-8, 0.1, step)
    k.close_to(values, leaf.detach())


def test_built_code_comes_from_its_sources() -> None:
    done = subprocess.run(
        ["node", "kernels/build.mjs", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
