// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/visit.h"
#include "support/check.h"
#include "te/bounds.h"
#include "te/dag.h"
#include "te/limits.h"

namespace tenon::te {

std::string shape_error(const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxRank) {
    return fmt::format("rank {} is over the limit of {}", shape.size(), kMaxRank);
  }
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1 || shape[d] > kMaxExtent) {
      return fmt::format("extent {} of dimension {} is not in 1..2^31", shape[d], d);
    }
    elements *= shape[d];
    if (elements >= kMaxElements) {
      return "it has 2^40 elements or more";
    }
  }
  return "";
}

namespace {

using ir::BinaryOp;

[[noreturn]] void refuse(const std::string& message, const std::string& hint = "") {
  throw UserError(message, hint);
}

class Validator {
 public:
  void run(const ComputeDag& dag) {
    if (dag.ops.size() > kMaxOps) {
      refuse(fmt::format("{} ops are over the limit of {}", dag.ops.size(), kMaxOps));
    }
    if (dag.inputs.size() > kMaxInputs) {
      refuse(fmt::format("{} inputs are over the limit of {}", dag.inputs.size(), kMaxInputs));
    }
    for (const Input& in : dag.inputs) {
      declare(in.tensor);
    }
    for (const OpRef& op : dag.ops) {
      TENON_CHECK(op != nullptr) << "null op in a dag";
      check_op(*op);
      declare(op->output);
    }
    check_outputs(dag);
  }

 private:
  void declare(const Tensor& t) {
    TENON_CHECK(t.defined()) << "undefined tensor in a dag";
    if (const std::string why = shape_error(t.shape()); !why.empty()) {
      refuse(fmt::format("tensor '{}': {}", t.name(), why));
    }
    if (!names_.insert(t.name()).second) {
      refuse(fmt::format("two tensors are named '{}'", t.name()));
    }
    known_.insert(t.get());
  }

  void check_op(const ComputeOp& op) {
    TENON_CHECK(op.output.defined() && op.body.defined()) << "incomplete op in a dag";
    check_axes(op);
    if (op.is_reduction() != !op.reduce_axes.empty()) {
      refuse(fmt::format("'{}': a combiner and reduction axes go together", op.name()));
    }
    if (op.is_reduction()) {
      check_combiner(op);
    }
    if (op.body.dtype() != op.output.dtype()) {
      refuse(fmt::format("'{}' is {} but its body is {}", op.name(),
                         ir::to_string(op.output.dtype()), ir::to_string(op.body.dtype())));
    }
    check_expr(op, op.body);
    if (const auto error = check_bounds(op)) {
      refuse(fmt::format("'{}': {}", op.name(), error->message), error->hint);
    }
  }

  void check_axes(const ComputeOp& op) {
    vars_.clear();
    std::vector<int64_t> reduced;
    for (const auto* group : {&op.axes, &op.reduce_axes}) {
      for (const Axis& a : *group) {
        TENON_CHECK(a.var.defined() && a.var.dtype() == ir::kI64) << "axis of " << op.name();
        if (!vars_.insert(a.var.node()).second) {
          refuse(fmt::format("'{}': axis '{}' appears twice", op.name(), a.var.name()));
        }
      }
    }
    if (op.axes.size() != op.output.rank()) {
      refuse(
          fmt::format("'{}' has {} axes but rank {}", op.name(), op.axes.size(), op.output.rank()));
    }
    for (size_t d = 0; d < op.axes.size(); ++d) {
      if (op.axes[d].extent != op.output.shape()[d]) {
        refuse(fmt::format("'{}': axis '{}' has extent {} but dimension {} has {}", op.name(),
                           op.axes[d].var.name(), op.axes[d].extent, d, op.output.shape()[d]));
      }
    }
    for (const Axis& a : op.reduce_axes) {
      reduced.push_back(a.extent);
    }
    if (const std::string why = shape_error(reduced); !why.empty()) {
      refuse(fmt::format("'{}': reduction axes: {}", op.name(), why));
    }
  }

  static void check_combiner(const ComputeOp& op) {
    if (!ir::is_combiner(*op.combiner)) {
      refuse(fmt::format("'{}': not an operation to reduce by", op.name()));
    }
    const bool logical = *op.combiner == BinaryOp::kAnd || *op.combiner == BinaryOp::kOr;
    if (logical != op.body.dtype().is_bool()) {
      refuse(fmt::format("'{}': any and all reduce bool, the others numbers; the body is {}",
                         op.name(), ir::to_string(op.body.dtype())));
    }
    const bool floats = *op.combiner == BinaryOp::kMinimum || *op.combiner == BinaryOp::kMaximum;
    if (floats && !op.body.dtype().is_float()) {
      refuse(fmt::format("'{}': minimum and maximum reduce floats; the body is {}", op.name(),
                         ir::to_string(op.body.dtype())),
             "min and max reduce integers");
    }
  }

  void check_expr(const ComputeOp& op, const ir::Expr& body) {
    ir::visit(body, [&](const ir::Expr& e) {
      if (e.dtype().is_vector() || e.kind() == ir::ExprKind::kRamp ||
          e.kind() == ir::ExprKind::kBroadcast || e.kind() == ir::ExprKind::kVectorReduce) {
        refuse(fmt::format("'{}': vectors have no place in a definition", op.name()));
      }
      if (const auto* v = e.as<ir::VarNode>(); v != nullptr && vars_.count(v) == 0) {
        refuse(fmt::format("'{}': variable '{}' is not one of its axes", op.name(), v->name));
      }
      if (const auto* load = e.as<ir::Load>()) {
        check_load(op, *load);
      }
    });
  }

  void check_load(const ComputeOp& op, const ir::Load& load) {
    const Tensor& t = load.buffer;
    if (known_.count(t.get()) == 0) {
      refuse(fmt::format("'{}' reads '{}', which is neither an input nor an earlier op", op.name(),
                         t.name()));
    }
    if (load.predicate.defined()) {
      refuse(fmt::format("'{}': reads in a definition carry no predicate; use select", op.name()));
    }
    if (load.indices.size() != t.rank()) {
      refuse(fmt::format("'{}' reads '{}' with {} indices; its rank is {}", op.name(), t.name(),
                         load.indices.size(), t.rank()));
    }
    for (const ir::Expr& i : load.indices) {
      if (i.dtype() != ir::kI64) {
        refuse(fmt::format("'{}': an index of '{}' is {}, not i64", op.name(), t.name(),
                           ir::to_string(i.dtype())));
      }
    }
    read_.insert(t.get());
  }

  void check_outputs(const ComputeDag& dag) {
    if (dag.outputs.empty()) {
      refuse("nothing is an output", "add a line 'output NAME'");
    }
    std::unordered_set<const ir::BufferNode*> outputs;
    for (const Tensor& t : dag.outputs) {
      if (dag.producer(t) == nullptr) {
        refuse(fmt::format("output '{}' is not computed by an op", t.name()));
      }
      if (!outputs.insert(t.get()).second) {
        refuse(fmt::format("'{}' is an output twice", t.name()));
      }
    }
    for (const OpRef& op : dag.ops) {
      if (outputs.count(op->output.get()) == 0 && read_.count(op->output.get()) == 0) {
        refuse(fmt::format("'{}' is computed but neither read nor an output", op->name()));
      }
    }
  }

  std::set<std::string> names_;
  std::unordered_set<const ir::BufferNode*> known_;
  std::unordered_set<const ir::BufferNode*> read_;
  std::unordered_set<const ir::VarNode*> vars_;
};

}  // namespace

void ComputeDag::validate() const { Validator().run(*this); }

}  // namespace tenon::te
