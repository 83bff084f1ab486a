"""Padding of sequences of different lengths."""

from __future__ import annotations

from collections.abc import Sequence

from ...creation import full
from ...missing import missing_getattr
from ...tensors import Tensor


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return sequences as one tensor, each filled up to the longest with `padding_value`.

    The filling is at the end, or with `padding_side="left"` at the start.

    Shapes:
        sequences (n_i, ...); result (longest, B, ...), or with `batch_first` (B, longest, ...)
    Raises:
        RuntimeError: there is no sequence, or another `padding_side`.
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(len(s) for s in sequences)
    out = full((len(sequences), longest, *sequences[0].shape[1:]), padding_value, dtype=sequences[0].dtype)
    for i, s in enumerate(sequences):
        out[i, slice(longest - len(s), None) if padding_side == "left" else slice(len(s))] = s
    return out if batch_first else out.transpose(0, 1)


__getattr__ = missing_getattr("torch.nn.utils.rnn")
