// SPDX-License-Identifier: Apache-2.0
// What the operator families share: refusals, the types of sums, axis names, sliding windows.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "support/check.h"
#include "te/ops.h"

namespace tenon::te::detail {

// Throws UserError "NAME: MESSAGE" unless the condition holds.
template <class... Args>
void require(bool condition, const std::string& name, fmt::format_string<Args...> message,
             Args&&... args) {
  if (!condition) {
    throw UserError(fmt::format("{}: {}", name, fmt::format(message, std::forward<Args>(args)...)));
  }
}

// Sums of f16 and bf16 are held in f32, sums of 8- and 16-bit integers in i32.
ir::DType sum_type(ir::DType t);
// a * b in the type of their sum; 8- and 16-bit integers may differ in sign, and a may be one where b is f32.
ir::Expr product(const std::string& name, const ir::Expr& a, const ir::Expr& b);

// prefix0, prefix1, ...
std::vector<std::string> numbered(const std::string& prefix, size_t count);
std::vector<ir::Expr> as_exprs(std::span<const ir::Var> vars);
// dims in 0..rank-1, sorted, distinct; negative ones count from the end.
std::vector<int64_t> normalize_dims(const std::string& name, std::vector<int64_t> dims,
                                    size_t rank);
int64_t normalize_dim(const std::string& name, int64_t dim, size_t rank);

// One spatial dimension of a sliding window.
struct Window {
  int64_t in = 1, kernel = 1, stride = 1, before = 0, after = 0, dilation = 1;
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  int64_t out() const { return (in + before + after - span()) / stride + 1; }
};

// One window per spatial dimension from the parameters with their defaults, each checked.
std::vector<Window> windows(const std::string& name, const std::vector<int64_t>& in,
                            const std::vector<int64_t>& kernel, const ConvParams& p);
// The same without the check that the kernel fits the padded input (for transposed convolution).
std::vector<Window> loose_windows(const std::string& name, const std::vector<int64_t>& in,
                                  const std::vector<int64_t>& kernel, const ConvParams& p);
// NAME.pad with `value` around the spatial dimensions (from `first` on), or x itself if no window pads.
Tensor pad_windows(Builder& b, const std::string& name, const Tensor& x, size_t first,
                   const std::vector<Window>& w, const ir::Expr& value,
                   std::vector<std::string> axis_names);
// The input position that output position `y` sees through kernel position `r`.
inline ir::Expr tap(const Window& w, const ir::Expr& y, const ir::Expr& r) {
  return y * ir::Expr(w.stride) + r * ir::Expr(w.dilation);
}
// {"z","y","x"} and {"t","r","s"}, the last `rank` of them.
std::vector<std::string> spatial_names(size_t rank);
std::vector<std::string> kernel_names(size_t rank);

// x shifted by `before` into `shape`, `value` outside.
Tensor pad_with(Builder& b, const std::string& name, const Tensor& x,
                const std::vector<int64_t>& before, const std::vector<int64_t>& shape,
                const ir::Expr& value, std::vector<std::string> axis_names);

}  // namespace tenon::te::detail
