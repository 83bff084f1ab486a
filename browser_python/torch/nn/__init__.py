"""Modules, layers and their functions, as `torch.nn`."""

# ruff: noqa: F401 (this file re-exports torch's public names)
from ..missing import missing_getattr as _missing_getattr
from . import functional, init, utils
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .functions import (
    ELU,
    GELU,
    GLU,
    SELU,
    AvgPool1d,
    AvgPool2d,
    BCELoss,
    BCEWithLogitsLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    Flatten,
    Hardtanh,
    HuberLoss,
    Identity,
    KLDivLoss,
    L1Loss,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    MaxPool1d,
    MaxPool2d,
    Mish,
    MSELoss,
    NLLLoss,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    SmoothL1Loss,
    Softmax,
    Softmin,
    Softplus,
    Softsign,
    Tanh,
    Unflatten,
)
from .layers import (
    BatchNorm1d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    Linear,
    MultiheadAttention,
    PReLU,
    RMSNorm,
)
from .module import Module
from .parameter import Buffer, Parameter
from .transformer import Transformer, TransformerEncoder, TransformerEncoderLayer

__getattr__ = _missing_getattr("torch.nn")
