// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/sources.h"

namespace tenon::bench {

#ifndef TENON_BENCH_OPENBLAS
std::vector<timing::Contestant> make_openblas(const Workload&, const Data&, const tenon_runtime*) {
  return {};
}
std::string openblas_version() { return "absent"; }
#endif

#ifndef TENON_BENCH_ONEDNN
std::vector<timing::Contestant> make_onednn(const Workload&, const Data&, const tenon_runtime*) {
  return {};
}
std::string onednn_version() { return "absent"; }
#endif

std::vector<SourceRow> all_sources() {
  return {{"tenon", TENON_VERSION, make_tenon},
          {"openblas", openblas_version(), make_openblas},
          {"onednn", onednn_version(), make_onednn},
          {"loops", "-O3 -march=native", make_loops}};
}

}  // namespace tenon::bench
