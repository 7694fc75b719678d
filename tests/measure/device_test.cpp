// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "measure/processes.h"
#include "measure/tasks.h"
#include "support/check.h"
#include "templates/template.h"

namespace tenon::measure {
namespace {

using task::Outcome;

DeviceOptions real_tools() {
  DeviceOptions o;
  o.build_tool = TENON_BUILD;
  o.run_tool = TENON_RUN;
  o.builders = 2;
  return o;
}

schedule::Trace template_trace(const task::Task& t) {
  return templates::choose(schedule::State(t.dag, t.target), {t.edges, true}).trace;
}

TEST(Device, TemplateIsFasterThanTheDefinitionAndBothAreRight) {
  const task::Task t = matmul_task(192, 160, 224);
  const std::vector<schedule::Trace> traces = {template_trace(t), {}};
  for (const bool cold : {true, false}) {
    DeviceOptions o = real_tools();
    o.protocol.cold = cold;
    const auto m = device_measurer(o);
    const auto r = measure(*m, t, traces, 0, {});
    ASSERT_EQ(r.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(r[i].outcome, Outcome::kOk) << r[i].error;
      EXPECT_EQ(r[i].task, t.key);
      EXPECT_EQ(r[i].target, m->target(*t.target));
      EXPECT_EQ(r[i].protocol, m->protocol());
      EXPECT_EQ(r[i].trace, schedule::to_json(traces[i]));
      EXPECT_LE(r[i].best_s, r[i].median_s);
      EXPECT_LE(r[i].low_s, r[i].median_s);
      EXPECT_GE(r[i].high_s, r[i].median_s);
      EXPECT_GT(r[i].time, 0);
      EXPECT_EQ(m->verify(t, traces[i]).why, "");
    }
    EXPECT_LT(r[0].median_s, r[1].median_s);
  }
  EXPECT_TRUE(testing::children_of(getpid()).empty());
}

TEST(Device, SmallWorkIsComparedWithTheEvaluator) {
  DeviceOptions o = real_tools();
  o.protocol.threads = 2;
  const auto m = device_measurer(o);
  for (const auto& [a, b, c] : {std::array<int64_t, 3>{1, 1, 1}, {7, 13, 5}, {17, 31, 3}}) {
    const task::Task t = matmul_task(a, b, c);
    EXPECT_EQ(m->verify(t, template_trace(t)).why, "") << a << " " << b << " " << c;
    EXPECT_EQ(m->verify(t, {}).why, "") << a << " " << b << " " << c;
  }
}

// Kinds, types, edges; the last ones are too much work for the evaluator.
TEST(Device, TemplatesOfManyKindsAreRight) {
  constexpr const char* kTexts[] = {
      "input A: f32[3, 37]\nM[i: 3] = max(j: 37) A[i, j]\nE[i: 3, j: 37] = exp(A[i, j] - M[i])\n"
      "S[i: 3] = sum(j: 37) E[i, j]\nY[i: 3, j: 37] = E[i, j] / S[i]\noutput Y\n",
      "input A: f16[9, 16]\nconst B: f16[16, 24]\n"
      "C[i: 9, j: 24] = sum(k: 16) A[i, k] * B[k, j]\noutput C\n",
      "input A: i8[5, 64]\nconst B: i8[64, 33]\n"
      "C[i: 5, j: 33] = sum(k: 64) i32(A[i, k]) * i32(B[k, j])\noutput C\n",
      "input A: f32[7]\ninput I: i64[11]\nB[i: 11] = A[max(min(I[i], 6), 0)]\noutput B\n",
      "input A: f32[1, 32, 30, 30]\nconst W: f32[64, 32, 3, 3]\nconst b: f32[64]\n"
      "C[n: 1, o: 64, y: 28, x: 28] = sum(c: 32, r: 3, s: 3) A[n, c, y + r, x + s] * W[o, c, r, "
      "s]\n"
      "R[n: 1, o: 64, y: 28, x: 28] = max(C[n, o, y, x] + b[o], 0.0)\noutput R\n",
      "input A: f32[513, 700]\nS[i: 513] = sum(j: 700) A[i, j]\n"
      "Y[i: 513, j: 700] = A[i, j] * 2.0\noutput S\noutput Y\n",
  };
  for (const int threads : {1, 2}) {
    DeviceOptions o = real_tools();
    o.protocol.threads = threads;
    const auto m = device_measurer(o);
    for (const char* text : kTexts) {
      const task::Task t =
          task::make_task(std::make_shared<const te::ComputeDag>(te::parse(text)), {},
                          std::make_shared<const target::Target>(target::host_target()));
      const std::vector<schedule::Trace> traces = {template_trace(t)};
      EXPECT_EQ(m->verify(t, traces[0]).why, "") << text;
      const auto r = measure(*m, t, traces, 0, {});
      EXPECT_EQ(r[0].outcome, Outcome::kOk) << r[0].error << text;
    }
  }
}

// Candidate and definition are replaced by a program that answers with its threads if, and only if, a loop is parallel.
TEST(Device, TheDefinitionRunsOnAsManyThreads) {
  const task::Task t = matmul_task(16, 16, 1024);  // too much work for the evaluator
  const schedule::Trace parallel = schedule::trace_from_json(R"([["parallel",2,0]])");
  for (const int threads : {1, 2, 3}) {
    DeviceOptions o = real_tools();
    o.build_tool = TENON_THREADS_BUILD;
    o.protocol.threads = threads;
    EXPECT_EQ(device_measurer(o)->verify(t, parallel).why, "") << threads;
  }
}

TEST(Device, EdgesThatAreNotKeptAreRefused) {
  task::Task t = matmul_task(16, 16, 16);
  t = task::make_task(t.dag, {{"C", layout::Layout({16, 16}).reorder({1, 0})}}, t.target);
  const auto m = device_measurer(real_tools());
  const std::vector<schedule::Trace> traces = {{}, task::edge_steps(t)};
  const auto r = measure(*m, t, traces, 0, {});
  EXPECT_EQ(r[0].outcome, Outcome::kRefused);
  EXPECT_EQ(r[1].outcome, Outcome::kOk) << r[1].error;
  EXPECT_EQ(m->verify(t, traces[1]).why, "");
  EXPECT_EQ(m->verify(t, traces[0]).kind, Verdict::Kind::kUndecided);
}

TEST(Device, FinalsAreOrderedAndStopEndsABatch) {
  const task::Task t = matmul_task(96, 96, 96);
  const auto m = device_measurer(real_tools());
  const std::vector<schedule::Trace> traces = {{}, template_trace(t), fault_trace(1000)};
  const auto r = m->finals(t, traces, 1);
  ASSERT_EQ(r.size(), 3u);
  EXPECT_LT(r[1].median_s, r[0].median_s);
  EXPECT_EQ(r[2].outcome, Outcome::kRefused);  // too much to unroll
  EXPECT_TRUE(measure(*m, t, traces, 0, [] { return true; }).empty());
}

// Every file that is written while it lives is cut off at nothing, as on a disk without room.
class NoRoom {
 public:
  NoRoom() {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    handler_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit none = {0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

TEST(Device, AFullDiskDecidesNothing) {
  const task::Task t = matmul_task(16, 16, 16);
  const std::vector<schedule::Trace> traces = {template_trace(t)};
  {
    const auto m = device_measurer(real_tools());
    const NoRoom full;
    const auto r = measure(*m, t, traces, 0, {});
    EXPECT_EQ(to_string(r[0].outcome), "undecided") << r[0].error;
    EXPECT_NE(r[0].error, "");
    const Verdict v = m->verify(t, traces[0]);
    EXPECT_EQ(v.kind, Verdict::Kind::kUndecided) << v.why;
    EXPECT_NE(v.why, "");
  }
  const auto m = device_measurer(real_tools());
  EXPECT_EQ(measure(*m, t, traces, 0, {})[0].outcome, Outcome::kOk);
  EXPECT_EQ(m->verify(t, traces[0]).why, "");
}

// The folder for files of a moment is gone: somebody cleans up what looks old.
TEST(Device, AFolderThatVanishedDecidesNothing) {
  const task::Task t = matmul_task(16, 16, 16);
  const std::vector<schedule::Trace> traces = {template_trace(t)};
  const std::string before = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
  const std::string folder = ::testing::TempDir() + "measure_vanished";
  std::filesystem::create_directories(folder);
  setenv("TMPDIR", folder.c_str(), 1);
  const auto m = device_measurer(real_tools());
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
  ASSERT_EQ(measure(*m, t, traces, 0, {})[0].outcome, Outcome::kOk);
  std::filesystem::remove_all(folder);
  const auto r = measure(*m, t, traces, 0, {});
  EXPECT_EQ(to_string(r[0].outcome), "undecided") << r[0].error;
  EXPECT_EQ(m->verify(t, {}).kind, Verdict::Kind::kUndecided);
  // What the fastest program was built into is kept, and needs no file.
  EXPECT_EQ(m->verify(t, traces[0]).why, "");
}

TEST(Device, ToolsThatAreNotThereAreTheUsersFault) {
  DeviceOptions o = real_tools();
  o.build_tool = "/nowhere/tenon-build";
  const auto m = device_measurer(o);
  const std::vector<schedule::Trace> one(1);
  EXPECT_THROW(measure(*m, matmul_task(4, 4, 4), one, 0, {}), UserError);
}

}  // namespace
}  // namespace tenon::measure
