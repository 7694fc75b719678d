// SPDX-License-Identifier: Apache-2.0
#include "onnx/table.h"

#include <algorithm>
#include <tuple>

#include "onnx/import.h"

namespace tenon::onnx {
namespace {

using Family = std::span<const Row> (*)();

constexpr Family kFamilies[] = {
    rows_math,      rows_activation, rows_quantized, rows_shape,  rows_pad,    rows_index,
    rows_scatter,   rows_counted,    rows_nn,        rows_norm,   rows_linear, rows_reduce,
    rows_recurrent, rows_control,    rows_loss,      rows_detect, rows_signal,
};

}  // namespace

Lookup find_row(std::string_view domain, std::string_view op, int64_t opset) {
  Lookup found;
  for (const Family family : kFamilies) {
    for (const Row& row : family()) {
      if (row.domain != domain || row.op != op) continue;
      if (found.oldest == 0 || row.since < found.oldest) found.oldest = row.since;
      if (row.since <= opset && (!found.row || row.since > found.row->since)) found.row = &row;
    }
  }
  return found;
}

std::vector<Supported> supported() {
  std::vector<Supported> all;
  for (const Family family : kFamilies) {
    for (const Row& row : family()) {
      all.push_back({std::string(row.domain), std::string(row.op), row.since});
    }
  }
  std::sort(all.begin(), all.end(), [](const Supported& a, const Supported& b) {
    return std::tie(a.domain, a.op, a.since) < std::tie(b.domain, b.op, b.since);
  });
  return all;
}

}  // namespace tenon::onnx
