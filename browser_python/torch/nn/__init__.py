"""Modules, layers and their functions, as `torch.nn`."""

# ruff: noqa: F401 (this file re-exports torch's public names)
from ..missing import missing_getattr as _missing_getattr
from . import functional, init, utils
from .containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from .functions import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    Flatten,
    GaussianNLLLoss,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    HingeEmbeddingLoss,
    HuberLoss,
    Identity,
    KLDivLoss,
    L1Loss,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    MarginRankingLoss,
    MaxPool1d,
    MaxPool2d,
    Mish,
    MSELoss,
    NLLLoss,
    PairwiseDistance,
    PoissonNLLLoss,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    SmoothL1Loss,
    SoftMarginLoss,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
    TripletMarginLoss,
    Unflatten,
    Unfold,
    Upsample,
)
from .layers import (
    BatchNorm1d,
    BatchNorm2d,
    Bilinear,
    Conv1d,
    Conv2d,
    Dropout,
    Dropout1d,
    Dropout2d,
    Embedding,
    GroupNorm,
    LayerNorm,
    LazyLinear,
    Linear,
    MultiheadAttention,
    PReLU,
    RMSNorm,
)
from .module import Module
from .parameter import Buffer, Parameter
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

_WHERE = {  # the modules of torch, as in the name of a class: `torch.nn.modules.linear.Linear`
    "activation": "ELU GELU GLU SELU CELU Hardtanh Hardsigmoid Hardswish Hardshrink LeakyReLU LogSigmoid LogSoftmax Mish "
    "MultiheadAttention PReLU ReLU ReLU6 Sigmoid SiLU Softmax Softmin Softplus Softshrink Softsign Tanh Tanhshrink "
    "Threshold",
    "batchnorm": "BatchNorm1d BatchNorm2d",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "Dropout Dropout1d Dropout2d",
    "flatten": "Flatten Unflatten",
    "fold": "Unfold",
    "linear": "Bilinear Identity LazyLinear Linear",
    "loss": "BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss "
    "KLDivLoss L1Loss MSELoss MarginRankingLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss",
    "module": "Module",
    "normalization": "GroupNorm LayerNorm RMSNorm",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool1d AdaptiveMaxPool2d AvgPool1d AvgPool2d MaxPool1d "
    "MaxPool2d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNCell",
    "sparse": "Embedding",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
    "upsampling": "Upsample",
}
for _place, _names in _WHERE.items():
    for _name in _names.split():
        globals()[_name].__module__ = f"torch.nn.modules.{_place}"

__getattr__ = _missing_getattr("torch.nn")
