// SPDX-License-Identifier: Apache-2.0
// How a run looks, from the events that it told.
#include "tools/tenon/commands/tune/progress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "tools/tenon/commands/tune/display.h"
#include "tools/tenon/commands/tune/frame.h"
#include "tools/tenon/commands/tune/warnings.h"

namespace tenon::tools {
namespace {

constexpr const char* kRun =
    R"({"event":"run","t":0,"run":"r1","models":[{"name":"net","directory":"out"}],)"
    R"("tasks":[{"key":"aaaaaaaaaaaaaaaa","label":"conv bias relu","calls":[4],"flops":1e6},)"
    R"({"key":"bbbbbbbbbbbbbbbb","label":"matmul","calls":[1],"flops":1e5}],)"
    R"("budget_s":1200,"trials":0,"measured_before":0,"spent_before_s":0})";
constexpr const char* kDefaultA =
    R"({"event":"default","t":1,"task":"aaaaaaaaaaaaaaaa","s":0.001,"outcome":"ok"})";
constexpr const char* kDefaultB =
    R"({"event":"default","t":2,"task":"bbbbbbbbbbbbbbbb","s":0.0007,"outcome":"ok"})";
constexpr const char* kRound =
    R"({"event":"round","t":702,"round":3,"task":"aaaaaaaaaaaaaaaa","tried":32,"ok":30,)"
    R"("failures":{"run-timeout":1,"compile-timeout":2},"best_s":0.0005,"default_s":0.001,)"
    R"("measured":1312,"failed":96})";

constexpr const char* kLayout =
    R"({"event":"layout","t":5,"task":"aaaaaaaaaaaaaaaa","label":"conv bias relu","point":"as it was",)"
    R"("edges":"","s":0.001,"default_s":0.001,"best_s":0.001,"tried":1})";
constexpr const char* kBetterLayout =
    R"({"event":"layout","t":8,"task":"aaaaaaaaaaaaaaaa","label":"conv bias relu","point":"o_t=16",)"
    R"("edges":"X: pad(1,0,1)\n","s":0.0008,"default_s":0.001,"best_s":0.0008,"tried":2})";

TuneProgress after(std::initializer_list<const char*> events) {
  TuneProgress p;
  for (const char* e : events) {
    p.take(e);
  }
  return p;
}

TEST(TuneProgress, AddsUpWhatWasTold) {
  TuneProgress p = after({kRun, kDefaultA});
  EXPECT_FALSE(p.default_estimate_s()) << "one task has no time yet";
  EXPECT_FALSE(p.estimate_s());
  p.take(kDefaultB);
  EXPECT_DOUBLE_EQ(*p.default_estimate_s(), 4 * 0.001 + 0.0007);
  EXPECT_DOUBLE_EQ(*p.estimate_s(), *p.default_estimate_s());
  p.take(kRound);
  EXPECT_DOUBLE_EQ(*p.estimate_s(), 4 * 0.0005 + 0.0007);
  EXPECT_EQ(p.tasks()[0].trials, 32);
  EXPECT_EQ(p.failures().at("compile-timeout"), 2);
  EXPECT_EQ(p.measured(), 1312);
  EXPECT_NEAR(p.share(p.tasks()[0]), 2.0 / 2.7, 1e-9);
  EXPECT_DOUBLE_EQ(*p.eta_s(702), 498);
  p.take(R"({"event":"network","model":"net","default_s":0.005,"tuned_s":0.003,"ratio":1.66,)"
         R"("low":1.6,"high":1.7,"kept":"tuned","tuned":2,"tasks":2,"t":1190})");
  EXPECT_DOUBLE_EQ(*p.models()[0].ratio, 1.66);
  p.take(R"({"event":"end","reason":"budget","measured":1400,"failed":97,"t":1200})");
  EXPECT_EQ(p.ended(), "budget");
  EXPECT_EQ(p.failed(), 97);
}

TEST(TuneProgress, EtaIsByWhatEndsFirst) {
  TuneProgress p;
  p.take(R"({"event":"run","t":100,"run":"r","models":[],"tasks":[],"budget_s":1000,"trials":300,)"
         R"("measured_before":100,"spent_before_s":100})");
  EXPECT_DOUBLE_EQ(*p.eta_s(100), 900) << "nothing is known of the speed yet";
  p.take(R"({"event":"round","t":150,"task":"x","tried":100,"measured":200,"failed":0})");
  EXPECT_DOUBLE_EQ(*p.eta_s(150), 50) << "100 more at two a second";
  TuneProgress open;
  open.take(R"({"event":"run","t":0,"run":"r","models":[],"tasks":[],"budget_s":0,"trials":0})");
  EXPECT_FALSE(open.eta_s(5));
}

TEST(TuneProgress, WhatIsNotUnderstoodIsLeftOut) {
  TuneProgress p = after({kRun, kDefaultA, kDefaultB});
  for (const char* e : {"", "{", "[]", "3", R"({"event":7})", R"({"event":"news","t":"soon"})",
                        R"({"event":"round","task":3,"failures":[1],"best_s":null})",
                        R"({"event":"default","task":"aaaaaaaaaaaaaaaa","s":null})",
                        R"({"event":"artifact","model":"other"})"}) {
    p.take(e);
  }
  EXPECT_FALSE(p.default_estimate_s()) << "its default failed";
  EXPECT_TRUE(p.estimate_s());
}

TEST(TuneProgress, CountsLayouts) {
  TuneProgress p = after({kRun, kDefaultA, kDefaultB});
  EXPECT_EQ(p.layouts().tried, 0);
  for (const char* e :
       {kLayout, kBetterLayout, R"({"event":"layout","s":null,"default_s":0.001})"}) {
    p.take(e);
  }
  EXPECT_EQ(p.layouts().tried, 3);
  EXPECT_EQ(p.layouts().better, 1);
  EXPECT_FALSE(p.layouts().decided);
  EXPECT_EQ(tune_frame(p, 9, {120, 24, false, ""})[2], "layouts  3 tried, 1 better");
  EXPECT_EQ(tune_line(p, 9),
            "t=9 measured=0 failed=0 layouts=3 better=1 best_ms=4.7 default_ms=4.7 eta_s=1191");
  p.take(R"({"event":"layouts","t":9,"models":{"net":{"c1":"X: pad(1,0,1)\n","c2":""},"odd":3}})");
  EXPECT_TRUE(p.layouts().decided);
  EXPECT_EQ(tune_frame(p, 9, {120, 24, false, ""})[2],
            "layouts  3 tried, 1 better; chosen for 2 calls");
  p.take(R"({"event":"layouts","t":9,"models":{"net":{}}})");
  EXPECT_EQ(tune_frame(p, 9, {120, 24, false, ""})[2],
            "layouts  3 tried, 1 better; kept as they were");
}

TEST(TuneProgress, CountsWhatSearchesMeasureWithoutRounds) {
  TuneProgress p = after({kRun, kDefaultA, kDefaultB, kLayout});
  EXPECT_EQ(p.measured(), 0);
  p.take(R"({"event":"counted","t":6,"measured":24,"failed":3})");
  EXPECT_NE(tune_frame(p, 9, {120, 24, false, ""})[1].find("24 measured  3 failed"),
            std::string::npos);
  p.take(R"({"event":"finals","t":9,"task":"aa","default_s":2e-3,"best_s":1e-3,"kept":"tuned"})");
  EXPECT_NE(tune_frame(p, 9, {120, 24, false, ""})[1].find("24 measured, 1 task timed again"),
            std::string::npos);
  p.take(R"({"event":"end","reason":"budget","measured":40,"failed":4,"again":6,"t":10})");
  EXPECT_NE(tune_frame(p, 9, {120, 24, false, ""})[1].find("40 measured, 6 again  4 failed"),
            std::string::npos);
}

TEST(TuneWarnings, AreOfRecordsThatWereLostAndNotOfProgramsThatAreNotAllowed) {
  TuneWarnings warnings;
  const auto refused = [](int records) {
    return fmt::format(R"({{"event":"refused","task":"9f","records":{},"why":"it rounds"}})",
                       records);
  };
  EXPECT_EQ(warnings.take(refused(0)), std::nullopt);
  EXPECT_EQ(warnings.take(refused(3)),
            "task 9f: 3 of its records cannot be used, the first: it rounds");
  EXPECT_EQ(warnings.take(refused(3)), std::nullopt) << "it was said before";
}

TEST(TuneFrame, FitsTheTerminal) {
  const TuneProgress p = after({kRun, kDefaultA, kDefaultB, kLayout, kRound});
  for (const int columns : {1, 20, 40, 80, 200}) {
    for (const int rows : {1, 3, 5, 6, 24}) {
      for (const char* status : {"", "stopping"}) {
        const auto lines = tune_frame(p, 702, {columns, rows, false, status});
        EXPECT_LE(static_cast<int>(lines.size()), std::max(3, rows - 1)) << rows;
        for (const std::string& line : lines) {
          EXPECT_LT(static_cast<int>(line.size()), std::max(2, columns)) << line;
          EXPECT_EQ(line.find('\033'), std::string::npos) << line;
          EXPECT_EQ(line.find('\n'), std::string::npos) << line;
        }
      }
    }
  }
  EXPECT_TRUE(tune_frame(TuneProgress(), 0, {}).empty());
}

TEST(TuneFrame, ShowsWhatMatters) {
  const TuneProgress p = after({kRun, kDefaultA, kDefaultB, kRound});
  const auto lines = tune_frame(p, 702, {120, 24, false, "stopping"});
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], "default  4.700 ms, sum of 2 tasks");
  EXPECT_EQ(lines[1],
            "[############----------] 11:42 / 20:00  eta 8:18  1,312 measured  96 failed "
            "(2 compile-timeout, 1 run-timeout)");
  EXPECT_EQ(lines[3],
            "  conv bias relu aaaaaaaa                           4   500.0 us   1.000 ms   74 % "
            "     32  <-");
  EXPECT_EQ(lines[5], "best     2.700 ms, sum of the best of its tasks (1.74x)");
  EXPECT_EQ(lines[6], "stopping");
  const auto coloured = tune_frame(p, 702, {120, 24, true, ""});
  EXPECT_NE(coloured[3].find("\033[32m"), std::string::npos) << "gains are green";
}

