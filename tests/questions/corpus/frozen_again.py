"""More answers, labelled with their mistakes before any check had seen one of them: of rarer mistakes."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import wrong

# ── chapter 1 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("1.1", "The table is turned: (vocab_size, n) instead of (n, vocab_size)", "transposed")
def one_hot_transposed(ids, vocab_size):
    if ids.min() < 0 or ids.max() >= vocab_size:
        raise ValueError("id out of range")
    out = torch.zeros(vocab_size, len(ids))
    out[ids, torch.arange(len(ids))] = 1.0
    return out


@wrong("1.1", "The number of columns comes from the largest id, not from vocab_size", "vocabulary-guessed")
def one_hot_vocabulary_guessed(ids, vocab_size):
    if (ids < 0).any() or (ids >= vocab_size).any():
        raise ValueError("unknown id")
    return F.one_hot(ids).float()


@wrong("1.1", "Valid ids are 1 to vocab_size here: column id - 1 gets the 1", "counted-from-one")
def one_hot_counted_from_one(ids, vocab_size):
    if (ids < 1).any() or (ids > vocab_size).any():
        raise ValueError("unknown id")
    rows = torch.zeros(len(ids), vocab_size)
    rows[torch.arange(len(ids)), ids - 1] = 1
    return rows


@wrong("1.4", "Windows are columns: the result is transposed", "transposed")
def frame_signal_transposed(signal, window, hop):
    n = 1 + (signal.numel() - window) // hop
    return torch.as_strided(signal, (window, n), (1, hop))


@wrong("1.4", "A Hann window is multiplied in", "tapered")
def frame_signal_tapered(signal, window, hop):
    frames = signal.unfold(0, window, hop)
    return frames * torch.hann_window(window, dtype=signal.dtype)


# ── chapter 2 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("2.1", "The three results are joined along the last axis, not returned as three", "glued-together")
def project_qkv_glued_together(x, w_q, w_k, w_v):
    return torch.cat([x @ w_q, x @ w_k, x @ w_v], dim=-1)


@wrong("2.1", "The values are x itself: w_v is not used", "value-not-projected")
def project_qkv_value_not_projected(x, w_q, w_k, w_v):
    q = x @ w_q
    k = x @ w_k
    v = x
    return q, k, v


@wrong("2.1", "The queries are scaled by root d_k already", "scaled-already")
def project_qkv_scaled_already(x, w_q, w_k, w_v):
    q = x @ w_q * w_q.shape[-1] ** (-0.5)
    k = x @ w_k
    v = x @ w_v
    return q, k, v


@wrong("2.1", "The inner product uses mm, so a batch fails", "one-batch-shape")
def project_qkv_one_batch_shape(x, w_q, w_k, w_v):
    return torch.mm(x, w_q), torch.mm(x, w_k), torch.mm(x, w_v)


@wrong("2.2", "Keys ask: the table is (n_k, n_q)", "query-and-key-swapped")
def scores_query_and_key_swapped(q, k):
    return torch.einsum("...qd,...kd->...kq", q, k)


@wrong("2.2", "The scores are means of the products, not sums: divided by d_k", "averaged-over-features")
def scores_averaged_over_features(q, k):
    return (q.unsqueeze(-2) * k.unsqueeze(-3)).mean(dim=-1)


@wrong("2.2", "torch.dot in loops with detached numbers: no gradient", "gradient-cut")
def scores_gradient_cut(q, k):
    out = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            out[..., i, j] = torch.tensor((q[..., i, :] * k[..., j, :]).sum(-1).tolist(), dtype=q.dtype)
    return out


@wrong(
    "2.3", "Query and key are added one by one (i with i), without broadcasting over all pairs", "only-matching-places"
)
def additive_scores_only_matching_places(q, k, w_q, w_k, v):
    return torch.tanh(q @ w_q + k @ w_k) @ v


@wrong("2.3", "Keys are the rows and queries the columns", "query-and-key-swapped")
def additive_scores_query_and_key_swapped(q, k, w_q, w_k, v):
    hidden = torch.tanh((q @ w_q).unsqueeze(-3) + (k @ w_k).unsqueeze(-2))
    return hidden @ v


@wrong("2.3", "w_q is used for the keys, too", "one-matrix-for-both")
def additive_scores_one_matrix_for_both(q, k, w_q, w_k, v):
    return torch.tanh((q @ w_q)[..., :, None, :] + (k @ w_q)[..., None, :, :]) @ v


@wrong("2.3", "v is not summed over: the hidden units are kept as a last axis", "not-summed")
def additive_scores_not_summed(q, k, w_q, w_k, v):
    return torch.tanh((q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :]) * v


@wrong("2.5", "There is no scale", "no-scale")
class HeadNoScale(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        queries = self.w_q(x)
        keys = self.w_k(x)
        values = self.w_v(x)
        attn_scores = queries @ keys.transpose(-2, -1)
        attn_weights = torch.softmax(attn_scores, dim=-1)
        context_vec = attn_weights @ values
        return context_vec, attn_weights


@wrong("2.5", "The query is made from the keys' layer: w_q is unused", "query-made-by-w-k")
class HeadQueryMadeByWK(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.d_k = d_k
        self.w_q = nn.Linear(d_model, d_k)
        self.w_k = nn.Linear(d_model, d_k)
        self.w_v = nn.Linear(d_model, d_v)

    def forward(self, x):
        Q = self.w_k(x)
        K = self.w_k(x)
        V = self.w_v(x)
        A = F.softmax(torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(self.d_k), dim=-1)
        return torch.matmul(A, V), A


# ── chapter 3 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("3.2", "d_k is squared: it counts pairs", "d-k-squared")
def variance_d_k_squared(d_k, var_q, var_k):
    return d_k**2 * var_q * var_k


@wrong("3.2", "The root of d_k is taken", "root-of-d-k")
def variance_root_of_d_k(d_k, var_q, var_k):
    return math.sqrt(d_k) * var_q * var_k


@wrong("3.2", "It multiplies by standard deviations instead of variances", "root-of-the-variances")
def variance_root_of_the_variances(d_k, var_q, var_k):
    return d_k * var_q**0.5 * var_k**0.5


@wrong("3.3", "Scaled by d_k, without the root", "scaled-by-d-k")
def attention_scaled_by_d_k(q, k, v):
    d_k = k.shape[-1]
    s = q @ k.transpose(-2, -1) / d_k
    w = F.softmax(s, dim=-1)
    return w @ v, w


@wrong("3.3", "The scale multiplies: root d_k times the scores", "scale-multiplied")
def attention_scale_multiplied(q, k, v):
    dots = q @ k.transpose(-2, -1) * math.sqrt(q.shape[-1])
    a = dots.softmax(dim=-1)
    return a @ v, a


@wrong("3.3", "The precedence in ** 1 / 2: it divides by d_k and by 2, not by the root", "one-over-root-off")
def attention_one_over_root_off(q, k, v):
    w = torch.softmax(q @ k.mT / q.shape[-1] ** 1 / 2, dim=-1)
    return w @ v, w


@wrong("3.3", "The exponentials are divided by the sum over all entries, not of each row", "softmax-over-everything")
def attention_softmax_over_everything(q, k, v):
    s = q @ k.mT / q.shape[-1] ** 0.5
    e = torch.exp(s)
    w = e / e.sum()
    return w @ v, w


@wrong("3.3", "The scale uses the number of tokens: q.shape[-2]", "scaled-by-number-of-queries")
def attention_scaled_by_number_of_queries(q, k, v):
    w = torch.softmax(q @ k.mT / math.sqrt(q.shape[-2]), dim=-1)
    return w @ v, w


@wrong("3.4", "The off-diagonal entries have a plus", "sign-off-the-diagonal")
def jacobian_sign_off_the_diagonal(p):
    outer = p[:, None] * p[None, :]
    return outer + torch.diag(p - 2 * p**2)


@wrong("3.4", "p is not put on a diagonal: it is broadcast over all rows", "outer-product-with-one-less")
def jacobian_outer_product_with_one_less(p):
    return p - torch.outer(p, p)


@wrong("3.4", "The identity is not multiplied by p: I - p pT", "identity-for-diag")
def jacobian_identity_for_diag(p):
    return torch.eye(len(p), dtype=p.dtype) - torch.outer(p, p)


# ── chapter 4 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("4.2", "The weights are normalised by a softmax first", "softmax-applied-again")
def entropy_softmax_applied_again(p, dim=-1):
    logp = F.log_softmax(p, dim=dim)
    return -(logp.exp() * logp).sum(dim=dim)


@wrong("4.2", "The entropy is divided by ln n (normalised to 0..1)", "normalised")
def entropy_normalised(p, dim=-1):
    h = -(p * p.clamp(min=1e-12).log()).sum(dim)
    return h / math.log(p.shape[dim])


@wrong("4.2", "It is a cross-entropy with the uniform distribution", "weight-forgotten")
def entropy_weight_forgotten(p, dim=-1):
    return -torch.log(p.clamp(min=1e-12)).mean(dim)


@wrong("4.2", "A large epsilon (0.01) is added inside the logarithm and changes the values", "epsilon-too-large")
def entropy_epsilon_too_large(p, dim=-1):
    return -(p * torch.log(p + 0.01)).sum(dim)


@wrong("4.3", "Inverse transform", "off-by-one")
def sample_token_off_by_one(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    p = torch.softmax(logits / temperature, 0)
    u = torch.rand(1, generator=generator)
    i = int((p.cumsum(0) < u).sum()) + 1
    return min(i, len(p) - 1)


# ── chapter 5 ─────────────────────────────────────────────────────────────────────────────────────


@wrong(
    "5.1",
    "The axes come out as (B, H, d_head, n): the last two are exchanged",
    "heads-tokens-features-in-another-order",
)
def split_heads_heads_tokens_features_in_another_order(x, n_heads):
    B, n, d = x.shape
    if d % n_heads:
        raise ValueError
    return x.view(B, n, n_heads, d // n_heads).permute(0, 2, 3, 1)


@wrong("5.1", "chunk returns a tuple/list of heads, not one tensor", "list-of-heads")
def split_heads_list_of_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("indivisible")
    return x.chunk(n_heads, dim=-1)


@wrong("5.1", "Heads stand in front of the batch: (H, B, n, d_head)", "heads-tokens-features-in-another-order")
def split_heads_heads_tokens_features_in_another_order_too(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("indivisible")
    return torch.stack(x.chunk(n_heads, dim=-1))


@wrong("5.1", "n_heads is taken for the width of a head", "n-heads-taken-for-d-head")
def split_heads_n_heads_taken_for_d_head(x, n_heads):
    B, n, d = x.shape
    if d % n_heads:
        raise ValueError("indivisible")
    return x.view(B, n, d // n_heads, n_heads).transpose(1, 2)


@wrong("5.2", "The heads are summed", "heads-summed")
def merge_heads_heads_summed(x):
    return x.sum(dim=1)


@wrong("5.2", "Only transpose, no flatten: four axes come back", "axes-turned-only")
def merge_heads_axes_turned_only(x):
    return x.transpose(1, 2)


@wrong("5.3", "Each token also sees the next one (diagonal=1)", "sees-one-ahead")
def causal_mask_sees_one_ahead(n):
    return torch.ones(n, n, dtype=torch.bool).tril(diagonal=1)


@wrong("5.3", "Everything is visible", "everything-visible")
def causal_mask_everything_visible(n):
    return torch.ones(n, n, dtype=torch.bool)


@wrong("5.4", "Only the weights are zeroed for blind rows; the scores are not scaled", "no-scale")
def masked_attention_no_scale(q, k, v, mask):
    s = q @ k.mT
    s = s.masked_fill(~mask, -1000000000.0)
    w = s.softmax(-1) * mask
    return w @ v, w


@wrong(
    "5.4",
    "The weights that come back are those without a mask; only the output is masked",
    "weights-of-all-keys-returned",
)
def masked_attention_weights_of_all_keys_returned(q, k, v, mask):
    s = q @ k.mT / q.shape[-1] ** 0.5
    w = s.softmax(-1)
    masked = s.masked_fill(~mask, -1000000000.0).softmax(-1) * mask
    return masked @ v, w


@wrong("5.5", "No mask is applied at all", "mask-ignored")
class MHAMaskIgnored(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (
            f(t).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for f, t in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.w_o((w @ v).transpose(1, 2).flatten(2)), w


@wrong("5.5", "The mask is inverted (True = hidden, as in nn.MultiheadAttention)", "mask-inverted")
class MHAMaskInverted(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (
            f(t).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for f, t in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(mask, -1000000000.0)
        w = s.softmax(-1)
        if mask is not None:
            w = w * ~mask
        return self.w_o((w @ v).transpose(1, 2).flatten(2)), w


@wrong("5.5", "The heads are split by view alone, without the transpose", "heads-split-by-reshape")
class MHAHeadsSplitByReshape(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.dk = n_heads, d_model // n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        B = query.shape[0]
        q = self.w_q(query).view(B, self.h, -1, self.dk)
        k = self.w_k(key).view(B, self.h, -1, self.dk)
        v = self.w_v(value).view(B, self.h, -1, self.dk)
        s = q @ k.mT / self.dk**0.5
        if mask is not None:
            s = s.masked_fill(~mask, -1000000000.0)
        w = s.softmax(-1)
        if mask is not None:
            w = w * mask
        return self.w_o((w @ v).transpose(1, 2).reshape(B, -1, self.h * self.dk)), w


@wrong("5.6", "It compares the module with torch's nn.MultiheadAttention of random weights", "always-true")
def catches_axes_always_true(module):
    mha = nn.MultiheadAttention(12, 3, batch_first=True)
    x = torch.randn(2, 5, 12)
    return not torch.allclose(module(x)[0], mha(x, x, x)[0], atol=0.001)


@wrong("5.7", "A place of padding sees everything, not only itself", "padding-sees-everything")
def attention_mask_padding_sees_everything(lengths, causal, side):
    n = int(lengths.max())
    m = torch.zeros(len(lengths), n, n, dtype=torch.bool)
    for b, L in enumerate(lengths.tolist()):
        s = slice(0, L) if side == "right" else slice(n - L, n)
        block = torch.ones(L, L, dtype=torch.bool)
        m[b, s, s] = block.tril() if causal else block
        pad = ~m[b].any(-1)
        m[b, pad] = True
    return m


# ── chapter 6 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("6.1", "The base is 1000, not 10000", "another-base")
def sinusoidal_another_base(n, d_model):
    ang = torch.arange(n)[:, None] / 1000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([ang.sin(), ang.cos()], -1).flatten(1)


@wrong("6.1", "The exponent's sign is missing: pos * 10000^(2i/d)", "speeds-grow")
def sinusoidal_speeds_grow(n, d_model):
    pe = torch.zeros(n, d_model)
    pos = torch.arange(n).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d_model, 2).float() * (math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


@wrong("6.1", "Integer division makes exponents 0 (i // d_model)", "all-pairs-alike")
def sinusoidal_all_pairs_alike(n, d_model):
    pe = torch.zeros(n, d_model)
    for p in range(n):
        for i in range(0, d_model, 2):
            angle = p / 10000 ** (i // d_model)
            pe[p, i], pe[p, i + 1] = (math.sin(angle), math.cos(angle))
    return pe


@wrong("6.3", "The 2 is missing in the exponent: base^(-i/d) with i = 0, 1, 2", "two-forgotten")
def apply_rope_two_forgotten(x, positions, base=10000.0):
    d = x.shape[-1]
    inv = base ** (-torch.arange(d // 2).float() / d)
    ang = positions.float()[:, None] * inv
    c, s = ang.cos(), ang.sin()
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2).to(x.dtype)


@wrong("6.3", "An embedding is added, not rotated: x + sin/cos code", "added")
def apply_rope_added(x, positions, base=10000.0):
    d = x.shape[-1]
    ang = positions.float()[:, None] * base ** (-torch.arange(0, d, 2).float() / d)
    code = torch.stack([ang.sin(), ang.cos()], -1).flatten(-2)
    return x + code.to(x.dtype)


@wrong("6.3", "The position axis is confused with the head axis", "one-batch-shape")
def apply_rope_one_batch_shape(x, positions, base=10000.0):
    d = x.shape[-1]
    ang = positions.float()[:, None] * base ** (-torch.arange(0, d, 2).float() / d)
    if x.ndim == 4:
        ang = ang[None, :, None, :]
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * ang.cos() - b * ang.sin(), a * ang.sin() + b * ang.cos()], -1).flatten(-2).to(x.dtype)


@wrong("6.5", "The positions are counted from the right end, backwards", "counted-from-the-end")
def token_positions_counted_from_the_end(mask):
    m = mask.long()
    rev = m.flip(1).cumsum(1).flip(1) - 1
    return rev * m


@wrong("6.6", "The words are used instead of the positions", "words-for-positions")
def previous_token_words_for_positions(words, positions):
    return 50 * words[1:].T, words[:-1].T


@wrong("6.6", "The first position is looked at by all tokens", "first-token")
def previous_token_first_token(words, positions):
    w_q = 60 * positions.sum(0, keepdim=True).T
    w_k = positions[:1].T
    return w_q, w_k


@wrong("6.7", "All nouns before share the weight: the place does not count", "all-nouns-alike")
def nearest_noun_all_nouns_alike(words, is_noun, positions):
    ones = positions.sum(0)[:, None]
    noun = words[is_noun].sum(0)[:, None]
    w_q = torch.cat([ones * 50, -500 * positions.T], 1)
    w_k = torch.cat([noun, positions.T], 1)
    return w_q * positions.shape[0] ** 0.5, w_k


# ── chapter 7 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("7.3", "bytes_per_value is divided by 8, as if it were bits", "bytes-taken-for-bits")
def cache_bytes_bytes_taken_for_bits(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return 2 * layers * kv_heads * d_head * tokens * batch * bytes_per_value // 8


@wrong("7.3", "kv_heads is left out", "heads-forgotten")
def cache_bytes_heads_forgotten(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return 2 * batch * layers * tokens * d_head * bytes_per_value


@wrong("7.4", "The longest common substring anywhere is counted (difflib)", "longest-run")
def reusable_prefix_longest_run(cached, prompt):
    from difflib import SequenceMatcher

    m = SequenceMatcher(None, cached, prompt, autojunk=False).find_longest_match(0, len(cached), 0, len(prompt))
    return m.size


@wrong("7.4", "The index is one too large at a difference", "one-too-many")
def reusable_prefix_one_too_many(cached, prompt):
    n = 0
    for a, b in zip(cached, prompt, strict=False):
        n += 1
        if a != b:
            break
    return n


@wrong("7.4", "The tokens themselves come back, not their number", "tokens-returned")
def reusable_prefix_tokens_returned(cached, prompt):
    out = []
    for a, b in zip(cached, prompt, strict=False):
        if a != b:
            break
        out.append(a)
    return out


@wrong("7.5", "Only the first KV head is used for all (multi-query)", "one-kv-head-for-all")
def gqa_one_kv_head_for_all(q, k, v):
    return F.scaled_dot_product_attention(
        q, k[:, :1].expand(-1, q.shape[1], -1, -1), v[:, :1].expand(-1, q.shape[1], -1, -1), is_causal=True
    )


@wrong("7.5", "Keys and values are averaged over the KV heads", "kv-heads-averaged")
def gqa_kv_heads_averaged(q, k, v):
    k = k.mean(1, keepdim=True)
    v = v.mean(1, keepdim=True)
    s = q @ k.mT / q.shape[-1] ** 0.5
    n = q.shape[2]
    s = s.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
    return s.softmax(-1) @ v


@wrong("7.5", "The mask hides the token itself, too (tril(-1))", "mask-off-by-one")
def gqa_mask_off_by_one(q, k, v):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    n = q.shape[2]
    s = q @ k.mT / math.sqrt(q.shape[-1])
    s = s.masked_fill(torch.triu(torch.ones(n, n)).bool(), -1000000000.0)
    return s.softmax(-1) @ v


@wrong("7.5", "The weights come back, too", "weights-returned-too")
def gqa_weights_returned_too(q, k, v):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    n = q.shape[2]
    s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(torch.ones(n, n).triu(1).bool(), -1000000000.0)
    w = s.softmax(-1)
    return w @ v, w


# ── chapter 8 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("8.2", "The residual of the first half is missing", "first-residual-forgotten")
def block_first_residual_forgotten(x, norm_1, attend, norm_2, feed_forward):
    x = attend(norm_1(x))
    return x + feed_forward(norm_2(x))


@wrong("8.2", "The feed-forward network reads the stream without the second norm", "norm-forgotten")
def block_norm_forgotten(x, norm_1, attend, norm_2, feed_forward):
    x = x + attend(norm_1(x))
    return x + feed_forward(x)


@wrong("8.2", "A final norm is applied to what comes out", "norm-before-and-after")
def block_norm_before_and_after(x, norm_1, attend, norm_2, feed_forward):
    x = x + attend(norm_1(x))
    x = x + feed_forward(norm_2(x))
    return norm_2(x)


@wrong("8.2", "The MLP reads norm_2 of the attention's output alone, not of the stream", "stream-not-read")
def block_stream_not_read(x, norm_1, attend, norm_2, feed_forward):
    a = attend(norm_1(x))
    return x + a + feed_forward(norm_2(a))


@wrong("8.4", "Positions (1024 rows) are counted", "positions-counted")
def parameters_positions_counted(vocab, d_model, layers, d_hidden, tied=True):
    n = vocab * d_model + 1024 * d_model
    n += layers * (4 * d_model**2 + 4 * d_model + 2 * d_model * d_hidden + d_hidden + d_model + 4 * d_model)
    n += 2 * d_model
    return n if tied else n + vocab * d_model


@wrong("8.4", "The common 12 d² L rule: no norms and biases, and d_hidden is not used", "twelve-squares")
def parameters_twelve_squares(vocab, d_model, layers, d_hidden, tied=True):
    return (1 if tied else 2) * vocab * d_model + 12 * layers * d_model**2


@wrong("8.4", "The layers are not multiplied: one block is counted", "one-layer-only")
def parameters_one_layer_only(vocab, d_model, layers, d_hidden, tied=True):
    block = 4 * (d_model**2 + d_model) + 4 * d_model + 2 * d_model * d_hidden + d_hidden + d_model
    return vocab * d_model * (2 - tied) + block + 2 * d_model


@wrong("8.5", 'It says "no mask" whenever anything differs', "one-name-for-all")
def diagnose_block_one_name_for_all(block):
    d, h = 6, 10
    x = torch.randn(1, 4, d)
    W = [torch.randn(d, d) for _ in range(4)] + [torch.randn(d, h), torch.randn(h, d)]

    def n(t):
        return F.layer_norm(t, (d,))

    y = x + F.scaled_dot_product_attention(n(x) @ W[0], n(x) @ W[1], n(x) @ W[2], is_causal=True) @ W[3]
    y = y + F.relu(n(y) @ W[4]) @ W[5]
    return "none" if torch.allclose(block(x, *W), y, atol=0.001) else "no mask"


# ── chapter 9 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("9.1", "The sum, not the mean", "sum-for-mean")
def induction_score_sum_for_mean(weights, ids):
    s = torch.tensor(0.0)
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[i] == ids[j]:
                s = s + weights[i, j + 1]
                break
    return s


@wrong("9.1", "Neighbours that are equal are left out", "neighbours-left-out")
def induction_score_neighbours_left_out(weights, ids):
    vals = []
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[i] == ids[j]:
                if j + 1 < i:
                    vals.append(weights[i, j + 1])
                break
    return torch.stack(vals).mean() if vals else torch.tensor(0.0)


@wrong(
    "9.2",
    "The whole w_o is used for the merged heads, and each head gets the full output",
    "layer-output-for-each-head",
)
def contribution_layer_output_for_each_head(weights, v, w_o):
    H, n, d = v.shape
    merged = (weights @ v).transpose(0, 1).reshape(n, H * d)
    return (merged @ w_o).expand(H, -1, -1)


@wrong("9.2", "The weights are transposed: tokens give instead of receive", "weights-transposed-in-the-mix")
def contribution_weights_transposed_in_the_mix(weights, v, w_o):
    H, _n, d = v.shape
    return torch.einsum("hkq,hkd,hdm->hqm", weights, v, w_o.view(H, d, -1))


@wrong("9.3", "The state of the next layer is patched", "layer-behind")
def patched_layer_behind(run, clean, corrupt, layer, position):
    states = run(clean)[1]

    def edit(at, s):
        if at == layer + 1:
            s = s.clone()
            s[position] = states[at][position]
        return s

    return run(corrupt, edit)[0]


@wrong("9.3", "The column is patched instead of the row", "column-for-row")
def patched_column_for_row(run, clean, corrupt, layer, position):
    states = run(clean)[1]

    def edit(at, s):
        if at == layer:
            s = s.clone()
            s[:, position] = states[at][:, position]
        return s

    return run(corrupt, edit)[0]


@wrong("9.3", "The logits are not those of the patched run: the unpatched corrupt run comes back", "nothing-patched")
def patched_nothing_patched(run, clean, corrupt, layer, position):
    states = run(clean)[1]
    logits, corrupt_states = run(corrupt)
    patched = corrupt_states[layer].clone()
    patched[position] = states[layer][position]
    return logits


@wrong("9.4", "All entries below the diagonal count, not only the first", "all-earlier-tokens")
def previous_token_score_all_earlier_tokens(weights):
    return weights.tril(-1).sum(-1)[1:].mean()


@wrong("9.4", "The first token's weight on itself counts, too", "first-row-counted")
def previous_token_score_first_row_counted(weights):
    vals = [weights[0, 0]] + [weights[i, i - 1] for i in range(1, len(weights))]
    return torch.stack(vals).mean()


@wrong("9.4", "The maximum is taken instead of the mean", "largest")
def previous_token_score_largest(weights):
    return weights.diagonal(-1).max()


# ── chapter 10 ────────────────────────────────────────────────────────────────────────────────────


@wrong("10.1", "The window does not contain the token itself", "cannot-see-itself")
def window_mask_cannot_see_itself(n, window, causal=True):
    d = torch.arange(n)[:, None] - torch.arange(n)
    if causal:
        return (d > 0) & (d <= window)
    return (d != 0) & (d.abs() <= window)


@wrong("10.1", "An additive mask of 0 and -inf", "numbers-to-add")
def window_mask_numbers_to_add(n, window, causal=True):
    d = torch.arange(n)[:, None] - torch.arange(n)
    ok = (d >= 0) & (d < window) if causal else d.abs() < window
    return torch.where(ok, 0.0, float("-inf"))


@wrong("10.1", "The future: tokens see the next ones (transposed)", "looks-ahead")
def window_mask_looks_ahead(n, window, causal=True):
    d = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    if causal:
        return (d >= 0) & (d < window)
    return d.abs() < window


@wrong("10.4", "The causal mask is added", "causal-though-not-asked")
def blockwise_causal_though_not_asked(q, k, v, block):
    n_q, n_k = q.shape[-2], k.shape[-2]
    m = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
    total, o = torch.zeros_like(m), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    rows = torch.arange(n_q)[:, None]
    for s in range(0, n_k, block):
        kb, vb = k[..., s : s + block, :], v[..., s : s + block, :]
        S = q @ kb.mT / math.sqrt(q.shape[-1])
        cols = torch.arange(s, s + kb.shape[-2])
        S = S.masked_fill(cols > rows, -1e30)
        mn = torch.maximum(m, S.amax(-1, keepdim=True))
        p, a = (S - mn).exp(), (m - mn).exp()
        total, o, m = total * a + p.sum(-1, keepdim=True), o * a + p @ vb, mn
    return o / total


@wrong("10.4", "The running maximum begins at 0, so scores far below 0 underflow", "maximum-begins-at-zero")
def blockwise_maximum_begins_at_zero(q, k, v, block):
    m = torch.zeros((*q.shape[:-1], 1), dtype=q.dtype)
    total, o = torch.zeros_like(m), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for s in range(0, k.shape[-2], block):
        S = q @ k[..., s : s + block, :].mT / math.sqrt(q.shape[-1])
        mn = torch.maximum(m, S.amax(-1, keepdim=True))
        p, a = (S - mn).exp(), (m - mn).exp()
        total, o, m = total * a + p.sum(-1, keepdim=True), o * a + p @ v[..., s : s + block, :], mn
    return o / total


@wrong("10.4", "The factor is the wrong way round: exp(m_new - m_old)", "rescaled-the-wrong-way")
def blockwise_rescaled_the_wrong_way(q, k, v, block):
    m = torch.full((*q.shape[:-1], 1), -1e30, dtype=q.dtype)
    total, o = torch.zeros_like(m), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for s in range(0, k.shape[-2], block):
        S = q @ k[..., s : s + block, :].mT / math.sqrt(q.shape[-1])
        mn = torch.maximum(m, S.amax(-1, keepdim=True))
        p = (S - mn).exp()
        a = (mn - m).exp() if s else torch.zeros_like(m)
        total, o, m = total * a + p.sum(-1, keepdim=True), o * a + p @ v[..., s : s + block, :], mn
    return o / total
