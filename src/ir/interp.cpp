// SPDX-License-Identifier: Apache-2.0
#include "ir/interp.h"

#include <map>
#include <memory>
#include <utility>

#include "ir/int_ops.h"
#include "ir/interp_exec.h"
#include "ir/interp_expr.h"
#include "ir/interp_machine.h"
#include "ir/interp_math.h"

namespace tenon::ir {
namespace interp {
namespace {

struct StoreExec : Executor {
  Place place;
  EvaluatorRef value, predicate;                           // predicate may be null
  mutable std::vector<std::pair<int64_t, Scalar>> writes;  // of one vector, kept for the next
  StoreExec(Place p, EvaluatorRef v, EvaluatorRef c)
      : place(std::move(p)), value(std::move(v)), predicate(std::move(c)) {}

  void run(Machine& m, Active active) const override {
    const Scope scope = place.scope();
    if (active[0]->concurrent && (scope == Scope::kShared || scope == Scope::kGlobal)) {
      check_told_apart(m, *active[0]);
    }
    for (Thread* t : active) {
      if (place.lanes() == 1) {
        if (!predicate || predicate->eval(*t, 0).i != 0) {
          const Scalar v = value->eval(*t, 0);
          place.storage(*t).write(place.offset(*t, 0), v, *t);
        }
      } else {
        run_vector(*t);
      }
    }
  }
  // Outside of the loop of a tag all threads along it do the same.
  static void check_told_apart(const Machine& m, const Thread& t) {
    for (size_t d = 0; d < 3; ++d) {
      TENON_CHECK(m.launch[d] == 1 || t.number[d] >= 0)
          << "race: a store outside of a thread loop is done by " << m.launch[d] << " threads";
    }
  }
  // All lanes are evaluated before the first is written.
  void run_vector(const Thread& t) const {
    writes.clear();
    for (int lane = 0; lane < place.lanes(); ++lane) {
      if (!predicate || predicate->eval(t, lane).i != 0) {
        const Scalar v = value->eval(t, lane);
        writes.emplace_back(place.offset(t, lane), v);
      }
    }
    for (const auto& [offset, v] : writes) {
      place.storage(t).write(offset, v, t);
    }
  }
};

struct IfExec : Executor {
  EvaluatorRef condition;
  ExecutorRef then_case, else_case;  // else_case may be null
  void run(Machine& m, Active active) const override {
    if (active.size() == 1) {
      const bool taken = condition->eval(*active[0], 0).i != 0;
      if (taken) {
        then_case->run(m, active);
      } else if (else_case) {
        else_case->run(m, active);
      }
      return;
    }
    std::vector<Thread*> yes;
    std::vector<Thread*> no;
    for (Thread* t : active) {
      (condition->eval(*t, 0).i != 0 ? yes : no).push_back(t);
    }
    if (!yes.empty()) {
      then_case->run(m, yes);
    }
    if (!no.empty() && else_case) {
      else_case->run(m, no);
    }
  }
};

struct BlockExec : Executor {
  std::vector<ExecutorRef> stmts;
  void run(Machine& m, Active active) const override {
    for (const ExecutorRef& s : stmts) {
      s->run(m, active);
    }
  }
};

struct BarrierExec : Executor {
  void run(Machine& m, Active active) const override {
    bool all = active.size() == m.threads;
    for (size_t d = 0; d < 3; ++d) {
      all = all && (active[0]->number[d] < 0 || m.extents[d] == m.launch[d]);
    }
    TENON_CHECK(all) << "barrier reached by only some threads of the block";
    m.clock.next_phase();
  }
};

// Threads that are neighbours along x exchange what they hold.
struct CombineExec : Executor {
  BinaryOp op;
  DType type;
  size_t slot, count;
  CombineExec(const Combine& n, size_t s)
      : op(n.op), type(n.buffer.dtype()), slot(s), count(static_cast<size_t>(n.threads)) {}

  void run(Machine& m, Active active) const override {
    const auto n = static_cast<int64_t>(count);
    TENON_CHECK(m.launch[0] % n == 0)
        << n << " threads combine, which do not divide the " << m.launch[0] << " along x";
    std::map<std::pair<uint64_t, int64_t>, std::vector<Thread*>> groups;
    for (Thread* t : active) {
      const int64_t x = t->number[0];
      TENON_CHECK(x >= 0) << "threads combine outside of a loop along x";
      auto& group = groups[{t->agent.thread >> 16, x / n}];
      group.resize(count);
      group[static_cast<size_t>(x % n)] = t;
    }
    for (const auto& [which, group] : groups) combine(group);
  }

 private:
  void combine(const std::vector<Thread*>& group) const {
    std::vector<Scalar> held;
    for (const Thread* t : group) {
      TENON_CHECK(t != nullptr) << "only some of " << count << " threads that combine come there";
      held.push_back(t->buffers[slot]->read(0, *t));
    }
    for (size_t d = count / 2; d > 0; d /= 2) {
      const std::vector<Scalar> before = held;
      for (size_t i = 0; i < count; ++i) held[i] = apply(before[i], before[i ^ d]);
    }
    for (size_t i = 0; i < count; ++i) group[i]->buffers[slot]->write(0, held[i], *group[i]);
  }
  Scalar apply(Scalar a, Scalar b) const {
    Scalar out;
    if (type.is_float()) {
      out.f = apply_float(op, type, a.f, b.f);
    } else {
      out.i = *apply_int(op, type, a.i, b.i);  // defined for what is_combiner
    }
    return out;
  }
};

struct Nothing : Executor {  // Prefetch
  void run(Machine&, Active) const override {}
};

struct AllocateExec : Executor {
  const BufferNode* buffer = nullptr;
  size_t slot = 0;
  bool inside_parallel = false;  // then each iteration has its own and no other reaches it
  ExecutorRef body;
  mutable std::vector<std::unique_ptr<Storage>> pool;  // kept between entries

