// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/recurrent_cell.h"

#include <algorithm>
#include <cctype>

#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using ir::Expr;
using ir::Intrinsic;

Expr like(const Expr& x, double v) { return ir::make_float(x.dtype(), v); }

Expr softplus(const Expr& x) {  // log(1 + exp(x)) without overflow
  return ir::max(x, like(x, 0)) +
         ir::call(Intrinsic::kLog,
                  {like(x, 1) + ir::call(Intrinsic::kExp, {-ir::call(Intrinsic::kAbs, {x})})});
}

struct Kind {
  std::string_view name;
  bool uses_alpha, uses_beta;
  double alpha, beta;  // when the model gives none
  Expr (*apply)(const Expr& x, const Expr& alpha, const Expr& beta);
};

constexpr Kind kKinds[] = {
    {"affine", true, true, 1, 0,
     [](const Expr& x, const Expr& a, const Expr& b) { return a * x + b; }},
    {"elu", true, false, 1, 0,
     [](const Expr& x, const Expr& a, const Expr&) {
       return ir::select(ir::lt(x, like(x, 0)), a * (ir::call(Intrinsic::kExp, {x}) - like(x, 1)),
                         x);
     }},
    {"hardsigmoid", true, true, 0.2, 0.5,
     [](const Expr& x, const Expr& a, const Expr& b) {
       return ir::min(ir::max(a * x + b, like(x, 0)), like(x, 1));
     }},
    {"leakyrelu", true, false, 0.01, 0,
     [](const Expr& x, const Expr& a, const Expr&) {
       return ir::select(ir::lt(x, like(x, 0)), a * x, x);
     }},
    {"relu", false, false, 0, 0,
     [](const Expr& x, const Expr&, const Expr&) { return ir::max(x, like(x, 0)); }},
    {"scaledtanh", true, true, 1, 1,
     [](const Expr& x, const Expr& a, const Expr& b) {
       return a * ir::call(Intrinsic::kTanh, {b * x});
     }},
    {"sigmoid", false, false, 0, 0,
     [](const Expr& x, const Expr&, const Expr&) { return ir::call(Intrinsic::kSigmoid, {x}); }},
    {"softplus", false, false, 0, 0,
     [](const Expr& x, const Expr&, const Expr&) { return softplus(x); }},
    {"softsign", false, false, 0, 0,
     [](const Expr& x, const Expr&, const Expr&) {
       return x / (like(x, 1) + ir::call(Intrinsic::kAbs, {x}));
     }},
    {"tanh", false, false, 0, 0,
     [](const Expr& x, const Expr&, const Expr&) { return ir::call(Intrinsic::kTanh, {x}); }},
    {"thresholdedrelu", true, false, 1, 0,
     [](const Expr& x, const Expr& a, const Expr&) {
       return ir::select(ir::lt(a, x), x, like(x, 0));
     }},
};

const Kind& kind_of(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  for (const Kind& k : kKinds) {
    if (k.name == lower) {
      return k;
    }
  }
  refuse("activation '{}' is not known", name);
}

}  // namespace

ir::Expr Activation::operator()(const ir::Expr& x) const {
  return kind_of(name).apply(x, like(x, alpha), like(x, beta));
}

std::vector<Activation> activations(const std::vector<std::string>& names,
                                    const std::vector<double>& alpha,
                                    const std::vector<double>& beta) {
  std::vector<Activation> result;
  size_t next_alpha = 0;
  size_t next_beta = 0;
  const auto take = [](bool uses, double otherwise, const std::vector<double>& from, size_t& next) {
    return uses && next < from.size() ? from[next++] : otherwise;
  };
  for (const std::string& name : names) {
    const Kind& k = kind_of(name);
    const double a = take(k.uses_alpha, k.alpha, alpha, next_alpha);
    result.push_back({name, a, take(k.uses_beta, k.beta, beta, next_beta)});
  }
  return result;
}

// The inputs of a step's node: xw, the clock, the lengths (if any), then what the step reads. The clock
// holds the time that the step reads and the step's number: two numbers, since one alone would become part
// of the kernel, and each step would have its own.
ir::Expr StepReads::x(int64_t g) const {
  Expr time = ir::load(in_[1], {0});
  if (layer_.reverse && layer_.lens >= 0) {
    time = ir::load(in_[2], {row_}) - 1 - ir::load(in_[1], {1});
  }
  // The definition must show that the read stays inside.
  time = ir::min(ir::max(time, 0), layer_.steps - 1);
  return ir::cast(layer_.sum, ir::load(in_[0], {time, row_, column_ + g * layer_.hidden}));
}

ir::Expr StepReads::at(size_t k, int64_t g) const {
  const te::Tensor& t = in_[(layer_.lens < 0 ? 2 : 3) + k];
  const Expr column = column_ + g * layer_.hidden;
  return ir::cast(layer_.sum, t.rank() == 1 ? ir::load(t, {column}) : ir::load(t, {row_, column}));
}

ir::Expr StepReads::clipped(const ir::Expr& v) const {
  if (layer_.clip == 0) {
    return v;
  }
  return ir::max(ir::min(v, like(v, layer_.clip)), like(v, -layer_.clip));
}

ir::Expr StepReads::alive() const {
  return layer_.lens < 0 ? Expr() : ir::lt(ir::load(in_[1], {1}), ir::load(in_[2], {row_}));
}

graph::ValueId step_node(graph::GraphBuilder& b, const std::string& label, const Layer& layer,
                         int64_t step, const std::vector<graph::ValueId>& reads, size_t keep,
                         const std::function<ir::Expr(const StepReads&)>& body) {
  const int64_t time = layer.reverse ? layer.steps - 1 - step : step;
  std::vector<graph::ValueId> inputs{layer.xw, b.ints({time, step})};
  if (layer.lens >= 0) {
    inputs.push_back(layer.lens);
  }
  inputs.insert(inputs.end(), reads.begin(), reads.end());
  return b.compute(label, inputs, [&](te::Builder& t, std::span<const te::Tensor> in) {
    return t.compute(label, {layer.batch, layer.hidden}, [&](std::span<const ir::Var> axes) {
      const StepReads r(layer, in, axes);
      const Expr next = body(r);
      const Expr alive = r.alive();
      return ir::cast(layer.dtype, alive.defined() ? ir::select(alive, next, r.at(keep)) : next);
    });
  });
}

}  // namespace tenon::onnx
