"""Attention against torch's own, by its properties, and beside wrong versions that must differ."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from qkv.attention import (
    MultiHeadAttention,
    SingleHeadAttention,
    additive_scores,
    attention,
    attention_scores,
    causal_mask,
    grouped_query_attention,
    merge_heads,
    padding_mask,
    project_qkv,
    scaled_scores,
    score_variance,
    split_heads,
    weighted_sum,
    window_mask,
)

examples = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32)
sizes = st.integers(1, 7)
leading_axes = st.lists(st.integers(1, 3), max_size=3)
dtypes = st.sampled_from([torch.float32, torch.float64])
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
X = torch.tensor([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
W_Q = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
W_K = torch.tensor([[0.0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]])
W_V = torch.tensor([[0.0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]])


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def qkv(seed, *leading, n_q=4, n_k=6, d_k=5, d_v=7, dtype=torch.float64):
    """Queries, keys and values of unit variance, in sizes that differ pairwise."""
    return (
        normal(seed, *leading, n_q, d_k, dtype=dtype),
        normal(seed + 1, *leading, n_k, d_k, dtype=dtype),
        normal(seed + 2, *leading, n_k, d_v, dtype=dtype),
    )


def random_mask(seed, *shape):
    """About half True, and at least one True in each row."""
    mask = normal(seed, *shape) > 0
    mask[..., seed % shape[-1]] = True
    return mask


def assert_near(seen, expected, atol):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── the worked example ────────────────────────────────────────────────────────────────────────────


def test_the_worked_example_comes_out_as_on_paper():
    q, k, v = project_qkv(X, W_Q, W_K, W_V)
    assert q.tolist() == [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
    assert k.tolist() == [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
    assert v.tolist() == [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
    assert attention_scores(q, k).tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    unscaled = weighted_sum(attention_scores(q, k).softmax(-1), v)
    expected = [[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]]
    assert_near(unscaled, torch.tensor(expected), atol=5e-5)
    expected = [[1.8639, 6.3194, 1.7042], [1.9991, 7.8141, 0.2735], [1.9926, 7.4796, 0.7359]]
    assert_near(attention(q, k, v)[0], torch.tensor(expected), atol=5e-5)


# ── scores ────────────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, leading_axes, sizes, sizes, sizes)
def test_each_score_is_one_dot_product(seed, leading, n_q, n_k, d_k):
    q, k, _ = qkv(seed, *leading, n_q=n_q, n_k=n_k, d_k=d_k)
    scores = attention_scores(q, k)
    assert scores.shape == (*leading, n_q, n_k)
    for i, j in itertools.product(range(n_q), range(n_k)):
        assert_near(scores[..., i, j], (q[..., i, :] * k[..., j, :]).sum(-1), atol=1e-13)
    assert_near(scaled_scores(q, k) * math.sqrt(d_k), scores, atol=1e-13)


@pytest.mark.parametrize("d_k", [1, 4, 16, 64, 256])
def test_scaled_scores_keep_unit_variance_and_unscaled_ones_do_not(d_k):
    q, k = normal(0, 400, d_k), normal(1, 400, d_k)
    assert attention_scores(q, k).var().item() == pytest.approx(score_variance(d_k, 1, 1), rel=0.1)
    assert scaled_scores(q, k).var().item() == pytest.approx(1, rel=0.1)


def test_the_variance_of_a_score_is_what_samples_show():
    q, k = 2 * normal(0, 100_000, 6), 0.5 * normal(1, 100_000, 6)
    assert (q * k).sum(-1).var().item() == pytest.approx(score_variance(6, 4, 0.25), rel=0.03)


@examples
@given(seeds, leading_axes, sizes, sizes, sizes, sizes)
def test_additive_scores_are_what_a_loop_finds(seed, leading, n_q, n_k, d_k, d_a):
    q, k, _ = qkv(seed, *leading, n_q=n_q, n_k=n_k, d_k=d_k)
    w_q, w_k, v = normal(seed + 3, d_k, d_a), normal(seed + 4, d_k, d_a), normal(seed + 5, d_a)
    scores = additive_scores(q, k, w_q, w_k, v)
    assert scores.shape == (*leading, n_q, n_k)
    for i, j in itertools.product(range(n_q), range(n_k)):
        hidden = torch.tanh(q[..., i, :] @ w_q + k[..., j, :] @ w_k)
        assert_near(scores[..., i, j], hidden @ v, atol=1e-13)


# ── attention ─────────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, leading_axes, sizes, sizes, sizes, sizes)
def test_attention_is_torchs_over_any_shape(seed, leading, n_q, n_k, d_k, d_v):
    q, k, v = qkv(seed, *leading, n_q=n_q, n_k=n_k, d_k=d_k, d_v=d_v)
    mask = random_mask(seed, *leading, n_q, n_k)
    assert_near(attention(q, k, v)[0], F.scaled_dot_product_attention(q, k, v), atol=1e-12)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert_near(attention(q, k, v, mask)[0], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(2, 3, 4, 6, 5, 7), (1, 2, 33, 32, 64, 63), (3, 2, 8, 120, 16, 17)])
def test_attention_is_torchs_to_rounding(shape, dtype):
    *leading, n_q, n_k, d_k, d_v = shape
    q, k, v = qkv(0, *leading, n_q=n_q, n_k=n_k, d_k=d_k, d_v=d_v, dtype=dtype)
    for mask in (None, random_mask(4, n_q, n_k), random_mask(5, leading[0], 1, 1, n_k)):
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        assert_near(attention(q, k, v, mask)[0], expected, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_causal_attention_is_torchs(dtype):
    q, k, v = qkv(0, 2, 3, n_q=6, n_k=6, dtype=dtype)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert_near(attention(q, k, v, causal_mask(6))[0], expected, atol=TOLERANCE[dtype])


@examples
@given(seeds, leading_axes, sizes, sizes, dtypes)
def test_weights_are_positive_and_each_querys_sum_to_1(seed, leading, n_q, n_k, dtype):
    out, weights = attention(*qkv(seed, *leading, n_q=n_q, n_k=n_k, dtype=dtype))
    assert out.dtype == weights.dtype == dtype
    assert weights.shape == (*leading, n_q, n_k)
    assert (weights > 0).all()
    assert_near(weights.sum(-1), torch.ones(*leading, n_q, dtype=dtype), atol=TOLERANCE[dtype])


@examples
@given(seeds, leading_axes, sizes)
def test_the_order_of_keys_does_not_matter_and_that_of_queries_is_kept(seed, leading, n):
    q, k, v = qkv(seed, *leading, n_q=n, n_k=n + 1)
    out, weights = attention(q, k, v)
    order = torch.randperm(n + 1, generator=torch.Generator().manual_seed(seed))
    shuffled_out, shuffled_weights = attention(q, k[..., order, :], v[..., order, :])
    assert_near(shuffled_out, out, atol=1e-12)
    assert_near(shuffled_weights, weights[..., order], atol=1e-12)
    assert_near(attention(q.flip(-2), k, v)[0], out.flip(-2), atol=1e-12)


@examples
@given(seeds, sizes)
def test_a_key_moved_by_the_same_vector_everywhere_changes_nothing(seed, d_k):
    q, k, v = qkv(seed, 2, d_k=d_k)
    shifted = attention(q, k + normal(seed + 3, d_k), v)[1]
    assert_near(shifted, attention(q, k, v)[1], atol=1e-12)


def test_a_query_that_may_see_nothing_gets_zeros_and_leaves_gradients_finite():
    q, k, v = (x.requires_grad_() for x in qkv(0, 2))
    mask = random_mask(1, 2, 4, 6)
    mask[1, 2] = False
    out, weights = attention(q, k, v, mask)
    assert (out[1, 2] == 0).all()
    assert (weights[1, 2] == 0).all()
    out.square().sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert (q.grad[1, 2] == 0).all()


@examples
@given(seeds, leading_axes)
def test_gradients_are_torchs(seed, leading):
    inputs = [x.requires_grad_() for x in qkv(seed, *leading)]
    mask, upstream = random_mask(seed, 4, 6), normal(seed + 3, *leading, 4, 7)
    ours = torch.autograd.grad(attention(*inputs, mask)[0], inputs, upstream)
    theirs = torch.autograd.grad(F.scaled_dot_product_attention(*inputs, attn_mask=mask), inputs, upstream)
    for seen, expected in zip(ours, theirs, strict=True):
        assert_near(seen, expected, atol=1e-12)


WRONG_VERSIONS = {
    "no scale": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
    "scaled by d_k": lambda q, k, v: (q @ k.mT / q.shape[-1]).softmax(-1) @ v,
    "scale multiplied": lambda q, k, v: (q @ k.mT * q.shape[-1] ** 0.5).softmax(-1) @ v,
    "scaled after the softmax": lambda q, k, v: (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5 @ v,
    "softmax over queries": lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2) @ v,
    "scaled by the number of keys": lambda q, k, v: (q @ k.mT / k.shape[-2] ** 0.5).softmax(-1) @ v,
}


@pytest.mark.parametrize("name", WRONG_VERSIONS)
def test_a_wrong_version_is_far_enough_away_to_be_seen(name):
    q, k, v = qkv(0, 2, 3)
    assert (WRONG_VERSIONS[name](q, k, v) - attention(q, k, v)[0]).abs().max() > 0.05


def test_inputs_that_do_not_fit_are_refused_with_what_was_seen():
    q, k, v = qkv(0, 2)
    with pytest.raises(ValueError, match=r"q \(2, 4, 5\) and k \(2, 6, 3\)"):
        attention(q, k[..., :3], v)
    with pytest.raises(ValueError, match=r"k \(5,\)"):
        attention(q, k[0, 0], v)
    with pytest.raises(ValueError, match=r"one value for each key, v \(\.\.\., 6, d_v\); got v \(2, 5, 7\)"):
        attention(q, k, v[:, :5])
    with pytest.raises(ValueError, match="boolean mask"):
        attention(q, k, v, torch.zeros(4, 6))
    with pytest.raises(ValueError, match=r"\(2, 4, 6\); got \(6, 4\)"):
        attention(q, k, v, torch.ones(6, 4, dtype=torch.bool))


def test_attention_does_not_change_its_inputs():
    q, k, v = qkv(0, 2)
    mask = random_mask(1, 4, 6)
    before = [x.clone() for x in (q, k, v, mask)]
    attention(q, k, v, mask)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v, mask), before, strict=True))


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_a_single_head_is_its_three_projections_and_attention(leading):
    head = SingleHeadAttention(d_model=4, d_k=3, d_v=5).double()
    x, mask = normal(0, *leading, 6, 4), causal_mask(6)
    weights = [layer.weight.T for layer in (head.w_q, head.w_k, head.w_v)]
    for m in (None, mask):
        out, shares = head(x, m)
        expected_out, expected_shares = attention(*project_qkv(x, *weights), m)
        assert_near(out, expected_out, atol=1e-14)
        assert_near(shares, expected_shares, atol=1e-14)
    assert {name for name, _ in head.named_parameters()} == {"w_q.weight", "w_k.weight", "w_v.weight"}


def test_self_attention_without_positions_moves_with_its_tokens():
    head, x = SingleHeadAttention(4, 3, 5).double(), normal(0, 2, 6, 4)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert_near(head(x[:, order])[0], head(x)[0][:, order], atol=1e-14)


# ── masks ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("n_q", "n_k"), [(1, 1), (5, 5), (1, 6), (3, 7), (6, 4)])
def test_the_last_query_sees_the_last_key(n_q, n_k):
    mask = causal_mask(n_q, n_k)
    for i, j in itertools.product(range(n_q), range(n_k)):
        assert mask[i, j] == (j - n_k <= i - n_q)
    assert torch.equal(causal_mask(n_q), causal_mask(n_q, n_q))


def test_torch_lines_a_causal_mask_up_at_the_other_corner():
    q, k, v = qkv(0, 2, n_q=2, n_k=6)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert_near(theirs, attention(q, k, v, torch.ones(2, 6, dtype=torch.bool).tril())[0], atol=1e-12)
    assert (theirs - attention(q, k, v, causal_mask(2, 6))[0]).abs().max() > 0.1


@examples
@given(seeds, st.integers(2, 7), st.data())
def test_a_later_token_changes_no_earlier_output(seed, n, data):
    t = data.draw(st.integers(1, n - 1))
    q, k, v = qkv(seed, 2, n_q=n, n_k=n)
    before = attention(q, k, v, causal_mask(n))[0]
    for x in (q, k, v):
        x[:, t] = normal(seed + 3, x.shape[-1])
    after = attention(q, k, v, causal_mask(n))[0]
    assert torch.equal(after[:, :t], before[:, :t])
    assert not torch.allclose(after[:, t], before[:, t])


@examples
@given(sizes, st.integers(0, 7), st.integers(1, 9), st.integers(0, 4))
@example(3, 0, 1, 3)  # tokens that stay in sight, and are still to come
def test_a_window_shows_the_newest_tokens_and_the_sinks(n_q, n_past, window, sinks):
    n_k = n_q + n_past
    mask = window_mask(n_q, window, n_k, sinks)
    for i, j in itertools.product(range(n_q), range(n_k)):
        back = (i + n_past) - j
        assert mask[i, j] == (back >= 0 and (back < window or j < sinks))


def test_a_wide_window_is_the_causal_mask():
    assert torch.equal(window_mask(5, 5), causal_mask(5))
    assert torch.equal(window_mask(3, 7, 7), causal_mask(3, 7))
    assert not window_mask(5, 2)[4, 0]


def test_a_window_that_is_not_causal_reaches_as_far_ahead_as_back():
    mask = window_mask(7, 3, causal=False)
    assert [[abs(i - j) < 3 for j in range(7)] for i in range(7)] == mask.tolist()
    assert window_mask(7, 3, sinks=1, causal=False)[:, 0].all()


def test_padding_is_hidden_from_every_head():
    real = torch.tensor([[True, True, True, False, False, False], [True] * 6])
    q, k, v = qkv(0, 2, 3)
    out, weights = attention(q, k, v, padding_mask(real))
    assert (weights[0, :, :, 3:] == 0).all()
    assert_near(out[0], attention(q[0], k[0, :, :3], v[0, :, :3])[0], atol=1e-13)
    assert_near(out[1], attention(q[1], k[1], v[1])[0], atol=1e-13)


# ── many heads ────────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, leading_axes, sizes, sizes, st.integers(1, 5))
def test_heads_are_slices_of_features_and_merge_back(seed, leading, n, n_heads, d_head):
    x = normal(seed, *leading, n, n_heads * d_head)
    heads = split_heads(x, n_heads)
    assert heads.shape == (*leading, n_heads, n, d_head)
    for h in range(n_heads):
        assert torch.equal(heads[..., h, :, :], x[..., h * d_head : (h + 1) * d_head])
    assert torch.equal(merge_heads(heads), x)


def test_a_reshape_alone_is_not_a_split():
    x = normal(0, 2, 4, 6)
    assert not torch.equal(split_heads(x, 3), x.reshape(2, 3, 4, 2))
    assert not torch.equal(merge_heads(split_heads(x, 3)), split_heads(x, 3).reshape(2, 4, 6))


@pytest.mark.parametrize("n_heads", [4, 0, 7])
def test_features_that_do_not_divide_are_refused(n_heads):
    with pytest.raises(ValueError, match=f"got 6 and {n_heads}"):
        split_heads(torch.zeros(2, 3, 6), n_heads)
    with pytest.raises(ValueError, match=f"got 6 and {n_heads}"):
        MultiHeadAttention(6, n_heads)


def torch_twin(ours: MultiHeadAttention, d_model: int) -> nn.MultiheadAttention:
    """torch's module with our weights copied in."""
    theirs = nn.MultiheadAttention(d_model, ours.n_heads, batch_first=True, dtype=ours.w_q.weight.dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in (ours.w_q, ours.w_k, ours.w_v)]))
        theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in (ours.w_q, ours.w_k, ours.w_v)]))
        theirs.out_proj.load_state_dict(ours.w_o.state_dict())
    return theirs


