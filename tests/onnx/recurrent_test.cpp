// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN with random attributes against the formulas of the standard in plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/partition.h"
#include "onnx/op_run.h"
#include "support/rng.h"

namespace tenon::onnx {
namespace {

using testing::OpRun;
using Vector = std::vector<double>;

struct Act {
  std::string name;
  double alpha = 0, beta = 0;
  bool uses_alpha = false, uses_beta = false;

  double operator()(double x) const {
    if (name == "Relu") return std::max(x, 0.0);
    if (name == "Tanh") return std::tanh(x);
    if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "Affine") return alpha * x + beta;
    if (name == "LeakyRelu") return x < 0 ? alpha * x : x;
    if (name == "ThresholdedRelu") return x > alpha ? x : 0;
    if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
    if (name == "HardSigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
    if (name == "Elu") return x < 0 ? alpha * (std::exp(x) - 1) : x;
    if (name == "Softsign") return x / (1 + std::abs(x));
    return std::log1p(std::exp(x));  // Softplus
  }
};

const std::vector<Act> kActs{{"Relu"},
                             {"Tanh"},
                             {"Sigmoid"},
                             {"Affine", 0.7, 0.1, true, true},
                             {"LeakyRelu", 0.3, 0, true, false},
                             {"ThresholdedRelu", 0.2, 0, true, false},
                             {"ScaledTanh", 0.8, 1.2, true, true},
                             {"HardSigmoid", 0.3, 0.4, true, true},
                             {"Elu", 0.6, 0, true, false},
                             {"Softsign"},
                             {"Softplus"}};

// One random node with everything that it may read.
struct Problem {
  std::string op;
  int64_t gates = 1, steps = 1, batch = 1, features = 1, hidden = 1, directions = 1;
  bool reverse_first = false, batch_first = false, coupled = false, linear = false;
  double clip = 0;
  std::vector<Act> acts;         // by direction
  Vector x, w, r, b, h0, c0, p;  // layout 0; empty: absent
  std::vector<int64_t> lens;
};

Vector draw(Rng& rng, int64_t n) {
  Vector v(static_cast<size_t>(n));
  for (double& e : v) e = static_cast<float>(rng.unit() * 2 - 1);
  return v;
}

Problem draw_problem(uint64_t seed) {
  Rng rng(seed);
  const auto pick = [&](int64_t n) { return rng.between(0, n - 1); };
  Problem q;
  const int64_t kind = pick(3);
  q.op = kind == 0 ? "LSTM" : kind == 1 ? "GRU" : "RNN";
  q.gates = kind == 0 ? 4 : kind == 1 ? 3 : 1;
  q.steps = 1 + pick(5);
  q.batch = 1 + pick(3);
  q.features = 1 + pick(4);
  q.hidden = 1 + pick(5);
  q.directions = 1 + pick(2);
  q.reverse_first = q.directions == 1 && pick(2) == 1;
  q.batch_first = pick(2) == 1;
  q.coupled = pick(3) == 0;
  q.linear = pick(2) == 0;
  q.clip = pick(3) == 0 ? 0.5 : 0;
  const int64_t acts = kind == 0 ? 3 : kind == 1 ? 2 : 1;
  for (int64_t i = 0; i < acts * q.directions; ++i) {
    q.acts.push_back(rng.pick(kActs));
  }
  const int64_t d = q.directions;
  q.x = draw(rng, q.steps * q.batch * q.features);
  q.w = draw(rng, d * q.gates * q.hidden * q.features);
  q.r = draw(rng, d * q.gates * q.hidden * q.hidden);
  if (pick(3) > 0) q.b = draw(rng, d * 2 * q.gates * q.hidden);
  if (pick(2) > 0) q.h0 = draw(rng, d * q.batch * q.hidden);
  if (kind == 0 && pick(2) > 0) q.c0 = draw(rng, d * q.batch * q.hidden);
  if (kind == 0 && pick(2) > 0) q.p = draw(rng, d * 3 * q.hidden);
  if (pick(2) > 0) {
    for (int64_t i = 0; i < q.batch; ++i) q.lens.push_back(1 + pick(q.steps));
  }
  return q;
}

// ---- the formulas ----------------------------------------------------------------------------

struct Expected {
  Vector y, h, c;  // layout 0
};

// One row of the batch in one direction.
struct RowState {
  const Problem& q;
  int64_t d;
  Vector h, c;

