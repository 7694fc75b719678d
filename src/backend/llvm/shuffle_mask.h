// SPDX-License-Identifier: Apache-2.0
// A shuffle's mask says from which lane each lane of its result comes.
//
//   every(4, 3, -1)  ==  {3, 2, 1, 0}
#pragma once

#include <vector>

namespace tenon::backend::llvm_cpu {

inline std::vector<int> every(int count, int begin, int step) {
  std::vector<int> lanes;
  lanes.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) lanes.push_back(begin + i * step);
  return lanes;
}

}  // namespace tenon::backend::llvm_cpu
