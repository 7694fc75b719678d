// SPDX-License-Identifier: Apache-2.0
#include "db/records.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "support/check.h"
#include "support/rng.h"

namespace tenon::db {
namespace {

namespace fs = std::filesystem;

class RecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tenon-records-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::unique_ptr<Database> open(const std::string& name) const {
    return Database::open((folder_ / name).string());
  }
  fs::path folder_;
};

// Values that only survive if nothing is rounded on the way.
task::Measurement random_measurement(Rng& rng) {
  task::Measurement m;
  m.task = "task" + std::to_string(rng.between(0, 2));
  m.target = rng.chance(0.5) ? "here;\"quoted\"" : "there";
  m.protocol = "v1 threads=1 cold";
  m.trace = rng.chance(0.9)
                ? "[[\"split\"," + std::to_string(rng.between(0, 99)) + ",0,[16],false]]"
                : "[ 1,  2 ]";  // spaces are kept too
  m.outcome = static_cast<task::Outcome>(rng.between(0, 7));
  for (int64_t i = rng.between(0, 4); i > 0; --i) m.seconds.push_back(rng.unit() * 1e-3);
  m.best_s = rng.unit() / 3;
  m.median_s = rng.chance(0.05) ? INFINITY : rng.unit() / 7;
  m.low_s = rng.unit() * 1e-300;
  m.high_s = rng.unit() * 1e300;
  m.build_s = 0.1;
  m.run_s = 0.2;
  m.error = rng.chance(0.3) ? "line\nbreak \"ä\" \x01" : "";
  m.verified = rng.chance(0.5);
  m.load1 = rng.unit();
  m.mhz = 3e3;
  m.handoff_ns = 1e3 * rng.unit();
  m.run = rng.chance(0.5) ? "r1" : "";
  m.time = rng.between(0, 1'800'000'000);
  return m;
}

Rows random_records(uint64_t seed, int measurements) {
  Rng rng(seed);
  Rows r;
  r.tasks = {{"task0", "input A: f32[1]\n", "A: x\n", "conv \"1\"", 1.0 / 3},
             {"task1", "", "", "pool", 0}};
  r.runs = {{"r1", "tenon tune 'a b'", "a b", "2026-01-02T03:04:05Z", "", 0, 0}};
  r.events = {{"r1", {0.1, R"({"event":"run","t":0.1})"}},
              {"r1", {0.2, R"({ "event": "round" })"}},
              {"r1", {0.3, "no json"}}};
  for (int i = 0; i < measurements; ++i) r.measurements.push_back(random_measurement(rng));
  return r;
}

TEST_F(RecordsTest, ComeBackAsTheyWere) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Rows r = random_records(seed, 30);
    const std::string text = to_json_lines(r);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 + 1 + 3 + 30) << "seed " << seed;
    const auto db = open("a" + std::to_string(seed));
    const Added added = db->add({records_from_json_lines(text, "x.jsonl")});
    EXPECT_EQ(added.measurements, 30) << "seed " << seed;
    EXPECT_EQ(added.known, 0);
    EXPECT_EQ(to_json_lines(all_records(*db)), text) << "seed " << seed;
  }
}

TEST_F(RecordsTest, AddingAgainAddsNothing) {
  const auto db = open("a");
  Rows r = random_records(5, 50);
  r.measurements.push_back(r.measurements[3]);  // the same twice is twice
  EXPECT_EQ(db->add({r}).measurements, 51);
  const Added again = db->add({records_from_json_lines(to_json_lines(r), "x")});
  EXPECT_EQ(again.tasks + again.runs + again.events + again.measurements, 0);
  EXPECT_EQ(again.known, 2 + 1 + 3 + 51);
  r.measurements.push_back(r.measurements[3]);  // a third time is one more
  r.measurements.push_back(r.measurements[4]);
  r.measurements.back().median_s = std::nextafter(r.measurements.back().median_s, 1.0);
  EXPECT_EQ(db->add({r}).measurements, 2) << "the last bit makes another measurement";
  EXPECT_EQ(db->measurements({}).size(), 53u);
}

