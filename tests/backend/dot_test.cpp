// SPDX-License-Identifier: Apache-2.0
// Sums of groups of lanes, and above all group-wise dot products: the interpreter's answer on every target, and the
// processor's own instruction where it has one.
#include "backend/harness.h"
#include "backend/kernels.h"
#include "ir/build.h"

namespace tenon::backend {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;

std::string assembly(const ir::Function& f, const std::string& target) {
  return emit(f, target::parse_target(target), Emit::kAssembly).bytes;
}

TEST(DotTest, AgreesWithTheInterpreter) {
  uint64_t seed = 1;
  for (const DotCase& c : dot_cases()) {
    for (const bool shared : {false, true}) {
      const ir::Function f = dot_kernel(c, shared);
      SCOPED_TRACE(f.name);
      Rng rng(seed++);
      // Integers over their whole range, so that sums wrap; floats exact in any order.
      expect_same(f, c.sum.is_float() ? small_args(f, rng) : random_args(f, rng));
    }
  }
}

// 37 sums by vectors of 16: what the masked lanes would read does not exist.
TEST(DotTest, MaskedLanesReadNothing) {
  for (const DotCase& c : dot_cases()) {
    const ir::Function f = masked_dot_kernel(c);
    SCOPED_TRACE(f.name);
    Rng rng(3);
    expect_same(f, small_args(f, rng, c.a.is_signed() && c.b.is_signed() ? -4 : 0, 4));
  }
}

TEST(DotTest, OtherSumsOfGroups) {
  for (const DType t : {ir::kF32, ir::kI32, ir::kU8, ir::kF64}) {
    for (const BinaryOp op : {BinaryOp::kAdd, BinaryOp::kMul, BinaryOp::kMin, BinaryOp::kMax}) {
      const auto a = ir::Buffer::make("A", t, {60});
      ir::Function f{"groups", {a}, 1, {}};
      std::vector<ir::Stmt> stores;
      for (const int lanes : {2, 3, 5, 10, 20, 30}) {
        const auto out = ir::Buffer::make("out" + std::to_string(lanes), t, {lanes});
        f.params.push_back(out);
        const Expr v = ir::vector_reduce(op, ir::load(a, {ir::ramp(0, 1, 60)}), lanes);
        stores.push_back(ir::store(out, {ir::ramp(0, 1, lanes)}, v));
      }
      f.body = ir::block(stores);
      Rng rng(4);
      expect_same(f, small_args(f, rng, t.is_signed() ? -2 : 0, op == BinaryOp::kMul ? 1 : 2));
    }
  }
}

// How often the instruction stands in one sum of 16 lanes.
int uses(const ir::Function& f, const std::string& target, const std::string& instruction) {
  const std::string text = assembly(f, target);
  int n = 0;
  for (size_t at = text.find(instruction); at != std::string::npos;
       at = text.find(instruction, at + 1)) {
    ++n;
  }
  return n;
}

TEST(DotTest, UsesTheInstruction) {
  const struct {
    DType a, b;
    const char* target;
    const char* instruction;
    int times;
  } rows[] = {
      {ir::kU8, ir::kI8, "x86-64-v4-vnni", "vpdpbusd", 1},
      {ir::kI8, ir::kU8, "x86-64-v4-vnni", "vpdpbusd", 1},
      {ir::kI8, ir::kI8, "x86-64-v4-vnni", "vpdpbusd", 2},
      {ir::kU8, ir::kU8, "x86-64-v4-vnni", "vpdpbusd", 2},
      {ir::kU8, ir::kI8, "x86-64-v4-vnni vector_bytes=32", "vpdpbusd", 2},
      {ir::kU8, ir::kI8, "x86-64-v4", "vpmaddwd", 2},
      {ir::kU8, ir::kI8, "x86-64-v3", "vpmaddwd", 4},
      {ir::kU8, ir::kI8, "x86-64", "pmaddwd", 8},
      {ir::kI16, ir::kI16, "x86-64-v4-vnni", "vpdpwssd", 1},
      {ir::kI16, ir::kI16, "x86-64-v3", "vpmaddwd", 2},
      {ir::kI8, ir::kI8, "aarch64-dotprod", "\tsdot", 4},
      {ir::kU8, ir::kU8, "aarch64-dotprod", "\tudot", 4},
      {ir::kU8, ir::kI8, "aarch64-dotprod", "\tsdot", 8},
      {ir::kU8, ir::kI8, "aarch64", "\tsdot", 0},
      {ir::kBF16, ir::kBF16, "x86-64-v4", "vfmadd", 2},
      {ir::kBF16, ir::kBF16, "x86-64-v4-bf16", "vdpbf16ps", 1},
      {ir::kBF16, ir::kBF16, "x86-64-v4-bf16 vector_bytes=32", "vdpbf16ps", 2},
  };
  for (const auto& row : rows) {
    const DotCase c{row.a, row.b, row.a.is_float() ? ir::kF32 : ir::kI32, row.a.bits == 8 ? 4 : 2};
    const ir::Function f = one_dot_kernel(c, 16);
    EXPECT_EQ(uses(f, row.target, row.instruction), row.times)
        << f.name << " for " << row.target << "\n"
        << assembly(f, row.target);
  }
}

}  // namespace
}  // namespace tenon::backend
