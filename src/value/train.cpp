// SPDX-License-Identifier: Apache-2.0
#include "value/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
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

cost::Sample sample_of(const Lesson& l, cost::Row row) {
  return {std::move(row), std::to_string(l.task), 1.0 / l.label};
}

std::unique_ptr<cost::CostModel> fit_judge(const std::vector<const Lesson*>& lessons,
                                           const TrainValueOptions& options) {
  if (options.judge.empty()) return nullptr;
  auto judge = cost::make_model(options.judge, options.seed, options.threads);
  std::vector<cost::Sample> samples;
  for (const Lesson* l : lessons) {
    if (!l->judged.values.empty()) samples.push_back(sample_of(*l, l->judged));
  }
  judge->learn(samples, cost::Role::kHistory);
  return judge->trained() ? std::move(judge) : nullptr;
}

// Complete programs of tasks that the network did not see.
struct Judged {
  const Lesson* lesson;
  float worth;
};

// As ValueFunction::settled does.
void settle(std::vector<Judged>& all, const cost::CostModel& judge) {
  for (Judged& j : all) {
    if (j.lesson->judged.values.empty()) continue;
    const float score = judge.score(std::span(&j.lesson->judged, 1))[0];
    j.worth = (j.worth + static_cast<float>(value_of_score(score))) / 2;
  }
}

std::vector<Judged> judge(const cost::AttentionNetwork& net, const cost::CostModel* second,
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
  if (second != nullptr) settle(out, *second);
  return out;
}

history::Scores scores_of(const std::vector<Judged>& judged) {
  if (judged.empty()) return {};
  std::vector<float> worth;
  std::vector<cost::Sample> samples;
  std::set<uint32_t> tasks;
  for (const Judged& j : judged) {
    worth.push_back(j.worth);
    samples.push_back(sample_of(*j.lesson, {}));
    tasks.insert(j.lesson->task);
  }
  const auto one = cost::ranking_quality(worth, samples, 1);
  const auto five = cost::ranking_quality(worth, samples, 5);
  return {one.top_k_score, five.top_k_score, one.pairwise_accuracy, std::ssize(tasks)};
}

// The program that the rules write for a task, and those predicted to be the best with its algorithm and with another.
struct Choice {
  const Judged *rule = nullptr, *same = nullptr, *other = nullptr;
};

std::vector<Choice> choices_of(const std::vector<Judged>& judged) {
  std::map<uint32_t, Choice> tasks;
  for (const Judged& j : judged) {
    Choice& c = tasks[j.lesson->task];
    if (j.lesson->by_rule && j.lesson->label > 0) c.rule = &j;
    const Judged*& best = j.lesson->other_algorithm ? c.other : c.same;
    if (best == nullptr || j.worth > best->worth) best = &j;
  }
  std::vector<Choice> out;
  for (const auto& [task, c] : tasks) {
    if (c.rule != nullptr) out.push_back(c);
  }
  return out;
}

struct Margins {
  double same = 0, other = 0;
};

// The mean of log(best / time) of what margins let be chosen; a failure counts as a tenth.
double chosen_with(const std::vector<Choice>& choices, const Margins& m) {
  double sum = 0;
  for (const Choice& c : choices) {
    const Judged* taken = c.rule;
    double worth = c.rule->worth;
    const auto offer = [&](const Judged* j, double margin) {
      if (j == nullptr || j->worth - margin <= worth) return;
      taken = j;
      worth = j->worth - margin;
    };
    offer(c.same, m.same);
    offer(c.other, m.other);
    sum += std::log(std::max(0.1F, taken->lesson->label));
  }
  return choices.empty() ? 0 : sum / static_cast<double>(choices.size());
}

Margins best_margins(const std::vector<Choice>& choices) {
  Margins best;
  for (double same = 0; same < 1; same += 0.02) {
    for (double other = same; other < 2; other += 0.05) {
      const Margins m{same, other};
      if (chosen_with(choices, m) > chosen_with(choices, best) + 1e-4) best = m;
    }
  }
  return best;
}

}  // namespace

TrainedValue train_value(const std::vector<history::Known>& tasks,
                         const TrainValueOptions& options) {
  LessonOptions how = options.lessons;
  const auto sees = options.judge.empty() ? nullptr : cost::make_model(options.judge, 0, 1);
  how.judge = sees.get();
  const std::vector<Lesson> lessons = lessons_of(tasks, how);
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
  auto second = fit_judge(known, options);
  const auto judged = judge(out.model.network, second.get(), held);
  const auto choices = choices_of(judged);
  out.held_out = scores_of(judged);
  const Margins margins = best_margins(choices);
  out.model.margin = margins.same;
  out.model.algorithm_margin = margins.other;
  out.rules = std::exp(chosen_with(choices, {1e9, 1e9}));
  out.chosen = std::exp(chosen_with(choices, margins));
  if (options.ship) {
    out.model.network = fit(all, options);
    second = fit_judge(all, options);
  }
  if (second != nullptr) out.model.judge = second->save();
  out.model.card = fmt::format(
      "{} programs of {} tasks; held out: top-1 {:.3f}, top-5 {:.3f}, pairs {:.3f}", out.programs,
      out.tasks, out.held_out.top1, out.held_out.top5, out.held_out.pairwise);
  return out;
}

}  // namespace tenon::value
