// SPDX-License-Identifier: Apache-2.0
#include "db/db.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "db/records.h"
#include "db/schema.h"
#include "support/check.h"
#include "support/rng.h"

namespace tenon::db {
namespace {

namespace fs = std::filesystem;

class Db : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tenon-db-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name = "tenon.db") const { return (folder_ / name).string(); }
  fs::path folder_;
};

task::Measurement sample(const std::string& task, double median_s,
                         const std::string& trace = "[]") {
  task::Measurement m;
  m.task = task;
  m.target = "here";
  m.protocol = "v1 threads=1 cold";
  m.trace = trace;
  m.seconds = {median_s, median_s * 1.1};
  m.best_s = m.median_s = median_s;
  m.verified = true;
  m.time = 1700000000;
  return m;
}

TEST_F(Db, KeepsWhatWasRecorded) {
  {
    const auto db = Database::open(file());
    db->add_task({"k1", "text", "edges", "conv", 1e6});
    db->add_task({"k1", "text", "edges", "conv", 1e6});
    task::Measurement m = sample("k1", 2e-3, R"([["fuse",1,[0,1]]])");
    m.run = db->begin_run("tenon tune x.onnx", "x.onnx");
    db->record({m, sample("k2", 1e-3)});
    db->end_run(m.run);
  }
  const auto db = Database::open_read_only(file());
  ASSERT_EQ(db->tasks().size(), 1u);
  EXPECT_EQ(db->tasks()[0].label, "conv");
  const auto rows = db->measurements({.task = "k1", .target = "", .protocol = "", .run = ""});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].trace, R"([["fuse",1,[0,1]]])");
  EXPECT_EQ(rows[0].seconds, (std::vector<double>{2e-3, 2e-3 * 1.1}));
  ASSERT_EQ(db->runs().size(), 1u);
  EXPECT_EQ(db->runs()[0].measured, 1);
  EXPECT_FALSE(db->runs()[0].finished.empty());
  EXPECT_EQ(db->check(), "");
  EXPECT_THROW(db->begin_run("a", "b"), UserError) << "opened to read only";
}

TEST_F(Db, TheBestIsVerifiedAndNeverWrong) {
  const auto db = Database::open(file());
  task::Measurement fast = sample("k", 1e-4, "[1]");
  fast.verified = false;
  task::Measurement wrong = sample("k", 2e-4, "[2]");
  wrong.outcome = task::Outcome::kWrong;
  db->record({sample("k", 3e-3, "[3]"), fast, sample("k", 2e-4, "[2]"), wrong,
              sample("k", 1e-3, "[4]"), sample("other", 1e-9, "[5]")});
  const Filter k{.task = "k", .target = "", .protocol = "", .run = ""};
  EXPECT_EQ(db->best(k, true)->trace, "[4]");
  EXPECT_EQ(db->best(k, false)->trace, "[1]");
  EXPECT_FALSE(db->best({.task = "k", .target = "elsewhere", .protocol = "", .run = ""}, false));
}

// Rows that no tenon wrote: each is refused with its reason, and costs the others nothing.
TEST_F(Db, TimesThatCannotBeAreNone) {
  const auto db = Database::open(file());
  for (int i = 0; i < 8; ++i) db->record({sample("k", 1e-3, "[" + std::to_string(i) + "]")});
  const Connection c(file(), Connection::Mode::kReadWrite);
  c.run("UPDATE measurement SET median_s = -1 WHERE trace = '[0]'");
  c.run("UPDATE measurement SET median_s = 0 WHERE trace = '[1]'");
  c.run("UPDATE measurement SET median_s = 'NaN' WHERE trace = '[2]'");
  c.run("UPDATE measurement SET median_s = 9e999 WHERE trace = '[3]'");
  c.run("UPDATE measurement SET seconds = 'garbage' WHERE trace = '[4]'");
  c.run("UPDATE measurement SET seconds = '[[[' WHERE trace = '[5]'");
  c.run("UPDATE measurement SET seconds = '[\"x\"]' WHERE trace = '[6]'");
  const auto rows = db->measurements({});
  ASSERT_EQ(rows.size(), 8u);
  for (size_t i = 0; i < 7; ++i) EXPECT_FALSE(task::has_time(rows[i])) << rows[i].trace;
  for (size_t i = 4; i < 7; ++i) {
    EXPECT_EQ(rows[i].outcome, task::Outcome::kRefused) << rows[i].trace;
    EXPECT_FALSE(rows[i].verified) << rows[i].trace;
    EXPECT_EQ(rows[i].error.rfind("damaged", 0), 0u) << rows[i].error;
  }
  EXPECT_TRUE(task::has_time(rows[7]));
  EXPECT_EQ(db->best({}, true)->trace, "[7]");
  // Nor do they take the place of what is kept.
  db->prune({}, 1);
  const auto left = db->measurements({});
  EXPECT_FALSE(left.empty());
  for (const auto& m : left) EXPECT_TRUE(m.median_s > 0 && m.median_s < 1) << m.trace;
}

