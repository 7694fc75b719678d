// SPDX-License-Identifier: Apache-2.0
// Constant, Identity, Dropout, and If: decided while the model is read, or a branch when it runs.
#include <fmt/ranges.h>

#include "ir/print.h"
#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;

template <class T>
ir::Array array_of(ir::DType t, const std::vector<T>& values, bool scalar) {
  ir::Array a(t, scalar ? Shape{} : Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::Scalar v{static_cast<int64_t>(values[i]), static_cast<double>(values[i])};
    a.set(static_cast<int64_t>(i), v);
  }
  return a;
}

std::vector<ValueId> convert_constant(Convert& c) {
  GraphBuilder& b = c.b();
  if (c.has("value")) {
    if (std::optional<ir::Array> a = c.tensor("value")) return {b.constant(std::move(*a))};
  }
  if (c.has("value_float")) {
    return {b.constant(array_of<double>(ir::kF32, {c.float_or("value_float", 0)}, true))};
  }
  if (c.has("value_floats")) {
    return {b.constant(array_of(ir::kF32, c.floats_or("value_floats", {}), false))};
  }
  if (c.has("value_int")) {
    return {b.constant(array_of<int64_t>(ir::kI64, {c.int_or("value_int", 0)}, true))};
  }
  if (c.has("value_ints")) {
    return {b.constant(array_of(ir::kI64, c.ints_or("value_ints", {}), false))};
  }
  if (c.has("value_string") || c.has("value_strings")) {
    refuse("strings are out of scope");
  }
  throw Unsupported(c.has("sparse_value") ? "sparse tensors are out of scope" : "it has no value");
}

std::vector<ValueId> convert_identity(Convert& c) { return {c.any_input(0)}; }

std::vector<ValueId> pass_with_mask(Convert& c, ir::DType mask) {
  std::vector<ValueId> out{c.input(0)};
  if (c.has_output(1)) out.push_back(filled(c, mask, c.shape(0), 1.0));
  return out;
}

std::vector<ValueId> convert_dropout_1(Convert& c) {
  if (c.int_or("is_test", 0) == 0) {
    refuse("Dropout in training mode draws random numbers");
  }
  return pass_with_mask(c, c.dtype(0));
}

std::vector<ValueId> convert_dropout_7(Convert& c) {
  return pass_with_mask(c, c.opset() < 10 ? c.dtype(0) : ir::kBool);
}

std::vector<ValueId> convert_dropout_12(Convert& c) {
  const bool training = c.has_input(2) && c.constant_scalar(2, "training_mode") != 0;
  const double ratio = !training ? 0 : c.has_input(1) ? c.constant_scalar(1, "ratio") : 0.5;
  if (ratio != 0) {
    refuse("Dropout in training mode draws random numbers");
  }
  return pass_with_mask(c, ir::kBool);
}

// What an If gives: tensors, and sequences of some.
struct Result {
  std::vector<ValueId> tensors;
  std::vector<int64_t> rows;  // Piece::rows of each
  bool sequence = false;
};

Result result_of(Convert& c, ValueId v) {
  const std::vector<Piece>* pieces = c.sequences().find(v);
  if (pieces == nullptr) return {{v}, {Piece::kOne}, false};
  Result r{{}, {}, true};
  for (const Piece& p : *pieces) {
    require_sized(c, p);
    if (p.rows < Piece::kOne)
      refuse("a sequence that depends on the turns of a loop cannot leave a branch");
    r.tensors.push_back(p.value);
    r.rows.push_back(p.rows);
  }
  return r;
}

[[noreturn]] void refuse_branches(Convert& c, size_t output, const graph::Value& a,
                                  const graph::Value& b) {
  throw Unsupported(
      fmt::format(
          "output {} is {}[{}] of one branch and {}[{}] of the other, and which one is known "
          "only when the model runs: sizes must be known when compiling",
          output, ir::to_string(a.dtype), fmt::join(a.shape, ","), ir::to_string(b.dtype),
          fmt::join(b.shape, ",")),
      c.hint_to_know(c.input(0)));
}

// One of the branches of an If that is decided when the model runs. Its results are copied to `results`, which are made
// for the first branch.
void write_branch(Convert& c, const std::string& attribute, std::vector<Result>& results) {
  GraphBuilder& b = c.b();
  b.begin_segment();
  const std::vector<ValueId> values = c.subgraph(attribute, {});
  const bool first = results.empty();
  if (!first && values.size() != results.size()) refuse("its branches have different outputs");
  for (size_t i = 0; i < values.size(); ++i) {
    const Result given = result_of(c, values[i]);
    if (first) {
      results.push_back(given);
      for (ValueId& v : results[i].tensors) {
        const graph::Value like = b.value(v);
        v = b.variable("if", like.dtype, like.shape);
      }
    }
    if (given.rows != results[i].rows || given.sequence != results[i].sequence) {
      refuse("output {} is a sequence of another length in the other branch", i);
    }
    for (size_t k = 0; k < given.tensors.size(); ++k) {
      const graph::Value &to = b.value(results[i].tensors[k]), &from = b.value(given.tensors[k]);
      if (to.dtype != from.dtype || to.shape != from.shape) refuse_branches(c, i, to, from);
      b.flow(
          {.kind = graph::FlowKind::kCopy, .to = results[i].tensors[k], .from = given.tensors[k]});
    }
  }
}

std::vector<ValueId> values_of(Convert& c, std::vector<Result>& results) {
  std::vector<ValueId> out;
  for (Result& r : results) {
    std::vector<Piece> pieces;
    for (size_t k = 0; k < r.tensors.size(); ++k) {
      const graph::Value v = c.b().value(r.tensors[k]);
      if (v.elements() == 0) r.tensors[k] = c.b().empty(v.dtype, v.shape);
      pieces.push_back({r.tensors[k], r.rows[k]});
    }
    out.push_back(r.sequence ? c.make_sequence(std::move(pieces)) : r.tensors[0]);
  }
  return out;
}

std::vector<ValueId> convert_if(Convert& c) {
  GraphBuilder& b = c.b();
  const ValueId condition = c.input(0);
  if (b.value(condition).elements() != 1 || b.dtype(condition) != ir::kBool) {
    refuse("the condition must be one bool");
  }
  if (b.data(condition)) {
    return c.subgraph(b.data(condition)->get(0).i != 0 ? "then_branch" : "else_branch", {});
  }
  std::vector<Result> results;
  const size_t decide = b.flow({.kind = graph::FlowKind::kUnless, .from = condition});
  write_branch(c, "then_branch", results);
  const size_t end = b.flow({.kind = graph::FlowKind::kJump});
  b.set_target(decide);
  write_branch(c, "else_branch", results);
  b.set_target(end);
  b.begin_segment();
  return values_of(c, results);
}

constexpr Row kControlRows[] = {
    {"", "Constant", 1, convert_constant}, {"", "Dropout", 1, convert_dropout_1},
    {"", "Dropout", 7, convert_dropout_7}, {"", "Dropout", 12, convert_dropout_12},
    {"", "Identity", 1, convert_identity}, {"", "If", 1, convert_if},
};

}  // namespace

std::span<const Row> rows_control() { return kControlRows; }

}  // namespace tenon::onnx
