// SPDX-License-Identifier: Apache-2.0
#include "te/limits.h"
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

Tensor make_tensor(const std::string& name, ir::DType t, std::vector<int64_t> shape) {
  const std::string why = shape_error(shape);
  detail::require(why.empty(), name, "{}", why);
  detail::require(!name.empty(), "tensor", "it has no name");
  detail::require(!t.is_vector(), name, "its type is a vector");
  return Tensor::make(name, t, std::move(shape));
}

std::vector<Axis> make_axes(const std::string& name, const std::vector<int64_t>& extents,
                            std::vector<std::string> names, const std::string& prefix) {
  if (names.empty()) {
    names = detail::numbered(prefix, extents.size());
  }
  TENON_CHECK(names.size() == extents.size())
      << name << ": " << names.size() << " axis names for " << extents.size() << " axes";
  const std::string why = shape_error(extents);
  detail::require(why.empty(), name, "{}", why);
  std::vector<Axis> axes;
  for (size_t d = 0; d < extents.size(); ++d) {
    axes.push_back({ir::Var(names[d]), extents[d]});
  }
  return axes;
}

std::vector<ir::Var> vars_of(const std::vector<Axis>& axes) {
  std::vector<ir::Var> vars;
  for (const Axis& a : axes) {
    vars.push_back(a.var);
  }
  return vars;
}

}  // namespace

Tensor Builder::input(const std::string& name, ir::DType t, std::vector<int64_t> shape) {
  dag_.inputs.push_back({make_tensor(name, t, std::move(shape)), false});
  return dag_.inputs.back().tensor;
}

Tensor Builder::constant(const std::string& name, ir::DType t, std::vector<int64_t> shape) {
  dag_.inputs.push_back({make_tensor(name, t, std::move(shape)), true});
  return dag_.inputs.back().tensor;
}

Tensor Builder::compute(const std::string& name, std::vector<int64_t> shape, const Body& body,
                        std::vector<std::string> axis_names) {
  auto op = std::make_shared<ComputeOp>();
  op->axes = make_axes(name, shape, std::move(axis_names), "i");
  op->body = body(vars_of(op->axes));
  op->output = make_tensor(name, op->body.dtype(), std::move(shape));
  dag_.ops.push_back(op);
  return op->output;
}

Tensor Builder::reduce(const std::string& name, std::vector<int64_t> shape, ir::BinaryOp combiner,
                       const std::vector<int64_t>& reduce_extents, const ReduceBody& body,
                       std::vector<std::string> axis_names, std::vector<std::string> reduce_names) {
  auto op = std::make_shared<ComputeOp>();
  op->axes = make_axes(name, shape, std::move(axis_names), "i");
  op->reduce_axes = make_axes(name, reduce_extents, std::move(reduce_names), "k");
  op->combiner = combiner;
  op->body = body(vars_of(op->axes), vars_of(op->reduce_axes));
  op->output = make_tensor(name, op->body.dtype(), std::move(shape));
  dag_.ops.push_back(op);
  return op->output;
}

Tensor Builder::add(ComputeOp op) {
  dag_.ops.push_back(std::make_shared<ComputeOp>(std::move(op)));
  return dag_.ops.back()->output;
}

void Builder::output(const Tensor& t) { dag_.outputs.push_back(t); }

ComputeDag Builder::finish(const std::string& name) {
  dag_.name = name;
  dag_.validate();
  return std::exchange(dag_, {});
}

namespace detail {

ir::DType sum_type(ir::DType t) {
  if (t.is_float()) {
    return t.bits == 16 ? ir::kF32 : t;
  }
  return t.is_int() && t.bits < 32 ? ir::kI32 : t;
}

ir::Expr product(const std::string& name, const ir::Expr& a, const ir::Expr& b) {
  const bool stored = a.dtype().is_int() && a.dtype().bits <= 16 && b.dtype() == ir::kF32;
  const ir::DType t = stored ? ir::kF32 : sum_type(a.dtype());
  require(sum_type(b.dtype()) == t && (stored || a.dtype() == b.dtype() || t == ir::kI32), name,
          "operands are {} and {}", ir::to_string(a.dtype()), ir::to_string(b.dtype()));
  require(!a.dtype().is_bool(), name, "operands are bool");
  return ir::cast(t, a) * ir::cast(t, b);
}

std::vector<std::string> numbered(const std::string& prefix, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back(prefix + std::to_string(i));
  }
  return names;
}

std::vector<ir::Expr> as_exprs(std::span<const ir::Var> vars) { return {vars.begin(), vars.end()}; }

int64_t normalize_dim(const std::string& name, int64_t dim, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  require(dim >= -r && dim < r, name, "dimension {} of a tensor of rank {}", dim, rank);
  return dim < 0 ? dim + r : dim;
}

}  // namespace detail
}  // namespace tenon::te
