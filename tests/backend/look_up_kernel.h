// SPDX-License-Identifier: Apache-2.0
// Kernels that read a table of 256 entries at the places that 8-bit integers say.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "ir/build.h"

namespace tenon::backend {

// The entry of each of `x`, which are counted from the lowest integer of their type.
inline ir::Expr look_up(const ir::Buffer& table, const ir::Expr& x) {
  const int lanes = x.dtype().lanes;
  const ir::Expr at = ir::cast(ir::kI64, x);
  const ir::Expr moved = at + ir::broadcast(ir::Expr(128), lanes);
  return ir::load(table, {x.dtype().is_signed() ? moved : at});
}

// For each n of `lanes`: out[i] = table[x[i]] for 960 numbers, n at once.
inline ir::Function look_up_kernel(ir::DType x, ir::DType entry, const std::vector<int>& lanes) {
  constexpr int64_t kElements = 960;
  ir::Function f;
  f.name = fmt::format("look_up_{}_{}", ir::to_string(x), ir::to_string(entry));
  f.params = {ir::Buffer::make("x", x, {kElements}), ir::Buffer::make("table", entry, {256})};
  f.num_inputs = 2;
  std::vector<ir::Stmt> loops;
  for (const int n : lanes) {
    const auto out = ir::Buffer::make(fmt::format("out{}", n), entry, {kElements});
    const ir::Var i("i");
    const ir::Expr at = n == 1 ? ir::Expr(i) : ir::ramp(i * ir::Expr(n), 1, n);
    const ir::Expr found = look_up(f.params[1], ir::load(f.params[0], {at}));
    loops.push_back(
        ir::make_for(i, 0, kElements / n, ir::ForKind::kSerial, ir::store(out, {at}, found)));
    f.params.push_back(out);
  }
  f.body = ir::block(loops);
  return f;
}

// The first `count` of `lanes` lanes.
inline ir::Function masked_look_up_kernel(int64_t count, int lanes) {
  const auto x = ir::Buffer::make("x", ir::kU8, {count});
  const auto table = ir::Buffer::make("table", ir::kU8, {256});
  const auto out = ir::Buffer::make("out", ir::kU8, {count});
  const ir::Expr at = ir::ramp(0, 1, lanes);
  const ir::Expr mask = ir::lt(at, ir::broadcast(ir::Expr(count), lanes));
  const ir::Expr found = look_up(table, ir::load(x, {at}));
  return {"masked_look_up", {x, table, out}, 2, ir::store(out, {at}, found, mask)};
}

}  // namespace tenon::backend
