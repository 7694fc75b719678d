# SPDX-License-Identifier: Apache-2.0
"""Single operators and subgraphs, tuned by tenon, beside PyTorch and ONNX Runtime: `./dev bench operators`.

Each case is a tiny ONNX model with plain NCHW inputs and outputs, so everyone pays for his own reordering. tenon tunes
it from an empty database with at most --trials measurements; then all are measured in turns. Prints a table (best of
many, in ms; ratio is the best peer's time over tenon's, above 1 tenon is faster), writes JSON and the search curves.
An output that differs from ONNX Runtime's (of a norm: from the exact one), or a case that could not be measured, is an error: exit 1.
"""
import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contest"))

import cases  # noqa: E402
import harness  # noqa: E402
import report  # noqa: E402
import tuning  # noqa: E402

MODELS = harness.ROOT / "build/operators"
PEERS = ("pytorch", "onnxruntime")
TOLERANCE = 1e-4  # largest difference from the expected output, relative to the largest


def parse_arguments():
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="./dev bench operators", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=",".join(cases.SHAPES), help="kinds (default: %(default)s)")
    parser.add_argument("--shapes", default="", metavar="TEXT,..", help="cases by number within their kind (0 to 3) or"
                        " by a part of their name, such as 14_14_256")
    parser.add_argument("--trials", type=int, default=200, help="measurements per case (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=cores, help="default: all cores, %(default)s here")
    parser.add_argument("--peers", default=",".join(PEERS), help="default: %(default)s; openvino and tvm are known too")
    parser.add_argument("--untuned", action="store_true", help="default schedules, nothing is searched")
    parser.add_argument("--compare-layouts", default="", metavar="fixed,row-major,loops,sketch", help="tune again with as many"
                        " trials for the loops alone, under the defaults' layouts or with row-major tensors, and measure"
                        " that; loops, sketch: row-major and that space of the plain definition only, by its records")
    parser.add_argument("--quick", action="store_true",
                        help="16 trials, 3 short rounds: shows that it works, counts for nothing")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (default: 15)")
    parser.add_argument("--turn", type=float, help="seconds of one turn (default: 0.1)")
    parser.add_argument("--json", type=pathlib.Path, default=MODELS / "bench.json", help="default: %(default)s")
    parser.add_argument("--curves", type=pathlib.Path, help="default: the JSON file's name with .svg")
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--tune-option", action="append", default=[], metavar="OPTION",
                        help="passed on to `tenon tune`; may be repeated")
    arguments = parser.parse_args()
    unknown = set(filter(None, arguments.compare_layouts.split(","))) - {*report.LOOPS, *report.SPACES}
    if unknown:
        parser.error(f"--compare-layouts: no {', '.join(sorted(unknown))}; there are {', '.join([*report.LOOPS, *report.SPACES])}")
    if arguments.quick:
        arguments.trials = min(arguments.trials, 16)
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 15)
    arguments.turn = arguments.turn or (0.03 if arguments.quick else 0.1)
    arguments.curves = arguments.curves or arguments.json.with_suffix(".svg")
    return arguments


def chosen_cases(arguments):
    kinds, shapes = arguments.ops.split(","), list(filter(None, arguments.shapes.split(",")))
    unknown = [kind for kind in kinds if kind not in cases.SHAPES]
    if unknown:
        sys.exit(f"bench operators: no kind {', '.join(unknown)}; there are {', '.join(cases.SHAPES)}")

    def wanted(case):
        number = str(cases.SHAPES[case.op].index(case.shape))
        return case.op in kinds and (not shapes or number in shapes or any(
            len(part) > 1 and part in case.name for part in shapes))
    return [case for case in cases.all_cases() if wanted(case)]


def make_artifacts(arguments, case, model):
    """label -> what tenon made: `untuned` always, `tenon` is the tuned one or, with --untuned, the same."""
    folder = MODELS / "tenon" / case.name
    untuned = tuning.compile_model(arguments.tenon, model, folder / "untuned")
    if arguments.untuned:
        return {"tenon": untuned}
    options = ["--trials", str(arguments.trials), "--threads", str(arguments.threads), *arguments.tune_option]
    tuned = tuning.tune_model(arguments.tenon, model, folder / "tuned", folder / "tuning.db", options)
    made = {"tenon": tuned, "untuned": untuned}
    for how in set(filter(None, arguments.compare_layouts.split(","))) - {*report.SPACES}:
        made[how] = tuning.tune_model(arguments.tenon, model, folder / how, folder / f"{how}.db",
                                      [*options, "--layouts", how])
    return made


def space_alone(arguments, case, model, space):
    """Best ms of loops alone over the plain definition, as recorded: an artifact would keep a template that wins."""
    folder = MODELS / "tenon" / case.name
    database = folder / f"{space}.db"
    made = tuning.tune_model(arguments.tenon, model, folder / space, database,
                             ["--trials", str(arguments.trials), "--threads", str(arguments.threads), "--space", space,
                              "--layouts", "row-major", *arguments.tune_option])
    return None if made.error else tuning.searched_ms(database)


def measure_case(arguments, peers, absent, case):
    model = MODELS / f"{case.name}.onnx"
    if not model.exists():
        sys.exit(f"bench operators: there is no {model}; bench/operators/export.py writes it")
    made = make_artifacts(arguments, case, model)
    entries = [harness.tenon_entry(label, m.folder) for label, m in made.items() if not m.error] + peers
    problem = harness.Problem(model, HERE / "torch_forms.py", arguments.threads)
    outcome = harness.contest(entries, problem, arguments.rounds, arguments.turn)
    outcome.absent.update(absent)
    outcome.absent.update({label: m.error for label, m in made.items() if m.error})
    row = report.make_row(case, made["tenon"], outcome, TOLERANCE, arguments.threads)
    for space in report.SPACES:
        if space in arguments.compare_layouts.split(",") and case.op in cases.CONVOLUTIONS:
            row["space_ms"][space] = space_alone(arguments, case, model, space)
    return row


def main():
    arguments = parse_arguments()
    peers, absent, versions = harness.choose_peers(arguments.peers.split(","))
    facts = {"machine": harness.machine(), "versions": versions, "rounds": arguments.rounds, "turn_s": arguments.turn,
             "estimator": "best of all inferences", "untuned": arguments.untuned, "quick": arguments.quick,
             "threads": arguments.threads}
    harness.introduce(facts, absent)
    names = [peer.label for peer in peers]
    rows = []
    for case in chosen_cases(arguments):
        rows.append(measure_case(arguments, peers, absent, case))
        harness.say(report.table(rows[-1:], names).split("\n")[1])
        report.write_json(arguments.json, rows, facts)
    print(report.table(rows, names))
    if facts["machine"]["load"] > harness.BUSY:
        print(f"the machine was busy (load {facts['machine']['load']:.1f}): these numbers count for nothing")
    print("\n".join(report.summary(rows)))
    if not arguments.untuned:
        print(report.text_curves(rows))
        report.write_curves(arguments.curves, rows, f"time by trials; {facts['machine']['cpu']}")
        harness.say(f"written: {arguments.json}, {arguments.curves}")
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
