// SPDX-License-Identifier: Apache-2.0
// tenon db and tenon replay as a user sees them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "db/db.h"
#include "files/file.h"
#include "history/program_table.h"
#include "history/records.h"
#include "measure/tasks.h"
#include "search/space/spaces.h"
#include "te/text.h"
#include "tools/tenon_command.h"
#include "zoo/model_builder.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json parse_answer(const Outcome& o, const std::string& verb = "") {
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const Json answer = Json::parse(o.out, nullptr, false);
  EXPECT_FALSE(answer.is_discarded()) << o.out;
  if (!verb.empty()) {
    EXPECT_EQ(answer["schema"], "tenon.db/1");
    EXPECT_EQ(answer["verb"], verb);
  }
  return answer;
}

constexpr const char* kProtocol = "v1 threads=1 cold";

task::Measurement measurement(const task::Task& t, const schedule::Trace& trace, double median_s) {
  task::Measurement m;
  m.task = t.key;
  m.target = measure::measured_target(*t.target);
  m.protocol = kProtocol;
  m.trace = schedule::to_json(trace);
  m.seconds = {median_s};
  m.best_s = m.median_s = median_s;
  m.low_s = median_s * 0.9;
  m.high_s = median_s * 1.1;
  m.verified = true;
  m.time = 1700000000;
  return m;
}

task::Task product(int64_t m, int64_t n, int64_t k) {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(
      "input A: f32[" + std::to_string(m) + ", " + std::to_string(k) + "]\nconst B: f32[" +
      std::to_string(k) + ", " + std::to_string(n) + "]\nC[i: " + std::to_string(m) + ", j: " +
      std::to_string(n) + "] = sum(k: " + std::to_string(k) + ") A[i, k] * B[k, j]\noutput C\n"));
  return task::make_task(dag, task::parse_edges("", *dag),
                         std::make_shared<const target::Target>(target::host_target()));
}

void add_task(db::Database& db, const task::Task& t) {
  db.add_task({t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops});
}

std::vector<schedule::Trace> sample(const task::Task& t, size_t n) {
  const auto space = search::make_space("sketch", t);
  Rng rng(7);
  std::set<uint64_t> seen;
  std::vector<schedule::Trace> traces;
  while (traces.size() < n) {
    const auto c = space->sample(rng);
    if (c && seen.insert(c->hash).second) traces.push_back(c->trace);
  }
  return traces;
}

// Two tasks with times of the pretend device, and one that was never measured.
class DbCommands : public ::testing::Test {
 protected:
  static std::string dir() { return ::testing::TempDir() + "tenon_db_commands"; }
  static std::string in_dir(const std::string& name) { return dir() + "/" + name; }
  static std::string records() { return in_dir("records.db"); }
  static task::Task& first() {
    static task::Task t = product(24, 34, 31);
    return t;
  }
  static task::Task& second() {
    static task::Task t = product(7, 19, 5);
    return t;
  }

  static void SetUpTestSuite() {
    fs::remove_all(dir());
    fs::create_directories(dir());
    const auto db = db::Database::open(records());
    const std::string run = db->begin_run("tenon tune m.onnx", "m.onnx");
    const auto device =
        measure::sim_measurer({.seed = 2, .protocol = {}, .noise = 0.01, .failures = 0.1});
    for (const task::Task& t : {first(), second()}) {
      add_task(*db, t);
      auto all = measure::measure(*device, t, sample(t, 40), 0, nullptr);
      for (task::Measurement& m : all) {
        m.run = run;
        m.verified = m.outcome == task::Outcome::kOk;
        m.time = 1700000000;
      }
      db->record(all);
    }
    add_task(*db, product(3, 3, 3));
    db->add_event(run, {0.5, R"({"event":"run","t":0.5})"});
    db->add_event(run, {8, R"({"event":"end","reason":"trials","t":8})"});
    db->end_run(run);
  }

  // A copy that a test may change.
  static std::string copy(const std::string& name) {
    fs::copy_file(records(), in_dir(name), fs::copy_options::overwrite_existing);
    return in_dir(name);
  }
};

