// SPDX-License-Identifier: Apache-2.0
// A manifest is what a library says about itself, as JSON. It lies beside the library as NAME.json, and inside it.
#pragma once

#include <string>
#include <vector>

#include "artifact/file_entry.h"
#include "artifact/kernels.h"
#include "artifact/program.h"
#include "support/sha256.h"

namespace tenon::artifact {

inline constexpr const char* kManifestSchema = "tenon.artifact/1";

// The features of the CPU that the program's code may use, as rows of runtime/cpu_check.h. Throws UserError for a
// feature that no row knows.
uint64_t cpu_needs(const target::Target& t);

std::string manifest_text(const Program& program, const std::vector<CompiledKernel>& kernels,
                          uint64_t needs, const Sha256::Digest& weights_sha256,
                          bool embedded = false);
// The same of a program that was not compiled: without what only machine code and weights tell.
std::string manifest_text(const Program& program);

// `levels` are the manifests of a library for several instruction sets, the best last. The result is the manifest of the best
// with all of them under "levels", by the names of their targets; a single manifest stays as it is.
std::string with_levels(const std::vector<std::string>& levels);

// The manifest with a list of the files that lie beside it.
std::string with_files(const std::string& manifest, const std::vector<FileEntry>& files);

}  // namespace tenon::artifact
