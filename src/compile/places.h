// SPDX-License-Identifier: Apache-2.0
// Where every tensor of a program lies: in the caller's memory, or in the arena for as long as it is needed.
//
//   run segment 0       its own tensors live here and may share memory with those of other segments
//   while (..) {        what a turn leaves to the next one, or to what follows, lives to the end of the loop
//     run segment 1
//   }
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "artifact/program.h"
#include "graph/memory.h"
#include "plan/network.h"

namespace tenon::compile {

// Steps of each segment, as [first, last), by the number of the segment; one segment if the network has no flow.
std::vector<std::pair<int64_t, int64_t>> steps_of_segments(const plan::Network& n);

class Places {
 public:
  Places(const plan::Network& n, const target::Target& target);

  artifact::Param of(int32_t slot) const { return params_[static_cast<size_t>(slot)]; }
  // Constants have no place here.
  artifact::Param of_variable(int32_t v) const { return variables_[static_cast<size_t>(v)]; }
  int64_t arena_bytes() const { return arena_bytes_; }

 private:
  // When everything is touched, in steps and instructions of the flow, and how long it lives because of that.
  class Times;

  bool is_plain(const plan::Slot& s) const;
  void find_caller_memory();
  void find_variables();
  // Whether the slot lies in memory that others decide about.
  bool is_placed(size_t slot);
  void place_rest(const std::vector<bool>& placed);
  std::vector<graph::Lifetime> lives_of_slots(const Times& times, std::vector<bool>& seen) const;
  std::vector<size_t> share(const std::vector<bool>& placed, const Times& times,
                            std::vector<graph::Lifetime>& lives) const;

  const plan::Network& n_;
  const graph::Graph& g_;
  const plan::LayoutPlan& plan_;
  std::unordered_map<graph::ValueId, artifact::Param> callers_;  // of a model without a flow
  std::unordered_map<graph::ValueId, int32_t> variable_of_;      // of one with a flow
  std::unordered_map<size_t, int32_t> variable_of_slot_;
  std::vector<artifact::Param> params_, variables_;
  int64_t alignment_;
  int64_t arena_bytes_ = 0;
};

}  // namespace tenon::compile
