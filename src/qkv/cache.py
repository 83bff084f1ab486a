"""The KV cache as the book derives it: keep keys and values, so that no token is projected twice.

A cache belongs to one layer. Its tensors are (B, H, n, d): a batch, heads, positions from the
oldest to the newest, features. Queries are not kept, because no later token uses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from qkv.attention import attention

KeysAndValues = tuple[Tensor, Tensor]

# ── one layer's keys and values ───────────────────────────────────────────────────────────────────


class KVCache:
    """A cache that keeps every key and value so far, in order."""

    def __init__(self) -> None:
        self._keys: list[Tensor] = []  # empty, or one tensor with all positions
        self._values: list[Tensor] = []

    def __len__(self) -> int:
        """Return the number of positions that the cache holds."""
        return self._keys[0].shape[-2] if self._keys else 0

    @property
    def next_position(self) -> int:
        """The position of the next token, which is the number of tokens appended so far."""
        return len(self)

    def append(self, k: Tensor, v: Tensor) -> KeysAndValues:
        """Add new positions, and return all keys and values so far, oldest first.

        Each call makes new tensors, so the result of an earlier call never changes.

        Shapes:
            k (B, H, n_new, d_k)   v (B, H, n_new, d_v)
        Returns:
            k (B, H, n, d_k), v (B, H, n, d_v)
        Raises:
            ValueError: the shapes of k and v do not fit each other, or do not fit those in the cache.
        """
        self._check(k, v)
        self._keys = [torch.cat([*self._keys, k], dim=-2)]
        self._values = [torch.cat([*self._values, v], dim=-2)]
        return self.read()

    def read(self, start: int = 0, stop: int | None = None) -> KeysAndValues:
        """Return the keys and values held at start … stop − 1, all of them by default; fewer if fewer are held.

        Raises:
            ValueError: the cache is empty.
        """
        if not self._keys:
            raise ValueError("expected a cache with at least one position; this one is empty")
        held = slice(start, len(self) if stop is None else stop)
        return self._keys[0][..., held, :], self._values[0][..., held, :]

    def _check(self, k: Tensor, v: Tensor) -> None:
        """Raise a ValueError unless k and v fit each other, and what the cache holds."""
        if k.shape[:-1] != v.shape[:-1]:
            raise ValueError(
                "expected k (B, H, n_new, d_k) and v (B, H, n_new, d_v) that differ in the last axis only; "
                f"got k {tuple(k.shape)} and v {tuple(v.shape)}"
            )
        for new, held in zip((k, v), self.read() if self._keys else (), strict=False):
            if (new.shape[:-2], new.shape[-1]) != (held.shape[:-2], held.shape[-1]):
                raise ValueError(
                    f"expected the shape in the cache, {tuple(held.shape)}, with any n; got {tuple(new.shape)}"
                )


class PreallocatedKVCache(KVCache):
    """A cache in memory that is allocated at the first append: nothing is copied, up to a capacity.

    It is for inference, without gradients. Results are views of the memory; a position is
    written only once, so earlier results never change.

    Raises:
        ValueError: an append would go past the capacity.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, k: Tensor, v: Tensor) -> KeysAndValues:
        """Write new keys and values into the reserved memory, and return views of all that it holds.

        The first call allocates the memory.

        Raises:
            ValueError: the shapes do not fit each other or the cache, or the positions exceed the capacity.
        """
        self._check(k, v)
        end = self._length + k.shape[-2]
        if end > self.capacity:
            raise ValueError(f"expected at most {self.capacity} positions; {end} do not fit")
        if not self._keys:
            self._keys, self._values = [self._allocate(k)], [self._allocate(v)]
        self._keys[0][..., self._length : end, :] = k
        self._values[0][..., self._length : end, :] = v
        self._length = end
        return self.read()

    def _allocate(self, new: Tensor) -> Tensor:
        return new.new_empty(*new.shape[:-2], self.capacity, new.shape[-1])


class SlidingKVCache(KVCache):
    """A cache of the first `sinks` positions and of those that a sliding window still needs.

    Before an append, all but the sinks and the last window − 1 positions are dropped. After an
    append of one token, the cache holds exactly the positions that this token may see. After
    an append of several, window_mask(n_new, window, len(cache), sinks) is the mask. Positions
    count from the start of the text, as in Mistral; in StreamingLLM they count within the
    cache [Xiao et al., 2024].
    """

    def __init__(self, window: int, sinks: int = 0) -> None:
        super().__init__()
        self.window = window
        self.sinks = sinks
        self._n_appended = 0

    @property
    def next_position(self) -> int:
        return self._n_appended

    def append(self, k: Tensor, v: Tensor) -> KeysAndValues:
        """Drop the positions that no later token may see, append the new ones, and return all that are held.

        Raises:
            ValueError: the shapes of k and v do not fit each other, or do not fit those in the cache.
        """
        self._check(k, v)
        self._drop_what_no_later_token_sees()
        self._n_appended += k.shape[-2]
        return super().append(k, v)

    def _drop_what_no_later_token_sees(self) -> None:
        """Keep the first `sinks` positions and the last `window` − 1."""
        n, n_recent = len(self), self.window - 1
        if n > self.sinks + n_recent:
            kept = [*range(self.sinks), *range(n - n_recent, n)]
            self._keys = [self._keys[0][..., kept, :]]
            self._values = [self._values[0][..., kept, :]]


