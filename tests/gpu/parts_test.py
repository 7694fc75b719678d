#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What run.py makes of what it is told: reports of compute-sanitizer, parts that fail or take too long."""
import pathlib
import sys
import tempfile
import unittest

import machine as machines
import parts
import run


def pretended(folder):
    (folder / "bin").mkdir()
    (folder / "bin/tenon").touch()
    return machines.Machine(folder, folder, "cuda simt", True)


class Reports(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(parts.reported("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"), "")
        self.assertEqual(parts.reported("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"), "")

    def test_errors(self):
        text = ("========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 bytes\n"
                "========= ERROR SUMMARY: 12 errors\n")
        self.assertEqual(parts.reported(text), "ERROR SUMMARY: 12 errors: Invalid __global__ write of size 4 bytes")
        self.assertIn("10 errors", parts.reported("========= ERROR SUMMARY: 10 errors\n"))

    def test_a_tool_that_does_not_start(self):
        self.assertIn("there is no summary", parts.reported("========= Error: No attachable process found\n"))
        self.assertIn("there is no summary", parts.reported("Segmentation fault"))


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.machine = pretended(pathlib.Path(self.folder.name))

    def tearDown(self):
        self.folder.cleanup()

    def result(self, part, limit_s=5, end=float("inf")):
        parts.PARTS["pretended"] = (part, limit_s)
        try:
            return run.run_part(self.machine, "pretended", limit_s, end)
        finally:
            del parts.PARTS["pretended"]

    def test_statuses(self):
        self.assertEqual(self.result(lambda m: ([], {"cases": 3}))["status"], "right")
        self.assertEqual(self.result(lambda m: (["one"], {}))["status"], "wrong")
        self.assertEqual(self.result(lambda m: 1 / 0)["problems"], ["ZeroDivisionError: division by zero"])
        self.assertEqual(self.result(lambda m: m.needed("check"))["status"], "absent")
        self.assertEqual(self.result(lambda m: ([], {}), end=0)["status"], "absent")

    def test_what_takes_too_long_is_ended_with_what_it_started(self):
        result = self.result(lambda m: m.run([pathlib.Path("/bin/sh"), "-c", "sleep 60 & wait"]), 0.5)
        self.assertEqual(result["status"], "wrong")
        self.assertIn("took longer than 1 s", result["problems"][0])
        self.assertLess(result["seconds"], 30)

    def test_a_report_has_a_line_for_each_problem(self):
        text = run.lines_of({"part": "x", "status": "wrong", "seconds": 1, "problems": ["a"] * 12, "cases": 7})
        self.assertIn("cases 7", text)
        self.assertIn("and 2 more", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
