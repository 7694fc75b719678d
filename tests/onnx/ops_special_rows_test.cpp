// SPDX-License-Identifier: Apache-2.0
// What reductions, places of extremes, softmax and pooling make of NaN and infinities, wherever these
// are in a row. The wanted numbers were written down from ONNX's reference implementation.
#include <gtest/gtest.h>

#include "onnx/special_values.h"

namespace tenon::onnx {
namespace {

using namespace testing;

// ---- along a row -----------------------------------------------------------------------------

struct RowCase {
  Elements x;
  double largest, smallest, log_sum_exp, sum, norm;
  int64_t arg_max, arg_min, last_max, last_min;
  Elements softmax;
  std::vector<int64_t> descending, ascending;  // as TopK orders them
};

const Elements kAllNan(7, kNan);

// No result is a 0, so that a row may be made longer with them.
// clang-format off
const RowCase kRowCases[] = {
    {{1, kNan, 3, -2, kNan, 2, -1}, kNan, kNan, kNan, kNan, kNan, 1, 1, 4, 4, kAllNan,
     {1, 4, 2, 5, 0, 6, 3}, {3, 6, 0, 5, 2, 1, 4}},
    {{kNan, 4, -3, 1, 2, 3, -4}, kNan, kNan, kNan, kNan, kNan, 0, 0, 0, 0, kAllNan,
     {0, 1, 5, 4, 3, 2, 6}, {6, 2, 3, 4, 5, 1, 0}},
    {{4, -3, 1, 2, 3, -4, kNan}, kNan, kNan, kNan, kNan, kNan, 6, 6, 6, 6, kAllNan,
     {6, 0, 4, 3, 2, 1, 5}, {5, 1, 2, 3, 4, 0, 6}},
    {{kInf, 1, kInf, -1, 2, 3, -2}, kInf, -2, kInf, kInf, kInf, 0, 6, 2, 6, kAllNan,
     {0, 2, 5, 4, 1, 3, 6}, {6, 3, 1, 4, 5, 0, 2}},
    {{1, -kInf, 2, -kInf, 3, -1, -2}, 3, -kInf, 3.424135, -kInf, kInf, 4, 1, 4, 3,
     {0.08855466, 0, 0.2407165, 0, 0.6543354, 0.01198457, 0.004408876},
     {4, 2, 0, 5, 6, 1, 3}, {1, 3, 6, 5, 0, 2, 4}},
    {{kInf, -kInf, 1, kNan, -1, 2, 3}, kNan, kNan, kNan, kNan, kNan, 3, 3, 3, 3, kAllNan,
     {3, 0, 6, 5, 2, 4, 1}, {1, 4, 2, 5, 6, 0, 3}},
    {{kInf, 2, 1, -kInf, -1, -2, 3}, kInf, -kInf, kInf, kNan, kInf, 0, 3, 0, 3, kAllNan,
     {0, 6, 1, 2, 4, 5, 3}, {3, 5, 4, 2, 1, 6, 0}},
    {{1, 2, 3, -1, -2, -3, 2}, 3, -3, 3.641131, 2, 5.656854, 2, 5, 2, 5,
     {0.07128063, 0.1937608, 0.5266966, 0.009646785, 0.003548853, 0.00130555, 0.1937608},
     {2, 1, 6, 0, 3, 4, 5}, {5, 4, 3, 0, 1, 6, 2}},
};
// clang-format on

// All rows with so many numbers `filling` in front of them and behind.
ir::Array all_rows(ir::DType t, int64_t before, int64_t after, double filling) {
  const auto count = static_cast<int64_t>(std::size(kRowCases));
  return filled_by(t, {count, before + 7 + after}, [&](const std::vector<int64_t>& at) {
    const int64_t j = at[1] - before;
    const Elements& x = kRowCases[at[0]].x;
    return j >= 0 && j < 7 ? x[static_cast<size_t>(j)] : filling;
  });
}

template <class Number>
ir::Array of_each_row(ir::DType t, Number RowCase::*member, double add = 0) {
  const auto count = static_cast<int64_t>(std::size(kRowCases));
  return filled_by(t, {count, 1}, [&](const std::vector<int64_t>& at) {
    return static_cast<double>(kRowCases[at[0]].*member) + add;
  });
}

struct Around {
  int64_t before, after;
};
constexpr Around kAround[] = {{0, 0}, {10, 0}, {0, 10}, {26, 0}, {9, 17}};

TEST(SpecialValues, Reductions) {
  const std::pair<const char*, double RowCase::*> ops[] = {{"ReduceMax", &RowCase::largest},
                                                           {"ReduceMin", &RowCase::smallest},
                                                           {"ReduceSum", &RowCase::sum},
                                                           {"ReduceL2", &RowCase::norm}};
  for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
    for (const Around& a : kAround) {
      const ir::Array x = all_rows(t, a.before, a.after, 0);
      for (const auto& [op, member] : ops) {
        const ir::Array got = OpRun(op, 18).in(x).known(ints({1})).run()[0];
        EXPECT_EQ(difference(got, of_each_row(t, member), seven_digits(t)), "")
            << op << " " << ir::to_string(t) << " " << a.before << "+7+" << a.after;
      }
      const ir::Array spread = all_rows(t, a.before, a.after, -kInf);
      const ir::Array got = OpRun("ReduceLogSumExp", 18).in(spread).known(ints({1})).run()[0];
      EXPECT_EQ(difference(got, of_each_row(t, &RowCase::log_sum_exp), seven_digits(t)), "");
    }
  }
}

// Down the columns: the reduced dimension is not the one of the vectors.
TEST(SpecialValues, ReductionsOfColumns) {
  const ir::Array rows = all_rows(ir::kF32, 0, 0, 0);
  const auto count = static_cast<int64_t>(std::size(kRowCases));
  for (const int64_t width : {count, int64_t{17}, int64_t{33}}) {
    const ir::Array x = filled_by(ir::kF32, {7, width}, [&](const std::vector<int64_t>& p) {
      return at(rows, {p[1] % count, p[0]});
    });
    const ir::Array want = filled_by(ir::kF32, {1, width}, [&](const std::vector<int64_t>& p) {
      return kRowCases[p[1] % count].largest;
    });
    EXPECT_EQ(difference(OpRun("ReduceMax", 18).in(x).known(ints({0})).run()[0], want), "");
  }
}

TEST(SpecialValues, PlacesOfExtremes) {
  for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
    for (const Around& a : kAround) {
      const ir::Array x = all_rows(t, a.before, a.after, 0);
      const auto before = static_cast<double>(a.before);
      const auto arg = [&](const char* op, int64_t last) {
        return OpRun(op).with("axis", int64_t{1}).with("select_last_index", last).in(x).run()[0];
      };
      const auto want = [&](int64_t RowCase::*member) {
        return of_each_row(ir::kI64, member, before);
      };
      EXPECT_EQ(difference(arg("ArgMax", 0), want(&RowCase::arg_max)), "") << a.before;
      EXPECT_EQ(difference(arg("ArgMin", 0), want(&RowCase::arg_min)), "") << a.before;
      EXPECT_EQ(difference(arg("ArgMax", 1), want(&RowCase::last_max)), "") << a.before;
      EXPECT_EQ(difference(arg("ArgMin", 1), want(&RowCase::last_min)), "") << a.before;
      const ir::Array hot = filled_by(t, x.shape(), [&](const std::vector<int64_t>& p) {
        return p[1] == a.before + kRowCases[p[0]].arg_max ? 1.0 : 0.0;
      });
      EXPECT_EQ(difference(OpRun("Hardmax").in(x).run()[0], hot), "") << a.before;
    }
  }
}

