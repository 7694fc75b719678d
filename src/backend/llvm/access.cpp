// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "backend/llvm/emitter.h"
#include "backend/llvm/shuffle_mask.h"
#include "backend/llvm/types.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using ir::DType;
using ir::Expr;
using llvm::Align;
using llvm::Value;

namespace {

const Expr& flat(const std::vector<Expr>& indices) {
  TENON_CHECK(indices.size() == 1) << "an access with " << indices.size() << " indices is not flat";
  return indices.front();
}

// The scalar behind a predicate that is the same in all lanes; undefined if there is none.
Expr uniform(const Expr& predicate) {
  if (!predicate.dtype().is_vector()) {
    return predicate;
  }
  const auto* n = predicate.as<ir::Broadcast>();
  return n != nullptr ? n->value : Expr();
}

}  // namespace

Emitter::Storage& Emitter::storage(const ir::Buffer& b) {
  const auto it = buffers_.find(b.get());
  TENON_CHECK(it != buffers_.end())
      << "buffer " << b.name() << " is neither a parameter nor allocated";
  return it->second;
}

bool Emitter::in_bounds(const ir::Buffer& b, const Expr& index) {
  const arith::Interval r = arith::interval_of(index, ranges_);
  // A read that picks lanes out of whole vectors may touch the elements behind the buffer. A masked
  // read of neighbours is as fast without that, and waits for no more than was just written.
  const Place* place = storage(b).place;
  const auto run = as_run(index);
  const int64_t behind = place != nullptr && run && run->stride != 1 ? place->behind : 0;
  return r.lo >= 0 && r.hi < b->elements() + behind;
}

int Emitter::depth_of(const Expr& e) {
  int depth = 0;
  ir::visit(e, [&](const Expr& x) {
    if (const auto* v = x.as<ir::VarNode>()) {
      depth = std::max(depth, vars_[v].depth);
    } else if (x.as<ir::Load>() != nullptr) {
      depth = depth_;
    }
  });
  return depth;
}

// One step of address arithmetic per loop depth, outermost first and the constant last, so that
// each step can leave the loops in which it does not change and accesses of one tile share all but
// the last.
std::pair<Value*, Align> Emitter::address(const Storage& s, DType t, const Expr& index) {
  const arith::Linear l = arith::to_linear(index);
  std::vector<std::pair<int, size_t>> order;
  int64_t common = std::abs(l.constant);
  for (size_t i = 0; i < l.terms.size(); ++i) {
    order.emplace_back(depth_of(l.terms[i].first), i);
    common = std::gcd(common, l.terms[i].second);
  }
  std::sort(order.begin(), order.end());
  llvm::Type* element = stored_type(ctx_, t.scalar());
  if (Value* p = narrow_address(s, element, l, order)) {
    return {p, Align(static_cast<uint64_t>(std::gcd(common * t.bytes(), int64_t{64})))};
  }
  Value* p = s.base;
  for (const auto& [depth, i] : order) {
    const auto& [atom, coefficient] = l.terms[i];
    Value* step = expr(atom);
    if (coefficient != 1) {
      step = b_.CreateNSWMul(step, b_.getInt64(static_cast<uint64_t>(coefficient)));
    }
    p = b_.CreateGEP(element, p, step);
  }
  p = elements_behind(element, p, l.constant);
  const int64_t bytes = std::gcd(common * t.bytes(), int64_t{64});
  return {p, Align(static_cast<uint64_t>(bytes))};
}

// The sum is made in 32 bits and widened once; accesses of one block that differ by a constant share it.
Value* Emitter::narrow_address(const Storage& s, llvm::Type* element, const arith::Linear& l,
                               const std::vector<std::pair<int, size_t>>& order) {
  if (!cpu_.narrow_indices) {
    return nullptr;
  }
  const bool keeps = AddressMemo::keeps(l.terms);
  const AddressMemo::Array array{s.base, element};
  Value* p = keeps ? addresses_.find(b_.GetInsertBlock(), array, l.terms) : nullptr;
  if (p == nullptr) {
    Value* sum = narrow_sum(l, order);
    if (sum == nullptr) {
      return nullptr;
    }
    p = b_.CreateGEP(element, s.base, b_.CreateSExt(sum, b_.getInt64Ty()));
    if (keeps) addresses_.add(array, l.terms, p);
  }
  if (!keeps) {
    return elements_behind(element, p, l.constant);
  }
  Value*& at = addresses_.behind(p, l.constant);
  at = at == nullptr ? elements_behind(element, p, l.constant) : at;
  return at;
}

Value* Emitter::elements_behind(llvm::Type* element, Value* p, int64_t elements) {
  return elements == 0 ? p : b_.CreateGEP(element, p, b_.getInt64(static_cast<uint64_t>(elements)));
}