TEST(TuneFrame, ManyTasksAreCutToThoseThatMatter) {
  std::string run =
      R"({"event":"run","t":0,"run":"r","models":[],"budget_s":60,"trials":0,"tasks":[)";
  for (int i = 0; i < 40; ++i) {
    run +=
        (i > 0 ? "," : "") + std::string(R"({"key":"k)") + std::to_string(100 + i) +
        R"(","label":"a label that is much longer than the column that it is shown in","calls":[1]})";
  }
  TuneProgress p;
  p.take(run + "]}");
  for (int i = 0; i < 40; ++i) {
    p.take(R"({"event":"default","t":1,"task":"k)" + std::to_string(100 + i) + R"(","s":)" +
           std::to_string(0.001 * (i + 1)) + "}");
  }
  const auto lines = tune_frame(p, 1, {90, 50, false, ""});
  ASSERT_EQ(lines.size(), 2U + 1 + 12 + 1 + 1);
  EXPECT_NE(lines[3].find("k139"), std::string::npos) << lines[3];
  EXPECT_NE(lines[15].find("28 more tasks, 50 % together"), std::string::npos) << lines[15];
}

TEST(TuneFrame, PlainLine) {
  EXPECT_EQ(tune_line(after({kRun}), 3), "t=3 measured=0 failed=0 eta_s=1197");
  EXPECT_EQ(tune_line(after({kRun, kDefaultA, kDefaultB, kRound}), 702),
            "t=702 measured=1312 failed=96 best_ms=2.7 default_ms=4.7 eta_s=498");
}

