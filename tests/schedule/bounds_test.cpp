// SPDX-License-Identifier: Apache-2.0
// Which part of an attached stage is computed where: worked examples, and brute force over random affine accesses.
#include "schedule/bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "ir/interp.h"
#include "ir/print.h"
#include "schedule/programs.h"
#include "schedule/scheduled.h"
#include "support/rng.h"

namespace tenon::schedule {
namespace {

// "x.0 * 4 - 1 +6, 0 +3": where the box of a stage starts and how long it is, by axis.
std::string box_of(const State& s, const std::string& stage) {
  const auto b = infer_bounds(s);
  if (!b) return render_illegal(s, b.illegal());
  std::string out;
  for (const AxisBounds& a : b->stages[static_cast<size_t>(s.find(stage))].axes) {
    out += (out.empty() ? "" : ", ") + fmt::format("{} +{}", ir::to_string(a.min), a.extent);
  }
  return out;
}

struct Worked {
  std::string what;
  std::string te;
  std::string trace;
  std::string stage;
  std::string box;
};

// Y[x] = sum of P[x*stride + r*dilation]
std::string window(int64_t outputs, int64_t taps, int64_t stride, int64_t dilation) {
  const int64_t inputs = (outputs - 1) * stride + (taps - 1) * dilation + 1;
  return fmt::format(
      "input X: f32[{0}]\nP[x: {0}] = X[x] + 1.0\n"
      "Y[x: {1}] = sum(r: {2}) P[x*{3} + r*{4}]\noutput Y\n",
      inputs, outputs, taps, stride, dilation);
}

const char* const kUnion = R"(
input A: f32[40]
B[i: 40] = A[i] + 1.0
C[i: 12] = B[i*3] + B[i*3 + 4] - B[i*3 + 2]
output C
)";
const char* const kApart = R"(
input A: f32[40]
B[i: 40] = A[i] + 1.0
C[i: 12] = B[i] + B[i*2 + 4]
output C
)";
const char* const kReversed = R"(
input A: f32[12]
B[i: 12] = A[i] + 1.0
C[i: 12] = B[11 - i]
output C
)";

TEST(Bounds, WorkedExamples) {
  const Worked cases[] = {
      {"at the root: everything", kMatmul, "", "C", "0 +7, 0 +11"},
      {"one element", kMatmul, "compute_at C D j", "C", "i +1, j +1"},
      {"one row", kMatmul, "compute_at C D i", "C", "i +1, 0 +11"},
      {"a column, after reorder", kMatmul, "reorder D [j, i]\ncompute_at C D j", "C", "0 +7, j +1"},
      {"tile of a split that does not divide", kMatmul, "split D j [4]\ncompute_at C D j.0", "C",
       "i +1, j.0 * 4 +4"},
      {"near-equal parts", kChain, "split D j [5] parts\ncompute_at C D j.0", "C",
       "i +1, j.0 * 2 + min(j.0, 3) +3"},
      {"near-equal parts, all but the last long", kMatmul,
       "split D j [3] parts\ncompute_at C D j.0", "C", "i +1, j.0 * 4 +4"},
      {"tails inside", window(7, 3, 2, 1),
       "split Y x [5]\nsplit Y x.1 [2]\nreorder Y [r, x.0]\n"
       "compute_at P Y r",
       "P", "r +13"},
      {"parts of one", kMatmul, "split D j [11] parts\ncompute_at C D j.0", "C", "i +1, j.0 +1"},
      {"window and halo", window(16, 3, 1, 1), "split Y x [4]\ncompute_at P Y x.0", "P",
       "x.0 * 4 +6"},
      {"stride 2", window(16, 3, 2, 1), "split Y x [4]\ncompute_at P Y x.0", "P", "x.0 * 8 +9"},
      {"dilation 3", window(16, 3, 1, 3), "split Y x [4]\ncompute_at P Y x.0", "P", "x.0 * 4 +10"},
      {"stride and dilation", window(16, 3, 2, 3), "split Y x [4]\ncompute_at P Y x.0", "P",
       "x.0 * 8 +13"},
      {"gaps are part of the box", window(4, 1, 5, 1), "split Y x [2]\ncompute_at P Y x.0", "P",
       "x.0 * 10 +6"},
      {"inside the reduction", window(16, 3, 2, 1), "reorder Y [r, x]\ncompute_at P Y r", "P",
       "r +31"},
      {"inside everything", window(16, 3, 2, 1), "compute_at P Y r", "P", "x * 2 + r +1"},
      {"whole when the tile covers it", window(16, 3, 1, 1), "split Y x [16]\ncompute_at P Y x.0",
       "P", "0 +18"},
      {"fused loops outside", kMatmul, "fuse D [i, j]\ncompute_at C D i@j", "C",
       "i@j // 11 +1, i@j % 11 +1"},
      {"fused loops inside", kConv, "fuse Y [c, r]\ncompute_at P Y x", "P", "0 +3, x * 2 +3"},
      {"fused parts inside", kMatmul,
       "split D i [7]\nsplit D j [11]\nreorder D [i.0, j.0, i.1, j.1]\nfuse D [i.1, "
       "j.1]\ncompute_at C D j.0",
       "C", "0 +7, 0 +11"},
      {"fused and split, whole rows", kChain,
       "fuse D [i, j]\nsplit D i@j [13]\ncompute_at C D i@j.0", "C", "i@j.0 +1, 0 +13"},
      {"reads that overlap", kUnion, "split C i [4]\ncompute_at B C i.0", "B", "i.0 * 12 +14"},
      {"read backwards", kReversed, "split C i [4]\ncompute_at B C i.0", "B", "8 - i.0 * 4 +4"},
      {"by what another tensor says: all rows", kGather, "compute_at B C j", "B", "0 +7, j +1"},
      {"through another stage", kConv, "split Z x [2]\ncompute_at Y Z x.0\ncompute_at P Z x.0", "P",
       "0 +3, x.0 * 4 +5"},
      {"inside another stage", kConv, "split Z x [2]\ncompute_at Y Z x.0\ncompute_at P Y c", "P",
       "c +1, x.0 * 4 + x * 2 +3"},
      {"parts of two strides", kApart, "split C i [4]\ncompute_at B C i.0", "B",
       "the part of B that loop i.0 of C needs is not a box"},
      {"half of a fused loop", kMatmul, "fuse D [i, j]\nsplit D i@j [4]\ncompute_at C D i@j.0", "C",
       "the part of C that loop i@j.0 of D needs is not a box"},
  };
  for (const Worked& c : cases) {
    SCOPED_TRACE(c.what);
    std::string box;
    try {
      const State s = scheduled(c.te, c.trace);
      box = box_of(s, c.stage);
      EXPECT_EQ(problem_of(s), "");
    } catch (const UserError& e) {
      box = e.what();
      box = box.substr(box.rfind(": ") + 2);
    }
    EXPECT_EQ(box, c.box);
  }
}

