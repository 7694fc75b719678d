// SPDX-License-Identifier: Apache-2.0
#include "layout/describe.h"

#include <gtest/gtest.h>

#include <map>

#include "support/check.h"
#include "support/rng.h"

namespace tenon::layout {
namespace {

using Shape = std::vector<int64_t>;

std::string image(const Layout& l) {
  return describe(l, dimension_letters(l.logical_shape().size(), true));
}

TEST(Describe, Letters) {
  const auto joined = [](size_t rank, bool of_image) {
    std::string out;
    for (const std::string& letter : dimension_letters(rank, of_image)) out += letter + " ";
    return out;
  };
  EXPECT_EQ(joined(3, true), "N C W ");
  EXPECT_EQ(joined(4, true), "N C H W ");
  EXPECT_EQ(joined(5, true), "N C D H W ");
  EXPECT_EQ(joined(2, true), "M N ");
  EXPECT_EQ(joined(0, false), "");
  EXPECT_EQ(joined(1, false), "N ");
  EXPECT_EQ(joined(2, false), "M N ");
  EXPECT_EQ(joined(3, false), "B M N ");
  EXPECT_EQ(joined(4, false), "d0 d1 d2 d3 ");
  EXPECT_EQ(joined(6, true), "d0 d1 d2 d3 d4 d5 ");
}

TEST(Describe, KnownLayouts) {
  const Layout l(Shape{1, 64, 56, 56});
  const struct {
    Layout layout;
    const char* text;
  } kCases[] = {
      {l, "N C H W"},
      {l.reorder({0, 2, 3, 1}), "N H W C"},
      {l.split(1, {4, 16}), "N C H W"},
      {l.split(1, {4, 16}).reorder({0, 1, 3, 4, 2}), "N C/16 H W 16c"},
      {l.split(1, {4, 16}).reorder({0, 1, 3, 4, 2}).fuse(2, 2), "N C/16 H W 16c"},
      {l.split(1, {2, 2, 16}).reorder({0, 1, 2, 4, 5, 3}), "N C/16 H W 16c"},
      {l.split(1, {2, 2, 16}).reorder({0, 1, 4, 2, 5, 3}), "N C/32 H 2c/16 W 16c"},
      {l.split(3, {4, 14}).split(2, {7, 8}).reorder({0, 2, 4, 1, 3, 5}), "N H/8 W/14 C 8h 14w"},
      {l.pad(2, 1, 1).pad(3, 0, 3), "N C 1+H+1 W+3"},
      {l.pad(2, 1, 1).split(2, {29, 2}).reorder({0, 2, 1, 3, 4}), "N (1+H+1)/2 C 2(1+h+1) W"},
      {l.unfold(2, 6, 4).reorder({0, 2, 1, 3, 4}), "N H~4 C 6h~ W"},
      {l.unfold(2, 8, 8).reorder({0, 2, 1, 3, 4}), "N H/8 C 8h W"},
      {l.fuse(2, 2).split(2, {448, 7}).reorder({0, 2, 1, 3}), "N (H W)/7 C 7(h w)"},
      {l.split(1, {4, 16}).reorder({0, 1, 3, 4, 2}).pad(4, 0, 1), "N C/16 H W 16c+1"},
      {l.store_at(1, 2), "store_at(1,2)"},
  };
  for (const auto& c : kCases) EXPECT_EQ(image(c.layout), c.text) << to_string(c.layout);
  EXPECT_EQ(image(Layout(Shape{2, 17, 5}).split(1, {2, 16}).reorder({0, 1, 3, 2})), "N C/16 W 16c")
      << "the last block has padding";
  EXPECT_EQ(image(Layout(Shape{2, 17, 5}).split(1, {3, 16}).reorder({0, 1, 3, 2})), "N 3c/16 W 16c")
      << "one block more than there have to be";
  EXPECT_EQ(describe(Layout(Shape{8, 12}).split(1, {3, 4}).reorder({1, 0, 2}), {"M", "K"}),
            "K/4 M 4k");
  EXPECT_EQ(describe(Layout(Shape{}), {}), "scalar");
  EXPECT_THROW(describe(l, {"M", "K"}), InternalError);
}

LayoutStep random_step(Rng& rng, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t dim = rng.between(0, rank - 1);
  const int64_t n = shape[static_cast<size_t>(dim)];
  switch (rng.between(0, 7)) {
    case 0:
    case 1:
    case 2: {
      const int64_t inner = rng.between(1, std::min<int64_t>(n, 4));
      return {LayoutOp::kSplit, dim, {(n + inner - 1) / inner + (rng.chance(0.1) ? 1 : 0), inner}};
    }
    case 3:
    case 4:
      return {LayoutOp::kReorder, 0,
              rank == 2   ? std::vector<int64_t>{1, 0}
              : rank == 3 ? std::vector<int64_t>{0, 2, 1}
                          : std::vector<int64_t>{1, 0, 3, 2}};
    case 5:
      return {LayoutOp::kFuse, dim, {2}};
    case 6:
      return {LayoutOp::kPad, dim, {rng.between(0, 1), rng.between(0, 1)}};
    default: {
      const int64_t size = rng.between(1, n);
      return {LayoutOp::kUnfold, dim, {size, rng.between(1, size)}};
    }
  }
}

// Whatever two layouts of a shape are called alike, they store alike.
TEST(Describe, OneNameOneStorage) {
  constexpr uint64_t kSeed = 77;
  Rng rng(kSeed);
  const Shape shapes[] = {{6, 4}, {1, 6}, {5, 3}, {2, 4, 3}};
  std::map<std::string, Layout> known;
  int met = 0;
  for (int run = 0; run < 4000; ++run) {
    const Shape& shape = shapes[static_cast<size_t>(run) % std::size(shapes)];
    Layout l(shape);
    for (int64_t i = rng.between(1, 5); i > 0; --i) {
      const LayoutStep step = random_step(rng, l.storage_shape());
      if (l.why_not(step).empty() && l.then(step).growth() < 8) l = l.then(step);
    }
    const std::string name = describe(l, dimension_letters(shape.size(), false));
    const auto [it, first] = known.emplace(std::to_string(run % 4) + " " + name, l);
    if (first) continue;
    ++met;
    EXPECT_TRUE(same_storage(it->second, l))
        << "seed " << kSeed << ", run " << run << ": " << name << "\n"
        << to_string(it->second) << "\n"
        << to_string(l);
  }
  EXPECT_GT(met, 1000);
  EXPECT_GT(known.size(), 500u);
}

}  // namespace
}  // namespace tenon::layout
