// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <unordered_set>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify_types.h"
#include "ir/visit.h"

namespace tenon::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(Dialect dialect)
      : dialect_(dialect),
        scalar_(dialect == Dialect::kLoops || dialect == Dialect::kFlatLoops),
        flat_(dialect != Dialect::kLoops) {}
  void function(const Function& f);

 private:
  void stmt(const Stmt& s);
  void loop(const For* n);
  void store(const Store* n);
  void allocation(const Allocate* n);
  void combined(const Combine* n);
  void expr(const Expr& e);
  void access(const Buffer& b, const std::vector<Expr>& indices, const Expr& predicate);
  void register_index(const Buffer& b, const Expr& index);

  Dialect dialect_;
  bool scalar_;  // not vectorised yet
  bool flat_;    // one index per access
  std::unordered_set<const void*> inputs_;
  std::unordered_set<const void*> buffers_;     // in scope
  std::unordered_set<const void*> vars_;        // in scope
  std::unordered_set<const void*> ever_bound_;  // variables of loops so far
  bool in_parallel_ = false;
  bool in_thread_ = false;  // in a kThread loop of any tag
};

void Verifier::function(const Function& f) {
  TENON_CHECK(f.body.defined()) << f.name << " has no body";
  TENON_CHECK(f.num_inputs <= f.params.size())
      << f.name << " has " << f.num_inputs << " inputs and " << f.params.size() << " parameters";
  for (size_t i = 0; i < f.params.size(); ++i) {
    const Buffer& b = f.params[i];
    TENON_CHECK(b.defined()) << "parameter " << i << " is undefined";
    TENON_CHECK(b->scope == Scope::kGlobal) << "parameter " << b.name() << " is not global";
    TENON_CHECK(buffers_.insert(b.get()).second) << "parameter " << b.name() << " appears twice";
    if (i < f.num_inputs) {
      inputs_.insert(b.get());
    }
  }
  stmt(f.body);
}

void Verifier::expr(const Expr& e) {
  TENON_CHECK(e.defined()) << "undefined expression";
  if (const auto* v = e.as<VarNode>()) {
    TENON_CHECK(vars_.contains(v)) << "variable " << v->name << " is used outside of its loop";
  }
  for_each_child(e, [&](const Expr& child) { expr(child); });
  verify_types(e);
  TENON_CHECK(!scalar_ || !e.dtype().is_vector())
      << "vector value before vectorisation: " << to_string(e);
  if (const auto* n = e.as<Load>()) {
    access(n->buffer, n->indices, n->predicate);
  }
}

void Verifier::access(const Buffer& b, const std::vector<Expr>& indices, const Expr& predicate) {
  TENON_CHECK(b.defined()) << "access to an undefined buffer";
  TENON_CHECK(buffers_.contains(b.get()))
      << "buffer " << b.name() << " is neither a parameter nor allocated around its use";
  TENON_CHECK(!scalar_ || !predicate.defined())
      << "predicate on " << b.name() << " before vectorisation";
  if (!flat_) {
    TENON_CHECK(indices.size() == b.rank())
        << b.name() << " has rank " << b.rank() << " and is given " << indices.size() << " indices";
    return;
  }
  TENON_CHECK(indices.size() == 1) << "access to " << b.name() << " is not flat";
  TENON_CHECK(b.rank() != 1 || b->strides[0] == 1 || b.shape()[0] == 1)
      << b.name() << " has one dimension and a stride: a flat index would be ambiguous";
  if (dialect_ == Dialect::kFlat && b->scope == Scope::kRegister) {
    register_index(b, indices[0]);
  }
}

void Verifier::register_index(const Buffer& b, const Expr& index) {
  const auto* r = index.as<Ramp>();
  const bool constant =
      r != nullptr ? const_int(r->base) && const_int(r->stride) : const_int(index).has_value();
  TENON_CHECK(constant) << b.name() << " is in registers and indexed by " << to_string(index);
}

