// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "tools/tenon/command.h"
#include "tools/tenon/commands/bench/against.h"
#include "tools/tenon/commands/bench/model.h"
#include "tools/tenon/commands/bench/streams.h"
#include "tools/tenon/commands/bench/te.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct BenchOptions {
  TeBenchOptions te;
  ModelBenchOptions model;
  StreamOptions streams;
  double duration_s = 3;
  std::string threads;
  std::string against;
};

int bench_command(BenchOptions& options, const Console& console) {
  const bool te = !options.te.program.te_file.empty();
  if (te == !options.model.model.path.empty()) {
    throw UserError("give either a model (or an artifact) or --te", "tenon bench -h shows its use");
  }
  if (te) {
    if (!options.threads.empty()) {
      options.te.threads = parse_counts("--threads", options.threads).front();
    }
    options.te.duration_s = options.duration_s;
    options.te.program.target = options.model.model.target;
    return bench_te(options.te, console);
  }
  options.model.threads = options.threads;
  options.model.duration_s = options.duration_s;
  if (!options.streams.streams.empty() || options.streams.throughput) {
    if (!options.against.empty() || options.model.cold_cache) {
      throw UserError("--streams and --throughput go neither with --against nor with --cold-cache");
    }
    return bench_streams(options.model, options.streams, console);
  }
  if (!options.against.empty()) return bench_against(options.model, options.against, console);
  return bench_model(options.model, console);
}

}  // namespace

Run add_bench(CLI::App& command, Console& console) {
  const auto options = std::make_shared<BenchOptions>();
  add_import_options(command, options->model.model)->required(false);
  add_input_options(command, options->model.inputs);
  command
      .add_option("--threads", options->threads,
                  "Threads, or a list of them (default: one per core)")
      ->type_name("N,...");
  command.add_option("--warmup", options->model.warmup_ms, "Milliseconds to run before timing")
      ->check(CLI::Range(0.0, 600000.0))
      ->capture_default_str()
      ->type_name("MS");
  command.add_option("--duration", options->duration_s, "Seconds to measure, at least")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str()
      ->type_name("S");
  command.add_option("--iterations", options->model.iterations, "Runs to measure, at least")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--percentiles", options->model.percentiles, "Which latencies to print")
      ->capture_default_str()
      ->type_name("P,...");
  command
      .add_option("--against", options->against,
                  "Another artifact of the model, timed turn by turn with the first")
      ->type_name("DIR");
  auto* streams = command.add_option("--streams", options->streams.streams,
                                     "Contexts that run at once, or a list of such numbers");
  streams->type_name("N,...");
  command
      .add_flag("--throughput", options->streams.throughput,
                "Find how many contexts of how many threads give the most runs a second")
      ->excludes(streams);
  command.add_flag("--cold-cache", options->model.cold_cache, "Empty the caches before each run");
  add_compile_options(command, options->model.model);
  add_te_options(command, options->te.program);
  command.add_option("--seed", options->te.seed, "Of the random inputs, with --te")
      ->capture_default_str();
  command.add_flag("--no-check", options->te.no_check,
                   "With --te: do not compare with the reference, which is slow for large shapes");
  return [options, &console] { return bench_command(*options, console); };
}

}  // namespace tenon::tools
