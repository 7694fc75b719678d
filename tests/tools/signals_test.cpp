// SPDX-License-Identifier: Apache-2.0
// Signals at any moment: what was there before stays whole, and what is left of the work is known and goes away.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "support/rng.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Row {
  std::string name;
  Args args;
  int end_of_signal;  // the exit code after SIGINT, SIGTERM or SIGHUP; -1: ended by the signal
};

// Folders that somebody works in, or worked in.
std::vector<std::string> private_folders(const TuneFolder& f) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(f.path(""))) {
    const std::string name = entry.path().filename();
    if (name.starts_with(".")) names.push_back(name);
  }
  for (const auto& entry : fs::directory_iterator(f.path("tmp"))) names.push_back(entry.path());
  return names;
}

// By now; a process that has just begun does not yet.
bool catches(pid_t pid, int number) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (number - 1) & 1) != 0;
  }
  return false;
}

std::vector<Row> commands(const TuneFolder& f) {
  const std::string out = f.path("out").string();
  const std::string db = f.path("t.db").string();
  return {{"compile", {"compile", f.path("net.onnx").string(), "-o", out}, -1},
          {"report", {"report", "--db", db, "--html", f.path("run.html").string()}, -1},
          {"run", {"run", f.path("net.onnx").string(), "--outputs", f.path("y.npz").string()}, -1},
          {"tune",
           {"tune", f.path("net.onnx").string(), "-o", out, "--db", db, "--trials", "400",
            "--population", "24", "--threads", "1", "-q"},
           130}};
}

class Signals : public ::testing::TestWithParam<int> {};

TEST_P(Signals, EndACommandAndLeaveNothingHalf) {
  const int number = GetParam();
  const TuneFolder f("signal_" + std::to_string(number));
  const std::string when = "signal " + std::to_string(number);
  ASSERT_EQ(f.run({"--sim", "--trials", "8", "-q"}).exit_code, 0);
  Rng rng(static_cast<uint64_t>(number));
  for (const Row& row : commands(f)) {
    Args args = row.args;
    args.insert(args.begin(), TENON_BINARY);
    const std::string before = read(f.path("run.html"));
    for (int i = 0; i < 4; ++i) {
      Running run(args, f.path(""), f.variables);
      usleep(static_cast<useconds_t>(rng.between(1000, row.name == "tune" ? 1'500'000 : 400'000)));
      while (number == SIGPIPE && !run.ended() && !catches(run.pid(), number)) usleep(1000);
      const bool ended = run.ended();
      run.signal(number);
      if (number == SIGPIPE && row.name == "tune") run.signal(SIGTERM);
      const Outcome o = run.wait();
      const std::string what = row.name + " under " + when;
      if (number == SIGPIPE && row.name != "tune") {
        EXPECT_EQ(o.exit_code, 0) << what << " means nothing to it\n" << o.err;
      } else if (!ended) {
        // A tune that has not begun yet has nothing to bring to an end.
        EXPECT_TRUE(o.exit_code == row.end_of_signal || o.exit_code == -1 || o.exit_code == 0)
            << what << ": " << o.exit_code << "\n"
            << o.err;
      }
      f.expect_right_artifact(what);
      const std::string page = read(f.path("run.html"));
      EXPECT_TRUE(page == before || page.ends_with("</html>\n") || page.ends_with("</html>"))
          << what << ": half a page";
      EXPECT_EQ(f.database()->check(), "") << what;
    }
    // Whatever was left goes away with the next one that comes to its end.
    if (row.name != "tune") {
      EXPECT_EQ(Running(args, f.path(""), f.variables).wait().exit_code, 0) << row.name;
    }
  }
  EXPECT_EQ(tenon({"compile", f.path("net.onnx").string(), "-o", f.path("out").string()}).exit_code,
            0);
  const Outcome o = Running({TENON_BINARY, "run", f.path("net.onnx").string(), "--outputs",
                             f.path("y.npz").string()},
                            f.path(""), f.variables)
                        .wait();
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(private_folders(f), std::vector<std::string>()) << when;
}

INSTANTIATE_TEST_SUITE_P(All, Signals, ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGPIPE),
                         [](const auto& info) { return "Number" + std::to_string(info.param); });

TEST(Signals, AKilledTuneLeavesFoldersThatTheNextOneRemoves) {
  const TuneFolder f("signal_killed");
  const Args args = {"--trials", "400", "--threads", "1", "-q"};
  const auto run = f.start(args);
  const auto builds = [&] {
    size_t n = 0;
    for (const auto& entry : fs::directory_iterator(f.path("tmp"))) {
      n += entry.path().filename().string().starts_with("tenon-build-") ? 1 : 0;
    }
    return n;
  };
  while (!run->ended() && builds() == 0) usleep(5000);
  // All at once, so that nobody is left to clean up.
  std::vector<pid_t> pids = f.processes();
  for (const pid_t pid : pids) kill(pid, SIGSTOP);
  pids = f.processes();
  for (const pid_t pid : pids) kill(pid, SIGKILL);
  run->wait();
  EXPECT_EQ(builds(), 1U) << "they were not fast enough to be of use here";
  fs::create_directories(f.path("tmp/tenon-build-backup"));
  std::ofstream(f.path("tmp/tenon-build-backup/notes")) << "keep";
  EXPECT_EQ(f.run({"--trials", "2", "--threads", "1", "-q"}).exit_code, 0);
  EXPECT_EQ(builds(), 1U) << "only what is somebody's own stays";
  EXPECT_TRUE(fs::exists(f.path("tmp/tenon-build-backup/notes")));
}

}  // namespace
}  // namespace tenon::testing
