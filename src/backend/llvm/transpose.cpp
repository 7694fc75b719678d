// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/transpose.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "arith/linear.h"
#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/types.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {

using ir::DType;
using ir::Expr;
using ir::Stmt;
using llvm::Value;

namespace {

constexpr int kBlock = 4;     // lanes that shuffles inside 128 bits move
constexpr int64_t kNear = 4;  // strides up to here are read and written as they are

// Lane pairs or quads of each 128 bits: {x[a], y[a], ..} with `pattern` naming four of x (0..3) and y (4..7).
Value* shuffle_blocks(llvm::IRBuilder<>& b, Value* x, Value* y, const int (&pattern)[kBlock]) {
  const int lanes = lanes_of(x);
  std::vector<int> mask;
  for (int q = 0; q < lanes; q += kBlock) {
    for (const int p : pattern) {
      mask.push_back(p < kBlock ? q + p : lanes + q + p - kBlock);
    }
  }
  return b.CreateShuffleVector(x, y, mask);
}

// Blocks of four lanes, numbered through x and then y.
Value* pick_blocks(llvm::IRBuilder<>& b, Value* x, Value* y, const std::vector<int>& blocks) {
  std::vector<int> mask;
  for (const int block : blocks) {
    for (int i = 0; i < kBlock; ++i) {
      mask.push_back(block * kBlock + i);
    }
  }
  return b.CreateShuffleVector(x, y, mask);
}

// Four rows: result r holds, in its block q, column 4*q + r.
std::array<Value*, kBlock> transpose_inside(llvm::IRBuilder<>& b, Value* const* rows) {
  Value* t0 = shuffle_blocks(b, rows[0], rows[1], {0, 4, 1, 5});
  Value* t1 = shuffle_blocks(b, rows[0], rows[1], {2, 6, 3, 7});
  Value* t2 = shuffle_blocks(b, rows[2], rows[3], {0, 4, 1, 5});
  Value* t3 = shuffle_blocks(b, rows[2], rows[3], {2, 6, 3, 7});
  return {shuffle_blocks(b, t0, t2, {0, 1, 4, 5}), shuffle_blocks(b, t0, t2, {2, 3, 6, 7}),
          shuffle_blocks(b, t1, t3, {0, 1, 4, 5}), shuffle_blocks(b, t1, t3, {2, 3, 6, 7})};
}

// Block q of every part, one after the other.
std::vector<Value*> transpose_blocks(llvm::IRBuilder<>& b, std::vector<Value*> parts) {
  const int width = lanes_of(parts[0]) / kBlock;
  if (parts.size() == 4 && width == 4) {
    Value* even0 = pick_blocks(b, parts[0], parts[1], {0, 2, 4, 6});
    Value* odd0 = pick_blocks(b, parts[0], parts[1], {1, 3, 5, 7});
    Value* even1 = pick_blocks(b, parts[2], parts[3], {0, 2, 4, 6});
    Value* odd1 = pick_blocks(b, parts[2], parts[3], {1, 3, 5, 7});
    return {pick_blocks(b, even0, even1, {0, 2, 4, 6}), pick_blocks(b, odd0, odd1, {0, 2, 4, 6}),
            pick_blocks(b, even0, even1, {1, 3, 5, 7}), pick_blocks(b, odd0, odd1, {1, 3, 5, 7})};
  }
  if (parts.size() == 2 && width == 4) {
    Value* low = pick_blocks(b, parts[0], parts[1], {0, 4, 1, 5});
    Value* high = pick_blocks(b, parts[0], parts[1], {2, 6, 3, 7});
    return {pick_blocks(b, low, low, {0, 1}), pick_blocks(b, low, low, {2, 3}),
            pick_blocks(b, high, high, {0, 1}), pick_blocks(b, high, high, {2, 3})};
  }
  std::vector<Value*> out;
  for (int q = 0; q < width; ++q) {
    std::vector<Value*> blocks;
    for (Value* p : parts) {
      blocks.push_back(width == 1 ? p : pick_blocks(b, p, p, {q}));
    }
    while (blocks.size() > 1) {
      std::vector<Value*> joined;
      for (size_t i = 0; i < blocks.size(); i += 2) {
        std::vector<int> both(static_cast<size_t>(2 * lanes_of(blocks[i])));
        std::iota(both.begin(), both.end(), 0);
        joined.push_back(b.CreateShuffleVector(blocks[i], blocks[i + 1], both));
      }
      blocks = joined;
    }
    out.push_back(blocks[0]);
  }
  return out;
}

}  // namespace

