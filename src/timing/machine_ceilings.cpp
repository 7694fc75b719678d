// SPDX-License-Identifier: Apache-2.0
#include "timing/machine_ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "support/check.h"
#include "target/target.h"
#include "tenon/runtime.h"
#include "timing/ceilings.h"
#include "timing/turns.h"

namespace tenon::timing {

double MachineCeilings::least_s(double flops, double bytes) const {
  double per_s = levels.back().bytes_per_s;
  for (const Level& level : levels) {
    if (bytes <= level.bytes) {
      per_s = level.bytes_per_s;
      break;
    }
  }
  return std::max(flops / flops_per_s, bytes / per_s);
}

MachineCeilings measure_ceilings(int threads) {
  const target::Cpu host = target::host_target().cpu();
  const int64_t l3 = host.l3_bytes > 0 ? host.l3_bytes : 8 * host.l2_bytes;
  const int64_t sizes[] = {threads * host.l2_bytes / 2, l3 / 2, 4 * l3};
  const tenon_runtime* runtime = tenon_runtime_create(threads);
  if (runtime == nullptr) {
    throw UserError(fmt::format("cannot start {} threads", threads));
  }
  std::vector<Ceiling> ceilings = {fma_ceiling(runtime)};
  for (const int64_t size : sizes) {
    ceilings.push_back(read_ceiling(runtime, size));
  }
  std::vector<Contestant> contestants;
  for (const Ceiling& c : ceilings) {
    contestants.push_back(c.contestant);
  }
  Protocol protocol;
  protocol.rounds = 4;
  const std::vector<Timing> timings = measure(contestants, protocol);
  tenon_runtime_destroy(runtime);
  MachineCeilings result;
  result.flops_per_s = ceilings[0].amount / timings[0].best_s;
  for (size_t i = 0; i < std::size(sizes); ++i) {
    result.levels.push_back(
        {static_cast<double>(sizes[i]), ceilings[i + 1].amount / timings[i + 1].best_s});
  }
  return result;
}

}  // namespace tenon::timing
