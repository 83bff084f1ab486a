"""Settings of hardware that a web page does not have: they can be set, and change nothing."""

from types import ModuleType, SimpleNamespace
from typing import Any

from .missing import missing_getattr, tell_names


def settings(name: str, **values: Any) -> ModuleType:
    """Return a module of `torch.backends` with these names."""
    module = ModuleType(f"torch.backends.{name}")
    vars(module).update(values, __getattr__=missing_getattr(module.__name__))
    tell_names(module.__name__, module)
    return module


cudnn = settings("cudnn", deterministic=False, benchmark=False, enabled=True, is_available=lambda: False)
mps = settings("mps", is_available=lambda: False, is_built=lambda: False)
cuda = settings("cuda", is_built=lambda: False, matmul=SimpleNamespace(allow_tf32=False))

__getattr__ = missing_getattr("torch.backends")
