// SPDX-License-Identifier: Apache-2.0
// A CPU's code reads and writes memory by whole vectors, with masks, gathers and shuffles.
#include <algorithm>
#include <numeric>

#include "backend/llvm/cpu_emitter.h"
#include "backend/llvm/look_up.h"
#include "backend/llvm/shuffle_mask.h"
#include "backend/llvm/types.h"
#include "ir/build.h"

namespace tenon::backend::llvm_cpu {

using ir::DType;
using ir::Expr;
using llvm::Align;
using llvm::Value;

namespace {

constexpr int64_t kMaxWideStride = 4;  // above, loads of single lanes are fewer

}  // namespace

Value* CpuEmitter::vector_pointers(const Storage& s, const ir::Buffer& b, const Expr& index) {
  Value* i = expr(index);
  // Indices of 32 bits make half as many gathers.
  if (b->elements() <= std::numeric_limits<int32_t>::max()) {
    i = b_.CreateTrunc(i, i->getType()->getWithNewBitWidth(32));
  }
  return b_.CreateGEP(stored_type(ctx_, b.dtype()), s.base, i);
}

Value* CpuEmitter::load_memory(const Storage& s, const ir::Load& n, Value* mask, bool safe) {
  if (const auto it = turned_.find(&n); it != turned_.end()) {
    return it->second;
  }
  const Expr& index = n.indices.front();
  const DType t = n.dtype;
  Value* v = load_beside(s, n);
  const auto wanted = [&](Value* all) {
    return mask == nullptr || all == nullptr
               ? all
               : b_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType()));
  };
  if (v != nullptr) {
    v = wanted(v);
  } else if (const auto looked_up = as_look_up(cpu_, n)) {
    v = wanted(look_up(s, *looked_up));
  } else if (const auto run = as_run(index)) {
    v = load_run(s, t, *run, mask, safe);
  } else if (const auto pattern = as_pattern(index); pattern && (mask == nullptr || safe)) {
    v = wanted(load_pattern(s, t, *pattern));
  }
  if (v == nullptr) {
    v = gather(s, t, vector_pointers(s, n.buffer, index), mask);
  }
  return to_carried(b_, cpu_, t, v);
}

Value* CpuEmitter::look_up(const Storage& s, const ByteIndex& index) {
  const auto part = [&](int at, int count) {
    Value* p = b_.CreateGEP(b_.getInt8Ty(), s.base, b_.getInt64(static_cast<uint64_t>(at)));
    auto* type = llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(count));
    return annotate(s, b_.CreateAlignedLoad(type, p, Align(1)));
  };
  return emit_look_up(b_, cpu_, part, index, expr(index.bytes));
}

Value* CpuEmitter::load_scalar(const Storage& s, DType t, const Expr& index, Value* mask) {
  auto [p, align] = address(s, t, index);
  if (mask != nullptr) {  // the first element always exists
    p = b_.CreateSelect(mask, p, s.base);
  }
  llvm::Type* type = stored_type(ctx_, t.scalar());
  Value* v = annotate(s, b_.CreateAlignedLoad(type, p, align));
  return mask == nullptr ? v : b_.CreateSelect(mask, v, llvm::Constant::getNullValue(type));
}

