// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/program.h"

#include <fmt/format.h>

#include <memory>

#include "files/file.h"
#include "te/text.h"
#include "templates/template.h"
#include "tools/tenon/calibration.h"

namespace tenon::tools {
namespace {

schedule::Trace read_trace(const std::string& file, const schedule::State& initial) {
  const std::string text = files::read_file(file);
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '[';
  return is_json ? schedule::trace_from_json(text, files::display_name(file))
                 : schedule::parse_trace(text, initial, files::display_name(file));
}

schedule::State apply_trace(const std::string& file, const schedule::State& initial,
                            const schedule::Trace& trace) {
  schedule::Replayed replayed = schedule::replay_steps(initial, trace);
  if (replayed.refusal) {
    const schedule::Refusal& refusal = *replayed.refusal;
    throw UserError(file, 0, 0,
                    fmt::format("step {}, {}: {}", refusal.step + 1,
                                schedule::to_text(trace[refusal.step], replayed.state),
                                schedule::render_illegal(replayed.state, refusal.why)));
  }
  return std::move(replayed.state);
}

}  // namespace

void add_te_options(CLI::App& command, ProgramOptions& options) {
  command
      .add_option("--te", options.te_file,
                  "A tensor expression instead of a model ('-': standard input)")
      ->type_name("FILE");
  CLI::Option* trace =
      command.add_option("--trace", options.trace_file, "Schedule of --te: steps as text or JSON")
          ->type_name("FILE");
  command
      .add_flag("--template", options.use_template,
                "Schedule of --te: the default one for this operator")
      ->excludes(trace);
}

Program make_program(const ProgramText& text, const target::Target& target) {
  const auto shared = std::make_shared<const target::Target>(target);
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(text.te, text.name));
  const schedule::State initial(dag, shared);
  schedule::Trace trace = schedule::parse_trace(text.trace, initial, text.name);
  schedule::State state = apply_trace(text.name, initial, trace);
  return {text.name, initial, std::move(trace), std::move(state)};
}

Program load_program(const ProgramOptions& options) {
  if (options.te_file == "-" && options.trace_file == "-") {
    throw UserError("--te and --trace cannot both be read from standard input");
  }
  const auto target = std::make_shared<const target::Target>(
      with_calibration(target::parse_target(options.target)));
  const auto dag = std::make_shared<const te::ComputeDag>(
      te::parse(files::read_file(options.te_file), files::display_name(options.te_file)));
  const schedule::State initial(dag, target);
  schedule::Trace trace;
  if (!options.trace_file.empty()) {
    trace = read_trace(options.trace_file, initial);
  } else if (options.use_template) {
    trace = templates::choose(initial).trace;
  }
  const std::string origin =
      options.use_template ? "template" : files::display_name(options.trace_file);
  schedule::State state = apply_trace(origin, initial, trace);
  return {files::display_name(options.te_file), initial, std::move(trace), std::move(state)};
}

ir::Function lower_program(const Program& program, const lower::RunOptions& options) {
  Result<ir::Function> function = lower::lower(program.state, options);
  if (!function) {
    throw UserError(program.name, 0, 0,
                    schedule::render_illegal(program.state, function.illegal()));
  }
  return *std::move(function);
}

}  // namespace tenon::tools
