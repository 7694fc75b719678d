# SPDX-License-Identifier: Apache-2.0
"""Random operators that no schedule was written for, untuned, beside ONNX Runtime: `./dev bench cliffs`.

Each case is an ONNX model of one operator (draws.py). A row is its best time, the share of what the machine could do at
most (`tenon profile`: arithmetic or bytes moved), the time of ONNX Runtime over ours, and the schedules that were taken.
Prints the worst rows first by share, then those behind the peer, and how many are below each limit; steps shorter than
--least-us are left out of the counts. A wrong output is an error: exit 1.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contest"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

import draws  # noqa: E402
import harness  # noqa: E402
import tuning  # noqa: E402

MODELS = harness.ROOT / "build/cliffs"
TOLERANCE = 1e-4  # largest difference from ONNX Runtime's output, relative to the largest


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench cliffs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="cases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default: %(default)s)")
    parser.add_argument("--kinds", help=f"some of {','.join(draws.KINDS)} (default: all)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose names contain this")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--least-us", type=float, default=30, help="shortest time that counts (default: %(default)s)")
    parser.add_argument("--worst", type=int, default=25, help="rows of each list (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant (default: %(default)s)")
    parser.add_argument("--turn", type=float, default=0.05, help="seconds of one turn (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, default=MODELS / "bench.json", help="default: %(default)s")
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    arguments = parser.parse_args()
    unknown = set((arguments.kinds or "").split(",")) - {"", *draws.KINDS}
    if unknown or arguments.count < 1:
        parser.error(f"no kind {', '.join(unknown)}" if unknown else "--count must be at least 1")
    return arguments


def write_model(case, path):
    """PATH and the .npz beside it: inputs by name, and the expected `output`."""
    nodes = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in case.nodes]
    graph = helper.make_graph(
        nodes, "case", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in case.inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(w, n) for n, w in case.weights.items()])
    model = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    onnx.save(model, path)
    rng = np.random.default_rng(7)
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in case.inputs.items()}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.savez(path.with_suffix(".npz"), **inputs, output=session.run(None, inputs)[0])


def profile(tenon, folder, threads):
    """(share of what the machine could do, schedules) of all steps together."""
    answer = subprocess.run([str(tenon), "profile", str(folder), "--threads", str(threads), "--json"], capture_output=True,
                            text=True, check=True)
    steps = json.loads(answer.stdout)["rows"]
    least = sum(step["roofline"] * step["time_ms"] for step in steps if step.get("roofline"))
    return least / sum(step["time_ms"] for step in steps), sorted({step["origin"] for step in steps})


def measure(arguments, peers, case):
    path = MODELS / f"{case.name}.onnx"
    write_model(case, path)
    row = {"name": case.name, "gflop": case.flops / 1e9, "error": ""}
    made = tuning.compile_model(arguments.tenon, path, MODELS / "tenon" / case.name,
                                ["--target", f"host cores={arguments.threads}"])
    if made.error:
        return {**row, "error": made.error}
    problem = harness.Problem(path, HERE / "draws.py", arguments.threads)
    outcome = harness.contest([harness.tenon_entry("tenon", made.folder), *peers], problem, arguments.rounds, arguments.turn)
    if "tenon" in outcome.absent:
        return {**row, "error": outcome.absent["tenon"]}
    difference = outcome.differences["tenon"]
    if difference is None or difference > TOLERANCE:
        return {**row, "error": f"WRONG: {difference} from the expected output relative to the largest"}
    row["us"] = 1e3 * outcome.timings["tenon"].best
    row["peers_us"] = {name: 1e3 * t.best for name, t in outcome.timings.items() if name != "tenon"}
    row["ratio"] = min(row["peers_us"].values()) / row["us"] if row["peers_us"] else None
    row["share"], row["kernels"] = profile(arguments.tenon, made.folder, arguments.threads)
    return row


def show(rows, heading):
    print(f"\n{heading}\n{'share':>6} {'ratio':>6} {'us':>10}  case (schedules)")
    for row in rows:
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else "-"
        print(f"{row['share']:6.2f} {ratio:>6} {row['us']:10.1f}  {row['name']} ({', '.join(row['kernels'])})")


def report(arguments, rows):
    timed = [row for row in rows if not row["error"]]
    long = [row for row in timed if row["us"] >= arguments.least_us]
    beside = [row for row in long if row["ratio"]]
    show(sorted(long, key=lambda row: row["share"])[:arguments.worst], "farthest from what the machine could do")
    show(sorted((row for row in beside if row["ratio"] < 0.9), key=lambda row: row["ratio"])[:arguments.worst],
         "behind the peer")
    total = max(1, len(long))
    print(f"\n{len(timed)} of {len(rows)} cases timed, {len(long)} take {arguments.least_us:g} us or more; of these\n"
          f"  share of the roofline below 0.40: {sum(row['share'] < 0.4 for row in long) / total:.1%}, below 0.25: "
          f"{sum(row['share'] < 0.25 for row in long) / total:.1%}\n"
          f"  at least 0.9 of the peer's speed: {sum(row['ratio'] >= 0.9 for row in beside) / max(1, len(beside)):.1%}, "
          f"geometric mean {np.exp(np.mean([np.log(row['ratio']) for row in beside])) if beside else 0:.2f}")
    for row in rows:
        if row["error"]:
            print(f"  {row['name']}: {row['error']}")


def main():
    arguments = parse_arguments()
    MODELS.mkdir(parents=True, exist_ok=True)
    peers, absent, versions = harness.choose_peers(["onnxruntime"])
    harness.introduce({"machine": harness.machine(), "versions": versions}, absent)
    rows = []
    cases = draws.draw(arguments.seed, arguments.count, arguments.kinds and arguments.kinds.split(","))
    for case in [case for case in cases if arguments.filter in case.name]:
        rows.append(measure(arguments, peers, case))
        arguments.json.write_text(json.dumps({"machine": harness.machine(), "threads": arguments.threads,
                                              "seed": arguments.seed, "rows": rows}, indent=1))
        harness.say(f"{len(rows)}/{len(cases)} {case.name} {rows[-1].get('us', 0):.1f} us"
                    f" share {rows[-1].get('share', 0):.2f} {rows[-1]['error']}")
    report(arguments, rows)
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
