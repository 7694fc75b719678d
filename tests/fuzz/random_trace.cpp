// SPDX-License-Identifier: Apache-2.0
#include "fuzz/random_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/facts.h"
#include "fuzz/trace_drawer.h"
#include "ir/print.h"

namespace tenon::fuzz {

using schedule::AlgorithmRow;
using schedule::LoopRef;
using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;
using schedule::State;
using schedule::Step;

bool TraceDrawer::take(const Step& step) {
  if (done()) {
    return false;
  }
  Count ignored;
  Count& count = counts_ == nullptr ? ignored : (*counts_)[schedule::row_of(step).name];
  ++count.proposed;
  try {
    const std::string before = options_.check_refusals ? describe(drawn_.state) : "";
    const bool ok = static_cast<bool>(schedule::check(step, drawn_.state));
    if (options_.check_refusals && describe(drawn_.state) != before) {
      drawn_.problem = "check changed the state";
    }
    if (!ok) {
      return false;
    }
    drawn_.trace.push_back(step);
    schedule::apply(step, drawn_.state);
  } catch (const InternalError& e) {
    drawn_.problem = e.what();
    if (drawn_.trace.empty() || !(drawn_.trace.back() == step)) {
      drawn_.trace.push_back(step);
    }
  }
  ++count.accepted;
  return drawn_.problem.empty();
}

StageRef TraceDrawer::any_stage() { return {rng.pick(state().order())}; }

StageRef TraceDrawer::loop_stage() {
  std::vector<StageId> all;
  for (const StageId id : state().order()) {
    const Stage& s = state().stage(id);
    if (!s.is_input() && s.place != schedule::Place::kInlined) {
      all.push_back(id);
    }
  }
  return {all.empty() ? -1 : rng.pick(all)};
}

LoopRef TraceDrawer::leaf(StageRef s) {
  if (!state().has(s) || stage(s).leaves.empty()) {
    return {};
  }
  return {rng.pick(stage(s).leaves)};
}

StageRef TraceDrawer::reader_of(StageRef s) {
  if (!state().has(s)) {
    return {};
  }
  const auto readers = state().readers(s.id);
  return {readers.empty() ? -1 : rng.pick(readers)};
}

int64_t TraceDrawer::factor(int64_t extent) {
  if (rng.chance(0.1)) {
    return rng.between(1, extent + 1);
  }
  std::vector<int64_t> fits;
  for (const int64_t f : {1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16}) {
    if (f <= extent) {
      fits.push_back(f);
    }
  }
  return rng.pick(fits);
}

std::vector<AlgorithmRow> TraceDrawer::algorithms_for(StageRef s) const {
  const auto all = schedule::algorithms();
  std::vector<AlgorithmRow> out(all.begin(), all.end());
  const te::ComputeDag& dag = state().dag();
  const auto op = std::find_if(dag.ops.begin(), dag.ops.end(), [&](const te::OpRef& o) {
    return state().has(s) && o->name() == stage(s).name;
  });
  const bool tested = op != dag.ops.end() && is_tested(dag, (*op)->output);
  std::erase_if(out, [&](const AlgorithmRow& r) { return r.error_factor > (tested ? 4 : 100); });
  return out;
}

ir::Scope TraceDrawer::scope() {
  const double u = rng.unit();
  return u < 0.45   ? ir::Scope::kLocal
         : u < 0.85 ? ir::Scope::kGlobal
         : u < 0.98 ? ir::Scope::kRegister
                    : ir::Scope::kShared;
}

namespace {

// Ids and numbers that no careful caller would pass.
struct Nonsense {
  Rng& rng;
  int32_t id() { return static_cast<int32_t>(rng.between(-2, 12)); }
  int64_t number() {
    static const std::vector<int64_t> kNumbers = {
        std::numeric_limits<int64_t>::min(), -1, 0, 1, 2, 63, 1 << 20, int64_t{1} << 40,
        std::numeric_limits<int64_t>::max()};
    return rng.pick(kNumbers);
  }
  void operator()(StageRef& v) { v.id = id(); }
  void operator()(LoopRef& v) { v.id = id(); }
  void operator()(int64_t& v) { v = number(); }
  void operator()(bool& v) { v = rng.chance(0.5); }
  void operator()(ir::Scope& v) { v = static_cast<ir::Scope>(rng.between(0, 3)); }
  void operator()(ir::ThreadTag& v) { v = static_cast<ir::ThreadTag>(rng.between(0, 7)); }
  void operator()(schedule::Dot& v) { v = static_cast<schedule::Dot>(rng.between(0, 4)); }
  void operator()(schedule::Algorithm& v) {
    v = static_cast<schedule::Algorithm>(
        rng.between(0, static_cast<int64_t>(schedule::Algorithm::kPhases)));
  }
  template <class T>
  void operator()(std::vector<T>& v) {
    v.resize(static_cast<size_t>(rng.between(0, 4)));
    for (T& x : v) {
      (*this)(x);
    }
  }
};

// Some fields of a sensible step replaced by nonsense.
Step spoil(Step step, Rng& rng) {
  std::visit(
      [&](auto& p) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          schedule::for_each_field(p, [&](const auto&, auto& v) {
            if (rng.chance(0.5)) {
              Nonsense{rng}(v);
            }
          });
        }
      },
      step);
  return step;
}

