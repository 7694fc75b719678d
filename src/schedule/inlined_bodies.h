// SPDX-License-Identifier: Apache-2.0
// Bodies of ops after a stage was inlined into them, remembered. The programs of one space inline the same stages into
// the same readers again and again, and writing a body anew costs more than all other work of the step.
//
//   find(conv, pad)           null: nobody inlined it yet
//   add(conv, pad, body)      sum += w[..] * (inside(..) ? x[..] : 0)
//   find(conv, pad)           that body
//
// Many threads ask and add at once; what an entry holds never changes.
#pragma once

#include <atomic>
#include <vector>

#include "te/dag.h"

namespace tenon::schedule {

class InlinedBodies {
 public:
  InlinedBodies() = default;
  ~InlinedBodies();
  InlinedBodies(const InlinedBodies&) = delete;
  InlinedBodies& operator=(const InlinedBodies&) = delete;

  // The body of `reader` with the op `inlined` in place of the reads of its output; null: not known.
  const ir::Expr* find(const te::ComputeOp& reader, const te::ComputeOp& inlined) const;
  // Nothing is added once there are as many as any one space repeats.
  void add(const te::ComputeOp& reader, const te::OpRef& inlined, const ir::Expr& body);

 private:
  struct Entry;
  std::atomic<Entry*> newest_ = nullptr;
};

}  // namespace tenon::schedule
