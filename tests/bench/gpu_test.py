#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_test.py ROOT: what bench/gpu does without a card: cases, floors, ratios, and a worker that dies or hangs."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / "bench/gpu"), str(ROOT / "bench/contest")]

import bench  # noqa: E402
import cases  # noqa: E402
import measuring  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import tuning  # noqa: E402

CEILINGS = {"matmul_tflops": 50.0, "copy_tb_per_s": 4.0, "launch_us": 0.5}

# Plays worker.py: a contestant `crash` ends it, `hang` stops it, and a case `vgg16` breaks it.
WORKER = """
import json, sys, time
job = json.load(open(sys.argv[1]))
tell = lambda **line: print(json.dumps(line), flush=True)
print("a library's banner")
if job["ceilings"]: tell(ceilings={"launch_us": 0.4})
for wanted in job["cases"]:
    case = wanted["case"]
    tell(case=case, stage="load")
    if case == "vgg16": sys.exit(3)
    for label in [*job["peers"], *wanted["artifacts"]]:
        if label in wanted["skip"]: continue
        tell(case=case, stage=label)
        if label == "crash": sys.exit(3)
        if label == "hang": time.sleep(60)
    tell(case=case, result={"absent": wanted["skip"]})
"""


def timing(*rounds):
    return {"best_us": min(rounds), "median_us": sorted(rounds)[len(rounds) // 2], "spread": 0.1,
            "rounds_us": list(rounds)}


def row(**more):
    return {"case": "resnet18", "flops": 3.6e9, "weight_bytes": 44e6, "kernels": 20, **more}


class Cases(unittest.TestCase):
    def test_groups_and_names(self):
        self.assertEqual(cases.choose("all"), list(cases.CASES))
        self.assertEqual(cases.choose("vgg16,networks")[0], "vgg16")
        self.assertEqual(len(cases.choose("standard")), 12)
        self.assertEqual(len(cases.choose("vgg16,networks")), len(cases.NETWORKS))
        with self.assertRaisesRegex(ValueError, "there is no case alexnet"):
            cases.choose("resnet18,alexnet")

    def test_names_can_be_those_of_c_functions(self):
        for name in cases.CASES:
            self.assertTrue(name.isidentifier(), name)

    def test_kernels_are_counted_by_step(self):
        manifest = {"kernels": [{"name": "a", "launches": [{}, {}]}, {"name": "b", "launches": [{}]}],
                    "steps": [{"kernel": 0}, {"kernel": 1}, {"kernel": 0}]}
        self.assertEqual(report.count_kernels(manifest), 5)
        self.assertEqual(report.count_kernels(manifest, 2), 2.5)


class Report(unittest.TestCase):
    def test_floors(self):
        floors = report.floors(row(), CEILINGS)
        self.assertAlmostEqual(floors["arithmetic"], 72)
        self.assertAlmostEqual(floors["weights"], 11)
        self.assertAlmostEqual(floors["kernels"], 10)
        self.assertAlmostEqual(floors["all"], 82)
        self.assertAlmostEqual(report.floors(row(flops=0), {})["all"], 44 / 4.3 + 10)  # an H200's where unknown

    def test_ratios(self):
        timings = {"tenon": timing(100, 200, 205), "untuned": timing(400, 400, 400), "eager": timing(900, 900, 900),
                   "graph": timing(600, 700, 820)}
        made = report.complete(row(timings=timings), CEILINGS)
        self.assertEqual(made["best_peer"], "graph")
        self.assertAlmostEqual(made["ratio"], 3.5)
        self.assertAlmostEqual(made["ratio_of_bests"], 6)
        self.assertEqual(made["ratio_in_rounds"], [3.5, 6.0])
        self.assertAlmostEqual(made["share"], 0.41)
        self.assertAlmostEqual(made["untuned_share"], 0.5)
        lines, code = report.verdicts([made])
        self.assertEqual(code, 0)
        self.assertIn("resnet18: MISSED: 3.50 times graph, at least 3.8", lines)
        self.assertIn("resnet18: MISSED: untuned 0.50 of the tuned speed, at least 0.7", lines)
        text = report.table([made, report.complete(row(case="vgg16", error="it fell"), CEILINGS)], ["eager", "graph"])
        self.assertEqual(len(text.splitlines()), 3)
        self.assertIn("3.50..6.00", text)

    def test_what_is_wrong_or_missing_is_said(self):
        wrong = row(differences={"tenon": float("inf"), "graph": 1e-6}, absent={"compile": "no Triton"})
        rows = [report.complete(wrong, {}),
                report.complete(row(case="vgg16", error="it fell"), {})]
        lines, code = report.verdicts(rows)
        self.assertEqual(code, 4)
        self.assertEqual(len([line for line in lines if "WRONG" in line]), 1)
        self.assertIn("resnet18: compile is absent: no Triton", lines)
        self.assertIn("vgg16: FAILED: it fell", lines)
        self.assertEqual(report.verdicts(rows[1:])[1], 1)
        self.assertEqual(report.verdicts([report.complete(row(differences={"tenon": float("nan")}), {})])[1], 4)

    def test_what_tuning_took_is_said(self):
        text = report.show_making([row(make_s={"tenon": 20.0, "untuned": 1.5}, measured=3000), row()])
        self.assertEqual(text, "resnet18: tenon made in 20.0 s, untuned made in 1.5 s, 3000 candidates measured,"
                         " 150 per second")

    def test_the_file_is_json(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "new" / "bench.json"
            report.write_json(file, [row(differences={"tenon": float("inf")})], {"ceilings": CEILINGS})
            document = json.loads(file.read_text(), parse_constant=self.fail)
            self.assertEqual(document["schema"], "tenon.bench.gpu/1")
            self.assertIsNone(document["rows"][0]["differences"]["tenon"])


class Measuring(unittest.TestCase):
    def session(self, folder, artifacts, peers=(), limit_s=20.0, seconds=60.0, peer_s=1e6):
        script = pathlib.Path(folder) / "worker.py"
        script.write_text(WORKER)
        plan = measuring.Plan(pathlib.Path(folder), pathlib.Path(folder) / "work", list(peers), 1, 1.0, limit_s,
                              time.monotonic() + seconds, peer_s, (sys.executable, "-S", str(script)))
        session = measuring.Session(plan, artifacts)
        self.assertEqual(sorted(session.run()), sorted(artifacts))
        return session

    def test_a_contestant_that_ends_the_process_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            session = self.session(folder, {"resnet18": {"tenon": "a"}, "resnet50": {"crash": "b"}, "bert_base": {}})
            self.assertEqual(session.facts, {"ceilings": {"launch_us": 0.4}})
            self.assertEqual(session.rows["resnet18"]["absent"], {})
            self.assertIn("ended with status 3", session.rows["resnet50"]["absent"]["crash"])
            self.assertEqual(session.rows["bert_base"]["absent"], {})

    def test_one_that_hangs_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            session = self.session(folder, {"resnet18": {}}, ["hang"], limit_s=5.0)
            self.assertEqual(session.rows["resnet18"]["absent"], {"hang": "no answer within 5 s"})

    def test_peers_have_a_limit_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            session = self.session(folder, {"resnet18": {"tenon": "a"}}, ["hang"], peer_s=3.0)
            self.assertEqual(session.rows["resnet18"]["absent"], {"hang": "no answer within 3 s"})

    def test_a_case_that_fails_does_not_stop_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            session = self.session(folder, {"vgg16": {}, "resnet18": {}})
            self.assertIn("load: the process ended", session.rows["vgg16"]["error"])
            self.assertNotIn("error", session.rows["resnet18"])

    def test_the_deadline_ends_all(self):
        with tempfile.TemporaryDirectory() as folder:
            session = self.session(folder, {"resnet18": {}, "vgg16": {}}, ["hang"], seconds=1.0)
            self.assertEqual({row["error"] for row in session.rows.values()}, {"there was no time left"})


class Processes(unittest.TestCase):
    def test_names_are_dealt(self):
        self.assertEqual(processes.dealt(["a", "b", "c"], 2), [["a", "c"], ["b"]])
        self.assertEqual(processes.dealt(["a"], 4), [["a"]])
        self.assertEqual(processes.dealt([], 4), [])

    def test_what_does_not_end_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            scripts = [pathlib.Path(folder) / name for name in ("short.py", "long.py")]
            scripts[0].write_text("print('done')")
            scripts[1].write_text("import time; time.sleep(60)")
            log = pathlib.Path(folder) / "logs/log"
            self.assertTrue(processes.Group([[str(scripts[0])]], log).wait(30))
            self.assertEqual(log.read_text(), "done\n")
            group = processes.Group([[str(script)] for script in scripts], log)
            self.assertFalse(group.wait(2))
            self.assertLess(group.took(), 30)


class Program(unittest.TestCase):
    def test_arguments(self):
        arguments = bench.parse_arguments(["--cases", "operators", "--quick", "--peers", "none", "--work", "w"])
        self.assertEqual(arguments.cases, list(cases.OPERATORS))
        self.assertEqual((arguments.peers, arguments.rounds, arguments.json.name), ([], 3, "bench.json"))

    def test_a_folder_of_lock_files(self):
        with tempfile.TemporaryDirectory() as folder:
            lock = pathlib.Path(folder).resolve() / "vgg16.lock"
            lock.touch()
            arguments = bench.parse_arguments(["--lock", folder, "--db", f"{folder}/a.db"])
            self.assertEqual(bench.record_options(arguments, "vgg16")[2:], ["--lock", str(lock)])
            self.assertEqual(bench.record_options(arguments, "resnet18"), ["--db", str(lock.with_name("a.db"))])

    def test_unknown_names_are_errors(self):
        for words in (["--cases", "alexnet"], ["--peers", "tensorflow"]):
            result = subprocess.run([sys.executable, str(ROOT / "bench/gpu/bench.py"), *words],
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 2)
            self.assertIn("there is no", result.stderr)

    def test_a_compilation_has_a_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            slow = pathlib.Path(folder) / "tenon"
            slow.write_text("#!/bin/sh\nexec sleep 60\n")
            slow.chmod(0o755)
            made = tuning.compile_model(slow, "model.onnx", pathlib.Path(folder) / "out", limit_s=1)
            self.assertEqual(made.error, "tenon compile was ended after 1 s")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
