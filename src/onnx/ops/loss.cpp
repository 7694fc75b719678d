// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <optional>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::BinaryOp;
using ir::Expr;

struct Loss {
  std::string reduction;
  std::optional<int64_t> ignored;
  bool weighted = false;
  int64_t classes = 1;
};

Loss read(Convert& c) {
  require_float(c.dtype(0));
  if (!c.dtype(1).is_int()) refuse("labels are {}", ir::to_string(c.dtype(1)));
  Loss loss;
  loss.reduction = c.string_or("reduction", "mean");
  if (loss.reduction != "none" && loss.reduction != "sum" && loss.reduction != "mean") {
    refuse("reduction '{}' is not known", loss.reduction);
  }
  if (c.has("ignore_index")) loss.ignored = c.int_or("ignore_index", 0);
  loss.weighted = c.has_input(2);
  const Shape& scores = c.shape(0);
  Shape labels = scores;
  if (labels.size() >= 2) labels.erase(labels.begin() + 1);
  if (scores.size() < 2 || c.shape(1) != labels) {
    refuse("the labels have another shape than the scores without their classes");
  }
  loss.classes = scores[1];
  if (loss.weighted && c.shape(2) != Shape{loss.classes}) {
    refuse("there is not one weight per class");
  }
  if (c.b().value(c.input(0)).elements() == 0) {
    refuse("a loss of no elements");
  }
  return loss;
}

std::vector<Expr> exprs(Axes axes) { return {axes.begin(), axes.end()}; }

// The weight of the label at `axes`; 0 where it is to be ignored.
Expr weight(const Loss& loss, ir::DType t, std::span<const te::Tensor> in, Axes axes) {
  const Expr label = ir::cast(ir::kI64, ir::load(in[1], exprs(axes)));
  Expr w = ir::make_float(t, 1);
  if (loss.weighted) {
    w = ir::cast(t, ir::load(in[2], {clamped(label, loss.classes)}));
  }
  return loss.ignored ? ir::select(ir::eq(label, *loss.ignored), ir::zero_of(t), w) : w;
}

// minus the log-probability of the label, weighted. An ignored label counts 0 even beside infinities.
Expr element(const Loss& loss, ir::DType t, std::span<const te::Tensor> in, Axes axes) {
  const Expr label = ir::cast(ir::kI64, ir::load(in[1], exprs(axes)));
  std::vector<Expr> at = exprs(axes);
  at.insert(at.begin() + 1, clamped(label, loss.classes));
  const Expr value = -ir::cast(t, ir::load(in[0], at)) * weight(loss, t, in, axes);
  return loss.ignored ? ir::select(ir::eq(label, *loss.ignored), ir::zero_of(t), value) : value;
}

// in: log-probabilities, labels, weights.
te::Tensor reduced(te::Builder& b, const Loss& loss, ir::DType out,
                   std::span<const te::Tensor> in) {
  const ir::DType t = wide(out);
  const Shape& shape = in[1].shape();
  const auto sum = [&](const std::string& name, auto part) {
    return b.reduce(name, {}, BinaryOp::kAdd, shape,
                    [&](Axes, Axes k) { return part(loss, t, in, k); });
  };
  if (loss.reduction == "none") {
    return b.compute("loss", shape, [&](Axes i) { return ir::cast(out, element(loss, t, in, i)); });
  }
  const te::Tensor total = sum("loss.sum", element);
  if (loss.reduction == "sum") {
    return b.compute("loss", {}, [&](Axes) { return ir::cast(out, ir::load(total, {})); });
  }
  const te::Tensor weights = sum("loss.weight", weight);
  return b.compute(
      "loss", {}, [&](Axes) { return ir::cast(out, ir::load(total, {}) / ir::load(weights, {})); });
}

ValueId nll(Convert& c, const Loss& loss, ValueId log_probabilities) {
  std::vector<ValueId> inputs{log_probabilities, c.input(1)};
  if (loss.weighted) inputs.push_back(c.input(2));
  return c.b().compute("nll_loss", inputs, [&](te::Builder& b, std::span<const te::Tensor> in) {
    return reduced(b, loss, in[0].dtype(), in);
  });
}

std::vector<ValueId> convert_nll(Convert& c) { return {nll(c, read(c), c.input(0))}; }

// x - max - log(sum(exp(x - max))) over dimension 1.
te::Tensor log_softmax(te::Builder& b, const te::Tensor& x) {
  const ir::DType t = wide(x.dtype());
  Shape rest = x.shape();
  rest.erase(rest.begin() + 1);
  const auto with_class = [](Axes axes, const Expr& k) {
    std::vector<Expr> at = exprs(axes);
    at.insert(at.begin() + 1, k);
    return at;
  };
  const Shape classes{x.shape()[1]};
  const te::Tensor top = b.reduce("max", rest, BinaryOp::kMax, classes,
                                  [&](Axes i, Axes k) { return ir::load(x, with_class(i, k[0])); });
  const te::Tensor sum = b.reduce("sum", rest, BinaryOp::kAdd, classes, [&](Axes i, Axes k) {
    return ir::call(ir::Intrinsic::kExp, {ir::cast(t, ir::load(x, with_class(i, k[0]))) -
                                          ir::cast(t, ir::load(top, exprs(i)))});
  });
  return b.compute("log_softmax", x.shape(), [&](Axes i) {
    std::vector<Expr> at = exprs(i);
    at.erase(at.begin() + 1);
    const Expr shifted = ir::cast(t, ir::load(x, exprs(i))) - ir::cast(t, ir::load(top, at));
    return ir::cast(x.dtype(), shifted - ir::call(ir::Intrinsic::kLog, {ir::load(sum, at)}));
  });
}

std::vector<ValueId> convert_softmax_cross_entropy(Convert& c) {
  const Loss loss = read(c);
  const ValueId log_probabilities = c.b().compute(
      "log_softmax", {c.input(0)}, [](te::Builder& b, auto in) { return log_softmax(b, in[0]); });
  return {nll(c, loss, log_probabilities), log_probabilities};
}

constexpr Row kLossRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, convert_nll},
    {"", "NegativeLogLikelihoodLoss", 13, convert_nll},
    {"", "SoftmaxCrossEntropyLoss", 12, convert_softmax_cross_entropy},
    {"", "SoftmaxCrossEntropyLoss", 13, convert_softmax_cross_entropy},
};

}  // namespace

std::span<const Row> rows_loss() { return kLossRows; }

}  // namespace tenon::onnx
