// SPDX-License-Identifier: Apache-2.0
// Every operator and conversion on every type, for scalars and vectors of odd and even lanes.
#include <cmath>
#include <limits>

#include "backend/element_wise.h"
#include "backend/harness.h"

namespace tenon::backend {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;

const DType kTypes[] = {ir::kBool, ir::kI8,  ir::kI16, ir::kI32,  ir::kI64, ir::kU8, ir::kU16,
                        ir::kU32,  ir::kU64, ir::kF16, ir::kBF16, ir::kF32, ir::kF64};
const int kLanes[] = {1, 3, 8, 16};

class OpsTest : public ::testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(AllTypes, OpsTest, ::testing::ValuesIn(kTypes),
                         [](const auto& tested) { return ir::to_string(tested.param); });

std::vector<BinaryOp> legal_ops(DType t) {
  using enum BinaryOp;
  if (t.is_bool()) {
    return {kAnd, kOr, kEq, kNe};
  }
  std::vector<BinaryOp> ops = {kAdd, kSub, kMul, kMin, kMax, kEq, kNe, kLt, kLe};
  if (t.is_float()) {
    ops.insert(ops.end(), {kDiv, kMinimum, kMaximum});
  } else {
    ops.insert(ops.end(), {kBitAnd, kBitOr, kBitXor});
  }
  return ops;
}

TEST_P(OpsTest, Binary) {
  const DType t = GetParam();
  ElementWise f("binary");
  f.input(t);
  f.input(t);
  for (const BinaryOp op : legal_ops(t)) {
    for (const int lanes : kLanes) {
      f.output(ir::is_comparison(op) ? ir::kBool : t, lanes,
               [&](auto& in) { return ir::make_binary(op, in[0], in[1]); });
    }
  }
  Rng rng(1);
  expect_same(f.get(), random_args(f.get(), rng));
}

TEST_P(OpsTest, DivisionAndShift) {
  const DType t = GetParam();
  if (!t.is_int()) {
    return;
  }
  using enum BinaryOp;
  ElementWise f("division");
  for (int k = 0; k < 3; ++k) {
    f.input(t);
  }
  for (const BinaryOp op : {kDiv, kFloorDiv, kFloorMod, kShl, kShr}) {
    const size_t right = op == kShl || op == kShr ? 2 : 1;
    for (const int lanes : {1, 3, 8}) {
      f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, in[0], in[right]); });
    }
  }
  Rng rng(3);
  auto args = random_args(f.get(), rng);
  for (int64_t i = 0; i < ElementWise::kElements; ++i) {
    if (args[1].get(i).i == 0) {
      args[1].set(i, {rng.chance(0.5) ? ir::wrap_int(t, -1) : 3, 0});
    }
    args[2].set(i, {rng.between(0, t.bits - 1), 0});
  }
  expect_same(f.get(), args);
}

TEST_P(OpsTest, DivisionByConstants) {
  const DType t = GetParam();
  if (!t.is_int()) {
    return;
  }
  ElementWise f("by_constants");
  f.input(t);
  for (const int64_t by : {1, 2, 3, 7, 14, 16, 100, -1, -3, -8}) {
    if (by < 0 && !t.is_signed()) {
      continue;
    }
    for (const int lanes : {1, 8}) {
      for (const BinaryOp op : {BinaryOp::kDiv, BinaryOp::kFloorDiv, BinaryOp::kFloorMod}) {
        const Expr d = ir::make_int(t.with_lanes(lanes), by);
        f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, in[0], d); });
      }
    }
  }
  Rng rng(4);
  expect_same(f.get(), random_args(f.get(), rng));
}

