// SPDX-License-Identifier: Apache-2.0
// The weights of a program as a file: every weight at its offset, zeros between, and a trailer of 64
// bytes (runtime/model.h).
#pragma once

#include <filesystem>
#include <string>

#include "artifact/program.h"
#include "support/sha256.h"

namespace tenon::artifact {

struct WrittenWeights {
  Sha256::Digest sha256 = {};       // of the weights, which the trailer and the library carry
  uint64_t checksum = 0;            // of the weights, of runtime/checksum.h
  Sha256::Digest file_sha256 = {};  // of the whole file
  int64_t file_bytes = 0;
};

// Nothing is written when the program has no weights. Throws UserError that names the file as `shown` when the disk does
// not take it.
WrittenWeights write_weights(const Program& program, const std::filesystem::path& path,
                             const std::string& shown);

}  // namespace tenon::artifact
