// SPDX-License-Identifier: Apache-2.0
// An iteration fetches ahead the first place of each vector that a later one reads.
#include <gtest/gtest.h>

#include "ir/visit.h"
#include "lower/emit.h"
#include "schedule/bounds.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

// How many lines the sum of a product of 6 x 40 and 40 x 32 fetches in one step.
int fetched(const std::string& steps) {
  const auto t = std::make_shared<target::Target>(target::parse_target("x86-64-v3"));
  const auto dag = std::make_shared<const te::ComputeDag>(
      te::parse("input A: f32[6, 40]\nconst B: f32[40, 32]\n"
                "C[i: 6, j: 32] = sum(k: 40) A[i, k] * B[k, j]\noutput C\n"));
  const schedule::State initial(dag, t);
  const auto state = schedule::replay(initial, schedule::parse_trace(steps, initial));
  int count = 0;
  ir::visit(emit_loops(*state, *schedule::infer_bounds(*state)).body,
            [&](const ir::Stmt& s) { count += s.as<ir::Prefetch>() != nullptr ? 1 : 0; });
  return count;
}

TEST(Prefetch, EachVectorThatUnrolledLoopsRead) {
  const std::string tile =
      "split C j [8]\nreorder C [i, k, j.0, j.1]\nvectorize C j.1\nunroll C j.0\n";
  EXPECT_EQ(fetched(tile + "prefetch C k B 4\n"), 4);
  EXPECT_EQ(fetched(tile + "prefetch C k A 4\n"), 1);  // the same for all of them
}

TEST(Prefetch, OneWhereThereAreMany) {
  EXPECT_EQ(fetched("reorder C [i, k, j]\nunroll C j\nprefetch C k B 4\n"), 1);
  EXPECT_EQ(fetched("reorder C [i, k, j]\nprefetch C k B 4\n"), 1);
}

}  // namespace
}  // namespace tenon::lower
