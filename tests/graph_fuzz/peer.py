# SPDX-License-Identifier: Apache-2.0
"""peer.py FOLDER [--peer onnx|onnxruntime] [--check]: holds the oracle's outputs against those of another implementation.

FOLDER is what `graph_fuzz_test --dump=FOLDER` wrote: cases in the layout of ONNX's backend suite. Each is run by ONNX's
reference evaluator or by ONNX Runtime and compared with the outputs that the oracle recorded. Needs Python packages that
the build does not: python3 -m venv v && v/bin/pip install onnx onnxruntime numpy

The comparison is node by node: every value of the graph becomes an output, and the first one that differs names the
operator. Values computed from one that differs are left out.
"""
import argparse
import collections
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

RELATIVE = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2}


def load_case(folder):
    model = onnx.load(str(folder / "model.onnx"))
    constants = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in constants]
    data = folder / "test_data_set_0"
    inputs = {name: read(data / f"input_{i}.pb") for i, name in enumerate(names)}
    return model, inputs


def read(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def reference(model, inputs):
    from onnx.reference import ReferenceEvaluator
    return ReferenceEvaluator(model).run(None, inputs)


def runtime(model, inputs):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, inputs)


PEERS = {"onnx": reference, "onnxruntime": runtime}


def single_node(model, node, values):
    """The node as a model of its own, with the values it reads as inputs."""
    reads = [name for name in dict.fromkeys(captured(node)) if name in values]
    inputs = [info(name, values[name]) for name in reads]
    outputs = [info(name, values[name]) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", inputs, outputs)
    small = onnx.helper.make_model(graph, opset_imports=model.opset_import)
    small.ir_version = max(model.ir_version, 4)
    return small, {name: values[name] for name in reads}


def info(name, value):
    return onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def captured(node):
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names += captured(inner)
        names += [o.name for o in attribute.g.output]
    return names


def differs(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else first(got, want, got != want)
    relative = RELATIVE[want.dtype.name]
    scale = np.nanmax(np.abs(want[np.isfinite(want)]), initial=0)
    wide = want.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(got.astype(np.float64) - wide) <= relative * (np.abs(wide) + 0.1 * scale)
    near |= (got == want) | (np.isnan(got) & np.isnan(want))
    return "" if near.all() else first(got, want, ~near)


def first(got, want, bad):
    at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(bad)))
    return f"{np.count_nonzero(bad)} of {bad.size} differ; at {at} {np.atleast_1d(want)[at]}, the peer says {np.atleast_1d(got)[at]}"


def compare_case(folder, run, tally, shown):
    model, inputs = load_case(folder)
    values = dict(inputs)
    values.update({t.name: numpy_helper.to_array(t) for t in model.graph.initializer})
    recorded = {}
    for i, value in enumerate(model.graph.value_info):
        recorded[value.name] = read(folder / "test_data_set_0" / f"value_{i}.pb")
    values.update(recorded)
    for node in model.graph.node:
        small, feeds = single_node(model, node, values)
        try:
            got = run(small, feeds)
        except Exception as error:  # a peer that cannot run a node says nothing about it
            tally[(node.op_type, "not run: " + str(error).splitlines()[0][:90])] += 1
            continue
        tally["nodes"] += 1
        for name, array in zip([o for o in node.output if o], got):
            why = differs(np.asarray(array), values[name])
            if why:
                tally["differ"] += 1
                if tally[("shown", node.op_type)] < shown:
                    tally[("shown", node.op_type)] += 1
                    print(f"{folder.name} {node.name} opset {model.opset_import[0].version}: {why}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--peer", choices=sorted(PEERS), default="onnx")
    parser.add_argument("--check", action="store_true", help="only let onnx check the models")
    parser.add_argument("--shown", type=int, default=3, help="differences printed for each operator")
    options = parser.parse_args()
    tally = collections.Counter()
    for folder in sorted(options.folder.iterdir(), key=lambda f: int(f.name)):
        tally["graphs"] += 1
        if options.check:
            try:
                onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)
            except Exception as error:
                tally["differ"] += 1
                print(f"{folder.name}: {str(error)[:300]}")
        else:
            compare_case(folder, PEERS[options.peer], tally, options.shown)
    for key, count in tally.items():
        if isinstance(key, tuple) and key[0] != "shown":
            print(f"{count} x {key[0]} {key[1]}")
    print(f"{tally['graphs']} graphs, {tally['nodes']} nodes compared, {tally['differ']} differ")
    return 1 if tally["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
