// SPDX-License-Identifier: Apache-2.0
// The last words of a tuning run: what came of it, and why nothing did.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/db.h"
#include "tools/tenon/commands/tune/progress.h"
#include "tools/tenon/json.h"
#include "tune/session.h"

namespace tenon::tools {

// A line per model.
std::string summary_text(const tune::Summary& s, const TuneProgress& p);
Json summary_json(const tune::Summary& s, const TuneProgress& p,
                  const tune::SessionOptions& options);

// Of a run that was interrupted: "8:18 of budget left", "144 of 200 trials left".
std::string what_is_left(const tune::Summary& s, const tune::SessionOptions& options);

struct Reproducer {
  tune::TaskTuner::Reason reason;
  std::string label, command;
};
// Writes the expression and the trace of each reason into `folder`, so that the command can be
// pasted.
std::vector<Reproducer> write_reproducers(const std::vector<tune::TaskTuner::Reason>& reasons,
                                          const db::Database& db,
                                          const std::filesystem::path& folder, int threads);

}  // namespace tenon::tools
