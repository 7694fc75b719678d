# SPDX-License-Identifier: Apache-2.0
"""Which files cmake/batches.py puts together, and what it renames for that."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import batches


def private(*lines):
    return "namespace tenon {\nnamespace {\n" + "\n".join(lines) + "\n}  // namespace\n}  // namespace tenon\n"


class BatchesTest(unittest.TestCase):
    def batches(self, *texts, seen=()):
        """Each batch as {file: names that are renamed}; files are a, b .. in the order of the texts."""
        made = batches.make_batches(dict(zip("abc", texts)), lambda file, text: set(seen))
        return [{file: names for file, (_, names) in batch.items()} for batch in made]

    def expect_apart(self, one, other, seen=()):
        self.assertEqual(self.batches(one, other, seen=seen), [{"a": set()}, {"b": set()}])

    def expect_together(self, one, other, a=(), b=(), seen=()):
        self.assertEqual(self.batches(one, other, seen=seen), [{"a": set(a), "b": set(b)}])

    def test_private_functions_of_one_name_are_renamed(self):
        self.expect_together(private("int half(int x) {", "}"), private("int half(Shape s) {", "}"), {"half"}, {"half"})
        self.expect_together(private("std::vector<A> f(A a,", "      B b) {", "}"), private("int f() {", "}"), {"f"}, {"f"})
        self.expect_together(private("std::function<void(int)> f(A a) {", "}"), private("int f() {", "}"), {"f"}, {"f"})

    def test_a_private_function_does_not_hide_a_public_one(self):
        self.expect_together(private("int half(int x) {", "}"), "int g() {\n  return half(3);\n}\n", {"half"})
        self.expect_together(private("int half(int x) {", "}"), "int g() {\n  return a.half(3) + b::half;\n}\n")

    def test_types_and_variables_are_renamed(self):
        self.expect_together(private("struct Row {", "};"), private("class Row {", "};"), {"Row"}, {"Row"})
        self.expect_together(private("constexpr Row kRows[] = {", "};"), private("constexpr int kRows = 3;"),
                             {"kRows"}, {"kRows"})
        self.expect_together(private("using Shape = A;"), private("using Shape = B;"), {"Shape"}, {"Shape"})

    def test_the_same_alias_twice_is_no_clash(self):
        self.expect_together(private("namespace fs = std::filesystem;"), private("namespace fs = std::filesystem;"))
        self.expect_together(private("using Json = nlohmann::json;"), private("using Json = nlohmann::json;"))

    def test_a_name_that_may_mean_something_else_too_is_kept(self):
        other = "int g() {\n  return half(3);\n}\n"
        self.expect_apart(private("int half(A x) {", "  return x.half();", "}"), other)
        self.expect_apart(private("int half(A x) {", "  return other::half(x);", "}"), other)
        self.expect_apart(private("int half(A x) {", "}") + "int half(B x) {\n}\n", other)
        self.expect_apart(private("int half(A x) {", "}"), other, seen={"half"})
        self.expect_apart("int x;\n#include \"late.h\"\n" + private("int half(A x) {", "}"), other)
        self.expect_apart(private("struct Row : testing::Test {", "};", "TEST_F(Row, Is) {", "}"), "Row r;\n")

    def test_one_that_can_be_renamed_is_enough(self):
        self.expect_together(private("int half(A x) {", "  return x.half();", "}"), private("int half(B x) {", "}"),
                             b={"half"})

    def test_private_overloads_of_a_public_function_may_stand_together(self):
        text = [private(f"int half({t} x) {{", "}}") for t in ("const A&", "const m::B&", "int64_t", "const Json&")]
        self.expect_together(text[0], text[1], seen={"half"})
        for other in text[2:]:
            self.expect_apart(text[0], other, seen={"half"})

    def test_a_constant_of_a_function_hides_none_of_another_file(self):
        local = "int f() {\n  constexpr int64_t kMost = 3;\n}\n"
        self.expect_together(local, local.replace("f()", "g()"))
        self.expect_together(local, private("constexpr int64_t kMost = 3;"), b={"kMost"})

    def test_static_functions_and_macros_count_as_private(self):
        self.expect_together("static int f(int x) {\n}\n", private("int f(int y) {", "}"), {"f"}, {"f"})
        self.expect_together("#define LIMIT 3\n", "#define LIMIT 4\n", {"LIMIT"}, {"LIMIT"})

    def test_what_is_not_private_is_not_compared(self):
        self.expect_together("int half(int x) {\n}\n", "int g(int x) {\n  return half(x);\n}\n")
        self.expect_together(private("int half(int x) {", "}"), "// half(3)\nint g() {\n}\n")
        self.expect_together(private("int f() {", "  int local = 1;", "}"), private("int g() {", "  int local = 2;", "}"))

    def test_a_batch_is_not_too_long(self):
        text = "\n" * (batches.MAX_LINES // 2)
        self.assertEqual([list(batch) for batch in self.batches(text, text, text)], [["a", "b"], ["c"]])

    def test_headers_come_before_names_that_are_renamed(self):
        folder = pathlib.Path("/build/batches")
        texts = {pathlib.Path("/src/m/a.cpp"): "#include <map>\n" + private("int half(int x) {", "}"),
                 pathlib.Path("/src/m/b.cpp"): "#include \"m/b.h\"\n#define LIMIT 1\nint y = half(LIMIT);\n",
                 pathlib.Path("/src/m/c.cpp"): "int z = LIMIT;\n"}
        (batch,) = batches.make_batches(texts)
        self.assertEqual(batches.batch_text(folder, batch).splitlines(), [
            "#include <map>", '#include "m/b.h"',
            "#define half half_of_m_a_cpp", '#include "../../src/m/a.cpp"', "#undef half",
            '#include "../../src/m/b.cpp"', "#undef LIMIT", '#include "../../src/m/c.cpp"'])


if __name__ == "__main__":
    unittest.main()
