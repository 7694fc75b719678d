# SPDX-License-Identifier: Apache-2.0
"""Random operators that no schedule was written for, untuned, beside ONNX Runtime and OpenVINO: `./dev bench cliffs`.

Each case is an ONNX model of one operator (draws.py), and some are cliffs of the past (known.py). A row is its best time,
the share of what the machine could do at most (its arithmetic at the FMA peak or its bytes at the bandwidth of the cache
that holds them, both measured here), the time of the better peer over ours, and the schedules that were taken. All is made
first (--only make), then measured (--only measure), which takes a quiet machine about a second a case. Prints the worst
rows by share, then those behind a peer, and a table by kind; steps shorter than --least-us count in neither. A wrong output
is an error: exit 1.
"""
import argparse
import json
import multiprocessing
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
import known  # noqa: E402
import report  # noqa: E402
import tuning  # noqa: E402

MODELS = harness.ROOT / "build/cliffs"
TOLERANCE = 1e-4  # largest difference from ONNX Runtime's output, relative to the largest


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench cliffs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400, help="cases beside the known ones (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default: %(default)s)")
    parser.add_argument("--kinds", help=f"some of {','.join([*draws.KINDS, known.KIND])} (default: all)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose names contain this")
    parser.add_argument("--only", choices=("make", "measure"), help="one of the two halves (default: both)")
    parser.add_argument("--peers", default="onnxruntime,openvino", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--least-us", type=float, default=30, help="shortest time that counts (default: %(default)s)")
    parser.add_argument("--worst", type=int, default=25, help="rows of each list (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant (default: %(default)s)")
    parser.add_argument("--turn", type=float, default=0.03, help="seconds of one turn (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, default=MODELS / "bench.json", help="default: %(default)s")
    parser.add_argument("--add", action="store_true", help="keep the other rows of the JSON file, and report all")
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    arguments = parser.parse_args()
    unknown = set((arguments.kinds or "").split(",")) - {"", known.KIND, *draws.KINDS}
    if unknown or arguments.count < 0:
        parser.error(f"no kind {', '.join(unknown)}" if unknown else "--count must not be negative")
    return arguments


def choose_cases(arguments):
    kinds = arguments.kinds and arguments.kinds.split(",")
    cases = draws.draw(arguments.seed, arguments.count, kinds)
    if not kinds or known.KIND in kinds:
        cases = known.cases() + cases
    return [case for case in cases if arguments.filter in case.name]


def write_model(case, path):
    """PATH and the .npz beside it: inputs by name, and the expected `output`."""
    nodes = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in case.nodes]
    graph = helper.make_graph(
        nodes, "case", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in case.inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, case.output)],
        [onnx.numpy_helper.from_array(w, n) for n, w in (case.draw_weights() | case.constants).items()])
    model = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    onnx.save(model, path)
    rng = np.random.default_rng(7)
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in case.inputs.items()}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.savez(path.with_suffix(".npz"), **inputs, output=session.run(None, inputs)[0])


def model_of(case):
    return MODELS / f"{case.name}.onnx"


def folder_of(case):
    return MODELS / "tenon" / case.name


def make(job):
    """Why it could not be made; empty if it was."""
    case, tenon, threads = job
    if not model_of(case).with_suffix(".npz").exists():
        write_model(case, model_of(case))
    made = tuning.compile_model(tenon, model_of(case), folder_of(case), ["--target", f"host cores={threads}"])
    return made.error


def make_all(arguments, cases):
    jobs = [(case, arguments.tenon, arguments.threads) for case in cases]
    with multiprocessing.Pool() as pool:
        for index, (case, error) in enumerate(zip(cases, pool.imap(make, jobs, chunksize=4))):
            if error or (index + 1) % 50 == 0:
                harness.say(f"made {index + 1}/{len(cases)} {error and case.name} {error}")
            (folder_of(case).parent / f"{case.name}.error").write_text(error)


