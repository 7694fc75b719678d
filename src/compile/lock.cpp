// SPDX-License-Identifier: Apache-2.0
#include "compile/lock.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "files/file.h"

namespace tenon::compile {
namespace {

namespace fs = std::filesystem;

fs::path lock_file_of(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".lock") return entry.path();
  }
  throw UserError(path.string(), 0, 0, "there is no lock file in this folder");
}

void read_task(const nlohmann::json& entry, const std::string& file, Lock& lock) {
  std::string task;
  try {
    task = entry.at("task").get<std::string>();
    lock.schedules[task] = {entry.at("trace").get<std::string>(),
                            entry.at("origin").get<std::string>()};
  } catch (const nlohmann::json::exception& e) {
    if (task.empty()) {
      lock.nameless.push_back(file + ": a task has no name that can be read: " + e.what());
    } else {
      lock.refused[task] = "its entry is damaged: " + std::string(e.what());
    }
  }
}

}  // namespace

Lock read_lock(const std::string& path) {
  const std::string file = lock_file_of(path).string();
  Lock read;
  try {
    const auto lock = nlohmann::json::parse(files::read_file(file));
    if (lock.at("schema") != artifact::kLockSchema) {
      throw UserError(file, 0, 0,
                      std::string("this is no lock file of schema ") + artifact::kLockSchema);
    }
    for (const auto& entry : lock.at("tasks")) read_task(entry, file, read);
    // Not there in files of earlier versions.
    if (lock.contains("layouts")) read.layouts = lock.at("layouts").get<Layouts>();
    if (lock.contains("pairs")) read.pairs = lock.at("pairs").get<DepthwisePointwise>();
  } catch (const nlohmann::json::exception& e) {
    throw UserError(file, 0, 0, std::string("this is no lock file: ") + e.what());
  }
  return read;
}

void use_lock(Options& options, const std::string& path) {
  Lock lock = read_lock(path);
  options.schedules = std::move(lock.schedules);
  options.refused = std::move(lock.refused);
  options.pairs = std::move(lock.pairs);
  options.layouts = std::move(lock.layouts);
  if (!options.warn) return;
  for (const std::string& damaged : lock.nameless) options.warn(damaged);
}

}  // namespace tenon::compile
