"""The command that trains the models again."""

from __future__ import annotations

import json

import pytest
import torch

from qkv.cli import main
from qkv.models import load_repeater, load_tagger
from qkv.models.training import RECIPES, train_repeater
from qkv.models.weights import FOLDER, checkpoint_steps


def test_the_command_writes_what_it_trained_and_says_how_good_it_is(tmp_path, capsys):
    assert main(["train", "repeater", "--steps", "5", "--seed", "3", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert f"wrote {tmp_path / 'repeater.safetensors'}" in printed.out
    assert "mean surprise in nats" in printed.out
    assert "repeater: 100%" in printed.err
    written = load_repeater(tmp_path / "repeater.safetensors")
    trained = train_repeater(steps=5, seed=3)
    assert all(torch.equal(a, b) for a, b in zip(written.parameters(), trained.parameters(), strict=True))
    assert checkpoint_steps(tmp_path / "repeater-checkpoints.safetensors") == [0, 5]
    assert json.loads((tmp_path / "repeater-history.json").read_text(encoding="utf-8"))["steps"] == [0, 5]


@pytest.mark.parametrize("arguments", [["train"], ["train", "dragon"], ["train", "tagger", "--steps", "0"]])
def test_what_cannot_be_trained_is_bad_usage(arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_the_command_and_the_committed_weights_know_the_same_models(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    listed = " ".join(capsys.readouterr().out.split())
    assert ", ".join(RECIPES) in listed
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == {*RECIPES, "repeater-checkpoints"}


def test_training_leaves_the_global_random_state_alone():
    before = torch.random.get_rng_state()
    train_repeater(steps=1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_training_computes_on_one_thread_and_gives_the_others_back():
    seen = []
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        train_repeater(steps=1, after_step=lambda step, model: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1]


def test_loaded_models_are_not_trained_further():
    tagger = load_tagger()
    assert not tagger.training
    assert not any(parameter.requires_grad for parameter in tagger.parameters())
