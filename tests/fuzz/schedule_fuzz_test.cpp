// SPDX-License-Identifier: Apache-2.0
// Random schedules of random dags: every legal trace gives what the dag defines, interpreted and compiled.
//   schedule_fuzz_test [--seed=N] [--runs-interpreted=N] [--runs-compiled=N] [--failures=N] [--out=FOLDER]
//   schedule_fuzz_test --shrink=FILE
// A failure is shrunk and written to FOLDER as a case for tests/corpus. A crash leaves its case as it is; --shrink
// prints a smaller one. Everything about one dag and its traces
// follows from its seed: --seed=THAT --runs-interpreted=1 (or --runs-compiled=1) repeats it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "fuzz/case.h"
#include "fuzz/random_dag.h"
#include "fuzz/random_trace.h"
#include "fuzz/shrink.h"
#include "fuzz/trace_drawer.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::fuzz {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t runs_interpreted = 2000;
  int64_t runs_compiled = 200;
  int64_t failures = 1;  // stop after so many
  std::string out = ".";
};

constexpr int kTracesPerDag = 4;
constexpr unsigned kSecondsPerTrace = 60;

// What a crash leaves behind: the case it came from.
struct CrashNote {
  std::string text;
  std::string path;
};
CrashNote crash_note;  // for the signal handler

