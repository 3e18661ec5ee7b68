"""The models that the course profiles, each as its paper or its usual library has it."""

from proflab.models.convnets import (
    MLP,
    LeNet5,
    MobileNetV2,
    ResNet,
    mobilenet_v2,
    resnet18,
    resnet34,
    resnet50,
)
from proflab.models.transformers import (
    GPT2,
    BertLayer,
    VisionTransformer,
    bert_layer,
    gpt2,
    vit_tiny16,
)

__all__ = [
    "GPT2", "MLP", "BertLayer", "LeNet5", "MobileNetV2", "ResNet", "VisionTransformer",
    "bert_layer", "gpt2", "mobilenet_v2", "resnet18", "resnet34", "resnet50", "vit_tiny16",
]  # fmt: skip
