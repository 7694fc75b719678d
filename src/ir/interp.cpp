// SPDX-License-Identifier: Apache-2.0
#include "ir/interp.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ir/build.h"
#include "ir/interp_expr.h"
#include "ir/interp_machine.h"
#include "ir/visit.h"

namespace tenon::ir {
namespace interp {
namespace {

// The state of a run that is not a thread's own.
struct Machine {
  Clock clock;
  // How many threads a barrier waits for; kDiverged where some took another way.
  size_t threads = 1;
  static constexpr size_t kDiverged = ~size_t{0};
  std::array<int64_t, 3> extents = {};        // of the thread loops that are bound
  std::array<int64_t, 3> launch = {1, 1, 1};  // threads of a block: the longest loops of its nest
};

// Runs a statement on all active threads in lockstep: every thread finishes it before any goes on.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void run(Machine& m, Active active) const = 0;
};
using ExecutorRef = std::unique_ptr<const Executor>;

struct StoreExec : Executor {
  Place place;
  EvaluatorRef value, predicate;  // predicate may be null
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
    std::vector<std::pair<int64_t, Scalar>> writes;
    writes.reserve(static_cast<size_t>(place.lanes()));
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

struct Nothing : Executor {  // Prefetch
  void run(Machine&, Active) const override {}
};

struct Range {
  int64_t min;
  int64_t extent;
};

struct LoopExec : Executor {
  std::string name;
  size_t slot = 0;
  EvaluatorRef min, extent;
  ExecutorRef body;
  Range range(const Thread& t) const { return {min->eval(t, 0).i, extent->eval(t, 0).i}; }
};

struct SerialLoop : LoopExec {
  void run(Machine& m, Active active) const override {
    if (active.size() == 1) {
      const Range r = range(*active[0]);
      for (int64_t k = 0; k < r.extent; ++k) {
        active[0]->vars[slot] = r.min + k;
        body->run(m, active);
      }
      return;
    }
    run_together(m, active);
  }
  // Threads may have different extents; those that are done wait.
  void run_together(Machine& m, Active active) const {
    std::vector<Range> ranges;
    int64_t longest = 0;
    for (const Thread* t : active) {
      ranges.push_back(range(*t));
      longest = std::max(longest, ranges.back().extent);
    }
    std::vector<Thread*> going;
    for (int64_t k = 0; k < longest; ++k) {
      going.clear();
      for (size_t i = 0; i < active.size(); ++i) {
        if (k < ranges[i].extent) {
          active[i]->vars[slot] = ranges[i].min + k;
          going.push_back(active[i]);
        }
      }
      body->run(m, going);
    }
  }
};

struct ParallelLoop : LoopExec {
  void run(Machine& m, Active active) const override {
    Thread& t = *active[0];
    TENON_CHECK(active.size() == 1 && !t.concurrent)
        << "parallel loop " << name << " lies inside another concurrent loop";
    const Range r = range(t);
    m.clock.enter_region();
    t.concurrent = true;
    for (int64_t k = 0; k < r.extent; ++k) {
      t.vars[slot] = r.min + k;
      t.agent = {static_cast<uint64_t>(k), 0};
      body->run(m, active);
    }
    t.concurrent = false;
  }
};

// Writes `value` into the bits of an agent's number that belong to one dimension of the grid.
uint64_t with_field(uint64_t id, int low, int bits, int64_t value) {
  const uint64_t mask = ((uint64_t{1} << bits) - 1) << low;
  TENON_CHECK(value < (int64_t{1} << bits)) << "grid dimension too large: " << value;
  return (id & ~mask) | (static_cast<uint64_t>(value) << low);
}

bool is_block(ThreadTag tag) { return tag >= ThreadTag::kBlockX && tag <= ThreadTag::kBlockZ; }

struct ThreadLoop : LoopExec {
  ThreadTag tag = ThreadTag::kNone;
  std::array<int64_t, 3> launch = {1, 1, 1};  // of this loop and those inside

  void run(Machine& m, Active active) const override {
    const bool outermost = !active[0]->concurrent;
    if (outermost) {
      m.clock.enter_region();
      active[0]->concurrent = true;
      active[0]->agent = {};
      m.launch = launch;
    }
    if (is_block(tag)) {
      run_blocks(m, active);
    } else if (tag != ThreadTag::kVThread && active[0]->number[dimension()] >= 0) {
      run_again(m, active);
    } else {
      run_threads(m, active);
    }
    if (outermost) {
      active[0]->concurrent = false;
    }
  }

