"""No seed to find: the inputs come from 128 secret bits, all of which count, and an order has a stream of its own."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest
import torch

from qkv.grading.results import safe_name
from qkv.grading.session import Grader, Settings
from qkv.grading.writing import secret_of
from qkv.questions import find
from qkv.questions.engine.draw import Draw, generator_of

ONE, OTHER = "5e" * 16, "5f" * 16


def inputs(settings: Settings, question: str) -> list[object]:
    """The numbers that answers get, in the order of the cases."""
    found = [step.args for case in Grader(settings).cases_of(find(question)) for step in case.script]
    return [value.tolist() if isinstance(value, torch.Tensor) else value for args in found for value in args]


def order(settings: Settings) -> list[str]:
    return [case.name for case in Grader(settings).cases_of(find("3.5"))]


def test_the_secret_decides_and_is_all_that_is_needed_to_repeat_it():
    for question in ("3.1", "3.2"):
        drawn = [inputs(Settings(seed=1, secret=secret), question) for secret in (ONE, OTHER, ONE, "")]
        assert drawn[0] == drawn[2]
        assert drawn[0] != drawn[1]
        assert drawn[0] != drawn[3]
        assert drawn[0] != inputs(Settings(seed=2, secret=ONE), question)
    assert order(Settings(seed=1, secret=ONE)) == order(Settings(seed=1, secret=ONE))
    assert order(Settings(seed=1, secret=ONE)) != order(Settings(seed=1, secret=OTHER))


def test_small_seeds_cannot_be_tried():
    """What an answer to 3.2 sees is drawn from no seed of 32 bits or less that belongs to a small number."""
    seen = inputs(Settings(seed=20261, secret=ONE), "3.2")[:2]
    for seed in (*range(500), 20261, 123456):
        for text in (f"{seed}/3.2", f"/{seed}/3.2"):
            drawn = hashlib.sha256(text.encode()).digest()
            for size in (4, 6, 8, 32):
                case = find("3.2").fresh_cases(int.from_bytes(drawn[:size], "big"))[0]
                assert list(case.script[0].args[:2]) != seen


def test_a_long_seed_fills_the_whole_state_of_the_generator():
    """The oracle is NumPy's MT19937 with the same 624 words."""
    seed = 2**255 + 12345
    words = np.frombuffer(hashlib.shake_256(str(seed).encode()).digest(4 * 624), dtype=np.uint32)
    twister = np.random.MT19937()
    state = twister.state
    state["state"] |= {"key": words, "pos": 624}
    twister.state = state
    drawn = torch.rand(2_000, generator=generator_of(seed))  # of each word its last 24 bits
    assert (drawn.double() * 2**24).long().tolist() == [int(word) & 0xFFFFFF for word in twister.random_raw(2_000)]
    assert not torch.equal(
        torch.rand(3, generator=generator_of(seed)), torch.rand(3, generator=generator_of(seed + 2**32))
    )


@pytest.mark.parametrize("seed", [7, 2**200 + 7])
def test_an_order_has_a_stream_of_its_own(seed):
    first, second = Draw(seed), Draw(seed)
    second.whole(0, 9)  # whatever was drawn before
    assert first.apart("order").seed == second.apart("order").seed != first.seed
    names = [[case.name for case in find("3.5").draw(draw)] for draw in (first, second)]
    assert names[0] == names[1]
    assert names[0] != [case.name for case in find("3.5").draw(Draw(seed + 1))]


def test_the_results_keep_the_secret(tmp_path):
    made = secret_of(tmp_path)
    assert len(made) == 32
    assert int(made, 16) > 0
    assert secret_of(tmp_path) == made
    assert os.stat(tmp_path / "secret").st_mode & 0o077 == 0, "for the instructor alone"
    (tmp_path / "other").mkdir()
    assert secret_of(tmp_path / "other") != made
    (tmp_path / "secret").write_text("damaged")
    assert secret_of(tmp_path) not in (made, "damaged")
    (tmp_path / "secret").unlink()
    (tmp_path / "secret").symlink_to("/dev/zero")
    assert len(secret_of(tmp_path)) == 32
    assert not (tmp_path / "secret").is_symlink()


def test_no_learner_has_the_name_of_the_secret():
    assert safe_name("secret") != "secret"


def test_another_secret_is_another_rule():
    """A result that was drawn from another secret is not used again."""
    assert Settings(seed=1, secret=ONE).version != Settings(seed=1, secret=OTHER).version
    assert ONE not in Settings(seed=1, secret=ONE).version


def test_nothing_that_an_answer_gets_holds_the_secret():
    grader = Grader(Settings(seed=1, secret=ONE))
    for question in ("3.1", "3.5", "7.6"):
        for encoded in grader.encoded_cases_of(find(question)):
            assert ONE not in encoded.text
