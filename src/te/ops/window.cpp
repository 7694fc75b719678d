// SPDX-License-Identifier: Apache-2.0
#include "te/limits.h"
#include "te/ops/detail.h"

namespace tenon::te::detail {
namespace {

int64_t at(const std::string& name, const std::vector<int64_t>& v, size_t d, size_t rank,
           int64_t otherwise) {
  require(v.empty() || v.size() == rank, name, "{} window parameters for {} spatial dimensions",
          v.size(), rank);
  return v.empty() ? otherwise : v[d];
}

std::vector<std::string> last_of(std::vector<std::string> names, size_t rank) {
  return {names.end() - static_cast<std::ptrdiff_t>(rank), names.end()};
}

}  // namespace

std::vector<Window> loose_windows(const std::string& name, const std::vector<int64_t>& in,
                                  const std::vector<int64_t>& kernel, const ConvParams& p) {
  const size_t rank = in.size();
  require(rank >= 1 && rank <= 3, name, "{} spatial dimensions; 1, 2 or 3 are supported", rank);
  require(kernel.size() == rank, name, "a kernel of rank {} over {} spatial dimensions",
          kernel.size(), rank);
  std::vector<Window> all;
  for (size_t d = 0; d < rank; ++d) {
    Window w{in[d],
             kernel[d],
             at(name, p.stride, d, rank, 1),
             at(name, p.pad_before, d, rank, 0),
             at(name, p.pad_after, d, rank, 0),
             at(name, p.dilation, d, rank, 1)};
    for (const int64_t positive : {w.kernel, w.stride, w.dilation}) {
      require(positive >= 1 && positive <= kMaxExtent, name,
              "kernel {}, stride {} and dilation {} must be at least 1", w.kernel, w.stride,
              w.dilation);
    }
    for (const int64_t padding : {w.before, w.after}) {
      require(padding >= 0 && padding <= kMaxExtent, name, "padding {} is not in 0..2^31", padding);
    }
    all.push_back(w);
  }
  return all;
}

std::vector<Window> windows(const std::string& name, const std::vector<int64_t>& in,
                            const std::vector<int64_t>& kernel, const ConvParams& p) {
  std::vector<Window> all = loose_windows(name, in, kernel, p);
  for (const Window& w : all) {
    require(w.span() <= w.in + w.before + w.after, name,
            "a window of {} does not fit an input of {} padded by {} and {}", w.span(), w.in,
            w.before, w.after);
  }
  return all;
}

Tensor pad_windows(Builder& b, const std::string& name, const Tensor& x, size_t first,
                   const std::vector<Window>& w, const ir::Expr& value,
                   std::vector<std::string> axis_names) {
  std::vector<int64_t> before(x.rank(), 0);
  std::vector<int64_t> shape = x.shape();
  bool padded = false;
  for (size_t d = 0; d < w.size(); ++d) {
    before[first + d] = w[d].before;
    shape[first + d] += w[d].before + w[d].after;
    padded = padded || w[d].before > 0 || w[d].after > 0;
  }
  return padded ? pad_with(b, name + ".pad", x, before, shape, value, std::move(axis_names)) : x;
}

Tensor pad_with(Builder& b, const std::string& name, const Tensor& x,
                const std::vector<int64_t>& before, const std::vector<int64_t>& shape,
                const ir::Expr& value, std::vector<std::string> axis_names) {
  return b.compute(
      name, shape,
      [&](std::span<const ir::Var> axes) {
        ir::Expr inside = ir::make_bool(true);
        std::vector<ir::Expr> at = as_exprs(axes);
        for (size_t d = 0; d < at.size(); ++d) {
          if (before[d] > 0) {
            inside = ir::logical_and(inside, ir::le(before[d], axes[d]));
          }
          if (before[d] + x.shape()[d] < shape[d]) {
            inside = ir::logical_and(inside, ir::lt(axes[d], before[d] + x.shape()[d]));
          }
          at[d] = at[d] - ir::Expr(before[d]);
        }
        return ir::select(inside, ir::load(x, at), value);
      },
      std::move(axis_names));
}

std::vector<std::string> spatial_names(size_t rank) { return last_of({"z", "y", "x"}, rank); }
std::vector<std::string> kernel_names(size_t rank) { return last_of({"t", "r", "s"}, rank); }

}  // namespace tenon::te::detail
