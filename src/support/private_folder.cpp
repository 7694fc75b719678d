// SPDX-License-Identifier: Apache-2.0
#include "support/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "support/check.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = ".tenon-folder";
constexpr const char* kRandom = "XXXXXX";
constexpr size_t kMostOfName = 200;           // of the destination's: names have 255 bytes
constexpr const char* kTemporary = "tenon-";  // what all of them in TMPDIR begin with

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Signals wait while a folder has no marker: nobody could say whose it is.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Undisturbed() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t before_;
};

// A copy of the folder, or one that was renamed, has another name than its marker says: it is somebody's own.
std::string marker_text(const fs::path& folder) {
  return fmt::format("tenon made the folder {} and may remove it\n", folder.filename().string());
}

// Locked before the text is there: whoever reads the whole text finds the lock taken. On disks without locks the
// marker stays without one, and nobody else can take it either.
int make_marker(const fs::path& folder) {
  const fs::path file = folder / kMarker;
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  [[maybe_unused]] const int unlocked = flock(fd, LOCK_EX | LOCK_NB);
  const std::string text = marker_text(folder);
  const ssize_t written = write(fd, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return fd;
  if (written >= 0) errno = ENOSPC;
  close(fd);
  return -1;
}

bool is_own_folder(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

bool is_marker(int fd, const fs::path& folder) {
  const std::string want = marker_text(folder);
  std::string text(want.size() + 1, '\0');
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
         read(fd, text.data(), text.size()) == static_cast<ssize_t>(want.size()) &&
         text.compare(0, want.size(), want) == 0;
}

// Another process that cleans up may have removed it between the opening and the locking.
bool is_still_there(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

// The marker last: whoever is killed on the way leaves what the next one still knows.
void empty_and_remove(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename() != kMarker) entries.push_back(entry.path());
  }
  for (const fs::path& entry : entries) fs::remove_all(entry, ignored);
  const Undisturbed undisturbed;
  fs::remove(folder / kMarker, ignored);
  fs::remove(folder, ignored);
}

void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) remove_if_abandoned(entry.path());
  }
}

fs::path whole_path(const fs::path& destination) {
  const fs::path whole = fs::absolute(destination).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

}  // namespace

PrivateFolder::PrivateFolder(const fs::path& pattern) {
  const Undisturbed undisturbed;
  std::string name = pattern.string();
  if (mkdtemp(name.data()) == nullptr) return;
  marker_ = make_marker(name);
  if (marker_ >= 0) {
    path_ = name;
    return;
  }
  const int why = errno;
  unlink((name + "/" + kMarker).c_str());
  rmdir(name.c_str());
  errno = why;
}

PrivateFolder PrivateFolder::beside(const fs::path& destination) {
  const fs::path whole = whole_path(destination);
  const std::string prefix = "." + whole.filename().string().substr(0, kMostOfName) + "-";
  remove_abandoned(whole.parent_path(), prefix);
  PrivateFolder folder(whole.parent_path() / (prefix + kRandom));
  if (folder.path_.empty()) {
    throw UserError(destination.string(), 0, 0,
                    fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  return folder;
}

PrivateFolder PrivateFolder::temporary(const std::string& purpose) {
  const fs::path place = temporary_place();
  remove_abandoned(place, kTemporary);
  PrivateFolder folder(place / fmt::format("{}{}-{}", kTemporary, purpose, kRandom));
  if (folder.path_.empty()) {
    throw UserError(place.string(), 0, 0,
                    fmt::format("no temporary folder can be made here: {}", std::strerror(errno)),
                    "TMPDIR names another place");
  }
  return folder;
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), marker_(std::exchange(other.marker_, -1)) {}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) empty_and_remove(path_);
  if (marker_ >= 0) close(marker_);
}

bool remove_if_abandoned(const fs::path& folder) {
  const Descriptor place(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (place.get() < 0 || !is_own_folder(place.get())) return true;
  const Descriptor marker(
      openat(place.get(), kMarker, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (marker.get() < 0 || !is_marker(marker.get(), folder)) return true;
  if (flock(marker.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (is_still_there(marker.get())) empty_and_remove(folder);
  return true;
}

fs::path temporary_place() {
  std::error_code error;
  fs::path place = fs::temp_directory_path(error);
  if (!error) return place;
  const char* named = getenv("TMPDIR");  // the standard library reads it too, but does not say it
  throw UserError(fmt::format("TMPDIR names '{}', which is no folder: {}",
                              named == nullptr ? "" : named, error.message()),
                  "make it, or let TMPDIR name another folder");
}

}  // namespace tenon
