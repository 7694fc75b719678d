// SPDX-License-Identifier: Apache-2.0
// Long sums of which none reads what another does: a matrix times a vector, means of images. A few
// threads share each sum; they combine what they found, or one of them adds it up. A block has several
// sums.
//
//   Y[j] = sum(k) X[k] * W[j, k]                                      32 threads, 4 sums of a block
//     =>  Y.rf[j, t] = sum(k.0, k.2) X[k.0*128 + t*4 + k.2] * W[j, ..] by thread t of row j
//         Y[j] = sum(t) Y.rf[j, t], by all of them (schedule/combined.h), or in four sums of their own
#include <algorithm>

#include "schedule/primitives/set_scope.h"
#include "templates/anchor.h"
#include "templates/gpu/kernels.h"

namespace tenon::templates {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kLeastLength = 16;  // shorter sums are one thread's work
constexpr int64_t kLanes = 4;         // that lie side by side are read at once
constexpr int64_t kChains = 4;        // of additions that do not wait for each other
constexpr int64_t kThreads = 256;     // of a multiprocessor, that keep it busy
constexpr int64_t kBlock = 128;       // threads

struct Sums {
  Chain chain;
  std::optional<te::Access> main;  // the operand that has most elements
  int64_t outputs = 1, length = 1;
  size_t axis = 0;     // of the result, whose neighbours a block has
  size_t inner = 0;    // of the sum, the last that is more than one element
  bool along = false;  // neighbours in memory are neighbours of a sum; else of the result
};

int64_t elements(const te::Tensor& t) {
  int64_t n = 1;
  for (const int64_t e : t.shape()) n *= e;
  return n;
}

bool is_constant(const te::ComputeDag& dag, const te::Tensor& t) {
  return std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [&](const te::Input& in) { return in.constant && in.tensor.same_as(t); });
}

bool is_plain(const te::Access& a, const te::ComputeOp& op) {
  return std::all_of(a.indices.begin(), a.indices.end(),
                     [&](const ir::Expr& i) { return plain_axis(i, op) || ir::const_int(i); });
}

// A constant is stored as it is read.
bool is_movable(const Sums& s, const te::ComputeDag& dag) {
  return is_constant(dag, s.main->tensor) && is_plain(*s.main, *s.chain.anchor);
}

std::optional<Sums> find_sums(const te::ComputeDag& dag) {
  const auto chain = find_chain(dag);
  if (!chain || chain->anchor->axes.empty()) return std::nullopt;
  Sums s;
  s.chain = *chain;
  const te::ComputeOp& op = *chain->anchor;
  for (const te::Axis& a : op.axes) s.outputs *= a.extent;
  for (const te::Axis& a : op.reduce_axes) s.length *= a.extent;
  for (te::Access& a : te::accesses(op)) {
    if (!s.main || elements(a.tensor) > elements(s.main->tensor)) s.main = std::move(a);
  }
  if (!s.main || s.length < kLeastLength) return std::nullopt;
  if (elements(s.main->tensor) < s.outputs * s.length) return std::nullopt;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    if (op.axes[d].extent > 1) s.axis = d;
  }
  for (size_t d = 0; d < op.reduce_axes.size(); ++d) {
    if (op.reduce_axes[d].extent > 1) s.inner = d;
  }
  const std::vector<int64_t>& strides = s.main->strides;
  s.along = is_movable(s, dag) || strides[op.axes.size() + s.inner] == 1 || strides[s.axis] != 1;
  return s;
}

class Writer {
 public:
  Writer(const Sums& s, Builder& b)
      : s_(s), b_(b), op_(*s.chain.anchor), out_(b.stage(s.chain.final->name())) {}

  void run() {
    if (is_movable(s_, b_.dag())) lay_out();
    sum_ = b_.stage(op_.name());
    for (const te::ComputeOp* op : s_.chain.inlined) {
      if (op != s_.chain.anchor) b_.compute_inline(b_.stage(op->name()));
    }
    ask();
    exchange_ == 1 ? exchange() : meet();
  }

 private:
  static constexpr ir::ThreadTag kX = ir::ThreadTag::kThreadX, kY = ir::ThreadTag::kThreadY;
  ir::ThreadTag across() const { return s_.along ? kY : kX; }

  // Threads along x combine what they found. A result that something follows waits in shared memory.
  void exchange() {
    const StageRef parts = share_out();
    if (b_.refused()) return;
    const Loop found = b_.axis(sum_, op_.axes.size());
    if (sum_ == out_) {
      bind_result({found});
    } else {
      const Loop block = bind_result({})[0];
      b_.compute_shared(sum_, block);
      if (b_.refused()) return;
      b_.bind(b_.axis(sum_, s_.axis), kY);
    }
    b_.bind(found, kX);
    b_.compute_at(parts, found);
    b_.add(schedule::SetScope{parts, ir::Scope::kRegister});
    write_out(parts);
  }

  // Each leaves what it found in shared memory, and one adds it up.
  void meet() {
    if (s_.chain.final == s_.chain.anchor) sum_ = b_.cache_write(sum_, ir::Scope::kLocal);
    const StageRef parts = share_out();
    if (b_.refused()) return;
    const Loop all = b_.axis(sum_, op_.axes.size());
    chains_ = b_.rfactor(b_.split<2>(all, {kChains})[1], static_cast<int64_t>(op_.axes.size()));
    const auto [block, thread] = bind_result({});
    if (b_.refused()) return;
    for (const StageRef s : {sum_, chains_}) {
      b_.compute_at(s, thread);
      for (const Loop& l : b_.leaves(s)) b_.unroll(l);
    }
    const StageRef part = b_.cache_write(parts, ir::Scope::kRegister);
    b_.compute_shared(parts, block);
    b_.bind(b_.axis(parts, s_.axis), across());
    const Loop share = b_.axis(parts, op_.axes.size());
    b_.bind(share, s_.along ? kX : kY);
    b_.compute_at(part, share);
    write_out(part);
  }

