// SPDX-License-Identifier: Apache-2.0
// `tenon tune` as a user sees it: options, what is shown and where, resuming, interrupting.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <chrono>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "measure/processes.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Args kSim = {"--sim", "--jsonl", "--trials", "30", "--round", "8"};

// Without the run's name, which is a new one each time.
std::string without_name(std::string stream) {
  const std::string key = "\"run\":\"";
  const size_t at = stream.find(key);
  return at == std::string::npos ? stream : stream.erase(at, key.size() + 17);
}

TEST(TuneOptions, MistakesAreSentences) {
  const TuneFolder f("tune_options");
  const struct {
    Args args;
    int exit_code;
    const char* message;
  } rows[] = {
    {{"--budget", "soon"}, 2, "--budget 'soon' is no length of time (such as 5m, 300s"},
    {{"--budget", "0s"}, 2, "is no length of time"},
    {{"--budget", "-5m"}, 2, "--budget"},
    {{"--trials", "0"}, 2, "--trials"},
    {{"--threads", "0"}, 2, "--threads"},
    {{"--space", "outer"}, 2, "--space"},
    {{"--strategy", "luck"}, 2, "--strategy"},
    {{"--pairs", "some"}, 2, "--pairs"},
    {{"--transplant", "some"}, 2, "--transplant"},
    {{"--programs", "no/such/table"}, 2, "there is no such table of programs"},
    {{"--verify", "never"}, 2, "--verify"},
    {{"--objective", "max"}, 2, "--objective"},
    {{"--cost-model", "xbg"}, 2, "no model and no file called 'xbg' (did you mean 'xgb'?)"},
    {{"--layout-agent", "agent"}, 2, "--layout-agent goes with --layouts ppo"},
    {{"--emit", "exe"}, 2, "exe"},
    {{"--target", "x86-64-v9"}, 2, "there is no target 'x86-64-v9'"},
    {{"--objective", "targets"}, 2, "--objective targets needs --latency-target net=TIME"},
    {{"--latency-target", "other=10ms"}, 2, "MODEL=TIME expected (models: net)"},
    {{"--reference", "net=fast"}, 2, "--reference 'fast' is no length of time"},
    {{"--jsonl", "--json"}, 2, "--json and --jsonl exclude each other"},
    {{"--name", "9 lives"}, 2, "is no C identifier"},
    {{"--db", "postgres://somewhere"}, 2, "only SQLite files"},
    {{"--db", f.path("").string(), "--sim", "--trials", "1"}, 2, "database"},
    {{"--build-tool", "/no/such/tool"}, 2, "/no/such/tool: there is no such program"},
    {{"--lock", "/no/lock"}, 2, "/no/lock"},
    {{"--tasks", "zebra*", "--sim", "--trials", "4"}, 2, "no task matches \"zebra*\""},
    {{"no/such.onnx"}, 2, "no/such.onnx: there is no such file"},
    {{f.path("plain").string()}, 2, "tuning begins with a model"},
    {{f.path("net.onnx").string()}, 2, "two models are called net"},
#if defined(__x86_64__)
    {{"--target", "aarch64"}, 6, "target 'aarch64' does not run on this machine"},
#else
    {{"--target", "x86-64"}, 6, "target 'x86-64' does not run on this machine"},
#endif
  };
  for (const auto& row : rows) {
    Args args = row.args;
    args.insert(args.end(), {"-q"});
    expect_error(f.run(args), row.exit_code, row.message);
  }
  EXPECT_FALSE(fs::exists(f.path("out"))) << "nothing is written for a mistake";
}

TEST(TuneOptions, HelpersAreLookedForBesideTheProgram) {
  const TuneFolder f("tune_helpers");
  fs::create_directories(f.path("bin"));
  fs::copy_file(TENON_BINARY, f.path("bin") / "tenon");
  Args args = f.command({"--trials", "2"});
  args[0] = (f.path("bin") / "tenon").string();
  const Outcome missing = Running(args, f.path(""), f.variables).wait();
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_TRUE(contains(missing.err, "tenon-build is missing: it should lie beside")) << missing.err;
  const fs::path compare = fs::path(TENON_BUILD).parent_path() / "tenon-compare";
  for (const fs::path& tool : {fs::path(TENON_BUILD), fs::path(TENON_RUN), compare}) {
    fs::create_symlink(tool, f.path("bin") / tool.filename());
  }
  const Outcome found = Running(args, f.path(""), f.variables).wait();
  EXPECT_EQ(found.exit_code, 0) << found.err;
}