Outcome on(const std::string& db, Args args) {
  args.insert(args.begin(), "db");
  args.insert(args.end(), {"--db", db});
  return tenon(args);
}

TEST_F(DbCommands, LsListsTasks) {
  const Json tasks = parse_answer(on(records(), {"ls", "--json"}), "ls")["tasks"];
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0]["task"], first().key);
  EXPECT_EQ(tasks[0]["label"], "C");
  ASSERT_EQ(tasks[0]["keys"].size(), 1U);
  EXPECT_EQ(tasks[0]["keys"][0]["measured"], 40);
  EXPECT_GT(tasks[0]["keys"][0]["failed"], 0);
  EXPECT_GT(tasks[0]["keys"][0]["best_s"], 0);
  EXPECT_EQ(tasks[0]["keys"][0]["verified"], true);
  EXPECT_TRUE(tasks[2]["keys"].empty());
  const Outcome text = on(records(), {"ls"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 4) << text.out;
  EXPECT_TRUE(contains(text.out, first().key + "  C ")) << text.out;
  const Json by_key =
      parse_answer(on(records(), {"ls", "--json", "--task", second().key.substr(0, 6)}), "ls");
  ASSERT_EQ(by_key["tasks"].size(), 1U);
  EXPECT_EQ(by_key["tasks"][0]["task"], second().key);
  EXPECT_EQ(parse_answer(on(records(), {"ls", "--json", "--task", "[C]*"}), "ls")["tasks"].size(),
            3U);
  EXPECT_EQ(parse_answer(on(records(), {"ls", "--json", "--target", "sim"}), "ls")["tasks"].size(),
            2U);
  const Json runs = parse_answer(on(records(), {"ls", "--runs", "--json"}), "ls")["runs"];
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["measured"], 80);
  EXPECT_EQ(runs[0]["model"], "m.onnx");
}

TEST_F(DbCommands, ShowTellsAllOfATaskOrARun) {
  const Json task =
      parse_answer(on(records(), {"show", first().key, "--top", "3", "--json"}), "show");
  EXPECT_EQ(task["te"], te::to_text(*first().dag));
  ASSERT_EQ(task["keys"].size(), 1U);
  const Json& best = task["keys"][0]["best"];
  ASSERT_EQ(best.size(), 3U);
  EXPECT_LE(best[0]["median_s"], best[1]["median_s"]);
  EXPECT_LE(best[0]["low_s"], best[0]["median_s"]);
  EXPECT_TRUE(best[0]["trace"].is_array());
  EXPECT_FALSE(task["keys"][0]["failures"].empty());
  const Outcome text = on(records(), {"show", first().key.substr(0, 8)});
  EXPECT_TRUE(contains(text.out, "C[i: 24, j: 34] = sum(k: 31)")) << text.out;
  EXPECT_TRUE(contains(text.out, "40 measured, ")) << text.out;
  EXPECT_TRUE(contains(text.out, "split C")) << text.out;
  const std::string run = parse_answer(on(records(), {"ls", "--runs", "--json"}))["runs"][0]["run"];
  const Json shown = parse_answer(on(records(), {"show", run, "--json"}), "show");
  EXPECT_EQ(shown["run"], run);
  EXPECT_EQ(shown["tasks"].size(), 2U);
  EXPECT_EQ(shown["events"], 2);
  EXPECT_EQ(shown["end"]["reason"], "trials");
  EXPECT_EQ(shown["measured"], 80);
  EXPECT_TRUE(contains(on(records(), {"show", run}).out, "ended    trials"));
  EXPECT_EQ(on(records(), {"show", "last"}).out, on(records(), {"show", run}).out);
}

