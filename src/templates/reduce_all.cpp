// SPDX-License-Identifier: Apache-2.0
// A reduction to few elements (norms, means over everything): the reduced range is cut into near-equal chunks for
// the cores, each chunk runs in u*v lanes, lanes are combined once per chunk and chunks once at the end.
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

std::optional<Plan> plan_reduce_all(const schedule::State& initial, const Request& request) {
  const te::ComputeDag& dag = initial.dag();
  const target::Target& t = initial.target();
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  int64_t outputs = 1;
  for (const te::Axis& a : op.axes) outputs *= a.extent;
  int64_t length = 1;
  for (const te::Axis& a : op.reduce_axes) length *= a.extent;
  const int64_t v = t.lanes(op.output.dtype().bytes());
  if (v < 2 || outputs > 16 || length < 64 * v) return std::nullopt;
  if (!may_be_plain(request, dag.outputs[0])) return std::nullopt;
  const int64_t lanes = std::min<int64_t>(64, 4 * v);
  PlanWriter p(initial, request);
  const bool parallel = length >= 1 << 14;
  p.knobs() = {{"chunks", parallel ? t.cores : 1}, {"v", v}, {"uv", lanes}};
  for (const te::ComputeOp* i : chain->inlined) {
    if (i != &op) p.line("compute_inline {}", i->name());
  }
  p.store_fixed_inputs();
  const std::string s = op.name();
  std::vector<std::string> names;
  std::string k;
  for (const te::Axis& a : op.reduce_axes) {
    names.push_back(a.var.name());
    k += (k.empty() ? "" : "@") + a.var.name();
  }
  if (names.size() > 1) p.line("fuse {} [{}]", s, comma(names));
  p.line("split {} {} [$chunks] parts", s, k);
  p.line("rfactor {} {}.0 0", s, k);
  p.line("split {}.rf {}.1 [$uv]", s, k);
  p.line("rfactor {}.rf {}.1.1 {}", s, k, op.axes.size() + 1);
  p.line("vectorize {}.rf {}.1.1", s, k);
  p.line("split {}.rf.rf {}.1.1 [$v]", s, k);
  p.line("reorder {}.rf.rf [{}.1.0, {}.1.1.0, {}.1.1.1]", s, k, k, k);
  p.line("unroll {}.rf.rf {}.1.1.0", s, k);
  p.line("vectorize {}.rf.rf {}.1.1.1", s, k);
  const std::string at = op.axes.empty() ? k + ".0" : op.axes.back().var.name();
  p.line("compute_at {}.rf.rf {}.rf {}", s, s, at);
  if (parallel) p.line("parallel {}.rf {}.0", s, k);
  return p.take();
}

}  // namespace tenon::templates
