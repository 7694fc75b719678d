# SPDX-License-Identifier: Apache-2.0
"""Which files cmake/batches.py keeps apart."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import batches


def private(*lines):
    return "namespace tenon {\nnamespace {\n" + "\n".join(lines) + "\n}  // namespace\n}  // namespace tenon\n"


class BatchesTest(unittest.TestCase):
    def expect_apart(self, one, other):
        self.assertEqual(batches.make_batches({"a": one, "b": other}), [["a"], ["b"]])

    def expect_together(self, one, other):
        self.assertEqual(batches.make_batches({"a": one, "b": other}), [["a", "b"]])

    def test_private_functions_of_one_name_are_kept_apart(self):
        self.expect_apart(private("int half(int x) {", "}"), private("int half(Shape s) {", "}"))
        self.expect_apart(private("std::vector<A> f(A a,", "      B b) {", "}"), private("int f() {", "}"))

    def test_a_private_function_does_not_hide_a_public_one(self):
        self.expect_apart(private("int half(int x) {", "}"), "int g() {\n  return half(3);\n}\n")
        self.expect_together(private("int half(int x) {", "}"), "int g() {\n  return a.half(3) + b::half;\n}\n")

    def test_types_and_variables_are_kept_apart(self):
        self.expect_apart(private("struct Row {", "};"), private("class Row {", "};"))
        self.expect_apart(private("constexpr Row kRows[] = {", "};"), private("constexpr int kRows = 3;"))
        self.expect_apart(private("const std::string kName = f(1);"), private("int kName(int x) {", "}"))
        self.expect_apart(private("using Shape = A;"), private("using Shape = B;"))

    def test_the_same_alias_twice_is_no_clash(self):
        self.expect_together(private("namespace fs = std::filesystem;"), private("namespace fs = std::filesystem;"))
        self.expect_together(private("using Json = nlohmann::json;"), private("using Json = nlohmann::json;"))

    def test_a_constant_of_a_function_hides_none_of_another_file(self):
        local = "int f() {\n  constexpr int64_t kMost = 3;\n}\n"
        self.expect_together(local, local.replace("f()", "g()"))
        self.expect_apart(local, private("constexpr int64_t kMost = 3;"))

    def test_static_functions_and_macros_count_as_private(self):
        self.expect_apart("static int f(int x) {\n}\n", private("int f(int y) {", "}"))
        self.expect_apart("#define LIMIT 3\n", "#define LIMIT 4\n")

    def test_what_is_not_private_is_not_compared(self):
        self.expect_together("int half(int x) {\n}\n", "int g(int x) {\n  return half(x);\n}\n")
        self.expect_together(private("int half(int x) {", "}"), "// half(3)\nint g() {\n}\n")
        self.expect_together(private("int f() {", "  int local = 1;", "}"), private("int g() {", "  int local = 2;", "}"))

    def test_a_batch_is_not_too_long(self):
        text = "\n" * (batches.MAX_LINES // 2)
        self.assertEqual(batches.make_batches({"a": text, "b": text, "c": text}), [["a", "b"], ["c"]])


if __name__ == "__main__":
    unittest.main()