void on_crash(int signal) {
  const int file = open(crash_note.path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  for (const int to : {STDERR_FILENO, file}) {
    if (write(to, crash_note.text.data(), crash_note.text.size()) < 0) {
      _exit(3);
    }
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch(const Case& c, const std::string& path) {
  crash_note = {to_text(c), path};
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) {
    std::signal(signal, on_crash);
  }
  alarm(kSecondsPerTrace);
}

RandomDagOptions dag_options(Rng& rng) {
  RandomDagOptions o;
  o.max_work = rng.chance(0.7) ? 400 : 2500;
  o.max_steps = rng.chance(0.5) ? 2 : 4;
  return o;
}

class Fuzzer {
 public:
  Fuzzer(const Options& options, bool compiled) : options_(options), compiled_(compiled) {
    for (const target::Target& t : target::known_targets()) {
      if (!compiled || target::runs_here(t)) {
        targets_.push_back(t.name);
      }
    }
  }

  void run(int64_t runs) {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t seed = options_.seed; runs_ < runs && failures_ < options_.failures; ++seed) {
      run_dag(seed);
    }
    alarm(0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report(took.count());
  }

  int64_t runs() const { return runs_; }
  int64_t refused() const { return refused_; }
  int64_t failures() const { return failures_; }
  const Counts& counts() const { return counts_; }

 private:
  void run_dag(uint64_t seed) {
    Rng rng(seed * 0x9e3779b97f4a7c15ULL + (compiled_ ? 1 : 0));
    Case c;
    c.what = fmt::format("crash or hang: --seed={} --runs-{}=1", seed,
                         compiled_ ? "compiled" : "interpreted");
    c.dag = std::make_shared<const te::ComputeDag>(random_dag(rng, dag_options(rng)));
    c.inputs = seed;
    Rng values(c.inputs);
    inputs_ = random_inputs(*c.dag, values);
    expected_ = te::evaluate(*c.dag, inputs_);
    for (int i = 0; i < kTracesPerDag && failures_ < options_.failures; ++i) {
      c.target = fmt::format("{} cores={}", rng.pick(targets_), rng.between(1, 4));
      run_trace(c, rng, seed);
    }
  }

  void run_trace(Case& c, Rng& rng, uint64_t seed) {
    ++runs_;
    TraceOptions trace_options;
    trace_options.max_steps = rng.chance(0.7) ? 14 : 30;
    trace_options.check_refusals = rng.chance(0.05);
    const bool every_pass = rng.chance(0.1);
    const schedule::State initial = initial_state(c);
    schedule::State from = initial;
    c.trace.clear();
    std::string problem;
    try {
      watch(c, path_of(seed));
      if (rng.chance(0.12)) {
        c.trace = templates::choose(initial).trace;
        from = *schedule::replay(initial, c.trace);
        ++from_templates_;
        trace_options.max_steps = rng.chance(0.5) ? 0 : 6;
      }
      Drawn drawn = random_trace(from, rng, trace_options, &counts_);
      c.trace.insert(c.trace.end(), drawn.trace.begin(), drawn.trace.end());
      steps_ += static_cast<int64_t>(c.trace.size());
      watch(c, path_of(seed));
      problem = drawn.problem.empty() ? judge(c, drawn.state, initial, every_pass)
                                      : "draw: " + drawn.problem;
    } catch (const InternalError& e) {
      problem = std::string("template: ") + e.what();
    }
    if (!problem.empty()) {
      fail(c, problem, seed);
    }
  }

  std::string judge(const Case& c, const schedule::State& state, const schedule::State& initial,
                    bool every_pass) {
    std::string why = check_trace(initial, c.trace, describe(state));
    if (!why.empty()) {
      return why;
    }
    const Outcome outcome =
        check_program(state, inputs_, expected_, compiler(c.target), every_pass);
    refused_ += outcome.refused ? 1 : 0;
    return outcome.problem;
  }

  backend::llvm_cpu::Compiler* compiler(const std::string& target) {
    if (!compiled_) {
      return nullptr;
    }
    auto& slot = compilers_[target];
    if (slot == nullptr) {
      slot = std::make_unique<backend::llvm_cpu::Compiler>(target::parse_target(target));
    }
    return slot.get();
  }

  void fail(const Case& c, const std::string& problem, uint64_t seed) {
    ++failures_;
    alarm(0);
    Case small = c;
    const auto fails = [&](const Case& x) {
      return !check_case(x, compiler(x.target)).problem.empty();
    };
    if (fails(c)) {
      small = shrink(c, fails);
      small.what = first_line(check_case(small, compiler(small.target), true).problem);
    } else {
      small.what = first_line(problem);
    }
    const std::string path = path_of(seed);
    std::ofstream(path) << to_text(small);
    ADD_FAILURE() << "seed " << seed << ": " << problem << "\n\nshrunk, in " << path << ":\n"
                  << to_text(small) << "\n"
                  << steps_of(small) << "\n"
                  << check_case(small, compiler(small.target), true).problem;
  }

  std::string path_of(uint64_t seed) const {
    return fmt::format("{}/{}-{}.case", options_.out, compiled_ ? "compiled" : "interpreted", seed);
  }

  static std::string steps_of(const Case& c) {
    try {
      return schedule::to_text(c.trace, initial_state(c));
    } catch (const InternalError&) {
      return "";  // the last step is what breaks
    }
  }

  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  void report(double seconds) const {
    fmt::print(
        "{}: seed {}, {} traces ({} from templates), {:.1f} steps each, {} refused by the "
        "target, {:.0f} traces/s\n",
        compiled_ ? "compiled" : "interpreted", options_.seed, runs_, from_templates_,
        static_cast<double>(steps_) / static_cast<double>(std::max<int64_t>(1, runs_)), refused_,
        static_cast<double>(runs_) / seconds);
    for (const auto& [name, count] : counts_) {
      fmt::print("  {:16} {:8} of {:8} accepted\n", name, count.accepted, count.proposed);
    }
  }

  const Options& options_;
  const bool compiled_;
  std::vector<std::string> targets_;
  std::map<std::string, std::unique_ptr<backend::llvm_cpu::Compiler>> compilers_;
  std::vector<ir::Array> inputs_;
  std::vector<ir::Array> expected_;
  Counts counts_;
  int64_t runs_ = 0, refused_ = 0, failures_ = 0, from_templates_ = 0, steps_ = 0;
};

class FuzzTest : public ::testing::Test {
 public:
  FuzzTest(const Options& options, bool compiled) : options_(options), compiled_(compiled) {}
  void TestBody() override {
    const int64_t runs = compiled_ ? options_.runs_compiled : options_.runs_interpreted;
    Fuzzer fuzzer(options_, compiled_);
    fuzzer.run(runs);
    if (fuzzer.failures() > 0 || runs < 500) {
      return;
    }
    EXPECT_LT(fuzzer.refused() * 2, fuzzer.runs()) << "too many programs that the target refuses";
    for (const schedule::PrimitiveRow& row : schedule::primitives()) {
      const auto it = fuzzer.counts().find(row.name);
      ASSERT_NE(it, fuzzer.counts().end()) << row.name << " is never proposed";
      EXPECT_TRUE(it->second.accepted > 0 || row.name == "bind") << row.name;
    }
  }

 private:
  const Options& options_;
  bool compiled_;
};

// Makes the case in a file smaller, each try in a process of its own: it may crash.
int shrink_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const auto fails = [](const Case& c) {
    const pid_t child = fork();
    if (child == 0) {
      const target::Target t = target::parse_target(c.target);
      alarm(kSecondsPerTrace);
      std::unique_ptr<backend::llvm_cpu::Compiler> compiler;
      if (target::runs_here(t)) {
        compiler = std::make_unique<backend::llvm_cpu::Compiler>(t);
      }
      _exit(check_case(c, compiler.get()).problem.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
  };
  fmt::print("{}", to_text(shrink(parse_case(text.str(), path), fails)));
  return 0;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const size_t equals = std::min(arg.find('='), arg.size());
    const std::string name = arg.substr(0, equals);
    const std::string value = equals < arg.size() ? arg.substr(equals + 1) : "";
    if (name == "--seed") {
      o.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--runs-interpreted") {
      o.runs_interpreted = std::atoll(value.c_str());
    } else if (name == "--runs-compiled") {
      o.runs_compiled = std::atoll(value.c_str());
    } else if (name == "--failures") {
      o.failures = std::atoll(value.c_str());
    } else if (name == "--out") {
      o.out = value;
    } else if (name == "--shrink") {
      std::exit(shrink_file(value));
    } else {
      fmt::print(stderr, "unknown flag {}\n", arg);
      std::exit(2);
    }
  }
  return o;
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto options = tenon::fuzz::parse(argc, argv);
  for (const bool compiled : {false, true}) {
    ::testing::RegisterTest("ScheduleFuzz", compiled ? "Compiled" : "Interpreted", nullptr, nullptr,
                            __FILE__, __LINE__, [&options, compiled]() -> ::testing::Test* {
                              return new tenon::fuzz::FuzzTest(options, compiled);
                            });
  }
  return RUN_ALL_TESTS();
}
