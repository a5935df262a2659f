"""torchvision's ResNet-18, adapted to small images as is usual for CIFAR: a 3 × 3 stem with stride 1 and no max-pooling."""

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, linear, norm, scaled

WIDTHS = (64, 128, 256, 512)  # widths of the four stages, each of two blocks


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    inputs = scaled(WIDTHS[0], width)
    parts = [conv("conv1", shape[0], inputs, 3), norm("bn1", inputs)]
    for stage, full in enumerate(WIDTHS, start=1):
        outputs = scaled(full, width)
        for block in (0, 1):
            name = f"layer{stage}.{block}"
            parts += [conv(f"{name}.conv1", inputs, outputs, 3), norm(f"{name}.bn1", outputs)]
            parts += [conv(f"{name}.conv2", outputs, outputs, 3), norm(f"{name}.bn2", outputs)]
            if block == 0 and stage > 1:
                parts += [conv(f"{name}.downsample.0", inputs, outputs, 1), norm(f"{name}.downsample.1", outputs)]
            inputs = outputs
    return [*parts, linear("fc", inputs, classes)]


def build(shape: Shape, classes: int, width: float) -> Module:
    from torch import nn
    from torchvision.models import resnet18

    network: nn.Module = resnet18(num_classes=classes)
    if width != 1:
        _scale(network, width)
    network.conv1 = _conv(shape[0], scaled(WIDTHS[0], width), kernel=3, stride=1, padding=1)
    network.maxpool = nn.Identity()
    return network


def _scale(network: Module, width: float) -> None:
    """Replace every layer by one of another width, because the width of torchvision's ResNet-18 is fixed."""
    from torch import nn

    for parent in list(network.modules()):
        for name, part in parent.named_children():
            if isinstance(part, nn.Conv2d):
                sizes = scaled(part.in_channels, width), scaled(part.out_channels, width)
                setattr(parent, name, _conv(*sizes, part.kernel_size[0], part.stride[0], int(part.padding[0])))
            elif isinstance(part, nn.BatchNorm2d):
                setattr(parent, name, nn.BatchNorm2d(scaled(part.num_features, width)))
            elif isinstance(part, nn.Linear):
                setattr(parent, name, nn.Linear(scaled(part.in_features, width), part.out_features))


def _conv(inputs: int, outputs: int, kernel: int, stride: int, padding: int) -> Module:
    """Make a convolution, initialised as in torchvision's ResNet."""
    from torch import nn

    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


# From 9 pixels on, the last batch norm has several values per channel, even in a batch of one image.
register(Network("resnet18", layers, build, smallest_side=9, images_per_pass=256, packages=("torchvision",)))
