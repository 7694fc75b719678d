# SPDX-License-Identifier: Apache-2.0
"""Networks and operators on one NVIDIA GPU, tenon beside PyTorch, interleaved in one run: `./dev bench gpu`.

Batch 1, float32 without tf32. Peers are PyTorch eager, CUDA graphs in NCHW and NHWC, torch.compile with
reduce-overhead. Prints medians in us, ratios to the best peer and shares of the floor; every output is compared. Needs
PyTorch with CUDA and a program tenon, and nothing that tenon is built with. Exits 4 if an output of tenon is wrong, 1
if something could not be measured, 6 if there is no card.
"""
import argparse
import ctypes
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "contest"))

import cases  # noqa: E402
import measuring  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import tuning  # noqa: E402

PEERS = ("eager", "graph", "graph_nhwc", "compile")
TUNE_SLACK_S = 90  # what `tenon tune` may take beyond its budget
AT_ONCE = 4        # processes that write models, of 2 to 3 GB each
WARM_S = 120       # what torch.compile may take to fill its cache
LOOK = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(prog="./dev bench gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="standard",
                        help="names, or networks, operators, standard (those with a goal), all (default: %(default)s)")
    parser.add_argument("--tenon", type=pathlib.Path, default=ROOT / "build/release/tools/tenon/tenon",
                        help="program, or the folder of the portable one (default: %(default)s)")
    parser.add_argument("--target", default="cuda", help="default: %(default)s, the card at hand")
    parser.add_argument("--db", type=pathlib.Path, help="take records from there; with --tune they go there")
    parser.add_argument("--lock", type=pathlib.Path,
                        help="take schedules from this lock file, or from NAME.lock in this folder where there is one")
    parser.add_argument("--tune", type=float, default=0, metavar="SECONDS", help="tune each case for so long before")
    parser.add_argument("--tune-option", action="append", default=[], metavar="OPTION",
                        help="for `tenon tune`; may be repeated")
    parser.add_argument("--compile-option", action="append", default=[], metavar="OPTION",
                        help="for `tenon compile`; may be repeated")
    parser.add_argument("--no-tenon", action="store_true", help="measure the peers alone")
    parser.add_argument("--no-untuned", action="store_true",
                        help="with --tune, --db or --lock: leave out the artifact made without them")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of %(default)s, or none")
    parser.add_argument("--rounds", type=int, help="turns of each contestant (default: 20)")
    parser.add_argument("--turn", type=float, help="milliseconds of one turn (default: 30)")
    parser.add_argument("--quick", action="store_true", help="3 short rounds: shows that it works, counts for nothing")
    parser.add_argument("--limit", type=float, default=180, metavar="SECONDS",
                        help="for each compilation, and for each step of measuring (default: %(default)s)")
    parser.add_argument("--peer-limit", type=float, default=75, metavar="SECONDS",
                        help="for making a peer ready; what takes longer is left out (default: %(default)s)")
    parser.add_argument("--deadline", type=float, default=1e6, metavar="SECONDS",
                        help="nothing goes on after that; what was measured is written")
    parser.add_argument("--make-models", type=pathlib.Path, metavar="DIR",
                        help="write the ONNX files there, and no more")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build/gpu/models",
                        help="where the ONNX files are, or are made if they are not (default: %(default)s)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/gpu",
                        help="artifacts and logs (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, help="default: bench.json in the folder of --work")
    parser.add_argument("--look", action="store_true", help="only say whether there is a card that PyTorch can use")
    return complete(parser, parser.parse_args(words))


