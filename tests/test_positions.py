"""Positions: the properties that the book claims, wrong versions beside them, and formulas written out."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.attention import SingleHeadAttention, attention_scores
from qkv.positions import (
    LearnedPositions,
    alibi_bias,
    apply_rope,
    apply_rope_half_split,
    pair_frequencies,
    relative_bias,
    shift_matrix,
    sinusoidal_encoding,
    to_half_split,
)

examples = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32)
even = st.integers(1, 8).map(lambda half: 2 * half)
bases = st.sampled_from([100.0, 10000.0, 500000.0])
leading_axes = st.lists(st.integers(1, 3), max_size=3)
ROPES = [apply_rope, apply_rope_half_split]


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def assert_near(seen, expected, atol):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── sinusoidal ────────────────────────────────────────────────────────────────────────────────────


def test_position_1_in_four_features_is_as_on_paper():
    encoding = sinusoidal_encoding(2, 4)
    assert pair_frequencies(4).tolist() == pytest.approx([1, 0.01], abs=1e-12)
    assert encoding.dtype == torch.float32
    assert encoding[0].tolist() == [0, 1, 0, 1]
    assert_near(encoding[1], torch.tensor([0.8415, 0.5403, 0.0100, 0.99995]), atol=5e-5)


@examples
@given(st.integers(1, 40), even, bases)
def test_each_entry_is_the_sine_or_cosine_of_its_formula(n, d, base):
    encoding = sinusoidal_encoding(n, d, base, dtype=torch.float64)
    assert encoding.shape == (n, d)
    for t in (0, n // 2, n - 1):
        for i in range(d // 2):
            angle = t / base ** (2 * i / d)
            assert encoding[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert encoding[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_far_positions_are_as_exact_as_near_ones():
    far = sinusoidal_encoding(100_001, 4)[-1]
    assert far[0].item() == pytest.approx(math.sin(100_000), abs=1e-7)
    assert far[2].item() == pytest.approx(math.sin(1000), abs=1e-7)


def test_encodings_are_unique_bounded_and_do_not_depend_on_the_length():
    encoding = sinusoidal_encoding(300, 16, dtype=torch.float64)
    assert torch.pdist(encoding).min() > 0.1
    assert encoding.abs().max() <= 1
    assert torch.equal(sinusoidal_encoding(40, 16, dtype=torch.float64), encoding[:40])


def test_two_steps_are_as_far_apart_everywhere():
    encoding = sinusoidal_encoding(100, 16, dtype=torch.float64)
    for step in (1, 7):
        distance = (encoding[step:] - encoding[:-step]).norm(dim=-1)
        assert_near(distance, distance[0].expand_as(distance), atol=1e-12)


@examples
@given(st.integers(-20, 20), even, bases)
def test_one_matrix_shifts_every_position(k, d, base):
    encoding = sinusoidal_encoding(60, d, base, dtype=torch.float64)
    shift = shift_matrix(k, d, base, dtype=torch.float64)
    here = torch.arange(20, 40)
    assert_near(encoding[here] @ shift.T, encoding[here + k], atol=1e-12)
    assert_near(shift @ shift.T, torch.eye(d, dtype=torch.float64), atol=1e-14)


def test_a_shift_the_wrong_way_round_is_seen():
    encoding = sinusoidal_encoding(9, 6)
    shift_wrong = shift_matrix(2, 6).T
    assert (shift_wrong @ encoding[4] - encoding[6]).abs().max() > 0.5
    assert shift_matrix(2, 6).dtype == torch.float32


def test_adding_positions_ends_permutation_equivariance():
    torch.manual_seed(0)
    head, x, order = SingleHeadAttention(6, 4, 5).double(), normal(0, 7, 6), torch.arange(7).flip(0)
    places = sinusoidal_encoding(7, 6, dtype=torch.float64)
    assert_near(head(x[order])[0], head(x)[0][order], atol=1e-13)
    assert (head(x[order] + places)[0] - head(x + places)[0][order]).abs().max() > 0.01


@pytest.mark.parametrize("d", [5, 1, 0, -2])
def test_features_that_do_not_pair_up_are_refused(d):
    for make in (lambda: pair_frequencies(d), lambda: sinusoidal_encoding(3, d), lambda: shift_matrix(1, d)):
        with pytest.raises(ValueError, match=f"even number of features; got {d}"):
            make()


# ── learned ───────────────────────────────────────────────────────────────────────────────────────


def test_learned_positions_are_rows_of_a_table_that_learns():
    places, x = LearnedPositions(10, 4), normal(0, 2, 3, 4, dtype=torch.float32)
    assert torch.equal(places(x), x + places.table[:3])
    assert torch.equal(places(x, start=5), x + places.table[5:8])
    places(x).sum().backward()
    assert places.table.grad[:, 0].tolist() == [2.0] * 3 + [0.0] * 7


def test_learned_positions_end():
    places = LearnedPositions(10, 4)
    assert places(torch.zeros(1, 10, 4)).shape == (1, 10, 4)
    for length, start in [(11, 0), (3, 8)]:
        with pytest.raises(ValueError, match="at most 10 positions; got 11"):
            places(torch.zeros(1, length, 4), start)


# ── rotary ────────────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, leading_axes, st.integers(1, 5), even, bases)
def test_rope_is_the_formula_pair_by_pair(seed, leading, n, d, base):
    x = normal(seed, *leading, n, d)
    positions = torch.randint(1024, (n,), generator=torch.Generator().manual_seed(seed))
    turned = apply_rope(x, positions, base)
    assert turned.shape == x.shape
    for row, position in enumerate(positions.tolist()):
        for i in range(d // 2):
            angle = position * base ** (-2 * i / d)
            a, b = x[..., row, 2 * i], x[..., row, 2 * i + 1]
            expected = torch.stack(
                [a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)], dim=-1
            )
            assert_near(turned[..., row, 2 * i : 2 * i + 2], expected, atol=1e-11)


@examples
@given(seeds, even, bases)
def test_rope_is_a_product_of_complex_numbers(seed, d, base):
    x, positions = normal(seed, 2, 5, d), torch.arange(3, 8)
    turns = torch.polar(torch.ones(5, d // 2, dtype=torch.float64), torch.outer(positions, pair_frequencies(d, base)))
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2)
    assert_near(apply_rope(x, positions, base), expected, atol=1e-12)


@pytest.mark.parametrize("rope", ROPES)
@examples
@given(seeds, even, st.integers(0, 500))
def test_a_score_depends_on_how_far_apart_the_two_are(rope, seed, d, shift):
    q, k, positions = normal(seed, 2, 4, d), normal(seed + 1, 2, 4, d), torch.tensor([0, 9, 3, 40])
    here = attention_scores(rope(q, positions), rope(k, positions))
    there = attention_scores(rope(q, positions + shift), rope(k, positions + shift))
    assert_near(there, here, atol=1e-10)
    assert_near(rope(q, positions).norm(dim=-1), q.norm(dim=-1), atol=1e-12)


@pytest.mark.parametrize("rope", ROPES)
def test_position_0_turns_nothing_and_dtype_and_gradient_are_kept(rope):
    x = normal(0, 3, 8, dtype=torch.float32).requires_grad_()
    assert torch.equal(rope(x, torch.zeros(3, dtype=torch.int64)), x)
    turned = rope(x, torch.arange(3))
    assert turned.dtype == torch.float32
    (gradient,) = torch.autograd.grad(turned, x, torch.ones(3, 8))
    assert_near(gradient, rope(torch.ones(3, 8), -torch.arange(3)), atol=1e-6)


@examples
@given(seeds, leading_axes, even)
def test_the_two_layouts_are_one_rotation_in_another_order(seed, leading, d):
    x, positions = normal(seed, *leading, 5, d), torch.arange(5)
    assert to_half_split(torch.arange(6)).tolist() == [0, 2, 4, 1, 3, 5]
    assert_near(apply_rope_half_split(to_half_split(x), positions), to_half_split(apply_rope(x, positions)), atol=1e-14)


def test_mixing_the_two_layouts_up_is_seen():
    q, k, positions = normal(0, 5, 8), normal(1, 5, 8), torch.arange(5)
    right = attention_scores(apply_rope(q, positions), apply_rope(k, positions))
    mixed = attention_scores(apply_rope(q, positions), apply_rope_half_split(k, positions))
    other = attention_scores(apply_rope_half_split(q, positions), apply_rope_half_split(k, positions))
    assert (mixed - right).abs().max() > 0.5
    assert (other - right).abs().max() > 0.5
    assert to_half_split(torch.arange(6)).tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("rope", ROPES)
def test_positions_that_do_not_fit_are_refused(rope):
    with pytest.raises(ValueError, match=r"\(4,\), for x \(2, 4, 6\); got positions \(3,\)"):
        rope(torch.zeros(2, 4, 6), torch.arange(3))
    with pytest.raises(ValueError, match=r"got positions \(1, 4\)"):
        rope(torch.zeros(2, 4, 6), torch.arange(4)[None])
    with pytest.raises(ValueError, match="even number of features; got 5"):
        rope(torch.zeros(4, 5), torch.arange(4))


# ── added to the scores ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("n_heads", "n"), [(1, 4), (3, 5), (8, 2)])
def test_alibi_is_its_formula(n_heads, n):
    bias = alibi_bias(n_heads, n)
    assert bias.shape == (n_heads, n, n)
    for h in range(n_heads):
        for i in range(n):
            for j in range(n):
                expected = -(2 ** (-8 * (h + 1) / n_heads)) * abs(i - j)
                assert bias[h, i, j].item() == pytest.approx(expected, abs=1e-6)


def test_eight_heads_have_the_slopes_of_the_paper():
    assert alibi_bias(8, 2)[:, 0, 1].tolist() == [-(2.0**-h) for h in range(1, 9)]


def test_alibi_makes_the_nearest_of_equal_keys_weigh_most():
    weights = alibi_bias(2, 5).softmax(-1)
    assert weights.argmax(-1).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_a_relative_bias_depends_on_the_distance_up_to_its_reach():
    table = normal(0, 2, 5)
    bias = relative_bias(table, 6)
    for i in range(6):
        for j in range(6):
            assert torch.equal(bias[:, i, j], table[:, min(max(j - i, -2), 2) + 2])
