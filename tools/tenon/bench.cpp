// SPDX-License-Identifier: Apache-2.0
// tenon bench: is a scheduled program right, and how fast is it?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/support/ceilings.h"
#include "bench/support/machine.h"
#include "bench/support/measure.h"
#include "tools/tenon/command.h"
#include "tools/tenon/kernel.h"

namespace tenon::tools {
namespace {

struct BenchOptions {
  ProgramOptions program;
  int threads = 0;  // 0: the target's cores
  double duration_s = 1;
  uint64_t seed = 1;
  bool no_check = false;
  bool json = false;
};

struct Runtime {
  explicit Runtime(int threads) : handle(tenon_runtime_create(threads)) {
    if (handle == nullptr) {
      throw UserError(fmt::format("cannot start {} threads", threads));
    }
  }
  ~Runtime() { tenon_runtime_destroy(handle); }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  const tenon_runtime* handle;
};

struct Measured {
  double flops = 0;
  double compile_s = 0;
  int threads = 1;
  std::optional<double> error;  // nothing: not checked
  bench::Timing timing;
  double peak_flops = 0;  // per second, of the same seconds and threads

  double flops_per_s() const { return flops / timing.best_s; }
};

void check_result(const Program& program, const LoadedKernel& kernel,
                  const std::vector<ir::Array>& inputs, Measured& m) {
  const te::ComputeDag& dag = program.state.dag();
  m.error = relative_error(kernel.outputs(), te::evaluate(dag, inputs));
  TENON_CHECK(*m.error <= tolerance(dag))
      << "wrong result: relative error " << *m.error << ", rounding explains " << tolerance(dag)
      << "; trace " << schedule::to_json(program.trace);
}

Measured measure_program(const Program& program, const BenchOptions& options) {
  Measured m;
  m.threads = options.threads > 0 ? options.threads : program.state.target().cores;
  m.flops = te::flops(program.state.dag());
  check_memory(program.state.dag());
  const Runtime runtime(m.threads);
  const std::vector<ir::Array> inputs = random_inputs(program.state.dag(), options.seed);
  const LoadedKernel kernel(program, inputs);
  m.compile_s = kernel.compile_s();
  kernel.run(runtime.handle);
  if (!options.no_check) {
    check_result(program, kernel, inputs, m);
  }
  const bench::Pinned pinned(m.threads);
  const bench::Ceiling peak = bench::fma_ceiling(runtime.handle);
  const bench::Contestant ours{"tenon", [&] { kernel.run(runtime.handle); }};
  bench::Protocol protocol;
  protocol.rounds = std::max(2, static_cast<int>(options.duration_s / (2 * protocol.turn_s)));
  const auto timings = bench::measure({ours, peak.contestant}, protocol);
  m.timing = timings[0];
  m.peak_flops = peak.amount / timings[1].best_s;
  return m;
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
                        : fmt::format("{:.3f} ms", seconds * 1e3);
}

// Inputs and outputs that the schedule stores in another order than the user's.
std::vector<std::string> relaid_tensors(const schedule::State& s) {
  std::vector<std::string> names;
  for (const schedule::StageId id : s.order()) {
    const schedule::Stage& stage = s.stage(id);
    const bool outside = (stage.is_input() && !stage.constant) || stage.output;
    if (outside && !stage.layout.is_identity()) {
      names.push_back(stage.name);
    }
  }
  return names;
}

void print_text(const Program& program, const Measured& m) {
  fmt::print("{}: {:.4g} MFLOP, compiled in {:.0f} ms\n", program.name, m.flops * 1e-6,
             m.compile_s * 1e3);
  if (m.error) {
    fmt::print("right    largest error {:.1e} of the largest value, against the reference\n",
               *m.error);
  }
  if (const auto names = relaid_tensors(program.state); !names.empty()) {
    fmt::print("layout   chosen by the schedule for {}; converting is not timed\n",
               fmt::join(names, ", "));
  }
  fmt::print("time     best {}, median {}, p90 {} ({} samples, {} thread{})\n",
             time_text(m.timing.best_s), time_text(m.timing.median_s), time_text(m.timing.p90_s),
             m.timing.samples, m.threads, m.threads == 1 ? "" : "s");
  fmt::print("speed    {:.1f} GFLOP/s, {:.0f} % of the {:.1f} that multiply-adds reach here\n",
             m.flops_per_s() * 1e-9, 100 * m.flops_per_s() / m.peak_flops, m.peak_flops * 1e-9);
}

void print_json(const Program& program, const Measured& m) {
  nlohmann::ordered_json answer = {
      {"schema", "tenon.bench/1"},
      {"te", program.name},
      {"target", program.state.target().fingerprint()},
      {"machine", bench::machine_text()},
      {"clock", bench::clock_text()},
      {"trace", nlohmann::ordered_json::parse(schedule::to_json(program.trace))},
      {"threads", m.threads},
      {"flops", m.flops},
      {"compile_s", m.compile_s},
      {"time_s",
       {{"best", m.timing.best_s}, {"median", m.timing.median_s}, {"p90", m.timing.p90_s}}},
      {"relaid", relaid_tensors(program.state)},
      {"samples", m.timing.samples},
      {"flops_per_s", m.flops_per_s()},
      {"peak_flops_per_s", m.peak_flops},
      {"error", nullptr}};
  if (m.error) {
    answer["error"] = *m.error;
  }
  fmt::print("{}\n", answer.dump(2));
}

int bench_program(const BenchOptions& options) {
  const Program program = load_program(options.program);
  const Measured m = measure_program(program, options);
  if (options.json) {
    print_json(program, m);
  } else {
    print_text(program, m);
  }
  return 0;
}

}  // namespace

Run add_bench(CLI::App& command) {
  const auto options = std::make_shared<BenchOptions>();
  add_program_options(command, options->program);
  command.add_option("--threads", options->threads, "Threads (default: the target's cores)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--duration", options->duration_s, "Seconds to measure, half of it the peak")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Of the random inputs")->capture_default_str();
  command.add_flag("--no-check", options->no_check,
                   "Do not compare with the reference, which is slow for large shapes");
  command.add_flag("--json", options->json, "Print one JSON document");
  return [options] { return bench_program(*options); };
}

}  // namespace tenon::tools
