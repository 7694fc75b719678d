// SPDX-License-Identifier: Apache-2.0
#include "search/tasks.h"

namespace tenon::search {

using layout::Layout;
using te::Builder;

task::Task make_task(const Build& build, const std::string& target,
                     const std::map<std::string, Layout>& edges) {
  Builder b;
  build(b);
  auto dag = std::make_shared<const te::ComputeDag>(b.finish());
  std::map<std::string, Layout> all;
  for (const te::Input& in : dag->inputs) {
    if (!in.constant) all.emplace(in.tensor.name(), Layout(in.tensor.shape()));
  }
  for (const te::Tensor& t : dag->outputs) all.emplace(t.name(), Layout(t.shape()));
  for (const auto& [name, l] : edges) all.insert_or_assign(name, l);
  return task::make_task(std::move(dag), std::move(all),
                         std::make_shared<const target::Target>(target::parse_target(target)));
}

namespace {

Layout blocked(const std::vector<int64_t>& shape, int64_t b) {
  return Layout(shape).split(1, {(shape[1] + b - 1) / b, b}).reorder({0, 1, 3, 4, 2});
}

void matmul(Builder& b, int64_t m, int64_t n, int64_t k, bool constant) {
  const auto a = b.input("A", ir::kF32, {m, k});
  const auto w = constant ? b.constant("W", ir::kF32, {k, n}) : b.input("W", ir::kF32, {k, n});
  b.output(te::matmul(b, "C", a, w));
}

void conv_relu(Builder& b, int64_t c, int64_t k, int64_t size, int64_t stride) {
  const auto x = b.input("X", ir::kF32, {1, c, size, size});
  const auto w = b.constant("W", ir::kF32, {k, c, 3, 3});
  const auto bias = b.constant("B", ir::kF32, {k, 1, 1});
  const auto y = te::conv(b, "Y", x, w, {{stride, stride}, {1, 1}, {1, 1}, {}, 1});
  const auto z = te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "R", z));
}

// A small matrix as conditions on its indices.
ir::Expr entry(const std::vector<std::vector<double>>& matrix, const ir::Expr& row,
               const ir::Expr& column) {
  ir::Expr value = ir::zero_of(ir::kF32);
  for (size_t i = 0; i < matrix.size(); ++i) {
    for (size_t j = 0; j < matrix[i].size(); ++j) {
      if (matrix[i][j] == 0) continue;
      const ir::Expr here = ir::logical_and(ir::eq(row, static_cast<int64_t>(i)),
                                            ir::eq(column, static_cast<int64_t>(j)));
      value = ir::select(here, ir::make_float(ir::kF32, matrix[i][j]), value);
    }
  }
  return value;
}

}  // namespace

void winograd(Builder& b, int64_t channels, int64_t filters, int64_t tiles) {
  const std::vector<std::vector<double>> in{
      {1, 0, 0, 0}, {0, 1, -1, 1}, {-1, 1, 1, 0}, {0, 0, 0, -1}};
  const std::vector<std::vector<double>> out{{1, 0}, {1, 1}, {1, -1}, {0, -1}};
  const auto x = b.input("X", ir::kF32, {channels, 2 * tiles + 2});
  const auto u = b.constant("U", ir::kF32, {4, filters, channels});
  const auto v =
      b.reduce("V", {4, channels, tiles}, ir::BinaryOp::kAdd, {4},
               [&](auto a, auto r) {
                 return ir::load(x, {a[1], a[2] * ir::Expr(2) + r[0]}) * entry(in, r[0], a[0]);
               },
               {"a", "c", "p"}, {"e"});
  const auto m =
      b.reduce("M", {4, filters, tiles}, ir::BinaryOp::kAdd, {channels},
               [&](auto a, auto r) {
                 return ir::load(u, {a[0], a[1], r[0]}) * ir::load(v, {a[0], r[0], a[2]});
               },
               {"a", "k", "p"}, {"c"});
  b.output(b.reduce("Y", {filters, tiles, 2}, ir::BinaryOp::kAdd, {4},
                    [&](auto a, auto r) {
                      return ir::load(m, {r[0], a[0], a[1]}) * entry(out, r[0], a[2]);
                    },
                    {"k", "p", "j"}, {"a"}));
}

