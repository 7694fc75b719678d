# SPDX-License-Identifier: Apache-2.0
"""check_steps.py [--models a,b] [--tenon PATH]: every layer of the quantised networks against ONNX Runtime.

A network in 8 bits is cut at each tensor that QuantizeLinear writes: the tensor that ONNX Runtime computes there is an
input of the layers behind it, and what tenon computes there is an output. So no layer sees another one's roundings, and
every output must be within one step (one unit of its 8 bits) of ONNX Runtime's, which computes the file as it stands. The
network's own output is counted in steps of its last scale. One line per model: tensors, numbers, how many differ, and by
how much at most. Exits 4 if one differs by more than a step. Runs with the interpreter of the peers.
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contest"))

import contestants  # noqa: E402
import harness  # noqa: E402
import quantize  # noqa: E402
import tuning  # noqa: E402

MODELS = harness.ROOT / "build/models"


def arrays_of(model, inputs):
    """What ONNX Runtime computes for the quantised tensors, by name."""
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    constants = {value.name for value in model.graph.initializer}
    for name in names:
        if name not in constants:
            model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, inputs)))


def cut(model, arrays):
    """Readers of a quantised tensor read an input named `given.NAME` in its place."""
    quantised = {node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name in quantised:
                node.input[i] = f"given.{name}"
    kinds = {np.dtype(np.uint8): onnx.TensorProto.UINT8, np.dtype(np.int8): onnx.TensorProto.INT8,
             np.dtype(np.float32): onnx.TensorProto.FLOAT}
    read = {name for node in model.graph.node for name in node.input}
    del model.graph.output[:]
    for name, array in arrays.items():
        info = onnx.helper.make_tensor_value_info(name, kinds[array.dtype], array.shape)
        model.graph.output.append(info)
        if f"given.{name}" in read:
            info = onnx.helper.make_tensor_value_info(f"given.{name}", kinds[array.dtype], array.shape)
            model.graph.input.append(info)
    return model


def last_step(model, name):
    """The scale of the DequantizeLinear that writes `name`, or nothing."""
    values = {value.name: onnx.numpy_helper.to_array(value) for value in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.output[0] == name:
            return float(values[node.input[1]])
    return None


def compare(model, wanted, got):
    numbers = differing = 0
    most = 0.0
    worst = ""
    for (name, want), have in zip(wanted.items(), got):
        step = 1.0 if want.dtype != np.float32 else last_step(model, name)
        if step is None:
            continue
        difference = np.abs(want.astype(np.float64) - have.astype(np.float64)) / step
        numbers += want.size
        differing += int((difference > 0.5).sum())
        if difference.max() > most:
            most, worst = float(difference.max()), name
    return numbers, differing, most, worst


def check(name, tenon):
    path = MODELS / f"{name}.int8.onnx"
    inputs = quantize.own_inputs(path.with_suffix(".npz"), path)
    model = onnx.load(path)
    wanted = arrays_of(onnx.load(path), inputs)
    cut_path = MODELS / f"{name}.steps.onnx"
    onnx.save(cut(onnx.load(path), wanted), cut_path)
    made = tuning.compile_model(tenon, cut_path, MODELS / "tenon" / cut_path.stem)
    if made.error:
        print(f"{name:20} FAILED: {made.error}")
        return 1
    given = {**inputs, **{f"given.{key}": value for key, value in wanted.items()}}
    job = contestants.Job(cut_path.stem, cut_path, made.folder, "", 2, given, list(wanted.values()))
    runner = contestants.make_tenon(job)
    numbers, differing, most, worst = compare(model, wanted, runner.outputs(runner.run()))
    print(f"{name:20} {len(wanted)} tensors, {numbers} numbers: {differing} differ, by {most:.2f} step(s) at most"
          f" {'(' + worst + ')' if worst else ''}", flush=True)
    return 4 if most > 1.01 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(quantize.NETWORKS))
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    arguments = parser.parse_args()
    for name in arguments.models.split(","):
        if not (MODELS / f"{name}.int8.onnx").exists():
            parser.error(f"there is no {name}.int8.onnx in {MODELS}; bench/models/quantize.py writes them")
    return max(check(name, arguments.tenon) for name in arguments.models.split(","))


if __name__ == "__main__":
    sys.exit(main())
