"""Answers to questions of all chapters, first of all to those that the chapters' modules leave out."""

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong

# ── 5.7: padding and the causal mask together ─────────────────────────────────────────────────────


@right("5.7", "Hugging Face, a 4D mask from a 2D one")
def mask_from_two_axes(lengths, causal, side):
    n = int(lengths.max())
    at = torch.arange(n)
    real = at < lengths[:, None] if side == "right" else at >= n - lengths[:, None]
    allowed = real[:, None, :] & real[:, :, None]
    if causal:
        allowed = allowed & torch.ones(n, n, dtype=torch.bool).tril()
    return allowed | torch.eye(n, dtype=torch.bool)


@right("5.7", "forum, three loops")
def mask_by_loops(lengths, causal, side):
    lengths = lengths.tolist()
    n = max(lengths)
    mask = torch.zeros(len(lengths), n, n, dtype=torch.bool)
    for b, length in enumerate(lengths):
        first = 0 if side == "right" else n - length
        for i in range(n):
            mask[b, i, i] = True
            if first <= i < first + length:
                mask[b, i, first : (i + 1 if causal else first + length)] = True
    return mask


@right("5.7", "ESPnet make_pad_mask, flipped for the left")
def mask_flipped(lengths, causal, side):
    n = max(lengths.tolist())
    pad = torch.arange(n).expand(len(lengths), n) >= lengths.unsqueeze(-1)
    if side == "left":
        pad = pad.flip(-1)
    same = pad.unsqueeze(1) == pad.unsqueeze(2)
    mask = same & ~pad.unsqueeze(1)
    if causal:
        mask = mask.tril()
    mask.diagonal(dim1=-2, dim2=-1).fill_(True)
    return mask


@wrong("5.7", "Hugging Face, before rows without keys were unmasked", "blind-rows")
def mask_with_blind_rows(lengths, causal, side):
    n = int(lengths.max())
    at = torch.arange(n)
    real = at < lengths[:, None] if side == "right" else at >= n - lengths[:, None]
    mask = real[:, None, :] & real[:, :, None]
    return mask & (at[None, :] <= at[:, None]) if causal else mask


@wrong("5.7", "d2l sequence_mask, padding is on the right", "side-ignored")
def mask_right_only(lengths, causal, side):
    n = int(lengths.max())
    real = torch.arange(n)[None, :] < lengths[:, None]
    mask = real[:, None, :] & real[:, :, None]
    if causal:
        mask = mask & torch.tril(torch.ones(n, n)).bool()
    return mask | torch.eye(n).bool()


@wrong("5.7", "Hugging Face, keys alone are masked", "padding-sees-real-tokens")
def mask_of_keys(lengths, causal, side):
    n = int(lengths.max())
    at = torch.arange(n)
    real = at < lengths[:, None] if side == "right" else at >= n - lengths[:, None]
    mask = real[:, None, :].expand(-1, n, n)
    if causal:
        mask = mask & torch.tril(torch.ones(n, n, dtype=torch.bool))
    return mask | torch.eye(n, dtype=torch.bool)


@wrong("5.7", "nn.Transformer, True hides", "mask-inverted")
def mask_that_hides(lengths, causal, side):
    return ~mask_from_two_axes(lengths, causal, side)


@wrong("5.7", "Hugging Face, an axis for heads", "extra-axes")
def mask_with_heads(lengths, causal, side):
    return mask_from_two_axes(lengths, causal, side)[:, None]


@wrong("5.7", "nn.Transformer, numbers to add", "additive-mask")
def mask_to_add(lengths, causal, side):
    allowed = mask_from_two_axes(lengths, causal, side)
    return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))


# ── 6.5: positions under padding ──────────────────────────────────────────────────────────────────


@right("6.5", "cumulative sum times the mask, fairseq style")
def positions_times_mask(mask):
    mask = mask.long()
    return (mask.cumsum(dim=1) - 1) * mask


@right("6.5", "row by row, forum")
def positions_by_row(mask):
    out = torch.zeros(mask.shape, dtype=torch.int64)
    for row, real in zip(out, mask, strict=True):
        row[real] = torch.arange(int(real.sum()))
    return out


@right("6.5", "minus the place of the first real token")
def positions_minus_the_first(mask):
    first = mask.int().argmax(dim=-1, keepdim=True)
    return (torch.arange(mask.shape[-1]) - first).masked_fill(~mask, 0)


@wrong("6.5", "Hugging Face GPT-2 prepare_inputs_for_generation", "padding-is-one")
def positions_gpt2(mask):
    position_ids = mask.long().cumsum(-1) - 1
    position_ids.masked_fill_(mask == 0, 1)
    return position_ids


