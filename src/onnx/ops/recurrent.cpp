// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN, unrolled: the input projection of all steps is one MatMul, each step one MatMul with
// R and one element-wise node per state.
#include <algorithm>

#include "onnx/limits.h"
#include "onnx/ops/emit.h"
#include "onnx/ops/recurrent_cell.h"

namespace tenon::onnx {
namespace {

using graph::GraphBuilder;
using ir::Expr;

// x[d, begin.., :] without its first dimension: `count` positions of the second, all of the others.
ValueId part(GraphBuilder& b, ValueId x, int64_t d, int64_t begin, int64_t count) {
  Shape shape = b.shape(x);
  Shape at(shape.size(), 0);
  at[0] = d;
  at[1] = begin;
  shape[0] = 1;
  shape[1] = count;
  const ValueId y = b.compute("slice", {x}, [&](te::Builder& t, auto in) {
    return te::slice(t, "slice", in[0], at, shape);
  });
  shape.erase(shape.begin());
  return b.reshape(y, shape);
}

struct Kind {
  int64_t gates;
  bool cell;
  std::vector<std::string> activations;
};

// The operator's inputs and attributes, in layout 0.
struct Recurrent {
  Convert& c;
  Kind kind;
  int64_t steps, batch, features, hidden, directions;
  bool batch_first;
  ir::DType dtype, sum;
  ValueId x;          // steps x batch x features
  ValueId lens = -1;  // i64
  std::vector<Activation> act;
  std::vector<bool> reversed;  // by direction
};

std::vector<bool> read_directions(const Convert& c) {
  const std::string d = c.string_or("direction", "forward");
  if (d == "forward") return {false};
  if (d == "reverse") return {true};
  if (d == "bidirectional") return {false, true};
  refuse("direction '{}' is not known", d);
}

void require_shape(Convert& c, size_t i, std::string_view name, const Shape& want) {
  if (c.shape(i) != want) {
    refuse("{} has shape [{}], not [{}]", name, fmt::join(c.shape(i), ","), fmt::join(want, ","));
  }
}

std::vector<Activation> read_activations(const Convert& c, const Kind& kind, size_t directions) {
  std::vector<std::string> names = c.strings_or("activations");
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d) {
      names.insert(names.end(), kind.activations.begin(), kind.activations.end());
    }
  }
  if (names.size() != directions * kind.activations.size()) {
    refuse("{} activations are given, {} are needed", names.size(),
           directions * kind.activations.size());
  }
  return activations(names, c.floats_or("activation_alpha", {}),
                     c.floats_or("activation_beta", {}));
}

// Lengths that say nothing new are dropped, so that no step needs a mask.
ValueId read_lengths(Convert& c, int64_t steps) {
  if (!c.has_input(4)) return -1;
  const graph::Data known = c.b().data(c.input(4));
  if (known) {
    bool full = true;
    for (int64_t i = 0; i < known->elements(); ++i) full &= known->get(i).i == steps;
    if (full) return -1;
  }
  return c.b().cast(c.input(4), ir::kI64);
}

Recurrent read(Convert& c, Kind kind) {
  if (c.rank(0) != 3 || c.rank(1) != 3 || c.rank(2) != 3) {
    refuse("X, W and R must have rank 3");
  }
  const bool batch_first = c.int_or("layout", 0) != 0;
  const ValueId x = batch_first ? c.b().transpose(c.input(0), {1, 0, 2}) : c.input(0);
  const Shape s = c.b().shape(x);
  const ir::DType t = c.dtype(0);
  require_float(t);
  const int64_t hidden = c.shape(2)[2];
  const std::vector<bool> reversed = read_directions(c);
  const auto directions = static_cast<int64_t>(reversed.size());
  require_shape(c, 1, "W", {directions, kind.gates * hidden, s[2]});
  require_shape(c, 2, "R", {directions, kind.gates * hidden, hidden});
  if (c.int_or("hidden_size", hidden) != hidden) {
    refuse("hidden_size differs from R, which has {}", hidden);
  }
  if (s[0] > kMaxTurns) {
    throw Unsupported(
        fmt::format("{} steps; each becomes operations of its own, {} at most", s[0], kMaxTurns),
        "run fewer steps in one call and hand the state over to the next");
  }
  if (s[0] < 1 || s[1] < 1 || s[2] < 1 || hidden < 1) {
    refuse("a recurrent layer without elements");
  }
  Recurrent r{c,           kind, s[0],     s[1], s[2], hidden, directions,
              batch_first, t,    ir::kF32, x,    -1,   {},     reversed};
  r.sum = wide(t);
  r.lens = read_lengths(c, s[0]);
  r.act = read_activations(c, r.kind, reversed.size());
  return r;
}

