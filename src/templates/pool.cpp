// SPDX-License-Identifier: Apache-2.0
// Pooling: a reduction of windows of positions, channel by channel, global or sliding, with element-wise work before and
// after it. Vectors of channels where they are stored in blocks, of columns where they are not; any of these layouts is
// as good as another. Taps on padding are left out; with vectors of columns, padded rows are copied first.
#include <algorithm>
#include <numeric>

#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMaxImageBytes = 64 << 10;  // of one padded channel that is copied at once
constexpr int64_t kMaxUnrolled = 7;           // taps in a row of the window

struct Pool {
  Chain chain;
  te::Tensor x;
  std::optional<Padding> padding;
};

// The tensor that windows slide over: the largest of those that are read at the output's own first two axes.
std::optional<te::Tensor> find_image(const te::ComputeOp& op) {
  std::optional<te::Tensor> best;
  const auto elements = [](const te::Tensor& t) {
    return std::accumulate(t.shape().begin(), t.shape().end(), int64_t{1}, std::multiplies<>());
  };
  for (const te::Access& a : te::accesses(op)) {
    if (!a.affine || a.indices.size() < 2) continue;
    if (best && elements(*best) >= elements(a.tensor)) continue;
    const auto own = [&](size_t d) {
      return op.axes[d].extent == 1 || a.indices[d].same_as(op.axes[d].var);
    };
    if (own(0) && own(1) && a.tensor.shape()[1] == op.axes[1].extent) best = a.tensor;
  }
  return best;
}

std::optional<Pool> match(const te::ComputeDag& dag) {
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  if (op.axes.size() < 2) return std::nullopt;
  const auto image = find_image(op);
  if (!image || image->rank() < 3) return std::nullopt;
  Pool p{*chain, *image, find_padding(dag, *image)};
  if (p.padding) p.x = p.padding->source;
  // What is reduced: everything but the first two dimensions, not those.
  for (const te::Access& a : te::accesses(op)) {
    for (size_t r = 0; r < op.reduce_axes.size(); ++r) {
      const ir::VarNode* v = op.reduce_axes[r].var.node();
      if (!a.tensor.same_as(*image) || !a.affine) continue;
      for (size_t d = 0; d < 2; ++d) {
        if (a.map[d].coefficient(v) != 0) return std::nullopt;
      }
    }
  }
  return p;
}

class Writer : private PlanWriter {
 public:
  Writer(const Pool& m, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), m_(m), op_(*m.chain.anchor), final_(*m.chain.final) {
    out_ = final_.name();
    acc_ = op_.name() + ".cache";
  }

