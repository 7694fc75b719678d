// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;

TEST(ShapeOps, ShapeAndSizeAreConstants) {
  const ir::Array x(ir::kF32, {2, 3, 5, 7});
  EXPECT_EQ(difference(OpRun("Shape").in(x).run()[0], ints({2, 3, 5, 7})), "");
  EXPECT_EQ(
      difference(OpRun("Shape").in(x).with("start", int64_t{-3}).with("end", int64_t{-1}).run()[0],
                 ints({3, 5})),
      "");
  EXPECT_EQ(difference(OpRun("Shape").in(x).with("start", int64_t{9}).run()[0], ints({})), "");
  EXPECT_EQ(OpRun("Size").in(x).run()[0].get(0).i, 210);
  EXPECT_EQ(OpRun("Size").in(x).run()[0].shape(), Shape{});
}

struct ReshapeCase {
  Shape own;
  std::vector<int64_t> wanted;
  bool keep_zeros;
  Shape result;  // empty: refused
};

class Reshapes : public ::testing::TestWithParam<ReshapeCase> {};

TEST_P(Reshapes, FollowTheRules) {
  const ReshapeCase& p = GetParam();
  Rng rng(1);
  const ir::Array x = random_array(rng, ir::kF32, p.own);
  OpRun op = OpRun("Reshape").in(x).known(ints(p.wanted));
  op.with("allowzero", int64_t{p.keep_zeros ? 1 : 0});
  if (p.result.empty()) {
    EXPECT_THROW(op.run(), Unsupported);
    return;
  }
  const ir::Array y = op.run()[0];
  EXPECT_EQ(y.shape(), p.result);
  for (int64_t i = 0; i < x.elements(); ++i) {
    EXPECT_EQ(y.get_double(i), x.get_double(i));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reshapes,
                         ::testing::Values(ReshapeCase{{2, 3, 5}, {5, 6}, false, {5, 6}},
                                           ReshapeCase{{2, 3, 5}, {0, -1}, false, {2, 15}},
                                           ReshapeCase{{2, 3, 5}, {-1, 0, 1}, false, {10, 3, 1}},
                                           ReshapeCase{{0, 3}, {3, 0}, true, {3, 0}},
                                           ReshapeCase{{0, 3}, {0, 3, 1}, false, {0, 3, 1}},
                                           ReshapeCase{{2, 3}, {4, -1}, false, {}},
                                           ReshapeCase{{2, 3}, {-1, -1}, false, {}},
                                           ReshapeCase{{2, 3}, {1, 6, 0}, false, {}},
                                           ReshapeCase{{2, 3}, {-2, 3}, false, {}},
                                           ReshapeCase{
                                               {2, 3}, {int64_t{1} << 40, 1 << 30}, false, {}}));

TEST(ShapeOps, SqueezeAndUnsqueezeByAttributeAndInput) {
  const ir::Array x(ir::kF32, {1, 3, 1, 5});
  using Ints = std::vector<int64_t>;
  EXPECT_EQ(OpRun("Squeeze").in(x).run()[0].shape(), (Shape{3, 5}));
  EXPECT_EQ(OpRun("Squeeze").in(x).known(ints({-2})).run()[0].shape(), (Shape{1, 3, 5}));
  EXPECT_EQ(OpRun("Squeeze", 11).in(x).with("axes", Ints{0}).run()[0].shape(), (Shape{3, 1, 5}));
  EXPECT_THROW(OpRun("Squeeze").in(x).known(ints({1})).run(), Unsupported);
  EXPECT_EQ(OpRun("Unsqueeze").in(x).known(ints({-1, 0})).run()[0].shape(),
            (Shape{1, 1, 3, 1, 5, 1}));
  EXPECT_EQ(OpRun("Unsqueeze", 11).in(x).with("axes", Ints{1}).run()[0].shape(),
            (Shape{1, 1, 3, 1, 5}));
  EXPECT_THROW(OpRun("Unsqueeze").in(x).known(ints({0, 0})).run(), Unsupported);
  EXPECT_EQ(OpRun("Flatten").in(x).with("axis", int64_t{-1}).run()[0].shape(), (Shape{3, 5}));
  EXPECT_EQ(OpRun("Flatten").in(x).with("axis", int64_t{0}).run()[0].shape(), (Shape{1, 15}));
}

// Python's range(start, end, step) after its rules for what lies outside.
std::vector<int64_t> picked(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const auto inside = [&](int64_t v) {
    v = v < 0 ? v + extent : v;
    return step > 0 ? std::clamp<int64_t>(v, 0, extent) : std::clamp<int64_t>(v, -1, extent - 1);
  };
  std::vector<int64_t> places;
  for (int64_t i = inside(start); step > 0 ? i < inside(end) : i > inside(end); i += step) {
    places.push_back(i);
  }
  return places;
}

TEST(ShapeOps, SlicesInAllDirections) {
  Rng rng(21);
  for (int round = 0; round < 200; ++round) {
    const Shape own = random_shape(rng, 1, 3);
    const ir::Array x = random_array(rng, ir::kF32, own);
    std::vector<int64_t> starts, ends, axes, steps;
    std::vector<std::vector<int64_t>> places;
    Shape shape;
    for (size_t d = 0; d < own.size(); ++d) {
      places.emplace_back();
      if (rng.chance(0.3)) {
        for (int64_t i = 0; i < own[d]; ++i) {
          places[d].push_back(i);
        }
      } else {
        starts.push_back(rng.between(-9, 9));
        ends.push_back(rng.chance(0.2)   ? INT64_MAX
                       : rng.chance(0.1) ? INT64_MIN
                                         : rng.between(-9, 9));
        steps.push_back(rng.pick(std::vector<int64_t>{1, 2, 3, -1, -2, -5}));
        axes.push_back(static_cast<int64_t>(d) -
                       (rng.chance(0.5) ? static_cast<int64_t>(own.size()) : 0));
        places[d] = picked(own[d], starts.back(), std::clamp<int64_t>(ends.back(), -1000, 1000),
                           steps.back());
      }
      shape.push_back(static_cast<int64_t>(places[d].size()));
    }
    const ir::Array got = OpRun("Slice")
                              .in(x)
                              .known(ints(starts))
                              .known(ints(ends))
                              .known(ints(axes))
                              .known(ints(steps))
                              .run()[0];
    const ir::Array want = filled_by(ir::kF32, shape, [&](const Place& p) {
      Place from(p.size());
      for (size_t d = 0; d < p.size(); ++d) {
        from[d] = places[d][static_cast<size_t>(p[d])];
      }
      return at(x, from);
    });
    ASSERT_EQ(difference(got, want), "") << "round " << round;
  }
  EXPECT_THROW(OpRun("Slice")
                   .in(ints({1}))
                   .known(ints({0}))
                   .known(ints({1}))
                   .absent()
                   .known(ints({0}))
                   .run(),
               Unsupported);
  EXPECT_THROW(OpRun("Slice").in(ints({1})).in(ints({0})).known(ints({1})).run(), Unsupported);
}

TEST(ShapeOps, SplitsEquallyAndAsGiven) {
  Rng rng(2);
  const ir::Array x = random_array(rng, ir::kI32, {2, 7, 3});
  const auto check = [&](const std::vector<ir::Array>& parts, const std::vector<int64_t>& lengths) {
    ASSERT_EQ(parts.size(), lengths.size());
    int64_t begin = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const ir::Array want = filled_by(ir::kI32, {2, lengths[i], 3}, [&](const Place& p) {
        return at(x, {p[0], p[1] + begin, p[2]});
      });
      EXPECT_EQ(difference(parts[i], want), "") << i;
      begin += lengths[i];
    }
  };
  check(OpRun("Split").in(x).known(ints({1, 0, 6})).with("axis", int64_t{1}).outputs(3).run(),
        {1, 0, 6});
  check(OpRun("Split", 11)
            .in(x)
            .with("split", std::vector<int64_t>{3, 4})
            .with("axis", int64_t{-2})
            .outputs(2)
            .run(),
        {3, 4});
  check(OpRun("Split", 18)
            .in(x)
            .with("num_outputs", int64_t{3})
            .with("axis", int64_t{1})
            .outputs(3)
            .run(),
        {3, 3, 1});
  EXPECT_THROW(OpRun("Split", 13).in(x).with("axis", int64_t{1}).outputs(2).run(), Unsupported);
  EXPECT_THROW(OpRun("Split").in(x).known(ints({9, -2})).with("axis", int64_t{1}).outputs(2).run(),
               Unsupported);
}

