"""The softmax and what is made of it, against torch, by their properties, and beside wrong versions."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qkv.softmax import (
    entropy,
    find_temperature,
    keep_top_k,
    keep_top_p,
    log_sum_exp,
    masked_softmax,
    online_softmax,
    sample_token,
    softmax,
    softmax_jacobian,
    sparsemax,
)

examples = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32)
shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4)
dtypes = st.sampled_from([torch.float32, torch.float64])
ROUNDING = {torch.float32: 1e-6, torch.float64: 1e-14}


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def assert_near(seen: torch.Tensor, expected: torch.Tensor, atol: float) -> None:
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── softmax ───────────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, shapes, dtypes, st.floats(0.05, 20), st.data())
def test_softmax_is_torchs_along_any_axis_at_any_temperature(seed, shape, dtype, temperature, data):
    z = normal(seed, *shape, dtype=dtype)
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    expected = (z.double() / temperature).softmax(dim).to(dtype)
    assert_near(softmax(z, temperature, dim), expected, atol=ROUNDING[dtype] * 20)


@examples
@given(seeds, st.integers(1, 9), st.floats(-1e4, 1e4), st.floats(0.1, 10))
def test_softmax_sums_to_1_keeps_the_order_and_ignores_a_shift(seed, n, shift, temperature):
    z = normal(seed, 3, n)
    p = softmax(z, temperature)
    assert_near(p.sum(-1), torch.ones(3, dtype=z.dtype), atol=1e-14)
    assert torch.equal(p.argsort(-1), z.argsort(-1))
    assert_near(softmax(z + shift, temperature), p, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_softmax_survives_huge_scores_and_tiny_temperatures(dtype):
    z = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], dtype=dtype)
    expected = torch.tensor([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]], dtype=dtype)
    assert_near(softmax(z, temperature=0.01), expected, atol=1e-7)
    naive = z.exp() / z.exp().sum(-1, keepdim=True)
    assert naive.isnan().any()


def test_a_low_temperature_sharpens_and_a_high_one_flattens():
    z = torch.tensor([1.0, 3.0, 2.0, 3.0], dtype=torch.float64)
    assert_near(softmax(z, 1e-3), torch.tensor([0, 0.5, 0, 0.5], dtype=torch.float64), atol=1e-12)
    assert_near(softmax(z, 1e9), torch.full((4,), 0.25, dtype=torch.float64), atol=1e-8)


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature above 0"):
        softmax(torch.zeros(3), temperature)


def test_softmax_does_not_change_its_input():
    z = normal(0, 4, 5)
    before = z.clone()
    softmax(z, 0.5)
    assert torch.equal(z, before)


@examples
@given(seeds, st.integers(1, 7))
def test_gradients_through_softmax_are_torchs(seed, n):
    z, upstream = normal(seed, 3, n).requires_grad_(), normal(seed + 1, 3, n)
    (ours,) = torch.autograd.grad(softmax(z, 0.7), z, upstream)
    (theirs,) = torch.autograd.grad((z / 0.7).softmax(-1), z, upstream)
    assert_near(ours, theirs, atol=1e-13)


# ── masked softmax ────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, st.integers(1, 5), st.integers(1, 7), dtypes)
def test_masked_softmax_gives_hidden_keys_exactly_0_and_shares_out_the_rest(seed, n_q, n_k, dtype):
    scores = normal(seed, 2, n_q, n_k, dtype=dtype)
    mask = normal(seed + 1, 2, n_q, n_k) > 0
    weights = masked_softmax(scores, mask)
    assert (weights[~mask] == 0).all()
    assert_near(weights.sum(-1), mask.any(-1).to(dtype), atol=ROUNDING[dtype] * 10)
    theirs = scores.masked_fill(~mask, -math.inf).softmax(-1)
    assert_near(weights, theirs.nan_to_num(0), atol=ROUNDING[dtype] * 10)


def test_a_row_that_may_see_nothing_gets_zeros_and_finite_gradients():
    scores = normal(0, 3, 4).requires_grad_()
    mask = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    weights = masked_softmax(scores, mask)
    assert (weights[1] == 0).all()
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[1] == 0).all()
    with_infinity = scores.masked_fill(~mask, -math.inf).softmax(-1)
    with_a_large_number = scores.masked_fill(~mask, -1e9).softmax(-1)
    assert with_infinity[1].isnan().all()
    assert_near(with_a_large_number[1], torch.full((4,), 0.25, dtype=torch.float64), atol=1e-6)


def test_a_mask_after_the_softmax_is_not_the_same():
    scores = normal(0, 3, 4)
    mask = torch.ones(3, 4, dtype=torch.bool).tril()
    weights_masked_too_late = scores.softmax(-1) * mask
    assert (masked_softmax(scores, mask) - weights_masked_too_late).abs().max() > 0.1


def test_scores_that_are_hidden_do_not_matter_even_when_huge():
    scores, mask = normal(0, 2, 5), torch.tensor([True, True, False, True, True])
    spoiled = scores.masked_fill(~mask, 1e30)
    assert torch.equal(masked_softmax(spoiled, mask), masked_softmax(scores, mask))


def test_a_mask_of_another_kind_is_refused_with_what_was_seen():
    scores = torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match=r"boolean mask.*torch\.float32"):
        masked_softmax(scores, torch.ones(3, 4))
    with pytest.raises(ValueError, match=r"\(2, 3, 4\); got \(4, 3\)"):
        masked_softmax(scores, torch.ones(4, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"got \(5, 2, 3, 4\)"):
        masked_softmax(scores, torch.ones(5, 2, 3, 4, dtype=torch.bool))


# ── entropy and the Jacobian ──────────────────────────────────────────────────────────────────────


@examples
@given(seeds, shapes, st.data())
def test_entropy_is_that_of_torchs_categorical(seed, shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    p = normal(seed, *shape).softmax(dim)
    expected = torch.distributions.Categorical(probs=p.movedim(dim, -1)).entropy()
    assert_near(entropy(p, dim), expected, atol=1e-12)


def test_entropy_is_that_of_each_row_by_default():
    p = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert_near(entropy(p), torch.tensor([math.log(2), 0.0]), atol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 16])
def test_entropy_goes_from_0_to_the_logarithm_of_n_in_nats(n):
    assert entropy(torch.eye(n, dtype=torch.float64)).tolist() == [0.0] * n
    assert entropy(torch.full((n,), 1 / n, dtype=torch.float64)).item() == pytest.approx(math.log(n), abs=1e-12)


@examples
@given(seeds, st.integers(1, 7))
def test_the_jacobian_is_what_autograd_finds(seed, n):
    z = normal(seed, n)
    found = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
    assert_near(softmax_jacobian(z.softmax(-1)), found, atol=1e-14)


def test_the_jacobian_of_a_batch_is_a_batch_of_jacobians_and_its_rows_sum_to_0():
    p = normal(3, 2, 4, 5).softmax(-1)
    jacobian = softmax_jacobian(p)
    assert jacobian.shape == (2, 4, 5, 5)
    assert torch.equal(jacobian[1, 2], softmax_jacobian(p[1, 2]))
    assert_near(jacobian.sum(-1), torch.zeros(2, 4, 5, dtype=p.dtype), atol=1e-15)


# ── other forms of the softmax ────────────────────────────────────────────────────────────────────


@examples
@given(seeds, shapes, st.floats(-1e4, 1e4), st.data())
def test_log_sum_exp_is_torchs(seed, shape, shift, data):
    z = normal(seed, *shape) + shift
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert_near(log_sum_exp(z, dim), z.logsumexp(dim), atol=1e-11)


def test_each_row_has_a_maximum_of_its_own():
    z = torch.tensor([[1e4, 1e4 - 1], [-1e4, -1e4 + 2]], dtype=torch.float64)
    assert_near(log_sum_exp(z), z.logsumexp(-1), atol=1e-11)
    assert_near(online_softmax(z), z.softmax(-1), atol=1e-14)


@examples
@given(seeds, shapes, st.floats(0.1, 3000))
def test_one_pass_finds_the_same_softmax(seed, shape, spread):
    z = normal(seed, *shape) * spread
    assert_near(online_softmax(z), softmax(z), atol=1e-14)


def test_one_pass_must_shrink_the_old_total_when_the_maximum_rises():
    z = torch.tensor([0.0, 1.0, 3.0, 2.0], dtype=torch.float64)
    total_never_shrunk = sum((z[i] - z[: i + 1].max()).exp() for i in range(4))
    weights_wrong = (z - z.max()).exp() / total_never_shrunk
    assert (online_softmax(z) - weights_wrong).abs().max() > 0.1


@examples
@given(seeds, st.integers(1, 8), st.floats(0.1, 5))
def test_sparsemax_is_the_nearest_point_of_the_simplex(seed, n, spread):
    z = normal(seed, 4, n) * spread
    p = sparsemax(z)
    assert (p >= 0).all()
    assert_near(p.sum(-1), torch.ones(4, dtype=z.dtype), atol=1e-12)
    threshold = (z - p).masked_fill(p == 0, -math.inf).amax(-1, keepdim=True)
    slack = z - threshold  # the condition for the nearest point: p = z − τ where positive, z ≤ τ elsewhere
    assert_near(p, slack.clamp(min=0), atol=1e-12)


def test_sparsemax_of_two_scores_is_a_ramp_along_any_axis():
    t = torch.linspace(-2, 2, 9, dtype=torch.float64)
    p = sparsemax(torch.stack([t, torch.zeros_like(t)]), dim=0)
    assert_near(p[0], ((t + 1) / 2).clamp(0, 1), atol=1e-15)


# ── temperature at work ───────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, st.integers(2, 9), st.floats(0.01, 0.99), st.floats(0.1, 100))
def test_the_temperature_that_is_found_gives_the_largest_weight_asked_for(seed, n, part, spread):
    z = normal(seed, n) * spread
    two_largest = z.topk(2).values
    assume(two_largest[0] - two_largest[1] > 1e-6)
    target = 1 / n + part * (1 - 1 / n)
    assert softmax(z, find_temperature(z, target)).max().item() == pytest.approx(target, abs=1e-9)


def test_the_temperature_for_float32_scores_is_as_exact():
    z = normal(0, 6, dtype=torch.float32)
    assert softmax(z.double(), find_temperature(z, 0.6)).max().item() == pytest.approx(0.6, abs=1e-12)


def test_a_temperature_that_does_not_exist_is_refused():
    z = torch.tensor([1.0, 2.0, 0.0])
    for target in (1 / 3, 1.0, 0.2):
        with pytest.raises(ValueError, match="between 1/3 and 1"):
            find_temperature(z, target)
    for bad in (torch.tensor([2.0, 2.0, 0.0]), torch.tensor([1.0]), torch.zeros(2, 2), torch.tensor(1.0)):
        with pytest.raises(ValueError, match="one maximum"):
            find_temperature(bad, 0.9)


def test_tokens_are_drawn_as_often_as_their_weight_says():
    logits = torch.tensor([2.0, -1.0, 0.5, -math.inf])
    generator = torch.Generator().manual_seed(7)
    n_draws = 4000
    drawn = torch.bincount(torch.tensor([sample_token(logits, 2.0, generator) for _ in range(n_draws)]), minlength=4)
    expected = (logits / 2.0).softmax(-1) * n_draws
    chi_square = ((drawn - expected)[:3] ** 2 / expected[:3]).sum()
    assert drawn[3] == 0
    assert chi_square < 13.8  # 2 degrees of freedom: passed by one right sampler in a thousand


def test_temperature_0_takes_the_first_of_the_largest_logits():
    assert {sample_token(torch.tensor([0.0, 3.0, 3.0, 1.0]), 0.0) for _ in range(50)} == {1}
    with pytest.raises(ValueError, match="temperature above 0"):
        sample_token(torch.tensor([0.0, 3.0]), -1.0)


def test_draws_come_from_the_generator_alone_and_move_it_on():
    logits, generator = torch.zeros(1000), torch.Generator().manual_seed(3)
    global_state = torch.get_rng_state()
    first = [sample_token(logits, 1.0, generator) for _ in range(3)]
    assert len(set(first)) == 3
    assert torch.equal(torch.get_rng_state(), global_state)
    generator.manual_seed(3)
    assert first == [sample_token(logits, 1.0, generator) for _ in range(3)]


@examples
@given(seeds, st.integers(1, 9), st.integers(1, 12))
def test_top_k_keeps_the_k_largest_as_they_were(seed, vocab, k):
    logits = normal(seed, 2, vocab)
    kept = keep_top_k(logits, k)
    assert torch.equal(kept.isfinite().sum(-1), torch.full((2,), min(k, vocab)))
    assert torch.equal(kept[kept.isfinite()], logits[kept.isfinite()])
    assert torch.equal(kept.amax(-1), logits.amax(-1))
    assert (kept.masked_fill(~kept.isfinite(), math.inf).amin(-1) >= logits.sort(-1).values[:, -min(k, vocab)]).all()


@examples
@given(seeds, st.integers(1, 9), st.floats(0.0, 0.999))
def test_top_p_keeps_the_fewest_tokens_that_reach_p(seed, vocab, p):
    logits = normal(seed, 2, vocab) * 2
    kept = keep_top_p(logits, p).isfinite()
    weights = logits.softmax(-1)
    held = (weights * kept).sum(-1)
    assert (held >= p - 1e-12).all()
    smallest = weights.masked_fill(~kept, math.inf).amin(-1)
    one_too_many = (kept.sum(-1) > 1) & (held - smallest >= p + 1e-12)
    assert not one_too_many.any()
    assert (weights.masked_fill(kept, 0).amax(-1) <= smallest).all()


def test_equal_logits_are_cut_to_k_too():
    assert keep_top_k(torch.zeros(6), 2).isfinite().sum() == 2
    assert keep_top_p(torch.zeros(4), 0.5).isfinite().sum() == 2


def test_at_least_one_token_is_kept_whatever_p():
    assert keep_top_p(torch.tensor([1.0, 3.0, 2.0]), 0.0).isfinite().tolist() == [False, True, False]
