"""The package `torch.utils`: the parts that answers and the course need."""

from . import data

__all__ = ["data"]
