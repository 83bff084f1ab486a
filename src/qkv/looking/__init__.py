"""`look`: the attention of any model of the transformers library, or of arrays, in the pictures of this course."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from qkv.looking.arrays import stacked, tokens_of
from qkv.looking.running import Effect, Head, Output, Text, effect, is_two_stacks, run
from qkv.looking.scores import SCORES, head_scores
from qkv.looking.texts import encode, encode_wanted, name_of, readable, separators_among, separators_of
from qkv.widgets import HeadAtlas
from qkv.words import t

__all__ = ["SCORES", "View", "head_scores", "look"]

STEPS = 65535  # the widget gets each weight as a whole number of this many steps from 0 to 1


def look(model: Any, tokenizer: Any = None, text: Any = None, target: str | None = None) -> View:
    """Show the attention weights of a model on a text, or weights of any origin.

    look(model, tokenizer, text): `model` is any model of the transformers library with attention weights: an encoder, a
    decoder, or both. It runs where it is, with its eager attention, and is afterwards as it was before.
    look(weights, tokens): arrays of any origin, or `outputs.attentions` of a model that has run.

    Shapes:
        weights (layers, heads, n, n), (heads, n, n) or (n, n), from 0 to 1; rows sum to 1 or less   tokens n strings
    Arguments:
        text    a string, its ids, or what the tokenizer returned for one text, with padding or without
        target  what the decoder of a model with two stacks says; the text itself if it is None
    Raises:
        ValueError: the weights or the text cannot be shown; the message says why.
        TypeError: `model` is neither a model of transformers nor an array.
    """
    if hasattr(model, "config") and isinstance(model, nn.Module):
        return _look_at_model(model, tokenizer, text, target)
    if any(hasattr(model, name) for name in ("shape", "attentions")) or isinstance(model, (list, tuple)):
        return _look_at_arrays(model, tokenizer)
    raise TypeError(
        t(
            "look(model, tokenizer, text) takes a model of transformers first, and look(weights, tokens) takes "
            "weights; got {type}.",
            type=type(model).__name__,
        )
    )


class View:
    """A model's attention on a text. In a notebook it is shown as a widget.

    Attributes:
        tokens   the tokens of the text, as the tokenizer cuts them
        weights  (layers, heads, n, n); of the encoder, if there are two stacks
        decoder, decoder_tokens   the decoder's weights on its own tokens; None in a model with one stack
        cross    the decoder's weights on the encoder's tokens; None in a model with one stack
        scores   what each head does: a tensor (layers, heads) for each name in SCORES
        widget   the HeadAtlas that a notebook shows
    """

    def __init__(
        self, title: str, parts: dict[str, Tensor], tokens: list[list[str]], ids: list[Tensor], of: _Model | None
    ) -> None:
        self.tokens, self.decoder_tokens = tokens[0], tokens[1] if len(tokens) > 1 else None
        self.weights = next(iter(parts.values()))
        self.decoder, self.cross = parts.get("decoder"), parts.get("cross")
        self._of = of
        self._parts = parts
        separators = of.separators if of else separators_among(tokens[0])
        scores = {name: _scores(name, weights, ids, separators, of) for name, weights in parts.items()}
        self.scores = next(iter(scores.values()))
        self.widget = HeadAtlas(
            title=title,
            words=tokens,
            parts=list(parts),
            shapes=[list(weights.shape) for weights in parts.values()],
            packed=b"".join(_packed(weights) for weights in parts.values()),
            scores=[[each.flatten().tolist() for each in found.values()] for found in scores.values()],
            switches=of is not None,
        )
        if of:
            self.widget.observe(lambda change: self._answer(change["new"]), names="off")

    def __repr__(self) -> str:
        layers, heads, *_ = self.weights.shape
        n = len(self.tokens)
        return t("look: {n} tokens, {layers} layers of {heads} heads", n=n, layers=layers, heads=heads)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.widget)

    def save(self, path: str | Path) -> None:
        """Write one HTML file that shows the widget without a kernel and without a network."""
        self.widget.save(path)

    def switch_off(self, *heads: tuple[int, int], part: str | None = None) -> tuple[Effect, Effect | None]:
        """Measure what the model does with some heads switched off, as (layer, head) from 0, beside a control.

        `part` is "encoder", "decoder" or "cross" in a model with two stacks; the first of them by default. Return both
        effects. The control switches off random other heads of the same layers instead; it is None if a layer has not
        enough others. The widget, and a file that is saved from it, show these heads off and what was measured.

        Raises:
            ValueError: the view shows arrays, there is no such head, or the family's output projection is not known.
            KeyError: the view has no such part.
        """
        if self._of is None:
            raise ValueError(t("Heads can be switched off only in a model; this view shows arrays."))
        name = part or next(iter(self._parts))
        for layer, head in heads:
            layers, n_heads, *_ = self._parts[name].shape
            if not (0 <= layer < layers and 0 <= head < n_heads):
                raise ValueError(
                    t(
                        "There is no head ({layer}, {head}): layers are 0–{last_layer}, heads 0–{last_head}.",
                        layer=layer,
                        head=head,
                        last_layer=layers - 1,
                        last_head=n_heads - 1,
                    )
                )
        index = list(self._parts).index(name)
        off = [[index, layer, head] for layer, head in heads]
        found = self._measure(self._of, off)
        self.widget.off = off
        return found

    def _answer(self, off: Sequence[Sequence[int]]) -> None:
        """Measure the heads that the reader has switched off in the widget, if any, unless that is known.

        Each is [part, layer, head]. If they cannot be switched off, the widget gets the reason instead.
        """
        wanted = [list(each) for each in off]
        if not wanted or self._of is None or any(known["off"] == wanted for known in self.widget.effects):
            return
        try:
            self._measure(self._of, wanted)
        except ValueError as problem:
            self._tell({"off": wanted, "intact": self._of.told(self._of.effect(frozenset())), "problem": str(problem)})

    def _measure(self, of: _Model, off: list[list[int]]) -> tuple[Effect, Effect | None]:
        """Measure the model with heads off, each as [part, layer, head], and with a control; tell the widget.

        Return both effects; that of the control is None if there is none.
        """
        names = list(self._parts)
        heads = frozenset((names[part], layer, head) for part, layer, head in off)
        control = _control(heads, self._parts)
        changed, other = of.effect(heads), of.effect(control) if control else None
        self._tell(
            {
                "off": off,
                "intact": of.told(of.effect(frozenset())),
                "changed": of.told(changed),
                "control": of.told(other) if other else None,
                "controls": [[names.index(part), layer, head] for part, layer, head in sorted(control)],
            }
        )
        return changed, other

    def _tell(self, record: dict[str, Any]) -> None:
        """Give the widget what was measured, in the place of an earlier record of the same heads."""
        self.widget.effects = [*(known for known in self.widget.effects if known["off"] != record["off"]), record]


class _Model:
    """A model with a text: it can run again with heads switched off. It runs once, unchanged, when this is made."""

    def __init__(self, model: Any, tokenizer: Any, text: Text) -> None:
        self.model, self.tokenizer, self.text = model, tokenizer, text
        self.separators = separators_of(tokenizer)
        mask = text.inputs.get("attention_mask")
        self.real = torch.ones(text.inputs["input_ids"].shape[1]) if mask is None else mask[0].cpu()
        self.intact: Output = run(model, text)

    def effect(self, off: frozenset[Head]) -> Effect:
        changed = run(self.model, self.text, off) if off else self.intact
        return effect(self.text, self.intact, changed)

    def told(self, found: Effect) -> dict[str, Any]:
        """Return an effect as the widget gets it: loss, cosine, and the likeliest tokens as [text, probability]."""
        ids = [token for token, _ in found.likeliest]
        words = readable(self.tokenizer, ids)
        chances = [chance for _, chance in found.likeliest]
        likeliest = [list(each) for each in zip(words, chances, strict=True)]
        return {"loss": found.loss, "cosine": found.cosine, "likeliest": likeliest}


def _look_at_model(model: Any, tokenizer: Any, text: Any, target: str | None) -> View:
    """Run a model on a text and return the view of its weights.

    Raises:
        ValueError: the text or the model cannot be shown; a model with two stacks and an encoded text has no target.
    """
    inputs = encode(model, tokenizer, text)
    wanted = None
    if is_two_stacks(model):
        said = target if target is not None else text
        if isinstance(said, Mapping):
            raise ValueError(t("A model with two stacks also needs target, the text that the decoder says."))
        decoder_inputs, wanted = encode_wanted(model, tokenizer, said)
        inputs |= decoder_inputs
    of = _Model(model, tokenizer, Text(inputs, wanted))
    ids = [inputs[name][0].cpu() for name in ("input_ids", "decoder_input_ids") if name in inputs]
    title = t("Attention weights of {name}", name=name_of(model))
    return View(title, of.intact.weights, [readable(tokenizer, each.tolist()) for each in ids], ids, of)


def _look_at_arrays(weights: Any, tokens: Any) -> View:
    """Return the view of weights that were computed elsewhere.

    Raises:
        ValueError: they are no weights, or do not fit the tokens.
    """
    if tokens is None:
        raise ValueError(t("look(weights, tokens) needs the tokens too, such as tokenizer.convert_ids_to_tokens(ids)."))
    found, words = stacked(weights), tokens_of(tokens)
    n = len(words)
    if found.shape[-2:] != (n, n) or n < 2:
        shape = tuple(found.shape)
        raise ValueError(
            t("{n} tokens need weights of shape (layers, heads, {n}, {n}); got {shape}.", n=n, shape=shape)
        )
    ids = torch.tensor([words.index(word) for word in words])
    return View(t("Attention weights"), {"self": found}, [words], [ids], None)


def _packed(weights: Tensor) -> bytes:
    """Return weights as whole numbers of 16 bits, which show two decimals exactly and take half of the memory."""
    return (weights * STEPS).round().clamp(0, STEPS).to(torch.uint16).numpy().tobytes()


def _scores(
    part: str, weights: Tensor, ids: list[Tensor], separators: frozenset[int], of: _Model | None
) -> dict[str, Tensor]:
    """Return the scores of a part's heads by name, without the tokens of padding.

    There are none for cross-attention, where queries and keys are different texts, and for fewer than two real tokens.
    """
    if part == "cross":
        return {}
    own = ids[-1] if part == "decoder" else ids[0]
    real = torch.ones(len(own)).bool() if of is None or part == "decoder" else of.real.bool()
    if real.sum() < 2:
        return {}
    return head_scores(weights[..., real, :][..., real], own[real], separators)


def _control(off: frozenset[Head], parts: dict[str, Tensor]) -> frozenset[Head]:
    """Return as many random other heads of the same parts and layers; none at all if a layer has too few others.

    The same heads always get the same control.
    """
    found: set[Head] = set()
    draw = random.Random(str(sorted(off)))
    for part, layer in sorted({(part, layer) for part, layer, _ in off}):
        taken = {head for at, of_layer, head in off if (at, of_layer) == (part, layer)}
        others = [head for head in range(parts[part].shape[1]) if head not in taken]
        if len(others) < len(taken):
            return frozenset()
        found |= {(part, layer, head) for head in draw.sample(others, len(taken))}
    return frozenset(found)
