// SPDX-License-Identifier: Apache-2.0
// tenon model train: models out of all records of a database, now.
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "history/train.h"
#include "history/train_machines.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct Row {
  Machine machine;
  history::Trained trained;
  std::string file;
  double seconds = 0;
};

history::Limits limits_of(const ModelVerbOptions& o) {
  if (o.records > 0) return records_limits(o.records);
  return o.cost_model == "tlp" ? records_limits(INT64_MAX) : history::Limits{};
}

// The one machine that a name means.
history::Where find_also(const db::Database& db, const std::string& name) {
  const size_t semicolon = name.find("; ");
  history::SelectionOptions select;
  select.target = name.substr(0, semicolon);
  if (semicolon != std::string::npos) select.protocol = name.substr(semicolon + 2);
  const auto found = machines(db, select);
  if (found.size() > 1) {
    throw UserError(
        fmt::format("--also {}: {} machines have such a name", name, found.size()),
        fmt::format("the first two: {}; {} | {}; {}", found[0].where.measured,
                    found[0].where.protocol, found[1].where.measured, found[1].where.protocol));
  }
  return found[0].where;
}

history::Trained train_model(const db::Database& db, const Machine& machine,
                             const ModelVerbOptions& o) {
  const auto now = static_cast<int64_t>(std::time(nullptr));
  if (o.also.empty() && o.labels == 1) {
    return history::train(db, machine.where,
                          {.model = o.cost_model, .now = now, .limits = limits_of(o)});
  }
  if (o.cost_model != "tlp") throw UserError("--also and --labels are for --cost-model tlp");
  std::vector<history::Where> all = {machine.where};
  for (const std::string& name : o.also) all.push_back(find_also(db, name));
  return history::train_machines(db, all, {.now = now, .labels = o.labels, .limits = limits_of(o)});
}

Row train_one(const db::Database& db, const Machine& machine, const ModelVerbOptions& o) {
  const auto begin = std::chrono::steady_clock::now();
  Row r{machine, {}, history::model_path(db_file(o.db), machine.where, o.cost_model).string()};
  r.trained = train_model(db, machine, o);
  if (r.trained.file) history::write_model(r.file, *r.trained.file);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return r;
}

Json row_json(const Row& r) {
  Json j = r.trained.file ? card_json(r.trained.file->card)
                          : Json{{"target", r.machine.where.measured},
                                 {"protocol", r.machine.where.protocol},
                                 {"problem", "too few programs ran"}};
  j["rows"] = r.trained.rows;
  j["left_out"] = r.trained.left_out;
  j["seconds"] = r.seconds;
  j["file"] = r.trained.file ? Json(r.file) : Json();
  return j;
}

std::string row_text(const Row& r) {
  const history::Where& w = r.machine.where;
  std::string text = fmt::format("{}; {}\n", escaped(w.measured), escaped(w.protocol));
  if (!r.trained.file) {
    return text + fmt::format("  {} records are too few to learn from\n", grouped(r.trained.rows));
  }
  const history::Card& c = r.trained.file->card;
  text += fmt::format("  {}  {} of {} records, {} tasks, {:.1f} s\n  {}\n  {}\n", c.model,
                      grouped(c.records), grouped(c.rows), grouped(std::ssize(c.tasks)), r.seconds,
                      scores_text(c.scores), escaped(r.file));
  if (r.trained.left_out > 0) {
    text += fmt::format("  {} records cannot be read, the first: {}\n", grouped(r.trained.left_out),
                        escaped(r.trained.why));
  }
  return text;
}

}  // namespace

int model_train(const ModelVerbOptions& o, const Console& console) {
  if (o.cost_model == "random") throw UserError("--cost-model random: it learns nothing");
  const auto db = open_db_to_read(o.db);
  Json list = Json::array();
  std::string text;
  for (const Machine& m : machines(*db, o.select)) {
    if (!m.known) {
      console.note(
          fmt::format("{}: a machine that tenon does not know; its programs are read as if they "
                      "were for this one",
                      m.where.measured));
    }
    const Row r = train_one(*db, m, o);
    list.push_back(row_json(r));
    text += row_text(r);
  }
  console.answer(
      console.json()
          ? to_text(Json{{"schema", "tenon.model/1"}, {"verb", "train"}, {"models", list}})
          : text);
  return kExitOk;
}

}  // namespace tenon::tools
