// SPDX-License-Identifier: Apache-2.0
// Files as parameters of tests: a test is named after its file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace tenon {

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace tenon
