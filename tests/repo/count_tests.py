# SPDX-License-Identifier: Apache-2.0
"""count_tests.py RESULTS: prints "PASSED FAILED SKIPPED" for one run of ctest.

RESULTS/ctest.xml names the tests that ran. A gtest binary or pytest also leaves RESULTS/NAME.xml, and then its
cases are counted; a test without that file (a script, or a binary that crashed) counts as one.
"""
import pathlib
import sys
import xml.etree.ElementTree as xml


def count_cases(path):
    suites = xml.parse(path).getroot()
    cases = list(suites.iter("testcase"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.get("result") in ("skipped", "suppressed") or case.find("skipped") is not None
                  for case in cases)
    return len(cases) - failed - skipped, failed, skipped


def count_entry(entry, results):
    cases = results / (entry.get("name") + ".xml")
    ok = entry.get("status") == "run"
    if cases.exists():
        passed, failed, skipped = count_cases(cases)
        # A binary can fail although its cases passed, for example when a sanitizer finds a leak.
        return passed, failed if ok or failed else 1, skipped
    return (1, 0, 0) if ok else (0, 1, 0)


def count_run(results):
    entries = xml.parse(results / "ctest.xml").getroot().iter("testcase")
    rows = [count_entry(entry, results) for entry in entries]
    return tuple(sum(column) for column in zip(*rows)) if rows else (0, 0, 0)


if __name__ == "__main__":
    counts = count_run(pathlib.Path(sys.argv[1]))
    print(*counts)
    sys.exit(0 if any(counts) else 1)
