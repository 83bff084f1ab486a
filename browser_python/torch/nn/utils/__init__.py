"""Utilities for sequences, as `torch.nn.utils`."""

from . import rnn

__all__ = ["rnn"]
