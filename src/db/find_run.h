// SPDX-License-Identifier: Apache-2.0
// The run that somebody means.
//
//   find_run(db, "last");   // the newest
//   find_run(db, "5d21");   // the one whose id begins so
#pragma once

#include <string>

#include "db/db.h"

namespace tenon::db {

// The id that `text` means: an id, the beginning of one, or "last" (also if it is empty). Throws
// UserError: none, or several.
std::string find_run(const Database& db, const std::string& text);

}  // namespace tenon::db
