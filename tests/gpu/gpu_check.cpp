// SPDX-License-Identifier: Apache-2.0
// gpu_check: what compiled code must do on a card, or on what TENON_CUDA_LIBRARY names; run.py calls it.
//   gpu_check suite --root FOLDER [--target cuda]      ONNX's backend test suite
//   gpu_check random [--runs 500] [--seed 1]           random programs beside the interpreter
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "gpu/random_programs.h"
#include "onnx_suite/suite.h"
#include "support/check.h"

namespace {

struct Random {
  tenon::gpu::RandomOptions options;
  std::string json;
};

void add_options(CLI::App& app, Random& r) {
  r.options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  app.add_option("--target", r.options.target, "What programs are compiled for")
      ->capture_default_str();
  app.add_option("--runs", r.options.runs, "How many programs")->capture_default_str();
  app.add_option("--seed", r.options.seed, "Of the first one")->capture_default_str();
  app.add_option("-j,--jobs", r.options.threads, "Threads that compile");
  app.add_option("--deadline", r.options.deadline_s, "No program begins after so many seconds");
  app.add_option("--json", r.json, "Write what was found to this file");
}

int run_random(const Random& r) {
  const tenon::gpu::Found found = tenon::gpu::check_random_programs(r.options);
  for (const std::string& p : found.problems) fmt::print("{}\n\n", p);
  fmt::print("{} random programs of {} kernels, {} refused, {} wrong\n", found.run, found.kernels,
             found.refused, found.problems.size());
  const nlohmann::ordered_json j = {{"programs", found.run},
                                    {"kernels", found.kernels},
                                    {"refused", found.refused},
                                    {"problems", found.problems}};
  tenon::onnx_suite::write_file(r.json, j.dump(1) + "\n");
  return found.problems.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Checks compiled code on a card");
  app.require_subcommand(1);
  CLI::App* suite = app.add_subcommand("suite", "ONNX's backend test suite");
  tenon::onnx_suite::Options suite_options;
  suite_options.target = "cuda";
  suite_options.limits.program = {"gpu_check", "suite"};
  suite_options.limits.memory = 0;  // a driver takes address space as it likes
  tenon::onnx_suite::add_options(*suite, suite_options);
  CLI::App* random = app.add_subcommand("random", "random programs beside the interpreter");
  Random random_options;
  add_options(*random, random_options);
  CLI11_PARSE(app, argc, argv);
  try {
    if (suite->parsed()) return tenon::onnx_suite::run(suite_options).good ? 0 : 1;
    return run_random(random_options);
  } catch (const tenon::UserError& e) {
    std::cerr << "gpu_check: " << e.what() << "\n";
    return 6;
  }
}
