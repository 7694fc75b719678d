// SPDX-License-Identifier: Apache-2.0
#include "ir/visit.h"
#include "te/dag.h"

namespace tenon::te {
namespace {

enum class Class : uint8_t { kFloat, kInt, kBool };

Class class_of(ir::DType t) {
  return t.is_float() ? Class::kFloat : t.is_bool() ? Class::kBool : Class::kInt;
}

bool reads_memory(const ir::Expr& e) {
  bool found = false;
  ir::visit(e, [&](const ir::Expr& x) { found = found || x.as<ir::Load>() != nullptr; });
  return found;
}

// One operation if `e` computes in the wanted class. Integer arithmetic on axes alone is index
// arithmetic; a bool result counts the comparisons it came from, whatever they compare.
double own_cost(const ir::Expr& e, Class wanted) {
  ir::DType type;
  if (const auto* b = e.as<ir::Binary>()) {
    type = b->a.dtype();
  } else if (const auto* c = e.as<ir::Call>()) {
    type = c->args[0].dtype();
  } else {
    return 0;
  }
  if (class_of(type) != wanted && wanted != Class::kBool) {
    return 0;
  }
  return type == ir::kI64 && !reads_memory(e) ? 0 : 1;
}

double cost(const ir::Expr& e, Class wanted) {
  if (e.as<ir::Load>() != nullptr) {
    return 0;
  }
  double total = own_cost(e, wanted);
  ir::for_each_child(e, [&](const ir::Expr& child) { total += cost(child, wanted); });
  return total;
}

}  // namespace

double flops(const ComputeOp& op) {
  double points = 1;
  for (const auto* group : {&op.axes, &op.reduce_axes}) {
    for (const Axis& a : *group) {
      points *= static_cast<double>(a.extent);
    }
  }
  return points * (cost(op.body, class_of(op.output.dtype())) + (op.is_reduction() ? 1 : 0));
}

double flops(const ComputeDag& dag) {
  double total = 0;
  for (const OpRef& op : dag.ops) {
    total += flops(*op);
  }
  return total;
}

}  // namespace tenon::te