TEST(SpecialValues, TopKSortsNanAsTheLargest) {
  for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
    for (const bool largest : {true, false}) {
      const ir::Array x = all_rows(t, 0, 0, 0);
      const auto got =
          OpRun("TopK").in(x).known(ints({7})).with("largest", int64_t{largest}).outputs(2).run();
      const ir::Array want = filled_by(ir::kI64, x.shape(), [&](const std::vector<int64_t>& p) {
        const RowCase& row = kRowCases[p[0]];
        return static_cast<double>(
            (largest ? row.descending : row.ascending)[static_cast<size_t>(p[1])]);
      });
      EXPECT_EQ(difference(got[1], want), "");
      const ir::Array values = filled_by(t, x.shape(), [&](const std::vector<int64_t>& p) {
        return at(x, {p[0], static_cast<int64_t>(at(want, p))});
      });
      EXPECT_EQ(difference(got[0], values), "");
    }
  }
}

TEST(SpecialValues, Softmax) {
  for (const ir::DType t : {ir::kF16, ir::kF32, ir::kF64}) {
    for (const Around& a : kAround) {
      const ir::Array x = all_rows(t, a.before, a.after, -kInf);
      const auto want = [&](bool logarithm) {
        return filled_by(t, x.shape(), [&](const std::vector<int64_t>& p) {
          const RowCase& row = kRowCases[p[0]];
          const int64_t j = p[1] - a.before;
          const double outside = std::isnan(row.softmax[0]) ? kNan : 0;
          const double v = j >= 0 && j < 7 ? row.softmax[static_cast<size_t>(j)] : outside;
          return logarithm ? std::log(v) : v;
        });
      };
      const double allowed = t == ir::kF16 ? 2e-3 : 1e-5;
      EXPECT_EQ(difference(OpRun("Softmax").in(x).run()[0], want(false), allowed), "");
      EXPECT_EQ(difference(OpRun("LogSoftmax").in(x).run()[0], want(true), allowed), "");
    }
  }
  const ir::Array nothing = filled_by(ir::kF32, {3, 17}, [](const auto&) { return -kInf; });
  const ir::Array nan = filled_by(ir::kF32, {3, 17}, [](const auto&) { return kNan; });
  EXPECT_EQ(difference(OpRun("Softmax").in(nothing).run()[0], nan), "");
  EXPECT_EQ(difference(OpRun("LogSoftmax").in(nothing).run()[0], nan), "");
}

