// SPDX-License-Identifier: Apache-2.0
#include "tools/tune_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "artifact/model.h"
#include "artifact/verify.h"
#include "files/file.h"
#include "support/rng.h"
#include "zoo/model_builder.h"

extern char** environ;

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string small_model() {
  zoo::ModelBuilder m("net", 13, 1);
  const zoo::Shape shape = {16, 16};
  const zoo::Tensor x = m.input("x", zoo::Element::kFloat, shape);
  const zoo::Tensor y = m.node(
      "Relu", "relu", {m.node("MatMul", "first", {x, m.weight("a", shape, 0.25)}, shape)}, shape);
  m.output(m.node("MatMul", "second", {y, m.weight("b", shape, 0.25)}, shape), "y");
  return m.bytes();
}

std::vector<ir::Array> random_inputs(const artifact::Model& model) {
  Rng rng(3);
  std::vector<ir::Array> inputs;
  for (const artifact::TensorInfo& t : model.inputs()) {
    ir::Array a(t.dtype, t.shape);
    auto* values = reinterpret_cast<float*>(a.data());
    for (int64_t i = 0; i < a.bytes() / 4; ++i) {
      values[i] = static_cast<float>(rng.between(-1000, 1000)) * 1e-3F;
    }
    inputs.push_back(std::move(a));
  }
  return inputs;
}

}  // namespace

Running::Running(const std::vector<std::string>& args, const fs::path& folder,
                 const std::map<std::string, std::string>& variables, int terminal)
    : folder_(folder) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string text = *v;
    if (!variables.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (const std::string& t : texts) list.push_back(const_cast<char*>(t.c_str()));
    list.push_back(nullptr);
    return list;
  };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (folder / "stdout").c_str(), kFlags, 0600);
  if (terminal >= 0) {
    posix_spawn_file_actions_adddup2(&actions, terminal, 2);
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, (folder / "stderr").c_str(), kFlags, 0600);
  }
  const int error = posix_spawn(&pid_, args[0].c_str(), &actions, nullptr, pointers(args).data(),
                                pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << args[0];
}

Running::~Running() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Running::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

bool Running::ended() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

Outcome Running::wait() {
  if (pid_ > 0) waitpid(pid_, &status_, 0);
  pid_ = -1;
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -1, out(), err()};
}

std::string Running::out() const { return read(folder_ / "stdout"); }
std::string Running::err() const { return read(folder_ / "stderr"); }

TuneFolder::TuneFolder(const std::string& name)
    : folder_(fs::path(::testing::TempDir()) / ("tenon_" + name + std::to_string(getpid()))) {
  fs::remove_all(folder_);
  fs::create_directories(folder_ / "tmp");
  variables["TMPDIR"] = (folder_ / "tmp").string();
  variables["XDG_STATE_HOME"] = (folder_ / "state").string();
  files::write_file(path("net.onnx").string(), small_model());
  const Outcome o = run_command(
      {TENON_BINARY, "compile", path("net.onnx").string(), "-o", path("plain").string()});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const artifact::Model plain = artifact::Model::load(path("plain"));
  inputs_ = random_inputs(plain);
  expected_ = artifact::Session(plain, 1).run(inputs_);
}

TuneFolder::~TuneFolder() {
  if (!::testing::Test::HasFailure()) fs::remove_all(folder_);
}

std::vector<std::string> TuneFolder::command(const std::vector<std::string>& more) const {
  std::vector<std::string> args = {
      TENON_BINARY,   "tune", path("net.onnx").string(), "-o", path("out").string(),
      "--population", "24"};
  if (std::find(more.begin(), more.end(), "--db") == more.end()) {
    args.insert(args.end(), {"--db", path("t.db").string()});
  }
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::unique_ptr<Running> TuneFolder::start(const std::vector<std::string>& more,
                                           int terminal) const {
  return std::make_unique<Running>(command(more), folder_, variables, terminal);
}

Outcome TuneFolder::run(const std::vector<std::string>& more) const { return start(more)->wait(); }

std::vector<pid_t> TuneFolder::processes() const {
  std::vector<pid_t> pids;
  const std::string mark = "TMPDIR=" + variables.at("TMPDIR") + '\0';
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        read(entry.path() / "environ").find(mark) != std::string::npos) {
      pids.push_back(static_cast<pid_t>(std::atoi(name.c_str())));
    }
  }
  return pids;
}

void TuneFolder::expect_right_artifact(const std::string& when) const {
  try {
    EXPECT_EQ(artifact::verify(path("out")).problems(), 0U) << when;
    const artifact::Model model = artifact::Model::load(path("out"));
    const auto got = artifact::Session(model, 1).run(inputs_);
    ASSERT_EQ(got.size(), expected_.size()) << when;
    for (size_t i = 0; i < got.size(); ++i) {
      const auto* a = reinterpret_cast<const float*>(got[i].data());
      const auto* b = reinterpret_cast<const float*>(expected_[i].data());
      for (int64_t e = 0; e < expected_[i].bytes() / 4; ++e) {
        ASSERT_NEAR(a[e], b[e], 1e-4) << when << ", element " << e;
      }
    }
  } catch (const std::exception& error) {
    FAIL() << when << ": " << error.what();
  }
}

int64_t TuneFolder::expect_sound_records(const std::string& run, const std::string& when) const {
  const auto db = database();
  EXPECT_EQ(db->check(), "") << when;
  int64_t parts = 0;
  int64_t rounds = 0;
  int64_t defaults = 0;
  for (const auto& e : db->events(run)) {
    const auto event = nlohmann::json::parse(e.json);
    parts += event["event"] == "run" ? 1 : 0;
    rounds += event["event"] == "round" ? event["tried"].get<int64_t>() : 0;
    defaults += event["event"] == "default" ? 1 : 0;
  }
  std::map<std::string, int64_t> times;  // per program
  std::set<std::string> rows;
  for (const auto& m : db->measurements({"", "", "", run})) {
    ++times[m.task + m.trace];
    const bool pretended = m.target.starts_with("sim");
    EXPECT_TRUE(pretended || rows.insert(task::to_json(m)).second) << when << ": twice the same";
  }
  // Once, and again in the finals of each part of the run that came so far.
  for (const auto& [program, n] : times) EXPECT_LE(n, 1 + parts) << when << ": " << program;
  EXPECT_GE(static_cast<int64_t>(times.size()), rounds) << when << ": shown, but not recorded";
  EXPECT_TRUE(rounds == 0 || defaults > 0) << when;
  return static_cast<int64_t>(times.size());
}

std::unique_ptr<db::Database> TuneFolder::database() const {
  return db::Database::open(path("t.db").string());
}

std::vector<nlohmann::json> events_of(const std::string& stream) {
  std::vector<nlohmann::json> events;
  std::istringstream lines(stream.substr(0, stream.rfind('\n') + 1));
  for (std::string line; std::getline(lines, line);) {
    events.push_back(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
    EXPECT_TRUE(events.back().is_object()) << line;
  }
  return events;
}

std::vector<nlohmann::json> of_kind(const std::vector<nlohmann::json>& events,
                                    const std::string& kind) {
  std::vector<nlohmann::json> some;
  for (const auto& e : events) {
    if (e.value("event", "") == kind) some.push_back(e);
  }
  return some;
}

}  // namespace tenon::testing
