"""Measure what the heads of the real model do, over sentences made for it: `python -m benchmarks.real_model_heads`.

The model is all-MiniLM-L6-v2 (real_model/pack.py). Each group of four sentences has two nouns in both orders, and two
adjectives, of which one fits the first noun and one the second. So "always the first noun", "always the nearer noun"
and "always the animal" are each right in half of the sentences. Heads are chosen on one half of the groups. All claims
are measured on the other half, where a template has other nouns and other adjectives. The words of that half were
written last, when the measures were fixed.

It prints tables, and writes src/qkv/models/real_model.json, which the book reads.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load
from tokenizers import BertWordPieceTokenizer
from torch import Tensor
from transformers import BertConfig, BertModel

from qkv.looking import head_scores
from qkv.looking.running import output_projections
from real_model import pack

RESULTS = Path(__file__).resolve().parents[1] / "src" / "qkv" / "models" / "real_model.json"
LAYERS, HEADS = pack.LAYERS, pack.HEADS
PAIRS = 6  # pairs of nouns of a template in each half
SEP = 102
KNOWN = (3, 1)  # layer 4, head 2: found on "The animal did not cross the street because it was too tired / wide."


class Template(NamedTuple):
    """Sentences about two nouns, in both orders, and for each half: nouns, and pairs of adjectives (first, second)."""

    name: str
    orders: tuple[str, str]
    firsts: tuple[str, str]
    seconds: tuple[str, str]
    adjectives: tuple[str, str]


TEMPLATES = [
    Template(
        "cross",
        (
            "The {a} did not cross the {b} because it was too {adj}.",
            "The {b} was not crossed by the {a} because it was too {adj}.",
        ),
        ("animal dog horse cat rabbit fox", "lion deer pig mouse monkey elephant"),
        ("street river bridge field road lake", "forest meadow highway square garden creek"),
        ("tired/wide weak/deep scared/busy", "frightened/noisy ill/broad lazy/muddy"),
    ),
    Template(
        "fit",
        (
            "The {a} did not fit into the {b} because it was too {adj}.",
            "The {b} did not hold the {a} because it was too {adj}.",
        ),
        ("trophy book ball guitar statue lamp", "television bicycle painting sword mirror helmet"),
        ("suitcase box bag drawer cabinet basket", "chest car shed hall boat crate"),
        ("large/small tall/short wide/narrow", "massive/low bulky/shallow broad/flat"),
    ),
    Template(
        "eat",
        ("The {a} ate the {b} because it was {adj}.", "The {b} was eaten by the {a} because it was {adj}."),
        ("dog cat horse bear mouse rabbit", "sheep duck tiger monkey rat lion"),
        ("apple bread cake fish corn cheese", "banana potato egg rice sandwich grass"),
        ("hungry/fresh greedy/sweet starving/ripe", "bored/soft thirsty/juicy eager/raw"),
    ),
    Template(
        "chase",
        ("The {a} chased the {b} because it was {adj}.", "The {b} was chased by the {a} because it was {adj}."),
        ("cat dog fox wolf lion bear", "hound owl bull falcon dragon panther"),
        ("mouse rabbit duck sheep deer goat", "rat chicken turkey lamb squirrel turtle"),
        ("hungry/slow angry/weak fierce/lost", "cruel/wounded furious/scared violent/helpless"),
    ),
]


class Group(NamedTuple):
    """Two sentences that differ only in the adjective, which says whether *it* is the first or the second noun."""

    template: str
    order: int
    nouns: tuple[str, str]
    adjectives: tuple[str, str]
    texts: tuple[str, str]


def groups(half: int) -> list[Group]:
    """Return the groups of a half (0 or 1), the same ones at each call.

    Each half has its own nouns, in PAIRS pairs and both orders, and its own adjectives.
    """
    made = []
    for template in TEMPLATES:
        firsts, seconds = template.firsts[half].split(), template.seconds[half].split()
        pairs = random.Random(0).sample(list(product(firsts, seconds)), PAIRS)
        for (a, b), pair, order in product(pairs, template.adjectives[half].split(), (0, 1)):
            adjectives = (pair.split("/")[0], pair.split("/")[1])
            texts = [template.orders[order].format(a=a, b=b, adj=adjective) for adjective in adjectives]
            made.append(Group(template.name, order, (a, b), adjectives, (texts[0], texts[1])))
    return made


# ── the model ─────────────────────────────────────────────────────────────────────────────────────


class Model:
    """The real model: weights and states of a sentence, with changes to the output of heads.

    Untrained, its weights are random, from the seed.
    """

    def __init__(self, is_trained: bool = True, seed: int = 0) -> None:
        files = pack.package_files()
        torch.manual_seed(seed)
        sizes = {"hidden_size": pack.WIDTH, "num_hidden_layers": LAYERS, "intermediate_size": 1536}
        config = BertConfig(**sizes, attn_implementation="eager")
        self.net = BertModel(config, add_pooling_layer=False).eval()
        if is_trained:
            self.net.load_state_dict(load(files["model.safetensors"]), strict=False)
        words = files["vocab.txt"].decode().splitlines()
        self.tokenizer = BertWordPieceTokenizer({word: i for i, word in enumerate(words)}, lowercase=True)
        self.mixers = output_projections(self.net)["self"]

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def at(self, text: str, word: str) -> int:
        """Return the position of a word in the tokens of a text.

        Raises:
            ValueError: it is not there exactly once as one word piece.
        """
        tokens = self.tokenizer.encode(text).tokens
        if tokens.count(word) != 1:
            raise ValueError(f"{word} is not one piece of: {text}")
        return int(tokens.index(word))

    def run(self, text: str, changes: dict[int, Callable[[Tensor], Tensor]] | None = None) -> Run:
        """Run a sentence, and return its weights, the heads' outputs and the last states.

        `changes` edits the heads' outputs (n, H, d_head) of some layers, by the layer from 0.
        """
        outputs: dict[int, Tensor] = {}

        def hook(layer: int) -> Any:
            def edit(module: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
                heads = inputs[0].unflatten(-1, (HEADS, -1))[0]
                if changes and layer in changes:
                    heads = changes[layer](heads.clone())
                outputs[layer] = heads
                return (heads.flatten(1)[None],)

            return edit

        handles = [mixer.register_forward_pre_hook(hook(layer)) for layer, mixer in enumerate(self.mixers)]
        with torch.no_grad():
            out = self.net(torch.tensor([self.ids(text)]), output_attentions=True)
        for handle in handles:
            handle.remove()
        return Run(torch.cat(out.attentions), outputs, out.last_hidden_state[0])


class Run(NamedTuple):
    weights: Tensor  # (layers, heads, n, n)
    heads: dict[int, Tensor]  # of each layer (n, H, d_head)
    states: Tensor  # (n, width)


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return the mean of numbers, their standard deviation (that of a population), and how many they are."""
    found = list(values)
    return {"mean": statistics.fmean(found), "sd": statistics.pstdev(found), "n": len(found)}


