// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "onnx/op_run.h"

namespace tenon::onnx {
namespace {

using namespace testing;
using Place = std::vector<int64_t>;

// Indices for a dimension of `extent`, some of them counted from the end.
ir::Array random_indices(Rng& rng, ir::DType t, const Shape& shape, int64_t extent) {
  ir::Array a(t, shape);
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set(i, {rng.between(-extent, extent - 1), 0});
  }
  return a;
}

int64_t wrap(double index, int64_t extent) {
  return static_cast<int64_t>(index) + (index < 0 ? extent : 0);
}

TEST(Gathers, KnownIndicesOutsideAreRefused) {
  const ir::Array x(ir::kF32, {4, 5});
  const auto run = [&](const char* op, const ir::Array& index) {
    return OpRun(op).in(x).known(index).run();
  };
  EXPECT_NO_THROW(run("Gather", ints({-4, 3})));
  EXPECT_THROW(run("Gather", ints({4})), UserError);
  EXPECT_THROW(run("Gather", ints({-5})), UserError);
  ir::Array huge(ir::kU64, {1});
  huge.set(0, {-1, 0});
  EXPECT_THROW(run("Gather", huge), UserError);
  ir::Array pair(ir::kI64, {1, 2});
  pair.set(1, {4, 0});
  EXPECT_NO_THROW(run("GatherND", pair));
  EXPECT_THROW(run("GatherElements", pair), UserError);
  pair.set(0, {4, 0});
  EXPECT_THROW(run("GatherND", pair), UserError);
  EXPECT_THROW(OpRun("ScatterElements").in(x).known(pair).in(ir::Array(ir::kF32, {1, 2})).run(),
               UserError);
  // What is not known is clamped.
  EXPECT_NO_THROW(OpRun("Gather").in(x).in(ints({4})).run());
}

TEST(Gathers, AlongEveryAxis) {
  Rng rng(1);
  const ir::Array x = random_array(rng, ir::kF32, {3, 5, 2});
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t extent = x.shape()[axis];
    const ir::Array index = random_indices(rng, ir::kI32, {2, 3}, extent);
    Shape shape = x.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), {2, 3});
    const ir::Array want = filled_by(ir::kF32, shape, [&](const Place& p) {
      Place from(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(axis));
      from.push_back(wrap(at(index, {p[axis], p[axis + 1]}), extent));
      from.insert(from.end(), p.begin() + static_cast<std::ptrdiff_t>(axis) + 2, p.end());
      return at(x, from);
    });
    EXPECT_EQ(
        difference(
            OpRun("Gather").in(x).in(index).with("axis", static_cast<int64_t>(axis) - 3).run()[0],
            want),
        "");
    const ir::Array picks = random_indices(rng, ir::kI64, {2, 4, 1}, extent);
    if (axis == 1) {
      const ir::Array elements = filled_by(ir::kF32, picks.shape(), [&](const Place& p) {
        return at(x, {p[0], wrap(at(picks, p), extent), p[2]});
      });
      EXPECT_EQ(
          difference(OpRun("GatherElements").in(x).in(picks).with("axis", int64_t{1}).run()[0],
                     elements),
          "");
    }
  }
  EXPECT_EQ(OpRun("Gather").in(x).in(ir::Array(ir::kI64, {0, 2})).run()[0].shape(),
            (Shape{0, 2, 5, 2}));
  EXPECT_THROW(OpRun("Gather").in(ir::Array(ir::kF32, {0, 2})).in(ints({0})).run(), Unsupported);
  EXPECT_THROW(OpRun("Gather").in(x).in(floats({0})).run(), Unsupported);
}

