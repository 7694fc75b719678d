// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <gtest/gtest.h>

#include "support/check.h"

namespace tenon {
namespace {

ProcessResult shell(const std::string& script, double limit_s = 60) {
  return run_process({"/bin/sh", "-c", script}, limit_s);
}

TEST(Process, KeepsWhatWasSaidAndHowItEnded) {
  const ProcessResult r = shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(r.status, 7);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_FALSE(r.late);
  EXPECT_EQ(shell("kill -9 $$").status, -1);
}

TEST(Process, ReadsNothingAndIsAGroupOfItsOwn) {
  EXPECT_EQ(shell("cat").out, "");
  EXPECT_EQ(shell("kill -0 -$$").status, 0);
}

TEST(Process, EndsAtTheDeadlineWithAllThatItStarted) {
  const ProcessResult r = shell("echo begun; sleep 1000 & sleep 1000", 0.2);
  EXPECT_TRUE(r.late);
  EXPECT_EQ(r.status, -1);
}

TEST(Process, TakesSettingsThatTheEnvironmentDoesNotName) {
  const std::vector<std::string> settings = {"TENON_PROCESS_TEST=a=b", "PATH=/nowhere"};
  const std::string script = "echo $TENON_PROCESS_TEST; test $PATH = /nowhere";
  const ProcessResult r = run_process({"/bin/sh", "-c", script}, 60, settings);
  EXPECT_EQ(r.out, "a=b\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(shell("echo $TENON_PROCESS_TEST").out, "\n");
}

TEST(Process, RunsWithItsMemoryInLargePages) {
  const ProcessResult r = run_process({"/bin/sh", "-c", "echo said"}, 60, kMemoryInLargePages);
  EXPECT_EQ(r.out, "said\n");
}

TEST(Process, WhatCannotBeStartedIsTheUsersFault) {
  EXPECT_THROW(run_process({"/no/such/program"}, 1), UserError);
}

}  // namespace
}  // namespace tenon
