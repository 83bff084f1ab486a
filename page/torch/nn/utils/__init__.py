"""What helps beside layers."""

from . import rnn

__all__ = ["rnn"]