// What is asked of a load is often what is asked of the store around it: then it is one value.
Value* Emitter::own_mask(const Expr& predicate) {
  const bool stored = active_ != nullptr && active_ == stored_mask_;
  return stored && ir::equal(predicate, stored_if_) ? active_ : expr(predicate);
}

Value* Emitter::load(const ir::Load& n) {
  const Storage& s = storage(n.buffer);
  const Expr& index = flat(n.indices);
  const DType t = n.dtype;
  Value* own = nullptr;
  if (n.predicate.defined() && !ir::is_const_true(n.predicate)) {
    own = own_mask(n.predicate);
  }
  if (!s.slots.empty()) {
    Value* v = load_slot(s, t, *as_run(index));
    // Lanes that nobody wants may hold any value.
    return own == nullptr || own == active_
               ? v
               : b_.CreateSelect(own, v, llvm::Constant::getNullValue(v->getType()));
  }
  const bool safe = in_bounds(n.buffer, index);
  Value* mask = own;
  if (!safe && active_ != nullptr) {
    Value* outer = active_mask(t.lanes);
    mask = own == nullptr ? outer : b_.CreateAnd(own, outer);
  }
  Value* outer = active_;
  active_ = own != nullptr && needs_mask(index) ? mask : active_;
  Value* v = load_memory(s, n, mask, safe);
  active_ = outer;
  return v;
}

namespace {

size_t slot_index(const Place& place, int64_t offset) {
  const auto after = std::upper_bound(place.slots.begin(), place.slots.end(), offset,
                                      [](int64_t at, const Slot& s) { return at < s.begin; });
  return static_cast<size_t>(after - place.slots.begin()) - 1;
}

}  // namespace

Value* Emitter::load_slot(const Storage& s, DType t, const Run& run) {
  const int64_t begin = *ir::const_int(run.base);
  const size_t i = slot_index(*s.place, begin);
  const Slot& slot = s.place->slots[i];
  Value* whole = b_.CreateLoad(carried_type(ctx_, t.with_lanes(slot.lanes)), s.slots[i]);
  return ops_.lanes(whole, static_cast<int>(begin - slot.begin), t.lanes);
}

void Emitter::store_slot(const Storage& s, DType t, const Run& run, Value* v, Value* mask) {
  const int64_t begin = *ir::const_int(run.base);
  const size_t i = slot_index(*s.place, begin);
  const Slot& slot = s.place->slots[i];
  if (mask != nullptr && !slot.alike) {
    v = b_.CreateSelect(mask, v, load_slot(s, t, run));
  }
  if (slot.lanes == t.lanes) {
    b_.CreateStore(v, s.slots[i]);
    return;
  }
  Value* whole = b_.CreateLoad(carried_type(ctx_, t.with_lanes(slot.lanes)), s.slots[i]);
  const int at = static_cast<int>(begin - slot.begin);
  if (t.lanes == 1) {
    whole = b_.CreateInsertElement(whole, v, static_cast<uint64_t>(at));
  } else {
    std::vector<int> widen = every(slot.lanes, 0, 1);
    std::fill(widen.begin() + t.lanes, widen.end(), llvm::PoisonMaskElem);
    Value* wide = b_.CreateShuffleVector(v, widen);
    std::vector<int> mix = every(slot.lanes, 0, 1);
    std::iota(mix.begin() + at, mix.begin() + at + t.lanes, slot.lanes);
    whole = b_.CreateShuffleVector(whole, wide, mix);
  }
  b_.CreateStore(whole, s.slots[i]);
}

void Emitter::store(const ir::Store& n) {
  if (!n.predicate.defined() || ir::is_const_true(n.predicate)) {
    store_value(n, nullptr);
    return;
  }
  if (ir::is_const_false(n.predicate)) {
    return;
  }
  const Expr same = uniform(n.predicate);
  if (same.defined() && storage(n.buffer).slots.empty()) {
    const ir::Stmt plain = ir::store(n.buffer, n.indices, n.value);
    if_then_else(expr(same), plain, ir::Stmt());
    return;
  }
  store_value(n, expr(n.predicate));
}

// The mask stays active.
Value* Emitter::stored_value(const ir::Store& n, Value* mask) {
  active_ = stored_mask_ = mask;
  stored_if_ = n.predicate;
  return expr(n.value);
}

void Emitter::store_value(const ir::Store& n, Value* mask) {
  const Storage& s = storage(n.buffer);
  const Expr& index = flat(n.indices);
  const DType t = n.value.dtype();
  Value* v = stored_value(n, mask);
  TENON_CHECK(index.dtype().lanes == t.lanes)
      << "a store of " << t.lanes << " lanes to " << index.dtype().lanes << " places";
  if (!s.slots.empty()) {
    store_slot(s, t, *as_run(index), v, mask);
  } else {
    store_memory(s, n, to_stored(b_, cpu_, t, v), mask);
  }
  active_ = nullptr;
}

}  // namespace tenon::backend::llvm_cpu
