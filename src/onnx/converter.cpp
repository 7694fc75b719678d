// SPDX-License-Identifier: Apache-2.0
#include "onnx/converter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace tenon::onnx {

namespace {

// The inputs of the model that a value is computed from, "a=@a.npy --bind b=@b.npy"; empty: none.
std::string binds_for(const graph::Graph& g, ValueId v) {
  const std::vector<graph::NodeId> producers = g.producers();
  std::set<ValueId> seen = {v};
  std::vector<ValueId> open = {v};
  while (!open.empty()) {
    const graph::NodeId n = producers[static_cast<size_t>(open.back())];
    open.pop_back();
    if (n < 0) continue;
    for (const ValueId in : g.nodes[static_cast<size_t>(n)].inputs) {
      if (!g.value(in).constant() && seen.insert(in).second) open.push_back(in);
    }
  }
  std::vector<std::string> binds;
  for (const ValueId in : g.inputs) {
    if (seen.count(in)) binds.push_back(fmt::format("--bind {0}=@{0}.npy", g.value(in).name));
  }
  return fmt::format("{}", fmt::join(binds, " "));
}

}  // namespace

const ir::Array& Convert::constant(size_t i, std::string_view what) {
  const ValueId v = input(i);
  if (!b_.data(v)) {
    const std::string binds = binds_for(b_.graph(), v);
    throw Unsupported(fmt::format("{} ('{}') must be known when compiling", what, b_.value(v).name),
                      binds.empty() ? "" : fmt::format("make its inputs constants: {}", binds));
  }
  return *b_.data(v);
}

std::vector<int64_t> Convert::constant_ints(size_t i, std::string_view what) {
  const ir::Array& a = constant(i, what);
  if (!a.dtype().is_int() || a.shape().size() > 1) {
    throw Unsupported(fmt::format("{} must be a list of integers", what));
  }
  std::vector<int64_t> v(static_cast<size_t>(a.elements()));
  for (size_t k = 0; k < v.size(); ++k) v[k] = a.get(static_cast<int64_t>(k)).i;
  return v;
}

double Convert::constant_scalar(size_t i, std::string_view what) {
  const ir::Array& a = constant(i, what);
  if (a.elements() != 1) throw Unsupported(fmt::format("{} must be one number", what));
  return a.get_double(0);
}

int64_t Convert::axis(int64_t a, int64_t rank) {
  if (a < -rank || a >= rank) {
    throw Unsupported(fmt::format("axis {} is outside of a tensor with {} dimensions", a, rank));
  }
  return a < 0 ? a + rank : a;
}

}  // namespace tenon::onnx
