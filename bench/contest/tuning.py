# SPDX-License-Identifier: Apache-2.0
"""Artifacts of tenon: by `tenon compile` without measuring, or by `tenon tune`."""
import dataclasses
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import threading
import time


@dataclasses.dataclass
class Made:
    """What tenon wrote and what it took, or why it failed."""
    folder: pathlib.Path
    time_s: float
    peak_mb: float
    error: str = ""
    events: list = dataclasses.field(default_factory=list)  # of `tenon tune`

    def measured(self):
        """How many candidates were measured."""
        return next((event["measured"] for event in reversed(self.events) if event["event"] == "end"), 0)

    def curve(self):
        """(candidates measured, seconds of tuning, estimate of the model's time in s): default schedules, then once
        per round."""
        rounds = [event for event in self.events if event["event"] == "round" and event["estimate_s"]
                  and event["estimate_s"][0]]
        start = [(0, 0.0, event["default_estimate_s"][0]) for event in rounds[:1] if event["default_estimate_s"][0]]
        return start + [(event["measured"], event["t"], event["estimate_s"][0]) for event in rounds]


def compile_model(tenon, model, folder, options=(), limit_s=None):
    return make(tenon, "compile", [str(model), "-o", str(folder), *options], folder, limit_s)


def tune_model(tenon, model, folder, database, options=(), resume=False, limit_s=None):
    """The database is empty at the start unless RESUME."""
    if not resume:
        for path in (database, *database.parent.glob(f"{database.name}-*")):
            path.unlink(missing_ok=True)
    database.parent.mkdir(parents=True, exist_ok=True)
    made = make(tenon, "tune", [str(model), "-o", str(folder), "--db", str(database), "--jsonl", *options], folder,
                limit_s)
    for line in log_of(folder, "tune").read_text().splitlines():
        if line.startswith("{"):
            made.events.append(json.loads(line))
    return made


def searched_ms(database):
    """The sum over tasks of the best median in ms that the search itself found: the default, measured first, aside."""
    with sqlite3.connect(database) as db:
        rows = db.execute("select min(m.median_s) from measurement m join (select task, trace, min(id) from measurement"
                          " group by task) d on m.task = d.task and m.trace != d.trace where m.outcome = 'ok'"
                          " group by m.task").fetchall()
    return 1e3 * sum(row[0] for row in rows) if rows else None


def log_of(folder, verb):
    return folder.parent / f"{folder.name}.{verb}.log"


def make(tenon, verb, arguments, folder, limit_s=None):
    """Peak memory is that of the whole process; its children, if it has any, do not count. Ended after LIMIT_S."""
    if not os.access(tenon, os.X_OK):
        sys.exit(f"there is no program {tenon}; ./dev build release makes it")
    start = time.perf_counter()
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = log_of(folder, verb)
    complaints = log.with_suffix(".err")
    with open(log, "w") as output, open(complaints, "w") as errors:
        process = subprocess.Popen([str(tenon), verb, *arguments], stdout=output, stderr=errors)
        watch = threading.Timer(limit_s or threading.TIMEOUT_MAX, process.kill)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    error = ""
    if process.returncode != 0:
        lines = complaints.read_text().strip().splitlines()
        error = f"tenon {verb} exits {process.returncode}: {lines[-1] if lines else 'no message'}"
        if process.returncode == -signal.SIGKILL and limit_s:
            error = f"tenon {verb} was ended after {limit_s:.0f} s"
    return Made(folder, time.perf_counter() - start, usage.ru_maxrss / 1024, error)