// The initial state of direction d: batch x hidden, zeros if the model gives none.
ValueId initial(const Recurrent& r, size_t i, int64_t d) {
  if (!r.c.has_input(i)) {
    return filled(r.c, r.dtype, {r.batch, r.hidden}, 0.0);
  }
  const int64_t n = r.directions;
  require_shape(r.c, i, "an initial state",
                r.batch_first ? Shape{r.batch, n, r.hidden} : Shape{n, r.batch, r.hidden});
  const ValueId state = r.batch_first ? r.c.b().transpose(r.c.input(i), {1, 0, 2}) : r.c.input(i);
  return part(r.c.b(), state, d, 0, r.batch);
}

// `count` gates of B's half for W (0) or R (1) from gate `first`: count*hidden. -1 without B.
ValueId bias(const Recurrent& r, int64_t d, int64_t half, int64_t first, int64_t count) {
  if (!r.c.has_input(3)) return -1;
  require_shape(r.c, 3, "B", {r.directions, 2 * r.kind.gates * r.hidden});
  return part(r.c.b(), r.c.input(3), d, (half * r.kind.gates + first) * r.hidden, count * r.hidden);
}

ValueId add(GraphBuilder& b, const std::string& label, const std::vector<ValueId>& xs) {
  const ir::DType t = b.dtype(xs[0]);
  return b.elementwise(label, xs, [&](std::span<const Expr> in) {
    Expr sum = in[0];
    for (const Expr& e : in.subspan(1)) sum = sum + ir::cast(t, e);
    return sum;
  });
}

ValueId times(GraphBuilder& b, ValueId a, ValueId w) {
  return b.add("matmul", graph::MatMul{false, true}, {a, w});
}

// What the steps of direction d share; `own_bias` gates at the end add R's bias themselves.
Layer layer_of(const Recurrent& r, int64_t d, int64_t own_bias) {
  GraphBuilder& b = r.c.b();
  Layer layer;
  layer.steps = r.steps;
  layer.batch = r.batch;
  layer.hidden = r.hidden;
  layer.dtype = r.dtype;
  layer.sum = r.sum;
  layer.reverse = r.reversed[static_cast<size_t>(d)];
  layer.clip = r.c.float_or("clip", 0);
  layer.lens = r.lens;
  const auto n = static_cast<std::ptrdiff_t>(r.kind.activations.size());
  layer.act.assign(r.act.begin() + d * n, r.act.begin() + (d + 1) * n);
  const int64_t columns = r.kind.gates * r.hidden;
  ValueId xw = times(b, b.reshape(r.x, {r.steps * r.batch, r.features}),
                     part(b, r.c.input(1), d, 0, columns));
  if (r.c.has_input(3)) {
    ValueId rb = bias(r, d, 1, 0, r.kind.gates - own_bias);
    if (own_bias > 0) {
      rb = join(b, {rb, filled(r.c, b.dtype(rb), {own_bias * r.hidden}, 0.0)}, 0);
    }
    xw = add(b, "bias", {xw, bias(r, d, 0, 0, r.kind.gates), rb});
  }
  layer.xw = b.reshape(xw, {r.steps, r.batch, columns});
  return layer;
}

// The states of one direction in the order of the steps.
struct States {
  std::vector<ValueId> h;
  ValueId c = -1;
};

