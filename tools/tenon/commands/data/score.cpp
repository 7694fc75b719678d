// SPDX-License-Identifier: Apache-2.0
// tenon data score: models on the same records, ranked by how they do on tasks that they did not learn from.
#include <fmt/format.h>

#include "history/contest.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/data/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

// How often a network has each of its tasks.
history::HeldNetwork held_network(const std::string& file, const Console& console) {
  ModelOptions o;
  o.path = file;
  const Planned p = plan_model(o, "", console);
  history::HeldNetwork out{file, {}};
  for (const int32_t task : p.network.task_of) {
    if (task < 0) continue;
    out.tasks[task::key_of(*p.network.tasks[static_cast<size_t>(task)].task.dag)] += 1;
  }
  return out;
}

Json contestant_json(const history::Contestant& c) {
  return {
      {"model", c.model},         {"trained", c.trained},         {"learned", c.learned},
      {"asked", c.asked},         {"held_out", c.held_out},       {"top1_mean", c.mean.top1},
      {"top5_mean", c.mean.top5}, {"top1_pooled", c.pooled.top1}, {"top5_pooled", c.pooled.top5},
      {"pairwise", c.pairwise},   {"encode_s", c.encode_s},       {"train_s", c.train_s},
      {"score_s", c.score_s}};
}

std::string contestant_text(const history::Contestant& c) {
  return fmt::format("  {:<12} {:>6.3f} {:>6.3f}   {:>6.3f} {:>6.3f}   {:>6.3f}  {:>8.1f}{}\n",
                     c.model, c.mean.top1, c.mean.top5, c.pooled.top1, c.pooled.top5, c.pairwise,
                     c.train_s, c.trained ? "" : "  not trained");
}

struct Answer {
  Json machines = Json::array();
  std::string text;
};

// The tasks to learn from; nothing where the options ask for all that there are.
std::optional<std::vector<history::Known>> lessons_of(const Machine& m, const db::Database& db,
                                                      const db::Database* learn_from,
                                                      const DataVerbOptions& o) {
  if (learn_from == nullptr && o.records == 0) return std::nullopt;
  const history::Limits limits = o.records > 0 ? records_limits(o.records) : limits_of(o);
  return history::read_records(learn_from == nullptr ? db : *learn_from, m.where, limits).tasks;
}

void score_machine(const Machine& m, const db::Database& db, const db::Database* learn_from,
                   const DataVerbOptions& o, const std::vector<history::HeldNetwork>& networks,
                   Answer& answer) {
  const auto tasks = history::read_records(db, m.where, limits_of(o)).tasks;
  const auto lessons = lessons_of(m, db, learn_from, o);
  const history::Split split =
      networks.empty() ? history::hold_out(tasks, o.fold) : history::hold_out(tasks, networks);
  Json models = Json::array();
  answer.text += fmt::format("{}; {}\n", escaped(m.where.measured), escaped(m.where.protocol));
  if (split.held.empty()) {
    answer.text += "  no task can be held out\n";
  } else {
    answer.text += fmt::format(
        "  {:<12} {:^13}   {:^13}   pairs   train s\n  {:<12} top-1  top-5    top-1  top-5\n", "",
        split.networks.empty() ? "mean of tasks" : "mean of nets", "pooled", "");
    for (const std::string& name : o.cost_models) {
      const auto c = history::compete(name, tasks, split,
                                      {.lessons = lessons ? &*lessons : nullptr, .seed = o.seed});
      if (models.empty()) {
        answer.text += fmt::format("  on {} held-out tasks, {} programs; learned from {}\n",
                                   c.held_out, grouped(c.asked), grouped(c.learned));
      }
      answer.text += contestant_text(c);
      models.push_back(contestant_json(c));
    }
  }
  answer.machines.push_back({{"target", m.where.measured},
                             {"protocol", m.where.protocol},
                             {"tasks", tasks.size()},
                             {"models", models}});
}

}  // namespace

int data_score(const DataVerbOptions& o, const Console& console) {
  const auto db = open_data(o);
  std::vector<history::HeldNetwork> networks;
  for (const std::string& file : o.networks) networks.push_back(held_network(file, console));
  Answer answer;
  std::unique_ptr<db::Database> learn_from;
  if (!o.learn_from.empty()) learn_from = open_files(o.learn_from);
  for (const Machine& m : machines(*db, o.select)) {
    score_machine(m, *db, learn_from.get(), o, networks, answer);
  }
  console.answer(console.json() ? to_text(Json{{"schema", "tenon.data/1"},
                                               {"verb", "score"},
                                               {"seed", o.seed},
                                               {"fold", o.fold},
                                               {"machines", answer.machines}})
                                : answer.text);
  return kExitOk;
}

}  // namespace tenon::tools
