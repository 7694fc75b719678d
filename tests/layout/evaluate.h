// SPDX-License-Identifier: Apache-2.0
// Index expressions over loop variables, and their values at a point.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "arith/interval.h"
#include "ir/interp.h"
#include "ir/ir.h"
#include "ir/visit.h"

namespace tenon::layout {

using Index = std::vector<int64_t>;
using Env = std::map<const ir::VarNode*, int64_t>;

// One variable per dimension, bound to 0 .. extent-1.
struct Loops {
  explicit Loops(const std::vector<int64_t>& shape) : extents(shape) {
    for (size_t d = 0; d < shape.size(); ++d) {
      vars.emplace_back("i" + std::to_string(d));
      exprs.push_back(vars.back());
      ranges.bind(vars.back(), {0, shape[d] - 1});
    }
  }
  Env at(const Index& index) const {
    Env env;
    for (size_t d = 0; d < vars.size(); ++d) {
      env[vars[d].node()] = index[d];
    }
    return env;
  }
  std::vector<int64_t> extents;
  std::vector<ir::Var> vars;
  std::vector<ir::Expr> exprs;
  arith::Ranges ranges;
};

inline Index values_of(const std::vector<ir::Expr>& exprs, const Env& env) {
  Index out;
  for (const ir::Expr& e : exprs) {
    out.push_back(ir::eval(e, env).i);
  }
  return out;
}

inline int64_t offset_of(const Index& index, const std::vector<int64_t>& shape) {
  int64_t o = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    o = o * shape[d] + index[d];
  }
  return o;
}

inline bool inside(const Index& index, const std::vector<int64_t>& shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape[d]) {
      return false;
    }
  }
  return true;
}

template <class F>
void for_each_index(const std::vector<int64_t>& shape, const F& fn) {
  Index index(shape.size(), 0);
  for (;;) {
    fn(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) {
      index[--d] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

// 1, 2, 3, ...: 0 is left for padding.
inline ir::Array counted(const std::vector<int64_t>& shape) {
  ir::Array a(ir::kI32, shape);
  for (int64_t i = 0; i < a.elements(); ++i) {
    a.set(i, {i + 1, 0});
  }
  return a;
}

inline int count_divisions(const std::vector<ir::Expr>& exprs) {
  int n = 0;
  for (const ir::Expr& e : exprs) {
    ir::visit(e, [&](const ir::Expr& x) {
      const auto* b = x.as<ir::Binary>();
      n += b != nullptr && (b->op == ir::BinaryOp::kFloorDiv || b->op == ir::BinaryOp::kFloorMod);
    });
  }
  return n;
}

}  // namespace tenon::layout
