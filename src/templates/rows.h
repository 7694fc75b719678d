// SPDX-License-Identifier: Apache-2.0
// Work on rows as part of a program: reductions over some dimensions and element-wise work around
// them, one row (what is left when the other dimensions are fixed) at a time. A task of its own, or
// the operand of a product that follows.
#pragma once

#include <optional>
#include <vector>

#include "te/row_operand.h"
#include "templates/template.h"

namespace tenon::templates {

struct Rows {
  std::vector<te::OpRef> ops;  // in order, `last` at the end
  std::vector<size_t> outer;   // dimensions that every op has and reads in place
  bool across = false;         // the last dimension is one of them: neighbouring rows in a vector
  bool joined = false;         // the dimensions of a row can be one
  const te::ComputeOp* last = nullptr;

  bool is_outer(size_t d) const;
  // Elements of a row of this op.
  int64_t length(const te::ComputeOp& op) const;
};

// A dag that is nothing else. Nothing if it is not, or if a row is too long to stay in the first
// caches.
std::optional<Rows> find_rows(const te::ComputeDag& dag, const Request& request,
                              const target::Cpu& t);
// The rows in front of a product. Nothing if a row is too long to stay in the first caches.
std::optional<Rows> rows_before(const te::RowOperand& operand, const target::Cpu& t);

// Writes the steps in parts, since others stand between them.
class RowsWriter {
 public:
  RowsWriter(space::Builder& b, const Rows& rows);

  // Full-length ops are repeated for each reader where that is cheap; what is one number per row is
  // computed once.
  void inline_cheap();
  // Sums in vectors of partial results, for a nest of their own or not. Layouts of inputs are steps
  // before this.
  void cut_sums(bool alone);
  // As a nest of its own, rows dealt out to the cores.
  void place_alone();
  // For the rows that one step of `loop` needs; their reader is placed already.
  void place_at(space::Loop loop);

 private:
  struct Kept {  // not inlined
    const te::ComputeOp* op;
    space::StageRef stage;
    std::vector<space::Loop> sums;  // what it is reduced over, where that is one loop now
    space::StageRef factored;       // partial results of its sum; none: it has no such stage
  };

  void join_row();
  bool reads_whole_row(const te::Tensor& t) const;
  bool takes_pairs() const;
  void row_loop();
  std::vector<space::Loop> vectors_of_rows(std::vector<space::Loop> outer);
  void place_all();
  void place(const Kept& k);
  void place_across(const Kept& k);
  void vectors(const Kept& k);
  void reduce(Kept& k);
  void unroll_lanes(space::StageRef factored, std::vector<space::Loop> sums, int64_t v);
  void attach(space::StageRef stage);
  int64_t common_lanes() const;
  // As many, or fewer where the row is shorter.
  int64_t lanes_of_row(int64_t extent) const;

  space::Builder& b_;
  const Rows& rows_;
  const target::Cpu& t_;
  const te::ComputeOp& last_;
  space::StageRef out_;  // of the last op
  std::vector<Kept> kept_;
  space::Loop row_, inner_;  // the loop that everything is attached to; of a pair of rows
  bool pairs_ = false;
};

}  // namespace tenon::templates
