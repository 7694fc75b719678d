# SPDX-License-Identifier: Apache-2.0
"""export.py [--out DIR] [--force]: writes each case of cases.py as an ONNX model of one operator or subgraph.

For each case NAME, under build/operators:
  NAME.onnx         plain NCHW inputs and outputs, weights as initializers
  NAME.npz          the inputs by name and the expected `output`
  NAME.weights.npz  the weights by name, for PyTorch's forms
Runs with the interpreter of bench/peers/setup (numpy, onnx, onnxruntime). What is there already is left alone.
"""
import argparse
import os
import pathlib
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPSET = 13


def conv_attributes(conv):
    spatial = len(conv.input) - 2
    values = {"kernel_shape": list(conv.weight[2:]), "strides": [conv.stride] * spatial,
              "pads": [conv.padding] * 2 * spatial, "dilations": [conv.dilation] * spatial, "group": conv.groups}
    return values


def random_weight(rng, conv):
    """Scaled so that outputs are about as large as inputs."""
    fan_in = np.prod(conv.weight[1:])
    return rng.standard_normal(conv.weight).astype(np.float32) / np.float32(np.sqrt(fan_in))


def write_conv(case, rng):
    """C1D, C2D, C3D, GRP, DIL, DEP: one Conv; T2D: one ConvTranspose."""
    conv = cases.conv_of(case)
    kind = "ConvTranspose" if conv.transposed else "Conv"
    node = helper.make_node(kind, ["input", "weight"], ["output"], **conv_attributes(conv))
    return [node], {"input": conv.input}, conv.output, {"weight": random_weight(rng, conv)}


def write_conv_layer(case, rng):
    conv = cases.conv_of(case)
    channels = conv.output[1]
    norms = {"scale": rng.uniform(0.7, 1.3, channels), "shift": rng.normal(0, 0.1, channels),
             "mean": rng.normal(0, 0.1, channels), "variance": rng.uniform(0.5, 1.5, channels)}
    nodes = [helper.make_node("Conv", ["input", "weight"], ["convolved"], **conv_attributes(conv)),
             helper.make_node("BatchNormalization", ["convolved", *norms], ["normalized"], epsilon=1e-5),
             helper.make_node("Relu", ["normalized"], ["output"])]
    weights = {"weight": random_weight(rng, conv), **{key: x.astype(np.float32) for key, x in norms.items()}}
    return nodes, {"input": conv.input}, conv.output, weights


def write_matmul(case, rng):
    rows, columns, depth = case.shape
    weight = rng.standard_normal((depth, columns)).astype(np.float32) / np.float32(np.sqrt(depth))
    return ([helper.make_node("MatMul", ["input", "weight"], ["output"])], {"input": (rows, depth)}, (rows, columns),
            {"weight": weight})


def write_capsule(case, rng):
    """output[n, y, x, co, i, j] = sum over ci, k and the window of input[n, y', x', ci, i, k] * weight[.., ci, co, k, j]:
    a convolution that has i in its batch, (ci, k) as input and (co, j) as output channels."""
    height, width, ci, co, *_ = case.shape
    conv, size = cases.conv_of(case), cases.CAPSULE
    _, _, rows, columns = conv.output
    shapes = {"conv_shape": (size, ci * size, height, width), "pose_shape": (1, size, co, size, rows, columns)}
    nodes = [helper.make_node("Transpose", ["input"], ["poses"], perm=[0, 4, 3, 5, 1, 2]),
             helper.make_node("Reshape", ["poses", "conv_shape"], ["stacked"]),
             helper.make_node("Conv", ["stacked", "weight"], ["convolved"], **conv_attributes(conv)),
             helper.make_node("Reshape", ["convolved", "pose_shape"], ["unstacked"]),
             helper.make_node("Transpose", ["unstacked"], ["output"], perm=[0, 4, 5, 2, 1, 3])]
    weights = {"weight": random_weight(rng, conv),
               **{key: np.array(shape, np.int64) for key, shape in shapes.items()}}
    return nodes, {"input": (1, height, width, ci, size, size)}, (1, rows, columns, co, size, size), weights


def write_norm(case, rng):
    del rng
    node = helper.make_node("ReduceL2", ["input"], ["output"], axes=[1, 2], keepdims=0)
    return [node], {"input": (1, *case.shape)}, (1,), {}


def write_attention_scores(case, rng):
    """TBS: softmax(query heads x key heads transposed)."""
    del rng
    sequence, heads, size = case.shape
    shape = (1, sequence, heads, size)
    nodes = [helper.make_node("Transpose", ["query"], ["queries"], perm=[0, 2, 1, 3]),
             helper.make_node("Transpose", ["key"], ["keys"], perm=[0, 2, 3, 1]),
             helper.make_node("MatMul", ["queries", "keys"], ["scores"]),
             helper.make_node("Softmax", ["scores"], ["output"], axis=-1)]
    return nodes, {"query": shape, "key": shape}, (1, heads, sequence, sequence), {}


WRITERS = {"GMM": write_matmul, "CAP": write_capsule, "NRM": write_norm, "ConvLayer": write_conv_layer,
           "TBS": write_attention_scores}


def make_model(case, rng):
    """(model, shapes of the inputs, weights)"""
    nodes, inputs, output, weights = WRITERS.get(case.op, write_conv)(case, rng)
    graph = helper.make_graph(
        nodes, case.name,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, output)],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model, inputs, weights


def scale_of(case):
    """Scores of attention come from inputs that are not too large: a softmax of 0s and 1s would show little."""
    return case.shape[2] ** -0.25 if case.op == "TBS" else 1.0


def expected(case, model, inputs):
    """ONNX Runtime's answer, except where it is not exact: it sums a norm one element after the other in float32, which
    is off by 1.4 % at 4096 x 4096."""
    if case.op == "NRM":
        return np.sqrt(np.square(inputs["input"].astype(np.float64)).sum(axis=(1, 2))).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def export(case, out):
    """Each file appears under its name only when it is complete, NAME.npz last."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    model, shapes, weights = make_model(case, rng)
    inputs = {name: (scale_of(case) * rng.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    output = expected(case, model, inputs)
    onnx.save(model, out / f"{case.name}.part.onnx")
    os.replace(out / f"{case.name}.part.onnx", out / f"{case.name}.onnx")
    np.savez(out / f"{case.name}.weights.npz", **weights)
    np.savez(out / f"{case.name}.part.npz", **inputs, output=output)
    os.replace(out / f"{case.name}.part.npz", out / f"{case.name}.npz")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/operators")
    parser.add_argument("--force", action="store_true", help="write what exists once more")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for case in cases.all_cases():
        if arguments.force or not (arguments.out / f"{case.name}.npz").exists():
            export(case, arguments.out)


if __name__ == "__main__":
    main()