States run_lstm(const Recurrent& r, int64_t d) {
  GraphBuilder& b = r.c.b();
  const Layer layer = layer_of(r, d, 0);
  const ValueId w = part(b, r.c.input(2), d, 0, 4 * r.hidden);
  const bool coupled = r.c.int_or("input_forget", 0) != 0;
  const bool peep = r.c.has_input(7);
  std::vector<ValueId> p;
  if (peep) {
    require_shape(r.c, 7, "P", {r.directions, 3 * r.hidden});
    p = {part(b, r.c.input(7), d, 0, 3 * r.hidden)};
  }
  // Gates lie as i, o, f, c in W and R, as i, o, f in P; reads are h*R^T, the cell, the state, P.
  const auto gate = [&](const StepReads& x, int64_t g) {
    Expr v = x.x(g) + x.at(0, g);
    if (peep && g < 3) v = v + x.at(3, g) * x.at(1);
    return layer.act[g == 3 ? 1 : 0](x.clipped(v));
  };
  const auto cell = [&](const StepReads& x) {
    const Expr i = gate(x, 0);
    const Expr f = coupled ? ir::make_float(i.dtype(), 1) - i : gate(x, 2);
    return f * x.at(1) + i * gate(x, 3);
  };
  const auto hidden = [&](const StepReads& x) {
    return gate(x, 1) * layer.act[2](x.clipped(x.at(1)));
  };
  States s{{}, initial(r, 6, d)};
  ValueId h = initial(r, 5, d);
  for (int64_t step = 0; step < r.steps; ++step) {
    std::vector<ValueId> reads{times(b, h, w), s.c, h};
    reads.insert(reads.end(), p.begin(), p.end());
    s.c = reads[1] = step_node(b, "lstm_cell", layer, step, reads, 1, cell);
    h = step_node(b, "lstm_hidden", layer, step, reads, 2, hidden);
    s.h.push_back(h);
  }
  return s;
}

// h' = (1 - z) * candidate + z * h; reads are z and r's h*R^T, h, then what the candidate needs.
Expr gru_mix(const Layer& layer, const StepReads& x, const Expr& candidate_in) {
  const Expr z = layer.act[0](x.clipped(x.x(0) + x.at(0, 0)));
  const Expr candidate = layer.act[1](x.clipped(candidate_in));
  return (ir::make_float(z.dtype(), 1) - z) * candidate + z * x.at(1);
}

Expr gru_reset(const Layer& layer, const StepReads& x) {
  return layer.act[0](x.clipped(x.x(1) + x.at(0, 1)));
}

// The candidate is g(x + r * (h*R^T + bias)): one MatMul serves all gates.
ValueId gru_linear_step(const Recurrent& r, const Layer& layer, int64_t d, int64_t step, ValueId w,
                        ValueId h) {
  GraphBuilder& b = r.c.b();
  std::vector<ValueId> reads{times(b, h, w), h};
  if (r.c.has_input(3)) reads.push_back(bias(r, d, 1, 2, 1));
  return step_node(b, "gru", layer, step, reads, 1, [&](const StepReads& x) {
    Expr linear = x.at(0, 2);
    if (r.c.has_input(3)) linear = linear + x.at(2);
    return gru_mix(layer, x, x.x(2) + gru_reset(layer, x) * linear);
  });
}

// The candidate is g(x + (r * h)*R^T): a second MatMul for it.
ValueId gru_reset_step(const Recurrent& r, const Layer& layer, int64_t step, ValueId gates,
                       ValueId candidate, ValueId h) {
  GraphBuilder& b = r.c.b();
  const ValueId hr = times(b, h, gates);
  const ValueId reset = step_node(b, "gru_reset", layer, step, {hr, h}, 1, [&](const StepReads& x) {
    return gru_reset(layer, x) * x.at(1);
  });
  return step_node(b, "gru", layer, step, {hr, h, times(b, reset, candidate)}, 1,
                   [&](const StepReads& x) { return gru_mix(layer, x, x.x(2) + x.at(2)); });
}

States run_gru(const Recurrent& r, int64_t d) {
  GraphBuilder& b = r.c.b();
  const bool linear = r.c.int_or("linear_before_reset", 0) != 0;
  const Layer layer = layer_of(r, d, linear ? 1 : 0);
  const ValueId all = r.c.input(2);
  const ValueId w = part(b, all, d, 0, (linear ? 3 : 2) * r.hidden);
  const ValueId candidate = linear ? -1 : part(b, all, d, 2 * r.hidden, r.hidden);
  ValueId h = initial(r, 5, d);
  States s;
  for (int64_t step = 0; step < r.steps; ++step) {
    h = linear ? gru_linear_step(r, layer, d, step, w, h)
               : gru_reset_step(r, layer, step, w, candidate, h);
    s.h.push_back(h);
  }
  return s;
}

