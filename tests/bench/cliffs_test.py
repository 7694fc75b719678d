#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cliffs_test.py SOURCE: the draws of `./dev bench cliffs` repeat, differ and stay within their bounds."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench/cliffs"))

import draws  # noqa: E402


class Draws(unittest.TestCase):
    def test_the_same_seed_draws_the_same(self):
        names = [case.name for case in draws.draw(3, 60)]
        self.assertEqual(names, [case.name for case in draws.draw(3, 60)])
        self.assertNotEqual(names, [case.name for case in draws.draw(4, 60)])

    def test_every_kind_is_drawn_and_none_twice(self):
        cases = draws.draw(1, 4 * len(draws.KINDS))
        self.assertEqual(len({case.name for case in cases}), len(cases))
        for case in cases:
            self.assertTrue(draws.fits(case), case.name)
            self.assertGreater(case.flops, 0, case.name)
        kinds = {node[0] for case in cases for node in case.nodes}
        self.assertLessEqual({"Conv", "ConvTranspose", "MatMul", "Resize"}, kinds)

    def test_kinds_can_be_chosen(self):
        self.assertEqual({node[0] for case in draws.draw(1, 10, ["transposed"]) for node in case.nodes}, {"ConvTranspose"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
