"""Analyse a trained transformer: scores of heads, their contributions, circuits, and interventions.

The places of the intermediate tensors are listed in qkv.transformer; its Places records them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from qkv.attention import MultiHeadAttention
from qkv.transformer import Decoder, Edit, Encoder, Places

# ── what a head looks at ──────────────────────────────────────────────────────────────────────────


def induction_score(weights: Tensor, ids: Tensor) -> Tensor:
    """Return the mean weight of a head on the token that followed the latest earlier occurrence.

    The mean is over the positions whose id has occurred before [Olsson et al., 2022]. If the id
    occurred just before, the token that followed is the position itself.

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
    """Return the mean weight of a head on the previous token, just below the diagonal.

    Shapes:
        weights (n, n), n ≥ 2
    Returns:
        0-d, from 0 to 1
    """
    return weights.diagonal(-1).mean()


# ── what a head reads and writes ──────────────────────────────────────────────────────────────────


def head_contribution(weights: Tensor, v: Tensor, w_o: Tensor) -> Tensor:
    """Split the output of a layer into the part that each head adds to the residual stream.

    Head h adds (weights_h v_h) W_O,h, where W_O,h are the d_head rows of W_O for that head.

    Shapes:
        weights (H, n, n_k)   v (H, n_k, d_head)   w_o (H · d_head, d_model): the transposed
        weight of an nn.Linear
    Returns:
        (H, n, d_model), whose sum over heads is the layer's output without bias
    """
    bands = w_o.unflatten(0, (len(v), -1))  # (H, d_head, d_model)
    return weights @ v @ bands


def qk_circuit(attention: MultiHeadAttention) -> Tensor:
    """Return W_Q W_Kᵀ of each head: score[i, j] = x_i W_Q W_Kᵀ x_jᵀ / √d_head, without biases.

    Returns:
        (H, d_model, d_model), the query's features down, the key's across [Elhage et al., 2021]
    """
    w_q, w_k = (layer.weight.unflatten(0, (attention.n_heads, -1)) for layer in (attention.w_q, attention.w_k))
    return w_q.transpose(-2, -1) @ w_k


def ov_circuit(attention: MultiHeadAttention) -> Tensor:
    """Return W_V W_O of each head: a token with weight 1 adds x_j W_V W_O to the output, without biases.

    Returns:
        (H, d_model, d_model), features of the input down, of the output across [Elhage et al., 2021]
    """
    w_v = attention.w_v.weight.unflatten(0, (attention.n_heads, -1))  # (H, d_head, d_model)
    w_o = attention.w_o.weight.T.unflatten(0, (attention.n_heads, -1))
    return w_v.transpose(-2, -1) @ w_o


def logit_lens(states: Tensor, norm: nn.Module, unembedding: nn.Module) -> Tensor:
    """Return the logits of a state as if the model ended there: the last norm, then the unembedding.

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
    """Return the state as it is: the default edit."""
    return state


def runner(model: Encoder | Decoder) -> Run:
    """Return a function run(ids, edit) that runs a model on one text, without a batch axis.

    `edit(layer, state)` gets the input of each layer, (n, d_model), and the output of the last
    layer, with the number of layers as its `layer`. It returns the state to continue with.

    Returns:
        run: ids (n,) → the output of the model (n, …), and the list of edited states
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
    """Run one text with one row of one state replaced by that of another text.

    Layers and positions count from 0; `layer` may be the number of layers, for the last state.

    Shapes:
        clean, corrupt (n,) ids   run(ids, edit) → logits, states, as runner returns it
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
    """Return an edit that replaces every output of a head by the head's mean output.

    Zeros may be an input that later layers have never had. The mean keeps the part that is the
    same in every text, and removes only what the head adds for this one.

    Shapes:
        mean (H, d_head), of `heads` over many texts and positions; NaN for a head not to be edited
    Returns:
        an edit of (B, H, n, d_head)
    """
    rows = mean[:, None, :]  # (H, 1, d_head)
    return lambda heads: torch.where(rows.isnan(), heads, rows.to(heads))
