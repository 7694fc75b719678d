// SPDX-License-Identifier: Apache-2.0
// The models of `tenon tune`, and the text that makes two runs of it the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/check.h"
#include "tools/tenon/commands/tune/options.h"
#include "tools/tenon/commands/tune/words.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

// "MODEL=10ms" for one of the models, "10ms" if there is but one.
void set_times(const std::vector<std::string>& texts, const char* option, double tune::Model::*time,
               std::vector<tune::Model>& models) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const auto it = std::find_if(models.begin(), models.end(), [&](const tune::Model& m) {
      return m.name == name || (name.empty() && models.size() == 1);
    });
    if (it == models.end()) {
      throw UserError(fmt::format("{} '{}': MODEL=TIME expected", option, text),
                      fmt::format("models: {}", fmt::join(row_names(models), ", ")));
    }
    (*it).*time =
        parse_duration(equals == std::string::npos ? text : text.substr(equals + 1), option);
  }
}

fs::path directory_of(const TuneOptions& o, const std::string& name) {
  if (o.output.empty()) {
    return name + ".tenon";
  }
  return o.paths.size() == 1 ? fs::path(o.output) : fs::path(o.output) / name;
}

}  // namespace

std::vector<tune::Model> import_models(const TuneOptions& o, const Console& console) {
  if (!o.name.empty() && o.paths.size() > 1) {
    throw UserError("--name is for a single model");
  }
  std::vector<tune::Model> models;
  std::set<std::string> names;
  for (const std::string& path : o.paths) {
    if (is_artifact(path)) {
      throw UserError(path, 0, 0, "this is a folder or a manifest; tuning begins with a model");
    }
    ModelOptions one = o.model;
    one.path = path;
    tune::Model m;
    m.name = model_name(one, o.name);
    tell_name(one, o.name, console);
    if (!names.insert(m.name).second) {
      throw UserError(fmt::format("two models are called {}", m.name), "rename one of the files");
    }
    onnx::Imported imported = import_model(one, console);
    if (!o.dry_run) m.provenance = provenance(one, imported.info);
    m.graph = std::make_shared<const graph::Graph>(std::move(imported.graph));
    m.directory = directory_of(o, m.name);
    models.push_back(std::move(m));
  }
  set_times(o.latency_targets, "--latency-target", &tune::Model::target_s, models);
  set_times(o.references, "--reference", &tune::Model::reference_s, models);
  for (const tune::Model& m : models) {
    if (o.objective == "targets" && m.target_s <= 0) {
      throw UserError(fmt::format("--objective targets needs --latency-target {}=TIME", m.name));
    }
  }
  return models;
}

std::string command_text(const TuneOptions& o, const std::vector<tune::Model>& models) {
  std::string text = "tune";
  for (const tune::Model& m : models) {
    const auto hash = std::find_if(m.provenance.begin(), m.provenance.end(),
                                   [](const auto& row) { return row.first == "sha256"; });
    text += fmt::format(" {}@{:.16}", m.name, hash == m.provenance.end() ? "-" : hash->second);
  }
  const TuneOptions usual;
  const auto add = [&](const char* option, const auto& value, const auto& otherwise) {
    if (value != otherwise) {
      text += fmt::format(" {} {}", option, value);
    }
  };
  const auto add_list = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      text += fmt::format(" {} {}", option, value);
    }
  };
  text += fmt::format(" --threads {}", protocol_of(o).threads);
  text += std::string(o.warm ? " --warm-cache" : "") + (o.overlap ? " --overlap" : "") +
          (o.sim ? " --sim" : "") + (o.model.no_fuse ? " --no-fuse" : "");
  add("--target", o.model.target, usual.model.target);
  add("--accuracy", o.model.accuracy, usual.model.accuracy);
  add("--optimize", o.model.optimize, usual.model.optimize);
  add("--budget", o.budget, usual.budget);
  add("--trials", o.trials, usual.trials);
  add("--tasks", o.tasks, usual.tasks);
  add("--seed", o.seed, usual.seed);
  add("--space", o.space, usual.space);
  add("--strategy", o.strategy, usual.strategy);
  add("--pairs", o.pairs, usual.pairs);
  add("--transplant", o.transplant, usual.transplant);
  add("--programs", o.programs, usual.programs);
  add("--value", o.value, usual.value);
  add("--layouts", o.layouts, usual.layouts);
  add("--layout-agent", o.layout_agent, usual.layout_agent);
  add("--cost-model", o.cost_model, usual.cost_model);
  add("--history", o.history, usual.history);
  add("--verify", o.verify, usual.verify);
  add("--objective", o.objective, usual.objective);
  add("--early-stop", o.early_stop, usual.early_stop);
  add("--round", o.round, usual.round);
  add("--lock", o.model.lock, usual.model.lock);
  add_list("--latency-target", o.latency_targets);
  add_list("--reference", o.references);
  add_list("--dims", o.model.dims);
  add_list("--shape", o.model.shapes);
  add_list("--bind", o.model.binds);
  return text;
}

}  // namespace tenon::tools
