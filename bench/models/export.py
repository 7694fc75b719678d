# SPDX-License-Identifier: Apache-2.0
"""export.py [--out DIR] [--opset N] [--models a,b] [--force]: writes the networks as ONNX files.

For each network NAME of networks.py, under build/models:
  NAME.onnx  as torch.onnx.export writes it, batch 1
  NAME.npz   the inputs by name, PyTorch's `output` in float32, and `out64`, the same computed in float64
  NAME.pt    the weights, for PyTorch as a peer
Runs with Debian's python3 (python3-torch, python3-torchvision). What is there already is left alone.
"""
import argparse
import importlib.util
import inspect
import os
import pathlib
import sys
import time
import warnings

import numpy as np
import torch

import networks

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/models")
    parser.add_argument("--opset", type=int, default=13)
    parser.add_argument("--models", default=",".join(networks.NETWORKS))
    parser.add_argument("--force", action="store_true", help="write what exists once more")
    return parser.parse_args()


def run(module, inputs):
    with torch.no_grad():
        return module(*inputs.values()).numpy()


def to_double(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def spare_onnx():
    """Newer PyTorch wants the package onnx only for adding functions to a file, which none of ours has."""
    if importlib.util.find_spec("onnx") is None and "dynamo" in inspect.signature(torch.onnx.export).parameters:
        from torch.onnx._internal.torchscript_exporter import onnx_proto_utils
        onnx_proto_utils._add_onnxscript_fn = lambda model_bytes, custom_opsets: model_bytes


def write_onnx(network, path, opset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer warns of each shape that it makes a constant
        # Newer ones have a second exporter, whose graphs are others and which wants more packages.
        tracer = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
        torch.onnx.export(network.module, tuple(network.inputs.values()), path, opset_version=opset,
                          input_names=list(network.inputs), output_names=["output"], **tracer)


def export(name, out, opset, make=networks.make):
    """Writes one network; each file appears under its name only when it is complete."""
    start = time.time()
    spare_onnx()
    network = make(name)
    parts = {suffix: out / f"{name}.part.{suffix}" for suffix in ("onnx", "npz", "pt")}
    write_onnx(network, str(parts["onnx"]), opset)
    torch.save(network.module.state_dict(), parts["pt"])
    output = run(network.module, network.inputs)
    network.module.double()
    exact = run(network.module, {key: to_double(x) for key, x in network.inputs.items()})
    arrays = {key: x.numpy() for key, x in network.inputs.items()}
    np.savez(parts["npz"], **arrays, output=output, out64=exact)
    for suffix, part in parts.items():
        os.replace(part, out / f"{name}.{suffix}")
    error = np.abs(output - exact).max() / np.abs(exact).max()
    print(f"{name:20} output {'x'.join(map(str, output.shape)):14} max {np.abs(exact).max():8.3g}"
          f" std {exact.std():8.3g}  float32 against float64 {error:.1e}  {time.time() - start:.0f} s",
          flush=True)


def main():
    arguments = parse_arguments()
    names = arguments.models.split(",")
    unknown = [name for name in names if name not in networks.NETWORKS]
    if unknown:
        sys.exit(f"export.py: no network {', '.join(unknown)}; there are {', '.join(networks.NETWORKS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(os.cpu_count())
    for name in names:
        # The weights are written last, so they stand for all three files.
        if arguments.force or not (arguments.out / f"{name}.pt").exists():
            export(name, arguments.out, arguments.opset)


if __name__ == "__main__":
    main()
