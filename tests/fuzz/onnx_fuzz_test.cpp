// SPDX-License-Identifier: Apache-2.0
// Damaged models: each is imported or refused with a UserError, without a crash, a hang or more than 2 GiB; what is
// imported goes through the passes of graph.
//   onnx_fuzz_test [--seed=N] [--runs=N] [--failures=N] [--out=FOLDER]
// Models are those of ONNX's backend suite and of tests/corpus/onnx. Everything about run i follows from seed + i:
// --seed=THAT --runs=1 repeats it. A failure is written to FOLDER as a file for tests/corpus/onnx.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "fuzz/onnx_mutate.h"
#include "graph/passes.h"
#include "onnx/import.h"
#include "onnx/proto.h"
#include "support/sanitized.h"

namespace tenon::fuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  uint64_t seed = 1;
  int64_t runs = 1000;
  int64_t failures = 5;  // stop after so many
  std::string out = ".";
};
Options options;  // set by main

constexpr unsigned kSecondsPerRun = 20;
constexpr double kSlow = 5;
constexpr size_t kLargestModel = 6000;
constexpr rlim_t kMemory = rlim_t{2} << 30;
// The sanitizers reserve address space without end.
constexpr bool kLimitsMemory = !kSanitized;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Start {
  std::string folder, bytes;
  onnx::ImportOptions bound;  // recorded integers: shapes may depend on them
};

onnx::ImportOptions recorded(const std::string& folder, const std::string& bytes) {
  onnx::ImportOptions o;
  onnx::proto::ModelProto m;
  if (!m.ParsePartialFromString(bytes)) return o;
  for (int i = 0; i < m.graph().input_size(); ++i) {
    const std::string file = fmt::format("{}/test_data_set_0/input_{}.pb", folder, i);
    const int32_t type = m.graph().input(i).type().tensor_type().elem_type();
    if (type != onnx::proto::TensorProto::INT64 || !fs::exists(file)) continue;
    try {
      o.bound.emplace(m.graph().input(i).name(), onnx::read_tensor_file(file));
    } catch (const UserError&) {
      // a sequence
    }
  }
  return o;
}

std::vector<Start> starts() {
  std::vector<Start> all;
  std::vector<fs::path> files;
  for (const char* root : {TENON_ONNX_DATA, TENON_ONNX_CORPUS}) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    Start s{file.parent_path().string(), read(file), {}};
    if (s.bytes.size() > kLargestModel) continue;
    s.bound = recorded(s.folder, s.bytes);
    all.push_back(std::move(s));
  }
  return all;
}

// What a crash leaves behind.
struct CrashNote {
  std::string bytes, path;
};
CrashNote crash_note;  // for the signal handler