TEST(ShapeOps, SplitsIntoManyParts) {
  Rng rng(2);
  const ir::Array x = random_array(rng, ir::kI32, {180});
  const std::vector<ir::Array> parts = OpRun("Split").in(x).outputs(60).run();
  EXPECT_EQ(parts[59].get(2).i, x.get(179).i);
}

TEST(ShapeOps, ConcatenatesAlsoNothing) {
  Rng rng(3);
  const ir::Array a = random_array(rng, ir::kF32, {2, 3});
  const ir::Array none(ir::kF32, {2, 0});
  const ir::Array b = random_array(rng, ir::kF32, {2, 1});
  const ir::Array got =
      OpRun("Concat").in(a).in(none).in(b).in(a).with("axis", int64_t{-1}).run()[0];
  const ir::Array want = filled_by(ir::kF32, {2, 7}, [&](const Place& p) {
    return p[1] < 3 ? at(a, p) : p[1] == 3 ? at(b, {p[0], 0}) : at(a, {p[0], p[1] - 4});
  });
  EXPECT_EQ(difference(got, want), "");
  EXPECT_EQ(OpRun("Concat").in(none).in(none).with("axis", int64_t{1}).run()[0].shape(),
            (Shape{2, 0}));
  EXPECT_THROW(OpRun("Concat").in(a).in(b).with("axis", int64_t{0}).run(), Unsupported);
}

