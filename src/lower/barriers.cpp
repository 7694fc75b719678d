// SPDX-License-Identifier: Apache-2.0
#include "lower/barriers.h"

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/visit.h"

namespace tenon::lower {
namespace {

// The shared buffers that were touched since the last barrier. Elements are written by one thread
// each, which may add to them without waiting.
struct Touched {
  std::set<const ir::BufferNode*> read, written;

  void add(const Touched& more) {
    read.insert(more.read.begin(), more.read.end());
    written.insert(more.written.begin(), more.written.end());
  }
  // Something of `next` must wait for these.
  bool conflicts(const Touched& next) const {
    for (const auto* b : next.written) {
      if (read.contains(b)) return true;
    }
    for (const auto* b : next.read) {
      if (written.contains(b)) return true;
    }
    return false;
  }
};

// `into` is the store that they are read for, or null.
void note_loads(const ir::Expr& e, const ir::Store* into, Touched& t) {
  ir::visit_loads(e, [&](const ir::Load& l) {
    const bool own =
        into != nullptr && l.buffer.same_as(into->buffer) &&
        std::equal(l.indices.begin(), l.indices.end(), into->indices.begin(), into->indices.end(),
                   [](const ir::Expr& a, const ir::Expr& b) { return ir::equal(a, b); });
    if (l.buffer->scope == ir::Scope::kShared && !own) t.read.insert(l.buffer.get());
  });
}

// All of a statement, or what of it comes before its first barrier. True if there is one.
bool collect(const ir::Stmt& s, bool head_only, Touched& t) {
  if (s.as<ir::Barrier>() != nullptr) return true;
  if (const auto* st = s.as<ir::Store>()) {
    note_loads(st->value, st, t);
    for (const ir::Expr& i : st->indices) note_loads(i, nullptr, t);
    if (st->buffer->scope == ir::Scope::kShared) t.written.insert(st->buffer.get());
  } else if (const auto* f = s.as<ir::For>()) {
    return collect(f->body, head_only, t) && head_only;
  } else if (const auto* a = s.as<ir::Allocate>()) {
    return collect(a->body, head_only, t);
  } else if (const auto* i = s.as<ir::If>()) {
    note_loads(i->condition, nullptr, t);
    collect(i->then_case, head_only, t);
    if (i->else_case.defined()) collect(i->else_case, head_only, t);
  } else if (const auto* b = s.as<ir::Block>()) {
    for (const ir::Stmt& x : b->stmts) {
      if (collect(x, head_only, t) && head_only) return true;
    }
  }
  return false;
}

bool allocates_shared(const ir::Stmt& s) {
  bool found = false;
  ir::visit(s, [&](const ir::Stmt& x) {
    const auto* a = x.as<ir::Allocate>();
    found = found || (a != nullptr && a->buffer->scope == ir::Scope::kShared);
  });
  return found;
}

class Inserter {
 public:
  explicit Inserter(const std::set<const ir::BufferNode*>& done) : done_(done) {}

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* b = s.as<ir::Block>()) return block(*b);
    if (const auto* f = s.as<ir::For>()) return loop(s, *f);
    if (const auto* a = s.as<ir::Allocate>()) return ir::allocate(a->buffer, run(a->body));
    if (const auto* i = s.as<ir::If>(); i != nullptr && allocates_shared(s)) return branch(*i);
    if (s.as<ir::Barrier>() != nullptr) now_ = {};
    now_.add(all_of(s));
    return s;
  }

 private:
  Touched touched(const ir::Stmt& s, bool head_only) const {
    Touched t;
    collect(s, head_only, t);
    for (const ir::BufferNode* b : done_) {
      t.read.erase(b);
      t.written.erase(b);
    }
    return t;
  }
  Touched all_of(const ir::Stmt& s) const { return touched(s, false); }

  ir::Stmt block(const ir::Block& b) {
    std::vector<ir::Stmt> out;
    for (const ir::Stmt& s : b.stmts) {
      // Inside of an allocation the place of a barrier can be found more exactly.
      const bool opens = s.as<ir::Allocate>() != nullptr || s.as<ir::Block>() != nullptr;
      // A loop that has a barrier of its own waits there.
      const bool head_only = s.as<ir::For>() != nullptr;
      if (!opens && now_.conflicts(touched(s, head_only))) {
        out.push_back(ir::barrier());
        now_ = {};
      }
      out.push_back(run(s));
    }
    return ir::block(std::move(out));
  }

  ir::Stmt loop(const ir::Stmt& s, const ir::For& f) {
    ir::Stmt body = run(f.body);
    const bool again = f.loop_kind != ir::ForKind::kThread && !ir::is_const(f.extent, 1);
    if (again && now_.conflicts(touched(body, true))) {
      body = ir::block({body, ir::barrier()});
      now_ = {};
    }
    if (body.same_as(f.body)) return s;
    return ir::make_for(f.var, f.min, f.extent, f.loop_kind, body, f.tag);
  }

  // What allocates shared memory is done by all threads or by none.
  ir::Stmt branch(const ir::If& i) {
    note_loads(i.condition, nullptr, now_);
    const Touched skipped = now_;
    const ir::Stmt taken = run(i.then_case);
    now_.add(skipped);
    return ir::make_if(i.condition, taken);
  }

  const std::set<const ir::BufferNode*>& done_;
  Touched now_;
};

}  // namespace

ir::Stmt insert_barriers(const ir::Stmt& s, const std::set<const ir::BufferNode*>& done) {
  return allocates_shared(s) ? Inserter(done).run(s) : s;
}

}  // namespace tenon::lower
