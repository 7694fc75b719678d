// SPDX-License-Identifier: Apache-2.0
// Work on rows as part of a plan: reductions over some dimensions and element-wise work around them, one row (what is
// left when the other dimensions are fixed) at a time. A task of its own, or the operand of a product that follows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "te/row_operand.h"
#include "templates/plan_writer.h"

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

// The rows in front of a product. Nothing if a row is too long to stay in the first caches.
std::optional<Rows> rows_before(const te::RowOperand& operand);

// Writes the steps in parts, since others stand between them; knobs are named with `prefix` in front.
class RowsWriter {
 public:
  RowsWriter(PlanWriter& plan, const Rows& rows, std::string prefix);

  // Full-length ops are repeated for each reader where that is cheap; what is one number per row is computed once.
  void inline_cheap();
  // Sums in vectors of partial results, for a nest of their own or not. Layouts of inputs are steps before this.
  void cut_sums(bool alone);
  // As a nest of its own, rows dealt out to the cores.
  void place_alone();
  // For the rows that one step of `loop` of `stage` needs; their reader is placed already.
  void place_at(const std::string& stage, const std::string& loop);

 private:
  void join_row();
  bool reads_whole_row(const te::Tensor& t) const;
  bool takes_pairs() const;
  void row_loop();
  void place_all();
  void place(const te::ComputeOp& op);
  void place_across(const std::string& n);
  void vectors(const std::string& stage, const te::Axis& a, ir::DType type, const std::string& row);
  void reduce(const std::string& n);
  void attach(const std::string& stage);
  std::string knob(const char* name, int64_t value);

  PlanWriter& p_;
  const Rows& rows_;
  const target::Target& t_;
  const te::ComputeOp& last_;
  std::string prefix_;
  std::vector<te::OpRef> kept_;  // not inlined
  std::string row_, inner_;      // the loop that everything is attached to; of a pair of rows
  bool pairs_ = false;
  std::vector<std::string> factored_;
};

}  // namespace tenon::templates
