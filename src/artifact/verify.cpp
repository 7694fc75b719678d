// SPDX-License-Identifier: Apache-2.0
#include "artifact/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "artifact/library.h"
#include "artifact/manifest_file.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Names come from the manifest: none may lead out of its folder.
bool stays_inside(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  return !name.empty() && path.is_relative() && *path.begin() != "..";
}

FileState check_file(const ManifestFile& manifest, const FileEntry& written) {
  FileState state{written.name, 0, ""};
  std::error_code error;
  if (!stays_inside(written.name)) {
    state.problem = "does not lie in the folder of the manifest";
  } else if (!fs::is_regular_file(manifest.directory() / written.name, error)) {
    state.problem = "is not there";
  } else {
    const FileEntry found = describe_file(manifest.directory(), written.name);
    state.bytes = found.bytes;
    if (found.bytes != written.bytes) {
      state.problem =
          fmt::format("has {} bytes, not {} as its manifest says", found.bytes, written.bytes);
    } else if (found.sha256 != written.sha256) {
      state.problem = "has another SHA-256 than its manifest says";
    }
  }
  return state;
}

void add_problem(Verified& v, const std::string& file, const std::string& problem) {
  const auto it = std::find_if(v.files.begin(), v.files.end(),
                               [&](const FileState& f) { return f.name == file; });
  if (it == v.files.end()) {
    v.files.push_back({file, 0, problem});
  } else if (it->problem.empty()) {
    it->problem = problem;
  }
}

bool is_whole(const Verified& v, const std::string& file) {
  return std::any_of(v.files.begin(), v.files.end(),
                     [&](const FileState& f) { return f.name == file && f.problem.empty(); });
}

// The hash inside the library counts, not the list on disk.
void check_weights(Verified& v, const ManifestFile& manifest, const Json& inside) {
  const std::string name = manifest.name + ".weights";
  if (!inside.contains("weights") || !inside.at("weights").contains("file")) {
    return;  // there are none, or they are part of the library
  }
  if (manifest.find(name) == nullptr) {
    add_problem(v, name, "is not listed in the manifest");
  } else if (is_whole(v, name)) {
    const int64_t bytes = inside.at("memory").at("weights_bytes");
    const FileEntry weights = describe_file(manifest.directory(), name, bytes);
    if (inside.at("weights").at("sha256") != weights.sha256) {
      add_problem(v, name, "has other weights than the library was written with");
    }
  }
}

std::set<std::string> tasks_in(const Json& list) {
  std::set<std::string> tasks;
  for (const Json& entry : list) {
    tasks.insert(entry.at("task").get<std::string>());
    if (entry.contains("also")) {
      for (const Json& other : entry.at("also")) tasks.insert(other.get<std::string>());
    }
  }
  return tasks;
}

// The part of a lock file that is about one target: of a library for several, one of its levels.
const Json& part_of(const Json& lock, const std::string& target) {
  const auto levels = lock.find("levels");
  if (lock.at("target") == target || levels == lock.end()) return lock;
  const auto it = std::find_if(levels->begin(), levels->end(),
                               [&](const Json& level) { return level.at("target") == target; });
  return it == levels->end() ? lock : *it;
}

// From the lock file the same library can be built again: it decides about the same tasks.
void check_lock(Verified& v, const ManifestFile& manifest, const Json& inside) {
  const std::string name = manifest.name + ".lock";
  if (manifest.find(name) == nullptr) {
    add_problem(v, name, "is not listed in the manifest");
  }
  if (!is_whole(v, name)) {
    return;
  }
  try {
    const Json whole = Json::parse(read_small_file(manifest.directory() / name));
    const std::string target = inside.at("target").at("name");
    const Json& lock = part_of(whole, target);
    if (lock.at("name") != manifest.name || lock.at("target") != target) {
      add_problem(v, name, "is of another model or target");
    } else if (tasks_in(lock.at("tasks")) != tasks_in(inside.at("kernels"))) {
      add_problem(v, name, "has schedules of other tasks than the library computes");
    }
  } catch (const Json::exception&) {
    add_problem(v, name, "is no lock file");
  }
}

void check_library(Verified& v, const ManifestFile& manifest) {
  const std::string name = manifest.library().filename();
  if (manifest.find(name) == nullptr) {
    v.not_loaded = "no shared library was emitted";
    return;
  }
  if (!is_whole(v, name)) {
    return;
  }
  if (!is_for_this_machine(manifest.library())) {
    v.not_loaded = fmt::format("{} was compiled for {}", name, manifest.target);
    return;
  }
  try {
    const Library library(manifest);
    const Json inside = Json::parse(library.manifest());
    check_weights(v, manifest, inside);
    check_lock(v, manifest, inside);
  } catch (const UserError& e) {
    add_problem(v, manifest.path.filename(), fmt::format("does not fit: {}", e.what()));
  }
}

}  // namespace

size_t Verified::problems() const {
  return static_cast<size_t>(std::count_if(files.begin(), files.end(),
                                           [](const FileState& f) { return !f.problem.empty(); }));
}

Verified verify(const fs::path& path) {
  const ManifestFile manifest = read_manifest(find_manifest(path));
  Verified v{manifest.name, manifest.path, {}, ""};
  for (const FileEntry& file : manifest.files) {
    v.files.push_back(check_file(manifest, file));
  }
  check_library(v, manifest);
  return v;
}

}  // namespace tenon::artifact