void Verifier::loop(const For* n) {
  const std::string& name = n->var.name();
  expr(n->min);
  expr(n->extent);
  TENON_CHECK(n->min.dtype() == kI64 && n->extent.dtype() == kI64 && n->var.dtype() == kI64)
      << "loop " << name << " is not over i64";
  TENON_CHECK(ever_bound_.insert(n->var.get()).second) << "variable " << name << " is bound twice";
  TENON_CHECK((n->loop_kind == ForKind::kThread) == (n->tag != ThreadTag::kNone))
      << "loop " << name << ": thread tags belong to thread loops";
  const bool fixed = n->loop_kind == ForKind::kVectorized || n->loop_kind == ForKind::kUnrolled;
  TENON_CHECK(!fixed || const_int(n->extent)) << "loop " << name << " needs a constant extent";
  TENON_CHECK(scalar_ || n->loop_kind != ForKind::kVectorized)
      << "loop " << name << " is still vectorised";
  TENON_CHECK(dialect_ != Dialect::kFlat || n->loop_kind != ForKind::kUnrolled)
      << "loop " << name << " is still unrolled";
  const bool parallel = n->loop_kind == ForKind::kParallel;
  const bool thread = n->loop_kind == ForKind::kThread;
  TENON_CHECK(!(parallel || thread) || !in_parallel_)
      << "loop " << name << " is concurrent inside a parallel loop";
  TENON_CHECK(!parallel || !in_thread_) << "loop " << name << " is parallel inside a thread loop";
  const bool outer_parallel = std::exchange(in_parallel_, in_parallel_ || parallel);
  const bool outer_thread = std::exchange(in_thread_, in_thread_ || thread);
  vars_.insert(n->var.get());
  stmt(n->body);
  vars_.erase(n->var.get());
  in_parallel_ = outer_parallel;
  in_thread_ = outer_thread;
}

void Verifier::store(const Store* n) {
  for (const Expr& i : n->indices) {
    expr(i);
  }
  expr(n->value);
  if (n->predicate.defined()) {
    expr(n->predicate);
  }
  access(n->buffer, n->indices, n->predicate);
  const int lanes = verify_indices(n->buffer, n->indices);
  verify_predicate(n->predicate, lanes, n->buffer);
  const DType place = n->buffer.dtype().with_lanes(lanes);
  TENON_CHECK(n->value.dtype() == place)
      << "a value of type " << to_string(n->value.dtype()) << " is stored to " << to_string(place)
      << " in " << n->buffer.name();
  TENON_CHECK(!inputs_.contains(n->buffer.get()))
      << "input " << n->buffer.name() << " is stored to";
}

void Verifier::allocation(const Allocate* n) {
  const Buffer& b = n->buffer;
  TENON_CHECK(b.defined()) << "allocation of an undefined buffer";
  TENON_CHECK(b->scope != Scope::kGlobal || !in_thread_)
      << "global buffer " << b.name() << " is allocated inside a thread loop";
  TENON_CHECK(buffers_.insert(b.get()).second) << "buffer " << b.name() << " already exists here";
  stmt(n->body);
  buffers_.erase(b.get());
}

void Verifier::combined(const Combine* n) {
  const Scope scope = n->buffer->scope;
  TENON_CHECK(in_thread_) << "threads combine " << n->buffer.name() << " outside of thread loops";
  TENON_CHECK(buffers_.contains(n->buffer.get())) << n->buffer.name() << " does not exist here";
  TENON_CHECK(scope == Scope::kLocal || scope == Scope::kRegister)
      << "threads combine " << n->buffer.name() << ", which is not their own";
}

void Verifier::stmt(const Stmt& s) {
  TENON_CHECK(s.defined()) << "undefined statement";
  switch (s.kind()) {
    case StmtKind::kFor:
      loop(s.as<For>());
      break;
    case StmtKind::kStore:
      store(s.as<Store>());
      break;
    case StmtKind::kIf: {
      const auto* n = s.as<If>();
      expr(n->condition);
      TENON_CHECK(n->condition.dtype() == kBool)
          << "condition of type " << to_string(n->condition.dtype());
      stmt(n->then_case);
      if (n->else_case.defined()) {
        stmt(n->else_case);
      }
      break;
    }
    case StmtKind::kBlock: {
      for (const Stmt& t : s.as<Block>()->stmts) {
        stmt(t);
      }
      break;
    }
    case StmtKind::kAllocate:
      allocation(s.as<Allocate>());
      break;
    case StmtKind::kBarrier:
      TENON_CHECK(in_thread_) << "barrier outside of thread loops";
      break;
    case StmtKind::kPrefetch: {
      const auto* n = s.as<Prefetch>();
      for (const Expr& i : n->indices) {
        expr(i);
      }
      access(n->buffer, n->indices, Expr());
      TENON_CHECK(verify_indices(n->buffer, n->indices) == 1)
          << "prefetch of several lanes of " << n->buffer.name();
      break;
    }
    case StmtKind::kCombine:
      combined(s.as<Combine>());
      break;
  }
}

}  // namespace

void verify(const Function& f, Dialect dialect) { Verifier(dialect).function(f); }

}  // namespace tenon::ir
