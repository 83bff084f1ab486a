"""The stored controls: complete, and what their command measures again."""

from typing import Any

import pytest

from qkv.models import load_tagger
from qkv.models.controls import CONTROLS, SEEDS, control, pairs_of_sentences, turned


@pytest.mark.parametrize("name", list(CONTROLS))
def test_every_control_is_stored_for_every_seed(name: str):
    assert len(control(name)) == len(SEEDS) >= 3


@pytest.mark.parametrize(("noun", "other", "found"), [(1, 4, 80), (4, 1, 89)])
def test_pairs_differ_in_their_last_word_which_turns_it(noun: int, other: int, found: int):
    pairs = pairs_of_sentences(noun)
    tagger = load_tagger()
    assert len(pairs) == found
    for first, second in pairs:
        assert first[:8] == second[:8]
        assert first[8] != second[8]
    for which, place in ((0, noun), (1, other)):
        nouns = [tagger.tag(pair[which]).refers_to for pair in pairs]
        assert nouns == [{6: pair[which][place]} for pair in pairs]


def test_a_tagger_whose_query_decides_would_be_seen():
    assert turned(load_tagger()) == {"query": 0.0533, "keys": 1.0, "both": 1.0}


# Another processor rounds otherwise, and so trains slightly different models (a second thread does not). With AVX2 or
# AVX-512, shares differ by up to 0.27 where a head is off, and by 0.17 far from the temperature of the training.
TOLERANCES = {
    "patched": 10,
    "verbs_patched": 10,
    "decisions_patched": 10,
    "start_or_steps": 0.3,
    "heads_off": 0.3,
    "temperatures": 0.25,
    "temperature_by_layer": 0.15,
    "trained_without": 0.1,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CONTROLS))
def test_the_command_measures_the_same_again(name: str):
    measured = CONTROLS[name](SEEDS[0])
    assert numbers(measured) == pytest.approx(numbers(control(name)[0]), abs=TOLERANCES.get(name, 0.03))
    if name == "trained_without":  # these two shares are nearer to each other than to those of another processor
        assert measured["residual"]["it"] < measured["nothing"]["it"]


def numbers(found: Any) -> list[float]:
    """Return all numbers that one control found for one seed, in order."""
    if isinstance(found, dict):
        found = list(found.values())
    return [number for part in found for number in numbers(part)] if isinstance(found, list) else [found]