TEST(Gathers, ByTuplesBehindBatches) {
  Rng rng(2);
  const ir::Array x = random_array(rng, ir::kF32, {2, 3, 5, 7});
  for (int64_t batch = 0; batch <= 1; ++batch) {
    for (int64_t width = 1; width <= 3; ++width) {
      const Shape shape{2, 4, width};
      ir::Array index(ir::kI64, shape);
      for_each_place(shape, [&](const Place& p) {
        const int64_t extent = x.shape()[static_cast<size_t>(batch + p[2])];
        index.set(offset_of(shape, p), {rng.between(-extent, extent - 1), 0});
      });
      Shape out{2, 4};
      out.insert(out.end(), x.shape().begin() + batch + width, x.shape().end());
      const ir::Array want = filled_by(ir::kF32, out, [&](const Place& p) {
        Place from(p.begin(), p.begin() + batch);
        for (int64_t k = 0; k < width; ++k) {
          from.push_back(
              wrap(at(index, {p[0], p[1], k}), x.shape()[static_cast<size_t>(batch + k)]));
        }
        from.insert(from.end(), p.begin() + 2, p.end());
        return at(x, from);
      });
      EXPECT_EQ(
          difference(OpRun("GatherND").in(x).in(index).with("batch_dims", batch).run()[0], want),
          "")
          << batch << " " << width;
    }
  }
}

double combined(const std::string& reduction, double old, double update) {
  if (reduction == "add") {
    return old + update;
  }
  if (reduction == "mul") {
    return old * update;
  }
  if (reduction == "max") {
    return std::max(old, update);
  }
  return reduction == "min" ? std::min(old, update) : update;
}

const std::vector<std::string> kReductions{"none", "add", "mul", "max", "min"};

TEST(Scatters, ElementsOneAfterTheOther) {
  Rng rng(3);
  for (int round = 0; round < 60; ++round) {
    const Shape shape = random_shape(rng, 1, 3);
    const auto axis = static_cast<size_t>(rng.between(0, static_cast<int64_t>(shape.size()) - 1));
    Shape given = shape;
    for (int64_t& extent : given) {
      extent = rng.between(1, extent);
    }
    given[axis] = rng.between(1, 6);
    const ir::Array x = random_array(rng, ir::kF64, shape);
    const ir::Array index = random_indices(rng, ir::kI64, given, shape[axis]);
    const ir::Array updates = random_array(rng, ir::kF64, given);
    const std::string reduction = rng.pick(kReductions);
    ir::Array want = x;
    for_each_place(given, [&](const Place& p) {
      Place to = p;
      to[axis] = wrap(at(index, p), shape[axis]);
      const int64_t o = offset_of(shape, to);
      want.set_double(o, combined(reduction, want.get_double(o), at(updates, p)));
    });
    const ir::Array got = OpRun("ScatterElements", 18)
                              .in(x)
                              .in(index)
                              .in(updates)
                              .with("axis", static_cast<int64_t>(axis))
                              .with("reduction", reduction)
                              .run()[0];
    ASSERT_EQ(difference(got, want, 1e-12), "") << "round " << round << " " << reduction;
  }
}

TEST(Scatters, BlocksOneAfterTheOther) {
  Rng rng(4);
  for (int round = 0; round < 60; ++round) {
    const Shape shape = random_shape(rng, 1, 3);
    const int64_t width = rng.between(1, static_cast<int64_t>(shape.size()));
    const Shape tuples{rng.between(1, 3), rng.between(1, 3), width};
    ir::Array index(ir::kI64, tuples);
    for_each_place(tuples, [&](const Place& p) {
      const int64_t extent = shape[static_cast<size_t>(p[2])];
      index.set(offset_of(tuples, p), {rng.between(-extent, extent - 1), 0});
    });
    Shape given{tuples[0], tuples[1]};
    given.insert(given.end(), shape.begin() + width, shape.end());
    const ir::Array x = random_array(rng, ir::kF64, shape);
    const ir::Array updates = random_array(rng, ir::kF64, given);
    const std::string reduction = rng.pick(kReductions);
    ir::Array want = x;
    for_each_place(given, [&](const Place& p) {
      Place to;
      for (int64_t k = 0; k < width; ++k) {
        to.push_back(wrap(at(index, {p[0], p[1], k}), shape[static_cast<size_t>(k)]));
      }
      to.insert(to.end(), p.begin() + 2, p.end());
      const int64_t o = offset_of(shape, to);
      want.set_double(o, combined(reduction, want.get_double(o), at(updates, p)));
    });
    for (const bool known : {false, true}) {
      OpRun op = OpRun("ScatterND", 18).in(x);
      known ? op.known(index) : op.in(index);
      ASSERT_EQ(difference(op.in(updates).with("reduction", reduction).run()[0], want, 1e-12), "")
          << "round " << round << " " << reduction << known;
    }
  }
}

