# SPDX-License-Identifier: Apache-2.0
"""Libraries with open sizes beside artifacts of exactly the size and ONNX Runtime's dynamic model: `./dev bench dynamic`.

Each network is compiled once for its whole ranges. For each of --count random sizes it is compiled for that size alone
as well; both and ONNX Runtime, which is given the same file with open dimensions, take turns on the same inputs. Prints
a row per size (best times in ms) and for each network the geometric mean and the worst of
  exact / dynamic         what open sizes cost
  onnxruntime / dynamic   what they gain over ONNX Runtime
and what the library holds: code, weights and the time of compiling against one size, the largest. Every output is
compared with ONNX Runtime's; exits 4 if one is wrong, 1 if something could not be measured.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contest"))

import onnxruntime  # noqa: E402

import harness  # noqa: E402
import opened  # noqa: E402
import recorded  # noqa: E402
import sizes  # noqa: E402
import tuning  # noqa: E402

FOLDER = harness.ROOT / "build/dynamic"
TOLERANCE = 1e-3  # largest difference from ONNX Runtime's output relative to the largest: what --accuracy default allows


def parse_arguments():
    known = {model.name: model for model in sizes.MODELS}
    parser = argparse.ArgumentParser(prog="./dev bench dynamic", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help=f"some of {','.join(known)} (default: all)")
    parser.add_argument("--count", type=int, help="sizes of each network (default: 20)")
    parser.add_argument("--seed", type=int, default=1, help="of the sizes (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (default: 7)")
    parser.add_argument("--turn", type=float, help="seconds of one turn (default: 0.3)")
    parser.add_argument("--quick", action="store_true",
                        help="two small networks, 3 sizes, short turns: shows that it works, counts for nothing")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / "bench.json", help="default: %(default)s")
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    arguments = parser.parse_args()
    names = arguments.models.split(",") if arguments.models else [
        model.name for model in sizes.MODELS if model.quick or not arguments.quick]
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(known)}")
    arguments.models = [known[name] for name in names]
    arguments.count = arguments.count or (3 if arguments.quick else 20)
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 7)
    arguments.turn = arguments.turn or (0.05 if arguments.quick else 0.3)
    return arguments


def code_bytes(folder):
    """Of the machine code in the library."""
    library = next(folder.glob("lib*.so"))
    lines = subprocess.run(["readelf", "-SW", str(library)], capture_output=True, text=True, check=True).stdout.split("\n")
    words = next(line for line in lines if " .text " in line).split(" .text ")[1].split()
    return int(words[3], 16)


def cost_of(made):
    return {"code_bytes": code_bytes(made.folder), "compile_s": made.time_s,
            "weights_bytes": sum(f.stat().st_size for f in made.folder.glob("*.weights"))}


def compile_for(arguments, file, folder, chosen):
    shutil.rmtree(folder, ignore_errors=True)
    made = tuning.compile_model(arguments.tenon, file, folder, [
        "--dims", sizes.dims_text(chosen), "--target", f"host cores={arguments.threads}"])
    if made.error:
        sys.exit(f"bench dynamic: {file.name} for {sizes.dims_text(chosen)}: {made.error}")
    return made


def measure_size(arguments, peers, session, file, dynamic, chosen):
    """A row: best times in ms by contestant, and differences from ONNX Runtime's output."""
    where = FOLDER / "now"
    where.mkdir(parents=True, exist_ok=True)
    model = where / file.name
    model.unlink(missing_ok=True)
    model.symlink_to(file)
    recorded.write_inputs(session, model.with_suffix(".npz"), chosen)
    exact = compile_for(arguments, file, where / "exact", chosen)
    entries = [harness.tenon_entry("dynamic", dynamic.folder), harness.tenon_entry("exact", exact.folder), *peers]
    outcome = harness.contest(entries, harness.Problem(model, HERE / "sizes.py", arguments.threads), arguments.rounds,
                              arguments.turn)
    return {"sizes": chosen, **{label: t.best for label, t in outcome.timings.items()},
            "median": {label: t.median for label, t in outcome.timings.items()},
            "difference": outcome.differences, "absent": outcome.absent}