TEST_F(RecordsTest, MergingIsTheSameInAnyOrder) {
  Rows a = random_records(7, 20), b = random_records(8, 20);
  b.measurements.insert(b.measurements.end(), a.measurements.begin(), a.measurements.begin() + 10);
  const auto ab = open("ab"), ba = open("ba");
  ab->add({a});
  ab->add({b});
  ba->add({b});
  ba->add({a});
  const auto sorted = [](const Database& db) {
    std::vector<std::string> rows;
    for (const auto& m : db.measurements({})) rows.push_back(to_json(m));
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  EXPECT_EQ(sorted(*ab).size(), 40u);
  EXPECT_EQ(sorted(*ab), sorted(*ba));
  EXPECT_EQ(ab->events("r1").size(), 3u);
}

TEST_F(RecordsTest, PartsAreAddedOneAfterTheOther) {
  const Rows a = random_records(7, 20), b = random_records(8, 20);
  const auto db = open("a");
  EXPECT_EQ(db->add({a, b, a}).measurements, 40) << "the third part is there already";
  // A part that cannot be added leaves nothing of those before it.
  Rows bad = random_records(9, 5);
  bad.measurements[4].median_s = NAN;
  EXPECT_THROW(db->add({random_records(10, 5), bad}), UserError);
  EXPECT_EQ(db->measurements({}).size(), 40u);
}

TEST_F(RecordsTest, ARunThatEndedElsewhereHasEnded) {
  const auto db = open("a");
  Rows r = random_records(1, 0);
  db->add({r});
  r.runs[0].finished = "2026-01-02T04:00:00Z";
  db->add({r});
  EXPECT_EQ(db->runs()[0].finished, "2026-01-02T04:00:00Z");
  r.runs[0].finished = "";
  db->add({r});
  EXPECT_EQ(db->runs()[0].finished, "2026-01-02T04:00:00Z") << "an older copy does not reopen it";
}

TEST_F(RecordsTest, JoinedFilesAreOneFile) {
  const std::string a = to_json_lines(random_records(1, 3)),
                    b = to_json_lines(random_records(2, 4));
  EXPECT_EQ(records_from_json_lines(a + "\n" + b, "x").measurements.size(), 7u);
}

TEST_F(RecordsTest, DamagedFilesAreNamedByLine) {
  const std::string whole = to_json_lines(random_records(3, 5));  // lines: 1 head, 6 rows, 5 more
  const std::string head = whole.substr(0, whole.find('\n') + 1);
  const struct {
    std::string text;
    const char* message;
  } rows[] = {
      {"", "no file of records"},
      {"hello\n", "x.jsonl:1: this is no file of records"},
      {"{\"kind\":\"task\"}\n", "x.jsonl:1: this is no file of records"},
      {whole.substr(head.size()), "x.jsonl:1: this is no file of records"},
      {"{\"schema\":\"tenon.records/2\"}\n",
       "tenon.records/2, this tenon knows up to tenon.records/1"},
      {"{\"schema\":\"tenon.bench/1\"}\n", "its schema is tenon.bench/1"},
      {"{\"schema\":7}\n", "x.jsonl:1: damaged: "},
      {whole.substr(0, whole.size() - 20), "x.jsonl:12: damaged: this is not JSON"},
      {whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1),
       "x.jsonl:11: the file was cut off or changed: it has 4 measurements, its first line says 5"},
      {head + "{\"kind\":\"table\"}\n", "x.jsonl:2: there is no kind of record 'table'"},
      {head + "{\"kind\":\"task\",\"key\":\"k\"}\n", "x.jsonl:2: damaged: "},
      {head + "[]\n", "x.jsonl:2: damaged: this is not JSON"},
      {head + "\n{\"kind\":\"measurement\"}\n", "x.jsonl:3: damaged: this is no measurement"},
      {head + std::string("\0\xff\xfe", 3), "x.jsonl:2: damaged: "},
  };
  for (const auto& row : rows) {
    try {
      records_from_json_lines(row.text, "x.jsonl");
      ADD_FAILURE() << "taken: " << row.text;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(row.message), std::string::npos)
          << e.what() << "\ndoes not say: " << row.message;
    }
  }
}

// Whatever happens to a byte or to the end of the file: it is refused, or read as records; nothing else.
TEST_F(RecordsTest, RandomDamageNeverCrashes) {
  const std::string whole = to_json_lines(random_records(4, 10));
  Rng rng(11);
  for (int i = 0; i < 500; ++i) {
    std::string text = whole;
    if (rng.chance(0.3)) text.resize(static_cast<size_t>(rng.between(0, std::ssize(text))));
    for (int64_t n = rng.between(0, 3); n > 0 && !text.empty(); --n) {
      text[static_cast<size_t>(rng.between(0, std::ssize(text) - 1))] =
          static_cast<char>(rng.between(0, 255));
    }
    try {
      records_from_json_lines(text, "x");
    } catch (const UserError&) {
    }
  }
}

TEST_F(RecordsTest, TellsDatabasesFromText) {
  open("a");
  EXPECT_TRUE(is_database_file((folder_ / "a").string()));
  EXPECT_FALSE(is_database_file((folder_ / "none").string()));
  EXPECT_FALSE(is_database_file(folder_.string()));
}

}  // namespace
}  // namespace tenon::db