// The same elements in another shape.
ir::Array reshaped(const ir::Array& a, const Shape& shape) {
  return filled_by(a.dtype(), shape,
                   [&](const auto& at) { return a.get_double(offset_of(shape, at)); });
}

// ---- windows ---------------------------------------------------------------------------------

// A NaN is passed over, as the reference does unless it comes first in a window with strides.
TEST(SpecialValues, MaxPoolSkipsNan) {
  const ir::Array x = filled_by(ir::kF32, {1, 1, 9}, [](const std::vector<int64_t>& p) {
    return Elements{1, kNan, 3, 2, kNan, -kInf, kNan, kInf, 5}[static_cast<size_t>(p[2])];
  });
  const auto got = OpRun("MaxPool")
                       .in(x)
                       .with("kernel_shape", std::vector<int64_t>{3})
                       .with("strides", std::vector<int64_t>{2})
                       .outputs(2)
                       .run();
  EXPECT_EQ(difference(reshaped(got[0], {4}), floats({3, 3, -kInf, kInf})), "");
  EXPECT_EQ(difference(reshaped(got[1], {4}), ints({2, 2, 5, 7})), "");
}

TEST(SpecialValues, IndicesOfMaxPoolStayInsideWhenAllIsNan) {
  const ir::Array x = filled_by(ir::kF32, {1, 1, 6}, [](const auto&) { return kNan; });
  const auto got = OpRun("MaxPool")
                       .in(x)
                       .with("kernel_shape", std::vector<int64_t>{3})
                       .with("strides", std::vector<int64_t>{3})
                       .outputs(2)
                       .run();
  EXPECT_EQ(difference(reshaped(got[1], {2}), ints({0, 3})), "");
}

TEST(SpecialValues, GlobalMaxPoolKeepsNan) {
  const ir::Array rows = all_rows(ir::kF32, 3, 23, 0);
  const auto count = static_cast<int64_t>(std::size(kRowCases));
  const ir::Array got = OpRun("GlobalMaxPool").in(reshaped(rows, {1, count, 33})).run()[0];
  EXPECT_EQ(difference(reshaped(got, {count, 1}), of_each_row(ir::kF32, &RowCase::largest)), "");
}

TEST(SpecialValues, ScatterKeepsNan) {
  const ir::Array data = floats({kNan, 1, 2, 3, -kInf});
  const ir::Array updates = floats({0, kNan, 5, -kInf, 4});
  const auto scattered = [&](const std::string& reduction) {
    return OpRun("ScatterElements", 18)
        .in(data)
        .in(ints({0, 1, 2, 3, 4}))
        .in(updates)
        .with("reduction", reduction)
        .run()[0];
  };
  EXPECT_EQ(difference(scattered("max"), floats({kNan, kNan, 5, 3, 4})), "");
  EXPECT_EQ(difference(scattered("min"), floats({kNan, kNan, 2, -kInf, -kInf})), "");
}

}  // namespace
}  // namespace tenon::onnx
