// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "measure/faults.h"
#include "measure/measure.h"
#include "te/text.h"

namespace tenon::measure {

inline task::Task matmul_task(int64_t m, int64_t n, int64_t k) {
  const std::string text = fmt::format(
      "input A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\n"
      "C[i: {0}, j: {1}] = sum(k: {2}) A[i, k] * B[k, j]\noutput C\n",
      m, n, k);
  return task::make_task(std::make_shared<const te::ComputeDag>(te::parse(text)), {},
                         std::make_shared<const target::Target>(target::host_target()));
}

// A legal schedule; the faulty builder answers for it.
inline schedule::Trace fault_trace(int fault) {
  return schedule::trace_from_json(fmt::format(R"([["pragma_unroll",2,{}]])", kFirstFault + fault));
}

}  // namespace tenon::measure
