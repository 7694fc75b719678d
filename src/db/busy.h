// SPDX-License-Identifier: Apache-2.0
// Waiting for another process that writes to the same file.
//
//   Database::open(path, [](double waited_s) { return waited_s < 60; });   // a minute, then Busy
#pragma once

#include <functional>
#include <string>

#include "support/check.h"

namespace tenon::db {

// Asked several times a second, with the seconds so far; false: give up. Empty: ten seconds.
using WhileBusy = std::function<bool(double waited_s)>;

class Busy : public UserError {
 public:
  using UserError::UserError;
};

// Who holds the lock to write to a database: "tenon, process 4711"; empty: nobody, or it cannot be told.
std::string writer_of(const std::string& path);

}  // namespace tenon::db
