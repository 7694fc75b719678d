// SPDX-License-Identifier: Apache-2.0
// Each pass of the pipeline on a small program: golden/<pass>.txt holds te, trace, the program before and after it.
// The answer is the same before and after, and what a broken pass leaves is caught by the runner.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "fuzz/random_dag.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "lower/lower.h"
#include "lower/passes/tighten_loops.h"
#include "schedule/trace.h"
#include "support/golden.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

schedule::State scheduled(const std::string& te, const std::string& trace) {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(te));
  const auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v3"));
  const schedule::State initial(dag, target);
  return *schedule::replay(initial, schedule::parse_trace(trace, initial));
}

// ---- golden text -----------------------------------------------------------------------------

struct Snapshot {
  std::string text;
  std::vector<ir::Array> outputs;
};

// The program that each pass leaves, emit_loops first.
std::map<std::string, Snapshot> snapshots(const schedule::State& s,
                                          const std::vector<ir::Array>& inputs) {
  std::map<std::string, Snapshot> out;
  RunOptions options;
  options.verify = true;
  options.on_pass = [&](int, std::string_view name, const ir::Function& f, bool) {
    out[std::string(name)] = {ir::to_string(f), interpret(s, f, inputs)};
  };
  EXPECT_TRUE(lower(s, options));
  return out;
}

TEST(Passes, ExamplesBeforeAndAfter) {
  const std::filesystem::path folder = std::string(TENON_SOURCE_DIR) + "/tests/lower/golden";
  std::string before = "emit_loops";
  for (const Pass& pass : pipeline()) {
    const auto path = folder / (std::string(pass.name) + ".txt");
    std::ifstream file(path);
    ASSERT_TRUE(file) << path << " is missing";
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const std::string& example : cut(text, "====")) {
      const auto parts = cut(example, "----");  // te, trace, before, after
      ASSERT_EQ(parts.size(), 4u) << path;
      const schedule::State s = scheduled(parts[0], parts[1]);
      Rng rng(3);
      const auto inputs = fuzz::random_inputs(s.dag(), rng);
      const auto all = snapshots(s, inputs);
      EXPECT_EQ(all.at(before).text, parts[2]) << "before " << pass.name;
      EXPECT_EQ(all.at(std::string(pass.name)).text, parts[3]) << "after " << pass.name;
      EXPECT_NE(parts[2], parts[3]) << pass.name << " has nothing to do";
      const auto expected = te::evaluate(s.dag(), inputs);
      for (const auto& [name, snapshot] : all) {
        EXPECT_EQ(fuzz::compare(expected, snapshot.outputs, s.dag()), "") << name << " in " << path;
      }
    }
    before = pass.name;
  }
}

// ---- the runner's checks ---------------------------------------------------------------------

ir::Stmt forget_index(const ir::Stmt& s, const PassContext&) {  // leaves its loop's variable free
  return s.as<ir::For>()->body;
}
ir::Stmt leave_dimensions(const ir::Stmt& s, const PassContext&) { return s; }
ir::Stmt store_to_input(const ir::Stmt& s, const PassContext&) {
  ir::Buffer input;
  ir::visit(s, [&](const ir::Expr& e) {
    if (const auto* l = e.as<ir::Load>()) input = l->buffer;
  });
  return ir::block({s, ir::store(input, {0, 0}, ir::make_float(ir::kF32, 0))});
}
ir::Stmt change_type(const ir::Stmt& s, const PassContext&) {
  return ir::rewrite(
      s, [](const ir::Expr& e) { return e; },
      [](const ir::Stmt& x) {
        const auto* st = x.as<ir::Store>();
        if (st == nullptr) return x;
        return ir::Stmt(new ir::Store(st->buffer, st->indices, ir::make_float(ir::kF64, 1)));
      });
}
ir::Stmt bind_twice(const ir::Stmt& s, const PassContext&) { return ir::block({s, s}); }
ir::Stmt keep_vectors(const ir::Stmt& s, const PassContext&) {
  const auto* loop = s.as<ir::For>();
  return ir::make_for(loop->var, loop->min, loop->extent, ir::ForKind::kVectorized, loop->body);
}

