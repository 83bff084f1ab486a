"""Inputs of a network, as the book's first chapter builds them: a row of numbers for each token."""

from __future__ import annotations

import torch
from torch import Tensor


def one_hot(ids: Tensor, vocab_size: int) -> Tensor:
    """Give each token id a row with a single 1, in the id's own column.

    Any two different rows are √2 apart: a one-hot row identifies a token, but has no meaning.

    Shapes:
        ids (...) of integers
    Returns:
        float (..., vocab_size)
    Raises:
        ValueError: an id is outside 0 … vocab_size − 1.
    """
    outside = ids[(ids < 0) | (ids >= vocab_size)]
    if outside.numel():
        raise ValueError(f"expected ids from 0 to {vocab_size - 1}; got {outside.tolist()}")
    columns = torch.arange(vocab_size, device=ids.device)
    return (ids.unsqueeze(-1) == columns).float()


def embed(ids: Tensor, table: Tensor) -> Tensor:
    """Look up the row of each token in the table: equal to one_hot(ids) @ table.

    Shapes:
        ids (...) of integers   table (vocab, d)
    Returns:
        (..., d)
    Raises:
        IndexError: an id is vocab or more; a negative one counts from the end of the table.
    """
    return table[ids]


def pad_batch(sequences: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Stack sequences of different lengths with padding, and return a mask of the real rows.

    Shapes:
        sequences, a list of B tensors (n_i, d)
    Returns:
        batch (B, n_max, d), zeros after the end of each sequence
        mask (B, n_max) bool, True = real, False = padding
    Raises:
        ValueError: the list is empty, or the sequences differ in d.
    """
    if len({tuple(s.shape[1:]) for s in sequences}) != 1:
        raise ValueError(f"expected sequences (n_i, d) with one d; got {[tuple(s.shape) for s in sequences]}")
    batch = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    lengths = torch.tensor([len(s) for s in sequences], device=batch.device)
    mask = torch.arange(batch.shape[1], device=batch.device) < lengths.unsqueeze(1)
    return batch, mask


def frame_signal(signal: Tensor, window: int, hop: int) -> Tensor:
    """Cut a signal into overlapping windows: one row for every `hop` samples.

    Row i holds samples i · hop … i · hop + window − 1. A window that the signal does not fill
    is left out, so there are 1 + (samples − window) // hop rows. Speech is cut into windows of
    25 ms, one every 10 ms: about 100 rows per second.

    Shapes:
        signal (samples,), window and hop in samples
    Returns:
        (n_frames, window)
    Raises:
        ValueError: the signal is shorter than one window, or hop is not in 1 … window.
    """
    if not 0 < hop <= window <= signal.shape[-1]:
        raise ValueError(
            f"expected 0 < hop ≤ window ≤ samples; got hop {hop}, window {window}, {signal.shape[-1]} samples"
        )
    return signal.unfold(-1, window, hop)
