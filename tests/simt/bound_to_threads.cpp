// SPDX-License-Identifier: Apache-2.0
#include "simt/bound_to_threads.h"

#include <unordered_map>
#include <vector>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::simt {
namespace {

using ir::ForKind;
using ir::Stmt;
using ir::ThreadTag;

// Loops of a CPU's cores become plain ones, and each thread has its own copy of what is allocated inside.
Stmt inside_thread(const Stmt& s) {
  std::unordered_map<const ir::BufferNode*, ir::Buffer> own;
  ir::visit(s, [&](const Stmt& x) {
    const auto* n = x.as<ir::Allocate>();
    if (n == nullptr || n->buffer->scope != ir::Scope::kGlobal) return;
    own[n->buffer.get()] =
        ir::Buffer::make(n->buffer.name(), n->buffer.dtype(), n->buffer.shape(), ir::Scope::kLocal);
  });
  const auto on_expr = [&](const ir::Expr& e) -> ir::Expr {
    const auto* n = e.as<ir::Load>();
    const auto it = n != nullptr ? own.find(n->buffer.get()) : own.end();
    return it == own.end() ? e : ir::load(it->second, n->indices, n->predicate);
  };
  const auto on_stmt = [&](const Stmt& x) -> Stmt {
    if (const auto* n = x.as<ir::For>(); n != nullptr && n->loop_kind == ForKind::kParallel) {
      return ir::make_for(n->var, n->min, n->extent, ForKind::kSerial, n->body);
    }
    if (const auto* n = x.as<ir::Store>(); n != nullptr && own.contains(n->buffer.get())) {
      return ir::store(own[n->buffer.get()], n->indices, n->value, n->predicate);
    }
    if (const auto* n = x.as<ir::Allocate>(); n != nullptr && own.contains(n->buffer.get())) {
      return ir::allocate(own[n->buffer.get()], n->body);
    }
    return x;
  };
  return ir::rewrite(s, on_expr, on_stmt);
}

Stmt bound(const ir::For& n, ThreadTag tag, const Stmt& body) {
  return ir::make_for(n.var, n.min, n.extent, ForKind::kThread, body, tag);
}

// Threads are as many as the loop has iterations, or more of which some sit it out.
Stmt over_threads(const ir::For& n, ThreadTag tag, const Stmt& body, Rng& rng) {
  const Stmt loop = bound(n, tag, body);
  if (rng.chance(0.5)) return loop;
  const int64_t more = *ir::const_int(n.extent) + rng.between(0, 3);
  return ir::make_for(ir::Var("again"), 0, more, ForKind::kThread, loop, tag);
}

Stmt nest_on_gpu(const ir::For& n, Rng& rng) {
  const auto* inner = n.body.as<ir::For>();
  const bool two = inner != nullptr && ir::const_int(inner->extent) && rng.chance(0.7);
  if (!two) {
    const Stmt body = inside_thread(n.body);
    return rng.chance(0.3) ? bound(n, ThreadTag::kBlockY, body)
                           : over_threads(n, ThreadTag::kThreadX, body, rng);
  }
  const Stmt threads = over_threads(*inner, ThreadTag::kThreadY, inside_thread(inner->body), rng);
  return bound(n, rng.chance(0.5) ? ThreadTag::kBlockZ : ThreadTag::kThreadZ, threads);
}

// All statements by the same threads, one block.
Stmt one_kernel(const std::vector<Stmt>& nests, Rng& rng) {
  std::vector<Stmt> all;
  for (const Stmt& s : nests) {
    const auto* n = s.as<ir::For>();
    all.push_back(over_threads(*n, ThreadTag::kThreadX, inside_thread(n->body), rng));
    all.push_back(ir::barrier());
  }
  return ir::make_for(ir::Var("block"), 0, 1, ForKind::kThread, ir::block(all), ThreadTag::kBlockX);
}

}  // namespace

ir::Function bound_to_threads(const ir::Function& f, Rng& rng) {
  ir::Function out = f;
  const auto* many = f.body.as<ir::Block>();
  const std::vector<Stmt> nests = many != nullptr ? many->stmts : std::vector<Stmt>{f.body};
  if (rng.chance(0.4)) {
    out.body = one_kernel(nests, rng);
    return out;
  }
  std::vector<Stmt> all;
  all.reserve(nests.size());
  for (const Stmt& s : nests) all.push_back(nest_on_gpu(*s.as<ir::For>(), rng));
  out.body = ir::block(all);
  return out;
}

}  // namespace tenon::simt
