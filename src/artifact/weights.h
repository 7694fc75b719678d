// SPDX-License-Identifier: Apache-2.0
// The weights of a program as a file: a header of 64 bytes (runtime/model.h), then every weight at its offset, zeros
// between.
#pragma once

#include <filesystem>

#include "artifact/program.h"
#include "support/sha256.h"

namespace tenon::artifact {

// The digest of what follows the header. Nothing is written when the program has no weights. Throws UserError when the
// disk does not take it.
Sha256::Digest write_weights(const Program& program, const std::filesystem::path& path);

}  // namespace tenon::artifact
