"""Answers to the questions of chapter 7."""

import itertools
import math
import os.path

import torch
import torch.nn.functional as F

from tests.questions.corpus.label import right, wrong


@right("7.1", "Hugging Face DynamicCache")
class DynamicCache:
    def __init__(self):
        self.k = self.v = None

    def append(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], dim=-2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=-2)
        return self.k, self.v

    def __len__(self):
        return 0 if self.k is None else self.k.shape[-2]


@wrong("7.1", "llama, max_seq_len = 128", "a-fixed-capacity", "full-at-some-length")
class StaticCache:
    def __init__(self):
        self.k = self.v = None
        self.n = 0

    def append(self, k, v):
        if self.k is None:
            B, H, _, d = k.shape
            self.k, self.v = k.new_zeros(B, H, 16, d), v.new_zeros(B, H, 16, v.shape[-1])
        end = self.n + k.shape[2]
        self.k[:, :, self.n : end] = k
        self.v[:, :, self.n : end] = v
        self.n = end
        return self.k[:, :, :end].clone(), self.v[:, :, :end].clone()

    def __len__(self):
        return self.n


@wrong("7.1", "GPT-2 for (B, n, H, d)", "joined-along-another-axis")
class AxisOneCache(DynamicCache):
    def append(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], dim=1)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=1)
        return self.k, self.v


@wrong("7.1", "new before old", "newest-first")
class NewestFirstCache(DynamicCache):
    def append(self, k, v):
        self.k = k if self.k is None else torch.cat([k, self.k], dim=-2)
        self.v = v if self.v is None else torch.cat([v, self.v], dim=-2)
        return self.k, self.v


@wrong("7.1", "a list of tensors, never joined", "pieces-not-joined")
class ListCache:
    def __init__(self):
        self.k, self.v = [], []

    def append(self, k, v):
        self.k.append(k)
        self.v.append(v)
        return self.k, self.v

    def __len__(self):
        return sum(k.size(2) for k in self.k)


@right("7.2", "llama, one head")
def decode_llama(x_t, w_q, w_k, w_v, cache):
    q, k, v = (x_t[:, None] @ w for w in (w_q, w_k, w_v))
    keys, values = cache.append(k, v)
    scores = torch.matmul(q, keys.transpose(2, 3)) / math.sqrt(q.shape[-1])
    return torch.matmul(F.softmax(scores.float(), dim=-1).type_as(q), values)[:, 0]


@right("7.2", "the fused kernel")
def decode_fused(x_t, w_q, w_k, w_v, cache):
    q, k, v = ((x_t @ w).unsqueeze(1) for w in (w_q, w_k, w_v))
    keys, values = cache.append(k, v)
    return F.scaled_dot_product_attention(q, keys, values).squeeze(1)


