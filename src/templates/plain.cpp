// SPDX-License-Identifier: Apache-2.0
// What no other family takes: cheap stages are inlined, the others stay where they are, over their storage, with outer
// loops parallel and vectors along their last dimension; a reduction sums up in a small local tile.
#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {

namespace {

bool is_cheap(const te::ComputeOp& op) {
  bool cheap = !op.is_reduction();
  ir::visit(op.body, [&](const ir::Expr& e) { cheap = cheap && e.as<ir::Call>() == nullptr; });
  return cheap;
}

bool is_output(const te::ComputeDag& dag, const te::ComputeOp& op) {
  return std::any_of(dag.outputs.begin(), dag.outputs.end(),
                     [&](const te::Tensor& t) { return t.same_as(op.output); });
}

// Zeros around a reduction, or several copies of it, are written by a stage that copies it.
bool needs_copy(const layout::Layout& l) {
  return std::any_of(l.steps().begin(), l.steps().end(), [](const layout::LayoutStep& s) {
    return s.op == layout::LayoutOp::kPad || s.op == layout::LayoutOp::kUnfold;
  });
}

// The layouts that are asked for, and nothing else.
void store_edges(PlanWriter& p) {
  p.store_fixed_inputs();
  for (const te::Tensor& t : p.dag().outputs) {
    const auto it = p.request().fixed.find(t.name());
    if (it == p.request().fixed.end()) continue;
    if (needs_copy(it->second) && p.dag().producer(t)->is_reduction())
      p.line("cache_write {} global", t.name());
    p.store(t.name(), it->second);
  }
}

class Writer : private PlanWriter {
 public:
  using PlanWriter::PlanWriter;

  Plan run() {
    for (const te::OpRef& op : dag().ops) {
      if (is_cheap(*op) && !is_output(dag(), *op)) line("compute_inline {}", op->name());
    }
    store_edges(*this);
    for (const te::OpRef& op : dag().ops) {
      if (refused()) break;
      if (is_cheap(*op) && !is_output(dag(), *op)) continue;
      if (now(op->name()).is_reduction()) {
        reduce(op->name());
      } else {
        loop_over_storage(*this, op->name());
        if (state().find(op->name() + ".cache") >= 0) reduce(op->name() + ".cache");
      }
    }
    return take();
  }

 private:
  void reduce(const std::string& n) {
    const te::ComputeOp op = now(n);
    if (op.axes.empty()) return;
    const te::Axis& last = op.axes.back();
    const int64_t v = target().lanes(op.output.dtype().bytes());
    int64_t work = 1;
    for (const te::Axis& a : op.reduce_axes) work *= a.extent;
    std::vector<NamedLoop> loops;
    for (const te::Axis& a : op.axes) {
      loops.push_back({a.var.name(), a.extent});
      work *= a.extent;
    }
    if (v >= 2 && last.extent >= v) {
      const std::string knob = "v" + std::to_string(op.output.dtype().bytes());
      knobs()[knob] = v;
      line("cache_write {} local", n);
      line("split {} {} [${}]\nvectorize {} {}.1", n, last.var.name(), knob, n, last.var.name());
      sum(op, n);
      loops.back() = {last.var.name() + ".0", arith::ceil_div(last.extent, v)};
    }
    deal_out(*this, n, loops, work);
  }

  void sum(const te::ComputeOp& op, const std::string& out) {
    const std::string acc = out + ".cache";
    const std::string last = op.axes.back().var.name();
    std::vector<std::string> order;
    for (const te::Axis& a : op.reduce_axes) order.push_back(a.var.name());
    order.push_back(last);
    line("reorder {} [{}]", acc, comma(order));
    line("compute_at {} {} {}.0", acc, out, last);
    line("vectorize {} {}", acc, last);  // attached, its extent is that of the vector
  }
};

}  // namespace

std::optional<Plan> plan_plain(const schedule::State& initial, const Request& request) {
  return Writer(initial, request).run();
}

std::optional<Plan> plan_none(const schedule::State& initial, const Request& request) {
  PlanWriter p(initial, request);
  store_edges(p);
  return p.take();
}

}  // namespace tenon::templates
