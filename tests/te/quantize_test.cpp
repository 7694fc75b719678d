// SPDX-License-Identifier: Apache-2.0
// Tables of functions of 8-bit integers.
#include "te/quantize.h"

#include <gtest/gtest.h>

#include "te/text.h"

namespace tenon::te {
namespace {

ComputeDag square_dag(ir::DType x) {
  Builder b;
  const Tensor in = b.input("x", x, {3, 5});
  b.output(look_up(b, "y", in, b.constant("table", ir::kI16, {kTableEntries})));
  return b.finish();
}

// The first entry is that of the lowest integer.
TEST(LookUp, CountsFromTheLowestInteger) {
  for (const ir::DType t : {ir::kU8, ir::kI8}) {
    const ComputeDag dag = square_dag(t);
    ir::Array x(t, {3, 5});
    for (int64_t i = 0; i < x.elements(); ++i) x.set(i, {ir::wrap_int(t, 83 * i - 128), 0});
    ir::Array table(ir::kI16, {kTableEntries});
    for (int64_t i = 0; i < kTableEntries; ++i) {
      const int64_t v = ir::lowest_int(t) + i;
      table.set(i, {ir::wrap_int(ir::kI16, v * v), 0});
    }
    const ir::Array y = evaluate(dag, {x, table})[0];
    for (int64_t i = 0; i < x.elements(); ++i) {
      EXPECT_EQ(y.get(i).i, ir::wrap_int(ir::kI16, x.get(i).i * x.get(i).i)) << x.get(i).i;
    }
    EXPECT_EQ(parse(to_text(dag)).structural_hash(), dag.structural_hash());
  }
}

TEST(LookUp, IsToldFromOtherReads) {
  const auto reads_table = [](const ComputeDag& dag) {
    return is_look_up(*dag.ops[0]->body.as<ir::Load>());
  };
  EXPECT_TRUE(reads_table(square_dag(ir::kU8)));
  EXPECT_TRUE(reads_table(square_dag(ir::kI8)));
  const std::pair<const char*, const char*> others[] = {
      {"256", "i64(x[i]) // 2"}, {"264", "i64(x[i]) + i"}, {"300", "i64(x[i])"}};
  for (const auto& [entries, index] : others) {
    const ComputeDag dag = parse(std::string("input x: u8[9]\nconst t: u8[") + entries +
                                 "]\ny[i: 9] = t[" + index + "]\noutput y\n");
    EXPECT_FALSE(reads_table(dag)) << index;
  }
  const ComputeDag plain = parse("const t: u8[256]\ny[i: 256] = t[i]\noutput y\n");
  EXPECT_FALSE(reads_table(plain));
}

TEST(LookUp, RefusesOtherIntegersAndTables) {
  Builder b;
  const Tensor wide = b.input("wide", ir::kI16, {4});
  const Tensor x = b.input("x", ir::kU8, {4});
  const Tensor table = b.constant("table", ir::kU8, {kTableEntries});
  const Tensor small = b.constant("small", ir::kU8, {128});
  EXPECT_THROW(look_up(b, "y", wide, table), UserError);
  EXPECT_THROW(look_up(b, "y", x, small), UserError);
}

}  // namespace
}  // namespace tenon::te
