// SPDX-License-Identifier: Apache-2.0
#include "value/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "cost/model.h"
#include "history/train.h"
#include "support/check.h"
#include "value/rows.h"

namespace tenon::value {
namespace {

constexpr size_t kFewest = 64;  // programs; fewer teach nothing

cost::AttentionNetwork fit(const std::vector<const Lesson*>& lessons,
                           const TrainValueOptions& options) {
  const cost::AttentionTrainer trainer = cost::find_attention_trainer();
  if (trainer.functions == nullptr) {
    throw UserError("value functions are trained by the plug-in tenon-torch: " + trainer.why,
                    "install libtorch-dev and build the target tenon-torch");
  }
  cost::RowsLessons rows;
  for (const Lesson* l : lessons) {
    rows.sets.push_back(l->rows);
    rows.labels.push_back(l->label);
    rows.tasks.push_back(l->task);
  }
  cost::TrainRows how;
  how.loss = options.rank ? TENON_LOSS_RANK : TENON_LOSS_VALUE;
  how.epochs = options.epochs;
  how.batch = options.batch;
  how.seed = options.seed;
  how.threads = options.threads;
  auto net =
      cost::fresh_attention_network({row_columns(), options.width, options.heads, 1}, options.seed);
  cost::train(*trainer.functions, rows, how, net);
  return net;
}

// Complete programs of tasks that the network did not see.
struct Judged {
  const Lesson* lesson;
  float worth;
};

std::vector<Judged> judge(const cost::AttentionNetwork& net,
                          const std::vector<const Lesson*>& lessons) {
  const auto scorer = cost::plain_rows_scorer(net, cost::Keep::kForThisRun);
  std::vector<Judged> out;
  std::vector<cost::Row> rows;
  for (const Lesson* l : lessons) {
    if (!l->complete) continue;
    out.push_back({l, 0});
    rows.push_back(l->rows);
  }
  const auto worth = scorer->score(rows, 0);
  for (size_t i = 0; i < out.size(); ++i) out[i].worth = worth[i];
  return out;
}

history::Scores scores_of(const std::vector<Judged>& judged) {
  if (judged.empty()) return {};
  std::vector<float> worth;
  std::vector<cost::Sample> samples;
  std::set<uint32_t> tasks;
  for (const Judged& j : judged) {
    worth.push_back(j.worth);
    samples.push_back({{}, std::to_string(j.lesson->task), 1.0 / j.lesson->label});
    tasks.insert(j.lesson->task);
  }
  const auto one = cost::ranking_quality(worth, samples, 1);
  const auto five = cost::ranking_quality(worth, samples, 5);
  return {one.top_k_score, five.top_k_score, one.pairwise_accuracy, std::ssize(tasks)};
}

// Of one task: the program of the rules, and what is predicted to be the best.
struct Pair {
  Judged rule, best;
};

std::vector<Pair> pairs_of(const std::vector<Judged>& judged) {
  std::map<uint32_t, std::pair<const Judged*, const Judged*>> tasks;
  for (const Judged& j : judged) {
    auto& [rule, best] = tasks[j.lesson->task];
    if (j.lesson->by_rule && j.lesson->label > 0) rule = &j;
    if (best == nullptr || j.worth > best->worth) best = &j;
  }
  std::vector<Pair> out;
  for (const auto& [task, two] : tasks) {
    if (two.first != nullptr) out.push_back({*two.first, *two.second});
  }
  return out;
}

// The mean of log(best / time) of what a margin lets be chosen; a failure counts as a tenth.
double chosen_with(const std::vector<Pair>& pairs, double margin) {
  double sum = 0;
  for (const Pair& p : pairs) {
    const bool take = p.best.worth > p.rule.worth + margin;
    sum += std::log(std::max(0.1F, (take ? p.best : p.rule).lesson->label));
  }
  return pairs.empty() ? 0 : sum / static_cast<double>(pairs.size());
}

double best_margin(const std::vector<Pair>& pairs) {
  double margin = 0;
  for (double m = 0; m < 1.0; m += 0.02) {
    if (chosen_with(pairs, m) > chosen_with(pairs, margin) + 1e-4) margin = m;
  }
  return margin;
}

}  // namespace

TrainedValue train_value(const std::vector<history::Known>& tasks,
                         const TrainValueOptions& options) {
  const std::vector<Lesson> lessons = lessons_of(tasks, options.lessons);
  TrainedValue out;
  std::vector<const Lesson*> all, known, held;
  std::set<uint32_t> taught;
  for (const Lesson& l : lessons) {
    all.push_back(&l);
    (history::is_held_out(tasks[l.task].computation()) ? held : known).push_back(&l);
    out.programs += l.complete ? 1 : 0;
    taught.insert(l.task);
  }
  out.lessons = std::ssize(lessons);
  out.tasks = std::ssize(taught);
  if (out.programs < static_cast<int64_t>(kFewest) || known.empty()) {
    throw UserError(fmt::format("{} programs are too few to learn from", out.programs),
                    "gather more with tenon gather");
  }
  out.model.network = fit(known, options);
  const auto judged = judge(out.model.network, held);
  const auto pairs = pairs_of(judged);
  out.held_out = scores_of(judged);
  out.model.margin = best_margin(pairs);
  out.rules = std::exp(chosen_with(pairs, 1e9));
  out.chosen = std::exp(chosen_with(pairs, out.model.margin));
  if (options.ship) out.model.network = fit(all, options);
  out.model.card = fmt::format(
      "{} programs of {} tasks; held out: top-1 {:.3f}, top-5 {:.3f}, pairs {:.3f}", out.programs,
      out.tasks, out.held_out.top1, out.held_out.top5, out.held_out.pairwise);
  return out;
}

}  // namespace tenon::value
