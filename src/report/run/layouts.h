// SPDX-License-Identifier: Apache-2.0
// What the database adds to the layouts that events tell of: words, shapes, and which ones the networks took.
#pragma once

#include <map>
#include <string>

#include "db/db.h"
#include "report/run/story.h"

namespace tenon::report {

// After the tasks of the story are known. `rows` by task key.
void finish_layouts(RunStory& story, const std::map<std::string, db::TaskRow>& rows);

}  // namespace tenon::report
