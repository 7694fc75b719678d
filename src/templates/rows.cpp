// SPDX-License-Identifier: Apache-2.0
// Softmax, layer normalisation and their like: reductions over the last dimension and what is computed from them.
// One row at a time, everything computed at the row loop of the output; a reduction runs in u vectors of partial
// results that are combined across lanes once per row.
#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMaxRowBytes = 256 << 10;
constexpr int64_t kUnrolled = 8;  // vectors of a short row

// Every op is over the same leading axes and at most one more: the row.
bool match(const te::ComputeDag& dag, size_t* outer) {
  if (dag.outputs.size() != 1) return false;
  const te::ComputeOp& last = *dag.producer(dag.outputs[0]);
  *outer = 0;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) *outer = op->axes.size();
  }
  if (*outer == 0 || last.axes.size() < *outer) return false;
  for (const te::OpRef& op : dag.ops) {
    const bool row = op->axes.size() == *outer;
    const bool full = op->axes.size() == *outer + 1 && !op->is_reduction();
    if ((!row && !full) || op->reduce_axes.size() > 1) return false;
    bool in_place = true;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || dag.producer(l->buffer) == nullptr) return;
      for (size_t d = 0; d < *outer && in_place; ++d)
        in_place = l->indices[d].same_as(op->axes[d].var);
    });
    if (!in_place) return false;
    if (full && op->axes.back().extent * op->output.dtype().bytes() > kMaxRowBytes) return false;
    for (size_t d = 0; d < *outer; ++d) {
      if (op->axes[d].extent != last.axes[d].extent) return false;
    }
  }
  return true;
}

class Writer : private PlanWriter {
 public:
  Writer(const schedule::State& initial, const Edges& edges, size_t outer)
      : PlanWriter(initial, edges),
        dag_(initial.dag()),
        t_(initial.target()),
        outer_(outer),
        last_(*dag_.producer(dag_.outputs[0])) {}

  Plan run() {
    pairs_ = takes_pairs();
    store_fixed_inputs();
    for (const te::OpRef& op : dag_.ops) {
      if (op->is_reduction()) reduce(*op);
    }
    row_loop();
    // From the last to the first: a stage may be attached once its readers are.
    for (auto it = dag_.ops.rbegin(); it != dag_.ops.rend(); ++it) {
      const te::ComputeOp& op = **it;
      if (&op != &last_) attach(op.name());
      if (op.axes.size() > outer_) {
        vectors(op.name(), op.axes.back(), op.output.dtype(),
                &op == &last_ ? inner_ : op.axes[0].var.name());
      } else if (pairs_ && &op != &last_) {
        line("unroll {} {}", op.name(), op.axes[0].var.name());
      }
      if (std::find(factored_.begin(), factored_.end(), op.name()) != factored_.end()) {
        attach(op.name() + ".rf");
        if (pairs_) line("unroll {}.rf {}", op.name(), op.axes[0].var.name());
      }
    }
    return take();
  }

 private:
  // Two long rows at a time hide each other's latencies and share what is read for both.
  bool takes_pairs() const {
    if (outer_ != 1 || last_.axes[0].extent % (2 * t_.cores) != 0 || last_.axes.size() == outer_)
      return false;
    for (const te::OpRef& op : dag_.ops) {
      const int64_t v = t_.lanes(op->output.dtype().bytes());
      if (op->is_reduction() && (v < 2 || op->reduce_axes[0].extent < 16 * v)) return false;
    }
    return true;
  }

  void vectors(const std::string& stage, const te::Axis& a, ir::DType type,
               const std::string& row) {
    const int64_t v = t_.lanes(type.bytes());
    if (v < 2 || a.extent < v) return;
    knobs()["v"] = v;
    line("split {} {} [$v]", stage, a.var.name());
    line("vectorize {} {}.1", stage, a.var.name());
    if (a.extent <= kUnrolled * v) line("unroll {} {}.0", stage, a.var.name());
    if (pairs_) {
      line("reorder {} [{}.0, {}, {}.1]", stage, a.var.name(), row, a.var.name());
      line("unroll {} {}", stage, row);
    }
  }

  // S = sum(j): partial results in u*v lanes, then across lanes.
  void reduce(const te::ComputeOp& op) {
    const te::Axis& j = op.reduce_axes[0];
    const int64_t v = t_.lanes(op.output.dtype().bytes());
    if (v < 2 || j.extent < 2 * v) return;
    const int64_t u = j.extent >= 16 * v ? std::min<int64_t>(4, 64 / v) : 1;
    const std::string n = op.name();
    const std::string lane = j.var.name() + ".1";
    knobs()["v"] = v;
    knobs()[u > 1 ? "uv" : "v"] = u * v;
    line("split {} {} [${}]", n, j.var.name(), u > 1 ? "uv" : "v");
    line("rfactor {} {} {}", n, lane, op.axes.size());
    line("vectorize {} {}", n, lane);
    if (u > 1) {
      line("split {}.rf {} [$v]", n, lane);
      const std::string row = pairs_ ? op.axes[0].var.name() + ", " : "";
      line("reorder {}.rf [{}.0, {}{}.0, {}.1]", n, j.var.name(), row, lane, lane);
      line("unroll {}.rf {}.0", n, lane);
      line("vectorize {}.rf {}.1", n, lane);
    } else {
      line("reorder {}.rf [{}.0, {}]", n, j.var.name(), lane);
      line("vectorize {}.rf {}", n, lane);
      if (j.extent <= kUnrolled * v) line("unroll {}.rf {}.0", n, j.var.name());
    }
    factored_.push_back(n);
  }

  void row_loop() {
    std::vector<std::string> names;
    for (size_t d = 0; d < outer_; ++d) names.push_back(last_.axes[d].var.name());
    row_ = names[0];
    if (pairs_) {
      knobs()["rows"] = 2;
      line("split {} {} [$rows]", last_.name(), row_);
      inner_ = row_ + ".1";
      row_ += ".0";
    }
    if (names.size() > 1) {
      line("fuse {} [{}]", last_.name(), comma(names));
      for (size_t d = 1; d < names.size(); ++d) row_ += "@" + names[d];
    }
    line("parallel {} {}", last_.name(), row_);
  }

  void attach(const std::string& stage) { line("compute_at {} {} {}", stage, last_.name(), row_); }

  const te::ComputeDag& dag_;
  const target::Target& t_;
  size_t outer_;
  const te::ComputeOp& last_;
  std::string row_, inner_;  // the loop that everything is attached to; of a pair of rows
  bool pairs_ = false;
  std::vector<std::string> factored_;
};

}  // namespace

std::optional<Plan> plan_rows(const schedule::State& initial, const Edges& edges) {
  const te::ComputeDag& dag = initial.dag();
  size_t outer = 0;
  if (!match(dag, &outer) || !may_be_plain(edges, dag.outputs[0])) return std::nullopt;
  int64_t rows = 1;
  for (size_t d = 0; d < outer; ++d) rows *= dag.producer(dag.outputs[0])->axes[d].extent;
  if (rows < initial.target().cores) return std::nullopt;
  return Writer(initial, edges, outer).run();
}

}  // namespace tenon::templates