void on_crash(int signal) {
  const int file = open(crash_note.path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (write(file, crash_note.bytes.data(), crash_note.bytes.size()) < 0 ||
      write(STDERR_FILENO, crash_note.path.data(), crash_note.path.size()) < 0) {
    _exit(3);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch(const std::string& bytes, const std::string& path) {
  crash_note = {bytes, path};
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) {
    std::signal(signal, on_crash);
  }
  alarm(kSecondsPerRun);
}

// Passes fold constants by interpreting here, which large ones would make slow.
bool small(const graph::Graph& g) {
  return std::all_of(g.values.begin(), g.values.end(),
                     [](const graph::Value& v) { return v.elements() <= 10'000; });
}

// Empty, or what was wrong.
std::string judge(const std::string& bytes, const std::string& folder,
                  const onnx::ImportOptions& bound, bool* imported) {
  try {
    onnx::Imported m = onnx::import_bytes(bytes, folder, bound);
    m.graph.verify();
    *imported = true;
    if (small(m.graph)) {
      graph::optimize(m.graph);
      m.graph.verify();
    }
  } catch (const UserError& e) {
    if (std::string(e.what()).find("more memory than there is") != std::string::npos) {
      return e.what();
    }
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

// Every model with one thing changed in turn: the type of all inputs, the shape of one input, one operand of a node
// less. Reports each kind of failure once.
class Sweep {
 public:
  explicit Sweep(const Start& start) : start_(start) {}
  bool parse() { return model_.ParsePartialFromString(start_.bytes); }

  void types() {
    for (int type = 1; type <= 16; ++type) {
      onnx::proto::ModelProto m = model_;
      for (auto& in : *m.mutable_graph()->mutable_input()) {
        in.mutable_type()->mutable_tensor_type()->set_elem_type(type);
      }
      check(m, fmt::format("type {}", type));
    }
  }

  void shapes() {
    for (int i = 0; i < model_.graph().input_size(); ++i) {
      for (const std::vector<int64_t>& shape : kShapes) {
        onnx::proto::ModelProto m = model_;
        auto* type = m.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
        type->clear_shape();
        type->mutable_shape();
        for (const int64_t e : shape) type->mutable_shape()->add_dim()->set_dim_value(e);
        check(m, fmt::format("input {} of another shape", i));
      }
    }
  }

  void operands() {
    for (int n = 0; n < model_.graph().node_size(); ++n) {
      for (int i = 0; i < model_.graph().node(n).input_size(); ++i) {
        onnx::proto::ModelProto m = model_;
        m.mutable_graph()->mutable_node(n)->set_input(i, "");
        check(m, fmt::format("node {} without operand {}", n, i));
        m = model_;
        auto* list = m.mutable_graph()->mutable_node(n)->mutable_input();
        list->DeleteSubrange(i, list->size() - i);
        check(m, fmt::format("node {} with {} operands", n, i));
      }
    }
  }

  int64_t runs() const { return runs_; }

 private:
  inline static const std::vector<std::vector<int64_t>> kShapes = {
      {},       {0}, {1}, {3}, {2, 0}, {1, 1}, {5, 1}, {1, 2, 3}, {2, 3, 1, 1}, {1, 1, 4, 4, 2},
      {0, 0, 0}};

  void check(const onnx::proto::ModelProto& m, const std::string& what) {
    for (const bool bind : {false, true}) {
      if (bind && start_.bound.bound.empty()) continue;
      const std::string bytes = m.SerializePartialAsString();
      const std::string path = options.out + "/onnx-sweep.onnx";
      watch(bytes, path);
      bool imported = false;
      const std::string problem =
          judge(bytes, start_.folder, bind ? start_.bound : onnx::ImportOptions(), &imported);
      EXPECT_EQ(problem, "") << start_.folder << ": " << what;
      ++runs_;
    }
  }

  const Start& start_;
  onnx::proto::ModelProto model_;
  int64_t runs_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(OnnxFuzz, DamagedModelsAreRefused) {
  const rlimit limit{kMemory, RLIM_INFINITY};
  if (kLimitsMemory) ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const std::vector<Start> models = starts();
  ASSERT_GE(models.size(), 100U) << "install libonnx-testdata";
  std::vector<std::string> bytes;
  for (const Start& s : models) bytes.push_back(s.bytes);
  int64_t failures = 0, imported = 0, runs = 0;
  std::set<std::string> seen;
  double slowest = 0;
  const auto start = std::chrono::steady_clock::now();
  for (; runs < options.runs && failures < options.failures; ++runs) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(runs);
    Rng rng(seed * 0x9e3779b97f4a7c15ULL);
    const Start& from = rng.pick(models);
    const std::string damaged = mutate_model(from.bytes, bytes, rng);
    const onnx::ImportOptions bound = rng.chance(0.7) ? from.bound : onnx::ImportOptions();
    const std::string path = fmt::format("{}/onnx-{}.onnx", options.out, seed);
    watch(damaged, path);
    const auto begin = std::chrono::steady_clock::now();
    bool fine = false;
    std::string problem = judge(damaged, from.folder, bound, &fine);
    imported += fine ? 1 : 0;
    const double took = seconds_since(begin);
    slowest = std::max(slowest, took);
    if (problem.empty() && took > kSlow) problem = fmt::format("took {:.1f} s", took);
    if (problem.empty() || !seen.insert(problem).second) continue;
    ++failures;
    std::ofstream(path, std::ios::binary) << damaged;
    ADD_FAILURE() << "--seed=" << seed << " --runs=1, a copy of " << from.folder << ", now in "
                  << path << ": " << problem;
  }
  alarm(0);
  fmt::print("seed {}: {} damaged models, {} imported, {:.1f} s, the slowest {:.2f} s\n",
             options.seed, runs, imported, seconds_since(start), slowest);
  EXPECT_GT(imported, runs / 20) << "the damage is too coarse to reach converters";
}

TEST(OnnxFuzz, EveryTypeShapeAndArityIsTakenOrRefused) {
  int64_t runs = 0;
  for (const Start& start : starts()) {
    Sweep sweep(start);
    if (!sweep.parse()) continue;
    sweep.types();
    sweep.shapes();
    sweep.operands();
    runs += sweep.runs();
  }
  alarm(0);
  fmt::print("{} models with one thing changed\n", runs);
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
    if (arg.rfind("--runs=", 0) == 0) o.runs = std::strtoll(value.c_str(), nullptr, 10);
    if (arg.rfind("--failures=", 0) == 0) o.failures = std::strtoll(value.c_str(), nullptr, 10);
    if (arg.rfind("--out=", 0) == 0) o.out = value;
  }
  return RUN_ALL_TESTS();
}
