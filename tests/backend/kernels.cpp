// SPDX-License-Identifier: Apache-2.0
#include "backend/kernels.h"

#include <fmt/format.h>

#include "ir/build.h"

namespace tenon::backend {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::ForKind;
using ir::Function;
using ir::Scope;
using ir::Stmt;
using ir::Var;

namespace {

Stmt serial(const Var& v, int64_t extent, const Stmt& body) {
  return ir::make_for(v, 0, extent, ForKind::kSerial, body);
}

Stmt parallel(const Var& v, int64_t extent, const Stmt& body) {
  return ir::make_for(v, 0, extent, ForKind::kParallel, body);
}

Expr f32(double v, int lanes) { return ir::make_float(ir::kF32.with_lanes(lanes), v); }

// A register tile of rows x vectors and its statements: cleared, one step of products, written out.
struct Tile {
  Buffer acc;
  int rows, vectors, lanes;

  Tile(int r, int v, int n)
      : acc(Buffer::make("acc", ir::kF32, {int64_t{r} * v * n}, Scope::kRegister)),
        rows(r),
        vectors(v),
        lanes(n) {}
  Expr at(int r, int v) const { return ir::ramp(int64_t{r * vectors + v} * lanes, 1, lanes); }
  template <class F>
  Stmt each(F&& fn) const {
    std::vector<Stmt> all;
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        all.push_back(fn(r, v));
      }
    }
    return ir::block(all);
  }
  Stmt clear() const {
    return each([&](int r, int v) { return ir::store(acc, {at(r, v)}, f32(0, lanes)); });
  }
  // acc[r][v] += left(r) * right(v)
  template <class L, class R>
  Stmt step(L&& left, R&& right) const {
    return each([&](int r, int v) {
      const Expr product = ir::broadcast(left(r), lanes) * right(v);
      return ir::store(acc, {at(r, v)}, ir::load(acc, {at(r, v)}) + product);
    });
  }
};

}  // namespace

Function matmul_kernel(const MatmulShape& s) {
  const int64_t width = int64_t{s.vectors} * s.lanes;
  const Buffer a = Buffer::make("a", ir::kF32, {s.m * s.k});
  const Buffer b = Buffer::make("b", ir::kF32, {s.n * s.k});
  const Buffer c = Buffer::make("c", ir::kF32, {s.m * s.n});
  const Tile tile(s.rows, s.vectors, s.lanes);
  const Var i("i");
  const Var j("j");
  const Var k("k");
  const Stmt update =
      tile.step([&](int r) { return ir::load(a, {(i * s.rows + r) * s.k + k}); },
                [&](int v) {
                  return ir::load(b, {ir::ramp((j * s.k + k) * width + v * s.lanes, 1, s.lanes)});
                });
  const Stmt out = tile.each([&](int r, int v) {
    const Expr to = (i * s.rows + r) * s.n + j * width + v * s.lanes;
    return ir::store(c, {ir::ramp(to, 1, s.lanes)}, ir::load(tile.acc, {tile.at(r, v)}));
  });
  const Stmt body = ir::allocate(tile.acc, ir::block({tile.clear(), serial(k, s.k, update), out}));
  return {"matmul", {a, b, c}, 2, parallel(j, s.n / width, serial(i, s.m / s.rows, body))};
}

Function conv3x3_kernel(const ConvShape& s) {
  const int64_t width = int64_t{s.vectors} * s.lanes;
  const Buffer in = Buffer::make("in", ir::kF32, {s.ci * (s.h + 2) * (s.w + 2) * s.lanes});
  const Buffer weights = Buffer::make("weights", ir::kF32, {s.ko * s.ci * 9 * s.lanes * width});
  const Buffer out = Buffer::make("out", ir::kF32, {s.ko * s.vectors * s.h * s.w * s.lanes});
  const Tile tile(s.columns, s.vectors, s.lanes);
  const Var ko("ko");
  const Var y("y");
  const Var x("x");
  const Var ci("ci");
  const Var r("r");
  const Var q("q");
  const Var c("c");
  const Expr pixel = (ci * (s.h + 2) + y + r) * (s.w + 2) + x * s.columns + q;
  const Expr tap = (((ko * s.ci + ci) * 3 + r) * 3 + q) * s.lanes + c;
  const Stmt update = tile.step(
      [&](int t) { return ir::load(in, {(pixel + t) * s.lanes + c}); },
      [&](int v) { return ir::load(weights, {ir::ramp(tap * width + v * s.lanes, 1, s.lanes)}); });
  const Stmt reduce = serial(ci, s.ci, serial(r, 3, serial(q, 3, serial(c, s.lanes, update))));
  const Stmt finish = tile.each([&](int t, int v) {
    const Expr to = (((ko * s.vectors + v) * s.h + y) * s.w + x * s.columns + t) * s.lanes;
    const Expr relu = ir::max(ir::load(tile.acc, {tile.at(t, v)}), f32(0, s.lanes));
    return ir::store(out, {ir::ramp(to, 1, s.lanes)}, relu);
  });
  const Stmt body = ir::allocate(tile.acc, ir::block({tile.clear(), reduce, finish}));
  return {"conv3x3",
          {in, weights, out},
          2,
          parallel(ko, s.ko, serial(y, s.h, serial(x, s.w / s.columns, body)))};
}

