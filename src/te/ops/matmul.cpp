// SPDX-License-Identifier: Apache-2.0
#include "te/limited.h"
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

using detail::require;

// The last two dimensions are multiplied; leading ones of each operand equal the output's or are 1.
Tensor multiply(Builder& b, const std::string& name, const Tensor& a, const Tensor& w,
                std::vector<int64_t> batch, bool trans_a, bool trans_b, const Tensor& limit = {}) {
  const size_t ra = a.rank();
  const size_t rw = w.rank();
  const int64_t rows = a.shape()[ra - (trans_a ? 1 : 2)];
  const int64_t inner = a.shape()[ra - (trans_a ? 2 : 1)];
  const int64_t columns = w.shape()[rw - (trans_b ? 2 : 1)];
  const int64_t inner_w = w.shape()[rw - (trans_b ? 1 : 2)];
  require(inner == inner_w, name, "inner extents {} and {} differ", inner, inner_w);

  std::vector<std::string> names =
      batch.size() == 1 ? std::vector<std::string>{"b"} : detail::numbered("b", batch.size());
  names.insert(names.end(), {"i", "j"});
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), {rows, columns});
  const auto leading = [&](const Tensor& t, std::span<const ir::Var> axes) {
    std::vector<ir::Expr> at;
    const size_t skipped = batch.size() + 2 - t.rank();
    for (size_t d = 0; d + 2 < t.rank(); ++d) {
      at.push_back(t.shape()[d] == 1 ? ir::Expr(0) : ir::Expr(axes[skipped + d]));
    }
    return at;
  };
  const auto body = [&](std::span<const ir::Var> axes, std::span<const ir::Var> reduce) {
    const ir::Var& i = axes[batch.size()];
    const ir::Var& j = axes[batch.size() + 1];
    const ir::Var& k = reduce[0];
    std::vector<ir::Expr> at_a = leading(a, axes);
    std::vector<ir::Expr> at_w = leading(w, axes);
    at_a.insert(at_a.end(), {trans_a ? k : i, trans_a ? i : k});
    at_w.insert(at_w.end(), {trans_b ? j : k, trans_b ? k : j});
    ir::Expr left = ir::load(a, at_a);
    if (limit.defined())
      left = ir::select(ir::lt(k, ir::load(limit, {0})), left, ir::zero_of(left.dtype()));
    return detail::product(name, left, ir::load(w, at_w));
  };
  return b.reduce(name, shape, ir::BinaryOp::kAdd, {inner}, body, names, {"k"});
}

}  // namespace

Tensor matmul(Builder& b, const std::string& name, const Tensor& a, const Tensor& w, bool trans_a,
              bool trans_b) {
  require(a.rank() == 2 && w.rank() == 2, name, "operands have ranks {} and {}, not 2", a.rank(),
          w.rank());
  return multiply(b, name, a, w, {}, trans_a, trans_b);
}

namespace {

std::vector<int64_t> broadcast_batch(const std::string& name, const Tensor& a, const Tensor& w) {
  require(a.rank() >= 2 && w.rank() >= 2, name, "operands have ranks {} and {}, less than 2",
          a.rank(), w.rank());
  const Tensor& longer = a.rank() >= w.rank() ? a : w;
  const Tensor& shorter = a.rank() >= w.rank() ? w : a;
  std::vector<int64_t> batch(longer.shape().begin(), longer.shape().end() - 2);
  const size_t skipped = longer.rank() - shorter.rank();
  for (size_t d = 0; d + 2 < shorter.rank(); ++d) {
    const int64_t other = shorter.shape()[d];
    int64_t& extent = batch[skipped + d];
    require(extent == other || extent == 1 || other == 1, name, "batch extents {} and {} differ",
            extent, other);
    extent = std::max(extent, other);
  }
  return batch;
}

}  // namespace

Tensor batch_matmul(Builder& b, const std::string& name, const Tensor& a, const Tensor& w,
                    bool trans_a, bool trans_b) {
  return multiply(b, name, a, w, broadcast_batch(name, a, w), trans_a, trans_b);
}

Tensor limited_matmul(Builder& b, const std::string& name, const Tensor& a, const Tensor& w,
                      bool trans_a, bool trans_b, const Tensor& limit) {
  return multiply(b, name, a, w, broadcast_batch(name, a, w), trans_a, trans_b, limit);
}

Tensor dense(Builder& b, const std::string& name, const Tensor& x, const Tensor& w) {
  return matmul(b, name, x, w, false, true);
}

}  // namespace tenon::te
