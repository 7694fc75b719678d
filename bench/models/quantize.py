# SPDX-License-Identifier: Apache-2.0
"""quantize.py [--models a,b] [--force]: writes exported networks in 8 bits, by ONNX Runtime's static quantiser.

For each NAME.onnx and NAME.npz that export.py wrote, beside them:
  NAME.int8.onnx  products, convolutions and what lies between them in QDQ form: QuantizeLinear and
                  DequantizeLinear around the operators of the float network; weights in i8 per channel
  NAME.int8.npz   the same inputs, and ONNX Runtime's `output` of the quantised file, computed as it stands
Ranges of activations come from the network's own input and a few random ones. Runs with the interpreter of the peers
(bench/peers/setup), which has onnxruntime and onnx. What is there already is left alone.
"""
import argparse
import logging
import os
import pathlib
import sys
import time

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

ROOT = pathlib.Path(__file__).resolve().parents[2]
NETWORKS = ("mobilenet_v2", "resnet50", "efficientnet_b0", "bert_base")
SEED = 20240229
DRAWS = 4  # random inputs beside the network's own


class Inputs(CalibrationDataReader):
    """The network's own inputs, then as many random ones of the same kind."""

    def __init__(self, own):
        random = np.random.default_rng(SEED)
        self.left = [own] + [{key: self.like(random, x) for key, x in own.items()} for _ in range(DRAWS)]

    @staticmethod
    def like(random, x):
        if np.issubdtype(x.dtype, np.floating):
            return random.normal(x.mean(), x.std() + 1e-6, x.shape).astype(x.dtype)
        return random.integers(x.min(), x.max() + 1, x.shape, dtype=x.dtype)

    def get_next(self):
        return self.left.pop(0) if self.left else None


def run(path, inputs):
    """As the file says it: without fusions, so that no other order of roundings comes in."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def own_inputs(path, session_path):
    session = onnxruntime.InferenceSession(str(session_path), providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files if key in names}


def quantize(model, target):
    inputs = own_inputs(model.with_suffix(".npz"), model)
    prepared = target.with_suffix(".prepared.onnx")
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    part = target.with_suffix(".part.onnx")
    quantize_static(str(prepared), str(part), Inputs(inputs), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    os.remove(prepared)
    output = run(part, inputs)
    # `out64` is what a contestant is compared with; in 8 bits there is nothing more exact than the file itself.
    np.savez(target.with_suffix(".npz"), **inputs, output=output, out64=output.astype(np.float64))
    os.replace(part, target)
    return output


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/models")
    parser.add_argument("--models", default=",".join(NETWORKS))
    parser.add_argument("--force", action="store_true", help="write what exists once more")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    logging.disable(logging.WARNING)
    for name in arguments.models.split(","):
        model, target = arguments.out / f"{name}.onnx", arguments.out / f"{name}.int8.onnx"
        if target.exists() and not arguments.force:
            continue
        if not model.exists():
            print(f"quantize.py: there is no {model}; bench/models/export.py writes the known networks", file=sys.stderr)
            return 2
        start = time.time()
        output = quantize(model, target)
        with np.load(model.with_suffix(".npz")) as arrays:
            error = np.abs(output - arrays["out64"]).max() / np.abs(arrays["out64"]).max()
        print(f"{name:20} in 8 bits {error:.1e} from float64  {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
