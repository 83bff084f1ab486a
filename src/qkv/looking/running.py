"""Run a model of the transformers library: its attention weights, and its output with some heads switched off.

Nothing here imports transformers: a model brings all that is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.words import t

# The linear layer that mixes the heads of an attention module (W_O), under the names that model families give it.
OUTPUT_PROJECTIONS = ("o_proj", "out_proj", "c_proj", "out_lin", "o", "dense", "output.dense")
CROSS = re.compile(r"cross|encdec|encoder_?attn", re.IGNORECASE)
# The parts of an output, by the names of transformers, with our names: one for a model with one stack of layers.
ONE_STACK = {"attentions": "self"}
TWO_STACKS = {"encoder_attentions": "encoder", "decoder_attentions": "decoder", "cross_attentions": "cross"}

Head = tuple[str, int, int]  # part, layer and head, from 0


class Text(NamedTuple):
    """A text as a model gets it: the inputs of its forward, and what the decoder of two stacks should say."""

    inputs: dict[str, Tensor]
    wanted: Tensor | None


class Output(NamedTuple):
    """What a model made of a text: the weights of each part (layers, heads, n, n_k), the last states, and logits."""

    weights: dict[str, Tensor]
    states: Tensor  # (n, d_model), of the last layer
    logits: Tensor | None  # (n, vocab), if the model predicts tokens


def run(model: Any, text: Text, off: frozenset[Head] = frozenset()) -> Output:
    """Run a model on a text with some heads switched off: they add nothing to their layer's output.

    The model runs in eval mode, without gradients, and with its eager attention, which computes weights. Afterwards it
    is as it was before.

    Raises:
        ValueError: the model returns no weights, its layers have different numbers of heads, or `off` needs the output
            projection of a family that is not known.
    """
    wanted = {"output_attentions": True, "output_hidden_states": True, "return_dict": True}
    with _left_as_it_was(model), ExitStack() as hooks, torch.no_grad():
        for handle in _silence(model, off):
            hooks.callback(handle.remove)
        out = model(**text.inputs, **wanted)
    return Output(_weights(model, out), _states(out), _logits(out))


def is_two_stacks(model: Any) -> bool:
    """Check whether a model has an encoder and a decoder."""
    return bool(getattr(model.config, "is_encoder_decoder", False))


@contextmanager
def _left_as_it_was(model: Any) -> Iterator[None]:
    """Set a model to eval mode and eager attention; at the end, restore what it had, also after an error."""
    modes = [(module, module.training) for module in model.modules()]
    before = [(config, config._attn_implementation) for config in _configs(model)]
    try:
        model.eval()
        for config, _ in before:
            config._attn_implementation = "eager"
        yield
    finally:
        for module, training in modes:
            module.training = training
        for config, implementation in before:
            config._attn_implementation = implementation


def _configs(model: Any) -> list[Any]:
    """Return the different configurations of a model and its parts, outer ones first."""
    found: dict[int, Any] = {}
    waiting = [module.config for module in model.modules() if hasattr(module, "config")]
    while waiting:
        config = waiting.pop(0)
        if hasattr(config, "_attn_implementation") and id(config) not in found:
            found[id(config)] = config
            waiting += [part for name in getattr(config, "sub_configs", ()) if (part := getattr(config, name, None))]
    return list(found.values())


# ── what comes out ────────────────────────────────────────────────────────────────────────────────


def _weights(model: Any, out: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the weights of each part of a model on the first text, (layers, heads, n_q, n_k), float32 on the CPU.

    Parts and layers without weights are left out.

    Raises:
        ValueError: the model returns none, or its layers differ in shape.
    """
    parts = TWO_STACKS if is_two_stacks(model) else ONE_STACK
    layers = {
        ours: [each[0] for each in out[theirs] if each is not None] for theirs, ours in parts.items() if out.get(theirs)
    }
    if not any(layers.values()):
        raise ValueError(
            t("{model} returns no attention weights, so there is nothing to look at.", model=type(model).__name__)
        )
    for each in layers.values():
        if len({weights.shape for weights in each}) > 1:
            name = type(model).__name__
            raise ValueError(t("The layers of {model} have different numbers of heads or keys.", model=name))
    return {part: torch.stack(each).float().cpu() for part, each in layers.items() if each}


def _states(out: Mapping[str, Any]) -> Tensor:
    states = out.get("decoder_hidden_states") or out["hidden_states"]
    return states[-1][0].float().cpu()