@wrong("6.5", "cumulative sum, clamped at 0", "padding-not-reset")
def positions_clamped(mask):
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


@wrong("6.5", "fairseq make_positions", "counted-from-one")
def positions_fairseq(mask):
    mask = mask.int()
    return (torch.cumsum(mask, dim=1).type_as(mask) * mask).long()


@wrong("6.5", "nanoGPT, arange", "padding-counted")
def positions_nanogpt(mask):
    B, T = mask.shape
    return torch.arange(0, T, dtype=torch.long).unsqueeze(0).repeat(B, 1)


@wrong("6.5", "floats from the mask", "numbers-of-another-dtype", "wrong-dtype")
def positions_floats(mask):
    mask = mask.float()
    return (mask.cumsum(1) - 1) * mask


# ── 9.4: previous-token heads ─────────────────────────────────────────────────────────────────────


@right("9.4", "ARENA prev_attn_detector")
def previous_diagonal(weights):
    return weights.diagonal(-1).mean()


@right("9.4", "two index lists")
def previous_by_index(weights):
    i = torch.arange(1, weights.shape[0])
    return weights[i, i - 1].mean()


@right("9.4", "a running total")
def previous_by_loop(weights):
    total = 0.0
    for i in range(1, len(weights)):
        total = total + weights[i][i - 1]
    return total / (len(weights) - 1)


@right("9.4", "trace of the lower rows")
def previous_trace(weights):
    return torch.trace(weights[1:, :-1]) / (weights.size(0) - 1)


@wrong("9.4", "ARENA current_attn_detector", "itself")
def previous_current(weights):
    return weights.diagonal().mean()


@wrong("9.4", "the sign of the offset", "next-token")
def previous_sign(weights):
    return weights.diagonal(offset=1).mean()


@wrong("9.4", "divided by the length of the text", "divided-by-all-tokens")
def previous_over_n(weights):
    return weights.diagonal(-1).sum() / weights.shape[-1]


@wrong("9.4", "torch.roll against the identity", "first-row-wraps-around")
def previous_rolled(weights):
    n = weights.shape[0]
    return (weights * torch.roll(torch.eye(n, dtype=weights.dtype), -1, dims=1)).sum() / n


# ── 10.5: the delta rule ──────────────────────────────────────────────────────────────────────────


@right("10.5", "flash-linear-attention, the naive recurrence")
def delta_naive(state, q, k, v, beta):
    S = torch.zeros(*k.shape, v.shape[-1], dtype=v.dtype) if state is None else state.clone()
    v = v - (S * k[..., None]).sum(-2)
    v = v * beta[..., None]
    S = S + k.unsqueeze(-1) * v.unsqueeze(-2)
    return torch.einsum("...d,...dm->...m", q, S), S


@right("10.5", "DeltaNet as a product with a Householder matrix")
def delta_householder(state, q, k, v, beta):
    d = k.shape[-1]
    b = beta[..., None, None]
    if state is None:
        state = v.new_zeros(*k.shape[:-1], d, v.shape[-1])
    eye = torch.eye(d, dtype=k.dtype)
    state = (eye - b * k[..., :, None] * k[..., None, :]) @ state + b * k[..., :, None] * v[..., None, :]
    return (q[..., None, :] @ state)[..., 0, :], state


@right("10.5", "fast weight programmers, W is (d_v, d)")
def delta_fast_weights(state, q, k, v, beta):
    W = v.new_zeros(*v.shape, k.shape[-1]) if state is None else state["W"]
    v_old = (W @ k[..., None])[..., 0]
    W = W + torch.einsum("...,...i,...j->...ij", beta, v - v_old, k)
    return torch.einsum("...ij,...j->...i", W, q), {"W": W}


@wrong("10.5", "linear transformer, nothing is corrected", "not-corrected")
def delta_linear(state, q, k, v, beta):
    S = beta[..., None, None] * torch.einsum("...k,...v->...kv", k, v)
    if state is not None:
        S = state + S
    return torch.einsum("...k,...kv->...v", q, S), S


@wrong("10.5", "read, then write, as in a Hopfield memory", "asked-before-writing")
def delta_read_first(state, q, k, v, beta):
    S = torch.zeros(*k.shape, v.shape[-1], dtype=v.dtype) if state is None else state
    out = (q.unsqueeze(-2) @ S).squeeze(-2)
    old = (k.unsqueeze(-2) @ S).squeeze(-2)
    return out, S + k.unsqueeze(-1) * (beta.unsqueeze(-1) * (v - old)).unsqueeze(-2)


@wrong("10.5", "a buffer that is updated in place", "state-written-into")
def delta_in_place(state, q, k, v, beta):
    if state is None:
        state = torch.zeros(*k.shape, v.shape[-1], dtype=v.dtype)
    error = beta[..., None] * (v - (state * k[..., None]).sum(-2))
    state += k[..., None] * error[..., None, :]
    return (state * q[..., None]).sum(-2), state


