// SPDX-License-Identifier: Apache-2.0
// Lock files that were changed by hand or by accident: a schedule that may not serve its task is told with the task's name
// and costs that task its schedule; under `frozen` it is the error.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "compile/compile.h"
#include "compile/run.h"
#include "files/file.h"
#include "graph/builder.h"
#include "graph/partition.h"
#include "graph/random_graph.h"
#include "plan/text.h"

namespace tenon::compile {
namespace {

using Json = nlohmann::ordered_json;

graph::Graph three_convolutions(Rng& rng) {
  graph::Graph g;
  graph::GraphBuilder b(g);
  graph::ValueId x = b.input("x", ir::kF32, {1, 16, 6, 5});
  for (const int64_t out : {16, 24, 8}) {
    const auto w = b.constant(graph::random_array(rng, ir::kF32, {out, b.shape(x)[1], 1, 1}));
    x = b.add("conv", graph::Conv{}, {x, w});
  }
  g.add_output(x, "y");
  return g;
}

class Refused : public testing::Test {
 protected:
  void SetUp() override {
    Rng rng(3);
    graph_ = three_convolutions(rng);
    inputs_ = graph::random_inputs(rng, graph_);
    expected_ = graph::evaluate(graph_, inputs_);
    lock_ = Json::parse(plan::to_text(compile(graph_, "net", options()).plan));
  }

  static Options options() {
    Options o;
    o.target = target::host_target();
    o.optimize = false;
    return o;
  }

  // The first task whose trace has such a step after the first of them.
  Json& task_with(const std::string& step) {
    for (Json& t : lock_["tasks"]) {
      if (t["trace"].get<std::string>().find(step) != std::string::npos) return t;
    }
    ADD_FAILURE() << "no task has a step " << step;
    return lock_["tasks"][0];
  }

  artifact::Program with_lock(bool frozen) {
    const auto file =
        std::filesystem::temp_directory_path() / ("refused_" + std::to_string(getpid()) + ".lock");
    files::write_file(file.string(), lock_.dump());
    Options o = options();
    o.frozen = frozen;
    o.warn = [&](const std::string& text) { warnings_.push_back(text); };
    o.plan = plan::read_lock(file.string());
    std::filesystem::remove(file);
    return compile(graph_, "net", o);
  }

  std::string frozen_error() {
    try {
      with_lock(true);
    } catch (const MissingSchedule& e) {
      return e.what();
    }
    return "no error";
  }

  // The task has its default and a warning, the others have what the lock file says, and the numbers are right.
  void expect_default(const std::string& task, const std::string& why) {
    const std::string error = frozen_error();
    EXPECT_NE(error.find(task), std::string::npos) << error;
    EXPECT_NE(error.find(why), std::string::npos) << error;
    warnings_.clear();
    const artifact::Program p = with_lock(false);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find(task), std::string::npos) << warnings_[0];
    EXPECT_NE(warnings_[0].find(why), std::string::npos) << warnings_[0];
    const auto d = graph::compare(expected_, run(p, inputs_, 2));
    EXPECT_LT(d.error, 1e-5) << d.where;
  }

  graph::Graph graph_;
  std::vector<ir::Array> inputs_, expected_;
  Json lock_;
  std::vector<std::string> warnings_;
};

std::string without_line(const std::string& text, const std::string& begin) {
  const size_t at = text.find(begin);
  return text.substr(0, at) + text.substr(text.find('\n', at) + 1);
}

TEST_F(Refused, AnUnchangedLockFileIsTaken) {
  for (const bool frozen : {true, false}) {
    const artifact::Program p = with_lock(frozen);
    EXPECT_EQ(Json::parse(plan::to_text(p.plan))["tasks"], lock_["tasks"]);
  }
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(Refused, AStepThatStoresAnEdgeIsMissing) {
  Json& t = task_with("layout_reorder");
  t["trace"] = without_line(t["trace"], "layout_reorder");
  expect_default(t["task"], "");
}

TEST_F(Refused, AnEmptyTraceStoresNoEdgeAsAgreed) {
  Json& t = task_with("layout_reorder");
  t["trace"] = "";
  expect_default(t["task"], "is not stored as the task's edges say");
}

TEST_F(Refused, ATraceThatIsNone) {
  Json& t = task_with("layout_reorder");
  t["trace"] = "split nobody i [4]\n";
  expect_default(t["task"], "nobody");
}

TEST_F(Refused, AnotherTasksTrace) {
  Json& t = lock_["tasks"][0];
  t["trace"] = lock_["tasks"][lock_["tasks"].size() - 1]["trace"];
  expect_default(t["task"], "");
}

TEST_F(Refused, AnEntryThatCannotBeRead) {
  Json& t = lock_["tasks"][1];
  t["trace"] = 7;
  expect_default(t["task"], "its entry is damaged");
}

TEST_F(Refused, AnEntryWithoutATask) {
  const std::string task = lock_["tasks"][1]["task"];
  lock_["tasks"][1]["task"] = Json::array();
  EXPECT_NE(frozen_error().find(task), std::string::npos);
  warnings_.clear();
  const artifact::Program p = with_lock(false);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("a task has no name"), std::string::npos) << warnings_[0];
  EXPECT_LT(graph::compare(expected_, run(p, inputs_)).error, 1e-5);
}

// Layouts that nobody would choose are taken, or refused like any other mistake of a user.
TEST_F(Refused, StrangeLayoutsAreTakenOrRefused) {
  const graph::Partition p = graph::partition(graph_);
  for (const graph::Call& c : p.calls) {
    const te::ComputeDag& dag = *p.tasks[static_cast<size_t>(c.task)].dag;
    for (const std::string& edge : {dag.inputs[0].tensor.name(), dag.outputs[0].name()}) {
      for (const char* how :
           {"unfold(2,4,2)", "unfold(1,3,1)", "pad(1,1,1)", "pad(2,3,3)", "split(1,[16,1])",
            "reorder([3,2,1,0])", "fuse(0,4)", "store_at(0)", "pad(2,1000000,1000000)"}) {
        Options o = options();
        o.plan.layouts.calls = {{c.name, edge + ": " + how}};
        SCOPED_TRACE(c.name + " " + o.plan.layouts.calls[c.name]);
        try {
          const artifact::Program program = compile(graph_, "net", o);
          EXPECT_LT(graph::compare(expected_, run(program, inputs_)).error, 1e-5);
        } catch (const UserError& e) {
          EXPECT_NE(std::string(e.what()), "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::compile