TEST_F(DbCommands, ProgramsAreATable) {
  const std::string file = in_dir("programs.db");
  {
    const auto db = db::Database::open(file);
    db->add_task({"0123456789abcdef", "no text", "", "", 0});
    for (const task::Task& t : {first(), second()}) {
      add_task(*db, t);
      const auto space = search::make_space("sketch", t);
      Rng rng(7);
      for (int i = 0; i < 4; ++i) {
        const auto p = space->sample(rng);
        if (!p) continue;
        task::Measurement m = measurement(t, p->trace, 1e-3 * (1 + 0.01 * i));
        m.choices = space::to_json(p->choices);
        db->record({m});
      }
    }
  }
  const std::string table = in_dir("programs.txt");
  const Outcome o = on(file, {"programs", "--best", "2", "-o", table, "--json"});
  EXPECT_TRUE(contains(o.err, "task 0123456789abcdef is left out")) << o.err;
  const Json answer = parse_answer(o, "programs");
  EXPECT_EQ(answer["tasks"], 2);
  EXPECT_EQ(answer["programs"], 4);
  const history::Table read = history::read_table(files::read_file(table));
  EXPECT_EQ(read.left_out, 0U);
  ASSERT_EQ(read.tasks.size(), 2U);
  EXPECT_EQ(read.tasks[0].programs.size(), 2U);
  EXPECT_EQ(on(file, {"programs", "--best", "2"}).out, files::read_file(table));
}

TEST_F(DbCommands, ShowMarksTimesOfCoresThatWereApart) {
  const std::string file = in_dir("apart.db");
  const double handoffs_ns[] = {390, 62, 0, 181};  // 0: not known, as in records of older versions
  {
    const auto db = db::Database::open(file);
    add_task(*db, first());
    const auto traces = sample(first(), 4);
    for (size_t i = 0; i < 4; ++i) {
      task::Measurement m = measurement(first(), traces[i], 1e-3 * static_cast<double>(i + 1));
      m.handoff_ns = handoffs_ns[i];
      db->record({m});
    }
  }
  const Json task = parse_answer(on(file, {"show", first().key, "--json"}), "show");
  const Json& best = task["keys"][0]["best"];
  ASSERT_EQ(best.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(best[i]["handoff_ns"], handoffs_ns[i]);
  std::istringstream lines(on(file, {"show", first().key}).out);
  std::string marked;
  for (std::string line; std::getline(lines, line);) {
    if (contains(line, " verified ")) marked += contains(line, "cores apart") ? "apart " : "- ";
  }
  EXPECT_EQ(marked, "apart - - apart ");
}

TEST_F(DbCommands, StatsCount) {
  const Json stats = parse_answer(on(records(), {"stats", "--json"}), "stats");
  EXPECT_EQ(stats["tasks"], 3);
  EXPECT_EQ(stats["measurements"], 80);
  EXPECT_EQ(stats["events"], 2);
  EXPECT_EQ(stats["schema_version"], 4);
  EXPECT_GT(stats["bytes"], 1000);
  int64_t sum = 0;
  for (const auto& [outcome, n] : stats["outcomes"].items()) sum += n.get<int64_t>();
  EXPECT_EQ(sum, 80);
  EXPECT_EQ(stats["targets"][0]["measured"], 80);
  EXPECT_EQ(stats["runs"][0]["per_second"], 10.0);
  EXPECT_TRUE(contains(on(records(), {"stats"}).out, "10.00 per second"));
}

TEST_F(DbCommands, ExportAndImportMoveEverythingOnce) {
  const Outcome text = on(records(), {"export"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 1 + 3 + 1 + 2 + 80);
  EXPECT_EQ(Json::parse(text.out.substr(0, text.out.find('\n')))["schema"], "tenon.records/1");
  const std::string file = in_dir("all.jsonl");
  EXPECT_EQ(parse_answer(on(records(), {"export", file, "--json"}), "export")["measurements"], 80);
  EXPECT_TRUE(files::read_file(file) == text.out);
  const std::string fresh = in_dir("new/folder/fresh.db");
  const Json added = parse_answer(on(fresh, {"import", file, "--json"}), "import");
  EXPECT_EQ(added["measurements"], 80);
  EXPECT_EQ(added["known"], 0);
  EXPECT_TRUE(on(fresh, {"export"}).out == text.out);
  const Json again = parse_answer(on(fresh, {"import", file, file, "--json"}), "import");
  EXPECT_EQ(again["measurements"], 0);
  EXPECT_TRUE(on(fresh, {"export"}).out == text.out);
  Args piped = {"db", "import", "-", "--db", in_dir("piped.db"), "--json"};
  EXPECT_EQ(parse_answer(tenon(piped, text.out), "import")["measurements"], 80);
  const Outcome one = on(records(), {"export", "--task", second().key});
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 1 + 1 + 1 + 2 + 40);
}

TEST_F(DbCommands, MergeTakesSeveral) {
  const std::string a = in_dir("a.db"), b = in_dir("b.jsonl"), all = in_dir("ab.db");
  db::Database::open(a)->record({measurement(first(), {}, 1e-3)});
  ASSERT_EQ(on(records(), {"export", b}).exit_code, 0);
  EXPECT_EQ(parse_answer(on(all, {"merge", a, b, a, "--json"}), "merge")["measurements"], 81);
  EXPECT_EQ(parse_answer(on(all, {"merge", records(), all, "--json"}), "merge")["measurements"], 0);
}

TEST_F(DbCommands, DamagedExportsAddNothing) {
  const std::string whole = on(records(), {"export"}).out;
  const std::string db = copy("damaged.db");
  const std::string before = on(db, {"export"}).out;
  const auto with = [&](const std::string& text) {
    files::write_file(in_dir("damaged.jsonl"), text);
    return on(db, {"import", in_dir("damaged.jsonl")});
  };
  expect_user_error(with(whole.substr(0, whole.size() - 9)), "damaged.jsonl:87: damaged");
  expect_user_error(with(whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1)),
                    "damaged.jsonl:86: the file was cut off or changed: it has 79 measurements");
  std::string broken = whole;
  broken.insert(broken.find("\"outcome\":\"ok\"") + 11, "so-");
  expect_user_error(with(broken), ": damaged: unknown outcome \"so-ok\"");
  expect_user_error(with("hello\n"), "damaged.jsonl:1: this is no file of records");
  expect_user_error(with("{\"schema\":\"tenon.records/9\"}\n"),
                    "this tenon knows up to tenon.records/1");
  expect_user_error(on(db, {"import", in_dir("nothing.jsonl")}), "nothing.jsonl: cannot be read");
  expect_user_error(on(db, {"import", dir()}), "cannot be read");
  EXPECT_TRUE(on(db, {"export"}).out == before);
}

