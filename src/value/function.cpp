// SPDX-License-Identifier: Apache-2.0
#include "value/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>

#include "support/check.h"
#include "support/hash.h"
#include "value/rows.h"

namespace tenon::value {
namespace {

constexpr const char* kOlder = "tenon value function 1";
constexpr const char* kFirstLine = "tenon value function 2";

constexpr double kLeast = 1.0 / 64;  // of best time / time: what is slower is bad enough

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
      fmt::format("columns {:016x}\nsizes {} {} {} {}\nmargin {} {}\njudge {}\n{}\n",
                  columns_hash(), s.columns, s.width, s.heads, s.outputs, m.margin,
                  m.algorithm_margin, m.judge.size(), m.card) +
      weights_bytes(m.network) + m.judge;
  return fmt::format("{}\n{:016x}\n", kFirstLine, Hasher().add(std::string_view(body)).value()) +
         body;
}

ValueModel model_from_bytes(const std::string& bytes) {
  std::istringstream in(bytes);
  const std::string first = line_of(in);
  if (first == kOlder) refuse("it was trained for another version of tenon");
  if (first != kFirstLine) refuse("it does not begin like one");
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
  size_t judge = 0;
  in >> word >> s.columns >> s.width >> s.heads >> s.outputs >> word >> m.margin >>
      m.algorithm_margin >> word >> judge;
  in.ignore();
  m.card = line_of(in);
  const auto at = static_cast<size_t>(in.tellg());
  if (!in || s.columns != row_columns() || at > bytes.size()) refuse("it is damaged");
  m.network.weights.resize(cost::weights_of(s));
  const size_t weights = m.network.weights.size() * sizeof(float);
  if (bytes.size() - at != weights + judge) refuse("it is cut off");
  std::memcpy(m.network.weights.data(), bytes.data() + at, weights);
  m.judge = bytes.substr(at + weights);
  for (const float w : m.network.weights) {
    if (!std::isfinite(w)) refuse("it is damaged");
  }
  return m;
}

double value_of_score(double score) { return std::log(std::clamp(score, kLeast, 1.0)); }

cost::Subject subject_of(const task::Task& t, const space::Program& p) {
  return {t, p.trace, &p.state, p.bounds.get(), &p.choices};
}

ValueFunction::ValueFunction(ValueModel model, const cost::MakeRowsScorer& make)
    : model_(std::move(model)),
      judge_(model_.judge.empty() ? nullptr : cost::load_model(model_.judge, 0, 1)),
      scorer_(make(model_.network, cost::Keep::kForOthers)) {}

double ValueFunction::settled(double score, const task::Task& t,
                              const space::Program& complete) const {
  if (judge_ == nullptr) return score;
  const auto row = judge_->encode(subject_of(t, complete));
  if (!row) return score;
  return (score + value_of_score(judge_->score(std::span(&*row, 1))[0])) / 2;
}

std::vector<float> ValueFunction::score(std::span<const cost::Row> rows) const {
  return scorer_->score(rows, 0);
}

}  // namespace tenon::value
