// SPDX-License-Identifier: Apache-2.0
#include "db/claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/check.h"
#include "support/hash.h"

namespace tenon::db {
namespace {

// Beside the file itself, whatever links lead to it.
std::string claim_file(const std::string& database, const std::string& command,
                       const std::string& model) {
  std::error_code missing;
  const auto file = std::filesystem::weakly_canonical(database, missing);
  return fmt::format("{}-run-{:016x}", missing ? database : file.string(),
                     Hasher().add(command + "\n" + model).value());
}

bool same_file(int fd, const std::string& path) {
  struct stat a = {};
  struct stat b = {};
  return fstat(fd, &a) == 0 && stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

[[noreturn]] void taken(const std::string& path) {
  std::string pid;
  std::getline(std::ifstream(path), pid);
  throw UserError(fmt::format("the same command is running already{}",
                              pid.empty() ? "" : fmt::format(", as process {}", pid)),
                  "wait for it or stop it; with another --seed it is a run of its own");
}

}  // namespace

RunClaim::RunClaim(const std::string& database, const std::string& command,
                   const std::string& model)
    : path_(claim_file(database, command, model)) {
  while (!take()) {
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  // Only for people: a claim without a number is one, too.
  if (ftruncate(fd_, 0) != 0 || write(fd_, pid.data(), pid.size()) < 0) return;
}

bool RunClaim::take() {
  fd_ = open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) {
    throw UserError(path_, 0, 0, fmt::format("cannot be made: {}", strerror(errno)),
                    "its folder must be writable, or use another database (--db)");
  }
  // File systems without locks let everybody in, as if each were alone.
  const bool locked = flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (locked && same_file(fd_, path_)) return true;
  close(fd_);
  fd_ = -1;
  if (!locked) taken(path_);
  return false;
}

RunClaim::~RunClaim() {
  unlink(path_.c_str());  // while it is locked: whoever opened it before looks again
  close(fd_);
}

}  // namespace tenon::db
