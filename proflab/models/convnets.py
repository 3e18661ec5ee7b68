"""Models of images: MLP, LeNet-5, ResNet, MobileNetV2. Parameter names are torchvision's."""

from __future__ import annotations

from proflab import nn
from proflab.nn import functional as F
from proflab.nn import init
from proflab.tensor import Tensor


class MLP(nn.Module):
    """Linear layers with ReLU between them: MLP(784, 256, 10) has two."""

    def __init__(self, *sizes: int):
        sizes = sizes or (784, 256, 10)
        if len(sizes) < 2:
            raise ValueError(f"MLP: sizes {sizes} name no layer: give at least two")
        layers = []
        for n_in, n_out in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x.flatten(1))


class LeNet5(nn.Module):
    """LeCun et al. 1998, with max pooling and ReLU as taught today. (batch, 1, 32, 32) in."""

    def __init__(self, num_classes: int = 10):
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


def _conv3x3(n_in: int, n_out: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a shortcut (ResNet-18, -34)."""

    expansion = 1

    def __init__(self, n_in: int, width: int, stride: int = 1):
        self.conv1 = _conv3x3(n_in, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _shortcut(n_in, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + shortcut)


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 convolutions and a shortcut (ResNet-50); the stride is the 3×3's."""

    expansion = 4

    def __init__(self, n_in: int, width: int, stride: int = 1):
        self.conv1 = nn.Conv2d(n_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(n_in, 4 * width, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + shortcut)


def _shortcut(n_in: int, n_out: int, stride: int) -> nn.Sequential | None:
    """Return a projection where the shapes differ; None where the input itself will do."""
    if stride == 1 and n_in == n_out:
        return None
    return nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))


class ResNet(nn.Module):
    """He et al. 2015. (batch, 3, 224, 224) in."""

    def __init__(
        self, block: type[BasicBlock | Bottleneck], depths: tuple[int, ...], num_classes: int = 1000
    ):
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        n_in = 64
        for i, depth in enumerate(depths):
            blocks = []
            for j in range(depth):
                blocks.append(block(n_in, 64 * 2**i, stride=2 if i and not j else 1))
                n_in = 64 * 2**i * block.expansion
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(n_in, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(num_classes: int = 1000) -> ResNet:
    """Return ResNet-18, with two BasicBlocks a stage."""
    return ResNet(BasicBlock, (2, 2, 2, 2), num_classes)


def resnet34(num_classes: int = 1000) -> ResNet:
    """Return ResNet-34, with 3, 4, 6 and 3 BasicBlocks."""
    return ResNet(BasicBlock, (3, 4, 6, 3), num_classes)


def resnet50(num_classes: int = 1000) -> ResNet:
    """Return ResNet-50, with 3, 4, 6 and 3 Bottlenecks."""
    return ResNet(Bottleneck, (3, 4, 6, 3), num_classes)


def _conv_bn_relu6(n_in: int, n_out: int, kernel: int, stride=1, groups=1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(n_out),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """Widen by a 1×1 convolution, filter each channel by a depthwise 3×3, narrow by a 1×1."""

    def __init__(self, n_in: int, n_out: int, stride: int, expand: int):
        hidden = n_in * expand
        layers: list[nn.Module] = [] if expand == 1 else [_conv_bn_relu6(n_in, hidden, 1)]
        layers += [
            _conv_bn_relu6(hidden, hidden, 3, stride, groups=hidden),
            nn.Conv2d(hidden, n_out, 1, bias=False),
            nn.BatchNorm2d(n_out),
        ]
        self.conv = nn.Sequential(*layers)
        self.residual = stride == 1 and n_in == n_out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNetV2(nn.Module):
    """Sandler et al. 2018, width 1.0. (batch, 3, 224, 224) in."""

    # expansion, channels out, blocks, stride of the first
    settings = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
        (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    )  # fmt: skip

    def __init__(self, num_classes: int = 1000, dropout: float = 0.2):
        layers: list[nn.Module] = [_conv_bn_relu6(3, 32, 3, 2)]
        n_in = 32
        for expand, n_out, blocks, stride in self.settings:
            for j in range(blocks):
                layers.append(InvertedResidual(n_in, n_out, 1 if j else stride, expand))
                n_in = n_out
        layers.append(_conv_bn_relu6(n_in, 1280, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(1280, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                init.normal_(module.weight, 0, 0.01)
                if module.bias is not None:
                    init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1))


def mobilenet_v2(num_classes: int = 1000) -> MobileNetV2:
    """Return MobileNetV2 of width 1.0."""
    return MobileNetV2(num_classes)
