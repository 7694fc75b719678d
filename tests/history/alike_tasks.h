// SPDX-License-Identifier: Apache-2.0
// Tasks that differ in sizes and in what follows their work.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "search/tasks.h"

namespace tenon::history {

enum class After { kNothing, kRelu, kBiasRelu, kResidual, kGelu };
inline constexpr After kAfters[] = {After::kNothing, After::kRelu, After::kBiasRelu,
                                    After::kResidual, After::kGelu};

struct Conv {
  int64_t in = 8, out = 16, size = 7, kernel = 3, stride = 1, dilation = 1, groups = 1;
  After after = After::kNothing;
  int64_t block = 0;  // of the output's channels; 0: plain order
};
task::Task conv(const Conv& c);
task::Task depthwise(int64_t channels, int64_t size, After after = After::kNothing);
task::Task transposed(int64_t in, int64_t out, int64_t size);
task::Task matmul(int64_t m, int64_t n, int64_t k, After after = After::kNothing,
                  bool constant = true);

// Small ones of odd sizes, kind by kind: those of one list are alike.
std::vector<std::vector<search::NamedTask>> alike_tasks();

}  // namespace tenon::history
