// SPDX-License-Identifier: Apache-2.0
#include "history/train.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "support/hash.h"
#include "support/parallel.h"

namespace tenon::history {
namespace {

constexpr uint64_t kSeed = 1;  // one for all: who trains makes no difference

uint64_t draw(const std::string& key) { return Hasher().add(key).value(); }

int threads_of(int threads) {
  return threads > 0 ? threads
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// A task says something about ranking where two programs of it have different times.
bool can_be_ranked(const Known& k) {
  return k.entries.size() >= 2 && std::isfinite(k.entries[0].seconds) &&
         k.entries[0].seconds < k.entries.back().seconds;
}

Scores held_out_scores(const std::string& model, const std::vector<cost::Sample>& samples,
                       const std::set<std::string>& held, int threads) {
  std::vector<cost::Sample> known, asked;
  for (const cost::Sample& s : samples) (held.contains(s.task) ? asked : known).push_back(s);
  const auto learner = cost::make_model(model, kSeed, threads);
  learner->learn(known, cost::Role::kHistory);
  return learner->trained() ? score(*learner, asked) : Scores{};
}

// Scores of a model that ships, on held-out tasks; none where it knows one of them.
Scores scores_of_shipped(const ModelFile& shipped, const std::vector<cost::Sample>& samples,
                         const std::set<std::string>& held, int threads) {
  const std::vector<std::string>& known = shipped.card.tasks;
  const auto is_held = [&](const std::string& task) { return held.contains(task); };
  if (std::any_of(known.begin(), known.end(), is_held)) return {};
  std::vector<cost::Sample> asked;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(asked),
               [&](const cost::Sample& s) { return is_held(s.task); });
  const auto model = cost::make_model(shipped.card.model, kSeed, threads);
  try {
    model->load(shipped.bytes);
  } catch (const UserError&) {  // whoever would use it says so
    return {};
  }
  return score(*model, asked);
}

}  // namespace

bool is_held_out(const std::string& key, uint64_t fold) { return draw(key) % kFolds == fold; }

std::set<std::string> held_out(const std::vector<Known>& tasks, uint64_t fold) {
  std::set<std::string> out;
  std::string first;  // in the order of draws
  std::set<std::string> ranked;
  for (const Known& k : tasks) {
    if (!can_be_ranked(k)) continue;
    ranked.insert(k.computation());
    const std::string key = k.computation();
    if (is_held_out(key, fold)) out.insert(key);
    if (first.empty() || draw(key) < draw(first)) first = key;
  }
  if (ranked.size() < 2) return {};
  if (out.empty() || out.size() == ranked.size()) out = {first};
  return out;
}

Card card_of(const Where& where, const cost::CostModel& model,
             const std::vector<std::string>& computations, int64_t rows) {
  Card c;
  c.model = model.name();
  c.target = where.measured;
  c.protocol = where.protocol;
  c.triple = where.target->triple;
  c.vector_bytes = where.target->is_cpu() ? where.target->cpu().vector_bytes : 0;
  c.features = encoding_of(model);
  c.tenon = TENON_VERSION;
  c.rows = rows;
  const std::set<std::string> known(computations.begin(), computations.end());
  c.tasks.assign(known.begin(), known.end());
  return c;
}

std::vector<cost::Sample> encode(const cost::CostModel& model, const std::vector<Known>& tasks,
                                 int threads) {
  struct One {
    const Known* known;
    const Entry* entry;
    size_t task;
  };
  std::vector<One> all;
  std::vector<std::string> computations;
  for (const Known& k : tasks) {
    for (const Entry& e : k.entries) all.push_back({&k, &e, computations.size()});
    computations.push_back(k.computation());
  }
  std::vector<cost::Sample> samples(all.size());
  for_each_parallel(all.size(), threads, [&](size_t i) {
    const auto& [known, entry, task] = all[i];
    auto row = model.encode({.task = known->task,
                             .trace = entry->trace,
                             .choices = entry->choices.empty() ? nullptr : &entry->choices});
    if (row) samples[i] = {std::move(row.value()), computations[task], entry->seconds};
  });
  std::erase_if(samples, [](const cost::Sample& s) { return s.task.empty(); });
  return samples;
}

Scores score(const cost::CostModel& model, const std::vector<cost::Sample>& samples) {
  std::vector<cost::Row> rows;
  std::set<std::string> tasks;
  for (const cost::Sample& s : samples) {
    rows.push_back(s.row);
    tasks.insert(s.task);
  }
  if (rows.empty()) return {};
  const auto worth = model.score(rows);
  const auto one = cost::ranking_quality(worth, samples, 1);
  const auto five = cost::ranking_quality(worth, samples, 5);
  return {one.top_k_score, five.top_k_score, one.pairwise_accuracy, std::ssize(tasks)};
}

Scores held_out_scores(const std::string& model, const std::vector<Known>& tasks, int threads) {
  const int n = threads_of(threads);
  const auto held = held_out(tasks);
  if (held.empty()) return {};
  return held_out_scores(model, encode(*cost::make_model(model, kSeed, n), tasks, n), held, n);
}

Trained train(const db::Database& db, const Where& where, const TrainOptions& options) {
  const int threads = threads_of(options.limits.threads);
  const auto model = cost::make_model(options.model, kSeed, threads);
  const Records records = read_records(db, where, options.limits);
  Trained out{std::nullopt, records.rows, records.left_out, records.why};
  const auto samples = encode(*model, records.tasks, threads);
  model->learn(samples, cost::Role::kHistory);
  if (!model->trained()) return out;
  std::vector<std::string> computations;
  for (const Known& k : records.tasks) computations.push_back(k.computation());
  Card card = card_of(where, *model, computations, records.rows);
  card.records = std::ssize(samples);
  card.trained_at = options.now;
  const auto held = held_out(records.tasks);
  if (!held.empty()) {
    card.scores = held_out_scores(options.model, samples, held, threads);
    if (options.shipped != nullptr)
      card.shipped = scores_of_shipped(*options.shipped, samples, held, threads);
  }
  out.file = ModelFile{std::move(card), model->save()};
  return out;
}

}  // namespace tenon::history
