# SPDX-License-Identifier: Apache-2.0
"""The sixteen networks by name, and how far an output may be from PyTorch's, relative to the largest output."""

# The deepest of them, where two float32 implementations that are both right already differ by some 1e-5.
DEEPEST = ("resnet50", "resnext50_32x4d", "inception_v3")
TOLERANCES = {name: 1e-3 if name in DEEPEST else 1e-4 for name in (
    "resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1", "efficientnet_b0", "vgg16", "densenet121",
    "shufflenet_v2_x1_0", "resnext50_32x4d", "convnext_tiny", "vit_b_16", "inception_v3", "r3d_18", "dcgan",
    "bert_base", "bert_tiny")}


# In 8 bits one step in one layer becomes many in the last: ONNX Runtime with and without its own fusions is apart by as
# much. check_steps.py is the exact comparison; this one finds outputs that have nothing to do with each other.
QUANTIZED = 0.5


def tolerance(name):
    return QUANTIZED if name.endswith(".int8") else TOLERANCES.get(name, 1e-4)


def is_right(name, difference):
    """DIFFERENCE as worker.py gives it: None stands for outputs that are not finite."""
    return difference is not None and difference <= tolerance(name)


def show(difference):
    return "not finite" if difference is None else f"{difference:.1e}"
