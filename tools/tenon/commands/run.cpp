// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "ir/arrays.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct RunOptions {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::string outputs;
  int threads = 0;
};

constexpr int64_t kShown = 4;  // first elements of each output

std::vector<double> first_elements(const ir::Array& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < std::min(kShown, array.elements()); ++i) {
    values.push_back(array.get_double(i));
  }
  return values;
}

struct Ran {
  const artifact::Model& model;
  std::vector<ir::Array> outputs;
  double time_s = 0;
  int threads = 1;
};

Json to_json(const Ran& ran) {
  Json outputs = Json::array();
  for (size_t i = 0; i < ran.outputs.size(); ++i) {
    const ir::Statistics s = statistics(ran.outputs[i]);
    outputs.push_back({{"name", ran.model.outputs()[i].name},
                       {"dtype", ir::to_string(ran.outputs[i].dtype())},
                       {"shape", ran.outputs[i].shape()},
                       {"mean", s.mean},
                       {"min", s.min},
                       {"max", s.max},
                       {"not_finite", s.not_finite},
                       {"first", first_elements(ran.outputs[i])}});
  }
  return {{"schema", "tenon.run/1"},
          {"model", ran.model.name()},
          {"threads", ran.threads},
          {"first_run_s", ran.time_s},
          {"outputs", outputs}};
}

std::string to_text(const Ran& ran) {
  std::string text;
  for (size_t i = 0; i < ran.outputs.size(); ++i) {
    const ir::Array& array = ran.outputs[i];
    const ir::Statistics s = statistics(array);
    text +=
        fmt::format("{}: {} {}  mean {:.6g}  min {:.6g}  max {:.6g}{}\n  {:.6g}{}\n",
                    escaped(ran.model.outputs()[i].name), ir::to_string(array.dtype()),
                    shape_text(array.shape()), s.mean, s.min, s.max,
                    s.not_finite == 0 ? "" : fmt::format("  {} not finite", s.not_finite),
                    fmt::join(first_elements(array), " "), array.elements() > kShown ? " ..." : "");
  }
  return text;
}

int run_command(const RunOptions& options, const Console& console) {
  if (console.json() && options.outputs == "-") {
    throw UserError("only one of --json and --outputs - can go to standard output",
                    "--outputs FILE.npz leaves room for --json");
  }
  const LoadedModel loaded(options.model, console);
  artifact::Session session(loaded.model(), options.threads);
  const std::vector<ir::Array> inputs =
      load_inputs(options.inputs, inputs_at(loaded.model(), options.model), loaded.model().dims());
  const auto start = std::chrono::steady_clock::now();
  Ran ran{loaded.model(), session.run(inputs), 0, session.threads()};
  ran.time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.outputs.empty()) {
    save_outputs(options.outputs, loaded.model().outputs(), ran.outputs);
  }
  if (options.outputs != "-") {
    console.answer(console.json() ? tools::to_text(to_json(ran)) : to_text(ran));
  }
  return kExitOk;
}

}  // namespace

Run add_run(CLI::App& command, Console& console) {
  const auto options = std::make_shared<RunOptions>();
  add_import_options(command, options->model);
  add_input_options(command, options->inputs);
  command
      .add_option(
          "--outputs", options->outputs,
          "Where to put the results: .npz, .npy, a folder, raw bytes, or '-' (.npz on stdout)")
      ->type_name("PATH");
  command.add_option("--threads", options->threads, "Threads (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_compile_options(command, options->model);
  return [options, &console] { return run_command(*options, console); };
}

}  // namespace tenon::tools
