// SPDX-License-Identifier: Apache-2.0
// Damaged lock files and databases: what compiles with one gives the right numbers, or is refused with a UserError. A
// trace that is damaged, and nothing else, costs its task the schedule and never the run.
//   damaged_files_test [--seed=N] [--locks=N] [--databases=N] [--failures=N]
// Everything about run i follows from seed + i: --seed=THAT --locks=1 repeats it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "db/statement.h"
#include "files/file.h"
#include "fuzz/damage.h"
#include "fuzz/small_network.h"
#include "plan/text.h"
#include "tune/best_schedules.h"

namespace tenon::fuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
  uint64_t seed = 1;
  int64_t locks = 200, databases = 100;
  int64_t failures = 5;  // stop after so many
};
Options options;  // set by main

constexpr unsigned kSecondsPerRun = 30;
char running[32] = "";  // the seed, for the signal handler

void on_crash(int signal) {
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, running, sizeof running);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch(uint64_t seed) {
  fmt::format_to_n(running, sizeof running - 1, "crashed at --seed={}\n", seed);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) {
    std::signal(signal, on_crash);
  }
  alarm(kSecondsPerRun);
}

class DamagedFiles : public ::testing::Test {
 protected:
  static SmallNetwork& net() {
    static SmallNetwork network;
    return network;
  }
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("damaged_files_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // `one` compiles what follows from the generator. Returns in words what came of it.
  template <class One>
  void each(int64_t runs, const char* what, const One& one) {
    int64_t failures = 0, refused = 0, i = 0;
    const auto start = std::chrono::steady_clock::now();
    for (; i < runs && failures < options.failures; ++i) {
      const uint64_t seed = options.seed + static_cast<uint64_t>(i);
      watch(seed);
      Rng rng(seed * 0x9e3779b97f4a7c15ULL);
      std::string problem;
      try {
        problem = one(rng);
      } catch (const UserError& e) {
        ++refused;
      } catch (const std::exception& e) {
        problem = e.what();
      }
      if (problem.empty()) continue;
      ++failures;
      ADD_FAILURE() << "--seed=" << seed << " --" << what << "=1: " << problem;
    }
    alarm(0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("seed {}: {} damaged {}, {} refused as a whole, {} different programs, {:.1f} s\n",
               options.seed, i, what, refused, net().run(), took.count());
    EXPECT_LT(refused, runs * 2 / 3) << "the damage is too coarse to reach schedules";
  }

  fs::path folder_;
};

// ---- lock files ----------------------------------------------------------------------------------------------------

// Some task's trace, or the whole file.
std::string damaged_lock(const std::string& lock, Rng& rng, bool& only_a_trace) {
  only_a_trace = rng.chance(0.75);
  if (!only_a_trace) return damage_text(lock, rng);
  Json j = Json::parse(lock);
  auto& tasks = j["tasks"];
  auto& task = tasks[static_cast<size_t>(rng.between(0, static_cast<int64_t>(tasks.size()) - 1))];
  if (rng.chance(0.05)) {
    task["trace"] = tasks[0]["trace"];
  } else if (rng.chance(0.03)) {
    task["trace"] = rng.chance(0.5) ? "" : std::string(1 << 20, '#');
  } else {
    task["trace"] = damage_text(task["trace"].get<std::string>(), rng);
  }
  return j.dump(1, ' ', false, Json::error_handler_t::replace);
}

TEST_F(DamagedFiles, LockFiles) {
  const std::string lock = plan::to_text(net().program().plan);
  ASSERT_NE(lock.find("layout_reorder"), std::string::npos) << "nothing is stored in blocks";
  ASSERT_EQ(net().wrong(net().program()), "");
  each(options.locks, "locks", [&](Rng& rng) {
    bool only_a_trace = false;
    files::write_file(file("net.lock"), damaged_lock(lock, rng, only_a_trace));
    compile::Options o = net().options();
    o.frozen = rng.chance(0.3);
    const bool must_compile = only_a_trace && !o.frozen;
    try {
      o.plan = plan::read_lock(file("net.lock"));
      return net().wrong(net().compiled(o));
    } catch (const UserError& e) {
      if (must_compile) return std::string("a damaged trace ended the run: ") + e.what();
      throw;
    }
  });
}

// ---- databases -----------------------------------------------------------------------------------------------------

constexpr const char* kTarget = "here";
constexpr const char* kProtocol = "v1 threads=2 cold";

task::Measurement verified(const std::string& task, const std::string& trace) {
  task::Measurement m;
  m.task = task;
  m.target = kTarget;
  m.protocol = kProtocol;
  m.trace = trace;
  m.seconds = {1e-3};
  m.best_s = m.median_s = m.low_s = m.high_s = 1e-3;
  m.verified = true;
  return m;
}

// The default schedules as if they had been measured.
void write_database(const std::string& path, const plan::Network& n) {
  const auto db = db::Database::open(path);
  for (size_t i = 0; i < n.tasks.size(); ++i) {
    const task::Task& t = n.tasks[i].task;
    db->add_task({t.key, n.plan.tasks[i].te, n.plan.tasks[i].edges, t.label, t.flops});
    db->record({verified(t.key, schedule::to_json(n.tasks[i].trace))});
  }
}

constexpr const char* kTaskColumns[] = {"te", "edges", "key", "label"};
constexpr const char* kColumns[] = {"trace",    "trace",  "trace",    "trace",    "task",
                                    "seconds",  "best_s", "median_s", "median_s", "verified",
                                    "protocol", "target", "outcome"};
constexpr const char* kValues[] = {"''",
                                   "'[]'",
                                   "'garbage'",
                                   "-1",
                                   "0",
                                   "1e999",
                                   "'NaN'",
                                   "x'00ff00'",
                                   "'ok'",
                                   "'zebra'",
                                   "'[[[[[['",
                                   "1e-12",
                                   "'[[\"split\",99,0,[16],false]]'",
                                   "(SELECT {} FROM {} ORDER BY random() LIMIT 1)",
                                   "hex(zeroblob(200000))"};

std::string row(const char* table, Rng& rng) {
  return fmt::format(
      "rowid = (SELECT rowid FROM {0} LIMIT 1 OFFSET {1} % (SELECT count(*) FROM {0}))", table,
      rng.between(0, 100));
}

// One field of one row becomes something else.
std::string change_field(const char* table, const std::string& column, Rng& rng) {
  std::string value = kValues[rng.between(0, std::ssize(kValues) - 1)];
  if (value.front() == '(') {
    value = fmt::format("(SELECT {0} FROM {1} LIMIT 1 OFFSET {2} % (SELECT count(*) FROM {1}))",
                        column, table, rng.between(0, 100));
  }
  return fmt::format("UPDATE OR IGNORE {} SET {} = {} WHERE {}", table, column, value,
                     row(table, rng));
}

// A record's trace with steps that are damaged, as text and as a list of steps.
void damage_trace(const db::Connection& c, Rng& rng) {
  db::Statement read(c,
                     "SELECT rowid, trace FROM measurement LIMIT 1 OFFSET ?"
                     " % (SELECT count(*) FROM measurement)");
  read.bind(rng.between(0, 100));
  if (!read.step()) return;
  const int64_t id = read.integer(0);
  std::string trace = read.text(1);
  Json steps = Json::parse(trace, nullptr, false);
  if (steps.is_array() && !steps.empty() && rng.chance(0.6)) {
    steps.erase(static_cast<size_t>(rng.between(0, static_cast<int64_t>(steps.size()) - 1)));
    trace = steps.dump();
  } else {
    trace = damage_text(trace, rng);
  }
  db::Statement write(c, "UPDATE measurement SET trace = ? WHERE rowid = ?");
  write.bind(trace).bind(id);
  write.step();
}

void damage_bytes(const std::string& path, Rng& rng) {
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  for (int64_t i = rng.between(1, 8); i > 0; --i) {
    f.seekp(rng.between(0, static_cast<int64_t>(fs::file_size(path)) - 1));
    f.put(static_cast<char>(rng.between(0, 255)));
  }
}

void damage_database(const std::string& path, Rng& rng) {
  const double luck = rng.unit();
  if (luck < 0.15) return damage_bytes(path, rng);
  const db::Connection c(path, db::Connection::Mode::kReadWrite);
  if (luck < 0.6) return damage_trace(c, rng);
  const bool task = luck < 0.7;
  const std::string column = task ? kTaskColumns[rng.between(0, std::ssize(kTaskColumns) - 1)]
                                  : kColumns[rng.between(0, std::ssize(kColumns) - 1)];
  c.run(change_field(task ? "task" : "measurement", column, rng).c_str());
}

TEST_F(DamagedFiles, Databases) {
  write_database(file("sound.db"), net().network());
  each(options.databases, "databases", [&](Rng& rng) {
    const std::string path = file("t.db");
    for (const char* more : {"-wal", "-shm"}) fs::remove(path + more);
    fs::copy_file(file("sound.db"), path, fs::copy_options::overwrite_existing);
    for (int64_t i = rng.chance(0.7) ? 1 : rng.between(2, 4); i > 0; --i) {
      damage_database(path, rng);
    }
    compile::Options o = net().options();
    o.frozen = rng.chance(0.2);
    const auto db = db::Database::open(path);
    tune::BestRecords best = tune::best_records(*db, o.target, kTarget, kProtocol);
    o.plan = std::move(best.plan);
    if (rng.chance(0.3)) o.layout_times = std::move(best.layout_times);
    return net().wrong(net().compiled(o));
  });
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto& o = tenon::fuzz::options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = arg.substr(std::min(arg.find('=') + 1, arg.size()));
    if (arg.rfind("--seed=", 0) == 0) o.seed = std::strtoull(value.c_str(), nullptr, 10);
    if (arg.rfind("--locks=", 0) == 0) o.locks = std::strtoll(value.c_str(), nullptr, 10);
    if (arg.rfind("--databases=", 0) == 0) o.databases = std::strtoll(value.c_str(), nullptr, 10);
    if (arg.rfind("--failures=", 0) == 0) o.failures = std::strtoll(value.c_str(), nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
