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
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SLOW_S = 1.0      # a contestant that needs longer for one inference ...
SLOW_ROUNDS = 3   # ... takes part in so many rounds only


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """The python that has a contestant's packages, and folders of shared libraries that it must prefer."""
    python: str
    library_path: str = ""


class Worker:
    """One contestant with one model, stopped except during its turns."""

    def __init__(self, contestant, interpreter, model, artifact, threads):
        self.contestant = contestant
        self.stderr = open(ROOT / "build/models" / f"worker-{contestant}.log", "w")
        self.process = subprocess.Popen(
            [interpreter.python, "-W", "ignore", str(HERE / "worker.py"), contestant, str(model), str(artifact),
             str(threads)], env={**os.environ, "LD_LIBRARY_PATH": interpreter.library_path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, text=True)
        self.start = self.read()
        self.rounds = []  # one list of times per turn
        if "error" not in self.start:
            self.process.send_signal(signal.SIGSTOP)

    def read(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        return {"error": f"the process ended with status {self.process.wait()}; see {self.stderr.name}"}

    def turn(self, seconds, warmup):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps({"seconds": seconds, "warmup": warmup}) + "\n")
        self.process.stdin.flush()
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
    for index in range(rounds):
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
class Compiled:
    """What `tenon compile` wrote and what it took, or why it failed."""
    folder: pathlib.Path
    time_s: float
    peak_mb: float
    error: str = ""


def compile_model(tenon, model, folder, options):
    """Peak memory is that of the whole process; its children, if it has any, do not count."""
    if not os.access(tenon, os.X_OK):
        sys.exit(f"there is no program {tenon}; ./dev build release makes it")
    start = time.perf_counter()
    log = folder.parent / f"{folder.name}.log"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as output:
        process = subprocess.Popen([str(tenon), "compile", str(model), "-o", str(folder), *options],
                                   stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    error = ""
    if process.returncode != 0:
        lines = log.read_text().strip().splitlines()
        error = f"tenon compile exits {process.returncode}: {lines[-1] if lines else 'no message'}"
    return Compiled(folder, time.perf_counter() - start, usage.ru_maxrss / 1024, error)
