// SPDX-License-Identifier: Apache-2.0
// Loops of the interpreter: in order, by the cores of a CPU, and by the threads of a GPU in lockstep.
#include <algorithm>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/interp_exec.h"
#include "ir/thread_tags.h"
#include "ir/visit.h"

namespace tenon::ir::interp {
namespace {

struct Range {
  int64_t min;
  int64_t extent;
};

struct LoopExec : Executor, LoopParts {
  explicit LoopExec(LoopParts parts) : LoopParts(std::move(parts)) {}
  Range range(const Thread& t) const { return {min->eval(t, 0).i, extent->eval(t, 0).i}; }
};

struct SerialLoop : LoopExec {
  using LoopExec::LoopExec;
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
  using LoopExec::LoopExec;
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

// The longest loop of each thread tag in a nest, as far as extents are constants.
struct Launch {
  std::array<int64_t, 3> threads = {1, 1, 1};
  void add(const For& f) {
    if (!is_real_thread(f.tag)) return;
    int64_t& n = threads[dimension_of(f.tag)];
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

struct ThreadLoop : LoopExec {
  const ThreadTag tag;
  const std::array<int64_t, 3> launch;  // of this loop and those inside
  ThreadLoop(const For& n, LoopParts parts)
      : LoopExec(std::move(parts)), tag(n.tag), launch(launch_of(n)) {}

  void run(Machine& m, Active active) const override {
    const bool outermost = !active[0]->concurrent;
    if (outermost) {
      m.clock.enter_region();
      active[0]->concurrent = true;
      active[0]->agent = {};
      m.launch = launch;
    }
    if (is_block_tag(tag)) {
      run_blocks(m, active);
    } else if (tag != ThreadTag::kVThread && active[0]->number[dimension_of(tag)] >= 0) {
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
    const int dim = static_cast<int>(dimension_of(tag));
    for (int64_t k = 0; k < r.extent; ++k) {
      t.vars[slot] = r.min + k;
      t.agent.block = with_field(before, dim * 21, 21, k);
      m.clock.next_phase();
      body->run(m, active);
    }
    t.agent.block = before;
  }

  // The threads that there are, each with the iteration of its number.
  void run_again(Machine& m, Active active) const {
    std::vector<Thread*> going;
    for (Thread* t : active) {
      const Range r = range(*t);
      const int64_t k = t->number[dimension_of(tag)];
      TENON_CHECK(r.extent <= m.extents[dimension_of(tag)])
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
        t.number[dimension_of(tag)] = k;
        m.extents[dimension_of(tag)] = r.extent;
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
    const int dim = static_cast<int>(dimension_of(tag));
    return with_field(parent, dim * 16, 16, k);
  }
};

}  // namespace

ExecutorRef make_loop(const For& n, LoopParts parts) {
  switch (n.loop_kind) {
    case ForKind::kParallel:
      return std::make_unique<ParallelLoop>(std::move(parts));
    case ForKind::kThread:
      return std::make_unique<ThreadLoop>(n, std::move(parts));
    case ForKind::kSerial:
    case ForKind::kVectorized:
    case ForKind::kUnrolled:
      break;
  }
  return std::make_unique<SerialLoop>(std::move(parts));
}

}  // namespace tenon::ir::interp
