// SPDX-License-Identifier: Apache-2.0
// Loop and Scan.
#include <algorithm>
#include <numeric>

#include "onnx/ops/emit.h"
#include "onnx/ops/turns.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;

// A tensor of known size, or a sequence.
ValueId state_input(Convert& c, size_t i) {
  const ValueId v = c.any_input(i);
  return c.sequences().find(v) != nullptr ? v : c.input(i);
}

// Body: (trip, condition, state..) -> (condition, state.., scanned..).
std::vector<ValueId> convert_loop(Convert& c) {
  Turns t;
  t.op = "Loop";
  if (c.has_input(0)) t.count = c.input(0);
  if (c.has_input(1)) t.condition = c.input(1);
  for (size_t i = 2; i < c.num_inputs(); ++i) t.initial.push_back(state_input(c, i));
  for (const ValueId v : {t.count, t.condition}) {
    if (v >= 0 && c.b().value(v).elements() != 1) {
      refuse("the trip count and the condition must have one element");
    }
  }
  for (size_t i = t.initial.size(); i < c.num_outputs(); ++i) {
    if (c.is_read(i)) t.wanted = i + 1 - t.initial.size();
  }
  t.body = [&](ValueId turn, const std::vector<ValueId>& state, const std::vector<ValueId>&) {
    std::vector<ValueId> arguments{turn, c.b().scalar(ir::kBool, 1)};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const std::vector<ValueId> out = c.subgraph("body", arguments);
    if (out.size() < 1 + state.size()) refuse("the body of the Loop has too few outputs");
    const auto end = out.begin() + 1 + static_cast<std::ptrdiff_t>(state.size());
    return Turn{out[0], {out.begin() + 1, end}, {end, out.end()}};
  };
  return write_turns(c, t);
}

// One sequence: what a Scan reads and writes, with axes and directions given for each.
struct Scan {
  std::vector<ValueId> state, inputs;
  std::vector<int64_t> input_axes, input_backward, output_axes, output_backward;
  size_t outputs = 0;
};

std::vector<int64_t> moved(int64_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return perm;
}

std::vector<ValueId> run_scan(Convert& c, const Scan& s) {
  GraphBuilder& b = c.b();
  Turns t;
  t.op = "Scan";
  t.initial = s.state;
  t.wanted = s.outputs;
  int64_t trips = -1;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const auto rank = static_cast<int64_t>(b.shape(s.inputs[i]).size());
    const int64_t axis = Convert::axis(s.input_axes[i], rank);
    const int64_t extent = b.shape(s.inputs[i])[static_cast<size_t>(axis)];
    if (trips >= 0 && extent != trips) refuse("scan inputs have different lengths");
    trips = extent;
    t.through.push_back({b.transpose(s.inputs[i], moved(rank, axis, 0)), s.input_backward[i] != 0});
  }
  for (const int64_t backward : s.output_backward) t.scanned_backward.push_back(backward != 0);
  t.count = b.scalar(ir::kI64, static_cast<double>(trips));
  t.body = [&](ValueId, const std::vector<ValueId>& state, const std::vector<ValueId>& elements) {
    std::vector<ValueId> arguments = state;
    arguments.insert(arguments.end(), elements.begin(), elements.end());
    const std::vector<ValueId> out = c.subgraph("body", arguments);
    if (out.size() != state.size() + s.outputs) {
      refuse("the body of the Scan has another number of outputs than the Scan");
    }
    const auto end = out.begin() + static_cast<std::ptrdiff_t>(state.size());
    return Turn{-1, {out.begin(), end}, {end, out.end()}};
  };
  std::vector<ValueId> result = write_turns(c, t);
  for (size_t i = 0; i < s.outputs; ++i) {
    ValueId& v = result[s.state.size() + i];
    const auto rank = static_cast<int64_t>(b.shape(v).size());
    v = b.transpose(v, moved(rank, 0, Convert::axis(s.output_axes[i], rank)));
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
  return run_scan(c, s);
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
  std::vector<std::vector<ValueId>> results(c.num_outputs());
  for (int64_t n = 0; n < batch; ++n) {
    Scan s = whole;
    for (ValueId& v : s.state) v = element(b, v, 0, n, batch);
    for (ValueId& v : s.inputs) v = element(b, v, 0, n, batch);
    s.input_axes.assign(s.inputs.size(), 0);
    s.input_backward = per_item(c, "directions", s.inputs.size());
    s.output_axes.assign(s.outputs, 0);
    s.output_backward.assign(s.outputs, 0);
    const std::vector<ValueId> one = run_scan(c, s);
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(one[i]);
  }
  std::vector<ValueId> out;
  for (const std::vector<ValueId>& values : results) out.push_back(stack(b, values, 0));
  return out;
}

constexpr Row kLoopRows[] = {
    {"", "Loop", 1, convert_loop},
    {"", "Scan", 8, convert_scan_8},
    {"", "Scan", 9, convert_scan_9},
};

}  // namespace

std::span<const Row> rows_loop() { return kLoopRows; }

}  // namespace tenon::onnx