TEST_F(Db, PruningKeepsTheBestAndTheWrong) {
  const auto db = Database::open(file());
  std::vector<task::Measurement> all;
  for (int i = 0; i < 10; ++i)
    all.push_back(sample("k", 1e-3 * (i + 1), "[" + std::to_string(i) + "]"));
  all[3].outcome = task::Outcome::kRunCrash;
  all[4].outcome = task::Outcome::kWrong;
  db->record(all);
  EXPECT_EQ(db->prune({}, 2), 7);
  const auto left = db->measurements({});
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].trace, "[0]");
  EXPECT_EQ(left[1].trace, "[1]");
  EXPECT_EQ(left[2].outcome, task::Outcome::kWrong);
}

TEST_F(Db, BadFilesAreSentences) {
  std::ofstream(file("text")) << "this is no database, but it is long enough to look at: "
                              << std::string(5000, 'x');
  EXPECT_THROW(Database::open(file("text")), UserError);
  EXPECT_THROW(Database::open((folder_ / "no" / "folder").string()), UserError);
  EXPECT_THROW(Database::open_read_only(file("nothing")), UserError);
  Database::open(file())->record({sample("k", 1e-3)});
  {
    std::fstream f(file(), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(0);
    f << "damaged damaged!";
  }
  EXPECT_THROW(Database::open(file())->measurements({}), UserError);
}

TEST_F(Db, ANewerSchemaIsRefused) {
  Database::open(file());
  ASSERT_EQ(std::system(("sqlite3 " + file() + " 'PRAGMA user_version = 99'").c_str()), 0);
  try {
    Database::open(file());
    FAIL() << "version 99 was taken";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("99"), std::string::npos) << e.what();
  }
}

// A file as the first version of the schema left it, made by hand from its own migration.
void write_first_version(const std::string& path) {
  const Connection c(path, Connection::Mode::kReadWrite);
  c.run("PRAGMA journal_mode = WAL");
  c.run(migrations()[0]);
  c.run("PRAGMA user_version = 1");
  c.run(
      "INSERT INTO task VALUES ('k', 'te', 'edges', 'conv', 5.0), ('k2', 'te2', '', 'pool', 1.0)");
  c.run("INSERT INTO run (id, command, model, started) VALUES ('r', 'c', 'm', 's')");
  c.run(
      "INSERT INTO measurement VALUES (7, 'k', 'here', 'v1 threads=1 cold', '[1]', 'ok',"
      " '[0.25,0.5]', 0.25, 0.375, 0.25, 0.5, 1.5, 2.5, '', 1, 0.75, 3000, 'r', 1600000000),"
      " (9, 'k', 'here', 'v1 threads=1 cold', '[2]', 'run-crash', '[]', 0, 0, 0, 0, 1, 0,"
      " 'signal 11', 0, 0, 0, 'r', 1600000001)");
}