TEST(ShapeOps, TransposesTilesAndExpands) {
  Rng rng(4);
  const ir::Array x = random_array(rng, ir::kF32, {2, 1, 5});
  EXPECT_EQ(
      difference(OpRun("Transpose").in(x).run()[0], filled_by(ir::kF32, {5, 1, 2},
                                                              [&](const Place& p) {
                                                                return at(x, {p[2], p[1], p[0]});
                                                              })),
      "");
  EXPECT_THROW(OpRun("Transpose").in(x).with("perm", std::vector<int64_t>{0, 0, 1}).run(),
               Unsupported);
  EXPECT_EQ(difference(OpRun("Tile").in(x).known(ints({2, 3, 1})).run()[0],
                       filled_by(ir::kF32, {4, 3, 5},
                                 [&](const Place& p) {
                                   return at(x, {p[0] % 2, 0, p[2]});
                                 })),
            "");
  EXPECT_EQ(OpRun("Tile").in(x).known(ints({2, 0, 1})).run()[0].shape(), (Shape{4, 0, 5}));
  EXPECT_THROW(OpRun("Tile").in(x).known(ints({2, -1, 1})).run(), Unsupported);
  EXPECT_EQ(difference(OpRun("Expand").in(x).known(ints({3, 1, 7, 1})).run()[0],
                       filled_by(ir::kF32, {3, 2, 7, 5},
                                 [&](const Place& p) {
                                   return at(x, {p[1], 0, p[3]});
                                 })),
            "");
  EXPECT_THROW(OpRun("Expand").in(x).known(ints({4})).run(), Unsupported);
}

