// SPDX-License-Identifier: Apache-2.0
#include "cost/tree_features.h"

#include <algorithm>
#include <vector>

#include "cost/columns.h"
#include "support/hash.h"

namespace tenon::cost {

namespace {

constexpr uint64_t kTreeFormulas = 1;  // raised when a column comes to mean something else
constexpr float kUnit = 0.125F;        // logarithms up to 35 would drown the annotation

void write_statistics(const LoopContext& c, size_t loop, float* row) {
  const LoopFacts& l = c.loops[loop];
  ColumnWriter columns(row);
  for (const double v : {l.length, l.topdown, l.bottomup}) columns.exact(kUnit * slog(v));
  columns.one_hot(l.annotation, kAnnotations);
  for (size_t a = 0; a < std::min(c.accesses, kAccesses); ++a) {
    const AccessFacts& f = c.at(loop, a);
    for (const double v : {f.stride, f.count, f.reuse, f.thread_count, f.thread_reuse}) {
      columns.exact(kUnit * slog(v));
    }
  }
}

}  // namespace

Row tree_features(const schedule::State& s, const schedule::Bounds& b) {
  const LoopContext c = loop_context(s, b);
  std::vector<size_t> shown;
  for (size_t i = 0; i < c.loops.size(); ++i) {
    if (c.loops[i].length > 1) shown.push_back(i);
  }
  if (shown.size() > kTreeLoops) {
    shown.erase(shown.begin(), shown.end() - static_cast<std::ptrdiff_t>(kTreeLoops));
  }
  Row out{std::vector<float>((1 + shown.size()) * kTreeColumns), kTreeColumns, {-1}};
  for (size_t t = 0; t < kTail; ++t) out.values[kLoopStatistics + t] = kUnit * c.tail[t];
  for (size_t n = 0; n < shown.size(); ++n) {
    write_statistics(c, shown[n], out.values.data() + (n + 1) * kTreeColumns);
    out.parent.push_back(static_cast<int32_t>(n));
  }
  return out;
}

uint64_t tree_feature_hash() {
  return Hasher().add(loop_feature_hash()).add(kTreeFormulas).add(uint64_t{kTreeColumns}).value();
}

}  // namespace tenon::cost
