// SPDX-License-Identifier: Apache-2.0
// Shapes that once fell far behind the machine (bench/cliffs/known.py): the schedule that is chosen
// is of the right kind.
#include <gtest/gtest.h>

#include "ir/build.h"
#include "schedule/state.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon::templates {
namespace {

struct Chosen {
  std::string_view family;
  std::string trace;
  bool has(std::string_view line) const { return trace.find(line) != std::string::npos; }
};

Chosen chosen(te::ComputeDag made, const target::Target& target, const Request& request) {
  const auto dag = std::make_shared<const te::ComputeDag>(std::move(made));
  const schedule::State initial(dag, std::make_shared<const target::Target>(target));
  const Choice choice = choose(initial, request);
  return {choice.name, schedule::to_text(choice.trace, initial)};
}

Chosen chosen(te::ComputeDag made, const std::string& target, const Request& request) {
  return chosen(std::move(made), target::parse_target(target), request);
}

Chosen chosen(te::ComputeDag made, const std::string& target = "x86-64-v4 cores=2") {
  return chosen(std::move(made), target, {.borders = false});
}

te::ComputeDag conv_dag(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                        const te::ConvParams& p) {
  te::Builder b;
  const auto in = b.input("X", ir::kF32, x);
  b.output(te::conv(b, "Y", in, b.constant("W", ir::kF32, w), p));
  return b.finish();
}

te::ComputeDag dilated_dag(int64_t channels, int64_t side, int64_t step) {
  return conv_dag({1, channels, side, side}, {channels, channels, 3, 3},
                  {{1, 1}, {step, step}, {step, step}, {step, step}, 1});
}

te::ComputeDag transposed_dag(int64_t channels, int64_t side, int64_t to, int64_t kernel,
                              int64_t stride) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, channels, side, side});
  const auto w = b.constant("W", ir::kF32, {channels, to, kernel, kernel});
  b.output(te::conv_transpose(b, "Y", x, w, {{stride, stride}, {}, {}, {}, 1}));
  return b.finish();
}

TEST(Cliffs, TapsThatLieFarApartAreLeftOutOnPadding) {
  // Undilated images of 2 x 2 would be mostly padding.
  const Chosen far = chosen(dilated_dag(256, 33, 24));
  EXPECT_EQ(far.family, "conv");
  EXPECT_FALSE(far.has("variant"));
  EXPECT_TRUE(far.has("compute_inline Y.pad"));  // nothing is copied
  EXPECT_EQ(chosen(dilated_dag(256, 65, 36)).family, "conv");
  // Where few taps are lost, Winograd's algorithm still pays.
  EXPECT_TRUE(chosen(dilated_dag(64, 56, 2)).has("variant Y phases"));
}

TEST(Cliffs, FewChannelsGoByColumns) {
  const te::ConvParams same{{1, 1}, {1, 1}, {1, 1}, {}, 1};
  for (const int64_t channels : {1, 2, 3}) {
    const Chosen c = chosen(conv_dag({1, 64, 56, 56}, {channels, 64, 3, 3}, same));
    EXPECT_EQ(c.family, "conv");
    EXPECT_TRUE(c.has("split Y x [16]")) << c.trace;
    EXPECT_TRUE(c.has("vectorize Y x.1")) << c.trace;
  }
  // Four channels in a group are half a vector at most, one is none.
  for (const int64_t channels : {1, 4}) {
    const Chosen c = chosen(
        conv_dag({1, 256, 56, 56}, {64 * channels, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 64}));
    EXPECT_EQ(c.family, "conv");
    EXPECT_TRUE(c.has("vectorize Y x.1")) << c.trace;
  }
  // A whole vector of them is enough.
  EXPECT_FALSE(chosen(conv_dag({1, 64, 56, 56}, {64, 16, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 4}))
                   .has("vectorize Y x.1"));
}

TEST(Cliffs, TransposedConvolutionsAreNeverPlain) {
  for (const char* target : {"x86-64-v3 cores=1", "x86-64-v4 cores=1"}) {
    for (const int64_t to : {1, 2, 3, 7, 8, 64}) {
      for (const auto& [kernel, stride] : {std::pair{2, 2}, {3, 2}, {3, 3}, {6, 3}, {8, 4}}) {
        const Chosen c = chosen(transposed_dag(48, 28, to, kernel, stride), target);
        EXPECT_EQ(c.family, "conv_transpose") << target << " " << to << " " << kernel;
        EXPECT_TRUE(c.has("vectorize Y.cache")) << c.trace;
      }
    }
  }
}

TEST(Cliffs, ReductionsOfOtherDimensionsReadRowsAsTheyLie) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {64, 128, 300});
  b.output(b.reduce("Y", {300}, ir::BinaryOp::kAdd, {64, 128}, [&](auto i, auto r) {
    return ir::load(x, {r[0], r[1], i[0]});
  }));
  const Chosen c = chosen(b.finish());
  EXPECT_EQ(c.family, "columns");
  EXPECT_TRUE(c.has("vectorize Y.cache")) << c.trace;
  EXPECT_TRUE(c.has("parallel Y")) << c.trace;
}

