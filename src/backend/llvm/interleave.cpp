// SPDX-License-Identifier: Apache-2.0
// Vectors whose lanes lie two to four places apart and that lie side by side, as the phases of a
// transposed convolution or the taps of a pool with a stride: memory is written and read in whole
// vectors, lanes are mixed and picked in registers.
#include <algorithm>
#include <set>

#include "arith/linear.h"
#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/shuffle_mask.h"
#include "backend/llvm/types.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using ir::DType;
using ir::Expr;
using ir::Stmt;
using llvm::Value;

namespace {

constexpr int64_t kFarthest = 4;  // places from one lane to the next
constexpr int kFewest = 4;        // lanes that are worth it

bool lies_near(DType t, const Run& run) {
  return t.lanes == run.lanes && run.lanes >= kFewest && run.stride >= 2 && run.stride <= kFarthest;
}

// x0 y0 x1 y1 ..
std::vector<Value*> two_interleaved(llvm::IRBuilder<>& b, Value* x, Value* y) {
  const int n = lanes_of(x);
  std::vector<Value*> out;
  for (int part = 0; part < 2; ++part) {
    std::vector<int> mask;
    for (int i = 0; i < n; ++i) {
      const int at = part * n + i;
      mask.push_back(at / 2 + at % 2 * n);
    }
    out.push_back(b.CreateShuffleVector(x, y, mask));
  }
  return out;
}

// x0 y0 z0 x1 y1 z1 ..
std::vector<Value*> three_interleaved(llvm::IRBuilder<>& b, Value* x, Value* y, Value* z) {
  const int n = lanes_of(x);
  std::vector<Value*> out;
  for (int part = 0; part < 3; ++part) {
    std::vector<int> two, three;
    for (int i = 0; i < n; ++i) {
      const int at = part * n + i, from = at % 3;
      two.push_back(from < 2 ? at / 3 + from * n : llvm::PoisonMaskElem);
      three.push_back(from < 2 ? i : n + at / 3);
    }
    out.push_back(b.CreateShuffleVector(b.CreateShuffleVector(x, y, two), z, three));
  }
  return out;
}

std::vector<Value*> interleaved(llvm::IRBuilder<>& b, const std::vector<Value*>& v) {
  if (v.size() == 2) {
    return two_interleaved(b, v[0], v[1]);
  }
  if (v.size() == 3) {
    return three_interleaved(b, v[0], v[1], v[2]);
  }
  const auto even = two_interleaved(b, v[0], v[2]), odd = two_interleaved(b, v[1], v[3]);
  auto out = two_interleaved(b, even[0], odd[0]);
  for (Value* half : two_interleaved(b, even[1], odd[1])) {
    out.push_back(half);
  }
  return out;
}

Value* all_lanes(llvm::IRBuilder<>& b, int n) {
  return llvm::Constant::getAllOnesValue(
      llvm::FixedVectorType::get(b.getInt1Ty(), static_cast<unsigned>(n)));
}

// Where b lies behind a, if that is a constant.
std::optional<int64_t> distance(const Expr& a, const Expr& b) {
  const arith::Linear apart = arith::to_linear(b - a);
  return apart.terms.empty() ? std::optional(apart.constant) : std::nullopt;
}

bool holds_for_all(const Expr& predicate) {
  return !predicate.defined() || ir::is_const_true(predicate);
}

// Says whether the store needs no `if` around it: a condition of each lane is a mask, one of all
// lanes is a test.
bool straight(const ir::Store& n) {
  return holds_for_all(n.predicate) ||
         (n.predicate.dtype().is_vector() && n.predicate.as<ir::Broadcast>() == nullptr);
}

// The stores at the front of `stmts` that fill the places from one lane to the next, by place; none
// if they do not. The lowest one's place is added to `run`.
std::vector<const ir::Store*> side_by_side(std::span<const Stmt> stmts, Run& run) {
  std::map<int64_t, const ir::Store*> at;
  for (const Stmt& s : stmts) {
    const auto* n = s.as<ir::Store>();
    if (n == nullptr || n->indices.size() != 1 || !straight(*n)) {
      return {};
    }
    const auto own = as_run(n->indices[0]);
    if (!own || !lies_near(n->value.dtype(), *own) || n->value.dtype().bytes() != 4) {
      return {};
    }
    const ir::Store& first = at.empty() ? *n : *at.begin()->second;
    if (at.empty()) {
      run = *own;
    }
    const auto apart = distance(run.base, own->base);
    if (!apart || own->stride != run.stride || own->lanes != run.lanes ||
        n->buffer.get() != first.buffer.get() || ir::reads(n->value, n->buffer)) {
      return {};
    }
    at[*apart] = n;
    if (static_cast<int64_t>(at.size()) == run.stride) {
      break;
    }
  }
  std::vector<const ir::Store*> stores;
  for (const auto& [place, n] : at) {
    stores.push_back(n);
  }
  const auto size = static_cast<int64_t>(at.size());
  if (size != run.stride || at.rbegin()->first - at.begin()->first != size - 1) {
    return {};
  }
  run.base = run.base + Expr(at.begin()->first);
  return stores;
}

}  // namespace

