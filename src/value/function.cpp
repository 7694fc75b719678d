// SPDX-License-Identifier: Apache-2.0
#include "value/function.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>

#include "support/check.h"
#include "support/hash.h"
#include "value/rows.h"

namespace tenon::value {
namespace {

constexpr const char* kFirstLine = "tenon value function 1";

[[noreturn]] void refuse(const std::string& why) {
  throw UserError("not a value function that can be used: " + why,
                  "train one with tenon model value, or compile with --schedules template");
}

std::string weights_bytes(const cost::AttentionNetwork& n) {
  return {reinterpret_cast<const char*>(n.weights.data()), n.weights.size() * sizeof(float)};
}

std::string line_of(std::istringstream& in) {
  std::string line;
  if (!std::getline(in, line)) refuse("it is cut off");
  return line;
}

}  // namespace

std::string to_bytes(const ValueModel& m) {
  const tenon_attention_sizes& s = m.network.sizes;
  const std::string body =
      fmt::format("columns {:016x}\nsizes {} {} {} {}\nmargin {}\n{}\n", columns_hash(), s.columns,
                  s.width, s.heads, s.outputs, m.margin, m.card) +
      weights_bytes(m.network);
  return fmt::format("{}\n{:016x}\n", kFirstLine, Hasher().add(std::string_view(body)).value()) +
         body;
}

ValueModel model_from_bytes(const std::string& bytes) {
  std::istringstream in(bytes);
  if (line_of(in) != kFirstLine) refuse("it does not begin like one");
  const std::string hash = line_of(in);
  const auto begin = static_cast<size_t>(in.tellg());
  const std::string_view body = std::string_view(bytes).substr(std::min(begin, bytes.size()));
  if (hash != fmt::format("{:016x}", Hasher().add(body).value())) refuse("it is damaged");
  if (line_of(in) != fmt::format("columns {:016x}", columns_hash())) {
    refuse("it was trained for another version of tenon");
  }
  ValueModel m;
  tenon_attention_sizes& s = m.network.sizes;
  std::string word;
  in >> word >> s.columns >> s.width >> s.heads >> s.outputs >> word >> m.margin;
  in.ignore();
  m.card = line_of(in);
  const auto at = static_cast<size_t>(in.tellg());
  if (!in || s.columns != row_columns() || at > bytes.size()) refuse("it is damaged");
  m.network.weights.resize(cost::weights_of(s));
  if (bytes.size() - at != m.network.weights.size() * sizeof(float)) refuse("it is cut off");
  std::memcpy(m.network.weights.data(), bytes.data() + at, bytes.size() - at);
  for (const float w : m.network.weights) {
    if (!std::isfinite(w)) refuse("it is damaged");
  }
  return m;
}

ValueFunction::ValueFunction(ValueModel model, const cost::MakeRowsScorer& make)
    : model_(std::move(model)), scorer_(make(model_.network, cost::Keep::kForOthers)) {}

std::vector<float> ValueFunction::score(std::span<const cost::Row> rows) const {
  return scorer_->score(rows, 0);
}

}  // namespace tenon::value
