// SPDX-License-Identifier: Apache-2.0
#include "artifact/install.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
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

// A descriptor that holds the folder's lock; -1: somebody else does, or there are no locks here.
int lock(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// A folder of a minute is younger than the moment between its making and its locking.
void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  constexpr size_t kRandom = 6;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kRandom) {
      continue;
    }
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
    if (ignored || age < std::chrono::minutes(1)) {
      continue;
    }
    if (const int fd = lock(entry.path()); fd >= 0) {
      fs::remove_all(entry.path(), ignored);
      close(fd);
    }
  }
}

}  // namespace

Sibling::Sibling(const fs::path& directory) {
  fs::path whole = fs::absolute(directory).lexically_normal();
  if (!whole.has_filename()) {
    whole = whole.parent_path();
  }
  const std::string prefix = "." + whole.filename().string() + "-";
  std::error_code error;
  fs::create_directories(whole.parent_path(), error);
  std::string name = (whole.parent_path() / (prefix + "XXXXXX")).string();
  if (error || mkdtemp(name.data()) == nullptr) {
    throw UserError("cannot write into " + whole.parent_path().string());
  }
  chmod(name.c_str(), 0755);
  path_ = name;
  lock_ = lock(path_);
  remove_abandoned(whole.parent_path(), prefix);
}

Sibling::~Sibling() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) {
    close(lock_);
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
    fs::remove_all(made);
  } catch (const fs::filesystem_error& e) {
    throw UserError("cannot write " + directory.string() + ": " + e.code().message());
  }
}

}  // namespace tenon::artifact