TEST_F(DbCommands, BadDatabasesAreSentences) {
  const std::string garbage = in_dir("garbage.db"), cut = copy("cut.db");
  files::write_file(garbage, std::string(9000, 'x'));
  fs::resize_file(cut, 5000);
  const std::string newer = copy("newer.db");
  ASSERT_EQ(std::system(("sqlite3 " + newer + " 'PRAGMA user_version = 99'").c_str()), 0);
  for (const char* verb : {"ls", "best", "stats", "export", "verify"}) {
    expect_user_error(on(in_dir("none.db"), {verb}), "none.db: database: there is no such file");
    expect_user_error(on(dir(), {verb}), "this is a folder");
    expect_user_error(on(garbage, {verb}), "garbage.db: database: file is not a database");
    expect_user_error(on(cut, {verb}), "cut.db: database: ");
    expect_user_error(on(newer, {verb}), "its schema is version 99");
    expect_user_error(on("postgres://farm/x", {verb}), "only SQLite files");
  }
  EXPECT_FALSE(fs::exists(in_dir("none.db")));
  expect_user_error(on(in_dir("none.db"), {"prune", "--yes"}), "there is no such file");
  EXPECT_FALSE(fs::exists(in_dir("none.db")));
  expect_user_error(on(garbage, {"import", "-"}), "");
}

