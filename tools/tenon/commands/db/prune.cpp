// SPDX-License-Identifier: Apache-2.0
// tenon db prune: keeping a database small.
#include <fmt/format.h>

#include <iostream>

#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

void confirm(const DbVerbOptions& options, int64_t rows, const Console& console) {
  if (options.yes || rows == 0) return;
  if (!options.ask) {
    throw UserError(fmt::format("{} measurements would be removed; nothing was", grouped(rows)),
                    "--yes removes them, --dry-run only counts");
  }
  console.error("question", fmt::format("remove {} measurements from {}? [y/N]", grouped(rows),
                                        db_file(options.db)));
  std::string word;
  std::getline(std::cin, word);
  if (word != "y" && word != "Y" && word != "yes") throw UserError("nothing was removed");
}

}  // namespace

int db_prune(const DbVerbOptions& options, const Console& console) {
  const auto db = options.dry_run
                      ? open_db_to_read(options.db)
                      : open_existing_db(options.db, wait_for_writer(options.db, console));
  const history::Selection s = select(*db, with_host(options.select));
  int64_t rows = 0, before = 0;
  for (const auto& [key, groups] : s.keys) {
    rows += db->prunable({key.task, key.target, key.protocol, s.run}, options.keep);
    for (const db::Group& g : groups) before += g.count;
  }
  if (!options.dry_run) {
    confirm(options, rows, console);
    rows = 0;
    for (const auto& [key, groups] : s.keys) {
      rows += db->prune({key.task, key.target, key.protocol, s.run}, options.keep);
    }
    if (rows > 0) db->compact();
  }
  const Json answer = {
      {"schema", "tenon.db/1"},     {"verb", "prune"}, {"file", db_file(options.db)},
      {"dry_run", options.dry_run}, {"removed", rows}, {"kept", before - rows}};
  console.answer(console.json() ? tools::to_text(answer)
                                : fmt::format("{}: {} of {} measurements {}\n", db_file(options.db),
                                              grouped(rows), grouped(before),
                                              options.dry_run ? "would be removed" : "removed"));
  return kExitOk;
}

}  // namespace tenon::tools