  double clipped(double v) const { return q.clip > 0 ? std::clamp(v, -q.clip, q.clip) : v; }
  double act(size_t i, double v) const {
    const size_t per = q.acts.size() / static_cast<size_t>(q.directions);
    return q.acts[static_cast<size_t>(d) * per + i](clipped(v));
  }
  static double at(const Vector& v, int64_t i) { return v.empty() ? 0 : v[static_cast<size_t>(i)]; }
  // Row g*hidden+j of W or R times a vector, and its bias.
  double dot(const Vector& m, const double* v, int64_t n, int64_t g, int64_t j) const {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      sum += m[static_cast<size_t>(((d * q.gates + g) * q.hidden + j) * n + k)] * v[k];
    }
    return sum;
  }
  double bias(int64_t half, int64_t g, int64_t j) const {
    return at(q.b, ((d * 2 + half) * q.gates + g) * q.hidden + j);
  }
  double wx(const double* x, int64_t g, int64_t j) const {
    return dot(q.w, x, q.features, g, j) + bias(0, g, j);
  }
  double rh(const Vector& v, int64_t g, int64_t j) const {
    return dot(q.r, v.data(), q.hidden, g, j) + bias(1, g, j);
  }
  double peep(int64_t gate, int64_t j) const { return at(q.p, (d * 3 + gate) * q.hidden + j); }

  void lstm(const double* x) {
    const Vector old = h;
    for (int64_t j = 0; j < q.hidden; ++j) {
      double& cell = c[static_cast<size_t>(j)];
      const double i = act(0, wx(x, 0, j) + rh(old, 0, j) + peep(0, j) * cell);
      const double f = q.coupled ? 1 - i : act(0, wx(x, 2, j) + rh(old, 2, j) + peep(2, j) * cell);
      cell = f * cell + i * act(1, wx(x, 3, j) + rh(old, 3, j));
      const double o = act(0, wx(x, 1, j) + rh(old, 1, j) + peep(1, j) * cell);
      h[static_cast<size_t>(j)] = o * act(2, cell);
    }
  }
  void gru(const double* x) {
    const Vector old = h;
    Vector reset(old.size());
    Vector gated(old.size());
    for (int64_t j = 0; j < q.hidden; ++j) {
      const auto k = static_cast<size_t>(j);
      reset[k] = act(0, wx(x, 1, j) + rh(old, 1, j));
      gated[k] = reset[k] * old[k];
    }
    for (int64_t j = 0; j < q.hidden; ++j) {
      const auto k = static_cast<size_t>(j);
      const double z = act(0, wx(x, 0, j) + rh(old, 0, j));
      const double n = q.linear ? act(1, wx(x, 2, j) + reset[k] * rh(old, 2, j))
                                : act(1, wx(x, 2, j) + rh(gated, 2, j));
      h[k] = (1 - z) * n + z * old[k];
    }
  }
  void rnn(const double* x) {
    const Vector old = h;
    for (int64_t j = 0; j < q.hidden; ++j) {
      h[static_cast<size_t>(j)] = act(0, wx(x, 0, j) + rh(old, 0, j));
    }
  }
};

Expected compute(const Problem& q) {
  Expected e;
  e.y.assign(static_cast<size_t>(q.steps * q.directions * q.batch * q.hidden), 0);
  const auto h = static_cast<std::ptrdiff_t>(q.hidden);
  for (int64_t d = 0; d < q.directions; ++d) {
    for (int64_t n = 0; n < q.batch; ++n) {
      const auto initial = [&](const Vector& v) {
        if (v.empty()) return Vector(static_cast<size_t>(h), 0);
        const auto begin = v.begin() + (d * q.batch + n) * h;
        return Vector(begin, begin + h);
      };
      RowState s{q, d, initial(q.h0), initial(q.c0)};
      const int64_t length = q.lens.empty() ? q.steps : q.lens[static_cast<size_t>(n)];
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = d == 1 || q.reverse_first ? length - 1 - step : step;
        const double* x = q.x.data() + (t * q.batch + n) * q.features;
        q.op == "LSTM" ? s.lstm(x) : q.op == "GRU" ? s.gru(x) : s.rnn(x);
        std::copy(s.h.begin(), s.h.end(), e.y.begin() + ((t * q.directions + d) * q.batch + n) * h);
      }
      e.h.insert(e.h.end(), s.h.begin(), s.h.end());
      e.c.insert(e.c.end(), s.c.begin(), s.c.end());
    }
  }
  return e;
}