TEST(Cliffs, ProductsToFewColumnsRunAlongTheSum) {
  const auto product = [](int64_t columns) {
    te::Builder b;
    const auto x = b.input("X", ir::kF32, {512, 1024});
    b.output(te::matmul(b, "Y", x, b.constant("W", ir::kF32, {1024, columns})));
    return b.finish();
  };
  for (const int64_t columns : {1, 2, 4, 8}) {
    const Chosen c = chosen(product(columns));
    EXPECT_EQ(c.family, "dots") << columns;
    EXPECT_TRUE(c.has("rfactor Y")) << c.trace;
  }
  EXPECT_EQ(chosen(product(9)).family, "matmul");
}

// With few summands most of the time goes to the result, which is written as it lies in memory.
TEST(Cliffs, ProductsOfFewSummandsWriteRowAfterRow) {
  const auto product = [](int64_t k) {
    te::Builder b;
    const auto x = b.input("X", ir::kF32, {8, 1024, k});
    const auto w = b.input("W", ir::kF32, {8, k, 512});
    b.output(te::batch_matmul(b, "Y", x, w));
    return b.finish();
  };
  for (const int64_t k : {1, 5}) {
    const Chosen c = chosen(product(k));
    EXPECT_TRUE(c.has("reorder Y [b, i.0, j.0,")) << c.trace;
  }
  EXPECT_TRUE(chosen(product(512)).has("reorder Y [b, j.0, i.0,"));
}

TEST(Cliffs, WideResultsAreWrittenChannelAfterChannel) {
  const auto pointwise = [](int64_t in, int64_t to) {
    return conv_dag({1, in, 100, 100}, {to, in, 1, 1}, {{1, 1}, {}, {}, {}, 1});
  };
  const auto row_major = [&](int64_t in, int64_t to) {
    const Request plain{.fixed = {{"X", layout::Layout({1, in, 100, 100})},
                                  {"Y", layout::Layout({1, to, 100, 100})}},
                        .borders = false};
    return chosen(pointwise(in, to), "x86-64-v4 cores=2", plain);
  };
  const Chosen wide = row_major(19, 960);
  EXPECT_TRUE(wide.has("reorder Y [n, k.0, y_x.0,")) << wide.trace;
  // The input would be read too often.
  const Chosen deep = row_major(960, 64);
  EXPECT_FALSE(deep.has("reorder Y [n, k.0, y_x.0,")) << deep.trace;
}

TEST(Cliffs, FewRowsReadTheSecondOperandWhereItLies) {
  const auto product = [](int64_t rows, int64_t columns) {
    te::Builder b;
    const auto x = b.input("X", ir::kF32, {8, rows, 512});
    const auto w = b.input("W", ir::kF32, {8, 512, columns});
    b.output(te::batch_matmul(b, "Y", x, w));
    return b.finish();
  };
  for (const char* target : {"x86-64-v3 cores=1", "x86-64-v4 cores=2"}) {
    for (const int64_t columns : {31, 197, 256}) {
      for (const int64_t rows : {1, 2, 5, 12}) {
        const Chosen c = chosen(product(rows, columns), target);
        EXPECT_EQ(c.family, "matmul");
        EXPECT_FALSE(c.has("cache_read W")) << target << " " << rows << "\n" << c.trace;
      }
      // Many rows pay for the copy.
      EXPECT_TRUE(chosen(product(384, columns), target).has("cache_read W")) << target;
    }
  }
}

TEST(Cliffs, ShortSumsSideBySideAreVectors) {
  // Two neighbours mixed, as in resizing.
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {8, 41, 64});
  const auto w = b.constant("W", ir::kF32, {40, 2});
  const auto s = b.reduce("S", {8, 40, 64}, ir::BinaryOp::kAdd, {2}, [&](auto i, auto k) {
    return ir::load(x, {i[0], i[1] + k[0], i[2]}) * ir::load(w, {i[1], k[0]});
  });
  b.output(te::relu(b, "Y", s));
  const Chosen c = chosen(b.finish());
  EXPECT_NE(c.family, "rows");
  EXPECT_TRUE(c.has("vectorize Y")) << c.trace;
}

// After three vectors of what is resized three times, the same places are read again: whole vectors
// are loaded and their lanes picked.
TEST(Cliffs, ResizedRowsAreReadInVectors) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {8, 40, 40});
  const auto w = b.constant("W", ir::kF32, {2, 120});
  const auto s = b.reduce("S", {8, 40, 120}, ir::BinaryOp::kAdd, {2}, [&](auto i, auto k) {
    const auto at = ir::floor_div(i[2] - 1, 3) + k[0];
    return ir::load(x, {i[0], i[1], ir::min(ir::max(at, 0), 39)}) * ir::load(w, {k[0], i[2]});
  });
  b.output(te::relu(b, "Y", s));
  const Chosen c = chosen(b.finish());
  EXPECT_EQ(c.family, "fused");
  EXPECT_TRUE(c.has("split Y i2 [3, 16]")) << c.trace;
  EXPECT_TRUE(c.has("unroll Y i2.1")) << c.trace;
  EXPECT_TRUE(c.has("unroll S.cache k")) << c.trace;
}

