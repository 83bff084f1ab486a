"""How an answer takes the place of ours in a trained model. `qkv.checking.in_model` runs the model with it.

A question says which places of the model its answer computes (`qkv.transformer` lists them):

    in_model=in_each_layer("attention.heads", lambda answer, at: answer(at["q"], at["k"], at["v"])[0])

Every edit of a run ignores what the model computed at its place, and computes it with the answer from earlier places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.sandboxed.cases import load, make
from qkv.sandboxed.running import Run
from qkv.transformer import Edit, Places, Stack


@dataclass(frozen=True, eq=False)
class At:
    """One layer of a model in a run: its block, the mask of the tokens' padding, and its tensors by place."""

    block: Any
    name: str
    mask: Tensor
    places: Places

    def __getitem__(self, place: str) -> Tensor:
        """Return a copy of the tensor at a place of this layer, so that an answer may write into it."""
        return self.places[f"{self.name}.{place}"].clone()


@dataclass(frozen=True, eq=False)
class ModelRun:
    """A run of a trained model: its blocks and last norm, the mask of padding, and its tensors by place."""

    stack: Stack
    mask: Tensor
    places: Places

    @property
    def layers(self) -> list[At]:
        return [At(block, f"{layer}", self.mask, self.places) for layer, block in enumerate(self.stack.blocks)]


Edits = Callable[[Any, ModelRun], dict[str, Edit]]  # (answer, run) -> the edits of this run
Compute = Callable[[Any, At], Tensor]  # (answer, layer) -> the tensor at a place


def nothing(answer: Any, run: ModelRun) -> dict[str, Edit]:
    """Return no edit."""
    return {}


@dataclass(frozen=True, eq=False)
class InModel:
    """How an answer takes the place of ours in a trained model.

    Attributes:
        model: "tagger" or "writer"
        edits: returns the edits that compute with the answer
        padded: whether the tagger runs sentences of different lengths together, so that a mask hides the padding
        cache: returns a cache of the answer's, for each layer of the writer
        next_ids: returns the next id (B,) of each text, which the answer computes from ids (B, n), the writer's weights
            by name, and the number of heads
        n_texts: the number of texts that the writer continues; fewer for an answer that runs them one by one
        says: returns a sentence with what the answer finds about these weights and new texts
    """

    model: str = "tagger"
    edits: Edits = nothing
    padded: bool = False
    cache: Callable[[Any], Any] | None = None
    next_ids: Callable[[Any, Tensor, dict[str, Tensor], int], Tensor] | None = None
    n_texts: int = 20
    says: Callable[[Any, Tensor, dict[str, Tensor], int], str] | None = None


def in_each_layer(place: str, compute: Compute, **more: Any) -> InModel:
    """Return the declaration of an answer that computes the tensor at one place of each layer.

    `compute(answer, at)` does so from the earlier places `at` of that layer. `more` are other fields of InModel.
    """

    def edits(answer: Any, run: ModelRun) -> dict[str, Edit]:
        def of(at: At) -> Edit:
            return lambda _: compute(answer, at)

        return {f"{at.name}.{place}": of(at) for at in run.layers}

    return InModel(edits=edits, **more)


def made(answer: Any, sizes: tuple[int, ...], parameters: dict[str, Tensor]) -> Any:
    """Make a module of an answer, a class, with these sizes, load parameters into it, and return it.

    Raises:
        ValueError: it lacks a layer. What the answer raises is raised too.
    """
    run = Run(answer, gradients=False)
    run.run_step(0, make(*sizes))
    run.run_step(1, load(parameters))
    if run.lacking:
        raise ValueError("; ".join(run.lacking))
    return run.subject


# ── one head without biases ───────────────────────────────────────────────────────────────────────


def with_ones(x: Tensor) -> Tensor:
    """Append a feature that is 1 to each token: the bias of a layer can then stand in its matrix."""
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)


def head_matrices(block: Any, head: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return W_Q, W_K and W_V of one head of a block, each (d_model + 1, d_head), with the bias as the last row.

    They are for tokens with a last feature of 1 (`with_ones`).
    """
    attention = block.attention

    def matrix(layer: torch.nn.Linear) -> Tensor:
        weight, bias = (part.unflatten(0, (attention.n_heads, -1))[head] for part in (layer.weight, layer.bias))
        return torch.cat([weight.mT, bias[None]])

    return matrix(attention.w_q), matrix(attention.w_k), matrix(attention.w_v)
