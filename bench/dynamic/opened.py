# SPDX-License-Identifier: Apache-2.0
"""Networks of `tenon zoo` with open dimensions, as exporters write them: sizes by name, reshapes that copy what is open,
positions cut to the length of the sequence."""
import subprocess

import numpy as np
import onnx
from onnx import helper, numpy_helper

POSITIONS = "embeddings.position_ids"


def write(tenon, model, file):
    """FILE: the network, whose first axis is `batch` and whose second one `seq` where it has such a range."""
    if file.exists():
        return
    part = file.with_suffix(".part")
    longest = ["--tokens", str(model.ranges["seq"][1])] if "seq" in model.ranges else []
    subprocess.run([str(tenon), "zoo", "write", model.name, *longest, "-o", str(part)], check=True, capture_output=True)
    network = onnx.load(part)
    open_dimensions(network.graph, list(model.ranges))
    onnx.save(network, part)
    part.rename(file)


def open_dimensions(graph, names):
    del graph.output[1:]
    del graph.value_info[:]
    for value in [*graph.input, *graph.output]:
        for axis, name in enumerate(names):
            value.type.tensor_type.shape.dim[axis].dim_param = name
    if "seq" in names:
        copy_open_axes(graph)
        cut_positions(graph)


def copy_open_axes(graph):
    """Reshape to 0, 0, ..: as the first two axes are."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Reshape":
            tensor = constants[node.input[1]]
            shape = numpy_helper.to_array(tensor).copy()
            shape[:2] = 0
            tensor.CopyFrom(numpy_helper.from_array(shape, tensor.name))


def cut_positions(graph):
    """position_ids[0 : number of ids]"""
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name == POSITIONS:
                node.input[index] = "positions.now"
    for name, value in (("positions.zero", 0), ("positions.one", 1)):
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    added = [helper.make_node("Shape", ["input_ids"], ["positions.shape"]),
             helper.make_node("Gather", ["positions.shape", "positions.one"], ["positions.seq"]),
             helper.make_node("Slice", [POSITIONS, "positions.zero", "positions.seq", "positions.zero"], ["positions.now"])]
    for index, node in enumerate(added):
        graph.node.insert(index, node)
