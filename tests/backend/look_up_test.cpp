// SPDX-License-Identifier: Apache-2.0
// Entries of a table of 256 bytes, for all lengths of vectors: the interpreter's answer, by the processor's own
// instruction where it has one.
#include "backend/look_up_kernel.h"

#include "backend/harness.h"

namespace tenon::backend {
namespace {

target::Target with_tables() {
  target::Target t = target::parse_target("x86-64-v4");
  t.cpu().features = "+avx512vbmi";
  return t;
}

std::string assembly(const ir::Function& f, const target::Target& t) {
  return emit(f, t, Emit::kAssembly).bytes;
}

TEST(LookUp, AsDefinedForAllLanes) {
  Rng rng(20261119);
  for (const ir::DType x : {ir::kU8, ir::kI8}) {
    for (const ir::DType entry : {ir::kU8, ir::kI8}) {
      const ir::Function f =
          look_up_kernel(x, entry, {1, 3, 4, 8, 16, 20, 24, 48, 60, 64, 80, 240});
      const std::vector<ir::Array> args = random_args(f, rng);
      expect_same(f, args);
      if (!target::runs_here(with_tables())) continue;
      std::vector<ir::Array> expected = args;
      ir::interpret(f, expected);
      expect_equal(f, expected, run_kernel(f, *jit(f, with_tables()), args), {});
    }
  }
}

// A vector of 37 entries by 64 lanes, of which the others read and write nothing.
TEST(LookUp, MaskedLanesWriteNothing) {
  const ir::Function f = masked_look_up_kernel(37, 64);
  Rng rng(5);
  const std::vector<ir::Array> args = random_args(f, rng);
  expect_same(f, args);
  if (!target::runs_here(with_tables())) GTEST_SKIP() << "this processor has no such instruction";
  std::vector<ir::Array> expected = args;
  ir::interpret(f, expected);
  expect_equal(f, expected, run_kernel(f, *jit(f, with_tables()), args), {});
}

TEST(LookUp, UsesTheInstruction) {
  const struct {
    target::Target target;
    int lanes;
    const char* instruction;
  } rows[] = {
      {with_tables(), 64, "2b\t%zmm"},  // vpermi2b or vpermt2b
      {with_tables(), 16, "2b\t%zmm"},
      {target::parse_target("x86-64-v4"), 64, "vpshufb\t%zmm"},
      {target::parse_target("x86-64-v3"), 32, "vpshufb\t%ymm"},
      {target::parse_target("x86-64-v2"), 16, "pshufb"},
      {target::parse_target("aarch64"), 16, "tbx"},
  };
  for (const auto& row : rows) {
    const std::string text = assembly(look_up_kernel(ir::kU8, ir::kU8, {row.lanes}), row.target);
    EXPECT_NE(text.find(row.instruction), std::string::npos) << row.instruction << "\n" << text;
  }
}

// Any other table is read lane by lane.
TEST(LookUp, OnlyTablesOfBytes) {
  const std::string text =
      assembly(look_up_kernel(ir::kU8, ir::kI16, {16}), target::parse_target("x86-64-v4"));
  EXPECT_EQ(text.find("pshufb"), std::string::npos) << text;
}

}  // namespace
}  // namespace tenon::backend