void expect_rows_of_first_version(const Database& db) {
  ASSERT_EQ(db.tasks().size(), 2u);
  EXPECT_EQ(db.tasks()[0].te, "te");
  EXPECT_EQ(db.tasks()[0].edges, "edges");
  EXPECT_EQ(db.tasks()[0].flops, 5.0);
  EXPECT_EQ(db.tasks()[1].label, "pool");
  ASSERT_EQ(db.runs().size(), 1u);
  EXPECT_EQ(db.runs()[0].id, "r");
  EXPECT_EQ(db.runs()[0].measured, 2);
  EXPECT_EQ(db.runs()[0].failed, 1);
  const auto rows = db.measurements({});
  ASSERT_EQ(rows.size(), 2u);
  const task::Measurement& m = rows[0];
  EXPECT_EQ(m.trace, "[1]");
  EXPECT_EQ(m.seconds, (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(std::vector<double>(
                {m.best_s, m.median_s, m.low_s, m.high_s, m.build_s, m.run_s, m.load1, m.mhz}),
            (std::vector<double>{0.25, 0.375, 0.25, 0.5, 1.5, 2.5, 0.75, 3000}));
  EXPECT_TRUE(m.verified);
  EXPECT_EQ(m.time, 1600000000);
  EXPECT_EQ(m.handoff_ns, 0);
  EXPECT_EQ(rows[1].outcome, task::Outcome::kRunCrash);
  EXPECT_EQ(rows[1].error, "signal 11");
  EXPECT_TRUE(db.events("r").empty());
  EXPECT_EQ(db.check(), "");
}

TEST_F(Db, AnOlderFileIsReadAsItIs) {
  write_first_version(file());
  const auto db = Database::open_read_only(file());
  EXPECT_EQ(db->schema_version(), 1);
  expect_rows_of_first_version(*db);
  EXPECT_EQ(all_records(*db).measurements.size(), 2u);
  EXPECT_EQ(db->groups({}).size(), 2u);
}

TEST_F(Db, AnOlderFileIsMigratedWithNothingLost) {
  write_first_version(file());
  {
    const auto db = Database::open(file());
    EXPECT_EQ(db->schema_version(), schema_version());
    expect_rows_of_first_version(*db);
    db->add_event("r", {1.5, R"({"event":"round"})"});
    db->record({sample("k", 1e-3)});
  }
  const auto db = Database::open_read_only(file());
  EXPECT_EQ(db->schema_version(), schema_version());
  ASSERT_EQ(db->events("r").size(), 1u);
  EXPECT_EQ(db->events("r")[0].json, R"({"event":"round"})");
  EXPECT_EQ(db->measurements({}).size(), 3u);
}

TEST_F(Db, FilesOfOthersAreLeftAlone) {
  {
    const Connection c(file(), Connection::Mode::kReadWrite);
    c.run("CREATE TABLE bookmark (url TEXT)");
  }
  std::ofstream(file("empty")) << "";
  const struct {
    const char* name;
    bool write;
    const char* message;
  } rows[] = {
      {"tenon.db", true, "this is not tenon's"}, {"tenon.db", false, "this is not tenon's"},
      {"empty", false, "this file is empty"},    {"", true, "this is a folder"},
      {"", false, "this is a folder"},           {"nothing", false, "there is no such file"},
      {"no/folder/x", true, "is not there"}};
  for (const auto& row : rows) {
    try {
      row.write ? Database::open(file(row.name)) : Database::open_read_only(file(row.name));
      ADD_FAILURE() << row.name << " was taken";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(row.message), std::string::npos) << e.what();
    }
  }
  EXPECT_FALSE(fs::exists(file("nothing")));
}

// Somebody else's file in a folder that nobody here may write to.
class ReadOnlyFolder {
 public:
  explicit ReadOnlyFolder(const fs::path& folder) : folder_(folder) {
    for (const auto& entry : fs::directory_iterator(folder)) ::chmod(entry.path().c_str(), 0444);
    ::chmod(folder.c_str(), 0555);
    // Root may write anywhere.
    if (::geteuid() == 0) root_ = ::seteuid(65534) == 0;
  }
  ~ReadOnlyFolder() {
    if (root_) EXPECT_EQ(::seteuid(0), 0);
    ::chmod(folder_.c_str(), 0755);
  }

 private:
  fs::path folder_;
  bool root_ = false;
};

TEST_F(Db, ReadsWhereNothingCanBeWritten) {
  const std::string path = file("a b?%41#.db");
  Database::open(path)->record({sample("k", 1e-3)});
  const ReadOnlyFolder closed(folder_);
  EXPECT_EQ(Database::open_read_only(path)->measurements({}).size(), 1u);
  try {
    Database::open(path)->record({sample("k", 1e-3)});
    ADD_FAILURE() << "written to";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("cannot be written to"), std::string::npos) << e.what();
  }
  EXPECT_THROW(Database::open(file("new.db")), UserError);
}

TEST_F(Db, GroupsCountByOutcome) {
  const auto db = Database::open(file());
  task::Measurement slow = sample("k", 2e-3);
  slow.verified = false;
  slow.time += 5;
  slow.build_s = 0.5;
  task::Measurement crash = sample("k", 0);
  crash.outcome = task::Outcome::kRunCrash;
  crash.verified = false;
  db->record({sample("k", 1e-3), slow, crash, sample("j", 1e-3)});
  const auto groups = db->groups({.task = "k", .target = "", .protocol = "", .run = ""});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].outcome, task::Outcome::kOk);
  EXPECT_EQ(groups[0].count, 2);
  EXPECT_EQ(groups[0].verified, 1);
  EXPECT_EQ(groups[0].build_s, 0.5);
  EXPECT_EQ(groups[0].last - groups[0].first, 5);
  EXPECT_EQ(groups[1].outcome, task::Outcome::kRunCrash);
  EXPECT_EQ(groups[1].count, 1);
  EXPECT_EQ(db->groups({}).size(), 3u);
}

