// SPDX-License-Identifier: Apache-2.0
#include "backend/gpu_kernels.h"

#include <vector>

#include "ir/build.h"

namespace tenon::backend {

using ir::Buffer;
using ir::Expr;
using ir::ForKind;
using ir::Function;
using ir::Scope;
using ir::Stmt;
using ir::ThreadTag;
using ir::Var;

namespace {

Stmt bound(const Var& v, int64_t extent, ThreadTag tag, const Stmt& body) {
  return ir::make_for(v, 0, extent, ForKind::kThread, body, tag);
}

Stmt serial(const Var& v, int64_t extent, const Stmt& body) {
  return ir::make_for(v, 0, extent, ForKind::kSerial, body);
}

Expr f32(double v, int lanes = 1) { return ir::make_float(ir::kF32.with_lanes(lanes), v); }

}  // namespace

Function scale_rows_gpu() {
  const Buffer a = Buffer::make("a", ir::kF32, {120});
  const Buffer b = Buffer::make("b", ir::kF32, {20});
  const Buffer out = Buffer::make("out", ir::kF32, {120});
  const Var by("by"), bx("bx"), ty("ty"), tx("tx");
  const Expr r = by * 4 + ty;
  const Expr c = bx * 8 + tx;
  const Expr i = r * 20 + c;
  const Stmt one = ir::store(out, {i}, ir::load(a, {i}) * f32(2) + ir::load(b, {c}));
  Stmt s = ir::make_if(ir::logical_and(ir::lt(r, 6), ir::lt(c, 20)), one);
  s = bound(ty, 4, ThreadTag::kThreadY, bound(tx, 8, ThreadTag::kThreadX, s));
  s = bound(by, 2, ThreadTag::kBlockY, bound(bx, 3, ThreadTag::kBlockX, s));
  return {.name = "scale_rows", .params = {a, b, out}, .num_inputs = 2, .body = s};
}

Function copy_gpu(int lanes, int64_t offset, ir::DType t) {
  const Buffer a = Buffer::make("a", t, {256 * lanes + offset});
  const Buffer out = Buffer::make("out", t, {256 * lanes});
  const Var bx("bx"), tx("tx");
  const Expr i = (bx * 64 + tx) * lanes;
  Stmt s = ir::store(out, {ir::ramp(i, 1, lanes)}, ir::load(a, {ir::ramp(i + offset, 1, lanes)}));
  s = bound(bx, 4, ThreadTag::kBlockX, bound(tx, 64, ThreadTag::kThreadX, s));
  return {.name = "copy", .params = {a, out}, .num_inputs = 1, .body = s};
}

Function transpose_gpu() {
  const Buffer a = Buffer::make("a", ir::kF32, {48 * 32});
  const Buffer out = Buffer::make("out", ir::kF32, {32 * 48});
  const Buffer tile = Buffer::make("tile", ir::kF32, {16 * 17}, Scope::kShared);
  const Var by("by"), bx("bx"), ty("ty"), tx("tx"), uy("uy"), ux("ux");
  const Stmt fill =
      ir::store(tile, {ty * 17 + tx}, ir::load(a, {(by * 16 + ty) * 32 + bx * 16 + tx}));
  const Stmt drain =
      ir::store(out, {(bx * 16 + uy) * 48 + by * 16 + ux}, ir::load(tile, {ux * 17 + uy}));
  Stmt s = ir::block(
      {bound(ty, 16, ThreadTag::kThreadY, bound(tx, 16, ThreadTag::kThreadX, fill)), ir::barrier(),
       bound(uy, 16, ThreadTag::kThreadY, bound(ux, 16, ThreadTag::kThreadX, drain))});
  s = ir::allocate(tile, s);
  s = bound(by, 3, ThreadTag::kBlockY, bound(bx, 2, ThreadTag::kBlockX, s));
  return {.name = "transpose", .params = {a, out}, .num_inputs = 1, .body = s};
}

Function row_sum_gpu(int64_t rows) {
  const Buffer a = Buffer::make("a", ir::kF32, {rows * 128});
  const Buffer out = Buffer::make("out", ir::kF32, {rows});
  const Buffer part = Buffer::make("part", ir::kF32, {64}, Scope::kShared);
  const Var bx("bx"), tx("tx");
  const Expr first = bx * 128 + tx;
  std::vector<Stmt> steps = {
      bound(tx, 64, ThreadTag::kThreadX,
            ir::store(part, {tx}, ir::load(a, {first}) + ir::load(a, {first + 64})))};
  for (int64_t half = 32; half > 0; half /= 2) {
    const Var t("t" + std::to_string(half));
    steps.push_back(ir::barrier());
    steps.push_back(bound(t, half, ThreadTag::kThreadX,
                          ir::store(part, {t}, ir::load(part, {t}) + ir::load(part, {t + half}))));
  }
  const Var last("last");
  steps.push_back(
      bound(last, 1, ThreadTag::kThreadX, ir::store(out, {bx}, ir::load(part, {last}))));
  const Stmt s = bound(bx, rows, ThreadTag::kBlockX, ir::allocate(part, ir::block(steps)));
  return {.name = "row_sum", .params = {a, out}, .num_inputs = 1, .body = s};
}

namespace {

constexpr int64_t kTile = 32, kSlice = 8, kOwn = 4;

// Four floats per thread: 64 threads fill a slice of 8 x 32.
Stmt fill_slice(const Buffer& to, const Buffer& from, const Expr& k0, const Expr& first,
                int64_t row) {
  const Var ty("fy"), tx("fx");
  const Expr at = ir::ramp((k0 * kSlice + ty) * row + first + tx * 4, 1, 4);
  const Stmt s = ir::store(to, {ir::ramp(ty * kTile + tx * 4, 1, 4)}, ir::load(from, {at}));
  return bound(ty, 8, ThreadTag::kThreadY, bound(tx, 8, ThreadTag::kThreadX, s));
}

Expr own(int64_t r) { return ir::ramp(r * kOwn, 1, static_cast<int>(kOwn)); }

// acc[4 x 4] += a * b for one k, both read from shared memory by vectors.
Stmt products(const Buffer& acc, const Buffer& a, const Buffer& b, const Expr& k) {
  const Var ty("py"), tx("px");
  const Buffer left = Buffer::make("left", ir::kF32, {kOwn}, Scope::kRegister);
  std::vector<Stmt> all = {
      ir::store(left, {own(0)}, ir::load(a, {ir::ramp(k * kTile + ty * kOwn, 1, 4)}))};
  const Expr right = ir::load(b, {ir::ramp(k * kTile + tx * kOwn, 1, 4)});
  for (int64_t r = 0; r < kOwn; ++r) {
    const Expr x = ir::broadcast(ir::load(left, {r}), 4);
    all.push_back(ir::store(acc, {own(r)}, ir::load(acc, {own(r)}) + x * right));
  }
  const Stmt s = ir::allocate(left, ir::block(all));
  return bound(ty, 8, ThreadTag::kThreadY, bound(tx, 8, ThreadTag::kThreadX, s));
}

Stmt write_tile(const Buffer& c, const Buffer& acc, const Expr& m0, const Expr& n0, int64_t row) {
  const Var ty("wy"), tx("wx");
  std::vector<Stmt> all;
  for (int64_t r = 0; r < kOwn; ++r) {
    const Expr at = (m0 + ty * kOwn + r) * row + n0 + tx * kOwn;
    all.push_back(ir::store(c, {ir::ramp(at, 1, 4)}, ir::load(acc, {own(r)})));
  }
  return bound(ty, 8, ThreadTag::kThreadY, bound(tx, 8, ThreadTag::kThreadX, ir::block(all)));
}

}  // namespace

Function matmul_gpu(int64_t m, int64_t n, int64_t k) {
  const Buffer a = Buffer::make("a", ir::kF32, {k * m});
  const Buffer b = Buffer::make("b", ir::kF32, {k * n});
  const Buffer c = Buffer::make("c", ir::kF32, {m * n});
  const Buffer as = Buffer::make("as", ir::kF32, {kSlice * kTile}, Scope::kShared);
  const Buffer bs = Buffer::make("bs", ir::kF32, {kSlice * kTile}, Scope::kShared);
  const Buffer acc = Buffer::make("acc", ir::kF32, {kOwn * kOwn}, Scope::kRegister);
  const Var by("by"), bx("bx"), k0("k0"), k1("k1");
  std::vector<Stmt> clear;
  for (int64_t r = 0; r < kOwn; ++r) clear.push_back(ir::store(acc, {own(r)}, f32(0, 4)));
  const Stmt slice =
      ir::block({fill_slice(as, a, k0, by * kTile, m), fill_slice(bs, b, k0, bx * kTile, n),
                 ir::barrier(), serial(k1, kSlice, products(acc, as, bs, k1)), ir::barrier()});
  Stmt s = ir::block({ir::block(clear), serial(k0, k / kSlice, slice),
                      write_tile(c, acc, by * kTile, bx * kTile, n)});
  s = ir::allocate(as, ir::allocate(bs, ir::allocate(acc, s)));
  s = bound(by, m / kTile, ThreadTag::kBlockY, bound(bx, n / kTile, ThreadTag::kBlockX, s));
  return {.name = "matmul", .params = {a, b, c}, .num_inputs = 2, .body = s};
}

Function border_sum_gpu(int64_t n, int lanes) {
  const Buffer a = Buffer::make("a", ir::kF32, {n});
  const Buffer out = Buffer::make("out", ir::kF32, {n});
  const Var bx("bx"), tx("tx");
  const Expr base = (bx * 32 + tx) * lanes;
  const Expr i = ir::ramp(base, 1, lanes);
  const auto near = [&](int64_t by) {
    const Expr at = i + Expr(by);
    const Expr inside = ir::logical_and(ir::le(ir::broadcast(Expr(0), lanes), at),
                                        ir::lt(at, ir::broadcast(Expr(n), lanes)));
    return ir::load(a, {at}, inside);
  };
  const Expr sum = near(-1) + near(0) + near(1);
  Stmt s = ir::store(out, {i}, sum, ir::lt(i, ir::broadcast(Expr(n), lanes)));
  const int64_t blocks = (n + 32 * lanes - 1) / (32 * lanes);
  s = bound(bx, blocks, ThreadTag::kBlockX, bound(tx, 32, ThreadTag::kThreadX, s));
  return {.name = "border_sum", .params = {a, out}, .num_inputs = 1, .body = s};
}

Function combine_gpu(int64_t threads, ir::DType t) {
  constexpr int64_t kRows = 5;
  const Buffer a = Buffer::make("a", t, {kRows * threads});
  const Buffer out = Buffer::make("out", t, {kRows * threads});
  const Buffer sum = Buffer::make("sum", t, {1}, Scope::kRegister);
  const Var ty("ty"), tx("tx");
  const Expr i = ty * threads + tx;
  const Stmt all = ir::block({ir::store(sum, {0}, ir::load(a, {i})),
                              ir::combine(ir::BinaryOp::kAdd, sum, threads),
                              ir::store(out, {i}, ir::load(sum, {0}) + ir::cast(t, tx))});
  Stmt s = ir::make_if(ir::lt(ty, kRows - 1), ir::allocate(sum, all));
  const Stmt rest = ir::make_if(ir::le(kRows - 1, ty), ir::store(out, {i}, ir::zero_of(t)));
  s = bound(ty, kRows, ThreadTag::kThreadY,
            bound(tx, threads, ThreadTag::kThreadX, ir::block({s, rest})));
  return {.name = "combine", .params = {a, out}, .num_inputs = 1, .body = s};
}

Function split_sum_gpu() {
  const Buffer a = Buffer::make("a", ir::kF32, {64 * 10});
  const Buffer out = Buffer::make("out", ir::kF32, {64});
  const Buffer acc = Buffer::make("acc", ir::kF32, {1}, Scope::kRegister);
  const Buffer parts = Buffer::make("parts", ir::kF32, {2 * 64});
  const Var bx("bx"), tx("tx"), k("k"), uy("uy");
  const Expr next = ir::load(acc, {0}) + ir::load(a, {(bx * 5 + k) * 64 + tx});
  const Stmt sum = ir::allocate(
      acc, ir::block({ir::store(acc, {0}, f32(0)), serial(k, 5, ir::store(acc, {0}, next)),
                      ir::store(parts, {bx * 64 + tx}, ir::load(acc, {0}))}));
  const Stmt first = bound(bx, 2, ThreadTag::kBlockX, bound(tx, 64, ThreadTag::kThreadX, sum));
  const Stmt second =
      bound(uy, 64, ThreadTag::kThreadX,
            ir::store(out, {uy}, ir::load(parts, {uy}) + ir::load(parts, {uy + 64})));
  return {.name = "split_sum",
          .params = {a, out},
          .num_inputs = 1,
          .body = ir::allocate(parts, ir::block({first, second}))};
}

}  // namespace tenon::backend