// Planes of 192 x 192 drive each other out of the first-level cache when each lane goes to another.
TEST(Cliffs, TransposedConvolutionsToPlanesThatCollideGoByColumns) {
  const auto row_major = [](int64_t side) {
    const int64_t out = 3 * side;
    const Request plain{.fixed = {{"X", layout::Layout({1, 8, side, side})},
                                  {"Y", layout::Layout({1, 160, out, out})}},
                        .borders = false};
    return chosen(transposed_dag(8, side, 160, 3, 3), "x86-64-v4 cores=2", plain);
  };
  EXPECT_TRUE(row_major(64).has("vectorize Y x.0.2")) << row_major(64).trace;
  EXPECT_TRUE(row_major(65).has("vectorize Y k.2")) << row_major(65).trace;
}

TEST(Cliffs, FewColumnsAreOneVector) {
  // Seven columns: eight lanes, which cost no more than four.
  const Chosen c =
      chosen(conv_dag({4, 512, 13, 13}, {128, 8, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 64}));
  EXPECT_EQ(c.family, "conv");
  EXPECT_TRUE(c.has("layout_split Y.cache 3 [1, 8]")) << c.trace;
  EXPECT_TRUE(c.has("vectorize Y x\n")) << c.trace;
}

TEST(Cliffs, TapsOfAStrideAreReadInVectorsFromACopyByPhases) {
  const auto pool = [](int64_t stride) {
    te::Builder b;
    const auto x = b.input("X", ir::kF32, {1, 64, 56, 56});
    b.output(
        te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{stride, stride}, {1, 1}, {1, 1}, {}, 1}));
    const Request plain{.fixed = {{"X", layout::Layout({1, 64, 56, 56})}}, .borders = false};
    return chosen(b.finish(), "x86-64-v4 cores=2", plain);
  };
  EXPECT_TRUE(pool(2).has("layout_split Y.pad 3 [29, 2]")) << pool(2).trace;
  EXPECT_FALSE(pool(1).has("layout_split Y.pad")) << pool(1).trace;
  const Chosen conv =
      chosen(conv_dag({1, 12, 150, 150}, {4, 3, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 4}));
  EXPECT_TRUE(conv.has("layout_split Y.pad 3 [76, 2]")) << conv.trace;
}

// The rows that are copied must not be taken for fewer than they are.
TEST(Cliffs, ManyChannelsAreCopiedFewRowsAtATime) {
  const Chosen c =
      chosen(conv_dag({1, 64, 112, 112}, {1, 64, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 1}));
  EXPECT_EQ(c.family, "conv");
  EXPECT_TRUE(c.has("split Y y [1, 14]")) << c.trace;
}

TEST(Cliffs, ShortRowsAreSummedInVectors) {
  for (const int64_t n : {31, 17, 10, 7}) {
    te::Builder b;
    b.output(te::softmax(b, "Y", b.input("X", ir::kF32, {64, 1000, n})));
    const Chosen c = chosen(b.finish());
    EXPECT_EQ(c.family, "rows");
    EXPECT_TRUE(c.has("rfactor Y.sum")) << c.trace;
    EXPECT_TRUE(c.has("vectorize Y.exp")) << c.trace;
  }
}

// Single elements of planes of 128 x 128 drive each other out of the first-level cache; rows do not.
TEST(Cliffs, PointwiseConvolutionsOfPlanesThatCollideGoByColumns) {
  const auto by_columns = [](int64_t in, int64_t side) {
    const Request plain{.fixed = {{"X", layout::Layout({1, in, side, side})},
                                  {"Y", layout::Layout({1, 24, side, side})}},
                        .borders = false};
    return chosen(conv_dag({1, in, side, side}, {24, in, 1, 1}, {{1, 1}, {}, {}, {}, 1}),
                  "x86-64-v4 cores=2", plain)
        .has("vectorize Y y_x.2");
  };
  EXPECT_TRUE(by_columns(21, 128));
  EXPECT_FALSE(by_columns(21, 129));
  EXPECT_FALSE(by_columns(210, 128));  // which would be read four times
}

// Few rows fit the sets of the first-level cache that rows of 4,096 bytes share: more vectors beside
// them, where one would leave each sum waiting for the one before.
TEST(Cliffs, FewRowsAtATimeHaveSumsEnough) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {384, 1024});
  b.output(te::matmul(b, "Y", x, b.constant("W", ir::kF32, {1024, 49})));
  target::Target halves = target::parse_target("x86-64-v4 cores=1");
  halves.cpu().datapath_bytes = 32;
  const Chosen c = chosen(b.finish(), halves, {.borders = false});
  EXPECT_EQ(c.family, "matmul");
  EXPECT_TRUE(c.has("split Y j [4, 8]")) << c.trace;
}

}  // namespace
}  // namespace tenon::templates
