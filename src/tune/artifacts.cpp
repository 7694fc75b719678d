// SPDX-License-Identifier: Apache-2.0
#include "tune/artifacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "support/check.h"

namespace tenon::tune {
namespace {

namespace fs = std::filesystem;

constexpr double kWriteShare = 0.05;  // of the time, for renewing artifacts
constexpr double kLeastBetweenWritesS = 5;
// A write that shares its cores with as many builders takes so many times as long as at the end, when nobody builds.
constexpr double kSlowerBeside = 2;

std::map<std::string, std::string> traces_of(const Programs& programs) {
  std::map<std::string, std::string> out;
  for (const auto& [key, p] : programs) out[key] = p.trace;
  return out;
}

void copy_files(const artifact::Written& w, const fs::path& to) {
  for (const std::string& file : w.files) {
    std::error_code why;
    fs::create_directories((to / file).parent_path(), why);
    if (!why) fs::copy_file(w.directory / file, to / file, why);
    if (why)
      throw UserError(fmt::format("{} cannot be written: {}", (to / file).string(), why.message()));
  }
}

}  // namespace

Artifacts::Artifacts(SessionParts& parts, const Networks& networks)
    : parts_(parts),
      networks_(networks),
      has_default_(parts.models.size()),
      written_(parts.models.size()),
      built_(parts.models.size()),
      writing_(parts.models.size()) {}

// At once where every core may do anything at any time.
std::launch Artifacts::how_beside_rounds() const {
  const bool any_core = parts_.measurer.overlaps() && parts_.measurer.spare_cpus().empty();
  return any_core ? std::launch::async : std::launch::deferred;
}

artifact::Written Artifacts::write_to(const fs::path& directory, const artifact::Program& p) const {
  return artifact::write(p, {directory, parts_.options.outputs, parts_.options.compile.threads});
}

fs::path Artifacts::default_place(size_t m) const { return defaults_.path() / std::to_string(m); }

Artifacts::Made Artifacts::make(size_t m, const plan::NetworkPlan& plan,
                                bool keep_as_default) const {
  const auto start = std::chrono::steady_clock::now();
  const artifact::Program p = networks_.build(m, plan);
  const artifact::Written w = write_to(parts_.models[m].directory, p);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (keep_as_default) copy_files(w, default_place(m));
  return {p.plan, took.count()};
}

void Artifacts::begin(size_t m, const Programs& programs, std::launch how) {
  finish(m);
  const bool is_default = programs.empty() && !networks_.replanned(m) && has_default_[m] == 0;
  writing_[m] = {how, traces_of(programs), is_default,
                 std::async(how, [this, m, plan = networks_.plan_with(m, programs), is_default] {
                   return make(m, plan, is_default);
                 })};
}

bool Artifacts::is_open(size_t m) const {
  const std::future<Made>& made = writing_[m].made;
  return made.valid() && made.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
}

void Artifacts::finish(size_t m) {
  Writing& w = writing_[m];
  if (!w.made.valid()) return;
  const Model& model = parts_.models[m];
  const double before = parts_.watch.now();
  Made made = parts_.watch.time("write", [&] { return w.made.get(); });
  built_[m] = std::move(made.plan);
  written_[m] = std::move(w.traces);
  if (w.is_default) has_default_[m] = 1;
  last_write_ = parts_.watch.now();
  const bool beside = w.how == std::launch::async;
  const double took_s = beside ? made.seconds : last_write_ - before;
  write_cost_ = beside ? took_s / kSlowerBeside : took_s;
  most_write_cost_ = std::max(most_write_cost_, write_cost_);
  parts_.log.tell(events::ArtifactWritten{model.name, model.directory.string(),
                                          std::ssize(written_[m]), took_s});
}

fs::path Artifacts::default_of(size_t m) {
  finish(m);
  if (has_default_[m] == 0) {
    parts_.watch.time(
        "write", [&] { write_to(default_place(m), networks_.build(m, networks_.first_plan())); });
    has_default_[m] = 1;
  }
  return default_place(m);
}

int64_t Artifacts::defaults_missing() const {
  return std::count(has_default_.begin(), has_default_.end(), 0);
}

void Artifacts::write(size_t m, const Programs& programs) {
  begin(m, programs, std::launch::deferred);
  finish(m);
}

void Artifacts::write_if_changed(size_t m, const Programs& programs) {
  finish(m);
  if (traces_of(programs) != written_[m]) write(m, programs);
}

void Artifacts::write_all(const Loops& loops) {
  const std::launch how = how_beside_rounds();
  for (size_t m = 0; m < built_.size(); ++m) {
    begin(m, loops.programs_of(m), how);
    if (how == std::launch::deferred) finish(m);
  }
}

void Artifacts::renew(const Loops& loops) {
  for (size_t m = 0; m < built_.size(); ++m) {
    if (is_open(m)) return;
    finish(m);
  }
  if (parts_.options.tuner.verify == Verify::kOff) return;
  const double since = parts_.watch.now() - last_write_;
  if (since < std::max(kLeastBetweenWritesS, write_cost_ / kWriteShare)) return;
  const std::launch how = how_beside_rounds();
  for (size_t m = 0; m < built_.size(); ++m) {
    const Programs programs = loops.programs_of(m);
    if (traces_of(programs) == written_[m]) continue;
    begin(m, programs, how);
    if (how == std::launch::deferred) finish(m);
  }
}

void Artifacts::renew_now(const Loops& loops) {
  for (size_t m = 0; m < built_.size(); ++m) {
    finish(m);
    if (parts_.options.tuner.verify == Verify::kOff) continue;
    write_if_changed(m, loops.programs_of(m));
  }
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
