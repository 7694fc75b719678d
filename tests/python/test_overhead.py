# SPDX-License-Identifier: Apache-2.0
"""A call from Python costs little more than one from C."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "python"))
import call  # noqa: E402

MOST_NS = 3000


def test_a_call_costs_at_most_three_microseconds_more():
    ns = call.measure()
    assert 0 < ns["c"] < ns["run_into"]
    assert ns["call"] - ns["c"] < MOST_NS
