// SPDX-License-Identifier: Apache-2.0
#include "tune/honest_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/check.h"
#include "tune/best_schedules.h"
#include "tune/events.h"

namespace tenon::tune {
namespace {

namespace fs = std::filesystem;

constexpr double kReferenceS = 0.5;
constexpr double kMostDifference = 1e-2;  // of outputs; kernels are held to much less

// Empty: what was tuned is kept.
std::string why_default(const measure::NetworkTimes& t) {
  if (!t.error.empty()) return t.error;
  if (t.difference > kMostDifference) {
    return fmt::format("outputs differ by {:.2g}", t.difference);
  }
  if (t.low > 1) return "";
  // A tie is no gain: what was tuned is kept only where it is faster beyond doubt.
  return t.ratio < 1
             ? "the whole network was not faster"
             : fmt::format("no significant gain ({:.2f} to {:.2f} times as fast)", t.low, t.high);
}

}  // namespace

HonestEnd::HonestEnd(SessionParts& parts, Networks& networks, Loops& loops, Artifacts& artifacts,
                     Ending& ending)
    : parts_(parts), networks_(networks), loops_(loops), artifacts_(artifacts), ending_(ending) {}

void HonestEnd::find_references() {
  if (parts_.options.tuner.scheduler.objective != Objective::kSpeedup) return;
  for (size_t m = 0; m < networks_.size(); ++m) {
    double& reference_s = loops_.found.specs[m].reference_s;
    if (reference_s > 0) continue;
    const std::string& name = parts_.models[m].name;
    const fs::path plain = artifacts_.default_of(m);
    const measure::NetworkTimes t = parts_.timer.compare(
        plain, plain, {.threads = parts_.options.threads, .seconds = kReferenceS});
    if (!t.error.empty()) throw UserError("the default of " + name + ": " + t.error);
    reference_s = t.a_s;
  }
}

// Tasks whose tuned steps take longer inside the network than the default's.
std::vector<std::string> HonestEnd::losers(size_t m, const measure::NetworkTimes& t) const {
  const std::vector<std::string>& steps = loops_.found.steps[m];
  std::vector<std::string> out;
  if (t.a_steps_s.size() != steps.size() || t.b_steps_s.size() != steps.size()) return out;
  std::map<std::string, std::pair<double, double>> sums;
  for (size_t s = 0; s < steps.size(); ++s) {
    sums[steps[s]].first += t.a_steps_s[s];
    sums[steps[s]].second += t.b_steps_s[s];
  }
  for (const auto& [key, s] : sums) {
    if (s.second >= s.first) out.push_back(key);
  }
  return out;
}

void HonestEnd::compare_once(size_t m, const fs::path& plain, ModelSummary& s) {
  const measure::NetworkOptions how{parts_.options.threads, ending_.compare_s(), {}};
  const double before = parts_.watch.now();
  s.times = parts_.watch.time(
      "network", [&] { return parts_.timer.compare(plain, parts_.models[m].directory, how); });
  ending_.compared(parts_.watch.now() - before);
}

// To write the network once more and compare it again.
bool HonestEnd::has_time() const {
  return ending_.has_time_for(artifacts_.write_cost() + ending_.comparison_s());
}

// Against the default's artifact; programs that lose inside the network are dropped from `chosen`, if there is time to
// compare what is left.
void HonestEnd::compare(size_t m, const fs::path& plain, ModelSummary& s, Programs& chosen) {
  compare_once(m, plain, s);
  if (networks_.replanned(m) || !s.times.error.empty()) return;
  Programs winners = chosen;
  for (const std::string& key : losers(m, s.times)) winners.erase(key);
  if (winners.size() == chosen.size() || (!winners.empty() && !has_time())) return;
  chosen = std::move(winners);
  artifacts_.write(m, chosen);
  if (!chosen.empty()) compare_once(m, plain, s);
}

// The best that records have for the tasks that were there at first.
Programs HonestEnd::without_searches(size_t m) {
  networks_.plans[m] = networks_.first_plan();
  std::vector<std::string>& steps = loops_.found.steps[m];
  steps = networks_.steps(m);
  const plan::NetworkPlan known = best_records(parts_.db, parts_.options.compile.target,
                                               parts_.machine(), parts_.measurer.protocol())
                                      .plan;
  Programs out;
  for (const std::string& key : steps) {
    const plan::TaskPlan* program = known.find(key);
    if (program != nullptr && program->has_program) out[key] = *program;
  }
  return out;
}

// Compares, and once more without pairs and layouts where those did not pay and time is left.
Programs HonestEnd::settle(size_t m, const fs::path& plain, ModelSummary& s) {
  Programs chosen = loops_.programs_of(m);
  artifacts_.write_if_changed(m, chosen);
  compare(m, plain, s, chosen);
  if (!networks_.replanned(m) || why_default(s.times).empty() || !has_time()) return chosen;
  chosen = without_searches(m);
  artifacts_.write(m, chosen);
  compare(m, plain, s, chosen);
  return chosen;
}

ModelSummary HonestEnd::summary_of(size_t m, const std::string& kept) const {
  const Model& model = parts_.models[m];
  ModelSummary s{model.name, model.directory, {}, kept, 0, 0, {}};
  for (const double w : loops_.found.specs[m].weights) s.tasks += w > 0 ? 1 : 0;
  return s;
}

ModelSummary HonestEnd::leave(size_t m) const {
  return summary_of(m, loops_.programs_of(m).empty()
                           ? "default: nothing better was found"
                           : "default: what was found came too late to be compared with it (the "
                             "same command again begins with it)");
}

ModelSummary HonestEnd::judge(size_t m) {
  ModelSummary s = summary_of(m, "default: nothing better was found");
  const bool changed = networks_.replanned(m) || !loops_.programs_of(m).empty();
  if (!changed || parts_.options.tuner.verify == Verify::kOff) return s;
  const fs::path plain = artifacts_.default_of(m);
  const Programs chosen = settle(m, plain, s);
  const bool gained = networks_.replanned(m) || !chosen.empty();
  const std::string why = gained ? why_default(s.times) : "no task gained inside the network";
  s.kept = why.empty() ? "tuned" : "default: " + why;
  s.tuned = why.empty() ? artifacts_.count(m, chosen) : 0;
  if (!why.empty() && (networks_.replanned(m) || artifacts_.has_programs(m))) {
    networks_.plans[m] = networks_.first_plan();
    artifacts_.write(m, {});
  }
  parts_.log.tell(network_compared(s));
  return s;
}

}  // namespace tenon::tune
