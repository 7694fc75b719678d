// SPDX-License-Identifier: Apache-2.0
#include "tune/stopwatch.h"

#include <chrono>

namespace tenon::tune {

Clock machine_clock() {
  return [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

}  // namespace tenon::tune
