// SPDX-License-Identifier: Apache-2.0
// The table of operators that graphs are drawn from: one row per operator and range of opsets in which it takes the
// same types and arguments. A row's function draws operands and attributes that ONNX allows and adds the node.
//
//   {"Relu", 7, 13, kFloats, unary},  {"Relu", 14, 21, kFloats | kSigned, unary}
#pragma once

#include <span>
#include <string_view>

#include "graph_fuzz/draft.h"

namespace tenon::graph_fuzz {

struct Row {
  std::string_view op;
  int since, until;                  // opsets
  Types types;                       // of the first operand
  bool (*draw)(Draft&, const Row&);  // false: nothing was added
  Range range = {-50, 50, false};    // what the operator takes without leaving the numbers

  std::string name() const { return std::string(op); }
};

// One per family; rows.cpp joins them.
std::span<const Row> rows_unary();
std::span<const Row> rows_binary();
std::span<const Row> rows_shape();
std::span<const Row> rows_index();
std::span<const Row> rows_reduce();
std::span<const Row> rows_linear();
std::span<const Row> rows_nn();
std::span<const Row> rows_norm();
std::span<const Row> rows_quantized();
std::span<const Row> rows_recurrent();
std::span<const Row> rows_control();
std::span<const Row> rows_signal();

// The rows of one opset, and how many operators all rows have.
std::vector<const Row*> rows_at(int64_t opset);
size_t count_operators();

}  // namespace tenon::graph_fuzz