ir::Function copy_program() {
  const auto a = ir::Buffer::make("A", ir::kF32, {3, 4});
  const auto c = ir::Buffer::make("C", ir::kF32, {3, 4});
  const ir::Var i("i");
  const ir::Var j("j");
  const ir::Stmt inner =
      ir::make_for(j, 0, 4, ir::ForKind::kSerial, ir::store(c, {i, j}, ir::load(a, {i, j})));
  return {"copy", {a, c}, 1, ir::make_for(i, 0, 3, ir::ForKind::kSerial, inner)};
}

TEST(Passes, ABrokenOneIsCaughtAndNamed) {
  const struct {
    Pass pass;
    const char* why;
  } rows[] = {
      {{"forget_index", forget_index, ir::Dialect::kLoops}, "variable i is used outside"},
      {{"leave_dimensions", leave_dimensions, ir::Dialect::kFlatLoops}, "is not flat"},
      {{"store_to_input", store_to_input, ir::Dialect::kLoops}, "input A is stored to"},
      {{"change_type", change_type, ir::Dialect::kLoops}, "a value of type f64 is stored to f32"},
      {{"bind_twice", bind_twice, ir::Dialect::kLoops}, "is bound twice"},
      {{"keep_vectors", keep_vectors, ir::Dialect::kVectors}, "loop i is still vectorised"},
  };
  const auto target = target::parse_target("x86-64-v3");
  for (const auto& row : rows) {
    RunOptions options;
    EXPECT_NO_THROW(run_passes(copy_program(), {row.pass}, {&target}, options)) << row.pass.name;
    options.verify = true;
    try {
      run_passes(copy_program(), {row.pass}, {&target}, options);
      ADD_FAILURE() << row.pass.name << " was not caught";
    } catch (const InternalError& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find("after " + std::string(row.pass.name)), std::string::npos) << what;
      EXPECT_NE(what.find(row.why), std::string::npos) << what;
    }
  }
}

// ---- guards that read memory -----------------------------------------------------------------

// for i in 0..8 { if (i < from[at]) { to[i] = 1 } }
ir::Stmt guarded(const ir::Buffer& from, const ir::Buffer& to, const ir::Expr& at,
                 const ir::Var& i) {
  const ir::Stmt store = ir::store(to, {i}, ir::make_int(ir::kI64, 1));
  return ir::make_for(i, 0, 8, ir::ForKind::kSerial,
                      ir::make_if(ir::lt(i, ir::load(from, {at})), store));
}

TEST(Guards, OnlyPlacesThatNobodyWritesBoundALoop) {
  const auto n = ir::Buffer::make("n", ir::kI64, {8});
  const auto c = ir::Buffer::make("C", ir::kI64, {8});
  const ir::Var i("i"), o("o");
  const auto extent = [](const ir::Stmt& s) {
    return ir::const_int(tighten_loops(s, {}).as<ir::For>()->extent);
  };
  EXPECT_EQ(extent(guarded(n, c, 0, i)), std::nullopt) << "it is the size";
  EXPECT_EQ(extent(guarded(c, c, 0, i)), 8) << "the loop itself changes the size";
  EXPECT_EQ(extent(guarded(n, c, i, i)), 8) << "every step asks another place";
  const ir::Stmt inside = ir::make_for(o, 0, 2, ir::ForKind::kSerial, guarded(n, c, o, i));
  const auto* outer = tighten_loops(inside, {}).as<ir::For>();
  EXPECT_EQ(ir::const_int(outer->body.as<ir::For>()->extent), 8) << "the place is not always there";
}

// ---- indices of layouts ----------------------------------------------------------------------

int divisions(const ir::Stmt& s) {
  int n = 0;
  ir::visit(s, [&](const ir::Expr& e) {
    const auto* b = e.as<ir::Binary>();
    n += b != nullptr && (b->op == ir::BinaryOp::kFloorDiv || b->op == ir::BinaryOp::kFloorMod);
  });
  return n;
}

