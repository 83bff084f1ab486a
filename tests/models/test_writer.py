"""The trained writer: what it writes is a sentence of the grammar, with the cache and without it."""

from __future__ import annotations

import math

import pytest
import torch

from qkv.models import load_writer
from qkv.models.grammar import read
from qkv.models.training import sentences, train_writer, writer_loss
from qkv.models.writer import N_MAX, Writer, with_ends


@pytest.fixture(scope="module")
def writer() -> Writer:
    return load_writer()


def test_almost_all_that_it_writes_is_grammar_and_says_what_it_means(writer):
    written = [read(writer.vocabulary.split(writer.write(seed=seed))) for seed in range(60)]
    known = [sentence for sentence in written if sentence is not None]
    assert len(known) >= 56
    with_it = [sentence for sentence in known if sentence.it is not None]
    assert sum(sentence.noun is not None for sentence in with_it) >= 0.95 * len(with_it)


def test_it_writes_both_languages_and_many_sentences(writer):
    written = {writer.write(seed=seed) for seed in range(30)}
    assert len(written) > 25
    assert 0.2 < sum(text.isascii() for text in written) / len(written) < 0.8


def test_it_carries_on_what_it_is_given(writer):
    for start in ("the cat chased", "my old owl", "貓追"):
        text = writer.write(start, seed=1)
        assert text.startswith(start)
        assert read(writer.vocabulary.split(text)) is not None


def test_at_temperature_0_it_always_writes_the_same(writer):
    assert {writer.write("the cat", temperature=0, seed=seed) for seed in range(5)} == {
        writer.write("the cat", top_k=1)
    }


@pytest.mark.parametrize(("temperature", "top_k"), [(0.0, None), (1.0, None), (1.3, 5), (3.0, None)])
def test_with_the_cache_it_writes_what_it_writes_without(writer, temperature, top_k):
    for seed in range(4):
        setting = {"temperature": temperature, "top_k": top_k, "seed": seed}
        assert writer.write("the", cache=True, **setting) == writer.write("the", cache=False, **setting)


def test_heat_breaks_the_grammar_and_it_still_ends(writer):
    hot = [writer.vocabulary.split(writer.write("the", temperature=30.0, seed=seed)) for seed in range(30)]
    assert max(len(words) for words in hot) <= N_MAX
    assert sum(read(words) is None for words in hot) > 25


def test_its_surprise_on_new_sentences_is_far_below_that_of_chance(writer):
    ids = writer.vocabulary.encode(with_ends(sentences("new", 300, 9)))
    assert writer_loss(writer, ids) < 0.4 * math.log(len(writer.vocabulary))


@pytest.mark.parametrize(
    ("start", "message"), [("the dragon", "dragon"), (" ".join(["the cat"] * 6), "at most 11 words")]
)
def test_what_it_cannot_carry_on_it_names(writer, start, message):
    with pytest.raises(ValueError, match=message):
        writer.write(start)


def test_the_seed_decides_the_training():
    first, second = (train_writer(steps=3, seed=2, sentences_drawn=300) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.slow
def test_trained_again_it_is_as_good(writer):
    ids = writer.vocabulary.encode(with_ends(sentences("new", 300, 9)))
    again, kept = (float(writer_loss(trained, ids)) for trained in (train_writer(), writer))
    assert again == pytest.approx(kept, abs=0.05)
