// SPDX-License-Identifier: Apache-2.0
// Builders for the operator families, on top of compute(). Each takes tensors already in the Builder and
// returns the new output tensor; padding appears as its own op named <name>.pad, other stages as
// <name>.<stage>. Sums of f16 and bf16 are held in f32, sums of 8- and 16-bit integers in i32: matmul,
// dense, every convolution and reduce_dims by kAdd or kMul return that type, and a cast down is the
// caller's next op; pool, softmax, layer_norm, norm2 and gelu return the type of x. Shapes or types that
// do not fit are UserErrors that begin with <name>.
//
//   Builder b; auto a = b.input("A", kF32, {128, 768}); auto w = b.constant("W", kF32, {768, 768});
//   auto c = matmul(b, "C", a, w); b.output(c); ComputeDag dag = b.finish();
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "te/dag.h"

namespace tenon::te {

class Builder {
 public:
  Tensor input(const std::string& name, ir::DType t, std::vector<int64_t> shape);
  Tensor constant(const std::string& name, ir::DType t, std::vector<int64_t> shape);
  using Body = std::function<ir::Expr(std::span<const ir::Var> axes)>;
  using ReduceBody =
      std::function<ir::Expr(std::span<const ir::Var> axes, std::span<const ir::Var> reduce)>;
  // Axis names default to i0, i1, ...; pass names for readable nests.
  Tensor compute(const std::string& name, std::vector<int64_t> shape, const Body& body,
                 std::vector<std::string> axis_names = {});
  Tensor reduce(const std::string& name, std::vector<int64_t> shape, ir::BinaryOp combiner,
                const std::vector<int64_t>& reduce_extents, const ReduceBody& body,
                std::vector<std::string> axis_names = {},
                std::vector<std::string> reduce_names = {});
  Tensor add(ComputeOp op);  // as it is
  void output(const Tensor& t);
  ComputeDag finish(const std::string& name = "kernel");  // validates
  const ComputeDag& dag() const { return dag_; }          // so far; not validated

 private:
  ComputeDag dag_;
};

struct ConvParams {
  std::vector<int64_t> stride, pad_before, pad_after,
      dilation;  // per spatial dimension; empty: 1, 0, 0, 1
  int64_t groups = 1;
  int64_t pad_value = 0;  // what is beside the image; of conv alone
};

// A[m,k] * B[k,n]; transposed operands by flags. dense: A[m,k] * W[n,k] (+ bias by the caller).
Tensor matmul(Builder& b, const std::string& name, const Tensor& a, const Tensor& w,
              bool trans_a = false, bool trans_b = false);
// Leading dimensions are broadcast as numpy does.
Tensor batch_matmul(Builder& b, const std::string& name, const Tensor& a, const Tensor& w,
                    bool trans_a = false, bool trans_b = false);
Tensor dense(Builder& b, const std::string& name, const Tensor& x, const Tensor& w);
// x: N C spatial...; w: K C/groups kernel...; rank of spatial 1, 2 or 3 by the tensors.
Tensor conv(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
            const ConvParams& p);
// x: N C H W; w: C M KH KW (M = channel multiplier, output channel c*M + m).
Tensor depthwise_conv2d(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                        const ConvParams& p);
// x: N C spatial..; w: C K/groups kernel..: gradient of conv; out = (in-1)*stride - pads +
// (kernel-1)*dilation + 1 + output_pad. Reads under a select, so that unrolled loops drop the zeros.
Tensor conv_transpose(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                      const ConvParams& p, std::vector<int64_t> output_pad = {});
// Capsule convolution 2d (Hinton et al.): x N H W CI 4 4, w KH KW CI 4 4 CO, result N Y X CO 4 4: 4x4
// matrices multiplied in the sum (any matrix sizes that fit each other).
Tensor capsule_conv2d(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                      const ConvParams& p);
// sqrt(sum over the last two dims of x*x): batch of matrices N x R x C -> N.
Tensor norm2(Builder& b, const std::string& name, const Tensor& x);
enum class Pool : uint8_t { kMax, kAverage, kAverageIncludePad };
Tensor pool(Builder& b, const std::string& name, const Tensor& x, Pool kind,
            const std::vector<int64_t>& kernel, const ConvParams& p);
Tensor reduce_dims(Builder& b, const std::string& name, const Tensor& x, ir::BinaryOp combiner,
                   std::vector<int64_t> dims, bool keep_dims);
Tensor softmax(Builder& b, const std::string& name, const Tensor& x);  // over the last dimension
// Over the last dimension; scale and bias of that extent; variance by two passes.
Tensor layer_norm(Builder& b, const std::string& name, const Tensor& x, const Tensor& scale,
                  const Tensor& bias, double epsilon);
// Element-wise with numpy broadcasting of every operand to the common shape.
Tensor elementwise(Builder& b, const std::string& name, std::vector<Tensor> xs,
                   const std::function<ir::Expr(std::span<const ir::Expr>)>& fn);
Tensor relu(Builder& b, const std::string& name, const Tensor& x);
Tensor gelu(Builder& b, const std::string& name, const Tensor& x);  // exact: erf
Tensor transpose(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> perm);
Tensor reshape(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> shape);
Tensor concat(Builder& b, const std::string& name, std::vector<Tensor> xs, int64_t dim);
Tensor slice(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> begin,
             std::vector<int64_t> shape, std::vector<int64_t> step = {});
Tensor pad(Builder& b, const std::string& name, const Tensor& x, std::vector<int64_t> before,
           std::vector<int64_t> after, double value = 0);
// x[index along dim]; negative indices count from the end, out-of-range ones are clamped.
Tensor gather(Builder& b, const std::string& name, const Tensor& x, const Tensor& index,
              int64_t dim);

}  // namespace tenon::te