TEST(ShapeOps, BlocksOfDepthAndSpace) {
  Rng rng(5);
  const ir::Array x = random_array(rng, ir::kF32, {2, 12, 3, 1});
  for (const bool dcr : {true, false}) {
    const ir::Array got = OpRun("DepthToSpace")
                              .in(x)
                              .with("blocksize", int64_t{2})
                              .with("mode", std::string(dcr ? "DCR" : "CRD"))
                              .run()[0];
    const ir::Array want = filled_by(ir::kF32, {2, 3, 6, 2}, [&](const Place& p) {
      const int64_t block = p[2] % 2 * 2 + p[3] % 2;
      const int64_t channel = dcr ? block * 3 + p[1] : p[1] * 4 + block;
      return at(x, {p[0], channel, p[2] / 2, p[3] / 2});
    });
    EXPECT_EQ(difference(got, want), "") << dcr;
    if (dcr) {
      EXPECT_EQ(difference(OpRun("SpaceToDepth").in(got).with("blocksize", int64_t{2}).run()[0], x),
                "");
    }
  }
  EXPECT_THROW(OpRun("DepthToSpace").in(x).with("blocksize", int64_t{5}).run(), Unsupported);
  EXPECT_THROW(OpRun("SpaceToDepth").in(x).with("blocksize", int64_t{2}).run(), Unsupported);
}

TEST(ShapeOps, TrianglesAndEyes) {
  Rng rng(6);
  const ir::Array x = random_array(rng, ir::kI64, {2, 3, 5});
  for (int64_t k = -4; k <= 6; ++k) {
    for (const bool upper : {true, false}) {
      ir::Array diagonal(ir::kI64, {});
      diagonal.set(0, {k, 0});
      const ir::Array got =
          OpRun("Trilu").in(x).known(diagonal).with("upper", int64_t{upper ? 1 : 0}).run()[0];
      const ir::Array want = filled_by(ir::kI64, x.shape(), [&](const Place& p) {
        return (upper ? p[2] >= p[1] + k : p[2] <= p[1] + k) ? at(x, p) : 0;
      });
      EXPECT_EQ(difference(got, want), "") << k << upper;
    }
    const ir::Array eye = OpRun("EyeLike")
                              .in(ir::Array(ir::kF32, {3, 5}))
                              .with("k", k)
                              .with("dtype", int64_t{6})
                              .run()[0];
    EXPECT_EQ(difference(eye, filled_by(ir::kI32, {3, 5},
                                        [&](const Place& p) { return p[1] == p[0] + k ? 1 : 0; })),
              "");
  }
}

TEST(ShapeOps, RangesAndFilledShapes) {
  const auto range = [](ir::DType t, double a, double b, double s) {
    return OpRun("Range").known(scalar(t, a)).known(scalar(t, b)).known(scalar(t, s)).run()[0];
  };
  EXPECT_EQ(difference(range(ir::kI64, 3, 10, 3), ints({3, 6, 9})), "");
  EXPECT_EQ(difference(range(ir::kI64, 3, -3, -2), ints({3, 1, -1})), "");
  EXPECT_EQ(difference(range(ir::kF32, 1, 2, 0.25), floats({1, 1.25, 1.5, 1.75})), "");
  EXPECT_EQ(range(ir::kI64, 5, 5, 1).shape(), Shape{0});
  EXPECT_THROW(range(ir::kI64, 0, 5, 0), Unsupported);
  EXPECT_THROW(range(ir::kF64, 0, 1e18, 1), Unsupported);
  EXPECT_THROW(range(ir::kF64, 0, NAN, 1), Unsupported);
  const ir::Array filled =
      OpRun("ConstantOfShape").known(ints({2, 3})).with("value", ints({7})).run()[0];
  EXPECT_EQ(difference(filled, filled_by(ir::kI64, {2, 3}, [](const Place&) { return 7; })), "");
  EXPECT_EQ(OpRun("ConstantOfShape").known(ints({0})).run()[0].dtype(), ir::kF32);
  EXPECT_THROW(OpRun("ConstantOfShape").known(ints({1 << 30, 1 << 30})).run(), Unsupported);
  EXPECT_THROW(OpRun("ConstantOfShape").known(ints({-1})).run(), Unsupported);
}

