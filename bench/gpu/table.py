# SPDX-License-Identifier: Apache-2.0
"""table.py --tenon FOLDER --seconds N --out DIR: tunes the cases of this benchmark on the card at hand, each for its
share of the time, and leaves what a table of good programs is made of.

    DIR/records.jsonl.xz   all records, for `tenon db import`
    DIR/programs.txt       the best programs of each task, as share/tenon/programs has them, of networks that became
                           faster as a whole
    DIR/summary.json       for each case: candidates a second, what the time went into, tuned over untuned, which
                           structures won; written after each case
    DIR/log.txt            what tenon said

What was recorded for one case serves the next. `--records FILE` begins with records of an earlier run. Exits 1 if a
case could not be tuned.
"""
import argparse
import collections
import json
import lzma
import pathlib
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import bench  # noqa: E402
import cases  # noqa: E402

# Shares of the time. Operators that networks have too begin with what those found.
SHARES = {"resnet50": 2.0, "bert_base": 1.5, "efficientnet_b0": 1.5, "mobilenet_v2": 1.5, "resnet18": 1.0, "vgg16": 1.0}
OPERATOR_SHARE = 0.3
STANDARD = ("resnet18,resnet50,mobilenet_v2,efficientnet_b0,vgg16,bert_base,conv3x3_64_56,conv3x3_128_28,conv3x3_256_14,"
            "conv3x3_512_7,matmul_4096,matmul_128x768x768,matmul_128x768x3072,matmul_128x3072x768")
