// SPDX-License-Identifier: Apache-2.0
#include "history/contest.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "history/train.h"

namespace tenon::history {
namespace {

using cost::Sample;

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(at_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point at_ = std::chrono::steady_clock::now();
};

struct Ranked {
  std::vector<float> scores;
  std::vector<Sample> samples;
};

Ranked of_network(const Ranked& all, const HeldNetwork& n) {
  Ranked out;
  for (size_t i = 0; i < all.samples.size(); ++i) {
    if (!n.tasks.contains(all.samples[i].task)) continue;
    out.scores.push_back(all.scores[i]);
    out.samples.push_back({{}, all.samples[i].task, all.samples[i].seconds});
  }
  return out;
}

// A task of several networks counts for each.
cost::Occurrences all_occurrences(const Split& split) {
  cost::Occurrences all;
  for (const HeldNetwork& n : split.networks) {
    for (const auto& [task, times] : n.tasks) all[task] += times;
  }
  return all;
}

void judge(const Ranked& all, const Split& split, Contestant& c) {
  const auto one = cost::ranking_quality(all.scores, all.samples, 1);
  const auto five = cost::ranking_quality(all.scores, all.samples, 5);
  c.pairwise = one.pairwise_accuracy;
  const cost::Occurrences occurrences = all_occurrences(split);
  c.pooled = {cost::top_k(all.scores, all.samples, 1, occurrences),
              cost::top_k(all.scores, all.samples, 5, occurrences)};
  c.mean = {one.top_k_score, five.top_k_score};
  if (split.networks.empty()) return;
  c.mean = {};
  const auto share = 1.0 / static_cast<double>(split.networks.size());
  for (const HeldNetwork& n : split.networks) {
    const Ranked own = of_network(all, n);
    c.mean.top1 += share * cost::top_k(own.scores, own.samples, 1, n.tasks);
    c.mean.top5 += share * cost::top_k(own.scores, own.samples, 5, n.tasks);
  }
}

}  // namespace

Split hold_out(const std::vector<Known>& tasks, std::vector<HeldNetwork> networks) {
  std::set<std::string> known;
  for (const Known& k : tasks) known.insert(k.computation());
  Split out;
  for (HeldNetwork& n : networks) {
    std::erase_if(n.tasks, [&](const auto& t) { return !known.contains(t.first); });
    for (const auto& [task, times] : n.tasks) out.held.insert(task);
    if (!n.tasks.empty()) out.networks.push_back(std::move(n));
  }
  return out;
}

Split hold_out(const std::vector<Known>& tasks, uint64_t fold) {
  return {held_out(tasks, fold), {}};
}

Contestant compete(const std::string& name, const std::vector<Known>& tasks, const Split& split,
                   const CompeteOptions& options) {
  const int threads = options.threads > 0
                          ? options.threads
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto model = cost::make_model(name, options.seed, threads);
  Contestant c;
  c.model = name;
  c.held_out = std::ssize(split.held);
  Clock clock;
  std::vector<Sample> known;
  Ranked asked;
  for (Sample& s : encode(*model, tasks, threads)) {
    if (split.held.contains(s.task)) {
      asked.samples.push_back(std::move(s));
    } else if (options.lessons == nullptr) {
      known.push_back(std::move(s));
    }
  }
  if (options.lessons != nullptr) known = encode(*model, *options.lessons, threads);
  std::erase_if(known, [&](const Sample& s) { return split.held.contains(s.task); });
  c.encode_s = clock.lap();
  model->learn(known, cost::Role::kHistory);
  c.train_s = clock.lap();
  c.trained = model->trained();
  c.learned = std::ssize(known);
  c.asked = std::ssize(asked.samples);
  std::vector<cost::Row> rows;
  for (Sample& s : asked.samples) rows.push_back(std::move(s.row));
  clock.lap();
  asked.scores = model->score(rows);
  c.score_s = clock.lap();
  judge(asked, split, c);
  return c;
}

}  // namespace tenon::history