# ── what every head does ──────────────────────────────────────────────────────────────────────────


def scores_of(model: Model, texts: list[str]) -> dict[str, Tensor]:
    """Return each score of each head on each text: (texts, layers, heads)."""
    found = [head_scores(model.run(text).weights, torch.tensor(model.ids(text)), frozenset({SEP})) for text in texts]
    return {name: torch.stack([each[name] for each in found]) for name in found[0]}


def shuffled(text: str, seed: int) -> str:
    words = text.rstrip(".").split()
    random.Random(seed).shuffle(words)
    return " ".join(words) + "."


def measure_scores(model: Model, chosen_on: list[Group], claimed_on: list[Group]) -> dict[str, Any]:
    """Choose the head with the largest score of each kind on `chosen_on`, and measure it on `claimed_on`.

    The controls are the same sentences with their words shuffled, and untrained models. Return the measurements by the
    kind of score; in them, layers and heads count from 1.
    """
    texts = [[text for group in half for text in group.texts] for half in (chosen_on, claimed_on)]
    first, second = (scores_of(model, each) for each in texts)
    mixed = scores_of(model, [shuffled(text, i) for i, text in enumerate(texts[1])])
    untrained = [scores_of(Model(is_trained=False, seed=seed), texts[1][:20]) for seed in range(3)]
    found = {}
    for name in ("previous", "next", "same", "first", "separator", "uniform"):
        layer, head = divmod(int(first[name].mean(0).argmax()), HEADS)
        found[name] = {
            "head": [layer + 1, head + 1],
            "score": spread(second[name][:, layer, head].tolist()),
            "all heads": spread(second[name].mean(0).flatten().tolist()),
            "words shuffled": spread(mixed[name][:, layer, head].tolist()),
            "untrained, best head": spread(float(each[name].mean(0).max()) for each in untrained),
            "heads above 0.5": int((second[name].mean(0) > 0.5).sum()),
        }
    return found


# ── which noun does *it* look at? ─────────────────────────────────────────────────────────────────


class Looks(NamedTuple):
    """The weights of *it* on the two nouns, for each group, adjective, noun, layer and head."""

    groups: list[Group]
    weights: Tensor  # (groups, 2, 2, layers, heads)


