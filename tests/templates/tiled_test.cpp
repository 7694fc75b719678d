// SPDX-License-Identifier: Apache-2.0
// Convolutions whose results are stored in tiles of positions.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon::templates {
namespace {

using layout::Layout;

struct Sizes {
  std::string name;
  int64_t in, out, size, stride, pad;
  int64_t h, w, block;  // of the result's tiles
  int64_t in_block;     // 1: row-major
};
void PrintTo(const Sizes& s, std::ostream* out) { *out << s.name; }

// N Y/h X/w K/block h w block
Layout tiles(const std::vector<int64_t>& shape, int64_t h, int64_t w, int64_t block) {
  return Layout(shape)
      .split(3, {arith::ceil_div(shape[3], w), w})
      .split(2, {arith::ceil_div(shape[2], h), h})
      .split(1, {arith::ceil_div(shape[1], block), block})
      .reorder({0, 3, 5, 1, 4, 6, 2});
}

te::ComputeDag conv(const Sizes& s) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, s.in, s.size, s.size});
  const auto w = b.constant("W", ir::kF32, {s.out, s.in, 3, 3});
  const auto bias = b.constant("B", ir::kF32, {s.out, 1, 1});
  const auto y =
      te::conv(b, "Y", x, w, {{s.stride, s.stride}, {s.pad, s.pad}, {s.pad, s.pad}, {}, 1});
  const auto t = te::elementwise(b, "T", {y, bias}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "R", t));
  return b.finish();
}

class TiledTest : public testing::TestWithParam<Sizes> {};

TEST_P(TiledTest, IsChosenAndRight) {
  const Sizes& s = GetParam();
  const auto dag = std::make_shared<const te::ComputeDag>(conv(s));
  for (const char* name : {"x86-64-v3 cores=4", "x86-64-v4 cores=2"}) {
    const auto target = std::make_shared<const target::Target>(target::parse_target(name));
    Request request;
    request.borders = false;
    request.fixed["R"] = tiles(dag->outputs[0].shape(), s.h, s.w, s.block);
    Layout x({1, s.in, s.size, s.size});
    if (s.in_block > 1)
      x = x.split(1, {arith::ceil_div(s.in, s.in_block), s.in_block}).reorder({0, 1, 3, 4, 2});
    request.fixed["X"] = x;
    const schedule::State initial(dag, target);
    const Choice c = choose(initial, request);
    std::string why;
    for (const std::string& p : c.passed_over) why += "\n" + p;
    ASSERT_EQ(c.name, "tiled") << why;
    const auto state = schedule::replay(initial, c.trace);
    ASSERT_TRUE(bool(state));
    Rng rng(1);
    const auto inputs = fuzz::random_inputs(*dag, rng);
    std::unique_ptr<backend::Compiler> compiler;
    if (target::runs_here(*target)) compiler = backend::make_compiler(*target);
    const auto outcome =
        fuzz::check_program(*state, inputs, te::evaluate(*dag, inputs), compiler.get());
    EXPECT_FALSE(outcome.refused);
    EXPECT_EQ(outcome.problem, "") << schedule::to_text(c.trace, initial);
  }
}

INSTANTIATE_TEST_SUITE_P(Convs, TiledTest,
                         testing::Values(Sizes{"even", 16, 32, 12, 1, 1, 4, 6, 16, 16},
                                         Sizes{"plain_image", 6, 16, 8, 1, 1, 2, 4, 8, 1},
                                         Sizes{"no_padding", 8, 16, 10, 1, 0, 4, 4, 16, 8},
                                         Sizes{"strided", 4, 16, 16, 2, 1, 4, 4, 8, 4},
                                         Sizes{"wide_blocks", 8, 64, 8, 1, 1, 4, 8, 32, 8},
                                         Sizes{"round_channels", 5, 20, 6, 1, 1, 3, 3, 8, 4},
                                         Sizes{"round_positions", 4, 8, 7, 1, 1, 3, 4, 8, 4},
                                         Sizes{"one_row", 4, 32, 9, 1, 1, 1, 9, 16, 4}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tenon::templates
