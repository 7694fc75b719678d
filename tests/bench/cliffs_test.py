#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cliffs_test.py SOURCE: the draws of `./dev bench cliffs` repeat, differ, stay within their bounds and count what an
operator cannot do without; its report counts what is below the limits."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench/cliffs"))

import draws  # noqa: E402
import known  # noqa: E402
import report  # noqa: E402


class Draws(unittest.TestCase):
    def test_the_same_seed_draws_the_same(self):
        names = [case.name for case in draws.draw(3, 60)]
        self.assertEqual(names, [case.name for case in draws.draw(3, 60)])
        self.assertNotEqual(names, [case.name for case in draws.draw(4, 60)])

    def test_every_kind_is_drawn_and_none_twice(self):
        cases = draws.draw(1, 4 * len(draws.KINDS))
        self.assertEqual(len({case.name for case in cases}), len(cases))
        self.assertEqual({case.kind for case in cases}, set(draws.KINDS))
        for case in cases:
            self.assertTrue(draws.fits(case), case.name)
            self.assertGreater(case.bytes(), 0, case.name)

    def test_chosen_kinds_are_some_of_all_cases(self):
        chosen = draws.draw(1, 60, ["transposed"])
        self.assertEqual({node[0] for case in chosen for node in case.nodes}, {"ConvTranspose"})
        self.assertLess({case.name for case in chosen}, {case.name for case in draws.draw(1, 60)})

    def test_known_cases_have_names_of_their_own(self):
        cases = known.cases()
        self.assertEqual(len({case.name for case in cases}), len(cases))
        self.assertEqual({case.kind for case in cases}, {known.KIND})


class Counts(unittest.TestCase):
    def test_taps_on_padding_do_not_count(self):
        # Three taps at five positions, of which the first and the last have one outside.
        self.assertEqual(draws.taps(5, 5, 3, 1, 1, 1), 13)
        # Of taps that are as far apart as the image is wide, the middle one is left.
        self.assertEqual(draws.taps(5, 5, 3, 1, 5, 5), 5)
        case = draws.conv_case("conv", (1, 2, 5, 5), 3, [3, 3], 1, 5, 1)
        self.assertEqual(case.output, (1, 3, 5, 5))
        self.assertEqual(case.flops, 2 * 2 * 3 * 25)

    def test_transposed_convolution_counts_no_zeros(self):
        case = draws.transposed_case(2, 3, 1, 2, 2)
        self.assertEqual(case.output, (1, 1, 6, 6))
        self.assertEqual(case.flops, 2 * 2 * 36)

    def test_bytes_are_of_all_tensors(self):
        self.assertEqual(draws.matmul_case(2, 3, 4).bytes(), 4 * (6 + 12 + 8))


class Report(unittest.TestCase):
    ROWS = [{"name": name, "kind": "a", "error": "", "us": us, "share": share, "ratio": ratio, "schedules": ["plain"]}
            for name, us, share, ratio in (("x", 40, 0.2, 0.5), ("y", 50, 0.3, 1.0), ("z", 10, 0.1, 0.1), ("u", 60, 0.9, 2.0))]

    def test_short_cases_do_not_count(self):
        counted = report.long(self.ROWS, 30)
        self.assertEqual([r["name"] for r in counted], ["x", "y", "u"])
        self.assertEqual(report.counts(counted)[:4], [3, 2, 1, "66.7%"])

    def test_two_runs_are_compared(self):
        faster = [{**r, "us": r["us"] / 2, "share": 2 * r["share"], "ratio": 2 * r["ratio"]} for r in self.ROWS]
        self.assertIn("| all | 3 | 2 -> 0 | 1 -> 0 | 66.7% -> 100.0% | 1.00 -> 2.00 | 2.00 |",
                      report.compared(self.ROWS, faster))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