TEST(Bounds, LoopsAreAsLongAsTheBox) {
  const State s = scheduled(window(16, 3, 2, 1),
                            "split Y x [4]\ncompute_at P Y x.0\nsplit P x [4]\nsplit P x.0 [2]");
  const auto b = infer_bounds(s);
  ASSERT_TRUE(b);
  const Stage& p = s.stage(1);
  const StageBounds& sb = b->stages[1];
  EXPECT_EQ(sb.axes[0].extent, 9);
  std::string loops;
  for (const LoopId l : p.leaves) {
    loops += fmt::format("{} {}; ", p.loop_name(l), sb.extents[static_cast<size_t>(l)]);
  }
  EXPECT_EQ(loops, "x.0.0 2; x.0.1 2; x.1 4; ");
  EXPECT_EQ(ir::to_string(sb.values[0]), "(x.0.0 * 2 + x.0.1) * 4 + x.1");
}

// ---- brute force -----------------------------------------------------------------------------

using Env = std::map<const ir::VarNode*, int64_t>;

// Calls fn for every value of the leaves of `st` from position `at` on.
void for_each_iteration(const Stage& st, const StageBounds& sb, size_t at, Env& env,
                        const std::function<void()>& fn) {
  if (at == st.leaves.size()) return fn();
  const size_t l = static_cast<size_t>(st.leaves[at]);
  for (int64_t i = 0; i < sb.extents[l]; ++i) {
    env[sb.vars[l].node()] = i;
    for_each_iteration(st, sb, at + 1, env, fn);
  }
}

bool all_hold(const std::vector<ir::Expr>& guards, const Env& env) {
  for (const ir::Expr& g : guards) {
    if (ir::eval(g, env).i == 0) return false;
  }
  return true;
}

struct Hull {
  std::vector<int64_t> lo, hi;
  void add(const std::vector<int64_t>& at) {
    if (lo.empty()) lo = hi = at;
    for (size_t d = 0; d < at.size(); ++d) {
      lo[d] = std::min(lo[d], at[d]);
      hi[d] = std::max(hi[d], at[d]);
    }
  }
};

