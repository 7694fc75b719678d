// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/bench/te.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "compile/loaded_kernel.h"
#include "ir/arrays.h"
#include "te/rounding.h"
#include "timing/ceilings.h"
#include "timing/machine.h"
#include "timing/turns.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

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
  timing::Timing timing;
  double peak_flops = 0;  // per second, of the same seconds and threads

  double flops_per_s() const { return flops / timing.best_s; }
};

void check_result(const Program& program, const compile::LoadedKernel& kernel,
                  const std::vector<ir::Array>& inputs, Measured& m) {
  const te::ComputeDag& dag = program.state.dag();
  m.error = relative_error(kernel.outputs(), te::evaluate(dag, inputs));
  const double allowed = te::tolerance(dag) * program.state.error_factor();
  TENON_CHECK(*m.error <= allowed)
      << "wrong result: relative error " << *m.error << ", rounding explains " << allowed
      << "; trace " << schedule::to_json(program.trace);
}

Measured measure_program(const Program& program, const TeBenchOptions& options) {
  if (!program.state.target().is_cpu()) {
    throw UserError("a tensor expression is timed here on a CPU only",
                    "tenon tune times those of a GPU");
  }
  Measured m;
  m.threads = options.threads > 0 ? options.threads : program.state.target().cpu().cores;
  m.flops = te::flops(program.state.dag());
  compile::check_fits_memory(program.state.dag());
  const Runtime runtime(m.threads);
  const std::vector<ir::Array> inputs = compile::random_inputs(program.state.dag(), options.seed);
  const compile::LoadedKernel kernel(program.state, lower_program(program), inputs);
  m.compile_s = kernel.compile_s();
  kernel.run(runtime.handle);
  if (!options.no_check) {
    check_result(program, kernel, inputs, m);
  }
  const timing::Pinned pinned(m.threads);
  const timing::Ceiling peak = timing::fma_ceiling(runtime.handle);
  const timing::Contestant ours{"tenon", [&] { kernel.run(runtime.handle); }};
  timing::Protocol protocol;
  protocol.rounds = std::max(2, static_cast<int>(options.duration_s / (2 * protocol.turn_s)));
  const auto timings = timing::measure({ours, peak.contestant}, protocol);
  m.timing = timings[0];
  m.peak_flops = peak.amount / timings[1].best_s;
  return m;
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

std::string measured_text(const Program& program, const Measured& m) {
  std::string text = fmt::format("{}: {:.4g} MFLOP, compiled in {:.0f} ms\n", program.name,
                                 m.flops * 1e-6, m.compile_s * 1e3);
  if (m.error) {
    text += fmt::format(
        "right    largest error {:.1e} of the largest value, against the reference\n", *m.error);
  }
  if (const auto names = relaid_tensors(program.state); !names.empty()) {
    text += fmt::format("layout   chosen by the schedule for {}; converting is not timed\n",
                        fmt::join(names, ", "));
  }
  text += fmt::format("time     best {}, median {}, p90 {} ({} samples, {} thread{})\n",
                      time_text(m.timing.best_s), time_text(m.timing.median_s),
                      time_text(m.timing.p90_s), m.timing.samples, m.threads,
                      m.threads == 1 ? "" : "s");
  return text +
         fmt::format(
             "speed    {:.1f} GFLOP/s, {:.0f} % of the {:.1f} that multiply-adds reach here\n",
             m.flops_per_s() * 1e-9, 100 * m.flops_per_s() / m.peak_flops, m.peak_flops * 1e-9);
}

Json measured_json(const Program& program, const Measured& m) {
  Json answer = {
      {"schema", "tenon.bench/1"},
      {"te", program.name},
      {"target", program.state.target().fingerprint()},
      {"machine", timing::machine_text()},
      {"clock", timing::clock_text()},
      {"trace", Json::parse(schedule::to_json(program.trace))},
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
  return answer;
}

}  // namespace

int bench_te(const TeBenchOptions& options, const Console& console) {
  const Program program = load_program(options.program);
  const Measured m = measure_program(program, options);
  console.answer(console.json() ? to_text(measured_json(program, m)) : measured_text(program, m));
  return 0;
}

}  // namespace tenon::tools
