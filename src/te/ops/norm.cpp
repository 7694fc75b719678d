// SPDX-License-Identifier: Apache-2.0
#include "te/ops.h"
#include "te/ops/detail.h"

namespace tenon::te {
namespace {

using detail::require;

// Works on rows: the last dimension is j, the others are the row's position.
struct Rows {
  Builder& b;
  Tensor x;
  ir::DType wide;  // arithmetic is done in this type
  std::vector<int64_t> outer;
  std::vector<std::string> outer_names, names;

  Rows(Builder& builder, const std::string& name, const Tensor& t)
      : b(builder), x(t), wide(detail::sum_type(t.dtype())) {
    require(t.rank() >= 1 && t.dtype().is_float(), name,
            "a {} tensor of rank {}; floats of rank 1 or more are wanted", ir::to_string(t.dtype()),
            t.rank());
    outer.assign(t.shape().begin(), t.shape().end() - 1);
    outer_names =
        outer.size() == 1 ? std::vector<std::string>{"i"} : detail::numbered("i", outer.size());
    names = outer_names;
    names.emplace_back("j");
  }

  int64_t length() const { return x.shape().back(); }

  ir::Expr at(const Tensor& t, std::span<const ir::Var> axes) const {
    return ir::cast(wide, ir::load(t, detail::as_exprs(axes)));
  }
  ir::Expr per_row(const Tensor& t, std::span<const ir::Var> axes) const {
    return at(t, axes.first(outer.size()));
  }

  Tensor reduce(const std::string& name, ir::BinaryOp combiner, const Builder::Body& body) const {
    const auto joined = [&](std::span<const ir::Var> axes, std::span<const ir::Var> j) {
      std::vector<ir::Var> all(axes.begin(), axes.end());
      all.push_back(j[0]);
      return body(all);
    };
    return b.reduce(name, outer, combiner, {length()}, joined, outer_names, {"j"});
  }
  Tensor row(const std::string& name, const Builder::Body& body) const {
    return b.compute(name, outer, body, outer_names);
  }
  Tensor full(const std::string& name, const Builder::Body& body) const {
    return b.compute(name, x.shape(), body, names);
  }
};

}  // namespace

Tensor softmax(Builder& b, const std::string& name, const Tensor& x) {
  const Rows rows(b, name, x);
  using Axes = std::span<const ir::Var>;
  const Tensor top = rows.reduce(name + ".max", ir::BinaryOp::kMax,
                                 [&](Axes a) { return ir::load(x, detail::as_exprs(a)); });
  const Tensor e = rows.full(name + ".exp", [&](Axes a) {
    return ir::call(ir::Intrinsic::kExp, {rows.at(x, a) - rows.per_row(top, a)});
  });
  const Tensor sum =
      rows.reduce(name + ".sum", ir::BinaryOp::kAdd, [&](Axes a) { return rows.at(e, a); });
  // One division a row instead of one an element.
  const Tensor inverse = rows.row(
      name + ".inverse", [&](Axes a) { return ir::make_float(rows.wide, 1) / rows.at(sum, a); });
  return rows.full(
      name, [&](Axes a) { return ir::cast(x.dtype(), rows.at(e, a) * rows.per_row(inverse, a)); });
}

Tensor layer_norm(Builder& b, const std::string& name, const Tensor& x, const Tensor& scale,
                  const Tensor& bias, double epsilon) {
  const Rows rows(b, name, x);
  using Axes = std::span<const ir::Var>;
  for (const Tensor* t : {&scale, &bias}) {
    require(t->shape() == std::vector<int64_t>{rows.length()}, name,
            "'{}' is not a vector of {} elements", t->name(), rows.length());
    require(t->dtype().is_float(), name, "'{}' is {}", t->name(), ir::to_string(t->dtype()));
  }
  const ir::Expr length = ir::make_float(rows.wide, static_cast<double>(rows.length()));
  const Tensor sum =
      rows.reduce(name + ".sum", ir::BinaryOp::kAdd, [&](Axes a) { return rows.at(x, a); });
  const Tensor mean = rows.row(name + ".mean", [&](Axes a) { return rows.at(sum, a) / length; });
  const auto centred = [&](Axes a) { return rows.at(x, a) - rows.per_row(mean, a); };
  const Tensor squares = rows.reduce(name + ".squares", ir::BinaryOp::kAdd,
                                     [&](Axes a) { return centred(a) * centred(a); });
  const Tensor inverse = rows.row(name + ".inverse", [&](Axes a) {
    const ir::Expr variance = rows.at(squares, a) / length;
    return ir::call(ir::Intrinsic::kRsqrt, {variance + ir::make_float(rows.wide, epsilon)});
  });
  return rows.full(name, [&](Axes a) {
    const ir::Expr normal = centred(a) * rows.per_row(inverse, a);
    const auto j = a.last(1);
    return ir::cast(x.dtype(), normal * rows.at(scale, j) + rows.at(bias, j));
  });
}

}  // namespace tenon::te
