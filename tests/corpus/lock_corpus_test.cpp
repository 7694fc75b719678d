// SPDX-License-Identifier: Apache-2.0
// Every file in locks/ once made a library that computes something else than its model, or broke a check of ours.
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

namespace tenon::compile {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lock_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(TENON_LOCK_CORPUS)) {
    if (entry.path().extension() == ".lock") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class LockCorpusTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    options_.target = target::parse_target("x86-64-v3");
    options_.warn = [this](const std::string& text) { warnings_.push_back(text); };
    options_.plan = plan::read_lock(GetParam());
    graph_ = onnx::import_file(TENON_LOCK_CORPUS "/net.onnx").graph;
  }
  Options options_;
  std::vector<std::string> warnings_;
  graph::Graph graph_;
};

TEST_P(LockCorpusTest, IsRefusedByTheNameOfItsTask) {
  options_.frozen = true;
  try {
    compile(graph_, "net", options_);
    FAIL() << "it was taken";
  } catch (const MissingSchedule& e) {
    EXPECT_NE(std::string(e.what()).find("task "), std::string::npos) << e.what();
  }
}

TEST_P(LockCorpusTest, GivesTheNumbersOfTheInterpreter) {
  if (!target::runs_here(options_.target)) GTEST_SKIP() << "its target does not run here";
  Rng rng(1);
  const auto inputs = graph::random_inputs(rng, graph_);
  const auto expected = graph::evaluate(graph_, inputs);
  const auto d = graph::compare(expected, run(compile(graph_, "net", options_), inputs, 2));
  EXPECT_LT(d.error, 1e-5) << d.where;
  EXPECT_EQ(warnings_.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Files, LockCorpusTest, ::testing::ValuesIn(lock_files()), name_of);

}  // namespace
}  // namespace tenon::compile