def complete(parser, arguments):
    """Defaults that depend on other options."""
    try:
        arguments.cases = cases.choose(arguments.cases)
    except ValueError as error:
        parser.error(str(error))
    arguments.peers = [] if arguments.peers == "none" else arguments.peers.split(",")
    unknown = [name for name in arguments.peers if name not in PEERS]
    if unknown:
        parser.error(f"there is no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 20)
    arguments.turn = arguments.turn or (5 if arguments.quick else 30)
    arguments.json = arguments.json or arguments.work / "bench.json"
    arguments.end = time.monotonic() + arguments.deadline
    if (arguments.tenon / "bin/tenon").exists():
        arguments.tenon = arguments.tenon / "bin/tenon"
    for name in ("tenon", "models", "work", "db", "lock"):
        if getattr(arguments, name):
            setattr(arguments, name, getattr(arguments, name).resolve())
    return arguments


def say(text):
    print(text, file=sys.stderr, flush=True)


def left(arguments, seconds):
    """SECONDS, or what is left until the deadline; at least one."""
    return max(1.0, min(seconds, arguments.end - time.monotonic()))


def has_card():
    """Whether PyTorch can use one: asked of itself, which takes seconds."""
    try:
        return subprocess.run([sys.executable, "-c", LOOK], capture_output=True, timeout=120).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def may_have_card():
    """The same without PyTorch's help, at once."""
    try:
        count = ctypes.c_int(0)
        driver = ctypes.CDLL("libcuda.so.1")
        found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except OSError:
        found = False
    return found and importlib.util.find_spec("torch") is not None


def make_models(arguments, folder):
    """Writes what is not there yet; what cannot be written is missed later, by name."""
    missing = [name for name in arguments.cases if not (folder / f"{name}.pt").exists()]
    if not missing:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    threads = str(max(1, (os.cpu_count() or 1) // AT_ONCE))
    group = processes.Group([["modules.py", "--out", str(folder), "--cases", ",".join(names)]
                             for names in processes.dealt(missing, AT_ONCE)], arguments.work / "models.log",
                            {"OMP_NUM_THREADS": threads})
    good = group.wait(left(arguments, 20 * arguments.limit))
    say(f"{len(missing)} models written to {folder} in {group.took():.0f} s" if good else
        f"not all models could be written; see {group.log}")
    return 0 if good else 1


def warm(arguments):
    """Lets torch.compile fill its cache: networks each alone, operators in two groups. After tenon is done, whose times
    count."""
    there = [name for name in arguments.cases if (arguments.models / f"{name}.pt").exists()]
    if "compile" not in arguments.peers or not there:
        return
    networks = [name for name in there if name in cases.NETWORKS]
    operators = [name for name in there if name not in cases.NETWORKS]
    group = processes.Group([["warm.py", str(arguments.models), *names]
                             for names in [[name] for name in networks] + processes.dealt(operators, 2)],
                            arguments.work / "warm.log", {"TORCHINDUCTOR_COMPILE_THREADS": "2"})
    good = group.wait(left(arguments, WARM_S))
    say(f"torch.compile: {'ready' if good else 'not all ready'} after {group.took():.0f} s; see {group.log}")


def record_options(arguments, name):
    """What makes an artifact of records."""
    options = ["--db", str(arguments.db)] if arguments.db else []
    lock = arguments.lock
    if lock and lock.is_dir():
        lock = lock / f"{name}.lock"
    return options + (["--lock", str(lock)] if lock and lock.exists() else [])


def make_artifacts(arguments, name):
    """label -> tuning.Made: `tenon`, and where that one was tuned or has records also `untuned`."""
    if arguments.no_tenon:
        return {}
    records = record_options(arguments, name)
    made = {"tenon": tune(arguments, name) if arguments.tune else compiled(arguments, name, "tenon", records)}
    if (arguments.tune or records) and not arguments.no_untuned:
        made["untuned"] = compiled(arguments, name, "untuned", [])
    return made


def compiled(arguments, name, label, more):
    options = ["--target", arguments.target, *arguments.compile_option, *more]
    return tuning.compile_model(arguments.tenon, arguments.models / f"{name}.onnx",
                                arguments.work / "artifacts" / label / name, options, left(arguments, arguments.limit))


def tune(arguments, name):
    """The artifact that tuning leaves; if it fails, the one of the records that it left."""
    database = arguments.db or arguments.work / "tune.db"
    options = ["--target", arguments.target, "--budget", f"{arguments.tune:.0f}s", *arguments.tune_option]
    made = tuning.tune_model(arguments.tenon, arguments.models / f"{name}.onnx",
                             arguments.work / "artifacts" / "tenon" / name, database, options, True,
                             left(arguments, arguments.tune + TUNE_SLACK_S))
    if not made.error:
        return made
    say(f"{name}: {made.error}")
    return compiled(arguments, name, "tenon", ["--db", str(database)] if database.exists() else [])


def facts_of(made, name):
    """What a row has of its artifacts."""
    facts = {"make_s": {label: m.time_s for label, m in made.items()},
             "absent": {label: m.error for label, m in made.items() if m.error}}
    tenon = made.get("tenon")
    if tenon and not tenon.error:
        manifest = json.loads((tenon.folder / f"{name}.json").read_text())
        facts["kernels"] = report.count_kernels(manifest, cases.CASES[name].repeat)
        facts["measured"] = tenon.measured()
    return facts


def make_all(arguments):
    """({case: {label: folder}}, {case: what its row has of them}) of the cases that have a model."""
    folders, facts = {}, {}
    for name in arguments.cases:
        facts[name] = {"case": name}
        if not (arguments.models / f"{name}.pt").exists():
            facts[name]["error"] = f"there is no {arguments.models / name}.onnx with its .npz and .pt"
            continue
        if time.monotonic() >= arguments.end:
            facts[name]["error"] = "there was no time left"
            continue
        made = make_artifacts(arguments, name)
        try:
            facts[name] |= facts_of(made, name)
        except (OSError, LookupError, ValueError) as error:
            say(f"{name}: its manifest cannot be read: {error!r}")
        folders[name] = {label: m.folder for label, m in made.items() if not m.error}
        say(f"{name}: " + (", ".join(f"{label} {m.error or f'made in {m.time_s:.1f} s'}" for label, m in made.items())
                           or "the peers alone"))
    return folders, facts


def merge(fact, row):
    """The row of a case of what is known of its artifacts and what was measured."""
    both = {**fact, **row}
    both["absent"] = {**fact.get("absent", {}), **row.get("absent", {})}
    return both


def measure_all(arguments, folders, facts):
    """The rows and what is known of the card; the file is written after each case, so that a run that is cut off
    leaves what it has."""
    plan = measuring.Plan(arguments.models, arguments.work, arguments.peers, arguments.rounds, arguments.turn,
                          arguments.limit, arguments.end, arguments.peer_limit)
    session = measuring.Session(plan, folders)

    def rows():
        ceilings = session.facts.get("ceilings", {})
        return [report.complete(merge(facts[name], session.rows.get(name, {})), ceilings) for name in arguments.cases]
    for case in session.run():
        row = session.rows[case]
        timings = ", ".join(f"{label} {t['median_us']:.1f}" for label, t in row.get("timings", {}).items())
        say(f"{case}: {row.get('error') or timings}")
        write(arguments, rows(), session.facts)
    write(arguments, rows(), session.facts)
    return rows(), session.facts


def write(arguments, rows, machine):
    report.write_json(arguments.json, rows, {**machine, "rounds": arguments.rounds, "turn_ms": arguments.turn,
                                             "tune_s": arguments.tune, "quick": arguments.quick})


def main():
    arguments = parse_arguments()
    if arguments.make_models:
        return make_models(arguments, arguments.make_models)
    if not (has_card() if arguments.look else may_have_card()):
        say(f"bench gpu: {sys.executable} finds no PyTorch with a GPU that it can use; PYTHON names another python")
        return 6
    if arguments.look:
        return 0
    if not arguments.no_tenon and not os.access(arguments.tenon, os.X_OK):
        say(f"bench gpu: there is no program {arguments.tenon}; --tenon names it")
        return 2
    make_models(arguments, arguments.models)
    folders, facts = make_all(arguments)
    warm(arguments)
    rows, machine = measure_all(arguments, folders, facts)
    print(report.show_machine(machine))
    print(report.show_ceilings(machine.get("ceilings", {})))
    print(report.table(rows, arguments.peers))
    lines, code = report.verdicts(rows)
    print("\n".join([report.show_making(rows), *lines, f"written: {arguments.json}"]))
    return code


if __name__ == "__main__":
    sys.exit(main())
