// SPDX-License-Identifier: Apache-2.0
// What the records of tuning say of a network's steps.
#pragma once

#include <string>

#include "db/db.h"
#include "report/network/network.h"

namespace tenon::report {

// Conversions then cost what their best verified record of this target and protocol says, where
// there is one.
void add_records(Network& network, const db::Database& db, const std::string& target,
                 const std::string& protocol);

}  // namespace tenon::report
