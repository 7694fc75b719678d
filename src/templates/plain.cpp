// SPDX-License-Identifier: Apache-2.0
// What no other family takes: cheap stages are inlined, the others stay where they are with their outermost loop
// parallel and vectors along their last dimension; a reduction sums up in a small local tile.
#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

bool is_cheap(const te::ComputeOp& op) {
  bool cheap = !op.is_reduction();
  ir::visit(op.body, [&](const ir::Expr& e) { cheap = cheap && e.as<ir::Call>() == nullptr; });
  return cheap;
}

class Writer : private PlanWriter {
 public:
  Writer(const te::ComputeDag& dag, const target::Target& t) : dag_(dag), t_(t) {}

  Plan run() {
    for (const te::OpRef& op : dag_.ops) {
      if (is_cheap(*op) && !is_output(*op)) {
        line("compute_inline {}", op->name());
      } else {
        stage(*op);
      }
    }
    return take();
  }

 private:
  bool is_output(const te::ComputeOp& op) const {
    for (const te::Tensor& t : dag_.outputs) {
      if (t.same_as(op.output)) return true;
    }
    return false;
  }

  void stage(const te::ComputeOp& op) {
    if (op.axes.empty()) return;
    const std::string n = op.name();
    const std::string last = op.axes.back().var.name();
    const int64_t v = t_.lanes(op.output.dtype().bytes());
    const bool wide = v >= 2 && op.axes.back().extent >= v;
    if (wide) {
      knobs()["v" + std::to_string(op.output.dtype().bytes())] = v;
      if (op.is_reduction()) line("cache_write {} local", n);
      line("split {} {} [$v{}]", n, last, op.output.dtype().bytes());
      line("vectorize {} {}.1", n, last);
      if (op.is_reduction()) sum(op, n + ".cache", last, n);
    }
    const bool one = op.axes.size() == 1;
    if (op.axes[0].extent >= 2 && (!one || !wide)) line("parallel {} {}", n, op.axes[0].var.name());
    if (one && wide && op.axes[0].extent >= 16 * v) line("parallel {} {}.0", n, last);
  }

  void sum(const te::ComputeOp& op, const std::string& acc, const std::string& last,
           const std::string& out) {
    std::vector<std::string> order;
    for (const te::Axis& a : op.reduce_axes) order.push_back(a.var.name());
    order.push_back(last);
    line("reorder {} [{}]", acc, comma(order));
    line("compute_at {} {} {}.0", acc, out, last);
    line("vectorize {} {}", acc, last);  // attached, its extent is that of the vector
  }

  const te::ComputeDag& dag_;
  const target::Target& t_;
};

}  // namespace

std::optional<Plan> plan_plain(const te::ComputeDag& dag, const target::Target& target) {
  return Writer(dag, target).run();
}

}  // namespace tenon::templates