// In the loops that no other loop is inside of.
int innermost_divisions(const ir::Stmt& s) {
  int n = 0;
  ir::visit(s, [&](const ir::Stmt& x) {
    const auto* loop = x.as<ir::For>();
    if (loop == nullptr) return;
    bool innermost = true;
    ir::visit(loop->body, [&](const ir::Stmt& y) { innermost &= y.as<ir::For>() == nullptr; });
    n += innermost ? divisions(loop->body) : 0;
  });
  return n;
}

std::string conv_text(int64_t c, int64_t k, int64_t size) {
  const auto n = [](int64_t v) { return std::to_string(v); };
  return "input X: f32[1, " + n(c) + ", " + n(size + 2) + ", " + n(size + 2) + "]\nconst W: f32[" +
         n(k) + ", " + n(c) + ", 3, 3]\nY[b: 1, k: " + n(k) + ", y: " + n(size) +
         ", x: " + n(size) + "] = sum(c: " + n(c) +
         ", r: 3, s: 3) X[b, c, y + r, x + s] * W[k, c, r, s]\noutput Y\n";
}

std::string blocked_trace(int64_t c, int64_t k, int64_t v) {
  const auto blocks = [&](int64_t extent) {
    return "[" + std::to_string((extent + v - 1) / v) + ", " + std::to_string(v) + "]";
  };
  return "layout_split X 1 " + blocks(c) + "\nlayout_reorder X [0, 1, 3, 4, 2]\nlayout_split W 1 " +
         blocks(c) + "\nlayout_split W 0 " + blocks(k) +
         "\nlayout_reorder W [0, 2, 4, 5, 3, 1]\nlayout_split Y 1 " + blocks(k) +
         "\nlayout_reorder Y [0, 1, 3, 4, 2]\n";
}

// The blocked axes of Y are called k_0 and k_1.
std::string loops_of(int64_t v) {
  return "split Y c [" + std::to_string(v) +
         "]\nsplit Y x [3]\nreorder Y [b, k_0, y, x.0, c.0, r, s, c.1, x.1, k_1]\nunroll Y x.1\n"
         "vectorize Y k_1\n";
}

TEST(Layouts, LeaveNoDivisionInInnermostLoops) {
  const std::string window = R"(
input X: f32[3, 9]
const W: f32[4, 3, 3]
P[c: 3, y: 11] = select(1 <= y and y < 10, X[c, y - 1], 0.0)
Y[k: 4, x: 5] = sum(c: 3, r: 3) P[c, x*2 + r] * W[k, c, r]
output Y
)";
  const std::pair<std::string, std::string> programs[] = {
      {conv_text(32, 32, 6), blocked_trace(32, 32, 16) + loops_of(16)},
      {conv_text(20, 24, 5), blocked_trace(20, 24, 16) + loops_of(16)},
      {conv_text(7, 5, 5), blocked_trace(7, 5, 4) + loops_of(4)},
      {window, "layout_unfold P 1 5 4\nsplit Y x [2]\nreorder Y [k, x.0, c, r, x.1]\n"},
      {window,
       "layout_unfold P 1 5 4\nsplit Y x [2]\nreorder Y [x.0, k, c, r, x.1]\n"
       "vectorize Y x.1\nunroll Y r\n"},
      {window,
       "compute_inline P\nlayout_pad X 1 1 1\nlayout_unfold X 1 5 4\nsplit Y x [2]\n"
       "reorder Y [k, x.0, c, r, x.1]\n"},
  };
  for (const auto& [te, trace] : programs) {
    const schedule::State s = scheduled(te, trace);
    const auto f = lower(s);
    ASSERT_TRUE(f);
    EXPECT_EQ(innermost_divisions(f->body), 0) << te << trace << ir::to_string(*f);
    Rng rng(5);
    const auto inputs = fuzz::random_inputs(s.dag(), rng);
    EXPECT_EQ(fuzz::compare(te::evaluate(s.dag(), inputs), interpret(s, *f, inputs), s.dag()), "")
        << trace;
  }
}

}  // namespace
}  // namespace tenon::lower