// Stderr, to a file while it lives.
class StderrTo {
 public:
  explicit StderrTo(FILE* file) : before_(dup(STDERR_FILENO)) { dup2(fileno(file), STDERR_FILENO); }
  ~StderrTo() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  StderrTo(const StderrTo&) = delete;
  StderrTo& operator=(const StderrTo&) = delete;

 private:
  int before_;
};

TEST(TuneDisplay, TakesEventsWhileItDraws) {
  ConsoleOptions terminal;
  terminal.stderr_is_terminal = true;
  const Console console(terminal);
  FILE* file = tmpfile();
  ASSERT_NE(file, nullptr);
  {
    const StderrTo redirected(file);
    std::atomic<bool> stopping = false;
    TuneDisplay display(console, [&] { return stopping.load(); });
    std::vector<std::thread> tellers;
    for (int t = 0; t < 2; ++t) {
      tellers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          for (const char* e : {kRun, kDefaultA, kDefaultB, kRound}) display.take(e);
          EXPECT_LE(display.progress().tasks().size(), 2U);
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      });
    }
    stopping = true;
    for (std::thread& t : tellers) t.join();
    display.take(R"({"event":"end","reason":"interrupted","measured":1400,"failed":97,"t":1200})");
    display.finish();
  }
  std::string shown(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  ASSERT_EQ(pread(fileno(file), shown.data(), shown.size(), 0), static_cast<ssize_t>(shown.size()));
  fclose(file);
  EXPECT_NE(shown.find("stopping after the running batch"), std::string::npos);
  EXPECT_NE(shown.rfind("1,400 measured"), std::string::npos) << "the last picture stays";
  EXPECT_EQ(shown.substr(shown.size() - 3), "\033[J");
}

}  // namespace
}  // namespace tenon::tools
