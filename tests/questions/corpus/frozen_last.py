"""More answers, labelled with their mistakes before any check had seen one of them: of rarer mistakes still."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import wrong

# ── chapter 1 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("1.1", "The diagonal is filled: row i gets its 1 in column i, the ids are not used", "position-for-id")
def one_hot_position_for_id(ids, vocab_size):
    if any(i < 0 or i >= vocab_size for i in ids.tolist()):
        raise ValueError("unknown id")
    return torch.eye(len(ids), vocab_size)


@wrong("1.2", "The ids are turned into one-hot rows of float", "transposed")
def embed_transposed(ids, table):
    onehot = F.one_hot(ids, table.shape[0]).to(table.dtype)
    return table.T @ onehot.transpose(-1, -2)


@wrong("1.2", "an index for rows and one for columns, for one sequence", "one-hot-of-one-sequence")
def embed_one_sequence_by_indices(ids, table):
    rows = torch.zeros(ids.shape[0], table.shape[0])
    rows[torch.arange(ids.shape[0]), ids] = 1.0
    return rows @ table


@wrong("1.3", "The batch is as long as all sequences together", "as-long-as-all-together")
def pad_batch_as_long_as_all_together(sequences):
    total = sum(len(s) for s in sequences)
    d = sequences[0].shape[1]
    batch = torch.zeros(len(sequences), total, d)
    mask = torch.zeros(len(sequences), total, dtype=torch.bool)
    for i, s in enumerate(sequences):
        batch[i, : len(s)] = s
        mask[i, : len(s)] = True
    return batch, mask


@wrong("1.4", "Each window starts at sample i, not i times hop", "starts-not-multiplied")
def frame_signal_starts_not_multiplied(signal, window, hop):
    n = (len(signal) - window) // hop + 1
    return torch.stack([signal[i : i + window] for i in range(n)])


# ── chapter 2 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("2.1", "Only the queries come back", "only-the-query")
def project_qkv_only_the_query(x, w_q, w_k, w_v):
    return x @ w_q


@wrong("2.1", "One matrix for all: w_q makes q, k and v", "one-matrix-for-all")
def project_qkv_one_matrix_for_all(x, w_q, w_k, w_v):
    q, k, v = (x @ w_q for _ in range(3))
    return q, k, v


@wrong("2.2", "Scores are Euclidean distances squared with a minus", "squared-distance")
def scores_squared_distance(q, k):
    return -((q.unsqueeze(-2) - k.unsqueeze(-3)) ** 2).sum(-1)


@wrong("2.2", "The sum runs over the queries' axis: einsum with a wrong letter", "sums-multiplied")
def scores_sums_multiplied(q, k):
    return torch.einsum("...id,...je->...ij", q, k)


@wrong("2.3", "The mean over the hidden units replaces v", "v-forgotten")
def additive_scores_v_forgotten(q, k, w_q, w_k, v):
    return torch.tanh((q @ w_q).unsqueeze(-2) + (k @ w_k).unsqueeze(-3)).mean(-1)


@wrong("2.4", "The arg max is taken: the value of the best key alone", "only-the-best-key")
def weighted_sum_only_the_best_key(weights, v):
    idx = weights.argmax(-1)
    return torch.gather(v, -2, idx.unsqueeze(-1).expand(*idx.shape, v.shape[-1]))


@wrong("2.4", "Elementwise product and sum over the last axis", "summed-over-features")
def weighted_sum_summed_over_features(weights, v):
    return (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(-1)


@wrong("2.5", "The scores are divided by the root of d_v", "scaled-by-d-v")
class HeadScaledByDV(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)

    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        w = (q @ k.mT / math.sqrt(v.shape[-1])).softmax(-1)
        return w @ v, w


@wrong("2.5", "The softmax is applied twice", "softmax-twice")
class HeadSoftmaxTwice(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)
        self.attend = nn.Softmax(dim=-1)

    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        dots = self.attend(q @ k.transpose(-1, -2) * k.shape[-1] ** (-0.5))
        attn = self.attend(dots)
        return attn @ v, attn


# ── chapter 3 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("3.1", "Integer root: int(sqrt(d_k))", "root-rounded")
def scaled_scores_root_rounded(q, k):
    return q @ k.transpose(-2, -1) / int(math.sqrt(q.size(-1)))


@wrong("3.2", "It is divided by d_k: the variance of the mean", "divided-by-d-k")
def variance_divided_by_d_k(d_k, var_q, var_k):
    return var_q * var_k / d_k


@wrong("3.4", "A detached loop with floats, right values but as a Python list", "true-and-false-subtracted")
def jacobian_true_and_false_subtracted(p):
    n = len(p)
    return [[float(p[i] * ((i == j) - p[j])) for j in range(n)] for i in range(n)]


# ── chapter 4 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("4.1", "It raises ValueError for temperatures above 1 as well", "high-temperature-refused")
def softmax_high_temperature_refused(z, temperature=1.0, dim=-1):
    if not 0 < temperature <= 1:
        raise ValueError("temperature must be in (0, 1]")
    return torch.softmax(z / temperature, dim=dim)


@wrong("4.1", "The smallest instead of the largest score is subtracted", "smallest-subtracted")
def softmax_smallest_subtracted(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError
    z = z / temperature
    e = (z - z.amin(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


@wrong("4.2", "log10", "entropy-in-base-10")
def entropy_entropy_in_base_10(p, dim=-1):
    return -(p * torch.log10(p.clamp(min=1e-30))).sum(dim)


@wrong("4.3", "At temperature 0 the id of the smallest logit comes back", "smallest-at-zero")
def sample_token_smallest_at_zero(logits, temperature, generator):
    if temperature == 0:
        return int(torch.argsort(logits)[0])
    return int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator))


@wrong("4.3", "The logits are used as weights without exponential (relu)", "logits-for-probabilities")
def sample_token_logits_for_probabilities(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    w = torch.relu(logits / temperature) + 1e-09
    return int(torch.multinomial(w, 1, generator=generator))


# ── chapter 5 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("5.2", "The batch is merged, too: (B n, H d_head)", "axes-merged")
def merge_heads_axes_merged(x):
    B, H, n, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(B * n, H * d)


@wrong("5.3", "Each token sees itself only", "only-itself")
def causal_mask_only_itself(n):
    return torch.eye(n, dtype=torch.bool)


@wrong("5.4", "mask.unsqueeze(1) is applied as for heads", "mask-with-one-more-axis")
def masked_attention_mask_with_one_more_axis(q, k, v, mask):
    s = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    mask = mask.unsqueeze(1)
    s = s.masked_fill(~mask, -1e30)
    w = s.softmax(-1) * mask
    return w @ v, w


@wrong(
    "5.4",
    "Blind rows are fixed in the weights, but the output is computed before that",
    "mean-in-the-output-of-a-blind-row",
)
def masked_attention_mean_in_the_output_of_a_blind_row(q, k, v, mask):
    s = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    w = s.masked_fill(~mask, -1e30).softmax(-1)
    out = w @ v
    return out, w.masked_fill(~mask, 0.0)


@wrong("5.5", "The residual input is added to the output", "input-added")
class MHAInputAdded(nn.Module):
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
            s = s.masked_fill(~mask, -1e30)
        w = s.softmax(-1)
        if mask is not None:
            w = w * mask
        return query + self.w_o((w @ v).transpose(1, 2).flatten(2)), w


@wrong("5.5", "Only the output comes back", "weights-not-returned")
class MHAWeightsNotReturned(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value

        def split(t):
            return t.unflatten(-1, (self.h, -1)).transpose(1, 2)

        y = F.scaled_dot_product_attention(
            split(self.w_q(query)), split(self.w_k(key)), split(self.w_v(value)), attn_mask=mask
        )
        return self.w_o(y.transpose(1, 2).flatten(2))


@wrong("5.7", "Places of padding see real tokens or nothing; they do not see themselves", "padding-reads-like-a-token")
def attention_mask_padding_reads_like_a_token(lengths, causal, side):
    n = int(lengths.max())
    m = torch.zeros(len(lengths), n, n, dtype=torch.bool)
    for b, L in enumerate(lengths.tolist()):
        off = 0 if side == "right" else n - L
        for i in range(n):
            for j in range(off, off + L):
                if not causal or j <= i:
                    m[b, i, j] = True
    return m


# ── chapter 6 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("6.1", "Degrees instead of radians", "degrees")
def sinusoidal_degrees(n, d_model):
    ang = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    ang = torch.deg2rad(ang)
    return torch.stack([ang.sin(), ang.cos()], -1).flatten(1)


@wrong("6.1", "Only the sines: all columns are sines", "only-sines")
def sinusoidal_only_sines(n, d_model):
    ang = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return ang.repeat_interleave(2, dim=1).sin()


@wrong("6.2", "The 2 is missing in the exponent: i / d with i = 0, 1, 2", "two-forgotten")
def shift_matrix_two_forgotten(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        a = k / 10000 ** (i / d_model)
        blocks.append(torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]))
    return torch.block_diag(*blocks)


@wrong("6.3", "The positions are counted from one (plus 1)", "positions-off-by-one")
def apply_rope_positions_off_by_one(x, positions, base=10000.0):
    d = x.shape[-1]
    a = (positions.float() + 1)[:, None] * base ** (-torch.arange(0, d, 2).float() / d)
    c, s = a.cos(), a.sin()
    return (
        torch.stack([x[..., ::2] * c - x[..., 1::2] * s, x[..., ::2] * s + x[..., 1::2] * c], -1)
        .flatten(-2)
        .to(x.dtype)
    )


@wrong("6.4", "The slope multiplies the squared distance", "distance-squared")
def alibi_bias_distance_squared(n_heads, n):
    m = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    d = torch.arange(n)[:, None] - torch.arange(n)
    return -m[:, None, None] * d**2


@wrong("6.5", "cumsum along the batch axis", "counted-down-the-batch")
def token_positions_counted_down_the_batch(mask):
    return (mask.long().cumsum(0) - 1).clamp(min=0) * mask


@wrong("6.6", "Two steps back", "two-back")
def previous_token_two_back(words, positions):
    n = len(positions)
    w_q = (
        sum(torch.outer(positions[i], positions[i - 2]) for i in range(2, n))
        if n > 2
        else torch.zeros(positions.shape[1], positions.shape[1])
    )
    return 100 * w_q, torch.eye(positions.shape[1])


@wrong("6.7", "Each token looks at itself: the words play no part", "itself")
def nearest_noun_itself(words, is_noun, positions):
    ones = positions.sum(0)[:, None]
    place = 20.0 * (torch.arange(len(positions)).float() @ positions)[:, None]
    return ones, place


# ── chapter 7 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("7.1", "The whole buffer of 4096 places comes back, with zeros behind what is held", "whole-buffer-returned")
class CacheWholeBufferReturned:
    def __init__(self):
        self.buf_k = self.buf_v = None
        self.n = 0

    def append(self, k, v):
        m = k.shape[2]
        if self.buf_k is None:
            B, H, _, d = k.shape
            self.buf_k = k.new_zeros(B, H, 4096, d)
            self.buf_v = v.new_zeros(B, H, 4096, v.shape[-1])
        self.buf_k[:, :, self.n : self.n + m] = k
        self.buf_v[:, :, self.n : self.n + m] = v
        self.n += m
        return self.buf_k, self.buf_v

    def __len__(self):
        return self.n


@wrong("7.1", "torch.stack makes a new axis instead of a longer one", "pieces-stacked")
class CachePiecesStacked:
    def __init__(self):
        self.ks, self.vs = [], []

    def append(self, k, v):
        self.ks.append(k)
        self.vs.append(v)
        return torch.stack(self.ks, dim=2), torch.stack(self.vs, dim=2)

    def __len__(self):
        return sum(k.shape[2] for k in self.ks)


@wrong("7.2", "The query is cached instead of the key", "key-made-by-w-q")
def decode_step_key_made_by_w_q(x_t, w_q, w_k, w_v, cache):
    q = (x_t @ w_q).unsqueeze(1)
    keys, values = cache.append(q, (x_t @ w_v).unsqueeze(1))
    a = (q @ keys.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (a @ values).squeeze(1)


@wrong("7.3", "The bytes of queries are counted, too (3 instead of 2)", "queries-counted-too")
def cache_bytes_queries_counted_too(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    per_token = 3 * kv_heads * d_head * bytes_per_value
    return layers * tokens * batch * per_token


@wrong("7.4", "It compares from the end (the common suffix)", "suffix-for-prefix")
def reusable_prefix_suffix_for_prefix(cached, prompt):
    n = 0
    while n < min(len(cached), len(prompt)) and cached[-1 - n] == prompt[-1 - n]:
        n += 1
    return n


@wrong("7.4", "It returns the length of the shorter list", "no-comparison")
def reusable_prefix_no_comparison(cached, prompt):
    return min(len(cached), len(prompt))


@wrong("7.5", "The result has the axes (B, n, H, d)", "heads-and-tokens-swapped")
def gqa_heads_and_tokens_swapped(q, k, v):
    g = q.shape[1] // k.shape[1]
    out = F.scaled_dot_product_attention(q, k.repeat_interleave(g, 1), v.repeat_interleave(g, 1), is_causal=True)
    return out.transpose(1, 2).contiguous()


@wrong("7.7", "The scores are not scaled", "no-scale")
def prefill_in_chunks_no_scale(x, w_q, w_k, w_v, cache, size):
    outs = []
    for c in x.split(size, 1):
        k, v = cache.append((c @ w_k)[:, None], (c @ w_v)[:, None])
        s = c @ w_q @ k[:, 0].mT
        m, n = s.shape[-2:]
        s = s.masked_fill(torch.ones(m, n).triu(n - m + 1).bool(), -torch.inf)
        outs.append(s.softmax(-1) @ v[:, 0])
    return torch.cat(outs, 1)


@wrong("7.7", "All keys of the prompt are appended before any chunk attends, in one call", "whole-prompt-at-once")
def prefill_in_chunks_whole_prompt_at_once(x, w_q, w_k, w_v, cache, size):
    past = len(cache)
    k, v = cache.append((x @ w_k)[:, None], (x @ w_v)[:, None])
    outs = []
    for i in range(0, x.shape[1], size):
        q = (x[:, i : i + size] @ w_q)[:, None]
        rows = past + i + torch.arange(q.shape[2])[:, None]
        mask = torch.arange(k.shape[2])[None] <= rows
        outs.append(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[:, 0])
    return torch.cat(outs, 1)


# ── chapter 8 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("8.1", "keepdim is missing: the mean has a lost axis", "sizes-do-not-match")
def layer_norm_sizes_do_not_match(x, gain, bias, eps=1e-05):
    mean = x.mean(-1)
    var = x.var(-1, unbiased=False)
    return gain * (x - mean) / torch.sqrt(var + eps) + bias


@wrong("8.1", "The bias is not added", "bias-forgotten")
def layer_norm_bias_forgotten(x, gain, bias, eps=1e-05):
    m = x.mean(-1, keepdim=True)
    v = x.var(-1, keepdim=True, correction=0)
    return gain * (x - m) * torch.rsqrt(v + eps)


@wrong("8.2", "feed_forward first, attention second", "feed-forward-first")
def block_feed_forward_first(x, norm_1, attend, norm_2, feed_forward):
    x = x + feed_forward(norm_1(x))
    x = x + attend(norm_2(x))
    return x


@wrong("8.2", "No residual at all", "residual-forgotten")
def block_residual_forgotten(x, norm_1, attend, norm_2, feed_forward):
    return feed_forward(norm_2(attend(norm_1(x))))


@wrong("8.3", "The wrong shift: logits[1:] against ids[:-1]", "shifted-the-wrong-way")
def loss_shifted_the_wrong_way(logits, ids):
    return F.cross_entropy(logits[:, 1:].reshape(-1, logits.shape[-1]), ids[:, :-1].reshape(-1))


@wrong("8.3", "Perplexity", "perplexity")
def loss_perplexity(logits, ids):
    return torch.exp(F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()))


@wrong("8.4", "The feed-forward network has one linear map only", "one-feed-forward-layer")
def parameters_one_feed_forward_layer(vocab, d_model, layers, d_hidden, tied=True):
    per = 4 * (d_model * d_model + d_model) + 4 * d_model + (d_model * d_hidden + d_hidden)
    return vocab * d_model * (1 if tied else 2) + layers * per + 2 * d_model


# ── chapter 9 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("9.1", "At repeats it takes the weight on the token just before", "neighbour-of-the-query")
def induction_score_neighbour_of_the_query(weights, ids):
    seen, vals = set(), []
    for i, t in enumerate(ids.tolist()):
        if t in seen:
            vals.append(weights[i, i - 1])
        seen.add(t)
    return torch.stack(vals).mean() if vals else torch.tensor(0.0)


@wrong("9.3", "position and layer are exchanged", "layer-and-position-swapped")
def patched_layer_and_position_swapped(run, clean, corrupt, layer, position):
    states = run(clean)[1]

    def edit(at, s):
        if at == position:
            s = s.clone()
            s[layer] = states[at][layer]
        return s

    return run(corrupt, edit)[0]


@wrong("9.3", "The row is set to zero (ablation)", "row-of-zeros")
def patched_row_of_zeros(run, clean, corrupt, layer, position):

    def edit(at, s):
        if at == layer:
            s = s.clone()
            s[position] = 0
        return s

    return run(corrupt, edit)[0]


@wrong(
    "9.5",
    "The first head looks at the token itself (no shift), so the note is its own word",
    "looks-at-the-word-itself",
)
def induction_heads_looks_at_the_word_itself(words, positions, free):
    d = words.shape[1]
    s = 40.0 * d**0.5
    w_q1 = s * positions.T @ positions
    w_k1 = torch.eye(d)
    w_v1 = words.T @ free
    w_q2 = s * words.T @ free
    w_k2 = torch.eye(d) - 5 * torch.outer(positions[0], positions[0])
    return w_q1, w_k1, w_v1, w_q2, w_k2


# ── chapter 10 ────────────────────────────────────────────────────────────────────────────────────


@wrong("10.1", "Only the causal half is right: without causal the window reaches only back", "other-side-open")
def window_mask_other_side_open(n, window, causal=True):
    i = torch.arange(n)
    d = i[:, None] - i[None]
    m = d < window
    return m & (d >= 0) if causal else m


@wrong("10.2", "k.sum() over the features instead of the tokens in the divisor", "summed-over-features")
def linear_summed_over_features(q, k, v, feature_map):
    fq, fk = feature_map(q), feature_map(k)
    num = fq @ (fk.mT @ v)
    den = (fq * fk.sum(-1, keepdim=True)).sum(-1, keepdim=True)
    return num / den


@wrong("10.3", "The divisor counts this token only: z is not carried", "sum-of-features-not-carried")
def linear_step_sum_of_features_not_carried(state, q, k, v, feature_map):
    fq, fk = feature_map(q), feature_map(k)
    S = fk[..., None] * v[..., None, :]
    if state is not None:
        S = S + state
    return torch.einsum("...m,...mv->...v", fq, S) / (fq * fk).sum(-1, keepdim=True), S


@wrong("10.3", "The values are not weighted by the key: S sums v only", "mean-of-the-values")
def linear_step_mean_of_the_values(state, q, k, v, feature_map):
    S, n = (torch.zeros_like(v), 0) if state is None else state
    S, n = S + v, n + 1
    return S / n, (S, n)


@wrong("10.4", "The loop goes over as many places as there are queries, not keys", "as-many-keys-as-queries")
def blockwise_as_many_keys_as_queries(q, k, v, block):
    m = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
    total, o = torch.zeros_like(m), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for s in range(0, q.shape[-2], block):
        kb = k[..., s : s + block, :]
        if kb.shape[-2] == 0:
            break
        S = q @ kb.mT / math.sqrt(q.shape[-1])
        mn = torch.maximum(m, S.amax(-1, keepdim=True))
        p, a = (S - mn).exp(), (m - mn).exp()
        total, o, m = total * a + p.sum(-1, keepdim=True), o * a + p @ v[..., s : s + block, :], mn
    return o / total


@wrong("10.5", "The sign: the answer of the state is added", "error-with-the-wrong-sign")
def delta_error_with_the_wrong_sign(state, q, k, v, beta):
    S = k.new_zeros(*k.shape, v.shape[-1]) if state is None else state
    err = v + (k.unsqueeze(-2) @ S).squeeze(-2)
    S = S + beta[..., None, None] * k.unsqueeze(-1) * err.unsqueeze(-2)
    return (q.unsqueeze(-2) @ S).squeeze(-2), S


@wrong("10.5", "The state is read with the query when the error is computed", "error-at-the-query")
def delta_error_at_the_query(state, q, k, v, beta):
    S = k.new_zeros(*k.shape, v.shape[-1]) if state is None else state
    err = v - torch.einsum("...k,...kv->...v", q, S)
    S = S + torch.einsum("...,...k,...v->...kv", beta, k, err)
    return torch.einsum("...k,...kv->...v", q, S), S


# ── chapter 11 ────────────────────────────────────────────────────────────────────────────────────


@wrong("11.1", "Each patch is transposed (columns first)", "patch-transposed")
def patchify_patch_transposed(image, patch):
    C, H, W = image.shape
    if H % patch or W % patch:
        raise ValueError
    x = image.reshape(C, H // patch, patch, W // patch, patch)
    return x.permute(1, 3, 0, 4, 2).reshape(-1, C * patch**2)


@wrong("11.2", "The degree-normalised adjacency (floats) comes back", "rows-that-sum-to-one")
def graph_mask_rows_that_sum_to_one(edges, n, self_loops=True):
    A = torch.zeros(n, n)
    for i, j in edges:
        A[i, j] = A[j, i] = 1.0
    if self_loops:
        A += torch.eye(n)
    return A / A.sum(-1, keepdim=True).clamp(min=1)


@wrong("11.2", "Nodes are counted from 1", "counted-from-one")
def graph_mask_counted_from_one(edges, n, self_loops=True):
    m = torch.eye(n, dtype=torch.bool) if self_loops else torch.zeros(n, n, dtype=torch.bool)
    for i, j in edges:
        m[i - 1, j - 1] = True
        m[j - 1, i - 1] = True
    return m
