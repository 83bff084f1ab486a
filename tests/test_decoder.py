"""The claims of the last core chapter, on a decoder of several layers."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from qkv.cache import PreallocatedKVCache, PrefixTree
from qkv.decoder import Decoder, DecoderShape, multiply_adds, prefill
from qkv.softmax import sample_token
from qkv.transformer import generate

SHAPES = {
    "grouped": DecoderShape(vocab_size=29, d_model=24, n_layers=3, n_heads=6, n_kv_heads=2, d_hidden=40),
    "multi-head": DecoderShape(vocab_size=29, d_model=24, n_layers=2, n_heads=3, n_kv_heads=3, d_hidden=40),
    "window": DecoderShape(29, 24, n_layers=3, n_heads=6, n_kv_heads=1, d_hidden=40, window=5),
    "window and sinks": DecoderShape(29, 24, n_layers=2, n_heads=6, n_kv_heads=2, d_hidden=40, window=3, sinks=2),
}
N = 17
every_shape = pytest.mark.parametrize("name", SHAPES)
pytestmark = pytest.mark.usefixtures("_without_gradients")


@pytest.fixture(name="_without_gradients")
def without_gradients():
    with torch.no_grad():
        yield


def decoder(name: str, dtype: torch.dtype = torch.float64) -> Decoder:
    torch.manual_seed(0)
    return Decoder(SHAPES[name]).to(dtype)


def some_ids(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(29, shape, generator=torch.Generator().manual_seed(seed))


def assert_near(seen, expected, atol):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── cached = uncached ─────────────────────────────────────────────────────────────────────────────


@every_shape
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-6), (torch.float64, 1e-13)])
def test_with_a_cache_every_step_gives_what_running_everything_gives(name, dtype, atol):
    model, ids = decoder(name, dtype), some_ids(2, N)
    caches = model.new_caches()
    for t in range(N):
        step = model(ids[:, t : t + 1], caches)
        uncached = model(ids[:, : t + 1])
        assert_near(step[:, 0], uncached[:, -1], atol=atol)


def test_logits_depend_on_the_past_so_the_comparison_is_not_empty():
    model, ids = decoder("grouped"), some_ids(1, N)
    other = ids.clone()
    other[0, 0] = (other[0, 0] + 1) % 29
    assert (model(ids) - model(other)).abs().amax(-1).min() > 1e-3
    assert (model(ids[:, 1:]) - model(ids)[:, 1:]).abs().max() > 1e-3


def test_positions_that_start_again_at_0_are_seen():
    model, ids = decoder("grouped"), some_ids(1, N)
    caches = model.new_caches()
    model(ids[:, :-1], caches)
    forgetful = [type("Forgetful", (type(cache),), {"next_position": 0}) for cache in caches]
    for cache, kind in zip(caches, forgetful, strict=True):
        cache.__class__ = kind
    assert (model(ids[:, -1:], caches) - model(ids)[:, -1:]).abs().max() > 1e-3


@every_shape
@pytest.mark.parametrize("chunk", [1, 4, N, 100])
def test_a_prefill_in_chunks_is_one_run(name, chunk):
    model, ids = decoder(name), some_ids(2, N)
    caches, whole = model.new_caches(), model.new_caches()
    assert_near(prefill(model, ids, caches, chunk), model(ids, whole)[:, -1], atol=1e-13)
    following = some_ids(2, 1, seed=2)
    assert_near(model(following, caches), model(following, whole), atol=1e-13)


def test_a_preallocated_cache_serves_as_well():
    model, ids = decoder("grouped"), some_ids(2, N)
    caches = [PreallocatedKVCache(N) for _ in model.blocks]
    assert_near(prefill(model, ids, caches, 3), model(ids)[:, -1], atol=1e-13)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, N - 1))
def test_a_later_token_changes_no_earlier_logits(t):
    model, ids = decoder("grouped"), some_ids(1, N)
    other = ids.clone()
    other[0, t] = (other[0, t] + 1) % 29
    assert_near(model(other)[:, :t], model(ids)[:, :t], atol=1e-13)


# ── prefixes ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("t", [0, 3, N - 1])
def test_one_changed_token_spoils_all_later_keys_and_values_from_the_second_layer_on(t):
    model, ids = decoder("grouped"), some_ids(1, N)
    other = ids.clone()
    other[0, t] = (other[0, t] + 1) % 29
    before, after = model.new_caches(), model.new_caches()
    model(ids, before)
    model(other, after)
    for layer, (old, new) in enumerate(zip(before, after, strict=True)):
        for x, y in zip(old.read(), new.read(), strict=True):
            changed = (x - y).abs().amax((0, 1, 3)) > 1e-9
            expected = torch.arange(N) == t if layer == 0 else torch.arange(N) >= t
            assert torch.equal(changed, expected)


def test_a_prompt_is_carried_on_from_a_stored_prefix_with_the_same_result():
    model, tree = decoder("grouped"), PrefixTree(n_layers=3, block_size=4)
    first, caches = some_ids(N).tolist(), model.new_caches()
    generate(model, first, 1, caches)
    tree.insert(first, caches)
    second = first[:10] + [(token + 1) % 29 for token in first[10:]]
    n_found, reused = tree.lookup(second)
    assert n_found == 8
    assert generate(model, second, 6, reused) == generate(model, second, 6)
    _, reused = tree.lookup(second)
    assert_near(model(torch.tensor([second[8:]]), reused), model(torch.tensor([second]))[:, 8:], atol=1e-13)


# ── generation ────────────────────────────────────────────────────────────────────────────────────


@every_shape
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_generating_is_asking_for_the_next_token_again_and_again(name, temperature):
    model, prompt = decoder(name), some_ids(7).tolist()
    seen = generate(model, prompt, 9, temperature=temperature, generator=torch.Generator().manual_seed(5))
    ids, generator = list(prompt), torch.Generator().manual_seed(5)
    for _ in range(9):
        logits = model(torch.tensor([ids]))[0, -1]
        ids.append(sample_token(logits, temperature, generator))
    assert seen == ids[7:]
    assert prompt == ids[:7]


def test_a_token_is_run_once_and_the_last_one_not_at_all():
    model, prompt, lengths = decoder("grouped"), some_ids(7).tolist(), []
    model.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    generate(model, prompt, 4)
    assert lengths == [7, 1, 1, 1]


def test_a_prompt_with_nothing_left_to_run_is_refused():
    model, prompt = decoder("grouped"), some_ids(7).tolist()
    caches = model.new_caches()
    model(torch.tensor([prompt]), caches)
    with pytest.raises(ValueError, match="longer than the 7 tokens held; got 7"):
        generate(model, prompt, 1, caches)
    with pytest.raises(ValueError, match="longer than the 0 tokens held; got 0"):
        generate(model, [], 1)


# ── cost ──────────────────────────────────────────────────────────────────────────────────────────


@every_shape
@pytest.mark.parametrize(("n_new", "n_held"), [(1, 0), (N, 0), (1, 10), (4, 9), (5, 1)])
def test_the_multiply_adds_counted_are_those_that_torch_runs(name, n_new, n_held):
    model, caches = decoder(name), None
    if n_held:
        caches = model.new_caches()
        model(some_ids(1, n_held), caches)
    with FlopCounterMode(display=False) as counter:
        model(some_ids(1, n_new), caches)
    assert 2 * sum(multiply_adds(model.shape, n_new, n_held)) == counter.get_total_flops()


@every_shape
def test_each_weight_of_a_matrix_costs_a_token_one_multiply_add(name):
    parameters = dict(decoder(name).named_parameters())
    matrices = [p for key, p in parameters.items() if p.ndim == 2 and key != "embedding.weight"]
    assert multiply_adds(SHAPES[name], 1).projections == sum(p.numel() for p in matrices)
    assert not [key for key in parameters if "bias" in key and ("attention" in key or "unembedding" in key)]


def test_the_cost_of_a_token_grows_as_the_book_says():
    shape = SHAPES["grouped"]
    cached = [multiply_adds(shape, 1, n - 1) for n in (10, 20, 30)]
    uncached = [multiply_adds(shape, n) for n in (10, 20, 30)]
    assert len({cost.projections for cost in cached}) == 1
    assert cached[2].attention == 3 * cached[0].attention
    assert uncached[2].projections == 3 * uncached[0].projections
    assert uncached[2].attention == 9 * uncached[0].attention
    assert all(b.attention > a.attention for a, b in pairwise(cached))