// c[ramp(i, 2, 16)] = x; c[ramp(i + 1, 2, 16)] = y   =>   2 stores of {x0 y0 x1 y1 ..}
// Returns how many statements that were; 0 if there are none.
size_t CpuEmitter::store_interleaved(std::span<const Stmt> stmts) {
  Run run;
  const std::vector<const ir::Store*> stores = side_by_side(stmts, run);
  if (stores.empty() || !storage(stores[0]->buffer).slots.empty()) {
    return 0;
  }
  const Storage& s = storage(stores[0]->buffer);
  const DType t = stores[0]->value.dtype();
  std::vector<Value*> values, masks;
  bool masked = false;
  for (const ir::Store* n : stores) {
    memo_.clear();
    Value* mask = holds_for_all(n->predicate) ? nullptr : expr(n->predicate);
    masked = masked || mask != nullptr;
    values.push_back(to_stored(b_, cpu_, t, stored_value(*n, mask)));
    masks.push_back(mask != nullptr ? mask : all_lanes(b_, t.lanes));
    active_ = nullptr;
  }
  memo_.clear();
  values = interleaved(b_, values);
  if (masked) {
    masks = interleaved(b_, masks);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Run part{run.base + Expr(static_cast<int64_t>(i) * t.lanes), 1, t.lanes};
    if (masked) {
      const auto [p, align] = address(s, t, part.base);
      annotate(s, b_.CreateMaskedStore(values[i], p, align, masks[i]));
    } else {
      store_run(s, t, part, values[i]);
    }
  }
  return stores.size();
}

namespace {

// The stores at the front of `stmts` between which no code is reached in another way.
size_t straight_stores(std::span<const Stmt> stmts) {
  size_t n = 0;
  for (; n < stmts.size(); ++n) {
    const auto* store = stmts[n].as<ir::Store>();
    if (store == nullptr || !straight(*store)) {
      break;
    }
  }
  return n;
}

}  // namespace

void CpuEmitter::add_strided(const ir::Load& n) {
  const auto run = as_run(n.indices[0]);
  if (!run || !lies_near(n.dtype, *run) || !storage(n.buffer).slots.empty() ||
      !in_bounds(n.buffer, n.indices[0])) {
    return;
  }
  const int64_t span = (run->lanes - 1) * run->stride + 1;
  for (Window& w : windows_) {
    if (w.buffer != n.buffer.get() || w.first.stride != run->stride ||
        w.first.lanes != run->lanes) {
      continue;
    }
    const auto apart = distance(w.first.base, run->base);
    // Only what shares most of its vectors, so that few wait in registers.
    if (!apart || std::abs(*apart) >= run->lanes) {
      continue;
    }
    w.begin = std::min(w.begin, *apart);
    w.end = std::max(w.end, *apart + span);
    strided_[&n] = {static_cast<size_t>(&w - windows_.data()), *apart};
    return;
  }
  strided_[&n] = {windows_.size(), 0};
  windows_.push_back({n.buffer.get(), *run, 0, span, {}});
}

