// SPDX-License-Identifier: Apache-2.0
// Lock files as version 0.1 wrote them (schema tenon.lock/1): by tenon compile, with a pair, and by
// tenon tune with layouts that it chose. All are of runs/pairs.onnx and x86-64-v3.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compile/compile.h"
#include "compile/run.h"
#include "corpus/file_name.h"
#include "graph/define.h"
#include "graph/random_graph.h"
#include "onnx/import.h"
#include "plan/text.h"

namespace tenon::plan {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> old_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(TENON_LOCK_CORPUS "/first_schema")) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class FirstSchemaTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FirstSchemaTest, DecidesAsItDid) {
  Options o;
  o.target = target::parse_target("x86-64-v3");
  o.plan = read_lock(GetParam());
  o.frozen = true;
  o.warn = [](const std::string& text) { ADD_FAILURE() << text; };
  const graph::Graph g = onnx::import_file(TENON_RUN_CORPUS "/pairs.onnx").graph;
  const Network n = compile::decide(g, "pairs", o);
  EXPECT_EQ(n.plan.tasks.size(), o.plan.tasks.size());
  for (const TaskPlan& t : n.plan.tasks) EXPECT_EQ(t.from, From::kLock);
  EXPECT_EQ(n.plan.layouts, o.plan.layouts);
  const bool paired = GetParam().ends_with("/pairs.lock");
  EXPECT_EQ(n.plan.pairs.calls, (paired ? std::map<std::string, std::string>{{"q1", "r1"}}
                                        : std::map<std::string, std::string>{}));
  EXPECT_EQ(n.plan.layouts.decided(), GetParam().ends_with("/tuned-layouts.lock"));
  // Written again it is of the new schema, and decides the same.
  const std::string text = to_text(n.plan);
  EXPECT_NE(text.find(kLockSchema), std::string::npos);
  o.plan = parse(text, "again.lock");
  EXPECT_EQ(to_text(compile::decide(g, "pairs", o).plan), text);
  if (!target::runs_here(o.target)) GTEST_SKIP() << "its target does not run here";
  Rng rng(1);
  const auto inputs = graph::random_inputs(rng, g);
  const auto d =
      graph::compare(graph::evaluate(g, inputs), compile::run(compile::build(n, o), inputs, 2));
  EXPECT_LT(d.error, 1e-5) << d.where;
}

INSTANTIATE_TEST_SUITE_P(Files, FirstSchemaTest, ::testing::ValuesIn(old_files()), name_of);

}  // namespace
}  // namespace tenon::plan
