"""QKV, a course on self-attention: exercises import `check` from here, and chapters import from `qkv.widgets`."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "check": "qkv.checking",
    "examine": "qkv.checking",
    "look": "qkv.looking",
    "progress": "qkv.checking",
    "speak": "qkv.words",
    "xray": "qkv.xraying",
}


def __getattr__(name: str) -> Any:
    """Return a function, imported at its first use, so that a chapter with a widget does not import torch.

    Any other name raises an AttributeError.
    """
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'qkv' has no attribute {name!r}")
