// SPDX-License-Identifier: Apache-2.0
// Addresses that were written into the block that is being filled. A tile that is written out reads a few places hundreds
// of times; whoever asks here first writes each of them once, and the optimiser, which would find them equal anyway, has
// about half of the instructions to read.
//
//   p = a + 4*i + j;  p + 1;  p + 2     for a[4*i + j], a[4*i + j + 1], a[4*i + j + 2], a[4*i + j + 1]
#pragma once

#include <llvm/IR/BasicBlock.h>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/linear.h"

namespace tenon::backend::llvm_cpu {

// A memo knows nothing of variables: whoever binds one to another value clears it.
class AddressMemo {
 public:
  using Terms = std::vector<std::pair<ir::Expr, int64_t>>;

  struct Array {
    const llvm::Value* base;
    const llvm::Type* element;
    bool operator==(const Array&) const = default;
  };

  // Whether these terms have the same value wherever they stand in a block: they read no memory, and no lane that is off
  // changes them.
  static bool keeps(const Terms& terms);

  // The address of array[terms], without a constant; null: it is not in this block, where the next add() puts it.
  llvm::Value* find(const llvm::BasicBlock* block, const Array& array, const Terms& terms);
  void add(const Array& array, const Terms& terms, llvm::Value* at);

  // The place of the address so many elements behind `at`, an address of the memo; null at first.
  llvm::Value*& behind(const llvm::Value* at, int64_t elements) { return behind_[{at, elements}]; }

  void clear();

 private:
  struct Known {
    Array array;
    Terms terms;
    llvm::Value* at;
  };
  const llvm::BasicBlock* block_ = nullptr;
  std::unordered_multimap<uint64_t, Known> known_;
  std::map<std::pair<const llvm::Value*, int64_t>, llvm::Value*> behind_;
};

}  // namespace tenon::backend::llvm_cpu
