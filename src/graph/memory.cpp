// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.h"

#include <algorithm>
#include <numeric>

namespace tenon::graph {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

struct Placed {
  int64_t begin, end;
  int32_t first, last;
};

// The lowest gap of `bytes` among what lives at the same time; `placed` is sorted by begin.
int64_t lowest_gap(const std::vector<Placed>& placed, const Lifetime& t) {
  int64_t at = 0;
  for (const Placed& p : placed) {
    if (p.last < t.first || t.last < p.first) continue;
    if (p.begin - at >= aligned(t.bytes)) break;
    at = std::max(at, p.end);
  }
  return at;
}

}  // namespace

Placement place(const std::vector<Lifetime>& tensors) {
  Placement result;
  result.offsets.assign(tensors.size(), 0);
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].bytes != tensors[b].bytes ? tensors[a].bytes > tensors[b].bytes : a < b;
  });
  std::vector<Placed> placed;
  for (const size_t i : order) {
    const Lifetime& t = tensors[i];
    const int64_t at = lowest_gap(placed, t);
    const Placed p{at, at + aligned(t.bytes), t.first, t.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), p,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        p);
    result.offsets[i] = at;
    result.bytes = std::max(result.bytes, p.end);
  }
  return result;
}

}  // namespace tenon::graph
