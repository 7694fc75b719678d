// SPDX-License-Identifier: Apache-2.0
// From a sketch to a program: tile sizes, where untiled stages are computed, what runs in parallel, how much is
// unrolled, what runs in vectors, and how operands are stored (Zheng et al., "Ansor", section 4.2; marks and layouts as
// our code generator wants them). All that may be chosen is a hole; the rest follows.
#pragma once

#include "search/sketch/factors.h"
#include "search/sketch/sketch.h"
#include "space/space.h"

namespace tenon::search {

class SketchSkeleton : public space::Skeleton {
 public:
  // `operands_in_loop_order`: constants lie in the order of the loops that read them, and others may be copied there;
  // false: every tensor stays as it lies.
  SketchSkeleton(Sketch s, const task::Task& t, bool operands_in_loop_order);

  void write(space::Builder& b) const override;
  const Sketch& sketch() const { return sketch_; }

 private:
  friend class Annotator;

  Sketch sketch_;
  schedule::Trace fixed_trace_;  // the steps that no hole touches
  schedule::State fixed_;        // after them
  FactorDomains domains_;
  bool operands_in_loop_order_;
};

}  // namespace tenon::search