def module_of_unit_variance(d_model, n_heads, dtype):
    torch.manual_seed(0)
    module = MultiHeadAttention(d_model, n_heads).to(dtype)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn(p.shape, dtype=dtype) / math.sqrt(d_model))
    return module


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["self", "cross", "key and value"])
@pytest.mark.parametrize("masked", [None, "padding", "any"])
def test_many_heads_are_torchs_module_with_the_weights_copied(dtype, kind, masked):
    ours = module_of_unit_variance(20, 4, dtype)
    theirs = torch_twin(ours, 20)
    query = normal(1, 3, 6, 20, dtype=dtype)
    key = query if kind == "self" else normal(2, 3, 7, 20, dtype=dtype)
    value = normal(3, 3, 7, 20, dtype=dtype) if kind == "key and value" else key
    given = {"self": (query,), "cross": (query, key), "key and value": (query, key, value)}[kind]
    mask, their_masks = None, {}
    if masked == "padding":
        real = torch.arange(key.shape[1]) < torch.tensor([[3], [key.shape[1]], [1]])
        mask, their_masks = padding_mask(real), {"key_padding_mask": ~real}
    if masked == "any":
        mask = random_mask(4, 3, 4, 6, key.shape[1])
        their_masks = {"attn_mask": ~mask.flatten(0, 1)}
    out, weights = ours(*given, mask=mask)
    expected_out, expected = theirs(query, key, value, average_attn_weights=False, **their_masks)
    assert_near(out, expected_out, atol=TOLERANCE[dtype])
    assert_near(weights, expected, atol=TOLERANCE[dtype])