def measure_ceilings(arguments, case):
    answer = subprocess.run([str(arguments.tenon), "profile", str(folder_of(case)), "--threads", str(arguments.threads),
                             "--runs", "1", "--json"], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["ceilings"]


def better_of(one, two):
    """Something else may have run beside either."""
    levels = [max(pair, key=lambda level: level["gbytes_per_s"]) for pair in zip(one["memory"], two["memory"])]
    return {"gflops_per_s": max(one["gflops_per_s"], two["gflops_per_s"]), "memory": levels}


def least_us(case, ceilings):
    """What neither arithmetic nor memory could undercut: each level of memory holds what does not fit into those before."""
    begin, moving, moved = 0, 0.0, case.bytes()
    for index, level in enumerate(ceilings["memory"]):
        end = moved if index + 1 == len(ceilings["memory"]) else min(moved, level["up_to_bytes"])
        moving += max(0, end - begin) / level["gbytes_per_s"]
        begin = max(begin, end)
    moving *= (moved + case.again) / moved
    return 1e-3 * max(case.flops / ceilings["gflops_per_s"], moving)


def schedules_of(tenon, case):
    answer = subprocess.run([str(tenon), "explain", str(folder_of(case)), "--json"], capture_output=True, text=True, check=True)
    return sorted({task["origin"] for task in json.loads(answer.stdout)["tasks"]})


class Field:
    """The contestants, in processes that take one case after the other."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.peers, self.absent, self.versions = harness.choose_peers(arguments.peers.split(","))
        self.workers = {}

    def take(self, entry, case):
        worker = self.workers.get(entry.label)
        if worker is None or not worker.take(model_of(case), entry.artifact):
            problem = harness.Problem(model_of(case), HERE / "draws.py", self.arguments.threads)
            worker = self.workers[entry.label] = harness.Worker(entry, problem)
        return worker

    def measure(self, case):
        """(label -> best us, why ours failed or is wrong)"""
        workers = [self.take(entry, case) for entry in [harness.tenon_entry("tenon", folder_of(case)), *self.peers]]
        ours = workers[0]
        if not ours.failed() and (ours.start["difference"] is None or ours.start["difference"] > TOLERANCE):
            return {}, f"WRONG: {ours.start['difference']} from the expected output relative to the largest"
        harness.measure([worker for worker in workers if not worker.failed()], self.arguments.rounds, self.arguments.turn)
        if ours.failed():
            return {}, ours.start["error"]
        return {worker.label: 1e6 * worker.best() for worker in workers if not worker.failed()}, ""

    def close(self):
        for worker in self.workers.values():
            worker.close()


def measure(arguments, field, case):
    row = {"name": case.name, "kind": case.kind, "error": (folder_of(case).parent / f"{case.name}.error").read_text()}
    if row["error"]:
        return row
    times, row["error"] = field.measure(case)
    if row["error"]:
        return row
    peers = {label: us for label, us in times.items() if label != "tenon"}
    return {**row, "us": times["tenon"], "peers_us": peers, "ratio": min(peers.values()) / times["tenon"] if peers else None,
            "schedules": schedules_of(arguments.tenon, case)}


def measure_all(arguments, cases):
    field = Field(arguments)
    harness.introduce({"machine": harness.machine(), "versions": field.versions}, field.absent)
    before = json.loads(arguments.json.read_text())["rows"] if arguments.add and arguments.json.exists() else []
    rows = {row["name"]: row for row in before}
    try:
        ceilings = measure_ceilings(arguments, cases[0])
        for case in cases:
            rows[case.name] = row = measure(arguments, field, case)
            if row["error"]:
                harness.say(f"{case.name}: {row['error']}")
        ceilings = better_of(ceilings, measure_ceilings(arguments, cases[-1]))
    finally:
        field.close()
    for case in cases:
        if not rows[case.name]["error"]:
            rows[case.name]["share"] = least_us(case, ceilings) / rows[case.name]["us"]
    facts = {"machine": harness.machine(), "threads": arguments.threads, "seed": arguments.seed, "ceilings": ceilings,
             "versions": field.versions, "rows": list(rows.values())}
    arguments.json.write_text(json.dumps(facts, indent=1))
    return facts["rows"]


def main():
    arguments = parse_arguments()
    (MODELS / "tenon").mkdir(parents=True, exist_ok=True)
    cases = choose_cases(arguments)
    if not cases:
        sys.exit("no case is left")
    if arguments.only != "measure":
        make_all(arguments, cases)
    if arguments.only == "make":
        return 0
    rows = measure_all(arguments, cases)
    print(report.text(rows, arguments.least_us, arguments.worst))
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
