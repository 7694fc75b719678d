// SPDX-License-Identifier: Apache-2.0
// tenon model score: how well a model ranks programs of tasks that it did not learn from.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "files/file.h"
#include "history/train.h"
#include "runtime/cpus.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

constexpr uint64_t kSeed = 1;

// A file with its model, and the tasks that it learned from, as far as it says.
struct Given {
  std::unique_ptr<cost::CostModel> model;
  std::set<std::string> learned;
  bool has_card = false;
};

Given read_given(const std::string& file) {
  const std::string text = files::read_file(file);
  try {
    Given g;
    std::string bytes = text;
    if (history::is_model_file(text)) {
      const history::ModelFile m = history::parse_model_file(text);
      g.learned.insert(m.card.tasks.begin(), m.card.tasks.end());
      g.has_card = true;
      bytes = m.bytes;
    }
    g.model = cost::load_model(bytes, kSeed, runtime::default_threads());
    return g;
  } catch (const UserError& e) {
    throw UserError(files::display_name(file), 0, 0, e.what());
  }
}

history::Scores score_file(const Given& g, std::vector<history::Known> tasks) {
  std::erase_if(tasks,
                [&](const history::Known& k) { return g.learned.contains(k.computation()); });
  return history::score(*g.model, history::encode(*g.model, tasks, runtime::default_threads()));
}

}  // namespace

int model_score(const ModelVerbOptions& o, const Console& console) {
  std::optional<Given> given;
  if (!o.file.empty()) given = read_given(o.file);
  const auto db = open_db_to_read(o.db);
  Json list = Json::array();
  std::string text;
  for (const Machine& m : machines(*db, o.select)) {
    const auto known = history::read_records(*db, m.where).tasks;
    const history::Scores s =
        given ? score_file(*given, known) : history::held_out_scores(o.cost_model, known, 0);
    list.push_back({{"target", m.where.measured},
                    {"protocol", m.where.protocol},
                    {"tasks", known.size()},
                    {"scores", scores_json(s)}});
    text += fmt::format("{}; {}\n  {}\n", escaped(m.where.measured), escaped(m.where.protocol),
                        scores_text(s));
  }
  if (given && !given->has_card) {
    console.note(o.file + " does not say what it learned from: it may have seen these tasks");
  }
  const std::string model = given ? std::string(given->model->name()) : o.cost_model;
  console.answer(
      console.json()
          ? to_text(Json{
                {"schema", "tenon.model/1"}, {"verb", "score"}, {"model", model}, {"models", list}})
          : text);
  return kExitOk;
}

}  // namespace tenon::tools
