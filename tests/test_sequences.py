"""Sequence inputs, against torch's own and by their properties."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.sequences import embed, frame_signal, one_hot, pad_batch

examples = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32)


@examples
@given(st.lists(st.integers(0, 6), max_size=9))
def test_one_hot_is_torchs_as_floats(ids):
    ids = torch.tensor(ids, dtype=torch.int64)
    assert torch.equal(one_hot(ids, 7), F.one_hot(ids, 7).float())


def test_any_two_one_hot_rows_are_the_same_distance_apart():
    distances = torch.pdist(one_hot(torch.arange(5), 5))
    torch.testing.assert_close(distances, torch.full((10,), math.sqrt(2)))


@pytest.mark.parametrize("bad", [-1, 4, 100])
def test_an_id_outside_the_vocabulary_is_refused_and_named(bad):
    with pytest.raises(ValueError, match=rf"from 0 to 3; got \[{bad}\]"):
        one_hot(torch.tensor([0, bad, 3]), 4)


@pytest.mark.parametrize("leading", [(), (5,), (2, 3)])
def test_a_look_up_is_a_one_hot_row_times_the_table(leading):
    table = torch.randn(11, 4, generator=torch.Generator().manual_seed(0))
    ids = torch.randint(11, leading, generator=torch.Generator().manual_seed(1))
    assert torch.equal(embed(ids, table), F.embedding(ids, table))
    torch.testing.assert_close(embed(ids, table), one_hot(ids, 11) @ table)


def test_gradients_reach_the_rows_that_were_looked_up():
    table = torch.zeros(4, 2, requires_grad=True)
    embed(torch.tensor([1, 3, 1]), table).sum().backward()
    assert table.grad[:, 0].tolist() == [0, 2, 0, 1]


@examples
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(1, 4), seeds)
def test_a_padded_batch_holds_each_sequence_and_zeros(lengths, d, seed):
    generator = torch.Generator().manual_seed(seed)
    sequences = [torch.randn(n, d, generator=generator) for n in lengths]
    batch, mask = pad_batch(sequences)
    assert batch.shape == (len(lengths), max(lengths), d)
    assert mask.sum(1).tolist() == lengths
    assert (batch[~mask] == 0).all()
    for sequence, row, real in zip(sequences, batch, mask, strict=True):
        assert torch.equal(row[real], sequence)


def test_a_real_row_of_zeros_is_still_real():
    _, mask = pad_batch([torch.zeros(2, 3), torch.zeros(4, 3)])
    assert mask.tolist() == [[True, True, False, False], [True] * 4]


def test_sequences_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match=r"one d; got \[\(2, 3\), \(4, 5\)\]"):
        pad_batch([torch.zeros(2, 3), torch.zeros(4, 5)])
    with pytest.raises(ValueError, match="got"):
        pad_batch([])


@examples
@given(st.integers(1, 9), st.data(), st.integers(0, 20))
def test_frames_start_every_hop_samples_and_only_whole_ones_count(window, data, extra):
    hop = data.draw(st.integers(1, window))
    signal = torch.arange(float(window + extra))
    frames = frame_signal(signal, window, hop)
    by_hand = [signal[s : s + window] for s in range(0, len(signal) - window + 1, hop)]
    assert torch.equal(frames, torch.stack(by_hand))


def test_a_second_of_speech_makes_98_frames():
    assert frame_signal(torch.zeros(16000), window=400, hop=160).shape == (98, 400)


@pytest.mark.parametrize(("window", "hop"), [(9, 2), (4, 0), (4, 5), (4, -1)])
def test_frames_that_cannot_be_cut_are_refused(window, hop):
    with pytest.raises(ValueError, match="8 samples"):
        frame_signal(torch.zeros(8), window, hop)