TEST(ShapeOps, ReversesTheStartsOfSequences) {
  Rng rng(8);
  const ir::Array x = random_array(rng, ir::kF32, {5, 3, 2});
  const ir::Array lengths = ints({5, 1, 3});
  const ir::Array got = OpRun("ReverseSequence").in(x).in(lengths).run()[0];
  const ir::Array want = filled_by(ir::kF32, x.shape(), [&](const Place& p) {
    const int64_t n = lengths.get(p[1]).i;
    return at(x, {p[0] < n ? n - 1 - p[0] : p[0], p[1], p[2]});
  });
  EXPECT_EQ(difference(got, want), "");
}

// Numbers that a broken file may hold are refused, whatever they are.
TEST(ShapeOps, HostileNumbers) {
  const ir::Array x(ir::kF32, {2, 3});
  const ir::Array none(ir::kF32, {0, 1, 0, 0});
  for (const int64_t v :
       {INT64_MIN, INT64_MIN + 1, int64_t{-1} << 40, int64_t{1} << 40, INT64_MAX}) {
    using Ints = std::vector<int64_t>;
    EXPECT_THROW(OpRun("Reshape").in(x).known(ints({v})).run(), UserError);
    EXPECT_THROW(OpRun("Expand").in(x).known(ints({v, 1, 1})).run(), UserError);
    EXPECT_THROW(OpRun("Tile").in(x).known(ints({v, 1})).run(), UserError);
    EXPECT_THROW(OpRun("Pad").in(x).known(ints({v, 0, 0, 0})).run(), UserError);
    EXPECT_THROW(OpRun("Pad").in(x).known(ints({0, 0, 0, v})).run(), UserError);
    EXPECT_THROW(OpRun("ConstantOfShape").known(ints({v})).run(), UserError);
    EXPECT_THROW(OpRun("Transpose").in(x).with("perm", Ints{v, 0}).run(), UserError);
    EXPECT_THROW(OpRun("Split").in(x).known(ints({v, 2 - v / 2})).outputs(2).run(), UserError);
    EXPECT_THROW(OpRun("Flatten").in(x).with("axis", v).run(), UserError);
    EXPECT_THROW(OpRun("DepthToSpace").in(none).with("blocksize", v).run(), UserError);
    EXPECT_THROW(OpRun("SpaceToDepth").in(none).with("blocksize", v).run(), UserError);
    EXPECT_THROW(OpRun("CenterCropPad", 18).in(x).known(ints({v, 1})).run(), UserError);
    EXPECT_THROW(OpRun("Softmax").in(x).with("axis", v).run(), UserError);
    EXPECT_THROW(OpRun("TopK").in(x).known(ints({v})).outputs(2).run(), UserError);
    EXPECT_THROW(OpRun("CumSum").in(x).known(ints({v})).run(), UserError);
    EXPECT_THROW(OpRun("OneHot").in(x).known(ints({v})).in(floats({0, 1})).run(), UserError);
    EXPECT_THROW(OpRun("GatherND").in(x).in(ints({0})).with("batch_dims", v).run(), UserError);
    OpRun("EyeLike").in(x).with("k", v).run();
    OpRun("Trilu").in(x).known(ints({v})).run();
    OpRun("Shape").in(x).with("start", v).with("end", v).run();
    OpRun("Slice").in(x).known(ints({v})).known(ints({v})).absent().known(ints({v})).run();
    OpRun("Slice").in(x).known(ints({0})).known(ints({v})).absent().known(ints({v})).run();
  }
  EXPECT_THROW(OpRun("Trilu").in(x).known(ints({})).run(), UserError);
  EXPECT_THROW(OpRun("Unsqueeze").in(x).known(ints({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})).run(),
               UserError);
  EXPECT_THROW(OpRun("QLinearConv").in(ints({1})).in(floats({1, 2})).in(ints({1, 2})).run(),
               UserError);
}