def test_many_heads_with_a_causal_mask_are_torchs():
    ours, x = module_of_unit_variance(12, 3, torch.float64), normal(1, 2, 5, 12)
    expected, _ = torch_twin(ours, 12)(x, x, x, attn_mask=~causal_mask(5))
    assert_near(ours(x, mask=causal_mask(5))[0], expected, atol=1e-12)


def test_a_batch_of_real_size_runs_and_gives_weights_for_each_head():
    with torch.no_grad():
        out, weights = MultiHeadAttention(512, 8)(torch.randn(128, 32, 512))
    assert out.shape == (128, 32, 512)
    assert weights.shape == (128, 8, 32, 32)


@pytest.mark.parametrize("n_heads", [1, 2, 6])
def test_the_number_of_parameters_does_not_depend_on_the_number_of_heads(n_heads):
    assert sum(p.numel() for p in MultiHeadAttention(12, n_heads).parameters()) == 4 * 12**2 + 4 * 12


def test_every_token_reaches_every_output_and_no_other_example():
    module, x = module_of_unit_variance(8, 2, torch.float64), normal(1, 2, 4, 8)
    before = module(x)[0]
    x[0, 3] = normal(2, 8)
    moved = (module(x)[0] - before).abs().amax(-1) > 1e-6
    assert moved.tolist() == [[True] * 4, [False] * 4]


