# SPDX-License-Identifier: Apache-2.0
"""Runs worker.py over cases, and goes on when it dies or hangs: what it was busy with is left out at the next try.

    session = Session(Plan(...), {"resnet18": {"tenon": folder}})
    for case in session.run(): print(session.rows[case])
"""
import dataclasses
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Plan:
    """How cases are measured; LIMIT_S is the longest time between two lines of the worker, PEER_S the same while it makes
    a peer ready, END when all must end."""
    models: pathlib.Path
    work: pathlib.Path
    peers: list
    rounds: int
    turn_ms: float
    limit_s: float
    end: float
    peer_s: float = 1e6
    command: tuple = (sys.executable, "-W", "ignore", str(HERE / "worker.py"))


class Worker:
    """A process whose lines are read with a time limit."""

    def __init__(self, plan, job):
        plan.work.mkdir(parents=True, exist_ok=True)
        file = plan.work / "job.json"
        file.write_text(json.dumps(job))
        self.log = plan.work / "worker.log"
        self.lines = queue.Queue()
        with open(self.log, "a") as errors:
            self.process = subprocess.Popen([*plan.command, str(file)], stdout=subprocess.PIPE, stderr=errors,
                                            text=True, start_new_session=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.process.stdout as lines:
            for line in lines:
                if line.startswith("{"):  # libraries print, too
                    self.lines.put(json.loads(line))
        self.lines.put(None)

    def next(self, seconds):
        """The next line; None at the end, queue.Empty after SECONDS."""
        return self.lines.get(timeout=max(seconds, 0.01))

    def close(self):
        """Ends it with the compilers that it may have started; its status."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return self.process.wait()


class Session:
    """Cases with their artifacts by label; fills rows by case, and facts of the card with its ceilings."""

    def __init__(self, plan, artifacts):
        self.plan = plan
        self.open = [{"case": name, "artifacts": {k: str(v) for k, v in made.items()}, "skip": {}}
                     for name, made in artifacts.items()]
        self.facts, self.rows = {}, {}
        self.case, self.stage = None, "start"

    def run(self):
        """Gives each case's name when it has its row."""
        while self.open:
            yield from self.run_worker()
            if time.monotonic() >= self.plan.end:
                for wanted in list(self.open):
                    yield self.finish(wanted["case"], {"error": "there was no time left", "absent": wanted["skip"]})

    def run_worker(self):
        job = {"models": str(self.plan.models), "peers": self.plan.peers, "rounds": self.plan.rounds,
               "turn_ms": self.plan.turn_ms, "ceilings": "ceilings" not in self.facts, "cases": self.open}
        worker, why = Worker(self.plan, job), ""
        try:
            while self.open and not why:
                line = worker.next(min(self.limit(), self.plan.end - time.monotonic()))
                if line is None:
                    why = f"the process ended with status {worker.close()}; see {worker.log}"
                elif self.take(line):
                    yield line["case"]
        except queue.Empty:
            why = f"no answer within {self.limit():.0f} s"
        finally:
            worker.close()
        if why and time.monotonic() < self.plan.end:
            yield from self.leave_out(why)

    def limit(self):
        return min(self.plan.limit_s, self.plan.peer_s) if self.stage in self.plan.peers else self.plan.limit_s

    def take(self, line):
        """Whether a case has its row now."""
        if "case" not in line:
            self.facts.update(line)
        elif "stage" in line:
            self.case, self.stage = line["case"], line["stage"]
        else:
            self.finish(line["case"], line.get("result") or {"error": line["error"]})
            return True
        return False

    def leave_out(self, why):
        """Next time, what the worker was busy with is skipped; if that was no contestant, the case has failed."""
        wanted = next((w for w in self.open if w["case"] == self.case), self.open[0])
        stage, self.case, self.stage = self.stage, None, "start"
        if stage in (*self.plan.peers, *wanted["artifacts"]):
            wanted["skip"][stage] = why
        else:
            yield self.finish(wanted["case"], {"error": f"{stage}: {why}", "absent": wanted["skip"]})

    def finish(self, case, row):
        self.rows[case] = {"case": case, **row}
        self.open = [wanted for wanted in self.open if wanted["case"] != case]
        return case
