// SPDX-License-Identifier: Apache-2.0
// What templates write by their own rules, for every case, kind of target and request: a golden
// file holds which template it is and a hash of the trace. Whoever changes a rule writes the file
// anew (--update) and says why.
//
//   conv3x3 | x86-64-v4 cores=2 | free, inside | conv | 0123456789abcdef
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "schedule/algorithms/algorithms.h"
#include "schedule/state.h"
#include "support/hash.h"
#include "templates/case_tables.h"
#include "templates/edges.h"

namespace tenon::templates {
namespace {

bool g_update = false;

struct Asked {
  std::string name;
  Request request;
};

// Every edge stored in blocks of so many channels; 1 is row-major.
Asked stored(const te::ComputeDag& dag, const std::string& name, int64_t block) {
  Asked a{name, {}};
  a.request.borders = false;
  const auto fix = [&](const te::Tensor& t) {
    const bool cut = t.rank() > 2 && t.shape()[1] >= block;
    a.request.fixed[t.name()] = blocked(t.shape(), cut ? block : 1);
  };
  for (const te::Input& in : dag.inputs) {
    if (!in.constant) fix(in.tensor);
  }
  for (const te::Tensor& t : dag.outputs) fix(t);
  return a;
}

// N Y/4 X/4 K/8 4 4 8
layout::Layout tiles(const std::vector<int64_t>& shape) {
  const auto count = [&](size_t d, int64_t n) { return arith::ceil_div(shape[d], n); };
  return layout::Layout(shape)
      .split(3, {count(3, 4), 4})
      .split(2, {count(2, 4), 4})
      .split(1, {count(1, 8), 8})
      .reorder({0, 3, 5, 1, 4, 6, 2});
}

// Outputs of four dimensions in tiles of positions.
Asked tiled(const te::ComputeDag& dag) {
  Asked a = stored(dag, "tiles", 8);
  for (const te::Tensor& t : dag.outputs) {
    const auto& s = t.shape();
    if (s.size() == 4 && s[1] >= 8 && s[2] >= 4 && s[3] >= 4) a.request.fixed[t.name()] = tiles(s);
  }
  return a;
}

std::vector<Asked> common(const te::ComputeDag& dag) {
  return {{"free", {}}, {"inside", {.fixed = {}, .borders = false}}, stored(dag, "plain", 1)};
}

Asked algorithm(const std::string& name, int64_t value) {
  Asked a{name, {}};
  a.request.borders = false;
  a.request.algorithm = value;
  a.request.accuracy = Accuracy::kFast;
  return a;
}

std::vector<Asked> rare(const te::ComputeDag& dag) {
  std::vector<Asked> out{stored(dag, "by16", 16), stored(dag, "by8", 8), tiled(dag)};
  for (const auto& [name, a] :
       {std::pair("strict", Accuracy::kStrict), {"fast", Accuracy::kFast}}) {
    out.push_back({name, {.fixed = {}, .borders = false}});
    out.back().request.accuracy = a;
  }
  out.push_back(algorithm("direct", 0));
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    out.push_back(algorithm(std::string(row.name), 1 + static_cast<int64_t>(row.algorithm)));
  }
  return out;
}

struct Row {
  std::string case_and_target, requests, program, trace;
  std::string line() const { return case_and_target + " | " + requests + " | " + program; }
};

// With rates at which fewer multiplications pay, so that every algorithm has programs here.
std::shared_ptr<const target::Target> target_of(const std::string& text) {
  target::Target t = target::parse_target(text);
  if (t.is_cpu()) t.cpu().rates = {};
  return std::make_shared<const target::Target>(std::move(t));
}

// Requests that lead to the same program share a row.
void add(const Case& c, const std::shared_ptr<const te::ComputeDag>& dag, const std::string& target,
         const std::vector<Asked>& requests, std::vector<Row>& out) {
  const schedule::State initial(dag, target_of(target));
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  for (const Asked& a : requests) {
    const Choice choice = choose(initial, a.request);
    const std::string text = schedule::to_text(choice.trace, initial);
    const std::string program =
        fmt::format("{} | {:016x}", choice.name, Hasher().add(text).value());
    const auto same = std::find_if(out.begin() + first, out.end(),
                                   [&](const Row& r) { return r.program == program; });
    if (same == out.end()) {
      out.push_back({c.name + " | " + target, a.name, program, text});
    } else {
      same->requests += ", " + a.name;
    }
  }
}

std::vector<Row> rows_of(const Case& c) {
  const auto dag = std::make_shared<const te::ComputeDag>(c.make());
  std::vector<Row> out;
  for (const char* name : {"x86-64", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    for (const int cores : {1, 2, 16}) {
      add(c, dag, fmt::format("{} cores={}", name, cores), common(*dag), out);
    }
  }
  for (const char* name : {"x86-64-v3 cores=16", "x86-64-v4-bf16 cores=2"}) {
    add(c, dag, name, rare(*dag), out);
  }
  return out;
}

std::vector<Case> all_cases() {
  std::vector<Case> out = cases();
  const auto networks = network_cases();
  out.insert(out.end(), networks.begin(), networks.end());
  return out;
}

TEST(DefaultTraces, AreTheGoldenOnes) {
  if (g_update) {
    std::ofstream file(TENON_GOLDEN);
    for (const Case& c : all_cases()) {
      for (const Row& r : rows_of(c)) file << r.line() << "\n";
    }
    return;
  }
  std::ifstream file(TENON_GOLDEN);
  std::string golden;
  for (const Case& c : all_cases()) {
    for (const Row& r : rows_of(c)) {
      ASSERT_TRUE(bool(std::getline(file, golden))) << r.line();
      EXPECT_EQ(r.line(), golden) << r.trace;
    }
  }
  EXPECT_FALSE(bool(std::getline(file, golden))) << golden;
}

}  // namespace
}  // namespace tenon::templates

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tenon::templates::g_update = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
