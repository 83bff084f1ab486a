"""The cache and the prefix tree: nothing is forgotten, overwritten, shared by mistake, or found too far."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.attention import attention, causal_mask, grouped_query_attention, project_qkv, window_mask
from qkv.cache import (
    KVCache,
    PreallocatedKVCache,
    PrefixTree,
    SlidingKVCache,
    decode_step,
    kv_cache_bytes,
    reusable_prefix,
)

examples = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32)
chunks = st.lists(st.integers(1, 5), min_size=1, max_size=8)
KINDS = {
    "growing": KVCache,
    "preallocated": lambda: PreallocatedKVCache(40),
    "sliding, wide": lambda: SlidingKVCache(40),
}


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_near(seen, expected, atol=1e-12):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


def filled(ids: list[int], n_layers: int = 2) -> list[KVCache]:
    """A cache a layer, holding numbers that depend on every id up to their position."""
    caches = [KVCache() for _ in range(n_layers)]
    for layer, cache in enumerate(caches):
        sums = torch.tensor(ids, dtype=torch.float64).cumsum(0) + 1000 * layer
        cache.append(sums.view(1, 1, -1, 1).expand(1, 3, -1, 2), -sums.view(1, 1, -1, 1).expand(1, 3, -1, 4))
    return caches


# ── one layer's keys and values ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
@examples
@given(seeds, chunks)
def test_everything_appended_comes_back_oldest_first(kind, seed, lengths):
    n = sum(lengths)
    k, v, cache = normal(seed, 2, 3, n, 4), normal(seed + 1, 2, 3, n, 5), KINDS[kind]()
    assert len(cache) == cache.next_position == 0
    end = 0
    for new_k, new_v in zip(k.split(lengths, dim=2), v.split(lengths, dim=2), strict=True):
        end += new_k.shape[2]
        all_k, all_v = cache.append(new_k, new_v)
        assert len(cache) == cache.next_position == end
        assert torch.equal(all_k, k[:, :, :end])
        assert torch.equal(all_v, v[:, :, :end])
    assert torch.equal(cache.read(1, n)[1], v[:, :, 1:])


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_returned_or_handed_over_is_not_shared(kind):
    cache, k, v = KINDS[kind](), normal(0, 2, 3, 2, 4), normal(1, 2, 3, 2, 5)
    returned = [cache.append(k, v)]
    kept = [tuple(x.clone() for x in returned[0])]
    k.zero_()
    v.zero_()
    for step in range(30):
        returned.append(cache.append(normal(step, 2, 3, 1, 4), normal(step, 2, 3, 1, 5)))
        kept.append(tuple(x.clone() for x in returned[-1]))
    for seen, expected in zip(returned, kept, strict=True):
        assert torch.equal(seen[0], expected[0])
        assert torch.equal(seen[1], expected[1])
    assert torch.equal(returned[-1][0][:, :, :2], kept[0][0])


def test_two_caches_hold_nothing_in_common():
    one, other = KVCache(), KVCache()
    one.append(normal(0, 1, 1, 3, 2), normal(1, 1, 1, 3, 2))
    assert len(other) == 0


def test_gradients_flow_through_a_cache():
    cache, k = KVCache(), normal(0, 1, 1, 2, 3).requires_grad_()
    first, _ = cache.append(k, k)
    second, _ = cache.append(2 * k, k)
    (first.sum() + second.sum()).backward()
    assert (k.grad == 4).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_fit_is_refused_and_nothing_is_stored(kind):
    cache = KINDS[kind]()
    with pytest.raises(ValueError, match="empty"):
        cache.read()
    cache.append(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 5))
    with pytest.raises(ValueError, match=r"last axis only; got k \(2, 3, 1, 4\) and v \(2, 3, 2, 5\)"):
        cache.append(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 2, 5))
    for bad in ((1, 3, 1), (2, 1, 1)):
        with pytest.raises(ValueError, match=r"in the cache, \(2, 3, 1, 4\)"):
            cache.append(torch.zeros(*bad, 4), torch.zeros(*bad, 5))
    with pytest.raises(ValueError, match=r"in the cache, \(2, 3, 1, 5\).*got \(2, 3, 1, 4\)"):
        cache.append(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 4))
    assert len(cache) == cache.next_position == 1


def test_a_preallocated_cache_overflows_with_a_word_and_keeps_what_it_has():
    cache = PreallocatedKVCache(3)
    cache.append(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4))
    with pytest.raises(ValueError, match="at most 3 positions; 4 do not fit"):
        cache.append(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4))
    assert len(cache) == 2
    assert (cache.read()[0] == 1).all()
    cache.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
    assert len(cache) == 3


@examples
@given(seeds, chunks, st.integers(1, 6), st.integers(0, 3))
def test_a_sliding_cache_gives_what_a_window_over_everything_gives(seed, lengths, window, sinks):
    n, cache = sum(lengths), SlidingKVCache(window, sinks)
    q, k, v = (normal(seed + i, 2, 3, n, 4) for i in range(3))
    expected = grouped_query_attention(q, k, v, window_mask(n, window, sinks=sinks))
    end = 0
    for n_new in lengths:
        new = slice(end, end + n_new)
        end += n_new
        held = cache.append(k[:, :, new], v[:, :, new])
        out = grouped_query_attention(q[:, :, new], *held, window_mask(n_new, window, len(cache), sinks))
        assert_near(out, expected[:, :, new])
        assert len(cache) <= sinks + window - 1 + n_new
    assert cache.next_position == n


def test_a_sliding_cache_holds_the_sinks_and_the_window_and_no_more():
    cache = SlidingKVCache(window=3, sinks=2)
    for t in range(9):
        k, _ = cache.append(torch.full((1, 1, 1, 1), float(t)), torch.zeros(1, 1, 1, 1))
    assert k.flatten().tolist() == [0, 1, 6, 7, 8]


def test_a_sliding_cache_has_no_sinks_unless_asked():
    cache = SlidingKVCache(window=2)
    for t in range(4):
        k, _ = cache.append(torch.full((1, 1, 1, 1), float(t)), torch.zeros(1, 1, 1, 1))
    assert k.flatten().tolist() == [2, 3]


# ── one step ──────────────────────────────────────────────────────────────────────────────────────


@examples
@given(seeds, st.integers(1, 8))
def test_one_step_at_a_time_is_causal_attention_over_all(seed, n):
    x = normal(seed, 2, n, 4)
    matrices = normal(seed + 1, 4, 3), normal(seed + 2, 4, 3), normal(seed + 3, 4, 5)
    expected, _ = attention(*project_qkv(x, *matrices), causal_mask(n))
    cache = KVCache()
    for t in range(n):
        assert_near(decode_step(x[:, t : t + 1], *matrices, cache), expected[:, t : t + 1])
        assert len(cache) == t + 1
    assert cache.read()[1].shape == (2, 1, n, 5)


def test_a_step_that_does_not_see_its_own_token_is_seen():
    x, matrices = normal(0, 5, 4, 4), [normal(i, 4, 3) for i in (1, 2, 3)]
    q, k, v = project_qkv(x, *matrices)
    out_wrong = attention(q[:, 3:], k[:, :3], v[:, :3])[0]
    cache = KVCache()
    outs = [decode_step(x[:, t : t + 1], *matrices, cache) for t in range(4)]
    assert (outs[3] - out_wrong).abs().max() > 0.1


# ── memory ────────────────────────────────────────────────────────────────────────────────────────


def test_llama_3_takes_128_kib_a_token():
    assert kv_cache_bytes(layers=32, kv_heads=8, d_head=128, tokens=1) == 128 * 1024
    assert kv_cache_bytes(32, 8, 128, 8192) == 2**30
    assert kv_cache_bytes(32, 32, 128, 8192) == 4 * 2**30


def test_the_bytes_counted_are_the_bytes_held():
    caches = [KVCache() for _ in range(3)]
    for cache in caches:
        cache.append(torch.zeros(2, 5, 7, 4), torch.zeros(2, 5, 7, 4))
    held = sum(x.numel() * x.element_size() for cache in caches for x in cache.read())
    assert kv_cache_bytes(3, 5, 4, 7, batch=2, bytes_per_value=4) == held


# ── prefixes ──────────────────────────────────────────────────────────────────────────────────────

few_ids = st.lists(st.integers(0, 2), max_size=12)


@examples
@given(few_ids, few_ids)
def test_the_reusable_prefix_is_the_longest_that_both_start_with(cached, prompt):
    n = reusable_prefix(cached, prompt)
    assert cached[:n] == prompt[:n]
    assert n == min(len(cached), len(prompt)) or cached[n] != prompt[n]
    assert n == reusable_prefix(prompt, cached)


def test_what_matches_again_after_a_difference_does_not_count():
    assert reusable_prefix([1, 2, 3, 4, 5], [1, 2, 9, 4, 5]) == 2
    assert reusable_prefix([1, 2, 3], [1, 2, 3, 4]) == 3
    assert reusable_prefix([], [1]) == 0


@examples
@given(st.lists(few_ids, max_size=6), few_ids, st.integers(1, 4))
def test_a_prefix_tree_finds_whole_blocks_of_the_longest_stored_prefix(stored, prompt, block_size):
    tree = PrefixTree(n_layers=2, block_size=block_size)
    for ids in stored:
        tree.insert(ids, filled(ids))
    whole = [ids[: len(ids) // block_size * block_size] for ids in stored]
    longest = max((reusable_prefix(ids, prompt[:-1]) for ids in whole), default=0)
    n_found, caches = tree.lookup(prompt)
    assert n_found == longest // block_size * block_size
    assert [len(cache) for cache in caches] == [n_found, n_found]
    if n_found:
        for cache, expected in zip(caches, filled(prompt), strict=True):
            assert torch.equal(cache.read()[0], expected.read(0, n_found)[0])
            assert torch.equal(cache.read()[1], expected.read(0, n_found)[1])
    assert len(tree) == len({tuple(i[:e]) for i in whole for e in range(block_size, len(i) + 1, block_size)})


def test_the_last_token_of_a_prompt_is_never_found_because_it_must_be_run():
    tree = PrefixTree(n_layers=2, block_size=2)
    tree.insert([1, 2, 3, 4], filled([1, 2, 3, 4]))
    assert tree.lookup([1, 2, 3, 4])[0] == 2
    assert tree.lookup([1, 2, 3, 4, 5])[0] == 4
    assert tree.lookup([])[0] == 0


def test_a_block_with_the_same_tokens_after_another_prefix_is_not_found():
    tree = PrefixTree(n_layers=2, block_size=2)
    tree.insert([1, 2, 3, 4], filled([1, 2, 3, 4]))
    assert tree.lookup([9, 9, 3, 4, 5])[0] == 0


def test_what_is_found_can_be_carried_on_without_changing_the_tree():
    tree = PrefixTree(n_layers=2, block_size=2)
    tree.insert([1, 2], filled([1, 2]))
    _, caches = tree.lookup([1, 2, 3])
    caches[0].append(torch.zeros(1, 3, 1, 2), torch.zeros(1, 3, 1, 4))
    n_found, again = tree.lookup([1, 2, 3])
    assert n_found == len(again[0]) == 2
    assert torch.equal(again[0].read()[0], filled([1, 2])[0].read()[0])


def test_a_full_tree_gives_up_the_leaf_used_longest_ago():
    tree = PrefixTree(n_layers=2, block_size=2, max_blocks=3)
    for ids in ([1, 1, 2, 2], [1, 1, 3, 3]):
        tree.insert(ids, filled(ids))
    tree.lookup([1, 1, 2, 2, 0])
    tree.insert([4, 4], filled([4, 4]))
    assert len(tree) == 3
    assert tree.lookup([1, 1, 2, 2, 0])[0] == 4
    assert tree.lookup([1, 1, 3, 3, 0])[0] == 2
    assert tree.lookup([4, 4, 0])[0] == 2


def test_caches_that_hold_too_little_are_refused():
    tree = PrefixTree(n_layers=2, block_size=2)
    with pytest.raises(ValueError, match=r"2 caches that hold 3 positions or more; got \[2, 2\]"):
        tree.insert([1, 2, 3], filled([1, 2]))
    with pytest.raises(ValueError, match=r"got \[2\]"):
        tree.insert([1, 2], filled([1, 2], n_layers=1))
