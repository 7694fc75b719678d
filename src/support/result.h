// SPDX-License-Identifier: Apache-2.0
// Result<T> is a T or the reason why there is none. Search meets illegal steps by the thousand, so a
// refusal is a small value without text: a code and ids, rendered on demand.
//
//   Result<int64_t> r = divide(12, 5);
//   if (!r) return r.illegal();
//   TENON_TRY(check_loop(state, ref));        // returns the Illegal to the caller
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "support/check.h"

namespace tenon {

enum class IllegalCode : uint8_t {
#define TENON_ILLEGAL(code, sentence) code,
#include "support/illegal.def"
#undef TENON_ILLEGAL
};

// "kBadFactor" and the sentence with its {holes}.
std::string_view illegal_name(IllegalCode code);
std::string_view illegal_sentence(IllegalCode code);

struct Illegal {
  IllegalCode code;
  int32_t stage = -1;
  int32_t loop = -1;
  int32_t other = -1;  // a second stage
  int64_t value = 0;
  int64_t limit = 0;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Illegal why) : v_(why) {}           // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return v_.index() == 0; }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  const T& value() const {
    TENON_CHECK(v_.index() == 0) << "value of a refused Result: "
                                 << illegal_name(std::get<1>(v_).code);
    return std::get<0>(v_);
  }
  T& value() {
    TENON_CHECK(v_.index() == 0) << "value of a refused Result: "
                                 << illegal_name(std::get<1>(v_).code);
    return std::get<0>(v_);
  }
  const Illegal& illegal() const {
    TENON_CHECK(v_.index() == 1) << "no refusal in this Result";
    return std::get<1>(v_);
  }

 private:
  std::variant<T, Illegal> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Illegal why) : why_(why) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return !why_.has_value(); }
  const Illegal& illegal() const {
    TENON_CHECK(why_.has_value()) << "no refusal in this Result";
    return *why_;
  }

 private:
  std::optional<Illegal> why_;
};

}  // namespace tenon

#define TENON_TRY(expression)                                    \
  do {                                                           \
    if (auto tenon_try_result = (expression); !tenon_try_result) \
      return tenon_try_result.illegal();                         \
  } while (false)
