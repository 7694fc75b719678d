// SPDX-License-Identifier: Apache-2.0
// A run that version 0.1 began and that was killed right after it had chosen layouts goes on: its
// events say "pairs" and "layouts" where today's say "plan".
#include "onnx/import.h"
#include "tune/session_fixture.h"

namespace tenon::tune {
namespace {

TEST(Resume, ARunOfAnEarlierVersion) {
  const target::Target target = target::parse_target("x86-64-v3");
  if (!target::runs_here(target)) GTEST_SKIP() << "its target does not run here";
  const fs::path folder = fs::temp_directory_path() / ("resume_test_" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy_file(TENON_RUN_CORPUS "/interrupted.db", folder / "t.db");
  const auto db = db::Database::open((folder / "t.db").string());
  ASSERT_EQ(db->runs().size(), 1U);
  const std::string run = db->runs()[0].id;
  int64_t before = 0;
  for (const db::Group& g : db->groups({"", "", "", run})) before += g.count;

  SessionOptions o;
  o.compile.target = target;
  o.command = db->runs()[0].command;
  o.tuner.trials = before + 40;
  o.tuner.seed = 3;
  o.tuner.round = 16;
  o.tuner.threads = 1;
  o.tuner.search.population = 48;
  o.tuner.search.generations = 2;
  double n = 0;
  o.tuner.clock = [n]() mutable { return n += 1e-3; };
  task::Protocol protocol;
  protocol.threads = 2;
  const auto device = measure::sim_measurer({.seed = 3, .protocol = protocol});
  PretendTimer timer;
  timer.same_steps = false;
  std::vector<Json> events;
  const auto graph =
      std::make_shared<const graph::Graph>(onnx::import_file(TENON_RUN_CORPUS "/pairs.onnx").graph);
  Session session(
      {{.name = "pairs", .graph = graph, .directory = folder / "out", .provenance = {}}}, o,
      *device, timer, *db, [&](const std::string& e) { events.push_back(Json::parse(e)); });
  const Summary s = session.run({});

  EXPECT_EQ(s.run, run);
  EXPECT_EQ(s.measured, before + 40);
  EXPECT_GT(s.spent_s, 0.487) << "what was spent before counts";
  for (const Json& e : events) {
    EXPECT_NE(e.at("event"), "pair") << "pairs were decided";
    EXPECT_NE(e.at("event"), "layout") << "layouts were decided";
    EXPECT_NE(e.at("event"), "skipped") << e;
    if (e.at("event") != "plan") continue;
    const Json layouts = e.at("models").at("pairs").at("layouts");
    EXPECT_EQ(layouts.at("from"), "measured");
    EXPECT_EQ(layouts.at("calls").at("y"),
              "conv: reorder([0,2,3,1])\nx0: split(1,[1,8]).reorder([0,1,3,4,2])\n");
  }
  EXPECT_EQ(s.models[0].kept, "tuned");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tenon::tune