TEST(Places, OfExtremesFirstAndLast) {
  Rng rng(5);
  const ir::Array x = random_array(rng, ir::kI32, {3, 7, 2});  // has ties
  for (const bool largest : {true, false}) {
    for (const bool last : {true, false}) {
      const ir::Array want = filled_by(ir::kI64, {3, 1, 2}, [&](const Place& p) {
        int64_t best = 0;
        for (int64_t k = 1; k < 7; ++k) {
          const double v = at(x, {p[0], k, p[2]});
          const double b = at(x, {p[0], best, p[2]});
          if ((largest ? v > b : v < b) || (last && v == b)) {
            best = k;
          }
        }
        return static_cast<double>(best);
      });
      const ir::Array got = OpRun(largest ? "ArgMax" : "ArgMin")
                                .in(x)
                                .with("axis", int64_t{1})
                                .with("select_last_index", int64_t{last ? 1 : 0})
                                .run()[0];
      EXPECT_EQ(difference(got, want), "") << largest << last;
    }
  }
  EXPECT_EQ(OpRun("ArgMax").in(x).with("keepdims", int64_t{0}).run()[0].shape(), (Shape{7, 2}));
}

TEST(Places, OfTheTop) {
  Rng rng(6);
  for (int round = 0; round < 40; ++round) {
    const ir::Array x = random_array(rng, rng.chance(0.5) ? ir::kI64 : ir::kF32, {3, 7, 2});
    const int64_t k = rng.between(1, 7);
    const bool largest = rng.chance(0.5);
    ir::Array values(x.dtype(), {3, k, 2});
    ir::Array places(ir::kI64, {3, k, 2});
    for_each_place({3, 2}, [&](const Place& p) {
      std::vector<int64_t> order(7);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const double va = at(x, {p[0], a, p[1]});
        const double vb = at(x, {p[0], b, p[1]});
        return va == vb ? a < b : largest ? va > vb : va < vb;
      });
      for (int64_t i = 0; i < k; ++i) {
        const int64_t o = offset_of({3, k, 2}, {p[0], i, p[1]});
        values.set_double(o, at(x, {p[0], order[static_cast<size_t>(i)], p[1]}));
        places.set(o, {order[static_cast<size_t>(i)], 0});
      }
    });
    const auto got = OpRun("TopK")
                         .in(x)
                         .known(ints({k}))
                         .with("axis", int64_t{1})
                         .with("largest", int64_t{largest ? 1 : 0})
                         .outputs(2)
                         .run();
    ASSERT_EQ(difference(got[0], values), "") << round;
    ASSERT_EQ(difference(got[1], places), "") << round;
  }
  const ir::Array x = floats({1, 2});
  EXPECT_THROW(OpRun("TopK").in(x).known(ints({3})).run(), Unsupported);
  EXPECT_THROW(OpRun("TopK").in(x).in(ints({1})).run(), Unsupported);
}

TEST(RunningSums, ShortAndLong) {
  Rng rng(7);
  for (const int64_t n : {1, 5, 64, 65, 130, 4500}) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        const ir::Array x = random_array(rng, ir::kI64, {2, n});
        ir::Array want(ir::kI64, {2, n});
        for (int64_t row = 0; row < 2; ++row) {
          int64_t sum = 0;
          for (int64_t j = 0; j < n; ++j) {
            const int64_t o = row * n + (reverse ? n - 1 - j : j);
            want.set(o, {exclusive ? sum : sum + x.get(o).i, 0});
            sum += x.get(o).i;
          }
        }
        const ir::Array got = OpRun("CumSum")
                                  .in(x)
                                  .known(ints({-1}))
                                  .with("exclusive", int64_t{exclusive ? 1 : 0})
                                  .with("reverse", int64_t{reverse ? 1 : 0})
                                  .run()[0];
        ASSERT_EQ(difference(got, want), "") << n << exclusive << reverse;
      }
    }
  }
}

