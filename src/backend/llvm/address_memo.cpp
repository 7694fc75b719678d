// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/address_memo.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/hash.h"

namespace tenon::backend::llvm_cpu {
namespace {

bool divides(ir::BinaryOp op) {
  return op == ir::BinaryOp::kDiv || op == ir::BinaryOp::kFloorDiv || op == ir::BinaryOp::kFloorMod;
}

bool keeps_atom(const ir::Expr& atom) {
  bool keeps = true;
  ir::visit(atom, [&](const ir::Expr& e) {
    const auto* n = e.as<ir::Binary>();
    keeps = keeps && e.as<ir::Load>() == nullptr &&
            (n == nullptr || !divides(n->op) || ir::const_int(n->b).has_value());
  });
  return keeps;
}

// Terms that are equal have equal hashes: atoms that are no variables count by their kind alone.
uint64_t hash_of(const AddressMemo::Array& array, const AddressMemo::Terms& terms) {
  Hasher h;
  h.add(reinterpret_cast<uint64_t>(array.base)).add(reinterpret_cast<uint64_t>(array.element));
  for (const auto& [atom, coefficient] : terms) {
    h.add(static_cast<uint64_t>(coefficient));
    h.add(atom.as<ir::VarNode>() != nullptr ? reinterpret_cast<uint64_t>(atom.get())
                                            : static_cast<uint64_t>(atom.kind()));
  }
  return h.value();
}

bool same_terms(const AddressMemo::Terms& a, const AddressMemo::Terms& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.second == y.second && arith::same_expr(x.first, y.first);
  });
}

}  // namespace

bool AddressMemo::keeps(const Terms& terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [](const auto& term) { return keeps_atom(term.first); });
}

llvm::Value* AddressMemo::find(const llvm::BasicBlock* block, const Array& array,
                               const Terms& terms) {
  if (block != block_) {
    clear();
    block_ = block;
  }
  const auto [begin, end] = known_.equal_range(hash_of(array, terms));
  for (auto it = begin; it != end; ++it) {
    if (it->second.array == array && same_terms(it->second.terms, terms)) return it->second.at;
  }
  return nullptr;
}

void AddressMemo::add(const Array& array, const Terms& terms, llvm::Value* at) {
  known_.emplace(hash_of(array, terms), Known{array, terms, at});
}

void AddressMemo::clear() {
  known_.clear();
  behind_.clear();
}

}  // namespace tenon::backend::llvm_cpu