Function depthwise3x3_kernel(int64_t c, int64_t h, int64_t w, int columns, int lanes) {
  const Buffer in = Buffer::make("in", ir::kF32, {c * (h + 2) * (w + 2) * lanes});
  const Buffer weights = Buffer::make("weights", ir::kF32, {c * 9 * lanes});
  const Buffer out = Buffer::make("out", ir::kF32, {c * h * w * lanes});
  const Buffer held = Buffer::make("held", ir::kF32, {int64_t{9} * lanes}, Scope::kRegister);
  const Var p("p");
  const Var y("y");
  const Var x("x");
  const auto run = [&](const Expr& element) { return ir::ramp(element * lanes, 1, lanes); };
  std::vector<Stmt> hold;
  hold.reserve(10);
  for (int t = 0; t < 9; ++t) {
    hold.push_back(ir::store(held, {run(Expr(t))}, ir::load(weights, {run(p * 9 + t)})));
  }
  std::vector<Stmt> row;
  for (int q = 0; q < columns; ++q) {
    Expr sum = f32(0, lanes);
    for (int t = 0; t < 9; ++t) {
      const Expr pixel = (p * (h + 2) + y + t / 3) * (w + 2) + x * columns + (q + t % 3);
      sum = sum + ir::load(in, {run(pixel)}) * ir::load(held, {run(Expr(t))});
    }
    row.push_back(ir::store(out, {run((p * h + y) * w + x * columns + q)}, sum));
  }
  const Stmt body = serial(y, h, serial(x, w / columns, ir::block(row)));
  hold.push_back(body);
  return {
      "depthwise3x3", {in, weights, out}, 2, parallel(p, c, ir::allocate(held, ir::block(hold)))};
}

Function relu_add_kernel(int64_t n, int lanes, DType t) {
  const Buffer a = Buffer::make("a", t, {n});
  const Buffer b = Buffer::make("b", t, {n});
  const Buffer out = Buffer::make("out", t, {n});
  const auto apply = [&](const Expr& at, const Expr& where) {
    const Expr zero = ir::zero_of(t.with_lanes(lanes));
    return ir::store(out, {at}, ir::max(ir::load(a, {at}, where), zero) + ir::load(b, {at}, where),
                     where);
  };
  const Var i("i");
  const int64_t whole = n / lanes;
  const Expr tail = ir::ramp(whole * lanes, 1, lanes);
  const Expr inside = ir::lt(ir::ramp(0, 1, lanes), ir::broadcast(Expr(n % lanes), lanes));
  return {"relu_add",
          {a, b, out},
          2,
          ir::block({serial(i, whole, apply(ir::ramp(i * lanes, 1, lanes), Expr())),
                     apply(tail, inside)})};
}

Function row_normalize_kernel(int64_t rows, int64_t vectors, int lanes) {
  const Buffer in = Buffer::make("in", ir::kF32, {rows * vectors * lanes});
  const Buffer out = Buffer::make("out", ir::kF32, {rows * vectors * lanes});
  const Buffer top = Buffer::make("top", ir::kF32, {lanes}, Scope::kRegister);
  const Buffer sum = Buffer::make("sum", ir::kF32, {lanes}, Scope::kRegister);
  const Var i("i");
  const Var j("j");
  const Var k("k");
  const Var l("l");
  const auto run = [&](const Var& v) { return ir::ramp((i * vectors + v) * lanes, 1, lanes); };
  const Expr all = ir::ramp(0, 1, lanes);
  const auto joined = [&](ir::BinaryOp op, const Buffer& b) {
    return ir::broadcast(ir::vector_reduce(op, ir::load(b, {all})), lanes);
  };
  const auto shifted = [&](const Var& v) {
    return ir::load(in, {run(v)}) - joined(ir::BinaryOp::kMax, top);
  };
  const Stmt body = ir::block(
      {ir::store(top, {all}, f32(-1e30, lanes)), ir::store(sum, {all}, f32(0, lanes)),
       serial(j, vectors,
              ir::store(top, {all}, ir::max(ir::load(top, {all}), ir::load(in, {run(j)})))),
       serial(k, vectors,
              ir::store(sum, {all},
                        ir::load(sum, {all}) + ir::call(ir::Intrinsic::kAbs, {shifted(k)}))),
       serial(l, vectors, ir::store(out, {run(l)}, shifted(l) / joined(ir::BinaryOp::kAdd, sum)))});
  return {
      "row_normalize", {in, out}, 1, parallel(i, rows, ir::allocate(top, ir::allocate(sum, body)))};
}

