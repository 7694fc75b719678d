// SPDX-License-Identifier: Apache-2.0
#include "onnx/converter.h"

#include <fmt/format.h>

#include "onnx/unknown.h"

namespace tenon::onnx {

// The tensors that the node reads; empty where it has subgraphs, which read others besides.
std::vector<ValueId> Convert::read() const {
  std::vector<ValueId> values;
  if (has("body") || has("then_branch")) return values;
  for (size_t i = 0; i < num_inputs(); ++i) {
    if (has_input(i)) values.push_back(any_input(i));
  }
  return values;
}

std::string Convert::hint_to_know(ValueId v) const {
  const graph::Graph& g = b_.graph();
  return onnx::hint_to_know(g, inputs_behind(g, v), Bindable::kLists, read());
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
  if (b_.data(v)) return *b_.data(v);
  const graph::Graph& g = b_.graph();
  const std::vector<ValueId> inputs = inputs_behind(g, v);
  const std::string on = inputs.empty()       ? "is computed when the model runs"
                         : inputs.size() == 1 ? "depends on input " + quoted_names(g, inputs)
                                              : "depends on inputs " + quoted_names(g, inputs);
  throw Unsupported(fmt::format("{} must be known when compiling and {}", what, on),
                    hint_to_know(v));
}

const ir::Array& Convert::decisive(size_t i, std::string_view what) {
  const ValueId v = input(i);
  if (b_.data(v)) return *b_.data(v);
  const graph::Graph& g = b_.graph();
  const std::vector<ValueId> inputs = inputs_behind(g, v);
  const std::string on = inputs.empty() ? "" : ", that is on " + quoted_names(g, inputs);
  throw Unsupported(
      fmt::format("how large its result is depends on {}{}: that is known when the model runs "
                  "only, and sizes must be known when compiling",
                  what, on),
      onnx::hint_to_know(g, inputs, Bindable::kSettings, read()));
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
