// SPDX-License-Identifier: Apache-2.0
// Reductions, and operators over rows.
#include <algorithm>

#include "graph_fuzz/rows.h"

namespace tenon::graph_fuzz {
namespace {

Drawn operand(Draft& d, const Row& row, int64_t rank_low) {
  return d.pick(
      row.types,
      [&](const Drawn& v) {
        const bool anything = row.range.high >= 50;
        return v.data.elements() > 0 && v.rank() >= rank_low && v.rank() <= 4 &&
               (anything || bounded(v.data, row.range.low, row.range.high));
      },
      [&] {
        const Range r{std::max(row.range.low, -3.0), std::min(row.range.high, 3.0), false};
        return d.leaf(d.type_among(row.types), d.shape(rank_low, 4), r);
      });
}

// Sums take their axes as an operand since opset 13, the others since 18.
bool reduce(Draft& d, const Row& row) {
  const Drawn x = operand(d, row, 1);
  Ints axes = d.permutation(x.rank());
  axes.resize(static_cast<size_t>(d.rng().between(1, x.rank())));
  if (d.opset() >= 11 && d.rng().chance(0.3)) axes[0] -= x.rank();
  Attributes a;
  if (d.rng().chance(0.7)) a.emplace_back("keepdims", d.rng().between(0, 1));
  const bool as_operand = d.opset() >= (row.op == "ReduceSum" ? 13 : 18);
  if (d.rng().chance(0.2)) {
    if (as_operand && d.rng().chance(0.5)) a.emplace_back("noop_with_empty_axes", int64_t{1});
    return d.node(row.name(), {x.name}, a);
  }
  if (as_operand) return d.node(row.name(), {x.name, d.ints(axes).name}, a);
  a.emplace_back("axes", axes);
  return d.node(row.name(), {x.name}, a);
}

bool over_rows(Draft& d, const Row& row) {
  const Drawn x = operand(d, row, 1);
  Attributes a;
  if (d.rng().chance(0.7)) a.emplace_back("axis", d.axis_of(x));
  if (a.empty() && d.opset() < 13 && x.rank() < 2) a.emplace_back("axis", int64_t{0});
  return d.node(row.name(), {x.name}, a);
}

bool lp_normalization(Draft& d, const Row& row) {
  const Drawn x = operand(d, row, 1);
  return d.node(row.name(), {x.name}, {{"axis", d.plain_axis(x)}, {"p", d.rng().between(1, 2)}});
}

struct Loss {
  Drawn scores, target;
  Names operands;
};

// Scores N C D.., a class in 0..C-1 for each of N D..
Loss loss_operands(Draft& d, const Row& row, bool probabilities) {
  Shape s = d.shape(0, 2, 20);
  const int64_t classes = d.rng().between(2, 6);
  const int64_t batch = d.rng().between(1, 4);
  Shape target = s;
  target.insert(target.begin(), batch);
  s.insert(s.begin(), {batch, classes});
  const Range r = probabilities ? Range{-4, 0, false} : Range{};
  Loss loss{d.leaf(d.type_among(row.types), s, r),
            d.leaf(ir::kI64, target, {0, static_cast<double>(classes - 1), true}),
            {}};
  loss.operands = {loss.scores.name, loss.target.name};
  if (d.rng().chance(0.4)) {
    loss.operands.push_back(d.leaf(loss.scores.type(), {classes}, {0.5, 2, false}).name);
  }
  return loss;
}

bool loss(Draft& d, const Row& row) {
  const bool log_too = row.op == "SoftmaxCrossEntropyLoss";
  const Loss l = loss_operands(d, row, !log_too);
  static const std::vector<std::string> kFolds = {"none", "sum", "mean"};
  return d.node(row.name(), l.operands, {{"reduction", d.rng().pick(kFolds)}},
                log_too && d.rng().chance(0.4) ? 2 : 1);
}

constexpr Types kReduced = kFloats | kWide;
constexpr Range kPositive{0.05, 40, false};
constexpr Range kExponent{-8, 6, false};
constexpr Range kSmall{-4, 4, false};

const Row kReduceRows[] = {
    {"Hardmax", 7, 21, kFloats, over_rows},
    {"LogSoftmax", 7, 21, kFloats, over_rows},
    {"LpNormalization", 7, 21, kFloats, lp_normalization, kPositive},
    {"NegativeLogLikelihoodLoss", 12, 21, kFloats, loss},
    {"ReduceL1", 7, 21, kReduced, reduce},
    {"ReduceL2", 7, 21, kReduced, reduce},
    {"ReduceLogSum", 7, 21, kFloats, reduce, kPositive},
    {"ReduceLogSumExp", 7, 21, kFloats, reduce, kExponent},
    {"ReduceMax", 7, 11, kReduced, reduce},
    {"ReduceMax", 12, 21, kReduced | kI8 | kU8, reduce},
    {"ReduceMean", 7, 21, kReduced, reduce},
    {"ReduceMin", 7, 11, kReduced, reduce},
    {"ReduceMin", 12, 21, kReduced | kI8 | kU8, reduce},
    {"ReduceProd", 7, 21, kReduced, reduce, kSmall},
    {"ReduceSum", 7, 21, kReduced, reduce},
    {"ReduceSumSquare", 7, 21, kReduced, reduce},
    {"Softmax", 7, 21, kFloats, over_rows},
    {"SoftmaxCrossEntropyLoss", 12, 21, kFloats, loss},
};

}  // namespace

std::span<const Row> rows_reduce() { return kReduceRows; }

}  // namespace tenon::graph_fuzz
