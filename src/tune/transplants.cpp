// SPDX-License-Identifier: Apache-2.0
#include "tune/transplants.h"

#include <algorithm>
#include <set>

#include "history/transplant.h"
#include "tune/tuner.h"

namespace tenon::tune {
namespace {

constexpr size_t kMostPrograms = 8;
constexpr size_t kMostTasks = 6;
constexpr const char* kValue = "value";

}  // namespace

void Transplants::add_instant(const value::Instant& instant, const space::Space& space, size_t most,
                              std::vector<space::Program>& to) {
  const auto chosen = instant.choose(space.task());
  if (!chosen) return;
  nearest_.emplace_back(kValue);
  std::vector<const space::Program*> best{&chosen->taken.look.program};
  for (const value::Found& f : chosen->others) best.push_back(&f.look.program);
  for (size_t i = 0; i < std::min(most, best.size()); ++i) {
    from_.emplace(best[i]->hash, kValue);
    to.push_back(*best[i]);
  }
}

void Transplants::add_alike(history::KnownPrograms& known, const space::Space& space, size_t most,
                            std::vector<space::Program>& to) {
  const auto nearest = known.nearest(space.task(), kMostTasks);
  for (const history::KnownTask& t : nearest) nearest_.push_back(t.key);
  for (history::Transplant& t : history::transplants(space, nearest, most)) {
    if (from_.emplace(t.program.hash, t.task).second) to.push_back(std::move(t.program));
  }
}

void Transplants::begin(history::KnownPrograms* known, const value::Instant* instant,
                        const space::Space& space, search::Strategy& strategy, size_t round) {
  if (begun_) return;
  begun_ = true;
  const size_t most = std::min(kMostPrograms, round / 4);
  std::vector<space::Program> programs;
  if (instant != nullptr) add_instant(*instant, space, most, programs);
  if (known != nullptr) add_alike(*known, space, most, programs);
  if (!programs.empty()) strategy.begin_with(std::move(programs));
}

std::optional<events::Transplanted> Transplants::told(const std::string& task,
                                                      std::span<const space::Program> proposed,
                                                      std::span<const task::Measurement> measured,
                                                      const TaskResult& result) const {
  events::Transplanted e{.task = task, .from = {}, .s = {}, .best_s = result.best_s, .trace = ""};
  std::set<std::string> keys;
  for (size_t i = 0; i < std::min(proposed.size(), measured.size()); ++i) {
    const auto it = from_.find(proposed[i].hash);
    if (it == from_.end()) continue;
    ++e.tried;
    keys.insert(it->second);
    if (!has_time(measured[i])) continue;
    ++e.ok;
    if (e.s && *e.s <= measured[i].median_s) continue;
    e.s = measured[i].median_s;
    e.trace = measured[i].trace;
  }
  for (const std::string& key : nearest_) {
    if (keys.erase(key) > 0) e.from.push_back(key);
  }
  return e.tried == 0 ? std::nullopt : std::optional(std::move(e));
}

}  // namespace tenon::tune
