// SPDX-License-Identifier: Apache-2.0
#include "files/file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "support/check.h"

namespace tenon::files {
namespace {

struct Close {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw UserError(path, 0, 0, fmt::format("cannot be {}: {}", what, std::strerror(errno)));
}

void write_all(FILE* file, std::string_view bytes, const std::string& path) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fflush(file) != 0) {
    fail(path, "written");
  }
}

// Devices and pipes are written as they are; a rename would replace them.
bool is_special(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

}  // namespace

std::string read_file(const std::string& path) {
  const File owned(path == "-" ? nullptr : std::fopen(path.c_str(), "rb"));
  FILE* const file = path == "-" ? stdin : owned.get();
  if (file == nullptr) {
    fail(path, "read");
  }
  std::string bytes;
  struct stat info {};
  if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode)) {
    bytes.reserve(static_cast<size_t>(info.st_size));
  }
  char block[1 << 16];
  errno = 0;
  for (size_t n = std::fread(block, 1, sizeof block, file); n > 0;
       n = std::fread(block, 1, sizeof block, file)) {
    bytes.append(block, n);
  }
  if (std::ferror(file) != 0) {
    fail(display_name(path), "read");
  }
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    write_all(stdout, bytes, "stdout");
    return;
  }
  const bool direct = is_special(path);
  const std::string written = direct ? path : fmt::format("{}.tmp{}", path, getpid());
  File file(std::fopen(written.c_str(), "wb"));
  if (file == nullptr) {
    fail(path, "written");
  }
  try {
    write_all(file.get(), bytes, path);
    if (std::fclose(file.release()) != 0 ||
        (!direct && std::rename(written.c_str(), path.c_str()) != 0)) {
      fail(path, "written");
    }
  } catch (...) {
    if (!direct) {
      std::remove(written.c_str());
    }
    throw;
  }
}

std::string display_name(const std::string& path) { return path == "-" ? "stdin" : path; }

}  // namespace tenon::files