Value* CpuEmitter::load_run(const Storage& s, DType t, const Run& run, Value* mask, bool safe) {
  llvm::Type* type = stored_type(ctx_, t);
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  if (mask != nullptr && safe) {
    return b_.CreateSelect(mask, load_run(s, t, run, nullptr, safe), zero);
  }
  if (run.lanes == 1) {
    return load_scalar(s, t, run.base, mask);
  }
  if (run.stride == 0) {
    Value* any = mask == nullptr ? nullptr : b_.CreateOrReduce(mask);
    Value* v = ops_.splat(load_scalar(s, t, run.base, any), run.lanes);
    return mask == nullptr ? v : b_.CreateSelect(mask, v, zero);
  }
  if (run.stride == 1) {
    const auto [p, align] = address(s, t, run.base);
    if (mask == nullptr) {
      return annotate(s, b_.CreateAlignedLoad(type, p, align));
    }
    return annotate(s, b_.CreateMaskedLoad(type, p, align, mask, zero));
  }
  if (mask == nullptr) {
    return std::abs(run.stride) <= kMaxWideStride ? load_strided(s, t, run) : load_lanes(s, t, run);
  }
  if (cpu_.x86 && run.stride >= 2 && run.stride <= kMaxWideStride && t.bytes() == 4 &&
      cpu_.vector_bytes >= 32) {
    return load_masked_strided(s, t, run, mask);
  }
  const Expr index = ir::ramp(run.base, run.stride, run.lanes);
  return gather(s, t, b_.CreateGEP(stored_type(ctx_, t.scalar()), s.base, expr(index)), mask);
}

// Lane by lane: faster than a gather instruction where that is microcoded (1.6 times on Zen 4).
Value* CpuEmitter::load_lanes(const Storage& s, DType t, const Run& run) {
  const auto [p, align] = address(s, t, run.base);
  llvm::Type* element = stored_type(ctx_, t.scalar());
  Value* v = llvm::PoisonValue::get(stored_type(ctx_, t));
  for (int i = 0; i < run.lanes; ++i) {
    Value* q = b_.CreateGEP(element, p, b_.getInt64(static_cast<uint64_t>(i * run.stride)));
    const Align lane_align(static_cast<uint64_t>(t.bytes()));
    Value* lane = annotate(s, b_.CreateAlignedLoad(element, q, lane_align));
    v = b_.CreateInsertElement(v, lane, static_cast<uint64_t>(i));
  }
  return v;
}

// Loads everything between the first and the last lane, which lies inside the buffer, and picks.
//   stride 3, 4 lanes: offsets 0 3 6 9 from loads at 0, 4 and 6
Value* CpuEmitter::load_strided(const Storage& s, DType t, const Run& run) {
  const int n = run.lanes;
  const int step = static_cast<int>(std::abs(run.stride));
  const int span = (n - 1) * step + 1;
  const bool down = run.stride < 0;
  const Expr first = down ? run.base + Expr(int64_t{1 - span}) : run.base;
  const auto [p, align] = address(s, t, first);
  llvm::Type* element = stored_type(ctx_, t.scalar());
  Value* wide = nullptr;  // lanes so far, in order of address
  std::vector<int> at;    // at[i]: the lane of `wide` that holds lane i
  int taken = 0;
  for (int begin = 0; begin < span; begin += n) {
    const int from = std::min(begin, span - n);
    Value* q = b_.CreateGEP(element, p, b_.getInt64(static_cast<uint64_t>(from)));
    const Align part_align = llvm::commonAlignment(align, static_cast<uint64_t>(from * t.bytes()));
    Value* part = annotate(s, b_.CreateAlignedLoad(stored_type(ctx_, t), q, part_align));
    std::vector<int> picked;
    for (; taken < n && taken * step < from + n; ++taken) {
      picked.push_back(taken * step - from);
    }
    if (wide == nullptr) {
      wide = part;
      at = picked;
      continue;
    }
    // Both sides of a shuffle have n lanes: keep what was picked so far in front.
    std::vector<int> mix(at.begin(), at.end());
    for (const int lane : picked) {
      mix.push_back(n + lane);
    }
    const int have = static_cast<int>(mix.size());
    mix.resize(static_cast<size_t>(n), llvm::PoisonMaskElem);
    wide = b_.CreateShuffleVector(wide, part, mix);
    at = every(have, 0, 1);
  }
  if (span <= n) {
    wide = b_.CreateShuffleVector(wide, at);
  }
  return down ? b_.CreateShuffleVector(wide, every(n, n - 1, -1)) : wide;
}