BEYOND = 1.15   # what `tenon tune` takes over its budget, at most
EXPORT_S = 20   # for writing what was found
LIMIT_S = 60    # beyond a budget: then it hangs
MOST_ROWS = 3   # programs of a task in the table


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, required=True, help="program, or the folder of the portable one")
    parser.add_argument("--seconds", type=float, default=540, help="for all of it (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--cases", default=STANDARD, help="names, or networks, operators, all")
    parser.add_argument("--target", default="cuda", help="default: %(default)s, the card at hand")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build/gpu/models",
                        help="where the ONNX files are, or are made if they are not (default: %(default)s)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/gpu/table",
                        help="database, artifacts (default: %(default)s)")
    parser.add_argument("--records", type=pathlib.Path, help="of an earlier run: records.jsonl.xz, or a database")
    parser.add_argument("--option", action="append", default=[], help="for `tenon tune`; may be repeated")
    arguments = parser.parse_args(words)
    try:
        arguments.cases = cases.choose(arguments.cases)
    except ValueError as error:
        parser.error(str(error))
    if (arguments.tenon / "bin/tenon").exists():
        arguments.tenon = arguments.tenon / "bin/tenon"
    for name in ("tenon", "models", "work", "out"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    arguments.end = time.monotonic() + arguments.seconds
    arguments.limit = arguments.seconds  # for bench.make_models
    return arguments


class Run:
    def __init__(self, arguments):
        self.arguments = arguments
        self.database = arguments.work / "table.db"
        self.summary = {"cases": {}}
        arguments.work.mkdir(parents=True, exist_ok=True)
        arguments.out.mkdir(parents=True, exist_ok=True)
        self.log = open(arguments.out / "log.txt", "a")

    def left(self):
        return self.arguments.end - time.monotonic()

    def tenon(self, *words, limit=None):
        """(exit status, what it printed); its complaints go to the log."""
        words = [str(word) for word in words]
        self.log.write(f"$ tenon {' '.join(words)}\n")
        self.log.flush()
        try:
            done = subprocess.run([str(self.arguments.tenon), *words], stdout=subprocess.PIPE, stderr=self.log,
                                  text=True, timeout=limit)
            return done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            return -1, ""

    def begin(self):
        if self.arguments.records:
            file = self.arguments.records
            if file.suffix == ".xz":
                file = self.arguments.work / "earlier.jsonl"
                file.write_bytes(lzma.decompress(self.arguments.records.read_bytes()))
            self.tenon("db", "import", file, "--db", self.database)
        self.summary["doctor"] = self.tenon("doctor")[1].splitlines()
        self.summary["version"] = self.tenon("version")[1].strip()

    def tune(self, name, seconds):
        began = time.monotonic()
        status, text = self.tenon(
            "tune", self.arguments.models / f"{name}.onnx", "--target", self.arguments.target, "--budget",
            f"{seconds:.0f}s", "--db", self.database, "-o", self.arguments.work / "artifacts" / name, "--json",
            *self.arguments.option, limit=seconds + LIMIT_S)
        took = time.monotonic() - began
        self.summary["cases"][name] = self.facts(status, text, took)
        self.write()
        facts = self.summary["cases"][name]
        print(f"{name:24} {took:6.1f} s  {facts.get('measured', 0):6} measured  "
              f"{facts.get('per_s', 0):6.1f} a second  {facts.get('ratio', 0):.3f} times the untuned"
              f"{'  FAILED' if status else ''}", flush=True)

    def facts(self, status, text, took):
        try:
            told = json.loads(text)
        except ValueError:
            return {"status": status, "took_s": took}
        model = told["models"][0] if told["models"] else {}
        return {"status": status, "took_s": took, "spent_s": told["spent_s"], "measured": told["measured"],
                "failed": told["failed"], "per_s": told["measured"] / max(told["spent_s"], 1e-3),
                "seconds": told["seconds"], "kept": model.get("kept"), "default_ms": model.get("default_ms"),
                "tuned_ms": model.get("tuned_ms"), "ratio": model.get("ratio") or 0,
                "tasks": [{**task, "structure": self.winner(task["key"])} for task in told["tasks"]]}

    def winner(self, task):
        """Where the fastest verified program of a task comes from: template, sketch, default (no choices are known)."""
        with sqlite3.connect(self.database) as db:
            row = db.execute("select choices from measurement where task = ? and outcome = 'ok' and verified = 1 "
                             "order by median_s limit 1", (task,)).fetchone()
        if row is None or not row[0]:
            return "default"
        structure = next((choice[3] for choice in json.loads(row[0]) if choice[0] == "structure"), 0)
        return "sketch" if structure else "template"

    def write(self):
        every = [task for facts in self.summary["cases"].values() for task in facts.get("tasks", ())]
        self.summary["structures"] = dict(collections.Counter(task["structure"] for task in every))
        (self.arguments.out / "summary.json").write_text(json.dumps(self.summary, indent=1))

    def export(self):
        file = self.arguments.work / "records.jsonl"
        self.tenon("db", "export", file, "--db", self.database)
        if file.exists():
            (self.arguments.out / "records.jsonl.xz").write_bytes(lzma.compress(file.read_bytes(), preset=1))
        self.tenon("db", "programs", "--db", self.of_faster_networks(), "--best", MOST_ROWS, "--target",
                   self.arguments.target, "-o", self.arguments.out / "programs.txt")

    def of_faster_networks(self):
        """A database of the tasks of what was found to be faster as a whole: a kernel that wins alone may lose among
        others."""
        kept = {task["key"] for facts in self.summary["cases"].values() if facts.get("kept") == "tuned"
                for task in facts["tasks"]}
        file = self.arguments.work / "kept.db"
        file.unlink(missing_ok=True)
        with sqlite3.connect(self.database) as db, sqlite3.connect(file) as copy:
            db.backup(copy)
            for (key,) in copy.execute("select distinct task from measurement").fetchall():
                if key not in kept:
                    copy.execute("delete from measurement where task = ?", (key,))
        return file


def share_of(name):
    return SHARES.get(name, OPERATOR_SHARE)


def main():
    arguments = parse_arguments()
    run = Run(arguments)
    if bench.make_models(arguments, arguments.models):
        print("not all models could be written", file=sys.stderr)
    names = [name for name in arguments.cases if (arguments.models / f"{name}.onnx").exists()]
    run.begin()
    for i, name in enumerate(names):
        shares = sum(share_of(other) for other in names[i:])
        seconds = (run.left() - EXPORT_S) / BEYOND * share_of(name) / shares
        if seconds < 3:
            break
        run.tune(name, seconds)
    run.export()
    run.write()
    good = [facts for facts in run.summary["cases"].values() if facts["status"] == 0]
    return 0 if len(good) == len(arguments.cases) else 1


if __name__ == "__main__":
    sys.exit(main())
