// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/dot.h"

#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

#include "backend/llvm/types.h"
#include "support/check.h"

namespace tenon::backend::llvm_cpu {
namespace {

using ir::DType;
using llvm::Value;

// Works on as many result lanes as one register holds; operands are bit patterns with one 32-bit lane per group.
class Dot {
 public:
  Dot(llvm::IRBuilder<>& b, const Cpu& cpu, int lanes, DType tx, DType ty)
      : b_(b), cpu_(cpu), lanes_(lanes), tx_(tx.scalar()), ty_(ty.scalar()) {}

  // `shared`: x is the same in all lanes, so that what is done to y alone is done once for many x.
  Value* integers(Value* x, Value* y, Value* acc, bool shared) {
    if (tx_.bits == 16) {
      return pairs(x, y, acc);
    }
    if (cpu_.dot) {
      return cpu_.x86 ? fours_x86(x, y, acc, shared) : fours_arm(x, y, acc);
    }
    return cpu_.x86 ? fours_by_pairs(x, y, acc) : one_by_one(x, y, acc);
  }

  Value* floats(Value* x, Value* y, Value* acc) {
    const auto id = sized(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128,
                          llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                          llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512);
    llvm::Type* pairs = vector(b_.getBFloatTy(), 2 * lanes_);
    return b_.CreateIntrinsic(id, {},
                              {acc, b_.CreateBitCast(x, pairs), b_.CreateBitCast(y, pairs)});
  }

 private:
  llvm::VectorType* vector(llvm::Type* element, int lanes) {
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  }
  llvm::VectorType* words() { return vector(b_.getInt32Ty(), lanes_); }
  Value* as_words(Value* v) { return b_.CreateBitCast(v, words()); }
  Value* as_halves(Value* v) { return b_.CreateBitCast(v, vector(b_.getInt16Ty(), 2 * lanes_)); }
  Value* as_bytes(Value* v) { return b_.CreateBitCast(v, vector(b_.getInt8Ty(), 4 * lanes_)); }
  static llvm::Constant* all(const Value* like, uint64_t c) {
    return llvm::ConstantInt::get(like->getType(), c);
  }
  // The other of -128..127 and 0..255 that differs by 128.
  Value* shifted(Value* v) {
    Value* bytes = as_bytes(v);
    return as_words(b_.CreateXor(bytes, all(bytes, 0x80)));
  }
  Value* ones() { return as_words(llvm::ConstantInt::get(vector(b_.getInt8Ty(), 4 * lanes_), 1)); }
  Value* zero() { return llvm::Constant::getNullValue(words()); }

  template <class Id>
  Id sized(Id at_4, Id at_8, Id at_16) {
    TENON_CHECK(lanes_ == 4 || lanes_ == 8 || lanes_ == 16) << lanes_;
    return lanes_ == 4 ? at_4 : lanes_ == 8 ? at_8 : at_16;
  }

  Value* vpdpbusd(Value* acc, Value* unsigned_bytes, Value* signed_bytes) {
    const auto id =
        sized(llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
              llvm::Intrinsic::x86_avx512_vpdpbusd_512);
    return b_.CreateIntrinsic(id, {}, {acc, unsigned_bytes, signed_bytes});
  }

  // One factor must be unsigned and the other signed. Of two alike one is moved by 128, and 128 times the sum of the
  // other is taken back.
  Value* fours_x86(Value* x, Value* y, Value* acc, bool shared) {
    if (tx_.is_signed() != ty_.is_signed()) {
      return tx_.is_signed() ? vpdpbusd(acc, y, x) : vpdpbusd(acc, x, y);
    }
    if (!shared) {
      std::swap(x, y);
    }
    if (tx_.is_signed()) {  // (x + 128)*y - 128*y
      Value* extra = b_.CreateShl(vpdpbusd(zero(), ones(), y), all(acc, 7));
      return vpdpbusd(b_.CreateSub(acc, extra), shifted(x), y);
    }
    Value* extra = b_.CreateShl(vpdpbusd(zero(), y, ones()), all(acc, 7));  // y*(x - 128) + 128*y
    return vpdpbusd(b_.CreateAdd(acc, extra), y, shifted(x));
  }