TEST_F(Db, CompactingGivesSpaceBack) {
  const auto db = Database::open(file());
  std::vector<task::Measurement> all;
  for (int i = 0; i < 500; ++i) {
    all.push_back(sample("k", 1e-3 + i, "[\"" + std::to_string(i) + std::string(900, 'x') + "\"]"));
  }
  db->add_task({"k", "te", "", "conv", 1});
  db->record(all);
  db->compact();
  const auto before = fs::file_size(file());
  EXPECT_EQ(db->prune({}, 5), 495);
  db->compact();
  EXPECT_LT(fs::file_size(file()), before / 4);
  EXPECT_EQ(db->measurements({}).size(), 5u);
  EXPECT_EQ(db->tasks()[0].label, "conv");
}

TEST_F(Db, PruningNeverTakesTheBestVerified) {
  const auto db = Database::open(file());
  std::vector<task::Measurement> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(sample("k", 1e-3 * (i + 1), "[" + std::to_string(i) + "]"));
    all.back().verified = i >= 3;
  }
  all.push_back(sample("k", 1e-4, "[9]"));
  all.push_back(all.back());
  all.back().outcome = task::Outcome::kWrong;
  db->record(all);
  EXPECT_EQ(db->prunable({}, 2), 4);
  EXPECT_EQ(db->measurements({}).size(), 8u) << "asking changes nothing";
  EXPECT_EQ(db->prune({}, 2), 4);
  std::vector<std::string> left;
  for (const auto& m : db->measurements({})) left.push_back(m.trace + to_string(m.outcome));
  EXPECT_EQ(left, (std::vector<std::string>{"[0]ok", "[1]ok", "[3]ok", "[9]wrong"}));
  EXPECT_EQ(db->prune({}, 2), 0);
}

TEST_F(Db, AFullDiskLosesNothingThatWasRecorded) {
  const auto db = Database::open(file());
  db->record({sample("k", 1e-3)});
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 200 << 10;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  int recorded = 1;
  try {
    for (int i = 0; i < 10'000; ++i) {
      db->record({sample("k", 1e-3, "[\"" + std::string(500, 'x') + "\"]")});
      ++recorded;
    }
    ADD_FAILURE() << "the limit was never reached";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("database"), std::string::npos);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(db->measurements({}).size(), static_cast<size_t>(recorded));
  EXPECT_EQ(db->check(), "");
}

// A process that records and is killed at any moment: every row that it announced is there, whole.
TEST_F(Db, KilledWritersLoseNothingThatTheyAnnounced) {
  Rng rng(17);
  int announced = 0;
  Database::open(file());
  for (int round = 0; round < 20; ++round) {
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto db = Database::open(file());
      for (int i = 0; i < 10'000; ++i) {
        db->record({sample("k", 1e-3), sample("k", 2e-3)});
        if (::write(fds[1], "x", 1) != 1) ::_exit(1);
      }
      ::_exit(0);
    }
    ::close(fds[1]);
    ::usleep(static_cast<useconds_t>(rng.between(1'000, 30'000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    char buffer[256];
    for (ssize_t n; (n = ::read(fds[0], buffer, sizeof buffer)) > 0;)
      announced += static_cast<int>(n);
    ::close(fds[0]);
    const auto rows = Database::open(file())->measurements({}).size();
    ASSERT_GE(rows, static_cast<size_t>(2 * announced)) << "round " << round;
    ASSERT_EQ(rows % 2, 0u) << "half a transaction";
    // At most one transaction was finished but not announced.
    ASSERT_LE(rows, static_cast<size_t>(2 * (announced + round + 1)));
  }
  EXPECT_EQ(Database::open(file())->check(), "");
}

TEST_F(Db, SeveralWritersShareOneFile) {
  Database::open(file());
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&] {
      const auto db = Database::open(file());
      for (int i = 0; i < 25; ++i) db->record({sample("k", 1e-3)});
    });
  }
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(Database::open(file())->measurements({}).size(), 100u);
}

}  // namespace
}  // namespace tenon::db
