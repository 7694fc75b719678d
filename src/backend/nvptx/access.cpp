// SPDX-License-Identifier: Apache-2.0
// A GPU's code reads and writes memory in pieces of 4, 8 or 16 bytes, as far as an index is known to be a multiple.
// A branch guards each access that may lie outside of its buffer; the assembler turns it into a predicate.
//
//   load a[ramp(i*4, 1, 4)]                  =>  one piece of four floats
//   load a[ramp(i*2, 1, 4)], i*2 < n         =>  branch; two pieces of two floats
#include <llvm/Analysis/VectorUtils.h>

#include <numeric>

#include "arith/linear.h"
#include "backend/llvm/types.h"
#include "backend/nvptx/gpu_emitter.h"
#include "backend/nvptx/multiple.h"
#include "ir/build.h"

namespace tenon::backend::nvptx {

using ir::DType;
using ir::Expr;
using llvm::Align;
using llvm::Value;
using llvm_cpu::lanes_of;
using llvm_cpu::Run;
using llvm_cpu::stored_type;

namespace {

constexpr int64_t kMostBytes = 16;

// The condition behind a mask that is the same in all lanes; null if there is none.
Value* uniform(llvm::IRBuilder<>& b, Value* mask) {
  if (!mask->getType()->isVectorTy()) return mask;
  if (Value* same = llvm::getSplatValue(mask)) return same;
  auto* both = llvm::dyn_cast<llvm::BinaryOperator>(mask);
  if (both == nullptr || both->getOpcode() != llvm::Instruction::And) return nullptr;
  Value* x = uniform(b, both->getOperand(0));
  Value* y = x != nullptr ? uniform(b, both->getOperand(1)) : nullptr;
  return y != nullptr ? b.CreateAnd(x, y) : nullptr;
}

// Narrow elements are moved as words of 32 bits where they fill them.
llvm::Type* piece_type(llvm::LLVMContext& ctx, DType t, int count) {
  const int64_t bytes = t.bytes() * count;
  if (t.bytes() >= 4 || bytes % 4 != 0) return stored_type(ctx, t.with_lanes(count));
  return stored_type(ctx, ir::kI32.with_lanes(static_cast<int>(bytes / 4)));
}

Value* with_lane(llvm::IRBuilder<>& b, Value* all, Value* lane, int i) {
  return all->getType()->isVectorTy() ? b.CreateInsertElement(all, lane, static_cast<uint64_t>(i))
                                      : lane;
}

}  // namespace

std::vector<GpuEmitter::Piece> GpuEmitter::run_pieces(const Storage& s, DType t, const Run& run,
                                                      bool single) {
  Value* first = address(s, t, run.base).first;
  llvm::Type* element = stored_type(ctx_, t.scalar());
  const int64_t bytes = t.bytes();
  const auto multiple = static_cast<uint64_t>(std::gcd(multiple_of(run.base) * bytes, kMostBytes));
  std::vector<Piece> out;
  for (int begin = 0; begin < run.lanes; begin += out.back().count) {
    const int64_t offset = begin * (run.lanes == 1 ? 1 : run.stride);
    const Align align =
        llvm::commonAlignment(Align(multiple), static_cast<uint64_t>(std::abs(offset) * bytes));
    int count = 1;
    while (!single && run.stride == 1 && 2 * count <= run.lanes - begin &&
           2 * count * bytes <= static_cast<int64_t>(align.value())) {
      count *= 2;
    }
    Value* at = offset == 0
                    ? first
                    : b_.CreateGEP(element, first, b_.getInt64(static_cast<uint64_t>(offset)));
    out.push_back({at, align, begin, count});
  }
  return out;
}

std::vector<GpuEmitter::Piece> GpuEmitter::lane_pieces(const Storage& s, DType t,
                                                       const Expr& index) {
  llvm::Type* element = stored_type(ctx_, t.scalar());
  const Align align(static_cast<uint64_t>(t.bytes()));
  Value* all = narrow(index);
  all = all == nullptr ? expr(index) : all;
  std::vector<Piece> out;
  for (int i = 0; i < t.lanes; ++i) {
    Value* lane = b_.CreateExtractElement(all, static_cast<uint64_t>(i));
    Value* offset = b_.CreateSExtOrTrunc(lane, b_.getInt64Ty());
    out.push_back({b_.CreateGEP(element, s.base, offset), align, i, 1});
  }
  return out;
}

std::vector<GpuEmitter::Piece> GpuEmitter::pieces(const Storage& s, DType t, const Expr& index,
                                                  bool single) {
  if (const auto run = llvm_cpu::as_run(index)) {
    return run_pieces(s, t, *run, single);
  }
  const auto pattern = llvm_cpu::as_pattern(index);
  if (!pattern) {
    return lane_pieces(s, t, index);
  }
  std::vector<Piece> out;
  for (int i = 0; i < t.lanes; ++i) {
    const Expr lane = pattern->base + Expr(pattern->offsets[static_cast<size_t>(i)]);
    const auto [p, align] = address(s, t, lane);
    out.push_back({p, Align(static_cast<uint64_t>(t.bytes())), i, 1});
  }
  return out;
}

Value* GpuEmitter::load_piece(const Storage& s, DType t, const Piece& from) {
  llvm::Type* type = piece_type(ctx_, t, from.count);
  Value* v = annotate(s, b_.CreateAlignedLoad(type, from.at, from.align));
  return b_.CreateBitCast(v, stored_type(ctx_, t.with_lanes(from.count)));
}

Value* GpuEmitter::load_pieces(const Storage& s, DType t, const std::vector<Piece>& from) {
  if (from.size() == 1) {
    return load_piece(s, t, from.front());
  }
  Value* all = llvm::PoisonValue::get(stored_type(ctx_, t));
  for (const Piece& piece : from) {
    Value* part = load_piece(s, t, piece);
    for (int i = 0; i < piece.count; ++i) {
      all = with_lane(b_, all, ops_.lanes(part, i, 1), piece.begin + i);
    }
  }
  return all;
}

// Each lane behind a branch of its own.
Value* GpuEmitter::load_single(const Storage& s, DType t, const std::vector<Piece>& from,
                               Value* mask) {
  llvm::Constant* zero = llvm::Constant::getNullValue(stored_type(ctx_, t.scalar()));
  Value* all = llvm::Constant::getNullValue(stored_type(ctx_, t));
  for (const Piece& piece : from) {
    const auto load = [&] { return load_piece(s, t.scalar(), piece); };
    Value* lane = where(ops_.lanes(mask, piece.begin, 1), load, zero);
    all = with_lane(b_, all, lane, piece.begin);
  }
  return all;
}

Value* GpuEmitter::load_memory(const Storage& s, const ir::Load& n, Value* mask, bool safe) {
  const DType t = n.dtype;
  const Expr& index = n.indices.front();
  llvm::Constant* zero = llvm::Constant::getNullValue(stored_type(ctx_, t));
  const auto run = llvm_cpu::as_run(index);
  const bool one_place = run && run->stride == 0 && run->lanes > 1;
  Value* wanted = safe ? nullptr : mask;
  Value* v = nullptr;
  if (one_place) {
    const std::vector<Piece> from = pieces(s, t.scalar(), run->base, true);
    const auto load = [&] { return load_piece(s, t.scalar(), from.front()); };
    Value* any = wanted == nullptr ? nullptr : b_.CreateOrReduce(wanted);
    v = any == nullptr
            ? load()
            : where(any, load, llvm::Constant::getNullValue(zero->getType()->getScalarType()));
    v = ops_.splat(v, t.lanes);
  } else if (wanted == nullptr) {
    v = load_pieces(s, t, pieces(s, t, index, false));
  } else if (Value* same = uniform(b_, wanted)) {
    const std::vector<Piece> from = pieces(s, t, index, false);
    v = where(
        same, [&] { return load_pieces(s, t, from); }, zero);
  } else {
    v = load_single(s, t, pieces(s, t, index, true), wanted);
  }
  const bool selects = mask != nullptr && (safe || one_place);
  v = selects ? b_.CreateSelect(mask, v, zero) : v;
  return llvm_cpu::to_carried(b_, cpu_, t, v);
}

void GpuEmitter::store_piece(const Storage& s, DType t, const Piece& to, Value* stored) {
  Value* part = ops_.lanes(stored, to.begin, to.count);
  part = b_.CreateBitCast(part, piece_type(ctx_, t, to.count));
  annotate(s, b_.CreateAlignedStore(part, to.at, to.align));
}

void GpuEmitter::store_memory(const Storage& s, const ir::Store& n, Value* stored, Value* mask) {
  const DType t = n.value.dtype();
  const Expr& index = n.indices.front();
  Value* same = mask == nullptr ? nullptr : uniform(b_, mask);
  const bool single = mask != nullptr && same == nullptr;
  const std::vector<Piece> to = pieces(s, t, index, single);
  const auto all = [&]() -> Value* {
    for (const Piece& piece : to) store_piece(s, t, piece, stored);
    return nullptr;
  };
  if (mask == nullptr) {
    all();
  } else if (!single) {
    where(same, all, nullptr);
  } else {
    for (const Piece& piece : to) {
      const auto one = [&]() -> Value* {
        store_piece(s, t, piece, stored);
        return nullptr;
      };
      where(ops_.lanes(mask, piece.begin, 1), one, nullptr);
    }
  }
}

Value* GpuEmitter::where(Value* condition, FunctionRef<Value*()> emit, Value* otherwise) {
  if (const auto* decided = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    return decided->isOne() ? emit() : otherwise;
  }
  llvm::BasicBlock* from = b_.GetInsertBlock();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(ctx_, "on", fn_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(ctx_, "off", fn_);
  b_.CreateCondBr(condition, yes, done);
  b_.SetInsertPoint(yes);
  Value* v = emit();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  if (v == nullptr) {
    return nullptr;
  }
  llvm::PHINode* both = b_.CreatePHI(v->getType(), 2);
  both->addIncoming(v, yes);
  both->addIncoming(otherwise, from);
  return both;
}

}  // namespace tenon::backend::nvptx
