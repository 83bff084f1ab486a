"""9.3: activation patching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.interpretability import patch_activation
from qkv.questions.engine import Case, Draw, Provided, Question, call, mistake

Run = Callable[..., Any]


def make_model(table: Tensor, mixes: Tensor, unembedding: Tensor) -> Callable[..., Any]:
    """Return run(ids, edit) → logits, states: a small causal model.

    Its source runs alone in a worker, so it uses only torch.

    `edit(layer, state)` returns the state to continue with. If it returns None, `run` raises a TypeError; if it writes
    into the state, a RuntimeError.

    Shapes:
        table (vocab, d)   mixes (layers, d, d)   unembedding (d, vocab)
        ids (n,)   logits (n, vocab)   states, one more than layers: (n, d)
    """

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
    """Draw a small model, two texts, and a layer and a position to patch, also the first and the last."""

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
            make_model,
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


def patched(in_layers: Callable[[int, int], bool], change: Callable[[Tensor, Tensor, int], Any]) -> Callable[..., Any]:
    """Return an answer(run, clean, corrupt, layer, position) → logits of `corrupt` with some states changed.

    The states number `at` with `in_layers(at, layer)` become `change(state, clean state, position)`.
    """

    def variant(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
        states = run(clean)[1]

        def edit(at: int, state: Tensor) -> Any:
            return change(state, states[at], position) if in_layers(at, layer) else state

        return run(corrupt, edit)[0]

    return variant


def here(at: int, layer: int) -> bool:
    return at == layer


def other_states_not_returned(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    states = run(clean)[1]
    return run(corrupt, lambda at, state: row_from(state, states[at], position) if at == layer else None)[0]


def every_layer_patched(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    row = run(clean)[1][layer]
    return run(corrupt, lambda at, state: row_from(state, row, position))[0]


def written_into_the_state(state: Tensor, other: Tensor, position: int) -> Tensor:
    state[position] = other[position]
    return state


def column_from(state: Tensor, other: Tensor, position: int) -> Tensor:
    state = state.clone()
    state[:, position] = other[:, position]
    return state


def swapped_in_the_edit(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    """Return the logits of `corrupt` with row `layer` of state `position` from the clean run: the two are exchanged."""
    states = run(clean)[1]

    def edit(at: int, state: Tensor) -> Tensor:
        if at == position:
            state = state.clone()
            state[layer] = states[at][layer]
        return state

    return run(corrupt, edit)[0]


def edit_returns_nothing(state: Tensor, other: Tensor, position: int) -> None:
    state[position] = other[position]


def logits_of(text: str) -> Callable[..., Any]:
    return lambda run, clean, corrupt, layer, position: run(clean if text == "clean" else corrupt)[0]


def states_returned_too(run: Run, clean: Tensor, corrupt: Tensor, layer: int, position: int) -> Any:
    row = run(clean)[1][layer]
    return run(corrupt, lambda at, state: row_from(state, row, position) if at == layer else state)


QUESTION = Question(
    points=3,
    inputs=("run", "clean", "corrupt", "layer", "position"),
    outputs=("logits (n, vocab)",),
    draw=draw_patches,
    reference=patch_activation,
    misconceptions=(
        mistake("texts-swapped", lambda run, clean, corrupt, *place: patch_activation(run, corrupt, clean, *place)),
        mistake("clean-run", logits_of("clean"), patched(here, lambda state, other, position: other)),
        mistake("nothing-patched", logits_of("corrupt")),
        mistake(
            "rows-up-to-the-position",
            patched(here, lambda state, other, position: torch.cat([other[: position + 1], state[position + 1 :]])),
        ),
        mistake("row-added", patched(here, lambda state, other, position: row_from(state, state + other, position))),
        mistake("row-of-zeros", patched(here, lambda state, other, position: row_from(state, 0 * state, position))),
        mistake("column-for-row", patched(here, column_from)),
        mistake("one-row-alone", patched(here, lambda state, other, position: other[position])),
        mistake("every-layer-patched", patched(lambda at, layer: True, row_from), every_layer_patched),
        mistake("layer-before", patched(lambda at, layer: at == layer - 1, row_from)),
        mistake("layer-behind", patched(lambda at, layer: at == layer + 1, row_from)),
        mistake(
            "layer-and-position-swapped",
            lambda run, a, b, layer, position: patch_activation(run, a, b, position, layer),
            swapped_in_the_edit,
        ),
        mistake("ids-patched", lambda run, clean, corrupt, layer, position: run(row_from(corrupt, clean, position))[0]),
        mistake("other-states-not-returned", other_states_not_returned),
        mistake("written-into-the-state", patched(here, written_into_the_state)),
        mistake("edit-returns-nothing", patched(here, edit_returns_nothing)),
        mistake("states-returned-too", states_returned_too),
    ),
)
