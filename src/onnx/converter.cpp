// SPDX-License-Identifier: Apache-2.0
#include "onnx/converter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tenon::onnx {

namespace {

// The inputs of the model that a value is computed from.
std::vector<ValueId> inputs_of(const graph::Graph& g, ValueId v) {
  const std::vector<graph::NodeId> producers = g.producers();
  std::set<ValueId> seen = {v};
  std::vector<ValueId> open = {v};
  while (!open.empty()) {
    const ValueId at = open.back();
    const graph::NodeId n = producers[static_cast<size_t>(at)];
    open.pop_back();
    std::vector<ValueId> sources;
    if (n >= 0) sources = g.nodes[static_cast<size_t>(n)].inputs;
    for (const graph::FlowOp& op : g.flow) {
      if (n < 0 && op.writes() == at && op.from >= 0) sources.push_back(op.from);
    }
    for (const ValueId in : sources) {
      if (!g.value(in).constant() && seen.insert(in).second) open.push_back(in);
    }
  }
  std::vector<ValueId> inputs;
  for (const ValueId in : g.inputs) {
    if (seen.count(in)) inputs.push_back(in);
  }
  return inputs;
}

// Few numbers are a setting of the model, such as a rate; more are its data.
bool is_setting(const graph::Value& v) {
  constexpr int64_t kFew = 4;
  return v.elements() >= 1 && v.elements() <= kFew && v.shape.size() <= 1;
}

// "--bind sr=N" for a setting, "--bind axes=@axes.npy" for more numbers.
std::string bind_of(const graph::Value& v) {
  const char* kind = v.dtype.is_bool() ? "true" : "N";
  if (!is_setting(v)) return fmt::format("--bind {0}=@{0}.npy", v.name);
  const std::vector<const char*> numbers(static_cast<size_t>(v.elements()), kind);
  return fmt::format("--bind {}={}", v.name, fmt::join(numbers, ","));
}

// Names of the file's inputs mean something to its user; those of tensors inside seldom do.
std::vector<std::string> names_of(const graph::Graph& g, const std::vector<ValueId>& inputs) {
  std::vector<std::string> names;
  for (const ValueId in : inputs) names.push_back(fmt::format("'{}'", g.value(in).name));
  return names;
}

std::string make_constants(const graph::Graph& g, const std::vector<ValueId>& inputs) {
  std::vector<std::string> binds;
  for (const ValueId in : inputs) binds.push_back(bind_of(g.value(in)));
  return fmt::format("make {}: {}", inputs.size() == 1 ? "it a constant" : "them constants",
                     fmt::join(binds, " "));
}

[[noreturn]] void refuse_unknown(const graph::Graph& g, ValueId v, std::string_view what) {
  const std::vector<ValueId> inputs = inputs_of(g, v);
  if (inputs.empty()) {
    throw Unsupported(fmt::format("{} ('{}') must be known when compiling", what, g.value(v).name));
  }
  throw Unsupported(
      fmt::format("{} must be known when compiling and depends on input{} {}", what,
                  inputs.size() == 1 ? "" : "s", fmt::join(names_of(g, inputs), ", ")),
      make_constants(g, inputs));
}

// A setting can be made a constant; a model of one image would be of no use.
std::string size_hint(const graph::Graph& g, const std::vector<ValueId>& inputs) {
  const bool settings =
      !inputs.empty() &&
      std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return is_setting(g.value(v)); });
  return settings ? make_constants(g, inputs)
                  : "end the model before this node, with what it reads as outputs, and do its "
                    "work behind the library";
}

}  // namespace

std::string Convert::bind_hint(ValueId v) const {
  std::vector<std::string> binds;
  for (const ValueId in : inputs_of(b_.graph(), v)) binds.push_back(bind_of(b_.graph().value(in)));
  return binds.empty() ? "" : fmt::format("make its inputs constants: {}", fmt::join(binds, " "));
}

ValueId Convert::make_sequence(std::vector<Piece> pieces) {
  const ValueId v = b_.variable("sequence", ir::kBool, {});
  sequences().add(v, std::move(pieces));
  return v;
}

bool Convert::attempt(const std::function<bool()>& fn) {
  const graph::GraphBuilder::Mark mark = b_.mark();
  const size_t problems = problem_count();
  bool done = false;
  try {
    done = fn() && problem_count() == problems;
  } catch (const UserError&) {
    done = false;
  } catch (const Blocked&) {
    done = false;
  }
  if (!done) {
    b_.back_to(mark);
    sequences().shrink(static_cast<ValueId>(mark.values));
    keep_problems(problems);
  }
  return done;
}

const ir::Array& Convert::constant(size_t i, std::string_view what) {
  return known(input(i), what);
}

const ir::Array& Convert::known(ValueId v, std::string_view what) {
  if (!b_.data(v)) refuse_unknown(b_.graph(), v, what);
  return *b_.data(v);
}

const ir::Array& Convert::decisive(size_t i, std::string_view what) {
  const ValueId v = input(i);
  if (b_.data(v)) return *b_.data(v);
  const std::vector<ValueId> inputs = inputs_of(b_.graph(), v);
  throw Unsupported(
      fmt::format("how large its result is depends on {}, that is on {}: it is known "
                  "when the model runs only",
                  what,
                  fmt::join(names_of(b_.graph(), inputs.empty() ? std::vector{v} : inputs), ", ")),
      size_hint(b_.graph(), inputs));
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
