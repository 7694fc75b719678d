// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/quantize.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

#include "backend/llvm/reciprocal.h"
#include "backend/llvm/types.h"

namespace tenon::backend::llvm_cpu {
namespace {

using llvm::Value;

std::optional<double> const_float(const ir::Expr& e) {
  if (const auto* b = e.as<ir::Broadcast>()) return const_float(b->value);
  const auto* f = e.as<ir::FloatImm>();
  return f != nullptr ? std::optional(f->value) : std::nullopt;
}

// The other operand of `op` with a constant as its second one.
std::optional<std::pair<ir::Expr, double>> with_constant(const ir::Expr& e, ir::BinaryOp op) {
  const auto* b = e.as<ir::Binary>();
  const auto c = b != nullptr && b->op == op ? const_float(b->b) : std::nullopt;
  return c ? std::optional(std::pair(b->a, *c)) : std::nullopt;
}

bool is_whole(double v) { return v == std::nearbyint(v); }

}  // namespace

std::optional<Quantized> as_quantized(const ir::Cast& n) {
  const ir::DType to = n.dtype.scalar();
  if (!to.is_int() || to.bits != 8 || n.value.dtype().scalar() != ir::kF32) return std::nullopt;
  const auto above = with_constant(n.value, ir::BinaryOp::kMin);
  const auto inside = above ? with_constant(above->first, ir::BinaryOp::kMax) : std::nullopt;
  if (!inside || above->second != static_cast<double>(ir::highest_int(to)) ||
      inside->second != static_cast<double>(ir::lowest_int(to)))
    return std::nullopt;
  Quantized q{inside->first, {}, 0, to};
  if (const auto moved = with_constant(q.x, ir::BinaryOp::kAdd)) {
    if (!is_whole(moved->second) || std::abs(moved->second) > 255) return std::nullopt;
    q.zero = moved->second;
    q.x = moved->first;
  }
  const auto* round = q.x.as<ir::Call>();
  if (round == nullptr || round->fn != ir::Intrinsic::kRound) return std::nullopt;
  q.x = round->args[0];
  if (const auto divided = with_constant(q.x, ir::BinaryOp::kDiv)) {
    q.scale = static_cast<float>(divided->second);
    q.x = divided->first;
  }
  return q;
}

namespace {

class Writer {
 public:
  Writer(llvm::IRBuilder<>& b, const Cpu& cpu, const Quantized& q) : b_(b), cpu_(cpu), q_(q) {}

  Value* run(Value* x) {
    if (q_.scale) x = divided(x, *q_.scale);
    const auto lowest = static_cast<double>(ir::lowest_int(q_.to));
    const auto highest = static_cast<double>(ir::highest_int(q_.to));
    // NaN becomes 0: the lowest of u8, which takes the place of what is not above it.
    if (lowest != 0) x = b_.CreateSelect(b_.CreateFCmpORD(x, x), x, number(x, -q_.zero));
    x = above(x, lowest - q_.zero);
    const bool saturates = lowest == 0 && has_instruction(lanes_of(x));
    if (!saturates) x = below(x, highest - q_.zero);
    Value* whole = rounded(x);
    if (q_.zero != 0) whole = b_.CreateAdd(whole, integer(whole, static_cast<int64_t>(q_.zero)));
    // The conversion made the lowest integer of numbers beyond 32 bits; without its sign it is large.
    if (saturates)
      whole = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, whole, integer(whole, 255));
    return b_.CreateTrunc(whole, vector_of(b_.getInt8Ty(), lanes_of(x)));
  }

 private:
  static llvm::Constant* number(const Value* like, double v) {
    return llvm::ConstantFP::get(like->getType(), v);
  }
  Value* above(Value* x, double limit) {
    llvm::Constant* c = number(x, limit);
    return b_.CreateSelect(b_.CreateFCmpOGT(x, c), x, c);
  }
  Value* below(Value* x, double limit) {
    llvm::Constant* c = number(x, limit);
    return b_.CreateSelect(b_.CreateFCmpOLT(x, c), x, c);
  }

  Value* divided(Value* x, float scale) {
    const int64_t zero = static_cast<int64_t>(q_.zero);
    const auto r =
        cpu_.fma ? reciprocal_of(scale, ir::lowest_int(q_.to) - zero, ir::highest_int(q_.to) - zero)
                 : std::nullopt;
    if (!r) return b_.CreateFDiv(x, number(x, static_cast<double>(scale)));
    Value* low = b_.CreateFMul(x, number(x, static_cast<double>(r->low)));
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()},
                              {x, number(x, static_cast<double>(r->high)), low});
  }

  static llvm::Constant* integer(const Value* like, int64_t v) {
    return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(v), true);
  }
  static llvm::Type* vector_of(llvm::Type* t, int lanes) {
    return lanes == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
  }

  bool has_instruction(int lanes) const {
    return cpu_.x86 && (lanes == 4 || lanes == 8 || lanes == 16) && 4 * lanes <= cpu_.vector_bytes;
  }

  // To the nearest integer in 32 bits, halves to even: one instruction where vectors are whole registers, in the mode of
  // the thread, which is this one.
  Value* rounded(Value* x) {
    const int lanes = lanes_of(x);
    llvm::Type* words = vector_of(b_.getInt32Ty(), lanes);
    if (!has_instruction(lanes)) {
      Value* whole = b_.CreateIntrinsic(llvm::Intrinsic::roundeven, {x->getType()}, {x});
      return b_.CreateFPToSI(whole, words);
    }
    if (lanes == 4) return b_.CreateIntrinsic(llvm::Intrinsic::x86_sse2_cvtps2dq, {}, {x});
    if (lanes == 8) return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx_cvt_ps2dq_256, {}, {x});
    constexpr uint32_t kModeOfThread = 4;
    return b_.CreateIntrinsic(
        llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
        {x, llvm::Constant::getNullValue(words), b_.getInt16(0xffff), b_.getInt32(kModeOfThread)});
  }

  llvm::IRBuilder<>& b_;
  const Cpu& cpu_;
  const Quantized& q_;
};

}  // namespace

Value* emit_quantized(llvm::IRBuilder<>& b, const Cpu& cpu, const Quantized& q, Value* x) {
  return Writer(b, cpu, q).run(x);
}

}  // namespace tenon::backend::llvm_cpu
