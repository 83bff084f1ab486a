"""What is read out of a model, and what an intervention changes, on models small enough to check by hand."""

from __future__ import annotations

import math

import pytest
import torch

from qkv.interpretability import (
    head_contribution,
    induction_score,
    logit_lens,
    mean_ablation,
    ov_circuit,
    patch_activation,
    previous_token_score,
    qk_circuit,
    runner,
)
from qkv.transformer import Decoder, Encoder, Places, TransformerShape

N = 9
SHAPE = TransformerShape(vocab_size=13, d_model=12, n_layers=3, n_heads=2, d_hidden=20, n_max=16)
pytestmark = pytest.mark.usefixtures("_without_gradients")


@pytest.fixture(name="_without_gradients")
def without_gradients():
    with torch.no_grad():
        yield


def model(kind: type = Decoder) -> Decoder | Encoder:
    torch.manual_seed(0)
    return kind(SHAPE).double().eval()


def some_ids(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(13, shape, generator=torch.Generator().manual_seed(seed))


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_near(seen, expected, atol=1e-12):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── scores of a head ──────────────────────────────────────────────────────────────────────────────


def induction_by_loop(weights, ids):
    picked = []
    for i in range(len(ids)):
        earlier = [j for j in range(i) if ids[j] == ids[i]]
        if earlier:
            picked.append(weights[i, earlier[-1] + 1])
    return torch.stack(picked).mean() if picked else torch.zeros((), dtype=weights.dtype)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("vocab", [2, 4, 100])
def test_induction_score_is_the_definition(seed, vocab):
    ids = torch.randint(vocab, (N,), generator=torch.Generator().manual_seed(seed))
    weights = normal(seed, N, N).softmax(-1)
    assert_near(induction_score(weights, ids), induction_by_loop(weights, ids))


def test_a_perfect_induction_head_has_score_1_and_equal_neighbours_count():
    ids = torch.tensor([3, 5, 7, 3, 5, 7])
    assert induction_score(weights_at({3: 1, 4: 2, 5: 3}, 6), ids) == 1
    assert induction_score(weights_at({3: 0, 4: 1, 5: 2}, 6), ids) == 0
    assert induction_score(torch.eye(3), torch.tensor([4, 4, 4])) == 1
    assert induction_score(torch.eye(3), torch.tensor([1, 2, 3])).shape == ()
    assert induction_score(torch.eye(3), torch.tensor([1, 2, 3])) == 0


def weights_at(targets: dict[int, int], n: int) -> torch.Tensor:
    """Put a weight of 1 on one key for some queries."""
    weights = torch.zeros(n, n)
    for query, key in targets.items():
        weights[query, key] = 1
    return weights


def test_previous_token_score_is_the_mean_below_the_diagonal():
    weights = normal(0, 5, 5).softmax(-1)
    assert_near(previous_token_score(weights), sum(weights[i, i - 1] for i in range(1, 5)) / 4)


# ── what a head reads and writes ──────────────────────────────────────────────────────────────────


def test_contributions_of_heads_sum_to_the_layers_output():
    decoder, places = model(), Places()
    decoder(some_ids(1, N), visit=places)
    w_o = decoder.stack.blocks[1].attention.w_o
    parts = head_contribution(places["1.attention.weights"][0], places["1.attention.v"][0], w_o.weight.T)
    assert parts.shape == (2, N, 12)
    assert_near(parts.sum(0) + w_o.bias, places["1.attention.out"][0])
    off = Places({"1.attention.heads": lambda heads: heads * torch.tensor([1.0, 0])[:, None, None]})
    decoder(some_ids(1, N), visit=off)
    assert_near(places["1.attention.out"] - off["1.attention.out"], parts[None, 1])


def test_circuits_join_what_is_asked_offered_read_and_written():
    attention, x = model().stack.blocks[0].attention, normal(0, 1, N, 12)
    for layer in (attention.w_q, attention.w_k, attention.w_v, attention.w_o):
        layer.bias.zero_()
    places = Places()
    out, weights = attention(x, visit=places)
    assert_near(x[:, None] @ qk_circuit(attention) @ x[:, None].mT / math.sqrt(6), places["scores"])
    assert_near((weights @ x[:, None] @ ov_circuit(attention)).sum(1), out)


def test_the_lens_on_the_last_state_gives_the_logits():
    decoder, ids = model(), some_ids(N)
    logits, states = runner(decoder)(ids)
    assert len(states) == 4
    assert_near(logit_lens(states[-1], decoder.stack.norm, decoder.unembedding), logits)
    assert (logit_lens(states[0], decoder.stack.norm, decoder.unembedding) - logits).abs().max() > 0.1


# ── interventions ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [Decoder, Encoder])
@pytest.mark.parametrize("layer", [0, 1, 3])
def test_a_patch_moves_what_can_see_it(kind, layer):
    run, clean, corrupt, position = runner(model(kind)), some_ids(N), some_ids(N, seed=2), 4
    patched = patch_activation(run, clean, corrupt, layer, position)
    moved = (patched - run(corrupt)[0]).abs().amax(-1) > 1e-9
    if layer == 3:  # nothing attends after the last layer
        expected = torch.arange(N) == position
        assert_near(patched[position], run(clean)[0][position])
    else:
        expected = torch.arange(N) >= (position if kind is Decoder else 0)
    assert torch.equal(moved, expected)


def test_patching_a_token_before_the_first_layer_is_changing_the_token():
    run, clean, corrupt = runner(model()), some_ids(N), some_ids(N, seed=2)
    swapped = corrupt.clone()
    swapped[4] = clean[4]
    assert_near(patch_activation(run, clean, corrupt, 0, 4), run(swapped)[0])


def test_a_patch_writes_into_nothing():
    run, clean, corrupt = runner(model()), some_ids(N), some_ids(N, seed=2)
    seen = []

    def watched(ids, edit=None):
        if edit is None:
            return run(ids)

        def noting(layer, state):
            before, made = state.clone(), edit(layer, state)
            seen.append((layer, torch.equal(before, state), made is state))
            return made

        return run(ids, noting)

    patch_activation(watched, clean, corrupt, 1, 4)
    assert seen == [(0, True, True), (1, True, False), (2, True, True), (3, True, True)]


def test_the_mean_takes_the_place_of_one_head_alone():
    heads, mean = normal(0, 3, 2, N, 6), normal(1, 2, 6)
    mean[0] = math.nan
    seen = mean_ablation(mean)(heads)
    assert torch.equal(seen[:, 0], heads[:, 0])
    assert torch.equal(seen[:, 1], mean[1].expand(3, N, 6))