// x[ramp(i, 2, 16)], x[ramp(i + 1, 2, 16)], ..: taps that lie side by side pick their lanes out of
// the same vectors. Returns for how many statements that holds, one at least.
size_t CpuEmitter::find_strided(std::span<const Stmt> stmts) {
  windows_.clear();
  strided_.clear();
  const size_t n = straight_stores(stmts);
  std::set<const ir::BufferNode*> written;
  for (size_t i = 0; i < n; ++i) {
    written.insert(stmts[i].as<ir::Store>()->buffer.get());
  }
  for (size_t i = 0; i < n; ++i) {
    ir::visit(stmts[i].as<ir::Store>()->value, [&](const Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l != nullptr && l->indices.size() == 1 && !written.contains(l->buffer.get())) {
        add_strided(*l);
      }
    });
  }
  return std::max<size_t>(n, 1);
}

// Lanes of what was loaded already, or is loaded now; null if nothing lies beside the load.
Value* CpuEmitter::load_beside(const Storage& s, const ir::Load& n) {
  const auto it = strided_.find(&n);
  if (it == strided_.end()) {
    return nullptr;
  }
  const int64_t apart = it->second.place;
  Window& w = windows_[it->second.window];
  const int lanes = w.first.lanes;
  const int64_t step = w.first.stride, from = apart - w.begin, all = w.end - w.begin;
  if (all == (lanes - 1) * step + 1) {
    return nullptr;
  }
  Value* picked = nullptr;
  std::vector<int> mix;
  for (int64_t part = from / lanes; part * lanes <= from + (lanes - 1) * step; ++part) {
    const int64_t begin = std::min(part * lanes, all - lanes);
    Value* v = part_of(s, n.dtype, w, begin);
    const auto taken = static_cast<int64_t>(mix.size());
    std::vector<int> own = every(static_cast<int>(taken), 0, 1);
    for (int64_t i = taken; i < lanes && from + i * step < begin + lanes; ++i) {
      own.push_back(static_cast<int>(from + i * step - begin) + (picked == nullptr ? 0 : lanes));
    }
    mix = own;
    own.resize(static_cast<size_t>(lanes), llvm::PoisonMaskElem);
    picked =
        picked == nullptr ? b_.CreateShuffleVector(v, own) : b_.CreateShuffleVector(picked, v, own);
  }
  return picked;
}

// Lanes that lie a few places apart, of which only those of the mask may be read: whole vectors, of
// which only these places are.
Value* CpuEmitter::load_masked_strided(const Storage& s, DType t, const Run& run, Value* mask) {
  std::vector<Value*> masks(static_cast<size_t>(run.stride),
                            llvm::Constant::getNullValue(mask->getType()));
  masks[0] = mask;
  masks = interleaved(b_, masks);
  llvm::Type* type = stored_type(ctx_, t);
  Value* picked = nullptr;
  for (size_t part = 0; part < masks.size(); ++part) {
    const auto begin = static_cast<int64_t>(part) * run.lanes;
    const auto [p, align] = address(s, t, run.base + Expr(begin));
    Value* v = annotate(
        s, b_.CreateMaskedLoad(type, p, align, masks[part], llvm::Constant::getNullValue(type)));
    std::vector<int> lanes;
    for (int64_t i = 0; i < run.lanes; ++i) {
      const int64_t at = i * run.stride - begin;
      const bool here = at >= 0 && at < run.lanes, first = picked == nullptr;
      lanes.push_back(static_cast<int>(here ? at + (first ? 0 : run.lanes) : i));
    }
    picked = picked == nullptr ? b_.CreateShuffleVector(v, lanes)
                               : b_.CreateShuffleVector(picked, v, lanes);
  }
  return picked;
}

Value* CpuEmitter::part_of(const Storage& s, DType t, Window& w, int64_t begin) {
  Value*& v = w.parts[begin];
  if (v == nullptr) {
    const auto [p, align] = address(s, t, w.first.base + Expr(w.begin + begin));
    v = annotate(s, b_.CreateAlignedLoad(stored_type(ctx_, t), p, align));
  }
  return v;
}

}  // namespace tenon::backend::llvm_cpu
