// SPDX-License-Identifier: Apache-2.0
// The two written forms of a trace: what they say of mistakes, and that their meaning never shifts.
#include "schedule/trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "schedule/conformance_cases.h"
#include "schedule/programs.h"
#include "schedule/scheduled.h"
#include "support/rng.h"

namespace tenon::schedule {
namespace {

std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

struct Mistake {
  std::string text;
  std::string error;
};

TEST(TraceText, MistakesHaveAPlaceAndAReason) {
  const Mistake mistakes[] = {
      {"slit D i [2]", "trace:1:1: unknown primitive 'slit' (known: split, fuse,"},
      {"\n  split Q i [2]", "trace:2:9: there is no stage 'Q' (stages: A, B, C, D)"},
      {"split D q [2]", "trace:1:9: stage D has no loop 'q' (loops: i, j)"},
      {"split A i [2]", "trace:1:9: stage A has no loop 'i' (it is an input)"},
      {"split D i 2", "trace:1:11: factors is a list in [ ]"},
      {"split D i [x]", "trace:1:12: a number is expected, not 'x'"},
      {"split D i [2.5]", "trace:1:12: a number is expected, not '2.5'"},
      {"split D i [2", "trace:1:13: split: ] is missing"},
      {"split D i", "trace:1:10: split: factors is missing"},
      {"split", "trace:1:6: split: stage is missing"},
      {"split D i [2] part", "trace:1:15: unexpected 'part'"},
      {"split D i [2] parts 4", "trace:1:21: unexpected '4'"},
      {"vectorize D j  # fine\nvectorize D j j", "trace:2:15: unexpected 'j'"},
      {"cache_write C cache",
       "trace:1:15: unknown scope 'cache' (global, shared, local, register)"},
      {"bind D i warp", "trace:1:10: unknown thread dimension 'warp'"},
      {"fuse D [i, q]", "trace:1:12: stage D has no loop 'q' (loops: i, j)"},
      {"cache_read A [C, Q] local", "trace:1:18: there is no stage 'Q' (stages: A, B, C, D)"},
      {"split D %x [2]", "trace:1:9: an id is expected after %, not 'x'"},
      {"split D %-1 [2]", "trace:1:9: an id is expected after %, not '-1'"},
      {"split D %99999999999 [2]", "trace:1:9: an id is expected after %, not '99999999999'"},
      {"split %9 i [2]", "trace:1:10: there is no stage %9"},
      {"split D j [9223372036854775808]",
       "trace:1:12: 9223372036854775808 does not fit into 64 bits"},
      {"split D j [9223372036854775807]",
       "trace:1:1: split D j [9223372036854775807]: factor 9223372036854775807 for loop j of D is "
       "not in 1..11"},
      {"split D i [2]\n\n    vectorize D i.0",
       "trace:3:5: vectorize D i.0: loop i.0 of D must have no serial loop inside to be "
       "vectorised"},
  };
  const State s = start(kMatmul);
  for (const Mistake& m : mistakes) {
    const std::string error = error_of([&] { parse_trace(m.text, s); });
    EXPECT_EQ(error.substr(0, m.error.size()), m.error) << m.text;
  }
}

TEST(TraceText, BlanksCommentsAndLineEnds) {
  const State s = start(kMatmul);
  const Trace trace = parse_trace("split D i [2]\nvectorize D j\n", s);
  EXPECT_EQ(parse_trace("\r\n# c\n\tsplit  D\ti [ 2 ]#x\r\n\n vectorize D j", s), trace);
  EXPECT_EQ(parse_trace("", s), Trace());
  EXPECT_EQ(parse_trace("# nothing\n\n", s), Trace());
}

TEST(TraceText, NamesThatDoNotReadBackBecomeIds) {
  const State s = start(R"(
input "a b": f32[4]
"x,[#" [i: 4] = "a b"[i] + 1.0
C["i j": 4] = "x,[#"["i j"] * 2.0
output C
)");
  const Trace trace = parse_trace("compute_at %1 C %0\nsplit C %0 [2]", s);
  EXPECT_EQ(to_text(trace, s), "compute_at %1 C %0\nsplit C %0 [2]\n");
  EXPECT_EQ(parse_trace(to_text(trace, s), s), trace);
}

TEST(TraceText, LoopsThatShareANameBecomeIds) {
  // The axis k.0 is there before the part k.0 of k.
  const State s =
      start("input A: f32[4, 6]\nC[k: 4, \"k.0\": 6] = A[k, \"k.0\"] + 1.0\noutput C\n");
  const Trace trace = parse_trace("split C k [2]\nunroll C %2\nunroll C k.0", s);
  EXPECT_EQ(to_text(trace, s), "split C k [2]\nunroll C %2\nunroll C k.0\n");
  EXPECT_EQ(std::get<Unroll>(trace[2]).loop.id, 1);
}

TEST(TraceText, ATraceOfManySteps) {
  const State s = start(kMatmul);
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "pragma_unroll D " + std::to_string(i % 512) + "\n";
  EXPECT_EQ(parse_trace(text, s).size(), 1000u);
  EXPECT_EQ(error_of([&] { parse_trace(text + text, s); }),
            "trace:1001:1: a trace has at most 1000 steps");
}

TEST(TraceText, ARefusedStepEndsTheText) {
  const State s = start(kMatmul);
  const Trace trace = {parse_step("split D i [2]", s), parse_step("split D i [2]", s),
                       parse_step("split D j [2]", s)};
  EXPECT_EQ(to_text(trace, s),
            "split D i [2]\nsplit D i [2]  # refused: loop i of D was split or fused before; name "
            "one of its parts\n");
}

TEST(TraceJson, MistakesHaveAReason) {
  const Mistake mistakes[] = {
      {"", "trace:1:1: this is not JSON"},
      {"[\n  [\"split\",]]", "trace:2:12: this is not JSON"},
      {"{}", "trace: a trace is a list of steps, not an object"},
      {"7", "trace: a trace is a list of steps, not 7"},
      {"[7]", "trace: step 1: a step is a list that starts with the name of a primitive, not 7"},
      {"[[]]",
       "trace: step 1: a step is a list that starts with the name of a primitive, not a list"},
      {"[[\"slit\"]]", "trace: step 1: unknown primitive \"slit\""},
      {"[[\"unroll\",3,0],[\"unroll\",3]]", "trace: step 2: unroll takes 2 arguments, not 1"},
      {"[[\"unroll\",3,0,0]]", "trace: step 1: unroll takes 2 arguments, not 3"},
      {"[[\"unroll\",3.5,0]]", "trace: step 1: unroll: stage: a whole number is expected, not 3.5"},
      {"[[\"unroll\",\"D\",0]]",
       "trace: step 1: unroll: stage: a whole number is expected, not \"D\""},
      {"[[\"unroll\",3,4294967296]]",
       "trace: step 1: unroll: loop: 4294967296 is not in -1..2147483647"},
      {"[[\"split\",3,0,2,false]]", "trace: step 1: split: factors: a list is expected, not 2"},
      {"[[\"split\",3,0,[2],0]]", "trace: step 1: split: parts: true or false is expected, not 0"},
      {"[[\"split\",3,0,[18446744073709551615],false]]",
       "trace: step 1: split: factors: 18446744073709551615 is not in "
       "-9223372036854775808..9223372036854775807"},
      {"[[\"split\",3,0,[1e400],false]]", "trace: a number in the trace is too large"},
      {"[[\"split\",3,0,[[2]],false]]",
       "trace: step 1: split: factors: a whole number is expected, not a list"},
      {"[[\"cache_write\",2,4]]", "trace: step 1: cache_write: scope: 4 is not in 0..3"},
      {"[[\"bind\",2,0,8]]", "trace: step 1: bind: tag: 8 is not in 0..7"},
  };
  for (const Mistake& m : mistakes) {
    EXPECT_EQ(error_of([&] { trace_from_json(m.text); }), m.error) << m.text;
  }
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_NE(error_of([&] { trace_from_json(deep); }), "no error");
}

// Only a UserError or a trace; whatever is read can be replayed.
void expect_no_surprise(const std::string& text, const State& s, bool json) {
  try {
    const Trace trace = json ? trace_from_json(text) : parse_trace(text, s);
    const Replayed r = replay_steps(s, trace);
    EXPECT_EQ(trace_from_json(to_json(trace)), trace);
    if (!json) EXPECT_FALSE(r.refusal);
    (void)to_text(trace, s);
    (void)to_string(r.state);
  } catch (const UserError&) {
  }
}

std::string mutated(std::string text, Rng& rng) {
  static const std::vector<std::string> kPieces = {"[",
                                                   "]",
                                                   ",",
                                                   " ",
                                                   "\n",
                                                   "#",
                                                   "%",
                                                   "-",
                                                   "0",
                                                   "1",
                                                   "2",
                                                   "7",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "4294967296",
                                                   "\"",
                                                   "null",
                                                   "i",
                                                   "D",
                                                   "j.0",
                                                   "parts",
                                                   "split ",
                                                   "layout_split ",
                                                   "\xff",
                                                   "\\u0000",
                                                   "1e9",
                                                   "true"};
  const int64_t edits = rng.between(1, 4);
  for (int64_t e = 0; e < edits; ++e) {
    const size_t at = static_cast<size_t>(rng.between(0, static_cast<int64_t>(text.size())));
    const size_t length = static_cast<size_t>(rng.between(0, 6));
    switch (rng.between(0, 3)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, rng.pick(kPieces));
        break;
      case 2:
        text.replace(at, length, rng.pick(kPieces));
        break;
      default:
        text.insert(
            at, text.substr(static_cast<size_t>(rng.between(0, static_cast<int64_t>(text.size()))),
                            12));
    }
  }
  return text;
}

TEST(TraceFuzz, MutatedTextAndJson) {
  constexpr uint64_t kSeed = 20240607;
  Rng rng(kSeed);
  for (const AppliedCase& c : applied_cases()) {
    const State s = start(c.te, c.target);
    const std::string text = c.trace + "\n" + c.step + "\n";
    const std::string json = to_json(parse_trace(text, s));
    for (int i = 0; i < 100; ++i) {
      const std::string t = mutated(text, rng);
      const std::string j = mutated(json, rng);
      SCOPED_TRACE(fmt::format("seed {}\n{}\n{}\n{}", kSeed, c.te, t, j));
      ASSERT_NO_FATAL_FAILURE(expect_no_surprise(t, s, false));
      ASSERT_NO_FATAL_FAILURE(expect_no_surprise(j, s, true));
    }
  }
}

// These numbers are written in records: they must never change.
TEST(TraceHash, IsStable) {
  const State s = start(kMatmul);
  const Trace trace = parse_trace(
      "cache_write C register\ncompute_inline C\nsplit D i [3]\nsplit D j [2] parts\ncompute_at "
      "C.cache D j.0\n"
      "reorder C.cache [k, i]\nparallel D i.0\nvectorize D j.1\npragma_unroll C.cache 16\n"
      "layout_split A 0 [4, 2]",
      s);
  EXPECT_EQ(fmt::format("{:016x}", hash(Trace{})), "cbf29ce484222325");
  EXPECT_EQ(fmt::format("{:016x}", hash(trace[1])), "e2dad4f1e7d89a38");
  EXPECT_EQ(fmt::format("{:016x}", hash(trace)), "52e71007b4c66814");
  EXPECT_EQ(to_json(trace),
            R"([["cache_write",2,3],["compute_inline",2],["split",3,0,[3],false],)"
            R"(["split",3,1,[2],true],["compute_at",4,3,4],["reorder",4,[2,0]],["parallel",3,2],)"
            R"(["vectorize",3,5],["pragma_unroll",4,16],["layout_split",0,0,[4,2]]])");
}

TEST(TraceIds, ArePermanent) {
  const std::map<std::string, int> ids = {{"split", 1},
                                          {"fuse", 2},
                                          {"reorder", 3},
                                          {"parallel", 4},
                                          {"vectorize", 5},
                                          {"unroll", 6},
                                          {"pragma_unroll", 7},
                                          {"bind", 8},
                                          {"compute_at", 9},
                                          {"compute_inline", 10},
                                          {"compute_root", 11},
                                          {"cache_write", 12},
                                          {"cache_read", 13},
                                          {"rfactor", 14},
                                          {"decompose_init", 15},
                                          {"storage_align", 16},
                                          {"prefetch", 17},
                                          {"layout_split", 19},
                                          {"layout_reorder", 20},
                                          {"layout_fuse", 21},
                                          {"layout_pad", 22},
                                          {"layout_unfold", 23},
                                          {"layout_store_at", 24},
                                          {"variant", 25},
                                          {"set_scope", 26},
                                          {"pipeline", 27}};
  std::set<int> seen;
  for (const PrimitiveRow& row : primitives()) {
    EXPECT_TRUE(seen.insert(row.id).second) << row.name;
    EXPECT_EQ(find_primitive(row.name), &row);
    const auto it = ids.find(std::string(row.name));
    if (it != ids.end()) EXPECT_EQ(row.id, it->second) << row.name;
  }
  for (const auto& [name, id] : ids) EXPECT_TRUE(seen.count(id)) << name;
}

// A stage that a step inserts gets the next free id: what other steps say keeps its meaning.
TEST(TraceIds, InsertingAStageRenumbersNothing) {
  const State s = start(kMatmul);
  const std::string rest = "split D j [4]\nsplit C k [2]\nvectorize D j.1\nreorder C [k.0, i]\n";
  const Trace plain = parse_trace(rest, s);
  const Trace cached = parse_trace("cache_read A [C] local\ncache_read B [C] local\n" + rest, s);
  EXPECT_EQ(Trace(cached.begin() + 2, cached.end()), plain);
  const Trace factored = parse_trace("cache_write D local\n" + rest, s);
  EXPECT_EQ(Trace(factored.begin() + 1, factored.end()), plain);
  const State after = *replay(s, cached);
  EXPECT_EQ(after.stage(4).name, "A.read");
  EXPECT_EQ(after.stage(5).name, "B.read");
}

TEST(TraceIds, FreshNamesDoNotClash) {
  const State s = start(R"(
input A: f32[4]
C[i: 4] = A[i] + 1.0
"C.cache" [i: 4] = C[i] * 2.0
output "C.cache"
)");
  const State after = *replay(s, parse_trace("cache_write C local\ncache_write C local", s));
  EXPECT_EQ(after.stage(3).name, "C.cache.2");
  EXPECT_EQ(after.stage(4).name, "C.cache.3");
}

}  // namespace
}  // namespace tenon::schedule
