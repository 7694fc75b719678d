// SPDX-License-Identifier: Apache-2.0
// Contestants that nothing can beat: independent fused multiply-adds for arithmetic, the triad a[i]
// = b[i] + s * c[i] and a sum for memory. All use the widest vectors of the machine and all threads
// of the runtime.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/runtime.h"
#include "timing/turns.h"

namespace tenon::timing {

struct Ceiling {
  Contestant contestant;
  double amount = 0;  // flops or bytes of one run
};

Ceiling fma_ceiling(const tenon_runtime* rt);
// Three arrays that together hold `bytes`: the bandwidth of the level of memory where that much
// data lies.
Ceiling triad_ceiling(const tenon_runtime* rt, int64_t bytes);
// One array of `bytes` that is read and not written.
Ceiling read_ceiling(const tenon_runtime* rt, int64_t bytes);

// "AVX-512", "AVX2", "SSE" or "128-bit vectors": what the two above use here.
std::string vector_text();

}  // namespace tenon::timing
