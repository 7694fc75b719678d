// SPDX-License-Identifier: Apache-2.0
// Constant, Identity, Dropout, and If, Loop and Scan as far as they are decided while the model is read.
#include <algorithm>

#include "onnx/limits.h"
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

std::vector<ValueId> convert_identity(Convert& c) { return {c.input(0)}; }

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

std::vector<ValueId> convert_if(Convert& c) {
  const bool taken = c.constant_scalar(0, "the condition") != 0;
  return c.subgraph(taken ? "then_branch" : "else_branch", {});
}

// Constants of extent 1 in dimension `dim`, put together along it.
ir::Array stacked(GraphBuilder& b, const std::vector<ValueId>& parts, int64_t dim) {
  Shape shape = b.shape(parts[0]);
  shape[static_cast<size_t>(dim)] = static_cast<int64_t>(parts.size());
  ir::Array all(b.dtype(parts[0]), shape);
  const Shape tail(shape.begin() + dim + 1, shape.end());
  const int64_t run = count_elements(tail);
  for (int64_t i = 0; i < all.elements(); ++i) {
    const auto part = static_cast<size_t>(i / run % static_cast<int64_t>(parts.size()));
    const int64_t outer = i / run / static_cast<int64_t>(parts.size());
    copy_element(*b.data(parts[part]), outer * run + i % run, all, i);
  }
  return all;
}

// Values of equal shape along a new dimension.
ValueId stack(GraphBuilder& b, const std::vector<ValueId>& xs, int64_t dim) {
  Shape shape = b.shape(xs.at(0));
  shape.insert(shape.begin() + dim, 1);
  std::vector<ValueId> parts;
  for (const ValueId x : xs) {
    if (b.shape(x) != b.shape(xs[0])) {
      refuse("a scan output changes its shape from one trip to the next");
    }
    parts.push_back(b.reshape(x, shape));
  }
  if (b.value(xs[0]).elements() == 0) {
    shape[static_cast<size_t>(dim)] = static_cast<int64_t>(xs.size());
    return b.empty(b.dtype(xs[0]), shape);
  }
  const bool known = std::all_of(parts.begin(), parts.end(), [&](ValueId v) { return b.data(v); });
  if (known) return b.constant(stacked(b, parts, dim), "stack");
  return join(b, parts, dim);
}

std::vector<std::vector<ValueId>> transposed(const std::vector<std::vector<ValueId>>& trips,
                                             size_t columns) {
  std::vector<std::vector<ValueId>> result(columns);
  for (const std::vector<ValueId>& trip : trips) {
    for (size_t i = 0; i < columns; ++i) result[i].push_back(trip[i]);
  }
  return result;
}

bool decided(Convert& c, ValueId condition) {
  const graph::Data known = c.b().data(condition);
  if (!known || known->elements() != 1) {
    refuse("a Loop whose condition depends on data is out of scope");
  }
  return known->get(0).i != 0;
}

[[noreturn]] void refuse_turns(const std::string& turns) {
  throw Unsupported(
      fmt::format("{} turns; each becomes a copy of the body, {} at most", turns, kMaxTurns),
      "run fewer turns in one call, and call the library again for the rest");
}

// Body: (trip, condition, state..) -> (condition, state.., scanned..).
std::vector<ValueId> convert_loop(Convert& c) {
  GraphBuilder& b = c.b();
  const bool counted = c.has_input(0);
  const int64_t most =
      counted ? static_cast<int64_t>(c.constant_scalar(0, "the trip count")) : kMaxTurns + 1;
  bool more = !c.has_input(1) || c.constant_scalar(1, "the condition") != 0;
  std::vector<ValueId> state;
  for (size_t i = 2; i < c.num_inputs(); ++i) state.push_back(c.input(i));
  std::vector<std::vector<ValueId>> scanned;
  for (int64_t trip = 0; more && trip < most; ++trip) {
    if (trip >= kMaxTurns) refuse_turns(counted ? fmt::format("{}", most) : "an open number of");
    std::vector<ValueId> arguments{b.scalar(ir::kI64, static_cast<double>(trip)),
                                   b.scalar(ir::kBool, 1)};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const std::vector<ValueId> out = c.subgraph("body", arguments);
    if (out.size() < 1 + state.size()) {
      refuse("the body of the Loop has too few outputs");
    }
    const auto end = out.begin() + 1 + static_cast<std::ptrdiff_t>(state.size());
    more = !(trip + 1 < most) || decided(c, out[0]);
    state.assign(out.begin() + 1, end);
    scanned.emplace_back(end, out.end());
  }
  const size_t columns = scanned.empty() ? 0 : scanned[0].size();
  if (c.num_outputs() > state.size() + columns) {
    refuse("a Loop without a trip has scan outputs of unknown shape");
  }
  for (const std::vector<ValueId>& values : transposed(scanned, columns)) {
    state.push_back(stack(b, values, 0));
  }
  return state;
}

ValueId element(GraphBuilder& b, ValueId x, int64_t dim, int64_t at, int64_t of_many) {
  Shape shape = b.shape(x);
  if (dim >= static_cast<int64_t>(shape.size()) || at >= shape[static_cast<size_t>(dim)]) {
    refuse("what the Scan goes through has too few elements");
  }
  const ValueId y = slice_of_many(b, x, dim, at, 1, of_many);
  shape.erase(shape.begin() + dim);
  return b.reshape(y, shape);
}

