// SPDX-License-Identifier: Apache-2.0
// Where contestants come from. A source gives none for a workload it has no kernel for.
#pragma once

#include <string>
#include <vector>

#include "bench/kernels/workload.h"
#include "tenon/runtime.h"
#include "timing/turns.h"

namespace tenon::bench {

// `data` and `rt` outlive the contestants. Runs use rt->threads threads; layouts of inputs and
// outputs are each contestant's own choice where the workload leaves them free, and conversions to
// them are not part of a run.
using Source = std::vector<timing::Contestant> (*)(const Workload& w, const Data& data,
                                                   const tenon_runtime* rt);

struct SourceRow {
  const char* name;     // also the key in the report
  std::string version;  // of the library; "absent" when this program was built without it
  Source make;
};
// Ours first, then the peers.
std::vector<SourceRow> all_sources();

std::vector<timing::Contestant> make_tenon(const Workload& w, const Data& data,
                                           const tenon_runtime* rt);
std::vector<timing::Contestant> make_openblas(const Workload& w, const Data& data,
                                              const tenon_runtime* rt);
std::vector<timing::Contestant> make_onednn(const Workload& w, const Data& data,
                                            const tenon_runtime* rt);
std::vector<timing::Contestant> make_loops(const Workload& w, const Data& data,
                                           const tenon_runtime* rt);
std::string openblas_version();
std::string onednn_version();

}  // namespace tenon::bench