  Value* fours_arm(Value* x, Value* y, Value* acc) {
    const auto dot = [&](llvm::Intrinsic::ID id, Value* sum, Value* p, Value* q) {
      return b_.CreateIntrinsic(id, {words(), vector(b_.getInt8Ty(), 4 * lanes_)},
                                {sum, as_bytes(p), as_bytes(q)});
    };
    const auto sdot = llvm::Intrinsic::aarch64_neon_sdot;
    if (tx_.is_signed() == ty_.is_signed()) {
      return dot(tx_.is_signed() ? sdot : llvm::Intrinsic::aarch64_neon_udot, acc, x, y);
    }
    if (tx_.is_signed()) {
      std::swap(x, y);
    }
    Value* extra = b_.CreateShl(dot(sdot, zero(), ones(), y), all(acc, 7));  // (x - 128)*y + 128*y
    return dot(sdot, b_.CreateAdd(acc, extra), shifted(x), y);
  }

  Value* pmaddwd(Value* x, Value* y) {
    const auto id = sized(llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                          llvm::Intrinsic::x86_avx512_pmaddw_d_512);
    return b_.CreateIntrinsic(id, {}, {as_halves(x), as_halves(y)});
  }

  Value* pairs(Value* x, Value* y, Value* acc) {
    return cpu_.x86 ? b_.CreateAdd(acc, pmaddwd(x, y)) : one_by_one(x, y, acc);
  }

  // Even and odd bytes as 16-bit numbers, whose products are added in pairs in the right lane.
  Value* fours_by_pairs(Value* x, Value* y, Value* acc) {
    const auto even = [&](Value* v, DType t) {
      Value* h = as_halves(v);
      return t.is_signed() ? b_.CreateAShr(b_.CreateShl(h, all(h, 8)), all(h, 8))
                           : b_.CreateAnd(h, all(h, 0xff));
    };
    const auto odd = [&](Value* v, DType t) {
      Value* h = as_halves(v);
      return t.is_signed() ? b_.CreateAShr(h, all(h, 8)) : b_.CreateLShr(h, all(h, 8));
    };
    Value* sum = b_.CreateAdd(acc, pmaddwd(even(x, tx_), even(y, ty_)));
    return b_.CreateAdd(sum, pmaddwd(odd(x, tx_), odd(y, ty_)));
  }

  Value* one_by_one(Value* x, Value* y, Value* acc) {
    const unsigned bits = tx_.bits;
    const auto part = [&](Value* v, DType t, unsigned at) {
      Value* top = b_.CreateShl(v, all(v, 32 - bits - at));
      return t.is_signed() ? b_.CreateAShr(top, all(v, 32 - bits))
                           : b_.CreateLShr(top, all(v, 32 - bits));
    };
    for (unsigned at = 0; at < 32; at += bits) {
      acc = b_.CreateAdd(acc, b_.CreateMul(part(x, tx_, at), part(y, ty_, at)));
    }
    return acc;
  }

