# SPDX-License-Identifier: Apache-2.0
"""count_tests.py on result files as ctest, gtest and pytest write them."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from count_tests import count_run  # noqa: E402

CASES = """<testsuites><testsuite name="S">
<testcase name="a" status="run" result="completed"/>
<testcase name="b" status="run" result="skipped"><skipped/></testcase>{more}
</testsuite></testsuites>"""
FAILURE = '<testcase name="c" result="completed"><failure message="m"/><failure message="n"/></testcase>'

PYTEST = """<testsuites><testsuite name="pytest"><testcase name="a"/><testcase name="b"><skipped/></testcase>
<testcase name="c"><failure/></testcase><testcase name="d"><error/></testcase></testsuite></testsuites>"""


def count(entries, **files):
    """entries: {name: ctest status}; files: {name: gtest xml}."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder)
        lines = "".join(f'<testcase name="{n}" status="{s}"/>' for n, s in entries.items())
        (results / "ctest.xml").write_text(f"<testsuite>{lines}</testsuite>")
        for name, text in files.items():
            (results / f"{name}.xml").write_text(text)
        return count_run(results)


class CountTests(unittest.TestCase):
    def test_table(self):
        rows = [
            ({}, {}, (0, 0, 0)),
            ({"script": "run", "broken": "fail"}, {}, (1, 1, 0)),
            ({"x": "run"}, {"x": CASES.format(more="")}, (1, 0, 1)),
            ({"x": "fail"}, {"x": CASES.format(more=FAILURE)}, (1, 1, 1)),
            ({"x": "fail"}, {"x": PYTEST}, (1, 2, 1)),
            # Every case passed and the binary still failed: a leak, or a crash on the way out.
            ({"x": "fail"}, {"x": CASES.format(more="")}, (1, 1, 1)),
        ]
        for entries, files, expected in rows:
            with self.subTest(entries=entries):
                self.assertEqual(count(entries, **files), expected)


unittest.main()