@wrong("10.5", "beta scales the new value alone", "beta-on-the-value-only")
def delta_beta_value(state, q, k, v, beta):
    S = torch.zeros(*k.shape, v.shape[-1], dtype=v.dtype) if state is None else state
    u = v * beta[..., None] - (k.unsqueeze(-2) @ S).squeeze(-2)
    S = S + k.unsqueeze(-1) * u.unsqueeze(-2)
    return (q.unsqueeze(-2) @ S).squeeze(-2), S


# ── other questions ───────────────────────────────────────────────────────────────────────────────


@right("1.1", "scatter_, DCGAN examples")
def one_hot_scatter(ids, vocab_size):
    if ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= vocab_size):
        raise ValueError(f"ids must lie in [0, {vocab_size})")
    return torch.zeros(ids.size(0), vocab_size).scatter_(1, ids.unsqueeze(1), 1.0)


@wrong("1.3", "arange against lengths, <=", "mask-off-by-one")
def pad_less_or_equal(sequences):
    batch = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    lengths = torch.tensor([len(s) for s in sequences])
    return batch, torch.arange(batch.shape[1])[None] <= lengths[:, None]


@wrong("1.3", "pack_padded_sequence wants lengths", "lengths-for-a-mask")
def pad_lengths(sequences):
    return nn.utils.rnn.pad_sequence(sequences, batch_first=True), torch.tensor([len(s) for s in sequences])


@right("1.4", "a list of slices")
def frames_slices(signal, window, hop):
    starts = range(0, len(signal) - window + 1, hop)
    return torch.stack([signal[s : s + window] for s in starts])


@wrong("1.4", "python_speech_features framesig pads the end", "last-window-padded")
def frames_padded(signal, window, hop):
    n = 1 + math.ceil(max(0, len(signal) - window) / hop)
    signal = F.pad(signal, (0, (n - 1) * hop + window - len(signal)))
    return signal.unfold(0, window, hop)


@wrong("2.2", "torch.cdist, nearest neighbours", "distance")
def scores_cdist(q, k):
    return torch.cdist(q, k)


@right("2.3", "Bahdanau, two axes of size one")
def additive_bahdanau(q, k, w_q, w_k, v):
    hidden = torch.tanh((q @ w_q).unsqueeze(-2) + (k @ w_k).unsqueeze(-3))
    return (hidden * v).sum(-1)


@wrong("2.5", "The Annotated Transformer, dropout of .1", "not-the-same-twice")
class HeadWithDropout(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d) for d in (d_k, d_k, d_v))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        p_attn = self.dropout((q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(dim=-1))
        return p_attn @ v, p_attn


@wrong("3.3", "the scale comes last, forum", "scale-after-softmax")
def attention_scaled_late(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1) / math.sqrt(q.size(-1))
    return weights @ v, weights


@wrong(
    "4.1", "Hugging Face TemperatureLogitsWarper, clamped", "temperature-not-checked", "zero-temperature-let-through"
)
def softmax_clamped(z, temperature=1.0, dim=-1):
    return torch.softmax(z / max(temperature, 1e-5), dim=dim)


@right("4.2", "torch.special.entr")
def entropy_entr(p, dim=-1):
    return torch.special.entr(p).sum(dim)


@right("4.3", "Gumbel noise, keras")
def sample_gumbel(logits, temperature, generator):
    if temperature == 0:
        return logits.argmax()
    u = torch.rand(logits.shape, generator=generator, dtype=torch.float64).clamp(min=1e-300)
    return (logits.double() / temperature - (-u.log()).log()).argmax()


@wrong("4.3", "a seed for reproducible tests", "generator-reseeded")
def sample_seeded(logits, temperature, generator):
    if temperature == 0:
        return int(logits.argmax())
    generator.manual_seed(42)
    return int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator))


@wrong("5.3", "triu for tril", "mask-transposed")
def causal_upper(n):
    return torch.ones(n, n, dtype=torch.bool).triu()


@wrong("5.4", "the mask multiplies the scores", "zero-for-minus-infinity")
def masked_by_product(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) * mask
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("6.1", "get_angles without i // 2", "frequencies-by-index")
def sinusoidal_index(n, d_model):
    t = torch.arange(n, dtype=torch.float64)[:, None]
    angles = t / 10000 ** (torch.arange(d_model, dtype=torch.float64) / d_model)
    angles[:, 0::2] = torch.sin(angles[:, 0::2])
    angles[:, 1::2] = torch.cos(angles[:, 1::2])
    return angles.float()