def decode_step(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: KVCache) -> Tensor:
    """Compute the attention of the newest token to itself and all tokens before it.

    Its key and value are added to the cache. Its query is used once and not kept. No mask is
    needed, because the cache holds no later token.

    Shapes:
        x_t (B, 1, d_model)   w_q, w_k (d_model, d_k)   w_v (d_model, d_v)
        cache, of one head: (B, 1, n, d)
    Returns:
        out (B, 1, d_v)
    Raises:
        ValueError: the shapes do not fit those in the cache, or the cache is full.
    """
    q, k, v = (x_t.unsqueeze(1) @ w for w in (w_q, w_k, w_v))  # (B, 1, 1, d)
    k, v = cache.append(k, v)  # (B, 1, n, d)
    return attention(q, k, v)[0].squeeze(1)


def kv_cache_bytes(
    layers: int, kv_heads: int, d_head: int, tokens: int, batch: int = 1, bytes_per_value: int = 2
) -> int:
    """Return the number of bytes in a cache of keys and values.

    2 · layers · kv_heads · d_head · tokens · batch · bytes_per_value: the 2 stands for a key
    and a value, and a bfloat16 number takes 2 bytes.
    """
    return 2 * layers * kv_heads * d_head * tokens * batch * bytes_per_value


# ── one prefix, many prompts ──────────────────────────────────────────────────────────────────────


def reusable_prefix(cached: Sequence[int], prompt: Sequence[int]) -> int:
    """Return the length of the longest prefix that two sequences of ids have in common.

    Cached keys and values can be reused only there, because each depends on all tokens up to
    its own.
    """
    for n, (old, new) in enumerate(zip(cached, prompt, strict=False)):
        if old != new:
            return n
    return min(len(cached), len(prompt))


@dataclass
class Block:
    """A node of a PrefixTree: the keys and values of block_size tokens, a pair per layer, and the next blocks."""

    layers: list[KeysAndValues] = field(default_factory=list)
    followers: dict[tuple[int, ...], Block] = field(default_factory=dict)
    last_used: int = 0


class PrefixTree:
    """A tree of keys and values that prompts with a common prefix share, in blocks of tokens.

    A path from the root is a prefix. Two prompts share a block if all tokens up to its end
    are the same [Kwon et al., 2023; Zheng et al., 2024]. If there are more than max_blocks,
    the leaf that was used longest ago is removed first.
    """

    def __init__(self, n_layers: int, block_size: int, max_blocks: int | None = None) -> None:
        self.n_layers = n_layers
        self.block_size = block_size
        self.max_blocks = max_blocks
        self._root = Block()
        self._clock = 0

    def __len__(self) -> int:
        """Return the number of blocks in the tree."""
        return sum(1 for _ in self._edges(self._root))

    def insert(self, ids: Sequence[int], caches: Sequence[KVCache]) -> None:
        """Store the keys and values of ids from the caches, in whole blocks; known blocks are only marked as used.

        The tokens after the last whole block are not stored. If there are then more than max_blocks, the leaves that
        were used longest ago are removed.

        Raises:
            ValueError: there is not one cache per layer, or one does not hold every position of ids.
        """
        lengths = [len(cache) for cache in caches]
        if len(lengths) != self.n_layers or min(lengths) < len(ids):
            raise ValueError(f"expected {self.n_layers} caches that hold {len(ids)} positions or more; got {lengths}")
        block = self._root
        for start, tokens in self._split(ids):
            if tokens not in block.followers:
                stop = start + self.block_size
                block.followers[tokens] = Block([cache.read(start, stop) for cache in caches])
            block = self._touch(block.followers[tokens])
        self._make_room()

    def lookup(self, prompt: Sequence[int]) -> tuple[int, list[KVCache]]:
        """Find the longest stored prefix of the prompt without its last token, and mark its blocks as used.

        The last token must be run in any case, because its output predicts the next token.

        Returns:
            the number of tokens found, a multiple of block_size and maybe 0, and for each layer a new
            cache that holds them
        """
        path: list[Block] = []
        block = self._root
        for _, tokens in self._split(prompt[:-1]):
            if tokens not in block.followers:
                break
            block = self._touch(block.followers[tokens])
            path.append(block)
        return len(path) * self.block_size, self._join(path)

    def _split(self, ids: Sequence[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the start and the tokens of each whole block of ids."""
        for start in range(0, len(ids) - self.block_size + 1, self.block_size):
            yield start, tuple(ids[start : start + self.block_size])

    def _touch(self, block: Block) -> Block:
        """Mark a block as the most recently used, and return it."""
        self._clock += 1
        block.last_used = self._clock
        return block

    def _edges(self, block: Block) -> Iterator[tuple[Block, tuple[int, ...]]]:
        """Yield (parent block, tokens) for each block below this one."""
        for tokens, follower in block.followers.items():
            yield block, tokens
            yield from self._edges(follower)

    def _make_room(self) -> None:
        """Remove leaves, the least recently used first, until at most max_blocks blocks are left, if it is not None."""
        while self.max_blocks is not None and len(self) > self.max_blocks:
            leaves = [(b, t) for b, t in self._edges(self._root) if not b.followers[t].followers]
            parent, tokens = min(leaves, key=lambda leaf: leaf[0].followers[leaf[1]].last_used)
            del parent.followers[tokens]

    def _join(self, path: list[Block]) -> list[KVCache]:
        """Return a new cache for each layer that holds the blocks of a path, concatenated."""
        caches = [KVCache() for _ in range(self.n_layers)]
        for block in path:
            for cache, (k, v) in zip(caches, block.layers, strict=True):
                cache.append(k, v)
        return caches
