# SPDX-License-Identifier: Apache-2.0
"""End-to-end latency of tenon and its peers, interleaved in one run: `./dev bench models`.

Prints a table (times are the best of many, in ms; ratio is the best peer's time over tenon's, above 1 tenon is
faster), writes JSON and a plot. With --tuned each network is tuned first, from an empty database, and the artifact of
default schedules takes part beside the tuned one. Every output is compared with PyTorch's in the same run; exits 4 if
one of tenon's is wrong, 1 if a model could not be measured.
"""
import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contest"))

import accuracy  # noqa: E402
import harness  # noqa: E402
import report  # noqa: E402
import tuning  # noqa: E402

ROOT = harness.ROOT
MODELS = ROOT / "build/models"
PEERS = ("onnxruntime", "openvino", "tvm", "pytorch")
DEFINITIONS = HERE / "networks.py"


def parse_arguments():
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="./dev bench models", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="names of exported networks, or paths of .onnx files that have their .npz"
                        f" beside them (default: all; with --tuned {','.join(report.GATED)})")
    parser.add_argument("--threads", help=f"thread counts (default: 1 and {cores}; with --tuned {cores})")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"some of {','.join(PEERS)}, or none")
    parser.add_argument("--tuned", action="store_true", help="tune each network before it is measured")
    parser.add_argument("--budget", default="5m", help="of `tenon tune` for each network (default: %(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with the databases of an earlier --tuned")
    parser.add_argument("--tune-option", action="append", default=[], metavar="OPTION",
                        help="passed on to `tenon tune`; may be repeated")
    parser.add_argument("--quick", action="store_true", help="3 short rounds: shows that it works, counts for nothing")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (default: 15)")
    parser.add_argument("--turn", type=float, help="seconds of one turn (default: 0.4)")
    parser.add_argument("--json", type=pathlib.Path, default=MODELS / "bench.json", help="default: %(default)s")
    parser.add_argument("--plot", type=pathlib.Path, help="default: the JSON file's name with .svg")
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--compile-option", action="append", default=[], metavar="OPTION",
                        help="passed on to `tenon compile`; may be repeated")
    parser.add_argument("--no-tenon", action="store_true", help="measure the peers alone")
    return complete(parser.parse_args(), cores)


def complete(arguments, cores):
    """Defaults that depend on other options."""
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 15)
    arguments.turn = arguments.turn or (0.1 if arguments.quick else 0.4)
    arguments.plot = arguments.plot or arguments.json.with_suffix(".svg")
    arguments.models = (arguments.models or ",".join(report.GATED if arguments.tuned else accuracy.TOLERANCES)).split(",")
    one_by_one = [1] if cores == 1 else [1, cores]
    given = list(map(int, arguments.threads.split(","))) if arguments.threads else None
    arguments.threads = given or ([cores] if arguments.tuned else one_by_one)
    return arguments


def make_artifacts(arguments, model, threads):
    """label -> what tenon made: `tenon`, which is the tuned one with --tuned, and then `untuned`."""
    if arguments.no_tenon:
        return {}
    compiled = tuning.compile_model(arguments.tenon, model, MODELS / "tenon" / model.stem, arguments.compile_option)
    if not arguments.tuned:
        return {"tenon": compiled}
    name = f"{model.stem}-{threads}"
    options = ["--budget", arguments.budget, "--threads", str(threads), *arguments.tune_option]
    harness.say(f"{model.stem}: tuning for {arguments.budget}")
    tuned = tuning.tune_model(arguments.tenon, model, MODELS / "tuned" / name, MODELS / "tuned" / f"{name}.db", options,
                              arguments.resume)
    return {"tenon": tuned, "untuned": compiled}


def measure_row(arguments, peers, absent, model, made, threads):
    entries = [harness.tenon_entry(label, m.folder) for label, m in made.items() if not m.error] + peers
    outcome = harness.contest(entries, harness.Problem(model, DEFINITIONS, threads), arguments.rounds, arguments.turn)
    reasons = {**absent, **{label: m.error for label, m in made.items() if m.error}, **outcome.absent}
    extra = {"difference": outcome.differences, "detail": outcome.details}
    compiled = made.get("untuned", made.get("tenon"))
    if compiled:
        extra |= {"compile_s": compiled.time_s, "compile_peak_mb": compiled.peak_mb}
    if arguments.tuned:
        extra |= {"trials": made["tenon"].measured(), "seconds": made["tenon"].time_s,
                  "curve": [[trials, seconds, 1e3 * estimate] for trials, seconds, estimate in made["tenon"].curve()]}
    return report.make_row(model.stem, threads, outcome.timings, reasons, extra)


def find_model(name):
    path = pathlib.Path(name) if name.endswith(".onnx") else MODELS / f"{name}.onnx"
    for needed in (path, path.with_suffix(".npz")):
        if not needed.exists():
            sys.exit(f"bench models: there is no {needed}; bench/models/export.py writes the known networks")
    return path.resolve()


def verdicts(rows):
    """(lines about contestants that are missing or wrong, exit code)"""
    lines, code = [], 0
    for row in rows:
        place = f"{row['model']}, {row['threads']} thread(s)"
        for name, why in row["absent"].items():
            lines.append(f"{place}: {name} is absent: {why}")
            code = max(code, 1 if name in ("tenon", "untuned") else 0)
        for name, difference in row["difference"].items():
            if not accuracy.is_right(row["model"], difference):
                lines.append(f"{place}: {name} is WRONG: {accuracy.show(difference)} from PyTorch's output relative to the largest")
                code = 4 if name in ("tenon", "untuned") else code
    return lines, code


def main():
    arguments = parse_arguments()
    peers, absent, versions = harness.choose_peers([] if arguments.peers == "none" else arguments.peers.split(","))
    names = [peer.label for peer in peers]
    facts = {"machine": harness.machine(), "versions": versions, "rounds": arguments.rounds, "turn_s": arguments.turn,
             "estimator": "best of all inferences", "untuned": not arguments.tuned, "quick": arguments.quick}
    harness.introduce(facts, absent)
    rows = []
    for model in [find_model(name) for name in arguments.models]:
        made = {}
        for threads in arguments.threads:
            made = make_artifacts(arguments, model, threads) if arguments.tuned or not made else made
            rows.append(measure_row(arguments, peers, absent, model, made, threads))
            harness.say(report.table(rows[-1:], names).split("\n")[1])
            report.write_json(arguments.json, rows, facts)
    print(report.table(rows, names))
    if facts["machine"]["load"] > harness.BUSY:
        print(f"the machine was busy (load {facts['machine']['load']:.1f}): these numbers count for nothing")
    lines, code = verdicts(rows)
    print("\n".join(filter(None, [report.summary(rows), *lines])))
    if not arguments.no_tenon:
        report.write_plot(arguments.plot, rows, names,
                          f"time over tenon's (right of 1: tenon is faster); {facts['machine']['cpu']}")
        harness.say(f"written: {arguments.json}, {arguments.plot}")
    return code


if __name__ == "__main__":
    sys.exit(main())
