"""The widgets' mathematics, in JavaScript, against torch in float64; where torch cancels, against 800 digits."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch

from qkv.widgets import ScalingLab

from .node import node

TIGHT = {"rtol": 1e-9, "atol": 0.0}


def unit(*shape: int, seed: int = 0) -> list[Any]:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).tolist()


RANDOM = [unit(n, seed=n) for n in (1, 2, 5, 16, 37)]
HOSTILE = [
    [1e4, -1e4, 0.0],
    [1e4] * 5,
    [-1e4] * 3 + [-1e4 - 30],
    [0.0],
    [1e4],
    [0.0, 40.0, 80.0],
    [0.0, -40.0, -40.5],
    [0.0, -300.0, -302.0],
    [1e-300, 0.0, -1e-300],
    [-math.inf, 0.0, 1.0],
]
TEMPERATURES = [1.0, 0.05, 10.0, 1e-6, 1e6, 1e-300, 1e300]


def double(values: Any) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float64)


def same(actual: Any, expected: Any, **tolerance: float) -> None:
    torch.testing.assert_close(double(actual), double(expected), **(tolerance or TIGHT))


def close(actual: Any, expected: Any) -> bool:
    """To a relative 1e-9, or both too small for float64 to hold precisely."""
    return math.isclose(actual, float(expected), rel_tol=1e-9, abs_tol=1e-300)


# ---- against torch, on inputs where torch is exact enough


@pytest.mark.parametrize("temperature", [1.0, 0.05, 10.0])
@pytest.mark.parametrize("z", [*RANDOM, *HOSTILE[:5]])
def test_softmax(z: list[float], temperature: float):
    actual = node("({ z, T }) => maths.softmax(z, T)", {"z": z, "T": temperature})
    same(actual, (double(z) / temperature).softmax(-1))


@pytest.mark.parametrize("z", RANDOM)
def test_entropy(z: list[float]):
    p = double(z).softmax(-1)
    same(node("maths.entropy", p.tolist()), torch.special.entr(p).sum(), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("temperature", [1.0, 0.05, 10.0])
@pytest.mark.parametrize("z", RANDOM[1:])
def test_softmax_jacobian_norm_is_that_of_autograd(z: list[float], temperature: float):
    scores = double(z)
    jacobian = torch.autograd.functional.jacobian(lambda s: (s / temperature).softmax(-1), scores)
    p = (scores / temperature).softmax(-1).tolist()
    actual = node("({ p, T }) => maths.softmaxJacobianNorm(p, T)", {"p": p, "T": temperature})
    same(actual, torch.linalg.matrix_norm(jacobian))


def test_products():
    a, b = unit(3, 5, seed=1), unit(5, 2, seed=2)
    x, y = double(a), double(b)
    same(node("({ a, b }) => maths.matmul(a, b)", {"a": a, "b": b}), x @ y)
    same(node("([a, b]) => maths.dot(a, b)", a[:2]), torch.dot(x[0], x[1]))
    same(node("maths.transpose", a), x.T)


@pytest.mark.parametrize("xs", [unit(7), [1e4 + x for x in unit(50)], [3.0] * 4, [2.0]])
def test_mean_and_variance(xs: list[float]):
    mean, variance = node("(xs) => [maths.mean(xs), maths.variance(xs)]", xs)
    same(mean, double(xs).mean())
    same(variance, double(xs).var(correction=0), rtol=1e-9, atol=1e-15)


def test_histogram_counts_as_torch_does():
    xs = [*unit(500), -2.0, 2.0, 2.0000001, -7.0, 0.0]
    actual = node("(xs) => maths.histogram(xs, -2, 2, 16)", xs)
    assert actual == torch.histc(double(xs), 16, -2, 2).tolist()


# ---- against 800 digits, on inputs that make a naive formula cancel, overflow or vanish


def exact_softmax(z: list[float], temperature: float) -> list[Any]:
    top = max(z)
    powers = [mpmath.exp((mpmath.mpf(s) - top) / mpmath.mpf(temperature)) for s in z]
    return [power / mpmath.fsum(powers) for power in powers]


def exact_entropy(p: list[Any]) -> Any:
    return -mpmath.fsum(x * mpmath.log(x) for x in p if x > 0)


def exact_jacobian_norm(p: list[Any]) -> Any:
    entries = [(p[i] if i == j else 0) - p[i] * p[j] for i in range(len(p)) for j in range(len(p))]
    return mpmath.sqrt(mpmath.fsum(entry**2 for entry in entries))


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_hostile_scores_keep_nine_digits(temperature: float):
    body = """({ zs, T }) => zs.map((z) => {
      const p = maths.softmax(z, T);
      return { p, entropy: maths.entropy(p), norm: maths.softmaxJacobianNorm(p) };
    })"""
    zs = HOSTILE + RANDOM
    for z, actual in zip(zs, node(body, {"zs": zs, "T": temperature}), strict=True):
        with mpmath.workdps(800):
            p = exact_softmax(z, temperature)
            assert all(map(close, actual["p"], p)), (z, actual["p"])
            assert close(actual["entropy"], exact_entropy(p)), (z, actual["entropy"])
            assert close(actual["norm"], exact_jacobian_norm(p)), (z, actual["norm"])


@pytest.mark.parametrize("gap", [20.0, 40.0, 200.0, 350.0, 600.0])
def test_a_weight_near_one_leaves_a_gradient(gap: float):
    p = exact_softmax([0.0, -gap, -gap - 1], 1)
    norm, entropy = node("(p) => [maths.softmaxJacobianNorm(p), maths.entropy(p)]", [float(x) for x in p])
    with mpmath.workdps(800):
        p = exact_softmax([0.0, -gap, -gap - 1], 1)
        assert math.isclose(norm, exact_jacobian_norm(p), rel_tol=1e-9)
        assert math.isclose(entropy, exact_entropy(p), rel_tol=1e-9)


def test_weights_of_zero():
    assert node("maths.entropy", [0.0, 1.0, 0.0]) == 0
    assert node("maths.softmaxJacobianNorm", [0.0, 1.0, 0.0]) == 0
    assert node("maths.softmax", [-math.inf, -math.inf]) == [0, 0]


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_is_above_zero(temperature: float):
    body = "(T) => { try { return maths.softmax([1, 2], T); } catch (error) { return error.message; } }"
    assert node(body, temperature).startswith("a temperature is above 0; got")


# ---- random numbers: the same stream in Python


def sfc32(seed: int) -> Callable[[], int]:
    a, b, c, counter = 0, seed, 0, 1
    mask = 0xFFFFFFFF

    def following() -> int:
        nonlocal a, b, c, counter
        out = (a + b + counter) & mask
        counter = (counter + 1) & mask
        a = b ^ (b >> 9)
        b = (c + (c << 3)) & mask
        c = (((c << 21) | (c >> 11)) + out) & mask
        return out

    for _ in range(12):
        following()
    return following


def normals(count: int, seed: int) -> list[float]:
    following = sfc32(seed)
    out: list[float] = []
    while len(out) < count:
        radius = math.sqrt(-2 * math.log((following() + 0.5) / 2**32))
        angle = 2 * math.pi * (following() + 0.5) / 2**32
        out += [radius * math.cos(angle), radius * math.sin(angle)]
    return out


@pytest.mark.parametrize("seed", [0, 1, 4, 2**31, 2**32 - 1])
def test_random_numbers_are_sfc32(seed: int):
    following = sfc32(seed)
    body = "(seed) => { const next = maths.randomIntegers(seed); return Array.from({ length: 50 }, next); }"
    assert node(body, seed) == [following() for _ in range(50)]


def test_normals_are_normal():
    actual = node("(seed) => maths.normals(20000, seed)", 3)
    same(actual, normals(20000, 3), rtol=1e-9, atol=1e-12)
    xs = double(actual)
    below = [(xs < x).double().mean().item() for x in (-2, -1, 0, 1, 2)]
    expected = torch.distributions.Normal(0, 1).cdf(torch.tensor([-2.0, -1, 0, 1, 2])).tolist()
    same(below, expected, rtol=0, atol=0.015)


# ---- ScalingLab


@pytest.fixture(scope="module", params=[76, 12345])
def experiment(request: pytest.FixtureRequest) -> tuple[list[dict[str, Any]], torch.Tensor, torch.Tensor]:
    levels = node("maths.scalingExperiment", request.param)
    drawn = double(normals(2 * 16 * 16 * 1024, request.param))
    q, k = drawn.view(2, 16, 16, 1024)
    return levels, q, k


def test_scaling_lab_shows_what_torch_computes(experiment: tuple[list[dict[str, Any]], torch.Tensor, torch.Tensor]):
    levels, q, k = experiment
    assert [level["d_k"] for level in levels] == [2**i for i in range(11)]
    for level in levels:
        d_k = level["d_k"]
        scores = q[..., :d_k] @ k[..., :d_k].mT
        for kind, z in (("plain", scores), ("scaled", scores / math.sqrt(d_k))):
            actual, p = level[kind], z.softmax(-1)
            jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
            same(actual["scores"], z.flatten(), rtol=1e-9, atol=1e-11)
            same(actual["std"], z.std(correction=0))
            same(actual["weights"], p[0, 0])
            same(actual["largest"], p.amax(-1).mean())
            same(actual["entropy"], torch.special.entr(p).sum(-1).mean())
            same(actual["jacobianNorm"], torch.linalg.matrix_norm(jacobian).mean())


def test_scaling_lab_makes_its_point(experiment: tuple[list[dict[str, Any]], torch.Tensor, torch.Tensor]):
    levels, _, _ = experiment
    for level in levels:
        assert level["plain"]["std"] == pytest.approx(math.sqrt(level["d_k"]), rel=0.2)
        assert level["scaled"]["entropy"] == pytest.approx(2.36, abs=0.15)
    first, last = levels[0]["plain"], levels[-1]["plain"]
    assert first["largest"] < 0.25 < 0.9 < last["largest"]
    assert last["jacobianNorm"] < 0.08 < 0.25 < first["jacobianNorm"]


def test_the_lab_opens_on_a_query_that_sees_one_key():
    lab = ScalingLab()
    level = next(level for level in node("maths.scalingExperiment", lab.seed) if level["d_k"] == lab.d_k)
    assert not lab.scaled
    assert max(level["plain"]["weights"]) > 0.95
    assert max(level["scaled"]["weights"]) < 0.3