  std::optional<Plan> run() {
    const te::ComputeOp* x_op = dag().producer(m_.x);
    const int64_t prefer = block_for_free();
    const auto x_block =
        x_op == nullptr ? block_for(request(), m_.x, prefer) : std::optional(prefer);
    const auto y_block = block_for(request(), final_.output, x_block.value_or(1));
    if (!x_block || !y_block) return std::nullopt;
    x_block_ = *x_block;
    y_block_ = *y_block;
    by_columns_ = x_block_ == 1 && y_block_ == 1;
    if (by_columns_ && op_.axes.size() < 3) return std::nullopt;  // rows of one sum each
    const int64_t full = target().lanes(op_.output.dtype().bytes());
    const int64_t channels = y_block_ > 1 ? y_block_ : x_block_;
    v_ = by_columns_ ? lanes_of(op_.axes.back().extent, full) : std::gcd(channels, full);
    if (v_ < 2) return std::nullopt;
    knobs()["v"] = v_;
    copied_ = by_columns_ && m_.padding;
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* i : m_.chain.inlined) {
      if (!copied_ || i != m_.padding->op) line("compute_inline {}", i->name());
    }
    store_edges(x_op == nullptr);
    loops();
    set_flexible();
    return take();
  }

 private:
  // Left to ourselves: as an image that is fixed, else plain.
  int64_t block_for_free() const {
    const auto y = block_for(request(), final_.output, 1);
    return y.value_or(1);
  }

  static int64_t lanes_of(int64_t extent, int64_t full) {
    while (full > extent) full /= 2;
    return full;
  }

  void store_edges(bool image_is_input) {
    std::vector<std::string> done;
    if (image_is_input) {
      store(m_.x.name(), blocked(m_.x.shape(), x_block_));
      done.push_back(m_.x.name());
    }
    for (const std::string& s : stored_like_output(dag(), m_.chain)) {
      if (s != out_ && request().fixed.contains(s)) continue;
      if (s == m_.x.name()) continue;
      store(s, blocked(final_.output.shape(), y_block_));
      done.push_back(s);
    }
    store_fixed_inputs(done);
    if (!by_columns_) store(acc_, blocked(op_.output.shape(), v_));
  }

  // n, channels, positions, lanes
  void loops() {
    std::vector<NamedLoop> outer;
    const auto add = [&](size_t d) {
      outer.push_back({final_.axes[d].var.name(), final_.axes[d].extent});
    };
    add(0);
    const std::string c = final_.axes[1].var.name();
    const int64_t channels = final_.axes[1].extent;
    std::string lanes;
    if (by_columns_) {
      add(1);
      for (size_t d = 2; d + 1 < final_.axes.size(); ++d) add(d);
      const std::string x = final_.axes.back().var.name();
      line("split {} {} [$v]", out_, x);
      outer.push_back({x + ".0", arith::ceil_div(final_.axes.back().extent, v_)});
      lanes = x + ".1";
    } else {
      const bool split = y_block_ != v_;
      const std::string at = y_block_ > 1 ? c + "_1" : c;
      if (split) line("split {} {} [$v]", out_, at);
      if (y_block_ > 1) outer.push_back({c + "_0", arith::ceil_div(channels, y_block_)});
      if (split) {
        const int64_t inside = y_block_ > 1 ? y_block_ : channels;
        outer.push_back({at + ".0", arith::ceil_div(inside, v_)});
      }
      for (size_t d = 2; d < final_.axes.size(); ++d) add(d);
      lanes = split ? at + ".1" : at;
    }
    std::vector<std::string> order;
    for (const NamedLoop& l : outer) order.push_back(l.name);
    const std::string at = order.back();
    order.push_back(lanes);
    line("reorder {} [{}]\nvectorize {} {}", out_, comma(order), out_, lanes);
    line("compute_at {} {} {}", acc_, out_, at);
    sum();
    if (copied_) copy_padded(c, outer);
    outer.pop_back();  // the accumulators stay inside
    int64_t work = 1;
    for (const NamedLoop& l : outer) work *= l.extent;
    for (const te::Axis& a : op_.reduce_axes) work *= a.extent;
    if (!copied_) deal_out(*this, out_, outer, work);
    if (copied_) deal_out(*this, out_, {outer[0], outer[1]}, work);
  }

  // One channel's image with its border, if it is small; else the rows that one row of the output needs.
  void copy_padded(const std::string& c, const std::vector<NamedLoop>& outer) {
    const te::ComputeOp& pad = *m_.padding->op;
    int64_t bytes = pad.output.dtype().bytes();
    for (size_t d = 2; d < pad.axes.size(); ++d) bytes *= pad.axes[d].extent;
    const bool whole = bytes <= kMaxImageBytes || outer.size() < 4;
    const std::string x = pad.axes.back().var.name();
    line("compute_at {} {} {}", pad.name(), out_, whole ? c : outer[outer.size() - 2].name);
    line("split {} {} [$v]\nvectorize {} {}.1", pad.name(), x, pad.name(), x);
  }

  void sum() {
    std::vector<std::string> order;
    for (const te::Axis& a : op_.reduce_axes) order.push_back(a.var.name());
    const std::string inner = order.back();
    const std::string lanes = now(acc_).axes.back().var.name();
    order.push_back(lanes);
    line("reorder {} [{}]\nvectorize {} {}", acc_, comma(order), acc_, lanes);
    if (op_.reduce_axes.back().extent <= kMaxUnrolled) line("unroll {} {}", acc_, inner);
  }

  const Pool& m_;
  const te::ComputeOp& op_;
  const te::ComputeOp& final_;
  std::string out_, acc_;
  int64_t x_block_ = 1, y_block_ = 1, v_ = 1;
  bool by_columns_ = false;
  bool copied_ = false;
};

}  // namespace

std::optional<Plan> plan_pool(const schedule::State& initial, const Request& request) {
  const auto m = match(initial.dag());
  if (!m) return std::nullopt;
  if (auto plan = Writer(*m, initial, request).run()) return plan;
  // Few columns of plain images: sums of rows.
  auto plan = may_be_plain(request, m->x) ? plan_rows(initial, request) : std::nullopt;
  if (!plan) plan = plan_plain(initial, request);
  plan->flexible = true;
  return plan;
}

}  // namespace tenon::templates
