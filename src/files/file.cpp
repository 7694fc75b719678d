// SPDX-License-Identifier: Apache-2.0
#include "files/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "support/output_file.h"
#include "support/private_folder.h"

namespace tenon::files {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw UserError(path, 0, 0, fmt::format("cannot be {}: {}", what, std::strerror(errno)));
}

void write_and_close(OutputFile file, std::string_view bytes) {
  file.write(bytes);
  file.close();
}

// A rename would replace them; /dev/stdout is a link to whatever it stands for.
bool is_written_in_place(const std::string& path) {
  struct stat info {};
  const bool special = lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
                       !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode);
  return special || path.starts_with("/dev/") || path.starts_with("/proc/");
}

// Who may read a file does not change because its content does.
void keep_permissions(const std::string& from, const std::string& to) {
  struct stat info {};
  if (lstat(from.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    chmod(to.c_str(), info.st_mode & 0777);
  }
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

void replace_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  const PrivateFolder folder = PrivateFolder::beside(path);
  const std::string made = (folder.path() / "file").string() + fs::path(path).extension().string();
  write(made);
  keep_permissions(path, made);
  if (std::rename(made.c_str(), path.c_str()) != 0) {
    fail(path, "written");
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    write_stdout(bytes);
  } else if (is_written_in_place(path)) {
    write_and_close({open(path.c_str(), O_WRONLY | O_CLOEXEC), path}, bytes);
  } else {
    replace_file(path, [&](const std::string& made) {
      write_and_close(OutputFile::create(made, path), bytes);
    });
  }
}

std::string write_new_file(const std::string& pattern, std::string_view bytes) {
  std::string path = pattern;
  const size_t behind = pattern.size() - (pattern.rfind('X') + 1);
  const int fd = mkostemps(path.data(), static_cast<int>(behind), O_CLOEXEC);
  try {
    write_and_close({fd, path}, bytes);
  } catch (const UserError&) {
    if (fd >= 0) {
      unlink(path.c_str());
    }
    throw;
  }
  return path;
}

void write_stdout(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0) {
    return;
  }
  const int why = errno;
  const std::string what = fmt::format("stdout cannot be written: {}", std::strerror(why));
  if (why == EPIPE) {
    throw ReaderLeft(what);
  }
  throw UserError(what);
}

std::string display_name(const std::string& path) { return path == "-" ? "stdin" : path; }

}  // namespace tenon::files
