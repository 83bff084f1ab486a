"""Modules, layers and their functions, as `torch.nn`."""

from ..missing import missing_getattr as _missing_getattr
from . import functional, init, utils
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import (
    GELU,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Identity,
    LayerNorm,
    Linear,
    MultiheadAttention,
    ReLU,
    Softmax,
)
from .module import Module
from .parameter import Buffer, Parameter

__all__ = [
    "GELU",
    "Buffer",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "Parameter",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Softmax",
    "functional",
    "init",
    "utils",
]

__getattr__ = _missing_getattr("torch.nn")
