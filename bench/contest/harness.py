# SPDX-License-Identifier: Apache-2.0
"""Contestants in processes of their own, measured turn by turn.

Exactly one contestant runs at a time: all others are stopped by a signal, so that no thread pool that spins while
it waits takes a processor from the one whose turn it is. Turns go round robin, so a slow minute of the machine
hits all alike.
"""
import dataclasses
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SLOW_S = 1.0      # a contestant that needs longer for one inference ...
SLOW_ROUNDS = 3   # ... takes part in so many rounds only
BUSY = 0.7        # load average from which on measurements are doubted


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """The python that has a contestant's packages, and folders of shared libraries that it must prefer."""
    python: str
    library_path: str = ""


@dataclasses.dataclass(frozen=True)
class Entry:
    """Who takes part: one of contestants.CONTESTANTS under a label of its own."""
    label: str
    contestant: str
    interpreter: Interpreter
    artifact: pathlib.Path = pathlib.Path("-")  # tenon's alone


@dataclasses.dataclass(frozen=True)
class Problem:
    """What is run: NAME.onnx with NAME.npz beside it, and the python file whose restore(NAME, MODEL) gives PyTorch's
    forms of it."""
    model: pathlib.Path
    definitions: pathlib.Path
    threads: int


class Worker:
    """One entry with one model at a time, stopped except during its turns."""

    def __init__(self, entry, problem):
        self.label = entry.label
        self.stderr = open(problem.model.parent / f"worker-{entry.label}.log", "w")
        self.process = subprocess.Popen(
            [entry.interpreter.python, "-W", "ignore", str(HERE / "worker.py"), entry.contestant, str(problem.model),
             str(entry.artifact), str(problem.definitions), str(problem.threads)],
            env={**os.environ, "LD_LIBRARY_PATH": entry.interpreter.library_path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, text=True)
        self.begin()

    def begin(self):
        self.start = self.read()
        self.rounds = []  # one list of times per turn
        self.process.send_signal(signal.SIGSTOP)

    def take(self, model, artifact):
        """Another model instead of the one before; false if the process has ended."""
        if self.process.poll() is not None:
            return False
        self.process.send_signal(signal.SIGCONT)
        self.write({"model": str(model), "artifact": str(artifact)})
        self.begin()
        return True

    def write(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        return {"error": f"the process ended with status {self.process.wait()}; see {self.stderr.name}"}

    def turn(self, seconds, warmup):
        self.process.send_signal(signal.SIGCONT)
        self.write({"seconds": seconds, "warmup": warmup})
        answer = self.read()
        if "error" in answer:
            self.start = answer
            return
        self.process.send_signal(signal.SIGSTOP)
        self.rounds.append(answer["times"])

    def best(self):
        return min(map(min, self.rounds))

    def failed(self):
        return "error" in self.start

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.stderr.close()


@dataclasses.dataclass
class Timing:
    """Milliseconds of one contestant: the best, the median, and the share between the 10th and 90th percentile."""
    best: float
    median: float
    spread: float
    rounds: list  # median per round


def summarize(worker):
    times = sorted(1e3 * t for turn in worker.rounds for t in turn)
    low, high = (times[int(share * (len(times) - 1))] for share in (0.1, 0.9))
    median = statistics.median(times)
    return Timing(times[0], median, (high - low) / median,
                  [1e3 * statistics.median(turn) for turn in worker.rounds])


def measure(workers, rounds, turn_s):
    """Fills Worker.rounds; the order rotates so that nobody always follows the same one."""
    for index in range(rounds if workers else 0):
        shift = index % len(workers)
        for worker in workers[shift:] + workers[:shift]:
            if worker.failed():
                continue
            slow = bool(worker.rounds) and worker.best() > SLOW_S
            if slow and index >= SLOW_ROUNDS:
                continue
            # A first inference that is not counted brings the weights back into the caches.
            worker.turn(turn_s, 0 if slow else 1)


@dataclasses.dataclass
class Outcome:
    """By label: times of those that ran, their largest difference from the expected output, what they tell of
    themselves, and why others are absent."""
    timings: dict
    differences: dict
    details: dict
    absent: dict


def contest(entries, problem, rounds, turn_s):
    workers, absent = [], {}
    try:
        for entry in entries:
            workers.append(Worker(entry, problem))
        measure([worker for worker in workers if not worker.failed()], rounds, turn_s)
        absent = {worker.label: worker.start["error"] for worker in workers if worker.failed()}
        ran = [worker for worker in workers if not worker.failed()]
        return Outcome({worker.label: summarize(worker) for worker in ran},
                       {worker.label: worker.start["difference"] for worker in ran},
                       {worker.label: worker.start["detail"] for worker in ran if worker.start["detail"]}, absent)
    finally:
        for worker in workers:
            worker.close()


def choose_peers(wanted):
    """(entries, peer -> why it is absent, peer -> version) as bench/peers/setup found them."""
    file = ROOT / "build/peers/peers.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    entries, absent, versions = [], {}, {}
    for name in wanted:
        row = known.get(name, {"absent": "bench/peers/setup has not run or does not know it"})
        if "absent" in row:
            absent[name] = row["absent"]
        else:
            entries.append(Entry(name, name, Interpreter(row["python"], row["library_path"])))
            versions[name] = row["version"] + (f" ({row['note']})" if row["note"] else "")
    return entries, absent, versions


def tenon_entry(label, artifact):
    return Entry(label, "tenon", Interpreter(sys.executable), artifact)


def machine():
    with open("/proc/cpuinfo") as file:
        name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    return {"cpu": name, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "load": os.getloadavg()[0]}


def introduce(facts, absent):
    """Says on stderr where and with whom is measured; FACTS has `machine` and `versions`."""
    here = facts["machine"]
    say(f"{here['cpu']}, {here['cores']} cores, load {here['load']:.2f}")
    for name, version in facts["versions"].items():
        say(f"{name} {version}")
    for name, why in absent.items():
        say(f"{name} is absent: {why}")


def say(words):
    print(words, file=sys.stderr, flush=True)
