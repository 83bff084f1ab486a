"""9.3: activation patching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.inside import patch_activation
from qkv.questions.engine import Case, Draw, Provided, Question, call, mistake

Run = Callable[..., Any]


def small_model(table: Tensor, mixes: Tensor, unembedding: Tensor) -> Callable[..., Any]:
    """Make a run of a small causal model. A worker runs this source by itself, so it uses nothing but torch."""

    def run(ids: Tensor, edit: Any = None) -> Any:
        state, states = table[ids], []
        counts = torch.arange(1, len(ids) + 1).to(table)[:, None]
        for layer in range(len(mixes) + 1):
            before, given = state, state.clone()
            state = given if edit is None else edit(layer, given)
            if state is None:
                raise TypeError(f"edit({layer}, state) gave None back; run goes on with what it returns")
            if not torch.equal(given, before):
                raise RuntimeError(f"edit({layer}, state) wrote into the state that it was given")
            states.append(state)
            if layer < len(mixes):
                state = state + torch.tanh(state.cumsum(0) / counts @ mixes[layer])
        return state @ unembedding, states

    return run


def draw_patches(draw: Draw) -> list[Case]:
    def case(
        name: str,
        layer: int | None = None,
        position: int | None = None,
        dtype: torch.dtype = torch.float32,
        **fixed: int,
    ) -> Case:
        s = draw.sizes("n", "d", "vocab", **fixed)
        n, d, vocab, layers = s["n"], s["d"], s["vocab"], 3
        run = Provided(
            small_model,
            (
                draw.normal(vocab, d, dtype=dtype),
                draw.normal(layers, d, d, dtype=dtype, scale=1.5 * d**-0.5),
                draw.normal(d, vocab, dtype=dtype),
            ),
        )
        clean = draw.ids(n, below=vocab)
        corrupt = (clean + 1 + draw.ids(n, below=vocab - 1)) % vocab  # another id at every position
        layer = draw.choose((1, 2)) if layer is None else layer
        position = draw.whole(1, n - 2) if position is None else position
        return Case(call(run, clean, corrupt, layer, position), name, s)

    return [
        case("plain", layer=1),
        case("plain", layer=2),
        case("the first layer", layer=0),
        case("behind the last layer", layer=3),
        case("the first position", position=0),
        case("the last position", n=6, position=5),
        case("float64", dtype=torch.float64),
        case("one token", n=1, position=0),
    ]


# ── other ways to edit ────────────────────────────────────────────────────────────────────────────


def row_from(state: Tensor, other: Tensor, position: int) -> Tensor:
    return torch.cat([state[:position], other[position : position + 1], state[position + 1 :]])


def edited(where: Callable[[int, int], bool], change: Callable[[Tensor, Tensor, int], Any]) -> Callable[..., Any]:
    """Give an answer that changes states in these layers, in this way."""

    def variant(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
        states = run(clean)[1]

        def edit(at: int, state: Tensor) -> Any:
            return change(state, states[at], position) if where(at, layer) else state

        return run(corrupt, edit)[0]

    return variant


def here(at: int, layer: int) -> bool:
    return at == layer


def other_layers_forgotten(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    states = run(clean)[1]
    return run(corrupt, lambda at, state: row_from(state, states[at], position) if at == layer else None)[0]


def row_in_every_layer(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    row = run(clean)[1][layer]
    return run(corrupt, lambda at, state: row_from(state, row, position))[0]


def written_into(state: Tensor, other: Tensor, position: int) -> Tensor:
    state[position] = other[position]
    return state


def only_written(state: Tensor, other: Tensor, position: int) -> None:
    state[position] = other[position]


def of_a_run(text: str) -> Callable[..., Any]:
    return lambda run, clean, corrupt, layer, position: run(clean if text == "clean" else corrupt)[0]


def states_too(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    row = run(clean)[1][layer]
    return run(corrupt, lambda at, state: row_from(state, row, position) if at == layer else state)


QUESTION = Question(
    points=3,
    inputs=("run", "clean", "corrupt", "layer", "position"),
    outputs=("logits (n, vocab)",),
    draw=draw_patches,
    reference=patch_activation,
    misconceptions=(
        mistake("texts-swapped", lambda run, clean, corrupt, *where: patch_activation(run, corrupt, clean, *where)),
        mistake("clean-run", of_a_run("clean"), edited(here, lambda state, other, position: other)),
        mistake("nothing-patched", of_a_run("corrupt")),
        mistake(
            "rows-up-to-the-position",
            edited(here, lambda state, other, position: torch.cat([other[: position + 1], state[position + 1 :]])),
        ),
        mistake("row-added", edited(here, lambda state, other, position: row_from(state, state + other, position))),
        mistake("row-of-zeros", edited(here, lambda state, other, position: row_from(state, 0 * state, position))),
        mistake("one-row-alone", edited(here, lambda state, other, position: other[position])),
        mistake("every-layer-patched", edited(lambda at, layer: True, row_from), row_in_every_layer),
        mistake("layer-before", edited(lambda at, layer: at == layer - 1, row_from)),
        mistake("layer-behind", edited(lambda at, layer: at == layer + 1, row_from)),
        mistake(
            "layer-and-position-swapped",
            lambda run, a, b, layer, position: patch_activation(run, a, b, position, layer),
        ),
        mistake("ids-patched", lambda run, clean, corrupt, layer, position: run(row_from(corrupt, clean, position))[0]),
        mistake("other-states-not-returned", other_layers_forgotten),
        mistake("written-into-the-state", edited(here, written_into)),
        mistake("edit-returns-nothing", edited(here, only_written)),
        mistake("states-returned-too", states_too),
    ),
)
