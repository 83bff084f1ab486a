"""Controls that take too long for a chapter: a command measures them, and the chapters print what it stored.

    python -m qkv.models.controls     trains all models again (some minutes), and writes controls.json

A control is an experiment in which only the suspected cause of a result is taken away. Each is repeated with the seeds
in SEEDS. All shares are of new sentences with *it*.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from qkv.attention import MultiHeadAttention, Visit, unchanged
from qkv.interpretability import runner
from qkv.models.grammar import GRAMMAR, Sentence, read
from qkv.models.repeater import Repeater, draw_sequences, repeater_scores
from qkv.models.tagger import Tagger, accuracy, tagger_loss, tagger_shape, targets
from qkv.models.training import (
    BATCH,
    N_SENTENCES,
    REPEATER_ON_THE_PAGE,
    TAGGER_ON_THE_PAGE,
    descend,
    one_thread,
    sentences,
    train_repeater,
    train_tagger,
)
from qkv.transformer import Edit, Places, handles

SEEDS = (1, 2, 3)
TEMPERATURES = (0.1, 0.3, 1.0, 3.0, 10.0)
STEPS = (800, 2400)  # as many as the course's tagger has, and three times as many: what learns later is not unable


@cache
def tagger(seed: int, heads: int = 2, temperature: float = 1.0, steps: int = STEPS[0]) -> Tagger:
    """Return a tagger trained with these settings; called with the same ones again, return the same object."""
    return train_tagger(steps, seed, heads=heads, temperature=temperature)


def heads(seed: int) -> dict[str, float]:
    """Return the share of *it* that is right, with one head and with two heads in each layer."""
    new = sentences("new", 1000, seed=1)
    return {str(n): round(accuracy(tagger(seed, heads=n), new).it, 4) for n in (1, 2)}


def equal_weights(seed: int) -> dict[str, float]:
    """Return the share of *it* right, by the number of training steps, of a tagger with equal weights on all words.

    The weights are equal in training and in the test.
    """
    no_choice = 1e6  # at this temperature, all weights of a row are equal
    new = sentences("new", 1000, seed=1)
    taggers = {n: tagger(seed, temperature=no_choice, steps=n) for n in STEPS}
    return {str(n): round(accuracy(trained, new, temperature=no_choice).it, 4) for n, trained in taggers.items()}


class RecurrentTagger(Tagger):
    """A tagger that reads with a GRU of two layers in both directions, in place of attention.

    It has 21,630 parameters; the tagger has 22,310.
    """

    def __init__(self, width: int = 22) -> None:
        super().__init__()
        del self.encoder
        d_model = self.shape.d_model
        self.words = nn.Embedding(len(self.vocabulary), d_model, padding_idx=0)
        nn.init.normal_(self.words.weight, std=0.3)
        self.gru = nn.GRU(d_model, width, num_layers=2, batch_first=True, bidirectional=True)
        self.to_classes = nn.Linear(2 * width, self.to_classes.out_features)
        self.to_nouns = nn.Linear(2 * width, self.to_nouns.out_features)

    def forward(self, ids: Tensor, visit: Visit = unchanged) -> tuple[Tensor, Tensor]:
        """Return the logits of classes and of nouns, as `Tagger` does; the GRU does not read the padding.

        Both pass through `visit`, as class_logits and noun_logits.
        """
        lengths = (ids > 0).sum(dim=1)
        packed = nn.utils.rnn.pack_padded_sequence(self.words(ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=ids.shape[1])
        return visit("class_logits", self.to_classes(states)), visit("noun_logits", self.to_nouns(states))


def recurrent(seed: int, rate: float = 2e-2) -> float:
    """Train a RecurrentTagger on the tagger's sentences, for as many steps. Return the share of *it* right.

    The rate is the best for it of 0.005, 0.01 (the tagger's) and 0.02.
    """
    return round(accuracy(_trained(RecurrentTagger, seed, rate), sentences("new", 1000, seed=1)).it, 4)


def one_matrix(seed: int) -> dict[str, float]:
    """Return the share of *it* right, by the number of training steps, of a tagger with W_K = W_Q in each layer."""

    def with_one_matrix() -> Tagger:
        model = Tagger()
        for layer in model.modules():
            if isinstance(layer, MultiHeadAttention):
                layer.w_k = layer.w_q
        return model

    new = sentences("new", 1000, seed=1)
    taggers = {n: _trained(with_one_matrix, seed, rate=1e-2, steps=n) for n in STEPS}
    return {str(n): round(accuracy(trained, new).it, 4) for n, trained in taggers.items()}


@one_thread()
def _trained(make: Callable[[], Tagger], seed: int, rate: float, steps: int = STEPS[0]) -> Tagger:
    """Make a tagger of another kind, train it on the tagger's sentences, and return it.

    Its first weights and the batches come from the seed; the CPU's global random state does not change.
    """
    drawn = sentences("training", N_SENTENCES, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make()
    ids, (classes, nouns) = model.vocabulary.encode([s.words for s in drawn]), targets(drawn)

    def loss() -> Tensor:
        chosen = torch.randint(len(ids), (BATCH,), generator=generator)
        return tagger_loss(model, ids[chosen], classes[chosen], nouns[chosen])

    descend(model, loss, steps=steps, learning_rate=rate)
    return model


def by_noun() -> dict[str, list[Sentence]]:
    """Return new sentences with *it*, in two groups: "first" if *it* is their first noun, "second" if their second."""
    groups: dict[str, list[Sentence]] = {"first": [], "second": []}
    for s in sentences("new", 1000, seed=1):
        if s.refers_to:
            first_noun = s.words[s.classes.index("noun")]
            groups["first" if first_noun in s.refers_to.values() else "second"].append(s)
    return groups


def unscaled(seed: int) -> dict[str, float]:
    """Return the shares by noun of a tagger that was trained with the division and answers without it."""
    return without_division(tagger(seed))


def without_division(tagger: Tagger) -> dict[str, float]:
    """Return the shares of `unscaled` for one tagger."""
    return {noun: round(accuracy(tagger, group, scaled=False).it, 4) for noun, group in by_noun().items()}


def heads_off(seed: int) -> list[dict[str, float]]:
    """Return, for each head switched off, the share of *it* right, by whether *it* is the "first" or the "second" noun.

    The heads are 1 and 2 of layer 1, then those of layer 2.
    """
    found = []
    for off in range(4):
        on = (torch.arange(4) != off).reshape(2, 2)
        found.append({noun: round(accuracy(tagger(seed), group, heads=on).it, 4) for noun, group in by_noun().items()})
    return found


def layer_2_off(seed: int) -> dict[str, float]:
    """Return the share of *it* right with all heads of layer 2 off, so that *it* reads nothing there.

    It is given by whether *it* is the "first" or the "second" noun, of English sentences.
    """
    on = torch.tensor([[True, True], [False, False]])
    groups = {noun: [s for s in group if s.language == "english"] for noun, group in by_noun().items()}
    return {noun: round(accuracy(tagger(seed), group, heads=on).it, 4) for noun, group in groups.items()}


def layer_2_off_again(seed: int) -> dict[str, float]:
    """Return the shares of `layer_2_off` for three more taggers, because the first three differ."""
    return layer_2_off(40 + seed)


def temperatures(seed: int) -> dict[str, list[float]]:
    """Return the shares of *it* right at each of TEMPERATURES, by the temperature of the training: 0.3, 1 or 3."""
    new = sentences("new", 500, seed=1)
    return {
        str(trained): [
            round(accuracy(tagger(seed, temperature=trained), new, temperature=at).it, 4) for at in TEMPERATURES
        ]
        for trained in (0.3, 1.0, 3.0)
    }


def temperature_by_layer(seed: int) -> dict[str, dict[str, float]]:
    """Return `heated` for a tagger from another start."""
    return heated(tagger(seed))


@torch.no_grad()
def heated(tagger: Tagger) -> dict[str, dict[str, float]]:
    """Return the shares of *it* right at T = 3 and at T = 10: in "both" layers, or in "layer 1" or "layer 2" alone.

    In "q", "k" and "v", T is raised in layer 1 alone, and the queries, keys or values of layer 2 come from a run at 1.
    """
    new = sentences("new", 1000, seed=1)
    ids, (_, nouns) = tagger.vocabulary.encode([s.words for s in new]), targets(new)
    clean = Places()
    tagger(ids, clean)

    def share(of_layers: tuple[float, float], *from_clean: str) -> float:
        kept: dict[str, Edit] = {place: partial(_instead, clean[place]) for place in from_clean}
        found = tagger(ids, Places(handles(tagger.shape, of_layers) | kept))[1].argmax(dim=-1)
        return round((found == nouns)[nouns >= 0].double().mean().item(), 4)

    return {
        str(t): {"both": share((t, t)), "layer 1": share((t, 1)), "layer 2": share((1, t))}
        | {name: share((t, 1), f"1.attention.{name}") for name in "qkv"}
        for t in (3, 10)
    }


def _instead(of_clean: Tensor, _: Tensor) -> Tensor:
    return of_clean


def query_or_keys(seed: int) -> dict[str, float]:
    """Return how often *it* turns to the other noun when only its query, or only the keys, come from a new sentence.

    The two sentences differ in their last adjective, which makes *it* the first noun or the second; it turns both ways.
    Both heads of the last layer count.
    """
    return turned(tagger(seed))


def turned(tagger: Tagger) -> dict[str, float]:
    """Return the shares of `query_or_keys` for one tagger: with the new "query", the new "keys", and "both"."""
    counts = {"query": 0.0, "keys": 0.0, "both": 0.0}
    pairs = [(noun, pair) for noun in (1, 4) for pair in pairs_of_sentences(noun)]  # the nouns are words 2 and 5
    for noun, pair in pairs:
        places = [tagger.tag(words).places for words in pair]
        q, k = ([place[f"1.attention.{name}"] for place in places] for name in ("q", "k"))  # (H, n, d_head) each
        for name, query, keys in (("query", q[1], k[0]), ("keys", q[0], k[1]), ("both", q[1], k[1])):
            scores = torch.einsum("hd,hnd->hn", query[:, 6], keys)  # *it* is the seventh word
            counts[name] += (scores[:, 5 - noun] > scores[:, noun]).double().mean().item()
    return {name: round(count / len(pairs), 4) for name, count in counts.items()}


def pairs_of_sentences(noun: int) -> list[tuple[list[str], list[str]]]:
    """Return pairs of sentences of nine words that differ in the last.

    *it* is the noun at place `noun` (1 or 4) in the first of a pair, and the other noun in the second.
    """
    drawn = [s for s in sentences("new", 1000, seed=1) if s.language == "english" and s.it == 6]
    ending = {s.words[2]: s.words[8] for s in drawn if s.noun != noun}  # by verb
    return [([*s.words], [*s.words[:8], ending[s.words[2]]]) for s in drawn if s.noun == noun and s.words[2] in ending]


def steps_of_one_layer(seed: int) -> dict[str, float]:
    """Return the share of *it* right of a tagger of one layer after 500 steps, as TrainLab takes, and after 3000."""
    new = sentences("new", 1000, 1, "english", only_it=True)
    taggers = {n: train_tagger(seed=seed, n_layers=1, **(TAGGER_ON_THE_PAGE | {"steps": n})) for n in (500, 3000)}
    return {str(n): round(accuracy(trained, new).it, 4) for n, trained in taggers.items()}


def trained_without(seed: int) -> dict[str, dict[str, float]]:
    """Return what taggers get right that were trained, and are tested, without one part.

    By the part ("nothing", "feed_forward", "residual"): the shares of "classes" and of "it" right, and the "cosine" of
    two words after the last layer: its mean over all pairs of words of 100 new English sentences with *it*.
    """
    new = sentences("new", 1000, seed=1)
    english = [s for s in new if s.it and s.language == "english"][:100]
    found = {}
    for part in ("nothing", "feed_forward", "residual"):
        left_out: dict[str, Any] = {} if part == "nothing" else {part: False}
        trained = train_tagger(STEPS[0], seed, **left_out)
        tested = left_out if part == "residual" else {}  # without a network, there is none to switch off
        right = accuracy(trained, new, **tested)
        alike = [cosine(trained.tag(s.words, **tested).places["2.state"]) for s in english]
        found[part] = {"classes": right.classes, "it": right.it, "cosine": sum(alike) / len(alike)}
    return {part: {name: round(x, 4) for name, x in numbers.items()} for part, numbers in found.items()}


def cosine(x: Tensor) -> float:
    """Return the mean cosine over all pairs of rows of x (n, d)."""
    directions = nn.functional.normalize(x, dim=-1)
    return (directions @ directions.mT)[~torch.eye(len(x), dtype=torch.bool)].mean().item()


def wide_layer(seed: int) -> float:
    """Return the share of *it* right of a tagger of one layer with twice the width and four heads, after 800 steps.

    It has 60,390 parameters; the tagger of two layers, with as many steps, has 22,310.
    """

    def wide() -> Tagger:
        return Tagger(replace(tagger_shape(n_layers=1, heads=4, d_hidden=256), d_model=64))

    return round(accuracy(_trained(wide, seed, rate=1e-2), sentences("new", 1000, seed=1)).it, 4)


def patched(seed: int) -> dict[str, dict[str, int]]:
    """Return `answers_patched` for a tagger from another start."""
    return {language: answers_patched(tagger(seed), language) for language in ("english", "chinese")}


def verbs_patched(seed: int) -> dict[str, dict[str, int]]:
    """Return `answers_patched` for sentences that differ in their verb."""
    return {language: answers_patched(tagger(seed), language, "verb") for language in ("english", "chinese")}


@torch.no_grad()
def answers_patched(tagger: Tagger, language: str, differs: str = "adjective") -> dict[str, int]:
    """Return how many of at most 100 answers change if vectors after layer 1 come from a sentence with another word.

    `differs` says which word differs, "adjective" or "verb"; the tagger answers differently in the two sentences. The
    vectors are those of the "first" noun, of the "second" noun, of "both" nouns, and of all "others". With another
    verb, also those of "both and verb".
    """
    run, counts = runner(tagger.encoder), {"first": 0, "second": 0, "both": 0, "others": 0}
    counts |= {"both and verb": 0} if differs == "verb" else {}
    asked = [s for s in sentences("new", 1500, seed=1) if s.it and s.language == language]
    for s, other in pairs_in(tagger, asked, differs)[:100]:
        ids, other_ids = tagger.vocabulary.encode([list(s.words), other])
        own = run(ids)[1][1]  # the state after layer 1
        nouns = [i for i, name in enumerate(s.classes) if name == "noun"]
        others = [i for i in range(len(other)) if i not in nouns]
        chosen_from = [tagger.nouns.index(s.words[i]) for i in nouns]
        groups = (nouns[:1], nouns[1:], nouns, others, [*nouns, s.classes.index("verb")])
        for name, places in zip(counts, groups, strict=False):
            last = run(other_ids, partial(_replaced, own, places))[0]
            logits = tagger.to_nouns(last)[s.it, chosen_from]
            counts[name] += int(nouns[int(logits.argmax())] == s.noun)
    return counts


def _replaced(own: Tensor, places: list[int], layer: int, state: Tensor) -> Tensor:
    """Return the state of a layer; after layer 1, its rows at these places come from `own`."""
    return state.index_copy(0, torch.tensor(places), own[places]) if layer == 1 else state


def pairs_in(tagger: Tagger, asked: list[Sentence], differs: str) -> list[tuple[Sentence, list[str]]]:
    """Return sentences, each with its words but for an adjective or verb with which the tagger chooses the other noun.

    `differs` says which word is exchanged. Of the first 150 sentences, those without such a word are left out.
    """

    def place(s: Sentence) -> int:
        return s.classes.index("verb") if differs == "verb" else len(s.words) - 1

    pairs, candidates = [], sorted({s.words[place(s)] for s in asked})
    for s in asked[:150]:
        changed = ([*s.words[: place(s)], word, *s.words[place(s) + 1 :]] for word in candidates)
        other = next((words for words in changed if tagger.tag(words).refers_to != s.refers_to), None)
        if other is not None:
            pairs.append((s, other))
    return pairs


def decisions_patched(seed: int) -> dict[str, dict[str, int]]:
    """Return `decided` for a tagger from another start."""
    return {language: decided(tagger(seed), language) for language in ("english", "chinese")}


@torch.no_grad()
def decided(tagger: Tagger, language: str, n: int = 50) -> dict[str, int]:
    """Return how often nouns from a sentence with another verb and adjective bring that sentence's decision with them.

    Both vectors of the nouns come from it after layer 1. In the n pairs of "turns", its decision changes the answer,
    and its adjective alone, with the own verb, would not. In the n pairs of "stays", it is the other way round.
    """
    run, random, counts, seen = runner(tagger.encoder), Random(0), {"turns": 0, "stays": 0}, {"turns": 0, "stays": 0}
    asked = (s for s in sentences("new", 1500, seed=1) if s.it and s.language == language)
    for s in takewhile(lambda _: min(seen.values()) < n, asked):
        for case, donor in donors(tagger, s, random).items():
            if seen[case] < n:
                nouns = [i for i, name in enumerate(s.classes) if name == "noun"]
                ids, other_ids = tagger.vocabulary.encode([list(s.words), list(donor.words)])
                last = run(ids, partial(_replaced, run(other_ids)[1][1], nouns))[0]
                logits = tagger.to_nouns(last)[s.it, [tagger.nouns.index(s.words[i]) for i in nouns]]
                counts[case] += int(nouns[int(logits.argmax())] == donor.noun)
                seen[case] += 1
    return counts


def donors(tagger: Tagger, s: Sentence, random: Random) -> dict[str, Sentence]:
    """Return at most one sentence for each case of `decided`: s with another verb and adjective, drawn at random.

    Its decision is not what its adjective would mean after the verb of s. The tagger is right in s and in the other.
    """
    found: dict[str, Sentence] = {}
    verb, acts = s.classes.index("verb"), GRAMMAR[s.language]["acts"]

    def with_words(act: str, reason: str) -> Sentence | None:
        return read([*s.words[:verb], act, *s.words[verb + 1 : -1], reason])

    own = [reason for side in acts[s.words[verb]].values() for reason in side if reason != s.words[-1]]
    drawn = [(act, reason) for act in acts for reason in own if act != s.words[verb]]
    for act, reason in random.sample(drawn, len(drawn)):
        donor, mixed = with_words(act, reason), with_words(s.words[verb], reason)
        if donor and mixed and donor.noun is not None and donor.noun != mixed.noun:
            case = "stays" if donor.noun == s.noun else "turns"
            if case not in found and all(tagger.tag(each.words).refers_to == each.refers_to for each in (s, donor)):
                found[case] = donor
    return found


def start_or_steps(seed: int) -> dict[str, float]:
    """Return the surprise of two repeaters in the later periods, in nats: is it the start or the steps that do harm?

    Both are trained without the division by √d_head. With "steps ÷ 2", each step of W_Q and W_K is half as long; with
    "start ÷ 2", only their start is half as large.
    """

    def matrices(repeater: Repeater) -> list[Tensor]:
        return [p for name, p in repeater.named_parameters() if ".w_q." in name or ".w_k." in name]

    before: list[Tensor] = []

    @torch.no_grad()
    def halve_steps(step: int, repeater: Repeater) -> None:
        if step == 0:
            before.extend(p.clone() for p in matrices(repeater))
        for p, old in zip(matrices(repeater), before, strict=True):
            old.copy_(p.lerp_(old, 0.5))

    @torch.no_grad()
    def halve_start(step: int, repeater: Repeater) -> None:
        for p in matrices(repeater) if step == 0 else []:
            p.div_(2)

    found = {}
    for name, after_step in (("steps ÷ 2", halve_steps), ("start ÷ 2", halve_start)):
        trained = train_repeater(seed=seed, scaled=False, after_step=after_step, **REPEATER_ON_THE_PAGE)
        places = Places(handles(trained.shape, scaled=False))
        drawn = draw_sequences(256, torch.Generator().manual_seed(1000 + seed))
        found[name] = round(repeater_scores(trained, *drawn, places).repeated, 4)
    return found


CONTROLS: dict[str, Callable[[int], Any]] = {
    "equal_weights": equal_weights,
    "heads": heads,
    "recurrent": recurrent,
    "temperatures": temperatures,
    "temperature_by_layer": temperature_by_layer,
    "query_or_keys": query_or_keys,
    "steps_of_one_layer": steps_of_one_layer,
    "wide_layer": wide_layer,
    "trained_without": trained_without,
    "patched": patched,
    "verbs_patched": verbs_patched,
    "decisions_patched": decisions_patched,
    "one_matrix": one_matrix,
    "unscaled": unscaled,
    "heads_off": heads_off,
    "layer_2_off": layer_2_off,
    "layer_2_off_again": layer_2_off_again,
    "start_or_steps": start_or_steps,
}


def control(name: str) -> list[Any]:
    """Return what was measured for one control, with one entry for each seed.

    Raises:
        KeyError: there is no control of this name.
    """
    stored = json.loads(resources.files("qkv.models").joinpath("controls.json").read_text(encoding="utf-8"))
    found: list[Any] = stored[name]
    return found


def main() -> None:
    """Measure all controls with each of the seeds (this trains for some minutes), and write controls.json."""
    measured = {name: [measure(seed) for seed in SEEDS] for name, measure in CONTROLS.items()}
    lines = json.dumps(measured, indent=1)
    Path(__file__).with_suffix(".json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
