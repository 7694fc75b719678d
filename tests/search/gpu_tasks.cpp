// SPDX-License-Identifier: Apache-2.0
#include "search/gpu_tasks.h"

namespace tenon::search {

std::vector<NamedTask> gpu_tasks(const std::string& target) {
  const auto gpu = std::make_shared<const target::Target>(target::parse_target(target));
  std::vector<NamedTask> out;
  for (const NamedTask& t : small_tasks()) {
    const size_t end = t.name.find(" x86-64-v3");
    if (end == std::string::npos) continue;
    out.push_back({t.name.substr(0, end), task::make_task(t.task.dag, t.task.edges, gpu)});
  }
  const auto add = [&](const std::string& name, const Build& build) {
    out.push_back({name, make_task(build, target)});
  };
  add("matmul_of_warps", [](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {19, 20});
    b.output(te::relu(b, "R", te::matmul(b, "C", a, b.constant("W", ir::kF32, {20, 36}))));
  });
  add("dense", [](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {1, 96});
    const auto c = te::matmul(b, "C", a, b.constant("W", ir::kF32, {96, 11}));
    b.output(te::relu(b, "R", c));
  });
  add("mean", [](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 6, 7, 9});
    b.output(te::reduce_dims(b, "M", x, ir::BinaryOp::kAdd, {2, 3}, false));
  });
  add("long_rows", [](te::Builder& b) {
    b.output(te::softmax(b, "S", b.input("X", ir::kF32, {2, 3, 150})));
  });
  return out;
}

}  // namespace tenon::search
