# SPDX-License-Identifier: Apache-2.0
"""End-to-end latency of tenon and its peers, interleaved in one run: `./dev bench models`.

Prints a table (times are the best of many, in ms; ratio is the best peer's time over tenon's, above 1 tenon is
faster), writes JSON and a plot. Every output is compared with PyTorch's in the same run; exits 4 if one of tenon's
is wrong, 1 if a model could not be measured.
"""
import argparse
import json
import os
import pathlib
import platform
import sys

import accuracy
import harness
import report

ROOT = harness.ROOT
MODELS = ROOT / "build/models"
PEERS = ("onnxruntime", "openvino", "tvm", "pytorch")
BUSY = 0.7  # load average from which on measurements are doubted


def parse_arguments():
    everyone = ",".join(accuracy.TOLERANCES)
    cores = len(os.sched_getaffinity(0))
    threads = "1" if cores == 1 else f"1,{cores}"
    parser = argparse.ArgumentParser(prog="./dev bench models", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=everyone, help="names of exported networks, or paths of .onnx files that"
                        " have their .npz beside them")
    parser.add_argument("--threads", default=threads, help=f"thread counts (default: {threads})")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"some of {','.join(PEERS)}, or none")
    parser.add_argument("--quick", action="store_true", help="3 short rounds: shows that it works, counts for nothing")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (default: 15)")
    parser.add_argument("--turn", type=float, help="seconds of one turn (default: 0.4)")
    parser.add_argument("--json", type=pathlib.Path, default=MODELS / "bench.json", help="default: %(default)s")
    parser.add_argument("--plot", type=pathlib.Path, help="default: the JSON file's name with .svg")
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--compile-option", action="append", default=[], metavar="OPTION",
                        help="passed on to `tenon compile`; may be repeated")
    parser.add_argument("--no-tenon", action="store_true", help="measure the peers alone")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 15)
    arguments.turn = arguments.turn or (0.1 if arguments.quick else 0.4)
    arguments.plot = arguments.plot or arguments.json.with_suffix(".svg")
    return arguments


def say(words):
    print(words, file=sys.stderr, flush=True)


def choose_peers(wanted):
    """(contestant -> interpreter, peer -> why it is absent) as bench/peers/setup found them."""
    file = ROOT / "build/peers/peers.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    interpreters, absent, versions = {}, {}, {}
    for name in wanted:
        entry = known.get(name, {"absent": "bench/peers/setup has not run or does not know it"})
        if "absent" in entry:
            absent[name] = entry["absent"]
        else:
            interpreters[name] = harness.Interpreter(entry["python"], entry["library_path"])
            versions[name] = entry["version"] + (f" ({entry['note']})" if entry["note"] else "")
    return interpreters, absent, versions


def start_workers(interpreters, model, artifact, threads, reasons):
    """Those that load; why others do not goes to REASONS."""
    workers = []
    for name, interpreter in interpreters.items():
        worker = harness.Worker(name, interpreter, model, artifact, threads)
        if worker.failed():
            reasons[name] = worker.start["error"]
            worker.close()
        else:
            workers.append(worker)
    return workers


def measure_row(arguments, interpreters, absent, model, compiled, threads):
    reasons = dict(absent)
    contestants = dict(interpreters)
    extra = {}
    if compiled:
        extra = {"compile_s": compiled.time_s, "compile_peak_mb": compiled.peak_mb}
        if compiled.error:
            reasons["tenon"] = compiled.error
        else:
            contestants = {"tenon": harness.Interpreter(sys.executable), **contestants}
    folder = compiled.folder if compiled else "-"
    workers = start_workers(contestants, model, folder, threads, reasons)
    try:
        harness.measure(workers, arguments.rounds, arguments.turn)
        for worker in workers:
            if worker.failed():
                reasons[worker.contestant] = worker.start["error"]
        running = [worker for worker in workers if not worker.failed()]
        timings = {worker.contestant: harness.summarize(worker) for worker in running}
        extra["difference"] = {worker.contestant: worker.start["difference"] for worker in running}
        extra["detail"] = {worker.contestant: worker.start["detail"] for worker in running if worker.start["detail"]}
    finally:
        for worker in workers:
            worker.close()
    return report.make_row(model.stem, threads, timings, reasons, extra)


def find_model(name):
    path = pathlib.Path(name) if name.endswith(".onnx") else MODELS / f"{name}.onnx"
    for needed in (path, path.with_suffix(".npz")):
        if not needed.exists():
            sys.exit(f"bench models: there is no {needed}; bench/models/export.py writes the known networks")
    return path.resolve()


def machine():
    with open("/proc/cpuinfo") as file:
        name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    return {"cpu": name, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "load": os.getloadavg()[0]}


def verdicts(rows):
    """(lines about contestants that are missing or wrong, exit code)"""
    lines, code = [], 0
    for row in rows:
        place = f"{row['model']}, {row['threads']} thread(s)"
        for name, why in row["absent"].items():
            lines.append(f"{place}: {name} is absent: {why}")
            code = max(code, 1 if name == "tenon" else 0)
        for name, difference in row["difference"].items():
            if not accuracy.is_right(row["model"], difference):
                lines.append(f"{place}: {name} is WRONG: {accuracy.show(difference)} from PyTorch's output relative to the largest")
                code = 4 if name == "tenon" else code
    return lines, code


def main():
    arguments = parse_arguments()
    wanted = [] if arguments.peers == "none" else arguments.peers.split(",")
    interpreters, absent, versions = choose_peers(wanted)
    facts = {"machine": machine(), "versions": versions, "rounds": arguments.rounds, "turn_s": arguments.turn,
             "estimator": "best of all inferences", "untuned": True, "quick": arguments.quick}
    say(f"{facts['machine']['cpu']}, {facts['machine']['cores']} cores, load {facts['machine']['load']:.2f}")
    for name in wanted:
        say(f"{name} {versions[name]}" if name in versions else f"{name} is absent: {absent[name]}")
    rows = []
    for model in [find_model(name) for name in arguments.models.split(",")]:
        compiled = None
        if not arguments.no_tenon:
            compiled = harness.compile_model(arguments.tenon, model, MODELS / "tenon" / model.stem,
                                             arguments.compile_option)
        for threads in map(int, arguments.threads.split(",")):
            rows.append(measure_row(arguments, interpreters, absent, model, compiled, threads))
            say(report.table(rows[-1:], list(interpreters)).split("\n")[1])
            report.write_json(arguments.json, rows, facts)
    print(report.table(rows, list(interpreters)))
    if facts["machine"]["load"] > BUSY:
        print(f"the machine was busy (load {facts['machine']['load']:.1f}): these numbers count for nothing")
    lines, code = verdicts(rows)
    print("\n".join(filter(None, [report.summary(rows), *lines])))
    if not arguments.no_tenon:
        report.write_plot(arguments.plot, rows, list(interpreters),
                          f"time over tenon's (right of 1: tenon is faster); {facts['machine']['cpu']}")
        say(f"written: {arguments.json}, {arguments.plot}")
    return code


if __name__ == "__main__":
    sys.exit(main())
