// SPDX-License-Identifier: Apache-2.0
// Properties of the features of random programs, and a comparison with what lowering makes of the same states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "arith/interval.h"
#include "cost/features.h"
#include "cost/statements.h"
#include "cost/traffic.h"
#include "fuzz/random_dag.h"
#include "fuzz/random_trace.h"
#include "ir/visit.h"
#include "lower/emit.h"
#include "te/text.h"

namespace tenon::cost {
namespace {

using schedule::State;

constexpr uint64_t kSeed = 1;
constexpr int kRuns = 1500;

struct Program {
  uint64_t seed;
  std::shared_ptr<const te::ComputeDag> dag;
  State start;
  fuzz::Drawn drawn;
  std::string text() const {
    return "seed " + std::to_string(seed) + "\n" + te::to_text(*dag) +
           schedule::to_json(drawn.trace);
  }
};

State start_of(std::shared_ptr<const te::ComputeDag> dag) {
  return {std::move(dag),
          std::make_shared<const target::Target>(target::parse_target("x86-64-v3 cores=2"))};
}

Program draw(uint64_t seed) {
  Rng rng(seed);
  auto dag = std::make_shared<const te::ComputeDag>(fuzz::random_dag(rng));
  State start = start_of(dag);
  fuzz::Drawn drawn = fuzz::random_trace(start, rng, {});
  return {seed, dag, start, std::move(drawn)};
}

// The same dag under other names, with variables and buffers of its own.
te::ComputeDag renamed(const te::ComputeDag& dag) {
  std::unordered_map<const ir::BufferNode*, ir::Buffer> buffers;
  int next = 0;
  const auto rename = [&](const ir::Buffer& b) {
    return buffers[b.get()] =
               ir::Buffer::make("z" + std::to_string(900 - next++), b.dtype(), b.shape());
  };
  te::ComputeDag out;
  out.name = "other";
  for (const te::Input& in : dag.inputs) out.inputs.push_back({rename(in.tensor), in.constant});
  for (const te::OpRef& op : dag.ops) {
    te::ComputeOp copy = *op;
    ir::VarMap vars;
    for (auto* axes : {&copy.axes, &copy.reduce_axes}) {
      for (te::Axis& a : *axes) {
        const ir::Var v("q" + std::to_string(next++));
        vars[a.var.node()] = v;
        a.var = v;
      }
    }
    copy.output = rename(op->output);
    copy.body = ir::rewrite(ir::substitute(op->body, vars), [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      return l == nullptr ? e : ir::load(buffers.at(l->buffer.get()), l->indices, l->predicate);
    });
    out.ops.push_back(std::make_shared<const te::ComputeOp>(std::move(copy)));
  }
  for (const te::Tensor& t : dag.outputs) out.outputs.push_back(buffers.at(t.get()));
  return out;
}

TEST(FeaturesFuzz, AreFiniteAndFollowFromTheProgramAlone) {
  int extracted = 0;
  for (uint64_t seed = kSeed; seed < kSeed + kRuns; ++seed) {
    const Program p = draw(seed);
    const auto f = extract(p.drawn.state);
    if (!f) continue;
    ++extracted;
    for (size_t i = 0; i < f->values.size(); ++i) {
      ASSERT_TRUE(std::isfinite(f->values[i]) && f->values[i] >= 0 && f->values[i] < 80)
          << feature_names()[i % kFeatures] << " = " << f->values[i] << "\n"
          << p.text();
    }
    ASSERT_EQ(f->values, extract(*schedule::replay(p.start, p.drawn.trace))->values) << p.text();
    const State other = start_of(std::make_shared<const te::ComputeDag>(renamed(*p.dag)));
    ASSERT_EQ(f->values, extract(*schedule::replay(other, p.drawn.trace))->values) << p.text();
  }
  EXPECT_GT(extracted, kRuns * 9 / 10);
}

// ---- against the loops that lowering emits -----------------------------------------------------

struct Store {
  const ir::Store* store;
  std::vector<const ir::For*> loops;  // of more than one iteration
};

// The last store of each buffer, in order: that of a reduction's initial value comes before.
void find_stores(const ir::Stmt& s, std::vector<const ir::For*>& loops, std::vector<Store>& out) {
  if (const auto* f = s.as<ir::For>()) {
    const bool counts = ir::const_int(f->extent) > 1;
    if (counts) loops.push_back(f);
    find_stores(f->body, loops, out);
    if (counts) loops.pop_back();
  } else if (const auto* b = s.as<ir::Block>()) {
    for (const ir::Stmt& c : b->stmts) find_stores(c, loops, out);
  } else if (const auto* i = s.as<ir::If>()) {
    find_stores(i->then_case, loops, out);
  } else if (const auto* a = s.as<ir::Allocate>()) {
    find_stores(a->body, loops, out);
  } else if (const auto* st = s.as<ir::Store>()) {
    std::erase_if(out, [&](const Store& o) { return o.store->buffer.same_as(st->buffer); });
    out.push_back({st, loops});
  }
}

using Point = std::unordered_map<const ir::VarNode*, int64_t>;

std::optional<int64_t> value_of(const ir::Expr& e, const Point& at) {
  if (const auto* i = e.as<ir::IntImm>()) return i->value;
  if (const auto* v = e.as<ir::VarNode>()) {
    const auto it = at.find(v);
    return it == at.end() ? 0 : it->second;
  }
  const auto* b = e.as<ir::Binary>();
  if (b == nullptr) return std::nullopt;
  const auto x = value_of(b->a, at), y = value_of(b->b, at);
  if (!x || !y) return std::nullopt;
  switch (b->op) {
    case ir::BinaryOp::kAdd:
      return *x + *y;
    case ir::BinaryOp::kSub:
      return *x - *y;
    case ir::BinaryOp::kMul:
      return *x * *y;
    case ir::BinaryOp::kFloorDiv:
      return arith::floor_div(*x, *y);
    case ir::BinaryOp::kFloorMod:
      return arith::floor_mod(*x, *y);
    case ir::BinaryOp::kMin:
      return std::min(*x, *y);
    case ir::BinaryOp::kMax:
      return std::max(*x, *y);
    default:
      return std::nullopt;
  }
}

// Elements of the box around every access to `b`, cut to the tensor; nothing if an index is not plain arithmetic.
std::optional<double> box_of(const Store& s, const ir::Buffer& b) {
  std::vector<const ir::Load*> loads;
  ir::visit(s.store->value, [&](const ir::Expr& e) {
    const auto* l = e.as<ir::Load>();
    if (l != nullptr && l->buffer.same_as(b)) loads.push_back(l);
  });
  std::vector<arith::Interval> box(b.rank(), {INT64_MAX, INT64_MIN});
  std::vector<int64_t> counter(s.loops.size(), 0);
  for (bool more = true; more;) {
    Point at;
    for (size_t i = 0; i < counter.size(); ++i) at[s.loops[i]->var.node()] = counter[i];
    for (const ir::Load* l : loads) {
      for (size_t d = 0; d < b.rank(); ++d) {
        const auto v = value_of(l->indices[d], at);
        if (!v) return std::nullopt;
        box[d] = {std::min(box[d].lo, *v), std::max(box[d].hi, *v)};
      }
    }
    more = false;
    for (size_t i = counter.size(); i-- > 0 && !more;) {
      more = ++counter[i] < *ir::const_int(s.loops[i]->extent);
      if (!more) counter[i] = 0;
    }
  }
  double elements = 1;
  for (size_t d = 0; d < b.rank(); ++d) {
    if (box[d].hi < box[d].lo) return std::nullopt;  // never read
    elements *= static_cast<double>(std::min(box[d].hi - box[d].lo + 1, b.shape()[d]));
  }
  return elements;
}

struct Agreement {
  int64_t compared = 0, equal = 0;
};

void compare_boxes(const Statement& st, const TrafficMeter& meter, const Store& store,
                   const State& s, const Program& p, Agreement& count) {
  for (size_t u = 0; u < st.uses.size(); ++u) {
    const ir::Buffer b(st.uses[u].buffer);
    if (!s.stage(s.owner(b)).is_input())
      continue;  // others are emitted from the corner of their part
    const auto box = box_of(store, b);
    if (!box) continue;
    const double mine = meter.traffic()[u].unique_bytes / st.uses[u].bytes;
    ASSERT_GE(mine, *box) << b.name() << "\n" << p.text();
    ++count.compared;
    count.equal += mine == *box;
  }
}

TEST(FeaturesFuzz, AgreeWithTheLoopsThatAreEmitted) {
  Agreement count;
  for (uint64_t seed = kSeed; seed < kSeed + kRuns; ++seed) {
    const Program p = draw(seed);
    const State& s = p.drawn.state;
    const auto b = schedule::infer_bounds(s);
    if (!b) continue;
    const ir::Function f = lower::emit_loops(s, *b);
    std::vector<const ir::For*> loops;
    std::vector<Store> stores;
    find_stores(f.body, loops, stores);
    size_t row = 0;
    TrafficMeter meter(64);
    for_each_statement(s, *b, [&](Statement& st) {
      ASSERT_LT(row, stores.size()) << p.text();
      const Store& store = stores[row++];
      ASSERT_EQ(store.loops.size(), st.loops.size()) << st.stage->name << "\n" << p.text();
      double work = 1;
      for (size_t i = 0; i < st.loops.size(); ++i) {
        ASSERT_EQ(ir::const_int(store.loops[i]->extent), st.loops[i].extent) << p.text();
        work *= static_cast<double>(st.loops[i].extent);
      }
      meter.measure(st, 1);
      if (work <= 3000) compare_boxes(st, meter, store, s, p, count);
    });
    ASSERT_EQ(row, stores.size()) << p.text();
    if (HasFatalFailure()) return;
  }
  // Boxes are exact but for quotients and remainders of one loop that add up.
  EXPECT_GT(count.compared, kRuns);
  EXPECT_GT(static_cast<double>(count.equal), 0.97 * static_cast<double>(count.compared));
}

}  // namespace
}  // namespace tenon::cost
