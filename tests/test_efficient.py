"""Each variant against full attention where it is exact, and its costs against what torch runs."""

from __future__ import annotations

import inspect
import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from qkv import efficient
from qkv.attention import attention, causal_mask, scaled_scores, window_mask
from qkv.efficient import (
    axial_attention,
    axial_mask,
    blockwise_attention,
    causal_linear_attention,
    delta_rule_step,
    dilated_attention,
    dilated_mask,
    elu_features,
    global_mask,
    hash_attention,
    hash_buckets,
    latent_attention,
    linear_attention,
    linear_attention_step,
    low_rank_attention,
    orthogonal_directions,
    random_features,
    random_mask,
    seen_through,
    strided_mask,
    window_attention,
)

N, D_K, D_V = 60, 8, 6
windows = pytest.mark.parametrize("window", [1, 5, 17, N])
both_ways = pytest.mark.parametrize("causal", [True, False])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def qkv(*leading: int, n: int = N, seed: int = 0):
    return normal(seed, *leading, n, D_K), normal(seed + 1, *leading, n, D_K), normal(seed + 2, *leading, n, D_V)


def assert_near(seen, expected, atol=1e-12):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


class LargestTensor(TorchDispatchMode):
    """Note the most numbers that one tensor holds, of all that torch makes meanwhile; a view is not made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        held = {x.untyped_storage().data_ptr() for x in tree_leaves(args) if isinstance(x, torch.Tensor)}
        tensors = [x for x in tree_leaves(made) if isinstance(x, torch.Tensor)]
        sizes = [x.numel() for x in tensors if x.untyped_storage().data_ptr() not in held]
        self.numbers = max([self.numbers, *sizes])
        return made


# ── patterns ──────────────────────────────────────────────────────────────────────────────────────


def by_rule(n, sees):
    return torch.tensor([[bool(sees(i, j)) for j in range(n)] for i in range(n)])


@both_ways
def test_patterns_are_what_their_rules_say(causal):
    past = lambda i, j: i >= j or not causal  # noqa: E731
    dilated = by_rule(20, lambda i, j: past(i, j) and (i - j) % 3 == 0 and abs(i - j) <= 9)
    assert torch.equal(dilated_mask(20, 4, 3, causal=causal), dilated)
    strided = by_rule(20, lambda i, j: i >= j and (i - j < 4 or (i - j) % 4 == 0))
    assert torch.equal(strided_mask(20, 4), strided)
    assert torch.equal(global_mask(20, 2), by_rule(20, lambda i, j: i < 2 or j < 2))
    assert torch.equal(axial_mask(4, 5, axis=1), by_rule(20, lambda i, j: i // 5 == j // 5))
    assert torch.equal(axial_mask(4, 5, axis=0), by_rule(20, lambda i, j: i % 5 == j % 5))


def test_a_random_pattern_shows_so_many_different_tokens():
    mask = random_mask(20, 6, generator())
    assert (mask.sum(-1) == 6).all()
    assert not torch.equal(mask[0], mask[1])


def test_layers_widen_what_a_window_sees():
    for layers in (1, 2, 3):
        assert torch.equal(seen_through(window_mask(30, 4), layers), window_mask(30, 1 + 3 * layers))
    assert seen_through(global_mask(30, 1) | torch.eye(30, dtype=torch.bool), 2).all()
    assert seen_through(strided_mask(16, 4), 2).equal(causal_mask(16))


def test_two_axes_join_any_two_cells():
    rows, columns = axial_mask(4, 5, axis=1).float(), axial_mask(4, 5, axis=0).float()
    assert (rows @ columns > 0).all()


# ── exact: the same as full attention with the pattern for a mask ─────────────────────────────────


@windows
@both_ways
@pytest.mark.parametrize("n_global", [0, 1, 7])
@pytest.mark.parametrize("block", [1, 7, 64])
def test_a_window_is_masked_attention(window, causal, n_global, block):
    q, k, v = qkv(2)
    mask = window_mask(N, window, sinks=n_global, causal=causal)
    if not causal:
        mask = mask | global_mask(N, n_global)
    assert_near(window_attention(q, k, v, window, n_global, causal, block), attention(q, k, v, mask)[0])


@both_ways
@pytest.mark.parametrize(("window", "step"), [(4, 3), (1, 5), (7, 1), (20, 4)])
def test_a_dilated_window_is_masked_attention(causal, window, step):
    q, k, v = qkv(2)
    mask = dilated_mask(N, window, step, causal=causal)
    assert_near(dilated_attention(q, k, v, window, step, causal), attention(q, k, v, mask)[0])


def test_a_dilated_window_refuses_a_length_that_does_not_divide():
    with pytest.raises(ValueError, match="multiple of the step; got 60 and 7"):
        dilated_attention(*qkv(), window=4, step=7)


@pytest.mark.parametrize("axis", [0, 1])
def test_an_axis_is_masked_attention(axis):
    q, k, v = qkv(2)
    assert_near(axial_attention(q, k, v, 4, axis), attention(q, k, v, axial_mask(4, 15, axis))[0])


@pytest.mark.parametrize("n_buckets", [2, 8, 64])
def test_hashing_is_attention_within_buckets(n_buckets):
    q, k, v = qkv()
    rotations = normal(9, D_K, n_buckets // 2)
    mask = hash_buckets(q, rotations)[:, None] == hash_buckets(k, rotations)
    assert_near(hash_attention(q, k, v, rotations), attention(q, k, v, mask)[0])
    if n_buckets == 64:
        assert (~mask.any(-1)).any()  # some bucket holds a query and no key


def test_near_vectors_share_a_bucket_more_often_than_far_ones():
    x, rotations = normal(0, 2000, D_K), normal(9, D_K, 4)
    shared = [
        (hash_buckets(x, rotations) == hash_buckets(x + spread * normal(1, 2000, D_K), rotations)).double().mean()
        for spread in (0.1, 1.0, 100.0)
    ]
    assert shared[0] > 0.85
    assert 0.9 > shared[1] > shared[2] + 0.1
    assert abs(shared[2] - 1 / 8) < 0.05


@pytest.mark.parametrize("block", [1, 7, 16, N, 100])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_blockwise_attention_is_full_attention(block, dtype, atol):
    q, k, v = (x.to(dtype) for x in qkv(2, 3))
    assert_near(blockwise_attention(q, k, v, block), attention(q, k, v)[0], atol)


def test_blockwise_attention_survives_scores_of_ten_thousand():
    q, k, v = qkv()
    q = q * 1e4 / scaled_scores(q, k).abs().max()
    seen = blockwise_attention(q, k, v, 7)
    assert seen.isfinite().all()
    assert_near(seen, attention(q, k, v)[0], 1e-9)


@pytest.mark.parametrize("block", [7, 64])
def test_gradients_through_blocks_are_those_of_full_attention(block):
    inputs = [x.requires_grad_() for x in qkv()]
    upstream = normal(7, N, D_V)
    seen = torch.autograd.grad((blockwise_attention(*inputs, block) * upstream).sum(), inputs)
    expected = torch.autograd.grad((attention(*inputs)[0] * upstream).sum(), inputs)
    for one, other in zip(seen, expected, strict=True):
        assert_near(one, other)


def test_latents_are_unpacked_by_nobody():
    q, latents = normal(0, 2, 3, 7, D_K), normal(1, 2, 11, 5)
    w_k, w_v = normal(2, 3, 5, D_K) / math.sqrt(5), normal(3, 3, 5, D_K) / math.sqrt(5)
    k, v = latents.unsqueeze(1) @ w_k, latents.unsqueeze(1) @ w_v
    assert_near(latent_attention(q, latents, w_k, w_v), attention(q, k, v)[0])


# ── low rank ──────────────────────────────────────────────────────────────────────────────────────


def test_low_rank_with_all_the_tokens_kept_is_full_attention():
    q, k, v = qkv(2)
    everything = torch.eye(N, dtype=torch.float64)
    assert_near(low_rank_attention(q, k, v, everything, everything), attention(q, k, v)[0])


def test_low_rank_lets_the_past_depend_on_the_future():
    q, k, v = qkv()
    shorten = normal(5, 4, N) / math.sqrt(N)
    before = low_rank_attention(q, k, v, shorten, shorten)
    v[-1] += 1
    assert (low_rank_attention(q, k, v, shorten, shorten) - before)[0].abs().max() > 1e-3


# ── kernels ───────────────────────────────────────────────────────────────────────────────────────


def with_n_by_n_weights(q, k, v, feature_map, mask=None):
    """What linear attention computes, the long way."""
    weights = feature_map(q) @ feature_map(k).mT
    weights = weights if mask is None else weights * mask
    return weights / weights.sum(-1, keepdim=True) @ v


def test_linear_attention_is_attention_with_another_kernel():
    q, k, v = qkv(2)
    assert_near(linear_attention(q, k, v, elu_features), with_n_by_n_weights(q, k, v, elu_features))
    squares = lambda x: torch.cat([x, x.square()], -1).exp()  # noqa: E731 - it may change d
    assert_near(linear_attention(q, k, v, squares), with_n_by_n_weights(q, k, v, squares))


def test_the_normaliser_keeps_constant_values_constant():
    q, k, _ = qkv()
    ones = torch.ones(N, D_V, dtype=torch.float64)
    assert_near(linear_attention(q, k, ones, elu_features), ones)
    unnormalised = elu_features(q) @ (elu_features(k).mT @ ones)
    assert unnormalised.mean() > 10


@pytest.mark.parametrize("block", [1, 7, 64])
def test_causal_linear_attention_is_a_recurrent_network(block):
    q, k, v = qkv(2)
    expected = with_n_by_n_weights(q, k, v, elu_features, causal_mask(N))
    assert_near(causal_linear_attention(q, k, v, elu_features, block), expected)
    state, rows = None, []
    for t in range(N):
        out, state = linear_attention_step(state, q[:, t], k[:, t], v[:, t], elu_features)
        rows.append(out)
        assert [tuple(x.shape) for x in state] == [(2, D_K, D_V), (2, D_K)]
    assert_near(torch.stack(rows, dim=1), expected)


def test_a_state_that_was_handed_out_stays_as_it_was():
    q, k, v = qkv()
    _, state = linear_attention_step(None, q[0], k[0], v[0], elu_features)
    kept = [x.clone() for x in state]
    one, _ = linear_attention_step(state, q[1], k[1], v[1], elu_features)
    again, _ = linear_attention_step(state, q[1], k[1], v[1], elu_features)
    assert all(torch.equal(x, y) for x, y in zip(state, kept, strict=True))
    assert torch.equal(one, again)


def units(seed: int, *shape: int) -> torch.Tensor:
    return torch.nn.functional.normalize(normal(seed, *shape), dim=-1)


def test_the_delta_rule_returns_the_latest_value_of_a_key():
    keys, values, state = units(0, 2, 3, D_K), normal(1, 2, 5, D_V), None
    for t, place in enumerate((0, 1, 0, 2, 0)):  # the first key comes three times
        out, state = delta_rule_step(state, keys[:, place], keys[:, place], values[:, t])
        assert_near(out, values[:, t])
    _, summed = linear_attention_step(None, keys[:, 0], keys[:, 0], values[:, 0], lambda x: x)
    assert state.shape == summed[0].shape


def test_the_delta_rule_is_the_matrix_form_of_the_papers():
    """S ← a (I − b k kᵀ) S + b k vᵀ, where rate and decay may differ between examples."""
    q, k, v = units(0, 2, 4, D_K), units(1, 2, 4, D_K), normal(2, 2, 4, D_V)
    rate, decay = torch.tensor([0.3, 0.9])[:, None, None], torch.tensor([0.8, 0.5])[:, None, None]
    state, expected = None, torch.zeros(2, D_K, D_V, dtype=torch.float64)
    for t in range(4):
        out, state = delta_rule_step(state, q[:, t], k[:, t], v[:, t], rate, decay)
        column = k[:, t, :, None]
        kept = torch.eye(D_K) - rate * column @ column.mT
        expected = kept @ (decay * expected) + rate * column @ v[:, t, None]
        assert_near(state, expected)
        assert_near(out, (q[:, t, None] @ expected)[:, 0])


def test_the_delta_rule_leaves_a_state_that_was_handed_out():
    _, state = delta_rule_step(None, *(x[0] for x in qkv()))
    kept = state.clone()
    delta_rule_step(state, *(x[1] for x in qkv()), 0.5, 0.9)
    assert torch.equal(state, kept)


def test_random_features_estimate_the_exponential_without_bias():
    q, k = (x / 2 for x in qkv(n=5)[:2])
    features = random_features(orthogonal_directions(80_000, D_K, generator()))
    ratio = features(q) @ features(k).mT / scaled_scores(q, k).exp()
    assert (ratio - 1).abs().max() < 0.1
    assert (features(q) > 0).all()


def test_the_error_of_random_features_falls_with_the_root_of_their_number():
    q, k, v = qkv(n=200)

    def error(m: int, spread: float) -> float:
        draws = [random_features(orthogonal_directions(m, D_K, generator(seed))) for seed in range(10)]
        full = attention(spread * q, spread * k, v)[0]
        return sum((linear_attention(spread * q, spread * k, v, draw) - full).norm().item() for draw in draws)

    errors = [error(m, spread=0.5) for m in (16, 256, 4096)]
    assert 3 < errors[0] / errors[1] < 5
    assert 3 < errors[1] / errors[2] < 5
    assert error(256, spread=1.5) > 5 * errors[1]


def test_directions_are_at_right_angles_and_as_long_as_normal_ones():
    w = orthogonal_directions(4000, D_K, generator())
    unit = w[:D_K] / w[:D_K].norm(dim=-1, keepdim=True)
    assert_near(unit @ unit.mT, torch.eye(D_K, dtype=torch.float64))
    assert abs(w.square().sum(-1).mean() - D_K) < 0.3
    assert w.shape == (4000, D_K)


def test_each_variant_is_short_enough_to_read():
    functions = [value for value in vars(efficient).values() if inspect.isfunction(value)]
    lengths = {f.__name__: len(inspect.getsource(f).splitlines()) for f in functions if f.__module__ == "qkv.efficient"}
    assert len(lengths) > 20
    assert {name: length for name, length in lengths.items() if length > 30} == {}


# ── costs ─────────────────────────────────────────────────────────────────────────────────────────


def variants(n: int):
    """Each variant as (name, what it runs on q, k, v, its cost)."""
    rank, m, buckets = 16, 24, 8
    shorten, rotations = normal(5, rank, n), normal(6, D_K, buckets // 2)
    directions = orthogonal_directions(m, D_K, generator())
    q, k, _ = qkv(n=n)
    hashed = hash_buckets(q, rotations), hash_buckets(k, rotations)
    return {
        "full": (lambda *x: attention(*x)[0], efficient.full_cost(n, D_K, D_V)),
        "window": (lambda *x: window_attention(*x, 16), efficient.window_cost(n, D_K, D_V, 16)),
        "window both ways": (
            lambda *x: window_attention(*x, 16, 3, causal=False),
            efficient.window_cost(n, D_K, D_V, 16, 3, causal=False),
        ),
        "dilated": (lambda *x: dilated_attention(*x, 8, 4), efficient.dilated_cost(n, D_K, D_V, 8, 4)),
        "rows": (lambda *x: axial_attention(*x, 16, 1), efficient.axial_cost(16, n // 16, D_K, D_V, 1)),
        "columns": (lambda *x: axial_attention(*x, 4, 0), efficient.axial_cost(4, n // 4, D_K, D_V, 0)),
        "low rank": (
            lambda *x: low_rank_attention(*x, shorten, shorten),
            efficient.low_rank_cost(n, D_K, D_V, rank),
        ),
        "linear": (lambda *x: linear_attention(*x, elu_features), efficient.linear_cost(n, D_V, D_K)),
        "random features": (
            lambda *x: linear_attention(*x, random_features(directions)),
            efficient.random_features_cost(n, D_K, D_V, m),
        ),
        "hashing": (lambda *x: hash_attention(*x, rotations), efficient.hash_cost(*hashed, D_K, D_V, buckets)),
        "blockwise": (lambda *x: blockwise_attention(*x, 32), efficient.blockwise_cost(n, D_K, D_V, 32)),
    }


@pytest.mark.parametrize("name", list(variants(16)))
@pytest.mark.parametrize("n", [64, 1024])
def test_the_cost_counted_is_what_torch_runs(name, n):
    run, cost = variants(n)[name]
    inputs = qkv(n=n)
    with FlopCounterMode(display=False) as counter:
        run(*inputs)
    assert 2 * cost.multiply_adds == counter.get_total_flops()
    with LargestTensor() as largest:
        run(*inputs)
    assert largest.numbers == cost.largest


@pytest.mark.parametrize("name", ["window", "rows", "low rank", "linear", "random features", "blockwise", "recurrent"])
def test_no_tensor_of_n_by_n_is_formed(name):
    n = 4096
    recurrent = lambda *x: causal_linear_attention(*x, elu_features)  # noqa: E731
    run = recurrent if name == "recurrent" else variants(n)[name][0]
    with LargestTensor() as largest:
        run(*qkv(3, n=n))
    assert 3 * n * D_V <= largest.numbers <= 3 * n * 256
    with LargestTensor() as largest:
        attention(*qkv(3, n=n // 8))
    assert largest.numbers == 3 * (n // 8) ** 2
