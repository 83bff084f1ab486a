"""Training of the tagger, the repeater and the writer. All random numbers come from one seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.attention import Visit, unchanged
from qkv.models.grammar import Sentence, draw_from, read
from qkv.models.repeater import Repeater, draw_sequences, repeater_scores, repeater_shape
from qkv.models.tagger import Tagger, accuracy, switched_off, tagger_loss, tagger_shape, targets
from qkv.models.weights import (
    Model,
    checkpoint_steps,
    load_checkpoint,
    pack,
    round_weights,
    save,
    save_weights,
    stack_steps,
)
from qkv.models.writer import Writer, with_ends
from qkv.transformer import Places, TransformerShape, handles, next_token_loss

N_SENTENCES = 20_000
BATCH = 128
CHECKPOINTS = (0, 100, 150, 200, 225, 250, 275, 300, 350, 400, 500, 700, 1000)  # steps; the last step is stored too


def sentences(
    part: str, n: int, seed: int, language: str | None = None, only_it: bool = False, rule: Collection[str] = ()
) -> list[Sentence]:
    """Draw n sentences of one part of the grammar; the same seed gives the same ones.

    `part` is "training", "new" or "combination". They are in both languages or in one, of all kinds or only those with
    *it*, and follow the grammar's rule or one of your own (`qkv.models.grammar.turned` says how to write it).

    Raises:
        ValueError: there is no such part, or the rule is not valid.
    """
    random = Random(f"{part} {seed}")
    return [draw_from(part, random, language, only_it, rule) for _ in range(n)]


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, and at the end with as many as before.

    For such small tensors, two are not faster, and much slower on a busy machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@one_thread()
def descend(
    model: nn.Module,
    loss: Callable[[], Tensor],
    steps: int,
    learning_rate: float,
    after_step: Callable[[int], None] = lambda step: None,
    progress: str | None = None,
    beta_2: float = 0.999,
    warm_up: bool = True,
) -> None:
    """Train a model with AdamW, in one thread; the learning rate rises at first, and then falls to almost 0.

    loss() is called in each step, and returns the loss of a batch. after_step(n) is called after n
    steps, and as after_step(0) before the first. With `progress`, a progress bar of that name is
    shown. beta_2 is AdamW's β₂; β₁ falls from .95 to .85 while the rate rises, and rises again
    (PyTorch's OneCycleLR). Without `warm_up`, the learning rate only falls.
    """
    optimiser = torch.optim.AdamW(model.parameters(), learning_rate, (0.9, beta_2), weight_decay=0.01)
    share = 0.3 if warm_up else 0.0  # of the steps, in which the rate rises
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, learning_rate, steps, pct_start=share)
    after_step(0)
    for step in _step_numbers(steps, progress):
        now = loss()
        optimiser.zero_grad()
        now.backward()
        optimiser.step()
        schedule.step()
        after_step(step + 1)


def _step_numbers(steps: int, progress: str | None) -> Iterable[int]:
    """Return the numbers of the steps, with a progress bar if `progress` names one."""
    if progress is None:
        return range(steps)
    from tqdm.auto import tqdm

    return tqdm(range(steps), desc=progress, unit="step")


# ── the three models ──────────────────────────────────────────────────────────────────────────────


def train_tagger(
    steps: int = 800,
    seed: int = 0,
    n_layers: int = 2,
    positions: bool = True,
    sentences_drawn: int = N_SENTENCES,
    progress: str | None = None,
    *,
    rule: Collection[str] = (),
    language: str | None = None,
    only_it: bool = False,
    heads: int = 2,
    temperature: float = 1.0,
    scaled: bool = True,
    residual: bool = True,
    norm: bool = True,
    feed_forward: bool = True,
    batch: int = BATCH,
    rate: float = 1e-2,
    beta_2: float = 0.999,
    warm_up: bool = True,
) -> Tagger:
    """Train a tagger on the training part of the grammar, of fewer parts or by another rule if you like, and return it.

    train_tagger(**TAGGER_ON_THE_PAGE, rule=["hungry"])    as TrainLab does, but *hungry* means the other noun
    train_tagger(**TAGGER_ON_THE_PAGE, heads=1)            with one head in each layer

    A part that is left out in training (`scaled`, `positions`, `residual`, `norm`) has to be left out afterwards too:
    accuracy(tagger, sentences, scaled=False). It is then in evaluation mode, its weights rounded to 16 bits.

    Args:
        rule, language, only_it: what the sentences are, as in `sentences`
        feed_forward: False: the blocks have no feed-forward network
        temperature: the number by which all scores are divided in training, beside √d_head
        batch: the number of sentences in a step
        rate: the largest learning rate
        progress: the name of a progress bar, if there should be one
        beta_2, warm_up: as in `descend`
    """
    drawn = sentences("training", sentences_drawn, seed, language, only_it, rule)
    generator = torch.Generator().manual_seed(seed)
    tagger = _seeded(seed, lambda: Tagger(tagger_shape(n_layers, heads, 64 if feed_forward else 0)))
    ids, (true_classes, true_nouns) = tagger.vocabulary.encode([s.words for s in drawn]), targets(drawn)
    off = LeftOut(scaled, positions, residual, norm, temperature)

    def loss() -> Tensor:
        chosen = torch.randint(len(ids), (batch,), generator=generator)
        return tagger_loss(tagger, ids[chosen], true_classes[chosen], true_nouns[chosen], off.visit(tagger.shape))

    descend(tagger, loss, steps, rate, progress=progress, beta_2=beta_2, warm_up=warm_up)
    return round_weights(tagger)


class LeftOut(NamedTuple):
    """The parts of a model that can be left out during its training (False leaves one out), and its temperature."""

    scaled: bool = True
    positions: bool = True
    residual: bool = True
    norm: bool = True
    temperature: float = 1.0

    def visit(self, shape: TransformerShape) -> Visit:
        """Return the visit of one run in which these parts are left out."""
        return unchanged if self == LeftOut() else self.places(shape)

    def places(self, shape: TransformerShape) -> Places:
        """Return the Places of one run of a model of this shape, with the edits that leave these parts out."""
        places = Places(handles(shape, temperature=self.temperature, scaled=self.scaled, positions=self.positions))
        off = switched_off(shape, places, residual=self.residual, norm=self.norm)
        if not shape.d_hidden:  # then a block ends with its attention
            off = {place: edit for place, edit in off.items() if "feed_forward" not in place}
        places.edits.update(off)
        return places


def train_repeater(
    steps: int = 1500,
    seed: int = 0,
    n_layers: int = 2,
    progress: str | None = None,
    after_step: Callable[[int, Repeater], None] | None = None,
    *,
    heads: int = 2,
    scaled: bool = True,
    positions: bool = True,
    residual: bool = True,
    norm: bool = True,
    feed_forward: bool = False,
    mask: bool = True,
    batch: int = BATCH,
    rate: float = 1e-2,
    beta_2: float = 0.999,
    warm_up: bool = True,
    spread: float = 0.02,
) -> Repeater:
    """Train a repeater on sequences that are drawn anew at every step, of fewer parts if you like, and return it.

    after_step(n, repeater) is called after n steps, and with n = 0 before the first. The parts and the other arguments
    are those of `train_tagger`. Without `mask`, the causal mask is left out in training, so that each token sees the
    next one. `spread` is the standard deviation of the position vectors at the start. The repeater is then in
    evaluation mode, its weights rounded to 16 bits.
    """
    generator = torch.Generator().manual_seed(seed)
    repeater = _seeded(seed, lambda: Repeater(repeater_shape(n_layers, heads, 64 if feed_forward else 0)))
    with torch.no_grad():
        repeater.embedding.positions.table.mul_(spread / 0.02)
    off = LeftOut(scaled, positions, residual, norm)
    read = repeater if mask else partial(_read_without_mask, repeater)

    def loss() -> Tensor:
        ids, _ = draw_sequences(batch, generator)
        return next_token_loss(read(ids, visit=off.visit(repeater.shape)), ids)

    def call_after_step(step: int) -> None:
        if after_step is not None:
            after_step(step, repeater)

    descend(repeater, loss, steps, rate, call_after_step, progress, beta_2, warm_up)
    return round_weights(repeater)


def _read_without_mask(repeater: Repeater, ids: Tensor, visit: Visit = unchanged) -> Tensor:
    return repeater.unembedding(repeater.stack(repeater.embedding(ids, visit=visit), visit=visit))


# The settings with which the widget TrainLab trains both models in a few seconds.
TAGGER_ON_THE_PAGE: dict[str, Any] = {
    "steps": 500,
    "batch": 64,
    "rate": 7e-3,
    "beta_2": 0.99,
    "language": "english",
    "only_it": True,
}
REPEATER_ON_THE_PAGE: dict[str, Any] = {"steps": 500, "batch": 32, "rate": 2e-2, "beta_2": 0.99, "spread": 0.3}


def train_writer(
    steps: int = 1000, seed: int = 0, sentences_drawn: int = N_SENTENCES, progress: str | None = None
) -> Writer:
    """Train a writer to predict each next word of sentences of the grammar's training part, and return it.

    It is then in evaluation mode, its weights rounded to 16 bits.
    """
    generator = torch.Generator().manual_seed(seed)
    writer = _seeded(seed, Writer)
    ids = writer.vocabulary.encode(with_ends(sentences("training", sentences_drawn, seed)))

    def loss() -> Tensor:
        batch = ids[torch.randint(len(ids), (BATCH,), generator=generator)]
        return writer_loss(writer, batch)

    descend(writer, loss, steps, 1e-2, progress=progress)
    return round_weights(writer)


def writer_loss(writer: Writer, ids: Tensor) -> Tensor:
    """Return the mean surprise of the next words, in nats, without padding."""
    logits = writer(ids[:, :-1])
    return F.cross_entropy(logits.mT, ids[:, 1:], ignore_index=0)


def _seeded(seed: int, make: Callable[[], Model]) -> Model:
    """Make a model whose initial weights come from the seed. The CPU's global random state stays as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


# ── the command ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Recipe:
    """The training function of a model, its number of steps, and a function that summarises the trained model."""

    train: Callable[..., Tagger | Repeater | Writer]
    steps: int
    summarise: Callable[[Any], str]


def summarise_tagger(tagger: Tagger, **settings: bool) -> str:
    """Return a line with the shares of word classes and of *it* that a tagger gets right, in per cent.

    They are measured on 1,000 new sentences and on 1,000 with held-out combinations, the same ones each time. The
    settings are those of `Tagger.tag`.
    """
    new, held_out = (accuracy(tagger, sentences(part, 1000, 1), **settings) for part in ("new", "combination"))
    return (
        f"new sentences: word classes {new.classes:.1%}, it {new.it:.1%}; "
        f"held-out combinations: word classes {held_out.classes:.1%}, it {held_out.it:.1%}"
    )


def summarise_repeater(repeater: Repeater) -> str:
    """Return a line with the mean surprise of a repeater, in nats, in the first period and in later ones."""
    scores = repeater_scores(repeater, *draw_sequences(256, torch.Generator().manual_seed(1)))
    return f"mean surprise in nats: {scores.first:.2f} the first time, {scores.repeated:.2f} when symbols come again"


def summarise_writer(writer: Writer) -> str:
    """Return a line with the share of 200 written sentences, with seeds 0 to 199, that are sentences of the grammar.

    An adjective that does not go with the verb counts as wrong.
    """
    written = [writer.vocabulary.split(writer.write(seed=seed)) for seed in range(200)]
    found = [read(words) for words in written]
    right = sum(sentence is not None and (sentence.it is None) == (sentence.noun is None) for sentence in found)
    return f"{right / len(written):.1%} of 200 written sentences are sentences of the grammar"


RECIPES: dict[str, Recipe] = {
    "tagger": Recipe(train_tagger, 800, summarise_tagger),
    "tagger-one-layer": Recipe(partial(train_tagger, n_layers=1), 800, summarise_tagger),
    "tagger-without-positions": Recipe(
        partial(train_tagger, positions=False), 800, partial(summarise_tagger, positions=False)
    ),
    "repeater": Recipe(train_repeater, 1500, summarise_repeater),
    "repeater-one-layer": Recipe(partial(train_repeater, n_layers=1), 1500, summarise_repeater),
    "writer": Recipe(train_writer, 1000, summarise_writer),
}


def train(name: str, out: Path, steps: int | None = None, seed: int = 0) -> str:
    """Train a model, write its weights into a folder, and return a line that says how good it is.

    The folder is made if it is missing. Without `steps`, it takes those of the recipe. For the repeater, two more files
    are written: its weights at checkpoints of the training, in 8 bits, and a history of measurements with them.

    Raises:
        KeyError: `name` is not a key of RECIPES.
    """
    recipe = RECIPES[name]
    steps = recipe.steps if steps is None else steps
    during: dict[int, dict[str, Tensor]] = {}
    options: dict[str, Any] = {}
    if name == "repeater":
        options["after_step"] = lambda step, model: during.update(
            {step: pack(model)} if step in (*CHECKPOINTS, steps) else {}
        )
    model = recipe.train(steps=steps, seed=seed, progress=name, **options)
    save_weights(model, out / f"{name}.safetensors")
    if during:
        checkpoints = out / f"{name}-checkpoints.safetensors"
        save(stack_steps(during), checkpoints, model.shape.n_heads)
        (out / f"{name}-history.json").write_text(json.dumps(repeater_history(checkpoints)) + "\n", encoding="utf-8")
    return recipe.summarise(model)


def repeater_history(checkpoints: Path) -> dict[str, list[float]]:
    """Measure a repeater at each checkpoint in a file, on 64 sequences. Return lists with a number for each checkpoint.

    "steps" has the numbers of the steps. "loss" is the mean surprise after the first period, in nats. "previous" is the
    largest score of a head in the first layer, which learns to attend to the previous token. "induction" is the largest
    score in the second layer, which learns to attend to the token after the same symbol.

    Raises:
        FileNotFoundError: there is no such file.
    """
    ids, periods = draw_sequences(64, torch.Generator().manual_seed(9))
    history: dict[str, list[float]] = {"steps": [], "loss": [], "previous": [], "induction": []}
    for step in checkpoint_steps(checkpoints):
        scores = repeater_scores(load_checkpoint(Repeater(), checkpoints, step), ids, periods)
        found = (step, scores.repeated, scores.previous[0].max().item(), scores.induction[1].max().item())
        for values, value in zip(history.values(), found, strict=True):
            values.append(round(value, 3))
    return history