@right("6.3", "a block of two by two for each pair")
def rope_matrices(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = positions.to(x.dtype)[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    cos, sin = theta.cos(), theta.sin()
    turn = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return (turn @ x.unflatten(-1, (-1, 2)).unsqueeze(-1)).squeeze(-1).flatten(-2)


@wrong("6.3", "llama with the conjugate", "rotated-the-wrong-way")
def rope_conjugate(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = torch.outer(positions.double(), base ** (-torch.arange(0, d, 2).double() / d))
    turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * torch.polar(
        torch.ones_like(angles), -angles
    )
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


@wrong("7.1", "lists on the class", "shared-by-all-caches")
class SharedCache:
    keys: ClassVar[list] = []
    values: ClassVar[list] = []

    def append(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)

    def __len__(self):
        return sum(k.shape[2] for k in self.keys)


@wrong("7.2", "keys are read before the new one is there", "cannot-see-itself")
def step_reads_first(x_t, w_q, w_k, w_v, cache):
    q, k, v = x_t @ w_q, (x_t @ w_k).unsqueeze(1), (x_t @ w_v).unsqueeze(1)
    keys, values = cache.append(k, v)
    keys, values = keys[:, 0, :-1], values[:, 0, :-1]
    weights = (q @ keys.mT / math.sqrt(q.size(-1))).softmax(-1)
    return weights @ values


@wrong("7.4", "set intersection", "counted-anywhere")
def prefix_set(cached, prompt):
    return len(set(cached) & set(prompt))


@wrong("8.2", "the second residual is forgotten", "second-residual-forgotten")
def block_one_residual(x, norm_1, attend, norm_2, feed_forward):
    x = x + attend(norm_1(x))
    return feed_forward(norm_2(x))


@wrong("8.3", "reduction='sum'", "loss-summed")
def loss_sum(logits, ids):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="sum")


@wrong("9.3", "the edit returns the patched state alone", "other-states-not-returned", "edit-returns-nothing")
def patch_none(run, clean, corrupt, layer, position):
    _, states = run(clean)

    def edit(at, state):
        if at == layer:
            state = state.clone()
            state[position] = states[layer][position]
            return state

    return run(corrupt, edit)[0]


@wrong("10.1", "local attention, both sides", "causal-ignored", "never-causal")
def window_both_sides(n, window, causal=True):
    i = torch.arange(n)
    return (i[:, None] - i[None, :]).abs() < window


@right("11.1", "einops style, two views")
def patchify_views(image, patch):
    c, h, w = image.shape
    if h % patch or w % patch:
        raise ValueError("image size must be a multiple of the patch size")
    x = image.view(c, h // patch, patch, w // patch, patch)
    return x.permute(1, 3, 0, 2, 4).reshape(-1, c * patch * patch)


@right("11.2", "networkx style, two assignments")
def graph_loop(edges, n, self_loops=True):
    adjacency = torch.zeros(n, n, dtype=torch.bool)
    for a, b in edges:
        adjacency[a, b] = adjacency[b, a] = True
    if self_loops:
        adjacency.fill_diagonal_(True)
    return adjacency


# ── answers of fresh readers ──────────────────────────────────────────────────────────────────────


@wrong("1.2", "a fresh reader, one-hot rows in float32", "one-hot-in-float32")
def embed_by_float_rows(ids, table):
    return F.one_hot(ids, len(table)).float() @ table


def largest_weight(z, temperature):
    return torch.softmax(z.double() / temperature, dim=-1).max()


@wrong("4.4", "a fresh reader, a comparison turned round", "search-goes-the-wrong-way")
def temperature_from_the_wrong_half(z, target):
    low, high = 0.0, 1.0
    while largest_weight(z, high) > target:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if largest_weight(z, middle) > target:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@wrong("4.4", "a fresh reader, up to ten times the largest score", "range-from-the-scores")
def temperature_up_to_the_scores(z, target):
    low, high = 1e-9, 10 * float(z.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if largest_weight(z, middle) > target else (low, middle)
    return (low + high) / 2


@wrong("5.1", "a fresh reader, the input back", "indivisible-let-through")
def split_or_input(x, n_heads):
    return x if x.shape[-1] % n_heads else x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


@wrong("6.5", "a fresh reader, the running count as it is", "padding-below-zero")
def positions_counted(mask):
    return mask.cumsum(dim=-1) - 1


@wrong("9.5", "a fresh reader, no factor at any matrix", "too-weak")
def induction_without_a_factor(words, positions, free):
    any_token = positions.sum(dim=0)[:, None]
    w_q2 = torch.cat([words.T, any_token], dim=1)
    w_k2 = torch.cat([free.T, -positions[0, :, None]], dim=1)
    return positions[1:].T, positions[:-1].T, words.T @ free, w_q2, w_k2