  llvm::IRBuilder<>& b_;
  const Cpu& cpu_;
  int lanes_;
  DType tx_, ty_;
};

// A group repeated for all lanes.
bool is_shared(const Value* v, int group) {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(v);
  return shuffle != nullptr && lanes_of(shuffle->getOperand(0)) == group;
}

// bf16 is the upper half of f32: of a pair in one 32-bit lane, the first is a shift away and the second a mask.
Value* dot_bf16(llvm::IRBuilder<>& b, Ops& ops, Value* x, Value* y, Value* acc) {
  const auto first = [&](Value* v) {
    return b.CreateBitCast(b.CreateShl(v, llvm::ConstantInt::get(v->getType(), 16)),
                           acc->getType());
  };
  const auto second = [&](Value* v) {
    return b.CreateBitCast(b.CreateAnd(v, llvm::ConstantInt::get(v->getType(), 0xffff0000)),
                           acc->getType());
  };
  acc = ops.multiply_add(first(x), first(y), acc);
  return ops.multiply_add(second(x), second(y), acc);
}

// Lanes [begin, begin + count), those past the end unspecified.
Value* padded_lanes(llvm::IRBuilder<>& b, Value* v, int begin, int count) {
  if (begin == 0 && count == lanes_of(v)) {
    return v;
  }
  std::vector<int> picked(static_cast<size_t>(count));
  std::iota(picked.begin(), picked.end(), begin);
  for (int& lane : picked) {
    lane = lane < lanes_of(v) ? lane : llvm::PoisonMaskElem;
  }
  return b.CreateShuffleVector(v, picked);
}

// `part` behind the first `have` lanes of `whole`.
Value* append(llvm::IRBuilder<>& b, Value* whole, int have, Value* part, int total) {
  const int count = std::min(lanes_of(part), total - have);
  if (whole == nullptr) {
    return padded_lanes(b, part, 0, total);
  }
  Value* wide = padded_lanes(b, part, 0, total);
  std::vector<int> mix(static_cast<size_t>(total));
  for (int i = 0; i < total; ++i) {
    mix[static_cast<size_t>(i)] = i < have ? i : i < have + count ? total + i - have : i;
  }
  return b.CreateShuffleVector(whole, wide, mix);
}

}  // namespace

std::optional<DotFactors> as_dot(const ir::VectorReduce& n) {
  const auto* product = n.value.as<ir::Binary>();
  if (n.op != ir::BinaryOp::kAdd || product == nullptr || product->op != ir::BinaryOp::kMul ||
      !n.dtype.is_vector()) {
    return std::nullopt;
  }
  const auto* x = product->a.as<ir::Cast>();
  const auto* y = product->b.as<ir::Cast>();
  if (x == nullptr || y == nullptr) {
    return std::nullopt;
  }
  const DType tx = x->value.dtype().scalar();
  const DType ty = y->value.dtype().scalar();
  const DType sum = n.dtype.scalar();
  const bool bytes = n.group() == 4 && tx.is_int() && ty.is_int() && tx.bits == 8 && ty.bits == 8;
  const bool halves = n.group() == 2 && tx == ir::kI16 && ty == ir::kI16;
  const bool floats = n.group() == 2 && tx == ir::kBF16 && ty == ir::kBF16;
  const bool fits = floats ? sum == ir::kF32 : (bytes || halves) && sum == ir::kI32;
  return fits ? std::optional<DotFactors>({x->value, y->value}) : std::nullopt;
}

Value* emit_dot(llvm::IRBuilder<>& b, const Cpu& cpu, Ops& ops, DType tx, Value* x, DType ty,
                Value* y, Value* acc) {
  const int total = lanes_of(acc);
  const bool shared = is_shared(x, tx.lanes / total);
  llvm::Type* words = llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(total));
  Value* xs = b.CreateBitCast(to_stored(b, cpu, tx, x), words);
  Value* ys = b.CreateBitCast(to_stored(b, cpu, ty, y), words);
  if (tx.is_float() && !cpu.dot_bf16) {
    return dot_bf16(b, ops, xs, ys, acc);
  }
  Value* result = nullptr;
  for (int at = 0; at < total;) {
    int lanes = cpu.vector_bytes / 4;
    while (lanes > 4 && lanes > total - at) {
      lanes /= 2;
    }
    Dot dot(b, cpu, lanes, tx, ty);
    Value* x_part = padded_lanes(b, xs, at, lanes);
    Value* y_part = padded_lanes(b, ys, at, lanes);
    Value* sum = padded_lanes(b, acc, at, lanes);
    Value* part =
        tx.is_float() ? dot.floats(x_part, y_part, sum) : dot.integers(x_part, y_part, sum, shared);
    result = append(b, result, at, part, total);
    at += lanes;
  }
  return result;
}

}  // namespace tenon::backend::llvm_cpu
