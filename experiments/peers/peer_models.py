"""The networks that cosched is compared on, as PyTorch modules with seeded weights.

Used by export_models.py and torch_worker.py. LeNet-5 and ResNet-56 have the architecture of workloads/models/, the others
are torchvision's; inception_v3 and googlenet without auxiliary heads and without their transformation of the input.
"""
import torch
import torchvision
from torch import nn
from torchvision.models.convnext import CNBlock

IMAGE_SIZES = {"lenet5": (1, 28, 28), "resnet56": (3, 32, 32), "inception_v3": (3, 299, 299)}  # The others: 224x224.
CLASSES = {"lenet5": 10, "resnet56": 10}  # The others: ImageNet's 1000.


class LeNet5(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class BasicBlock(nn.Module):
    def __init__(self, channels, filters, stride, project):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters))
        self.shortcut = nn.Sequential(
            nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters)) if project else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


class ResNet56(nn.Sequential):
    """As TensorFlow's official Keras model: the first block of each stage has a convolution on its shortcut."""

    def __init__(self):
        layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
        channels = 16
        for stage in range(3):
            for block in range(9):
                filters = 16 << stage
                layers.append(BasicBlock(channels, filters, 2 if stage > 0 and block == 0 else 1, block == 0))
                channels = filters
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


BUILDERS = {
    "lenet5": LeNet5,
    "alexnet": torchvision.models.alexnet,
    "convnext_tiny": torchvision.models.convnext_tiny,
    "vgg16": torchvision.models.vgg16,
    "googlenet": lambda: torchvision.models.googlenet(aux_logits=False, transform_input=False, init_weights=True),
    "inception_v3": lambda: torchvision.models.inception_v3(aux_logits=False, transform_input=False, init_weights=True),
    "mobilenet_v2": torchvision.models.mobilenet_v2,
    "resnet50": torchvision.models.resnet50,
    "resnet56": ResNet56,
}


def images(name, batch, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, *IMAGE_SIZES.get(name, (3, 224, 224)), generator=generator)


def labels(name, batch, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(CLASSES.get(name, 1000), (batch,), generator=generator)


def batch_norms(model):
    return [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]


def layer_norms(model):
    return [module for module in model.modules() if isinstance(module, nn.LayerNorm)]


def rescale(model):
    """He et al. 2015. PyTorch's own initial weights let the images fade: without batch norms little but biases comes out."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")


def randomise_batch_norms(model, name):
    """Statistics, scales and offsets as of a trained network: none of them 0 or 1, and activations stay of the order of 1.

    Means and variances are first taken from a forward pass of random images, or those of 50 layers of random weights would
    have nothing to do with what arrives there and the outputs would overflow or vanish; then each is shifted at random.
    """
    norms = batch_norms(model)
    momenta = [norm.momentum for norm in norms]
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for norm in norms:
            norm.weight.uniform_(0.7, 1.3, generator=generator)
            norm.bias.normal_(0, 0.2, generator=generator)
            norm.momentum = 1.0  # The running statistics become those of this batch.
        model.train()(images(name, 4, seed=4))
        for norm, momentum in zip(norms, momenta):
            deviation = norm.running_var.sqrt()
            norm.running_mean += deviation * torch.empty_like(deviation).normal_(0, 0.1, generator=generator)
            norm.running_var *= torch.empty_like(deviation).uniform_(0.8, 1.25, generator=generator)
            norm.momentum = momentum


def randomise_layer_norms(model):
    """As of a trained network: PyTorch's initial layer scales of 1e-6 leave nothing of a ConvNeXt's blocks, and equal
    weights are stored once in a file."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.uniform_(0.7, 1.3, generator=generator)
                module.bias.normal_(0, 0.2, generator=generator)
            if isinstance(module, CNBlock):
                module.layer_scale.uniform_(0.1, 0.5, generator=generator)
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                module.bias.normal_(0, 0.1, generator=generator)


def build(name, training=False):
    """The network `name`, always with the same weights.

    For training, dropout is left out: cosched's training steps have none, and PyTorch must not be charged for its own.
    """
    torch.manual_seed(0)
    model = BUILDERS[name]()
    if training:
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        return model.train()
    if batch_norms(model):
        randomise_batch_norms(model, name)
    else:
        rescale(model)
    if layer_norms(model):
        randomise_layer_norms(model)
    return model.eval()
