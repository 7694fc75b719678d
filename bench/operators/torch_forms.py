# SPDX-License-Identifier: Apache-2.0
"""The cases as PyTorch users write them, several ways each; the contest takes the fastest that is right.

Inputs and outputs are contiguous in every form; one that works in channels_last pays for its conversions.
"""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import cases

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


class Form(nn.Module):
    """FUNCTION(inputs.., weights by name); weights are parameters, so that TorchScript can freeze them."""

    def __init__(self, function, weights):
        super().__init__()
        self.function, self.names = function, list(weights)
        for name, tensor in weights.items():
            self.register_parameter(name, nn.Parameter(tensor, requires_grad=False))

    def forward(self, *inputs):
        return self.function(*inputs, **{name: getattr(self, name) for name in self.names})


def convolve(conv, x, weight):
    functions = ({3: functional.conv_transpose1d, 4: functional.conv_transpose2d} if conv.transposed else
                 {3: functional.conv1d, 4: functional.conv2d, 5: functional.conv3d})
    options = {"stride": conv.stride, "padding": conv.padding, "dilation": conv.dilation, "groups": conv.groups}
    return functions[x.dim()](x, weight, **options)


def in_format(tensor):
    return tensor.contiguous(memory_format=FORMATS[tensor.dim()])


def conv_forms(case, weights, finish=lambda x, **_: x):
    conv = cases.conv_of(case)

    def plain(x, weight, **others):
        return finish(convolve(conv, x, weight), **others)

    def channels_last(x, weight, **others):
        return finish(convolve(conv, in_format(x), weight), **others).contiguous()
    forms = {"plain": Form(plain, weights)}
    if len(conv.input) in FORMATS:
        forms["channels_last"] = Form(channels_last, {**weights, "weight": in_format(weights["weight"])})
    return forms


def normalize(x, scale, shift, mean, variance):
    return functional.relu(functional.batch_norm(x, mean, variance, scale, shift, training=False, eps=1e-5))


def matmul_forms(case, weights):
    del case
    return {"matmul": Form(lambda x, weight: x @ weight, weights),
            "linear": Form(functional.linear, {"weight": weights["weight"].t().contiguous()})}


def capsule_forms(case, weights):
    conv, size = cases.conv_of(case), cases.CAPSULE
    height, width, ci, co, *_ = case.shape
    _, _, rows, columns = conv.output
    weight = {"weight": weights["weight"]}

    def plain(x, weight):
        stacked = x.permute(0, 4, 3, 5, 1, 2).reshape(size, ci * size, height, width)
        made = convolve(conv, stacked, weight).reshape(1, size, co, size, rows, columns)
        return made.permute(0, 4, 5, 2, 1, 3).contiguous()

    def channels_last(x, weight):
        stacked = x.permute(0, 4, 1, 2, 3, 5).reshape(size, height, width, ci * size).permute(0, 3, 1, 2)
        made = convolve(conv, stacked, weight).permute(0, 2, 3, 1).reshape(1, size, rows, columns, co, size)
        return made.permute(0, 2, 3, 4, 1, 5).contiguous()
    return {"plain": Form(plain, weight),
            "channels_last": Form(channels_last, {"weight": in_format(weight["weight"])})}


def norm_forms(case, weights):
    del case, weights
    return {"vector_norm": Form(lambda x: torch.linalg.vector_norm(x, dim=(1, 2)), {}),
            "norm": Form(lambda x: x.norm(dim=(1, 2)), {}),
            "sum of squares": Form(lambda x: x.square().sum(dim=(1, 2)).sqrt(), {}),
            "dot": Form(lambda x: torch.dot(x.reshape(-1), x.reshape(-1)).sqrt().reshape(1), {})}


def attention_score_forms(case, weights):
    del case, weights

    def matmul(query, key):
        return torch.softmax(query.permute(0, 2, 1, 3) @ key.permute(0, 2, 3, 1), dim=-1)

    def batched(query, key):
        return torch.softmax(torch.bmm(query[0].transpose(0, 1), key[0].permute(1, 2, 0)), dim=-1)[None]
    return {"matmul": Form(matmul, {}), "bmm": Form(batched, {})}


FORMS = {"GMM": matmul_forms, "CAP": capsule_forms, "NRM": norm_forms, "TBS": attention_score_forms,
         "ConvLayer": lambda case, weights: conv_forms(case, weights, normalize)}


def restore(name, model):
    """Label -> module of the case NAME; the weights lie beside MODEL."""
    stored = np.load(model.with_suffix(".weights.npz"))
    weights = {key: torch.from_numpy(stored[key]) for key in stored.files if stored[key].dtype == np.float32}
    case = cases.find(name)
    return {label: module.eval() for label, module in FORMS.get(case.op, conv_forms)(case, weights).items()}
