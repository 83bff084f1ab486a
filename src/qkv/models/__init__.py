"""Small trained models: a tagger, a repeater and a writer (see MODEL_CARD.md).

from qkv.models import load_tagger
load_tagger().tag("the cat chased the mouse because it was hungry").refers_to      # {6: 'cat'}
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qkv.models.repeater import Repeater, repeater_shape
from qkv.models.tagger import Tagged, Tagger, accuracy, tagger_shape
from qkv.models.training import sentences
from qkv.models.weights import checkpoint_steps, load_checkpoint, load_weights
from qkv.models.writer import Writer

__all__ = [
    "Repeater",
    "Tagged",
    "Tagger",
    "Writer",
    "accuracy",
    "load_repeater",
    "load_tagger",
    "load_writer",
    "repeater_steps",
    "sentences",
    "training_results",
    "training_run",
    "two_heads",
]


def load_tagger(weights: str | Path = "tagger") -> Tagger:
    """Load a trained tagger: "tagger", "tagger-one-layer" or "tagger-without-positions".

    A Path loads weights of two layers from that file.

    Raises:
        FileNotFoundError: there is no such file of weights.
    """
    n_layers = 1 if weights == "tagger-one-layer" else 2
    return load_weights(Tagger(tagger_shape(n_layers)), weights)


def load_repeater(weights: str | Path = "repeater", step: int | None = None) -> Repeater:
    """Load a trained repeater: "repeater" or "repeater-one-layer".

    A Path loads weights of two layers from that file. With a step, load the weights that "repeater" had after that step
    of its training, stored in 8 bits each.

    Raises:
        ValueError: the step is not one of repeater_steps.
        FileNotFoundError: there is no such file of weights.
    """
    if step is not None:
        return load_checkpoint(Repeater(), f"{weights}-checkpoints", step)
    n_layers = 1 if weights == "repeater-one-layer" else 2
    return load_weights(Repeater(repeater_shape(n_layers)), weights)


def repeater_steps() -> list[int]:
    """Return the training steps for which weights of the repeater are stored."""
    return checkpoint_steps("repeater-checkpoints")


def training_results() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return what benchmarks/training.py measured: {task: {case: {"page" or "torch": one number for each seed}}}.

    The numbers of the tagger are shares of *it* right in new sentences; those of the repeater are the mean surprise, in
    nats, of symbols that come again. A case is what was left out or changed, such as "not divided".
    """
    found: dict[str, dict[str, dict[str, list[float]]]] = _read("training-results.json")
    return found


def training_run(task: str, name: str) -> list[dict[str, Any]]:
    """Return what TrainLab shows of a stored training: at each frame its step, loss and score (benchmarks/runs.mjs).

    Raises:
        FileNotFoundError: the task is neither "tagger" nor "repeater".
        KeyError: it has no run of this name.
    """
    frames: list[dict[str, Any]] = _read(f"weights/training-runs-{task}.json")[name]["frames"]
    return frames


def two_heads() -> dict[str, dict[str, Tensor]]:
    """Return the parameters of the two layers that the widget TwoHeads shows: "one head" and "two heads".

    They are those of chapter 5's layer with a width of 8. What reads or answers the last three prices is not stored: 0.
    """
    return {name: _with_four_prices(stored) for name, stored in _read("two-heads.json").items()}


def _with_four_prices(stored: dict[str, Any]) -> dict[str, Tensor]:
    """Return a stored layer with 0 where it would read or answer the last three of four prices."""
    layer = {f"attend.{name}": torch.tensor(value) for name, value in stored.items()}
    layer["places"] = layer.pop("attend.places")
    for which in "qkv":
        weight = torch.zeros(8, 8)
        weight[:, [0, 4, 5, 6, 7]] = layer[f"attend.w_{which}.weight"]
        layer[f"attend.w_{which}.weight"] = weight
    for part in ("weight", "bias"):
        first = layer[f"attend.w_o.{part}"]
        layer[f"attend.w_o.{part}"] = torch.cat([first, torch.zeros(7, *first.shape[1:])])
    return layer


def _read(name: str) -> Any:
    return json.loads(files("qkv.models").joinpath(name).read_text(encoding="utf-8"))


def load_writer(weights: str | Path = "writer") -> Writer:
    """Load a trained writer: "writer", or a file. A FileNotFoundError is raised if there is no such file of weights."""
    return load_weights(Writer(), weights)
