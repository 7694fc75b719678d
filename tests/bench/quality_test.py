#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quality_test.py BENCH QUALITY_PY: a small contest on the pretend device, its document, table and picture."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

BENCH, TABLE = sys.argv[1:3]
ARMS = ("random", "evolution+xgb")
TASKS = ("gmm256", "swin_softmax")
TRIALS = 16


def run_bench(folder, *options, arms=ARMS, trials=TRIALS):
    file = pathlib.Path(folder) / "quality.json"
    command = [BENCH, "--sim", "--arms", ",".join(arms), "--tasks", ",".join(TASKS), "--seeds", "1", "--trials",
               str(trials), "--round", "8", "--population", "32", "--lanes", "1", "--quiet", "--json", str(file)]
    result = subprocess.run([*command, *options], capture_output=True, text=True)
    return result, json.loads(file.read_text()) if file.exists() else None


class Quality(unittest.TestCase):
    def test_a_small_contest(self):
        with tempfile.TemporaryDirectory() as folder:
            result, document = run_bench(folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(document["schema"], "tenon.quality/1")
            self.assertEqual(document["problems"], [])
            self.assertEqual({(r["arm"], r["task"]) for r in document["runs"]}, {(a, t) for a in ARMS for t in TASKS})
            for run in document["runs"]:
                self.check_run(run, document)
            self.check_picture(folder)

    def check_run(self, run, document):
        curve = run["curve_s"]
        self.assertEqual(len(curve), TRIALS + 1, "the start and one entry per trial")
        self.assertEqual(len(run["at_s"]), len(curve))
        known = [s for s in curve if s is not None]
        self.assertEqual(known, sorted(known, reverse=True), "the best so far never gets worse")
        self.assertEqual(run["at_s"], sorted(run["at_s"]))
        best = next(t["best_known_s"] for t in document["tasks"] if t["name"] == run["task"])
        self.assertGreaterEqual(run["final_s"], best)
        self.assertEqual(min(r["final_s"] for r in document["runs"] if r["task"] == run["task"]), best)

    def check_picture(self, folder):
        svg = pathlib.Path(folder) / "quality.svg"
        result = subprocess.run([sys.executable, TABLE, str(svg.with_suffix(".json")), "--svg", str(svg)],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in (*ARMS, "known (1 tasks)", "held-out (1 tasks)", "all (2 tasks)"):
            self.assertIn(word, result.stdout)
        lines = xml.dom.minidom.parse(str(svg)).getElementsByTagName("polyline")
        self.assertEqual(len(lines), 2 * 2 * len(ARMS))

    def test_it_is_the_same_every_time(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = (run_bench(folder, trials=8)[1]["runs"] for _ in range(2))
            order = lambda r: (r["arm"], r["task"])
            for a, b in zip(sorted(first, key=order), sorted(second, key=order)):
                self.assertEqual(a, b)

    def test_arms_that_are_not_there_are_said(self):
        with tempfile.TemporaryDirectory() as folder:
            _, document = run_bench(folder, arms=("random", "evolution+xgb+history"), trials=2)
            self.assertEqual([m["arm"] for m in document["missing"]], ["evolution+xgb+history"])
            self.assertIn("--history", document["missing"][0]["why"])

    def test_a_deadline_leaves_what_is_complete(self):
        with tempfile.TemporaryDirectory() as folder:
            result, document = run_bench(folder, "--deadline", "0.001", trials=8)
            self.assertEqual(result.returncode, 5, "nothing was measured")
            searches = document["searches"]
            self.assertEqual(len(document["runs"]), 0)
            self.assertEqual(searches["cut"] + searches["unbegun"], searches["asked"])

    def test_an_unknown_arm_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            result, _ = run_bench(folder, arms=("guess",))
            self.assertEqual(result.returncode, 2)
            self.assertIn("there is no arm guess", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