TEST_P(OpsTest, UnaryAndSelect) {
  const DType t = GetParam();
  ElementWise f("unary");
  f.input(t);
  f.input(ir::kBool);
  f.input(t);
  for (const int lanes : kLanes) {
    f.output(t, lanes, [](auto& in) { return ir::select(in[1], in[0], in[2]); });
    if (t.is_bool()) {
      f.output(t, lanes, [](auto& in) { return ir::logical_not(in[0]); });
    } else {
      f.output(t, lanes, [](auto& in) { return -in[0]; });
    }
    if (t.is_int()) {
      f.output(t, lanes, [](auto& in) { return ir::bit_not(in[0]); });
      f.output(t, lanes, [](auto& in) { return ir::call(ir::Intrinsic::kAbs, {in[0]}); });
    }
  }
  Rng rng(5);
  expect_same(f.get(), random_args(f.get(), rng));
}

TEST_P(OpsTest, Reduce) {
  const DType t = GetParam();
  using enum BinaryOp;
  const std::vector<BinaryOp> ops =
      t.is_bool()    ? std::vector<BinaryOp>{kAnd, kOr}
      : t.is_float() ? std::vector<BinaryOp>{kAdd, kMul, kMin, kMax, kMinimum, kMaximum}
                     : std::vector<BinaryOp>{kAdd, kMul, kMin, kMax};
  ElementWise f("reduce");
  f.input(t);
  for (const BinaryOp op : ops) {
    for (const int lanes : {2, 3, 5, 8, 15, 16, 20}) {
      if (op == kMul && lanes > 8) {
        continue;
      }
      f.output(t, lanes,
               [&](auto& in) { return ir::broadcast(ir::vector_reduce(op, in[0]), lanes); });
    }
  }
  Rng rng(6);
  // Exact in any order.
  expect_same(f.get(), small_args(f.get(), rng, t.is_signed() ? -2 : 0, 2));
}

void fill_with_specials(ir::Array& a, Rng& rng) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set_double(i, rng.pick<double>({std::nan(""), kInf, -kInf, 0, -0.0, 1, -2, 3, 4}));
  }
}

// NaN, infinities and zeros on either side, in every lane and in the accumulator of a reduction.
TEST_P(OpsTest, ExtremesOfSpecialValues) {
  const DType t = GetParam();
  if (!t.is_float()) {
    return;
  }
  const Expr half = ir::make_float(t, 0.5);
  using enum BinaryOp;
  ElementWise f("extremes");
  f.input(t);
  f.input(t);
  for (const BinaryOp op : {kMin, kMax, kMinimum, kMaximum}) {
    for (const int lanes : {1, 3, 5, 8, 16}) {
      const Expr constant = ir::broadcast(half, lanes);
      f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, in[0], in[1]); });
      f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, in[0], constant); });
      f.output(t, lanes, [&](auto& in) { return ir::make_binary(op, constant, in[0]); });
      if (lanes == 1) {
        continue;
      }
      f.output(t, lanes,
               [&](auto& in) { return ir::broadcast(ir::vector_reduce(op, in[0]), lanes); });
    }
  }
  Rng rng(11);
  auto args = random_args(f.get(), rng);
  fill_with_specials(args[0], rng);
  fill_with_specials(args[1], rng);
  expect_same(f.get(), args);
}

TEST_P(OpsTest, GroupsOfSpecialValues) {
  const DType t = GetParam();
  if (!t.is_float()) {
    return;
  }
  using enum BinaryOp;
  ir::Function f{"groups", {ir::Buffer::make("in", t, {240})}, 1, {}};
  std::vector<ir::Stmt> loops;
  for (const BinaryOp op : {kMin, kMax, kMinimum, kMaximum}) {
    const auto out = ir::Buffer::make("out", t, {60});
    const ir::Var i("i");
    const Expr lanes = ir::load(f.params[0], {ir::ramp(i * 16, 1, 16)});
    loops.push_back(
        ir::make_for(i, 0, 15, ir::ForKind::kSerial,
                     ir::store(out, {ir::ramp(i * 4, 1, 4)}, ir::vector_reduce(op, lanes, 4))));
    f.params.push_back(out);
  }
  f.body = ir::block(loops);
  Rng rng(12);
  auto args = random_args(f, rng);
  fill_with_specials(args[0], rng);
  expect_same(f, args);
}