def looks_of(model: Model, half: list[Group]) -> Looks:
    """Return the weights of *it* on each noun, for each text of these groups, by layer and head."""
    found = []
    for group in half:
        both = []
        for text in group.texts:
            at, weights = model.at(text, "it"), model.run(text).weights
            both.append(torch.stack([weights[:, :, at, model.at(text, noun)] for noun in group.nouns]))
        found.append(torch.stack(both))
    return Looks(half, torch.stack(found))


def moved(looks: Looks) -> Tensor:
    """Return how far each head moves to the right noun when the adjective changes: (groups, layers, heads), −2 to 2."""
    lead = looks.weights[:, :, 0] - looks.weights[:, :, 1]  # of the first noun, for both adjectives
    return lead[:, 0] - lead[:, 1]


def right(looks: Looks) -> Tensor:
    """Return for each sentence whether the right noun has more weight than the other: (groups, 2, layers, heads)."""
    lead = looks.weights[:, :, 0] - looks.weights[:, :, 1]
    return torch.stack([lead[:, 0] > 0, lead[:, 1] < 0], dim=1).float()


def of_template(looks: Looks, name: str) -> Looks:
    kept = [i for i, group in enumerate(looks.groups) if group.template == name]
    return Looks([looks.groups[i] for i in kept], looks.weights[kept])


def measure_it(chosen_on: Looks, claimed_on: Looks, head_before: tuple[int, int]) -> dict[str, Any]:
    """Measure three kinds of heads on the second half, `claimed_on`, over all sentences and for each template.

    chosen   the head that moves most to the right noun on the first half, `chosen_on`
    known    `head_before`, (layer, head) from 0: it was found on one sentence before these were made
    all      the spread over all heads: what a random head does

    Return the measurements by template, and those over all sentences as "all".
    """
    found: dict[str, Any] = {}
    for name in ["all", *(template.name for template in TEMPLATES)]:
        first, second = (looks if name == "all" else of_template(looks, name) for looks in (chosen_on, claimed_on))
        layer, head = divmod(int(moved(first).mean(0).argmax()), HEADS)
        found[name] = {
            "sentences": 2 * len(second.groups),
            "chosen": about_head(second, layer, head),
            "known": about_head(second, *head_before),
            "all": spread((moved(second) > 0).float().mean(0).flatten().tolist()),
            "all, by how much": spread(moved(second).mean(0).flatten().tolist()),
        }
    return found


def about_head(looks: Looks, layer: int, head: int) -> dict[str, Any]:
    """Return how one head moves when the adjective changes, and where *it* looks: shares, weights and a rank.

    `layer` and `head` count from 0, and in the result from 1.
    """
    movement = moved(looks)
    means = movement.mean(0).flatten()
    of_order = [[i for i, group in enumerate(looks.groups) if group.order == order] for order in (0, 1)]
    return {
        "head": [layer + 1, head + 1],
        "moves to the right noun": float((movement[:, layer, head] > 0).float().mean()),
        "each order": [float((movement[kept][:, layer, head] > 0).float().mean()) for kept in of_order],
        "by how much": spread(movement[:, layer, head].tolist()),
        "heads that move more": int((means > means[layer * HEADS + head]).sum()),
        "right noun has more": float(right(looks)[:, :, layer, head].mean()),
        "weight on both nouns": float(looks.weights[:, :, :, layer, head].sum(2).mean()),
    }


def mean_weights(looks: Looks, layer: int, head: int) -> dict[str, Any]:
    """Return the mean weights of *it* in one head: on the first and the second noun, for both orders and adjectives.

    `layer` and `head` count from 0. The result is by template and order, and in these by adjective.
    """
    found = {}
    for template, order in product(TEMPLATES, (0, 1)):
        of = of_template(looks, template.name)
        kept = [i for i, group in enumerate(of.groups) if group.order == order]
        found[f"{template.name}, order {order + 1}"] = {
            f"adjective of noun {adjective + 1}": [
                float(of.weights[kept][:, adjective, noun, layer, head].mean()) for noun in (0, 1)
            ]
            for adjective in (0, 1)
        }
    return found


# ── does anything later depend on it? ─────────────────────────────────────────────────────────────


def means_of(model: Model, half: list[Group]) -> Tensor:
    """Return the mean output of each head at *it*: (layers, H, d_head)."""
    rows = []
    for group in half:
        for text in group.texts:
            heads, at = model.run(text).heads, model.at(text, "it")
            rows.append(torch.stack([heads[layer][at] for layer in range(LAYERS)]))
    return torch.stack(rows).mean(0)


