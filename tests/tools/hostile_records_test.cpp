// SPDX-License-Identifier: Apache-2.0
// Lock files and databases that were changed by accident or on purpose, as a user meets them: whatever compiles computes
// what the model says, what cannot be used is told with its task, and `tenon db verify` finds it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "db/db.h"
#include "db/statement.h"
#include "files/file.h"
#include "history/records.h"
#include "measure/measure.h"
#include "tools/tenon_command.h"
#include "zoo/model_builder.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kProtocol = "v1 threads=1 cold";

class HostileRecords : public ::testing::Test {
 protected:
  static std::string in_dir(const std::string& name) {
    return ::testing::TempDir() + "tenon_hostile_records/" + name;
  }

  // Three convolutions, so that tensors between them are stored in blocks.
  static void SetUpTestSuite() {
    fs::remove_all(in_dir(""));
    fs::create_directories(in_dir(""));
    zoo::ModelBuilder m("net", 13, 1);
    zoo::Tensor x = m.input("x", zoo::Element::kFloat, {1, 16, 6, 5});
    for (const int64_t out : {16, 24, 8}) {
      const std::string name = "c" + std::to_string(out);
      const zoo::Tensor w = m.weight(name + "_w", {out, x.shape[1], 1, 1}, 0.2);
      x = m.node("Conv", name, {x, w}, {1, out, 6, 5});
    }
    m.output(x, "y");
    files::write_file(in_dir("net.onnx"), m.bytes());
    ASSERT_EQ(tenon({"compile", in_dir("net.onnx"), "-o", in_dir("plain")}).exit_code, 0);
  }

  static Json lock() { return Json::parse(files::read_file(in_dir("plain/net.lock"))); }

  // The task that has a step of the kind, in the lock file.
  static Json& task_with(Json& lock, const std::string& step) {
    for (Json& t : lock["tasks"]) {
      if (contains(t["trace"].get<std::string>(), step)) return t;
    }
    ADD_FAILURE() << "no task has " << step;
    return lock["tasks"][0];
  }

  static Outcome compile(Args more, const std::string& out) {
    more.insert(more.begin(), {"compile", in_dir("net.onnx"), "-o", in_dir(out)});
    return tenon(more);
  }

  static void expect_right(const std::string& out) {
    const Outcome o = tenon({"compare", in_dir("net.onnx"), in_dir(out)});
    EXPECT_EQ(o.exit_code, 0) << o.out << o.err;
  }

  // The default schedules as if they had been measured and compared.
  static std::string records(const std::string& name) {
    const std::string path = in_dir(name);
    const auto db = db::Database::open(path);
    const auto target = std::make_shared<const target::Target>(target::host_target());
    const Json all = lock();
    for (const Json& entry : all["tasks"]) {
      db->add_task({entry["task"], entry["te"], entry["edges"], "", 0});
      const task::Task t = history::task_of(db->tasks().back(), target);
      task::Measurement m;
      m.task = t.key;
      m.target = measure::measured_target(*target);
      m.protocol = kProtocol;
      m.trace = schedule::to_json(schedule::parse_trace(entry["trace"].get<std::string>(),
                                                        schedule::State(t.dag, t.target), "lock"));
      m.seconds = {1e-3};
      m.best_s = m.median_s = m.low_s = m.high_s = 1e-3;
      m.verified = true;
      db->record({m});
    }
    return path;
  }
};

TEST_F(HostileRecords, ALockFileThatLostALine) {
  Json damaged = lock();
  Json& task = task_with(damaged, "layout_reorder");
  const std::string key = task["task"];
  std::string trace = task["trace"];
  const size_t at = trace.find("layout_reorder");
  task["trace"] = trace.erase(at, trace.find('\n', at) + 1 - at);
  files::write_file(in_dir("damaged.lock"), damaged.dump());
  const Outcome frozen = compile({"--lock", in_dir("damaged.lock"), "--frozen"}, "frozen");
  expect_error(frozen, 8, "task " + key);
  const Outcome o = compile({"--lock", in_dir("damaged.lock")}, "damaged");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(contains(o.err, "task " + key)) << o.err;
  expect_right("damaged");
}

TEST_F(HostileRecords, ARecordThatComputesSomethingElse) {
  const std::string db = records("hostile.db");
  Json all = lock();
  const std::string key = task_with(all, "layout_reorder")["task"];
  {
    const db::Connection c(db, db::Connection::Mode::kReadWrite);
    c.run(("UPDATE task SET edges = '' WHERE key = '" + key + "'").c_str());
    c.run(("UPDATE measurement SET trace = '[]', median_s = 1e-9 WHERE task = '" + key + "'")
              .c_str());
  }
  const Args with = {"--db", db, "--threads", "1"};
  const Outcome o = compile(with, "hostile");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(contains(o.err, "task " + key)) << o.err;
  expect_right("hostile");
  expect_error(compile({"--db", db, "--threads", "1", "--frozen", "-q"}, "frozen"), 8,
               "task " + key);
  const Outcome verified = tenon({"db", "verify", "--db", db});
  EXPECT_EQ(verified.exit_code, 2) << verified.out;
  EXPECT_TRUE(contains(verified.out, "damaged  task " + key)) << verified.out;
}

TEST_F(HostileRecords, OneDamagedRecordCostsOthersNothing) {
  const struct {
    const char* change;  // of a record
    const char* found;   // what db verify says
  } rows[] = {
      {"trace = 'garbage'", "this is not JSON"},
      {"trace = '[]'", "is not stored as the task's edges say"},
      {"trace = '[[\"split\",99,0,[16],false]]'", "there is no stage 99"},
      {"median_s = -1", "it took -1 s"},
      {"seconds = 'never'", "its times cannot be read"},
  };
  Json all = lock();
  const std::string key = task_with(all, "layout_reorder")["task"];
  for (const auto& row : rows) {
    SCOPED_TRACE(row.change);
    fs::remove(in_dir("one.db"));
    const std::string db = records("one.db");
    db::Connection(db, db::Connection::Mode::kReadWrite)
        .run(("UPDATE measurement SET " + std::string(row.change) + " WHERE task = '" + key + "'")
                 .c_str());
    const Outcome o = compile({"--db", db, "--threads", "1", "--json"}, "one");
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_GE(Json::parse(o.out)["origins"]["tuned"].get<size_t>(), all["tasks"].size() - 1);
    expect_right("one");
    const Outcome verified = tenon({"db", "verify", "--db", db});
    EXPECT_EQ(verified.exit_code, 2) << verified.out;
    EXPECT_TRUE(contains(verified.out, row.found)) << verified.out;
    EXPECT_TRUE(contains(verified.out, key)) << verified.out;
    EXPECT_EQ(tenon({"db", "ls", "--db", db}).exit_code, 0);
    EXPECT_EQ(tenon({"db", "best", "--db", db, "--lock", in_dir("best.lock")}).exit_code, 0);
    const Outcome again = compile({"--lock", in_dir("best.lock")}, "again");
    EXPECT_EQ(again.exit_code, 0) << again.err;
    expect_right("again");
  }
}

TEST_F(HostileRecords, SoundRecordsAreFoundSound) {
  const std::string db = records("sound.db");
  const Outcome o = tenon({"db", "verify", "--records", "--db", db});
  EXPECT_EQ(o.exit_code, 0) << o.out << o.err;
  const Outcome compiled = compile({"--db", db, "--threads", "1", "--frozen"}, "sound");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_EQ(compiled.err, "");
}

}  // namespace
}  // namespace tenon::testing
