// SPDX-License-Identifier: Apache-2.0
// Programs that tenon-build is asked for at once, with an assembler that does as told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "measure/answers.h"
#include "measure/build.h"
#include "support/private_folder.h"
#include "te/text.h"

namespace tenon::measure {
namespace {

using task::Outcome;

// A product whose blocks have n x n threads.
schedule::Trace trace_of(const task::Task& t, int n) {
  const std::string text = fmt::format(R"(
split C i [{0}]
split C j [{0}]
reorder C [i.0, j.0, i.1, j.1, k]
bind C i.0 block_y
bind C j.0 block_x
bind C i.1 thread_y
bind C j.1 thread_x
)",
                                       n);
  return schedule::parse_trace(text, schedule::State(t.dag, t.target));
}

task::Task product() {
  const char* text =
      "input A: f32[64, 64]\nconst B: f32[64, 64]\n"
      "C[i: 64, j: 64] = sum(k: 64) A[i, k] * B[k, j]\noutput C\n";
  return task::make_task(
      std::make_shared<const te::ComputeDag>(te::parse(text)), {},
      std::make_shared<const target::Target>(target::parse_target("cuda sm_90")));
}

class Together : public ::testing::Test {
 protected:
  Together() {
    // It writes down how many texts it is given, and refuses blocks of 4 x 4 threads.
    const std::filesystem::path tool = folder_.path() / "ptxas";
    std::ofstream(tool) << "#!/bin/sh\nshift 4\nto=$1\nshift\necho $# >> " << log_.string()
                        << "\ngrep -q 'maxntid 4, 4' \"$@\" && { echo 'no fours' >&2; exit 1; }\n"
                        << "echo image > $to\n";
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    setenv("TENON_PTXAS", tool.c_str(), 1);
  }
  ~Together() override { unsetenv("TENON_PTXAS"); }

  std::vector<Built> build(const std::vector<schedule::Trace>& traces) {
    Worker worker(TENON_BUILD, {folder_.path().string(), "0"}, 10);
    Answer a = worker.call(build_request(task_, traces), 20);
    const auto answers = split(a.message);
    std::vector<Built> out;
    if (!answers) return out;
    for (const Message& m : *answers) {
      a.message = m;
      out.push_back(read_build(a, 20));
    }
    return out;
  }
  std::string asked() const {
    std::ifstream in(log_);
    std::string all, line;
    while (in >> line) all += line;
    return all;
  }

  const PrivateFolder folder_ = PrivateFolder::temporary("together");
  const std::filesystem::path log_ = folder_.path() / "log";
  const task::Task task_ = product();
};

TEST_F(Together, TheAssemblerIsStartedOnce) {
  const auto built = build({trace_of(task_, 8), trace_of(task_, 16), trace_of(task_, 2)});
  ASSERT_EQ(built.size(), 3U);
  for (const Built& b : built) EXPECT_EQ(b.outcome, Outcome::kOk) << b.error;
  EXPECT_EQ(asked(), "3");
}

TEST_F(Together, OneThatItRefusesFailsAlone) {
  const auto built = build({trace_of(task_, 8), trace_of(task_, 4), trace_of(task_, 2)});
  ASSERT_EQ(built.size(), 3U);
  EXPECT_EQ(built[0].outcome, Outcome::kOk) << built[0].error;
  EXPECT_EQ(built[1].outcome, Outcome::kCompileError);
  EXPECT_NE(built[1].error.find("no fours"), std::string::npos) << built[1].error;
  EXPECT_EQ(built[2].outcome, Outcome::kOk) << built[2].error;
  EXPECT_EQ(asked(), "3111");
}

// 64 x 64 threads are more than a block has.
TEST_F(Together, OneThatIsRefusedBeforeDoesNotTakePart) {
  const auto built = build({trace_of(task_, 8), trace_of(task_, 64), trace_of(task_, 2)});
  ASSERT_EQ(built.size(), 3U);
  EXPECT_EQ(built[0].outcome, Outcome::kOk) << built[0].error;
  EXPECT_EQ(built[1].outcome, Outcome::kRefused);
  EXPECT_EQ(built[2].outcome, Outcome::kOk) << built[2].error;
  EXPECT_EQ(asked(), "2");
}

TEST(Answers, AreSplitAsTheyWereJoined) {
  const std::vector<Message> answers = {{"built", "", "1"}, {"refused", "why"}};
  EXPECT_EQ(split(join(answers)), answers);
  EXPECT_EQ(split({"2", "refused"}), std::nullopt);
  EXPECT_EQ(split({"what", "is", "this"}), std::nullopt);
}

}  // namespace
}  // namespace tenon::measure
