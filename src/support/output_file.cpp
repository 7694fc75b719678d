// SPDX-License-Identifier: Apache-2.0
#include "support/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/check.h"

namespace tenon {

OutputFile OutputFile::create(const std::filesystem::path& path, std::string shown) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return {open(path.c_str(), kNew, 0666), std::move(shown)};
}

OutputFile::OutputFile(int descriptor, std::string shown)
    : descriptor_(descriptor), shown_(std::move(shown)) {
  if (descriptor_ < 0) fail();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), shown_(std::move(other.shown_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) fail();
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void OutputFile::fail() const {
  throw UserError(shown_, 0, 0, fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace tenon
