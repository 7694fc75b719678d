// SPDX-License-Identifier: Apache-2.0
#include "onnx/import.h"

#include <gtest/gtest.h>

#include "graph/define.h"

namespace tenon::onnx {
namespace {

TEST(Import, SupportedIsSorted) {
  const auto all = supported();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.domain, a.op, a.since) < std::tie(b.domain, b.op, b.since);
  }));
}

}  // namespace
}  // namespace tenon::onnx
