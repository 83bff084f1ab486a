"""The package `torch.utils`: the parts that answers and the course need."""

from ..missing import missing_getattr
from . import data

__all__ = ["data"]

__getattr__ = missing_getattr("torch.utils")
