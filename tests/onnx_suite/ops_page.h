// SPDX-License-Identifier: Apache-2.0
// docs/ops.md: the supported operators, with the versions that differ and how many cases of the suite use each and pass.
#pragma once

#include <string>
#include <vector>

#include "onnx_suite/run_case.h"

namespace tenon::onnx_suite {

std::string ops_page(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes);

}  // namespace tenon::onnx_suite
