"""A stand-in for `torch.accelerator`: a web page has none."""

from __future__ import annotations

from .missing import missing_getattr


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def current_accelerator() -> None:
    """Return None: there is no such device."""


__getattr__ = missing_getattr("torch.accelerator")
