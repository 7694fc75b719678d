// SPDX-License-Identifier: Apache-2.0
// One row of the report: every contestant of one workload, verified and then measured side by side.
#pragma once

#include <string>
#include <vector>

#include "bench/kernels/sources.h"
#include "bench/kernels/workload.h"
#include "tenon/runtime.h"
#include "timing/turns.h"

namespace tenon::bench {

struct Entry {
  std::string name;
  std::string detail = {};
  double error = 0;  // see error_of
  std::string fault =
      {};  // not empty: wrong, or could not be built or run; then there is no timing
  double compile_ms = 0;
  timing::Timing timing = {};
};

struct Row {
  Workload workload;
  int threads = 1;
  std::vector<Entry> entries;
  double peak_gflops = 0;           // of the same minutes
  double bandwidth_gbs = 0;         // triad over as many bytes; 0 for compute-bound rows
  double fork_join_us[2] = {0, 0};  // placement before and after

  const Entry* find(const std::string& name) const;  // null if absent or faulty
  bool faulty() const;
  double gflops(const Entry& e) const { return workload.flops() / e.timing.best_s * 1e-9; }
  // Of the FMA peak, or of the bandwidth for memory-bound rows.
  double share(const Entry& e) const;
  // How many times as fast as `peer` ours is; 0 if either is missing.
  double ratio(const std::string& peer) const;
  // "near", "far", "moved" (during the row: do not trust it) or "-" (one thread).
  std::string placement() const;
};

// With rt->threads threads. The calling thread is pinned while it measures.
Row run_row(const Workload& w, const Data& data, const tenon_runtime* rt, timing::Protocol protocol,
            const std::vector<SourceRow>& sources = all_sources());

}  // namespace tenon::bench
