// SPDX-License-Identifier: Apache-2.0
// Tests and commands read these headers besides, and those of tenon that half of them read.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "ir/build.h"
#include "ir/interp.h"
#include "ir/visit.h"
#include "precompiled.h"
#include "schedule/bounds.h"
#include "schedule/trace.h"
#include "space/builder.h"
#include "space/space.h"
#include "target/target.h"
#include "task/task.h"
#include "te/ops.h"

namespace tenon::precompiled {

inline std::string prints_json(const nlohmann::json& a, const nlohmann::ordered_json& b) {
  return testing::PrintToString(a) + testing::PrintToString(b) + (a > 1 ? ">" : "");
}

}  // namespace tenon::precompiled