TEST_F(DbCommands, BadSelections) {
  expect_user_error(on(records(), {"ls", "--task", "zebra"}),
                    "no record answers to --task 'zebra'");
  expect_user_error(on(records(), {"ls", "--target", "riscv"}), "(there are: sim 2)");
  expect_user_error(on(records(), {"ls", "--protocol", "threads=9"}),
                    "(there are: v1 threads=1 cold)");
  expect_user_error(on(records(), {"ls", "--run", "zz"}), "there is no run 'zz'");
  expect_user_error(on(records(), {"show", "zebra"}), "there is no task 'zebra'");
  expect_user_error(on(records(), {"show", "C"}), "'C' means 3 tasks");
  expect_user_error(on(records(), {"show"}), "name is required");
  expect_user_error(on(records(), {"prune", "--keep", "0"}), "--keep");
  expect_user_error(tenon({"db"}), "subcommand is required");
  expect_user_error(tenon({"db", "lss"}), "did you mean 'ls'?");
  expect_user_error(on(records(), {"why-miss", "no.onnx"}),
                    "'no.onnx' is no file, and there is no task");
}

TEST_F(DbCommands, PruneAsksOrNeedsYes) {
  const std::string db = copy("pruned.db");
  const Json dry = parse_answer(on(db, {"prune", "--keep", "3", "--dry-run", "--json"}), "prune");
  EXPECT_EQ(dry["removed"], 74);
  EXPECT_EQ(dry["kept"], 6);
  expect_user_error(on(db, {"prune", "--keep", "3"}),
                    "74 measurements would be removed; nothing was");
  EXPECT_EQ(parse_answer(on(db, {"stats", "--json"}))["measurements"], 80);
  const std::string best = on(db, {"best"}).out;
  EXPECT_EQ(parse_answer(on(db, {"prune", "--keep", "3", "--yes", "--json", "--task", first().key}),
                         "prune")["removed"],
            37);
  EXPECT_EQ(parse_answer(on(db, {"prune", "--keep", "3", "--yes", "--json"}), "prune")["removed"],
            37);
  EXPECT_EQ(parse_answer(on(db, {"stats", "--json"}))["failed"], 0);
  EXPECT_EQ(parse_answer(on(db, {"best", "--json"}))["best"].size(), 2U);
  EXPECT_NE(best, "");
}

