// SPDX-License-Identifier: Apache-2.0
#include "db/busy.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tenon::db {
namespace {

// "fd:01:5678", as the kernel names a file there.
std::string locked_name(const std::string& path) {
  struct stat s = {};
  if (stat(path.c_str(), &s) != 0) return "";
  return fmt::format("{:02x}:{:02x}:{}", major(s.st_dev), minor(s.st_dev), s.st_ino);
}

// SQLite keeps its lock to write at this byte of the file of shared memory beside the database.
constexpr const char* kWriteByte = "120";

}  // namespace

std::string writer_of(const std::string& path) {
  const std::string file = locked_name(path), shared = locked_name(path + "-shm");
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, pid, name, first, last;
    words >> number >> kind >> advisory >> access >> pid >> name >> first >> last;
    const bool writes = name == file || (name == shared && first == kWriteByte);
    if (access != "WRITE" || name.empty() || !writes || pid == std::to_string(getpid())) continue;
    std::string program;
    std::getline(std::ifstream("/proc/" + pid + "/comm"), program);
    return fmt::format("{}process {}", program.empty() ? "" : program + ", ", pid);
  }
  return "";
}

}  // namespace tenon::db