States run_rnn(const Recurrent& r, int64_t d) {
  GraphBuilder& b = r.c.b();
  const Layer layer = layer_of(r, d, 0);
  const ValueId w = part(b, r.c.input(2), d, 0, r.hidden);
  ValueId h = initial(r, 5, d);
  States s;
  for (int64_t step = 0; step < r.steps; ++step) {
    h = step_node(b, "rnn", layer, step, {times(b, h, w), h}, 1,
                  [&](const StepReads& x) { return layer.act[0](x.clipped(x.x(0) + x.at(0))); });
    s.h.push_back(h);
  }
  return s;
}

// The states as steps x batch x hidden by time; after the end of a sequence there are zeros.
ValueId by_time(const Recurrent& r, bool reverse, std::vector<ValueId> h) {
  GraphBuilder& b = r.c.b();
  if (reverse && r.lens < 0) std::reverse(h.begin(), h.end());
  const ValueId all = b.reshape(join(b, h, 0), {r.steps, r.batch, r.hidden});
  if (r.lens < 0) return all;
  return b.compute("mask", {all, r.lens}, [&](te::Builder& t, auto in) {
    return t.compute("mask", r.c.b().shape(all), [&](std::span<const ir::Var> i) {
      const Expr length = ir::load(in[1], {i[1]});
      const Expr step = reverse ? ir::min(ir::max(length - 1 - i[0], 0), r.steps - 1) : Expr(i[0]);
      return ir::select(ir::lt(i[0], length), ir::load(in[0], {step, i[1], i[2]}),
                        ir::zero_of(r.dtype));
    });
  });
}

// One value per direction, batch x hidden each, as the operator returns it.
ValueId final_state(const Recurrent& r, std::vector<ValueId> states) {
  GraphBuilder& b = r.c.b();
  for (ValueId& v : states) {
    v = b.reshape(v, r.batch_first ? Shape{r.batch, 1, r.hidden} : Shape{1, r.batch, r.hidden});
  }
  return join(b, states, r.batch_first ? 1 : 0);
}

std::vector<ValueId> convert(Convert& c, const Kind& kind,
                             States (*run)(const Recurrent& r, int64_t d)) {
  const Recurrent r = read(c, kind);
  std::vector<ValueId> y;
  std::vector<ValueId> last;
  std::vector<ValueId> cells;
  for (int64_t d = 0; d < r.directions; ++d) {
    const States s = run(r, d);
    const ValueId all = by_time(r, r.reversed[static_cast<size_t>(d)], s.h);
    y.push_back(c.b().reshape(all, {r.steps, 1, r.batch, r.hidden}));
    last.push_back(s.h.back());
    cells.push_back(s.c);
  }
  ValueId out = join(c.b(), y, 1);
  if (r.batch_first) out = c.b().transpose(out, {2, 0, 1, 3});
  std::vector<ValueId> result{out, final_state(r, last)};
  if (kind.cell) result.push_back(final_state(r, cells));
  return result;
}

std::vector<ValueId> convert_lstm(Convert& c) {
  return convert(c, {4, true, {"Sigmoid", "Tanh", "Tanh"}}, run_lstm);
}

std::vector<ValueId> convert_gru(Convert& c) {
  return convert(c, {3, false, {"Sigmoid", "Tanh"}}, run_gru);
}

std::vector<ValueId> convert_rnn(Convert& c) { return convert(c, {1, false, {"Tanh"}}, run_rnn); }

constexpr Row kRecurrentRows[] = {
    {"", "GRU", 7, convert_gru},    {"", "GRU", 14, convert_gru}, {"", "LSTM", 7, convert_lstm},
    {"", "LSTM", 14, convert_lstm}, {"", "RNN", 7, convert_rnn},  {"", "RNN", 14, convert_rnn},
};

}  // namespace

std::span<const Row> rows_recurrent() { return kRecurrentRows; }

}  // namespace tenon::onnx
