"""The trained repeater: it looks back to where a symbol came before, and that forms in training."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
import torch

from qkv.models import load_repeater, repeater_steps
from qkv.models.repeater import PERIODS, N, Repeater, draw_sequences, repeater_scores, repeater_shape
from qkv.models.training import descend, repeater_history, train_repeater
from qkv.models.weights import FOLDER
from qkv.transformer import next_token_loss


def drawn(batch: int = 200, seed: int = 5):
    return draw_sequences(batch, torch.Generator().manual_seed(seed))


def test_sequences_repeat_with_their_period():
    ids, periods = drawn()
    for row, period in zip(ids.tolist(), periods.flatten().tolist(), strict=True):
        assert row[period:] == row[: N - period]
    assert (periods.min(), periods.max()) == PERIODS


def test_it_knows_what_comes_again_and_cannot_know_the_first_time():
    scores = repeater_scores(load_repeater(), *drawn())
    assert scores.repeated < 0.3
    assert scores.first > 3.3  # ln 32 is 3.47


def test_its_second_layer_looks_after_the_same_symbol_and_its_first_at_the_one_before():
    scores = repeater_scores(load_repeater(), *drawn())
    chance = 1 / 20
    assert scores.induction[1].min() > 6 * chance
    assert scores.induction[0].max() < 2 * chance
    assert scores.previous[0].max() > 0.25


def test_one_layer_alone_does_not_learn_it():
    assert repeater_scores(load_repeater("repeater-one-layer"), *drawn()).repeated > 1.5


@pytest.mark.slow  # chapter 9's control: width in place of a second layer
@pytest.mark.parametrize("seed", range(3))
def test_one_wide_layer_does_not_learn_it(seed: int):
    torch.manual_seed(seed)
    wide = Repeater(replace(repeater_shape(1), d_model=64, n_heads=4))
    generator = torch.Generator().manual_seed(seed)

    def loss() -> torch.Tensor:
        ids, _ = draw_sequences(64, generator)
        return next_token_loss(wide(ids), ids)

    descend(wide, loss, 400, 1e-2)
    assert repeater_scores(wide, *drawn()).repeated > 2


@pytest.mark.slow  # chapter 9's control: other starts learn the same two heads
@pytest.mark.parametrize("seed", range(4))
def test_two_layers_learn_it_from_any_start(seed: int):
    torch.manual_seed(seed)
    repeater = Repeater()
    generator = torch.Generator().manual_seed(seed)

    def loss() -> torch.Tensor:
        ids, _ = draw_sequences(64, generator)
        return next_token_loss(repeater(ids), ids)

    descend(repeater, loss, 400, 1e-2)
    scores = repeater_scores(repeater, *drawn())
    assert scores.repeated < 1
    assert scores.previous[0].max() > 0.2
    assert scores.induction[1].max() > 0.3


def test_scores_are_those_of_weights_that_are_known():
    """A stand-in whose only head looks exactly one period back, and one further."""
    ids, periods = draw_sequences(7, torch.Generator().manual_seed(0))

    class Looker(Repeater):
        def forward(self, ids, visit, **_):
            rows = torch.arange(N)
            looked = (rows - periods + 1).clamp(min=0)  # (7, N)
            visit("0.attention.weights", torch.nn.functional.one_hot(looked, N).float().unsqueeze(1))
            return torch.zeros(*ids.shape, 32)

    scores = repeater_scores(Looker(), ids, periods)
    assert scores.induction.tolist() == [[1.0]]
    assert scores.previous.item() == pytest.approx(1 / (N - 1))  # token 1 alone, clamped to token 0
    assert scores.first == pytest.approx(scores.repeated) == pytest.approx(3.4657, abs=1e-3)


def test_it_is_causal():
    ids, _ = drawn(2)
    changed = ids.clone()
    changed[:, 20] = (changed[:, 20] + 1) % 32
    before, after = load_repeater()(ids), load_repeater()(changed)
    torch.testing.assert_close(before[:, :20], after[:, :20])
    assert not torch.allclose(before[:, 20:], after[:, 20:])


# ── during training ───────────────────────────────────────────────────────────────────────────────


def test_checkpoints_show_it_forming():
    steps = repeater_steps()
    assert len(steps) >= 12
    assert steps[0] == 0
    induction = [repeater_scores(load_repeater(step=step), *drawn()).induction[1].max().item() for step in steps]
    assert induction[0] < 0.1
    assert max(later - earlier for earlier, later in itertools.pairwise(induction)) > 0.1  # the kink
    assert induction[-1] > 0.35


def test_a_checkpoint_in_8_bits_has_the_scores_of_the_full_weights():
    full, last = (
        repeater_scores(model, *drawn()) for model in (load_repeater(), load_repeater(step=repeater_steps()[-1]))
    )
    for name in ("first", "repeated", "previous", "induction"):
        torch.testing.assert_close(
            torch.as_tensor(getattr(last, name)), torch.as_tensor(getattr(full, name)), atol=0.01, rtol=0
        )


def test_the_history_that_pages_draw_is_what_the_checkpoints_give():
    written = json.loads((FOLDER / "repeater-history.json").read_text(encoding="utf-8"))
    measured = repeater_history(FOLDER / "repeater-checkpoints.safetensors")
    assert written.keys() == measured.keys()
    for name, values in written.items():
        assert values == pytest.approx(measured[name], abs=0.002), name


def test_a_step_without_checkpoint_is_refused():
    with pytest.raises(ValueError, match="expected one of the steps"):
        load_repeater(step=7)


def test_after_step_sees_every_step_and_the_seed_decides_everything():
    seen = []
    first = train_repeater(steps=3, seed=1, after_step=lambda step, model: seen.append(step))
    assert seen == [0, 1, 2, 3]
    second = train_repeater(steps=3, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.slow
def test_trained_again_it_learns_it_again():
    scores = repeater_scores(train_repeater(), *drawn())
    assert scores.repeated < 0.3
    assert scores.induction[1].max() > 0.35


@pytest.mark.slow
def test_checkpoints_in_8_bits_have_the_scores_of_the_full_weights_all_through_training():
    """Packed and unpacked, at every step that is kept."""
    from qkv.models.training import CHECKPOINTS
    from qkv.models.weights import pack, unpack

    worst = []

    def compare(step: int, repeater: Repeater) -> None:
        if step in CHECKPOINTS:
            packed = Repeater()
            packed.load_state_dict(unpack(pack(repeater), repeater.state_dict()))
            full, small = repeater_scores(repeater, *drawn()), repeater_scores(packed, *drawn())
            worst.append(
                max(
                    (a - b).abs().max() for a, b in ((full.previous, small.previous), (full.induction, small.induction))
                )
            )

    train_repeater(after_step=compare)
    assert max(worst) < 0.01
