// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/work.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::backend::llvm_cpu {
namespace {

constexpr double kUnknownExtent = 16;
constexpr double kCall = 12;      // an exponential and its like
constexpr double kPerVector = 4;  // operations that a vector of a simple loop takes

double vectors(ir::DType t, const Cpu& cpu) {
  return std::ceil(static_cast<double>(t.bytes() * t.lanes) / cpu.vector_bytes);
}

double of(const ir::Expr& e, const Cpu& cpu) {
  if (!e.defined()) return 0;
  if (const auto* load = e.as<ir::Load>()) {
    const bool memory = load->buffer->scope != ir::Scope::kRegister;
    return (memory ? vectors(e.dtype(), cpu) : 0) + of(load->predicate, cpu);
  }
  if (e.as<ir::Ramp>() != nullptr || e.as<ir::Broadcast>() != nullptr) {
    return e.loads() ? 1 : 0;
  }
  double sum = 0;
  ir::for_each_child(e, [&](const ir::Expr& child) { sum += of(child, cpu); });
  if (e.as<ir::Call>() != nullptr) return sum + kCall * vectors(e.dtype(), cpu);
  const bool leaf = e.as<ir::IntImm>() != nullptr || e.as<ir::FloatImm>() != nullptr ||
                    e.as<ir::VarNode>() != nullptr;
  return leaf ? 0 : sum + vectors(e.dtype(), cpu);
}

}  // namespace

double vector_operations(const ir::Stmt& s, const Cpu& cpu) {
  if (!s.defined()) return 0;
  if (const auto* loop = s.as<ir::For>()) {
    const auto extent = ir::const_int(loop->extent);
    return (extent ? static_cast<double>(*extent) : kUnknownExtent) *
           vector_operations(loop->body, cpu);
  }
  if (const auto* cond = s.as<ir::If>()) {
    return std::max(vector_operations(cond->then_case, cpu),
                    vector_operations(cond->else_case, cpu));
  }
  if (const auto* made = s.as<ir::Allocate>()) return vector_operations(made->body, cpu);
  if (const auto* store = s.as<ir::Store>()) {
    const bool memory = store->buffer->scope != ir::Scope::kRegister;
    return of(store->value, cpu) + (memory ? vectors(store->value.dtype(), cpu) : 0);
  }
  double sum = 0;
  if (const auto* block = s.as<ir::Block>()) {
    for (const ir::Stmt& part : block->stmts) sum += vector_operations(part, cpu);
  }
  return sum;
}

int64_t iterations_per_piece(const ir::For& loop, const Cpu& cpu) {
  const double one = std::max(1.0, vector_operations(loop.body, cpu));
  const double least = kPerVector * static_cast<double>(cpu.parallel_vectors);
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(least / one)));
}

}  // namespace tenon::backend::llvm_cpu
