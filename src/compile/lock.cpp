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
    for (const auto& task : lock.at("tasks")) {
      read.schedules[task.at("task").get<std::string>()] = {task.at("trace").get<std::string>(),
                                                            task.at("origin").get<std::string>()};
    }
    // Not there in files of earlier versions.
    if (lock.contains("layouts")) read.layouts = lock.at("layouts").get<Layouts>();
    if (lock.contains("pairs")) read.pairs = lock.at("pairs").get<Pairs>();
  } catch (const nlohmann::json::exception& e) {
    throw UserError(file, 0, 0, std::string("this is no lock file: ") + e.what());
  }
  return read;
}

void use_lock(Options& options, const std::string& path) {
  Lock lock = read_lock(path);
  options.schedules = std::move(lock.schedules);
  options.pairs = std::move(lock.pairs);
  options.layouts = std::move(lock.layouts);
}

}  // namespace tenon::compile
