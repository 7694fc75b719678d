// SPDX-License-Identifier: Apache-2.0
// tenon model export: a model as a file for --cost-model of another machine.
#include <fmt/format.h>

#include <vector>

#include "files/file.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

history::ModelFile find_one(const ModelVerbOptions& o) {
  const auto folder = history::models_folder(db_file(o.db));
  std::vector<history::ModelFile> found;
  std::string damaged;
  for (const auto& path : history::model_files(folder)) {
    history::FoundModel m = history::read_model(path);
    if (!m.file) {
      damaged = fmt::format("{}: {}", path.string(), m.why);
      continue;
    }
    const history::Card& c = m.file->card;
    const bool meant = c.model == o.cost_model && matches_target(c.target, with_host(o.select)) &&
                       c.protocol.find(o.select.protocol) != std::string::npos;
    if (meant) found.push_back(*std::move(m.file));
  }
  if (found.empty()) {
    throw UserError(fmt::format("there is no such trained model in {}", folder.string()),
                    damaged.empty() ? "tenon model train makes one" : damaged);
  }
  if (found.size() > 1) {
    std::string names;
    for (const history::ModelFile& m : found) {
      names += (names.empty() ? "" : " | ") + m.card.target + "; " + m.card.protocol;
    }
    throw UserError(fmt::format("{} trained models are meant", found.size()),
                    "--target and --protocol choose one of: " + names);
  }
  return std::move(found[0]);
}

}  // namespace

int model_export(const ModelVerbOptions& o, const Console& console) {
  const history::ModelFile m = find_one(o);
  files::write_file(o.file, to_text(m));
  if (o.file == "-") return kExitOk;
  Json j = {{"schema", "tenon.model/1"}, {"verb", "export"}, {"file", o.file}};
  j.update(card_json(m.card));
  console.answer(console.json() ? to_text(j)
                                : fmt::format("{}  {} of {} records, {} tasks\n", escaped(o.file),
                                              m.card.model, grouped(m.card.records),
                                              grouped(std::ssize(m.card.tasks))));
  return kExitOk;
}

}  // namespace tenon::tools