void describe_loops(const Stage& st, std::string& out) {
  for (const schedule::Loop& l : st.loops) {
    out += fmt::format(" [{} {} {} {} {} {} {}]", l.extent, static_cast<int>(l.kind),
                       static_cast<int>(l.mark), static_cast<int>(l.tag), l.parent, l.part, l.leaf);
  }
  out += fmt::format("\n  leaves {}\n", fmt::join(st.leaves, " "));
  for (const schedule::Relation& r : st.relations) {
    out += fmt::format("  relation {} {}: {} by {}\n", static_cast<int>(r.kind), r.one,
                       fmt::join(r.many, " "), fmt::join(r.factors, " "));
  }
  for (const schedule::PrefetchNote& p : st.prefetches) {
    out += fmt::format("  prefetch {} {} {}\n", p.tensor, p.loop, p.distance);
  }
}

}  // namespace

std::string describe(const State& s) {
  std::string out = schedule::to_string(s);
  out += fmt::format("order {}\n", fmt::join(s.order(), " "));
  for (size_t i = 0; i < s.size(); ++i) {
    const Stage& st = s.stage(static_cast<StageId>(i));
    out += fmt::format("{} {} [{}] {}", st.id, st.name, fmt::join(st.buffer.shape(), ","),
                       layout::to_string(st.layout));
    out += fmt::format(" zero {} in {} scope {} place {} {} {}", st.zero_padding, st.stored_in,
                       static_cast<int>(st.scope), static_cast<int>(st.place), st.at_stage,
                       st.at_loop);
    out += fmt::format(" init {} unroll {} align {} {} {}", st.init_at, st.unroll_limit,
                       st.align_dim, st.align_factor, st.align_offset);
    describe_loops(st, out);
    if (st.op != nullptr) {
      out += "  " + ir::to_string(st.op->body) + "\n";
    }
    if (st.holds.defined()) {
      out += "  holds " + ir::to_string(st.holds) + "\n";
    }
  }
  return out;
}

Drawn random_trace(const State& initial, Rng& rng, const TraceOptions& options, Counts* counts) {
  TraceDrawer drawer(initial, rng, options, counts);
  // Layouts come first: a stage with loop steps refuses them.
  for (int64_t n = rng.chance(0.5) ? rng.between(1, 4) : 0; n > 0; --n) {
    pick_weighted(layout_structures(), rng).build(drawer);
  }
  const int64_t structures = rng.between(0, 4);
  const int64_t singles = rng.between(0, options.max_steps);
  for (int64_t n = structures + singles; n > 0 && !drawer.done(); --n) {
    if (rng.between(1, structures + singles) <= structures) {
      pick_weighted(loop_structures(), rng).build(drawer);
    } else {
      const Step step = pick_weighted(proposals(), rng).draw(drawer);
      drawer.take(rng.chance(options.nonsense) ? spoil(step, rng) : step);
    }
  }
  return drawer.finish();
}

}  // namespace tenon::fuzz
