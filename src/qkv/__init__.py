"""QKV: self-attention you can touch. `from qkv import check` in exercises, `from qkv.widgets import …` in chapters."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY = {"check": "qkv.checking", "progress": "qkv.checking"}


def __getattr__(name: str) -> Any:
    """Import the checks only when they are asked for: a chapter that shows a widget needs no torch."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'qkv' has no attribute {name!r}")