std::vector<double> edge_values() {
  return {1e10,
          1e300,
          127.5,
          128,
          255.9,
          2147483648.0,
          1e-40,
          65519.9,
          65520.0,
          1.0009765625,
          6.1e-5,
          3e-8,
          1.00390625,
          1.01171875,
          9.3e18,
          1.9e19,
          std::numeric_limits<double>::infinity(),
          std::nan("")};
}

TEST_P(OpsTest, CastToEveryType) {
  const DType from = GetParam();
  ElementWise f("cast");
  f.input(from);
  for (const DType to : kTypes) {
    for (const int lanes : kLanes) {
      f.output(to, lanes, [&](auto& in) { return ir::cast(to.with_lanes(lanes), in[0]); });
    }
  }
  Rng rng(7);
  auto args = random_args(f.get(), rng);
  int64_t k = 0;
  for (const double v : from.is_float() ? edge_values() : std::vector<double>{}) {
    args[0].set(k++, {0, ir::round_to(from, v)});
    args[0].set(k++, {0, ir::round_to(from, -v)});
  }
  expect_same(f.get(), args);
}

TEST_P(OpsTest, NarrowFloatsRoundAfterEachOperation) {
  const DType t = GetParam();
  if (!t.is_float() || t.bits != 16) {
    return;
  }
  ElementWise f("narrow");
  for (int k = 0; k < 3; ++k) {
    f.input(t);
  }
  for (const int lanes : kLanes) {
    f.output(t, lanes, [](auto& in) { return in[0] * in[1] + in[2] * in[0] - in[1]; });
  }
  Rng rng(8);
  expect_same(f.get(), random_args(f.get(), rng));
}

// Masks as lowering writes them: evenly spaced indices against a limit on either side of them.
TEST(MaskTest, ComparisonsOfRuns) {
  constexpr int kWidth = 8;
  constexpr int64_t kLimits = 60;
  ir::Function f{"masks", {}, 0, {}};
  std::vector<ir::Stmt> loops;
  for (const BinaryOp op : {BinaryOp::kEq, BinaryOp::kNe, BinaryOp::kLt, BinaryOp::kLe}) {
    for (const int64_t stride : {-3, -1, 0, 1, 2}) {
      const auto out = ir::Buffer::make("out", ir::kBool, {2 * kLimits * kWidth});
      const ir::Var i("i");
      const Expr lanes = ir::ramp(i * 2 + 5, stride, kWidth);
      const Expr limit = ir::broadcast(i * 3 - 30, kWidth);
      const Expr to = ir::ramp(i * (2 * kWidth), 1, kWidth);
      loops.push_back(
          ir::make_for(i, 0, kLimits, ir::ForKind::kSerial,
                       ir::block({ir::store(out, {to}, ir::make_binary(op, lanes, limit)),
                                  ir::store(out, {to + ir::broadcast(Expr(kWidth), kWidth)},
                                            ir::make_binary(op, limit, lanes))})));
      f.params.push_back(out);
    }
  }
  f.body = ir::block(loops);
  Rng rng(10);
  expect_same(f, random_args(f, rng));
}

// Whether a product is fused or not cannot be seen on small integers.
TEST(ContractionTest, ProductsAndSums) {
  for (const DType t : {ir::kF32, ir::kF64}) {
    ElementWise f("fused");
    for (int k = 0; k < 4; ++k) {
      f.input(t);
    }
    for (const int lanes : kLanes) {
      f.output(t, lanes, [](auto& in) { return in[0] * in[1] + in[2]; });
      f.output(t, lanes, [](auto& in) { return in[2] - in[0] * in[1]; });
      f.output(t, lanes, [](auto& in) { return in[0] * in[1] - in[2]; });
      f.output(t, lanes, [](auto& in) { return in[0] * in[1] + in[2] * in[3]; });
    }
    Rng rng(9);
    expect_same(f.get(), small_args(f.get(), rng));
  }
}

}  // namespace
}  // namespace tenon::backend
