// SPDX-License-Identifier: Apache-2.0
// The tables, and how an older file becomes a newer one: migration i brings version i to i + 1.
#pragma once

#include <span>

#include "db/statement.h"

namespace tenon::db {

std::span<const char* const> migrations();
inline int schema_version() { return static_cast<int>(migrations().size()); }

// Brings the file to the current version in one transaction. Throws UserError: a newer version, another program's file.
void migrate(const Connection& c);

// The version of a file that is only read, which may be an older one; throws UserError like migrate, and if it is empty.
int readable_version(const Connection& c);

}  // namespace tenon::db