// ---- padding ---------------------------------------------------------------------------------

// Where a padded place comes from, by walking step by step; -1: from nowhere.
int64_t walked(const std::string& mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) {
    return i;
  }
  if (mode == "constant") {
    return -1;
  }
  if (mode == "edge") {
    return i < 0 ? 0 : extent - 1;
  }
  if (mode == "wrap") {
    return walked(mode, i < 0 ? i + extent : i - extent, extent);
  }
  return extent == 1 ? 0 : walked(mode, i < 0 ? -i : 2 * (extent - 1) - i, extent);
}

TEST(Pads, InAllModes) {
  Rng rng(31);
  for (int round = 0; round < 200; ++round) {
    const std::string mode =
        rng.pick(std::vector<std::string>{"constant", "edge", "reflect", "wrap"});
    const Shape own = random_shape(rng, 1, 3);
    const ir::Array x = random_array(rng, ir::kF32, own);
    std::vector<int64_t> before, after;
    Shape shape;
    for (const int64_t extent : own) {
      const int64_t least = mode == "constant" ? -(extent / 3) : 0;
      before.push_back(rng.between(least, 4));
      after.push_back(rng.between(least, 4));
      shape.push_back(extent + before.back() + after.back());
    }
    std::vector<int64_t> pads = before;
    pads.insert(pads.end(), after.begin(), after.end());
    const ir::Array want = filled_by(ir::kF32, shape, [&](const Place& p) {
      Place from;
      for (size_t d = 0; d < p.size(); ++d) {
        from.push_back(walked(mode, p[d] - before[d], own[d]));
        if (from.back() < 0) {
          return 1.5;
        }
      }
      return at(x, from);
    });
    OpRun op = OpRun("Pad", 19).in(x).known(ints(pads)).with("mode", mode);
    rng.chance(0.5) ? op.in(scalar(ir::kF32, 1.5)) : op.known(scalar(ir::kF32, 1.5));
    ASSERT_EQ(difference(op.run()[0], want), "") << "round " << round << " " << mode;
    if (mode == "constant") {
      const ir::Array old = OpRun("Pad", 2).in(x).with("pads", pads).with("value", 1.5).run()[0];
      ASSERT_EQ(difference(old, want), "") << "round " << round;
    }
  }
}

TEST(Pads, OnSomeAxesAndAroundNothing) {
  const ir::Array x = floats({1, 2, 3});
  EXPECT_EQ(
      difference(OpRun("Pad", 18).in(x).known(ints({1, 2})).absent().known(ints({-1})).run()[0],
                 floats({0, 1, 2, 3, 0, 0})),
      "");
  EXPECT_EQ(difference(OpRun("Pad")
                           .in(ir::Array(ir::kF32, {0}))
                           .known(ints({2, 1}))
                           .known(scalar(ir::kF32, 7))
                           .run()[0],
                       floats({7, 7, 7})),
            "");
  EXPECT_THROW(OpRun("Pad").in(x).known(ints({1})).run(), Unsupported);
  EXPECT_THROW(OpRun("Pad").in(x).known(ints({-9, 0})).run(), Unsupported);
  EXPECT_EQ(
      difference(OpRun("CenterCropPad", 18).in(floats({1, 2, 3, 4, 5})).known(ints({2})).run()[0],
                 floats({2, 3})),
      "");
  EXPECT_EQ(difference(OpRun("CenterCropPad", 18).in(x).known(ints({6})).run()[0],
                       floats({0, 1, 2, 3, 0, 0})),
            "");
}

}  // namespace
}  // namespace tenon::onnx