// ---- the node --------------------------------------------------------------------------------

// Dimensions d0 x d1 x rest exchanged in front.
Vector swapped(const Vector& v, int64_t d0, int64_t d1) {
  Vector out(v.size());
  const auto rest = static_cast<int64_t>(v.size()) / (d0 * d1);
  for (int64_t i = 0; i < d0; ++i) {
    for (int64_t j = 0; j < d1; ++j) {
      std::copy_n(v.begin() + (i * d1 + j) * rest, rest, out.begin() + (j * d0 + i) * rest);
    }
  }
  return out;
}

ir::Array array(ir::DType t, const Vector& v, const Shape& shape) {
  ir::Array a(t, shape);
  for (size_t i = 0; i < v.size(); ++i) a.set_double(static_cast<int64_t>(i), v[i]);
  return a;
}

void add_attributes(const Problem& q, OpRun& node) {
  node.with("hidden_size", q.hidden).with("layout", int64_t{q.batch_first ? 1 : 0});
  node.with("direction", std::string(q.directions == 2 ? "bidirectional"
                                     : q.reverse_first ? "reverse"
                                                       : "forward"));
  if (q.coupled) node.with("input_forget", int64_t{1});
  if (q.linear) node.with("linear_before_reset", int64_t{1});
  if (q.clip > 0) node.with("clip", q.clip);
  std::vector<std::string> names;
  Vector alpha;
  Vector beta;
  for (const Act& a : q.acts) {
    names.push_back(a.name);
    if (a.uses_alpha) alpha.push_back(a.alpha);
    if (a.uses_beta) beta.push_back(a.beta);
  }
  node.with("activations", names).with("activation_alpha", alpha).with("activation_beta", beta);
}

OpRun node_of(const Problem& q, ir::DType t) {
  const int64_t d = q.directions;
  OpRun node(q.op, 14);
  const auto known = [&](const Vector& v, const Shape& shape) {
    v.empty() ? node.absent() : node.known(array(t, v, shape));
  };
  const auto state = [&](const Vector& v) {
    if (v.empty()) {
      node.absent();
    } else if (q.batch_first) {
      node.in(array(t, swapped(v, d, q.batch), {q.batch, d, q.hidden}));
    } else {
      node.in(array(t, v, {d, q.batch, q.hidden}));
    }
  };
  node.in(q.batch_first ? array(t, swapped(q.x, q.steps, q.batch), {q.batch, q.steps, q.features})
                        : array(t, q.x, {q.steps, q.batch, q.features}));
  known(q.w, {d, q.gates * q.hidden, q.features});
  known(q.r, {d, q.gates * q.hidden, q.hidden});
  known(q.b, {d, 2 * q.gates * q.hidden});
  const ir::Array lens =
      array(ir::kI32, Vector(q.lens.begin(), q.lens.end()), {static_cast<int64_t>(q.lens.size())});
  // Known lengths in one half of the problems, an input in the other.
  q.lens.empty() ? node.absent() : q.linear ? node.known(lens) : node.in(lens);
  state(q.h0);
  if (q.op == "LSTM") {
    state(q.c0);
    known(q.p, {d, 3 * q.hidden});
  }
  add_attributes(q, node);
  return node.outputs(q.op == "LSTM" ? 3 : 2);
}