TEST(Tune, DryRunMeasuresNothing) {
  const TuneFolder f("tune_dry");
  const Outcome text = f.run({"--dry-run"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "2 to tune of 2 in 2 steps; 0 known already")) << text.out;
  EXPECT_FALSE(fs::exists(f.path("out")));
  EXPECT_FALSE(fs::exists(f.path("t.db")));
  EXPECT_EQ(f.run(kSim).exit_code, 0);
  const Outcome json = f.run({"--dry-run", "--json", "--sim", "--tasks", "*relu"});
  const Json plan = Json::parse(json.out);
  EXPECT_EQ(plan["schema"], "tenon.tune-plan/1");
  ASSERT_EQ(plan["tasks"].size(), 2U);
  for (const Json& task : plan["tasks"]) {
    EXPECT_GT(task["measured"], 0);
    EXPECT_EQ(task["calls"], Json({1}));
    EXPECT_EQ(task["chosen"], contains(task["label"], "relu")) << task;
  }
}

TEST(Tune, ThePretendDeviceHasEveryTarget) {
  for (const std::string target : {"cuda sm_90", "aarch64", "x86-64"}) {
    const TuneFolder f("tune_sim_target");
    const Outcome done = f.run({"--sim", "--trials", "20", "--target", target, "--json"});
    ASSERT_EQ(done.exit_code, 0) << target << ": " << done.err;
    EXPECT_EQ(Json::parse(done.out)["measured"], 20) << target;
    EXPECT_TRUE(fs::exists(f.path("out"))) << target;
  }
}

TEST(Tune, RecordsTravel) {
  const TuneFolder here("tune_records_here"), there("tune_records_there");
  ASSERT_EQ(here.run(kSim).exit_code, 0);
  const std::string file = here.path("records.jsonl").string();
  const Outcome out = tenon({"db", "export", file, "--db", here.path("t.db").string()});
  EXPECT_EQ(out.exit_code, 0) << out.err;
  const Outcome in = tenon({"db", "import", file, "--db", there.path("t.db").string()});
  EXPECT_EQ(in.exit_code, 0) << in.err;
  const Outcome plan = there.run({"--dry-run", "--json", "--sim"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.out, here.run({"--dry-run", "--json", "--sim"}).out);
  for (const Json& task : Json::parse(plan.out)["tasks"]) EXPECT_GT(task["measured"], 0) << task;
}

TEST(Tune, AnAgentOfLayoutsIsKeptAndReadAgain) {
  if (!fs::exists(fs::path(TENON_BINARY).parent_path() / "libtenon-torch.so"))
    GTEST_SKIP() << "this build has no plug-in tenon-torch: it has sanitizers, or libtorch-dev is "
                    "not installed";
  const TuneFolder f("tune_agent");
  const std::string agent = f.path("layouts.agent").string();
  const Args args = {"--sim",     "--jsonl", "--trials",       "3000",
                     "--layouts", "ppo",     "--layout-agent", agent};
  const auto bytes = [&] {
    std::ostringstream text;
    text << std::ifstream(agent, std::ios::binary).rdbuf();
    return text.str();
  };
  const Outcome first = f.run(args);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_GT(of_kind(events_of(first.out), "layout").size(), 2U);
  const std::string learned = bytes();
  ASSERT_FALSE(learned.empty());
  Args again = args;
  again.insert(again.end(), {"--db", f.path("other.db").string()});
  const Outcome second = f.run(again);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_TRUE(bytes() != learned) << "it goes on learning";
  EXPECT_FALSE(fs::exists(agent + ".new"));
  again.back() = f.path("third.db").string();
  Args nowhere = again;
  std::replace(nowhere.begin(), nowhere.end(), agent, std::string("/no/such/folder/agent"));
  expect_error(f.run(nowhere), 2,
               "/no/such/folder/agent: cannot be written: No such file or directory");
  EXPECT_FALSE(fs::exists(f.path("third.db"))) << "found before any work";
  std::ofstream(agent) << "nonsense";
  expect_error(f.run(again), 2, "cannot read a layout agent from " + agent);
}

TEST(Tune, TheStreamIsTheSameForTheSameSeed) {
  std::vector<std::string> streams;
  for (const char* threads : {"1", "2", "3"}) {
    const TuneFolder f("tune_same");
    Args args = kSim;
    args.insert(args.end(), {"--search-threads", threads, "--compile-threads", threads});
    const Outcome o = f.run(args);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    streams.push_back(without_name(o.out));
    f.expect_right_artifact("after a run on the pretend device");
  }
  EXPECT_EQ(streams[0], streams[1]);
  EXPECT_EQ(streams[0], streams[2]);
  const TuneFolder f("tune_same");
  Args args = kSim;
  args.insert(args.end(), {"--seed", "2"});
  EXPECT_NE(without_name(f.run(args).out), streams[0]);
}

TEST(Tune, EventsAddUpToTheRecords) {
  const TuneFolder f("tune_events");
  const Outcome o = f.run(kSim);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto events = events_of(o.out);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front()["event"], "run");
  EXPECT_EQ(events.back()["event"], "end");
  const std::string run = events.front()["run"];
  double last = 0;
  for (const Json& e : events) {
    EXPECT_GE(e["t"].get<double>(), last);
    last = e["t"];
  }
  int64_t tried = 0;
  for (const Json& e : of_kind(events, "round")) tried += e["tried"].get<int64_t>();
  const auto defaults = static_cast<int64_t>(of_kind(events, "default").size());
  EXPECT_EQ(defaults, 2);
  EXPECT_EQ(events.back()["measured"], 30);
  EXPECT_EQ(tried + defaults, 30);
  EXPECT_EQ(f.expect_sound_records(run, "at the end"), 30);
  const auto stored = f.database()->events(run);
  ASSERT_EQ(stored.size(), events.size());
  for (size_t i = 0; i < stored.size(); ++i) EXPECT_EQ(Json::parse(stored[i].json), events[i]);
}