  // The dimensions of the result first, then those of the sum in its order.
  void lay_out() {
    std::vector<int64_t> order;
    const std::vector<ir::Expr>& at = s_.main->indices;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto axis = plain_axis(at[d], op_);
      if (!axis || *axis < op_.axes.size()) order.push_back(static_cast<int64_t>(d));
    }
    for (const te::Axis& a : op_.reduce_axes) {
      for (size_t d = 0; d < at.size(); ++d) {
        if (at[d].same_as(a.var)) order.push_back(static_cast<int64_t>(d));
      }
    }
    if (!std::is_sorted(order.begin(), order.end()))
      b_.layout_reorder(b_.stage(s_.main->tensor.name()), order);
  }

  void ask() {
    const int64_t length = s_.length / lanes();
    const int64_t busy = kThreads * b_.target().gpu().multiprocessors;
    int64_t share = 8;
    while (s_.along && share < 32 && share * 2 <= length) share *= 2;
    while (share < 128 && share * 2 <= length && share * s_.outputs < busy) share *= 2;
    share_ =
        b_.ask({HoleKind::kFactor, out_.id, 1}, "share", Domain::of({8, 16, 32, 64, 128}), share);
    int64_t sums = std::max<int64_t>(1, kBlock / share_);
    if (!s_.along) sums = std::max<int64_t>(sums, 32);
    while (sums > 1 && s_.along && s_.outputs < sums * b_.target().gpu().multiprocessors) sums /= 2;
    std::vector<int64_t> sizes;
    for (int64_t n = 1; n <= 64 && n <= op_.axes[s_.axis].extent && n * share_ <= 1024; n *= 2)
      sizes.push_back(n);
    const Domain domain = Domain::of(std::move(sizes));
    sums_ = b_.ask({HoleKind::kFactor, out_.id, 2}, "sums", domain, domain.nearest(sums));
    if (s_.along && op_.output.dtype().bytes() == 4) exchange_ = gpu::ask_exchange(b_, out_);
  }

  int64_t lanes() const {
    const bool whole = op_.reduce_axes[s_.inner].extent % kLanes == 0;
    return s_.along && whole && s_.length >= 32 * kLanes ? kLanes : 1;
  }

  // A part of each sum for each thread.
  StageRef share_out() {
    if (b_.refused()) return {};
    std::vector<Loop> loops;
    for (size_t d = 0; d < op_.reduce_axes.size(); ++d)
      loops.push_back(b_.axis(sum_, op_.axes.size() + d));
    std::vector<Value> cut{share_};
    if (lanes() > 1) cut.emplace_back(lanes());
    const std::vector<Loop> parts = b_.split(b_.fuse(loops), cut);
    if (b_.refused()) return {};
    return b_.rfactor(parts[1], static_cast<int64_t>(op_.axes.size()));
  }

  // Several reads of a thread are under way at once, however long its part is.
  void write_out(StageRef part) {
    constexpr int64_t kMostSteps = 16, kSteps = 8;
    if (b_.refused()) return;
    const Loop steps = b_.axis(part, op_.axes.size() + 1);
    if (b_.extent(steps) <= kMostSteps) return gpu::write_out_sums(b_, part);
    const auto [outer, inner] = b_.split<2>(steps, {divisor(b_.extent(steps), kSteps)});
    b_.unroll(inner);
    if (lanes() > 1) b_.unroll(b_.axis(part, op_.axes.size() + 2));
  }

  // Blocks of neighbouring results, outside of the loops `inside`. Returns the loop of the blocks and, where there are
  // none of these, that of the threads, of which one has the result.
  std::array<Loop, 2> bind_result(const std::vector<Loop>& inside) {
    if (b_.refused()) return {};
    std::vector<Loop> outer;
    for (size_t d = 0; d < op_.axes.size(); ++d) outer.push_back(b_.axis(out_, d));
    std::vector<Value> cut{sums_};
    if (inside.empty()) cut.emplace_back(1);
    const std::vector<Loop> parts = b_.split(outer[s_.axis], cut);
    if (b_.refused()) return {};
    outer[s_.axis] = parts[0];
    std::vector<Loop> order = outer;
    order.insert(order.end(), parts.begin() + 1, parts.end());
    order.insert(order.end(), inside.begin(), inside.end());
    b_.reorder(order);
    const Loop block = b_.fuse(outer);
    b_.bind(block, ir::ThreadTag::kBlockX);
    b_.bind(parts[1], across());
    if (inside.empty()) b_.bind(parts[2], s_.along ? kX : kY);
    return {block, parts.back()};
  }

  const Sums& s_;
  Builder& b_;
  const te::ComputeOp& op_;
  StageRef out_, sum_, chains_;
  Value share_ = 1, sums_ = 1, exchange_ = 0;
};

}  // namespace

std::optional<Written> write_gpu_sums(Builder& b, const Request& request) {
  const auto s = find_sums(b.dag());
  if (!s || !gpu::store_edges_of_plain(b, request, *s->chain.final)) return std::nullopt;
  Writer(*s, b).run();
  return Written{};
}

}  // namespace tenon::templates
