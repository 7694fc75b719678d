// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "tools/tenon/bench_te.h"
#include "tools/tenon/command.h"

namespace tenon::tools {

Run add_bench(CLI::App& command, Console& console) {
  const auto options = std::make_shared<TeBenchOptions>();
  add_program_options(command, options->program);
  command.add_option("--threads", options->threads, "Threads (default: the target's cores)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--duration", options->duration_s, "Seconds to measure")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Of the random inputs")->capture_default_str();
  command.add_flag("--no-check", options->no_check,
                   "Do not compare with the reference, which is slow for large shapes");
  return [options, &console] { return bench_te(*options, console); };
}

}  // namespace tenon::tools
