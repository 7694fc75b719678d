// SPDX-License-Identifier: Apache-2.0
// Tiles that are turned on their way to or from memory: neighbouring accesses whose lanes lie far apart, or a few places.
#include "backend/harness.h"
#include "ir/build.h"

namespace tenon::backend {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::ForKind;
using ir::Function;
using ir::Stmt;
using ir::Var;

struct Tile {
  int lanes;
  int count;  // neighbours
  int stride;
};

std::vector<Tile> tiles() {
  std::vector<Tile> all;
  for (const int lanes : {4, 8, 16, 6}) {
    for (const int count : {2, 3, 5, 8, 13, 18}) {
      all.push_back({lanes, count, 19});
    }
    all.push_back({lanes, 5, -19});
    all.push_back({lanes, 4, 4});
    all.push_back({lanes, 5, 5});
    // All places between two lanes, some of them, and more.
    for (const int stride : {2, 3, 4}) {
      for (const int count : {2, 3, 4, 7}) all.push_back({lanes, count, stride});
    }
  }
  return all;
}

int64_t span(const Tile& t) { return (t.lanes - 1) * std::abs(t.stride) + t.count; }
int64_t first(const Tile& t) { return t.stride < 0 ? -(t.lanes - 1) * t.stride : 0; }

// Neighbour j of tile k, far lanes; the same, one after the other.
Expr far(const Tile& t, const Expr& base, int j) {
  return ir::ramp(base + Expr(first(t) + j), t.stride, t.lanes);
}
Expr dense(const Tile& t, const Expr& base, int j) {
  return ir::ramp(base + Expr(int64_t{j} * t.lanes), 1, t.lanes);
}

// Two loop rounds, so that addresses are not constants; the last round ends where the buffer ends.
Function in_loop(const Buffer& in, const Buffer& out, const Var& i, std::vector<Stmt> body) {
  return {
      "tile", {in, out}, 1, ir::make_for(i, 0, 2, ForKind::kSerial, ir::block(std::move(body)))};
}

// One function for all tiles; `make` gives the statement for neighbour j of a tile.
template <class Make>
void expect_all_tiles(int64_t in_elements(const Tile&), int64_t out_elements(const Tile&),
                      const Make& make) {
  for (const DType dtype : {ir::kF32, ir::kF16}) {
    Function f{"tiles", {}, 0, {}};
    std::vector<Buffer> outputs;
    std::vector<Stmt> loops;
    for (const Tile& t : tiles()) {
      const Buffer in = Buffer::make("in", dtype, {2 * in_elements(t)});
      outputs.push_back(Buffer::make("out", dtype, {2 * out_elements(t)}));
      const Var i("i");
      std::vector<Stmt> body;
      for (int j = 0; j < t.count; ++j) body.push_back(make(t, in, outputs.back(), i, j));
      loops.push_back(ir::make_for(i, 0, 2, ForKind::kSerial, ir::block(body)));
      f.params.push_back(in);
    }
    f.num_inputs = f.params.size();
    f.params.insert(f.params.end(), outputs.begin(), outputs.end());
    f.body = ir::block(loops);
    Rng rng(1);
    expect_same(f, random_args(f, rng));
  }
}

int64_t elements(const Tile& t) { return int64_t{t.count} * t.lanes; }

TEST(TransposeTest, StoresOfNeighbours) {
  expect_all_tiles(elements, span,
                   [](const Tile& t, const Buffer& in, const Buffer& out, const Var& i, int j) {
                     const int last = t.count - 1 - j;  // from the last to the first
                     return ir::store(out, {far(t, i * Expr(span(t)), last)},
                                      ir::load(in, {dense(t, i * Expr(elements(t)), j)}));
                   });
}

TEST(TransposeTest, LoadsOfNeighbours) {
  expect_all_tiles(span, elements,
                   [](const Tile& t, const Buffer& in, const Buffer& out, const Var& i, int j) {
                     return ir::store(out, {dense(t, i * Expr(elements(t)), j)},
                                      ir::load(in, {far(t, i * Expr(span(t)), j)}));
                   });
}

// Vectors of two blocks of channels, stored in turns.
TEST(TransposeTest, TwoStripsInTurns) {
  const Tile t{8, 7, 11};
  const int64_t apart = int64_t{t.lanes} * t.stride;
  const Buffer in = Buffer::make("in", ir::kF32, {int64_t{4} * t.count * t.lanes});
  const Buffer out = Buffer::make("out", ir::kF32, {4 * apart});
  const Var i("i");
  std::vector<Stmt> body;
  for (int j = 0; j < t.count; ++j) {
    for (int k = 0; k < 2; ++k) {
      const Expr x = ir::load(in, {dense(t, i * Expr(int64_t{2} * t.count * t.lanes), 2 * j + k)});
      body.push_back(ir::store(out, {far(t, i * Expr(2 * apart) + Expr(k * apart), j)}, x + x));
    }
  }
  const Function f = in_loop(in, out, i, body);
  Rng rng(3);
  expect_same(f, random_args(f, rng));
}

// The later of two stores to one place wins.
TEST(TransposeTest, OverlappingStoresKeepTheirOrder) {
  for (const int shift : {9, 18}) {
    const Tile t{4, 3, 9};
    const Buffer in = Buffer::make("in", ir::kF32, {int64_t{4} * t.count * t.lanes});
    const Buffer out = Buffer::make("out", ir::kF32, {2 * span(t) + shift});
    const Var i("i");
    std::vector<Stmt> body;
    for (int k = 0; k < 2 * t.count; ++k) {
      const Expr base = i * Expr(span(t)) + Expr(k < t.count ? shift : 0);
      body.push_back(
          ir::store(out, {far(t, base, k % t.count)},
                    ir::load(in, {dense(t, i * Expr(int64_t{2} * t.count * t.lanes), k)})));
    }
    const Function f = in_loop(in, out, i, body);
    Rng rng(4);
    expect_same(f, random_args(f, rng));
  }
}

// The last vectors of both phases are not full: only what lies below the end is written.
TEST(TransposeTest, PartsOfVectorsSideBySide) {
  for (const int stride : {2, 3, 4}) {
    const int lanes = 16;
    const int64_t size = int64_t{lanes} * stride;
    const Buffer in = Buffer::make("in", ir::kF32, {2 * size});
    const Buffer out = Buffer::make("out", ir::kF32, {2 * size - 3 * stride});
    const Var i("i");
    std::vector<Stmt> body;
    for (int j = 0; j < stride; ++j) {
      const Expr lane = ir::ramp(Expr(0), 1, lanes);
      const Expr full =
          ir::lt(lane + ir::broadcast(i * 3, lanes), ir::broadcast(Expr(lanes), lanes));
      const Expr x = ir::load(in, {ir::ramp(i * Expr(size) + Expr(j * lanes), 1, lanes)});
      body.push_back(ir::store(out, {ir::ramp(i * Expr(size) + Expr(j), stride, lanes)}, x, full));
    }
    const Function f = in_loop(in, out, i, body);
    Rng rng(6);
    expect_same(f, random_args(f, rng));
  }
}

// The first lane lies before the buffer, the last ones behind it: neither is read.
TEST(TransposeTest, LanesApartOutsideOfTheBuffer) {
  for (const int stride : {2, 3, 4}) {
    for (const int lanes : {3, 8, 16}) {
      const int64_t size = int64_t{stride} * (lanes - 2);
      const Buffer in = Buffer::make("in", ir::kF32, {size});
      const Buffer out = Buffer::make("out", ir::kF32, {int64_t{2} * lanes});
      const Var i("i");
      const Expr at = ir::ramp(i - Expr(1), stride, lanes);
      const Expr inside = ir::logical_and(ir::le(ir::broadcast(Expr(0), lanes), at),
                                          ir::lt(at, ir::broadcast(Expr(size), lanes)));
      const Expr zero = ir::broadcast(ir::make_float(ir::kF32, 0), lanes);
      const Stmt body = ir::store(out, {ir::ramp(i * lanes, 1, lanes)},
                                  ir::select(inside, ir::load(in, {at}), zero));
      const Function f = in_loop(in, out, i, {body});
      Rng rng(7);
      expect_same(f, random_args(f, rng));
    }
  }
}

// What is read may have been written by the statement before.
class WrittenAndRead : public ::testing::TestWithParam<int> {};

TEST_P(WrittenAndRead, StaysInOrder) {
  const Tile t{4, 4, GetParam()};
  const Buffer in = Buffer::make("in", ir::kF32, {64});
  const Buffer out = Buffer::make("out", ir::kF32, {64});
  const Var i("i");
  std::vector<Stmt> body;
  for (int j = 0; j < t.count; ++j)
    body.push_back(ir::store(out, {far(t, i, j)}, ir::load(in, {far(t, i, j)})));
  for (int j = 0; j < t.count; ++j) {
    body.push_back(
        ir::store(out, {far(t, i, j)},
                  ir::load(out, {far(t, i, (j + 1) % t.count)}) + ir::load(in, {far(t, i, j)})));
  }
  const Function f = in_loop(in, out, i, body);
  Rng rng(5);
  expect_same(f, random_args(f, rng));
}

INSTANTIATE_TEST_SUITE_P(TransposeTest, WrittenAndRead, ::testing::Values(2, 3, 7));

}  // namespace
}  // namespace tenon::backend
