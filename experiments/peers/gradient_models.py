"""Every model of `cosched list models` as a PyTorch module, and the moves of weights between the two.

Used by compare_gradients.py. Variables of torchvision's models have the names of its modules; the order of layers gives
the names of the others.
"""
import numpy
import torch
import torchvision
from torch import nn

import peer_models

HEADLESS = {"aux_logits": False, "transform_input": False, "init_weights": False}


class CifarResNet(nn.Sequential):
    def __init__(self, blocks):
        layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
        channels = 16
        for filters in (16, 32, 64):
            for block in range(blocks):
                stride = 2 if filters > 16 and block == 0 else 1
                layers.append(CifarBlock(channels, filters, stride, block == 0))
                channels = filters
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class CifarBlock(peer_models.BasicBlock):
    """TensorFlow's SAME pads even images at stride 2 at the end only; PyTorch's padding is on both sides."""

    def __init__(self, channels, filters, stride, project):
        super().__init__(channels, filters, stride, project)
        if stride == 2:
            self.body[0].padding = (0, 0)
            self.body.insert(0, nn.ZeroPad2d((0, 1, 0, 1)))


class Segmenter(nn.Sequential):
    def __init__(self):
        layers, channels = [], 3
        for filters, stride, dilation in ((32, 2, 1), (64, 2, 1), (128, 2, 1), (128, 1, 1), (128, 1, 2), (128, 1, 4),
                                          (128, 1, 8)):
            layers += [nn.Conv2d(channels, filters, 3, stride, dilation, dilation, bias=False),
                       nn.BatchNorm2d(filters), nn.ReLU(inplace=True)]
            channels = filters
        super().__init__(*layers, nn.Conv2d(channels, 2, 1), nn.ConvTranspose2d(2, 2, 16, 8, 4, bias=False))

    def forward(self, x):
        return super().forward(x).permute(0, 2, 3, 1).reshape(-1, 2)


BUILDERS = {
    "lenet5": peer_models.LeNet5,
    "resnet20": lambda: CifarResNet(3),
    "resnet56": lambda: CifarResNet(9),
    "segmenter": Segmenter,
    "googlenet": lambda: torchvision.models.googlenet(**HEADLESS),
    "inception_v3": lambda: torchvision.models.inception_v3(**HEADLESS),
    **{name: getattr(torchvision.models, name) for name in
       ("alexnet", "vgg16", "resnet18", "resnet50", "mobilenet_v2", "densenet121", "squeezenet1_1")},
}
IMAGES = {"lenet5": (1, 28), "resnet20": (3, 32), "resnet56": (3, 32), "inception_v3": (3, 299)}  # The others: 3, 224.
CLASSES = {"lenet5": 10, "resnet20": 10, "resnet56": 10, "segmenter": 2}  # The others: 1000.
FLATTENED = {"lenet5": 16, "alexnet": 256, "vgg16": 512}  # The channels that the first Linear gets.
LAYERS = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear, nn.BatchNorm2d)


def residual_names(blocks):
    names = ["conv1", "bn1"]
    for stage in (1, 2, 3):
        for block in range(blocks):
            names += [f"stage{stage}/block{block}/{layer}" for layer in
                      ["conv1", "bn1", "conv2", "bn2"] + (["shortcut", "shortcut_bn"] if block == 0 else [])]
    return names + ["fc"]


def segmenter_names():
    convolutions = [f"down{i}" for i in (1, 2, 3)] + [f"context{i}" for i in (1, 2, 4, 8)]
    return [name for layer in convolutions for name in (layer, layer + "/bn")] + ["scores", "upsample"]


NAMES = {"lenet5": lambda: ["conv1", "conv2", "fc1", "fc2", "fc3"], "resnet20": lambda: residual_names(3),
         "resnet56": lambda: residual_names(9), "segmenter": segmenter_names}


def layers(name, model):
    """(cosched's name of the layer, PyTorch's module) in order."""
    found = [(path, module) for path, module in model.named_modules() if isinstance(module, LAYERS)]
    if name not in NAMES:
        return [(path.replace(".", "/"), module) for path, module in found]
    names = NAMES[name]()
    if len(names) != len(found):
        raise ValueError(f"{name} has {len(found)} layers, not {len(names)}")
    return [(ours, module) for ours, (_, module) in zip(names, found)]


def build(name, seed):
    """He's initial weights (He et al. 2015); dropout is left out, as cosched's models have none."""
    torch.manual_seed(seed)
    model = BUILDERS[name]().train()
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.normal_(module.bias, 0, 0.1)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.normal_(module.bias, 0, 0.2)
        elif isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def of_torch(tensor, module, channels):
    """A weight or its gradient in cosched's order; `channels` of the image that a Linear was flattened from, or 0."""
    values = tensor.detach().float()
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)) and values.ndim == 4:
        values = values.permute(2, 3, 1, 0)
    elif values.ndim == 2 and channels:
        units, inputs = values.shape
        side = round((inputs // channels) ** 0.5)
        values = values.reshape(units, channels, side, side).permute(2, 3, 1, 0).reshape(inputs, units)
    elif values.ndim == 2:
        values = values.T
    return numpy.ascontiguousarray(values.numpy())


def tensors(name, model, gradients):
    """{cosched's name: values} of the variables, running statistics too, or of the gradients of those that learn."""
    flattened = FLATTENED.get(name, 0)
    named = {}
    for layer, module in layers(name, model):
        norm = isinstance(module, nn.BatchNorm2d)
        names = {"weight": "scale" if norm else "weights" if isinstance(module, nn.Linear) else "filter",
                 "bias": "offset" if norm else "bias"}
        for theirs, ours in names.items():
            value = getattr(module, theirs)
            if value is not None:
                named[f"{layer}/{ours}"] = of_torch(value.grad if gradients else value, module, flattened)
        if norm and not gradients:
            named[f"{layer}/mean"] = module.running_mean.float().numpy()
            named[f"{layer}/variance"] = module.running_var.float().numpy()
        if isinstance(module, nn.Linear):
            flattened = 0  # The first one only.
    return named
