// SPDX-License-Identifier: Apache-2.0
// Pooling: a reduction of windows of positions, channel by channel, global or sliding, with
// element-wise work before and after it. Vectors of channels where they are stored in blocks, of
// columns where they are not; any of these layouts is as good as another. Taps on padding are left
// out; with vectors of columns, padded rows are copied first.
#include <algorithm>
#include <numeric>

#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Loop;
using space::StageRef;

constexpr int64_t kMaxUnrolled = 7;  // taps in a row of the window

struct Pool {
  Chain chain;
  te::Tensor x;
  std::optional<Padding> padding;
};

// The tensor that windows slide over: the largest of those that are read at the output's own first
// two axes.
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
  Pool p{*chain, *image, find_padding(dag, *image, true)};
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

// How the tensors are stored, and by what the vectors run.
struct Form {
  int64_t x_block = 1, y_block = 1;
  bool by_columns = false;  // else by channels
  int64_t v = 1;
};

int64_t lanes_of(int64_t extent, int64_t full) {
  while (full > extent) full /= 2;
  return full;
}

int64_t bytes_of_image(const te::Tensor& t) {
  int64_t bytes = t.dtype().bytes();
  for (size_t d = 2; d < t.rank(); ++d) bytes *= t.shape()[d];
  return bytes;
}

// One vector that columns do not fill, rather than two, where a small image is copied whole.
int64_t lanes_of_columns(const te::ComputeOp& op, const te::Tensor& x, const target::Cpu& t) {
  const int64_t bytes = op.output.dtype().bytes(), columns = op.axes.back().extent;
  const int64_t v = lanes_of(columns, t.lanes(bytes));
  const bool small = op.axes.size() >= 4 && bytes_of_image(x) <= t.image_bytes;
  return small ? lanes_for_rest(v, columns, bytes, t) : v;
}

std::optional<Form> choose_form(const Pool& m, const Request& request, const te::ComputeDag& dag,
                                const target::Cpu& t) {
  const te::ComputeOp& op = *m.chain.anchor;
  const te::Tensor& y = m.chain.final->output;
  // Left to ourselves: as an image that is fixed, else plain.
  const int64_t prefer = block_for(request, y, 1).value_or(1);
  const bool computed = dag.producer(m.x) != nullptr;
  const auto x_block = computed ? std::optional(prefer) : block_for(request, m.x, prefer);
  const auto y_block = block_for(request, y, x_block.value_or(1));
  if (!x_block || !y_block) return std::nullopt;
  Form f{*x_block, *y_block, *x_block == 1 && *y_block == 1};
  if (f.by_columns && op.axes.size() < 3) return std::nullopt;  // rows of one sum each
  const int64_t full = t.lanes(op.output.dtype().bytes());
  const int64_t channels = f.y_block > 1 ? f.y_block : f.x_block;
  f.v = f.by_columns ? lanes_of_columns(op, m.x, t) : std::gcd(channels, full);
  return f.v < 2 ? std::nullopt : std::optional(f);
}

class Writer {
 public:
  Writer(const Pool& m, const Form& form, space::Builder& b, const Request& request)
      : m_(m), f_(form), b_(b), request_(request), op_(*m.chain.anchor), final_(*m.chain.final) {
    out_ = b.stage(final_.name());
    copied_ = form.by_columns && m.padding;
  }

