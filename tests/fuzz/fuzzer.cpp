// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzzer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "fuzz/random_dag.h"
#include "fuzz/shrink.h"
#include "te/text.h"

namespace tenon::fuzz {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t runs_interpreted = 2000;
  int64_t runs_compiled = 200;
  int64_t failures = 1;  // stop after so many
  std::string out = ".";
};

constexpr unsigned kSecondsPerTrace = 60;

// Each iteration of a parallel loop is a piece, however small: so that the loops of small cases are shared out at all.
target::Target shares_everything(target::Target t) {
  if (t.is_cpu()) {
    t.cpu().parallel_vectors = 0;
  }
  return t;
}

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

class Fuzzer {
 public:
  Fuzzer(const FuzzSubject& subject, const Options& options, bool compiled)
      : subject_(subject), options_(options), compiled_(compiled) {
    if (subject.gpu) targets_.push_back("cuda simt");
    for (const target::Target& t : target::known_targets()) {
      if (!subject.gpu && (!compiled || target::runs_here(t))) {
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
    c.dag = std::make_shared<const te::ComputeDag>(subject_.dag(rng));
    c.inputs = seed;
    c.nan = Rng(seed).chance(subject_.nan);
    for (auto& v : values_) v.reset();
    for (int i = 0; i < subject_.traces_per_dag && failures_ < options_.failures; ++i) {
      c.target = rng.pick(targets_);
      if (!subject_.gpu) c.target += fmt::format(" cores={}", rng.between(1, 4));
      run_trace(c, rng, seed);
    }
  }

  void run_trace(Case& c, Rng& rng, uint64_t seed) {
    ++runs_;
    const bool every_pass = subject_.gpu || rng.chance(0.1);
    const schedule::State initial = initial_state(c);
    c.trace.clear();
    std::string problem;
    try {
      watch(c, path_of(seed));
      Drawn drawn = subject_.trace(initial, rng, counts_);
      c.trace = drawn.trace;
      steps_ += static_cast<int64_t>(c.trace.size());
      watch(c, path_of(seed));
      problem = drawn.problem.empty() ? judge(c, drawn.state, initial, every_pass)
                                      : "draw: " + drawn.problem;
    } catch (const InternalError& e) {
      problem = std::string("draw: ") + e.what();
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
    const Values& v = values(c);
    const Outcome outcome =
        check_program(state, v.inputs, v.expected, compiler(c.target), every_pass);
    refused_ += outcome.refused ? 1 : 0;
    return outcome.problem;
  }

  struct Values {
    std::vector<ir::Array> inputs, expected;
  };

  const Values& values(const Case& c) {
    auto& slot = values_[has_nan(c) ? 1 : 0];
    if (!slot) {
      slot.emplace();
      slot->inputs = inputs_of(c);
      slot->expected = te::evaluate(*c.dag, slot->inputs);
    }
    return *slot;
  }

  backend::Compiler* compiler(const std::string& target) {
    if (!compiled_) {
      return nullptr;
    }
    auto& slot = compilers_[target];
    if (slot == nullptr) {
      slot = backend::make_compiler(shares_everything(target::parse_target(target)));
    }
    return slot.get();
  }

  void fail(const Case& c, const std::string& problem, uint64_t seed) {
    ++failures_;
    alarm(0);
    Case small = c;
    const auto fails = [&](const Case& x) {
      return !check_case(x, compiler(x.target), subject_.gpu).problem.empty();
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
    return fmt::format("{}/{}-{}-{}.case", options_.out, subject_.name,
                       compiled_ ? "compiled" : "interpreted", seed);
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
        "{}: seed {}, {} traces, {:.1f} steps each, {} refused by the target, {:.0f} traces/s\n",
        compiled_ ? "compiled" : "interpreted", options_.seed, runs_,
        static_cast<double>(steps_) / static_cast<double>(std::max<int64_t>(1, runs_)), refused_,
        static_cast<double>(runs_) / seconds);
    for (const auto& [name, count] : counts_) {
      fmt::print("  {:16} {:8} of {:8} accepted\n", name, count.accepted, count.proposed);
    }
  }

  const FuzzSubject& subject_;
  const Options& options_;
  const bool compiled_;
  std::vector<std::string> targets_;
  std::map<std::string, std::unique_ptr<backend::Compiler>> compilers_;
  std::array<std::optional<Values>, 2> values_;  // of the current dag; without and with NaN
  Counts counts_;
  int64_t runs_ = 0, refused_ = 0, failures_ = 0, steps_ = 0;
};

class FuzzTest : public ::testing::Test {
 public:
  FuzzTest(const FuzzSubject& subject, const Options& options, bool compiled)
      : subject_(subject), options_(options), compiled_(compiled) {}
  void TestBody() override {
    const int64_t runs = compiled_ ? options_.runs_compiled : options_.runs_interpreted;
    Fuzzer fuzzer(subject_, options_, compiled_);
    fuzzer.run(runs);
    if (fuzzer.failures() > 0 || runs < subject_.judged_runs) {
      return;
    }
    EXPECT_LT(static_cast<double>(fuzzer.refused()),
              subject_.most_refused * static_cast<double>(fuzzer.runs()))
        << "too many programs that the target refuses";
    if (subject_.judge != nullptr) {
      EXPECT_EQ(subject_.judge(fuzzer.counts(), fuzzer.runs()), "");
    }
  }

 private:
  const FuzzSubject& subject_;
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
      std::unique_ptr<backend::Compiler> compiler;
      if (target::runs_here(t)) {
        compiler = backend::make_compiler(shares_everything(t));
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

int fuzz_main(int argc, char** argv, const FuzzSubject& subject) {
  ::testing::InitGoogleTest(&argc, argv);
  const Options options = parse(argc, argv);
  for (const bool compiled : {false, true}) {
    if (compiled && subject.gpu) continue;
    ::testing::RegisterTest(
        subject.name, compiled ? "Compiled" : "Interpreted", nullptr, nullptr, __FILE__, __LINE__,
        [&, compiled]() -> ::testing::Test* { return new FuzzTest(subject, options, compiled); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace tenon::fuzz
