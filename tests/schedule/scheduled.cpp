// SPDX-License-Identifier: Apache-2.0
#include "schedule/scheduled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "ir/print.h"
#include "te/text.h"

namespace tenon::schedule {

State start(const std::string& te, const std::string& target) {
  return {std::make_shared<const te::ComputeDag>(te::parse(te)),
          std::make_shared<const target::Target>(target::parse_target(target))};
}

State scheduled(const std::string& te, const std::string& trace, const std::string& target) {
  const State initial = start(te, target);
  auto s = replay(initial, parse_trace(trace, initial));
  TENON_CHECK(bool(s)) << "the trace was accepted when it was read";
  return std::move(s.value());
}

std::string problem_of(const State& s) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Rng rng(seed);
    const auto inputs = fuzz::random_inputs(s.dag(), rng);
    const auto outcome = fuzz::check_program(s, inputs, te::evaluate(s.dag(), inputs));
    if (outcome.refused) return "refused";
    if (!outcome.problem.empty()) return fmt::format("seed {}: {}", seed, outcome.problem);
  }
  return "";
}

std::vector<std::string> dump(const State& s) {
  std::vector<std::string> out{fmt::format("order {}", fmt::join(s.order(), " "))};
  for (StageId id = 0; id < static_cast<StageId>(s.size()); ++id) {
    const Stage& st = s.stage(id);
    out.push_back(fmt::format(
        "{} {} at {:p} {} as {} in {} place {} {} {} init {} pipelined {} unroll {} align {} {} {}",
        st.id, st.name, static_cast<const void*>(st.buffer.get()),
        fmt::join(st.buffer.shape(), "x"), layout::to_string(st.layout), int(st.scope),
        int(st.place), st.at_stage, st.at_loop, st.init_at, st.pipelined, st.unroll_limit,
        st.align_dim, st.align_factor, st.align_offset));
    out.push_back(fmt::format("zero {} constant {} output {} stored in {} holds {}",
                              st.zero_padding, st.constant, st.output, st.stored_in,
                              st.holds.defined() ? ir::to_string(st.holds) : ""));
    if (st.op != nullptr) out.push_back(te::to_text(*st.op));
    for (const Loop& l : st.loops) {
      out.push_back(fmt::format("loop {} kind {} mark {} tag {} of {} {} leaf {}", l.extent,
                                int(l.kind), int(l.mark), int(l.tag), l.parent, l.part, l.leaf));
    }
    out.push_back(fmt::format("leaves {}", fmt::join(st.leaves, " ")));
    for (const Relation& r : st.relations) {
      out.push_back(fmt::format("relation {} {} [{}] [{}]", int(r.kind), r.one,
                                fmt::join(r.many, " "), fmt::join(r.factors, " ")));
    }
    for (const PrefetchNote& p : st.prefetches) {
      out.push_back(fmt::format("prefetch {} {} {}", p.tensor, p.loop, p.distance));
    }
  }
  return out;
}

}  // namespace tenon::schedule