  void run() {
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : m_.chain.inlined) {
      if (!copied_ || i != m_.padding->op) b_.compute_inline(b_.stage(i->name()));
    }
    store_edges();
    tile_output();
  }

 private:
  void store_edges() {
    std::vector<std::string> done;
    if (b_.dag().producer(m_.x) == nullptr) {
      b_.store(b_.stage(m_.x.name()), blocked(m_.x.shape(), f_.x_block));
      done.push_back(m_.x.name());
    }
    for (const std::string& s : stored_like_output(b_.dag(), m_.chain)) {
      if (s != final_.name() && request_.fixed.contains(s)) continue;
      if (s == m_.x.name()) continue;
      b_.store(b_.stage(s), blocked(final_.output.shape(), f_.y_block));
      done.push_back(s);
    }
    store_fixed_inputs(b_, request_, done);
    if (!f_.by_columns) b_.store(acc_, blocked(op_.output.shape(), f_.v));
    // A whole vector, which stays in a register: what lies beyond the last column is not stored.
    const int64_t columns = op_.axes.back().extent;
    if (f_.by_columns && columns < f_.v)
      b_.layout_split(acc_, static_cast<int64_t>(op_.axes.size() - 1), {1, f_.v});
  }

  // n, channels, positions, and the lanes at the end.
  std::vector<Loop> split_columns() {
    const size_t last = final_.axes.size() - 1;
    std::vector<Loop> order;
    for (size_t d = 0; d < last; ++d) order.push_back(b_.axis(out_, d));
    if (b_.extent(b_.axis(out_, last)) < f_.v) {
      order.push_back(b_.axis(out_, last));
      return order;
    }
    const auto [columns, lanes] = b_.split<2>(b_.axis(out_, last), {f_.v});
    order.insert(order.end(), {columns, lanes});
    return order;
  }

  std::vector<Loop> split_channels() {
    const size_t rank = final_.axes.size();
    std::vector<Loop> order{b_.axis(out_, 0)};
    if (f_.y_block > 1) order.push_back(b_.axis(out_, 1));
    Loop lanes = b_.axis(out_, f_.y_block > 1 ? rank : 1);
    if (f_.y_block != f_.v) {
      const auto [vectors, within] = b_.split<2>(lanes, {f_.v});
      order.push_back(vectors);
      lanes = within;
    }
    for (size_t d = 2; d < rank; ++d) order.push_back(b_.axis(out_, d));
    order.push_back(lanes);
    return order;
  }

  void tile_output() {
    std::vector<Loop> outer = f_.by_columns ? split_columns() : split_channels();
    b_.reorder(outer);
    b_.vectorize(outer.back());
    outer.pop_back();
    b_.compute_at(acc_, outer.back());
    tile_sum();
    if (copied_) copy_padded(outer);
    outer.pop_back();  // the accumulators stay inside
    int64_t work = 1;
    for (const Loop& l : outer) work *= b_.extent(l);
    for (const te::Axis& a : op_.reduce_axes) work *= a.extent;
    if (copied_) outer.resize(2);
    deal_out(b_, outer, work);
  }

  // One channel's image with its border, if it is small; else the rows that one row of the output
  // needs.
  void copy_padded(const std::vector<Loop>& outer) {
    const te::ComputeOp& op = *m_.padding->op;
    const bool whole =
        bytes_of_image(op.output) <= b_.target().cpu().image_bytes || outer.size() < 4;
    const StageRef pad = b_.stage(op.name());
    // Two phases save nothing where windows do not overlap: they pick each place once anyway.
    int64_t stride = stride_of_columns();
    if (stride == 2 && op_.reduce_axes.back().extent <= stride) stride = 1;
    store_by_phases(b_, pad, stride);
    b_.compute_at(pad, whole ? outer[1] : outer[outer.size() - 2]);
    copy_by_vectors(b_, pad, stride, f_.v);
  }

  // Places of the padded image from one column of the output to the next.
  int64_t stride_of_columns() const {
    const te::Tensor& padded = m_.padding->op->output;
    for (const te::Access& a : te::accesses(op_)) {
      if (a.tensor.same_as(padded) && a.affine)
        return a.map.back().coefficient(op_.axes.back().var.node());
    }
    return 1;
  }

  void tile_sum() {
    if (b_.refused()) return;
    const size_t spatial = b_.now(acc_).axes.size();
    std::vector<Loop> order;
    for (size_t r = 0; r < op_.reduce_axes.size(); ++r) order.push_back(b_.axis(acc_, spatial + r));
    const Loop inner = order.back(), lanes = b_.axis(acc_, spatial - 1);
    order.push_back(lanes);
    b_.reorder(order);
    b_.vectorize(lanes);
    if (op_.reduce_axes.back().extent <= kMaxUnrolled) b_.unroll(inner);
  }

  const Pool& m_;
  const Form& f_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  const te::ComputeOp& final_;
  StageRef out_, acc_;
  bool copied_ = false;
};

}  // namespace

std::optional<Written> write_pool(space::Builder& b, const Request& request) {
  const auto m = match(b.dag());
  if (!m) return std::nullopt;
  if (const auto form = choose_form(*m, request, b.dag(), b.target().cpu())) {
    Writer(*m, *form, b, request).run();
  } else if (!may_be_plain(request, m->x) || !write_rows(b, request)) {
    write_plain(b, request);  // few columns of plain images: sums of rows, if they can be
  }
  return Written{.flexible = true};
}

}  // namespace tenon::templates
