// SPDX-License-Identifier: Apache-2.0
#include "tune/stopwatch.h"

#include <chrono>

namespace tenon::tune {

Clock machine_clock() {
  return [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

double Stopwatch::since(const std::map<std::string, double>& before,
                        const std::string& part) const {
  const auto now = seconds_.find(part), then = before.find(part);
  return (now == seconds_.end() ? 0 : now->second) - (then == before.end() ? 0 : then->second);
}

}  // namespace tenon::tune
