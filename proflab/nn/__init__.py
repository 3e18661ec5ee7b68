"""Layers and models' building blocks, under torch's names."""

from proflab.nn import functional, init, utils
from proflab.nn.activations import (
    ELU,
    GELU,
    GLU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    Identity,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from proflab.nn.attention import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer
from proflab.nn.containers import ModuleDict, ModuleList, ParameterList, Sequential
from proflab.nn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    Embedding,
    GroupNorm,
    InstanceNorm2d,
    LayerNorm,
    Linear,
    PReLU,
    RMSNorm,
)
from proflab.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from proflab.nn.module import Module
from proflab.nn.parameter import Parameter
from proflab.nn.shaping import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    Dropout,
    Dropout2d,
    Flatten,
    MaxPool1d,
    MaxPool2d,
    PixelShuffle,
    Unflatten,
    Upsample,
    ZeroPad2d,
)


def __getattr__(name: str):
    raise AttributeError(f"proflab.nn has no {name!r}; docs/torch.md lists what it has")