TEST(OneHots, AtEveryAxis) {
  Rng rng(8);
  const ir::Array index = ints({0, -1, 3, 7, -9});
  for (const int64_t axis : {-1, 0}) {
    const Shape shape = axis == 0 ? Shape{4, 5} : Shape{5, 4};
    const ir::Array want = filled_by(ir::kF32, shape, [&](const Place& p) {
      const int64_t i = index.get(axis == 0 ? p[1] : p[0]).i;
      return (i < 0 ? i + 4 : i) == (axis == 0 ? p[0] : p[1]) ? 5.0 : 2.0;
    });
    EXPECT_EQ(difference(OpRun("OneHot")
                             .in(index)
                             .known(ints({4}))
                             .in(floats({2, 5}))
                             .with("axis", axis)
                             .run()[0],
                         want),
              "");
  }
}

TEST(CountedByData, WhenTheDataAreKnown) {
  ir::Array x(ir::kI32, {2, 3});
  for (int64_t i = 0; i < 6; ++i) {
    x.set(i, {i % 2 * i, 0});  // 0 1 0 / 3 0 5
  }
  ir::Array places(ir::kI64, {2, 3});
  for (const auto& [i, v] : {std::pair{0, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 0}, {5, 2}}) {
    places.set(i, {v, 0});
  }
  EXPECT_EQ(difference(OpRun("NonZero").known(x).run()[0], places), "");
  EXPECT_THROW(OpRun("NonZero").in(x).run(), Unsupported);

  ir::Array keep(ir::kBool, {2});
  keep.set(1, {1, 0});
  EXPECT_EQ(difference(OpRun("Compress").in(x).known(keep).with("axis", int64_t{1}).run()[0],
                       filled_by(ir::kI32, {2, 1},
                                 [&](const Place& p) {
                                   return at(x, {p[0], 1});
                                 })),
            "");
  EXPECT_EQ(OpRun("Compress").in(x).known(keep).run()[0].get(0).i, 1);
  EXPECT_THROW(OpRun("Compress").in(x).in(keep).run(), Unsupported);
}

TEST(CountedByData, DistinctValuesSortedAndNot) {
  const ir::Array x = ints({5, 2, 5, -1, 2, 5});
  const auto sorted = OpRun("Unique").known(x).outputs(4).run();
  EXPECT_EQ(difference(sorted[0], ints({-1, 2, 5})), "");
  EXPECT_EQ(difference(sorted[1], ints({3, 1, 0})), "");
  EXPECT_EQ(difference(sorted[2], ints({2, 1, 2, 0, 1, 2})), "");
  EXPECT_EQ(difference(sorted[3], ints({1, 2, 3})), "");
  const auto first = OpRun("Unique").known(x).with("sorted", int64_t{0}).outputs(4).run();
  EXPECT_EQ(difference(first[0], ints({5, 2, -1})), "");
  EXPECT_EQ(difference(first[1], ints({0, 1, 3})), "");
  EXPECT_EQ(difference(first[2], ints({0, 1, 0, 2, 1, 0})), "");
  EXPECT_EQ(difference(first[3], ints({3, 2, 1})), "");

  ir::Array columns(ir::kI64, {2, 3});
  for (const auto& [i, v] : {std::pair{0, 4}, {1, 1}, {2, 4}, {3, 0}, {4, 9}, {5, 0}}) {
    columns.set(i, {v, 0});
  }
  const auto by_column = OpRun("Unique").known(columns).with("axis", int64_t{1}).outputs(4).run();
  ir::Array want(ir::kI64, {2, 2});
  for (const auto& [i, v] : {std::pair{0, 1}, {1, 4}, {2, 9}, {3, 0}}) {
    want.set(i, {v, 0});
  }
  EXPECT_EQ(difference(by_column[0], want), "");
  EXPECT_EQ(difference(by_column[2], ints({1, 0, 1})), "");
}

}  // namespace
}  // namespace tenon::onnx
