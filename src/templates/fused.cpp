// SPDX-License-Identifier: Apache-2.0
// A reduction and the element-wise ops behind it in one nest, whatever layout of basic steps the result has: sums are
// stored alike and taken a vector of the result at a time, so that no result waits in memory for what follows it.
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {

namespace {

// Splits, permutations and joins of dimensions: every element once, nothing in between.
bool is_basic(const layout::Layout& l) {
  for (const layout::LayoutStep& s : l.steps()) {
    if (s.op != layout::LayoutOp::kSplit && s.op != layout::LayoutOp::kReorder &&
        s.op != layout::LayoutOp::kFuse)
      return false;
  }
  return true;
}

class Writer : private PlanWriter {
 public:
  Writer(const Chain& c, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request),
        c_(c),
        out_(c.final->name()),
        sum_(c.anchor->name() + ".cache"),
        stored_(c.final->output.shape()) {
    const auto it = request.fixed.find(out_);
    if (it != request.fixed.end()) stored_ = it->second;
  }

  std::optional<Plan> run() {
    if (!is_basic(stored_) || c_.final->axes.empty()) return std::nullopt;
    line("cache_write {} local", c_.anchor->name());
    for (const te::ComputeOp* op : c_.inlined) line("compute_inline {}", op->name());
    store_fixed_inputs();
    store(out_, stored_);
    store(sum_, stored_);
    if (!refused()) tile();
    return take();
  }

 private:
  void tile() {
    const te::ComputeOp op = now(out_), sum = now(sum_);
    const te::Axis& last = op.axes.back();
    const int64_t v = target().lanes(sum.output.dtype().bytes());
    std::vector<NamedLoop> loops;
    int64_t work = 1;
    for (const te::Axis& a : sum.reduce_axes) work *= a.extent;
    for (const te::Axis& a : op.axes) {
      loops.push_back({a.var.name(), a.extent});
      work *= a.extent;
    }
    const bool cut = v >= 2 && last.extent > v;
    const bool whole = !cut && v >= 2 && last.extent >= 2 && op.axes.size() > 1;
    if (cut) {
      knobs()["v"] = v;
      line("split {} {} [$v]\nvectorize {} {}.1", out_, last.var.name(), out_, last.var.name());
      loops.back() = {last.var.name() + ".0", arith::ceil_div(last.extent, v)};
    } else if (whole) {
      line("vectorize {} {}", out_, last.var.name());
      loops.pop_back();
    }
    line("compute_at {} {} {}", sum_, out_, loops.back().name);
    std::vector<std::string> order;
    for (const te::Axis& a : sum.reduce_axes) order.push_back(a.var.name());
    order.push_back(sum.axes.back().var.name());
    line("reorder {} [{}]", sum_, comma(order));
    if (cut || whole) line("vectorize {} {}", sum_, sum.axes.back().var.name());
    if (loops.size() > 1) loops.pop_back();  // what is attached stays at a loop of its own
    deal_out(*this, out_, loops, work);
  }

  const Chain& c_;
  std::string out_, sum_;
  layout::Layout stored_;
};

}  // namespace

std::optional<Plan> plan_fused(const schedule::State& initial, const Request& request) {
  const auto chain = find_chain(initial.dag());
  if (!chain || chain->final == chain->anchor) return std::nullopt;
  return Writer(*chain, initial, request).run();
}

}  // namespace tenon::templates
