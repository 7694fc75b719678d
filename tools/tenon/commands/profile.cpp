// SPDX-License-Identifier: Apache-2.0
// tenon profile: where does the time go, and how near is each step to what the machine can do?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "files/file.h"
#include "timing/machine.h"
#include "timing/machine_ceilings.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/chrome_trace.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct ProfileOptions {
  ModelOptions model;
  std::vector<std::string> inputs;
  int threads = 0;
  int64_t runs = 30;
  std::string sort = "time";
  std::string group = "step";
  std::string trace;
  int64_t top = 0;
};

struct Line {
  std::string kernel, origin;
  std::vector<std::string> nodes;
  int calls = 1;
  double time_s = 0, flops = 0, bytes = 0;
  double least_s = 0;
};

struct Profile {
  std::vector<Line> lines;
  double steps_s = 0;  // sum of the lines
  double run_s = 0;    // median of whole runs without the clock's readings
  int threads = 1;
  size_t steps = 0;
  timing::MachineCeilings ceilings;
};

std::vector<Line> make_lines(const std::vector<artifact::StepInfo>& steps,
                             const measure::StepTimes& times,
                             const timing::MachineCeilings& ceilings, bool by_kernel) {
  std::vector<Line> lines;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < steps.size(); ++i) {
    const artifact::StepInfo& step = steps[i];
    const Line line{
        step.kernel,       step.origin, step.nodes, 1,
        times.median_s(i), step.flops,  step.bytes, ceilings.least_s(step.flops, step.bytes)};
    const auto [it, first] = known.emplace(step.kernel, lines.size());
    if (!by_kernel || first) {
      lines.push_back(line);
      continue;
    }
    Line& sum = lines[it->second];
    sum.calls += 1;
    sum.time_s += line.time_s;
    sum.flops += line.flops;
    sum.bytes += line.bytes;
    sum.least_s += line.least_s;
    sum.nodes.insert(sum.nodes.end(), line.nodes.begin(), line.nodes.end());
  }
  return lines;
}

void sort_lines(std::vector<Line>& lines, const std::string& by) {
  const auto key = [&](const Line& l) {
    return by == "flops"   ? l.flops
           : by == "bytes" ? l.bytes
           : by == "waste" ? l.time_s - l.least_s
                           : l.time_s;
  };
  if (by != "order") {
    std::sort(lines.begin(), lines.end(),
              [&](const Line& a, const Line& b) { return key(a) > key(b); });
  }
}

Json to_json(const artifact::Model& model, const Profile& p) {
  Json lines = Json::array();
  for (const Line& l : p.lines) {
    lines.push_back({{"nodes", l.nodes},
                     {"kernel", l.kernel},
                     {"origin", l.origin},
                     {"calls", l.calls},
                     {"time_ms", l.time_s * 1e3},
                     {"share", l.time_s / p.steps_s},
                     {"flops", l.flops},
                     {"bytes", l.bytes},
                     {"gflops_per_s", l.flops / l.time_s * 1e-9},
                     {"gbytes_per_s", l.bytes / l.time_s * 1e-9},
                     {"roofline", l.least_s / l.time_s}});
  }
  Json levels = Json::array();
  for (const timing::MachineCeilings::Level& level : p.ceilings.levels) {
    levels.push_back({{"up_to_bytes", level.bytes}, {"gbytes_per_s", level.bytes_per_s * 1e-9}});
  }
  return {{"schema", "tenon.profile/1"},
          {"model", model.name()},
          {"threads", p.threads},
          {"run_ms", p.run_s * 1e3},
          {"steps_ms", p.steps_s * 1e3},
          {"ceilings", {{"gflops_per_s", p.ceilings.flops_per_s * 1e-9}, {"memory", levels}}},
          {"rows", lines}};
}

std::string names(const Line& l) {
  if (l.nodes.empty()) {
    return "(no node of the model)";
  }
  return l.nodes.size() == 1 ? l.nodes[0] : fmt::format("{} +{}", l.nodes[0], l.nodes.size() - 1);
}

