// SPDX-License-Identifier: Apache-2.0
// Tests and commands read these headers besides.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "precompiled.h"

namespace tenon::precompiled {

inline std::string prints_json(const nlohmann::json& a, const nlohmann::ordered_json& b) {
  return testing::PrintToString(a) + testing::PrintToString(b) + (a > 1 ? ">" : "");
}

}  // namespace tenon::precompiled
