# SPDX-License-Identifier: Apache-2.0
"""Tenon: trained models compiled to small fast libraries, called from Python.

    import tenon
    module = tenon.compile("resnet50.onnx", dims={"batch": 1})
    scores = module(image)              # NumPy arrays, or anything with __dlpack__
"""
from ._compile import compile, load, tune
from ._error import Error
from ._native import Module, Step, Tensor, __version__
from ._program import command, program

__all__ = ["Error", "Module", "Step", "Tensor", "__version__", "command", "compile", "load", "program", "tune"]