std::string to_text(const artifact::Model& model, const Profile& p, int64_t top) {
  double flops = 0;
  double least = 0;
  for (const Line& l : p.lines) {
    flops += l.flops;
    least += l.least_s;
  }
  std::string text =
      fmt::format("{:>10}  {:>5}  {:>5}  {:>8}  {:>7}  {:>5}  {:<24}  {}\n", "time", "share",
                  "calls", "GFLOP/s", "GB/s", "roof", "kernel", "nodes of the model");
  const size_t shown =
      top > 0 ? std::min(p.lines.size(), static_cast<size_t>(top)) : p.lines.size();
  for (size_t i = 0; i < shown; ++i) {
    const Line& l = p.lines[i];
    text += fmt::format("{:>10}  {:>3.0f} %  {:>5}  {:>8.1f}  {:>7.1f}  {:>3.0f} %  {:<24}  {}\n",
                        time_text(l.time_s), 100 * l.time_s / p.steps_s, l.calls,
                        l.flops / l.time_s * 1e-9, l.bytes / l.time_s * 1e-9,
                        100 * l.least_s / l.time_s, escaped(l.kernel), escaped(names(l)));
  }
  if (shown < p.lines.size()) {
    text += fmt::format("... {} more\n", p.lines.size() - shown);
  }
  text += fmt::format(
      "{}: {} per run, {} in {} steps; {:.1f} GFLOP/s, {:.0f} % of the roofline, {} thread{}\n",
      escaped(model.name()), time_text(p.run_s), time_text(p.steps_s), p.steps,
      flops / p.run_s * 1e-9, 100 * least / p.run_s, p.threads, p.threads == 1 ? "" : "s");
  return text + fmt::format(
                    "ceilings measured here: {:.1f} GFLOP/s; {:.0f}, {:.0f}, {:.0f} GB/s in L2, L3 "
                    "and memory\n",
                    p.ceilings.flops_per_s * 1e-9, p.ceilings.levels[0].bytes_per_s * 1e-9,
                    p.ceilings.levels[1].bytes_per_s * 1e-9,
                    p.ceilings.levels[2].bytes_per_s * 1e-9);
}

int profile_command(const ProfileOptions& options, const Console& console) {
  const LoadedModel loaded(options.model, console);
  const artifact::Model& model = loaded.model();
  artifact::LoadedSession session(
      model, options.threads,
      load_inputs(options.inputs, inputs_at(model, options.model), model.dims()));
  Profile profile;
  profile.threads = session.session().threads();
  profile.steps = session.session().steps().size();
  profile.ceilings = timing::measure_ceilings(profile.threads);
  const timing::Pinned pinned(profile.threads);
  const measure::StepTimes times = measure::measure_steps(session, options.runs);
  profile.lines =
      make_lines(session.session().steps(), times, profile.ceilings, options.group == "kernel");
  for (const Line& l : profile.lines) {
    profile.steps_s += l.time_s;
  }
  std::vector<double> runs = times.run_s;
  std::sort(runs.begin(), runs.end());
  profile.run_s = runs[runs.size() / 2];
  sort_lines(profile.lines, options.sort);
  if (!options.trace.empty()) {
    files::write_file(options.trace, chrome_trace(model.name(), session.session().steps(), times));
    console.note(fmt::format("trace    {} (open it at https://ui.perfetto.dev)", options.trace));
  }
  console.answer(console.json() ? tools::to_text(to_json(model, profile))
                                : to_text(model, profile, options.top));
  return kExitOk;
}

}  // namespace

Run add_profile(CLI::App& command, Console& console) {
  const auto options = std::make_shared<ProfileOptions>();
  add_import_options(command, options->model);
  add_input_options(command, options->inputs);
  command.add_option("--threads", options->threads, "Threads (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command.add_option("--runs", options->runs, "Runs to take medians of")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--sort", options->sort, "What comes first; waste is the time above the roofline")
      ->check(CLI::IsMember({"time", "flops", "bytes", "waste", "order"}))
      ->capture_default_str();
  command
      .add_option("--group", options->group, "One row per step, or per kernel with all its calls")
      ->check(CLI::IsMember({"step", "kernel"}))
      ->capture_default_str();
  command.add_option("--top", options->top, "Rows to print (default: all)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command.add_option("--trace", options->trace, "Write one run for Perfetto or chrome://tracing")
      ->type_name("FILE");
  add_compile_options(command, options->model);
  return [options, &console] { return profile_command(*options, console); };
}

}  // namespace tenon::tools
