# SPDX-License-Identifier: Apache-2.0
"""The parts of `./dev test --gpu`: each takes a Machine and gives (what is wrong, what is worth telling).

    suite(machine) -> ([], {"passed": 1003, ..})
"""
import concurrent.futures
import json
import os
import re
import sys
import threading

from machine import ROOT, Absent, Failure

# The networks of bench/models, which are to be right, and two more of the zoo. What takes longest comes first.
NETWORKS = ("convnext_tiny", "inception_v3", "shufflenet_v2_x1_0", "vit_b_16", "r3d_18", "bert_base", "vgg16",
            "densenet121", "resnext50_32x4d", "resnet50", "efficientnet_b0", "lstm_lm", "resnet18", "mobilenet_v2",
            "squeezenet1_1", "dcgan", "bert_tiny", "dqn")
NOT_IN_ZOO = ("shufflenet_v2_x1_0", "convnext_tiny", "inception_v3")  # written by PyTorch

SMALL = (("dqn",), ("bert_tiny", "--tokens", "8"))  # where a card is only pretended
CHECKED = (("dqn",), ("bert_tiny",), ("squeezenet1_1",), ("dcgan",), ("mobilenet_v2",), ("resnet18",))
REPEATED = (("resnet18",), ("squeezenet1_1",), ("bert_tiny",))
AT_ONCE = 4  # processes that use the card
CORES_OF_ONE = 2  # that a compiler keeps busy


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


def at_once(work, things, processes=AT_ONCE):
    """WORK of each, several at once; a Failure or Absent is what that one found."""
    def one(thing):
        try:
            return work(thing)
        except (Failure, Absent) as error:
            return [str(error)], {}
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        return list(pool.map(one, things))


def suite(machine):
    """ONNX's backend test suite: what the host passes, the target must pass."""
    json_file = machine.out / "suite.json"
    json_file.unlink(missing_ok=True)
    if not machine.data:
        raise Absent("there is no suite: Debian's libonnx-testdata, Python's onnx, or --data FOLDER")
    done = machine.run([machine.needed("check"), "suite", "--root", machine.data, "--target", machine.target, "--json",
                        json_file, "--deadline", machine.left() - 20, "--every", 12 if machine.small else 1])
    found = read(json_file)
    cases = found.pop("cases", [])
    problems = [f"{c['name']}: {c['status']}: {c['reason'].splitlines()[0]}" for c in cases
                if c["status"] not in ("passed", "unsupported")]
    if not cases or (done.returncode != 0 and not problems):
        problems.append((done.stderr.strip() or f"it ends with {done.returncode}").splitlines()[-1])
    return problems, {"cases": len(cases), **found}


def random_programs(machine, runs=None, prefix=(), name="random"):
    """Random programs give what the interpreter gives."""
    json_file = machine.out / f"{name}.json"
    json_file.unlink(missing_ok=True)
    runs = runs or (60 if machine.small else 500)
    done = machine.run([*prefix, machine.needed("check"), "random", "--target", machine.target, "--runs", runs,
                        "--json", json_file, "--deadline", machine.left() - 5])
    found = read(json_file)
    problems = found.pop("problems", [])
    if done.returncode != 0 and not problems:
        problems = [(done.stderr.strip() or done.stdout.strip() or f"it ends with {done.returncode}").splitlines()[-1]]
    (machine.out / f"{name}.txt").write_text("\n\n".join(problems))
    return [p.splitlines()[0] for p in problems], found


def reported(output):
    """What compute-sanitizer found, in its own words; empty: nothing."""
    lines = [line.removeprefix("=========").strip() for line in output.splitlines() if line.startswith("=========")]
    summary = next((line for line in lines if "SUMMARY" in line), "")
    if not summary:
        return "there is no summary: " + (lines[-1] if lines else output.strip()[-200:])
    if re.search(r"SUMMARY: 0 errors|SUMMARY: 0 hazards", summary):
        return ""
    return f"{summary}: {next((line for line in lines if line and 'COMPUTE-SANITIZER' not in line), '')}"


