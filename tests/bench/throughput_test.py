#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""throughput_test.py SOURCE: what `./dev bench throughput` tries and sums up, and how it counts callers that run at once."""
import pathlib
import sys
import time
import unittest

for folder in ("bench/throughput", "bench/contest"):
    sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / folder))

import streams  # noqa: E402
import summary  # noqa: E402


class Settings(unittest.TestCase):
    def test_they_fill_the_cores(self):
        self.assertEqual(summary.settings(1), ["1x1"])
        self.assertEqual(summary.settings(2), ["2x1", "1x2"])
        self.assertEqual(summary.settings(6), ["6x1", "3x2", "1x4", "1x6"])

    def test_the_better_peer_in_its_best_setting_counts(self):
        rates = {"tenon:2x1": 90.0, "tenon:1x2": 60.0, "onnxruntime:2x1": 30.0, "onnxruntime:1x2": 45.0, "openvino:hint": 40.0}
        self.assertEqual(summary.best_by_name(rates)["onnxruntime"], ("1x2", 45.0))
        self.assertAlmostEqual(summary.gain(rates), 2.0)

    def test_nobody_gains_alone(self):
        self.assertIsNone(summary.gain({"tenon:2x1": 90.0}))
        self.assertIsNone(summary.gain({"openvino:hint": 90.0}))


class Streams(unittest.TestCase):
    def test_callers_run_at_once(self):
        # Each sleeps 20 ms, so two of them are done with one every 10 ms.
        calls = [lambda: time.sleep(0.02)] * 2
        self.assertAlmostEqual(streams.per_inference(calls, 0.3, 1), 0.01, delta=0.003)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
