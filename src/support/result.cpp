// SPDX-License-Identifier: Apache-2.0
#include "support/result.h"

#include <array>

namespace tenon {
namespace {

struct Row {
  std::string_view name;
  std::string_view sentence;
};

constexpr Row kRows[] = {
#define TENON_ILLEGAL(code, sentence) {#code, sentence},
#include "support/illegal.def"
#undef TENON_ILLEGAL
};

}  // namespace

std::string_view illegal_name(IllegalCode code) { return kRows[static_cast<size_t>(code)].name; }
std::string_view illegal_sentence(IllegalCode code) {
  return kRows[static_cast<size_t>(code)].sentence;
}

}  // namespace tenon
