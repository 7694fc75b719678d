# SPDX-License-Identifier: Apache-2.0
"""Inputs of a model and ONNX Runtime's answer to them, as a file that every worker reads."""
import numpy as np


def write_inputs(session, path, sizes):
    """PATH.npz: random inputs by name, and ONNX Runtime's first output; SIZES of open dimensions by name."""
    rng, inputs = np.random.default_rng(7), {}
    for value in session.get_inputs():
        shape = [sizes[d] if isinstance(d, str) else d for d in value.shape]
        integers = value.type == "tensor(int64)"
        most = 2 if "mask" in value.name or "type" in value.name else 1000
        inputs[value.name] = rng.integers(0, most, shape) if integers else rng.standard_normal(shape).astype(np.float32)
        if "mask" in value.name:
            inputs[value.name][:, 0] = 1
    np.savez(path, **inputs, output=session.run(None, inputs)[0])
