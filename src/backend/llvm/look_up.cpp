// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/look_up.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "backend/llvm/shuffle_mask.h"
#include "backend/llvm/types.h"
#include "ir/build.h"

namespace tenon::backend::llvm_cpu {
namespace {

using llvm::Value;

constexpr int kEntries = 256;
constexpr int kFew =
    16;  // bytes that one instruction of all processors here looks up, and of how many entries

// The integer that an index is made of: u8 as it is, i8 moved by 128.
std::optional<ByteIndex> as_byte(const ir::Expr& index) {
  const auto* sum = index.as<ir::Binary>();
  const auto* wide = (sum == nullptr ? index : sum->a).as<ir::Cast>();
  const ir::DType t = wide == nullptr ? index.dtype() : wide->value.dtype();
  if (wide == nullptr || !t.is_int() || t.bits != 8) return std::nullopt;
  if (!t.is_signed()) return sum == nullptr ? std::optional(ByteIndex{wide->value}) : std::nullopt;
  const auto* moved = sum == nullptr ? nullptr : sum->b.as<ir::Broadcast>();
  if (moved == nullptr || sum->op != ir::BinaryOp::kAdd ||
      !ir::is_const(moved->value, kEntries / 2))
    return std::nullopt;
  return ByteIndex{wide->value};
}

// Looks up as many bytes as one register holds.
class LookUp {
 public:
  LookUp(llvm::IRBuilder<>& b, const Cpu& cpu, const TablePart& table, int lanes)
      : b_(b), cpu_(cpu), table_(table), lanes_(lanes) {}

  // `at` are places in the table.
  Value* run(Value* at) {
    if (!cpu_.x86) return by_quarters(at);
    return cpu_.look_up_bytes > kFew ? by_halves(at) : by_sixteens(at);
  }

 private:
  Value* has_bit(Value* at, uint64_t bit) {
    Value* only = b_.CreateAnd(at, llvm::ConstantInt::get(at->getType(), bit));
    return b_.CreateICmpNE(only, llvm::Constant::getNullValue(at->getType()));
  }

  Value* by_halves(Value* at) {
    const auto half = [&](int begin) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                                {table_(begin, lanes_), at, table_(begin + lanes_, lanes_)});
    };
    Value* low = half(0);
    return b_.CreateSelect(has_bit(at, kEntries / 2), half(kEntries / 2), low);
  }

  // Each table of 64 entries leaves alone what lies outside of it.
  Value* by_quarters(Value* at) {
    Value* found = nullptr;
    for (int begin = 0; begin < kEntries; begin += 4 * kFew) {
      llvm::SmallVector<Value*, 6> operands;
      if (found != nullptr) operands.push_back(found);
      for (int i = 0; i < 4; ++i) operands.push_back(table_(begin + i * kFew, kFew));
      Value* first = llvm::ConstantInt::get(at->getType(), static_cast<uint64_t>(begin));
      operands.push_back(b_.CreateSub(at, first));
      const auto id = found == nullptr ? llvm::Intrinsic::aarch64_neon_tbl4
                                       : llvm::Intrinsic::aarch64_neon_tbx4;
      found = b_.CreateIntrinsic(id, {at->getType()}, operands);
    }
    return found;
  }

  // The entry of every 16 by the lower four bits; of two neighbours the one that the next bit says, and so on.
  Value* by_sixteens(Value* at) {
    Value* low = b_.CreateAnd(at, llvm::ConstantInt::get(at->getType(), kFew - 1));
    std::vector<Value*> found;
    for (int begin = 0; begin < kEntries; begin += kFew) {
      Value* part = b_.CreateShuffleVector(table_(begin, kFew), repeated());
      found.push_back(b_.CreateIntrinsic(shuffle(), {}, {part, low}));
    }
    for (uint64_t bit = kFew; found.size() > 1; bit *= 2) {
      Value* upper = has_bit(at, bit);
      for (size_t i = 0; i < found.size() / 2; ++i) {
        found[i] = b_.CreateSelect(upper, found[2 * i + 1], found[2 * i]);
      }
      found.resize(found.size() / 2);
    }
    return found[0];
  }

  std::vector<int> repeated() const {
    std::vector<int> mask;
    for (int i = 0; i < lanes_; ++i) mask.push_back(i % kFew);
    return mask;
  }
  llvm::Intrinsic::ID shuffle() const {
    return lanes_ == 16   ? llvm::Intrinsic::x86_ssse3_pshuf_b_128
           : lanes_ == 32 ? llvm::Intrinsic::x86_avx2_pshuf_b
                          : llvm::Intrinsic::x86_avx512_pshuf_b_512;
  }

  llvm::IRBuilder<>& b_;
  const Cpu& cpu_;
  const TablePart& table_;
  int lanes_;
};

}  // namespace

std::optional<ByteIndex> as_look_up(const Cpu& cpu, const ir::Load& n) {
  const int worth = cpu.look_up_bytes > kFew ? 4 : kFew;
  if (cpu.look_up_bytes == 0 || n.dtype.lanes < worth || !n.dtype.is_int() || n.dtype.bits != 8 ||
      n.buffer->elements() != kEntries)
    return std::nullopt;
  return as_byte(n.indices.front());
}

Value* emit_look_up(llvm::IRBuilder<>& b, const Cpu& cpu, const TablePart& table,
                    const ByteIndex& index, Value* bytes) {
  if (index.bytes.dtype().is_signed()) {
    bytes = b.CreateXor(bytes, llvm::ConstantInt::get(bytes->getType(), kEntries / 2));
  }
  const int total = lanes_of(bytes);
  int lanes = cpu.vector_bytes;
  while (cpu.look_up_bytes == kFew && lanes > kFew && lanes / 2 >= total) lanes /= 2;
  std::vector<Value*> parts;
  for (int at = 0; at < total; at += lanes) {
    const int count = std::min(lanes, total - at);
    std::vector<int> picked = every(lanes, at, 1);
    std::fill(picked.begin() + count, picked.end(), llvm::PoisonMaskElem);
    Value* found = LookUp(b, cpu, table, lanes).run(b.CreateShuffleVector(bytes, picked));
    parts.push_back(count == lanes ? found : b.CreateShuffleVector(found, every(count, 0, 1)));
  }
  return llvm::concatenateVectors(b, parts);
}

}  // namespace tenon::backend::llvm_cpu
