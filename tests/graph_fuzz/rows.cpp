// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/rows.h"

#include <set>

namespace tenon::graph_fuzz {
namespace {

using Family = std::span<const Row> (*)();

constexpr Family kFamilies[] = {
    rows_unary, rows_binary, rows_shape,     rows_index,     rows_reduce,  rows_linear,
    rows_nn,    rows_norm,   rows_quantized, rows_recurrent, rows_control, rows_signal,
};

}  // namespace

std::vector<const Row*> rows_at(int64_t opset) {
  std::vector<const Row*> rows;
  for (const Family family : kFamilies) {
    for (const Row& row : family()) {
      if (row.since <= opset && opset <= row.until) rows.push_back(&row);
    }
  }
  return rows;
}

size_t count_operators() {
  std::set<std::string_view> ops;
  for (const Family family : kFamilies) {
    for (const Row& row : family()) ops.insert(row.op);
  }
  return ops.size();
}

}  // namespace tenon::graph_fuzz
