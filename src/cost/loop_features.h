// SPDX-License-Identifier: Apache-2.0
// What AutoTVM's models see of a program (Chen et al. 2018, and the open-source code): its dominant
// statement, the one with the most arithmetic, the loops around it, those of one iteration too, and
// what each loop touches of each access.
//
//   for i (4) for j (8) for k (16): C[i, j] += A[i, k] * B[k, j]
//     at j:   count of A 16, of B 128;   reuse of A 8, of B 1;   iterations of one run 128
//
// The programs of one task differ in structure here (sketches and templates stand side by side), so
// columns cannot follow one template's tree. Both encodings have one row of a fixed width instead:
//   itervar   the innermost loop first, so that register tiles meet; kLoops at most, then zeros
//   curve     relations of count, reuse and top-down product at powers of two: for any nest
// and both end with the same few facts of the whole program (kTail). docs/tuning/cost-models.md
// says where this leaves the paper and its code.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/row.h"
#include "schedule/bounds.h"
#include "schedule/state.h"

namespace tenon::cost {

inline constexpr size_t kAnnotations = 11;  // blocks x y z, threads x y z, unrolled, vectorised,
                                            // parallel, serial, virtual thread
inline constexpr size_t kLoops = 20, kAccesses = 4;
inline constexpr size_t kThresholds = 20;  // 2^0 .. 2^19
inline constexpr size_t kTail = 12;
inline constexpr uint32_t kItervarColumns = kLoops * (4 + kAnnotations + 5 * kAccesses) + kTail;
inline constexpr size_t kCurveOfBuffer = 4 * 2 * kThresholds;
inline constexpr uint32_t kCurveColumns = kAccesses * kCurveOfBuffer + kTail;

struct LoopFacts {
  double length = 1;
  double topdown = 1;     // iterations of this loop in the whole program
  double bottomup = 1;    // iterations of the statement in one run of this loop
  size_t annotation = 9;  // below kAnnotations
};

// Of one access, in one run of a loop.
struct AccessFacts {
  double stride = 0;  // of the loop, in elements
  double count = 1;   // elements touched
  double reuse = 1;   // how often each is
  // The same relative to the parallel loop below, where there is one: 0 otherwise.
  double thread_count = 0, thread_reuse = 0;
};

struct LoopContext {
  std::vector<LoopFacts> loops;      // outermost first
  size_t accesses = 0;               // of the dominant statement: the store, then the loads
  std::vector<AccessFacts> touched;  // loops x accesses
  std::vector<size_t> last;          // the last access of each buffer, buffers by first access
  float tail[kTail] = {};
  const AccessFacts& at(size_t loop, size_t access) const {
    return touched[loop * accesses + access];
  }
};

// `b` is infer_bounds(s).
LoopContext loop_context(const schedule::State& s, const schedule::Bounds& b);
Row itervar_features(const schedule::State& s, const schedule::Bounds& b);
Row curve_features(const schedule::State& s, const schedule::Bounds& b);

// The kCurveOfBuffer numbers of one access.
std::vector<float> curve_of(const LoopContext& c, size_t access);

// How all of these are computed: what a saved model must agree on.
uint64_t loop_feature_hash();

}  // namespace tenon::cost
