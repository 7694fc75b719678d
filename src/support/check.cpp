// SPDX-License-Identifier: Apache-2.0
#include "support/check.h"

namespace tenon {
namespace {

std::string render(const std::string& file, int line, int column, const std::string& message,
                   const std::string& hint) {
  std::ostringstream out;
  if (!file.empty()) out << file << ':';
  if (line > 0) out << line << ':';
  if (column > 0) out << column << ':';
  if (out.tellp() > 0) out << ' ';
  out << message;
  if (!hint.empty()) out << " (" << hint << ')';
  return out.str();
}

}  // namespace

UserError::UserError(const std::string& message, const std::string& hint)
    : std::runtime_error(render("", 0, 0, message, hint)) {}

UserError::UserError(const std::string& file, int line, int column, const std::string& message,
                     const std::string& hint)
    : std::runtime_error(render(file, line, column, message, hint)), line_(line), column_(column) {}

namespace detail {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  out_ << file << ':' << line << ": check failed: " << condition << ": ";
}

CheckFailure::~CheckFailure() noexcept(false) { throw InternalError(out_.str()); }

}  // namespace detail
}  // namespace tenon