def sanitized(machine, tool, command, log):
    done = machine.run([machine.sanitizer, "--tool", tool, "--target-processes", "application-only", *command])
    (machine.out / log).write_text(done.stdout + done.stderr)
    if "Device not supported" in done.stdout + done.stderr:  # some virtual machines do not let it at the card
        raise Absent("compute-sanitizer cannot use the card of this machine: Device not supported")
    found = reported(done.stdout + done.stderr)
    if not found and done.returncode != 0:
        found = f"the program ends with {done.returncode}: {done.stderr.strip()[-200:]}"
    return found


def sanitizer(machine):
    """compute-sanitizer has nothing to report of small networks and of random programs."""
    if not machine.sanitizer:
        raise Absent("there is no compute-sanitizer: in PATH, CUDA_HOME or /usr/local/cuda")
    networks = SMALL if machine.small else CHECKED
    folders = {name[0]: machine.compiled(machine.model(*name)) for name in networks}
    work = [(tool, name) for tool in ("memcheck", "racecheck") for name in (*folders, "random")]

    def one(what):
        tool, name = what
        command = [machine.tenon, "run", folders[name], "--inputs", "seed:1", "-q"] if name != "random" else [
            machine.needed("check"), "random", "--target", machine.target, "--runs", 20 if machine.small else 100]
        found = sanitized(machine, tool, command, f"sanitizer-{tool}-{name}.txt")
        return ([f"{tool} {name}: {found}"] if found else []), {}
    problems, _ = one(work[0])  # alone, since it may tell that there is no use in the others
    problems += [p for found, _ in at_once(one, work[1:]) for p in found]
    return problems, {"tools": "memcheck, racecheck", "programs": [*folders, "random programs"]}


def repeat(machine):
    """Many runs of one context give the same bits."""
    runs = 20 if machine.small else 10000

    def one(name):
        found = machine.child("repeat", machine.compiled(machine.model(*name)), runs)
        return [f"{name[0]}: {p}" for p in found["problems"]], {name[0]: found.get("runs", 0)}
    problems, facts = [], {}
    for name in SMALL if machine.small else REPEATED:
        found, told = one(name)
        problems += found
        facts |= told
    return problems, {"runs": facts}


def contexts(machine):
    """Contexts that come and go leave nothing behind."""
    network = SMALL[0] if machine.small else CHECKED[0]
    found = machine.child("contexts", machine.compiled(machine.model(*network)), 40 if machine.small else 1000)
    return found.pop("problems"), found


def told(machine, **more):
    """An environment with a driver that does as told."""
    return {"TENON_CUDA_LIBRARY": str(machine.needed("told_driver")),
            **{f"TOLD_DRIVER_{key.upper()}": str(value) for key, value in more.items()}}


