// SPDX-License-Identifier: Apache-2.0
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

using detail::require;
using detail::Window;

int64_t out_extent(const std::string& name, const Window& w, int64_t output_pad) {
  require(output_pad >= 0 && output_pad < std::max(w.stride, w.dilation), name,
          "output padding {} must be less than the stride or dilation", output_pad);
  const int64_t out = (w.in - 1) * w.stride - w.before - w.after + w.span() + output_pad;
  require(out >= 1, name, "padding {} and {} leaves nothing of the output", w.before, w.after);
  return out;
}

// Whether output position y has an input under kernel position r, and which. Conditions that hold
// everywhere are left out.
ir::Expr source(const Window& w, int64_t out, const ir::Expr& y, const ir::Expr& r,
                ir::Expr& exists) {
  const ir::Expr t = y + ir::Expr(w.before) - r * ir::Expr(w.dilation);
  exists = ir::logical_and(exists, ir::eq(ir::floor_mod(t, w.stride), 0));
  if (w.before < w.span() - 1) {
    exists = ir::logical_and(exists, ir::le(0, t));
  }
  if (out - 1 + w.before >= w.in * w.stride) {
    exists = ir::logical_and(exists, ir::lt(t, w.in * w.stride));
  }
  return ir::floor_div(t, w.stride);
}

}  // namespace

Tensor conv_transpose(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                      const ConvParams& p, std::vector<int64_t> output_pad) {
  require(x.rank() >= 3 && w.rank() == x.rank(), name, "input of rank {} with weights of rank {}",
          x.rank(), w.rank());
  const size_t rank = x.rank() - 2;
  const int64_t channels_in = x.shape()[1];
  require(w.shape()[0] == channels_in, name, "input has {} channels, weights {}", channels_in,
          w.shape()[0]);
  require(p.groups >= 1 && channels_in % p.groups == 0, name,
          "{} input channels do not divide into {} groups", channels_in, p.groups);
  require(output_pad.empty() || output_pad.size() == rank, name,
          "{} output paddings for {} spatial dimensions", output_pad.size(), rank);
  output_pad.resize(rank, 0);
  const std::vector<Window> win = detail::loose_windows(
      name, {x.shape().begin() + 2, x.shape().end()}, {w.shape().begin() + 2, w.shape().end()}, p);
  const int64_t in_per_group = channels_in / p.groups;
  const int64_t out_per_group = w.shape()[1];
  std::vector<int64_t> shape{x.shape()[0], out_per_group * p.groups};
  std::vector<int64_t> reduced{in_per_group};
  for (size_t d = 0; d < rank; ++d) {
    shape.push_back(out_extent(name, win[d], output_pad[d]));
    reduced.push_back(win[d].kernel);
  }
  const auto body = [&](std::span<const ir::Var> axes, std::span<const ir::Var> reduce) {
    const ir::Expr& k = axes[1];
    ir::Expr c = reduce[0];
    ir::Expr in_group = k;
    if (p.groups > 1) {
      c = c + ir::floor_div(k, out_per_group) * ir::Expr(in_per_group);
      in_group = ir::floor_mod(k, out_per_group);
    }
    std::vector<ir::Expr> at_x{axes[0], c};
    std::vector<ir::Expr> at_w{c, in_group};
    ir::Expr exists = ir::make_bool(true);
    for (size_t d = 0; d < rank; ++d) {
      at_x.push_back(source(win[d], shape[2 + d], axes[2 + d], reduce[1 + d], exists));
      at_w.emplace_back(reduce[1 + d]);
    }
    const ir::Expr value = ir::select(exists, ir::load(x, at_x), ir::zero_of(x.dtype()));
    return detail::product(name, value, ir::load(w, at_w));
  };
  std::vector<std::string> names = detail::spatial_names(rank);
  names.insert(names.begin(), {"n", "k"});
  std::vector<std::string> reduce_names = detail::kernel_names(rank);
  reduce_names.insert(reduce_names.begin(), "c");
  return b.reduce(name, shape, ir::BinaryOp::kAdd, reduced, body, names, reduce_names);
}

}  // namespace tenon::te
