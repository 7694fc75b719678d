# SPDX-License-Identifier: Apache-2.0
"""The sixteen networks that tenon is measured and checked on, as PyTorch modules with seeded weights.

    make("resnet18") -> Network(module in eval mode, {"input": tensor})

Weights are random but behave like trained ones where it matters: batch norms have uneven scales and shifts
and the statistics that their inputs really have, layer scales are not near zero, and no head is all zeros;
so activations neither explode nor vanish, and a wrong fold anywhere shows in the output.
"""
import dataclasses
import math

import torch
import torchvision
from torch import nn

SEED = 20240229
IMAGE = (1, 3, 224, 224)


@dataclasses.dataclass
class Network:
    module: nn.Module
    inputs: dict  # name -> tensor, in the order of forward()'s arguments


class Dcgan(nn.Module):
    """The generator of DCGAN (Radford et al. 2015): 100 x 1 x 1 -> 3 x 64 x 64."""

    def __init__(self, latent=100, width=64, channels=3):
        super().__init__()
        sizes = [latent, width * 8, width * 4, width * 2, width]
        layers = []
        for index, (before, after) in enumerate(zip(sizes, sizes[1:])):
            stride, padding = (1, 0) if index == 0 else (2, 1)
            layers += [nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False),
                       nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        layers += [nn.ConvTranspose2d(width, channels, 4, 2, 1, bias=False), nn.Tanh()]
        self.layers = nn.Sequential(*layers)

    def forward(self, latent):
        return self.layers(latent)


class BertLayer(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.heads, self.head_size = heads, hidden // heads
        self.in_one_call = False  # attention by PyTorch's own function, which newer ones have kernels for
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.attention_out = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.intermediate = nn.Linear(hidden, inner)
        self.out = nn.Linear(inner, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)

    def split_heads(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, x):
        query, key, value = (self.split_heads(f(x)) for f in (self.query, self.key, self.value))
        if self.in_one_call:
            context = nn.functional.scaled_dot_product_attention(query, key, value)
        else:
            scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.head_size)
            context = torch.matmul(torch.softmax(scores, dim=-1), value)
        context = context.permute(0, 2, 1, 3).contiguous()
        context = context.view(x.size(0), x.size(1), self.heads * self.head_size)
        x = self.attention_norm(self.attention_out(context) + x)
        return self.norm(self.out(nn.functional.gelu(self.intermediate(x))) + x)


class Bert(nn.Module):
    """The encoder of BERT (Devlin et al. 2018) with its embeddings: token ids -> hidden states."""

    def __init__(self, layers, hidden, heads, inner, vocabulary=30522, positions=512):
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.types = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(hidden, heads, inner) for _ in range(layers))
        self.register_buffer("position_ids", torch.arange(positions).expand(1, -1))

    def forward(self, input_ids):
        positions = self.positions(self.position_ids[:, : input_ids.size(1)])
        types = self.types(torch.zeros_like(input_ids))
        x = self.norm(self.words(input_ids) + types + positions)
        for layer in self.layers:
            x = layer(x)
        return x


def attend_in_one_call(module):
    """MODULE, as people run it on a GPU; it is exported as the formula, and computes the same."""
    for layer in module.modules():
        if isinstance(layer, BertLayer):
            layer.in_one_call = True
    return module


def init_bert(module):
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.Embedding)):
            nn.init.normal_(layer.weight, std=0.02)
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.bias, std=0.02)
    vary_norms(module)


def vary_norms(module):
    """Uneven scales and shifts, so that a norm that is folded wrongly cannot hide behind 1 and 0."""
    kinds = (nn.LayerNorm, nn.modules.batchnorm._BatchNorm)
    for layer in module.modules():
        if isinstance(layer, kinds) and layer.weight is not None:
            nn.init.uniform_(layer.weight, 0.7, 1.3)
            nn.init.normal_(layer.bias, std=0.1)


def calibrate(module, shape, batches=3, batch=4):
    """Running statistics of all batch norms become those of random batches."""
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    kept = [norm.momentum for norm in norms]
    module.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over the batches
        norm.train()
    with torch.no_grad():
        for _ in range(batches):
            module(torch.randn(batch, *shape[1:]))
    for norm, momentum in zip(norms, kept):
        norm.momentum = momentum
    module.eval()


def init_vit(module):
    nn.init.normal_(module.class_token, std=0.02)
    nn.init.normal_(module.heads.head.weight, std=0.02)  # torchvision begins with zeros
    nn.init.normal_(module.heads.head.bias, std=0.02)
    vary_norms(module)


def init_convnext(module):
    for name, parameter in module.named_parameters():
        if name.endswith("layer_scale"):  # torchvision begins with 1e-6: blocks that do nothing
            nn.init.uniform_(parameter, 0.1, 0.4)
    vary_norms(module)


def init_dcgan(module):
    for layer in module.modules():
        if isinstance(layer, nn.ConvTranspose2d):
            nn.init.normal_(layer.weight, std=0.02)
    vary_norms(module)


def image_model(name, init=vary_norms, shape=IMAGE, **options):
    models = torchvision.models.video if name == "r3d_18" else torchvision.models
    return lambda: getattr(models, name)(weights=None, **options), init, shape


# name -> (constructor, how weights are set beyond what the constructor does, shape of the input)
NETWORKS = {
    "resnet18": image_model("resnet18"),
    "resnet50": image_model("resnet50"),
    "mobilenet_v2": image_model("mobilenet_v2"),
    "squeezenet1_1": image_model("squeezenet1_1"),
    "efficientnet_b0": image_model("efficientnet_b0"),
    "vgg16": image_model("vgg16"),
    "densenet121": image_model("densenet121"),
    "shufflenet_v2_x1_0": image_model("shufflenet_v2_x1_0"),
    "resnext50_32x4d": image_model("resnext50_32x4d"),
    "convnext_tiny": image_model("convnext_tiny", init_convnext),
    "vit_b_16": image_model("vit_b_16", init_vit),
    "inception_v3": image_model("inception_v3", shape=(1, 3, 299, 299), aux_logits=True,
                                init_weights=True),
    "r3d_18": image_model("r3d_18", shape=(1, 3, 16, 112, 112)),
    "dcgan": (Dcgan, init_dcgan, (1, 100, 1, 1)),
    "bert_base": (lambda: Bert(12, 768, 12, 3072), init_bert, (1, 128)),
    "bert_tiny": (lambda: Bert(2, 128, 2, 512), init_bert, (1, 128)),
}


def make_inputs(name, module, shape):
    if name.startswith("bert"):
        return {"input_ids": torch.randint(0, module.words.num_embeddings, shape)}
    return {"input": torch.randn(shape)}


def make(name):
    build, init, shape = NETWORKS[name]
    torch.manual_seed(SEED)
    module = build()
    init(module)
    if not name.startswith("bert"):
        calibrate(module, shape)
    module.eval()
    return Network(module, make_inputs(name, module, shape))


def restore(name, model):
    """Label -> module of NAME in eval mode, with the weights that export.py saved beside MODEL."""
    build, _, _ = NETWORKS[name]
    module = build()
    module.load_state_dict(torch.load(model.with_suffix(".pt")))
    return {"": module.eval()}