// So many elements; where masks cost nothing, as the first lanes of a whole vector.
Value* CpuEmitter::load_front(const Storage& s, DType t, Value* p, Align align, int count) {
  llvm::Type* type = stored_type(ctx_, t);
  const bool whole = llvm::isPowerOf2_32(static_cast<uint32_t>(count)) || count > t.lanes;
  if (whole || !cpu_.x86 || cpu_.vector_bytes != 64 || t.bytes() < 4) {
    return annotate(s, b_.CreateAlignedLoad(stored_type(ctx_, t.with_lanes(count)), p, align));
  }
  std::vector<llvm::Constant*> on;
  for (int i = 0; i < t.lanes; ++i) {
    on.push_back(b_.getInt1(i < count));
  }
  return annotate(s, b_.CreateMaskedLoad(type, p, align, llvm::ConstantVector::get(on),
                                         llvm::Constant::getNullValue(type)));
}

// Everything from the lowest to the highest lane, which lies inside the buffer, and a shuffle.
Value* CpuEmitter::load_pattern(const Storage& s, DType t, const Pattern& pattern) {
  const auto [low, high] = std::minmax_element(pattern.offsets.begin(), pattern.offsets.end());
  const int64_t span = *high - *low + 1;
  if (span > kMaxWideStride * t.lanes) {
    return nullptr;
  }
  const auto [p, align] = address(s, t, pattern.base + Expr(*low));
  Value* v = load_front(s, t, p, align, static_cast<int>(span));
  std::vector<int> picked;
  for (const int64_t o : pattern.offsets) {
    picked.push_back(static_cast<int>(o - *low));
  }
  return span == 1 ? ops_.splat(v, t.lanes) : b_.CreateShuffleVector(v, picked);
}

Value* CpuEmitter::gather(const Storage& s, DType t, Value* pointers, Value* mask) {
  llvm::Type* type = stored_type(ctx_, t);
  const Align align(static_cast<uint64_t>(t.bytes()));
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  return annotate(s, b_.CreateMaskedGather(type, pointers, align, mask, zero));
}

void CpuEmitter::store_memory(const Storage& s, const ir::Store& n, Value* stored, Value* mask) {
  const Expr& index = n.indices.front();
  const DType t = n.value.dtype();
  const auto run = as_run(index);
  if (run && (run->lanes == 1 || run->stride == 1)) {
    if (mask == nullptr) {
      store_run(s, t, *run, stored);
    } else {
      const auto [p, align] = address(s, t, run->base);
      annotate(s, b_.CreateMaskedStore(stored, p, align, mask));
    }
  } else if (run && mask == nullptr) {
    store_lanes(s, t, *run, stored);
  } else {
    const Align align(static_cast<uint64_t>(t.bytes()));
    annotate(s, b_.CreateMaskedScatter(stored, vector_pointers(s, n.buffer, index), align, mask));
  }
}

void CpuEmitter::store_run(const Storage& s, DType t, const Run& run, Value* stored) {
  const auto [p, align] = address(s, t, run.base);
  llvm::StoreInst* store = annotate(s, b_.CreateAlignedStore(stored, p, align));
  const auto bytes = static_cast<uint64_t>(run.lanes * t.bytes());
  if (s.streamed && bytes >= 16 && align.value() >= bytes && llvm::isPowerOf2_64(bytes)) {
    auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(ctx_, one));
    stored_past_caches_ = true;
  }
}

void CpuEmitter::store_lanes(const Storage& s, DType t, const Run& run, Value* stored) {
  const auto [p, align] = address(s, t, run.base);
  llvm::Type* element = stored_type(ctx_, t.scalar());
  for (int i = 0; i < run.lanes; ++i) {
    const int64_t offset = i * run.stride;
    Value* q = b_.CreateGEP(element, p, b_.getInt64(static_cast<uint64_t>(offset)));
    Value* lane = b_.CreateExtractElement(stored, static_cast<uint64_t>(i));
    annotate(s, b_.CreateAlignedStore(lane, q, Align(static_cast<uint64_t>(t.bytes()))));
  }
}

}  // namespace tenon::backend::llvm_cpu