void expect_near(const ir::Array& got, const Vector& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.elements(), static_cast<int64_t>(want.size())) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_double(static_cast<int64_t>(i)), want[i],
                tolerance * (1 + std::abs(want[i])))
        << what << " " << i;
  }
}

// Largest errors relative to 1 + |expected|; states are rounded to the type after every step.
struct Precision {
  ir::DType type;
  double tolerance;
  uint64_t runs;
};

TEST(Recurrent, RandomNodesEqualTheFormulas) {
  for (const Precision& p : {Precision{ir::kF32, 1e-5, 300}, Precision{ir::kF64, 1e-10, 60},
                             Precision{ir::kF16, 2e-2, 60}}) {
    for (uint64_t seed = 1; seed <= p.runs; ++seed) {
      const Problem q = draw_problem(seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + q.op + " " + ir::to_string(p.type));
      Expected want = compute(q);
      if (q.batch_first) {
        // steps x directions x batch to batch x steps x directions
        want.y = swapped(want.y, q.steps * q.directions, q.batch);
        want.h = swapped(want.h, q.directions, q.batch);
        want.c = swapped(want.c, q.directions, q.batch);
      }
      const std::vector<ir::Array> got = node_of(q, p.type).run();
      expect_near(got[0], want.y, p.tolerance, "Y");
      expect_near(got[1], want.h, p.tolerance, "Y_h");
      if (q.op == "LSTM") expect_near(got[2], want.c, p.tolerance, "Y_c");
      if (HasFatalFailure()) return;
    }
  }
}

// Steps differ by a constant that they read, not by their definition: few kernels are called often.
TEST(Recurrent, StepsShareTheirDefinition) {
  Problem q;
  q.op = "LSTM";
  q.gates = 4;
  q.steps = 40;
  q.hidden = 3;
  Rng rng(7);
  q.acts = {kActs[2], kActs[1], kActs[1]};
  q.x = draw(rng, 40);
  q.w = draw(rng, 12);
  q.r = draw(rng, 36);
  q.h0 = draw(rng, 3);
  q.c0 = draw(rng, 3);
  const graph::Partition p = graph::partition(node_of(q, ir::kF32).graph());
  std::map<std::string, int> kinds;
  std::map<std::string, int> calls;
  for (const graph::Computation& t : p.tasks) {
    ++kinds[t.dag->name];
    calls[t.dag->name] += t.calls;
  }
  EXPECT_EQ(calls["lstm_cell"], 40);
  EXPECT_EQ(kinds["lstm_cell"], 1);
  EXPECT_EQ(calls["lstm_hidden"], 40);
  EXPECT_EQ(kinds["lstm_hidden"], 1);
  EXPECT_EQ(calls["matmul"], 41);
  EXPECT_EQ(kinds["matmul"], 2);
}

TEST(Recurrent, Refusals) {
  const ir::Array x(ir::kF32, {2, 1, 3});
  const ir::Array w(ir::kF32, {1, 16, 3});
  const ir::Array r(ir::kF32, {1, 16, 4});
  const OpRun good = OpRun("LSTM", 14).in(x).in(w).in(r);
  EXPECT_NO_THROW(good.graph());
  using Words = std::vector<std::string>;
  EXPECT_THROW(OpRun(good).with("activations", Words{"Sigmoid", "Tanh", "Swish"}).graph(),
               Unsupported);
  EXPECT_THROW(OpRun(good).with("activations", Words{"Sigmoid"}).graph(), Unsupported);
  EXPECT_THROW(OpRun(good).with("direction", std::string("sideways")).graph(), Unsupported);
  EXPECT_THROW(OpRun(good).with("hidden_size", int64_t{5}).graph(), Unsupported);
  EXPECT_THROW(OpRun("LSTM", 14).in(x).in(r).in(w).graph(), Unsupported);
}

}  // namespace
}  // namespace tenon::onnx
