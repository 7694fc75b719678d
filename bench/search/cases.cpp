// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <fstream>
#include <sstream>

#include "support/check.h"
#include "te/ops.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

using te::Builder;

void matmul(Builder& b, int64_t n, bool constant) {
  const auto a = b.input("A", ir::kF32, {n, n});
  const auto w = constant ? b.constant("W", ir::kF32, {n, n}) : b.input("W", ir::kF32, {n, n});
  b.output(te::matmul(b, "C", a, w));
}

void conv(Builder& b, int64_t channels, int64_t size) {
  const auto x = b.input("X", ir::kF32, {1, channels, size, size});
  const auto w = b.constant("W", ir::kF32, {channels, channels, 3, 3});
  const auto bias = b.constant("B", ir::kF32, {channels, 1, 1});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  const auto z = te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "R", z));
}

struct Case {
  const char* name;
  void (*build)(Builder& b);
};
constexpr Case kCases[] = {
    {"gmm256", [](Builder& b) { matmul(b, 256, true); }},
    {"gmm1024", [](Builder& b) { matmul(b, 1024, false); }},
    {"gmm1024_packed", [](Builder& b) { matmul(b, 1024, true); }},
    {"c2", [](Builder& b) { conv(b, 64, 56); }},
    {"c6", [](Builder& b) { conv(b, 128, 28); }},
    {"c9", [](Builder& b) { conv(b, 256, 14); }},
    {"c12", [](Builder& b) { conv(b, 512, 7); }},
};

te::ComputeDag dag_of(const std::string& name) {
  for (const Case& c : kCases) {
    if (name != c.name) continue;
    Builder b;
    c.build(b);
    return b.finish();
  }
  std::ifstream in(name);
  if (!in) throw UserError("there is neither a case nor a file '" + name + "'");
  std::stringstream text;
  text << in.rdbuf();
  return te::parse(text.str(), name);
}

}  // namespace

task::Task make_case(const std::string& name, const target::Target& target, bool plain) {
  auto dag = std::make_shared<const te::ComputeDag>(dag_of(name));
  auto machine = std::make_shared<const target::Target>(target);
  auto edges = task::parse_edges("", *dag);
  if (!plain) {
    const auto chosen = templates::choose(schedule::State(dag, machine), {{}, false}).edges;
    for (auto& [tensor, layout] : edges) layout = chosen.at(tensor);
  }
  return task::make_task(std::move(dag), std::move(edges), std::move(machine));
}

}  // namespace tenon::search
