#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dynamic_test.py SOURCE: the sizes of `./dev bench dynamic` repeat and stay within their ranges; what it sums up is right."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench/dynamic"))

import sizes  # noqa: E402


class Draws(unittest.TestCase):
    ranges = {"batch": (1, 8), "seq": (1, 512)}

    def test_the_same_seed_draws_the_same(self):
        self.assertEqual(sizes.draw(self.ranges, 20, 3), sizes.draw(self.ranges, 20, 3))
        self.assertNotEqual(sizes.draw(self.ranges, 20, 3), sizes.draw(self.ranges, 20, 4))

    def test_none_is_drawn_twice_or_outside(self):
        drawn = sizes.draw(self.ranges, 300, 1)
        self.assertEqual(len({tuple(size.values()) for size in drawn}), 300)
        for size in drawn:
            for name, (least, most) in self.ranges.items():
                self.assertTrue(least <= size[name] <= most)

    def test_no_more_than_there_are(self):
        self.assertEqual(sorted(size["batch"] for size in sizes.draw({"batch": (1, 8)}, 20, 1)), list(range(1, 9)))


class Summaries(unittest.TestCase):
    def test_means_and_the_worst(self):
        rows = [{"sizes": {"batch": 1}, "dynamic": 2.0, "exact": 1.0, "onnxruntime": 8.0},
                {"sizes": {"batch": 2}, "dynamic": 1.0, "exact": 2.0, "onnxruntime": 1.0}]
        s = sizes.summary(rows)
        self.assertAlmostEqual(s["exact"]["mean"], 1.0)
        self.assertEqual((s["exact"]["worst"], s["exact"]["at"]), (0.5, {"batch": 1}))
        self.assertAlmostEqual(s["onnxruntime"]["mean"], 2.0)

    def test_who_is_absent_is_left_out(self):
        self.assertNotIn("onnxruntime", sizes.summary([{"sizes": {"batch": 1}, "dynamic": 2.0, "exact": 1.0}]))

    def test_sizes_as_the_command_line_takes_them(self):
        self.assertEqual(sizes.dims_text({"batch": (1, 8), "seq": 12}), "batch=1..8,seq=12")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