def show_row(row):
    times = " ".join(f"{label} {row[label]:9.3f}" for label in ("dynamic", "exact", "onnxruntime") if label in row)
    ratios = " ".join(f"{row[label] / row['dynamic']:6.3f}" for label in ("exact", "onnxruntime")
                      if label in row and "dynamic" in row)
    return f"  {sizes.dims_text(row['sizes']):20} {times}   {ratios}"


def measure_model(arguments, peers, model):
    file = FOLDER / f"{model.name}.onnx"
    opened.write(arguments.tenon, model, file)
    dynamic = compile_for(arguments, file, FOLDER / model.name, model.ranges)
    largest = compile_for(arguments, file, FOLDER / "now" / "exact", {k: most for k, (_, most) in model.ranges.items()})
    entry = {"model": model.name, "ranges": model.ranges, "dynamic": cost_of(dynamic), "largest": cost_of(largest), "rows": []}
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    harness.say(f"{model.name}: times in ms; exact / dynamic, onnxruntime / dynamic")
    for chosen in sizes.draw(model.ranges, arguments.count, arguments.seed):
        entry["rows"].append(measure_size(arguments, peers, session, file, dynamic, chosen))
        harness.say(show_row(entry["rows"][-1]))
    entry["summary"] = sizes.summary(entry["rows"])
    return entry


def table(entries):
    lines = [f"{'network':14} {'sizes':>5} {'exact/dyn':>10} {'worst':>7} {'ort/dyn':>8} {'worst':>7} {'code':>7} {'weights':>8}"
             f" {'compile':>9}"]
    for e in entries:
        s, dynamic, largest = e["summary"], e["dynamic"], e["largest"]
        cells = [f"{s[other][what]:.3f}" if other in s else "-" for other in ("exact", "onnxruntime")
                 for what in ("mean", "worst")]
        lines.append(f"{e['model']:14} {len(e['rows']):5} {cells[0]:>10} {cells[1]:>7} {cells[2]:>8} {cells[3]:>7}"
                     f" {dynamic['code_bytes'] / largest['code_bytes']:6.2f}x"
                     f" {dynamic['weights_bytes'] / max(1, largest['weights_bytes']):7.2f}x {dynamic['compile_s']:7.1f} s")
    means = {other: sizes.geometric_mean([r[other] / r["dynamic"] for e in entries for r in e["rows"]
                                          if other in r and "dynamic" in r]) for other in ("exact", "onnxruntime")}
    lines.append("over all sizes: " + ", ".join(f"{other} / dynamic {mean:.3f}" for other, mean in means.items() if mean))
    return "\n".join(lines)


def verdicts(entries):
    """(lines about what is missing or wrong, exit code)"""
    lines, code = [], 0
    for e in entries:
        for row in e["rows"]:
            place = f"{e['model']} at {sizes.dims_text(row['sizes'])}"
            for label, why in row["absent"].items():
                lines.append(f"{place}: {label} is absent: {why}")
                code = max(code, 1)
            for label in ("dynamic", "exact"):
                difference = row["difference"].get(label, 0)
                if difference is None or difference > TOLERANCE:
                    lines.append(f"{place}: {label} is WRONG: {difference} from ONNX Runtime's output relative to the largest")
                    code = 4
    return lines, code


def main():
    arguments = parse_arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    peers, absent, versions = harness.choose_peers(["onnxruntime"])
    facts = {"machine": harness.machine(), "versions": versions, "threads": arguments.threads, "seed": arguments.seed,
             "rounds": arguments.rounds, "turn_s": arguments.turn, "estimator": "best of all inferences",
             "quick": arguments.quick}
    harness.introduce(facts, absent)
    entries = []
    for model in arguments.models:
        entries.append(measure_model(arguments, peers, model))
        arguments.json.write_text(json.dumps({**facts, "models": entries}, indent=1))
    print(table(entries))
    if facts["machine"]["load"] > harness.BUSY:
        print(f"the machine was busy (load {facts['machine']['load']:.1f}): these numbers count for nothing")
    lines, code = verdicts(entries)
    if lines:
        print("\n".join(lines))
    harness.say(f"written: {arguments.json}")
    return code


if __name__ == "__main__":
    sys.exit(main())
