// SPDX-License-Identifier: Apache-2.0
// Two kinds of exception and no others. A broken invariant is our bug: TENON_CHECK throws
// InternalError, in every build. A user's mistake (bad text, bad flag, missing file) is a UserError
// with a place and a hint. An illegal schedule step is neither: it is a value, see result.h.
//
//   TENON_CHECK(extent > 0) << "loop " << name << " has extent " << extent;
//   throw UserError("matmul.te", 3, 14, "unknown tensor 'Q'", "declared so far: A, B");
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tenon {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message, const std::string& hint = "");
  // `line` and `column` are 1-based; 0 means unknown.
  UserError(const std::string& file, int line, int column, const std::string& message,
            const std::string& hint = "");
  int line() const { return line_; }
  int column() const { return column_; }

 private:
  int line_ = 0;
  int column_ = 0;
};

namespace detail {
// Collects the streamed message and throws at the end of the full expression.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure() noexcept(false);
  template <class T>
  CheckFailure& operator<<(const T& value) {
    out_ << value;
    return *this;
  }

 private:
  std::ostringstream out_;
};
}  // namespace detail
}  // namespace tenon

#define TENON_CHECK(condition)                       \
  if (condition) [[likely]] {                        \
  } else /* NOLINT(readability-else-after-return) */ \
    ::tenon::detail::CheckFailure(__FILE__, __LINE__, #condition)

// Expensive invariants: debug and sanitizer builds only.
#ifdef NDEBUG
#define TENON_DCHECK(condition) \
  if (true) {                   \
  } else                        \
    ::tenon::detail::CheckFailure(__FILE__, __LINE__, #condition)
#else
#define TENON_DCHECK(condition) TENON_CHECK(condition)
#endif
