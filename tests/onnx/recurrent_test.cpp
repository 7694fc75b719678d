// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN with random attributes against the formulas of the standard in plain loops.
#include <algorithm>
#include <cmath>

#include "graph/define.h"
#include "graph/partition.h"
#include "onnx/fake_node.h"
#include "support/rng.h"

namespace tenon::onnx {
namespace {

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
        const auto begin = v.begin() + (d * q.batch + n) * h;
        return v.empty() ? Vector(static_cast<size_t>(h), 0) : Vector(begin, begin + h);
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

class OneNode {
 public:
  explicit OneNode(const Problem& q) : q_(q), b_(graph_) {}

  std::vector<ir::Array> operator()() {
    const int64_t d = q_.directions;
    const bool first = q_.batch_first;
    std::vector<ValueId> in{
        first ? feed("X", swapped(q_.x, q_.steps, q_.batch), {q_.batch, q_.steps, q_.features})
              : feed("X", q_.x, {q_.steps, q_.batch, q_.features}),
        constant(q_.w, {d, q_.gates * q_.hidden, q_.features}),
        constant(q_.r, {d, q_.gates * q_.hidden, q_.hidden}),
        constant(q_.b, {d, 2 * q_.gates * q_.hidden}),
        q_.lens.empty() ? kAbsent : lengths(),
        state("h0", q_.h0),
        state("c0", q_.c0),
        constant(q_.p, {d, 3 * q_.hidden})};
    if (q_.op != "LSTM") in.resize(6);
    FakeNode node(b_, q_.op, 14, in, q_.op == "LSTM" ? 3 : 2);
    describe(node);
    graph_.outputs = node.convert();
    for (const ValueId v : graph_.outputs) graph_.output_names.push_back(graph_.value(v).name);
    graph_.compact();
    graph_.verify();
    std::vector<ir::Array> arrays;
    for (const ValueId v : graph_.inputs) arrays.push_back(fed_.at(graph_.value(v).name));
    return graph::evaluate(graph_, arrays);
  }
  const graph::Graph& graph() const { return graph_; }

 private:
  static ir::Array array(const Vector& v, const Shape& shape) {
    ir::Array a(ir::kF32, shape);
    for (size_t i = 0; i < v.size(); ++i) a.set_double(static_cast<int64_t>(i), v[i]);
    return a;
  }
  ValueId constant(const Vector& v, const Shape& shape) {
    return v.empty() ? kAbsent : b_.constant(array(v, shape));
  }
  ValueId feed(const std::string& name, const Vector& v, const Shape& shape) {
    fed_.emplace(name, array(v, shape));
    return b_.input(name, ir::kF32, shape);
  }
  ValueId state(const std::string& name, const Vector& v) {
    if (v.empty()) return kAbsent;
    const int64_t d = q_.directions;
    return q_.batch_first ? feed(name, swapped(v, d, q_.batch), {q_.batch, d, q_.hidden})
                          : feed(name, v, {d, q_.batch, q_.hidden});
  }
  // Known lengths in one half of the problems, an input in the other.
  ValueId lengths() {
    ir::Array a(ir::kI32, {q_.batch});
    for (int64_t i = 0; i < q_.batch; ++i) a.set(i, {q_.lens[static_cast<size_t>(i)], 0});
    if (q_.linear) return b_.constant(a);
    fed_.emplace("lens", a);
    return b_.input("lens", ir::kI32, {q_.batch});
  }
  void describe(FakeNode& node) const {
    node.ints["hidden_size"] = {q_.hidden};
    node.ints["layout"] = {q_.batch_first ? 1 : 0};
    node.strings["direction"] = {q_.directions == 2 ? "bidirectional"
                                 : q_.reverse_first ? "reverse"
                                                    : "forward"};
    if (q_.coupled) node.ints["input_forget"] = {1};
    if (q_.linear) node.ints["linear_before_reset"] = {1};
    if (q_.clip > 0) node.floats["clip"] = {q_.clip};
    for (const Act& a : q_.acts) {
      node.strings["activations"].push_back(a.name);
      if (a.uses_alpha) node.floats["activation_alpha"].push_back(a.alpha);
      if (a.uses_beta) node.floats["activation_beta"].push_back(a.beta);
    }
  }

  const Problem& q_;
  graph::Graph graph_;
  graph::GraphBuilder b_;
  std::map<std::string, ir::Array> fed_;
};

void expect_near(const ir::Array& got, const Vector& want, const std::string& what) {
  ASSERT_EQ(got.elements(), static_cast<int64_t>(want.size())) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_double(static_cast<int64_t>(i)), want[i], 1e-5 * (1 + std::abs(want[i])))
        << what << " " << i;
  }
}

TEST(Recurrent, RandomNodesEqualTheFormulas) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Problem q = draw_problem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + q.op);
    Expected want = compute(q);
    if (q.batch_first) {
      // steps x directions x batch to batch x steps x directions
      want.y = swapped(want.y, q.steps * q.directions, q.batch);
      want.h = swapped(want.h, q.directions, q.batch);
      want.c = swapped(want.c, q.directions, q.batch);
    }
    const std::vector<ir::Array> got = OneNode(q)();
    expect_near(got[0], want.y, "Y");
    expect_near(got[1], want.h, "Y_h");
    if (q.op == "LSTM") expect_near(got[2], want.c, "Y_c");
    if (HasFatalFailure()) return;
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
  OneNode run(q);
  run();
  const graph::Partition p = graph::partition(run.graph());
  std::map<std::string, int> kinds;
  std::map<std::string, int> calls;
  for (const graph::Task& t : p.tasks) {
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
  graph::Graph g;
  graph::GraphBuilder b(g);
  const ValueId x = b.input("x", ir::kF32, {2, 1, 3});
  const ValueId w = b.input("w", ir::kF32, {1, 16, 3});
  const ValueId r = b.input("r", ir::kF32, {1, 16, 4});
  FakeNode unknown(b, "LSTM", 14, {x, w, r}, 3);
  unknown.strings["activations"] = {"Sigmoid", "Tanh", "Swish"};
  EXPECT_THROW(unknown.convert(), Unsupported);
  FakeNode few(b, "LSTM", 14, {x, w, r}, 3);
  few.strings["activations"] = {"Sigmoid"};
  EXPECT_THROW(few.convert(), Unsupported);
  FakeNode shape(b, "LSTM", 14, {x, r, w}, 3);
  EXPECT_THROW(shape.convert(), Unsupported);
  FakeNode direction(b, "LSTM", 14, {x, w, r}, 3);
  direction.strings["direction"] = {"sideways"};
  EXPECT_THROW(direction.convert(), Unsupported);
}

}  // namespace
}  // namespace tenon::onnx
