// SPDX-License-Identifier: Apache-2.0
// Two artifacts against each other, in a process that may die.
#include "measure/network_compare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "artifact/write.h"
#include "compile/compile.h"
#include "files/file.h"
#include "graph/random_graph.h"

namespace tenon::measure {
namespace {

namespace fs = std::filesystem;

class NetworkCompare : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("network_compare_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    Rng rng(5);
    graph_ = graph::random_graph(rng, 8);
    inputs_ = graph::random_inputs(rng, graph_);
    write("fused", true);
    write("apart", false);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, bool fuse) const {
    compile::Options o;
    o.target = target::host_target();
    o.fuse = fuse;
    artifact::write(compile::compile(graph_, "net", o), {.directory = folder_ / name});
  }

  fs::path folder_;
  graph::Graph graph_;
  std::vector<ir::Array> inputs_;
};

TEST_F(NetworkCompare, TimesBothAndEveryStep) {
  const auto timer = network_timer(TENON_COMPARE);
  for (const bool given : {false, true}) {
    NetworkOptions o{1, 0.05, {}};
    if (given) o.inputs = inputs_;
    const NetworkTimes t = timer->compare(folder_ / "apart", folder_ / "fused", o);
    ASSERT_EQ(t.error, "");
    EXPECT_GT(t.a_s, 0);
    EXPECT_GT(t.b_s, 0);
    EXPECT_GE(t.turns, 8);
    EXPECT_LE(t.low, t.ratio);
    EXPECT_LE(t.ratio, t.high);
    EXPECT_GE(t.a_steps_s.size(), t.b_steps_s.size()) << "fused, there are not more";
    EXPECT_FALSE(t.b_steps_s.empty());
    EXPECT_LT(t.difference, 1e-4);
  }
}

TEST_F(NetworkCompare, WhatGoesWrongIsASentence) {
  const auto timer = network_timer(TENON_COMPARE);
  EXPECT_NE(timer->compare(folder_ / "fused", folder_ / "nothing", {}).error.find("nothing"),
            std::string::npos);
  NetworkOptions other{1, 0.01, inputs_};
  other.inputs.emplace_back(ir::kF32, std::vector<int64_t>{3, 1, 4, 1, 5});
  EXPECT_EQ(timer->compare(folder_ / "fused", folder_ / "fused", other).error,
            "the inputs are not those of the networks");
  other.inputs = inputs_;
  other.inputs[0] = ir::Array(inputs_[0].dtype(), {3, 1, 4, 1, 5});
  EXPECT_NE(timer->compare(folder_ / "fused", folder_ / "apart", other).error.find("3x1x4x1x5"),
            std::string::npos);
  EXPECT_EQ(timer->compare(folder_ / "fused", folder_ / "fused", {1, 0.01, {}}).error, "")
      << "the next one is asked anew";
}

TEST_F(NetworkCompare, ACrashEndsTheOtherProcessAlone) {
  const std::string tool = (folder_ / "crashes").string();
  files::write_file(tool, "#!/bin/sh\nkill -SEGV $$\n");
  fs::permissions(tool, fs::perms::owner_all);
  const NetworkTimes t = network_timer(tool)->compare(folder_ / "fused", folder_ / "fused", {});
  EXPECT_NE(t.error.find("signal 11"), std::string::npos) << t.error;
}

}  // namespace
}  // namespace tenon::measure