  // Blocks share nothing, so they may as well run one after the other.
  void run_blocks(Machine& m, Active active) const {
    TENON_CHECK(active.size() == 1 && m.threads == 1)
        << "block loop " << name << " lies inside a thread loop";
    Thread& t = *active[0];
    const Range r = range(t);
    const uint64_t before = t.agent.block;
    const int dim = static_cast<int>(tag) - static_cast<int>(ThreadTag::kBlockX);
    for (int64_t k = 0; k < r.extent; ++k) {
      t.vars[slot] = r.min + k;
      t.agent.block = with_field(before, dim * 21, 21, k);
      m.clock.next_phase();
      body->run(m, active);
    }
    t.agent.block = before;
  }

  size_t dimension() const {
    return static_cast<size_t>(tag) - static_cast<size_t>(ThreadTag::kThreadX);
  }

  // The threads that there are, each with the iteration of its number.
  void run_again(Machine& m, Active active) const {
    std::vector<Thread*> going;
    for (Thread* t : active) {
      const Range r = range(*t);
      const int64_t k = t->number[dimension()];
      TENON_CHECK(r.extent <= m.extents[dimension()])
          << "loop " << name << " has more iterations than the loop of its threads";
      if (k >= r.extent) continue;
      t->vars[slot] = r.min + k;
      going.push_back(t);
    }
    if (!going.empty()) body->run(m, going);
  }

  void run_threads(Machine& m, Active active) const {
    std::vector<Thread> spawned;
    for (const Thread* parent : active) {
      const Range r = range(*parent);
      for (int64_t k = 0; k < r.extent; ++k) {
        Thread& t = spawned.emplace_back(*parent);
        t.vars[slot] = r.min + k;
        t.agent.thread = child_id(parent->agent.thread, r.extent, k);
        if (tag == ThreadTag::kVThread) continue;
        t.number[dimension()] = k;
        m.extents[dimension()] = r.extent;
      }
    }
    std::vector<Thread*> all;
    all.reserve(spawned.size());
    for (Thread& t : spawned) {
      all.push_back(&t);
    }
    const size_t before = m.threads;
    m.threads = active.size() == before ? all.size() : Machine::kDiverged;
    if (!all.empty()) {
      body->run(m, all);
    }
    m.threads = before;
  }

  // Sixteen bits each for x, y and z, fifteen for all virtual threads together.
  uint64_t child_id(uint64_t parent, int64_t count, int64_t k) const {
    if (tag == ThreadTag::kVThread) {
      const auto outer = static_cast<int64_t>(parent >> 48);
      return with_field(parent, 48, 15, outer * count + k);
    }
    const int dim = static_cast<int>(tag) - static_cast<int>(ThreadTag::kThreadX);
    return with_field(parent, dim * 16, 16, k);
  }
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

// The longest loop of each thread tag in a nest, as far as extents are constants.
struct Launch {
  std::array<int64_t, 3> threads = {1, 1, 1};
  void add(const For& f) {
    if (f.tag < ThreadTag::kThreadX || f.tag > ThreadTag::kThreadZ) return;
    int64_t& n = threads[static_cast<size_t>(f.tag) - static_cast<size_t>(ThreadTag::kThreadX)];
    n = std::max(n, const_int(f.extent).value_or(1));
  }
};

std::array<int64_t, 3> launch_of(const For& nest) {
  Launch launch;
  launch.add(nest);
  visit(nest.body, [&](const Stmt& s) {
    if (const auto* f = s.as<For>()) launch.add(*f);
  });
  return launch.threads;
}

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

template <class T>
ExecutorRef finish_loop(std::unique_ptr<T> exec, const For* n, size_t slot, EvaluatorRef min,
                        EvaluatorRef extent, ExecutorRef body) {
  exec->name = n->var.name();
  exec->slot = slot;
  exec->min = std::move(min);
  exec->extent = std::move(extent);
  exec->body = std::move(body);
  return exec;
}

ExecutorRef Compiler::loop(const For* n) {
  EvaluatorRef min = compile(n->min, slots);
  EvaluatorRef extent = compile(n->extent, slots);
  const size_t slot = slots.bind(n->var);
  const bool outer = inside_parallel_;
  inside_parallel_ = inside_parallel_ || n->loop_kind == ForKind::kParallel;
  ExecutorRef body = compile_stmt(n->body);
  inside_parallel_ = outer;
  slots.var_of.erase(n->var.get());
  const auto finish = [&](auto exec) {
    return finish_loop(std::move(exec), n, slot, std::move(min), std::move(extent),
                       std::move(body));
  };
  switch (n->loop_kind) {
    case ForKind::kParallel:
      return finish(std::make_unique<ParallelLoop>());
    case ForKind::kThread: {
      auto exec = std::make_unique<ThreadLoop>();
      exec->tag = n->tag;
      exec->launch = launch_of(*n);
      return finish(std::move(exec));
    }
    case ForKind::kSerial:
    case ForKind::kVectorized:
    case ForKind::kUnrolled:
      break;
  }
  return finish(std::make_unique<SerialLoop>());
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