def sentence_cases(machine, folder, other):
    """(what, check of child.py, folder, argument, environment, what the sentence must say)"""
    cases = [
        ("no driver", "refused", folder, 0, {"TENON_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}, "there is no CUDA driver"),
        ("no driver's functions", "refused", folder, 0, {"TENON_CUDA_LIBRARY": "libm.so.6"}, "is too old: it has no cu"),
        ("an old driver", "refused", folder, 0, told(machine, version=11080),
         "is too old: it is of version 11.8, and 12.0 or later is needed"),
        ("no card", "refused", folder, 0, told(machine, init=100), "finds no card in this machine"),
        ("no such card", "refused", folder, 99, {}, "there is no card 99"),
        ("an old card", "refused", folder, 0, told(machine), "cannot run that: code is made for cards from sm_80 on"),
        ("another card", "refused", other, 0, {},
         "cannot run that: " + ("compile it with --target" if machine.is_card else "code is made for cards")),
        ("a full card", "full_card", folder, 0, {}, "memory"),
        ("an odd address", "odd_address", folder, 0, {}, "no multiple of 256"),
    ]
    if machine.is_card:
        cases.append(("a hidden card", "refused", folder, 0, {"CUDA_VISIBLE_DEVICES": ""}, "finds no card"))
    return cases


def sentences(machine):
    """Whatever keeps a library from running is said in a sentence."""
    model = machine.model(*SMALL[0])
    folder = machine.compiled(model)
    other = machine.compiled(model, "cuda simt" if machine.is_card else "cuda sm_90")
    problems, facts = [], {}
    for what, check, where, argument, more, wanted in sentence_cases(machine, folder, other):
        found = machine.child(check, where, argument, more)
        problems += [f"{what}: {p}" for p in found["problems"]]
        facts[what] = found.get("sentence", "")
        if wanted not in facts[what]:
            problems.append(f"{what}: it says '{facts[what]}'")
    return problems, {"sentences": facts}


def compared(machine, reference, folder):
    """What is wrong with the outputs of a library; empty: nothing. REFERENCE is a model, whose definition is computed,
    or a library."""
    done = machine.run([machine.tenon, "compare", reference, folder, "--json", "--threads",
                        max(1, (os.cpu_count() or 1) // AT_ONCE)])
    words = (done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else words[-1] if words else f"it ends with {done.returncode}"


def ptx(machine):
    """Cards that do not take the machine code run the PTX: that of sm_80 on any later one, and that of a library which
    has nothing else."""
    if not machine.is_card:
        raise Absent("only a card's own driver takes PTX")

    def one(what):
        name, target, more = what
        model = machine.model(name)
        folder = machine.compiled(model, target, more)
        found = compared(machine, model, folder)
        return ([f"{name} for {target}: {found}"] if found else []), {}
    work = [(name, target, more) for name in ("dqn", "bert_tiny", "squeezenet1_1")
            for target, more in (("cuda sm_80", {}), (machine.target, {"TENON_PTXAS": "none"}))]
    return [p for found, _ in at_once(one, work) for p in found], {"libraries": len(work)}


def exported(machine, name):
    """The ONNX file of a network that PyTorch writes."""
    folder = machine.out / "models"
    if not (folder / f"{name}.pt").exists():
        done = machine.run([sys.executable, "-W", "ignore", ROOT / "bench/models/export.py", "--out", folder, "--models",
                            name])
        if done.returncode != 0:
            raise Absent(f"PyTorch does not write it: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    return folder / f"{name}.onnx"


def networks(machine):
    """Networks of the benchmark compile, and give what the host's libraries give, which other tests compare with the
    definition: to compute that for all of them takes a quarter of an hour."""
    card = threading.Semaphore(AT_ONCE)

    def one(name):
        model = exported(machine, name[0]) if name[0] in NOT_IN_ZOO else machine.model(*name)
        host, folder = machine.compiled(model, "host", options=("--accuracy", "strict")), machine.compiled(model)
        with card:
            found = compared(machine, host, folder)
        return ([f"{name[0]}: {found}"] if found else []), {name[0]: "wrong" if found else "right"}
    results = at_once(one, SMALL if machine.small else [(name,) for name in NETWORKS],
                      max(AT_ONCE, (os.cpu_count() or 1) // CORES_OF_ONE))
    facts = {name: what for _, told_ in results for name, what in told_.items()}
    return [p for found, _ in results for p in found], {"right": sum(w == "right" for w in facts.values()), **facts}


# name: (function, seconds that it may take)
PARTS = {"suite": (suite, 240), "random": (random_programs, 120), "sanitizer": (sanitizer, 300), "repeat": (repeat, 120),
         "contexts": (contexts, 120), "sentences": (sentences, 60), "ptx": (ptx, 120), "networks": (networks, 300)}
ON_CARDS = ("ptx",)  # nothing else can run them
