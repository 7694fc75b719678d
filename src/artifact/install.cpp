// SPDX-License-Identifier: Apache-2.0
#include "artifact/install.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <set>

#include "artifact/manifest_file.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;

// True if everything in the folder was written with the artifact `name`.
bool holds_nothing_else(const fs::path& directory, const std::string& name) {
  const fs::path manifest = directory / (name + ".json");
  std::set<std::string> known;
  for (const FileEntry& file : listed_files(manifest)) {
    known.insert({file.name, manifest.filename().string()});
  }
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_directory() && !known.contains(fs::relative(entry.path(), directory))) {
      return false;
    }
  }
  return true;
}

bool exchange(const fs::path& a, const fs::path& b) {
  return renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

// The manifest last: until it is there, tools see the old one.
void move_files(const fs::path& made, const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(made)) {
    if (!entry.is_directory()) {
      files.push_back(fs::relative(entry.path(), made));
    }
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const bool a_last = a.extension() == ".json";
    const bool b_last = b.extension() == ".json";
    return a_last != b_last ? b_last : a < b;
  });
  for (const fs::path& file : files) {
    fs::create_directories((directory / file).parent_path());
    fs::rename(made / file, directory / file);
  }
}

// The parent is there afterwards, so that a folder can be made beside.
const fs::path& with_parent(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(
      fs::absolute(directory / "").lexically_normal().parent_path().parent_path(), error);
  if (error) {
    throw UserError(directory.string(), 0, 0, "cannot be written: " + error.message());
  }
  return directory;
}

}  // namespace

Sibling::Sibling(const fs::path& directory)
    : folder_(PrivateFolder::beside(with_parent(directory))), path_(folder_.path() / "artifact") {
  std::error_code error;
  if (!fs::create_directory(path_, error)) {
    throw UserError(directory.string(), 0, 0, "cannot be written: " + error.message());
  }
}

void install(const fs::path& made, const fs::path& directory, const std::string& name) {
  try {
    if (!fs::exists(fs::symlink_status(directory))) {
      fs::create_directories(fs::absolute(directory).parent_path());
      fs::rename(made, fs::absolute(directory).lexically_normal());
      return;
    }
    if (!fs::is_directory(directory)) {
      throw UserError(directory.string() + " is not a folder");
    }
    const fs::path place = fs::canonical(directory);
    if (!holds_nothing_else(place, name) || !exchange(made, place)) {
      move_files(made, place);
    }
  } catch (const fs::filesystem_error& e) {
    throw UserError(directory.string(), 0, 0, "cannot be written: " + e.code().message());
  }
}

}  // namespace tenon::artifact
