// SPDX-License-Identifier: Apache-2.0
// Work on the rows of a block, by `threads` threads along x for each row and rows along y: reductions
// along a row, and elements of it that are kept in shared memory. Each thread reduces its share; what
// all of them have found lies in shared memory, and whoever needs the result adds it up.
//
//   C[i] = sum(k) A[i, k]; Y[i, k] = A[i, k] / C[i]                   32 threads, 4 rows of a block
//     =>  C.rf[i, t] = sum(k.0, k.2) A[i, k.0*128 + t*4 + k.2] by thread t of row i
//         C[i] = sum(t) C.rf[i, t], by each thread for itself, in four sums of their own
// or, where threads exchange what they have, by all of them together (schedule/combined.h): a warp needs no shared
// memory and no barrier.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "space/builder.h"

namespace tenon::templates::gpu {

constexpr int64_t kLanes = 4;  // that lie side by side are read at once

class RowNests {
 public:
  // `rows`: threads along y. `lanes`: kLanes where everything along a row comes in whole ones, or 1.
  RowNests(space::Builder& b, space::Value threads, space::Value rows, int64_t lanes, bool exchange)
      : b_(b), threads_(threads), rows_(rows), lanes_(lanes), exchange_(exchange) {}

  // In the order of the program. A sum over all its reduction axes; or elements of a stage whose
  // leading axes tell rows apart.
  void add_sum(space::StageRef stage);
  void add_kept(space::StageRef stage, size_t row_axes);

  // The elements of a row go to threads: its columns, which are the innermost loops. Returns the loop
  // of the threads.
  space::Loop deal_out(space::StageRef stage, const std::vector<space::Loop>& columns);
  // What `stage` reads may be computed by each thread, in this loop.
  void set_thread(space::StageRef stage, space::Loop thread) { thread_[stage.id] = thread; }

  // All of them, at the loop of the blocks, once everything that reads them has its place.
  void place(space::Loop block);

 private:
  struct Nest {
    space::StageRef stage;
    std::vector<space::StageRef> parts;     // of a sum; the first is what threads find
    std::optional<space::StageRef> chains;  // of additions that do not wait for each other
    size_t row_axes = 0;                    // of a stage that is kept
    bool exchanged = false;                 // threads combine their parts
  };

  space::StageRef part_of(space::StageRef sum, int64_t lanes, space::Value threads);
  void keep(const Nest& n);
  void reduce(const Nest& n);
  void reduce_for_all(const Nest& n);
  bool can_exchange(space::StageRef stage) const;
  void exchange_at(const Nest& n, space::Loop thread);
  void exchange_for_all(const Nest& n);
  void exchange(const Nest& n);
  void finish(const Nest& n, space::Loop thread);
  void add_up(space::StageRef sum, space::Loop thread);
  void place_part(space::StageRef part);
  void bind_rows(space::StageRef stage, size_t axes);

  space::Builder& b_;
  space::Value threads_, rows_;
  int64_t lanes_;
  bool exchange_;
  space::Loop block_;
  std::vector<Nest> nests_;
  std::map<schedule::StageId, space::Loop> thread_;
};

}  // namespace tenon::templates::gpu