def reading(model: Model, states: Tensor, group: Group, which: int, readings: dict[str, Tensor]) -> float:
    """Return how much nearer the sentence's vector is to the right reading than to the wrong one (cosines).

    A reading is the sentence "The NOUN was ADJECTIVE." `states` are those of text number `which` of the group.
    `readings` has the vectors of readings that are known, and gets new ones.
    """
    vector = states.mean(0)
    adjective = group.adjectives[which]
    near = []
    for noun in group.nouns:
        text = f"The {noun} was {adjective}."
        if text not in readings:
            readings[text] = model.run(text).states.mean(0)
        near.append(float(torch.cosine_similarity(vector, readings[text], dim=0)))
    return near[which] - near[1 - which]


def measure_interventions(model: Model, half: list[Group], means: Tensor, layer: int, head: int) -> dict[str, Any]:
    """Change one head's output at *it*, and every other head's of its layer as a control; return what moves at the end.

    The output becomes 0 ("off"), its mean, or that in the sentence with the other adjective ("patched"). `layer` and
    `head` count from 0. The result has each kind of change, by "chosen" and "others".

    to the partner   share of the way that the last state of *it* goes to that of the sentence with the other adjective
    state            1 − cosine of the last state of *it* with that of the whole model
    reading          change of the preference for the right reading
    """
    kinds = ("off", "mean", "patched")
    rows: dict[str, dict[str, list[list[float]]]] = {kind: {"chosen": [], "others": []} for kind in kinds}
    prefers, readings = [], {}
    for group in half:
        runs = [model.run(text) for text in group.texts]
        ats = [model.at(text, "it") for text in group.texts]
        for which, text in enumerate(group.texts):
            own, partner = runs[which].states[ats[which]], runs[1 - which].states[ats[1 - which]]
            way = partner - own
            base = reading(model, runs[which].states, group, which, readings)
            prefers.append(base)
            sources = {
                "off": torch.zeros(HEADS, means.shape[-1]),
                "mean": means[layer],
                "patched": runs[1 - which].heads[layer][ats[1 - which]],
            }
            for kind, each in product(kinds, range(HEADS)):
                states = model.run(text, {layer: replacing(ats[which], each, sources[kind][each])}).states
                change = states[ats[which]] - own
                rows[kind]["chosen" if each == head else "others"].append(
                    [
                        float(change @ way / (way @ way)),
                        float(1 - torch.cosine_similarity(states[ats[which]], own, dim=0)),
                        reading(model, states, group, which, readings) - base,
                    ]
                )
    names = ("to the partner", "state", "reading")
    found: dict[str, Any] = {
        kind: {who: {name: spread(row[i] for row in part) for i, name in enumerate(names)} for who, part in of.items()}
        for kind, of in rows.items()
    }
    found["right reading nearer"] = statistics.fmean(float(each > 0) for each in prefers)
    found["preference"] = spread(prefers)
    return found


def replacing(at: int, head: int, row: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a change, for `Model.run`, that replaces the output of one head at one position by this row.

    It writes into the tensor that it gets.
    """

    def change(heads: Tensor) -> Tensor:
        heads[at, head] = row
        return heads

    return change


def reading_without_the_sentence(model: Model, half: list[Group]) -> float:
    """Return how often "It was too ADJECTIVE." alone is nearer to the right reading: the control of the readings."""
    readings: dict[str, Tensor] = {}
    found = []
    for group in half:
        for which, adjective in enumerate(group.adjectives):
            states = model.run(f"It was too {adjective}.").states
            found.append(float(reading(model, states, group, which, readings) > 0))
    return statistics.fmean(found)


def measure() -> dict[str, Any]:
    """Run all measurements, and return their results by name. Torch then uses one thread."""
    torch.set_num_threads(1)  # the sentences are short: two threads would wait for each other
    model = Model()
    halves = [groups(0), groups(1)]
    looks = [looks_of(model, half) for half in halves]
    layer, head = KNOWN
    means = means_of(model, halves[0])
    return {
        "sentences": [2 * len(half) for half in halves],
        "scores": measure_scores(model, halves[0], halves[1]),
        "it": measure_it(looks[0], looks[1], KNOWN),
        "known head": mean_weights(looks[1], layer, head),
        "interventions": {
            "head": [layer + 1, head + 1],
            **measure_interventions(model, halves[1][::3], means, layer, head),
            "right reading nearer, without the sentence": reading_without_the_sentence(model, halves[1]),
        },
    }


def rounded(value: Any) -> Any:
    """Return nested data with floats rounded to four decimals."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def main() -> None:
    """Measure, write the results into RESULTS, rounded to four decimals, and print them."""
    found = rounded(measure())
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
