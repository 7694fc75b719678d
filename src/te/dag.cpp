// SPDX-License-Identifier: Apache-2.0
#include "te/dag.h"

#include <algorithm>
#include <unordered_map>

#include "ir/visit.h"
#include "support/hash.h"

namespace tenon::te {

arith::Ranges ComputeOp::ranges() const {
  arith::Ranges r;
  for (const auto* group : {&axes, &reduce_axes}) {
    for (const Axis& a : *group) {
      r.bind(a.var, {0, a.extent - 1});
    }
  }
  return r;
}

const ComputeOp* ComputeDag::producer(const Tensor& t) const {
  for (const OpRef& op : ops) {
    if (op->output.same_as(t)) {
      return op.get();
    }
  }
  return nullptr;
}

std::vector<const ComputeOp*> ComputeDag::readers(const Tensor& t) const {
  std::vector<const ComputeOp*> found;
  for (const OpRef& op : ops) {
    bool reads = false;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* load = e.as<ir::Load>();
      reads = reads || (load != nullptr && load->buffer.same_as(t));
    });
    if (reads) {
      found.push_back(op.get());
    }
  }
  return found;
}

namespace {

// Hashes bodies with tensors and axes named by position, so that neither names nor addresses matter.
class DagHasher {
 public:
  uint64_t run(const ComputeDag& dag) {
    h_.add(static_cast<uint64_t>(dag.inputs.size()));
    for (const Input& in : dag.inputs) {
      h_.add(static_cast<uint64_t>(in.constant ? 1 : 0));
      declare(in.tensor);
    }
    h_.add(static_cast<uint64_t>(dag.ops.size()));
    for (const OpRef& op : dag.ops) {
      add(*op);
    }
    h_.add(static_cast<uint64_t>(dag.outputs.size()));
    for (const Tensor& t : dag.outputs) {
      h_.add(tensors_.at(t.get()));
    }
    return h_.value();
  }

 private:
  void declare(const Tensor& t) {
    tensors_.emplace(t.get(), static_cast<uint64_t>(tensors_.size()));
    add(t.dtype());
    add(t.shape());
  }

  void add(const std::vector<int64_t>& v) {
    h_.add(static_cast<uint64_t>(v.size()));
    for (const int64_t x : v) {
      h_.add(x);
    }
  }

  void add(ir::DType t) {
    h_.add(static_cast<uint64_t>(t.code) << 32 | static_cast<uint64_t>(t.bits) << 16 | t.lanes);
  }

  void add(const ComputeOp& op) {
    vars_.clear();
    for (const auto* group : {&op.axes, &op.reduce_axes}) {
      h_.add(static_cast<uint64_t>(group->size()));
      for (const Axis& a : *group) {
        h_.add(a.extent);
        vars_.emplace(a.var.node(), static_cast<uint64_t>(vars_.size()));
      }
    }
    h_.add(op.combiner ? static_cast<uint64_t>(*op.combiner) + 1 : uint64_t{0});
    add(op.body);
    declare(op.output);
  }

  void add(const ir::Expr& e) {
    h_.add(static_cast<uint64_t>(e.kind()));
    add(e.dtype());
    if (const auto* n = e.as<ir::IntImm>()) {
      h_.add(n->value);
    } else if (const auto* f = e.as<ir::FloatImm>()) {
      h_.add(f->value);
    } else if (const auto* v = e.as<ir::VarNode>()) {
      h_.add(vars_.at(v));
    } else if (const auto* u = e.as<ir::Unary>()) {
      h_.add(static_cast<uint64_t>(u->op));
    } else if (const auto* b = e.as<ir::Binary>()) {
      h_.add(static_cast<uint64_t>(b->op));
    } else if (const auto* c = e.as<ir::Call>()) {
      h_.add(static_cast<uint64_t>(c->fn));
    } else if (const auto* l = e.as<ir::Load>()) {
      h_.add(tensors_.at(l->buffer.get()));
    }
    ir::for_each_child(e, [&](const ir::Expr& child) { add(child); });
  }

  Hasher h_;
  std::unordered_map<const ir::BufferNode*, uint64_t> tensors_;
  std::unordered_map<const ir::VarNode*, uint64_t> vars_;
};

}  // namespace

uint64_t ComputeDag::structural_hash() const { return DagHasher().run(*this); }

}  // namespace tenon::te