@wrong("7.2", "`if cache:` is False for an empty one", "first-token-not-appended", "not-appended")
def decode_if_cache(x_t, w_q, w_k, w_v, cache):
    q, k, v = ((x_t @ w).unsqueeze(1) for w in (w_q, w_k, w_v))
    if cache:
        k, v = cache.append(k, v)
    return ((q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v).squeeze(1)


@wrong("7.2", "appended, and appended again", "appended-twice")
def decode_twice(x_t, w_q, w_k, w_v, cache):
    q, k, v = ((x_t @ w).unsqueeze(1) for w in (w_q, w_k, w_v))
    if len(cache) == 0:
        cache.append(k, v)
    k, v = cache.append(k, v)
    return ((q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v).squeeze(1)


@wrong("7.2", "squeeze without an axis", "too-many-axes-squeezed", "token-axis-lost")
def decode_squeeze(x_t, w_q, w_k, w_v, cache):
    q, k, v = ((x_t @ w).unsqueeze(1) for w in (w_q, w_k, w_v))
    k, v = cache.append(k, v)
    return ((q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v).squeeze()


@right("7.3", "vLLM blog")
def bytes_blog(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return 2 * bytes_per_value * layers * kv_heads * d_head * tokens * batch


@wrong("7.3", "keys alone", "factor-two-forgotten")
def bytes_keys(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return layers * kv_heads * d_head * tokens * batch * bytes_per_value


@wrong("7.3", "in gigabytes", "other-unit")
def bytes_gb(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return 2 * layers * kv_heads * d_head * tokens * batch * bytes_per_value / 1024**3


@right("7.4", "os.path.commonprefix")
def prefix_common(cached, prompt):
    return len(os.path.commonprefix([cached, prompt]))  # noqa: RUF071


@right("7.4", "takewhile")
def prefix_takewhile(cached, prompt):
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(cached, prompt, strict=False)))


@wrong("7.4", "equal places counted", "counted-after-a-mismatch")
def prefix_sum(cached, prompt):
    return sum(a == b for a, b in zip(cached, prompt, strict=False))


@wrong("7.4", "vLLM, blocks of 16", "whole-blocks-only")
def prefix_blocks(cached, prompt):
    n = 0
    while n + 16 <= min(len(cached), len(prompt)) and cached[n : n + 16] == prompt[n : n + 16]:
        n += 16
    return n


@wrong("7.4", "llama.cpp evaluates one token at least", "last-token-always-run")
def prefix_llama_cpp(cached, prompt):
    n = prefix_common(cached, prompt)
    return n - 1 if n == len(prompt) and n > 0 else n


def repeat_kv(hidden, n_rep):
    B, H, n, d = hidden.shape
    return hidden[:, :, None, :, :].expand(B, H, n_rep, n, d).reshape(B, H * n_rep, n, d)


@right("7.5", "Hugging Face repeat_kv")
def gqa_repeat_kv(q, k, v):
    g = q.shape[1] // k.shape[1]
    k, v = repeat_kv(k, g), repeat_kv(v, g)
    w = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.shape[-1])
    mask = torch.full((q.shape[2], q.shape[2]), torch.finfo(q.dtype).min, dtype=q.dtype).triu(1)
    w = F.softmax(w + mask, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(w, v)


@right("7.5", "the fused kernel, is_causal")
def gqa_fused(q, k, v):
    g = q.size(1) // k.size(1)
    return F.scaled_dot_product_attention(q, k.repeat_interleave(g, 1), v.repeat_interleave(g, 1), is_causal=True)


@wrong("7.5", "repeat for repeat_interleave", "kv-heads-tiled")
def gqa_tiled(q, k, v):
    g = q.size(1) // k.size(1)
    return F.scaled_dot_product_attention(q, k.repeat(1, g, 1, 1), v.repeat(1, g, 1, 1), is_causal=True)


@wrong("7.5", "is_causal forgotten", "mask-ignored")
def gqa_not_causal(q, k, v):
    g = q.size(1) // k.size(1)
    return F.scaled_dot_product_attention(q, repeat_kv(k, g), repeat_kv(v, g))


@wrong("7.5", "autocast to bfloat16", "half-precision")
def gqa_bfloat16(q, k, v):
    return gqa_fused(q.bfloat16(), k.bfloat16(), v.bfloat16()).to(q.dtype)


@right("7.6", "three texts")
def catches_stale_by_three_texts(make_decoder):
    for seed in range(3):
        ids = torch.randint(0, 5, (32,), generator=torch.Generator().manual_seed(seed)).tolist()
        d = make_decoder()
        full = d.full(ids)
        for t, i in enumerate(ids):
            if not torch.allclose(d.step(i), full[t], atol=1e-3):
                return True
    return False


@wrong("7.6", "one id again and again", "accepts-one-that-*")
def catches_stale_by_one_id(make_decoder):
    ids = [1] * 32
    d = make_decoder()
    steps = torch.stack([d.step(i) for i in ids])
    return not torch.allclose(steps, d.full(ids), atol=1e-3)


@wrong("7.6", "a short text", "accepts-one-that-*")
def catches_stale_by_short_text(make_decoder):
    ids = [0, 1, 2]
    d = make_decoder()
    steps = torch.stack([d.step(i) for i in ids])
    return not torch.allclose(steps, d.full(ids), atol=1e-3)


@wrong("7.6", "exactly equal", "right-one-accused")
def catches_stale_exactly(make_decoder):
    ids = torch.randint(0, 5, (32,))
    d = make_decoder()
    steps = torch.stack([d.step(int(i)) for i in ids])
    return not torch.equal(steps, d.full(ids))
