"""Stored results of trainings: read, or measured again, and the same as what the chapters' own code gives."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from qkv.models.stored import AGAIN, stored
from tools.stored import RESULTS, ROOT, measured_again, notebooks


def three(*_: object) -> list[Tensor]:
    """Stand for the function of chapter 10 of this name."""
    return [torch.rand(()) + 2 for _ in "123"]


def softmax() -> None:
    """Stand for a method of chapter 10."""


def test_a_stored_result_is_read_and_nothing_is_trained():
    expected = json.loads(RESULTS.read_text(encoding="utf-8"))["recall: three(softmax, False)"]
    assert stored("recall", three, softmax, False) == expected
    assert max(expected) <= 1  # `three` of this file would have returned more


def test_again_measures_from_a_seed_of_its_own_and_moves_no_later_random_number():
    torch.manual_seed(3)
    expected = torch.rand(())
    torch.manual_seed(3)
    found = [stored("recall", three, softmax, False, again=True) for _ in range(2)]
    assert found[0] == found[1]
    assert min(found[0]) > 1
    assert torch.rand(()) == expected


def test_in_the_command_results_are_measured_rounded_and_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(AGAIN, str(tmp_path / "results.json"))

    def third(_: object) -> tuple[int, dict[str, float]]:
        return 1, {"third": 1 / 3}

    assert stored("a", third, three) == [1, {"third": 0.3333}]
    stored("b", third, 2)
    collected = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert collected == {"a: third(three)": [1, {"third": 0.3333}], "b: third(2)": [1, {"third": 0.3333}]}


def test_an_unknown_name_says_what_to_do():
    with pytest.raises(KeyError, match=r"no such task: three\(1\).*python -m tools\.stored"):
        stored("no such task", three, 1)


def numbers(found: object) -> list[float]:
    """Return all numbers of a result, in order."""
    if isinstance(found, dict):
        found = list(found.values())
    return [number for part in found for number in numbers(part)] if isinstance(found, list) else [float(str(found))]


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix())
def test_a_chapter_measures_the_same_again_and_its_sentences_hold(path: Path, tmp_path: Path):
    expected = json.loads(RESULTS.read_text(encoding="utf-8"))
    found = measured_again(path, tmp_path)  # it raises if one of the chapter's asserts fails
    pages = {name.split(":")[0] for name in found}
    assert set(found) == {name for name in expected if name.split(":")[0] in pages}  # none is left of an older text
    for name, again in found.items():
        assert numbers(again) == pytest.approx(numbers(expected[name]), abs=0.1)  # another processor rounds otherwise