std::vector<DotCase> dot_cases() {
  return {{ir::kU8, ir::kI8, ir::kI32, 4},   {ir::kI8, ir::kU8, ir::kI32, 4},
          {ir::kI8, ir::kI8, ir::kI32, 4},   {ir::kU8, ir::kU8, ir::kI32, 4},
          {ir::kI16, ir::kI16, ir::kI32, 2}, {ir::kBF16, ir::kBF16, ir::kF32, 2}};
}

namespace {

// acc + the sums of lanes `first`.. of A (or of its one group) times B.
Expr dot_sum(const DotCase& c, const Buffer& a, const Buffer& b, const Expr& first, int lanes,
             bool shared) {
  const int all = lanes * c.group;
  const Expr packed = ir::ramp(first * Expr(c.group), 1, all);
  const Expr repeated = ir::floor_mod(ir::ramp(0, 1, all), c.group);
  const Expr x = ir::cast(c.sum, ir::load(a, {shared ? repeated : packed}));
  const Expr y = ir::cast(c.sum, ir::load(b, {packed}));
  return ir::vector_reduce(ir::BinaryOp::kAdd, x * y, lanes);
}

std::string dot_name(const DotCase& c, const char* kind) {
  return fmt::format("dot_{}{}_{}", ir::to_string(c.a), ir::to_string(c.b), kind);
}

}  // namespace

Function dot_kernel(const DotCase& c, bool shared) {
  const auto a = Buffer::make("A", c.a, {shared ? c.group : 128 * c.group});
  const auto b = Buffer::make("B", c.b, {128 * c.group});
  const auto acc = Buffer::make("acc", c.sum, {128});
  Function f{dot_name(c, shared ? "shared" : "packed"), {a, b, acc}, 3, {}};
  std::vector<Stmt> loops;
  for (const int lanes : {2, 3, 4, 5, 7, 8, 11, 16, 20, 32, 64}) {
    const auto out = Buffer::make(fmt::format("out{}", lanes), c.sum, {128});
    f.params.push_back(out);
    const Var i("i");
    const Expr first = i * Expr(lanes);
    const Expr at = ir::ramp(first, 1, lanes);
    const Expr sum = ir::load(acc, {at}) + dot_sum(c, a, b, first, lanes, shared);
    loops.push_back(make_for(i, 0, 128 / lanes, ForKind::kSerial, ir::store(out, {at}, sum)));
    // Without anything to add to, and what is left behind the last vector.
    loops.push_back(ir::store(out, {ir::ramp(128 - lanes, 1, lanes)},
                              dot_sum(c, a, b, 128 - lanes, lanes, shared)));
  }
  f.body = ir::block(loops);
  return f;
}

Function one_dot_kernel(const DotCase& c, int lanes) {
  const auto a = Buffer::make("A", c.a, {c.group});
  const auto b = Buffer::make("B", c.b, {lanes * c.group});
  const auto out = Buffer::make("out", c.sum, {lanes});
  const Expr at = ir::ramp(0, 1, lanes);
  const auto acc = Buffer::make("acc", c.sum, {lanes});
  const Expr sum = ir::load(acc, {at}) + dot_sum(c, a, b, 0, lanes, true);
  return {dot_name(c, "one"), {a, b, acc, out}, 3, ir::store(out, {at}, sum)};
}

Function masked_dot_kernel(const DotCase& c) {
  const auto a = Buffer::make("A", c.a, {c.group});
  const auto b = Buffer::make("B", c.b, {37 * c.group});
  const auto out = Buffer::make("out", c.sum, {37});
  const Var i("i");
  const Expr at = ir::ramp(i * Expr(16), 1, 16);
  const Expr zero = ir::zero_of(c.sum.with_lanes(16));
  const Expr sum = zero + dot_sum(c, a, b, i * Expr(16), 16, true);
  const Stmt body = ir::store(out, {at}, sum, ir::lt(at, 37));
  return {dot_name(c, "masked"), {a, b, out}, 2, make_for(i, 0, 3, ForKind::kSerial, body)};
}

}  // namespace tenon::backend
