// SPDX-License-Identifier: Apache-2.0
// The operands of a product on a GPU: how they are stored, and how the threads of a block fetch
// pieces of them into shared memory, so that neighbouring threads read and write neighbours.
#pragma once

#include <string>

#include "schedule/algorithms/gemm.h"
#include "space/builder.h"
#include "templates/gpu/tile.h"

namespace tenon::templates::gpu {

class Operands {
 public:
  // After the variant gemm of `op`. What is passed has to outlive this.
  Operands(space::Builder& b, const te::ComputeOp& op, const schedule::Gemm& g, const Tile& tile)
      : b_(b), op_(op), g_(g), tile_(tile) {}

  // Both sides, before loops are cut.
  void lay_out();
  // The stages that `sum` reads from shared memory.
  space::StageRef slow(space::StageRef sum) { return stage_of(g_.slow, sum); }
  space::StageRef fast(space::StageRef sum) { return stage_of(g_.fast, sum); }
  // All threads of a block fill such a stage in each of the steps.
  void fetch_slow(space::StageRef stage, space::Loop steps) { fetch(stage, g_.slow, steps); }
  void fetch_fast(space::StageRef stage, space::Loop steps) { fetch(stage, g_.fast, steps); }

 private:
  using Side = schedule::GemmSide;
  // What keeps threads from waiting for the same bank of shared memory.
  enum class Banks : int64_t { kPad, kPlain, kSwizzle };

  void lay_out(const Side& side);
  void lay_out_quads(const Side& side);
  int64_t swizzle_of(const Side& side) const;
  Banks ask_banks(space::StageRef stage, int64_t count);
  void lay_out_constant(const Side& side);
  void keep_apart(space::StageRef stage, int64_t dim);
  void fetch(space::StageRef stage, const Side& side, space::Loop steps);
  void fetch_rows(space::StageRef stage, const Side& side);
  space::StageRef stage_of(const Side& side, space::StageRef sum);
  std::string name_of(const Side& side) const;

  bool in_quads(const Side& side) const;
  bool in_rows(const Side& side) const;
  bool is_apart(const Side& side) const;
  bool is_wide() const;
  // Elements of a thread along the side.
  int64_t own(const Side& side) const { return &side == &g_.slow ? tile_.slow : tile_.fast; }
  int64_t width(const Side& side) const {
    return &side == &g_.slow ? tile_.block_slow() : tile_.block_fast();
  }

  space::Builder& b_;
  const te::ComputeOp& op_;
  const schedule::Gemm& g_;
  const Tile& tile_;
  Banks slow_banks_ = Banks::kPad, fast_banks_ = Banks::kPad;
};

}  // namespace tenon::templates::gpu
