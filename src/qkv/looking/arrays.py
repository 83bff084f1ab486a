"""Weights of any origin, and their tokens, in the form that the view takes. Whatever is wrong gets a sentence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from qkv.words import mark, t, translated

NO_WEIGHTS = mark(
    "There are no attention weights in this. Give look the model itself: look(model, tokenizer, text). Or call the "
    'model with output_attentions=True and attn_implementation="eager", and take outputs.attentions.'
)


def stacked(weights: Any) -> Tensor:
    """Return weights as a tensor (layers, heads, n, n).

    Arguments:
        weights  an array (layers, heads, n, n), (heads, n, n) or (n, n), or what a model returned: its outputs, or
                 their `attentions`, a tuple with (1, heads, n, n) for each layer
    Raises:
        ValueError: there are none, they have another shape, layers of different shapes or several texts, or are no
            weights: below 0, nan, or with rows of a sum above 1.01.
    """
    given = getattr(weights, "attentions", weights)
    if given is None or (isinstance(given, (list, tuple)) and any(layer is None for layer in given)):
        raise ValueError(translated(NO_WEIGHTS))
    found = _tensor(given)
    if found.numel() == 0:
        raise ValueError(translated(NO_WEIGHTS))
    if found.ndim == 5:  # layers of models have an axis of texts
        if found.shape[1] != 1:
            raise ValueError(t("look shows one text at a time; got weights of {n}.", n=found.shape[1]))
        found = found[:, 0]
    if not 2 <= found.ndim <= 4:
        shape = tuple(found.shape)
        raise ValueError(
            t("weights are (layers, heads, n, n), (heads, n, n) or (n, n); got shape {shape}.", shape=shape)
        )
    if found.isnan().any() or found.min() < 0:
        raise ValueError(t("weights are from 0 to 1. Are these scores before the softmax?"))
    if found.sum(-1).max() > 1.01:
        raise ValueError(
            t(
                "A row of weights sums to 1 or less; got {sum}. Was the model in training mode? There, dropout changes "
                "the weights: call model.eval() first. Or are these scores before the softmax?",
                sum=f"{found.sum(-1).max():.2f}",
            )
        )
    return found.reshape(*(1,) * (4 - found.ndim), *found.shape)


def _tensor(given: Any) -> Tensor:
    """Return an array, or a list of the layers' arrays, as one float32 tensor on the CPU; of no layers, an empty one.

    Raises:
        ValueError: the layers differ in shape.
    """
    if not isinstance(given, (list, tuple)):
        return torch.as_tensor(given).detach().float().cpu()
    layers = [_tensor(layer) for layer in given]
    shapes = {tuple(layer.shape) for layer in layers}
    if len(shapes) > 1:
        found = t(" and ").join(map(str, sorted(shapes)))
        raise ValueError(t("All layers must have the same shape; got {shapes}.", shapes=found))
    return torch.stack(layers) if layers else torch.zeros(0)


def tokens_of(given: Any) -> list[str]:
    """Return tokens as strings: from a list, from ids, or from what a tokenizer returned for one text."""
    if callable(getattr(given, "tokens", None)):
        given = given.tokens()
    if hasattr(given, "tolist"):
        given = given.tolist()
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = given[0]
    return [str(token) for token in given]
