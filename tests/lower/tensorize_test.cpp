// SPDX-License-Identifier: Apache-2.0
// A product of bytes as one would write it by hand: the constant operand in panels of 32 columns with four rows side by
// side, accumulators in registers, one instruction per four products of each lane.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "backend/backend.h"
#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "lower/lower.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

struct Product {
  const char* a;
  const char* b;
  const char* dot;
  int64_t m, k, n;
};

std::string te_text(const Product& p) {
  return fmt::format(
      "input A: {}[{m}, {k}]\nconst B: {}[{k}, {n}]\n"
      "C[i: {m}, j: {n}] = sum(k: {k}) i32(A[i, k]) * i32(B[k, j])\noutput C\n",
      p.a, p.b, fmt::arg("m", p.m), fmt::arg("k", p.k), fmt::arg("n", p.n));
}

// `lanes` of i32 in a vector, two of them beside each other, six rows.
std::string trace_text(const Product& p, int64_t lanes) {
  const int64_t panel = 2 * lanes;
  return fmt::format(R"(
cache_write C register
layout_split B 1 [{}, {}]
layout_split B 0 [{}, 4]
layout_reorder B [2, 0, 3, 1]
split C j [2, {lanes}]
split C i [6]
reorder C [j.0, i.0, i.1, j.1, j.2]
unroll C i.1
unroll C j.1
vectorize C j.2
compute_at C.cache C i.0
split C.cache j [{lanes}]
split C.cache k [4]
reorder C.cache [k.0, i, j.0, j.1, k.1]
unroll C.cache i
unroll C.cache j.0
tensorize C.cache j.1 k.1 {dot}
)",
                     (p.n + panel - 1) / panel, panel, (p.k + 3) / 4, fmt::arg("lanes", lanes),
                     fmt::arg("dot", p.dot));
}

schedule::State scheduled(const Product& p, const std::string& target) {
  const auto t = std::make_shared<target::Target>(target::parse_target(target));
  const schedule::State initial(std::make_shared<const te::ComputeDag>(te::parse(te_text(p))), t);
  const std::string trace = trace_text(p, t->cpu().lanes(4));
  return *schedule::replay(initial, schedule::parse_trace(trace, initial));
}

// Over the whole range of their type.
std::vector<ir::Array> bytes(const te::ComputeDag& dag, Rng& rng) {
  std::vector<ir::Array> arrays;
  for (const te::Input& in : dag.inputs) {
    const ir::DType t = in.tensor.dtype();
    arrays.emplace_back(t, in.tensor.shape());
    for (int64_t i = 0; i < arrays.back().elements(); ++i) {
      arrays.back().set_double(i, static_cast<double>(rng.between(lowest_int(t), highest_int(t))));
    }
  }
  return arrays;
}

const Product kProducts[] = {
    {"u8", "i8", "dot_u8i8", 12, 16, 64}, {"u8", "i8", "dot_u8i8", 13, 22, 70},
    {"i8", "i8", "dot_i8i8", 13, 22, 70}, {"u8", "u8", "dot_u8u8", 7, 9, 33},
    {"u8", "i8", "dot_u8i8", 6, 5, 37},
};

TEST(Tensorize, AProductOfBytesOnEveryTarget) {
  for (const target::Target& t : target::known_targets()) {
    std::unique_ptr<backend::Compiler> compiler;
    if (target::runs_here(t)) compiler = backend::make_compiler(t);
    for (const Product& p : kProducts) {
      SCOPED_TRACE(t.name + "\n" + te_text(p));
      const schedule::State s = scheduled(p, t.name);
      Rng rng(1);
      const auto inputs = bytes(s.dag(), rng);
      const auto outcome = fuzz::check_program(s, inputs, te::evaluate(s.dag(), inputs),
                                               compiler.get(), /*every_pass=*/true);
      EXPECT_EQ(outcome.problem, "");
      EXPECT_FALSE(outcome.refused);
    }
  }
}

// Lines of the longest run without a label or jump that contains `instruction`.
std::vector<std::string> hottest_block(const std::string& text, const std::string& instruction) {
  const auto count = [&](const std::vector<std::string>& lines) {
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& l) {
      return l.find(instruction) != std::string::npos;
    });
  };
  std::vector<std::string> best, block;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(".L") || line.starts_with("\tj")) {
      if (count(block) > count(best)) best = block;
      block.clear();
    } else {
      block.push_back(line);
    }
  }
  return best;
}

TEST(Tensorize, TheInnerLoopIsOneInstructionPerVector) {
  const Product p{"u8", "i8", "dot_u8i8", 96, 256, 128};
  const auto f = lower(scheduled(p, "x86-64-v4-vnni"));
  ASSERT_TRUE(f);
  const std::string text =
      backend::emit(*f, target::parse_target("x86-64-v4-vnni"), backend::Emit::kAssembly).bytes;
  const auto loop = hottest_block(text, "vpdpbusd");
  const auto count = [&](const char* what) {
    return std::count_if(loop.begin(), loop.end(),
                         [&](const std::string& l) { return l.find(what) != std::string::npos; });
  };
  EXPECT_EQ(count("vpdpbusd"), 12) << text;  // 6 rows of 2 vectors
  EXPECT_EQ(count("rsp"), 0) << "accumulators left the registers\n" << text;
  EXPECT_LE(loop.size(), 12u + 6 + 2 + 5) << "more than a load per row and vector\n" << text;
}

}  // namespace
}  // namespace tenon::lower
