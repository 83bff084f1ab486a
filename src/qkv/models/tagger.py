"""The tagger: a model that predicts the class of each word, and the noun that *it* stands for.

It is a bidirectional encoder with two linear layers on top, trained only on the sentences of
grammar.py.

    tagged = load_tagger().tag("the cat chased the mouse because it was hungry")
    tagged.refers_to       {6: 'cat'}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.attention import Visit, unchanged
from qkv.models.grammar import CLASSES, Sentence, all_nouns
from qkv.models.vocabulary import grammar_vocabulary
from qkv.transformer import Edit, Encoder, Places, TransformerShape, handles

IT = ("it", "它")
N_MAX = 11  # the longest sentence of the grammar


def tagger_shape(n_layers: int = 2, heads: int = 2, d_hidden: int = 64) -> TransformerShape:
    """Return the sizes of a tagger: 32 features; `d_hidden` is the width of the feed-forward network, 0 for none."""
    return TransformerShape(
        vocab_size=len(grammar_vocabulary()),
        d_model=32,
        n_layers=n_layers,
        n_heads=heads,
        d_hidden=d_hidden,
        n_max=N_MAX,
        activation=F.relu,
    )


# ── the model ─────────────────────────────────────────────────────────────────────────────────────


class Tagger(nn.Module):
    """An encoder with two linear layers, which predict a class and a noun from the vector of each word.

    Places: those of Encoder, then class_logits and noun_logits.

    Shapes:
        ids (B, n), 0 = padding
    Returns:
        class_logits (B, n, n_classes), noun_logits (B, n, n_nouns)
    """

    def __init__(self, shape: TransformerShape | None = None) -> None:
        super().__init__()
        self.shape = shape or tagger_shape()
        self.vocabulary = grammar_vocabulary()
        self.nouns = all_nouns()
        self.encoder = Encoder(self.shape)
        self.to_classes = nn.Linear(self.shape.d_model, len(CLASSES))
        self.to_nouns = nn.Linear(self.shape.d_model, len(self.nouns))
        nn.init.normal_(self.encoder.embedding.tokens.weight, std=0.3)  # with torch's 1 it learns more slowly
        nn.init.normal_(self.encoder.embedding.positions.table, std=0.3)

    def forward(self, ids: Tensor, visit: Visit = unchanged) -> tuple[Tensor, Tensor]:
        states = self.encoder(ids, ids > 0, visit)  # (B, n, d_model)
        return visit("class_logits", self.to_classes(states)), visit("noun_logits", self.to_nouns(states))

    def tag(
        self,
        sentence: str | Sequence[str],
        *,
        temperature: float | Sequence[float] = 1.0,
        scaled: bool = True,
        positions: bool = True,
        heads: Any = None,
        **parts: Any,
    ) -> Tagged:
        """Predict the word classes and the noun for *it* in one sentence, in English or Chinese.

        The keyword arguments change the model. `temperature` is one number, or one for each layer. Unless `scaled`,
        scores are not divided by √d_head; without `positions`, no position vectors are added. `heads`, booleans
        (layers, heads), says which heads are on. `parts` are the keyword arguments of `switched_off`.

        Raises:
            ValueError: a word is not known, the sentence is too long, or an argument is not valid.
        """
        words = self.vocabulary.split(sentence)
        if len(words) > self.shape.n_max:
            raise ValueError(f"expected at most {self.shape.n_max} words; got {len(words)}")
        places = self.run([words], temperature=temperature, scaled=scaled, positions=positions, heads=heads, **parts)
        return Tagged.read_off(words, self.nouns, {place: tensor.squeeze(0) for place, tensor in places.items()})

    @torch.no_grad()
    def run(self, sentences: Sequence[Sequence[str]], **settings: Any) -> Places:
        """Run sentences (lists of known words) through the model, and return the tensors at all places.

        The settings are the keyword arguments of `tag`. Each tensor has an axis of sentences first.

        Raises:
            KeyError: a word is not known.
            ValueError: there is no sentence, one is too long, or a setting is not valid.
        """
        places = Places()
        places.edits.update(self._edits(places, **settings))
        self(self.vocabulary.encode(sentences), places)
        return places

    def _edits(
        self,
        places: Places,
        temperature: float | Sequence[float] = 1.0,
        scaled: bool = True,
        positions: bool = True,
        heads: Any = None,
        **parts: Any,
    ) -> dict[str, Edit]:
        """Return the edits, by place, that have the effect of these settings of `tag`.

        `places` is that of the same run.
        """
        on = None if heads is None else torch.as_tensor(heads, dtype=torch.bool)
        known = handles(self.shape, temperature=temperature, scaled=scaled, positions=positions, heads=on)
        return known | switched_off(self.shape, places, **parts)


def switched_off(
    shape: TransformerShape,
    places: Places,
    layers: Sequence[bool] | None = None,
    residual: bool = True,
    norm: bool = True,
    feed_forward: bool = True,
) -> dict[str, Edit]:
    """Return the edits that switch layers or parts of all blocks off in a trained model.

    `places` is the Places of the run in which the edits are used.

    layers        one boolean per layer: a layer that is off returns its input; None: all are on
    residual      if False, the input of attention and feed-forward is not added to their output
    norm          if False, attention, feed-forward and the end of the stack get their input without a norm
    feed_forward  if False, the feed-forward network adds nothing

    Raises:
        ValueError: the number of switches in `layers` is not the number of layers.
    """
    layers = [True] * shape.n_layers if layers is None else layers
    if len(layers) != shape.n_layers:
        raise ValueError(f"expected layers ({shape.n_layers},); got ({len(layers)},)")

    def take(place: str) -> Edit:
        return lambda _: places[place]

    edits: dict[str, Edit] = {}
    for layer, on in enumerate(layers):
        if not norm:
            edits[f"{layer}.attention.normed"] = take(f"{layer}.state")
            edits[f"{layer}.feed_forward.normed"] = take(f"{layer}.attention.sum")
        if not residual:
            edits[f"{layer}.attention.sum"] = take(f"{layer}.attention.out")
            edits[f"{layer}.feed_forward.sum"] = take(f"{layer}.feed_forward.out")
        if not feed_forward:
            edits[f"{layer}.feed_forward.sum"] = take(f"{layer}.attention.sum")
        if not on:
            edits[f"{layer}.feed_forward.sum"] = take(f"{layer}.state")
    if not norm:
        edits["normed"] = take(f"{shape.n_layers}.state")
    return edits


# ── predictions and their accuracy ────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Tagged:
    """The predictions of a tagger for a sentence of n words, and all intermediate tensors.

    `refers_to` is {position of *it*: noun}. `weights` (layers, heads, n, n) are the attention
    weights. `places` has each tensor by the name of its place (qkv.transformer lists them),
    such as places["1.attention.q"] (heads, n, d_head).
    """

    words: list[str]
    classes: list[str]
    refers_to: dict[int, str]
    weights: Tensor
    places: dict[str, Tensor]

    @classmethod
    def read_off(cls, words: list[str], nouns: Sequence[str], places: dict[str, Tensor]) -> Tagged:
        """Return the predictions: the likeliest class of each word, and the likeliest noun for each *it*.

        `places` has the tensors of one sentence, without a batch axis.
        """
        classes = [CLASSES[i] for i in places["class_logits"].argmax(-1)]
        chosen = places["noun_logits"].argmax(-1)
        refers_to = {i: nouns[int(chosen[i])] for i, word in enumerate(words) if word in IT}
        layers = [tensor for place, tensor in places.items() if place.endswith("attention.weights")]
        weights = torch.stack(layers) if layers else torch.empty(0, 0, len(words), len(words))
        return cls(words, classes, refers_to, weights, places)


class Accuracy(NamedTuple):
    """Two shares from 0 to 1: of words with the right class, and of occurrences of *it* with the right noun."""

    classes: float
    it: float


def accuracy(tagger: Tagger, sentences: Sequence[Sentence], **settings: Any) -> Accuracy:
    """Return the share of words whose class is right, and of *it* whose noun is right, with the settings of `tag`.

    Without an *it* in the sentences, its share is nan.
    """
    places = tagger.run([sentence.words for sentence in sentences], **settings)
    true_classes, true_nouns = targets(sentences)
    right_classes = places["class_logits"].argmax(-1) == true_classes
    right_nouns = places["noun_logits"].argmax(-1) == true_nouns
    return Accuracy(_share(right_classes, true_classes >= 0), _share(right_nouns, true_nouns >= 0))


def _share(right: Tensor, asked: Tensor) -> float:
    return right[asked].double().mean().item()


def targets(sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
    """Return the true class of each word and the true noun of each *it*, (B, n) each; −1 at all other places.

    A class is its index in CLASSES, and a noun its index in `all_nouns()`.
    """
    n = max(len(sentence.words) for sentence in sentences)
    nouns = {noun: i for i, noun in enumerate(all_nouns())}

    def table(answer: Callable[[Sentence, int], int]) -> Tensor:
        return torch.tensor([[answer(s, i) if i < len(s.words) else -1 for i in range(n)] for s in sentences])

    def noun_of(sentence: Sentence, i: int) -> int:
        return nouns[sentence.refers_to[i]] if i in sentence.refers_to else -1

    return table(lambda s, i: CLASSES.index(s.classes[i])), table(noun_of)


def tagger_loss(
    tagger: Tagger, ids: Tensor, true_classes: Tensor, true_nouns: Tensor, visit: Visit = unchanged
) -> Tensor:
    """Return the sum of two mean cross-entropies, in nats: of the classes of all words, and of the nouns of every *it*.

    A target of −1 does not count. The loss is nan if there is no noun that counts.
    """
    class_logits, noun_logits = tagger(ids, visit)
    return F.cross_entropy(class_logits.mT, true_classes, ignore_index=-1) + F.cross_entropy(
        noun_logits.mT, true_nouns, ignore_index=-1
    )
