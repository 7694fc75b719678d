// SPDX-License-Identifier: Apache-2.0
// Records as JSON lines, for people, scripts and other machines:
//
//   {"schema":"tenon.records/1","tasks":1,"runs":1,"events":2,"measurements":40}
//   {"kind":"task","key":"9f0c...","label":"conv bias relu","flops":2.3e8,"edges":"","te":"input ..."}
//   {"kind":"run","id":"5d21...","command":"...","model":"...","started":"2026-01-02T03:04:05Z","finished":""}
//   {"kind":"event","run":"5d21...","at_s":1.5,"event":{"event":"round",...}}
//   {"kind":"measurement","task":"9f0c...","trace":[...],"outcome":"ok","median_s":0.00012,...}
//
// The first line's counts tell a whole file from one that was cut; without them any number is right. Files may be
// joined end to end.
#pragma once

#include <string>

#include "db/db.h"

namespace tenon::db {

inline constexpr const char* kRecordsSchema = "tenon.records/1";

std::string to_json_lines(const Rows& r);
// Throws UserError with the line: damaged, cut off, a newer schema, another kind of file.
Rows records_from_json_lines(const std::string& text, const std::string& file);

// All that a database holds.
Rows all_records(const Database& db);

// By how the file begins; a pipe is none.
bool is_database_file(const std::string& path);

}  // namespace tenon::db
