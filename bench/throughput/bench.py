# SPDX-License-Identifier: Apache-2.0
"""Inferences a second of tenon, ONNX Runtime and OpenVINO, each in its settings for throughput: `./dev bench throughput`.

Networks of `tenon zoo`, one item per inference. tenon and ONNX Runtime are tried as one stream per core and as one of all
cores, OpenVINO as its hint for throughput chooses; everybody takes turns. Prints a row per network: inferences a second
of each one's best setting (the best turn), and how many times the better peer's tenon gives. Every output is
compared with ONNX Runtime's; exits 4 if one is wrong, 1 if something could not be measured.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contest"))

import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import drawing  # noqa: E402
import harness  # noqa: E402
import recorded  # noqa: E402
import summary  # noqa: E402
import tuning  # noqa: E402

FOLDER = harness.ROOT / "build/throughput"
NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1", "efficientnet_b0", "bert_base", "bert_tiny")
QUICK = ("squeezenet1_1", "bert_tiny")
PEERS = ("onnxruntime", "openvino")
TOLERANCE = 1e-3  # largest difference from ONNX Runtime's output relative to the largest: what --accuracy default allows


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench throughput", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help=f"some of tenon zoo (default: {','.join(NETWORKS)})")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (default: 7)")
    parser.add_argument("--turn", type=float, help="seconds of one turn (default: 0.5)")
    parser.add_argument("--options", default="", help="more for `tenon compile`, such as '--optimize memory'")
    parser.add_argument("--quick", action="store_true",
                        help="two networks, short turns: shows that it works, counts for nothing")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / "bench.json", help="default: %(default)s")
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    arguments = parser.parse_args()
    if not arguments.tenon.exists():
        parser.error(f"there is no {arguments.tenon}")
    arguments.models = arguments.models.split(",") if arguments.models else list(QUICK if arguments.quick else NETWORKS)
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 7)
    arguments.turn = arguments.turn or (0.1 if arguments.quick else 0.5)
    return arguments


def write_network(arguments, name):
    file = FOLDER / f"{name}.onnx"
    if not file.exists():
        part = file.with_suffix(".part")
        written = subprocess.run([str(arguments.tenon), "zoo", "write", name, "-o", str(part)], capture_output=True, text=True)
        if written.returncode != 0:
            harness.say(f"bench throughput: {written.stderr.strip()}")
            sys.exit(2)
        network = onnx.load(part)
        del network.graph.output[1:]  # one is compared
        onnx.save(network, part)
        part.rename(file)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    recorded.write_inputs(session, file.with_suffix(".npz"), {})
    return file


def make_artifact(arguments, file):
    folder = FOLDER / file.stem
    shutil.rmtree(folder, ignore_errors=True)
    made = tuning.compile_model(arguments.tenon, file, folder, shlex.split(arguments.options))
    if made.error:
        sys.exit(f"bench throughput: {file.name}: {made.error}")
    return folder


def entries_of(arguments, peers, artifact):
    own = [harness.Entry(f"tenon:{s}", f"tenon:{s}", harness.Interpreter(sys.executable), artifact)
           for s in summary.settings(arguments.cores)]
    settings = {"onnxruntime": summary.settings(arguments.cores), "openvino": ["hint"]}
    return own + [harness.Entry(f"{p.label}:{s}", f"{p.contestant}:{s}", p.interpreter)
                  for p in peers for s in settings[p.label]]


def measure_network(arguments, peers, name):
    file = write_network(arguments, name)
    entries = entries_of(arguments, peers, make_artifact(arguments, file))
    outcome = harness.contest(entries, harness.Problem(file, HERE / "summary.py", arguments.cores), arguments.rounds,
                              arguments.turn)
    return {"network": name, "rates": {label: 1e3 / t.best for label, t in outcome.timings.items()},
            "median_rates": {label: 1e3 / t.median for label, t in outcome.timings.items()},
            "details": outcome.details, "difference": outcome.differences, "absent": outcome.absent}


def table(rows):
    lines = [["network", "tenon", *PEERS, "gain", "by medians"]]
    for row in rows:
        best = summary.best_by_name(row["rates"])
        cells = [f"{best[name][1]:.1f} ({best[name][0]})" if name in best else "-" for name in ("tenon", *PEERS)]
        lines.append([row["network"], *cells, *(drawing.ratio(summary.gain(row[kind])) for kind in ("rates", "median_rates"))])
    gains = [g for row in rows if (g := summary.gain(row["rates"]))]
    end = f"geometric mean of the gains {summary.geometric_mean(gains):.3f}, least {min(gains):.3f}" if gains else ""
    return f"inferences a second (streams x threads)\n{drawing.text_table(lines)}\n{end}"


def verdicts(rows):
    """(lines about what is missing or wrong, exit code)"""
    lines, code = [], 0
    for row in rows:
        for label, why in row["absent"].items():
            lines.append(f"{row['network']}: {label} is absent: {why}")
            code = max(code, 1)
        for label, difference in row["difference"].items():
            if label.startswith("tenon") and (difference is None or difference > TOLERANCE):
                lines.append(f"{row['network']}: {label} is WRONG: {difference} from ONNX Runtime's output")
                code = 4
    return lines, code


def main():
    arguments = parse_arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    peers, absent, versions = harness.choose_peers(PEERS)
    facts = {"machine": harness.machine(), "versions": versions, "cores": arguments.cores, "rounds": arguments.rounds,
             "turn_s": arguments.turn, "options": arguments.options, "estimator": "best turn", "quick": arguments.quick}
    harness.introduce(facts, absent)
    rows = []
    for name in arguments.models:
        rows.append(measure_network(arguments, peers, name))
        harness.say(f"{name}: " + ", ".join(f"{label} {rate:.1f}" for label, rate in rows[-1]["rates"].items()))
        arguments.json.write_text(json.dumps({**facts, "networks": rows}, indent=1))
    print(table(rows))
    if facts["machine"]["load"] > harness.BUSY:
        print(f"the machine was busy (load {facts['machine']['load']:.1f}): these numbers count for nothing")
    lines, code = verdicts(rows)
    if lines:
        print("\n".join(lines))
    harness.say(f"written: {arguments.json}")
    return code


if __name__ == "__main__":
    sys.exit(main())