def _logits(out: Mapping[str, Any]) -> Tensor | None:
    logits = out.get("logits")
    return logits[0].float().cpu() if logits is not None and logits.ndim == 3 else None


# ── heads that are switched off ───────────────────────────────────────────────────────────────────


def _silence(model: Any, off: frozenset[Head]) -> Iterator[Any]:
    """Register hooks that set the outputs of these heads to 0, and yield the handles with which to remove them.

    Raises:
        ValueError: a layer's output projection, on whose input the hook acts, is not known.
    """
    if not off:
        return
    found = output_projections(model)
    for part, layer in sorted({(part, layer) for part, layer, _ in off}):
        if layer >= len(found.get(part, [])):
            name = type(model).__name__
            raise ValueError(t("look does not know which layer of {model} mixes the heads.", model=name))
        silent = [head for *at, head in off if at == [part, layer]]
        yield found[part][layer].register_forward_pre_hook(_zero_heads(silent, number_of_heads(model, part)))


def _zero_heads(silent: list[int], n_heads: int) -> Any:
    """Return a hook of the output projection that sets the outputs of these heads to 0."""

    def zero(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x = inputs[0].clone()  # (..., H · d_head)
        x.unflatten(-1, (n_heads, -1))[..., silent, :] = 0
        return (x, *inputs[1:])

    return zero


def number_of_heads(model: Any, part: str) -> int:
    """Return the number of query heads of each layer in a part of the model: self, encoder, decoder or cross."""
    stack = "encoder" if part == "encoder" else "decoder"
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    of_stack = getattr(config, f"{stack}_attention_heads", None) if is_two_stacks(model) else None
    return int(of_stack or config.num_attention_heads)


def output_projections(model: Any) -> dict[str, list[nn.Module]]:
    """Return the output projections of the attention layers, in their order, by the part of the model.

    Layers whose projection has none of the names in OUTPUT_PROJECTIONS are left out.
    """
    found: dict[str, list[nn.Module]] = {}
    for path, module in model.named_modules():
        if "attention" not in type(module).__name__.lower():
            continue
        modules = dict(module.named_modules())
        name = next((name for name in OUTPUT_PROJECTIONS if name in modules), None)
        if name:
            found.setdefault(_part_of(model, path), []).append(modules[name])
    return found


def _part_of(model: Any, path: str) -> str:
    """Return the part of a model to which a module belongs, by its path: self, encoder, decoder or cross."""
    if not is_two_stacks(model):
        return "self"
    *outer, last = path.split(".")
    return "cross" if CROSS.search(last) else "encoder" if "encoder" in outer else "decoder"


# ── what a head is good for ───────────────────────────────────────────────────────────────────────


class Effect(NamedTuple):
    """What a run with heads switched off changes."""

    loss: float | None  # mean loss of the next token, in nats, of a model that predicts it
    likeliest: list[tuple[int, float]]  # the five likeliest next tokens after the text, with their chances
    cosine: float  # of the mean of the last states, with the same of the whole model


def effect(text: Text, intact: Output, changed: Output) -> Effect:
    """Return what a run with heads off changed: its loss, the 5 likeliest next tokens, a cosine with the intact run.

    The loss is the mean of −ln p of the tokens, in nats. The cosine is that of the two mean final states. If the model
    does not predict next tokens, the loss is None, and there are no tokens. Padding does not count.
    """
    real = text.inputs.get("attention_mask", torch.ones(1, 1))[0].bool().cpu()
    kept = real.expand(len(intact.states)) if text.wanted is None else torch.ones(len(intact.states), dtype=torch.bool)
    before, after = intact.states[kept].mean(0), changed.states[kept].mean(0)
    cosine = float(F.cosine_similarity(before, after, dim=0))
    if changed.logits is None or not predicts_next(text, intact):
        return Effect(None, [], cosine)
    logits = changed.logits[kept]
    ids = text.inputs["input_ids"][0].cpu()[kept][1:] if text.wanted is None else text.wanted.cpu()
    chances, tokens = logits[-1].softmax(-1).topk(min(5, logits.shape[-1]))
    loss = float(F.cross_entropy(logits[: len(ids)], ids))
    return Effect(loss, list(zip(tokens.tolist(), chances.tolist(), strict=True)), cosine)


def predicts_next(text: Text, out: Output) -> bool:
    """Check whether a model predicts the next token: no query sees a later key, so no token sees what it predicts."""
    return text.wanted is not None or not out.weights["self"].triu(1).any()
