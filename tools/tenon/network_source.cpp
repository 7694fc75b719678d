// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/network_source.h"

#include <algorithm>

#include "artifact/library.h"
#include "artifact/manifest.h"
#include "artifact/manifest_file.h"
#include "files/file.h"
#include "measure/step_times.h"
#include "plan/text.h"
#include "timing/machine.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"

namespace tenon::tools {
namespace {

constexpr int64_t kRuns = 30;  // to take medians of

}  // namespace

report::Network read_network(const std::string& path) {
  const artifact::ManifestFile manifest = artifact::read_artifact(path);
  std::filesystem::path lock = manifest.path;
  lock.replace_extension(".lock");
  return report::parse_network(manifest.text, files::read_file(lock.string()));
}

report::Network load_network(const ModelOptions& options, const Console& console) {
  if (is_artifact(options.path)) return read_network(options.path);
  const artifact::Program program = compile_model(options, "", console).program;
  return report::parse_network(artifact::manifest_text(program), plan::to_text(program.plan));
}

report::Network measure_network(const ModelOptions& options, int threads, const Console& console) {
  const LoadedModel loaded(options, console);
  const artifact::Model& model = loaded.model();
  report::Network network = read_network(model.directory().string());
  artifact::LoadedSession session(model, threads, load_inputs({}, model.inputs(), model.dims()));
  const timing::Pinned pinned(session.session().threads());
  const measure::StepTimes times = measure::measure_steps(session, kRuns);
  std::vector<double> seconds;
  for (size_t i = 0; i < model.steps().size(); ++i) seconds.push_back(times.median_s(i));
  std::vector<double> runs = times.run_s;
  std::sort(runs.begin(), runs.end());
  report::set_times(network, seconds, session.session().threads(), runs[runs.size() / 2]);
  return network;
}

}  // namespace tenon::tools