def test_heads_split_by_a_reshape_alone_hide_the_last_token_from_the_first():
    x = normal(1, 2, 4, 8)

    def first_output_wrong(x):
        heads = x.reshape(2, 2, 4, 4)  # tokens and features are mixed up here
        return attention(heads, heads, heads)[0].reshape(2, 4, 8)[0, 0]

    before = first_output_wrong(x)
    x[0, 3] = normal(2, 8)
    assert torch.equal(first_output_wrong(x), before)


# ── grouped queries ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(6, 6), (6, 3), (6, 2), (6, 1)])
def test_grouped_queries_are_torchs(dtype, n_heads, n_kv_heads):
    q = normal(0, 2, n_heads, 5, 4, dtype=dtype)
    k, v = normal(1, 2, n_kv_heads, 5, 4, dtype=dtype), normal(2, 2, n_kv_heads, 5, 4, dtype=dtype)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert_near(grouped_query_attention(q, k, v), expected, atol=TOLERANCE[dtype])
    mask = random_mask(3, 2, 1, 5, 5)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    assert_near(grouped_query_attention(q, k, v, mask), expected, atol=TOLERANCE[dtype])


def test_fewer_queries_than_keys_are_the_last_rows_of_all_queries():
    q, k, v = normal(0, 2, 6, 7, 4), normal(1, 2, 3, 7, 4), normal(2, 2, 3, 7, 5)
    newest = grouped_query_attention(q[:, :, 4:], k, v)
    assert_near(newest, grouped_query_attention(q, k, v)[:, :, 4:], atol=1e-13)


def test_key_heads_are_repeated_in_place_and_not_tiled():
    q, k, v = normal(0, 2, 6, 5, 4), normal(1, 2, 3, 5, 4), normal(2, 2, 3, 5, 4)
    tiled = [x.repeat(1, 2, 1, 1) for x in (k, v)]
    wrong = attention(q, *tiled, causal_mask(5))[0]
    assert (grouped_query_attention(q, k, v) - wrong).abs().max() > 0.1


def test_heads_that_do_not_divide_into_groups_are_refused():
    with pytest.raises(ValueError, match="H = 6 and H_kv = 4"):
        grouped_query_attention(torch.zeros(2, 6, 3, 2), torch.zeros(2, 4, 3, 2), torch.zeros(2, 4, 3, 2))
