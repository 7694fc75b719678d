// SPDX-License-Identifier: Apache-2.0
// tenon gather as a user runs it, on the pretend device: kills lose nothing, the same seed gives the
// same tasks, and what one database holds can be measured into another.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "support/rng.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;

Args gather(const TuneFolder& f, const std::string& db, const Args& more) {
  Args args = {TENON_BINARY, "gather", "--sim",        "--db", f.path(db).string(),
               "-q",         "--json", "--population", "32"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

const Args kSmall = {"--random",    "3",   "--min-flops", "1e4",
                     "--max-flops", "1e6", "--programs",  "40"};

// By task; finals and verdicts on what is known add no trace.
std::set<std::string> programs(const std::string& file) {
  std::set<std::string> out;
  for (const auto& m : db::Database::open_read_only(file)->measurements({})) {
    out.insert(m.task + m.trace);
  }
  return out;
}

TEST(Gather, GoesOnAfterKills) {
  const TuneFolder f("gather_killed");
  const std::string db = f.path("g.db").string();
  Rng rng(11);
  for (int kill = 0; kill < 6; ++kill) {
    Running run(gather(f, "g.db", kSmall), f.path(""), {});
    usleep(static_cast<useconds_t>(rng.between(50'000, 400'000)));
    run.signal(SIGKILL);
    run.wait();
  }
  const Outcome o = run_command(gather(f, "g.db", kSmall));
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const Json summary = Json::parse(o.out);
  EXPECT_EQ(summary["reason"], "complete");
  EXPECT_EQ(summary["complete"], 3);
  EXPECT_EQ(summary["known"], 120);
  EXPECT_EQ(programs(db).size(), 120U);
  const Json again = Json::parse(run_command(gather(f, "g.db", kSmall)).out);
  EXPECT_EQ(again["measured"], 0);
  EXPECT_EQ(again["known"], 120);
}

TEST(Gather, ListsTheSameTasksForTheSameSeed) {
  const TuneFolder f("gather_listed");
  const auto list = [&](const char* seed) {
    return run_command(gather(f, "g.db", {"--random", "5", "--seed", seed, "--dry-run"})).out;
  };
  const std::string first = list("7");
  EXPECT_EQ(Json::parse(first)["tasks"].size(), 5U);
  EXPECT_EQ(first, list("7"));
  EXPECT_NE(first, list("8"));
}

TEST(Gather, TakesTasksOfModelsAndProgramsOfRecords) {
  const TuneFolder f("gather_models");
  const std::string model = f.path("net.onnx").string();
  const Outcome o = run_command(gather(f, "a.db", {model, "--programs", "12"}));
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_GT(Json::parse(o.out)["measured"], 0);
  const std::string from = f.path("a.db").string();
  const Outcome listed = run_command(gather(f, "b.db", {"--programs-from", from}));
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(programs(f.path("b.db").string()), programs(from));
  EXPECT_EQ(Json::parse(listed.out)["refused"], 0);
}

TEST(Gather, SaysWhatMakesNoSense) {
  const TuneFolder f("gather_nonsense");
  const auto error = [&](const Args& more) { return run_command(gather(f, "g.db", more)).err; };
  EXPECT_NE(error({}).find("there is nothing to gather from"), std::string::npos);
  EXPECT_NE(error({"--random", "2", "--threads", "some"}).find("--threads"), std::string::npos);
  EXPECT_NE(error({"--programs-from", f.path("net.onnx").string(), "--random", "1"})
                .find("it goes without models"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::testing
