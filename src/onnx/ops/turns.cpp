// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/turns.h"

#include <algorithm>

#include "onnx/limits.h"
#include "onnx/ops/emit.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;

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

[[noreturn]] void refuse_turns(const std::string& turns) {
  throw Unsupported(
      fmt::format("{} turns; each becomes a copy of the body, {} at most", turns, kMaxTurns),
      "run fewer turns in one call, and call the library again for the rest");
}

bool never_runs(const GraphBuilder& b, const Turns& t) {
  const auto less_than_one = [&](ValueId v) {
    return v >= 0 && b.data(v) && b.data(v)->get(0).i < 1;
  };
  return less_than_one(t.count) || less_than_one(t.condition);
}

// How many turns there may be, if there is a first one; more than kMaxTurns: it is open. Nothing if that depends on data.
std::optional<int64_t> known_turns(const GraphBuilder& b, const Turns& t) {
  if (t.count >= 0 && !b.data(t.count)) return std::nullopt;
  if (t.condition >= 0 && !b.data(t.condition)) return std::nullopt;
  return t.count >= 0 ? b.data(t.count)->get(0).i : kMaxTurns + 1;
}

// Whether another turn follows; Unsupported if that is known when the model runs only.
bool decided(const GraphBuilder& b, const Turns& t, ValueId condition) {
  if (condition < 0) return true;
  const graph::Data known = b.data(condition);
  if (!known) refuse("the condition of the {} depends on data", t.op);
  return known->get(0).i != 0;
}

std::vector<ValueId> elements_at(GraphBuilder& b, const Turns& t, int64_t turn) {
  std::vector<ValueId> elements;
  for (const Turns::Through& x : t.through) {
    const int64_t many = b.shape(x.from)[0];
    elements.push_back(element(b, x.from, 0, x.backward ? many - 1 - turn : turn, many));
  }
  return elements;
}

bool is_backward(const Turns& t, size_t scanned) {
  return scanned < t.scanned_backward.size() && t.scanned_backward[scanned];
}

std::vector<ValueId> results(GraphBuilder& b, const Turns& t, std::vector<ValueId> state,
                             const std::vector<std::vector<ValueId>>& scanned) {
  for (size_t i = 0; i < t.wanted; ++i) {
    std::vector<ValueId> rows;
    for (const std::vector<ValueId>& turn : scanned) rows.push_back(turn[i]);
    if (is_backward(t, i)) std::reverse(rows.begin(), rows.end());
    state.push_back(stack(b, rows, 0));
  }
  return state;
}

// Without a turn the body is looked at for the types of what it would have scanned.
std::vector<ValueId> without_turns(Convert& c, const Turns& t) {
  GraphBuilder& b = c.b();
  std::vector<std::pair<ir::DType, Shape>> types;
  bool looked = t.wanted == 0;
  if (!looked) {
    c.attempt([&] {
      std::vector<ValueId> elements;
      for (const Turns::Through& x : t.through) {
        const Shape& whole = b.shape(x.from);
        const Shape part(whole.begin() + 1, whole.end());
        elements.push_back(b.variable("element", b.dtype(x.from), part));
      }
      const ValueId first = b.variable("turn", ir::kI64, {});
      const Turn turn = t.body(first, t.initial, elements);
      for (const ValueId v : turn.scanned) types.emplace_back(b.dtype(v), b.shape(v));
      looked = true;
      return false;
    });
  }
  if (!looked || types.size() < t.wanted) {
    refuse("without a turn the {} has scan outputs of unknown shape", t.op);
  }
  std::vector<ValueId> out = t.initial;
  for (size_t i = 0; i < t.wanted; ++i) {
    Shape shape = types[i].second;
    shape.insert(shape.begin(), 0);
    out.push_back(b.empty(types[i].first, shape));
  }
  return out;
}

}  // namespace

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

ValueId element(GraphBuilder& b, ValueId x, int64_t dim, int64_t at, int64_t of_many) {
  Shape shape = b.shape(x);
  if (dim >= static_cast<int64_t>(shape.size()) || at >= shape[static_cast<size_t>(dim)]) {
    refuse("what the Scan goes through has too few elements");
  }
  const ValueId y = slice_of_many(b, x, dim, at, 1, of_many);
  shape.erase(shape.begin() + dim);
  return b.reshape(y, shape);
}

std::optional<std::vector<ValueId>> write_out(Convert& c, const Turns& t, bool all) {
  GraphBuilder& b = c.b();
  const std::optional<int64_t> most = known_turns(b, t);
  if (!most) return std::nullopt;
  std::vector<ValueId> state = t.initial;
  std::vector<std::vector<ValueId>> scanned;
  const GraphBuilder::Mark before = b.mark();
  bool more = true;
  for (int64_t turn = 0; more && turn < *most; ++turn) {
    const bool folded = b.mark().nodes == before.nodes;
    if (!all && turn == kMaxWrittenOut && !folded) return std::nullopt;
    if (turn >= kMaxTurns) {
      refuse_turns(t.count >= 0 ? fmt::format("{}", *most) : "an open number of");
    }
    const ValueId number = b.scalar(ir::kI64, static_cast<double>(turn));
    const Turn done = t.body(number, state, elements_at(b, t, turn));
    if (done.scanned.size() < t.wanted) refuse("the body of the {} has too few outputs", t.op);
    more = turn + 1 >= *most || decided(b, t, done.condition);
    state = done.state;
    scanned.push_back(done.scanned);
  }
  return results(b, t, state, scanned);
}

std::vector<ValueId> write_turns(Convert& c, const Turns& t) {
  if (never_runs(c.b(), t)) return without_turns(c, t);
  if (!known_turns(c.b(), t)) return write_loop(c, t);
  std::optional<std::vector<ValueId>> out;
  bool gave_up = false;
  const bool written = c.attempt([&] {
    out = write_out(c, t, false);
    gave_up = !out.has_value();
    return !gave_up;
  });
  if (written) return *out;
  if (!gave_up) return write_loop(c, t);
  if (c.attempt([&] {
        out = write_loop(c, t);
        return true;
      })) {
    return *out;
  }
  return *write_out(c, t, true);
}

}  // namespace tenon::onnx
