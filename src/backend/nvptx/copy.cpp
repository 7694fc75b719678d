// SPDX-License-Identifier: Apache-2.0
#include "backend/nvptx/copy.h"

#include "backend/nvptx/gpu_emitter.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::backend::nvptx {

using ir::Expr;
using llvm::Value;

namespace {

// The condition that holds in all lanes or in none; undefined if there is none.
Expr of_all_lanes(const Expr& e) {
  if (!e.dtype().is_vector()) return e;
  const auto* b = e.as<ir::Broadcast>();
  if (b != nullptr) return b->value;
  const auto* both = e.as<ir::Binary>();
  if (both == nullptr || both->op != ir::BinaryOp::kAnd) return {};
  const Expr x = of_all_lanes(both->a), y = of_all_lanes(both->b);
  return x.defined() && y.defined() ? ir::logical_and(x, y) : Expr();
}

// True if every lane is zero.
bool is_all_zero(const Expr& e) {
  const auto* b = e.as<ir::Broadcast>();
  return ir::is_zero(b != nullptr ? b->value : e);
}

}  // namespace

std::optional<Copy> as_copy(const ir::Store& n) {
  const ir::DType t = n.value.dtype();
  const int64_t bytes = t.bytes() * t.lanes;
  if (n.buffer->scope != ir::Scope::kShared || n.predicate.defined() ||
      (bytes != 4 && bytes != 8 && bytes != 16)) {
    return std::nullopt;
  }
  Copy copy;
  Expr value = n.value;
  while (const auto* s = value.as<ir::Select>()) {
    const Expr condition = of_all_lanes(s->condition);
    if (!condition.defined() || condition.loads() || !is_all_zero(s->on_false)) return std::nullopt;
    copy.conditions.push_back(condition);
    value = s->on_true;
  }
  copy.from = value.as<ir::Load>();
  if (copy.from == nullptr || copy.from->predicate.defined() ||
      copy.from->buffer->scope != ir::Scope::kGlobal || copy.from->indices[0].loads()) {
    return std::nullopt;
  }
  return copy;
}

bool copies_to_shared(const ir::Stmt& s) {
  bool found = false;
  ir::visit(s, [&](const ir::Stmt& x) {
    const auto* store = x.as<ir::Store>();
    found = found || (store != nullptr && as_copy(*store));
  });
  return found;
}

void GpuEmitter::store(const ir::Store& n) {
  if (!copies_ || !copy(n)) Emitter::store(n);
}

bool GpuEmitter::copy(const ir::Store& n) {
  const auto c = as_copy(n);
  if (!c || active_ != nullptr) return false;
  const ir::DType t = n.value.dtype();
  const Storage& from = storage(c->from->buffer);
  const Storage& to = storage(n.buffer);
  const auto source = pieces(from, t, c->from->indices.front(), false);
  const auto target = pieces(to, t, n.indices.front(), false);
  if (source.size() != 1 || target.size() != 1) {
    addresses_.clear();  // nobody reads these, and the store makes its own where it wants them
    return false;
  }
  Value* wanted = nullptr;
  for (const Expr& e : c->conditions) {
    Value* v = expr(e);
    wanted = wanted == nullptr ? v : b_.CreateAnd(wanted, v);
  }
  // Where nothing is copied, the address must still be one.
  Value* at = source[0].at;
  if (wanted != nullptr) at = b_.CreateSelect(wanted, at, from.base);
  return form_.begin_copy(b_, target[0].at, at, t.bytes() * t.lanes, wanted);
}

}  // namespace tenon::backend::nvptx
