// SPDX-License-Identifier: Apache-2.0
#include "tune/run_model.h"

#include <algorithm>

#include "history/model_file.h"
#include "neural/models.h"
#include "search/strategy/scoring.h"
#include "support/check.h"
#include "tune/tuner.h"

namespace tenon::tune {
namespace {

constexpr int kRankedAmong = 5;  // k of the ranking quality, at most

}  // namespace

void RunModel::add(const task::Task& t, const space::Program& p, double seconds) {
  if (!told_.emplace(t.key, p.hash).second) return;
  auto row = model_->encode(search::subject_of(t, p));
  // Worth is relative to the best of what computes the same, under whatever layouts: so layouts
  // compare.
  if (row) added_.push_back({std::move(row.value()), task::key_of(*t.dag), seconds});
}

void RunModel::train() {
  model_->learn(added_, cost::Role::kThisRun);
  added_.clear();
}

cost::RankingQuality RunModel::ranking(const task::Task& t,
                                       std::span<const space::Program> programs,
                                       std::span<const double> seconds) const {
  std::vector<cost::Row> rows;
  std::vector<cost::Sample> truth;
  for (size_t i = 0; i < seconds.size(); ++i) {
    auto row = model_->encode(search::subject_of(t, programs[i]));
    if (!row) continue;
    rows.push_back(std::move(row.value()));
    truth.push_back({{}, t.key, seconds[i]});
  }
  const int k = std::max(1, std::min(kRankedAmong, static_cast<int>(truth.size()) / 4));
  return cost::ranking_quality(model_->score(rows), truth, k);
}

std::shared_ptr<RunModel> make_run_model(const TunerOptions& o) {
  const neural::CompileNetworks how{.cache = o.networks, .threads = threads_of(o)};
  if (o.cost_model_file.empty()) {
    return std::make_shared<RunModel>(neural::make_model(o.cost_model, o.seed, how));
  }
  const std::string bytes = history::model_bytes(o.cost_model_file);
  try {
    return std::make_shared<RunModel>(neural::load_model(bytes, o.seed, how));
  } catch (const UserError& e) {
    throw UserError(o.cost_model_file, 0, 0, e.what());
  }
}

}  // namespace tenon::tune
