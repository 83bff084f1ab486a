"""A stand-in for `torch.cuda`: a web page has no access to a CUDA device."""

from __future__ import annotations

from .missing import missing_getattr


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no device whose generator could be seeded."""


def manual_seed_all(seed: int) -> None:
    """Do nothing: there is no device whose generator could be seeded."""


def empty_cache() -> None:
    """Do nothing: there is no device."""


__getattr__ = missing_getattr("torch.cuda")
