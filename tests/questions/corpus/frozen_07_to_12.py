"""Answers to questions of chapters 7 to 12: labelled, with their mistakes, before any check had seen one of them."""

import math

import torch
import torch.nn.functional as F

from tests.questions.corpus.carried import whole_block, whole_writer
from tests.questions.corpus.label import right, wrong

# ── chapter 7 ─────────────────────────────────────────────────────────────────────────────────────


@right("7.1", "a list of chunks, joined when asked")
class CacheOfChunks:
    def __init__(self):
        self.chunks = []

    def append(self, k, v):
        self.chunks.append((k.clone(), v.clone()))
        keys, values = zip(*self.chunks, strict=False)
        return torch.cat(keys, dim=-2), torch.cat(values, dim=-2)

    def __len__(self):
        return sum((k.size(-2) for k, _ in self.chunks))


@wrong("7.2", "The result has an axis too many: (B, 1, 1, d_v)", "head-axis-left")
def decode_step_head_axis_left(x_t, w_q, w_k, w_v, cache):
    q = (x_t @ w_q).unsqueeze(1)
    k, v = cache.append((x_t @ w_k).unsqueeze(1), (x_t @ w_v).unsqueeze(1))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return scores.softmax(dim=-1) @ v


@wrong("7.2", "Keys and values are appended twice in one step", "appended-twice")
def decode_step_appended_twice(x_t, w_q, w_k, w_v, cache):
    q = x_t @ w_q
    keys, _ = cache.append((x_t @ w_k)[:, None], (x_t @ w_v)[:, None])
    _, values = cache.append((x_t @ w_k)[:, None], (x_t @ w_v)[:, None])
    keys, values = keys.squeeze(1), values.squeeze(1)
    weights = torch.softmax(q @ keys.mT / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ values[:, : keys.shape[1]]


@wrong("7.3", "It counts the scores (tokens squared) instead of a row a token", "quadratic-in-tokens")
def cache_bytes_quadratic_in_tokens(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return 2 * layers * kv_heads * d_head * tokens**2 * batch * bytes_per_value


@wrong("7.3", "bytes_per_value is not used: 2 is written instead", "bytes-ignored")
def cache_bytes_bytes_ignored(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    size = 2 * 2 * layers * tokens * kv_heads * d_head
    return size * batch


@wrong("7.3", "The layers are not counted", "layers-forgotten")
def cache_bytes_layers_forgotten(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    k_cache = batch * kv_heads * tokens * d_head
    v_cache = batch * kv_heads * tokens * d_head
    return (k_cache + v_cache) * bytes_per_value


@wrong("7.4", "It asks only whether the whole cache is a prefix: all or nothing", "all-or-nothing")
def reusable_prefix_all_or_nothing(cached, prompt):
    if prompt[: len(cached)] == cached:
        return len(cached)
    return 0


@wrong("7.4", "It raises an error if the prompt is shorter than the cache", "one-list-ends")
def reusable_prefix_one_list_ends(cached, prompt):
    i = 0
    while i < len(cached) and cached[i] == prompt[i]:
        i += 1
    return i


@right("7.5", "sdpa with enable_gqa")
def gqa_by_torch(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


@wrong("7.5", "The scores are not scaled", "no-scale")
def gqa_no_scale(q, k, v):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, dim=1), v.repeat_interleave(g, dim=1)
    s = q @ k.transpose(-2, -1)
    s = s + torch.full(s.shape[-2:], float("-inf")).triu(1)
    return s.softmax(-1) @ v


@wrong("7.5", "The heads of a group are averaged")
def gqa_queries_averaged(q, k, v):
    B, _H, n, d = q.shape
    q = q.view(B, k.shape[1], -1, n, d).mean(2)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong("7.5", "Only keys are repeated in groups; the values are tiled", "kv-heads-tiled-in-one")
def gqa_kv_heads_tiled_in_one(q, k, v):
    r = q.size(1) // k.size(1)
    k = torch.repeat_interleave(k, r, dim=1)
    v = v.repeat(1, r, 1, 1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@right("7.6", "three texts of 32 tokens")
def catches_three_texts(make_decoder):
    for seed in range(3):
        g = torch.Generator().manual_seed(seed)
        ids = torch.randint(0, 5, (32,), generator=g)
        d, ref = make_decoder(), make_decoder().full(ids)
        for t in range(32):
            if (d.step(int(ids[t])) - ref[t]).abs().max() > 0.001:
                return True
    return False


@wrong("7.6", "A new decoder is made for each step, so its cache is always empty", "always-true")
def catches_cache_always_true(make_decoder):
    ids = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 3, 2, 1, 0, 0, 1]
    full = make_decoder().full(ids)
    for i, token in enumerate(ids):
        d = make_decoder()
        if not torch.allclose(d.step(token), full[i], atol=0.001):
            return True
    return False


@right("7.7", "-inf above a moved diagonal")
def prefill_triu(x, w_q, w_k, w_v, cache, size):
    x.new_empty(x.shape[0], x.shape[1], w_v.shape[1])
    pieces = []
    for part in torch.split(x, size, 1):
        k, v = cache.append((part @ w_k)[:, None], (part @ w_v)[:, None])
        m, n = part.shape[1], k.shape[2]
        s = torch.einsum("bqd,bkd->bqk", part @ w_q, k[:, 0]).div(w_q.shape[1] ** 0.5)
        s = s + torch.full((m, n), -torch.inf, dtype=s.dtype).triu(n - m + 1)
        pieces.append(torch.einsum("bqk,bkd->bqd", s.softmax(-1), v[:, 0]))
    return torch.cat(pieces, 1)


@wrong("7.7", "is_causal aligns the triangle at the top left", "mask-from-the-first-key")
def prefill_in_chunks_mask_from_the_first_key(x, w_q, w_k, w_v, cache, size):
    outs = []
    for chunk in x.split(size, dim=1):
        q = (chunk @ w_q).unsqueeze(1)
        k, v = cache.append((chunk @ w_k).unsqueeze(1), (chunk @ w_v).unsqueeze(1))
        outs.append(F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1))
    return torch.cat(outs, dim=1)


@wrong("7.7", "Within a chunk nothing is masked: tokens see later tokens of their chunk", "sees-its-whole-chunk")
def prefill_in_chunks_sees_its_whole_chunk(x, w_q, w_k, w_v, cache, size):
    out = []
    for i in range(0, x.shape[1], size):
        c = x[:, i : i + size]
        q = c @ w_q
        k, v = cache.append((c @ w_k)[:, None], (c @ w_v)[:, None])
        k, v = k[:, 0], v[:, 0]
        s = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        out.append(s.softmax(-1) @ v)
    return torch.cat(out, 1)


@wrong("7.7", "The last, shorter chunk is left out", "last-chunk-lost")
def prefill_in_chunks_last_chunk_lost(x, w_q, w_k, w_v, cache, size):
    B, n, _ = x.shape
    results = []
    for c in range(n // size):
        xc = x[:, c * size : (c + 1) * size]
        past = len(cache)
        k, v = cache.append((xc @ w_k).unsqueeze(1), (xc @ w_v).unsqueeze(1))
        q = (xc @ w_q).unsqueeze(1)
        rows = torch.arange(past, past + size)[:, None]
        mask = torch.arange(past + size)[None, :] <= rows
        results.append(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[:, 0])
    return torch.cat(results, dim=1) if results else x.new_zeros(B, 0, w_v.shape[1])


# ── chapter 8 ─────────────────────────────────────────────────────────────────────────────────────


@right("8.1", "var_mean and addcmul")
def norm_addcmul(x, gain, bias, eps=1e-05):
    var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, gain, (x - mean) * (var + eps).rsqrt())


@wrong("8.1", "It divides by the variance, not its root", "variance-for-standard-deviation")
def layer_norm_variance_for_standard_deviation(x, gain, bias, eps=1e-05):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / (var + eps) * gain + bias


@wrong("8.1", "Mean and variance run over the tokens, too (all axes but the batch)", "norm-over-a-whole-text")
def layer_norm_norm_over_a_whole_text(x, gain, bias, eps=1e-05):
    dims = tuple(range(1, x.ndim)) if x.ndim > 2 else tuple(range(x.ndim))
    mean = x.mean(dim=dims, keepdim=True)
    var = x.var(dim=dims, keepdim=True, unbiased=False)
    return gain * (x - mean) / torch.sqrt(var + eps) + bias


@wrong("8.1", "The bias is multiplied by the gain too: gain * (norm + bias)", "bias-before-gain")
def layer_norm_bias_before_gain(x, gain, bias, eps=1e-05):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return gain * ((x - mean) / (var + eps).sqrt() + bias)


@right("8.2", "functools.reduce over the halves")
def block_reduced(x, norm_1, attend, norm_2, feed_forward):
    from functools import reduce

    halves = (norm_1, attend), (norm_2, feed_forward)
    return reduce(lambda s, half: torch.add(s, half[1](half[0](s))), halves, x)


@wrong(
    "8.2",
    "The second sum adds to the block's input again, not to the stream after attention",
    "second-half-from-the-input",
)
def block_second_half_from_the_input(x, norm_1, attend, norm_2, feed_forward):
    shortcut = x
    h = attend(norm_1(x))
    h = h + shortcut
    h = feed_forward(norm_2(h))
    return h + shortcut


@wrong(
    "8.2",
    "The norms come after attention and MLP, inside the residual branch (sandwich without pre)",
    "norm-after-the-work",
)
def block_norm_after_the_work(x, norm_1, attend, norm_2, feed_forward):
    x = x + norm_1(attend(x))
    x = x + norm_2(feed_forward(x))
    return x


@right("8.3", "logsumexp less the logit of the target")
def loss_logsumexp(logits, ids):
    pred, target = logits[:, :-1], F.one_hot(ids[:, 1:], logits.size(-1)).to(logits.dtype)
    return (pred.logsumexp(-1) - (pred * target).sum(-1)).mean()


@wrong("8.3", "The log-softmax runs over the positions, not over the vocabulary", "softmax-over-tokens")
def loss_softmax_over_tokens(logits, ids):
    logp = F.log_softmax(logits, dim=1)
    picked = logp[:, :-1].gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2)
    return -picked.mean()


@wrong("8.3", "The sum over the positions is averaged over the batch only", "summed-along-one-axis")
def loss_summed_along_one_axis(logits, ids):
    logp = logits[:, :-1].log_softmax(-1)
    nll = -logp.gather(-1, ids[:, 1:, None]).squeeze(-1)
    return nll.sum(dim=1).mean()


@wrong("8.4", "The four projections have no biases", "attention-biases-or-norms-forgotten")
def parameters_attention_biases_or_norms_forgotten(vocab, d_model, layers, d_hidden, tied=True):
    emb = vocab * d_model
    attn = 4 * d_model * d_model
    ffn = d_model * d_hidden + d_hidden + d_hidden * d_model + d_model
    norms = 2 * 2 * d_model
    total = emb + layers * (attn + ffn + norms) + 2 * d_model
    if not tied:
        total += vocab * d_model
    return total


@wrong("8.4", "The final norm is not counted", "final-norm-forgotten")
def parameters_final_norm_forgotten(vocab, d_model, layers, d_hidden, tied=True):
    block = 4 * (d_model**2 + d_model) + 4 * d_model + 2 * d_model * d_hidden + d_hidden + d_model
    return vocab * d_model * (1 if tied else 2) + layers * block


@wrong("8.4", "The output head has a bias of vocab numbers", "head-with-a-bias")
def parameters_head_with_a_bias(vocab, d_model, layers, d_hidden, tied=True):
    n = vocab * d_model
    n += layers * (4 * (d_model * d_model + d_model))
    n += layers * (2 * d_model * d_hidden + d_model + d_hidden)
    n += layers * 4 * d_model
    n += 2 * d_model
    if not tied:
        n += d_model * vocab + vocab
    return n


@wrong("8.4", "tied is turned round: the head is counted when tied", "tied-turned-round")
def parameters_tied_turned_round(vocab, d_model, layers, d_hidden, tied=True):
    per_layer = (
        4 * d_model * (d_model + 1) + 2 * 2 * d_model + d_model * d_hidden + d_hidden + d_hidden * d_model + d_model
    )
    total = vocab * d_model + layers * per_layer + 2 * d_model
    if tied:
        total += vocab * d_model
    return total


@wrong("8.4", "Only three projections are counted (the output projection is missing)", "output-projection-forgotten")
def parameters_output_projection_forgotten(vocab, d_model, layers, d_hidden, tied=True):
    qkv = 3 * (d_model * d_model + d_model)
    mlp = d_model * d_hidden + d_hidden + (d_hidden * d_model + d_model)
    ln = 2 * (2 * d_model)
    out = 0 if tied else vocab * d_model
    return vocab * d_model + layers * (qkv + mlp + ln) + 2 * d_model + out


@wrong("8.4", "The biases of the feed-forward network are not counted", "feed-forward-biases-forgotten")
def parameters_feed_forward_biases_forgotten(vocab, d_model, layers, d_hidden, tied=True):
    block = 4 * d_model**2 + 4 * d_model + 2 * d_model * d_hidden + 4 * d_model
    return vocab * d_model + layers * block + 2 * d_model + (not tied) * vocab * d_model


@wrong("8.5", "Only one half is tested", "told-apart-wrongly")
def diagnose_block_told_apart_wrongly(block):
    x = torch.randn(2, 5, 6)
    Z1, Z2 = torch.zeros(6, 9), torch.zeros(9, 6)
    Ws = [torch.randn(6, 6) for _ in range(4)]
    y = block(x, *Ws, Z1, Z2)

    def n(t):
        return F.layer_norm(t, (6,))

    def att(t, causal=True):
        return F.scaled_dot_product_attention(t @ Ws[0], t @ Ws[1], t @ Ws[2], is_causal=causal) @ Ws[3]

    def same(a, b):
        return torch.allclose(a, b, atol=0.0001)

    if same(y, x + att(n(x))):
        return "none"
    if same(y, att(n(x))):
        return "no residual around attention"
    if same(y, x + att(n(x), False)):
        return "no mask"
    if same(y, n(n(x + att(x)))):
        return "norm after each sum"
    if same(y, n(n(x) + att(n(x)))):
        return "norm on the stream"
    if y.abs().max() < 1e-06:
        return "no residual around the MLP"
    return "norm over tokens"


# ── chapter 9 ─────────────────────────────────────────────────────────────────────────────────────


@wrong("9.1", "The sum is divided by the number of all positions, not of those that repeat", "mean-over-all-positions")
def induction_score_mean_over_all_positions(weights, ids):
    n = len(ids)
    total = torch.zeros((), dtype=weights.dtype)
    for i in range(n):
        prev = (ids[:i] == ids[i]).nonzero().flatten()
        if len(prev):
            total = total + weights[i, prev[-1] + 1]
    return total / n


@wrong("9.1", "Rows and columns are exchanged", "keys-and-queries-swapped")
def induction_score_keys_and_queries_swapped(weights, ids):
    vals, last = [], {}
    for i, t in enumerate(ids.tolist()):
        if t in last:
            vals.append(weights[last[t] + 1, i])
        last[t] = i
    return torch.stack(vals).mean() if vals else torch.tensor(0.0)


@wrong("9.1", "If no id repeats, the mean of nothing is NaN", "nothing-to-average")
def induction_score_nothing_to_average(weights, ids):
    last, vals = {}, []
    for i, t in enumerate(ids.tolist()):
        if t in last:
            vals.append(weights[i, last[t] + 1])
        last[t] = i
    return torch.tensor(vals).mean()


@right("9.2", "each head alone in zeros, through the whole w_o")
def contribution_zero_padded(weights, v, w_o):
    H, n, d = v.shape
    z = torch.zeros(H, n, H, d, dtype=v.dtype)
    z[torch.arange(H), :, torch.arange(H)] = weights @ v
    return z.reshape(H, n, H * d) @ w_o


@wrong("9.2", "The weights are left out: only the values go through w_o", "not-mixed")
def contribution_not_mixed(weights, v, w_o):
    W = w_o.view(v.shape[0], v.shape[2], -1)
    return torch.bmm(v, W)


@wrong("9.2", "w_o is cut along its columns (the out axis), not its rows")
def contribution_columns_of_the_output(weights, v, w_o):
    H, n, d_head = v.shape
    full = (weights @ v).transpose(0, 1).reshape(n, H * d_head) @ w_o
    size = w_o.shape[1] // H
    out = torch.zeros(H, n, w_o.shape[1], dtype=v.dtype)
    for h in range(H):
        out[h, :, h * size : (h + 1) * size] = full[:, h * size : (h + 1) * size]
    return out


@wrong("9.2", "Each term is divided by the number of heads", "divided-by-the-heads")
def contribution_divided_by_the_heads(weights, v, w_o):
    H = v.shape[0]
    return torch.stack([weights[h] @ v[h] @ w_o.chunk(H, dim=0)[h] for h in range(H)]) / H


@wrong("9.3", "The whole state of the layer is replaced, not only the one row", "clean-run")
def patched_clean_run(run, clean, corrupt, layer, position):
    clean_states = run(clean)[1]
    return run(corrupt, edit=lambda at, s: clean_states[at] if at == layer else s)[0]


@wrong("9.3", "All layers are patched at this position, not only one", "every-layer-patched")
def patched_every_layer_patched(run, clean, corrupt, layer, position):
    _, states = run(clean)

    def edit(at, state):
        new = state.clone()
        new[position] = states[at][position]
        return new

    return run(corrupt, edit)[0]


@wrong("9.3", "Logits and states are returned together", "states-returned-too")
def patched_states_returned_too(run, clean, corrupt, layer, position):
    clean_states = run(clean)[1]

    def patch(at, s):
        if at != layer:
            return s
        s = s.clone()
        s[position] = clean_states[at][position]
        return s

    return run(corrupt, edit=patch)


@wrong("9.4", "It is the share of tokens whose largest weight is on the previous token", "share-of-rows")
def previous_token_score_share_of_rows(weights):
    best = weights.argmax(dim=-1)
    n = len(best)
    return (best[1:] == torch.arange(n - 1)).float().mean()


@wrong("9.4", "The sum is returned instead of the mean", "summed")
def previous_token_score_summed(weights):
    return weights.diagonal(offset=-1).sum()


@wrong("9.5", "Layer 1 leaves a note with the word itself", "word-for-a-note")
def induction_heads_word_for_a_note(words, positions, free):
    d = words.shape[1]
    s = 40.0 * d**0.5
    w_q1 = s * sum(torch.outer(positions[i], positions[i - 1]) for i in range(1, len(positions)))
    w_k1 = torch.eye(d)
    w_v1 = words.T @ words
    w_q2 = s * words.T @ words
    w_k2 = torch.eye(d)
    return w_q1, w_k1, w_v1, w_q2, w_k2


@wrong("9.5", "The token at place 0 carries its own word as a note", "first-token-not-left-out")
def induction_heads_first_token_not_left_out(words, positions, free):
    d = words.shape[1]
    s = 30.0 * math.sqrt(d)
    w_q1 = s * positions[1:].T @ positions[:-1]
    w_k1 = torch.eye(d)
    w_v1 = words.T @ free
    w_q2 = s * words.T @ free
    w_k2 = torch.eye(d)
    return w_q1, w_k1, w_v1, w_q2, w_k2


# ── chapter 10 ────────────────────────────────────────────────────────────────────────────────────


@wrong("10.1", "The mask is block-local: tokens see their own block of `window` tokens", "blocks-for-windows")
def window_mask_blocks_for_windows(n, window, causal=True):
    i = torch.arange(n)
    same = i[:, None] // window == i[None, :] // window
    if causal:
        same &= i[:, None] >= i[None, :]
    return same


@wrong("10.1", "True and False are exchanged: True marks what is hidden", "mask-inverted")
def window_mask_mask_inverted(n, window, causal=True):
    d = torch.arange(n)[:, None] - torch.arange(n)[None, :]
    if causal:
        return (d < 0) | (d >= window)
    return d.abs() >= window


@wrong("10.2", "q is softmaxed over features and k over tokens", "softmaxes-for-features")
def linear_softmaxes_for_features(q, k, v, feature_map):
    q = q.softmax(dim=-1)
    k = k.softmax(dim=-2)
    context = torch.einsum("...nd,...ne->...de", k, v)
    return torch.einsum("...nd,...de->...ne", q, context)


@wrong(
    "10.2",
    "It divides by the sum of the key features alone, not by their product with the query",
    "query-not-in-the-sum",
)
def linear_query_not_in_the_sum(q, k, v, feature_map):
    q, k = feature_map(q), feature_map(k)
    kv = k.transpose(-1, -2) @ v
    z = k.sum(dim=(-1, -2), keepdim=True)
    return q @ kv / z


@wrong("10.2", "The feature map is not applied to the keys", "features-of-keys-forgotten")
def linear_features_of_keys_forgotten(q, k, v, feature_map):
    phi_q = feature_map(q)
    s = k.transpose(-2, -1) @ v
    n = phi_q @ k.sum(-2).unsqueeze(-1)
    return phi_q @ s / n


@right("10.3", "a 1 appended to the value")
def step_with_a_one(state, q, k, v, feature_map):
    one = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    update = torch.einsum("...m,...v->...mv", feature_map(k), one)
    state = update if state is None else state + update
    both = torch.einsum("...m,...mv->...v", feature_map(q), state)
    return both[..., :-1] / both[..., -1:], state


@wrong("10.3", "The output is read before the token's own key and value are added", "cannot-see-itself")
def linear_step_cannot_see_itself(state, q, k, v, feature_map):
    fq, fk = feature_map(q), feature_map(k)
    if state is None:
        state = torch.zeros(*fk.shape, v.shape[-1]), torch.zeros_like(fk)
    S, z = state
    den = (fq * z).sum(-1, keepdim=True)
    out = (fq.unsqueeze(-2) @ S).squeeze(-2) / den.clamp(min=1e-06)
    return out, (S + fk.unsqueeze(-1) * v.unsqueeze(-2), z + fk)


@wrong("10.4", "The old output and sum are not rescaled when the maximum rises", "nothing-rescaled")
def blockwise_nothing_rescaled(q, k, v, block):
    d = q.shape[-1]
    m = torch.full((*q.shape[:-1], 1), -torch.inf, dtype=q.dtype)
    total = torch.zeros_like(m)
    o = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for s in range(0, k.shape[-2], block):
        S = q @ k[..., s : s + block, :].transpose(-2, -1) / math.sqrt(d)
        m = torch.maximum(m, S.amax(-1, keepdim=True))
        p = torch.exp(S - m)
        total = total + p.sum(-1, keepdim=True)
        o = o + p @ v[..., s : s + block, :]
    return o / total


@wrong("10.4", "There is no running maximum: exp of scores up to 10,000 overflows", "no-maximum")
def blockwise_no_maximum(q, k, v, block):
    num, den = 0, 0
    for i in range(0, k.size(-2), block):
        e = torch.exp(q @ k[..., i : i + block, :].mT / q.size(-1) ** 0.5)
        num = num + e @ v[..., i : i + block, :]
        den = den + e.sum(-1, keepdim=True)
    return num / den


@wrong("10.4", "Scores are not divided by root d", "no-scale")
def blockwise_no_scale(q, k, v, block):
    m = torch.full_like(q[..., :1], float("-inf"))
    total = torch.zeros_like(m)
    acc = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for j in range(0, k.shape[-2], block):
        kj, vj = k[..., j : j + block, :], v[..., j : j + block, :]
        s = q @ kj.transpose(-1, -2)
        m_new = torch.maximum(m, s.max(-1, keepdim=True).values)
        p = torch.exp(s - m_new)
        alpha = torch.exp(m - m_new)
        total = alpha * total + p.sum(-1, keepdim=True)
        acc = alpha * acc + p @ vj
        m = m_new
    return acc / total


@wrong("10.4", "The output is not divided at the end", "not-divided")
def blockwise_not_divided(q, k, v, block):
    scale = 1 / math.sqrt(q.shape[-1])
    m = q.new_full((*q.shape[:-1], 1), -math.inf)
    total = q.new_zeros((*q.shape[:-1], 1))
    o = q.new_zeros((*q.shape[:-1], v.shape[-1]))
    for kb, vb in zip(torch.split(k, block, -2), torch.split(v, block, -2), strict=False):
        s = q @ kb.mT * scale
        m2 = torch.max(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - m2)
        o = o * torch.exp(m - m2) + p @ vb
        total = total * torch.exp(m - m2) + p.sum(-1, keepdim=True)
        m = m2
    return o


@right("10.5", "I - beta k kT")
def delta_by_householder(state, q, k, v, beta):
    d = k.shape[-1]
    S = torch.zeros(*k.shape[:-1], d, v.shape[-1], dtype=v.dtype) if state is None else state
    kk = k[..., :, None] * k[..., None, :]
    b = beta[..., None, None]
    S = (torch.eye(d, dtype=k.dtype) - b * kk) @ S + b * k[..., :, None] * v[..., None, :]
    return (S.mT @ q[..., None])[..., 0], S


@wrong(
    "10.5", "The whole state decays by 1 - beta (a gate), instead of only the answer at the key", "whole-state-decays"
)
def delta_whole_state_decays(state, q, k, v, beta):
    b = beta[..., None, None]
    kv = torch.einsum("...i,...j->...ij", k, v)
    state = b * kv if state is None else (1 - b) * state + b * kv
    return torch.einsum("...i,...ij->...j", q, state), state


# ── chapter 11 ────────────────────────────────────────────────────────────────────────────────────


@wrong("11.1", "The patches come column by column", "column-by-column")
def patchify_column_by_column(image, patch):
    _c, h, w = image.shape
    if h % patch != 0 or w % patch != 0:
        raise ValueError(f"image {h}x{w} cannot be cut into {patch}x{patch}")
    out = []
    for x in range(0, w, patch):
        for y in range(0, h, patch):
            out.append(image[:, y : y + patch, x : x + patch].flatten())
    return torch.stack(out)


@wrong("11.1", "An axis stays: (C, n_patches, patch²) - the channels are not joined", "channels-not-joined")
def patchify_channels_not_joined(image, patch):
    C, H, W = image.shape
    if H % patch != 0 or W % patch != 0:
        raise ValueError("patch must divide image")
    p = image.unfold(1, patch, patch).unfold(2, patch, patch)
    return p.reshape(C, -1, patch * patch)


@wrong("11.1", "unfold's patches are reshaped without moving the channels", "channels-in-front")
def patchify_channels_in_front(image, patch):
    C, H, W = image.shape
    if H % patch != 0 or W % patch != 0:
        raise ValueError("patch must divide image")
    p = image.unfold(1, patch, patch).unfold(2, patch, patch)
    return p.contiguous().view(-1, C * patch * patch)


@wrong("11.1", "Only the height is checked for a remainder", "one-side-looked-at")
def patchify_one_side_looked_at(image, patch):
    _C, H, W = image.shape
    if H % patch:
        raise ValueError("bad size")
    rows = []
    for i in range(H // patch):
        for j in range(W // patch):
            rows.append(image[:, i * patch : (i + 1) * patch, j * patch : (j + 1) * patch].reshape(-1))
    return torch.stack(rows)


@wrong("11.2", "An empty list of edges raises an error", "no-edges")
def graph_mask_no_edges(edges, n, self_loops=True):
    src, dst = torch.tensor(edges).T
    adj = torch.zeros(n, n, dtype=torch.bool)
    adj[src, dst] = True
    adj[dst, src] = True
    if self_loops:
        adj = adj | torch.eye(n, dtype=torch.bool)
    return adj


# ── chapter 12 ────────────────────────────────────────────────────────────────────────────────────


@wrong("12.1", "The first transformer: ReLU", "relu-for-gelu")
def block_with_relu(x, w, n_heads, cache=None):
    return whole_block(x, w, n_heads, cache, activation=F.relu)


@wrong("12.1", "The root of d_model, not of d_head", "scaled-by-model-width")
def block_root_of_the_width(x, w, n_heads, cache=None):
    return whole_block(x, w, n_heads, cache, width=x.shape[-1])


@wrong("12.1", "The first transformer: post-norm", "norm-after-the-sum")
def block_post_norm(x, w, n_heads, cache=None):
    return whole_block(x, w, n_heads, cache, pre=False)


@wrong("12.2", "The last norm is left out", "last-norm-forgotten")
def writer_without_the_last_norm(ids, w, n_heads, caches=None):
    return whole_writer(ids, w, n_heads, caches, last_norm=False)


@wrong("12.2", "Only the weights of the last layer come back", "weights-of-the-last-layer-only")
def writer_last_weights(ids, w, n_heads, caches=None):
    logits, weights = whole_writer(ids, w, n_heads, caches)
    return logits, weights[-1]


@wrong("12.3", "HF's generate returns the prompt, too", "beginning-returned-too")
def write_with_the_beginning(ids, w, n_heads, n_new, caches=None):
    text = feed = list(ids)
    for _ in range(n_new):
        logits, _ = whole_writer(torch.tensor([feed]), w, n_heads, caches)
        new = int(logits[0, -1].argmax())
        text = [*text, new]
        feed = text if caches is None else [new]
    return torch.tensor(text)


@wrong("12.3", "The last token alone is run, also without caches", "last-token-alone")
def write_last_token_alone(ids, w, n_heads, n_new, caches=None):
    now, found = torch.tensor([ids]), []
    for _ in range(n_new):
        logits, _ = whole_writer(now, w, n_heads, caches)
        now = logits[:, -1:].argmax(-1)
        found.append(now.item())
    return torch.tensor(found)


@wrong("12.3", "append to the list that was given", "inputs-changed")
def write_into_the_list(ids, w, n_heads, n_new, caches=None):
    start = len(ids)
    for step in range(n_new):
        feed = ids if caches is None or step == 0 else ids[-1:]
        logits, _ = whole_writer(torch.tensor(feed).unsqueeze(0), w, n_heads, caches)
        ids.append(logits[0, -1].argmax().item())
    return torch.tensor(ids[start:])


@wrong("12.3", "nanoGPT's generate: multinomial", "sampled", "not-the-same-twice")
def write_drawn(ids, w, n_heads, n_new, caches=None):
    text = feed = list(ids)
    for _ in range(n_new):
        logits, _ = whole_writer(torch.tensor([feed]), w, n_heads, caches)
        new = int(torch.multinomial(logits[0, -1].softmax(-1), 1))
        text = [*text, new]
        feed = text if caches is None else [new]
    return torch.tensor(text[len(ids) :])


def output_without(w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    matrix = w[name].clone()
    width = matrix.shape[1] // n_heads
    matrix[:, head * width : (head + 1) * width] = 0
    return {**w, name: matrix}


@wrong("12.4", "zeros written into the weights themselves", "inputs-changed")
def without_head_in_place(ids, w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    w[name].copy_(output_without(w, n_heads, layer, head)[name])
    return whole_writer(ids, w, n_heads)[0]


@wrong("12.4", "The head's values are zeros but for their bias", "bias-of-the-values-left")
def without_value_weights(ids, w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_v.weight"
    matrix = w[name].clone()
    width = matrix.shape[0] // n_heads
    matrix[head * width : (head + 1) * width] = 0
    return whole_writer(ids, {**w, name: matrix}, n_heads)[0]


@wrong("12.4", "The bias of w_o goes with the head", "bias-lost-too")
def without_head_and_bias(ids, w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_o.bias"
    changed = {**output_without(w, n_heads, layer, head), name: torch.zeros_like(w[name])}
    return whole_writer(ids, changed, n_heads)[0]


def loss_of(ids, w, n_heads):
    return F.cross_entropy(whole_writer(ids, w, n_heads)[0][:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def losses_without(ids, w, n_heads):
    layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
    heads = [[output_without(w, n_heads, layer, head) for head in range(n_heads)] for layer in range(layers)]
    return torch.tensor([[loss_of(ids, changed, n_heads) for changed in row] for row in heads])


@wrong("12.5", "The whole writer's loss less the loss without the head", "sign-turned")
def heads_needed_negated(ids, w, n_heads):
    return loss_of(ids, w, n_heads) - losses_without(ids, w, n_heads)


@wrong("12.5", "The losses without each head", "loss-for-its-rise")
def heads_needed_as_losses(ids, w, n_heads):
    return losses_without(ids, w, n_heads)


@wrong("12.5", "Heads are lost one after the other and stay lost", "heads-not-given-back")
def heads_needed_one_after_another(ids, w, n_heads):
    layers = len({name.split(".")[2] for name in w if name.startswith("stack.blocks.")})
    base, rise = loss_of(ids, w, n_heads), torch.zeros(layers, n_heads)
    for layer in range(layers):
        for head in range(n_heads):
            w = output_without(w, n_heads, layer, head)
            rise[layer, head] = loss_of(ids, w, n_heads) - base
    return rise


@wrong("12.1", "norm_1 for both halves", "one-norm-twice")
def block_one_norm(x, w, n_heads, cache=None):
    return whole_block(x, {**w, **{f"norm_2.{k}": w[f"norm_1.{k}"] for k in ("weight", "bias")}}, n_heads, cache)


@wrong("12.2", "No position is added", "positions-forgotten")
def writer_without_positions(ids, w, n_heads, caches=None):
    name = "embedding.positions.table"
    return whole_writer(ids, {**w, name: torch.zeros_like(w[name])}, n_heads, caches)


@wrong("12.2", "GPT-2: the unembedding is the embedding", "embedding-for-unembedding")
def writer_tied(ids, w, n_heads, caches=None):
    return whole_writer(ids, {**w, "unembedding.weight": w["embedding.tokens.weight"]}, n_heads, caches)


@wrong("12.4", "The head of this number is lost in every layer", "lost-in-every-layer")
def without_head_anywhere(ids, w, n_heads, layer, head):
    for name in [name for name in w if name.endswith("attention.w_o.weight")]:
        w = output_without(w, n_heads, name.split(".")[2], head)
    return whole_writer(ids, w, n_heads)[0]


@wrong("12.4", "Only this head stays", "this-head-alone")
def without_other_heads(ids, w, n_heads, layer, head):
    for other in range(n_heads):
        w = w if other == head else output_without(w, n_heads, layer, other)
    return whole_writer(ids, w, n_heads)[0]


@wrong("12.4", "Heads are counted from 1", "heads-counted-from-one")
def without_head_before(ids, w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    matrix = w[name].clone()
    width = matrix.shape[1] // n_heads
    matrix[:, (head - 1) * width : head * width] = 0
    return whole_writer(ids, {**w, name: matrix}, n_heads)[0]


@wrong("12.4", "The head's queries are zeros, so it still averages", "zeros-in-queries-or-keys")
def without_queries(ids, w, n_heads, layer, head):
    changed = dict(w)
    for part in ("weight", "bias"):
        name = f"stack.blocks.{layer}.attention.w_q.{part}"
        changed[name] = w[name].clone()
        width = len(w[name]) // n_heads
        changed[name][head * width : (head + 1) * width] = 0
    return whole_writer(ids, changed, n_heads)[0]


@wrong("12.5", "Differences of perplexities", "perplexities")
def heads_needed_in_perplexity(ids, w, n_heads):
    return losses_without(ids, w, n_heads).exp() - loss_of(ids, w, n_heads).exp()


@wrong("12.5", "Heads are the rows", "heads-first")
def heads_needed_turned(ids, w, n_heads):
    return (losses_without(ids, w, n_heads) - loss_of(ids, w, n_heads)).T
