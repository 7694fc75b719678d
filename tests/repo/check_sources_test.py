# SPDX-License-Identifier: Apache-2.0
"""Each rule of check_sources.py, on a small tree that is right and then broken in one place."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_sources import check_tree  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
GOOD = {
    "layers.txt": "# a table\nlow  : -\nhigh : low\nbackend: low\nschedule: low\n",
    "src/low/CMakeLists.txt": "file(GLOB rows rows/*.cpp)\ntenon_module(low SOURCES low.cpp ${rows})\n",
    "src/low/rows/row.cpp": SPDX,
    "src/low/README.md": "low\n",
    "src/low/low.h": SPDX,
    "src/low/low.cpp": SPDX + '#include "low/low.h"\n#include <vector>\n',
    "src/high/CMakeLists.txt": "tenon_module(high SOURCES high.cpp parts/part.cpp DEPS low LIBS m)\n",
    "src/high/README.md": "high\n",
    "src/high/high.h": SPDX,
    "src/high/high.cpp": SPDX + '#include "low/low.h"\n',
    "src/high/parts/part.cpp": SPDX,
    "src/backend/llvm/emit.h": SPDX + "#include <llvm/IR/Module.h>\n",
    "src/schedule/primitives.def": SPDX + "TENON_PRIMITIVE(split, Split, 1)\n",
    "src/schedule/primitives/split.cpp": SPDX,
    "src/schedule/step.h": SPDX + '#include "schedule/all_primitives.h"\n',
    "tests/low/low_test.cpp": SPDX + '#include "high/high.h"\n#include "low/low.h"\n',
    "tests/low/CMakeLists.txt": "tenon_test(low SOURCES low_test.cpp DEPS low)\n",
}
# (what is written over the good tree, what the one fault must say)
BROKEN = [
    ({"src/low/low.cpp": SPDX + '#include "high/high.h"\n'}, "low may not include high/high.h"),
    ({"src/low/low.h": SPDX + '#  include "high/high.h"\n'}, "low may not include high/high.h"),
    ({"src/backend/b.h": SPDX + '#include "high/high.h"\n'}, "backend may not include"),
    ({"src/high/high.h": SPDX + '#include "llvm/IR/Module.h"\n'}, "only src/backend/llvm/ and src/backend/nvptx/ may"),
    ({"tests/low/low_test.cpp": SPDX + "#include <llvm-c/Core.h>\n"}, "only src/backend/llvm/ and src/backend/nvptx/ may"),
    ({"src/low/low.h": SPDX + "\n" * 1000}, "1001 lines"),
    ({"src/low/low.h": "int x;\n"}, "SPDX"),
    ({"src/low/other.cpp": SPDX}, "src/low/other.cpp: not in src/low/CMakeLists.txt"),
    ({"src/low/CMakeLists.txt": "# low.cpp\ntenon_module(low SOURCES rows/row.cpp)\n"}, "src/low/low.cpp: not in"),
    ({"src/high/parts/more.cpp": SPDX}, "src/high/parts/more.cpp: not in src/high/CMakeLists.txt"),
    ({"src/low/rows/row.c": SPDX}, "src/low/rows/row.c: not in src/low/CMakeLists.txt"),
    ({"tests/low/more_test.cpp": SPDX}, "more_test.cpp: not in"),
    ({"src/schedule/primitives/fuse.cpp": SPDX}, "fuse.cpp: not a row of src/schedule/primitives.def"),
    ({"src/low/low.cpp": SPDX + '#include "low/lost.h"\n'}, "no such file: low/lost.h"),
    ({"src/low/CMakeLists.txt": "tenon_module(low SOURCES low.cpp rows/row.cpp DEPS high)\n"}, "may not link high"),
    ({"src/fresh/fresh.h": SPDX}, "src/fresh: not in layers.txt"),
    ({"src/low/README.md": None}, "src/low: no README.md"),
    ({"bench/a.py": "x = 1\n<" + "<<<<<< HEAD\n"}, "bench/a.py: marks of a merge"),
    ({"layers.txt": "high: low\nlow: -\nbackend: low\nschedule: low\n"}, "high names low, which is not above it"),
]


def check_files(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            if text is not None:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return check_tree(root)


class CheckSources(unittest.TestCase):
    def test_good_tree_has_no_fault(self):
        self.assertEqual(check_files(GOOD), [])

    def test_each_fault_is_found_alone(self):
        for change, expected in BROKEN:
            with self.subTest(expected=expected):
                faults = check_files({**GOOD, **change})
                self.assertEqual(len(faults), 1, faults)
                self.assertIn(expected, faults[0])

    def test_a_long_table_is_allowed(self):
        self.assertEqual(check_files({**GOOD, "src/low/rows.def": SPDX + "\n" * 2000}), [])


unittest.main()