// One sequence: what a Scan reads and writes, with axes and directions given for each.
struct Scan {
  std::vector<ValueId> state, inputs;
  std::vector<int64_t> input_axes, input_backward, output_axes, output_backward;
  size_t outputs = 0;
};

std::vector<ValueId> run_scan(Convert& c, Scan s) {
  GraphBuilder& b = c.b();
  int64_t trips = -1;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const auto rank = static_cast<int64_t>(b.shape(s.inputs[i]).size());
    s.input_axes[i] = Convert::axis(s.input_axes[i], rank);
    const int64_t extent = b.shape(s.inputs[i])[static_cast<size_t>(s.input_axes[i])];
    if (trips >= 0 && extent != trips) {
      refuse("scan inputs have different lengths");
    }
    trips = extent;
  }
  if (trips > kMaxTurns) refuse_turns(fmt::format("{}", trips));
  if (trips < 1) refuse("a Scan over nothing has no state to give");
  std::vector<std::vector<ValueId>> scanned;
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<ValueId> arguments = s.state;
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      const int64_t at = s.input_backward[i] != 0 ? trips - 1 - trip : trip;
      arguments.push_back(element(b, s.inputs[i], s.input_axes[i], at, trips));
    }
    const std::vector<ValueId> out = c.subgraph("body", arguments);
    if (out.size() != s.state.size() + s.outputs) {
      refuse("the body of the Scan has another number of outputs than the Scan");
    }
    const auto end = out.begin() + static_cast<std::ptrdiff_t>(s.state.size());
    s.state.assign(out.begin(), end);
    scanned.emplace_back(end, out.end());
  }
  std::vector<ValueId> result = s.state;
  std::vector<std::vector<ValueId>> columns = transposed(scanned, s.outputs);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (s.output_backward[i] != 0) std::reverse(columns[i].begin(), columns[i].end());
    const auto rank = static_cast<int64_t>(b.shape(columns[i][0]).size());
    result.push_back(stack(b, columns[i], Convert::axis(s.output_axes[i], rank + 1)));
  }
  return result;
}

Scan scan_sizes(const Convert& c, size_t first) {
  const auto inputs = static_cast<size_t>(std::max<int64_t>(0, c.int_or("num_scan_inputs", 0)));
  if (first + inputs > c.num_inputs() || inputs == 0) {
    refuse("num_scan_inputs does not fit the inputs");
  }
  const size_t states = c.num_inputs() - first - inputs;
  if (c.num_outputs() < states) {
    refuse("the Scan has fewer outputs than states");
  }
  Scan s;
  s.outputs = c.num_outputs() - states;
  for (size_t i = first; i < first + states; ++i) s.state.push_back(c.input(i));
  for (size_t i = first + states; i < c.num_inputs(); ++i) s.inputs.push_back(c.input(i));
  return s;
}

std::vector<int64_t> per_item(const Convert& c, const std::string& name, size_t count) {
  std::vector<int64_t> v = c.ints_or(name, std::vector<int64_t>(count, 0));
  if (v.size() != count) {
    refuse("{} has {} numbers, not {}", name, v.size(), count);
  }
  return v;
}

std::vector<ValueId> convert_scan_9(Convert& c) {
  Scan s = scan_sizes(c, 0);
  s.input_axes = per_item(c, "scan_input_axes", s.inputs.size());
  s.input_backward = per_item(c, "scan_input_directions", s.inputs.size());
  s.output_axes = per_item(c, "scan_output_axes", s.outputs);
  s.output_backward = per_item(c, "scan_output_directions", s.outputs);
  return run_scan(c, std::move(s));
}

// Version 8 has a batch dimension in front of everything: each of its elements is a scan of its own.
std::vector<ValueId> convert_scan_8(Convert& c) {
  if (c.has_input(0)) {
    refuse("a Scan with sequence lengths is out of scope");
  }
  GraphBuilder& b = c.b();
  const Scan whole = scan_sizes(c, 1);
  if (b.shape(whole.inputs[0]).empty() || b.shape(whole.inputs[0])[0] == 0) {
    refuse("a scan input has no batch dimension");
  }
  const int64_t batch = b.shape(whole.inputs[0])[0];
  std::vector<std::vector<ValueId>> results;
  for (int64_t n = 0; n < batch; ++n) {
    Scan s = whole;
    for (ValueId& v : s.state) v = element(b, v, 0, n, batch);
    for (ValueId& v : s.inputs) v = element(b, v, 0, n, batch);
    s.input_axes.assign(s.inputs.size(), 0);
    s.input_backward = per_item(c, "directions", s.inputs.size());
    s.output_axes.assign(s.outputs, 0);
    s.output_backward.assign(s.outputs, 0);
    results.push_back(run_scan(c, std::move(s)));
  }
  std::vector<ValueId> out;
  for (const auto& values : transposed(results, c.num_outputs())) {
    out.push_back(stack(b, values, 0));
  }
  return out;
}

constexpr Row kControlRows[] = {
    {"", "Constant", 1, convert_constant}, {"", "Dropout", 1, convert_dropout_1},
    {"", "Dropout", 7, convert_dropout_7}, {"", "Dropout", 12, convert_dropout_12},
    {"", "Identity", 1, convert_identity}, {"", "If", 1, convert_if},
    {"", "Loop", 1, convert_loop},         {"", "Scan", 8, convert_scan_8},
    {"", "Scan", 9, convert_scan_9},
};

}  // namespace

std::span<const Row> rows_control() { return kControlRows; }

}  // namespace tenon::onnx