TEST_F(DbCommands, VerifyChecksTheFileAndItsTasks) {
  const Json good = parse_answer(on(records(), {"verify", "--json"}), "verify");
  EXPECT_EQ(good["sound"], true);
  const std::string db = copy("mixed.db");
  ASSERT_EQ(
      std::system(("sqlite3 " + db + " \"UPDATE task SET te = replace(te, '24', '25')\"").c_str()),
      0);
  const Outcome bad = on(db, {"verify", "--json"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_EQ(Json::parse(bad.out)["sound"], false);
  EXPECT_TRUE(contains(bad.err, "1 tasks are damaged")) << bad.err;
}

// A builder that spoils some programs: those compute something else, whatever their records say.
TEST_F(DbCommands, VerifyFindsRecordsThatAreWrong) {
  const std::string file = in_dir("spoilt.db");
  const task::Task t = product(16, 16, 16);
  {
    const auto db = db::Database::open(file);
    add_task(*db, t);
    db->record({measurement(t, {}, 2e-3),
                measurement(t, measure::fault_trace(measure::kReturnsGarbage), 1e-3),
                measurement(t, measure::fault_trace(measure::kCompilerCrashes), 5e-3)});
  }
  const Args args = {"verify", "--records", "--json", "--build-tool", TENON_FAULTY_BUILD};
  const Outcome wrong = on(file, args);
  EXPECT_EQ(wrong.exit_code, 4) << wrong.err;
  const Json checked = Json::parse(wrong.out)["checked"];
  ASSERT_EQ(checked.size(), 2U) << "the next best is checked instead";
  EXPECT_EQ(checked[0]["verdict"], "wrong");
  EXPECT_EQ(checked[1]["verdict"], "right");
  EXPECT_TRUE(contains(wrong.err, "1 records compute something else")) << wrong.err;
  EXPECT_EQ(on(file, args).exit_code, 0) << "what is marked is not used again";
  // A compiler that dies says nothing about the program.
  ASSERT_EQ(
      std::system(("sqlite3 " + file + " 'DELETE FROM measurement WHERE median_s = 2e-3'").c_str()),
      0);
  const Outcome open = on(file, args);
  EXPECT_EQ(open.exit_code, 2) << open.err;
  EXPECT_EQ(Json::parse(open.out)["checked"][0]["verdict"], "open");
  EXPECT_TRUE(contains(open.err, "1 records could not be compared")) << open.err;
  int marked = 0;
  for (const auto& m : db::Database::open(file)->measurements({})) {
    marked += m.outcome == task::Outcome::kWrong ? 1 : 0;
  }
  EXPECT_EQ(marked, 1);
}

TEST_F(DbCommands, VerifyFindsRecordsThatCannotBeUsed) {
  const std::string file = in_dir("here.db");
  const task::Task t = product(7, 19, 5);
  const auto traces = sample(t, 3);
  {
    const auto db = db::Database::open(file);
    add_task(*db, t);
    db->record({measurement(t, traces[0], 2e-3), measurement(t, traces[1], 1e-3)});
    task::Measurement other = measurement(t, traces[2], 1e-4);
    other.target = "another machine";
    db->record({other});
  }
  const Outcome right = on(file, {"verify", "--records", "--json"});
  const Json answer = parse_answer(right, "verify");
  ASSERT_EQ(answer["checked"].size(), 1U);
  EXPECT_EQ(answer["checked"][0]["median_s"], 1e-3);
  EXPECT_EQ(answer["checked"][0]["right"], true);
  EXPECT_EQ(answer["elsewhere"], 1);
  // A program that cannot be made at all is refused; nothing is known to be wrong with its numbers.
  task::Measurement refused = measurement(t, {}, 1e-5);
  refused.trace = R"([["split",99,0,[16],false]])";
  db::Database::open(file)->record({refused});
  const Outcome unusable = on(file, {"verify", "--records", "--json"});
  EXPECT_EQ(unusable.exit_code, 2) << unusable.err;
  const Json told = Json::parse(unusable.out);
  EXPECT_EQ(told["sound"], false);
  EXPECT_TRUE(contains(told["faults"][0].get<std::string>(), "there is no stage 99"));
  ASSERT_EQ(told["checked"].size(), 1U) << "the next best is checked instead";
  EXPECT_EQ(told["checked"][0]["verdict"], "right");
  for (const auto& m : db::Database::open(file)->measurements({})) {
    EXPECT_EQ(m.outcome, task::Outcome::kOk) << "nothing was compared";
  }
}

// From records to an artifact, without measuring.
class Locked : public DbCommands {
 protected:
  static std::string model() { return in_dir("two.onnx"); }
  static std::string artifact() { return in_dir("two"); }

  // The default schedules of a model as if they had been measured.
  static void SetUpTestSuite() {
    DbCommands::SetUpTestSuite();
    zoo::ModelBuilder m("two", 13, 1);
    const zoo::Tensor x = m.input("x", zoo::Element::kFloat, {5, 12});
    const zoo::Tensor y = m.node("Relu", "between", {x}, {5, 12});
    m.output(m.node("Softmax", "last", {y}, {5, 12}), "y");
    files::write_file(model(), m.bytes());
    ASSERT_EQ(tenon({"compile", model(), "-o", artifact()}).exit_code, 0);
    const auto db = db::Database::open(in_dir("two.db"));
    const auto target = std::make_shared<const target::Target>(target::host_target());
    const Json lock = Json::parse(files::read_file(artifact() + "/two.lock"));
    for (const Json& task : lock["tasks"]) {
      const db::TaskRow row{task["task"], task["te"], task["edges"], "", 0};
      const task::Task t = history::task_of(row, target);
      add_task(*db, t);
      const auto trace =
          schedule::parse_trace(task["trace"], schedule::State(t.dag, t.target), "lock");
      db->record({measurement(t, trace, 1e-3)});
    }
  }
};

TEST_F(Locked, BestWritesALockFileThatCompileTakes) {
  const std::string lock = in_dir("best.lock");
  const Json best = parse_answer(on(in_dir("two.db"), {"best", "--lock", lock, "--json"}), "best");
  EXPECT_EQ(best["best"].size(), Json::parse(files::read_file(lock))["tasks"].size());
  const Outcome again =
      tenon({"compile", model(), "-o", in_dir("again"), "--lock", lock, "--frozen", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Json compiled = Json::parse(again.out);
  for (const auto& [origin, n] : compiled["origins"].items()) {
    EXPECT_EQ(origin, "tuned");
  }
  // Records of two protocols do not mix.
  const std::string db = in_dir("mixed_protocols.db");
  fs::copy_file(in_dir("two.db"), db, fs::copy_options::overwrite_existing);
  ASSERT_EQ(
      std::system(
          ("sqlite3 " + db +
           " \"INSERT INTO measurement (task, target, protocol, trace, outcome, seconds, best_s,"
           " median_s, low_s, high_s, build_s, run_s, error, verified, load1, mhz, run, time)"
           " SELECT task, target, 'v1 threads=2 cold', trace, outcome, seconds, best_s, median_s,"
           " low_s, high_s, build_s, run_s, error, verified, load1, mhz, run, time FROM "
           "measurement\"")
              .c_str()),
      0);
  expect_user_error(on(db, {"best", "--lock", lock}), "choose with --protocol");
  EXPECT_EQ(on(db, {"best", "--lock", lock, "--protocol", "threads=2"}).exit_code, 0);
  expect_user_error(
      on(records(), {"best", "--lock", in_dir("no/such/lock"), "--task", first().key}),
      "no/such/lock: cannot be written");
}

TEST_F(Locked, WhyMissNamesTheField) {
  const std::string db = in_dir("two.db");
  const auto reasons = [&](Args args) {
    args.insert(args.begin(), {"why-miss", model(), "--json"});
    std::set<std::string> found;
    const Json answer = parse_answer(on(db, args), "why-miss");
    for (const Json& t : answer["tasks"]) found.insert(t["reason"].get<std::string>());
    return found;
  };
  const std::set<std::string> hit = {"hit"}, protocol = {"protocol"}, target = {"target"};
  EXPECT_EQ(reasons({"--threads", "1"}), hit);
  EXPECT_EQ(reasons({"--threads", "77"}), protocol);
  EXPECT_EQ(reasons({"--threads", "1", "--warm-cache"}), protocol);
  EXPECT_EQ(reasons({"--threads", "1", "--target", "host cores=77"}), target);
  const Outcome text = on(db, {"why-miss", model(), "--threads", "77"});
  EXPECT_TRUE(contains(text.out, "protocol.threads: wanted 77, recorded 1")) << text.out;
  EXPECT_TRUE(contains(text.out, "0 of ")) << text.out;
  const Outcome cores =
      on(db, {"why-miss", model(), "--threads", "1", "--target", "host cores=77"});
  EXPECT_TRUE(contains(cores.out, "target.cores: wanted 77, recorded ")) << cores.out;
}

TEST_F(DbCommands, WhyMissTellsWhatIsThereInstead) {
  const std::string file = in_dir("misses.db");
  const task::Task unverified = product(9, 9, 9), failed = product(10, 9, 9),
                   never = product(11, 9, 9), stored = product(12, 16, 8);
  const auto with_edges = [](const task::Task& t, const std::string& edges) {
    return task::make_task(t.dag, task::parse_edges(edges, *t.dag), t.target);
  };
  const task::Task other_edges = with_edges(stored, "C: split(1,[2,8])\n");
  const task::Task refused = with_edges(product(13, 16, 8), "C: reorder([1,0])\n");
  {
    const auto db = db::Database::open(file);
    for (const auto& t : {unverified, failed, never, stored, other_edges, refused}) {
      add_task(*db, t);
    }
    task::Measurement m = measurement(unverified, {}, 1e-3);
    m.verified = false;
    task::Measurement f = measurement(failed, {}, 0);
    f.outcome = task::Outcome::kRunCrash;
    db->record({m, f, measurement(other_edges, task::edge_steps(other_edges), 1e-3),
                measurement(refused, {}, 1e-3)});
  }
  const struct {
    std::string key;
    const char* reason;
    const char* says;
  } rows[] = {
      {unverified.key, "unverified", "none was compared with the reference"},
      {failed.key, "failed", "1 run-crash"},
      {never.key, "never-measured", "nothing was measured for it"},
      {stored.key, "layouts", "stored.C"},
      {other_edges.key, "hit", "1.000 ms"},
      {refused.key, "refused", "C is not stored as the task's edges say"},
  };
  for (const auto& row : rows) {
    const Args args = {"why-miss", row.key, "--threads", "1"};
    const Outcome text = on(file, args);
    EXPECT_TRUE(contains(text.out, row.says)) << text.out << text.err;
    EXPECT_TRUE(contains(text.out, row.reason)) << text.out;
  }
  const Outcome unknown = on(file, {"why-miss", "0123456789abcdef"});
  EXPECT_EQ(unknown.exit_code, 2);
}

TEST_F(DbCommands, ReplayReportsStrategies) {
  const std::string file = in_dir("replay.jsonl");
  ASSERT_EQ(on(records(), {"export", file}).exit_code, 0);
  const Args args = {"replay", "--data", file, "--seeds", "3", "--trials", "20", "--json"};
  const Outcome first_time = tenon(args);
  const Json answer = parse_answer(first_time);
  EXPECT_EQ(answer["schema"], "tenon.replay/1");
  ASSERT_EQ(answer["tasks"].size(), 2U);
  for (const Json& task : answer["tasks"]) {
    EXPECT_EQ(task["programs"], 40);
    ASSERT_EQ(task["strategies"].size(), 2U);
    for (const Json& s : task["strategies"]) {
      double before = 0;
      for (const char* share : {"10%", "25%", "50%", "100%"}) {
        const double mean = s["quality"][share]["mean"];
        EXPECT_GE(mean, before);
        EXPECT_LE(mean, 1);
        before = mean;
      }
      EXPECT_GT(before, 0);
    }
  }
  EXPECT_EQ(tenon(args).out, first_time.out) << "the same seeds";
  const Outcome from_db = tenon({"replay", "--data", records(), "--strategy", "random",
                                 "--cost-model", "random", "--seeds", "2", "--task", second().key});
  EXPECT_EQ(from_db.exit_code, 0) << from_db.err;
  EXPECT_TRUE(contains(from_db.out, "random ")) << from_db.out;
  EXPECT_FALSE(contains(from_db.out, "evolution")) << from_db.out;
  EXPECT_TRUE(contains(from_db.out, "40 programs on record")) << from_db.out;
}

TEST_F(DbCommands, ReplayOfBadData) {
  const std::string few = in_dir("few.db"), garbage = in_dir("garbage.jsonl");
  {
    const auto db = db::Database::open(few);
    add_task(*db, first());
    db->record({measurement(first(), {}, 1e-3)});
  }
  files::write_file(garbage, "not records\n");
  expect_user_error(tenon({"replay"}), "--data is required");
  expect_user_error(tenon({"replay", "--data", in_dir("none")}), "cannot be read");
  expect_user_error(tenon({"replay", "--data", dir()}), "cannot be read");
  expect_user_error(tenon({"replay", "--data", garbage}),
                    "garbage.jsonl:1: this is no file of records");
  expect_user_error(tenon({"replay", "--data", few}), "no task has 10 programs on record");
  expect_user_error(tenon({"replay", "--data", records(), "--strategy", "guess"}), "--strategy");
  expect_user_error(tenon({"replay", "--data", records(), "--seeds", "0"}), "--seeds");
  expect_user_error(tenon({"replay", "--data", records(), "--task", "zebra"}), "--task 'zebra'");
}

}  // namespace
}  // namespace tenon::testing
