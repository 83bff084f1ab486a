"""Answers to questions of all chapters, labelled and frozen before any check had seen one of them."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong

# ── chapter 1 ─────────────────────────────────────────────────────────────────────────────────────


@right("1.1", "compared with arange, JAX's one_hot")
def one_hot_compared(ids, vocab_size):
    if ((ids < 0) | (ids >= vocab_size)).any():
        raise ValueError("unknown id")
    return (ids[:, None] == torch.arange(vocab_size)).to(torch.float32)


@wrong("1.1", "a word that is unknown gets a row of zeros", "id-not-checked")
def one_hot_zeros_for_unknown(ids, vocab_size):
    return (ids[:, None] == torch.arange(vocab_size)).float()


@wrong("1.1", "> for >=", "large-id-let-through", "id-off-by-one")
def one_hot_off_by_one(ids, vocab_size):
    if (ids < 0).any() or (ids > vocab_size).any():
        raise ValueError("id out of range")
    out = torch.zeros(len(ids), vocab_size + 1)
    out[torch.arange(len(ids)), ids] = 1.0
    return out[:, :vocab_size]


@right("1.2", "flattened, looked up, put back")
def embed_flat(ids, table):
    return table.index_select(0, ids.reshape(-1)).reshape(*ids.shape, table.shape[1])


@wrong("1.2", "columns, as in the column convention", "columns-looked-up")
def embed_columns(ids, table):
    return table[:, ids]


@right("1.3", "zeros first, then filled, with a mask of the same loop")
def pad_filled(sequences):
    n_max = max(s.size(0) for s in sequences)
    batch = sequences[0].new_zeros(len(sequences), n_max, sequences[0].size(1))
    mask = torch.zeros(len(sequences), n_max, dtype=torch.bool)
    for i, s in enumerate(sequences):
        batch[i, : s.size(0)] = s
        mask[i, : s.size(0)] = True
    return batch, mask


@wrong("1.3", "sorted for pack_padded_sequence", "sorted-by-length")
def pad_sorted(sequences):
    sequences = sorted(sequences, key=len, reverse=True)
    lengths = torch.tensor([len(s) for s in sequences])
    batch = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    return batch, torch.arange(batch.size(1))[None, :] < lengths[:, None]


@wrong("1.3", "-100 as the padding of labels", "padded-with-something-else")
def pad_minus_hundred(sequences):
    batch = nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=-100)
    lengths = torch.tensor([len(s) for s in sequences])
    return batch, torch.arange(batch.size(1)) < lengths.unsqueeze(1)


@right("1.4", "gather of start plus offset")
def frames_gather(signal, window, hop):
    count = (signal.numel() - window) // hop + 1
    at = hop * torch.arange(count).unsqueeze(1) + torch.arange(window)
    return signal.gather(0, at.flatten()).view(count, window)


@wrong("1.4", "window and hop in the other order", "window-and-hop-swapped", "arguments-of-unfold")
def frames_swapped(signal, window, hop):
    return signal.unfold(0, hop, window)


@wrong("1.4", "windows side by side, nanoGPT's batches", "hop-ignored")
def frames_view(signal, window, hop):
    n = len(signal) // window
    return signal[: n * window].view(n, window)


# ── chapter 2 ─────────────────────────────────────────────────────────────────────────────────────


@right("2.1", "torch.matmul three times")
def project_matmul(x, w_q, w_k, w_v):
    return torch.matmul(x, w_q), torch.matmul(x, w_k), torch.matmul(x, w_v)


@wrong("2.1", "copied line, w_q twice", "key-made-by-w-q")
def project_copied(x, w_q, w_k, w_v):
    q = x @ w_q
    k = x @ w_q
    v = x @ w_v
    return q, k, v


@right("2.2", "a sum of products over a new axis")
def scores_broadcast(q, k):
    return (q[..., :, None, :] * k[..., None, :, :]).sum(-1)


@wrong("2.2", "the first line of a blog post, q * k", "elementwise-product", "only-matching-places")
def scores_elementwise(q, k):
    return (q * k).sum(-1)


@wrong("2.2", "softmax at once", "softmax-already-applied")
def scores_softmax(q, k):
    return F.softmax(q @ k.transpose(-2, -1), dim=-1)


@wrong("2.3", "tanh after the projection by v", "tanh-after-v")
def additive_tanh_last(q, k, w_q, w_k, v):
    return torch.tanh(((q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :]) @ v)


@wrong("2.3", "Luong's multiplicative score", "multiplied-for-added", "dot-product-after-all", "tanh-forgotten")
def additive_luong(q, k, w_q, w_k, v):
    return (q @ w_q) @ (k @ w_k).transpose(-2, -1)


@right("2.4", "a loop over keys")
def mix_loop(weights, v):
    out = 0
    for j in range(v.shape[-2]):
        out = out + weights[..., :, j : j + 1] * v[..., j : j + 1, :]
    return out


@wrong("2.4", "weights transposed", "mixed-by-columns")
def mix_transposed(weights, v):
    return weights.transpose(-2, -1) @ v


@right("2.5", "einsum throughout, bias=False")
class HeadEinsum(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.d_k = d_k
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        dots = torch.einsum("...id,...jd->...ij", self.w_q(x), self.w_k(x)) * self.d_k**-0.5
        attn = dots.softmax(dim=-1)
        return torch.einsum("...ij,...jd->...id", attn, self.w_v(x)), attn


@wrong("2.5", "the output alone, nn.Module habit", "weights-not-returned")
class HeadOutput(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)

    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1) @ v


@wrong("2.5", "super().__init__() forgotten", "no-super-init")
class HeadNoSuper(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)

    def forward(self, x):
        weights = torch.softmax(self.w_q(x) @ self.w_k(x).mT / math.sqrt(self.w_q.out_features), dim=-1)
        return weights @ self.w_v(x), weights


@wrong("2.5", "d_model under the root", "scaled-by-d-model")
class HeadModelWidth(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.scale = d_model**0.5
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)

    def forward(self, x):
        weights = torch.softmax(self.w_q(x) @ self.w_k(x).mT / self.scale, dim=-1)
        return weights @ self.w_v(x), weights


# ── chapter 3 ─────────────────────────────────────────────────────────────────────────────────────


@right("3.1", "queries divided first")
def scaled_queries_first(q, k):
    return (q / math.sqrt(q.size(-1))) @ k.transpose(-1, -2)


@wrong("3.1", "* for /", "scale-multiplied")
def scaled_times_root(q, k):
    return q @ k.transpose(-2, -1) * math.sqrt(k.size(-1))


@wrong("3.1", "the scale is left for later", "no-scale")
def scaled_not(q, k):
    return torch.einsum("...id,...jd->...ij", q, k)


@right("3.2", "a sum over features")
def variance_sum(d_k, var_q, var_k):
    return float(sum(var_q * var_k for _ in range(d_k)))


@wrong("3.2", "d_k alone, unit variance in mind", "variances-forgotten")
def variance_unit(d_k, var_q, var_k):
    return float(d_k)


@right("3.3", "exponentials of shifted scores")
def attention_exponentials(q, k, v):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ v, weights


@wrong("3.3", "weights first, then the output", "output-and-weights-swapped")
def attention_swapped(q, k, v):
    weights = torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return weights, weights @ v


@wrong("3.3", "softmax(dim=-2)", "softmax-over-queries")
def attention_over_queries(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=-2)
    return weights @ v, weights


@wrong("3.3", "no_grad left from evaluation code", "gradient-cut")
def attention_no_grad(q, k, v):
    with torch.no_grad():
        weights = torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
    return weights @ v, weights


@wrong("3.3", "through NumPy", "gradient-cut")
def attention_numpy(q, k, v):
    q, k, v = (x.detach().numpy() for x in (q, k, v))
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    weights = e / e.sum(-1, keepdims=True)
    return torch.from_numpy(weights @ v), torch.from_numpy(weights)


@right("3.4", "identity minus p, by row")
def jacobian_rows(p):
    return p[:, None] * (torch.eye(len(p), dtype=p.dtype) - p[None, :])


@wrong("3.4", "softmax once more, then the formula", "softmax-applied-again")
def jacobian_of_softmax(p):
    p = torch.softmax(p, dim=-1)
    return torch.diag(p) - torch.outer(p, p)


@right("3.5", "the logarithm of a ratio of two weights")
def catches_by_ratio(attend):
    for d in (3, 16, 37):
        q, k, v = torch.randn(5, d).double(), torch.randn(7, d).double(), torch.randn(7, 2).double()
        log_w = attend(q, k, v)[1].log()
        scores = q @ k.mT / d**0.5
        if not torch.allclose(log_w - log_w[:, :1], scores - scores[:, :1], atol=1e-3):
            return True
    return False


@wrong("3.5", "torch's function at one width, 64 for both", "accepts-one-that-*")
def catches_at_64(attend):
    q, k, v = torch.randn(64, 64), torch.randn(64, 64), torch.randn(64, 64)
    out, _ = attend(q, k, v)
    return not torch.allclose(out, F.scaled_dot_product_attention(q, k, v), atol=1e-4)


# ── chapter 4 ─────────────────────────────────────────────────────────────────────────────────────


@right("4.1", "log_softmax, then exp")
def softmax_by_log(z, temperature=1.0, dim=-1):
    if not temperature > 0:
        raise ValueError("temperature must be positive")
    return F.log_softmax(z / temperature, dim=dim).exp()


@wrong("4.1", "dim left out of the call", "dim-ignored")
def softmax_last_axis(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    return torch.softmax(z / temperature, dim=-1)


@wrong("4.1", "inverse temperature, physics", "temperature-multiplied")
def softmax_beta(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError
    return torch.softmax(z * temperature, dim=dim)


@right("4.2", "xlogy")
def entropy_xlogy(p, dim=-1):
    return -torch.special.xlogy(p, p).sum(dim=dim)


@wrong("4.2", "torch.distributions.Categorical", "dim-ignored")
def entropy_categorical(p, dim=-1):
    return torch.distributions.Categorical(probs=p, validate_args=False).entropy()


@wrong("4.2", "cross-entropy without the minus", "entropy-negated")
def entropy_negative(p, dim=-1):
    return (p * torch.log(p.clamp(min=1e-12))).sum(dim)


@right("4.3", "nanoGPT, with greedy")
def sample_nanogpt_greedy(logits, temperature, generator):
    if temperature == 0.0:
        return torch.argmax(logits, dim=-1)
    probs = F.softmax(logits / temperature, dim=-1)
    return torch.multinomial(probs, num_samples=1, generator=generator).squeeze(-1)


@wrong("4.3", "np.random.choice", "generator-not-used")
def sample_numpy(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    p = torch.softmax(logits.double() / temperature, dim=-1).numpy()
    return int(np.random.choice(len(p), p=p / p.sum()))


@wrong("4.3", "temperature forgotten after the branch", "temperature-ignored")
def sample_no_temperature(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.multinomial(torch.softmax(logits, dim=-1), 1, generator=generator))


@wrong("4.3", "always the best", "always-greedy")
def sample_greedy(logits, temperature, generator):
    return int((logits / temperature).argmax()) if temperature else int(logits.argmax())


@right("4.4", "doubling, then halving")
def temperature_doubling(z, target):
    gaps = (z - z.max()).double()

    def largest(t):
        return 1 / float((gaps / t).exp().sum())

    low = high = float(-gaps.min())
    while largest(low) < target:
        low /= 2
    while largest(high) > target:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if largest(middle) > target else (low, middle)
    return (low + high) / 2


@wrong("4.4", "beta is returned, physics", "reciprocal")
def temperature_beta(z, target):
    return 1 / temperature_doubling(z, target)


# ── chapter 5 ─────────────────────────────────────────────────────────────────────────────────────


@right("5.1", "unflatten and movedim")
def split_unflatten(x, n_heads):
    if x.shape[-1] % n_heads != 0:
        raise ValueError(f"{x.shape[-1]} features in {n_heads} heads")
    return x.unflatten(2, (n_heads, -1)).movedim(2, 1)


@wrong("5.1", "einops '(d h)' for '(h d)'", "features-dealt-out")
def split_dealt(x, n_heads):
    B, n, d = x.shape
    if d % n_heads:
        raise ValueError
    return x.view(B, n, d // n_heads, n_heads).permute(0, 3, 1, 2)


@wrong("5.1", "the last transpose is forgotten", "axes-not-turned")
def split_not_turned(x, n_heads):
    B, n, d = x.shape
    if d % n_heads:
        raise ValueError
    return x.view(B, n, n_heads, d // n_heads)


@right("5.2", "movedim and flatten")
def merge_movedim(x):
    return x.movedim(1, 2).flatten(start_dim=2)


@wrong("5.2", "the mean of heads, GAT's last layer", "heads-averaged")
def merge_mean(x):
    return x.mean(dim=1)


@right("5.3", "tril of a bool")
def causal_tril(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


@wrong("5.3", "diagonal=-1", "cannot-see-itself")
def causal_strict(n):
    return torch.tril(torch.ones(n, n, dtype=torch.bool), diagonal=-1)


@right("5.4", "exp by hand, the sum guarded")
def masked_guarded(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    top = torch.where(mask, scores, torch.full_like(scores, -math.inf)).amax(-1, keepdim=True).detach()
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    seen = torch.where(mask, scores - top, torch.zeros_like(scores)).exp() * mask
    weights = seen / seen.sum(-1, keepdim=True).clamp(min=torch.finfo(q.dtype).tiny)
    return weights @ v, weights


@wrong("5.4", "d2l masked_softmax, -1e6", "even-shares-on-a-blind-row")
def masked_d2l(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    weights = scores.masked_fill(~mask, -1e6).softmax(-1)
    return weights @ v, weights


@wrong("5.4", "weights are masked after the softmax", "mask-after-softmax")
def masked_late(q, k, v, mask):
    weights = torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1) * mask
    return weights @ v, weights


@wrong("5.4", "sqrt forgotten, head_dim alone", "scaled-by-d-k")
def masked_by_width(q, k, v, mask):
    scores = q @ k.mT / q.size(-1)
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)
    return weights @ v, weights


class Base(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def heads(self, x):
        return x.view(x.size(0), x.size(1), self.n_heads, -1).transpose(1, 2)

    def mix(self, q, k, v, mask):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if mask is None:
            weights = scores.softmax(-1)
        else:
            low = torch.finfo(scores.dtype).min
            weights = scores.masked_fill(~mask, low).softmax(-1).masked_fill(~mask, 0.0)
        return weights @ v, weights

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self.heads(self.w_q(query)), self.heads(self.w_k(key)), self.heads(self.w_v(value))
        out, weights = self.mix(q, k, v, mask)
        return self.w_o(out.transpose(1, 2).flatten(2)), weights


@wrong("5.5", "merged without transposing back", "heads-merged-by-reshape")
class HeadsMergedByView(Base):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self.heads(self.w_q(query)), self.heads(self.w_k(key)), self.heads(self.w_v(value))
        out, weights = self.mix(q, k, v, mask)
        return self.w_o(out.reshape(query.size(0), query.size(1), -1)), weights


@wrong("5.5", "ends after the heads", "output-not-projected")
class HeadsWithoutOutput(Base):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self.heads(self.w_q(query)), self.heads(self.w_k(key)), self.heads(self.w_v(value))
        out, weights = self.mix(q, k, v, mask)
        return out.transpose(1, 2).flatten(2), weights


@wrong("5.5", "self-attention code, key and value unused", "key-and-value-ignored")
class HeadsSelfOnly(Base):
    def forward(self, query, key=None, value=None, mask=None):
        return super().forward(query, None, None, mask)


@wrong("5.5", "root of the model's width", "scaled-by-model-width")
class HeadsModelWidth(Base):
    def mix(self, q, k, v, mask):
        return super().mix(q / math.sqrt(self.n_heads), k, v, mask)


@wrong("5.6", "one example, tokens only", "accepts-one-that-*")
def catches_tokens_only(module):
    x = torch.randn(1, 6, 12)
    order = torch.randperm(6)
    return not torch.allclose(module(x)[0][:, order], module(x[:, order])[0], atol=1e-4)


@wrong("5.7", "padding only, causal is forgotten", "causal-ignored")
def mask_padding_only(lengths, causal, side):
    n = int(lengths.max())
    at = torch.arange(n)
    real = at < lengths[:, None] if side == "right" else at >= n - lengths[:, None]
    return (real[:, :, None] & real[:, None, :]) | torch.eye(n, dtype=torch.bool)


@wrong("5.7", "left and right exchanged", "sides-swapped")
def mask_sides(lengths, causal, side):
    n = int(lengths.max())
    at = torch.arange(n)
    real = at < lengths[:, None] if side == "left" else at >= n - lengths[:, None]
    mask = real[:, :, None] & real[:, None, :]
    if causal:
        mask = mask & torch.ones(n, n).tril().bool()
    return mask | torch.eye(n, dtype=torch.bool)


# ── chapter 6 ─────────────────────────────────────────────────────────────────────────────────────


@right("6.1", "stack and flatten")
def sinusoidal_stack(n, d_model):
    omega = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(n, dtype=torch.float64).outer(omega)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


@wrong("6.1", "cosine in even columns", "sin-and-cos-swapped")
def sinusoidal_swapped(n, d_model):
    pe = torch.zeros(n, d_model)
    position = torch.arange(n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.cos(position * div_term)
    pe[:, 1::2] = torch.sin(position * div_term)
    return pe


@right("6.2", "each pair by hand")
def shift_pairs(k, d_model):
    m = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / 10000 ** (i / d_model)
        c, s = math.cos(angle), math.sin(angle)
        m[i, i], m[i, i + 1], m[i + 1, i], m[i + 1, i + 1] = c, s, -s, c
    return m


@wrong("6.2", "one frequency for all", "all-pairs-alike")
def shift_one_frequency(k, d_model):
    m = torch.zeros(d_model, d_model)
    c, s = math.cos(k), math.sin(k)
    for i in range(0, d_model, 2):
        m[i : i + 2, i : i + 2] = torch.tensor([[c, s], [-s, c]])
    return m


@wrong("6.3", "lucidrains, positions counted inside", "positions-ignored")
def rope_own_positions(x, positions, base=10000.0):
    d = x.shape[-1]
    inv_freq = 1.0 / base ** (torch.arange(0, d, 2).to(x.dtype) / d)
    freqs = torch.einsum("i,j->ij", torch.arange(x.shape[-2]).to(x.dtype), inv_freq).repeat_interleave(2, -1)
    x1, x2 = x[..., 0::2], x[..., 1::2]
    return x * freqs.cos() + torch.stack([-x2, x1], -1).flatten(-2) * freqs.sin()


@wrong("6.3", "GPT-J angles on GPT-NeoX halves", "half-split")
def rope_neox(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = positions.to(x.dtype)[:, None] / base ** (torch.arange(0, d, 2).to(x.dtype) / d)
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([x1 * angles.cos() - x2 * angles.sin(), x1 * angles.sin() + x2 * angles.cos()], dim=-1)


@right("6.4", "a matrix of distances")
def alibi_distances(n_heads, n):
    i = torch.arange(n, dtype=torch.float32)
    slopes = torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    return -slopes.view(-1, 1, 1) * (i[:, None] - i[None, :]).abs()


@wrong("6.4", "heads from 0", "heads-numbered-from-zero")
def alibi_from_zero(n_heads, n):
    i = torch.arange(n, dtype=torch.float32)
    slopes = 2.0 ** (-8.0 * torch.arange(n_heads) / n_heads)
    return -slopes[:, None, None] * (i[:, None] - i).abs()


@wrong("6.5", "cumulative sum minus one", "padding-is-minus-one")
def positions_minus_one(mask):
    return (mask.cumsum(-1) - 1).masked_fill(~mask, -1)


# ── chapter 7 ─────────────────────────────────────────────────────────────────────────────────────


@right("7.1", "pieces in lists, joined when asked")
class PiecesCache:
    def __init__(self):
        self.k, self.v = [], []

    def append(self, k, v):
        self.k.append(k)
        self.v.append(v)
        return torch.cat(self.k, dim=-2), torch.cat(self.v, dim=-2)

    def __len__(self):
        return sum(piece.shape[-2] for piece in self.k)


@wrong("7.1", "the length of the tensor is the batch", "length-of-another-axis")
class CacheLen:
    def __init__(self):
        self.k = self.v = None

    def append(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v

    def __len__(self):
        return 0 if self.k is None else len(self.k)


@wrong("7.1", "returns what came in", "hands-out-the-new-only")
class CacheNewOnly:
    def __init__(self):
        self.k, self.v = [], []

    def append(self, k, v):
        self.k.append(k)
        self.v.append(v)
        return k, v

    def __len__(self):
        return sum(piece.shape[2] for piece in self.k)


@wrong("7.2", "the root is forgotten", "no-scale")
def step_unscaled(x_t, w_q, w_k, w_v, cache):
    keys, values = cache.append((x_t @ w_k)[:, None], (x_t @ w_v)[:, None])
    attn = F.softmax((x_t @ w_q) @ keys[:, 0].transpose(1, 2), dim=-1)
    return attn @ values[:, 0]


@right("7.3", "one token first")
def cache_bytes_by_token(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    per_token = 2 * layers * kv_heads * d_head * bytes_per_value
    return per_token * tokens * batch


@wrong("7.3", "batch is left out", "batch-forgotten")
def cache_bytes_one(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return 2 * layers * kv_heads * d_head * tokens * bytes_per_value


@right("7.4", "while, with two bounds")
def prefix_while(cached, prompt):
    i = 0
    while i < len(cached) and i < len(prompt) and cached[i] == prompt[i]:
        i += 1
    return i


@wrong("7.4", "for with break, nothing after the loop", "nothing-without-a-mismatch", "one-too-few")
def prefix_break(cached, prompt):
    for i in range(min(len(cached), len(prompt))):
        if cached[i] != prompt[i]:
            return i
    return 0


@right("7.5", "einsum with a group axis")
def grouped_einsum(q, k, v):
    B, H, n, d = q.shape
    q = q.view(B, k.shape[1], -1, n, d)
    scores = torch.einsum("bhgid,bhjd->bhgij", q, k) / d**0.5
    scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
    return torch.einsum("bhgij,bhjd->bhgid", scores.softmax(-1), v).reshape(B, H, n, d)


@wrong("7.6", "the last logits of 32 tokens", "accepts-one-that-*")
def catches_last(make_decoder):
    ids = torch.randint(0, 5, (32,)).tolist()
    a, b = make_decoder(), make_decoder()
    for i in ids:
        last = b.step(i)
    return not torch.allclose(a.full(ids)[-1], last, atol=1e-3)


# ── chapter 8 ─────────────────────────────────────────────────────────────────────────────────────


@right("8.1", "var_mean, unbiased=False")
def norm_var_mean(x, gain, bias, eps=1e-5):
    var, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
    return (x - mean) * torch.rsqrt(var + eps) * gain + bias


@wrong("8.1", "eps next to the standard deviation", "eps-outside-the-root")
def norm_eps_outside(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True, unbiased=False)
    return gain * (x - mean) / (std + eps) + bias


@wrong("8.1", "BatchNorm's axis", "norm-over-the-first-axis", "norm-over-tokens")
def norm_batch(x, gain, bias, eps=1e-5):
    mean, var = x.mean(0, keepdim=True), x.var(0, keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(var + eps) * gain + bias


@wrong("8.2", "one norm for both halves", "one-norm-twice")
def block_one_norm(x, norm_1, attend, norm_2, feed_forward):
    x = x + attend(norm_1(x))
    return x + feed_forward(norm_1(x))


@right("8.3", "log-sum-exp minus the logit of the target")
def loss_logsumexp(logits, ids):
    logits, target = logits[:, :-1], ids[:, 1:]
    chosen = logits.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (logits.logsumexp(-1) - chosen).mean()


@wrong("8.3", "bits per token", "loss-in-bits")
def loss_bits(logits, ids):
    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1)) / math.log(2)


@wrong("8.4", "the head is always counted", "tied-ignored", "never-tied")
def parameters_untied(vocab, d_model, layers, d_hidden, tied=True):
    layer = 4 * (d_model * d_model + d_model) + 2 * 2 * d_model + 2 * d_model * d_hidden + d_hidden + d_model
    return 2 * vocab * d_model + layers * layer + 2 * d_model


# ── chapter 9 ─────────────────────────────────────────────────────────────────────────────────────


@right("9.1", "a dictionary of last places")
def induction_dict(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            found.append(weights[i, last[token] + 1])
        last[token] = i
    return torch.stack(found).mean() if found else weights.new_zeros(())


@wrong("9.1", "the earlier token itself", "token-before", "weight-on-the-token-itself", "itself-for-earlier")
def induction_same_token(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            found.append(weights[i, last[token]])
        last[token] = i
    return torch.stack(found).mean() if found else weights.new_zeros(())


@right("9.2", "einsum over bands")
def heads_by_bands(weights, v, w_o):
    H, _, d_head = v.shape
    return torch.einsum("hij,hjd,hdm->him", weights, v, w_o.view(H, d_head, -1))


@wrong("9.3", "every position up to it", "rows-up-to-the-position")
def patch_prefix(run, clean, corrupt, layer, position):
    stored = run(clean)[1][layer]

    def edit(at, state):
        if at != layer:
            return state
        return torch.cat([stored[: position + 1], state[position + 1 :]])

    return run(corrupt, edit=edit)[0]


# ── chapters 10 and 11 ────────────────────────────────────────────────────────────────────────────


@right("10.2", "einsum, two sums over keys")
def linear_two_sums(q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    kv = torch.einsum("...nd,...nm->...dm", k, v)
    z = 1 / torch.einsum("...nd,...d->...n", q, k.sum(dim=-2))
    return torch.einsum("...nd,...dm,...n->...nm", q, kv, z)


@wrong("10.3", "the sum below the line is forgotten", "not-divided")
def linear_step_undivided(state, q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    s = k[..., :, None] * v[..., None, :]
    s = s if state is None else state + s
    return (q[..., None, :] @ s)[..., 0, :], s


@wrong("10.4", "the old output is not rescaled", "output-not-rescaled")
def blockwise_forgets(q, k, v, block):
    m = torch.full_like(q[..., :1], -math.inf)
    total, out = torch.zeros_like(m), torch.zeros_like(q)
    for start in range(0, k.shape[-2], block):
        kb, vb = k[..., start : start + block, :], v[..., start : start + block, :]
        s = q @ kb.mT / math.sqrt(q.shape[-1])
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = (s - new).exp()
        total = total * (m - new).exp() + p.sum(-1, keepdim=True)
        out = out + p @ vb
        m = new
    return out / total


@wrong("10.5", "the error is added in full", "beta-ignored")
def delta_full(state, q, k, v, beta):
    S = torch.zeros(*k.shape, v.shape[-1], dtype=v.dtype) if state is None else state
    S = S + k[..., None] * (v - (k[..., None, :] @ S)[..., 0, :])[..., None, :]
    return (q[..., None, :] @ S)[..., 0, :], S


@wrong("11.1", "reshape alone", "reshape-alone")
def patchify_reshape(image, patch):
    c, h, w = image.shape
    if h % patch or w % patch:
        raise ValueError
    return image.reshape((h // patch) * (w // patch), c * patch * patch)


@wrong("11.2", "self-loops always, GCN", "self-loops-always")
def graph_gcn(edges, n, self_loops=True):
    mask = torch.eye(n, dtype=torch.bool)
    for a, b in edges:
        mask[a, b] = mask[b, a] = True
    return mask
