"""Settings of hardware that a web page does not have: they can be set, and change nothing."""

from types import SimpleNamespace

from .missing import missing_getattr

cudnn = SimpleNamespace(deterministic=False, benchmark=False, enabled=True, is_available=lambda: False)
mps = SimpleNamespace(is_available=lambda: False, is_built=lambda: False)
cuda = SimpleNamespace(is_built=lambda: False, matmul=SimpleNamespace(allow_tf32=False))

__getattr__ = missing_getattr("torch.backends")
