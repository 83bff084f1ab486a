"""TemperatureLab's numbers are torch's, at its hottest, its coldest, and with scores of ±1000."""

import math

import pytest
import torch
from traitlets import TraitError

from qkv.widgets import TemperatureLab

from .node import node


def measured(scores: list[float], temperature: float, d_k: int) -> dict:
    """What the widget shows for a state."""
    state = {"scores": scores, "temperature": temperature, "d_k": d_k}
    return node("maths.temperedRow", state)


@pytest.mark.parametrize("temperature", [0.05, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("d_k", [1, 8, 64])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_numbers_are_those_of_torch(temperature: float, d_k: int, scale: float):
    scores = torch.randn(9, dtype=torch.float64).clamp(-1, 1) * scale
    p = torch.softmax(scores * math.sqrt(d_k) / temperature, dim=-1)
    seen = measured(scores.tolist(), temperature, d_k)
    torch.testing.assert_close(torch.tensor(seen["weights"], dtype=torch.float64), p, rtol=1e-9, atol=1e-300)
    expected = torch.special.entr(p).sum().item()
    assert seen["spread"] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_the_root_of_d_k_is_a_temperature():
    scores = list(TemperatureLab().scores)
    for d_k in (2, 8, 64):
        at_root = measured(scores, math.sqrt(d_k), d_k)["weights"]
        assert at_root == pytest.approx(measured(scores, 1.0, 1)["weights"], rel=1e-14)


def test_tokens_are_numbered_when_only_scores_are_given():
    assert TemperatureLab(scores=[1000, -1000]).tokens == ("key 1", "key 2")


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ({"temperature": 0}, "temperature is a number from 0.05 to 10; got 0"),
        ({"d_k": 3}, "d_k is one of 1, 2, 4, …, 64; got 3"),
        ({"scores": [1.0, math.nan]}, "scores is a list of entries, each a number from -1000 to 1000"),
        ({"scores": [1.0, 2.0], "tokens": ["one"]}, "got 2 scores and 1 tokens"),
        ({"scores": [1.0]}, "at least 2; got 1 scores"),
    ],
)
def test_wrong_values_are_answered_with_a_sentence(values: dict, seen: str):
    with pytest.raises(TraitError) as error:
        TemperatureLab(**values)
    assert seen in str(error.value)
