"""Look into a trained transformer: what a head does, what it adds, and what changes when it is changed.

What stands where is named in qkv.transformer, whose Places hand it out.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from qkv.attention import MultiHeadAttention
from qkv.transformer import Decoder, Edit, Encoder, Places

# ── what a head looks at ──────────────────────────────────────────────────────────────────────────


def induction_score(weights: Tensor, ids: Tensor) -> Tensor:
    """Measure how far a head turns to what came next, the last time that this token stood there.

    The mean, over positions whose id has occurred before, of the weight on the token after
    its latest earlier occurrence [Olsson et al., 2022]. For two equal neighbours that is the
    token itself.

    Shapes:
        weights (n, n) of one head   ids (n,)
    Returns:
        0-d, from 0 to 1; 0 when no id repeats
    """
    position = torch.arange(len(ids), device=ids.device)
    earlier = (ids[:, None] == ids).tril(-1)  # [i, j]: the same id stood at j, before i
    repeats = earlier.any(-1)
    if not repeats.any():
        return weights.new_zeros(())
    latest = torch.where(earlier, position, -1).amax(-1)
    return weights[position[repeats], latest[repeats] + 1].mean()


def previous_token_score(weights: Tensor) -> Tensor:
    """Measure how far a head turns to the token before: the mean weight just below the diagonal.

    Shapes:
        weights (n, n), n ≥ 2
    Returns:
        0-d, from 0 to 1
    """
    return weights.diagonal(-1).mean()


# ── what a head reads and writes ──────────────────────────────────────────────────────────────────


def head_contribution(weights: Tensor, v: Tensor, w_o: Tensor) -> Tensor:
    """Split a layer's output into what each head adds to the stream.

    Head h adds (weights_h v_h) W_O,h, where W_O,h is its own band of d_head rows of W_O.

    Shapes:
        weights (H, n, n_k)   v (H, n_k, d_head)   w_o (H · d_head, d_model): of an nn.Linear,
        the transposed weight
    Returns:
        (H, n, d_model), whose sum over heads is the layer's output without bias
    """
    bands = w_o.unflatten(0, (len(v), -1))  # (H, d_head, d_model)
    return weights @ v @ bands


def qk_circuit(attention: MultiHeadAttention) -> Tensor:
    """Join what a query asks with what a key offers: score[i, j] = x_i W_Q W_Kᵀ x_jᵀ / √d_head, without biases.

    Returns:
        (H, d_model, d_model), asking features down, offered ones across [Elhage et al., 2021]
    """
    w_q, w_k = (layer.weight.unflatten(0, (attention.n_heads, -1)) for layer in (attention.w_q, attention.w_k))
    return w_q.transpose(-2, -1) @ w_k


def ov_circuit(attention: MultiHeadAttention) -> Tensor:
    """Join what a head reads with what it writes: a token with weight 1 adds x_j W_V W_O, without biases.

    Returns:
        (H, d_model, d_model), read features down, written ones across [Elhage et al., 2021]
    """
    w_v = attention.w_v.weight.unflatten(0, (attention.n_heads, -1))  # (H, d_head, d_model)
    w_o = attention.w_o.weight.T.unflatten(0, (attention.n_heads, -1))
    return w_v.transpose(-2, -1) @ w_o


def logit_lens(states: Tensor, norm: nn.Module, unembedding: nn.Module) -> Tensor:
    """Read a stream as if the model ended there: the last norm and the unembedding on any state.

    Shapes:
        states (..., d_model)
    Returns:
        logits (..., vocab) [nostalgebraist, 2020]
    """
    return unembedding(norm(states))


# ── interventions ─────────────────────────────────────────────────────────────────────────────────

StateEdit = Callable[[int, Tensor], Tensor]
Run = Callable[..., tuple[Tensor, list[Tensor]]]


def unedited(layer: int, state: Tensor) -> Tensor:
    """Leave every state as it is."""
    return state


def runner(model: Encoder | Decoder) -> Run:
    """Make run(ids, edit) of a model: one text, no batch.

    `edit(layer, state)` receives what comes into each layer, (n, d_model), and after the last
    layer what goes out, and returns what goes on.

    Returns:
        run: ids (n,) → what the model gives (n, …), and its states, edited
    """
    n_states = model.shape.n_layers + 1

    def run(ids: Tensor, edit: StateEdit = unedited) -> tuple[Tensor, list[Tensor]]:
        def edit_of(layer: int) -> Edit:
            return lambda state: edit(layer, state[0])[None]

        places = Places({f"{layer}.state": edit_of(layer) for layer in range(n_states)})
        out = model(ids[None], visit=places)[0]
        return out, [places[f"{layer}.state"][0] for layer in range(n_states)]

    return run


def patch_activation(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Tensor:
    """Run one text with one row of one state taken from another: does the answer come along?

    Shapes:
        clean, corrupt (n,) ids   run(ids, edit) → logits, states, as runner makes it
    Returns:
        the logits of `corrupt` with row `position` of state `layer` from `clean`
    """
    row = run(clean)[1][layer][position]

    def edit(at: int, state: Tensor) -> Tensor:
        if at != layer:
            return state
        return torch.cat([state[:position], row[None], state[position + 1 :]])

    return run(corrupt, edit)[0]


def mean_ablation(mean: Tensor) -> Edit:
    """Put a head's mean output in the place of each of its outputs.

    Zeros are an input that later layers may never have met; the mean keeps what is the same in
    every text, and takes away only what the head says of this one.

    Shapes:
        mean, of `heads` over many texts and positions: (H, d_head), NaN for a head that is left alone
    Returns:
        an edit of (B, H, n, d_head)
    """
    rows = mean[:, None, :]  # (H, 1, d_head)
    return lambda heads: torch.where(rows.isnan(), heads, rows.to(heads))