  Storage* take(const Machine& m, size_t i) const {
    if (i == pool.size()) {
      pool.push_back(std::make_unique<Storage>(buffer, m.clock, !inside_parallel));
    } else {
      pool[i]->forget();
    }
    return pool[i].get();
  }
  void run(Machine& m, Active active) const override {
    const bool per_thread = buffer->scope == Scope::kLocal || buffer->scope == Scope::kRegister;
    for (size_t i = 0; i < active.size(); ++i) {
      active[i]->buffers[slot] = per_thread || i == 0 ? take(m, i) : pool[0].get();
    }
    body->run(m, active);
  }
};

class Compiler {
 public:
  Slots slots;
  ExecutorRef compile_stmt(const Stmt& s);

 private:
  ExecutorRef loop(const For* n);
  ExecutorRef conditional(const If* n);
  ExecutorRef sequence(const Block* n);
  ExecutorRef allocation(const Allocate* n);
  bool inside_parallel_ = false;
};

ExecutorRef Compiler::loop(const For* n) {
  LoopParts parts{.name = n->var.name(),
                  .min = compile(n->min, slots),
                  .extent = compile(n->extent, slots),
                  .body = nullptr};
  parts.slot = slots.bind(n->var);
  const bool outer = inside_parallel_;
  inside_parallel_ = inside_parallel_ || n->loop_kind == ForKind::kParallel;
  parts.body = compile_stmt(n->body);
  inside_parallel_ = outer;
  slots.var_of.erase(n->var.get());
  return make_loop(*n, std::move(parts));
}

ExecutorRef Compiler::conditional(const If* n) {
  auto exec = std::make_unique<IfExec>();
  exec->condition = compile(n->condition, slots);
  exec->then_case = compile_stmt(n->then_case);
  exec->else_case = n->else_case.defined() ? compile_stmt(n->else_case) : nullptr;
  return exec;
}

ExecutorRef Compiler::sequence(const Block* n) {
  auto exec = std::make_unique<BlockExec>();
  for (const Stmt& s : n->stmts) {
    exec->stmts.push_back(compile_stmt(s));
  }
  return exec;
}

ExecutorRef Compiler::allocation(const Allocate* n) {
  auto exec = std::make_unique<AllocateExec>();
  exec->buffer = n->buffer.get();
  exec->slot = slots.bind(n->buffer);
  exec->inside_parallel = inside_parallel_;
  exec->body = compile_stmt(n->body);
  slots.buffer_of.erase(n->buffer.get());
  return exec;
}

ExecutorRef Compiler::compile_stmt(const Stmt& s) {
  switch (s.kind()) {
    case StmtKind::kFor:
      return loop(s.as<For>());
    case StmtKind::kStore: {
      const auto* n = s.as<Store>();
      return std::make_unique<StoreExec>(
          Place(n->buffer, n->indices, slots), compile(n->value, slots),
          n->predicate.defined() ? compile(n->predicate, slots) : nullptr);
    }
    case StmtKind::kIf:
      return conditional(s.as<If>());
    case StmtKind::kBlock:
      return sequence(s.as<Block>());
    case StmtKind::kAllocate:
      return allocation(s.as<Allocate>());
    case StmtKind::kBarrier:
      return std::make_unique<BarrierExec>();
    case StmtKind::kPrefetch:
      return std::make_unique<Nothing>();
    case StmtKind::kCombine: {
      const auto* n = s.as<Combine>();
      return std::make_unique<CombineExec>(*n, slots.buffer_of.at(n->buffer.get()));
    }
  }
  TENON_CHECK(false) << "unknown statement";
  return nullptr;
}

}  // namespace
}  // namespace interp

Scalar eval(const Expr& scalar_expr, const std::map<const VarNode*, int64_t>& env) {
  TENON_CHECK(!scalar_expr.dtype().is_vector()) << to_string(scalar_expr.dtype());
  interp::Slots slots;
  interp::Thread thread;
  for (const auto& [var, value] : env) {
    slots.bind(Var(var));
    thread.vars.push_back(value);
  }
  return interp::compile(scalar_expr, slots)->eval(thread, 0);
}

void interpret(const Function& f, std::vector<Array>& args) {
  TENON_CHECK(args.size() == f.params.size())
      << f.name << " takes " << f.params.size() << " arrays, not " << args.size();
  interp::Compiler compiler;
  interp::Machine machine;
  interp::Thread thread;
  std::vector<std::unique_ptr<interp::Storage>> params;
  for (size_t i = 0; i < args.size(); ++i) {
    const Buffer& b = f.params[i];
    TENON_CHECK(args[i].dtype() == b.dtype() && args[i].elements() == b->elements())
        << "argument " << i << " does not match parameter " << b.name();
    const bool input = i < f.num_inputs;
    params.push_back(std::make_unique<interp::Storage>(b.get(), machine.clock, !input));
    if (input) {
      params.back()->fill(args[i]);
      params.back()->forbid_stores();
    }
    compiler.slots.bind(b);
    thread.buffers.push_back(params.back().get());
  }
  const interp::ExecutorRef program = compiler.compile_stmt(f.body);
  thread.vars.resize(compiler.slots.vars);
  thread.buffers.resize(compiler.slots.buffers);
  interp::Thread* const active[] = {&thread};
  program->run(machine, active);
  for (size_t i = f.num_inputs; i < args.size(); ++i) {
    params[i]->spill(args[i]);
  }
}

}  // namespace tenon::ir
