// SPDX-License-Identifier: Apache-2.0
// The report as text, one line per row, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/kernels/run.h"

namespace tenon::bench {

// How and where the numbers were made.
std::string header_text(const timing::Protocol& protocol);
std::string column_text();
// Ends with a newline; faults follow on lines of their own.
std::string row_text(const Row& row);
// {"peak_gflops":..,"rows":[{"op":..,"shape":..,"threads":..,"gflops":..,"peak_share":..,
//  "vs":{"openblas":..,"onednn":..},"compile_ms":..}]} and more keys.
// peak_gflops is of one thread; ratios above 1 say that tenon is faster; values of tenon are null
// where it has no (right) kernel.
std::string json_text(const std::vector<Row>& rows, const timing::Protocol& protocol);

}  // namespace tenon::bench