// B attached to C: every element that C reads lies in the box and passes B's guards. True if the box is also no
// larger than what some iteration needs.
bool expect_box(const State& s, StageId producer, StageId consumer) {
  const auto b = infer_bounds(s);
  EXPECT_TRUE(b);
  if (!b) return false;
  const Stage& p = s.stage(producer);
  const Stage& c = s.stage(consumer);
  const StageBounds& pb = b->stages[static_cast<size_t>(producer)];
  const StageBounds& cb = b->stages[static_cast<size_t>(consumer)];
  const ir::VarMap axes = axis_values(c, cb);
  std::vector<std::vector<ir::Expr>> reads;
  ir::visit(c.op->body, [&](const ir::Expr& e) {
    const auto* l = e.as<ir::Load>();
    if (l == nullptr || !l->buffer.same_as(p.buffer)) return;
    reads.emplace_back();
    for (const ir::Expr& i : l->indices) reads.back().push_back(ir::substitute(i, axes));
  });
  const size_t rank = pb.axes.size();
  std::vector<int64_t> most(rank, 0);
  std::map<std::vector<int64_t>, Hull> boxes;  // by the values of the loops around the attachment
  Env env;
  for_each_iteration(c, cb, 0, env, [&] {
    if (!all_hold(cb.guards, env)) return;
    std::vector<int64_t> outer;
    for (int i = 0; i <= c.position(p.at_loop); ++i) {
      outer.push_back(env[cb.vars[static_cast<size_t>(c.leaves[static_cast<size_t>(i)])].node()]);
    }
    for (const auto& read : reads) {
      std::vector<int64_t> at;
      for (const ir::Expr& i : read) at.push_back(ir::eval(i, env).i);
      boxes[outer].add(at);
      Env inside = env;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t offset = at[d] - ir::eval(pb.axes[d].min, env).i;
        EXPECT_GE(offset, 0);
        EXPECT_LT(offset, pb.axes[d].extent);
        inside[pb.vars[d].node()] = offset;
      }
      EXPECT_TRUE(all_hold(pb.guards, inside));
    }
  });
  for (const auto& [outer, hull] : boxes) {
    for (size_t d = 0; d < rank; ++d) most[d] = std::max(most[d], hull.hi[d] - hull.lo[d] + 1);
  }
  bool exact = true;
  for (size_t d = 0; d < rank; ++d) {
    const bool whole = pb.axes[d].extent == p.op->axes[d].extent && ir::is_const(pb.axes[d].min, 0);
    exact = exact && (whole || pb.axes[d].extent == most[d]);
  }
  return exact;
}

// C[i, j] = sum(r) B[a*i + b*r + c, d*j + e*r + f], once or twice with other constants.
std::string random_consumer(Rng& rng) {
  const int64_t I = rng.between(1, 9), J = rng.between(1, 9), R = rng.between(1, 4);
  int64_t rows = 1, columns = 1;
  std::string body;
  const int64_t a = rng.between(0, 3), b = rng.between(0, 3);
  const int64_t d = rng.between(0, 3), e = rng.between(0, 3);
  const int64_t reads = rng.between(1, 2);
  for (int64_t n = 0; n < reads; ++n) {
    const int64_t c = rng.between(0, 3), f = rng.between(0, 3);
    body += fmt::format("{}B[i*{} + r*{} + {}, j*{} + r*{} + {}]", n == 0 ? "" : " + ", a, b, c, d,
                        e, f);
    rows = std::max(rows, (I - 1) * a + (R - 1) * b + c + 1);
    columns = std::max(columns, (J - 1) * d + (R - 1) * e + f + 1);
  }
  return fmt::format(
      "input A: f32[{0}, {1}]\nB[x: {0}, y: {1}] = A[x, y] + 1.0\n"
      "C[i: {2}, j: {3}] = sum(r: {4}) {5}\noutput C\n",
      rows, columns, I, J, R, body);
}

// Splits, permutes and fuses C at random, then attaches B; steps that are refused are left out.
State random_schedule(const State& initial, Rng& rng) {
  State s = initial;
  const StageRef c{2};
  const auto take = [&](const Step& step) {
    const bool ok = bool(check(step, s));
    if (ok) schedule::apply(step, s);
    return ok;
  };
  const auto any_loop = [&] { return LoopRef{rng.pick(s[c].leaves)}; };
  for (int64_t n = rng.between(0, 4); n > 0; --n) {
    const LoopRef l = any_loop();
    take(Split{c, l, {rng.between(1, s[c].loop(l.id).extent)}, rng.chance(0.4)});
  }
  std::vector<LoopRef> order;
  for (const LoopId l : s[c].leaves) {
    order.insert(order.begin() + rng.between(0, static_cast<int64_t>(order.size())), LoopRef{l});
  }
  take(Reorder{c, order});
  if (rng.chance(0.3)) {
    const size_t at =
        static_cast<size_t>(rng.between(0, static_cast<int64_t>(s[c].leaves.size()) - 2));
    take(Fuse{c, {LoopRef{s[c].leaves[at]}, LoopRef{s[c].leaves[at + 1]}}});
  }
  take(ComputeAt{{1}, c, any_loop()});
  return s;
}

TEST(Bounds, BruteForce) {
  int attached = 0;
  int exact = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    Rng rng(seed);
    const std::string te = random_consumer(rng);
    const State s = random_schedule(start(te), rng);
    if (s.stage(1).place != Place::kAt) continue;
    ++attached;
    SCOPED_TRACE(fmt::format("seed {}\n{}{}", seed, te, to_string(s)));
    exact += expect_box(s, 1, 2) ? 1 : 0;
    if (seed % 5 == 0) ASSERT_EQ(problem_of(s), "");
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(attached, 1000);
  // What is left are splits with tails whose outer part runs inside and whose inner part does not.
  EXPECT_GT(exact * 100, attached * 98) << exact << " of " << attached;
}

}  // namespace
}  // namespace tenon::schedule
