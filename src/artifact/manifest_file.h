// SPDX-License-Identifier: Apache-2.0
// A manifest as it lies on disk. It says which library it belongs to and how its files were written; all else in it is
// a copy of what the library says itself, and must be the same.
//
//   manifest_difference(inside, on_disk) == "/inputs/0/shape/1 is 17 in the library and 4000 in the manifest"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "artifact/manifest.h"

namespace tenon::artifact {

struct ManifestFile {
  std::filesystem::path path;  // absolute
  std::string text;            // JSON
  std::string name;            // of the model, and of the file without its extension
  std::string target;
  std::vector<FileEntry> files;

  std::filesystem::path directory() const { return path.parent_path(); }
  std::filesystem::path library() const { return directory() / ("lib" + name + ".so"); }
  const FileEntry* find(const std::string& file) const;  // nullptr: it is not listed
};

// Empty where there is no regular file of a size that a manifest can have: reading a pipe would wait.
std::string read_small_file(const std::filesystem::path& path);

// The manifest of the artifact that a folder holds; a file is taken for one. Throws UserError: none, or several.
std::filesystem::path find_manifest(const std::filesystem::path& path);

// Throws UserError if it is none, or one of another model than the file is named after.
ManifestFile read_manifest(const std::filesystem::path& path);

// Tells where the manifest that a library carries and the one on disk differ first; empty if they do not. Both are
// JSON objects, and the list of files is left out.
std::string manifest_difference(const std::string& in_library, const std::string& on_disk);

// Gives the part of a manifest with levels (with_levels) that is about one target, or all of a manifest without levels.
std::string level_of(const std::string& manifest, const std::string& target);

// The entries of the list of files; empty where the file is no manifest.
std::vector<FileEntry> listed_files(const std::filesystem::path& manifest);

}  // namespace tenon::artifact
