// SPDX-License-Identifier: Apache-2.0
// The tables, and how an older file becomes a newer one: migration i brings version i to i + 1.
#pragma once

#include <span>

#include "db/statement.h"

namespace tenon::db {

std::span<const char* const> migrations();
inline int schema_version() { return static_cast<int>(migrations().size()); }

// Brings the file to the current version in one transaction; a newer one is a UserError.
void migrate(const Connection& c);

}  // namespace tenon::db