std::vector<Value*> transposed(llvm::IRBuilder<>& b, std::vector<Value*> rows) {
  const auto lanes = static_cast<size_t>(lanes_of(rows[0]));
  TENON_CHECK(lanes % kBlock == 0 && lanes <= 16 && rows.size() <= 16)
      << rows.size() << " rows of " << lanes << " lanes";
  size_t groups = 1;
  while (groups * kBlock < rows.size()) {
    groups *= 2;
  }
  rows.resize(groups * kBlock, llvm::PoisonValue::get(rows[0]->getType()));
  std::array<std::vector<Value*>, kBlock> inside;
  for (size_t g = 0; g < groups; ++g) {
    const auto four = transpose_inside(b, &rows[g * kBlock]);
    for (size_t r = 0; r < kBlock; ++r) {
      inside[r].push_back(four[r]);
    }
  }
  std::vector<Value*> out(lanes);
  for (size_t r = 0; r < kBlock; ++r) {
    const std::vector<Value*> columns = transpose_blocks(b, inside[r]);
    for (size_t q = 0; q < columns.size(); ++q) {
      out[q * kBlock + r] = columns[q];
    }
  }
  return out;
}

namespace {

// Accesses whose places differ by a constant: offsets from the first one's.
struct Strip {
  Run first;
  std::map<int64_t, size_t> at;  // offset -> which access
};

// True if the lanes of the accesses name no element twice.
bool disjoint(const Strip& strip) {
  std::set<int64_t> elements;
  for (const auto& [offset, index] : strip.at) {
    for (int lane = 0; lane < strip.first.lanes; ++lane) {
      if (!elements.insert(offset + lane * strip.first.stride).second) {
        return false;
      }
    }
  }
  return true;
}

// Neighbours: sequences of offsets that follow each other, of at most `most`.
std::vector<std::vector<std::pair<int64_t, size_t>>> neighbours(const Strip& strip, size_t most) {
  std::vector<std::vector<std::pair<int64_t, size_t>>> out;
  for (const auto& entry : strip.at) {
    if (out.empty() || out.back().size() == most || out.back().back().first + 1 != entry.first) {
      out.emplace_back();
    }
    out.back().push_back(entry);
  }
  return out;
}

// Adds an access to the strip; false if it is of another kind.
bool add(Strip& strip, size_t index, const Run& run) {
  if (strip.at.empty()) {
    strip.first = run;
    return strip.at.emplace(0, index).second;
  }
  if (run.stride != strip.first.stride || run.lanes != strip.first.lanes) {
    return false;
  }
  const arith::Linear apart = arith::to_linear(run.base - strip.first.base);
  return apart.terms.empty() && strip.at.emplace(apart.constant, index).second;
}

bool can_turn(DType t, const Run& run) {
  const bool whole = run.lanes == 4 || run.lanes == 8 || run.lanes == 16;
  return t.bytes() == 4 && t.lanes == run.lanes && whole && std::abs(run.stride) > kNear;
}

bool unconditional(const Expr& predicate) {
  return !predicate.defined() || ir::is_const_true(predicate);
}

}  // namespace

// Whole lanes one after the other, `count` of them.
void CpuEmitter::store_front(const Storage& s, DType t, const Expr& base, Value* v, int count) {
  const auto [p, align] = address(s, t, base);
  if (count == lanes_of(v)) {
    annotate(s, b_.CreateAlignedStore(v, p, align));
    return;
  }
  if (cpu_.x86 && cpu_.vector_bytes == 64) {
    std::vector<llvm::Constant*> on;
    for (int i = 0; i < lanes_of(v); ++i) {
      on.push_back(b_.getInt1(i < count));
    }
    annotate(s, b_.CreateMaskedStore(v, p, align, llvm::ConstantVector::get(on)));
    return;
  }
  llvm::Type* element = stored_type(ctx_, t.scalar());
  for (int begin = 0; begin < count;) {
    int width = lanes_of(v);
    while (begin + width > count) {
      width /= 2;
    }
    Value* q = b_.CreateGEP(element, p, b_.getInt64(static_cast<uint64_t>(begin)));
    const auto bytes = static_cast<uint64_t>(begin * t.bytes());
    annotate(s, b_.CreateAlignedStore(ops_.lanes(v, begin, width), q,
                                      llvm::commonAlignment(align, bytes)));
    begin += width;
  }
}

// Statements may be emitted in groups, so that registers are turned on the way from or to memory.
void CpuEmitter::block(const ir::Block& n) {
  std::span<const Stmt> rest = n.stmts;
  size_t straight = 0;  // for so many statements strided_ holds
  while (!rest.empty()) {
    if (straight == 0) {
      straight = find_strided(rest);
    }
    size_t taken = store_tile(rest);
    if (taken == 0) {
      taken = store_interleaved(rest);
    }
    if (taken == 0) {
      taken = std::max<size_t>(load_tile(rest), 1);
      for (size_t i = 0; i < taken; ++i) {
        stmt(rest[i]);
      }
      turned_.clear();
    }
    rest = rest.subspan(taken);
    straight -= std::min(straight, taken);
    if (straight == 0) {
      strided_.clear();
    }
  }
}

