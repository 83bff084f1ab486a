"""Answers to questions of chapters 1 to 6: labelled, with their mistakes, before any check had seen one of them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong

# ── chapter 1 ─────────────────────────────────────────────────────────────────────────────────────


@right("1.1", "scatter_, and torch's error turned into ValueError")
def one_hot_scattered_and_caught(ids, vocab_size):
    rows = torch.zeros(ids.shape[0], vocab_size)
    try:
        rows.scatter_(1, ids.unsqueeze(1), 1.0)
    except (RuntimeError, IndexError) as err:
        raise ValueError("id outside the vocabulary") from err
    return rows


@wrong(
    "1.1",
    "The bound is off by one: the id equal to vocab_size gets through the check for ValueError",
    "wrong-error-raised",
)
def one_hot_wrong_error_raised(ids, vocab_size):
    if (ids > vocab_size).any() or (ids < 0).any():
        raise ValueError(f"ids must be in [0, {vocab_size})")
    return F.one_hot(ids, vocab_size).float()


@right("1.3", "F.pad of each, then stack")
def pad_each_and_stack(sequences):
    longest = max(map(len, sequences))
    batch = torch.stack([F.pad(s, (0, 0, 0, longest - len(s))) for s in sequences])
    mask = torch.stack([F.pad(torch.ones(len(s)), (0, longest - len(s))) for s in sequences]).bool()
    return batch, mask


@wrong("1.3", "The mask has the shape of the batch, one entry for each feature", "mask-for-every-number")
def pad_batch_mask_for_every_number(sequences):
    n_max, d = max(len(s) for s in sequences), sequences[0].shape[-1]
    batch = torch.zeros(len(sequences), n_max, d)
    mask = torch.zeros(len(sequences), n_max, d, dtype=torch.bool)
    for b, seq in enumerate(sequences):
        batch[b, : len(seq), :] = seq
        mask[b, : len(seq), :] = True
    return batch, mask


@wrong("1.3", "Rows are padded with the last real row (edge padding) instead of zeros", "padded-with-a-real-row")
def pad_batch_padded_with_a_real_row(sequences):
    longest = max(s.size(0) for s in sequences)
    out, mask = [], []
    for s in sequences:
        extra = s[-1:].expand(longest - s.size(0), -1)
        out.append(torch.cat([s, extra], dim=0))
        mask.append(torch.arange(longest) < s.size(0))
    return torch.stack(out), torch.stack(mask)


@wrong("1.4", "The + 1 is missing: the last whole window is left out", "off-by-one")
def frame_signal_off_by_one(signal, window, hop):
    num_frames = (signal.shape[0] - window) // hop
    frames = torch.zeros(num_frames, window)
    for i in range(num_frames):
        frames[i] = signal[i * hop : i * hop + window]
    return frames


# ── chapter 2 ─────────────────────────────────────────────────────────────────────────────────────


@right("2.1", "nanoGPT's c_attn: one joined matrix, then split")
def project_joined(x, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    qkv = x @ torch.cat([w_q, w_k, w_v], dim=1)
    return qkv.split([d_k, d_k, w_v.shape[1]], dim=-1)


@wrong("2.1", "The order of the results is k, q, v instead of q, k, v", "queries-and-keys-exchanged")
def project_qkv_queries_and_keys_exchanged(x, w_q, w_k, w_v):
    k = x @ w_k
    q = x @ w_q
    v = x @ w_v
    return k, q, v


@wrong("2.4", "The transposed weights are used: each key gathers from the queries", "mixed-by-columns")
def weighted_sum_mixed_by_columns(weights, v):
    return torch.einsum("...kq,...kd->...qd", weights, v)


@right("2.5", "sdpa, and once more with an identity for the weights")
class HeadOfTwoSdpas(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q, self.w_k = nn.Linear(d_model, d_k, bias=False), nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v)

    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        one = torch.eye(x.size(-2), dtype=x.dtype).expand(*x.shape[:-2], -1, -1)
        return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, one)


@wrong("2.5", "The scores before the softmax are returned as the weights", "scores-returned")
class HeadScoresReturned(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k)
        self.w_k = nn.Linear(d_model, d_k)
        self.w_v = nn.Linear(d_model, d_v)

    def forward(self, x):
        Q, K, V = self.w_q(x), self.w_k(x), self.w_v(x)
        attn_weights = Q @ K.mT / math.sqrt(K.size(-1))
        output = torch.softmax(attn_weights, dim=-1) @ V
        return output, attn_weights


@wrong("2.5", "Keys are also divided by the root, so the scale is applied twice", "scaled-by-d-k")
class HeadScaledByDK(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k)
        self.w_k = nn.Linear(d_model, d_k)
        self.w_v = nn.Linear(d_model, d_v)
        self.scale = d_k ** (-0.5)

    def forward(self, x):
        q = self.w_q(x) * self.scale
        k = self.w_k(x)
        attn = q @ k.transpose(-2, -1) * self.scale
        attn = attn.softmax(dim=-1)
        return attn @ self.w_v(x), attn


@right("2.6", "outer product of all nouns less the diagonal")
def other_noun_outer(words, is_noun):
    d = words.shape[1]
    flag = is_noun.to(words.dtype)
    noun_sum = flag @ words
    same = words.T @ torch.diag(flag) @ words
    target = torch.outer(noun_sum, noun_sum) - same
    return 40.0 * math.sqrt(d) * target, torch.eye(d, dtype=words.dtype)


@wrong("2.6", "Each noun asks with its own key, so it looks at itself", "itself")
def other_noun_itself(words, is_noun):
    nouns = words[is_noun]
    w_k = nouns.T
    w_q = 100.0 * nouns.T
    return w_q, w_k


@wrong("2.6", "All nouns have the same key, so a noun divides its weight between itself and the other", "both-nouns")
def other_noun_both_nouns(words, is_noun):
    direction = words[is_noun].sum(dim=0)
    w_q = (50 * direction).unsqueeze(1)
    w_k = direction.unsqueeze(1)
    return w_q, w_k


@wrong("2.6", "Each word asks with itself and the keys are negated", "other-words")
def other_noun_other_words(words, is_noun):
    d = words.shape[1]
    w_q = 100 * torch.eye(d)
    w_k = -torch.eye(d)
    return w_q, w_k


@wrong("2.6", "Only the first two nouns of the vocabulary are handled", "two-nouns-of-the-vocabulary")
def other_noun_two_nouns_of_the_vocabulary(words, is_noun):
    a, b = is_noun.nonzero().flatten()[:2]
    w_k = torch.stack([words[a], words[b]], dim=1)
    w_q = 60 * torch.stack([words[b], words[a]], dim=1)
    return w_q, w_k


# ── chapter 3 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("3.1", "The scores are divided by their own measured standard deviation", "scaled-by-measured-spread")
def scaled_scores_scaled_by_measured_spread(q, k):
    s = q @ k.transpose(-2, -1)
    return s / s.std()


@wrong("3.1", "Each query and key is normalised to length 1 (cosine), then divided by root d_k", "cosine-similarity")
def scaled_scores_cosine_similarity(q, k):
    q = F.normalize(q, dim=-1)
    k = F.normalize(k, dim=-1)
    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5


@wrong("3.2", "It is estimated by a simulation, so it is not exact", "not-the-same-twice")
def variance_not_the_same_twice(d_k, var_q, var_k):
    q = torch.randn(20000, d_k) * var_q**0.5
    k = torch.randn(20000, d_k) * var_k**0.5
    return (q * k).sum(dim=1).var().item()


@wrong("3.2", "The factor d_k is missing: it is the variance of one product", "d-k-forgotten")
def variance_d_k_forgotten(d_k, var_q, var_k):
    return var_q * var_k


@wrong(
    "3.2",
    "It takes the two numbers for standard deviations and squares them",
    "variances-taken-for-standard-deviations",
)
def variance_variances_taken_for_standard_deviations(d_k, var_q, var_k):
    return d_k * var_q**2 * var_k**2


@wrong("3.2", "It is the variance after scaling by root d_k", "d-k-forgotten")
def variance_d_k_forgotten_too(d_k, var_q, var_k):
    return d_k * var_q * var_k / d_k


@wrong("3.3", "The scale is taken from the width of the values", "scaled-by-d-v")
def attention_scaled_by_d_v(q, k, v):
    scores = torch.matmul(q, k.transpose(-2, -1)) / v.size(-1) ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights


@wrong("3.3", "The output is computed with the scores before the softmax", "scores-mixed")
def attention_scores_mixed(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    weights = torch.softmax(scores, dim=-1)
    return scores @ v, weights


@wrong("3.4", "The sign is the other way round", "jacobian-negated")
def jacobian_jacobian_negated(p):
    n = p.shape[0]
    J = torch.zeros(n, n, dtype=p.dtype)
    for i in range(n):
        for j in range(n):
            J[i, j] = p[i] * (p[j] - (1.0 if i == j else 0.0))
    return J


@wrong("3.4", "Only the diagonal p(1 - p) is there; the entries outside it are missing", "other-scores-forgotten")
def jacobian_other_scores_forgotten(p):
    return torch.diag(p * (1 - p))


@wrong("3.4", "The diagonal is p(1-p), but the entries outside are -p_i instead of -p_i p_j")
def jacobian_rows_of_p(p):
    n = len(p)
    J = -p[:, None].expand(n, n).clone()
    for i in range(n):
        J[i, i] = p[i] * (1 - p[i])
    return J


@right("3.5", "the log ratio of two weights")
def catches_by_a_log_ratio(attend):
    for d in (2, 3, 5, 16, 50):
        q = torch.ones(1, d)
        k = torch.zeros(7, d)
        k[0] = 1 / d
        w = attend(q, k, torch.ones(7, 11))[1][0]
        gap = (w[0] / w[1]).log().item()
        if abs(gap - 1 / d**0.5) > 0.0001:
            return True
    return False


@wrong(
    "3.5", "True and False are the other way round: it returns whether the scale is right", "right-and-wrong-swapped"
)
def catches_scale_right_and_wrong_swapped(attend):
    q, k, v = torch.randn(6, 20), torch.randn(9, 20), torch.randn(9, 3)
    ref = (q @ k.T / 20**0.5).softmax(-1)
    _, weights = attend(q, k, v)
    return torch.allclose(weights, ref, atol=0.0001)


@wrong("3.5", "It compares with unscaled attention, so it calls right ones wrong", "own-result-wrong")
def catches_scale_own_result_wrong(attend):
    q, k, v = torch.randn(4, 9), torch.randn(6, 9), torch.randn(6, 5)
    expected = torch.softmax(q @ k.T, dim=-1) @ v
    out, _ = attend(q, k, v)
    return not torch.allclose(out, expected, atol=0.0001)


# ── chapter 4 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("4.1", "The temperature divides only after the exponential, where it cancels", "temperature-ignored")
def softmax_temperature_ignored(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError("T must be > 0")
    z = z - z.max(dim=dim, keepdim=True).values
    e = torch.exp(z) / temperature
    return e / e.sum(dim=dim, keepdim=True)


@wrong("4.1", "Scores are clamped so that exp does not overflow, which changes large scores", "scores-clipped")
def softmax_scores_clipped(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError
    z = torch.clamp(z / temperature, -50, 50)
    e = z.exp()
    return e / e.sum(dim, keepdim=True)


@right("4.2", "movedim and einsum")
def entropy_moved_axis(p, dim=-1):
    logp = p.clamp(min=torch.finfo(p.dtype).tiny).log()
    return torch.einsum("...i,...i->...", p.movedim(dim, -1), -logp.movedim(dim, -1))


@wrong("4.2", "The axis is kept (keepdim=True)", "axis-kept")
def entropy_axis_kept(p, dim=-1):
    logp = torch.log(p.clamp_min(1e-12))
    return -(p * logp).sum(dim=dim, keepdim=True)


@wrong("4.3", "The logits are multiplied by the temperature instead of divided", "temperature-multiplied")
def sample_token_temperature_multiplied(logits, temperature, generator):
    if temperature == 0.0:
        return logits.argmax().item()
    weights = torch.exp((logits - logits.max()) * temperature)
    return torch.multinomial(weights, 1, generator=generator).item()


@wrong("4.3", "The draw is uniform over the ids, whatever the probabilities", "even-shares")
def sample_token_even_shares(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    probs = F.softmax(logits / temperature, dim=-1)
    return int(torch.randint(len(probs), (1,), generator=generator))


@right("4.4", "bisection on 1/T")
def temperature_by_beta(z, target):
    z = z.double() - z.max()
    beta_hi = 1.0

    def top(b):
        return float(torch.softmax(b * z, 0).max())

    beta_lo = 0.0
    gap = float(-z[z < 0].max())
    beta_hi = 1.0 / gap
    while top(beta_hi) < target:
        beta_hi *= 2
    for _ in range(120):
        m = 0.5 * (beta_lo + beta_hi)
        if top(m) < target:
            beta_lo = m
        else:
            beta_hi = m
    return 1 / beta_hi


@wrong("4.4", "The formula uses only the two largest scores, as if there were no others", "only-the-runner-up")
def find_temperature_only_the_runner_up(z, target):
    top = torch.topk(z, 2).values
    gap = top[0] - top[1]
    return (gap / math.log(target / (1 - target))).item()


# ── chapter 5 ─────────────────────────────────────────────────────────────────────────────────────


@right("5.1", "torch.split and stack")
def split_and_stack(x, n_heads):
    d_head, rest = divmod(x.size(-1), n_heads)
    if rest:
        raise ValueError(f"{x.size(-1)} features do not fit {n_heads} heads")
    return torch.stack(torch.split(x, d_head, dim=-1), dim=1)


@wrong("5.2", "The features of the heads are interleaved: (d_head, H) instead of (H, d_head)", "features-dealt-out")
def merge_heads_features_dealt_out(x):
    B, H, n, d_head = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, n, H * d_head)


@wrong("5.2", "The heads stand along the axis of tokens: cat along dim 1", "heads-below-each-other")
def merge_heads_heads_below_each_other(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=1)


@right("5.4", "exp times mask, divided by its sum")
def masked_by_products(q, k, v, mask):
    s = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    m = mask.to(s.dtype).expand_as(s)
    s = s - s.masked_fill(m == 0, -1e30).amax(-1, keepdim=True).clamp(min=-1e29).detach()
    e = torch.exp(s.masked_fill(m == 0, 0.0)) * m
    total = e.sum(-1, keepdim=True)
    w = e / torch.where(total == 0, torch.ones_like(total), total)
    return w @ v, w


@wrong("5.4", "It writes into q (an in-place division)", "inputs-changed")
def masked_attention_inputs_changed(q, k, v, mask):
    q /= q.shape[-1] ** 0.5
    scores = q @ k.mT
    blind = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~mask, torch.finfo(q.dtype).min)
    weights = scores.softmax(-1).masked_fill(blind, 0.0).masked_fill(~mask, 0.0)
    return weights @ v, weights


@right("5.5", "a loop over slices of the weights")
class MHASlicedWeights(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = [nn.Linear(d_model, d_model) for _ in range(4)]

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        per_head = []
        for h in range(self.n_heads):
            d = self.w_q.out_features // self.n_heads
            cols = slice(h * d, (h + 1) * d)
            q = F.linear(query, self.w_q.weight[cols], self.w_q.bias[cols])
            k = F.linear(key, self.w_k.weight[cols], self.w_k.bias[cols])
            v = F.linear(value, self.w_v.weight[cols], self.w_v.bias[cols])
            s = q @ k.mT / d**0.5
            if mask is None:
                w = s.softmax(-1)
            else:
                m = mask.broadcast_to(s.shape[0], self.n_heads, *s.shape[1:])[:, h]
                w = s.masked_fill(~m, -1000000000.0).softmax(-1) * m
            per_head.append((w @ v, w))
        return self.w_o(torch.cat([o for o, _ in per_head], -1)), torch.stack([w for _, w in per_head], 1)


@right("5.6", "shuffle, each example alone, one token moved")
def catches_by_shuffle(module):
    torch.manual_seed(1)
    x = torch.randn(3, 7, 12)
    base = module(x)[0]
    p = torch.randperm(7)
    while (p == torch.arange(7)).all():
        p = torch.randperm(7)
    if not torch.allclose(module(x[:, p])[0], base[:, p], atol=0.001):
        return True
    for b in range(3):
        if not torch.allclose(module(x[b : b + 1])[0], base[b : b + 1], atol=0.001):
            return True
    y = x.clone()
    y[:, 3] += 3 * torch.randn(3, 12)
    moved = (module(y)[0] - base).abs().amax(-1)
    return bool((moved < 1e-06).any())


@wrong(
    "5.6", "True and False are exchanged: True for a module whose rows follow the shuffle", "right-and-wrong-swapped"
)
def catches_axes_right_and_wrong_swapped(module):
    x = torch.randn(3, 5, 12)
    perm = torch.tensor([3, 0, 4, 1, 2])
    a = module(x)[0][:, perm]
    b = module(x[:, perm])[0]
    return torch.allclose(a, b, atol=0.0001)


@wrong("5.7", "With causal, the triangle is turned: tokens see later ones", "mask-transposed")
def attention_mask_mask_transposed(lengths, causal, side):
    n = int(lengths.max())
    ar = torch.arange(n)
    pad = ar[None] >= lengths[:, None] if side == "right" else ar[None] < (n - lengths)[:, None]
    allowed = ~pad[:, None, :] & ~pad[:, :, None]
    if causal:
        allowed = allowed & torch.triu(torch.ones(n, n)).bool()
    return allowed | torch.eye(n).bool()


def _of_kind(name, x, w_q, w_k, w_v, w_o, h):
    B, n, d = x.shape
    dh = d // h
    sp = (
        (lambda t: t.reshape(B, h, n, dh))
        if name == "heads split by view"
        else lambda t: t.reshape(B, n, h, dh).permute(0, 2, 1, 3)
    )
    q, k, v = sp(x @ w_q), sp(x @ w_k), sp(x @ w_v)
    div = {"no scale": 1.0, "scale of d_model": d**0.5}.get(name, dh**0.5)
    s = torch.einsum("bhid,bhjd->bhij", q, k) / div
    future = torch.arange(n)[None, :] > torch.arange(n)[:, None]
    if name == "mask turned":
        future = future.T
    if name == "mask after softmax":
        a = s.softmax(-1).masked_fill(future, 0)
    elif name == "no mask":
        a = s.softmax(-1)
    else:
        a = s.masked_fill(future, -torch.inf).softmax(-2 if name == "softmax over queries" else -1)
    o = a @ v
    o = o.reshape(B, n, d) if name == "heads merged by view" else o.permute(0, 2, 1, 3).reshape(B, n, d)
    return o @ w_o


@right("5.8", "nine variants of its own")
def diagnose_by_nine(module):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(2, 6, 12, generator=g)
    w = [torch.randn(12, 12, generator=g) * 0.5 for _ in range(4)]
    got = module(x, *w, 3)
    names = (
        "none",
        "heads split by view",
        "heads merged by view",
        "no scale",
        "scale of d_model",
        "softmax over queries",
        "mask after softmax",
        "mask turned",
        "no mask",
    )
    return min(names, key=lambda name: float((_of_kind(name, x, *w, 3) - got).abs().sum()))


# ── chapter 6 ─────────────────────────────────────────────────────────────────────────────────────


@right("6.1", "torch.polar")
def sinusoidal_polar(n, d_model):
    position = torch.arange(n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    z = torch.polar(torch.ones(n, d_model // 2), position * div_term)
    return torch.stack([z.imag, z.real], dim=-1).flatten(1)


@wrong("6.1", "The positions begin at 1", "positions-from-one")
def sinusoidal_positions_from_one(n, d_model):
    pos = torch.arange(1, n + 1, dtype=torch.float).unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe = torch.zeros(n, d_model)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


@right("6.2", "matrix_exp of a generator")
def shift_by_matrix_exp(k, d_model):
    freqs = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    gen = torch.zeros(d_model, d_model, dtype=torch.float64)
    idx = torch.arange(0, d_model, 2)
    gen[idx, idx + 1] = freqs
    gen[idx + 1, idx] = -freqs
    return torch.matrix_exp(k * gen).float()


@wrong("6.2", "It is a shift of the feature axis (a permutation), not a rotation", "features-shifted")
def shift_matrix_features_shifted(k, d_model):
    return torch.roll(torch.eye(d_model), k, dims=0)


@right("6.3", "GPT-J: rotate_every_two")
def rope_interleaved_double(x, positions, base=10000.0):
    d = x.shape[-1]
    freqs = torch.repeat_interleave(base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d), 2)
    ang = positions.double()[:, None] * freqs
    rotated = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return (x * ang.cos() + rotated * ang.sin()).to(x.dtype)


@wrong("6.3", "The rotated pairs are put side by side as two halves (cat), not interleaved again", "concatenated")
def apply_rope_concatenated(x, positions, base=10000.0):
    d = x.size(-1)
    theta = base ** (-torch.arange(0, d, 2).float() / d)
    ang = positions.float()[:, None] * theta
    x_even, x_odd = x[..., 0::2], x[..., 1::2]
    out_even = x_even * ang.cos() - x_odd * ang.sin()
    out_odd = x_even * ang.sin() + x_odd * ang.cos()
    return torch.cat([out_even, out_odd], dim=-1)


@wrong("6.3", "The second feature is computed from the first one that is already rotated", "updated-too-early")
def apply_rope_updated_too_early(x, positions, base=10000.0):
    x = x.clone()
    d = x.shape[-1]
    for i in range(d // 2):
        theta = positions * base ** (-2 * i / d)
        x[..., 2 * i] = x[..., 2 * i] * torch.cos(theta) - x[..., 2 * i + 1] * torch.sin(theta)
        x[..., 2 * i + 1] = x[..., 2 * i] * torch.sin(theta) + x[..., 2 * i + 1] * torch.cos(theta)
    return x


@wrong("6.4", "The minus is missing: distance raises the score", "positive-alibi")
def alibi_bias_positive_alibi(n_heads, n):
    slopes = torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    p = torch.arange(n)
    return slopes.view(-1, 1, 1) * (p[None, :] - p[:, None]).abs()


@wrong("6.4", "Later tokens get -inf: a causal mask is added", "masked-though-not-asked")
def alibi_bias_masked_though_not_asked(n_heads, n):
    m = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    rel = (torch.arange(n)[None, :] - torch.arange(n)[:, None]).float()
    bias = m[:, None, None] * rel
    return bias.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))


@wrong("6.4", "The bias has only one row per head, (H, 1, n), as in BLOOM", "one-row-for-all-queries")
def alibi_bias_one_row_for_all_queries(n_heads, n):
    slopes = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    return slopes[:, None, None] * torch.arange(n)[None, None, :]


@right("6.6", "a sum of outer products")
def previous_by_outers(words, positions):
    d = positions.shape[1]
    shift = sum(torch.outer(positions[i], positions[i - 1]) for i in range(1, len(positions)))
    return 25.0 * d**0.5 * shift, torch.eye(d)


@wrong("6.6", "The direction is turned: each token looks at the next one", "next-token")
def previous_token_next_token(words, positions):
    w_q = 30 * positions[:-1].T
    w_k = positions[1:].T
    return w_q, w_k


@wrong("6.6", "Each token asks for its own position, so it looks at itself", "itself")
def previous_token_itself(words, positions):
    w = positions.T * 20.0
    return w, w


@wrong("6.7", "Nothing keeps a noun from looking at itself", "itself-not-left-out")
def nearest_noun_itself_not_left_out(words, is_noun, positions):
    ones = positions.sum(0)
    noun_dir = words[is_noun].sum(0)
    n = len(positions)
    place = torch.arange(n).float() @ positions
    w_q = torch.stack([ones, ones], dim=1)
    w_k = torch.stack([20.0 * place, 20.0 * n * noun_dir], dim=1)
    return w_q, w_k


@wrong("6.7", "It prefers the first noun instead of the nearest: the places are counted down", "first-noun")
def nearest_noun_first_noun(words, is_noun, positions):
    n = len(positions)
    ones = positions.sum(0)
    nouns = words[is_noun].sum(0)
    back = torch.arange(n, 0, -1).float() @ positions
    w_q = torch.cat([ones[:, None], -1000 * n * positions.T], dim=1)
    w_k = torch.cat([(20 * back + 40 * n * nouns)[:, None], positions.T], dim=1)
    return w_q * (n + 1) ** 0.5, w_k


@wrong("6.7", "Words that are no nouns are not left out: it looks at the previous token", "nouns-not-preferred")
def nearest_noun_nouns_not_preferred(words, is_noun, positions):
    w_q = 40.0 * len(positions) * positions[1:].T
    w_k = positions[:-1].T
    return w_q, w_k


@wrong("6.7", "The distance counts more than being a noun", "nouns-outrun")
def nearest_noun_nouns_outrun(words, is_noun, positions):
    n = len(positions)
    ones = positions.sum(0)[:, None]
    place = (10.0 * torch.arange(n) @ positions)[:, None]
    noun = 15.0 * words[is_noun].sum(0)[:, None]
    w_q = torch.cat([ones, -1000.0 * positions.T], 1) * (n + 1) ** 0.5
    w_k = torch.cat([place + noun, positions.T], 1)
    return w_q, w_k
