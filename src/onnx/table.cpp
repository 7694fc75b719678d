// SPDX-License-Identifier: Apache-2.0
#include "onnx/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "onnx/import.h"

namespace tenon::onnx {
namespace {

using Family = std::span<const Row> (*)();

constexpr Family kFamilies[] = {
    rows_math,     rows_activation, rows_quantized, rows_quantized_ms, rows_shape,   rows_select,
    rows_pad,      rows_index,      rows_scatter,   rows_counted,      rows_nn,      rows_norm,
    rows_linear,   rows_attention,  rows_reduce,    rows_recurrent,    rows_control, rows_loop,
    rows_sequence, rows_loss,       rows_detect,    rows_signal,       rows_text,
};

struct Refusal {
  std::string_view op;  // of domain ""
  std::string_view reason;
};

constexpr std::string_view kRandom = "random generators are out of scope";
constexpr std::string_view kOptional = "optional values are out of scope";
constexpr std::string_view kString = "strings are out of scope";

constexpr Refusal kRefusals[] = {
    {"Bernoulli", kRandom},
    {"Multinomial", kRandom},
    {"Optional", kOptional},
    {"OptionalGetElement", kOptional},
    {"OptionalHasElement", kOptional},
    {"RandomNormal", kRandom},
    {"RandomNormalLike", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformLike", kRandom},
    {"RegexFullMatch", kString},
    {"StringConcat", kString},
    {"StringNormalizer", kString},
    {"StringSplit", kString},
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

std::string why_refused(std::string_view domain, std::string_view op) {
  if (domain == "ai.onnx.preview.training") return "training operators are out of scope";
  if (!domain.empty()) return fmt::format("operators of domain '{}' are not supported", domain);
  for (const Refusal& r : kRefusals) {
    if (r.op == op) return std::string(r.reason);
  }
  return "the operator is not supported";
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