namespace {

// The stores at the front of `stmts` that go to one buffer, unconditionally, and do not read it.
std::vector<const ir::Store*> leading_stores(std::span<const Stmt> stmts) {
  std::vector<const ir::Store*> stores;
  for (const Stmt& s : stmts) {
    const auto* n = s.as<ir::Store>();
    if (n == nullptr || n->indices.size() != 1 || !unconditional(n->predicate)) {
      break;
    }
    if (!stores.empty() && n->buffer.get() != stores[0]->buffer.get()) {
      break;
    }
    bool reads_own = false;
    ir::visit(n->value, [&](const Expr& e) {
      const auto* l = e.as<ir::Load>();
      reads_own = reads_own || (l != nullptr && l->buffer.get() == n->buffer.get());
    });
    if (reads_own) {
      break;
    }
    stores.push_back(n);
  }
  return stores;
}

}  // namespace

// Stores of vectors whose lanes lie far apart, several of which are neighbours:
//   c[ramp(i, 100, 16)] = x; c[ramp(i + 1, 100, 16)] = y; ..   =>   16 stores of {x[l], y[l], ..}
// Returns how many statements that were; 0 if there are none.
size_t CpuEmitter::store_tile(std::span<const Stmt> stmts) {
  if (stmts.size() < 2) {
    return 0;
  }
  Strip strip;
  const std::vector<const ir::Store*> stores = leading_stores(stmts);
  size_t taken = 0;
  for (; taken < stores.size(); ++taken) {
    const ir::Store& n = *stores[taken];
    const auto run = as_run(n.indices[0]);
    if (!run || !can_turn(n.value.dtype(), *run) || !storage(n.buffer).slots.empty() ||
        !add(strip, taken, *run)) {
      break;
    }
  }
  if (taken < 2 || !disjoint(strip)) {
    return 0;
  }
  const Storage& s = storage(stores[0]->buffer);
  const DType t = stores[0]->value.dtype();
  for (const auto& run : neighbours(strip, static_cast<size_t>(t.lanes))) {
    if (run.size() == 1) {
      memo_.clear();
      store_value(*stores[run[0].second], nullptr);
      continue;
    }
    std::vector<Value*> rows;
    for (const auto& [offset, index] : run) {
      memo_.clear();
      rows.push_back(to_stored(b_, cpu_, t, expr(stores[index]->value)));
    }
    memo_.clear();
    const std::vector<Value*> columns = transposed(b_, rows);
    for (size_t lane = 0; lane < columns.size(); ++lane) {
      const int64_t at = run[0].first + static_cast<int64_t>(lane) * strip.first.stride;
      store_front(s, t, strip.first.base + Expr(at), columns[lane], static_cast<int>(run.size()));
    }
  }
  return taken;
}

// Loads of vectors whose lanes lie far apart, several of which are neighbours, in the stores at the front of `stmts`:
// their values are ready in turned_ afterwards. Returns how many statements that is good for.
size_t CpuEmitter::load_tile(std::span<const Stmt> stmts) {
  if (stmts.size() < static_cast<size_t>(kBlock)) {
    return 0;
  }
  std::map<const ir::BufferNode*, Strip> strips;
  std::vector<const ir::Load*> loads;
  const std::vector<const ir::Store*> stores = leading_stores(stmts);
  for (const ir::Store* n : stores) {
    ir::visit(n->value, [&](const Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || l->indices.size() != 1 || !unconditional(l->predicate)) {
        return;
      }
      const auto run = as_run(l->indices[0]);
      if (!run || !can_turn(l->dtype, *run) || !storage(l->buffer).slots.empty() ||
          !in_bounds(l->buffer, l->indices[0])) {
        return;
      }
      if (add(strips[l->buffer.get()], loads.size(), *run)) {
        loads.push_back(l);
      }
    });
  }
  memo_.clear();
  for (const auto& [buffer, strip] : strips) {
    for (const auto& run : neighbours(strip, 16)) {
      size_t begin = 0;
      for (size_t width = 16; width >= static_cast<size_t>(kBlock); width /= 2) {
        for (; run.size() - begin >= width; begin += width) {
          turn_loads(loads, strip.first, {run.data() + begin, width});
        }
      }
    }
  }
  return turned_.empty() ? 0 : stores.size();
}

void CpuEmitter::turn_loads(const std::vector<const ir::Load*>& loads, const Run& first,
                            std::span<const std::pair<int64_t, size_t>> run) {
  const ir::Load& like = *loads[run[0].second];
  const Storage& s = storage(like.buffer);
  const DType row = like.dtype.with_lanes(static_cast<int>(run.size()));
  std::vector<Value*> rows;
  for (int lane = 0; lane < first.lanes; ++lane) {
    const auto [p, align] = address(s, row, first.base + Expr(run[0].first + lane * first.stride));
    rows.push_back(annotate(s, b_.CreateAlignedLoad(stored_type(ctx_, row), p, align)));
  }
  const std::vector<Value*> columns = transposed(b_, rows);
  for (size_t i = 0; i < run.size(); ++i) {
    turned_[loads[run[i].second]] = to_carried(b_, cpu_, like.dtype, columns[i]);
  }
}

}  // namespace tenon::backend::llvm_cpu