namespace {

void depthwise(Builder& b) {
  const auto x = b.input("X", ir::kF32, {1, 8, 7, 9});
  const auto w = b.constant("W", ir::kF32, {8, 1, 3, 3});
  b.output(te::depthwise_conv2d(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1}));
}

}  // namespace

std::vector<NamedTask> small_tasks() {
  std::vector<NamedTask> out;
  const auto add = [&](const std::string& name, const Build& build,
                       const std::map<std::string, Layout>& edges = {}) {
    for (const char* target : {"x86-64-v3 cores=4", "x86-64-v4 cores=2"})
      out.push_back({name + " " + target, make_task(build, target, edges)});
  };
  add("matmul", [](Builder& b) { matmul(b, 12, 32, 24, false); });
  add("matmul_odd", [](Builder& b) { matmul(b, 7, 13, 11, true); });
  add("matmul_deep", [](Builder& b) { matmul(b, 4, 4, 64, true); });
  add("conv", [](Builder& b) { conv_relu(b, 6, 16, 7, 1); });
  add("conv_odd", [](Builder& b) { conv_relu(b, 3, 5, 9, 2); });
  add("conv_blocked", [](Builder& b) { conv_relu(b, 8, 16, 6, 1); },
      {{"X", blocked({1, 8, 6, 6}, 8)}, {"R", blocked({1, 16, 6, 6}, 8)}});
  add("conv_blocked_tail", [](Builder& b) { conv_relu(b, 6, 12, 5, 1); },
      {{"X", blocked({1, 6, 5, 5}, 4)}, {"R", blocked({1, 12, 5, 5}, 8)}});
  add("winograd", [](Builder& b) { winograd(b, 3, 5, 7); });
  add("depthwise", depthwise);
  add("depthwise_blocked", depthwise,
      {{"X", blocked({1, 8, 7, 9}, 8)}, {"Y", blocked({1, 8, 7, 9}, 8)}});
  add("softmax", [](Builder& b) {
    b.output(te::softmax(b, "S", b.input("X", ir::kF32, {5, 37})));
  });
  add("row_min", [](Builder& b) {
    const auto x = b.input("X", ir::kF32, {10, 48});
    b.output(te::reduce_dims(b, "M", x, ir::BinaryOp::kMin, {1}, false));
  });
  add("sum_all", [](Builder& b) {
    const auto x = b.input("X", ir::kF32, {3, 43});
    b.output(te::reduce_dims(b, "S", x, ir::BinaryOp::kAdd, {0, 1}, false));
  });
  add("max_pool", [](Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 3, 9, 9});
    b.output(te::pool(b, "P", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
  });
  add("layer_norm", [](Builder& b) {
    const auto x = b.input("X", ir::kF32, {6, 24});
    const auto g = b.constant("G", ir::kF32, {24});
    const auto h = b.constant("H", ir::kF32, {24});
    b.output(te::layer_norm(b, "Y", x, g, h, 1e-5));
  });
  add("two_matmuls", [](Builder& b) {
    const auto a = b.input("A", ir::kF32, {6, 8});
    const auto v = b.constant("V", ir::kF32, {8, 9});
    const auto w = b.constant("W", ir::kF32, {9, 16});
    b.output(te::matmul(b, "D", te::matmul(b, "C", a, v), w));
  });
  add("elementwise", [](Builder& b) {
    const auto x = b.input("X", ir::kF32, {3, 50});
    b.output(te::gelu(b, "G", te::relu(b, "R", x)));
  });
  return out;
}

}  // namespace tenon::search