TEST(Tune, LayoutsAreTriedUnlessTheyAreFixed) {
  for (const bool fixed : {false, true}) {
    const TuneFolder f("tune_layouts");
    Args args = {"--sim", "--jsonl", "--trials", "200"};
    if (fixed) args.insert(args.end(), {"--layouts", "fixed"});
    const Outcome o = f.run(args);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto events = events_of(o.out);
    EXPECT_EQ(events.back()["measured"], 200);
    const auto plans = of_kind(events, "plan");
    const auto decided = std::count_if(plans.begin(), plans.end(),
                                       [](const Json& e) { return e["decided"] == "layouts"; });
    EXPECT_EQ(decided, fixed ? 0 : 1);
    const size_t tried = of_kind(events, "layout").size();
    EXPECT_TRUE(fixed ? tried == 0 : tried >= 3) << tried;
    f.expect_right_artifact(fixed ? "layouts as they are" : "layouts searched");
  }
}

TEST(Tune, JsonIsOneDocument) {
  const TuneFolder f("tune_json");
  const Outcome o = f.run({"--sim", "--trials", "20", "--json", "-q"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const Json answer = Json::parse(o.out);
  EXPECT_EQ(answer["schema"], "tenon.tune/1");
  EXPECT_EQ(answer["reason"], "trials");
  EXPECT_EQ(answer["measured"], 20);
  ASSERT_EQ(answer["tasks"].size(), 2U);
  EXPECT_EQ(answer["models"][0]["name"], "net");
}

TEST(Tune, SeveralModelsGetAFolderEach) {
  const TuneFolder f("tune_several");
  fs::copy_file(f.path("net.onnx"), f.path("other.onnx"));
  const Outcome o =
      f.run({f.path("other.onnx").string(), "--sim", "--trials", "12", "--objective", "targets",
             "--latency-target", "net=10us", "--latency-target", "other=1ms"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_TRUE(fs::exists(f.path("out") / "net" / "libnet.so"));
  EXPECT_TRUE(fs::exists(f.path("out") / "other" / "libother.so"));
  EXPECT_TRUE(contains(o.out, "net  ") && contains(o.out, "other  ")) << o.out;
}

TEST(Tune, OnTheRealDevice) {
  const TuneFolder f("tune_real");
  const Outcome o = f.run({"--trials", "16", "--round", "8", "--verify", "all", "--jsonl"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto events = events_of(o.out);
  f.expect_right_artifact("at the end");
  f.expect_sound_records(events.front()["run"], "at the end");
  for (const auto& m : f.database()->measurements({})) {
    EXPECT_TRUE(m.verified || m.outcome != task::Outcome::kOk) << "--verify all";
  }
  EXPECT_TRUE(f.processes().empty());
  // What is known is not measured again, and compile takes it.
  const Outcome again = f.run({"--dry-run", "--json"});
  const Json known = Json::parse(again.out);
  for (const Json& task : known["tasks"]) EXPECT_GT(task["measured"], 0);
}

TEST(Tune, CompileTakesTheBestRecords) {
  const TuneFolder f("tune_compile");
  const Args compile = {"compile",   f.path("net.onnx").string(),
                        "-o",        f.path("out").string(),
                        "--db",      f.path("t.db").string(),
                        "--threads", "1",
                        "--frozen",  "--json"};
  expect_user_error(tenon(compile), "t.db");
  const Outcome run =
      f.run({"--trials", "12", "--round", "6", "--threads", "1", "--json", "--pairs", "off"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Outcome o = tenon(compile);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  // What the run kept of its records, and no more.
  EXPECT_EQ(Json::parse(o.out)["origins"].value("tuned", 0),
            Json::parse(run.out)["models"][0]["tuned"])
      << o.out;
  EXPECT_NE(o.err.find("records  what run "), std::string::npos) << o.err;
  f.expect_right_artifact("compiled from records");
  Args other = compile;
  other[7] = "7";  // nothing was measured with so many threads
  expect_error(tenon(other), 8, "no schedule for task");
  std::erase(other, "--frozen");
  const Outcome plain = tenon(other);
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_FALSE(Json::parse(plain.out)["origins"].contains("tuned")) << plain.out;
  EXPECT_NE(plain.err.find("has no schedule that was kept for any of the 2 tasks"),
            std::string::npos)
      << plain.err;
}

// Defaults that a run kept are no records that are missing.
TEST(Tune, CompileSaysThatTheRunKeptTheDefaults) {
  const TuneFolder f("tune_defaults");
  const Outcome run =
      f.run({"--trials", "2", "--round", "2", "--threads", "1", "--json", "--pairs", "off"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(Json::parse(run.out)["models"][0]["tuned"], 0) << run.out;
  const Outcome o = tenon({"compile", f.path("net.onnx").string(), "-o", f.path("out").string(),
                           "--db", f.path("t.db").string(), "--threads", "1"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_NE(o.err.find("t.db: the run kept the defaults"), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("no schedule"), std::string::npos) << o.err;
}

TEST(Tune, ForLogsALineNowAndThen) {
  const TuneFolder f("tune_plain");
  const auto run = f.start({"--budget", "10m", "--round", "4"});
  while (!contains(run->err(), "\nt=") && !run->ended()) usleep(20'000);
  run->signal(SIGINT);
  const Outcome o = run->wait();
  EXPECT_EQ(o.exit_code, 130) << o.err;
  EXPECT_TRUE(contains(o.err, "doctor ")) << o.err;
  EXPECT_TRUE(contains(o.err, " measured=") && contains(o.err, " eta_s=")) << o.err;
  EXPECT_FALSE(contains(o.err, "\033")) << o.err;
  EXPECT_EQ(f.run({"--sim", "--trials", "8", "-q"}).err, "");
}

// What a run wrote to a terminal that was resized while it drew, and interrupted then.
std::string on_terminal(const TuneFolder& f, const Args& args, int columns, int resized) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_TRUE(grantpt(master) == 0 && unlockpt(master) == 0);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  winsize size = {};
  size.ws_row = 20;
  size.ws_col = static_cast<unsigned short>(columns);
  ioctl(slave, TIOCSWINSZ, &size);
  std::string shown;
  const auto run = f.start(args, slave);
  close(slave);
  char buffer[4096];
  bool drawn = false;
  for (ssize_t n = 0; (n = read(master, buffer, sizeof buffer)) > 0;) {
    shown.append(buffer, static_cast<size_t>(n));
    if (drawn || !contains(shown, "\nbest ")) continue;
    drawn = true;
    size.ws_col = static_cast<unsigned short>(resized);
    ioctl(master, TIOCSWINSZ, &size);
    run->signal(SIGINT);
  }
  close(master);
  EXPECT_EQ(run->wait().exit_code, 130);
  return shown;
}

TEST(Tune, OnATerminalAPictureIsDrawnOverItself) {
  TuneFolder f("tune_terminal");
  f.variables["TERM"] = "xterm";
  f.variables["NO_COLOR"] = "";
  const std::string shown =
      on_terminal(f, {"--budget", "10m", "--round", "4", "--no-color"}, 90, 60);
  EXPECT_TRUE(contains(shown, "A\r")) << "goes up to draw again";
  EXPECT_TRUE(contains(shown, " eta ")) << shown;
  EXPECT_TRUE(contains(shown, "  task ")) << shown;
  const size_t last = shown.rfind("A\r");
  ASSERT_NE(last, std::string::npos);
  std::istringstream lines(shown.substr(last + 2));
  size_t drawn = 0;
  for (std::string line; std::getline(lines, line) && contains(line, "\033[K"); ++drawn) {
    EXPECT_LT(line.find("\033[K"), 60U) << "it was resized: " << line;
  }
  EXPECT_GE(drawn, 4U) << shown.substr(last);
  EXPECT_TRUE(contains(shown, "saved; run the same command again")) << shown;
}

TEST(Tune, InterruptedItSavesAndGoesOn) {
  const TuneFolder f("tune_interrupt");
  for (const int number : {SIGINT, SIGTERM}) {
    const auto run = f.start({"--budget", "10m", "--round", "4", "--jsonl"});
    while (!contains(run->out(), "\"round\"") && !run->ended()) usleep(20'000);
    run->signal(number);
    const Outcome o = run->wait();
    EXPECT_EQ(o.exit_code, 130) << o.err;
    EXPECT_TRUE(contains(o.err, "saved; run the same command again to continue (")) << o.err;
    EXPECT_TRUE(contains(o.err, " of budget left)")) << o.err;
    const auto events = events_of(o.out);
    EXPECT_EQ(events.back()["reason"], "interrupted");
    EXPECT_TRUE(gone_within(f.processes(), 10));
    f.expect_right_artifact("after an interrupt");
    f.expect_sound_records(events.front()["run"], "after an interrupt");
  }
  ASSERT_EQ(f.database()->runs().size(), 1U) << "the second went on with the first";
  const auto events = f.database()->events(f.database()->runs()[0].id);
  EXPECT_GT(Json::parse(events.back().json)["spent_s"],
            Json::parse(events.front().json)["spent_before_s"]);
}

TEST(Tune, InterruptedTwiceItStopsAtOnce) {
  TuneFolder f("tune_interrupt_twice");
  // A compiler that hangs for long; it is not waited for.
  f.variables["TENON_FAULT_PLAN"] = "- - - - 8";
  f.variables["TENON_FAULT_MEMORY"] = f.path("faults").string();
  fs::create_directories(f.path("faults"));
  const auto run = f.start({"--budget", "10m", "--round", "8", "--jsonl", "--compile-limit", "100s",
                            "--build-tool", TENON_FAULTY_TUNING_BUILD});
  while (!fs::exists(f.path("faults") / "n4") && !run->ended()) usleep(20'000);
  const auto start = std::chrono::steady_clock::now();
  run->signal(SIGINT);
  usleep(1'000'000);
  if (!run->ended()) run->signal(SIGINT);
  const Outcome o = run->wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(o.exit_code, 130) << o.err;
  EXPECT_TRUE(gone_within(f.processes(), 10));
  f.expect_right_artifact("after two interrupts");
  f.expect_sound_records(events_of(o.out).front()["run"], "after two interrupts");
}

TEST(Tune, NothingValidIsAnErrorWithReasons) {
  TuneFolder f("tune_nothing");
  f.variables["TENON_FAULT_PLAN"] = "1 10";  // crashes, and a compiler that crashes
  f.variables["TENON_FAULT_MEMORY"] = f.path("faults").string();
  fs::create_directories(f.path("faults"));
  const Outcome o =
      f.run({"--trials", "6", "--round", "4", "--build-tool", TENON_FAULTY_TUNING_BUILD, "--json"});
  EXPECT_EQ(o.exit_code, 5) << o.err;
  EXPECT_TRUE(contains(o.err, "nothing valid was measured: 6 of 6 failed")) << o.err;
  EXPECT_TRUE(contains(o.err, "run-crash") && contains(o.err, "compile-error")) << o.err;
  f.expect_right_artifact("the default");
  const Json answer = Json::parse(o.out);
  ASSERT_GE(answer["reasons"].size(), 2U) << o.out;
  for (const Json& reason : answer["reasons"]) {
    // The command can be pasted; the real tools find nothing wrong with the program.
    std::istringstream words(reason["command"].get<std::string>());
    Args args = {std::istream_iterator<std::string>(words), {}};
    ASSERT_GT(args.size(), 4U);
    EXPECT_EQ(args[0], "tenon");
    args[0] = TENON_BINARY;
    args.insert(args.end(), {"--duration", "0.01"});
    const Outcome again = run_command(args);
    EXPECT_EQ(again.exit_code, 0) << again.err;
  }
}

}  // namespace
}  // namespace tenon::testing
