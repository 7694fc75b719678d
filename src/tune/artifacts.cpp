// SPDX-License-Identifier: Apache-2.0
#include "tune/artifacts.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::tune {
namespace {

constexpr double kWriteShare = 0.05;  // of the time, for renewing artifacts
constexpr double kLeastBetweenWritesS = 5;

std::map<std::string, std::string> traces_of(const Programs& programs) {
  std::map<std::string, std::string> out;
  for (const auto& [key, p] : programs) out[key] = p.trace;
  return out;
}

}  // namespace

Artifacts::Artifacts(SessionParts& parts, const Networks& networks)
    : parts_(parts),
      networks_(networks),
      written_(parts.models.size()),
      built_(parts.models.size()) {}

void Artifacts::write_to(const std::filesystem::path& directory, const artifact::Program& p) const {
  artifact::write(p, {directory, parts_.options.outputs, parts_.options.compile.threads});
}

void Artifacts::write_default(size_t m, const std::filesystem::path& directory) const {
  write_to(directory, networks_.build_default(m));
}

void Artifacts::write(size_t m, const Programs& programs) {
  const Model& model = parts_.models[m];
  const double before = parts_.watch.now();
  parts_.watch.time("write", [&] {
    const artifact::Program p = networks_.build(m, programs);
    write_to(model.directory, p);
    built_[m] = p.plan;
  });
  written_[m] = traces_of(programs);
  last_write_ = parts_.watch.now();
  write_cost_ = last_write_ - before;
  most_write_cost_ = std::max(most_write_cost_, write_cost_);
  parts_.log.tell(events::ArtifactWritten{model.name, model.directory.string(),
                                          std::ssize(programs), write_cost_});
}

void Artifacts::write_if_changed(size_t m, const Programs& programs) {
  if (traces_of(programs) != written_[m]) write(m, programs);
}

void Artifacts::write_all(const Loops& loops) {
  for (size_t m = 0; m < built_.size(); ++m) write(m, loops.programs_of(m));
}

void Artifacts::renew(const Loops& loops) {
  if (parts_.options.tuner.verify == Verify::kOff) return;
  const double since = parts_.watch.now() - last_write_;
  if (since >= std::max(kLeastBetweenWritesS, write_cost_ / kWriteShare)) renew_now(loops);
}

void Artifacts::renew_now(const Loops& loops) {
  if (parts_.options.tuner.verify == Verify::kOff) return;
  for (size_t m = 0; m < built_.size(); ++m) write_if_changed(m, loops.programs_of(m));
}

int Artifacts::count(size_t m, const Programs& programs) const {
  return static_cast<int>(
      std::count_if(built_[m].tasks.begin(), built_[m].tasks.end(), [&](const plan::TaskPlan& t) {
        return programs.contains(t.task) && t.from != plan::From::kRule;
      }));
}

std::vector<std::string> Artifacts::refused(size_t m) const {
  std::vector<std::string> out;
  for (const plan::TaskPlan& t : built_[m].tasks) {
    if (!t.refused.empty()) out.push_back(fmt::format("task {}: {}", t.task, t.refused));
  }
  return out;
}

}  // namespace tenon::tune
