// SPDX-License-Identifier: Apache-2.0
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

using detail::require;
using detail::Window;

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<int64_t> tail(const Tensor& t, size_t from) {
  return {t.shape().begin() + static_cast<std::ptrdiff_t>(from), t.shape().end()};
}

// Axes n, k, spatial...; x is padded already. `channel_x` and `at_w` say which channel of x and which
// leading indices of w the output channel k and the reduced channel c stand for.
struct ChannelMap {
  int64_t reduced = 1;  // extent of c; 0: there is no c
  std::function<ir::Expr(const ir::Expr& k, const ir::Expr& c)> channel_x;
  std::function<std::vector<ir::Expr>(const ir::Expr& k, const ir::Expr& c)> at_w;
};

Tensor slide(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
             int64_t channels, const std::vector<Window>& win, const ChannelMap& map) {
  const size_t rank = win.size();
  const size_t first = map.reduced > 0 ? 1 : 0;
  std::vector<int64_t> shape{x.shape()[0], channels};
  std::vector<int64_t> reduced;
  if (map.reduced > 0) {
    reduced.push_back(map.reduced);
  }
  for (const Window& d : win) {
    shape.push_back(d.out());
    reduced.push_back(d.kernel);
  }
  const auto body = [&](std::span<const ir::Var> axes, std::span<const ir::Var> reduce) {
    const ir::Expr c = first == 1 ? ir::Expr(reduce[0]) : ir::Expr(0);
    std::vector<ir::Expr> at_x{axes[0], map.channel_x(axes[1], c)};
    std::vector<ir::Expr> at_w = map.at_w(axes[1], c);
    for (size_t d = 0; d < rank; ++d) {
      at_x.push_back(detail::tap(win[d], axes[2 + d], reduce[first + d]));
      at_w.emplace_back(reduce[first + d]);
    }
    return detail::product(name, ir::load(x, at_x), ir::load(w, at_w));
  };
  std::vector<std::string> reduce_names = detail::kernel_names(rank);
  if (first == 1) {
    reduce_names.insert(reduce_names.begin(), "c");
  }
  return b.reduce(name, shape, ir::BinaryOp::kAdd, reduced, body,
                  joined({"n", "k"}, detail::spatial_names(rank)), reduce_names);
}

}  // namespace

Tensor conv(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
            const ConvParams& p) {
  require(x.rank() >= 3 && w.rank() == x.rank(), name, "input of rank {} with weights of rank {}",
          x.rank(), w.rank());
  const std::vector<Window> win = detail::windows(name, tail(x, 2), tail(w, 2), p);
  const int64_t channels = w.shape()[0];
  const int64_t per_group_in = w.shape()[1];
  require(p.groups >= 1 && channels % p.groups == 0, name,
          "{} output channels do not divide into {} groups", channels, p.groups);
  require(x.shape()[1] == per_group_in * p.groups, name,
          "input has {} channels; weights want {} in each of {} groups", x.shape()[1], per_group_in,
          p.groups);
  const int64_t per_group_out = channels / p.groups;
  ChannelMap map;
  map.reduced = per_group_in;
  map.channel_x = [&](const ir::Expr& k, const ir::Expr& c) {
    return p.groups == 1 ? c : c + ir::floor_div(k, per_group_out) * ir::Expr(per_group_in);
  };
  map.at_w = [](const ir::Expr& k, const ir::Expr& c) { return std::vector<ir::Expr>{k, c}; };
  const ir::Expr beside = ir::make_const(x.dtype(), static_cast<double>(p.pad_value));
  const Tensor padded = detail::pad_windows(b, name, x, 2, win, beside,
                                            joined({"n", "c"}, detail::spatial_names(win.size())));
  return slide(b, name, padded, w, channels, win, map);
}

Tensor depthwise_conv2d(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                        const ConvParams& p) {
  require(x.rank() == 4 && w.rank() == 4, name, "input and weights have ranks {} and {}, not 4",
          x.rank(), w.rank());
  require(x.shape()[1] == w.shape()[0], name, "input has {} channels, weights {}", x.shape()[1],
          w.shape()[0]);
  const std::vector<Window> win = detail::windows(name, tail(x, 2), tail(w, 2), p);
  const int64_t multiplier = w.shape()[1];
  ChannelMap map;
  map.reduced = 0;
  map.channel_x = [&](const ir::Expr& k, const ir::Expr&) { return ir::floor_div(k, multiplier); };
  map.at_w = [&](const ir::Expr& k, const ir::Expr&) {
    return std::vector<ir::Expr>{ir::floor_div(k, multiplier), ir::floor_mod(k, multiplier)};
  };
  const Tensor padded =
      detail::pad_windows(b, name, x, 2, win, ir::zero_of(x.dtype()), {"n", "c", "y", "x"});
  return slide(b, name, padded, w, x.shape()[1] * multiplier, win, map);
}

Tensor capsule_conv2d(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                      const ConvParams& p) {
  require(x.rank() == 6 && w.rank() == 6, name, "input and weights have ranks {} and {}, not 6",
          x.rank(), w.rank());
  const std::vector<int64_t>& sx = x.shape();
  const std::vector<int64_t>& sw = w.shape();
  require(sx[3] == sw[2], name, "input has {} capsule channels, weights {}", sx[3], sw[2]);
  require(sx[5] == sw[3], name, "capsule matrices have inner extents {} and {}", sx[5], sw[3]);
  const std::vector<Window> win = detail::windows(name, {sx[1], sx[2]}, {sw[0], sw[1]}, p);
  const Tensor padded = detail::pad_windows(b, name, x, 1, win, ir::zero_of(x.dtype()),
                                            {"n", "y", "x", "c", "i", "j"});
  const auto body = [&](std::span<const ir::Var> a, std::span<const ir::Var> q) {
    const ir::Expr y = detail::tap(win[0], a[1], q[0]);
    const ir::Expr xx = detail::tap(win[1], a[2], q[1]);
    return detail::product(name, ir::load(padded, {a[0], y, xx, q[2], a[4], q[3]}),
                           ir::load(w, {q[0], q[1], q[2], q[3], a[5], a[3]}));
  };
  return b.reduce(name, {sx[0], win[0].out(), win[1].out(), sw[5], sx[4], sw[4]},
                  ir::BinaryOp::kAdd, {sw[0], sw[1], sw[2], sw[3]}, body,
                  {"n", "y", "x", "k", "i", "j"}, {"r", "s", "c", "l"});
}

}  // namespace tenon::te
