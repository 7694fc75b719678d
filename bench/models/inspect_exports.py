# SPDX-License-Identifier: Apache-2.0
"""inspect_exports.py [DIR]: what the exported models contain, and whether ONNX Runtime agrees with PyTorch.

Prints one line per model (opset, nodes, size, largest difference relative to the largest output) and writes the
operators that each one uses to DIR/ops.txt. Runs in the peers' environment; exits 1 if a model disagrees.
"""
import collections
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4


def count_operators(graph, counts):
    for node in graph.node:
        counts[node.op_type if not node.domain else f"{node.domain}.{node.op_type}"] += 1
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                count_operators(inner, counts)
    return counts


def relative_difference(got, want):
    return float(np.abs(got - want).max() / np.abs(want).max())


def difference_of(path):
    """ONNX Runtime's outputs against PyTorch's in float32 and in float64."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    recorded = np.load(path.with_suffix(".npz"))
    got = session.run(None, {x.name: recorded[x.name] for x in session.get_inputs()})[0]
    return relative_difference(got, recorded["output"]), relative_difference(got, recorded["out64"])


def inspect(path, everything):
    model = onnx.load(str(path))
    counts = count_operators(model.graph, collections.Counter())
    everything.update(counts)
    opset = next(x.version for x in model.opset_import if x.domain in ("", "ai.onnx"))
    to_float32, to_float64 = difference_of(path)
    print(f"{path.stem:20} opset {opset:2} {sum(counts.values()):5} nodes {path.stat().st_size / 1e6:7.1f} MB"
          f"  against float32 {to_float32:.1e}  float64 {to_float64:.1e}", flush=True)
    return f"{path.stem} (opset {opset}): " + describe(counts), to_float32 <= TOLERANCE


def describe(counts):
    return " ".join(f"{name}:{count}" for name, count in sorted(counts.items()))


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/models"
    everything, lines, good = collections.Counter(), [], True
    for path in sorted(folder.glob("*.onnx")):
        line, agrees = inspect(path, everything)
        lines.append(line)
        good = good and agrees
    lines.append("\nall: " + describe(everything))
    (folder / "ops.txt").write_text("\n".join(lines) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
